// Mixer of a layer from the fields of a config.json, by their meaning.
#pragma once

#include <perfmodel/model/config/recurrent_fields.hpp>

namespace perfmodel::inline v0_3::detail {

/// Number of heads of a projection; a list has one a layer (DeciLM).
template <class Json>
double heads_of(const config_view<Json>& c, const config_fields<Json>& f, const char* key,
                const std::optional<double>& preset, std::size_t layer) {
  if (f.has_list(key)) {
    f.list_for(key, static_cast<std::size_t>(c.layers));
    return f.whole_entry(key, layer, 1, most_width);
  }
  return preset ? f.whole_or(key, *preset, 1, most_width) : f.whole(key, 1, most_width);
}

/// Indexer of a sparse attention.
template <class Json>
std::optional<attention_indexer> indexer_of(const config_view<Json>& c, std::size_t layer) {
  const config_fields<Json>& own = c.own;
  attention_indexer x;
  if (own.has("index_topk")) {
    x.top_k = own.whole("index_topk", 1, 1e9);
    x.heads = own.whole("index_n_heads", 1, most_width);
    x.dim = own.whole("index_head_dim", 1, most_width);
    if (own.has("indexer_types")) {
      const Json& types = own.list_for("indexer_types", static_cast<std::size_t>(c.layers));
      x.shared = types.at(layer).is_string() && types.at(layer) == "shared";
    } else if (const double every = own.whole_or("index_topk_freq", 1, 1, most_layers); every > 1) {
      const double i = static_cast<double>(layer) -
                       own.whole_or("index_skip_topk_offset", 0, 0, most_layers) + 1;
      x.shared = i > 0 && math::floor(i / every) * every != i;
    }
    return x;
  }
  if (!own.has("sparse_attention_config")) return {};
  const auto sparse = own.object("sparse_attention_config");  // MiniMax-M3
  if (!sparse.flag_or("use_sparse_attention", true)) return {};
  const char* const where = "sparse_attention_freq";
  if (sparse.has(where)) {
    sparse.list_for(where, static_cast<std::size_t>(c.layers));
    if (sparse.whole_entry(where, layer, 0, 1) == 0) return {};
  }
  x.heads = sparse.whole("sparse_num_index_heads", 1, most_width);
  x.dim = sparse.whole("sparse_index_dim", 1, most_width);
  x.top_k = sparse.whole("sparse_topk_blocks", 1, 1e9) * sparse.whole("sparse_block_size", 1, 1e6);
  x.cache = bf16;
  return x;
}

/// Fields of full layers and of those with a window may have other names: MiMo-V2's swa_..., Gemma
/// 4's global_..., Step-3.5's attention_other_setting.
template <class Json>
void head_widths(const config_view<Json>& c, mixer_role role, std::size_t layer,
                 attention_shape& a) {
  const config_fields<Json>& own = c.own;
  const bool windowed = role == mixer_role::window;
  const bool has_window_setting = windowed && own.has("attention_other_setting");
  const config_fields<Json> f = has_window_setting ? own.object("attention_other_setting") : own;
  const auto name = [&](const char* key, const char* own_key, bool here) {
    return here && f.has(own_key) ? own_key : key;
  };
  const char* const heads =
      f.either({name("num_attention_heads", "swa_num_attention_heads", windowed),
                "num_attention_heads", "n_heads", "n_head", "num_heads"});
  a.query_heads = heads_of(c, f, heads, c.preset.heads, layer);
  f.mark_read("num_heads");  // repeats another
  const char* kv = f.either({name("num_key_value_heads", "swa_num_key_value_heads", windowed),
                             "num_key_value_heads", "num_attention_groups", "n_kv_heads",
                             "kv_n_heads", "num_kv_heads", "num_key_value_heads_per_layer"});
  if (f.flag_or("multi_query_attention", false)) kv = "multi_query_group_num";  // GLM-4
  if (!windowed && f.has("num_global_key_value_heads")) kv = "num_global_key_value_heads";
  // Null is "no groups".
  double unsaid = f.names(kv) ? a.query_heads : c.family.kv_heads.value_or(a.query_heads);
  if (f.has("multi_query")) {  // Falcon's older decoder ignores num_kv_heads
    const bool groups = f.flag_or("new_decoder_architecture", false);
    const bool one = f.flag_or("multi_query", false) && !groups;
    unsaid = one ? 1 : a.query_heads;
    if (one) kv = "multi_query_heads";
    f.mark_read("num_kv_heads");
  }
  a.kv_heads = f.has(kv) ? heads_of(c, f, kv, {}, layer) : unsaid;
  if (a.kv_heads > a.query_heads)
    f.refuse(kv, "a whole number, 1 to " + number_text(a.query_heads));
  if (math::floor(a.query_heads / a.kv_heads) * a.kv_heads != a.query_heads) {
    f.refuse(kv, "a divisor of " + std::string(heads) + ", which is " + number_text(a.query_heads));
  }
  const char* width = f.either({name("head_dim", "swa_head_dim", windowed), "head_dim",
                                "attention_head_dim", "kv_channels"});
  if (!windowed && f.has("global_head_dim")) width = "global_head_dim";
  const auto stated = f.whole_or(width, c.family.head_dim, 1, most_width);
  a.head_dim = stated.value_or(c.hidden / a.query_heads);
  if (a.head_dim != math::floor(a.head_dim)) {
    f.refuse(heads, "a divisor of hidden_size, which is " + number_text(c.hidden));
  }
  const char* const value = name("v_head_dim", "swa_v_head_dim", windowed);
  if (f.has(value)) {  // 0 in DeepSeek-OCR, which has no MLA
    const double v = f.whole(value, 0, most_width);
    if (v >= 1 && v != a.head_dim) a.value_dim = v;
  }
  a.query_rank = f.whole_or("share_q_dim", std::optional<double>(), 1, most_width);
}

/// True in layers that use the cache of the first layer of their group (Hunyuan-Large).
template <class Json>
bool shares_by_groups(const config_view<Json>& c, std::size_t layer) {
  if (!c.own.flag_or("use_cla", false)) return false;
  const auto group = static_cast<std::size_t>(c.own.whole("cla_share_factor", 1, most_layers));
  return layer % group != 0;
}

/// Tokens of one image in the cross-attention layers of Llama 3.2 Vision: tiles x (patches + 1).
template <class Json>
double image_tokens_of(const config_fields<Json>& root) {
  if (!root.has("vision_config") || !root.object("vision_config").has("max_num_tiles")) return 1;
  const auto v = root.object("vision_config");
  const double side = math::floor(v.whole("image_size", 1, 1e6) / v.whole("patch_size", 1, 1e6));
  return v.whole("max_num_tiles", 1, 1000) * (side * side + 1);
}

template <class Json>
attention_shape attention_of(const config_view<Json>& c, mixer_role role, std::size_t layer) {
  const config_fields<Json>& own = c.own;
  const model_family& family = c.family;
  attention_shape a;
  head_widths(c, role, layer, a);
  if (role == mixer_role::chunk) {
    a.window = own.whole("attention_chunk_size", 1, 1e10);
    a.chunked = true;
  } else if (role == mixer_role::window) {
    const std::optional<double> window = window_size(own, family);
    if (window && !(c.max_context && *window >= *c.max_context)) a.window = window;
  }
  if (role == mixer_role::cross) a.image_tokens = image_tokens_of(c.root);
  const bool bias = family.reads_bias && own.flag_or("attention_bias", family.output_bias);
  const bool both = bias || (!family.reads_bias && family.output_bias);
  const bool queries = family.type == std::string_view("glm4_moe");  // and keys and values, no more
  a.qkv_bias = both || (!family.reads_bias &&
                        own.flag_or(own.either({"qkv_bias", "add_qkv_bias", "use_qkv_bias"}),
                                    family.qkv_bias));
  a.output_bias = both && !queries;
  const bool stated_norm = own.flag_or("use_qk_norm", false) && !a.chunked &&
                           !own.has("attention_chunk_size");  // Llama 4's has no weights
  const bool whole = own.text_or("qk_norm_type", "per_head") == "per_layer" ||
                     own.flag_or("qk_layernorm", false) || family.type == std::string_view("olmo3");
  a.qk_norm = (family.qk_norm || stated_norm) && !whole;
  a.qk_norm_whole = whole;
  const char* const sink =
      role == mixer_role::window ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias";
  a.sinks = own.flag_or(sink, family.sinks);
  a.output_gate =
      own.flag_or(own.either({"attn_output_gate", "attn_use_output_gate"}), family.output_gate);
  a.value_is_key = role == mixer_role::full && own.flag_or("attention_k_eq_v", false);
  const double shared = own.whole_or("num_kv_shared_layers", 0, 0, c.layers);
  a.shares_cache = role == mixer_role::shared || static_cast<double>(layer) >= c.layers - shared ||
                   shares_by_groups(c, layer);
  a.indexer = indexer_of(c, layer);
  return a;
}

template <class Json>
latent_attention_shape latent_attention_of(const config_view<Json>& c, std::size_t layer) {
  const config_fields<Json>& own = c.own;
  for (const char* unused : {"num_key_value_heads", "n_kv_heads"}) own.mark_read(unused);
  latent_attention_shape a;
  a.query_heads = own.whole(own.either({"num_attention_heads", "n_heads"}), 1, most_width);
  a.kv_rank = own.whole("kv_lora_rank", 1, most_width);
  a.rope_dim = own.whole("qk_rope_head_dim", 1, most_width);
  a.head_dim = own.whole("qk_nope_head_dim", 1, most_width) + a.rope_dim;
  a.value_dim = c.family.type == std::string_view("minicpm3")
                    ? own.whole_or("v_head_dim", c.hidden / a.query_heads, 1, most_width)
                    : own.whole("v_head_dim", 1, most_width);
  // Null is "not compressed"; a file that leaves the field out means the class's own 1536.
  a.query_rank = own.whole_or(
      "q_lora_rank", own.names("q_lora_rank") ? std::optional<double>() : 1536.0, 1, most_width);
  a.output_gate = own.flag_or("mla_use_output_gate", false);
  a.indexer = indexer_of(c, layer);
  if (own.flag_or("attention_bias", false))
    own.refuse("attention_bias", "false: biases of MLA are not modelled");
  return a;
}

/// DeepSeek-V4: compress_ratios has a number a layer, 0 for the window alone.
template <class Json>
compressed_attention_shape compressed_attention_of(const config_view<Json>& c, std::size_t layer) {
  const config_fields<Json>& own = c.own;
  if (static_cast<double>(own.list("compress_ratios").size()) < c.layers)
    own.list_for("compress_ratios", static_cast<std::size_t>(c.layers));
  own.mark_read("num_key_value_heads");
  compressed_attention_shape a;
  a.query_heads = own.whole("num_attention_heads", 1, most_width);
  a.head_dim = own.whole("head_dim", 1, most_width);
  a.query_rank = own.whole("q_lora_rank", 1, most_width);
  a.output_groups = own.whole("o_groups", 1, a.query_heads);
  a.output_rank = own.whole("o_lora_rank", 1, most_width);
  a.window = own.whole("sliding_window", 1, 1e10);
  const double ratio = own.whole_entry("compress_ratios", layer, 0, 1e6);
  if (ratio < 1) return a;
  a.ratio = ratio;
  a.overlaps = ratio == 4;  // an entry of two ratios' tokens; the indexer goes with it
  if (a.overlaps) a.indexer = indexer_of(c, layer);
  return a;
}

template <class Json>
std::optional<mixer_shape> mixer_of(const config_view<Json>& c, mixer_role role,
                                    std::size_t layer) {
  if (role == mixer_role::none) return {};
  if (role == mixer_role::recurrent) return recurrent_of(c);
  if (c.own.has("compress_ratios")) return compressed_attention_of(c, layer);
  if (c.own.has("kv_lora_rank")) return latent_attention_of(c, layer);
  return attention_of(c, role, layer);
}

}  // namespace perfmodel::inline v0_3::detail
