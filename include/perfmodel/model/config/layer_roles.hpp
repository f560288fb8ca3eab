// Roles of the layers of a config.json, from lists, patterns and intervals under any family's
// names.
#pragma once

#include <algorithm>
#include <perfmodel/model/config/layer_patterns.hpp>

namespace perfmodel::inline v0_3::detail {

/// Roles from a list of names, one per layer or per layer of a period that repeats. In
/// layers_block_type the blocks of Nemotron-H have one part each.
template <class Json>
layer_roles listed_roles(const config_fields<Json>& own, const char* key, std::size_t layers) {
  layer_roles roles;
  const Json& list = own.list(key);
  bool one_part_per_layer = false;
  for (const Json& entry : list) {
    const std::string name = entry.is_string() ? entry.template get<std::string>() : std::string();
    const role_name* const found = role_called(name);
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
  if (std::string_view(key) == "block_types" && !roles.empty()) {
    const std::size_t period = roles.size();
    for (std::size_t i = period; i < layers; ++i) roles.push_back(roles[i % period]);
  }
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

/// All attention has the window (RecurrentGemma, PLaMo 2 without layers of full attention).
inline void all_full_to_window(layer_roles& roles) {
  for (layer_role& r : roles) {
    if (r.mixer == mixer_role::full) r.mixer = mixer_role::window;
  }
}

/// Layers with a window of a file that lists none: by a pattern, whatever the family, else by the
/// family's rule.
template <class Json>
void windows_by_rule(layer_roles& roles, const config_fields<Json>& own,
                     const model_family& family) {
  const bool off = own.has("use_sliding_window") && !own.flag_or("use_sliding_window", true);
  if (!window_size(own, family) || off) return;
  if (own.has_list("sliding_window")) return mark_window_pattern(roles, own, "sliding_window", 2);
  if (const char* const key = first_stated(own, window_patterns)) {
    const double period = family.windows == window_rule::every_fourth  ? 4
                          : family.windows == window_rule::every_sixth ? 6
                                                                       : 2;
    return mark_window_pattern(roles, own, key, period);
  }
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
    case window_rule::every_fourth: mark_between(roles, 4, 3, mixer_role::window); break;
    case window_rule::every_sixth: mark_between(roles, 6, 5, mixer_role::window); break;
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
  if (!window_size(own, family))
    own.refuse(own.either({"sliding_window", "sliding_window_size"}),
               "1 or more where layer_types has sliding layers");
}

/// The mixer of the layers that a list of layers with full attention leaves out.
template <class Json>
mixer_role other_mixer(const config_fields<Json>& own, const model_family& family) {
  for (const char* key : {"linear_num_value_heads", "mamba_num_heads", "mamba_n_heads",
                          "mamba_dt_rank", "time_step_rank", "conv_L_cache", "lightning_nh",
                          "ssm_state_size", "mamba_d_state", "linear_attn_config", "ssm_cfg"}) {
    if (own.has(key)) return mixer_role::recurrent;
  }
  return window_size(own, family) ? mixer_role::window : mixer_role::recurrent;
}

/// Marks the layers with full attention in a list of them, and the others.
template <class Json>
void mark_full(layer_roles& roles, const config_fields<Json>& own, const model_family& family,
               const char* key) {
  const mixer_role others = other_mixer(own, family);
  for (layer_role& r : roles) r.mixer = others;
  mark_listed(roles, own, key, 0, mixer_role::full);
}

/// SambaY (arXiv 2507.06607; Phi-4-mini-flash's modeling file): each `period`-th layer of the first
/// half, and the one after it, has a Mamba, the others a window; then one layer has full attention,
/// and all that follow use its cache, or a gated memory unit without a state.
/// Leaves out: the weights of those units (5 % of the model).
inline void mark_decoder_decoder(layer_roles& roles, std::size_t period) {
  const std::size_t half = roles.size() / 2;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const bool mamba = period > 0 && i % period == 0;
    roles[i].mixer = mamba          ? (i <= half ? mixer_role::recurrent : mixer_role::none)
                     : i < half     ? mixer_role::window
                     : i < half + 2 ? mixer_role::full
                                    : mixer_role::shared;
  }
}

/// A list of names as long as the layers under a name that the reader does not know.
template <class Json>
std::string other_name_list(const config_fields<Json>& own, std::size_t layers) {
  for (auto it = own.all().begin(); it != own.all().end(); ++it) {
    const Json& list = it.value();
    if (!list.is_array() || list.size() != layers || layers < 2) continue;
    bool known = true;
    for (const Json& entry : list) {
      known =
          known && entry.is_string() && role_called(entry.template get<std::string>()) != nullptr;
    }
    if (known) return it.key();
  }
  return {};
}

/// Roles of families that one field of dimensions tells; false where none does.
template <class Json>
bool roles_by_dimensions(layer_roles& roles, const config_fields<Json>& own,
                         const model_family& family) {
  const auto all = [&roles](mixer_role to) {
    for (layer_role& r : roles) r.mixer = to;
  };
  if (own.has("mb_per_layer")) {  // Phi-4-mini-flash: each n-th layer has a Mamba
    mark_decoder_decoder(roles,
                         static_cast<std::size_t>(own.whole("mb_per_layer", 0, most_layers)));
  } else if (own.has("mamba_d_ssm")) {  // Falcon-H1
    all(mixer_role::both);
  } else if (own.has("decay_low_rank_dim") || family.recurrent) {
    all(mixer_role::recurrent);
  } else if (own.has("attention_chunk_size") && own.has("no_rope_layers") &&
             !own.list("no_rope_layers").empty()) {  // Llama 4
    mark(roles, own, "no_rope_layers", 1, mixer_role::chunk);
  } else if (own.has("attention_chunk_size") && !own.has("sliding_window")) {
    mark_between(roles, own.whole_or("no_rope_layer_interval", 4, 1, most_layers), 3,
                 mixer_role::chunk);
  } else {
    return own.has("compress_ratios");
  }
  return true;
}

/// The roles of all layers. Without any field about them they all have full attention.
template <class Json>
layer_roles roles_of(const config_fields<Json>& own, const model_family& family, double layers) {
  layer_roles roles(static_cast<std::size_t>(layers));
  const auto period = [&own](const char* key) { return own.whole(key, 1, most_layers); };
  const period_name* every = nullptr;
  for (const period_name& p : full_layer_periods) {
    if (every == nullptr && own.has(p.name)) every = &p;
  }
  const char* const names = first_stated(own, name_lists);
  const char* const full_layers = first_stated(own, full_layer_lists);
  const char* const windows = first_stated(own, window_layer_lists);
  const std::string others = names == nullptr ? other_name_list(own, roles.size()) : "";
  if (own.has("hybrid_override_pattern")) {
    roles = pattern_roles(own, "hybrid_override_pattern");
    if (static_cast<double>(roles.size()) != layers)
      own.refuse("hybrid_override_pattern",
                 "one letter for each of num_hidden_layers, which is " + number_text(layers));
  } else if (names != nullptr || !others.empty()) {
    const char* const key = names != nullptr ? names : others.c_str();
    roles = listed_roles(own, key, roles.size());
    if (own.has("lru_width") && window_size(own, family)) all_full_to_window(roles);
    check_windows(own, family, roles);
  } else if (own.has("attn_type_list")) {  // MiniMax-Text-01
    mark(roles, own, "attn_type_list", 0, mixer_role::recurrent);
  } else if (own.has("linear_attn_config")) {  // Kimi Linear
    mark_listed(roles, own.object("linear_attn_config"), "kda_layers", 1, mixer_role::recurrent);
  } else if (own.has("hybrid_layer_pattern")) {  // MiMo-V2
    mark(roles, own, "hybrid_layer_pattern", 1, mixer_role::window);
  } else if (own.has_list("cross_attention_layers")) {  // Llama 3.2 Vision
    mark_listed(roles, own, "cross_attention_layers", 0, mixer_role::cross);
  } else if (every != nullptr && !(own.has("decay_low_rank_dim"))) {
    const double n = period(every->name);
    mark_between(roles, n, every->last ? n - 1 : 0,
                 every->name == std::string_view("layer_group_size") ? mixer_role::recurrent
                                                                     : other_mixer(own, family));
  } else if (full_layers != nullptr) {  // Bamba, LFM2, Hymba
    mark_full(roles, own, family, full_layers);
  } else if (windows != nullptr) {
    mark_listed(roles, own, windows, 0, mixer_role::window);
  } else if (own.has("attn_layer_period")) {  // Jamba
    mark_between(roles, period("attn_layer_period"),
                 own.whole_or("attn_layer_offset", 0, 0, most_layers), mixer_role::recurrent);
  } else if (own.has("mamba_step") && own.flag_or("mamba_enabled", true)) {  // PLaMo 2
    const double n = period("mamba_step");
    mark_between(roles, n, math::floor(n / 2), mixer_role::recurrent);
    if (own.has_list("full_attention_idx") && window_size(own, family)) all_full_to_window(roles);
  } else if (!roles_by_dimensions(roles, own, family)) {
    windows_by_rule(roles, own, family);
  }
  return roles;
}

}  // namespace perfmodel::inline v0_3::detail
