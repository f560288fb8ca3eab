// Fields of a config.json that say which layers have which mixer: names, patterns, periods, lists.
#pragma once

#include <algorithm>
#include <perfmodel/model/config/model_family.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

inline constexpr double most_layers = 10000, most_width = 1e8;

/// Mixers of a layer. `both` is a recurrent mixer parallel to full attention (Falcon-H1), read as
/// two entries; the second has the feed-forward. `cross` attends to an image (Llama 3.2 Vision).
/// `shared` uses the cache of an earlier layer (Phi-4-mini-flash).
enum class mixer_role { full, window, chunk, recurrent, both, cross, shared, none };
enum class feed_role { by_rule, dense, experts, none };  ///< by_rule: the fields of the experts say

struct layer_role {
  mixer_role mixer = mixer_role::full;
  feed_role feed = feed_role::by_rule;
};
using layer_roles = std::vector<layer_role>;

struct role_name {
  const char* name;
  layer_role role;
};
/// Names of layers, in lower case with _ for -.
inline constexpr role_name role_names[] = {
    {"full_attention", {mixer_role::full}},
    {"attention", {mixer_role::full}},
    {"sliding_attention", {mixer_role::window}},
    {"chunked_attention", {mixer_role::chunk}},
    {"linear_attention", {mixer_role::recurrent}},
    {"mamba", {mixer_role::recurrent}},
    {"mamba2", {mixer_role::recurrent}},
    {"kda", {mixer_role::recurrent}},
    {"conv", {mixer_role::recurrent}},
    {"hybrid", {mixer_role::both}},
    {"mlp", {mixer_role::none, feed_role::dense}},
    {"moe", {mixer_role::none, feed_role::experts}},
    {"attn", {mixer_role::full}},
    {"full", {mixer_role::full}},
    {"full_attn", {mixer_role::full}},
    {"global", {mixer_role::full}},
    {"global_attention", {mixer_role::full}},
    {"softmax_attention", {mixer_role::full}},
    {"minicpm4", {mixer_role::full}},
    {"sliding", {mixer_role::window}},
    {"sliding_window", {mixer_role::window}},
    {"sliding_window_attention", {mixer_role::window}},
    {"swa", {mixer_role::window}},
    {"local", {mixer_role::window}},
    {"local_attention", {mixer_role::window}},
    {"linear", {mixer_role::recurrent}},
    {"linear_attn", {mixer_role::recurrent}},
    {"lightning", {mixer_role::recurrent}},
    {"lightning_attn", {mixer_role::recurrent}},
    {"lightning_attention", {mixer_role::recurrent}},
    {"gated_delta_net", {mixer_role::recurrent}},
    {"gated_deltanet", {mixer_role::recurrent}},
    {"recurrent", {mixer_role::recurrent}},
    {"ssm", {mixer_role::recurrent}},
    {"cross_attention", {mixer_role::cross}},
};
inline const role_name* role_called(std::string name) {
  for (char& ch : name) {
    if (ch == '-') ch = '_';
    if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
  }
  for (const role_name& r : role_names) {
    if (name == r.name) return &r;
  }
  return nullptr;
}

/// Lists of one name per layer, or per layer of a period that repeats (RecurrentGemma).
inline constexpr const char* name_lists[] = {
    "layers_block_type", "layer_types",      "mixer_types", "block_types",
    "layer_type_list",   "attention_layers", "attn_types"};
/// Lists of the layers with full attention, counted from 0.
inline constexpr const char* full_layer_lists[] = {
    "attn_layer_indices",    "attn_layer_idx",          "full_attn_idxs",
    "full_attention_idx",    "global_attn_idx",         "full_attn_layers",
    "full_attention_layers", "global_attention_layers", "attention_layer_ids"};
/// Lists of the layers with a window, counted from 0.
inline constexpr const char* window_layer_lists[] = {
    "sliding_window_layers", "swa_layers", "local_attention_layers", "sliding_attention_layers"};
/// Periods: each n-th layer has full attention, the last of its n where `last`, else the first.
struct period_name {
  const char* name;
  bool last;
};
inline constexpr period_name full_layer_periods[] = {{"full_attention_interval", true},
                                                     {"layer_group_size", true},
                                                     {"global_attn_every_n_layers", false},
                                                     {"full_attn_every_n_layers", false},
                                                     {"global_attention_every_n_layers", false}};
/// Patterns of windows: a period, letters, or a list of which a window is 1, true, or its size.
inline constexpr const char* window_patterns[] = {
    "sliding_window_pattern", "_sliding_window_pattern",
    "sliding_window_layout",  "interleaved_sliding_window",
    "hybrid_layer_pattern",   "attention_pattern",
    "window_pattern"};

