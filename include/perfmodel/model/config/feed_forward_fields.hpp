// Feed-forward of a layer from the fields of a config.json: dense, or experts in some layers.
#pragma once

#include <perfmodel/model/config/mixer_fields.hpp>
#include <perfmodel/model/config/quantization_exceptions.hpp>
#include <perfmodel/model/config/recurrent_fields.hpp>

// Layers of a config.json that have experts.

namespace perfmodel::inline v0_3::detail {

/// True where a layer has experts, by the field that its family counts or lists them with.
template <class Json>
class expert_rule {
 public:
  explicit expert_rule(const config_view<Json>& c) : c_(c), own_(c.own) {
    const std::size_t n = static_cast<std::size_t>(c.layers);
    dense_ = layers_in("mlp_only_layers");
    routed_ = layers_in("moe_layers");
    if (own_.has_list("moe_layer_freq")) own_.list_for("moe_layer_freq", n);
    for (const char* key : {"mlp_layer_types", "is_moe_layer"}) {
      if (own_.has(key)) own_.list_for(key, n);
    }
    listed_ = numbers(own_.text_or("moe_layers_enum", ""));
    const char* const first =
        own_.either({"first_k_dense_replace", "num_dense_layers", "moe_layer_start_index"});
    if (own_.has_list(first)) {  // of the experts for text, and of those for images
      if (own_.list(first).empty()) own_.refuse(first, "a number, or a list of them");
      first_ = own_.whole_entry(first, 0, 0, c.layers);
    } else {
      first_ = own_.whole_or(first, 0, 0, c.layers);
    }
  }

  bool holds(std::size_t layer) const {
    const double i = static_cast<double>(layer);
    if (!listed_.empty()) return among(listed_, i);
    if (own_.has("mlp_layer_types")) {
      const Json& type = own_.entry("mlp_layer_types", layer);
      return type.is_string() && type != "dense";
    }
    if (own_.has("is_moe_layer")) return own_.entry("is_moe_layer", layer) == true;  // K-EXAONE
    if (own_.has_list("moe_layer_freq")) return own_.whole_entry("moe_layer_freq", layer, 0, 1) > 0;
    if (own_.has_list("moe_layers")) return among(routed_, i);
    if (i < first_) return false;
    if (own_.has("moe_layer_end_index") && !own_.has_list("moe_layer_end_index") &&
        i > own_.whole("moe_layer_end_index", 0, most_layers))
      return false;
    if (own_.has("expert_layer_period")) {  // Jamba
      const double every = own_.whole("expert_layer_period", 1, most_layers);
      return rest(i, every) == own_.whole_or("expert_layer_offset", 0, 0, most_layers);
    }
    const char* const step = own_.either({"decoder_sparse_step", "interleave_moe_layer_step",
                                          "moe_layer_interval", "moe_layer_frequency"});
    if (among(dense_, i)) return false;
    if (own_.has(step)) return rest(i + 1, own_.whole(step, 1, most_layers)) == 0;
    return rest(i, own_.whole_or("moe_layer_freq", 1, 1, most_layers)) == 0;
  }

 private:
  static double rest(double a, double b) { return a - math::floor(a / b) * b; }
  static bool among(const std::vector<double>& list, double x) {
    for (const double y : list) {
      if (x == y) return true;
    }
    return false;
  }
  std::vector<double> layers_in(const char* key) const {
    std::vector<double> out;
    if (!own_.has(key)) return out;
    const std::size_t n = own_.list(key).size();
    if (static_cast<double>(n) > c_.layers)
      own_.refuse(key, "at most one entry for each of num_hidden_layers");
    for (std::size_t k = 0; k < n; ++k) {
      out.push_back(own_.whole_entry(key, k, 0, c_.layers - 1));
    }
    return out;
  }
  /// "3,4,5" of Step-3.5.
  static std::vector<double> numbers(const std::string& text) {
    std::vector<double> out;
    double x = -1;
    for (const char ch : text + ",") {
      if (ch >= '0' && ch <= '9') {
        x = (x < 0 ? 0 : 10 * x) + (ch - '0');
      } else if (x >= 0) {
        out.push_back(x);
        x = -1;
      }
    }
    return out;
  }

