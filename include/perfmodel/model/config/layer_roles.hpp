// Roles of the layers of a config.json, from lists, patterns and intervals under any family's
// names.
#pragma once

#include <algorithm>
#include <perfmodel/model/config/model_family.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

inline constexpr double most_layers = 10000, most_width = 1e8;

/// Mixers of a layer. `both` is a recurrent mixer parallel to full attention (Falcon-H1), read as
/// two layers; the second has the feed-forward.
enum class mixer_role { full, window, chunk, recurrent, both, none };
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
};

/// Roles from a list of names, one per layer. In layers_block_type the blocks of Nemotron-H have
/// one part each.
template <class Json>
layer_roles listed_roles(const config_fields<Json>& own, const char* key, std::size_t layers) {
  layer_roles roles;
  const Json& list = own.list(key);
  bool one_part_per_layer = false;
  for (const Json& entry : list) {
    const std::string name = entry.is_string() ? entry.template get<std::string>() : std::string();
    const role_name* found = nullptr;
    for (const role_name& r : role_names) {
      if (name == r.name) found = &r;
    }
    if (found == nullptr) {
      std::string known;
      for (const role_name& r : role_names)
        known += (known.empty() ? "" : ", ") + std::string(r.name);
      own.refuse_entry(key, entry, known);
    }
    one_part_per_layer = one_part_per_layer || found->role.mixer == mixer_role::none;
    roles.push_back(found->role);
  }
  // Some files list their multi-token-prediction layers too.
  const auto mtp = static_cast<std::size_t>(own.whole_or("num_nextn_predict_layers", 0, 0, 100));
  if (roles.size() == layers + mtp) roles.resize(layers);
  if (roles.size() != layers) own.list_for(key, layers);
  if (one_part_per_layer) {
    for (layer_role& r : roles) {
      if (r.mixer != mixer_role::none) r.feed = feed_role::none;
    }
  }
  return roles;
}

/// Roles from Nemotron-H's pattern: a letter per layer, each a block with one part.
template <class Json>
layer_roles pattern_roles(const config_fields<Json>& own, const char* key) {
  layer_roles roles;
  for (const char letter : own.text_or(key, "")) {
    switch (letter) {
      case 'M': roles.push_back({mixer_role::recurrent, feed_role::none}); break;
      case '*': roles.push_back({mixer_role::full, feed_role::none}); break;
      case '-': roles.push_back({mixer_role::none, feed_role::dense}); break;
      case 'E': roles.push_back({mixer_role::none, feed_role::experts}); break;
      default: own.refuse(key, "the letters M, *, - and E, one for each layer");
    }
  }
  return roles;
}

/// `roles[i]` becomes `to` where a list of numbers, one a layer, has `marker`.
template <class Json>
void mark(layer_roles& roles, const config_fields<Json>& own, const char* key, double marker,
          mixer_role to) {
  own.list_for(key, roles.size());
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (own.whole_entry(key, i, 0, 1e6) == marker) roles[i].mixer = to;
  }
}
/// A list of layers' numbers, the first of which is `first`.
template <class Json>
void mark_listed(layer_roles& roles, const config_fields<Json>& own, const char* key, double first,
                 mixer_role to) {
  const std::size_t n = own.list(key).size();
  if (n > roles.size()) own.refuse(key, "at most one entry for each layer");
  for (std::size_t k = 0; k < n; ++k) {
    const double last = first + static_cast<double>(roles.size()) - 1.0;
    roles[static_cast<std::size_t>(own.whole_entry(key, k, first, last) - first)].mixer = to;
  }
}
/// All but each `period`-th layer, from `offset` on.
inline void mark_between(layer_roles& roles, double period, double offset, mixer_role to) {
  const auto every = static_cast<std::size_t>(period), at = static_cast<std::size_t>(offset);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    if (i % every != at % every) roles[i].mixer = to;
  }
}

/// Layers with a window by the family's rule, of a file that lists none.
template <class Json>
void windows_by_rule(layer_roles& roles, const config_fields<Json>& own,
                     const model_family& family) {
  const double n = static_cast<double>(roles.size());
  const auto from = [&](double first) {
    for (auto i = static_cast<std::size_t>(first); i < roles.size(); ++i)
      roles[i].mixer = mixer_role::window;
  };
  switch (family.windows) {
    case window_rule::none: break;
    case window_rule::all_layers:
      if (own.flag_or("use_sliding_window", true)) from(0);
      break;
    case window_rule::switched_on:
      if (own.flag_or("use_sliding_window", false))
        from(scalar_min(n, own.whole("max_window_layers", 0, 1e9)));
      break;
    case window_rule::every_other: mark_between(roles, 2, 1, mixer_role::window); break;
    case window_rule::pattern: {
      const char* const key = own.either({"_sliding_window_pattern", "sliding_window_pattern"});
      const double period = own.whole_or(key, 6, 1, most_layers);
      mark_between(roles, period, period - 1, mixer_role::window);
      break;
    }
  }
}

