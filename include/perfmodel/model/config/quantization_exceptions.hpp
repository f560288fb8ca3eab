// What a checkpoint leaves unquantised, by projection: shares of the weights of each part.
#pragma once

#include <initializer_list>
#include <perfmodel/model/config/module_patterns.hpp>
#include <perfmodel/model/parameters.hpp>

namespace perfmodel::inline v0_3::detail {

/// Layers of a model in their order, as a checkpoint names them.
struct ordered_layers {
  struct entry {
    int layer = 0;
    layer_shape shape{};
  };
  double hidden = 0;
  bool sibling_experts = false;  ///< experts next to a dense `mlp`, not in it (Gemma 4)
  std::vector<entry> all{};
};

/// Sum of weights, and of those that a file leaves in 16 bits.
struct left_out_weights {
  double all = 0, wide = 0;
  void add(double weights, bool is_wide) {
    all += weights;
    wide += is_wide ? weights : 0.0;
  }
  double share() const { return all > 0 ? wide / all : 0.0; }
};

/// Counts the projections of each part of the layers that `patterns` name.
class exception_count {
 public:
  exception_count(const module_patterns& patterns, const ordered_layers& layers)
      : patterns_(patterns), hidden_(layers.hidden), sibling_(layers.sibling_experts) {
    for (const auto& e : layers.all) {
      layer_ = e.layer;
      if (e.shape.mixer) std::visit([&](const auto& shape) { count_mixer(shape); }, *e.shape.mixer);
      if (e.shape.feed_forward)
        std::visit([&](const auto& shape) { count_feed_forward(shape); }, *e.shape.feed_forward);
    }
  }
  left_out_weights attention{}, linear{}, experts{};

 private:
  using names = std::initializer_list<const char*>;
  bool named(names modules) const {
    for (const char* module : modules) {
      if (patterns_.name(layer_, module)) return true;
    }
    return false;
  }
  static constexpr names output = {"self_attn.o_proj",   "mixer.o_proj",    "attention.wo",
                                   "self_attn.out_proj", "attention.dense", "attn.c_proj",
                                   "attn.wo_b"};

  void count_mixer(const basic_attention_shape<>& a) {
    const double in = a.input_width.value_or(hidden_);
    const double result = a.query_heads * a.value_width();
    const double queries = a.query_heads * a.head_dim;
    const bool fused = named({"self_attn.qkv_proj", "self_attention.query_key_value", "attn.c_attn",
                              "attention.query_key_value", "attn.Wqkv"});
    attention.add(in * queries,
                  fused || named({"self_attn.q_proj", "mixer.q_proj", "attention.wq"}));
    if (!a.shares_cache) {
      attention.add(in * a.kv_heads * a.head_dim,
                    fused || named({"self_attn.k_proj", "mixer.k_proj", "attention.wk"}));
      if (!a.value_is_key)
        attention.add(in * a.kv_heads * a.value_width(),
                      fused || named({"self_attn.v_proj", "mixer.v_proj", "attention.wv"}));
    }
    if (a.output_gate)
      attention.add(hidden_ * result, named({"self_attn.o_gate", "self_attn.g_proj"}));
    attention.add(result * hidden_, named(output));
  }
  void count_mixer(const basic_latent_attention_shape<>& a) {
    const double nope = a.head_dim - a.rope_dim;
    const double queries = a.query_heads * a.head_dim;
    if (a.query_rank) {
      attention.add(hidden_ * *a.query_rank, named({"self_attn.q_a_proj", "self_attn.wq_a",
                                                    "self_attn.fused_qkv_a_proj_with_mqa"}));
      attention.add(*a.query_rank * queries, named({"self_attn.q_b_proj", "self_attn.wq_b"}));
    } else {
      attention.add(hidden_ * queries, named({"self_attn.q_proj"}));
    }
    attention.add(hidden_ * a.cached_elements(), named({"self_attn.kv_a_proj_with_mqa"}));
    attention.add(a.kv_rank * a.query_heads * (nope + a.value_dim), named({"self_attn.kv_b_proj"}));
    attention.add(a.query_heads * a.value_dim * hidden_, named(output));
  }
  void count_mixer(const basic_compressed_attention_shape<>& a) {
    attention.add(a.weights(hidden_), named(output));
  }
  void count_mixer(const basic_recurrent_shape<>& a) {
    const double out = a.value_width() * hidden_;
    const double gate = a.kind == recurrence::lightning ? hidden_ * a.value_width() : 0.0;
    attention.add(gate, named({"self_attn.z_proj", "self_attn.output_gate"}));
    attention.add(out, named({"linear_attn.out_proj", "mixer.out_proj", "mamba.out_proj",
                              "self_attn.o_proj", "self_attn.out_proj", "conv.out_proj"}));
    attention.add(
        a.weights(hidden_) - out - gate,
        named({"linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "mixer.in_proj",
               "mamba.in_proj", "self_attn.q_proj", "self_attn.qkv_proj", "conv.in_proj"}));
  }
  void count_feed_forward(const basic_dense_shape<>& x) {
    const double matrix = hidden_ * x.intermediate;
    const bool fused = named({"mlp.gate_up_proj", "mlp.dense_h_to_4h", "mlp.c_fc"});
    if (x.gated)
      linear.add(matrix, fused || named({"mlp.gate_proj", "feed_forward.w1",
                                         "feed_forward.gate_proj", "mlp.w1"}));
    linear.add(matrix, fused || named({"mlp.up_proj", "mixer.up_proj", "feed_forward.w3",
                                       "feed_forward.up_proj", "mlp.w3"}));
    linear.add(matrix,
               named({"mlp.down_proj", "mixer.down_proj", "feed_forward.w2",
                      "feed_forward.down_proj", "mlp.w2", "mlp.dense_4h_to_h", "mlp.c_proj"}));
  }
  void count_feed_forward(const basic_expert_shape<>& x) {
    if (x.shared_intermediate) {
      const double matrix = x.matrices() * hidden_ * *x.shared_intermediate;
      const bool wide = sibling_
                            ? named({"mlp.gate_proj", "mlp.down_proj", "residual_mlp.w1"})
                            : named({"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj",
                                     "mixer.shared_experts.down_proj", "mlp.shared_mlp.down_proj",
                                     "feed_forward.shared_expert.down_proj",
                                     "block_sparse_moe.shared_experts.down_proj",
                                     "share_expert.down_proj", "shared_mlp.output_linear"});
      linear.add(matrix, wide);
    }
    const bool next_to =
        named({"experts", "experts.0.down_proj", "experts.gate_up_proj",
               "block_sparse_moe.experts.0.w1", "block_sparse_moe.experts", "moe.experts"});
    const bool within =
        !sibling_ && named({"mlp.experts", "mlp.experts.0.down_proj", "mixer.experts",
                            "mixer.experts.0.up_proj", "block_sparse_moe.input_linear",
                            "feed_forward.experts", "feed_forward.experts.0.w1", "moe.gate_proj"});
    experts.add(x.expert_weights(hidden_), next_to || within);
  }

  const module_patterns& patterns_;
  double hidden_;
  bool sibling_;
  int layer_ = 0;
};

/// The format with a share of the weights in `wide`; the wide format itself where all of them are.
inline storage_format with_wide_share(storage_format s, double share, number_format wide) {
  if (share <= 0.0) return s;
  if (share > 1.0 - 1e-9) return wide;
  s = with_block_scales(s);
  s.wide_share = share;
  return s;
}

}  // namespace perfmodel::inline v0_3::detail
