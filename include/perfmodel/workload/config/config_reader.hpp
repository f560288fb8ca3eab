// The shapes of a language model from the fields of its config.json, family by family.
#pragma once

#include <perfmodel/workload/config/model_family.hpp>

namespace perfmodel {

namespace detail {

inline constexpr double most_layers = 10000, widest = 1e8;

/// Reads the fields of one family. `own` is the language model's object, `root` the whole file's.
template <class Json>
class config_reader {
 public:
  config_reader(model_family family, const config_fields<Json>& own,
                const config_fields<Json>& root, bool nested)
      : family_(family),
        own_(own),
        root_(root),
        preset_(nested ? nested_defaults(family) : shape_defaults{}) {}

  transformer read() const {
    using enum model_family;
    transformer m;
    m.layers = size("num_hidden_layers", preset_.layers, most_layers);
    m.hidden = size("hidden_size", preset_.hidden, widest);
    m.vocabulary = size("vocab_size", preset_.vocabulary, widest);
    m.max_context = own_.whole_or("max_position_embeddings", preset_.context, 1, 1e10);
    const bool ties = family_ == gemma || family_ == gemma2 || family_ == gemma3;
    m.tied_embeddings =
        (own_.has("tie_word_embeddings") ? own_ : root_).flag_or("tie_word_embeddings", ties);
    if (family_ == deepseek_v2 || family_ == deepseek_v3) {
      latent_attention(m);
    } else {
      grouped_attention(m);
      sliding(m);
    }
    if (family_ == gemma2 || family_ == gemma3) m.norms_per_layer = 4;
    if (family_ == phi) m.norms_per_layer = 1;  // attention and MLP side by side, after one norm
    m.norm_bias = family_ == phi || family_ == phimoe;
    m.gated = family_ != phi;
    m.ffn_bias = family_ == phi || (family_ == llama && own_.flag_or("mlp_bias", false));
    m.head_bias = family_ == phi || (family_ == phimoe && own_.flag_or("lm_head_bias", false));
    feed_forward(m);
    return checked(m);
  }

 private:
  double size(const char* key, const std::optional<double>& preset, double most) const {
    return preset ? own_.whole_or(key, *preset, 1, most) : own_.whole(key, 1, most);
  }

  void grouped_attention(transformer& m) const {
    using enum model_family;
    attention_shape& a = m.attention;
    a.query_heads = size("num_attention_heads", preset_.heads, widest);
    const char* const kv_key = "num_key_value_heads";
    const auto kv_heads = own_.whole_or(kv_key,
                                        own_.names(kv_key)  // null: no groups
                                            ? a.query_heads
                                            : default_kv_heads(family_, a.query_heads),
                                        1, a.query_heads);
    if (!kv_heads) own_.refuse(kv_key, "a divisor of num_attention_heads");
    a.kv_heads = *kv_heads;
    if (math::floor(a.query_heads / a.kv_heads) * a.kv_heads != a.query_heads) {
      own_.refuse(kv_key,
                  "a divisor of num_attention_heads, which is " + number_text(a.query_heads));
    }
    const auto width = own_.whole_or("head_dim", default_head_dim(family_), 1, widest);
    a.head_dim = width.value_or(m.hidden / a.query_heads);
    if (a.head_dim != math::floor(a.head_dim)) {
      own_.refuse("num_attention_heads",
                  "a divisor of hidden_size, which is " + number_text(m.hidden));
    }
    const bool states_bias = family_ == llama || family_ == qwen3 || family_ == qwen3_moe ||
                             family_ == gemma || family_ == gemma2 || family_ == gemma3 ||
                             family_ == gpt_oss || family_ == phimoe;
    const bool bias =
        family_ == phi || (states_bias && own_.flag_or("attention_bias", family_ == gpt_oss));
    a.qkv_bias =
        bias || family_ == qwen2 || (family_ == qwen2_moe && own_.flag_or("qkv_bias", true));
    a.output_bias = bias;
    a.qk_norm = family_ == qwen3 || family_ == qwen3_moe || family_ == gemma3;
    a.sinks = family_ == gpt_oss;
    if (own_.flag_or("qk_layernorm", false))
      own_.refuse("qk_layernorm", "false: such a norm is not modelled");
  }

  void latent_attention(transformer& m) const {
    attention_shape& a = m.attention;
    a.query_heads = own_.whole("num_attention_heads", 1, widest);
    a.kv_heads = 1;
    latent_shape& l = a.latent.emplace();
    l.kv_rank = own_.whole("kv_lora_rank", 1, widest);
    l.rope_dim = own_.whole("qk_rope_head_dim", 1, widest);
    a.head_dim = own_.whole("qk_nope_head_dim", 1, widest) + l.rope_dim;
    a.value_dim = own_.whole("v_head_dim", 1, widest);
    // Null is "not compressed"; a file that leaves the field out means the class's own 1536.
    l.query_rank = own_.whole_or(
        "q_lora_rank", own_.names("q_lora_rank") ? std::optional<double>() : 1536.0, 1, widest);
    if (own_.flag_or("attention_bias", false))
      own_.refuse("attention_bias", "false: biases of MLA are not modelled");
  }

