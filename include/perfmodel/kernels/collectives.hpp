// Time of collectives in NCCL and serving engines: protocols, hops, barriers, launches by the CPU.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/interconnect.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/parallel/collectives.hpp>

// Calibration of a fabric: eight parameters for each accelerator model on it.

namespace perfmodel::inline v0_3 {

/// Parameters of one accelerator model on one fabric. The first five are for the kernels of a
/// communication library (NCCL), the last three for all-reduce kernels of serving engines.
template <Scalar T = double>
struct basic_collective_parameters {
  duration<T> launch{};       ///< launch and end of a communication kernel
  duration<T> hop{};          ///< latency from one rank of a ring to the next
  duration<T> simple_wait{};  ///< additional latency before data flows in the Simple protocol
  T link_share = T(1.0);  ///< share of the one-way link bandwidth that the Simple protocol reaches
  /// message bytes per second / link bandwidth with in-switch reduction (NVLS); absent: not
  /// measured
  std::optional<T> in_network_share{};
  /// least time of an engine's all-reduce kernel in a captured graph, with its two barriers
  duration<T> engine_all_reduce_floor{};
  /// share of the link bandwidth that the loads and stores of an engine's kernel reach
  T engine_all_reduce_share = T(1.0);
  duration<T> host_launch{};  ///< CPU time of an all-reduce outside captured graphs

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("launch"), s.launch...);
    f(field::not_negative("hop"), s.hop...);
    f(field::not_negative("simple_wait"), s.simple_wait...);
    f(field::share("link_share"), s.link_share...);
    f(field::share("in_network_share"), s.in_network_share...);
    f(field::not_negative("engine_all_reduce_floor"), s.engine_all_reduce_floor...);
    f(field::share("engine_all_reduce_share"), s.engine_all_reduce_share...);
    f(field::not_negative("host_launch"), s.host_launch...);
  }
};
using collective_parameters = basic_collective_parameters<>;

/// Relative costs of NCCL's three protocols. They are properties of the library, equal for every
/// accelerator model on one kind of fabric.
///
///     LL:     every 4 bytes carry a 4-byte flag, few threads; no synchronisation
///     LL128:  every 120 of 128 bytes are data; needs links that keep 128 bytes together
///     Simple: data in large chunks, separate flags
///
/// Source: NCCL, src/device/prims_{ll,ll128,simple}.h and enqueue.cc.
template <Scalar T = double>
struct basic_collective_protocols {
  T ll_share = T(1.0);  ///< rate of LL / rate of Simple
  /// rate of LL128 / rate of Simple; absent: the fabric cannot run LL128
  std::optional<T> ll128_share{};
  /// relative growth of a launch per log2 of the ranks, in LL128 and Simple
  T launch_growth_per_log2_rank{};
  T simple_hop = T(1.0);       ///< latency of a hop in Simple / `hop`
  T copy_rate = T(1.0);        ///< copy rate of a rank's own part / rate of Simple, out of place
  T in_network_wait = T(1.0);  ///< additional latency of in-switch reduction / simple_wait
  T cross_socket_factor = T(1.0);  ///< factor on hop and byte time if ranks span two CPU sockets
  std::optional<int> ranks_per_socket{};  ///< ranks on one CPU socket; absent: all ranks

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::share("ll_share"), s.ll_share...);
    f(field::share("ll128_share"), s.ll128_share...);
    f(field::not_negative("launch_growth_per_log2_rank"), s.launch_growth_per_log2_rank...);
    f(field::not_negative("simple_hop"), s.simple_hop...);
    f(field::positive("copy_rate"), s.copy_rate...);
    f(field::not_negative("in_network_wait"), s.in_network_wait...);
    f(field::count("cross_socket_factor"), s.cross_socket_factor...);
    f(field::ranks("ranks_per_socket"), s.ranks_per_socket...);
  }
};
using collective_protocols = basic_collective_protocols<>;

/// The eight fitted parameters, and the protocols of the NCCL version that was measured.
template <Scalar T = double>
struct basic_collective_profile : fitted_profile<basic_collective_parameters<T>> {
  basic_collective_protocols<T> protocols{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    fitted_profile<basic_collective_parameters<T>>::fields(f, s...);
    f("protocols", s.protocols...);
  }
};
using collective_profile = basic_collective_profile<>;

