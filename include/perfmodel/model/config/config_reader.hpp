// The shapes of a language model from the fields of its config.json.
#pragma once

#include <perfmodel/model/config/encoder_fields.hpp>
#include <perfmodel/model/config/feed_forward_fields.hpp>
#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::detail {

/// The modules that draft further tokens: each a layer like the last.
template <class Json>
std::optional<layer_shape> mtp_of(const config_view<Json>& c, const layer_list& layers) {
  const char* const key = c.own.either(
      {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules", "_num_mtp_layers"});
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
  if (!c.own.has_list(count) || c.own.list(count).size() < 2 || !c.own.has_list(width)) return 0;
  double routed = 0;
  for (const auto& kind : layers.feed_forwards) {
    if (std::holds_alternative<expert_shape>(kind.shape)) routed += kind.layers;
  }
  return routed * 3 * c.hidden * c.own.whole_entry(count, 1, 1, most_width) *
         c.own.whole_entry(width, 1, 1, most_width);
}

template <class Json>
transformer read_model(config_view<Json> c, ordered_layers& ordered) {
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
  // Tables of n-grams with `ratio` times the vocabulary in all (LongCat-Flash-Lite, arXiv
  // 2601.21204: 31.4e9 of its 68.5e9 parameters).
  if (const char* const ratio = "ngram_vocab_size_ratio"; own.has(ratio))
    m.positions = m.positions.value_or(0.0) + m.vocabulary * own.whole(ratio, 1, 10000);
  m.tied_embeddings = own.has("tied_embeddings")
                          ? own.flag_or("tied_embeddings", false)
                          : (own.has("tie_word_embeddings") ? own : c.root)
                                .flag_or("tie_word_embeddings", c.family.tied);
  m.norms_per_layer = own.has("hybrid_override_pattern") ? 1 : c.family.norms_per_layer;
  m.norm_bias = c.family.norm_bias;
  m.head_bias = c.family.head_bias || own.flag_or("lm_head_bias", false);
  ordered.hidden = m.hidden;
  ordered.tied = m.tied_embeddings;
  ordered.sibling_experts = own.flag_or("enable_moe_block", false) ||
                            own.flag_or("residual_moe", false) ||
                            own.flag_or("parallel_attn_mlp_res", false);
  m.layers = layers_of(c, ordered);
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
