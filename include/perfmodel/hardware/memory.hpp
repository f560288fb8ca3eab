// One level of a memory hierarchy.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/fact.hpp>

namespace perfmodel {

/// Capacity and bandwidth are of the whole chip, not of one SM.
template <Scalar T = double>
struct basic_memory_level {
  fact<bytes<T>> capacity{};
  fact<perfmodel::bandwidth<T>> bandwidth{};
  fact<duration<T>> latency{};
  fact<perfmodel::energy_per_byte<T>> energy_per_byte{};

  template <class F, class... Levels>
  static constexpr void fields(F&& f, Levels&... level) {
    f(field::positive("capacity"), level.capacity...);
    f(field::positive("bandwidth"), level.bandwidth...);
    f(field::positive("latency"), level.latency...);
    f(field::positive("energy_per_byte"), level.energy_per_byte...);
  }
};
using memory_level = basic_memory_level<>;

/// Bandwidth of a DRAM interface = bus width / 8 x transfers per second and pin.
/// Source: JEDEC data-rate convention. Test: 5120 bit at 5.2 Gb/s is 3.33 TB/s.
template <Scalar T>
constexpr bandwidth<T> bandwidth_from_bus(const std::type_identity_t<T>& bus_bits,
                                          const frequency<T>& transfers) {
  detail::positive("bus_bits", bus_bits);
  detail::positive("transfers", transfers);
  return bus_bits / 8.0 * bytes<T>::from_value(T(1.0)) * transfers;
}

}  // namespace perfmodel