/// Costs of a serving engine's own all-reduce kernels, relative to `engine_all_reduce_floor`.
/// Sources: `largest` is max_size in custom_all_reduce.py of vLLM and SGLang. `in_flight` is from
/// their launches of 36 blocks of 512 threads, each thread loading 16 bytes
/// (custom_all_reduce.cuh). The other values are fitted.
template <Scalar T = double>
struct basic_engine_all_reduce_kernels {
  label name{"barriers"};
  /// least time of this kernel / engine_all_reduce_floor; below 1 if flags travel with the data
  T floor_share = T(1.0);
  T rank_cost = T(0.0241);     ///< relative growth of the floor for each rank beyond two
  T second_barrier = T(1.49);  ///< additional floor of the two-shot kernel / one-shot floor
  bytes<T> largest = lift<T>(8.0 * MiB);  ///< largest message; longer ones go to NCCL
  /// bytes that a kernel has outstanding in loads from one peer
  bytes<T> in_flight = lift<T>(36.0 * 512.0 * 16.0 * byte);
  T floor_latencies = T(3.65);  ///< floor / latency of one load from a peer

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::positive("floor_share"), s.floor_share...);
    f(field::not_negative("rank_cost"), s.rank_cost...);
    f(field::not_negative("second_barrier"), s.second_barrier...);
    f(field::not_negative("largest"), s.largest...);
    f(field::positive("in_flight"), s.in_flight...);
    f(field::positive("floor_latencies"), s.floor_latencies...);
  }
};
using engine_all_reduce_kernels = basic_engine_all_reduce_kernels<>;

/// Cost policy for collective_time, from a fitted profile. The price is that of the fastest method
/// that can run: NCCL's three protocols, sums in the switches, or an engine's own all-reduce
/// kernels.
/// `custom` and `any` follow an engine's choice: its own all-reduce kernels up to `largest` bytes,
/// and NCCL for the rest. Its kernels need an even number of ranks with peer access: at most 8, or
/// 2 over PCIe. They are limited by the link, or by their outstanding loads (Little's law).
/// Sources: protocols: NCCL, src/device. The alpha-beta model with hops: Thakur, Rabenseifner and
/// Gropp, 2005. Sizes, ranks, PCIe, and the copy of a message outside a captured graph: vLLM,
/// custom_all_reduce.py. Constants are fitted, docs/laws/calibrated_collectives.md.
/// Leaves out: NCCL's choice if it is not the fastest, other traffic on the link, ranks that arrive
/// at different times, tuning by environment variables.
/// Errors: those of collective_time. The profile itself is not checked here; calibrated_for makes
/// valid ones.
/// Tests: never below wire bytes / link bandwidth; monotone in bytes; within the stated error of
/// published latencies.
template <Scalar T = double>
struct basic_calibrated_collectives {
  basic_collective_profile<T> profile{};
  basic_engine_all_reduce_kernels<T> kernels{};
  /// bandwidth of the copy of a message in local memory, outside captured graphs
  std::optional<bandwidth<T>> local_copy{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("profile", s.profile.value...);
    f("protocols", s.profile.protocols...);
    f("kernels", s.kernels...);
    f(field::positive("local_copy"), s.local_copy...);
  }

  /// True if collective_implementation and fabric allow the schedule: an engine or NCCL may choose
  /// its algorithm.
  constexpr bool selects(const basic_interconnect<T>& l, const basic_schedule<T>& s) const {
    if (s.implementation == collective_implementation::one_shot ||
        s.implementation == collective_implementation::two_shot) {
      return implements(s.implementation, s.operation, s.algorithm);
    }
    if (is_engine_kernel(s))
      return s.implementation != collective_implementation::nccl && has_peer_access(l, s.ranks);
    switch (s.operation) {
      case collective_op::all_to_all:
      case collective_op::point_to_point: return s.algorithm == collective_algorithm::one_shot;
      case collective_op::all_reduce:
        if (s.algorithm == collective_algorithm::in_network) return switches_can_reduce(l, s);
        [[fallthrough]];
      default: return s.algorithm == collective_algorithm::ring;
    }
  }

