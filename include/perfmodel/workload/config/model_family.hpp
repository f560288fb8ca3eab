// Which model families a config.json can be of, how the file says so, and what it may leave unsaid.
#pragma once

#include <perfmodel/workload/config/config_fields.hpp>
#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel {

/// Families that share their layer's structure and the names of their fields.
enum class model_family {
  any,  ///< decided by the text part's model_type alone
  llama,
  mistral,
  mixtral,
  qwen2,
  qwen2_moe,
  qwen3,
  qwen3_moe,
  gemma,
  gemma2,
  gemma3,
  gpt_oss,
  phi,
  phi3,
  phimoe,
  deepseek_v2,
  deepseek_v3,
};

constexpr const char* name_of(model_family f) {
  constexpr const char* names[] = {"any",         "llama",      "mistral",   "mixtral", "qwen2",
                                   "qwen2_moe",   "qwen3",      "qwen3_moe", "gemma",   "gemma2",
                                   "gemma3",      "gpt_oss",    "phi",       "phi3",    "phimoe",
                                   "deepseek_v2", "deepseek_v3"};
  return names[static_cast<int>(f)];
}

/// One value of architectures[0]. `nested`: the language model stands in text_config.
struct known_architecture {
  const char* name;
  model_family family;
  bool nested = false;
};

inline constexpr known_architecture known_architectures[] = {
    {"LlamaForCausalLM", model_family::llama},
    {"LlavaForConditionalGeneration", model_family::any, true},
    {"MistralForCausalLM", model_family::mistral},
    {"Mistral3ForConditionalGeneration", model_family::mistral, true},
    {"MixtralForCausalLM", model_family::mixtral},
    {"Qwen2ForCausalLM", model_family::qwen2},
    {"Qwen2VLForConditionalGeneration", model_family::qwen2},
    {"Qwen2_5_VLForConditionalGeneration", model_family::qwen2},
    {"Qwen2MoeForCausalLM", model_family::qwen2_moe},
    {"Qwen3ForCausalLM", model_family::qwen3},
    {"Qwen3MoeForCausalLM", model_family::qwen3_moe},
    {"GemmaForCausalLM", model_family::gemma},
    {"Gemma2ForCausalLM", model_family::gemma2},
    {"Gemma3ForCausalLM", model_family::gemma3},
    {"Gemma3ForConditionalGeneration", model_family::gemma3, true},
    {"GptOssForCausalLM", model_family::gpt_oss},
    {"PhiForCausalLM", model_family::phi},
    {"Phi3ForCausalLM", model_family::phi3},
    {"PhiMoEForCausalLM", model_family::phimoe},
    {"PhimoeForCausalLM", model_family::phimoe},
    {"DeepseekV2ForCausalLM", model_family::deepseek_v2},
    {"DeepseekV3ForCausalLM", model_family::deepseek_v3},
};

/// The family of a language model's model_type; `any` for one that is not known.
constexpr model_family family_of_type(std::string_view type) {
  for (int i = 1; i <= static_cast<int>(model_family::deepseek_v3); ++i) {
    if (type == name_of(static_cast<model_family>(i))) return static_cast<model_family>(i);
  }
  if (type == "ministral3") return model_family::mistral;
  if (type == "gemma3_text") return model_family::gemma3;
  if (type == "qwen2_vl" || type == "qwen2_vl_text" || type == "qwen2_5_vl" ||
      type == "qwen2_5_vl_text") {
    return model_family::qwen2;
  }
  return model_family::any;
}

namespace detail {

/// What a text_config may leave out, because transformers fills it in from the family's class.
struct shape_defaults {
  std::optional<double> layers{}, hidden{}, intermediate{}, vocabulary{}, heads{}, context{};
};
constexpr shape_defaults nested_defaults(model_family f) {
  switch (f) {
    case model_family::llama: return {32, 4096, 11008, 32000, 32, 2048};
    case model_family::mistral: return {32, 4096, 14336, 32000, 32, 131072};
    case model_family::gemma3: return {26, 2304, 9216, 262208, 8, 131072};
    default: return {};
  }
}
/// KV heads of a file that does not name them; none where it must.
constexpr std::optional<double> default_kv_heads(model_family f, double query_heads) {
  switch (f) {
    case model_family::llama:
    case model_family::phi:
    case model_family::phi3: return query_heads;
    case model_family::mistral:
    case model_family::mixtral:
    case model_family::phimoe:
    case model_family::gpt_oss: return 8;
    case model_family::gemma3:
    case model_family::qwen3_moe: return 4;
    default: return {};
  }
}
/// Width of a head where the file does not say and it is not hidden_size / num_attention_heads.
constexpr std::optional<double> default_head_dim(model_family f) {
  switch (f) {
    case model_family::gemma:
    case model_family::gemma2:
    case model_family::gemma3: return 256;
    case model_family::qwen3: return 128;
    case model_family::gpt_oss: return 64;
    default: return {};
  }
}
/// The field that counts the routed experts; null for a dense family. Files that newer versions of
/// transformers wrote call it num_local_experts in every family.
constexpr const char* expert_count_key(model_family f, bool has_local) {
  switch (f) {
    case model_family::mixtral:
    case model_family::phimoe:
    case model_family::gpt_oss: return "num_local_experts";
    case model_family::qwen2_moe:
    case model_family::qwen3_moe: return has_local ? "num_local_experts" : "num_experts";
    case model_family::deepseek_v2:
    case model_family::deepseek_v3: return has_local ? "num_local_experts" : "n_routed_experts";
    default: return nullptr;
  }
}

template <class Json>
[[noreturn]] void unknown_architecture(const char* key, const std::string& name) {
  std::string message = std::string(key) + " is " + config_fields<Json>::quoted(name) + "; known: ";
  for (const known_architecture& a : known_architectures) {
    message += std::string(&a == known_architectures ? "" : ", ") + a.name;
  }
  throw error(error_code::unknown_architecture, message);
}

/// The family by model_type and architectures[0], which have to agree.
template <class Json>
model_family family_of_config(const config_fields<Json>& own, const config_fields<Json>& root,
                              bool nested, std::string& architecture) {
  const known_architecture* known = nullptr;
  if (root.has("architectures")) {
    const Json& list = root.list("architectures");
    if (list.size() != 1 || !list.at(0).is_string())
      root.refuse("architectures", "a list of one name");
    architecture = list.at(0).template get<std::string>();
    for (const known_architecture& a : known_architectures) {
      if (architecture == a.name) known = &a;
    }
    if (known == nullptr) unknown_architecture<Json>("architectures", architecture);
    if (known->nested && !nested) root.refuse("text_config", "an object, in a " + architecture);
  }
  const std::string type = own.text_or("model_type", "");
  const model_family by_type = family_of_type(type);
  if (!type.empty() && by_type == model_family::any) unknown_architecture<Json>("model_type", type);
  if (known == nullptr || known->family == model_family::any) {
    if (type.empty()) own.refuse("model_type", "the name of a model family, such as llama");
    if (architecture.empty()) architecture = type;
    return by_type;
  }
  if (!type.empty() && by_type != known->family) {
    own.refuse("model_type",
               std::string(name_of(known->family)) + ", to agree with " + architecture);
  }
  return known->family;
}

}  // namespace detail

}  // namespace perfmodel
