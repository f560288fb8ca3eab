// What a call finds in L2 of what the call before left there.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel {

/// Whether a call finds in L2 what the call before left: as where one call is replayed, as in the
/// measurements that the profiles come from, or not, as in a model whose other layers pass between.
enum class cache_state { warm, cold };

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

}  // namespace detail

}  // namespace perfmodel
