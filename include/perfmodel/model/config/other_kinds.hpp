// Files of what is no decoder of text: encoders and diffusion models are refused, draft heads are
// told apart.
#pragma once

#include <algorithm>
#include <perfmodel/model/config/model_family.hpp>
#include <perfmodel/model/config/quantization_methods.hpp>

namespace perfmodel::inline v0_3::detail {

/// model_type and architectures[0] of a file, in lower case.
struct stated_kind {
  std::string type, architecture;
  const char* key = "model_type";
};
template <class Json>
stated_kind kind_of(const config_fields<Json>& root) {
  stated_kind k;
  const auto text = [&](const char* key) {
    return root.has(key) && root.all().at(key).is_string()
               ? lower_case(root.all().at(key).template get<std::string>())
               : std::string();
  };
  k.type = text("model_type");
  k.architecture = text("_class_name");
  if (root.has_list("architectures") && !root.all().at("architectures").empty() &&
      root.all().at("architectures").at(0).is_string())
    k.architecture = lower_case(root.all().at("architectures").at(0).template get<std::string>());
  if (!root.has("model_type")) k.key = root.has("_class_name") ? "_class_name" : "architectures";
  return k;
}

// clang-format off
/// Encoders alone: tasks in names of architectures, parts of names, and model types.
inline constexpr const char* encoder_tasks[] = {
    "formaskedlm", "fortokenclassification", "forquestionanswering", "forctc", "forimageclassif",
    "foraudioclassif", "forobjectdetection", "formultiplechoice", "forsemanticsegmenta",
    "forprediction", "formaskedimage"};
inline constexpr const char* encoder_kinds[] = {
    "bert", "electra", "mpnet", "longformer"};
inline constexpr const char* encoder_types[] = {
    "ernie", "ernie_m", "esm", "clip", "siglip", "vit", "dinov2", "dinov3_vit", "wav2vec2",
    "hubert", "wavlm", "layoutlm", "luke", "layoutlmv2", "layoutlmv3", "xlm", "flaubert",
    "nomic_bert", "gte", "funnel", "canine", "nystromformer", "fnet", "big_bird", "lilt",
    "data2vec-text", "perceiver", "roformer", "markuplm", "yoso", "mra", "data2vec-audio",
    "splinter", "tapas", "gliner", "sam", "detr", "timesfm", "beit", "deit", "swin", "convnext",
    "encodec", "dac", "unispeech", "parakeet_ctc", "parakeet_encoder"};
/// Types of encoder-decoders.
inline constexpr const char* encoder_decoder_types[] = {
    "t5", "mt5", "umt5", "longt5", "t5gemma", "t5gemma2", "bart", "mbart", "led", "pegasus",
    "pegasus_x", "bigbird_pegasus", "marian", "m2m_100", "nllb-moe", "switch_transformers",
    "whisper", "moonshine", "florence2", "seamless_m4t", "seamless_m4t_v2", "blenderbot",
    "prophetnet", "encoder-decoder", "vision-encoder-decoder", "speech-encoder-decoder",
    "nemotron_parse", "udop", "pix2struct", "speech_to_text"};
// clang-format on

/// True for a file of an encoder alone: by its type, by the task that its architecture names, or by
/// attention without a causal mask (EmbeddingGemma, gte-Qwen2, NV-Embed).
/// Source: the model types and head classes of huggingface/transformers.
template <class Json>
bool is_encoder_only(const config_fields<Json>& root, const stated_kind& k) {
  const auto any_of = [](const std::string& text, auto is, const auto& names) {
    return std::any_of(std::begin(names), std::end(names),
                       [&](const char* name) { return is(text, name); });
  };
  const auto part = [](const std::string& text, const char* name) { return holds(text, name); };
  const auto same = [](const std::string& text, const char* name) { return text == name; };
  const bool decodes = holds(k.architecture, "decoder") || holds(k.type, "decoder") ||
                       holds(k.architecture, "causallm") || holds(k.architecture, "lmheadmodel");
  const bool generates = decodes || holds(k.architecture, "conditionalgeneration");
  const bool unmasked = (root.has("is_causal") && root.at("is_causal") == false) ||
                        (!generates && root.has("use_bidirectional_attention") &&
                         root.at("use_bidirectional_attention") == true);
  if (unmasked) return true;
  if (any_of(k.architecture, part, encoder_tasks) || holds(k.type, "bidir") ||
      holds(k.type, "nvembed"))
    return true;
  return !decodes && !root.has("text_config") &&
         (any_of(k.type, part, encoder_kinds) || any_of(k.architecture, part, encoder_kinds) ||
          any_of(k.type, same, encoder_types) || k.architecture == "newmodel");
}

/// Refuses heads of a target model that are no model: MLP and LSTM speculators, Medusa, Hydra.
template <class Json>
void refuse_heads(const config_fields<Json>& root, const stated_kind& k) {
  const auto either = [&k](std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      if (holds(k.type, part) || holds(k.architecture, part)) return true;
    }
    return false;
  };
  if (k.type == "mlp_speculator" || either({"mlpspeculator", "lstmspeculator", "hydra"}))
    root.refuse(k.key,
                "a model: its heads depend on their target; give the target as the model, "
                "and drafter heads");
  if (root.has("medusa_num_heads") || either({"medusa"})) {
    root.refuse(root.has("medusa_num_heads") ? "medusa_num_heads" : k.key,
                "a model: Medusa heads depend on their target; give the target as the model, and "
                "drafter heads");
  }
}

