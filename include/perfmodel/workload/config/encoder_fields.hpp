// Parameters of a vision tower from the vision_config of a config.json.
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

/// The tower of a multimodal file; nothing where it has none, or one whose widths it does not give.
/// Source: the vision modules of huggingface/transformers (qwen3_vl, gemma4, llama4) and vLLM's
/// kimi_k25_vit.py. Leaves out: biases (1 %), audio towers.
/// Test: Qwen3.5-27B's 460.7 M, Kimi-K2.5's 471 M within 3 %.
template <class Json>
std::optional<encoder_shape> encoder_of(const config_fields<Json>& root, double text_hidden) {
  if (!root.has("vision_config") || !root.at("vision_config").is_object()) return {};
  const config_fields<Json> v = root.object("vision_config");
  const auto number = [&](std::initializer_list<const char*> keys, double unsaid) {
    return v.whole_or(v.either(keys), unsaid, 0, 1e8);
  };
  encoder_widths w;
  w.layers = number({"depth", "num_hidden_layers", "vt_num_hidden_layers", "num_layers"}, 0);
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
  encoder_shape e{.parameters = encoder_parameters(w, text_hidden), .tokens_per_item = {}};
  const char* const fixed = v.either({"default_output_length", "mm_tokens_per_image"});
  if (v.has(fixed)) e.tokens_per_item = v.whole(fixed, 1, 1e7);
  return e;
}

}  // namespace perfmodel::detail
