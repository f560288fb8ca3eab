// How a call is made: what it finds in L2, and where tokens go.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel {

/// Whether a call finds in L2 what the same call left there before. In a model it does not, for the
/// other layers pass in between; in a benchmark that replays one call it may.
enum class cache_state { warm, cold };

/// How tokens choose experts: at random; so that every expert has as many; or so, and every token the same
/// half of the experts, as a router by groups (DeepSeek's, 4 of 8) deals tokens that agree.
enum class expert_routing { random, balanced, grouped };

/// The default is a call inside a model, for every operator. A benchmark of one product reads
/// `weight_copies` copies of its weights in turn, so that a warm L2 holds what fits of all of them.
template <Scalar T = double>
struct basic_call_conditions {
  cache_state cache = cache_state::cold;
  T weight_copies = T(1.0);
  expert_routing routing = expert_routing::random;
  T imbalance =
      T(1.0);  ///< rows of the busiest rank over the mean of all, where experts are spread
  std::optional<T>
      capacity_factor{};  ///< no rank takes more than this many times the mean; the rest is dropped

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("cache", s.cache...);
    f(field::positive("weight_copies"), s.weight_copies...);
    f("routing", s.routing...);
    f(field::count("imbalance"), s.imbalance...);
    f(field::count("capacity_factor"), s.capacity_factor...);
  }
};
using call_conditions = basic_call_conditions<>;

/// Of a benchmark that reads `weight_copies` copies of the weights in turn. One that empties the L2
/// replays none: 0 is cold. Errors: weight_copies negative.
template <Scalar T>
constexpr basic_call_conditions<T> replaying(const T& weight_copies) {
  if (!(upper(detail::not_negative("weight_copies", weight_copies)) > 0.0)) return {};
  return {.cache = cache_state::warm, .weight_copies = weight_copies};
}

namespace detail {

/// Share of a working set that the run before left in L2: 1 / (1 + (bytes / room)^8), a step at
/// the room, 1.0 far below and (room / bytes)^8 above it. Test: a half at the room itself.
template <Scalar T>
constexpr T resident(const bytes<T>& working_set, const bytes<T>& room) {
  const T x = named("L2 filled", T(working_set / detail::positive("l2.capacity", room)));
  const T x2 = x * x;
  const T x4 = x2 * x2;
  return 1.0 / (1.0 + x4 * x4);
}

/// 1 where x is above 0, else 0, for counts.
template <Scalar T>
constexpr T any(const T& x) {
  using math::ceil;
  return scalar_max(T(0.0), scalar_min(T(1.0), T(ceil(x))));
}

}  // namespace detail

}  // namespace perfmodel
