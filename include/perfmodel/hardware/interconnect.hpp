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
  on_wafer,
  hccs  ///< Huawei Ascend, its Unified Bus included
};

/// Name as in files and texts.
constexpr const char* name_of(link_kind k) {
  constexpr const char* names[] = {
      "none",     "NVLink",     "NVLink-C2C", "PCIe", "Infinity Fabric", "ICI", "NeuronLink",
      "Ethernet", "InfiniBand", "on-wafer",   "HCCS"};
  return detail::entry_of(names, k, "link_kind");
}

/// How a fabric joins its accelerators. A switch gives any group the whole bandwidth. A mesh has a
/// link to each peer, and a torus one to each neighbour, so that a small group uses few links.
enum class link_topology { switched, mesh, torus_2d, torus_3d };

/// Name as in files and texts.
constexpr const char* name_of(link_topology t) {
  constexpr const char* names[] = {"switch", "mesh", "2D torus", "3D torus"};
  return detail::entry_of(names, t, "link_topology");
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
  link_topology topology = link_topology::switched;

  constexpr bool exists() const { return kind != link_kind::none; }
  /// Number of accelerators that it joins: 1 without a link.
  constexpr int reach() const { return exists() ? ranks : 1; }

  template <class F, class... Links>
  static constexpr void fields(F&& f, Links&... l) {
    f("kind", l.kind...);
    f(field::positive("bandwidth"), l.bandwidth...);
    f(field::not_negative("latency"), l.latency...);
    f(field::ranks("ranks"), l.ranks...);
    f("in_network_reduction", l.in_network_reduction...);
    f("topology", l.topology...);
  }
};
using interconnect = basic_interconnect<>;

/// Share of an accelerator's bandwidth that a group of n of the fabric's N accelerators can use:
///
///     switch  1
///     mesh    (n-1) / (N-1): the links to the others of the group
///     torus   min(floor(log2 n), 2d) / 2d in d dimensions
///
/// In a torus with axes of at least 4, one of n chips has at most log2 n neighbours in the group
/// (edge isoperimetry of the hypercube, Harper 1964; its 2-cube is a ring of 4). That chip limits a
/// collective. Two chips use one link, 2 x 2 chips two, 4 x 4 chips four.
/// Leaves out: detours over accelerators outside the group; in a torus also the hops between chips
/// that are not neighbours, and groups that are not compact.
/// Test: 1/7 for two MI300X of eight: 64 of 448 GB/s.
template <Scalar T>
constexpr double usable_share(const basic_interconnect<T>& l, int group) {
  const double peers = group > 2 ? group - 1.0 : 1.0;
  double links = 0.0, used = 0.0;
  switch (l.topology) {
    case link_topology::switched: return 1.0;
    case link_topology::mesh: links = l.ranks - 1.0, used = peers; break;
    case link_topology::torus_2d: links = 4.0; break;
    case link_topology::torus_3d: links = 6.0; break;
  }
  if (l.topology != link_topology::mesh) {
    for (double reach = 2.0; reach <= peers + 1.0; reach *= 2.0) used += 1.0;
  }
  return used < links ? used / links : 1.0;
}
/// Bandwidth of one accelerator, one way, in a group of the fabric's accelerators.
template <Scalar T>
constexpr bandwidth<T> usable_bandwidth(const basic_interconnect<T>& l, int group) {
  const double share = usable_share(l, group);
  if (share == 1.0) return l.bandwidth.quantity();
  return share * l.bandwidth.quantity();
}

}  // namespace perfmodel::inline v0_3
