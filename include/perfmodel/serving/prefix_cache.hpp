// Prefix caching in a service: KV-cache capacity with shared prefixes, hits, and fetches from host
// memory.
#pragma once

#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/memory.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Sequences of `context` tokens as a tree of their cache use in a data-parallel group: whole
/// blocks, of which only full ones are shared, or bytes of a device where layers cache less than
/// all tokens.
template <Scalar T>
constexpr basic_prefix_tree<T> cache_tree(const basic_deployment<T>& d,
                                          const basic_prefix_levels<T>& shared, const T& context,
                                          const T& block_size) {
  using math::ceil;
  using math::floor;
  const bool blocks = grows_by_token(d.model);
  const auto stored_after = [&](const T& before) -> T {  // `before` tokens
    if (blocks) return ceil(T(context / block_size)) - floor(T(before / block_size));
    return sequence_on_device(d, T(context - before)).value();
  };
  basic_prefix_tree<T> tree;
  T before{}, rest = stored_after(before);
  for (const auto& level : shared) {
    before += level.tokens;
    const T next = stored_after(before);
    tree.levels.push_back({scalar_max(T(rest - next), T(0.0)), level.prefixes});
    rest = next;
  }
  tree.own = rest;
  return tree;
}

/// capacity_of with a shared prefix stored once per data-parallel group.
template <Scalar T>
constexpr basic_kv_capacity<T> shared_prefix_capacity(const basic_deployment<T>& d,
                                                      const basic_memory_budget<T>& budget,
                                                      const basic_prefix_levels<T>& shared,
                                                      const T& context, const T& block_size) {
  using math::floor;
  basic_kv_capacity<T> c = capacity_of(d, budget, context, block_size);
  if (shared.empty() || !c.feasible) return c;
  const basic_prefix_tree<T> tree = cache_tree(d, shared, context, block_size);
  const T all = grows_by_token(d.model) ? c.blocks : T(c.available.value());
  constexpr double rounding = 1.0 + 1e-12;  // tolerance of the root search
  const T per_group = floor(T(rounding * sequences_sharing(tree, all)));
  c.sequences = scalar_max(c.sequences, T(per_group * T(d.layout.data)));
  return c;
}

}  // namespace detail

/// KV-cache capacity where sequences share prefixes, stored once per data-parallel group: the B of
/// a group with
///   B (context - shared) + sum of tokens_i n_i (1 - (1 - 1/n_i)^B) = tokens of the group
/// in whole blocks. A layer with a window shares the part of the prefix in the window.
/// Source: expected number of distinct prefixes among B random requests.
/// Leaves out: idle prefixes that stay cached, which cost nothing, as sequences evict them.
/// Errors: as kv_capacity; prefixes as long as the context; fewer on a level than on the one
/// before.
/// Test: one prefix by hand; without any, kv_capacity; the simulator of tests/simulator.
template <Scalar T>
constexpr basic_kv_capacity<T> kv_capacity(const basic_deployment<T>& d,
                                           const basic_prefix_levels<T>& shared,
                                           const std::type_identity_t<T>& context,
                                           const std::type_identity_t<T>& block_size = T(16.0)) {
  detail::check_memory(d);
  detail::count("context", context);
  detail::count("block_size", block_size);
  detail::check_shared(shared, T(context), "fewer than the context");
  return detail::shared_prefix_capacity(d, detail::budget_of(d), shared, context, block_size);
}

