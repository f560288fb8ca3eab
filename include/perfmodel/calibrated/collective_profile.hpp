// What measurements add to the data sheet of a fabric: eight numbers for one accelerator on it.
#pragma once

#include <perfmodel/calibrated/fitted_profile.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/interconnect.hpp>

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

}  // namespace perfmodel
