// The shapes of a language model from the fields of its config.json.
#pragma once

#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/config/feed_forward_fields.hpp>
#include <perfmodel/model/transformer.hpp>

// Parameters of the towers for images and sound of a config.json.

namespace perfmodel::inline v0_3::detail {

/// Parameters of a vision tower: blocks of four square projections and a feed-forward of two
/// matrices (three where it is gated), the patches' projection, positions, and a projector that
/// joins `merged` patches. The projector has two matrices at each of its uses.
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

/// Audio tower like Whisper's (d_model wide, two convolutions in front); 0 where the file has none,
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

/// Towers of a multimodal file; empty where it has none, or where it lacks their dimensions.
/// Source: the vision modules of huggingface/transformers (qwen3_vl, gemma4, llama4) and vLLM's
/// kimi_k25_vit.py. Leaves out: biases (1 %), audio towers of another kind than Whisper's.
/// Test: Qwen3.5-27B's 460.7 M, Kimi-K2.5's 471 M within 3 %; Whisper large-v3's encoder, 636.8 M,
/// in 1 %.
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

/// The modules that draft further tokens: each a layer like the last.
template <class Json>
std::optional<layer_shape> mtp_of(const config_view<Json>& c, const layer_list& layers) {
  const char* const key =
      c.own.either({"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"});
  const double modules = c.own.whole_or(key, 0, 0, 100);
  if (modules < 1 || layers.mixers.empty()) return {};
  layer_shape l{.times = modules, .mixer = {}, .feed_forward = {}};
  const auto own_entry = static_cast<std::size_t>(c.layers);
  if (c.own.has_list("compress_ratios") && c.own.list("compress_ratios").size() > own_entry) {
    l.mixer = compressed_attention_of(c, own_entry);
  } else {
    for (const auto& kind : layers.mixers) {  // attention, where there are recurrent layers too
      if (!l.mixer || !std::holds_alternative<recurrent_shape>(kind.shape)) l.mixer = kind.shape;
    }
  }
  for (const auto& kind : layers.feed_forwards) l.feed_forward = kind.shape;
  return l;
}

/// Parameters of the experts for images, which a text never uses: as a tower's (Ernie 4.5 VL).
template <class Json>
double image_experts(const config_view<Json>& c, const layer_list& layers) {
  const char* const count = expert_count_key(c.own);
  const char* const width = "moe_intermediate_size";
  if (!c.own.has_list(count) || !c.own.has_list(width)) return 0;
  double routed = 0;
  for (const auto& kind : layers.feed_forwards) {
    if (std::holds_alternative<expert_shape>(kind.shape)) routed += kind.layers;
  }
  return routed * 3 * c.hidden * c.own.whole_entry(count, 1, 1, most_width) *
         c.own.whole_entry(width, 1, 1, most_width);
}

template <class Json>
transformer read_model(config_view<Json> c) {
  const config_fields<Json>& own = c.own;
  transformer m;
  if (own.flag_or("is_encoder_decoder", false))
    own.refuse("is_encoder_decoder", "false: models with an encoder of text are not modelled");
  c.layers = layer_count(own, c.preset.layers);
  const auto size = [&](const char* key, const std::optional<double>& preset) {
    return preset ? own.whole_or(key, *preset, 1, most_width) : own.whole(key, 1, most_width);
  };
  c.hidden = m.hidden =
      size(own.either({"hidden_size", "n_embd", "d_model", "dim"}), c.preset.hidden);
  m.vocabulary = size(own.either({"vocab_size", "padded_vocab_size"}), c.preset.vocabulary);
  c.max_context = m.max_context =
      own.whole_or(own.either({"max_position_embeddings", "max_position_embedding", "max_seq_len",
                               "n_positions", "model_max_length", "seq_length"}),
                   c.preset.context, 1, 1e10);
  if (c.family.extra_positions && m.max_context)
    m.positions = *m.max_context + *c.family.extra_positions;
  m.tied_embeddings =
      (own.has("tie_word_embeddings") ? own : c.root).flag_or("tie_word_embeddings", c.family.tied);
  m.norms_per_layer = own.has("hybrid_override_pattern") ? 1 : c.family.norms_per_layer;
  m.norm_bias = c.family.norm_bias;
  m.head_bias = c.family.head_bias || own.flag_or("lm_head_bias", false);
  m.layers = layers_of(c);
  m.mtp = mtp_of(c, m.layers);
  m.encoder = encoder_of(c.root, m.hidden);
  if (const double images = image_experts(c, m.layers); images > 0) {
    if (!m.encoder) m.encoder = encoder_shape{};
    m.encoder->parameters += images;
  }
  if (const double width = own.whole_or("hidden_size_per_layer_input", 0, 0, most_width);
      width >= 1)
    m.layer_embedding = layer_embedding{
        width, own.whole_or("vocab_size_per_layer_input", m.vocabulary, 1, most_width)};
  return checked(m);
}

}  // namespace perfmodel::inline v0_3::detail