  void sliding(transformer& m) const {
    using enum model_family;
    const bool opt_in =
        family_ == qwen2 || family_ == qwen2_moe || family_ == qwen3 || family_ == qwen3_moe;
    if (family_ == llama || family_ == gemma || family_ == phi) return;
    const bool wanted = !opt_in || own_.flag_or("use_sliding_window", false);
    double window = own_.whole_or("sliding_window", 0, 0, 1e10);
    if (!own_.names("sliding_window")) {
      const bool silent = family_ == mistral && own_.text_or("model_type", "mistral") == "mistral";
      window = silent || opt_in || family_ == gemma2 || family_ == gemma3 ? 4096
               : family_ == gpt_oss                                       ? 128
                                                                          : 0;
    }
    double layers = 0;
    if (own_.has("layer_types")) {
      layers = listed_sliding_layers(m.layers);
      if (layers > 0 && !wanted)
        own_.refuse("use_sliding_window", "true where layer_types has sliding layers");
      if (layers > 0 && window < 1)
        own_.refuse("sliding_window", "1 or more where layer_types has sliding layers");
    } else if (family_ == gemma3) {
      const char* const key = own_.has("_sliding_window_pattern") ? "_sliding_window_pattern"
                                                                  : "sliding_window_pattern";
      layers = m.layers - math::floor(m.layers / own_.whole_or(key, 6, 1, most_layers));
    } else if (family_ == gemma2 || family_ == gpt_oss) {
      layers = math::ceil(m.layers / 2);  // layers 0, 2, 4 ...
    } else if (opt_in) {
      layers =
          wanted ? m.layers - scalar_min(m.layers, own_.whole("max_window_layers", 0, 1e9)) : 0;
    } else {
      layers = m.layers;
    }
    if (layers < 1 || window < 1) return;
    if (m.max_context && window >= *m.max_context) return;  // wider than any sequence
    m.sliding_layers = layers;
    m.window = window;
  }

  double listed_sliding_layers(double layers) const {
    const Json& types = own_.list("layer_types");
    if (static_cast<double>(types.size()) != layers) {
      own_.refuse("layer_types",
                  "one entry for each of num_hidden_layers, which is " + number_text(layers));
    }
    double n = 0;
    for (const Json& type : types) {
      const std::string name = type.is_string() ? type.template get<std::string>() : std::string();
      if (name != "sliding_attention" && name != "full_attention") {
        throw error(error_code::invalid_config, own_.field("layer_types") + " holds " +
                                                    config_fields<Json>::value_text(type) +
                                                    "; allowed: sliding_attention, full_attention");
      }
      n += name == "sliding_attention" ? 1 : 0;
    }
    return n;
  }

  void feed_forward(transformer& m) const {
    using enum model_family;
    const char* const experts_key = expert_count_key(family_, own_.has("num_local_experts"));
    if (experts_key == nullptr) {
      for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts"}) {
        if (own_.whole_or(key, 0, 0, widest) > 0)
          own_.refuse(key, std::string("none in the family ") + name_of(family_));
      }
      m.intermediate = size("intermediate_size", preset_.intermediate, widest);
      return;
    }
    expert_shape& e = m.moe;
    e.experts = own_.whole(experts_key, 1, widest);
    const bool openai_key = family_ == gpt_oss && !own_.has("num_experts_per_tok");
    e.top_k = own_.whole(openai_key ? "experts_per_token" : "num_experts_per_tok", 1, e.experts);
    e.layers = sparse_layers(m.layers);
    const bool one_width = family_ == mixtral || family_ == phimoe || family_ == gpt_oss;
    e.intermediate =
        own_.whole(one_width ? "intermediate_size" : "moe_intermediate_size", 1, widest);
    if (e.layers < m.layers) m.intermediate = own_.whole("intermediate_size", 1, widest);
    if (family_ == qwen2_moe) {
      e.shared_intermediate = own_.whole("shared_expert_intermediate_size", 1, widest);
      e.shared_gate = true;
    }
    if (family_ == deepseek_v2 || family_ == deepseek_v3) {
      e.shared_intermediate = own_.whole_or("n_shared_experts", 0, 0, widest) * e.intermediate;
    }
    e.router_bias = family_ == gpt_oss || (family_ == deepseek_v3 &&
                                           own_.text_or("topk_method", "noaux_tc") == "noaux_tc");
    e.expert_bias = family_ == gpt_oss;
    if (!(e.layers > 0)) e = {};  // every layer is dense after all
  }

  double sparse_layers(double layers) const {
    using enum model_family;
    double n = 0;
    if (family_ == deepseek_v2 || family_ == deepseek_v3) {
      const double first = own_.whole_or("first_k_dense_replace", 0, 0, layers);
      const double every = own_.whole_or("moe_layer_freq", 1, 1, most_layers);
      for (double i = first; i < layers; ++i) n += math::floor(i / every) * every == i ? 1 : 0;
      return n;
    }
    if (family_ != qwen2_moe && family_ != qwen3_moe) return layers;
    const double every = own_.whole_or("decoder_sparse_step", 1, 1, most_layers);
    if (own_.has("mlp_only_layers") &&
        static_cast<double>(own_.list("mlp_only_layers").size()) > layers) {
      own_.refuse("mlp_only_layers", "at most one entry for each of num_hidden_layers");
    }
    for (double i = 0; i < layers; ++i) {
      n += math::floor((i + 1) / every) * every == i + 1 && !mlp_only(i, layers) ? 1 : 0;
    }
    return n;
  }
  bool mlp_only(double layer, double layers) const {
    if (!own_.has("mlp_only_layers")) return false;
    const std::size_t n = own_.list("mlp_only_layers").size();
    for (std::size_t k = 0; k < n; ++k) {
      if (own_.whole_entry("mlp_only_layers", k, 0, layers - 1) == layer) return true;
    }
    return false;
  }

  model_family family_;
  const config_fields<Json>& own_;
  const config_fields<Json>& root_;
  shape_defaults preset_;
};

}  // namespace detail

}  // namespace perfmodel
