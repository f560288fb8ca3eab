// Defaults of a model family that its config.json does not state.
#pragma once

#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3 {

/// Layers with a sliding window, in a file that lists no layers.
enum class window_rule {
  all_layers,    ///< all, if the file names a window
  none,          ///< none, whether or not the file names a window (Llama, Gemma, Phi)
  switched_on,   ///< from max_window_layers on, with use_sliding_window (Qwen)
  every_other,   ///< layers 0, 2, 4 ... (Gemma 2, gpt-oss)
  every_fourth,  ///< all but each fourth (Command A, EXAONE 4, OLMo 3)
  every_sixth,   ///< all but each sixth (Gemma 3)
};

/// The defaults of a family's configuration class in huggingface/transformers, and what its layers
/// have in every model of it. A family that is not listed has none of this: its fields decide.
struct model_family {
  const char* type = "";  ///< model_type
  bool qkv_bias = false;
  bool output_bias = false;
  bool reads_bias = true;  ///< attention_bias means query, key, value and output
  bool qk_norm = false;
  bool sinks = false;
  bool output_gate = false;
  bool tied = false;
  bool norm_bias = false;
  bool head_bias = false;
  bool gated = true;
  bool ffn_bias = false;
  bool router_bias = false;
  bool expert_bias = false;
  bool shared_gate = false;
  bool doubled = false;    ///< the named width is that of gate and up together
  bool recurrent = false;  ///< every mixer is recurrent; a Mamba has no feed-forward
  double norms_per_layer = 2;
  window_rule windows = window_rule::all_layers;
  std::optional<double> window{};     ///< default of a missing field
  std::optional<double> kv_heads{};   ///< default of a missing field; empty: as many as query heads
  std::optional<double> head_dim{};   ///< default of a missing field; empty: hidden / heads
  std::optional<double> expansion{};  ///< default feed-forward width over hidden
  std::optional<double> extra_positions{};  ///< learned positions beyond the context
};

/// GPT-2's kind of layer: LayerNorm, every projection biased, two matrices and no gate.
constexpr model_family with_biases(const char* type, bool tied,
                                   std::optional<double> expansion = {},
                                   std::optional<double> extra_positions = {}) {
  return {.type = type,
          .qkv_bias = true,
          .output_bias = true,
          .reads_bias = false,
          .tied = tied,
          .norm_bias = true,
          .gated = false,
          .ffn_bias = true,
          .expansion = expansion,
          .extra_positions = extra_positions};
}

