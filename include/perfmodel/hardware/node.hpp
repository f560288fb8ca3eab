// Several accelerators in one box, and what leaves the box.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>

namespace perfmodel {

template <Scalar T = double>
struct basic_node {
  basic_accelerator<T> device{};
  int count = 8;
  basic_interconnect<T> network{};  ///< per accelerator, one way

  template <class F, class... N>
  static constexpr void fields(F&& f, N&... n) {
    f("device", n.device...);
    f(field::count("count"), n.count...);
    f("network", n.network...);
  }
};
using node = basic_node<>;

/// Aggregate capacity, bandwidth and peak of a node: count x device.
template <Scalar T>
constexpr bytes<T> capacity(const basic_node<T>& n) {
  return T(n.count) * n.device.dram.capacity;
}
template <Scalar T>
constexpr bandwidth<T> dram_bandwidth(const basic_node<T>& n) {
  return T(n.count) * n.device.dram.bandwidth;
}
template <Scalar T>
constexpr flop_rate<T> peak(const basic_node<T>& n, number_format format) {
  return T(n.count) * peak(n.device, format);
}

}  // namespace perfmodel
