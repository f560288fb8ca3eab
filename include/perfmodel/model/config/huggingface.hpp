// Reads the config.json of a Hugging Face checkpoint into a transformer. No JSON library is
// included: any type with the interface of nlohmann::json serves.
#pragma once

#include <perfmodel/model/config/config_reader.hpp>
#include <perfmodel/model/config/other_kinds.hpp>
#include <perfmodel/model/config/quantization_config.hpp>
#include <perfmodel/model/config/unread_fields.hpp>

namespace perfmodel::inline v0_3 {

/// Contents of a config.json. `weights` is the format of most weights, `stored` that of each part,
/// `kv` that of the cache where the checkpoint has a scheme for it.
struct model_config {
  transformer model{};
  storage_format weights{};
  weight_storage stored{};
  std::optional<storage_format> kv{};
  std::string architecture;             ///< architectures[0], or model_type where that is missing
  bool known_family = false;            ///< false: only the file's fields count
  const char* draft = "";               ///< EAGLE, EAGLE-3, MTP or DFlash: a draft head; else empty
  std::vector<std::string> not_read{};  ///< fields that may matter and that nothing used
  /// Why the weights' format is not known, where a reader accepts that; else empty.
  std::string unknown_storage{};
};

namespace detail {
/// The language model's object of a multimodal file; the file itself where it has none.
template <class Json>
config_fields<Json> language_part(const config_fields<Json>& root, bool& nested) {
  nested = true;
  for (const char* key :
       {"text_config", "llm_config", "language_config", "transformer_layer_config"}) {
    if (root.has(key)) return root.object(key);
  }
  if (root.has("thinker_config")) return language_part(root.object("thinker_config"), nested);
  nested = false;
  return root;
}
/// Object of the language model with its attention and feed-forward fields on one level (DBRX and
/// MPT nest them, and Mistral's params.json).
template <class Json>
Json on_one_level(const config_fields<Json>& own) {
  Json out = own.all();
  for (const char* key : {"attn_config", "ffn_config", "moe", "ssm_cfg"}) {
    if (!own.has(key) || !own.all().at(key).is_object()) continue;
    const auto fields = own.object(key);
    const Json& part = fields.all();
    for (auto it = part.begin(); it != part.end(); ++it) {
      if (!out.contains(it.key())) out[it.key()] = it.value();
    }
  }
  return out;
}
}  // namespace detail

/// Reads the model of a config.json; its text part where it is multimodal. `name` names the model
/// (by default its architecture).
/// Fields are read by meaning, independent of the family; a known family also has the defaults of
/// its configuration class in huggingface/transformers. `quantization` is an hf_quant_config.json
/// of the same checkpoint, if any.
/// Encoder-only models and diffusion models are refused; a draft head is read as one. With
/// `any_storage` a quantisation that is not known is no error: see unknown_storage.
/// Leaves out: audio towers, rotary scaling, residual variants (AltUp, hyper-connections).
/// Errors: invalid_config for a field that is missing, of the wrong type, out of range, or in
/// contradiction to another; unknown_architecture for such a field in an unknown family.
/// Test: every config.json in tests/data/configs reads to the catalogue's model, field by field.
template <class Json>
model_config from_config(const Json& json, std::string_view name = {},
                         const Json* quantization = nullptr, bool any_storage = false) {
  fields_read read;
  const config_fields<Json> root(json, "", &read);
  detail::refuse_other_kinds(root);
  bool nested = false;
  const config_fields<Json> language = detail::language_part(root, nested);
  Json fields = detail::on_one_level(language);
  const detail::draft_kind draft = detail::draft_kind_of(root);
  detail::keep_draft_layers(fields, draft);
  const config_fields<Json> own(fields, language.path(), &read);
  detail::refuse_other_layers(own);
  model_config out;
  out.draft = detail::name_of(draft);
  detail::ordered_layers ordered;
  const model_family family =
      detail::family_of_config(own, root, nested, out.architecture, out.known_family);
  try {
    out.model =
        detail::read_model(detail::config_view<Json>{own, root, family,
                                                     nested ? detail::nested_defaults(family.type)
                                                            : detail::shape_defaults{}},
                           ordered);
    detail::become_draft(out.model, draft, own, root);
    if (detail::has_no_head(out.architecture)) out.model.tied_embeddings = ordered.tied = true;
  } catch (const error& e) {  // also of a model that cannot be, though each field can
    if (out.known_family) throw error(error_code::invalid_config, e.what());
    throw error(error_code::unknown_architecture,
                config_fields<Json>::quoted(out.architecture) +
                    " is not a known architecture, and by its fields: " + e.what());
  }
  out.model.name = label::shortened(name.empty() ? out.architecture : name);
  const bool has_experts = experts_of(out.model).has_value();
  checkpoint_storage storage;
  try {
    storage = storage_from_config(own, root, has_experts, ordered, quantization);
  } catch (const error& e) {
    if (!any_storage) throw;
    out.unknown_storage = e.what();
  }
  out.stored = storage.weights;
  out.kv = storage.kv;
  out.model.stored = out.stored;
  out.weights = has_experts ? out.stored.experts : out.stored.linear;
  out.not_read = detail::unread_fields(own, root, out.model.layers.count, has_experts);
  return out;
}

}  // namespace perfmodel::inline v0_3