  const config_view<Json>& c_;
  const config_fields<Json>& own_;
  std::vector<double> listed_{}, dense_{}, routed_{};
  double first_ = 0;
};

/// Matrices by the activation: the ones without a gate are named.
template <class Json>
bool is_gated(const config_view<Json>& c) {
  const std::string act = c.own.text_or(c.own.either({"mlp_hidden_act", "hidden_act"}), "");
  if (c.family.type == std::string_view("bitnet")) return true;  // relu2 of a gate
  return c.family.gated && act != "relu2" && act != "xielu" && act != "relu";
}

template <class Json>
const char* expert_count_key(const config_fields<Json>& own) {
  return own.either({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts",
                     "moe_num_primary_experts", "n_experts", "num_routed_experts"});
}

/// Text experts in a file that lists experts for text and for images, text first (Ernie 4.5 VL).
template <class Json>
double text_entry(const config_fields<Json>& own, const char* key) {
  const std::size_t n = own.list(key).size();
  if (n != 1 && n != 2) own.refuse(key, "a number, or two of them: for text, for images");
  return own.whole_entry(key, 0, 1, most_width);
}

/// 0 where the model has none.
template <class Json>
double expert_count(const config_view<Json>& c) {
  if (c.own.has("enable_moe_block") && !c.own.flag_or("enable_moe_block", false)) return 0;
  const char* const key = expert_count_key(c.own);
  return c.own.has_list(key) ? text_entry(c.own, key) : c.own.whole_or(key, 0, 0, most_width);
}

/// A field that is one number, or a list of one a layer.
template <class Json>
double width_of(const config_view<Json>& c, const char* key, std::size_t layer) {
  if (!c.own.has_list(key)) return c.own.whole(key, 1, most_width);
  c.own.list_for(key, static_cast<std::size_t>(c.layers));
  return c.own.whole_entry(key, layer, 1, most_width);
}

/// A field that some files repeat for every layer (Hunyuan): one number all the same.
template <class Json>
double same_for_all(const config_view<Json>& c, const char* key, double least, double most) {
  if (!c.own.has_list(key)) return c.own.whole(key, least, most);
  const std::size_t n = c.own.list_for(key, static_cast<std::size_t>(c.layers)).size();
  const double first = c.own.whole_entry(key, 0, least, most);
  for (std::size_t i = 1; i < n; ++i) {
    if (c.own.whole_entry(key, i, least, most) != first)
      c.own.refuse(key, "a list of equal numbers");
  }
  return first;
}

/// True where a layer uses the cache of an earlier one and has twice the width instead (Gemma 4
/// E2B).
template <class Json>
bool is_double_wide(const config_view<Json>& c, std::size_t layer) {
  if (!c.own.flag_or("use_double_wide_mlp", false)) return false;
  return static_cast<double>(layer) >=
         c.layers - c.own.whole_or("num_kv_shared_layers", 0, 0, c.layers);
}

/// LFM2: two thirds of the named width for a gated network, times a factor, up to the next
/// multiple.
template <class Json>
double adjusted_width(const config_fields<Json>& own, double width) {
  if (!own.flag_or("block_auto_adjust_ff_dim", false)) return width;
  const double factor =
      own.has("block_ffn_dim_multiplier") ? own.positive("block_ffn_dim_multiplier", 100.0) : 1.0;
  const double multiple = own.whole_or("block_multiple_of", 256, 1, most_width);
  return multiple * math::ceil(factor * math::floor(2.0 * width / 3.0) / multiple);
}

template <class Json>
dense_shape dense_of(const config_view<Json>& c, std::size_t layer) {
  const config_fields<Json>& own = c.own;
  dense_shape d;
  const bool has_dense_size =
      own.has("dense_intermediate_size") || own.has("intermediate_size_mlp");
  const char* const key =
      has_dense_size ? own.either({"dense_intermediate_size", "intermediate_size_mlp"})
                     : own.either({"intermediate_size", "block_ff_dim", "ffn_hidden_size",
                                   "ffn_dim", "n_inner", "hidden_dim", "ff_intermediate_size"});
  const bool by_rule = !own.has(key) && own.has("multiple_of");  // Llama's params.json
  if (by_rule) {
    const double factor = own.has("ffn_dim_multiplier") && own.at("ffn_dim_multiplier") != nullptr
                              ? own.positive("ffn_dim_multiplier", 100.0)
                              : 1.0;
    const double multiple = own.whole("multiple_of", 1, most_width);
    const double width = math::floor(factor * math::floor(8.0 * c.hidden / 3.0));
    d.intermediate = multiple * math::ceil(width / multiple);
  } else if (own.has("expansion_ratio")) {
    d.intermediate = own.positive("expansion_ratio", 1000.0) * c.hidden;
  } else if (own.has(key) || !(c.preset.intermediate || c.family.expansion)) {
    d.intermediate = adjusted_width(own, width_of(c, key, layer));
  } else {
    d.intermediate =
        c.preset.intermediate ? *c.preset.intermediate : *c.family.expansion * c.hidden;
  }
  if (is_double_wide(c, layer)) d.intermediate *= 2.0;
  if (c.family.doubled) d.intermediate *= 0.5;
  d.gated = is_gated(c);
  d.bias = c.family.ffn_bias || own.flag_or("mlp_bias", false);
  return d;
}

template <class Json>
expert_shape experts_of(const config_view<Json>& c) {
  const config_fields<Json>& own = c.own;
  expert_shape e;
  e.experts = expert_count(c);
  e.top_k =
      same_for_all(c,
                   own.either({"num_experts_per_tok", "num_experts_per_token", "experts_per_token",
                               "top_k_experts", "moe_top_k", "moe_topk", "moe_k",
                               "moe_num_active_primary_experts", "num_selected_experts",
                               "num_activated_experts", "n_activated_experts"}),
                   1, e.experts);
  const char* const width =
      own.either({"moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size",
                  "expert_hidden_dim", "intermediate_size", "ffn_hidden_size", "hidden_dim"});
  const bool by_medium = own.has_list(expert_count_key(own)) && own.has_list(width);
  e.intermediate = by_medium ? text_entry(own, width) : same_for_all(c, width, 1, most_width);
  // Some of LongCat's experts do nothing: top_k counts the active ones, on average.
  if (const double idle = own.whole_or("zero_expert_num", 0, 0, most_width); idle > 0)
    e.top_k *= e.experts / (e.experts + idle);
  const char* const count = own.either(
      {"n_shared_experts", "num_shared_experts", "moe_num_shared_experts", "num_shared_expert"});
  const char* const shared =
      own.either({"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                  "share_expert_dim", "shared_intermediate_size"});
  double shared_size = 0;
  if (own.has(shared)) {
    shared_size = own.whole(shared, 0, most_width);
  } else {
    shared_size = own.has(count) ? same_for_all(c, count, 0, most_width) * e.intermediate : 0.0;
  }
  if (own.has("intermediate_size_mlp")) shared_size = e.intermediate;       // Llama 4
  if (own.flag_or("parallel_attn_mlp_res", false)) shared_size = c.hidden;  // Arctic
  // A dense network in addition to experts: Gemma 4, Grok-2, and the first of LongCat's two parts
  // of a layer.
  if (own.flag_or("enable_moe_block", false) || own.flag_or("residual_moe", false)) {
    shared_size = own.whole("intermediate_size", 1, most_width);
  }
  if (own.has("zero_expert_num")) shared_size = own.whole("ffn_hidden_size", 1, most_width);
  if (shared_size > 0) e.shared_intermediate = shared_size;
  const char* const latent = own.either({"moe_latent_size", "routed_expert_hidden_size"});
  if (own.has(latent)) e.latent = own.whole(latent, 1, most_width);
  e.gated = is_gated(c);
  e.router_bias = c.family.router_bias ||
                  own.text_or("topk_method", own.has("n_routed_experts") && own.has("topk_group")
                                                 ? "noaux_tc"
                                                 : "") == "noaux_tc" ||
                  own.flag_or("use_routing_bias", false) ||
                  own.flag_or("use_moe_router_bias", false) ||
                  own.flag_or("use_expert_bias", false);
  e.expert_bias = c.family.expert_bias;
  e.shared_gate = c.family.shared_gate && e.shared_intermediate.has_value();
  return e;
}

/// One block of Nemotron-NAS's block_configs: it has its own KV heads and width, or leaves a part
/// out.
template <class Json>
layer_shape block_of(const config_view<Json>& c, std::size_t layer) {
  const config_fields<Json> block(c.own.entry("block_configs", layer), "block_configs");
  if (!block.has("attention")) block.refuse("attention", "an object");
  if (!block.has("ffn")) block.refuse("ffn", "an object");
  const auto attention = block.object("attention"), ffn = block.object("ffn");
  for (const auto* part : {&attention, &ffn}) {
    if (part->flag_or("replace_with_linear", false))
      part->refuse("replace_with_linear", "false: such a layer is not modelled");
  }
  layer_shape out;
  if (!attention.flag_or("no_op", false)) {
    attention_shape a;
    a.query_heads = heads_of(c, c.own, "num_attention_heads", {}, layer);
    a.kv_heads = a.query_heads / attention.whole("n_heads_in_group", 1, a.query_heads);
    if (a.kv_heads != math::floor(a.kv_heads))
      attention.refuse("n_heads_in_group",
                       "a divisor of num_attention_heads, which is " + number_text(a.query_heads));
    a.head_dim = c.own.whole_or("head_dim", c.hidden / a.query_heads, 1, most_width);
    out.mixer = a;
  }
  if (!ffn.flag_or("no_op", false)) {
    // The multiple of hidden, of the two thirds that a gated network has, up to the next 256.
    const double width = math::floor(2.0 * ffn.positive("ffn_mult", 100.0) * c.hidden / 3.0);
    out.feed_forward =
        dense_shape{.intermediate = 256.0 * math::ceil(width / 256.0), .gated = is_gated(c)};
  }
  return out;
}

template <class Json>
layer_list layers_of(const config_view<Json>& c, ordered_layers& ordered) {
  layer_list out;
  const auto add = [&](std::size_t i, const layer_shape& l) {
    out.add(l);
    ordered.all.push_back({static_cast<int>(i), l});
  };
  if (c.own.has("num_mem_blocks"))
    c.own.refuse("num_mem_blocks", "no such field: blocks that layers share are not modelled");
  const std::size_t n = static_cast<std::size_t>(c.layers);
  if (c.own.has("block_configs")) {
    c.own.list_for("block_configs", n);
    for (std::size_t i = 0; i < n; ++i) add(i, block_of(c, i));
    return out;
  }
  const layer_roles roles = roles_of(c.own, c.family, c.layers);
  const bool has_experts = expert_count(c) > 0;
  std::optional<expert_shape> experts;
  const expert_rule<Json> rule(c);
  for (std::size_t i = 0; i < n; ++i) {
    mixer_role mixer = roles[i].mixer;
    if (mixer == mixer_role::both) {
      add(i, {.times = 1, .mixer = mixer_of(c, mixer_role::recurrent, i), .feed_forward = {}});
      out.count -= 1.0;  // one layer of two mixers
      mixer = mixer_role::full;
    }
    layer_shape l{.times = 1, .mixer = mixer_of(c, mixer, i), .feed_forward = {}};
    if (c.family.recurrent && c.family.norms_per_layer == 1) {  // Mamba
      add(i, l);
      continue;
    }
    const feed_role feed = roles[i].feed;
    if (feed == feed_role::experts ||
        (feed == feed_role::by_rule && has_experts && rule.holds(i))) {
      if (!experts) experts = experts_of(c);
      l.feed_forward = *experts;
    } else if (feed != feed_role::none) {
      l.feed_forward = dense_of(c, i);
    }
    add(i, l);
    if (c.own.has("zero_expert_num")) {  // LongCat: a second attention, and a dense network alone
      l.feed_forward = dense_of(c, i);
      add(i, l);
    }
  }
  return out;
}

}  // namespace perfmodel::inline v0_3::detail
