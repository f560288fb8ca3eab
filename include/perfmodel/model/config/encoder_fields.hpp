// Parameters of the towers for images and sound of a config.json.
#pragma once

#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::detail {

/// A vision tower: blocks of attention (queries and results of `attention`, keys and values of
/// `kv_width`) and a feed-forward of two matrices (three where it is gated), the patches'
/// projection, positions, and a projector that joins `merged` patches. The projector has two
/// matrices at each of its uses.
struct encoder_widths {
  double layers = 0, hidden = 0, intermediate = 0, attention = 0, kv_width = 0, patch = 0;
  double positions = 0, merged = 1, mergers = 1, frames = 1;
  bool gated = false;
  bool one_matrix = false;  ///< the projector has one (Gemma 3)
};
inline double encoder_parameters(const encoder_widths& w, double text_hidden) {
  const double block = 2 * w.hidden * (w.attention + w.kv_width) +
                       (w.gated ? 3 : 2) * w.hidden * w.intermediate + 4 * w.hidden;
  const double joined = w.merged * w.hidden;
  const double merger = (w.one_matrix ? 0.0 : joined * joined) + joined * text_hidden;
  return w.layers * block + 3 * w.frames * w.patch * w.patch * w.hidden + w.positions * w.hidden +
         w.mergers * merger;
}

/// Audio tower of Whisper's kind: convolutions in front, then blocks. Under Whisper's names
/// (d_model) one matrix leads to the text; under the common names (Voxtral) `intermediate` wide
/// groups of frames do, in two. 0 where the file has none, or another kind.
/// Sources: Radford et al. 2022 (arXiv 2212.04356), section 2.2; transformers, modeling_voxtral.py.
template <class Json>
double sound_parameters(const config_fields<Json>& root, double text_hidden) {
  if (!root.has("audio_config") || !root.all().at("audio_config").is_object()) return 0;
  const config_fields<Json> a = root.object("audio_config");
  const bool whisper = a.has("d_model");
  const double width = a.whole_or(a.either({"d_model", "hidden_size"}), 0, 0, 1e8);
  const double layers = a.whole_or(a.either({"encoder_layers", "num_hidden_layers"}), 0, 0, 1e4);
  if (width < 1 || layers < 1 || a.has("conf_num_hidden_layers")) {
    root.mark_unread("audio_config");
    return 0;
  }
  const double inner =
      a.whole_or(a.either({"encoder_ffn_dim", "intermediate_size"}), 4 * width, 0, 1e8);
  const double bands = a.whole_or("num_mel_bins", 128, 1, 1e4);
  const double convolutions = 3 * width * (bands + width);
  const double blocks = layers * (4 * width * width + 2 * width * inner + 9 * width + inner);
  if (whisper) return blocks + convolutions + width * text_hidden;
  const double positions = a.whole_or("max_source_positions", 0, 0, 1e6) * width;
  return blocks + convolutions + positions + inner * text_hidden + text_hidden * text_hidden;
}

/// GLM-4.5V: feed-forwards as wide as the text, a convolution over 2 x 2 patches to it, and a
/// gated merger. Source: transformers, modeling_glm4v.py. Test: 0.858e9 of GLM-4.5V.
inline double glm_parameters(const encoder_widths& w, double out, double merger) {
  const double block = 4 * w.hidden * w.hidden + 3 * w.hidden * out + 2 * w.hidden;
  return w.layers * block + 3 * w.frames * w.patch * w.patch * w.hidden + w.positions * w.hidden +
         w.merged * w.hidden * out + out * out + 3 * out * merger;
}

/// Llama 3.2 Vision: local and global blocks, embeddings of tiles and of positions in each kind of
/// tiling, and a projection of several layers' results. Source: transformers, modeling_mllama.py.
/// Test: 88.6e9 with the text of the 90B.
template <class Json>
double mllama_parameters(const config_fields<Json>& v, const encoder_widths& w, double text) {
  const double ratios = v.has_list("supported_aspect_ratios")
                            ? static_cast<double>(v.list("supported_aspect_ratios").size()) + 1
                            : 9;
  const double tiles = v.whole_or("max_num_tiles", 4, 1, 1e4);
  const double side = math::floor(v.whole_or("image_size", 560, 1, 1e6) / w.patch);
  const double positions = side * side + 1;
  const double blocks = w.layers + v.whole_or("num_global_layers", 8, 0, 1e4);
  const double block = 4 * w.hidden * w.attention + 2 * w.hidden * w.intermediate + 4 * w.hidden;
  const double projected = v.whole_or("vision_output_dim", w.hidden, 1, 1e8) * text;
  return blocks * block + ratios * tiles * (positions + 2) * w.hidden + positions * w.hidden +
         3 * w.patch * w.patch * w.hidden + projected;
}

