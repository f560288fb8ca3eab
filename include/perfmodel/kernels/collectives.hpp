// What a collective takes in practice: protocols, hops, kernels that wait, a host that launches.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/interconnect.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/parallel/collectives.hpp>

// What measurements add to the data sheet of a fabric: eight numbers for one accelerator on it.

namespace perfmodel {

/// What one accelerator reaches on one fabric. The first five price a communication library's
/// kernels (NCCL), the last three those of serving engines.
template <Scalar T = double>
struct basic_collective_parameters {
  duration<T> launch{};       ///< of a communication kernel, its end included
  duration<T> hop{};          ///< from one rank to the next, in a ring
  duration<T> simple_wait{};  ///< more, before Simple streams
  T link_share = T(1.0);      ///< of the link's one-way bandwidth, in Simple
  std::optional<T>
      in_network_share{};  ///< message bytes per second over the link's, where switches add
  duration<T>
      engine_all_reduce_floor{};  ///< a captured all-reduce kernel with a barrier at either end
  T engine_all_reduce_share =
      T(1.0);                 ///< of the link's bandwidth, by loads and stores of such a kernel
  duration<T> host_launch{};  ///< what the engine's host takes for one that is not captured

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

/// What the three protocols of NCCL cost against each other. They belong to the library and are
/// the same on every accelerator of one kind of fabric.
///   LL:     every 4 bytes carry a 4-byte flag, few threads; no synchronisation
///   LL128:  every 120 of 128 bytes are data; needs links that keep 128 bytes together
///   Simple: data in large chunks, flags apart
/// Source of the three: NCCL, src/device/prims_{ll,ll128,simple}.h and enqueue.cc.
template <Scalar T = double>
struct basic_collective_protocols {
  T ll_share = T(1.0);              ///< of the Simple rate
  std::optional<T> ll128_share{};   ///< of the Simple rate, on fabrics that can
  T launch_growth_per_log2_rank{};  ///< of a launch, in LL128 and Simple
  T simple_hop = T(1.0);            ///< of a hop, in Simple
  T copy_rate = T(1.0);  ///< of the Simple rate: a rank's own part of the buffer, out of place
  T in_network_wait = T(1.0);  ///< of simple_wait, where switches add
  T cross_socket_factor =
      T(1.0);  ///< times as long for a hop and for a byte, where ranks sit below two hosts
  std::optional<int> ranks_per_socket{};  ///< ranks that one host holds, where it is not all

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

/// The eight numbers as fitted, and the protocols of the library they were fitted with.
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

/// How a serving engine's own all-reduce kernels stand to `engine_all_reduce_floor`. `largest` as in
/// vLLM's and SGLang's custom_all_reduce.py (max_size); `in_flight` as their kernels launch, 36 blocks of
/// 512 threads that load 16 bytes each (custom_all_reduce.cuh); the others are fitted.
template <Scalar T = double>
struct basic_engine_all_reduce_kernels {
  label name{"barriers"};
  T floor_share = T(1.0);   ///< of engine_all_reduce_floor: less where flags travel with the data
  T rank_cost = T(0.0241);  ///< of the floor, more for each rank beyond two
  T second_barrier = T(1.49);             ///< of the floor, more for the two-shot kernel
  bytes<T> largest = lift<T>(8.0 * MiB);  ///< longer messages go to NCCL
  bytes<T> in_flight = lift<T>(36.0 * 512.0 * 16.0 * byte);  ///< of loads from one peer
  T floor_latencies = T(3.65);  ///< latencies of such a load that a floor is worth

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

/// A cost policy for collective_time, from a fitted profile: the quickest of NCCL's three protocols,
/// of switches that add, and of an engine's own all-reduce kernels, where each can run.
/// `custom` and `any` are what an engine does: for an all-reduce its own kernels up to `largest`
/// (an even number of ranks, at most 8, with peer access: 2 over PCIe), and NCCL for the rest.
/// An engine's kernel is bound by the link, or by what its threads have under way (Little's law).
/// Sources: three protocols, NCCL src/device; the alpha-beta model with hops, Thakur et al. 2005;
/// vLLM custom_all_reduce.py (sizes, ranks, PCIe, the copy of a message that is not captured);
/// constants fitted, docs/laws/calibrated_collectives.md.
/// Leaves out: NCCL's choice where it is not the quickest, other traffic on the link, ranks that
/// arrive at different times, tuning by environment variables.
/// Errors: as collective_time. The profile is valid already: see calibrated_for.
/// Tests: never below wire bytes / link; monotone in bytes; within the published latencies' error.
template <Scalar T = double>
struct basic_calibrated_collectives {
  basic_collective_profile<T> profile{};
  basic_engine_all_reduce_kernels<T> kernels{};
  std::optional<bandwidth<T>>
      local_copy{};  ///< of a message on one accelerator, where it is copied

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("profile", s.profile.value...);
    f("protocols", s.profile.protocols...);
    f("kernels", s.kernels...);
    f(field::positive("local_copy"), s.local_copy...);
  }