// clang-format off
inline constexpr model_family known_families[] = {
    {.type = "llama", .windows = window_rule::none},
    {.type = "mistral", .reads_bias = false, .window = 4096, .kv_heads = 8},
    {.type = "ministral3", .reads_bias = false, .kv_heads = 8},
    {.type = "mixtral", .reads_bias = false, .kv_heads = 8},
    {.type = "qwen", .qkv_bias = true, .reads_bias = false, .doubled = true},
    {.type = "qwen2", .qkv_bias = true, .reads_bias = false, .windows = window_rule::switched_on,
     .window = 4096},
    {.type = "qwen2_moe", .qkv_bias = true, .reads_bias = false, .shared_gate = true, .windows =
     window_rule::switched_on, .window = 4096},
    {.type = "qwen3", .qk_norm = true, .windows = window_rule::switched_on, .window = 4096,
     .head_dim = 128},
    {.type = "qwen3_moe", .qk_norm = true, .windows = window_rule::switched_on, .window = 4096,
     .kv_heads = 4},
    {.type = "qwen3_next", .qk_norm = true, .output_gate = true, .shared_gate = true},
    {.type = "qwen3_5", .qk_norm = true, .output_gate = true, .shared_gate = true},
    {.type = "qwen3_5_moe", .qk_norm = true, .output_gate = true, .shared_gate = true},
    {.type = "gemma", .tied = true, .windows = window_rule::none, .head_dim = 256},
    {.type = "gemma2", .tied = true, .norms_per_layer = 4, .windows = window_rule::every_other,
     .window = 4096, .head_dim = 256},
    {.type = "gemma3", .qk_norm = true, .tied = true, .norms_per_layer = 4,
     .windows = window_rule::every_sixth, .window = 4096, .kv_heads = 4, .head_dim = 256},
    {.type = "gemma4", .qk_norm = true, .tied = true, .norms_per_layer = 4},
    {.type = "gpt_oss", .qkv_bias = true, .output_bias = true, .sinks = true, .router_bias = true,
     .expert_bias = true, .windows = window_rule::every_other, .window = 128, .kv_heads = 8,
     .head_dim = 64},
    // Attention and MLP side by side, after one norm.
    {.type = "phi", .qkv_bias = true, .output_bias = true, .reads_bias = false, .norm_bias = true,
     .head_bias = true, .gated = false, .ffn_bias = true, .norms_per_layer = 1,
     .windows = window_rule::none},
    {.type = "phi3", .reads_bias = false},
    {.type = "phimoe", .norm_bias = true, .kv_heads = 8},
    {.type = "deepseek_v2"},
    {.type = "minicpm", .tied = true, .windows = window_rule::none},
    {.type = "minicpm3", .tied = true},
    {.type = "molmo", .reads_bias = false, .doubled = true},
    {.type = "deepseek_v3"},
    {.type = "glm4_moe", .router_bias = true},
    {.type = "kimi_linear", .router_bias = true},
    {.type = "minimax_m2", .router_bias = true},
    {.type = "cohere2", .tied = true, .norms_per_layer = 1, .windows = window_rule::every_fourth,
     .window = 4096},
    {.type = "seed_oss", .qkv_bias = true, .reads_bias = false},
    {.type = "exaone4", .qk_norm = true, .windows = window_rule::every_fourth, .window = 4096},
    {.type = "olmo3", .windows = window_rule::every_fourth, .window = 4096},
    {.type = "apertus", .qk_norm = true, .gated = false},
    {.type = "dots1", .qk_norm = true, .router_bias = true},
    {.type = "granitemoehybrid", .tied = true},
    {.type = "lfm2", .qk_norm = true, .tied = true},
    {.type = "lfm2_moe", .qk_norm = true, .tied = true},
    {.type = "step3p5", .qk_norm = true},
    {.type = "step3p7", .qk_norm = true},
    {.type = "hunyuan_v1_moe", .qk_norm = true, .tied = true},
    {.type = "hunyuan_v1_dense", .qk_norm = true, .tied = true},
    {.type = "falcon_h1"},
    {.type = "jamba"},
    {.type = "mamba", .tied = true, .recurrent = true, .norms_per_layer = 1},
    {.type = "mamba2", .recurrent = true, .norms_per_layer = 1},
    {.type = "falcon_mamba", .tied = true, .recurrent = true, .norms_per_layer = 1},
    {.type = "recurrent_gemma", .tied = true, .doubled = true},
    {.type = "plamo2", .tied = true},
    {.type = "phi3small", .tied = true},
    {.type = "bitnet", .tied = true},
    {.type = "rwkv7", .norm_bias = true, .gated = false, .recurrent = true},
    {.type = "gemma3n", .qk_norm = true, .tied = true, .norms_per_layer = 4},
    {.type = "cohere", .tied = true, .norms_per_layer = 1},
    {.type = "falcon", .tied = true, .norm_bias = true, .gated = false, .norms_per_layer = 1,
     .windows = window_rule::none, .kv_heads = 1, .expansion = 4},
    with_biases("gpt2", true, 4, 0),
    with_biases("gpt_bigcode", true, 4, 0),
    with_biases("gpt_neo", true, 4, 0),
    {.type = "gptj", .norm_bias = true, .head_bias = true, .gated = false, .ffn_bias = true,
     .norms_per_layer = 1, .expansion = 4},
    with_biases("bloom", true, 4),
    {.type = "mpt", .tied = true, .gated = false, .windows = window_rule::none, .expansion = 4},
    {.type = "dbrx", .windows = window_rule::none},
    {.type = "chatglm", .reads_bias = false, .windows = window_rule::none},
    with_biases("gpt_neox", false),
    with_biases("opt", true, {}, 2),
    {.type = "starcoder2", .qkv_bias = true, .output_bias = true, .reads_bias = false,
     .norm_bias = true, .gated = false, .ffn_bias = true, .windows = window_rule::none},
    {.type = "stablelm", .reads_bias = false, .norm_bias = true},
};
// clang-format on

