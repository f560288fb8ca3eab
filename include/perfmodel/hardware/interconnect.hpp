// What connects accelerators with each other and with their host.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/units/convention.hpp>

namespace perfmodel::inline v0_3 {

enum class link_kind {
  none,
  nvlink,
  nvlink_c2c,
  pcie,
  infinity_fabric,
  ici,
  neuronlink,
  ethernet,
  infiniband,
  on_wafer
};

constexpr const char* name_of(link_kind k) {
  constexpr const char* names[] = {
      "none", "NVLink",     "NVLink-C2C", "PCIe",       "Infinity Fabric",
      "ICI",  "NeuronLink", "Ethernet",   "InfiniBand", "on-wafer"};
  return detail::entry_of(names, k, "link_kind");
}

/// Bandwidth is one-way and per accelerator, summed over its links. `ranks` is how many
/// accelerators one fabric joins; `in_network_reduction` says whether its switches add.
template <Scalar T = double>
struct basic_interconnect {
  link_kind kind = link_kind::none;
  fact<perfmodel::bandwidth<T>> bandwidth{};
  fact<duration<T>> latency{};
  int ranks = 1;
  bool in_network_reduction = false;

  constexpr bool exists() const { return kind != link_kind::none; }

  template <class F, class... Links>
  static constexpr void fields(F&& f, Links&... l) {
    f("kind", l.kind...);
    f(field::positive("bandwidth"), l.bandwidth...);
    f(field::not_negative("latency"), l.latency...);
    f(field::ranks("ranks"), l.ranks...);
    f("in_network_reduction", l.in_network_reduction...);
  }
};
using interconnect = basic_interconnect<>;

}  // namespace perfmodel::inline v0_3
