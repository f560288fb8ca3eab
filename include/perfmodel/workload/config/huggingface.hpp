// Reads the config.json of a Hugging Face checkpoint into a transformer. No JSON library is
// included: any type with the interface of nlohmann::json serves.
#pragma once

#include <perfmodel/workload/config/config_reader.hpp>
#include <perfmodel/workload/config/quantization_config.hpp>

namespace perfmodel {

/// What a config.json says. `weights` is the format of most of them, `stored` that of each part.
struct model_config {
  transformer model{};
  storage_format weights{};
  weight_storage stored{};
  std::string architecture;  ///< architectures[0], or model_type where that is missing
};

/// The model that a config.json describes; its text part where it is multimodal. `name` is what to
/// call it (by default its architecture). Missing fields take the default of the family's
/// configuration class in huggingface/transformers.
/// Leaves out: vision and audio towers, multi-token-prediction modules, rotary scaling.
/// Errors: unknown_architecture, with the list of known ones; invalid_config for a field that is
/// missing, of the wrong type, out of range, or in contradiction to another.
/// Test: every config.json in tests/data/configs reads to the catalogue's model, field by field.
template <class Json>
model_config from_config(const Json& json, std::string_view name = {}) {
  const config_fields<Json> root(json, "");
  const bool nested = root.has("text_config");
  const config_fields<Json> own = nested ? root.object("text_config") : root;
  model_config out;
  const model_family family = detail::family_of_config(own, root, nested, out.architecture);
  out.model = detail::config_reader<Json>(family, own, root, nested).read();
  out.model.name = label::shortened(name.empty() ? out.architecture : name);
  const bool has_experts = out.model.moe.layers > 0;
  out.stored = storage_from_config(own, root, has_experts);
  out.model.stored = out.stored;
  out.weights = has_experts ? out.stored.experts : out.stored.linear;
  return out;
}

}  // namespace perfmodel