  /// Whether `best` may choose the algorithm.
  constexpr bool selects(const basic_interconnect<T>& l, const basic_schedule<T>& s) const {
    if (s.implementation == collective_implementation::one_shot ||
        s.implementation == collective_implementation::two_shot) {
      return implements(s.implementation, s.operation, s.algorithm);
    }
    if (is_own(s))
      return s.implementation != collective_implementation::nccl && reaches_peers(l, s.ranks);
    switch (s.operation) {
      case collective_op::all_to_all:
      case collective_op::point_to_point: return s.algorithm == collective_algorithm::one_shot;
      case collective_op::all_reduce:
        if (s.algorithm == collective_algorithm::in_network) return switches_add(l, s);
        [[fallthrough]];
      default: return s.algorithm == collective_algorithm::ring;
    }
  }

  constexpr basic_collective_price<T> price(const basic_interconnect<T>& l,
                                            const basic_schedule<T>& s) const {
    basic_collective_price<T> p = is_own(s) ? kernel(l, s)
                                  : s.algorithm == collective_algorithm::in_network
                                      ? switched(l, s)
                                      : protocol(l, s);
    if (s.launch == launch_mode::graph || s.implementation == collective_implementation::nccl)
      return p;
    duration<T> copy{};
    if (local_copy) copy = named("copy", s.message / detail::positive("local_copy", *local_copy));
    const duration<T> host = profile.value.host_launch;
    p.latency = max(p.latency + copy, host - p.transfer);
    p.time = max(p.time + copy, host);
    return p;
  }

  /// The lines whose least is the price of any message, where no host launches it.
  /// Test: tests/property/kept_passes.cpp, against `price`.
  template <class Add>
  constexpr bool lines(const basic_interconnect<T>& l, const basic_schedule<T>& s,
                       const Add& add) const {
    if (s.launch != launch_mode::graph && s.implementation != collective_implementation::nccl)
      return false;
    if (is_own(s)) {
      const basic_collective_price<T> p = kernel_alone(l, s);
      basic_price_line<T> line{p.latency, p.transfer / s.message};
      if (falls_back(s)) line.largest = kernels.largest;
      add(line);
    } else if (s.algorithm == collective_algorithm::in_network) {
      const basic_collective_price<T> p = switched(l, s);
      add(basic_price_line<T>{p.latency, p.transfer / s.message});
    } else {
      each_protocol(l, s, [&](const char*, const duration<T>& wait, const duration<T>& bytes_take) {
        add(basic_price_line<T>{wait, bytes_take / s.message});
      });
    }
    return true;
  }

 private:
  /// Of an engine's own kernels.
  static constexpr bool is_own(const basic_schedule<T>& s) {
    return s.operation == collective_op::all_reduce &&
           (s.algorithm == collective_algorithm::one_shot ||
            s.algorithm == collective_algorithm::two_shot);
  }
  /// Whether longer messages than `largest` go to NCCL.
  static constexpr bool falls_back(const basic_schedule<T>& s) {
    return s.among_others && (s.implementation == collective_implementation::custom ||
                              s.implementation == collective_implementation::any);
  }
  static constexpr bool reaches_peers(const basic_interconnect<T>& l, int ranks) {
    if (l.kind == link_kind::infiniband || l.kind == link_kind::ethernet) return false;
    return ranks % 2 == 0 && ranks <= (l.kind == link_kind::pcie ? 2 : 8);
  }
  constexpr bool switches_add(const basic_interconnect<T>& l, const basic_schedule<T>& s) const {
    const bool integers = s.format == number_format::int8 || s.format == number_format::int4;
    return l.in_network_reduction && s.ranks >= 8 && !integers && profile.value.in_network_share;
  }
  constexpr T doublings(int ranks) const {
    return T(1.0) + profile.protocols.launch_growth_per_log2_rank * detail::log2_ceil(ranks);
  }
  /// use(name, wait, time of the bytes) for each protocol that the fabric can run.
  template <class Use>
  constexpr void each_protocol(const basic_interconnect<T>& l, const basic_schedule<T>& s,
                               const Use& use) const {
    const basic_collective_parameters<T>& v = profile.value;
    const basic_collective_protocols<T>& c = profile.protocols;
    const T longer =
        c.ranks_per_socket && s.ranks > *c.ranks_per_socket ? c.cross_socket_factor : T(1.0);
    const duration<T> wire = longer * s.wire / (v.link_share * l.bandwidth.quantity());
    const duration<T> launch = v.launch;
    const double n = s.ranks;
    const duration<T> hops =
        (s.operation == collective_op::all_to_all && s.algorithm == collective_algorithm::one_shot
             ? n - 1.0
             : s.steps) *
        (longer * v.hop);
    const duration<T> ready = doublings(s.ranks) * launch;
    const bool keeps_a_part =
        s.operation != collective_op::broadcast && s.operation != collective_op::point_to_point;
    const duration<T> simple_wait = v.simple_wait;
    use("LL protocol", launch + hops, wire / c.ll_share);
    if (c.ll128_share)
      use("LL128 protocol", ready + hops, wire / detail::positive("ll128_share", *c.ll128_share));
    duration<T> streams = wire;
    if (keeps_a_part) {
      streams += s.message / (n * c.copy_rate * v.link_share * l.bandwidth.quantity());
    }
    use("Simple protocol", ready + simple_wait + c.simple_hop * hops, streams);
  }

