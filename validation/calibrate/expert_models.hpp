// What is fitted of a library of expert kernels: four numbers of its own, over all accelerators it was measured on.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/analysis/calibration.hpp>
#include <perfmodel/calibrated/moe.hpp>

namespace published {

namespace pm = perfmodel;

constexpr std::size_t expert_parameter_count = 4;

/// Of tuned tiles the last two are rates, of Triton's default tiles what the two draw of DRAM.
inline std::array<pm::fitted_parameter, expert_parameter_count> expert_parameters(
    const pm::moe_kernels& k) {
  if (k.untuned) {
    return {{{"floor [us]", 40.0, 1.0, 80.0},
             {"dram_saturation", 4.0, 0.3, 20.0},
             {"few_tokens_dram_ratio", 1.2, 0.3, 1.37},
             {"many_tokens_dram_ratio", 0.8, 0.3, 1.37}}};
  }
  return {{{"floor [us]", 28.0, 1.0, 80.0},
           {"buffer_share", 0.55, 0.1, 1.0},
           {"matrix_ratio", 0.8, 0.1, 1.5},
           {"dram_saturation", 2.0, 0.3, 10.0}}};
}

template <class T>
pm::basic_moe_kernels<T> expert_kernels_of(const pm::moe_kernels& library,
                                           const std::array<T, expert_parameter_count>& v) {
  auto k = pm::lift<T>(library);
  k.floor = v[0] * pm::us;
  if (library.untuned) {
    k.dram_saturation = v[1];
    k.few_tokens_dram_ratio = v[2];
    k.many_tokens_dram_ratio = v[3];
  } else {
    k.buffer_share = v[1];
    k.matrix_ratio = v[2];
    k.dram_saturation = v[3];
  }
  return k;
}

}  // namespace published
