// What measurements add to the data sheet of a fabric: eight numbers for one accelerator on it.
#pragma once

#include <perfmodel/error.hpp>
#include <perfmodel/hardware/link.hpp>
#include <perfmodel/units/label.hpp>

namespace perfmodel {

/// What one accelerator reaches on one fabric. The first five price a communication library's
/// kernels (NCCL), the last three those of serving engines.
template <Scalar T = double>
struct basic_collective_parameters {
  duration<T> launch{};       ///< of a communication kernel, its end included
  duration<T> hop{};          ///< from one rank to the next, in a ring
  duration<T> bulk_wait{};    ///< more, before the bulk protocol streams
  T link_share = T(1.0);      ///< of the link's one-way bandwidth, in bulk
  T in_network_share{};       ///< message bytes per second over the link's, where switches add
  duration<T> custom_floor{}; ///< a captured all-reduce kernel with a barrier at either end
  T custom_share = T(1.0);    ///< of the link's bandwidth, by loads and stores of such a kernel
  duration<T> host_launch{};  ///< what the engine's host takes for one that is not captured

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("launch", s.launch...);
    f("hop", s.hop...);
    f("bulk_wait", s.bulk_wait...);
    f("link_share", s.link_share...);
    f("in_network_share", s.in_network_share...);
    f("custom_floor", s.custom_floor...);
    f("custom_share", s.custom_share...);
    f("host_launch", s.host_launch...);
  }
};
using collective_parameters = basic_collective_parameters<>;

/// What the three protocols of NCCL cost against each other. They belong to the library and are
/// the same on every accelerator of one kind of fabric.
///   low latency: every 4 bytes carry a 4-byte flag, few threads; no synchronisation
///   line:        every 120 of 128 bytes are data; needs links that keep 128 bytes together
///   bulk:        data in large chunks, flags apart
/// Source of the three: NCCL, src/device/prims_{ll,ll128,simple}.h and enqueue.cc.
template <Scalar T = double>
struct basic_collective_protocols {
  T low_latency_share = T(1.0);  ///< of the bulk rate
  T line_share{};                ///< of the bulk rate; 0: the fabric cannot
  T doubling{};         ///< of a launch, more for each doubling of ranks, in line and bulk
  T bulk_hop = T(1.0);  ///< of a hop, in bulk
  T copy_rate = T(1.0); ///< of the bulk rate: a rank's own part of the buffer, out of place
  T in_network_wait = T(1.0);  ///< of bulk_wait, where switches add
  T apart = T(1.0);  ///< times as long for a hop and for a byte, where ranks sit below two hosts
  int together = 0;  ///< ranks that one host holds; 0: all of them

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("low_latency_share", s.low_latency_share...);
    f("line_share", s.line_share...);
    f("doubling", s.doubling...);
    f("bulk_hop", s.bulk_hop...);
    f("copy_rate", s.copy_rate...);
    f("in_network_wait", s.in_network_wait...);
    f("apart", s.apart...);
    f("together", s.together...);
  }
};
using collective_protocols = basic_collective_protocols<>;

/// The parameters, the standard error of each (0: derived or assumed, see `from`), and how far
/// predictions stray: 80 % of |ln(measured / predicted)| on rows held out lie within 1.2816 spread.
template <Scalar T = double>
struct basic_collective_profile {
  label name{};  ///< of the accelerator, or of the kind of fabric
  basic_collective_parameters<T> value{};
  basic_collective_parameters<T> standard_error{};
  basic_collective_protocols<T> protocols{};
  T spread{};
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("value", s.value...);
    f("standard_error", s.standard_error...);
    f("protocols", s.protocols...);
    f("spread", s.spread...);
    f("from", s.from...);
  }
};
using collective_profile = basic_collective_profile<>;

/// How a serving engine's own all-reduce kernels stand to `custom_floor`. `largest` as in vLLM's
/// and SGLang's custom_all_reduce.py (max_size); the shares are fitted.
template <Scalar T = double>
struct basic_custom_kernels {
  label name{"barriers"};
  T floor_share = T(1.0);       ///< of custom_floor: less where flags travel with the data
  T rank_cost = T(0.0241);      ///< of the floor, more for each rank beyond two
  T second_barrier = T(1.2);     ///< of the floor, more for the two-shot kernel
  bytes<T> largest = lift<T>(8.0 * MiB);  ///< longer messages go to NCCL

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("floor_share", s.floor_share...);
    f("rank_cost", s.rank_cost...);
    f("second_barrier", s.second_barrier...);
    f("largest", s.largest...);
  }
};
using custom_kernels = basic_custom_kernels<>;

}  // namespace perfmodel