/// Parameters of a vision tower; 0 where its dimensions are missing. `pixtral`: gated, as that of
/// Mistral's params.json.
template <class Json>
double vision_parameters(const config_fields<Json>& v, double text_hidden, bool pixtral,
                         bool one_matrix = false) {
  const auto number = [&](std::initializer_list<const char*> keys, double unsaid) {
    const char* const key = v.either(keys);  // DeepSeek-OCR's width is an object of two towers
    if (v.has(key) && v.all().at(key).is_object()) return unsaid;
    return v.whole_or(key, unsaid, 0, 1e8);
  };
  const std::string type =
      v.has("model_type") && v.at("model_type").is_string() ? v.text_or("model_type", "") : "";
  const auto is = [&type](const char* part) { return type.find(part) != std::string::npos; };
  encoder_widths w;
  w.layers =
      number({"depth", "num_hidden_layers", "vt_num_hidden_layers", "num_layers", "layers"}, 0);
  // Qwen2-VL's hidden_size is the width of the text that the tower leads to.
  w.hidden = number({"embed_dim", "hidden_size", "vt_hidden_size", "width"}, 0);
  const char* const feed = v.either({"intermediate_size", "vt_intermediate_size"});
  const bool ratio = !v.has(feed) && v.has("mlp_ratio") && v.at("mlp_ratio").is_number();
  w.intermediate = ratio ? math::floor(v.positive("mlp_ratio", 100.0) * w.hidden)
                         : v.whole_or(feed, 4 * w.hidden, 0, 1e8);
  w.attention = w.kv_width = number({"qkv_hidden_size"}, w.hidden);
  const double heads = number({"num_heads", "num_attention_heads"}, 0);
  const double kv = number({"num_key_value_heads"}, heads);
  if (heads >= 1 && kv >= 1 && kv < heads) w.kv_width = w.attention * kv / heads;
  w.patch = v.has("patch_size") && v.at("patch_size").is_number_integer()
                ? v.whole("patch_size", 1, 1e6)
                : 14;
  w.positions = number({"num_position_embeddings", "position_embedding_size"}, 0);
  w.one_matrix = one_matrix;
  if (is("siglip_vision") && w.positions < 1 && v.has("image_size")) {
    const double side = math::floor(v.whole("image_size", 1, 1e6) / w.patch);
    w.positions = side * side;
  }
  const double merge = number({"spatial_merge_size"}, v.has("merge_kernel_size") ? 2 : 1);
  w.merged = merge * merge;
  if (v.has_list("deepstack_visual_indexes"))
    w.mergers += static_cast<double>(v.list("deepstack_visual_indexes").size());
  const char* const act = v.either({"hidden_act", "hidden_activation"});
  const bool silu = v.has(act) && v.at(act).is_string() && v.at(act) == "silu";
  w.gated = is("gemma4") || is("pixtral") || pixtral || silu;
  if (w.layers < 1 || w.hidden < 1) return 0;
  if (silu) w.frames = number({"temporal_patch_size"}, 1);
  if (is("mllama")) return mllama_parameters(v, w, text_hidden);
  if (is("glm4v")) {
    const double side = math::floor(number({"image_size"}, 336) / w.patch);
    w.positions = side * side;
    w.frames = number({"temporal_patch_size"}, 2);
    return glm_parameters(w, number({"out_hidden_size"}, text_hidden), w.intermediate);
  }
  return encoder_parameters(w, text_hidden);
}

/// Towers of a multimodal file; empty where it has none, or where it lacks their dimensions.
/// Source: the vision modules of huggingface/transformers (qwen3_vl, gemma4, llama4) and vLLM's
/// kimi_k25_vit.py. Leaves out: biases (1 %), audio towers of another kind than Whisper's.
/// Test: Gemma 3 27B's 423.1 M, Qwen3.5-27B's 460.7 M, Kimi-K2.5's 471 M within 3 %; EXAONE 4.5's
/// 1.286e9; Whisper large-v3's encoder, 636.8 M, in 1 %.
template <class Json>
std::optional<encoder_shape> encoder_of(const config_fields<Json>& whole, double text_hidden) {
  const config_fields<Json> root =
      whole.has("thinker_config") ? whole.object("thinker_config") : whole;
  encoder_shape e{.parameters = sound_parameters(root, text_hidden), .tokens_per_item = {}};
  for (const char* key : {"vision_config", "vision_encoder"}) {
    if (!root.has(key) || !root.all().at(key).is_object()) continue;
    const config_fields<Json> v = root.object(key);
    const double parameters = vision_parameters(
        v, text_hidden, key == std::string_view("vision_encoder"), root.has("mm_tokens_per_image"));
    if (parameters <= 0) {
      root.mark_unread(key);
      continue;
    }
    e.parameters += parameters;
    const char* const fixed = v.either({"default_output_length", "mm_tokens_per_image"});
    if (v.has(fixed)) e.tokens_per_item = v.whole(fixed, 1, 1e7);
    if (const char* const pooled = "mm_tokens_per_image"; root.has(pooled)) {  // Gemma 3
      e.tokens_per_item = root.whole(pooled, 1, 1e7);
      if (v.has("image_size") && v.has("patch_size")) {
        const double side =
            math::floor(v.whole("image_size", 1, 1e6) / v.whole("patch_size", 1, 1e6));
        e.patches_per_item = side * side;
      }
    }
  }
  if (e.parameters <= 0) return {};
  return e;
}

}  // namespace perfmodel::inline v0_3::detail
