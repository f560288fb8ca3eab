// What is fitted to AMD's published products and experts, and within which limits.
#pragma once

#include <map>
#include <perfmodel/tools/fit/calibration.hpp>
#include <string>
#include <vector>

#include "published_amd.hpp"

namespace fit_amd {

namespace pm = perfmodel;
using blocks = std::vector<published::amd_moe_row>;

/// Parameters fitted to MI355X GEMMs, which have rows of every format. The share of peak is not
/// fitted: large GEMMs wait for operands in these rows, and the bf16 rate of a chip is published.
/// The share of DRAM bandwidth is not fitted either: it differs between GEMMs and experts.
struct all_formats_model {
  static constexpr std::size_t count = 5;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"matrix_floor [us]", 2.0, 0.5, 15.0},
       {"operand_bandwidth [TB/s]", 15.0, 2.0, 100.0},
       {"tile_fill [us]", 2.0, 0.0, 10.0},
       {"block_scale_share", 0.6, 0.2, 1.2},
       {"split_cost [us]", 3.0, 0.0, 10.0}}};

  template <class T>
  static pm::basic_gemm_calibration<T> from(const pm::machine_parameters& known,
                                            const std::array<T, count>& v) {
    pm::basic_gemm_calibration<T> c{.machine = pm::lift<T>(known)};
    c.machine.matrix_floor = v[0] * pm::us;
    c.machine.operand_bandwidth = v[1] * pm::TB_per_s;
    c.machine.tile_fill = v[2] * pm::us;
    c.engine.mma_block_scale_share = v[3];
    c.machine.split_cost = v[4] * pm::us;
    return c;
  }
};
/// MI300X has rows of fp8 blocks alone, none of them split: the cost of a split is MI355X's.
struct blocks_model {
  static constexpr std::size_t count = 4;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      all_formats_model::parameters[0], all_formats_model::parameters[1],
      all_formats_model::parameters[2], all_formats_model::parameters[3]};

  template <class T>
  static pm::basic_gemm_calibration<T> from(const pm::machine_parameters& known,
                                            const std::array<T, count>& v) {
    const T split_cost(known.split_cost.value() * 1e6);
    return all_formats_model::from(known, std::array<T, 5>{v[0], v[1], v[2], v[3], split_cost});
  }
};

inline constexpr std::array<pm::fitted_parameter, 5> of_experts_and_dram = {
    {{"floor [us]", 20.0, 1.0, 80.0},
     {"buffer_share", 0.6, 0.05, 1.5},
     {"matrix_ratio", 0.8, 0.05, 2.0},
     {"dram_saturation", 2.0, 0.3, 8.0},
     {"dram_share", 0.74, 0.3, 1.0}}};
inline constexpr std::array<pm::fitted_parameter, 4> of_experts = {
    of_experts_and_dram[0], of_experts_and_dram[1], of_experts_and_dram[2], of_experts_and_dram[3]};

/// Time of a row of one scheme, on its chip and with its shares; a fifth parameter is the share of
/// DRAM bandwidth.
template <std::size_t N>
class expert_predictor {
 public:
  using scalar = pm::dual<N>;
  explicit expert_predictor(const blocks& rows) : rows_(rows) {
    for (const auto& r : rows) {
      if (chips_.contains(r.gpu)) continue;
      const pm::machine_parameters p = pm::catalog::machine_profile_of(*r.device).value;
      chips_[r.gpu] = {pm::lift<scalar>(*r.device), pm::lift<scalar>(p)};
    }
  }
  scalar operator()(const std::array<scalar, N>& v, std::size_t i) const {
    pm::basic_moe_kernels<scalar> k;
    k.floor = v[0] * pm::us;
    k.buffer_share = v[1];
    k.matrix_ratio = v[2];
    k.dram_saturation = v[3];
    const chip& on = chips_.at(rows_[i].gpu);
    pm::basic_machine_parameters<scalar> machine = on.shares;
    if constexpr (N > 4) machine.dram_share = v[4];
    return rows_[i].estimate(on.device, {machine, k}).time.value();
  }

 private:
  struct chip {
    pm::basic_accelerator<scalar> device;
    pm::basic_machine_parameters<scalar> shares;
  };
  const blocks& rows_;
  std::map<std::string, chip> chips_;
};

}  // namespace fit_amd