  /// Latency, transfer and total time of a schedule. Outside captured graphs an engine adds the
  /// copy of the message, and the time is at least the CPU time of the launch.
  constexpr basic_collective_price<T> price(const basic_interconnect<T>& l,
                                            const basic_schedule<T>& s) const {
    basic_collective_price<T> p = least_price(l, s);
    if (!is_outside_graph(s)) return p;
    duration<T> copy{};
    if (local_copy) copy = named("copy", s.message / detail::positive("local_copy", *local_copy));
    const duration<T> host = profile.value.host_launch;
    p.latency = max(p.latency + copy, host - p.transfer);
    p.time = max(p.time + copy, host);
    return p;
  }

  /// Visits lines (latency + bytes x time per byte) of which the least is the price of a message of
  /// any size. False if the schedule runs outside captured graphs, which has no such lines.
  /// Test: tests/property/memoised_steps.cpp compares the lines with `price`.
  template <class Add>
  constexpr bool visit_cost_pieces(const basic_interconnect<T>& l, const basic_schedule<T>& s,
                                   const Add& add) const {
    if (is_outside_graph(s)) return false;
    visit_methods(l, s, [&](const char*, const duration<T>& wait, const duration<T>& bytes_take) {
      basic_cost_piece<T> piece{wait, bytes_take / s.message};
      if (has_nccl_fallback(s)) piece.largest = kernels.largest;
      add(piece);
    });
    return true;
  }

 private:
  /// True if an engine's own all-reduce kernel runs the schedule.
  static constexpr bool is_engine_kernel(const basic_schedule<T>& s) {
    return s.operation == collective_op::all_reduce &&
           (s.algorithm == collective_algorithm::one_shot ||
            s.algorithm == collective_algorithm::two_shot);
  }
  /// True if an engine launches the schedule outside a captured graph.
  static constexpr bool is_outside_graph(const basic_schedule<T>& s) {
    return s.launch != launch_mode::graph && s.implementation != collective_implementation::nccl;
  }
  /// True if messages longer than `largest` go to NCCL.
  static constexpr bool has_nccl_fallback(const basic_schedule<T>& s) {
    return is_engine_kernel(s) && s.is_one_of_several &&
           (s.implementation == collective_implementation::custom ||
            s.implementation == collective_implementation::any);
  }
  static constexpr bool has_peer_access(const basic_interconnect<T>& l, int ranks) {
    if (l.kind == link_kind::infiniband || l.kind == link_kind::ethernet) return false;
    return ranks % 2 == 0 && ranks <= (l.kind == link_kind::pcie ? 2 : 8);
  }
  constexpr bool switches_can_reduce(const basic_interconnect<T>& l,
                                     const basic_schedule<T>& s) const {
    const bool integers = s.format == number_format::int8 || s.format == number_format::int4;
    return l.in_network_reduction && s.ranks > 4 && !integers && profile.value.in_network_share;
  }
  constexpr T launch_growth(int ranks) const {
    return T(1.0) + profile.protocols.launch_growth_per_log2_rank * detail::log2_ceil(ranks);
  }
  /// Calls use(name, latency, transfer) for each method that may run the schedule: an engine's
  /// kernel, in-switch reduction, or the NCCL protocols of the fabric. `name` is the protocol's,
  /// else null.
  template <class Use>
  constexpr void visit_methods(const basic_interconnect<T>& l, const basic_schedule<T>& s,
                               const Use& use) const {
    if (is_engine_kernel(s)) {
      const bool two_shot = s.algorithm == collective_algorithm::two_shot;
      const duration<T> floor = profile.value.engine_all_reduce_floor * kernels.floor_share *
                                (T(1.0) + kernels.rank_cost * (s.ranks - 2.0));
      use(nullptr, two_shot ? duration<T>((T(1.0) + kernels.second_barrier) * floor) : floor,
          load_time(l, s));
    } else if (s.algorithm == collective_algorithm::in_network) {
      const T& rate = detail::required("in_network_share", profile.value.in_network_share);
      use(nullptr,
          launch_growth(s.ranks) * profile.value.launch +
              profile.protocols.in_network_wait * profile.value.simple_wait,
          s.wire / (rate * l.bandwidth.quantity()));
    } else {
      visit_protocols(l, s, use);
    }
  }
  template <class Use>
  constexpr void visit_protocols(const basic_interconnect<T>& l, const basic_schedule<T>& s,
                                 const Use& use) const {
    const basic_collective_parameters<T>& v = profile.value;
    const basic_collective_protocols<T>& c = profile.protocols;
    const T socket_factor =
        c.ranks_per_socket && s.ranks > *c.ranks_per_socket ? c.cross_socket_factor : T(1.0);
    const duration<T> wire = socket_factor * s.wire / (v.link_share * link_bandwidth(l, s));
    const duration<T> launch = v.launch;
    const double n = s.ranks;
    const duration<T> hops =
        (s.operation == collective_op::all_to_all && s.algorithm == collective_algorithm::one_shot
             ? n - 1.0
             : s.steps) *
        (socket_factor * v.hop);
    const duration<T> late_launch = launch_growth(s.ranks) * launch;
    const bool copies_own_part =
        s.operation != collective_op::broadcast && s.operation != collective_op::point_to_point;
    const duration<T> simple_wait = v.simple_wait;
    use("LL protocol", launch + hops, wire / c.ll_share);
    if (c.ll128_share)
      use("LL128 protocol", late_launch + hops,
          wire / detail::positive("ll128_share", *c.ll128_share));
    duration<T> simple_transfer = wire;
    if (copies_own_part) {
      simple_transfer += s.message / (n * c.copy_rate * v.link_share * l.bandwidth.quantity());
    }
    use("Simple protocol", late_launch + simple_wait + c.simple_hop * hops, simple_transfer);
  }

