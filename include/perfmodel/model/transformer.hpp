// Decoder-only transformer as a plain value: the shapes that decide its bytes and FLOP.
#pragma once

#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/architecture.hpp>
#include <perfmodel/model/layers.hpp>

// The formats that a checkpoint's weights are stored in.

namespace perfmodel::inline v0_3 {

/// Storage format that a format's name stands for, in weights and in a KV cache. A 4-bit name
/// stands for values with block scales, as in published checkpoints:
///   fp4   NVFP4, an 8-bit scale per 16 values; MXFP4, an 8-bit scale per 32, on non-NVIDIA chips
///   int4  a 16-bit scale per 128 values, as in GPTQ and AWQ checkpoints
/// Other names stand for the values alone. Sources: NVIDIA, "Introducing NVFP4 for Efficient and
/// Accurate Low-Precision Inference", 2025; OCP Microscaling Formats (MX) 1.0, section 5; the card
/// of amd/Llama-3.3-70B-Instruct-MXFP4-Preview (MI350, MI355); quantize_config.json of GPTQ and AWQ
/// checkpoints (group_size 128, scale_dtype fp16).
/// Leaves out: the zero points of asymmetric AWQ, 0.03 bits.
/// Test: 4.5 bits on B200, 4.25 on MI355X, 4.125 in int4, 8 in fp8.
constexpr storage_format storage_of(number_format f, machine_kind on = machine_kind::gpu_nvidia) {
  if (f == number_format::int4) return {f, 128, 16};
  if (f != number_format::fp4) return f;
  const bool nvfp4 = on == machine_kind::gpu_nvidia || on == machine_kind::unknown;
  return nvfp4 ? storage_format(f, 16, 8) : storage_format(f, 32, 8);
}

/// Values of a format alone: one scale for a whole row or tensor, which weighs nothing.
constexpr storage_format without_scales(number_format f) {
  return bits_of(f) < 8.0 ? storage_format(f, 1, 0) : storage_format(f);
}

/// A storage format with the block scales of its name, where no group of its own is stated.
constexpr storage_format with_block_scales(const storage_format& s,
                                           machine_kind on = machine_kind::gpu_nvidia) {
  if (s.group || s.value_bits) return s;
  storage_format scaled = storage_of(s.format, on);
  scaled.wide_share = s.wide_share;
  return scaled;
}

/// How a checkpoint stores its weights. One format for all matrices of the layers in the usual
/// case; gpt-oss compresses its experts alone, NVIDIA's NVFP4 files leave `attention` (every mixer)
/// as it was. `linear` is dense and shared feed-forwards, `tables` the vocabulary tables where they
/// are quantised too (MLX, GGUF), `others` everything else. A format
/// without a group is a name: what it stands for is with_block_scales() of it, on the accelerator
/// in use.
struct weight_storage {
  storage_format linear{};
  storage_format experts{};
  number_format others = number_format::bf16;
  storage_format attention = linear;
  std::optional<storage_format> tables{};

  constexpr storage_format of_tables() const { return tables.value_or(without_scales(others)); }

  constexpr weight_storage() = default;
  constexpr weight_storage(const storage_format& all, number_format rest = number_format::bf16)
      : linear(all), experts(all), others(rest) {}
  constexpr weight_storage(number_format all) : weight_storage(storage_format(all)) {}
  constexpr weight_storage(const storage_format& of_linear, const storage_format& of_experts,
                           number_format rest)
      : linear(of_linear), experts(of_experts), others(rest) {}

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("linear", s.linear...);
    f("experts", s.experts...);
    f("others", s.others...);
    f("attention", s.attention...);
    f("tables", s.tables...);
  }
};

/// The weights of a checkpoint, each part with the block scales that its format's name stands for.
constexpr weight_storage with_block_scales(weight_storage w,
                                           machine_kind on = machine_kind::gpu_nvidia) {
  w.linear = with_block_scales(w.linear, on);
  w.experts = with_block_scales(w.experts, on);
  w.attention = with_block_scales(w.attention, on);
  if (w.tables) w.tables = with_block_scales(*w.tables, on);
  return w;
}

/// A vision or audio tower in front of the model: its parameters, its projection to hidden
/// included, and the tokens that one image (or one second of sound) becomes, where that is fixed.
template <Scalar T = double>
struct basic_encoder_shape {
  T parameters{};
  std::optional<T> tokens_per_item{};
  std::optional<T> patches_per_item{};  ///< patches of an image of fixed size

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("parameters"), s.parameters...);
    f(field::count("tokens_per_item"), s.tokens_per_item...);
    f(field::count("patches_per_item"), s.patches_per_item...);
  }
};
using encoder_shape = basic_encoder_shape<>;

/// Per-layer embeddings (Gemma 3n, Gemma 4 E2B and E4B): a table of `vocabulary` rows with `width`
/// elements per layer. Hidden is projected to all layers' width once, and in each layer to `width`
/// and back.
template <Scalar T = double>
struct basic_layer_embedding {
  T width{};
  T vocabulary{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("width"), s.width...);
    f(field::count("vocabulary"), s.vocabulary...);
  }
};
using layer_embedding = basic_layer_embedding<>;

