// What measurements add to the data sheet of a fabric: eight numbers for one accelerator on it.
#pragma once

#include <perfmodel/calibrated/fitted_profile.hpp>
#include <perfmodel/core/check_fields.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/link.hpp>

namespace perfmodel {

/// What one accelerator reaches on one fabric. The first five price a communication library's
/// kernels (NCCL), the last three those of serving engines.
template <Scalar T = double>
struct basic_collective_parameters {
  duration<T> launch{};       ///< of a communication kernel, its end included
  duration<T> hop{};          ///< from one rank to the next, in a ring
  duration<T> simple_wait{};  ///< more, before the bulk protocol streams
  T link_share = T(1.0);      ///< of the link's one-way bandwidth, in bulk
  T in_network_share{};       ///< message bytes per second over the link's, where switches add
  duration<T>
      engine_all_reduce_floor{};  ///< a captured all-reduce kernel with a barrier at either end
  T engine_all_reduce_share =
      T(1.0);                 ///< of the link's bandwidth, by loads and stores of such a kernel
  duration<T> host_launch{};  ///< what the engine's host takes for one that is not captured

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("launch", s.launch...);
    f("hop", s.hop...);
    f("simple_wait", s.simple_wait...);
    f("link_share", s.link_share...);
    f("in_network_share", s.in_network_share...);
    f("engine_all_reduce_floor", s.engine_all_reduce_floor...);
    f("engine_all_reduce_share", s.engine_all_reduce_share...);
    f("host_launch", s.host_launch...);
  }
};
using collective_parameters = basic_collective_parameters<>;

/// Refuses what no fabric has, by the field's name: a time below 0, a share outside (0, 1], and
/// each that is no number or not finite. in_network_share may be 0: the switches do not add.
/// Test: each field, with each of these; every profile of the catalogue passes.
template <Scalar T>
constexpr void require_valid(const basic_collective_parameters<T>& p) {
  detail::check_fields([&p](auto& check) {
    check.not_negative("launch", p.launch);
    check.not_negative("hop", p.hop);
    check.not_negative("simple_wait", p.simple_wait);
    check.share("link_share", p.link_share);
    check.not_negative("in_network_share", p.in_network_share);
    check.not_negative("engine_all_reduce_floor", p.engine_all_reduce_floor);
    check.share("engine_all_reduce_share", p.engine_all_reduce_share);
    check.not_negative("host_launch", p.host_launch);
  });
}

/// What the three protocols of NCCL cost against each other. They belong to the library and are
/// the same on every accelerator of one kind of fabric.
///   low latency: every 4 bytes carry a 4-byte flag, few threads; no synchronisation
///   line:        every 120 of 128 bytes are data; needs links that keep 128 bytes together
///   bulk:        data in large chunks, flags apart
/// Source of the three: NCCL, src/device/prims_{ll,ll128,simple}.h and enqueue.cc.
template <Scalar T = double>
struct basic_collective_protocols {
  T ll_share = T(1.0);              ///< of the bulk rate
  T ll128_share{};                  ///< of the bulk rate; 0: the fabric cannot
  T launch_growth_per_log2_rank{};  ///< of a launch, more for each doubling of ranks, in line and bulk
  T simple_hop = T(1.0);            ///< of a hop, in bulk
  T copy_rate = T(1.0);        ///< of the bulk rate: a rank's own part of the buffer, out of place
  T in_network_wait = T(1.0);  ///< of simple_wait, where switches add
  T cross_socket_factor =
      T(1.0);  ///< times as long for a hop and for a byte, where ranks sit below two hosts
  int ranks_per_socket = 0;  ///< ranks that one host holds; 0: all of them

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("ll_share", s.ll_share...);
    f("ll128_share", s.ll128_share...);
    f("launch_growth_per_log2_rank", s.launch_growth_per_log2_rank...);
    f("simple_hop", s.simple_hop...);
    f("copy_rate", s.copy_rate...);
    f("in_network_wait", s.in_network_wait...);
    f("cross_socket_factor", s.cross_socket_factor...);
    f("ranks_per_socket", s.ranks_per_socket...);
  }
};
using collective_protocols = basic_collective_protocols<>;

/// Refuses what no library has, by the field's name: a share outside (0, 1], a rate that is not
/// positive, a part of a wait below 0, ranks apart that are quicker or together below 0, and each
/// that is no number or not finite. ll128_share may be 0: the fabric cannot.
/// Test: each field, with each of these.
template <Scalar T>
constexpr void require_valid(const basic_collective_protocols<T>& c) {
  detail::check_fields([&c](auto& check) {
    check.share("ll_share", c.ll_share);
    check.not_negative("ll128_share", c.ll128_share);
    check.not_negative("launch_growth_per_log2_rank", c.launch_growth_per_log2_rank);
    check.not_negative("simple_hop", c.simple_hop);
    check.positive("copy_rate", c.copy_rate);
    check.not_negative("in_network_wait", c.in_network_wait);
    check.count("cross_socket_factor", c.cross_socket_factor);
    check.not_negative("ranks_per_socket", static_cast<double>(c.ranks_per_socket));
  });
}

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

/// How a serving engine's own all-reduce kernels stand to `engine_all_reduce_floor`. `largest` as in vLLM's
/// and SGLang's custom_all_reduce.py (max_size); the shares are fitted.
template <Scalar T = double>
struct basic_engine_all_reduce_kernels {
  label name{"barriers"};
  T floor_share = T(1.0);     ///< of engine_all_reduce_floor: less where flags travel with the data
  T rank_cost = T(0.0241);    ///< of the floor, more for each rank beyond two
  T second_barrier = T(1.2);  ///< of the floor, more for the two-shot kernel
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
using engine_all_reduce_kernels = basic_engine_all_reduce_kernels<>;

/// Refuses what no engine has, by the field's name: a floor_share that is not positive, a cost or
/// size below 0, and each that is no number or not finite. Test: each field, with each of these.
template <Scalar T>
constexpr void require_valid(const basic_engine_all_reduce_kernels<T>& k) {
  detail::check_fields([&k](auto& check) {
    check.positive("floor_share", k.floor_share);
    check.not_negative("rank_cost", k.rank_cost);
    check.not_negative("second_barrier", k.second_barrier);
    check.not_negative("largest", k.largest);
  });
}

}  // namespace perfmodel