/// Refuses encoders without a decoder, encoder-decoders that do not say so, and diffusion models.
/// Sources: the model types of huggingface/transformers and diffusers.
template <class Json>
void refuse_other_kinds(const config_fields<Json>& root) {
  const stated_kind k = kind_of(root);
  const auto either = [&k](std::initializer_list<const char*> parts) {
    for (const char* part : parts) {
      if (holds(k.type, part) || holds(k.architecture, part)) return true;
    }
    return false;
  };
  const auto is = [&k](std::initializer_list<const char*> types) {
    for (const char* type : types) {
      if (k.type == type) return true;
    }
    return false;
  };
  if (either({"diffusion", "llada", "dreammodel", "sdar", "unet2d", "transformer2d", "dllm",
              "autoencoderkl", "transformer3d", "mmada", "wedlm", "tidar"}) ||
      is({"dream", "rnd1", "bd3lm", "mdlm"}) || k.type.starts_with("a2d") ||
      root.has("_diffusers_version")) {
    root.refuse(k.key, "models that decode token by token: diffusion models are not modelled");
  }
  const bool has_text_encoder =
      std::any_of(std::begin(encoder_decoder_types), std::end(encoder_decoder_types),
                  [&k](const char* type) { return k.type == type; });
  if (has_text_encoder || either({"t5encoder"})) {
    root.refuse(k.key, "decoders: models with an encoder of text are not modelled");
  }
  if (is_encoder_only(root, k)) {
    root.refuse(k.key,
                "decoders: encoder-only models (BERT and its kind) have no KV cache and "
                "generate no tokens");
  }
  if (is({"clip", "siglip", "siglip2", "blip", "chinese_clip", "align", "clap"}) &&
      !holds(k.architecture, "causallm"))
    root.refuse(k.key,
                "decoders: encoder-only models (CLIP and its kind) have no KV cache and "
                "generate no tokens");
  if (root.flag_or("is_encoder_decoder", false))
    root.refuse("is_encoder_decoder", "false: models with an encoder of text are not modelled");
  if (root.has("text_model_id") && !root.has("text_config"))
    root.refuse("text_model_id",
                "null, or a text_config too: give the file of that model, which "
                "has the layers of the text");
  refuse_heads(root, k);
  if (is({"zamba", "zamba2"}) && !root.has("num_mem_blocks"))
    root.refuse("model_type", "families without blocks that layers share");
}

