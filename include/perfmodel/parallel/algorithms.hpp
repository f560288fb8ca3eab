// Collective operations and their algorithms: number of steps, and bytes that each rank sends.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/units/convention.hpp>

namespace perfmodel::inline v0_3 {

enum class collective_op {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  point_to_point
};

/// `best` is the quickest algorithm that the operation, the implementation and the fabric have.
enum class collective_algorithm { ring, tree, one_shot, two_shot, in_network, best };

/// Library of the kernels. `any` leaves every algorithm open.
enum class collective_implementation { any, nccl, one_shot, two_shot, custom };

/// Replay from a captured graph, or launch on a stream. Only a cost policy tells them apart.
enum class launch_mode { graph, stream };

/// Name of a collective operation.
constexpr const char* name_of(collective_op c) {
  constexpr const char* names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "broadcast",  "point_to_point"};
  return detail::entry_of(names, c, "collective_op");
}
/// Name of a collective algorithm.
constexpr const char* name_of(collective_algorithm a) {
  constexpr const char* names[] = {"ring", "tree", "one_shot", "two_shot", "in_network", "best"};
  return detail::entry_of(names, a, "collective_algorithm");
}
/// Name of an implementation of collectives.
constexpr const char* name_of(collective_implementation i) {
  constexpr const char* names[] = {"any", "nccl", "one_shot", "two_shot", "custom"};
  return detail::entry_of(names, i, "collective_implementation");
}
/// Name of a launch mode.
constexpr const char* name_of(launch_mode l) {
  constexpr const char* names[] = {"graph", "stream"};
  return detail::entry_of(names, l, "launch_mode");
}

/// One collective. `message` is the whole buffer as nccl-tests counts it: what every rank holds
/// before a reduction or an all-to-all and after an all-gather.
template <Scalar T = double>
struct basic_collective {
  collective_op operation = collective_op::all_reduce;
  int ranks = 0;
  message_bytes<T> message{};
  collective_algorithm algorithm = collective_algorithm::best;
  collective_implementation implementation = collective_implementation::any;
  launch_mode launch = launch_mode::graph;
  /// number format of the elements; switches add no integers
  number_format format = number_format::bf16;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("operation", s.operation...);
    f(field::ranks("ranks"), s.ranks...);
    f(field::not_negative("message"), s.message...);
    f("algorithm", s.algorithm...);
    f("implementation", s.implementation...);
    f("launch", s.launch...);
    f("format", s.format...);
  }
};
using collective = basic_collective<>;

namespace detail {
/// A message of 0, or of at least 1e-12 B: below that, message / time underflows.
template <Scalar T>
constexpr const bytes<T>& message_size(const bytes<T>& message) {
  constexpr double least = 1e-12;
  not_negative("message", message);
  for (const double x : {lower(message.value()), upper(message.value())}) {
    if (x > 0.0 && x < least) out_of_range("message", x, "0, or from 1e-12 B on");
  }
  return message;
}
/// Number of ranks as a double, 1 to 1e6.
constexpr double rank_count(const char* field, int ranks) {
  return inside(ranks_range, field, static_cast<double>(ranks));
}
constexpr double log2_ceil(int ranks) {
  double steps = 0.0;
  for (long long reach = 1; reach < ranks; reach *= 2) steps += 1.0;
  return steps;
}
/// Blocks over N that one rank sends in Bruck's all-to-all: bits set in 1 .. N-1. 4: 1; 6: 7/6.
constexpr double bruck_share(int ranks) {
  double blocks = 0.0;
  for (int reach = 1; reach < ranks; reach *= 2) {
    const int whole = ranks / (2 * reach) * reach, rest = ranks % (2 * reach) - reach;
    blocks += whole + (rest > 0 ? rest : 0);
  }
  return blocks / ranks;
}
}  // namespace detail

/// Bus factor: busbw = algbw x bus_factor. 2(N-1)/N for all-reduce, (N-1)/N for all-gather,
/// reduce-scatter and all-to-all, 1 for broadcast and point-to-point; 0 for one rank.
/// It is also the share of the message that one rank sends when the ranks do all the work.
/// Source: nccl-tests, doc/PERFORMANCE.md, "Bus bandwidth". Test: all-reduce over 8 ranks is 1.75.
constexpr double bus_factor(collective_op operation, int ranks) {
  const double n = detail::rank_count("ranks", ranks);
  if (ranks == 1) return 0.0;
  switch (operation) {
    case collective_op::all_reduce: return 2.0 * (n - 1.0) / n;
    case collective_op::broadcast:
    case collective_op::point_to_point: return 1.0;
    default: return (n - 1.0) / n;
  }
}
/// Test: 200 GB/s algbw of an all-reduce over 8 ranks is 350 GB/s busbw, and back.
template <Scalar T>
constexpr bus_bandwidth<T> to_bus_bandwidth(collective_op operation, int ranks,
                                            const algorithm_bandwidth<T>& b) {
  return bus_bandwidth<T>(b.quantity() * bus_factor(operation, ranks));
}
/// Errors: one rank, which has no bus bandwidth.
template <Scalar T>
constexpr algorithm_bandwidth<T> to_algorithm_bandwidth(collective_op operation, int ranks,
                                                        const bus_bandwidth<T>& b) {
  detail::within("ranks", static_cast<double>(ranks), 2.0, 1e6, "2 to 1000000");
  return algorithm_bandwidth<T>(b.quantity() / bus_factor(operation, ranks));
}

