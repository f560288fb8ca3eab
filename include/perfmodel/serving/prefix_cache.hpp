// Prompts that begin alike, in a service: what their sequences take of the cache, and what they find in it.
#pragma once

#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/memory.hpp>

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

// Prefixes that a service brings back from its hosts: the time at the links, and what it does to the flow.

/// The transfer of a prompt's prefix from the host. All devices of a data-parallel group bring their parts at
/// once, one prompt after the other: `links` such queues.
template <Scalar T = double>
struct basic_prefix_fetch {
  duration<T> each{};
  T links = T(1.0);
  T variation{};  ///< of the transfers, as of the prompts

  constexpr bool exists() const { return upper(each.value()) > 0.0; }
  /// Share of the time that a link is busy at this rate of all prompts.
  constexpr T busy(const request_rate<T>& rate) const { return T(rate * each / request / links); }
  /// A transfer and the wait before it, by Pollaczek and Khinchine.
  constexpr duration<T> time_at(const T& busy) const {
    const T u = scalar_min(busy, T(1.0 - 1e-9));
    return (1.0 + 0.5 * (1.0 + variation * variation) * u / (1.0 - u)) * each;
  }
};
using prefix_fetch = basic_prefix_fetch<>;

namespace detail {

/// As the load has it, else the accelerator's. Errors: neither.
template <Scalar T>
constexpr bandwidth<T> host_link_of(const basic_deployment<T>& d, const basic_service_load<T>& l) {
  if (l.host && l.host->per_device) return *l.host->per_device;
  if (!(d.device.host.exists() && d.device.host.bandwidth.is_stated()))
    missing("host_link_bytes_per_s, as the accelerator states no link to its host,");
  return d.device.host.bandwidth.quantity();
}

}  // namespace detail

/// latency + bytes of a device / link, of the `hit` of a load's host; none without one. Layers that are
/// computed as others arrive are left out.
/// Errors: an accelerator that states no link to its host, where the load gives none.
/// Test: fetch_time of a host_tier.
template <Scalar T>
constexpr basic_prefix_fetch<T> prefix_fetch_of(const basic_deployment<T>& d,
                                                const basic_service_load<T>& l) {
  if (!l.host || !(upper(l.host->hit) > 0.0)) return {};
  const bandwidth<T> link = detail::host_link_of(d, l);
  const bytes<T> found = detail::sequence_on_device(d, T(l.host->hit * l.input_tokens));
  return {named("fetch", l.host->latency + found / link), T(d.layout.data), l.input_cv};
}

namespace detail {

/// A transfer as one request of a closed loop waits for it: the others leave its link so busy.
template <Scalar T>
constexpr duration<T> fetch_in_loop(const basic_prefix_fetch<T>& fetch, const T& loop,
                                    const request_rate<T>& throughput) {
  const T others = scalar_max(T(1.0 - fetch.links / loop), T(0.0));
  return fetch.time_at(others * fetch.busy(throughput));
}

}  // namespace detail

/// Requests of a closed loop of N that are not at the links: n with n + X(n) R = N, of which away_of(n) gives
/// X(n) R, a throughput times the time of a transfer, which one of N finds as the N - 1 others leave the
/// link (mean value analysis, Schweitzer's approximation). Transfers go on beside the engine's iterations.
/// Leaves out: that the first wave of a run fetches all at once; blocks that are held meanwhile.
/// Tests: all of them where nothing is fetched; a link that binds has one transfer after the other; the
/// simulator of tests/simulator.
template <Scalar T, class Away>
constexpr T requests_not_at_links(const T& loop, const Away& away_of) {
  return named("requests beside the links", detail::balanced_batch(loop, [&](const T& n) -> T {
                 return n * (loop / (n + away_of(n)));
               }));
}

}  // namespace perfmodel
