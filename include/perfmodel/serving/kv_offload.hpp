// KV offload: prefixes cached in host memory, and the time to fetch a prefix compared with
// prefilling it again.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/serving/prefix_tree.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// Host-memory tier of a KV cache: its capacity in tokens, and the host link of each device.
template <Scalar T = double>
struct basic_host_tier {
  T tokens{};
  bandwidth<T> bandwidth_per_device{};
  duration<T> latency{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::positive("bandwidth_per_device"), s.bandwidth_per_device...);
    f(field::not_negative("latency"), s.latency...);
  }
};
using host_tier = basic_host_tier<>;

/// Time to fetch the cache of `tokens` tokens from host memory: latency + bytes of one device /
/// bandwidth_per_device. All devices fetch their parts at the same time.
/// Source: by definition.
/// Leaves out: concurrent transfers; overlap of layers with compute.
/// Errors: tokens below 1; a tier out of range.
/// Test: 70B with 8 ranks: 2048 tokens are 84 MB per device, 3.4 ms at 25 GB/s.
template <Scalar T>
constexpr duration<T> fetch_time(const basic_deployment<T>& d, const basic_host_tier<T>& tier,
                                 const std::type_identity_t<T>& tokens) {
  require_valid(tier);
  return named("fetch",
               tier.latency + detail::sequence_on_device(d, detail::count("tokens", tokens)) /
                                  tier.bandwidth_per_device);
}

/// Times of two ways to obtain a prefix's KV cache.
template <Scalar T = double>
struct basic_fetch_estimate {
  duration<T> fetch{};    ///< transfer from host memory
  duration<T> compute{};  ///< prefill on the devices

  /// Speed-up of the fetch, compute / fetch: above 1 the fetch is faster.
  constexpr T gain() const { return T(compute / fetch); }
};
using fetch_estimate = basic_fetch_estimate<>;

/// Compares the time to fetch a prefix of `tokens` tokens from host memory with the time to prefill
/// it, predicted under a policy.
/// Test: equal to fetch_time and to the time of `step`.
template <Scalar T, class Policy>
constexpr basic_fetch_estimate<T> fetch_or_compute(const basic_deployment<T>& d,
                                                   const basic_host_tier<T>& tier,
                                                   const std::type_identity_t<T>& tokens,
                                                   const Policy& policy) {
  return {fetch_time(d, tier, tokens),
          step(d, basic_iteration<T>{.prefill_tokens = tokens}, policy).time};
}

/// Break-even prefix length: at the result a fetch is at least as fast as prefill, with one token
/// less it is slower; 0 if it is slower at `most` tokens. The search is a bisection: fetch time is
/// linear in the tokens, prefill time has a floor (reading the weights) and then grows more than
/// linearly. Far below the result a fetch may be faster too, since it has no such floor.
/// Test: the fetch is faster at the result, and slower with one token less; a tenth of the
/// bandwidth needs more tokens.
template <Scalar T, class Policy>
constexpr int least_tokens_to_fetch(const basic_deployment<T>& d, const basic_host_tier<T>& tier,
                                    int most, const Policy& policy) {
  const auto pays = [&](int tokens) {
    return lower(fetch_or_compute(d, tier, T(tokens), policy).gain()) >= 1.0;
  };
  if (most < 1 || !pays(most)) return 0;
  int missing = 0, paying = most;
  while (paying - missing > 1) {
    const int middle = missing + (paying - missing) / 2;
    (pays(middle) ? paying : missing) = middle;
  }
  return paying;
}

/// Hit rates of a prefix cache with two tiers: device memory, and host memory behind it.
template <Scalar T = double>
struct basic_tiered_hit_estimate {
  T device{};  ///< share of prompt tokens found in device memory
  T host{};    ///< share of prompt tokens found only in host memory
};
using tiered_hit_estimate = basic_tiered_hit_estimate<>;

/// Hit rates of both tiers. Together they cache what one LRU cache of their total size would; the
/// devices have its most recent part, of `on_devices` tokens.
/// Errors: as prefix_hit_of.
/// Test: the device tier equals prefix_hit_of at `on_devices`; both tiers equal it at the total
/// size.
template <Scalar T>
constexpr basic_tiered_hit_estimate<T> tiered_hit_of(const basic_prefix_tree<T>& tree,
                                                     const std::type_identity_t<T>& on_devices,
                                                     const basic_host_tier<T>& tier) {
  require_valid(tier);
  const T device = prefix_hit_of(tree, on_devices).hit_rate;
  const T both = prefix_hit_of(tree, T(on_devices + tier.tokens)).hit_rate;
  return {device, scalar_max(T(both - device), T(0.0))};
}

// Host-memory cache of a service.

/// Host-memory cache of a service, for prefixes that were evicted from device memory. {.hit = 0.5}:
/// half of each prompt is fetched from there. {.memory = 200 GB}: its size, from which `hit`
/// follows if the load has `shared` prefixes. Each device has its own host link; without
/// `bandwidth_per_device` it is the accelerator's.
template <Scalar T = double>
struct basic_host_cache {
  /// Share of a prompt that is fetched from host memory; included in the load's `prefix_hit`.
  T hit{};
  std::optional<bytes<T>> memory{};  ///< host memory for one data-parallel group
  std::optional<bandwidth<T>> bandwidth_per_device{};
  duration<T> latency{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::within("hit", 0.0, 0.999, "0 to 0.999: a part of prefix_hit"), s.hit...);
    f(field::positive("memory"), s.memory...);
    f(field::positive("bandwidth_per_device"), s.bandwidth_per_device...);
    f(field::not_negative("latency"), s.latency...);
  }
};
using host_cache = basic_host_cache<>;

}  // namespace perfmodel::inline v0_3