/// Cost of an algorithm for one rank: `steps` exchanges in sequence, and `share` of the message on
/// the busier direction of its link.
struct schedule_cost {
  double steps = 0.0;
  double share = 0.0;
};

/// Whether the operation has the algorithm. A point-to-point transfer is one_shot.
constexpr bool has_algorithm(collective_op operation, collective_algorithm a) {
  switch (operation) {
    case collective_op::all_reduce:
    case collective_op::broadcast: return a != collective_algorithm::best;
    case collective_op::all_gather:
    case collective_op::reduce_scatter:
      return a != collective_algorithm::best && a != collective_algorithm::two_shot;
    case collective_op::all_to_all:
      return a == collective_algorithm::ring || a == collective_algorithm::tree ||
             a == collective_algorithm::one_shot;
    case collective_op::point_to_point: return a == collective_algorithm::one_shot;
  }
  return false;
}

/// Whether an implementation uses the algorithm for the operation.
/// Source: NCCL's NCCL_ALGO (ring, tree, NVLS, and its logarithmic PAT counted as tree); grouped
/// send and receive for all-to-all.
constexpr bool implements(collective_implementation i, collective_op operation,
                          collective_algorithm a) {
  if (!has_algorithm(operation, a)) return false;
  switch (i) {
    case collective_implementation::any: return true;
    case collective_implementation::one_shot: return a == collective_algorithm::one_shot;
    case collective_implementation::two_shot: return a == collective_algorithm::two_shot;
    case collective_implementation::custom:
      return a == collective_algorithm::one_shot || a == collective_algorithm::two_shot;
    case collective_implementation::nccl: break;
  }
  switch (operation) {
    case collective_op::all_to_all:
    case collective_op::point_to_point: return a == collective_algorithm::one_shot;
    case collective_op::broadcast: return a == collective_algorithm::ring;
    default:
      return a == collective_algorithm::ring || a == collective_algorithm::tree ||
             a == collective_algorithm::in_network;
  }
}

/// Steps, and share of the message that a rank sends, over N ranks; one rank does nothing.
///
///     all-reduce      ring 2(N-1) | 2(N-1)/N      tree 2 ceil(log2 N) | 2 (2 ranks: 1)
///                     one-shot 1 | N-1            two-shot 2 | 2(N-1)/N  in-network 2 | 1
///     all-gather and  ring N-1 | (N-1)/N          tree ceil(log2 N) | (N-1)/N
///     reduce-scatter  one-shot 1 | (N-1)/N        in-network 2 | (N-1)/N
///     all-to-all      ring N-1 | (N-1)/N          tree ceil(log2 N) | blocks that Bruck sends
///                     one-shot 1 | (N-1)/N
///     broadcast       ring N-1 | 1                tree ceil(log2 N) | 1      one-shot 1 | N-1
///                     two-shot 2 | 2(N-1)/N       in-network 2 | 1
///     point-to-point  one-shot 1 | 1
///
/// In-network: each rank sends its message once and the switches add. NVLink SHARP sends 1 + 1/N:
/// each rank also sends the part it reads back. Step j of Bruck sends the blocks of which index bit
/// j is set.
/// Sources: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
/// MPICH", IJHPCA 19(1), 2005 (ring, recursive doubling, Bruck, scatter + all-gather); Sanders,
/// Speck and Traeff, "Two-tree algorithms", 2009 (tree: pipelined, both trees at once).
/// Leaves out: the extra step of recursive doubling where N is no power of two (ceil(log2 N) steps
/// are counted), and the time to fill a pipeline.
/// Errors: `inconsistent` where the operation has no such algorithm.
/// Test: reduce-scatter + all-gather have the ring all-reduce's share and steps.
constexpr schedule_cost steps_and_share(collective_op operation, collective_algorithm a,
                                        int ranks) {
  const double n = detail::rank_count("ranks", ranks);
  if (!has_algorithm(operation, a)) {
    detail::fail(error_code::inconsistent, "algorithm: this operation has no such algorithm");
  }
  if (ranks == 1) return {};
  const double part = bus_factor(operation, ranks);
  const double depth = detail::log2_ceil(ranks);
  const bool twice = operation == collective_op::all_reduce;
  switch (a) {
    case collective_algorithm::ring: return {twice ? 2.0 * (n - 1.0) : n - 1.0, part};
    case collective_algorithm::tree:
      if (operation == collective_op::all_to_all) return {depth, detail::bruck_share(ranks)};
      if (!twice) return {depth, part};
      return {2.0 * depth, ranks == 2 ? 1.0 : 2.0};
    case collective_algorithm::one_shot:
      return {1.0, twice || operation == collective_op::broadcast ? n - 1.0 : part};
    case collective_algorithm::two_shot: return {2.0, 2.0 * (n - 1.0) / n};
    default: return {2.0, twice ? 1.0 : part};
  }
}

}  // namespace perfmodel::inline v0_3