/// Transformer: {.hidden = 8192, .vocabulary = 128256, .layers = {{80, attention_shape{...},
/// dense_shape{28672}}}}.
/// `mtp` are its multi-token-prediction modules, each a layer, two norms and a projection of 2
/// hidden to hidden; they share the vocabulary tables (DeepSeek-V3, arXiv 2412.19437, section 2.2).
template <Scalar T = double>
struct basic_transformer {
  label name{};
  T hidden{};
  T vocabulary{};
  basic_layer_list<T> layers{};
  T norms_per_layer = T(2.0);  ///< norms of size hidden (Gemma 3 has 4)
  bool norm_bias = false;      ///< LayerNorm with a bias, in place of RMSNorm
  bool tied_embeddings = false;
  bool head_bias = false;
  std::optional<T> max_context{};  ///< tokens the model was trained for, where that is stated
  std::optional<T> positions{};    ///< rows of a learned table of positions (GPT-2, OPT)
  std::optional<basic_layer_shape<T>> mtp{};
  std::optional<basic_encoder_shape<T>> encoder{};
  std::optional<basic_layer_embedding<T>> layer_embedding{};
  /// Draft heads (EAGLE, MTP, DFlash): hidden vectors of the target that one matrix joins to one; 0
  /// for a model of its own.
  T joined_inputs{};
  bool predicts_block = false;  ///< all draft tokens in one step (DFlash)
  bool shares_tables = false;   ///< a draft head's vocabulary tables are its target's
  weight_storage stored{};      ///< the published checkpoint's storage; bf16 unless stated

  constexpr bool is_draft_head() const { return lower(joined_inputs) > 0.0; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("vocabulary"), s.vocabulary...);
    f("layers", s.layers...);
    f(field::not_negative("norms_per_layer"), s.norms_per_layer...);
    f("norm_bias", s.norm_bias...);
    f("tied_embeddings", s.tied_embeddings...);
    f("head_bias", s.head_bias...);
    f(field::count("max_context"), s.max_context...);
    f(field::count("positions"), s.positions...);
    f("mtp", s.mtp...);
    f("encoder", s.encoder...);
    f("layer_embedding", s.layer_embedding...);
    f(field::not_negative("joined_inputs"), s.joined_inputs...);
    f("predicts_block", s.predicts_block...);
    f("shares_tables", s.shares_tables...);
    f("stored", s.stored...);
  }
};
using transformer = basic_transformer<>;

namespace detail {

template <Scalar T>
constexpr void check_shape(const basic_attention_shape<T>& a) {
  const double group = lower(a.query_heads) / lower(a.kv_heads);
  if (group != math::floor(group)) {
    fail(error_code::inconsistent, "kv_heads must divide query_heads");
  }
  if (a.chunked && !a.window) fail(error_code::inconsistent, "chunked attention needs a window");
}
template <Scalar T>
constexpr void check_shape(const basic_latent_attention_shape<T>& a) {
  if (lower(a.head_dim) <= upper(a.rope_dim)) {
    fail(error_code::inconsistent, "head_dim must exceed rope_dim, which is part of it");
  }
}
template <Scalar T>
constexpr void check_shape(const basic_recurrent_shape<T>& a) {
  const double group = lower(a.value_heads) / lower(a.key_heads);
  if (group != math::floor(group)) {
    fail(error_code::inconsistent, "key_heads must divide value_heads");
  }
}
template <Scalar T>
constexpr void check_shape(const basic_compressed_attention_shape<T>& a) {
  if (a.indexer && !a.ratio) {
    fail(error_code::inconsistent, "an indexer chooses among entries, which need a ratio");
  }
}
template <Scalar T>
constexpr void check_shape(const basic_dense_shape<T>&) {}
template <Scalar T>
constexpr void check_shape(const basic_expert_shape<T>& e) {
  within("model.layers.feed_forwards.top_k", e.top_k, 1.0, upper(e.experts), "1 to experts");
}

}  // namespace detail

/// Checks a model and returns it: every dimension positive, heads grouped evenly, top_k within
/// experts, no more layers with a mixer or a feed-forward than there are.
/// Errors: out_of_range or inconsistent, with the field.
template <Scalar T>
constexpr const basic_transformer<T>& checked(const basic_transformer<T>& m) {
  require_valid(m, "model");
  const auto check_each = [](const auto& shape) { detail::check_shape(shape); };
  double mixers = 0.0, feed_forwards = 0.0, recurrent = 0.0;
  for (const auto& kind : m.layers.mixers) {
    std::visit(check_each, kind.shape);
    const bool state = std::holds_alternative<basic_recurrent_shape<T>>(kind.shape);
    (state ? recurrent : mixers) += lower(kind.layers);  // a layer may have one of each (Falcon-H1)
  }
  for (const auto& kind : m.layers.feed_forwards) {
    std::visit(check_each, kind.shape);
    feed_forwards += lower(kind.layers);
  }
  const double most = upper(m.layers.count) * (1.0 + 1e-9);
  if (mixers > most || recurrent > most || feed_forwards > most) {
    detail::fail(error_code::inconsistent, "layers.count is less than the layers of its kinds");
  }
  return m;
}

/// Routed experts of a model: the first kind among its layers.
template <Scalar T>
constexpr std::optional<basic_expert_shape<T>> experts_of(const basic_transformer<T>& m) {
  for (const auto& kind : m.layers.feed_forwards) {
    if (std::holds_alternative<basic_expert_shape<T>>(kind.shape)) {
      return std::get<basic_expert_shape<T>>(kind.shape);
    }
  }
  return {};
}

}  // namespace perfmodel::inline v0_3