  /// Price by the fastest method. Above an engine's largest message the price of its kernel rises
  /// by 1 s per byte, so that NCCL is cheaper with every scalar type.
  constexpr basic_collective_price<T> least_price(const basic_interconnect<T>& l,
                                                  const basic_schedule<T>& s) const {
    std::array<T, 3> time{}, transfer{}, latency{};
    std::size_t count = 0;
    visit_methods(l, s, [&](const char* name, duration<T> wait, const duration<T>& bytes_take) {
      if (has_nccl_fallback(s)) {
        wait += duration<T>::from_value(scalar_max(T(0.0), (s.message - kernels.largest).value()));
      }
      const duration<T> sum = wait + bytes_take;
      latency[count] = wait.value();
      transfer[count] = bytes_take.value();
      time[count++] = (name == nullptr ? sum : named(name, sum)).value();
    });
    const auto least = [&](const std::array<T, 3>& x) {
      return duration<T>::from_value(detail::value_of_least(time, x, count));
    };
    T least_time = time[0];
    for (std::size_t i = 1; i < count; ++i) least_time = scalar_min(least_time, time[i]);
    return {duration<T>::from_value(least_time), least(transfer), least(latency)};
  }

  /// Bandwidth of an engine's kernel from one peer by Little's law: outstanding bytes / latency of
  /// a load.
  constexpr bandwidth<T> load_bandwidth() const {
    const duration<T> floor = max(profile.value.engine_all_reduce_floor,
                                  duration<T>::from_value(T(detail::smallest_quantity)));
    return kernels.floor_latencies * (kernels.in_flight / floor);
  }
  /// Time of the loads of an engine's kernel. A one-shot kernel loads from all peers at the same
  /// time. A two-shot kernel does so for its part of the message, and then loads the other parts
  /// one after the other.
  constexpr duration<T> load_time(const basic_interconnect<T>& l,
                                  const basic_schedule<T>& s) const {
    const bandwidth<T> link = profile.value.engine_all_reduce_share * link_bandwidth(l, s);
    const bandwidth<T> peer = load_bandwidth();
    const duration<T> one_shot_time = max(s.wire / link, s.wire / ((s.ranks - 1.0) * peer));
    if (s.algorithm != collective_algorithm::two_shot) return one_shot_time;
    return 0.5 * (one_shot_time + max(s.wire / link, s.wire / peer));
  }
};
using calibrated_collectives = basic_calibrated_collectives<>;

/// Cost policy of an accelerator with a profile. `local_copy` is half of the memory bandwidth,
/// since a copy reads and writes each byte.
/// Test: 512 MiB outside a captured graph takes longer than inside, by the time of its copy.
template <Scalar T>
constexpr basic_calibrated_collectives<T> calibrated_collectives_on(
    const basic_accelerator<T>& a, const basic_collective_profile<T>& profile,
    const basic_engine_all_reduce_kernels<T>& kernels = {}) {
  return {profile, kernels, 0.5 * a.dram.bandwidth.quantity()};
}

}  // namespace perfmodel::inline v0_3