/// Fields about layers that the reader knows; where one decides, the others are not needed.
inline bool names_roles(std::string_view key) {
  const auto among = [key](const auto& names) {
    return std::any_of(std::begin(names), std::end(names),
                       [key](const char* name) { return key == name; });
  };
  for (const period_name& p : full_layer_periods) {
    if (key == p.name) return true;
  }
  constexpr const char* others[] = {
      "attn_type_list",      "attn_layer_period",   "attn_layer_offset",
      "no_rope_layers",      "kda_layers",          "mamba_step",
      "mb_per_layer",        "max_window_layers",   "no_rope_layer_interval",
      "attention_types",     "layers_block_type",   "hybrid_override_pattern",
      "moe_layer_freq",      "mlp_layer_types",     "mlp_only_layers",
      "expert_layer_period", "expert_layer_offset", "interleave_moe_layer_step",
      "decoder_sparse_step"};
  return among(name_lists) || among(full_layer_lists) || among(window_layer_lists) ||
         among(window_patterns) || among(others);
}

/// The first of these fields that holds a value (a list with entries, where it is a list).
template <class Json, std::size_t N>
const char* first_stated(const config_fields<Json>& own, const char* const (&names)[N]) {
  for (const char* name : names) {
    if (own.has(name) && !(own.has_list(name) && own.list(name).empty())) return name;
  }
  return nullptr;
}

/// The size of a window; none where the file states null or 0, or nothing and the family has none.
/// A list of sizes has that of its widest window (Ministral).
template <class Json>
std::optional<double> window_size(const config_fields<Json>& own, const model_family& family) {
  const bool local = own.has("attention_layers");  // GPT-Neo
  const char* const key =
      own.either({"sliding_window", "sliding_window_size", "attention_window_size",
                  local ? "window_size" : "sliding_window"});
  const char* const other = "interleaved_sliding_window";
  const char* const used = !own.has(key) && own.has(other) ? other : key;
  if (own.has_list(used)) {
    double widest = 0;
    for (const Json& entry : own.list(used)) {
      if (entry.is_number()) widest = (std::max)(widest, entry.template get<double>());
    }
    return widest >= 1 ? std::optional(widest) : std::nullopt;
  }
  if (own.has(used) && (own.at(used).is_boolean() || own.at(used) == -1)) return {};
  const double size =
      own.whole_or(used, own.names(used) ? 0.0 : family.window.value_or(0.0), 0, 1e10);
  return size >= 1 ? std::optional(size) : std::nullopt;
}

/// Layers with a window by a pattern: n (all but each n-th), "LLLG" (local and global), or a list
/// of one entry per layer or per layer of a period. `unsaid` is the period where a field only
/// switches the pattern on.
/// Sources: transformers, Exaone4Config and Cohere2Config (n and letters); vLLM, llama.py (a list
/// of interleaved_sliding_window); SmallThinker's modeling file (sliding_window_layout).
template <class Json>
void mark_window_pattern(layer_roles& roles, const config_fields<Json>& own, const char* key,
                         double unsaid) {
  const Json& pattern = own.at(key);
  std::vector<bool> windowed;
  const char* const allowed =
      "a period, the letters L and G, or a list with an entry for each layer of a period";
  if (pattern.is_string()) {
    const std::string letters = pattern.template get<std::string>();
    const bool has_short = letters.find_first_of("Ss") != std::string::npos;  // then L is long
    for (const char letter : letters) {
      const std::string_view locals = has_short ? "SsWw" : "LlWw";
      const bool local = locals.find(letter) != std::string_view::npos;
      const bool global =
          !local && std::string_view("GgFfLl").find(letter) != std::string_view::npos;
      if (!local && !global) own.refuse(key, allowed);
      windowed.push_back(local);
    }
  } else if (pattern.is_array()) {
    for (const Json& entry : pattern) {
      const role_name* name =
          entry.is_string() ? role_called(entry.template get<std::string>()) : nullptr;
      if (!(entry.is_null() || entry.is_boolean() || entry.is_number() || name != nullptr))
        own.refuse_entry(key, entry, "numbers, true, false, null or names of layers");
      windowed.push_back(name != nullptr ? name->role.mixer == mixer_role::window
                         : entry.is_boolean()
                             ? entry.template get<bool>()
                             : entry.is_number() && entry.template get<double>() >= 1);
    }
    if (windowed.size() > roles.size() + 100) own.list_for(key, roles.size());
  } else if (pattern.is_boolean() || std::string_view(key) == "interleaved_sliding_window") {
    if (pattern.is_boolean() && !pattern.template get<bool>()) return;
    windowed.assign(static_cast<std::size_t>(unsaid), true);
    windowed.back() = false;
  } else {
    const double period = own.whole(key, 0, most_layers);
    if (period < 1) return;
    windowed.assign(static_cast<std::size_t>(period), true);
    windowed.back() = false;
  }
  if (windowed.empty()) own.refuse(key, allowed);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (windowed[i % windowed.size()]) roles[i].mixer = mixer_role::window;
  }
}

}  // namespace perfmodel::inline v0_3::detail
