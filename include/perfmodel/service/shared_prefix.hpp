// Prompts that begin alike, in a service: what their sequences take of the cache, and what they find in it.
#pragma once

#include <perfmodel/deployment/memory.hpp>
#include <perfmodel/service/load.hpp>

namespace perfmodel {

namespace detail {

/// Sequences of `context` tokens as a tree of what each adds to a data-parallel group's cache: whole blocks,
/// of which only full ones are shared, or bytes of a device where layers keep less than all tokens.
template <Scalar T>
constexpr basic_prefix_tree<T> cache_tree(const basic_deployment<T>& d,
                                          const basic_prefix_levels<T>& shared, const T& context,
                                          const T& block_size) {
  using math::ceil;
  using math::floor;
  const bool blocks = grows_by_token(d.model);
  const auto held = [&](const T& before) -> T {  // by what stands behind so many tokens
    if (blocks) return ceil(T(context / block_size)) - floor(T(before / block_size));
    return sequence_on_device(d, T(context - before)).value();
  };
  basic_prefix_tree<T> tree;
  T before{}, rest = held(before);
  for (const auto& level : shared) {
    before += level.tokens;
    const T behind = held(before);
    tree.levels.push_back({scalar_max(T(rest - behind), T(0.0)), level.prefixes});
    rest = behind;
  }
  tree.own = rest;
  return tree;
}

/// capacity_of where sequences hold once what they share; each data-parallel group has its own copy.
template <Scalar T>
constexpr basic_kv_capacity<T> capacity_sharing(const basic_deployment<T>& d,
                                                const basic_memory_budget<T>& budget,
                                                const basic_prefix_levels<T>& shared,
                                                const T& context, const T& block_size) {
  using math::floor;
  basic_kv_capacity<T> c = capacity_of(d, budget, context, block_size);
  if (shared.empty() || !c.feasible) return c;
  const basic_prefix_tree<T> tree = cache_tree(d, shared, context, block_size);
  const T all = grows_by_token(d.model) ? c.blocks : T(c.available.value());
  constexpr double rounding = 1.0 + 1e-12;  // of the search for the root
  const T each = floor(T(rounding * sequences_sharing(tree, all)));
  c.sequences = scalar_max(c.sequences, T(each * T(d.layout.data)));
  return c;
}

}  // namespace detail

/// kv_capacity where sequences begin with `shared`, which a data-parallel group holds once: B of a group with
/// B (context - shared) + sum of tokens_i n_i (1 - (1 - 1/n_i)^B) = its tokens, in whole blocks. A layer with
/// a window shares what of the prefix is in it.
/// Leaves out: that a prefix nobody uses now may stay, which costs nothing, since it is evicted for a sequence.
/// Errors: as kv_capacity; prefixes as long as the context; fewer on a level than on the one before.
/// Tests: one prefix by hand; without any, kv_capacity; the simulator of tests/simulator.
template <Scalar T>
constexpr basic_kv_capacity<T> kv_capacity(const basic_deployment<T>& d,
                                           const basic_prefix_levels<T>& shared,
                                           const std::type_identity_t<T>& context,
                                           const std::type_identity_t<T>& block_size = T(16.0)) {
  detail::check_memory(d);
  detail::count("context", context);
  detail::count("block_size", block_size);
  detail::check_shared(shared, T(context), "fewer than the context");
  return detail::capacity_sharing(d, detail::budget_of(d), shared, context, block_size);
}

namespace detail {

/// capacity_sharing of a load's sequences at `context` tokens.
template <Scalar T>
constexpr T sequences_of(const basic_deployment<T>& d, const basic_memory_budget<T>& budget,
                         const basic_service_load<T>& l, const T& context) {
  return capacity_sharing(d, budget, l.shared, context, T(16.0)).sequences;
}

/// found_of a load that was checked.
template <Scalar T>
constexpr basic_service_load<T> with_hits(const basic_deployment<T>& d, basic_service_load<T> l) {
  if (l.shared.empty() || upper(l.prefix_hit) > 0.0) return l;
  const basic_kv_capacity<T> c =
      capacity_of(d, budget_of(d), T(l.input_tokens + l.output_tokens), T(16.0));
  if (!c.feasible || !(lower(c.tokens.value()) >= 1.0)) return l;
  const basic_prefix_tree<T> tree{l.shared, l.input_tokens - tokens_of(l.shared), l.output_tokens};
  l.prefix_hit = scalar_min(prefix_hit_of(tree, c.tokens.value()).hit, T(0.999));
  const bytes_per_token<T> per_token = kv_bytes_per_token(d.model, formats_of(d).kv);
  if (l.host && l.host->memory && upper(per_token.value()) > 0.0) {
    const T both = c.tokens.value() + T(l.host->memory->value() / per_token.value());
    const T found = scalar_min(prefix_hit_of(tree, both).hit, T(0.999));
    l.host->hit = scalar_max(T(found - l.prefix_hit), T(0.0));
    l.prefix_hit = found;
  }
  return l;
}

}  // namespace detail

/// The load with its prefix_hit: as given, else what prompts find of `shared` in the cache of a data-parallel
/// group, which forgets what was used longest ago (prefix_hit_of), and in its host's memory behind it, which
/// together remember as one cache of their sum does. Requests go to groups by chance.
/// Leaves out: that prompts which arrive together compute a prefix that none has left yet, each for itself.
/// Errors: as serving. Tests: by prefix_hit_of; a prefix of all is found but for its first use.
template <Scalar T>
constexpr basic_service_load<T> found_of(const basic_deployment<T>& d,
                                         const basic_service_load<T>& l) {
  detail::check_load(l);
  return detail::with_hits(d, l);
}

}  // namespace perfmodel