/// Refuses layers that no kind of layer here is: run several times per token, with routed attention
/// heads, or with attention and Mamba heads that share projections and caches.
/// Sources: ByteDance's Ouro and Huginn (arXiv 2502.05171), with layers stored once and a cache for
/// each time; JetMoE (arXiv 2404.07413) and ModuleFormer; Hymba (arXiv 2411.13676).
/// Test: each of them, and their keys in a file of another family.
template <class Json>
void refuse_other_layers(const config_fields<Json>& own) {
  for (const char* times : {"total_ut_steps", "mean_recurrence", "num_loops"}) {
    if (own.whole_or(times, 1, 0, 1e6) > 1)
      own.refuse(times, "1: layers that run several times per token are not modelled");
  }
  const std::string type = kind_of(own).type;
  constexpr const char* routed =
      "attention without a router: routed attention heads are not modelled";
  if (type == "jetmoe" || type == "moduleformer") own.refuse("model_type", routed);
  for (const char* experts : {"n_att_experts", "num_attn_experts", "num_attention_experts"}) {
    if (own.whole_or(experts, 1, 0, 1e6) > 1) own.refuse(experts, routed);
  }
  constexpr const char* fused =
      "layers with separate mixers: attention and Mamba heads that share projections and caches "
      "are "
      "not modelled";
  if (type == "hymba") own.refuse("model_type", fused);
  if (own.has_list("kv_reuse_group") && own.list("kv_reuse_group").size() > 0)
    own.refuse("kv_reuse_group", fused);
}

/// True for classifiers, reward models and bare models, which have no LM head.
inline bool has_no_head(const std::string& architecture) {
  const std::string name = lower_case(architecture);
  if (holds(name, "forsequenceclassification") || holds(name, "rewardmodel")) return true;
  for (const char* bare : {"llamamodel", "mistralmodel", "qwen2model", "qwen3model", "gemma3model",
                           "gemma2model", "gemma3textmodel"}) {
    if (name == bare) return true;
  }
  return false;
}

/// `assistant`: Gemma 4's, with queries alone, which attend to the target's cache.
enum class draft_kind { none, eagle, eagle3, mtp, dflash, assistant };

/// Kind of draft head that a file is of, by its architecture or its own fields.
/// Sources: SpecForge's configurations (draft_vocab_size, dflash_config); vLLM's
/// transformers_utils/configs/eagle.py and speculators; SGLang's deepseek_nextn.py; vLLM #41745.
template <class Json>
draft_kind draft_kind_of(const config_fields<Json>& root) {
  const stated_kind k = kind_of(root);
  const std::string speculator = lower_case(root.text_or("speculators_model_type", ""));
  const auto either = [&](const char* part) {
    return holds(k.type, part) || holds(k.architecture, part) || holds(speculator, part);
  };
  if (root.has("backbone_hidden_size") && either("assistant")) return draft_kind::assistant;
  if (root.has("dflash_config") || either("dflash") || either("dspark")) return draft_kind::dflash;
  if (either("eagle3") || root.has("draft_vocab_size")) return draft_kind::eagle3;
  if (either("eagle")) return draft_kind::eagle;
  if (either("nextn") || k.type.ends_with("_mtp") || holds(k.architecture, "mtp"))
    return draft_kind::mtp;
  return draft_kind::none;
}
constexpr const char* name_of(draft_kind k) {
  constexpr const char* names[] = {"", "EAGLE", "EAGLE-3", "MTP", "DFlash", "MTP"};
  return names[static_cast<int>(k)];
}

