// Cache that is kept in a host's memory: what bringing a prefix back costs, beside computing it anew.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/serving/prefix_tree.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel {

/// Where a cache goes that a device has no room for: so many tokens of the model, over a link that each
/// device has for itself.
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

/// Bringing the cache of so many tokens back to the devices: latency + bytes of a device / link.
/// Leaves out: transfers at the same time; that layers are computed as they arrive.
/// Test: 70B over 8 ranks: 2048 tokens are 84 MB of each, 3.4 ms at 25 GB/s.
template <Scalar T>
constexpr duration<T> fetch_time(const basic_deployment<T>& d, const basic_host_tier<T>& tier,
                                 const std::type_identity_t<T>& tokens) {
  require_valid(tier);
  return named("fetch",
               tier.latency + detail::sequence_on_device(d, detail::count("tokens", tokens)) /
                                  tier.per_device);
}

/// A prefix of so many tokens from the host, and computed anew under a policy.
template <Scalar T = double>
struct basic_fetch_estimate {
  duration<T> fetch{};
  duration<T> compute{};

  /// Above 1 it pays.
  constexpr T gain() const { return T(compute / fetch); }
};
using fetch_estimate = basic_fetch_estimate<>;

/// Test: both times by themselves.
template <Scalar T, class Policy>
constexpr basic_fetch_estimate<T> fetch_or_compute(const basic_deployment<T>& d,
                                                   const basic_host_tier<T>& tier,
                                                   const std::type_identity_t<T>& tokens,
                                                   const Policy& policy) {
  return {fetch_time(d, tier, tokens),
          step(d, basic_iteration<T>{.prefill_tokens = tokens}, policy).time};
}

/// The fewest whole tokens, up to `most`, from which on a prefix is quicker fetched than computed anew; 0
/// where it is not at `most`. A fetch grows by the token, and a prompt has a least time, that of reading
/// the weights, and grows by more than its tokens: by bisection from `most` down. In the worst lane.
/// Test: pays there, and not a token below; a link of a tenth the speed needs more.
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

/// What a tree of prefixes finds on the devices and, beyond them, in the host's memory.
template <Scalar T = double>
struct basic_tiered_hit_estimate {
  T device{};  ///< share of the tokens of prompts
  T host{};
};
using tiered_hit_estimate = basic_tiered_hit_estimate<>;

/// Both tiers together remember as one cache of their sum does; the devices have the younger part.
/// Errors: as prefix_hit_of. Test: the device alone; both together.
template <Scalar T>
constexpr basic_tiered_hit_estimate<T> tiered_hit_of(const basic_prefix_tree<T>& tree,
                                                     const std::type_identity_t<T>& on_devices,
                                                     const basic_host_tier<T>& tier) {
  require_valid(tier);
  const T device = prefix_hit_of(tree, on_devices).hit;
  const T both = prefix_hit_of(tree, T(on_devices + tier.tokens)).hit;
  return {device, scalar_max(T(both - device), T(0.0))};
}

// The host's memory behind a service's cache.

/// Prefixes that the devices forgot and the host still has: {.hit = 0.5} says that half of a prompt comes from
/// there, {.memory = 200 GB} what fits there, of which the hits follow where the load has `shared` prefixes.
/// Each device has a link of its own, the accelerator's where none is given.
template <Scalar T = double>
struct basic_host_cache {
  T hit{};  ///< share of a prompt that is brought back; a part of the load's prefix_hit
  std::optional<bytes<T>> memory{};  ///< for the cache of a data-parallel group
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

}  // namespace perfmodel