namespace detail {

/// Sequences of `context` tokens that fit, of a load.
template <Scalar T>
constexpr T sequences_of(const basic_deployment<T>& d, const basic_memory_budget<T>& budget,
                         const basic_service_load<T>& l, const T& context) {
  return shared_prefix_capacity(d, budget, l.shared, context, T(16.0)).sequences;
}

/// resolve_prefix_hit of a load that is already checked.
template <Scalar T>
constexpr basic_service_load<T> fill_prefix_hit(const basic_deployment<T>& d,
                                                basic_service_load<T> l) {
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

/// Returns the load with its prefix_hit: as given, or what prompts find of `shared` in the cache of
/// a data-parallel group with least-recently-used eviction (prefix_hit_of). Host memory behind it
/// adds hits: both tiers cache as one of their total size does. Requests are routed to groups at
/// random.
/// Leaves out: concurrent misses on the same prefix.
/// Errors: as serving.
/// Test: by prefix_hit_of; a prefix of all requests is found except at its first use.
template <Scalar T>
constexpr basic_service_load<T> resolve_prefix_hit(const basic_deployment<T>& d,
                                                   const basic_service_load<T>& l) {
  detail::check_load(l);
  return detail::fill_prefix_hit(d, l);
}

// Fetches of prefixes from host memory: transfer times, queueing for the host link, and the
// requests that wait.

/// Fetch of a prompt's prefix from host memory. All devices of a data-parallel group fetch their
/// parts at once, one prompt after the other, so a group is one server.
template <Scalar T = double>
struct basic_prefix_fetch {
  duration<T> transfer_time{};
  T links = T(1.0);
  T variation{};  ///< coefficient of variation of transfers, as of prompts

  constexpr bool is_needed() const { return upper(transfer_time.value()) > 0.0; }
  /// Utilisation of a host link at a throughput of all groups.
  constexpr T utilisation(const request_rate<T>& rate) const {
    return T(rate * transfer_time / request / links);
  }
  /// Mean queueing and transfer: M/G/1, Pollaczek and Khinchine.
  constexpr duration<T> response_time(const T& utilisation) const {
    const T u = scalar_min(utilisation, T(1.0 - 1e-9));
    return transfer_time +
           single_server_wait(u, T(0.5 * (1.0 + variation * variation)), transfer_time);
  }
};
using prefix_fetch = basic_prefix_fetch<>;

namespace detail {

/// Bandwidth of the host link: the load's, else the accelerator's.
/// Errors: neither states one.
template <Scalar T>
constexpr bandwidth<T> host_link_of(const basic_deployment<T>& d, const basic_service_load<T>& l) {
  if (l.host && l.host->per_device) return *l.host->per_device;
  if (!(d.device.host.exists() && d.device.host.bandwidth.is_stated()))
    missing("host.per_device, as the accelerator states no link to its host,");
  return d.device.host.bandwidth.quantity();
}

}  // namespace detail

/// Fetch of the load's host hits: latency + bytes of a device / bandwidth; none without a host
/// cache.
/// Leaves out: overlap of layers with compute.
/// Errors: an accelerator without a stated host link, where the load states none.
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

/// Mean queueing and transfer in a closed loop of N: a request finds the utilisation that the N - 1
/// others cause (Schweitzer's approximation).
template <Scalar T>
constexpr duration<T> closed_loop_fetch_time(const basic_prefix_fetch<T>& fetch, const T& customers,
                                             const request_rate<T>& throughput) {
  const T others = scalar_max(T(1.0 - fetch.links / customers), T(0.0));
  return fetch.response_time(others * fetch.utilisation(throughput));
}

}  // namespace detail

/// Requests of a closed loop of N that are not fetching: the n with n + X(n) R = N. `fetching(n)`
/// returns X(n) R, throughput times fetch time with queueing, as the N - 1 others leave the link
/// (mean value analysis, Schweitzer's approximation). Fetches overlap with engine steps.
/// Source: Little 1961; Schweitzer 1979.
/// Leaves out: the initial burst of a run, which fetches all at once; blocks reserved meanwhile.
/// Test: all requests where nothing is fetched; a saturated link transfers without pause; the
/// simulator of tests/simulator.
template <Scalar T, class Fetching>
constexpr T requests_not_fetching(const T& requests, const Fetching& fetching) {
  return named("requests not fetching", detail::balanced_batch(requests, [&](const T& n) -> T {
                 return n * (requests / (n + fetching(n)));
               }));
}

}  // namespace perfmodel::inline v0_3