/// The fields of an MTP module read as those of a model of its layers alone: it has experts where
/// the model has them in its last layers.
template <class Json>
void keep_draft_layers(Json& fields, draft_kind kind) {
  if (kind == draft_kind::eagle || kind == draft_kind::eagle3) {
    if (!fields.contains("num_hidden_layers")) fields["num_hidden_layers"] = 1;
    return;
  }
  if (kind != draft_kind::mtp) return;
  double modules = 1;
  for (const char* key : {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}) {
    if (fields.contains(key) && fields[key].is_number_integer() &&
        fields[key].template get<double>() >= 1)
      modules = fields[key].template get<double>();
    fields.erase(key);
  }
  fields["num_hidden_layers"] = static_cast<int>(modules);
  for (const char* key : {"first_k_dense_replace", "num_dense_layers", "layer_types",
                          "mlp_layer_types", "full_attention_interval", "moe_layer_freq",
                          "mlp_only_layers", "indexer_types", "compress_ratios"}) {
    fields.erase(key);
  }
}

/// Width of all features that a drafter joins, in hidden vectors: `unsaid` layers of the target, or
/// those that the file lists, each as wide as the target where that is stated. 0: EAGLE-3 without
/// features of layers.
template <class Json>
double joined_features(const config_fields<Json>& root, double unsaid, double hidden) {
  const char* const objects[] = {"dflash_config", "eagle_config"};
  double features = unsaid;
  const auto listed = [&](const config_fields<Json>& f) {
    for (const char* key :
         {"target_layer_ids", "aux_hidden_state_layer_ids", "eagle_aux_hidden_state_layer_ids"}) {
      if (f.has_list(key) && !f.list(key).empty())
        features = static_cast<double>(f.list(key).size());
    }
    if (!f.flag_or("use_aux_hidden_state", true)) features = 0.0;
  };
  listed(root);
  for (const char* key : objects) {
    if (root.has(key)) listed(root.object(key));
  }
  return features * root.whole_or("target_hidden_size", hidden, 1, 1e8) / hidden;
}

/// Makes a draft head of a model that was read: what joins its inputs, and its own tables.
/// EAGLE joins 2 hidden vectors (token and feature), EAGLE-3 3 features, and its queries, keys and
/// values see 2; MTP joins 2; DFlash joins a feature of each of its target layers. Gemma 4's
/// assistant has a matrix for 2 vectors of the target's width and one back to it, and a table.
/// Sources: Li et al., EAGLE (arXiv 2401.15077) and EAGLE-3 (arXiv 2503.01840), section 3;
/// DeepSeek-V3 (arXiv 2412.19437), section 2.2; SpecForge's modeling files.
/// Test: qwen3-8b-eagle3 has 0.40e9 parameters, summed by hand.
template <class Json>
void become_draft(transformer& m, draft_kind kind, const config_fields<Json>& own,
                  const config_fields<Json>& root) {
  if (kind == draft_kind::none) return;
  m.mtp.reset();
  m.joined_inputs = 2;
  m.shares_tables = kind != draft_kind::eagle3 && kind != draft_kind::assistant;
  for (const config_fields<Json>* f : {&own, &root}) {
    for (const char* key : {"block_size", "speculators_config"}) f->mark_read(key);  // its use
  }
  if (kind == draft_kind::assistant)
    m.joined_inputs = 3.0 * root.whole("backbone_hidden_size", 1, 1e8) / m.hidden;
  if (kind == draft_kind::dflash) {
    m.joined_inputs = joined_features(root, 1, m.hidden);
    m.predicts_block = true;
  }
  if (kind != draft_kind::eagle3) return;
  m.joined_inputs = joined_features(root, 3, m.hidden);
  m.vocabulary = root.whole_or("draft_vocab_size", m.vocabulary, 1, 1e8);
  m.tied_embeddings = true;  // one table: the head; the embedding is the target's
  for (auto& layer : m.layers.mixers) {
    if (auto* a = std::get_if<attention_shape>(&layer.shape)) a->input_width = 2.0 * m.hidden;
  }
}

}  // namespace perfmodel::inline v0_3::detail
