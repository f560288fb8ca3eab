// KV offload: cached prefixes in host memory, and the time to fetch them against prefilling again.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/serving/prefix_tree.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// Host-memory tier of a KV cache: its capacity in tokens of the model, and the link of each
/// device.
template <Scalar T = double>
struct basic_host_tier {
  T tokens{};
  bandwidth<T> per_device{};
  duration<T> latency{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::positive("per_device"), s.per_device...);
    f(field::not_negative("latency"), s.latency...);
  }
};
using host_tier = basic_host_tier<>;

/// Time to fetch the cache of `tokens` tokens to the devices: latency + bytes of a device /
/// bandwidth.
/// Source: bytes over bandwidth.
/// Leaves out: concurrent transfers; overlap of layers with compute.
/// Errors: tokens below 1; a tier out of range.
/// Test: 70B over 8 ranks: 2048 tokens are 84 MB of each, 3.4 ms at 25 GB/s.
template <Scalar T>
constexpr duration<T> fetch_time(const basic_deployment<T>& d, const basic_host_tier<T>& tier,
                                 const std::type_identity_t<T>& tokens) {
  require_valid(tier);
  return named("fetch",
               tier.latency + detail::sequence_on_device(d, detail::count("tokens", tokens)) /
                                  tier.per_device);
}

/// Time to fetch a prefix from host memory, and to prefill it again under a policy.
template <Scalar T = double>
struct basic_fetch_estimate {
  duration<T> fetch{};
  duration<T> compute{};

  /// Speed-up of the fetch; above 1 it is the faster.
  constexpr T gain() const { return T(compute / fetch); }
};
using fetch_estimate = basic_fetch_estimate<>;

/// Compares the fetch of a prefix of `tokens` tokens with its prefill under a policy.
/// Test: both times by themselves.
template <Scalar T, class Policy>
constexpr basic_fetch_estimate<T> fetch_or_compute(const basic_deployment<T>& d,
                                                   const basic_host_tier<T>& tier,
                                                   const std::type_identity_t<T>& tokens,
                                                   const Policy& policy) {
  return {fetch_time(d, tier, tokens),
          step(d, basic_iteration<T>{.prefill_tokens = tokens}, policy).time};
}

/// Fewest tokens, up to `most`, from which a fetch is faster than prefill; 0 where it is not at
/// `most`. By bisection: a fetch is linear in the tokens, while prefill has a least time (reading
/// the weights) and grows faster than its tokens. In the worst lane.
/// Test: faster there, and not with one token less; a tenth of the bandwidth needs more tokens.
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

/// Hit rates of a prefix tree in the cache of the devices and in host memory behind it.
template <Scalar T = double>
struct basic_tiered_hit_estimate {
  T device{};  ///< share of prompt tokens
  T host{};
};
using tiered_hit_estimate = basic_tiered_hit_estimate<>;

/// Hit rates of both tiers, which cache as one of their total size does; the devices have the most
/// recent part.
/// Errors: as prefix_hit_of.
/// Test: the device tier by itself; both tiers.
template <Scalar T>
constexpr basic_tiered_hit_estimate<T> tiered_hit_of(const basic_prefix_tree<T>& tree,
                                                     const std::type_identity_t<T>& on_devices,
                                                     const basic_host_tier<T>& tier) {
  require_valid(tier);
  const T device = prefix_hit_of(tree, on_devices).hit;
  const T both = prefix_hit_of(tree, T(on_devices + tier.tokens)).hit;
  return {device, scalar_max(T(both - device), T(0.0))};
}

// Host-memory cache of a service.

/// Prefixes that left the devices' cache for host memory. {.hit = 0.5}: half of each prompt is
/// fetched from there. {.memory = 200 GB}: its size, from which the hits follow where the load has
/// `shared` prefixes. Each device has a link of its own, by default the accelerator's host link.
template <Scalar T = double>
struct basic_host_cache {
  T hit{};  ///< share of a prompt fetched from host memory; part of the load's prefix_hit
  std::optional<bytes<T>> memory{};  ///< host memory of a data-parallel group
  std::optional<bandwidth<T>> per_device{};
  duration<T> latency{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::within("hit", 0.0, 0.999, "0 to 0.999: a part of prefix_hit"), s.hit...);
    f(field::positive("memory"), s.memory...);
    f(field::positive("per_device"), s.per_device...);
    f(field::not_negative("latency"), s.latency...);
  }
};
using host_cache = basic_host_cache<>;

}  // namespace perfmodel::inline v0_3