/// Values of architectures[0] for files with a missing or different model_type.
struct known_architecture {
  const char* name;
  const char* type;
  bool nested = false;  ///< the language model stands in text_config
};
// clang-format off
inline constexpr known_architecture known_architectures[] = {
    {"LlamaForCausalLM", "llama"}, {"LlavaForConditionalGeneration", "", true},
    {"MistralForCausalLM", "mistral"}, {"Mistral3ForConditionalGeneration", "mistral", true},
    {"MixtralForCausalLM", "mixtral"}, {"Qwen2ForCausalLM", "qwen2"},
    {"Qwen2VLForConditionalGeneration", "qwen2"}, {"Qwen2_5_VLForConditionalGeneration", "qwen2"},
    {"Qwen2MoeForCausalLM", "qwen2_moe"}, {"Qwen3ForCausalLM", "qwen3"},
    {"Qwen3MoeForCausalLM", "qwen3_moe"}, {"GemmaForCausalLM", "gemma"},
    {"Gemma2ForCausalLM", "gemma2"}, {"Gemma3ForCausalLM", "gemma3"},
    {"Gemma3ForConditionalGeneration", "gemma3", true}, {"GptOssForCausalLM", "gpt_oss"},
    {"PhiForCausalLM", "phi"}, {"Phi3ForCausalLM", "phi3"}, {"PhiMoEForCausalLM", "phimoe"},
    {"PhimoeForCausalLM", "phimoe"}, {"DeepseekV2ForCausalLM", "deepseek_v2"},
    {"DeepseekV3ForCausalLM", "deepseek_v3"}, {"Cohere2ForCausalLM", "cohere2"},
    {"Exaone4ForCausalLM", "exaone4"}, {"Olmo3ForCausalLM", "olmo3"},
};
// clang-format on

namespace detail {

/// Family of a model_type: without _text, and for a vision model that of its language model.
constexpr const model_family* family_of_type(std::string_view type) {
  constexpr std::string_view text = "_text";
  if (type.ends_with(text)) type.remove_suffix(text.size());
  if (type == "qwen2_vl" || type == "qwen2_5_vl") type = "qwen2";
  if (type == "exaone4_5") type = "exaone4";
  if (type == "qwen3_vl") type = "qwen3";
  if (type == "qwen3_vl_moe") type = "qwen3_moe";
  for (const model_family& f : known_families) {
    if (type == f.type) return &f;
  }
  return nullptr;
}

/// Fields that a text_config may leave out, since transformers fills them in from the family's
/// class.
struct shape_defaults {
  std::optional<double> layers{}, hidden{}, intermediate{}, vocabulary{}, heads{}, context{};
};
constexpr shape_defaults nested_defaults(std::string_view type) {
  if (type == "llama") return {32, 4096, 11008, 32000, 32, 2048};
  if (type == "mistral") return {32, 4096, 14336, 32000, 32, 131072};
  if (type == "gemma3") return {26, 2304, 9216, 262208, 8, 131072};
  return {};
}

/// The family by model_type and architectures[0], which have to agree where both are known.
template <class Json>
model_family family_of_config(const config_fields<Json>& own, const config_fields<Json>& root,
                              bool nested, std::string& architecture, bool& is_known) {
  const known_architecture* known = nullptr;
  if (root.has("architectures")) {
    const Json& list = root.list("architectures");
    if (list.size() != 1 || !list.at(0).is_string())
      root.refuse("architectures", "a list of one name");
    architecture = list.at(0).template get<std::string>();
    for (const known_architecture& a : known_architectures) {
      if (architecture == a.name) known = &a;
    }
    if (known != nullptr && known->nested && !nested)
      root.refuse("text_config", "an object, in a " + architecture);
  }
  const std::string type = own.text_or("model_type", "");
  if (type.empty() && architecture.empty() && own.has("dim") && own.has("n_layers")) {
    architecture = "params.json";  // of Mistral or Llama: every field is stated
    is_known = true;
    model_family plain;
    plain.type = "params.json";
    plain.reads_bias = false;
    return plain;
  }
  if (type.empty() && architecture.empty())
    own.refuse("model_type", "the name of a model family, such as llama");
  if (architecture.empty()) architecture = type;
  const model_family* by_type = family_of_type(type);
  const model_family* by_name = known != nullptr ? family_of_type(known->type) : nullptr;
  if (by_type != nullptr && by_name != nullptr && by_type != by_name &&
      !std::string_view(by_type->type).starts_with("mini")) {
    own.refuse("model_type", std::string(by_name->type) + ", to agree with " + architecture);
  }
  is_known = by_type != nullptr || by_name != nullptr;
  return by_type != nullptr ? *by_type : by_name != nullptr ? *by_name : model_family{};
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
