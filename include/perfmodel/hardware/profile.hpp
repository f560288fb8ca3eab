// What an accelerator reaches of its data sheet: few physical parameters, fitted to measurements.
#pragma once

#include <perfmodel/detail/fields.hpp>
#include <perfmodel/error.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/label.hpp>
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

/// The parameters, the standard error of each, and how far predictions stray: 80 % of
/// |ln(measured / predicted)| on rows held out lie within 1.2816 spread, as for a normal error of
/// that deviation. `from` names the measurements, or says that this is a default.
template <Scalar T = double>
struct basic_machine_profile {
  label name{};  ///< of the accelerator
  basic_machine_parameters<T> value{};
  basic_machine_parameters<T> standard_error{};
  T spread{};
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("value", s.value...);
    f("standard_error", s.standard_error...);
    f("spread", s.spread...);
    f("from", s.from...);
  }
};
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
  T spread{};                        ///< as of a machine profile, over both
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("tensor_scale_floor", s.tensor_scale_floor...);
    f("quantise_floor", s.quantise_floor...);
    f("quantise_cycles", s.quantise_cycles...);
    f("block_scale_share", s.block_scale_share...);
    f("spread", s.spread...);
    f("from", s.from...);
  }
};
using engine_profile = basic_engine_profile<>;

/// An interval that holds 80 % of measurements: prediction x exp(-+1.2816 spread).
template <Scalar T = double>
struct basic_time_range {
  duration<T> low{}, high{};
};
using time_range = basic_time_range<>;

/// Errors: spread negative. Test: of rows held out of the fit, 80 % lie inside, within a few %.
template <Scalar T>
constexpr basic_time_range<T> range_of(const duration<T>& predicted, const T& spread) {
  using math::exp;
  const T factor = exp(1.2816 * detail::not_negative("spread", spread));
  return {predicted / factor, predicted * factor};
}

}  // namespace perfmodel
