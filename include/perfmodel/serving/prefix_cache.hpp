// Prefix caching in a service: KV-cache capacity with shared prefixes, the hit rate, and fetches of
// prefixes from host memory.
#pragma once

#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/memory.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Prefix tree of sequences with `context` tokens, in units of stored cache instead of tokens. The
/// unit is a block if every layer caches all tokens; only full blocks are shared. Otherwise (layers
/// with a window or a state) the unit is a byte on one device.
template <Scalar T>
constexpr basic_prefix_tree<T> cache_tree(const basic_deployment<T>& d,
                                          const basic_prefix_levels<T>& shared, const T& context,
                                          const T& block_size) {
  using math::ceil;
  using math::floor;
  const bool blocks = grows_by_token(d);
  const auto stored_after = [&](const T& before) -> T {  // `before` tokens
    if (blocks) return ceil(T(context / block_size)) - floor(T(before / block_size));
    return sequence_on_device(d, T(context - before)).value();
  };
  T states{};  // a cached prefix keeps one copy of the recurrent states, those at its end
  if (!blocks) {
    basic_deployment<T> cached = d;
    cached.prefix_caching = false;
    cached.states_per_sequence = T(1.0);
    states = states_on_device(cached).value();
  }
  basic_prefix_tree<T> tree;
  T before{}, rest = stored_after(before);
  for (const auto& level : shared) {
    before += level.tokens;
    const T next = stored_after(before);
    tree.levels.push_back({scalar_max(T(rest - next), T(0.0)) + states, level.prefixes});
    rest = next;
  }
  tree.own_tokens = rest;
  return tree;
}

/// KV-cache capacity (capacity_of) when each data-parallel group stores a shared prefix once.
template <Scalar T>
constexpr basic_kv_capacity<T> shared_prefix_capacity(const basic_deployment<T>& d,
                                                      const basic_memory_budget<T>& budget,
                                                      const basic_prefix_levels<T>& shared,
                                                      const T& context, const T& block_size) {
  using math::floor;
  basic_kv_capacity<T> c = capacity_of(d, budget, context, block_size);
  if (shared.empty() || !c.feasible) return c;
  const basic_prefix_tree<T> tree = cache_tree(d, shared, context, block_size);
  const T all = grows_by_token(d) ? c.blocks : T(c.available.value());
  constexpr double rounding = 1.0 + 1e-12;  // tolerance of the root search
  const T per_group = floor(T(rounding * sequences_sharing(tree, all)));
  c.sequences = scalar_max(c.sequences, T(per_group * T(d.layout.data)));
  return c;
}

}  // namespace detail

/// KV-cache capacity when sequences share prefixes. Each data-parallel group stores a shared prefix
/// once. The number of sequences of a group is the B that solves
///   B (context - shared) + sum over levels i of tokens_i n_i (1 - (1 - 1/n_i)^B) = group tokens
/// in whole blocks. n_i is `prefixes` of level i, tokens_i its `tokens`, and shared the sum of
/// tokens_i. A layer with a window shares only the part of the prefix inside the window.
/// Source: expected number of distinct prefixes among B random requests (by definition).
/// Leaves out: idle prefixes that stay cached; they need no capacity, since new sequences evict
/// them.
/// Errors: as kv_capacity without shared prefixes; a shared prefix that is not shorter than
/// `context`; a level with fewer prefixes than the level before it.
/// Test: one prefix by hand; without shared prefixes, the capacity of the other overload; the
/// simulator of tests/simulator.
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

/// Number of sequences with `context` tokens of a load that fit in memory.
template <Scalar T>
constexpr T sequences_of(const basic_deployment<T>& d, const basic_memory_budget<T>& budget,
                         const basic_service_load<T>& l, const T& context) {
  return shared_prefix_capacity(d, budget, l.shared, context, T(16.0)).sequences;
}

/// Computes resolve_prefix_hit for a load that is already checked.
template <Scalar T>
constexpr basic_service_load<T> fill_prefix_hit(const basic_deployment<T>& d,
                                                basic_service_load<T> l) {
  if (l.shared.empty() || upper(l.prefix_hit) > 0.0) return l;
  const basic_kv_capacity<T> c =
      capacity_of(d, budget_of(d), T(l.input_tokens + l.output_tokens), T(16.0));
  if (!c.feasible || !(lower(c.tokens.value()) >= 1.0)) return l;
  const basic_prefix_tree<T> tree{l.shared, l.input_tokens - tokens_of(l.shared), l.output_tokens};
  l.prefix_hit = scalar_min(prefix_hit_of(tree, c.tokens.value()).hit_rate, T(0.999));
  const bytes_per_token<T> per_token = kv_bytes_per_token(d.model, formats_of(d).kv);
  if (l.host && l.host->memory && upper(per_token.value()) > 0.0) {
    const T both = c.tokens.value() + T(l.host->memory->value() / per_token.value());
    const T found = scalar_min(prefix_hit_of(tree, both).hit_rate, T(0.999));
    l.host->hit = scalar_max(T(found - l.prefix_hit), T(0.0));
    l.prefix_hit = found;
  }
  return l;
}

}  // namespace detail