  constexpr basic_collective_price<T> protocol(const basic_interconnect<T>& l,
                                               const basic_schedule<T>& s) const {
    std::array<T, 3> time{}, transfer{}, latency{};
    std::size_t count = 0;
    each_protocol(l, s,
                  [&](const char* name, const duration<T>& wait, const duration<T>& bytes_take) {
                    latency[count] = wait.value();
                    transfer[count] = bytes_take.value();
                    time[count] = named(name, duration<T>(wait + bytes_take)).value();
                    ++count;
                  });
    basic_collective_price<T> p;
    p.transfer = duration<T>::from_value(detail::value_of_least(time, transfer, count));
    p.latency = duration<T>::from_value(detail::value_of_least(time, latency, count));
    T least = time[0];
    for (std::size_t i = 1; i < count; ++i) least = scalar_min(least, time[i]);
    p.time = duration<T>::from_value(least);
    return p;
  }

  constexpr basic_collective_price<T> switched(const basic_interconnect<T>& l,
                                               const basic_schedule<T>& s) const {
    const T& rate = detail::required("in_network_share", profile.value.in_network_share);
    basic_collective_price<T> p;
    p.transfer = s.wire / (rate * l.bandwidth.quantity());
    p.latency = doublings(s.ranks) * profile.value.launch +
                profile.protocols.in_network_wait * profile.value.simple_wait;
    p.time = p.latency + p.transfer;
    return p;
  }

  /// Little's law: what a kernel's loads from one peer bring in, of a chip whose loads take so long.
  constexpr bandwidth<T> rate_of_loads() const {
    const duration<T> floor = max(profile.value.engine_all_reduce_floor,
                                  duration<T>::from_value(T(detail::smallest_quantity)));
    return kernels.floor_latencies * (kernels.in_flight / floor);
  }
  /// A one-shot kernel loads from all peers at once; a two-shot sums its part so, and then fetches the
  /// parts of the others one after the other.
  constexpr duration<T> loads_take(const basic_interconnect<T>& l,
                                   const basic_schedule<T>& s) const {
    const bandwidth<T> link = profile.value.engine_all_reduce_share * l.bandwidth.quantity();
    const bandwidth<T> one = rate_of_loads();
    const duration<T> at_once = max(s.wire / link, s.wire / ((s.ranks - 1.0) * one));
    if (s.algorithm != collective_algorithm::two_shot) return at_once;
    return 0.5 * (at_once + max(s.wire / link, s.wire / one));
  }
  /// Without what it falls back to.
  constexpr basic_collective_price<T> kernel_alone(const basic_interconnect<T>& l,
                                                   const basic_schedule<T>& s) const {
    const double others = s.ranks - 2.0;
    const duration<T> floor = profile.value.engine_all_reduce_floor * kernels.floor_share *
                              (T(1.0) + kernels.rank_cost * others);
    basic_collective_price<T> p;
    p.transfer = loads_take(l, s);
    p.latency = s.algorithm == collective_algorithm::two_shot
                    ? duration<T>((T(1.0) + kernels.second_barrier) * floor)
                    : floor;
    return p;
  }
  constexpr basic_collective_price<T> kernel(const basic_interconnect<T>& l,
                                             const basic_schedule<T>& s) const {
    basic_collective_price<T> p = kernel_alone(l, s);
    if (falls_back(s)) {
      // A wall at the largest message, with a slope so that every scalar has an answer.
      const T beyond = scalar_max(T(0.0), (s.message - kernels.largest).value());
      p.latency += duration<T>::from_value(beyond);
    }
    p.time = p.latency + p.transfer;
    return p;
  }
};
using calibrated_collectives = basic_calibrated_collectives<>;

/// The policy of an accelerator with a profile: local_copy is half the memory's bandwidth, which
/// reads and writes each byte. Test: a streamed 512 MiB takes longer by its copy.
template <Scalar T>
constexpr basic_calibrated_collectives<T> calibrated_collectives_on(
    const basic_accelerator<T>& a, const basic_collective_profile<T>& profile,
    const basic_engine_all_reduce_kernels<T>& kernels = {}) {
  return {profile, kernels, 0.5 * a.dram.bandwidth.quantity()};
}

}  // namespace perfmodel
