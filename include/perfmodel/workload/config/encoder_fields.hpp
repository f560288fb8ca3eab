// Parameters of the towers for images and sound of a config.json.
#pragma once

#include <perfmodel/workload/config/config_fields.hpp>
#include <perfmodel/workload/model/transformer.hpp>

namespace perfmodel::detail {

/// Blocks of four square projections and a feed-forward of two matrices (three where it is gated), the
/// patches' projection, positions, and a projector to the language model that joins `merged` patches:
/// in two matrices, for each of the places it is used at.
struct encoder_widths {
  double layers = 0, hidden = 0, intermediate = 0, attention = 0, patch = 0, positions = 0;
  double merged = 1, mergers = 1;
  bool gated = false;
};
inline double encoder_parameters(const encoder_widths& w, double text_hidden) {
  const double block =
      4 * w.hidden * w.attention + (w.gated ? 3 : 2) * w.hidden * w.intermediate + 4 * w.hidden;
  const double joined = w.merged * w.hidden;
  const double merger = joined * joined + joined * text_hidden;
  return w.layers * block + 3 * w.patch * w.patch * w.hidden + w.positions * w.hidden +
         w.mergers * merger;
}

/// A tower for sound as Whisper's (d_model wide, two convolutions in front); 0 where the file has none,
/// or another kind. Source: Radford et al. 2022 (arXiv 2212.04356), section 2.2.
template <class Json>
double sound_parameters(const config_fields<Json>& root, double text_hidden) {
  if (!root.has("audio_config") || !root.at("audio_config").is_object()) return 0;
  const config_fields<Json> a = root.object("audio_config");
  const double width = a.whole_or("d_model", 0, 0, 1e8);
  const double layers = a.whole_or("encoder_layers", 0, 0, 1e4);
  const double inner = a.whole_or("encoder_ffn_dim", 4 * width, 0, 1e8);
  const double bands = a.whole_or("num_mel_bins", 128, 1, 1e4);
  const double convolutions = 3 * width * (bands + width);
  return layers * (4 * width * width + 2 * width * inner + 9 * width + inner) + convolutions +
         width * text_hidden;
}

/// The towers of a multimodal file; nothing where it has none, or some whose widths it does not give.
/// Source: the vision modules of huggingface/transformers (qwen3_vl, gemma4, llama4) and vLLM's
/// kimi_k25_vit.py. Leaves out: biases (1 %), towers for sound of another kind than Whisper's.
/// Test: Qwen3.5-27B's 460.7 M, Kimi-K2.5's 471 M within 3 %; Whisper large-v3's encoder, 636.8 M, in 1 %.
template <class Json>
std::optional<encoder_shape> encoder_of(const config_fields<Json>& whole, double text_hidden) {
  const config_fields<Json> root =
      whole.has("thinker_config") ? whole.object("thinker_config") : whole;
  const double sound = sound_parameters(root, text_hidden);
  if (!root.has("vision_config") || !root.at("vision_config").is_object()) {
    if (sound <= 0) return {};
    return encoder_shape{.parameters = sound, .tokens_per_item = {}};
  }
  const config_fields<Json> v = root.object("vision_config");
  const auto number = [&](std::initializer_list<const char*> keys, double unsaid) {
    return v.whole_or(v.either(keys), unsaid, 0, 1e8);
  };
  encoder_widths w;
  w.layers =
      number({"depth", "num_hidden_layers", "vt_num_hidden_layers", "num_layers", "layers"}, 0);
  w.hidden = number({"hidden_size", "vt_hidden_size", "width"}, 0);
  w.intermediate = number({"intermediate_size", "vt_intermediate_size"}, 4 * w.hidden);
  w.attention = number({"qkv_hidden_size"}, w.hidden);
  w.patch = number({"patch_size"}, 14);
  w.positions = number({"num_position_embeddings", "position_embedding_size"}, 0);
  const double merge = number({"spatial_merge_size"}, v.has("merge_kernel_size") ? 2 : 1);
  w.merged = merge * merge;
  if (v.has_list("deepstack_visual_indexes"))
    w.mergers += static_cast<double>(v.list("deepstack_visual_indexes").size());
  w.gated = v.text_or("model_type", "").find("gemma4") != std::string::npos;
  if (w.layers < 1 || w.hidden < 1) return {};
  encoder_shape e{.parameters = encoder_parameters(w, text_hidden) + sound, .tokens_per_item = {}};
  const char* const fixed = v.either({"default_output_length", "mm_tokens_per_image"});
  if (v.has(fixed)) e.tokens_per_item = v.whole(fixed, 1, 1e7);
  return e;
}

}  // namespace perfmodel::detail