/// Returns the load with its `prefix_hit` filled in. A given prefix_hit stays. Otherwise it follows
/// from the `shared` prefixes by prefix_hit_of, with the KV-cache tokens of one data-parallel
/// group. A host cache of known size adds its tokens: both tiers together cache what one cache of
/// their total size would. Its share of the hits is set in `host->hit`.
/// Leaves out: concurrent misses on the same prefix; prefix-aware routing (groups receive requests
/// at random).
/// Errors: as serving.
/// Test: equal to prefix_hit_of; a prefix common to all requests misses only at its first use.
template <Scalar T>
constexpr basic_service_load<T> resolve_prefix_hit(const basic_deployment<T>& d,
                                                   const basic_service_load<T>& l) {
  detail::check_load(l);
  return detail::fill_prefix_hit(d, l);
}

// Fetches of prefixes from host memory: transfer times, queueing for the host link, and the
// requests that wait.

/// Fetch of a prompt's cached prefix from host memory. All devices of a data-parallel group fetch
/// their parts at the same time, and prompts are fetched one after the other. A group is therefore
/// one server of a queue.
template <Scalar T = double>
struct basic_prefix_fetch {
  duration<T> transfer_time{};  ///< transfer of one prompt, without queueing
  T links = T(1.0);             ///< number of data-parallel groups, one server each
  /// Coefficient of variation of transfer times, equal to that of prompt lengths.
  T variation{};

  constexpr bool is_needed() const { return upper(transfer_time.value()) > 0.0; }
  /// Utilisation of the host link of a group, at a request rate summed over all groups.
  constexpr T utilisation(const request_rate<T>& rate) const {
    return T(rate * transfer_time / request / links);
  }
  /// Mean time of a fetch with queueing: an M/G/1 queue (Pollaczek and Khinchine).
  constexpr duration<T> response_time(const T& utilisation) const {
    const T u = scalar_min(utilisation, T(1.0 - 1e-9));
    return transfer_time +
           single_server_wait(u, T(0.5 * (1.0 + variation * variation)), transfer_time);
  }
};
using prefix_fetch = basic_prefix_fetch<>;

namespace detail {

/// Bandwidth of the host link of one device: the load's if stated, else the accelerator's.
/// Errors: neither the load nor the accelerator states one.
template <Scalar T>
constexpr bandwidth<T> host_link_of(const basic_deployment<T>& d, const basic_service_load<T>& l) {
  if (l.host && l.host->bandwidth_per_device) return *l.host->bandwidth_per_device;
  if (!(d.device.host.exists() && d.device.host.bandwidth.is_stated()))
    missing("host.bandwidth_per_device, as the accelerator states no link to its host,");
  return d.device.host.bandwidth.quantity();
}

}  // namespace detail

/// Fetch of the host hits of a load. Its transfer time is latency + the bytes that one device
/// fetches / the bandwidth of its host link. The result is empty if the load has no host hits.
/// Source: by definition.
/// Leaves out: overlap of layers with compute.
/// Errors: neither the load nor the accelerator states a host link.
/// Test: equal to fetch_time of a host_tier.
template <Scalar T>
constexpr basic_prefix_fetch<T> prefix_fetch_of(const basic_deployment<T>& d,
                                                const basic_service_load<T>& l) {
  if (!l.host || !(upper(l.host->hit) > 0.0)) return {};
  const bandwidth<T> link = detail::host_link_of(d, l);
  const bytes<T> found = detail::sequence_on_device(d, T(l.host->hit * l.input_tokens));
  return {named("fetch", l.host->latency + found / link), T(d.layout.data), l.input_cv};
}

namespace detail {

/// Mean time of a fetch with queueing, in a closed loop of N requests (`customers`). By
/// Schweitzer's approximation a request finds the utilisation that the N - 1 other requests cause.
template <Scalar T>
constexpr duration<T> closed_loop_fetch_time(const basic_prefix_fetch<T>& fetch, const T& customers,
                                             const request_rate<T>& throughput) {
  const T others = scalar_max(T(1.0 - fetch.links / customers), T(0.0));
  return fetch.response_time(others * fetch.utilisation(throughput));
}

}  // namespace detail

/// Mean number of requests that are not fetching, in a closed loop of N requests: the n with n +
/// X(n) R = N. X(n) is the throughput with n requests in service, and R the time of a fetch with
/// queueing. `fetching(n)` returns X(n) R, the number that is fetching. Fetches run concurrently
/// with engine steps.
/// Source: Little 1961; Schweitzer 1979 (mean value analysis).
/// Leaves out: the initial burst of a run, in which all requests fetch at once; KV-cache blocks
/// that are reserved during a fetch.
/// Test: all requests if nothing is fetched; a saturated link transfers without pause; the
/// simulator of tests/simulator.
template <Scalar T, class Fetching>
constexpr T requests_not_fetching(const T& requests, const Fetching& fetching) {
  return named("requests not fetching", detail::balanced_batch(requests, [&](const T& n) -> T {
                 return n * (requests / (n + fetching(n)));
               }));
}

}  // namespace perfmodel::inline v0_3
