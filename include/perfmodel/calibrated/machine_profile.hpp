// What an accelerator reaches of its data sheet: few physical parameters, fitted to measurements.
#pragma once

#include <perfmodel/calibrated/fitted_profile.hpp>
#include <perfmodel/core/check_fields.hpp>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <string_view>

namespace perfmodel {

/// Eight fitted parameters of one machine, which matrix products, attention, experts and streaming
/// operators share, and two facts.
template <Scalar T = double>
struct basic_machine_parameters {
  duration<T> matrix_floor{};  ///< launch, start and drain of a matrix kernel replayed from a graph
  T matrix_share = T(1.0);     ///< of the dense matrix peak, that a short kernel reaches
  T dram_share = T(1.0);       ///< of DRAM bandwidth
  perfmodel::bandwidth<T> operand_bandwidth{};  ///< of the chip: tiles get operands, L2 + multicast
  duration<T> tile_fill{};                      ///< pipeline fill and epilogue of one output tile
  duration<T> split_cost{};  ///< a second kernel or a barrier, where k is split over SMs
  T power_slowdown{};        ///< a long dense kernel tends to (1 + power_slowdown) times its time
  perfmodel::bandwidth<T> l2_bandwidth{};  ///< of the chip, streaming; 0: not known
  /// Rows of one matrix instruction, which a tile of fewer rows still works off. Not fitted: 16
  /// where it is mma, 64 where it is wgmma or its successor. Source: NVIDIA PTX ISA, sections on
  /// each.
  T instruction_rows = T(64.0);
  /// Partitions of the L2, each of which keeps its own copy of what its SMs read: 2 from GA100 on
  /// in data-centre chips, else 1. Not fitted. Source: NVIDIA A100 whitepaper, "A100 L2 Cache".
  T l2_partitions = T(2.0);
  /// Whether the matrix units apply the scales of fp8 blocks themselves, as from data-centre
  /// Blackwell on. Source: NVIDIA PTX ISA, tcgen05.mma with .block_scale.
  bool scales_blocks = false;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("matrix_floor", s.matrix_floor...);
    f("matrix_share", s.matrix_share...);
    f("dram_share", s.dram_share...);
    f("operand_bandwidth", s.operand_bandwidth...);
    f("tile_fill", s.tile_fill...);
    f("split_cost", s.split_cost...);
    f("power_slowdown", s.power_slowdown...);
    f("l2_bandwidth", s.l2_bandwidth...);
    f("instruction_rows", s.instruction_rows...);
    f("l2_partitions", s.l2_partitions...);
    f("scales_blocks", s.scales_blocks...);
  }
};
using machine_parameters = basic_machine_parameters<>;

/// Refuses what no machine has, by the field's name: a share that is not positive, a time, rate or
/// slowdown below 0, rows or partitions below 1, and each that is no number or not finite.
/// operand_bandwidth and l2_bandwidth may be 0, not known: a law that needs one says so.
/// Test: each field, with each of these; every profile of the catalogue passes.
template <Scalar T>
constexpr void require_valid(const basic_machine_parameters<T>& p) {
  detail::check_fields([&p](auto& check) {
    check.not_negative("matrix_floor", p.matrix_floor);
    check.positive("matrix_share", p.matrix_share);
    check.positive("dram_share", p.dram_share);
    check.not_negative("operand_bandwidth", p.operand_bandwidth);
    check.not_negative("tile_fill", p.tile_fill);
    check.not_negative("split_cost", p.split_cost);
    check.not_negative("power_slowdown", p.power_slowdown);
    check.not_negative("l2_bandwidth", p.l2_bandwidth);
    check.count("instruction_rows", p.instruction_rows);
    check.count("l2_partitions", p.l2_partitions);
  });
}

/// instruction_rows of an accelerator: 64 on Hopper and data-centre Blackwell and later, 16 on
/// Volta, Turing, Ampere, Ada and RTX Blackwell.
constexpr double instruction_rows_of(const accelerator& a) {
  for (const char* name : {"Volta", "Turing", "Ampere", "Ada", "RTX"}) {
    if (a.architecture.view().find(name) != std::string_view::npos) return 16.0;
  }
  return 64.0;
}

/// scales_blocks of an accelerator: data-centre Blackwell and Rubin.
constexpr bool scales_blocks_of(const accelerator& a) {
  const std::string_view built = a.architecture.view();
  const bool card = built.find("RTX") != std::string_view::npos;
  return !card && (built.find("Blackwell") != std::string_view::npos ||
                   built.find("Rubin") != std::string_view::npos);
}

/// l2_partitions of an accelerator: 2 where it has HBM and was built after Volta, else 1.
constexpr double l2_partitions_of(const accelerator& a) {
  const bool volta = a.architecture.view().find("Volta") != std::string_view::npos;
  return a.dram.bandwidth.value() > 1.8e12 && !volta ? 2.0 : 1.0;
}

template <Scalar T = double>
using basic_machine_profile = fitted_profile<basic_machine_parameters<T>>;
using machine_profile = basic_machine_profile<>;

/// What a serving engine adds around a low-precision matrix product: kernels that quantise the
/// activations while it runs. A plain library product has none of it (the defaults).
template <Scalar T = double>
struct basic_engine_profile {
  label name{"none"};
  duration<T> tensor_scale_floor{};  ///< launches, where a scale is per tensor (fp8, nvfp4)
  duration<T> quantise_floor{};      ///< launches, where every scale is per block or token
  T quantise_cycles{};               ///< SM cycles per activation, without block scales
  T block_scale_share = T(1.0);      ///< of the matrix rate that products with block scales keep
  T log_sigma{};                     ///< as of a machine profile, over both
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("tensor_scale_floor", s.tensor_scale_floor...);
    f("quantise_floor", s.quantise_floor...);
    f("quantise_cycles", s.quantise_cycles...);
    f("block_scale_share", s.block_scale_share...);
    f("log_sigma", s.log_sigma...);
    f("from", s.from...);
  }
};
using engine_profile = basic_engine_profile<>;

/// Refuses what no engine has, by the field's name: a time or cycles below 0, a share that is not
/// positive, and each that is no number or not finite. Test: each field, with each of these.
template <Scalar T>
constexpr void require_valid(const basic_engine_profile<T>& e) {
  detail::check_fields([&e](auto& check) {
    check.not_negative("tensor_scale_floor", e.tensor_scale_floor);
    check.not_negative("quantise_floor", e.quantise_floor);
    check.not_negative("quantise_cycles", e.quantise_cycles);
    check.positive("block_scale_share", e.block_scale_share);
  });
}

}  // namespace perfmodel
