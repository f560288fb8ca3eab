// Collectives over two fabrics: inside a node, and between nodes.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/parallel/collectives.hpp>

namespace perfmodel::inline v0_3 {

/// Nodes of `ranks_inside` accelerators on one fabric. `between` is the one-way network link of one
/// accelerator: its own adapter, or its share of the node's.
template <Scalar T = double>
struct basic_hierarchy {
  basic_interconnect<T> inside{};
  basic_interconnect<T> between{};
  int ranks_inside = 0;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("inside", s.inside...);
    f("between", s.between...);
    f(field::ranks("ranks_inside"), s.ranks_inside...);
  }
};
using hierarchy = basic_hierarchy<>;

/// Wire bytes are per rank on either fabric. Terms: inside, between.
template <Scalar T = double>
struct basic_hierarchical_estimate {
  duration<T> time{};
  wire_bytes<T> wire_inside{};
  wire_bytes<T> wire_between{};
  algorithm_bandwidth<T> algbw{};
  bus_bandwidth<T> busbw{};
  perfmodel::limiter limiter{};
  basic_terms<T> terms{};
  perfmodel::feasibility feasible{};
};
using hierarchical_estimate = basic_hierarchical_estimate<>;

namespace detail {

/// Phase of a collective over nodes: its fabric, and its share of the message.
struct hierarchy_phase {
  bool inside = true;
  collective_op operation = collective_op::all_reduce;
  double share = 1.0;
};

/// Phases of a collective over m nodes of n ranks.
constexpr std::array<hierarchy_phase, 2> phases_of(collective_op operation, int n, int m) {
  const hierarchy_phase none{false, operation, 0.0};
  switch (operation) {
    case collective_op::all_to_all: return {{{true, operation, 1.0 / m}, {false, operation}}};
    case collective_op::point_to_point: return {{{m == 1, operation}, none}};
    default: return {{{true, operation}, {false, operation, 1.0 / n}}};
  }
}

}  // namespace detail

/// Time of a collective over several nodes. S message bytes over N = n m ranks, n in each of m
/// nodes:
///
///     all-reduce       all-reduce inside (S), all-reduce between (S/n)
///     all-gather       all-gather inside (S), all-gather between (S/n)
///     reduce-scatter   reduce-scatter inside (S), reduce-scatter between (S/n)
///     broadcast        broadcast inside (S), broadcast between (S/n): every adapter sends a part
///     all-to-all       inside (S/m), between (S)
///     point-to-point   between
///
/// Pieces of the message are on both fabrics at once, so the time is that of the slower fabric.
/// The first piece still waits for both latencies l: T = max(T_in + l_out, T_out + l_in). The two
/// parts of an all-to-all are independent: T = max(T_in, T_out). A bound has no latency.
/// One node needs no network and is collective_time.
/// Sources: Cho et al., "BlueConnect", MLSys 2019 (shares); NVIDIA/nccl-tests #309, 16 H100 with
/// 470 GB/s busbw, which the sum of both phases forbids (pieces on both fabrics at once).
/// Leaves out: the time to fill the pipeline of pieces, other traffic.
/// Errors: as collective_time; ranks that do not fill nodes (impossible_layout). Infeasible: either
/// fabric is.
/// Tests: an all-reduce sends 2(n-1)/n S inside and 2(m-1)/m S/n between; never below either over
/// its link, nor above a ring over all ranks; published runs; one node is collective_time.
template <Scalar T, class Inside = full_link, class Between = full_link>
constexpr basic_hierarchical_estimate<T> hierarchical_time(const basic_hierarchy<T>& h,
                                                           const basic_collective<T>& c,
                                                           const Inside& inside_cost = {},
                                                           const Between& between_cost = {}) {
  detail::rank_count("ranks", c.ranks);
  detail::rank_count("ranks_inside", h.ranks_inside);
  detail::message_size(c.message.quantity());
  const int n = c.ranks < h.ranks_inside ? c.ranks : h.ranks_inside;
  if (c.ranks % n != 0) {
    detail::fail(error_code::impossible_layout, "ranks: not a multiple of ranks_inside");
  }
  const int m = c.ranks / n;

  basic_hierarchical_estimate<T> e;
  duration<T> in{}, out{}, in_latency{}, out_latency{};
  for (const detail::hierarchy_phase& phase : detail::phases_of(c.operation, n, m)) {
    basic_collective<T> part = c;
    part.operation = phase.operation;
    part.ranks = phase.inside ? n : m;
    part.message = message_bytes<T>(phase.share * c.message.quantity());
    if (part.ranks == 1 || phase.share == 0.0) continue;
    if (!phase.inside) {
      part.algorithm = collective_algorithm::best;
      part.implementation = collective_implementation::nccl;
    }
    const basic_collective_estimate<T> x = phase.inside
                                               ? collective_time(h.inside, part, inside_cost)
                                               : collective_time(h.between, part, between_cost);
    (phase.inside ? in : out) = x.time;
    (phase.inside ? in_latency : out_latency) = x.terms.time_of("latency");
    wire_bytes<T>& wire = phase.inside ? e.wire_inside : e.wire_between;
    wire = wire + x.wire;
    if (e.feasible && !x.feasible) e.feasible = x.feasible;
  }
  const bool independent = c.operation == collective_op::all_to_all;
  const duration<T> piped = independent
                                ? max(in, out)
                                : max(duration<T>(in + out_latency), duration<T>(out + in_latency));
  e.terms.add(limiter::link, "inside", in);
  e.terms.add(limiter::link, "between", out);
  e.limiter = e.terms.limiting();
  e.time = named(name_of(c.operation), piped);
  if (!(upper(e.time.value()) > 0.0)) return e;  // as collective_time: no rate where no time is
  const duration<T> shortest = duration<T>::from_value(T(1e-30));
  e.algbw = algorithm_bandwidth<T>(c.message.quantity() / max(e.time, shortest));
  e.busbw = to_bus_bandwidth(c.operation, c.ranks, e.algbw);
  return e;
}

}  // namespace perfmodel::inline v0_3
