// The host's memory behind a service's cache.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel {

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