/// The number of layers: a field, or as many as a pattern has letters.
template <class Json>
double layer_count(const config_fields<Json>& own, const std::optional<double>& preset) {
  const char* const key = own.either({"num_hidden_layers", "num_layers", "n_layers", "n_layer"});
  if (!own.has(key) && own.has("hybrid_override_pattern"))
    return static_cast<double>(pattern_roles(own, "hybrid_override_pattern").size());
  return preset ? own.whole_or(key, *preset, 1, most_layers) : own.whole(key, 1, most_layers);
}

/// A list of layers with windows needs one, and no field that switches it off.
template <class Json>
void check_windows(const config_fields<Json>& own, const model_family& family,
                   const layer_roles& roles) {
  const bool any = std::any_of(roles.begin(), roles.end(),
                               [](const layer_role& r) { return r.mixer == mixer_role::window; });
  if (!any) return;
  const bool wanted = own.flag_or("use_sliding_window", family.windows != window_rule::switched_on);
  if (!wanted) own.refuse("use_sliding_window", "true where layer_types has sliding layers");
  const char* const key = own.either({"sliding_window", "sliding_window_size"});
  if (own.whole_or(key, own.names(key) ? 0.0 : family.window.value_or(0.0), 0, 1e10) < 1)
    own.refuse(key, "1 or more where layer_types has sliding layers");
}

/// The roles of all layers. Without any field about them they all have full attention.
template <class Json>
layer_roles roles_of(const config_fields<Json>& own, const model_family& family, double layers) {
  layer_roles roles(static_cast<std::size_t>(layers));
  if (own.has("hybrid_override_pattern")) {
    roles = pattern_roles(own, "hybrid_override_pattern");
    if (static_cast<double>(roles.size()) != layers)
      own.refuse("hybrid_override_pattern",
                 "one letter for each of num_hidden_layers, which is " + number_text(layers));
  } else if (own.has("layers_block_type")) {
    roles = listed_roles(own, "layers_block_type", roles.size());
  } else if (own.has("layer_types")) {
    roles = listed_roles(own, "layer_types", roles.size());
    check_windows(own, family, roles);
  } else if (own.has("attn_type_list")) {  // MiniMax-Text-01
    mark(roles, own, "attn_type_list", 0, mixer_role::recurrent);
  } else if (own.has("linear_attn_config")) {  // Kimi Linear
    mark_listed(roles, own.object("linear_attn_config"), "kda_layers", 1, mixer_role::recurrent);
  } else if (own.has("hybrid_layer_pattern")) {  // MiMo-V2
    mark(roles, own, "hybrid_layer_pattern", 1, mixer_role::window);
  } else if (own.has("full_attention_interval")) {  // Qwen3-Next
    const double every = own.whole("full_attention_interval", 1, most_layers);
    mark_between(roles, every, every - 1, mixer_role::recurrent);
  } else if (own.has("attn_layer_indices")) {  // Bamba
    for (layer_role& r : roles) r.mixer = mixer_role::recurrent;
    mark_listed(roles, own, "attn_layer_indices", 0, mixer_role::full);
  } else if (own.has("attn_layer_period")) {  // Jamba
    const double every = own.whole("attn_layer_period", 1, most_layers);
    mark_between(roles, every, own.whole_or("attn_layer_offset", 0, 0, most_layers),
                 mixer_role::recurrent);
  } else if (own.has("full_attn_idxs")) {  // LFM2
    for (layer_role& r : roles) r.mixer = mixer_role::recurrent;
    mark_listed(roles, own, "full_attn_idxs", 0, mixer_role::full);
  } else if (own.has("mamba_d_ssm")) {  // Falcon-H1
    for (layer_role& r : roles) r.mixer = mixer_role::both;
  } else if (own.has("decay_low_rank_dim") || family.recurrent) {
    for (layer_role& r : roles) r.mixer = mixer_role::recurrent;
  } else if (own.has("layer_group_size")) {  // Ring, Ling 2.5
    const double every = own.whole("layer_group_size", 1, most_layers);
    mark_between(roles, every, every - 1, mixer_role::recurrent);
  } else if (own.has("attention_chunk_size") && own.has("no_rope_layers") &&
             !own.list("no_rope_layers").empty()) {  // Llama 4
    mark(roles, own, "no_rope_layers", 1, mixer_role::chunk);
  } else if (own.has("attention_chunk_size") && !own.has("sliding_window")) {
    mark_between(roles, own.whole_or("no_rope_layer_interval", 4, 1, most_layers), 3,
                 mixer_role::chunk);
  } else if (!own.has("compress_ratios")) {
    windows_by_rule(roles, own, family);
  }
  return roles;
}

}  // namespace perfmodel::inline v0_3::detail
