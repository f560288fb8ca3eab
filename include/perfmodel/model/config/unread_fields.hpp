// Fields of a config.json that the reader did not use, though they say how layers differ or name
// further modules.
#pragma once

#include <perfmodel/model/config/layer_patterns.hpp>

namespace perfmodel::inline v0_3::detail {

inline bool name_holds(std::string_view key, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (key.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// Names about layers that change no size: norms, dropout, initial values, kernels' blocks, rotary
/// embeddings, training.
inline bool is_harmless(std::string_view key) {
  if (key == "num_hidden_layers" || key == "num_layers" || key == "n_layers" || key == "n_layer")
    return true;
  return name_holds(key, {"norm",
                          "layerdrop",
                          "layer_drop",
                          "time_step",
                          "rope",
                          "dropout",
                          "init",
                          "scale",
                          "_eps",
                          "epsilon",
                          "multiplier",
                          "chunk_size",
                          "loss",
                          "router",
                          "aux",
                          "output_router",
                          "returned",
                          "decoder_sparse_step",
                          "token",
                          "max_window_layers",
                          "steps_per",
                          "training",
                          "parallel_block",
                          "num_nextn_predict",
                          "mtp",
                          "target_layers",
                          "vocab_size",
                          "block_dim",
                          "block_ff",
                          "block_use",
                          "use_cache",
                          "hash",
                          "attn_implementation"});
}

/// True where a list has one entry per layer, or holds numbers of layers.
template <class Json>
bool is_about_layers(const Json& value, double layers) {
  if (!value.is_array() || layers < 2) return false;
  const double n = static_cast<double>(value.size());
  if (n == layers) return !value.empty() && !value.at(0).is_object();
  if (n < 2 || n > layers) return false;
  double before = -1;
  for (const Json& entry : value) {
    if (!entry.is_number_integer()) return false;
    const double x = entry.template get<double>();
    if (x <= before || x >= layers) return false;
    before = x;
  }
  return true;
}

/// True where a field that nothing read may change the layers or add modules.
template <class Json>
bool may_matter(const std::string& key, const Json& value, double layers, bool has_experts) {
  if (value.is_null() || value == false || value == 0) return false;
  if ((value.is_array() || value.is_object()) && value.empty()) return false;
  if (value.is_object() && name_holds(key, {"2wav"})) return true;  // not the token of its name
  if (names_roles(key) || is_harmless(key)) return false;
  // A tower that another file describes (LLaVA's mm_vision_tower).
  if (value.is_string() && name_holds(key, {"vision_tower", "audio_tower", "_model_id"}))
    return true;
  if (value.is_number() && value != 1 &&
      name_holds(key, {"heads", "num_kv", "ngram", "mlp_ratio", "ffn_mult", "local_", "global_",
                       "every", "kv_share"}))
    return true;
  if (value.is_object()) {
    return !name_holds(key, {"generation", "quantization", "task_specific", "label"}) &&
           (key.ends_with("_config") ||
            name_holds(key, {"visual", "vision", "audio", "speech", "talker", "adapter", "encoder",
                             "projector", "multimodal", "tower", "embd", "processor", "lora"}));
  }
  if (!has_experts && name_holds(key, {"moe", "expert", "sparse_step"})) {
    const bool counts = name_holds(key, {"experts"}) && value.is_number() && value > 1;
    return counts && !name_holds(key, {"per_tok", "topk", "shared", "group"});
  }
  if (name_holds(key, {"layer", "block", "mixer", "pattern", "step", "interleave"})) return true;
  return is_about_layers(value, layers);
}

/// Paths of the fields that no part of the reader used and that may matter; `own` is the language
/// model's object of the file `root`.
/// Test: layer_stride_pattern is named, layer_norm_eps is not; a talker_config is, and a
/// vision_config that was counted is not.
template <class Json>
std::vector<std::string> unread_fields(const config_fields<Json>& own,
                                       const config_fields<Json>& root, double layers,
                                       bool has_experts) {
  std::vector<std::string> out;
  const fields_read& read = *own.log();
  const auto add = [&](const config_fields<Json>& f) {
    for (const auto& item : f.all().items()) {
      const std::string path = f.field(item.key().c_str());
      if (read.count(path) == 0 && may_matter(item.key(), item.value(), layers, has_experts))
        out.push_back(path);
    }
  };
  add(own);
  if (!root.path().empty() || own.path() != root.path()) {
    for (const auto& item : root.all().items()) {
      const std::string path = root.field(item.key().c_str());
      const bool leads_to_own = own.path() == path || own.path().starts_with(path + ".");
      if (!leads_to_own && item.value().is_object() && read.count(path) == 0 &&
          may_matter(item.key(), item.value(), layers, has_experts))
        out.push_back(path);
    }
  }
  if (root.has("thinker_config") && own.path() != "thinker_config") {
    const auto thinker = root.object("thinker_config");
    for (const auto& item : thinker.all().items()) {
      const std::string path = thinker.field(item.key().c_str());
      if (path != own.path() && item.value().is_object() && read.count(path) == 0 &&
          may_matter(item.key(), item.value(), layers, has_experts))
        out.push_back(path);
    }
  }
  for (const char* key : {"dflash_config"}) {  // read in part
    if (!own.has(key) || read.count(own.field(key)) == 0) continue;
    const auto part = own.object(key);
    for (const char* inner : {"markov_rank", "enable_confidence_head"}) {
      if (part.has(inner)) out.push_back(part.field(inner));
    }
  }
  return out;
}

}  // namespace perfmodel::inline v0_3::detail
