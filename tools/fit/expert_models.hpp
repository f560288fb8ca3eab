// Fitted parameters of a library of expert kernels, over all accelerators with measurements.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/kernels/moe.hpp>
#include <perfmodel/tools/fit/calibration.hpp>

namespace published {

namespace pm = perfmodel;

inline constexpr pm::fitted_parameter expert_floor{"floor [us]", 28.0, 1.0, 80.0};
inline constexpr pm::fitted_parameter expert_matrix_ratio{"matrix_ratio", 0.8, 0.1, 1.5};
inline constexpr pm::fitted_parameter expert_dram_saturation{"dram_saturation", 2.0, 0.3, 10.0};

/// Tuned tiles.
struct tuned_experts {
  static constexpr std::size_t count = 4;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {expert_floor,
       expert_matrix_ratio,
       expert_dram_saturation,
       {"buffer_share", 0.55, 0.1, 1.0}}};

  template <class T>
  static pm::basic_moe_kernels<T> from(const pm::moe_kernels& library,
                                       const std::array<T, count>& v) {
    auto k = pm::lift<T>(library);
    k.floor = v[0] * pm::us;
    k.matrix_ratio = v[1];
    k.dram_saturation = v[2];
    k.buffer_share = v[3];
    return k;
  }
};

/// Tuned tiles that take a time to start and end.
struct filled_experts {
  static constexpr std::size_t count = 5;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {expert_floor,
       {"matrix_ratio", 0.17, 0.02, 1.0},
       {"dram_saturation", 0.15, 0.02, 10.0},
       {"buffer_share", 0.7, 0.1, 1.0},
       {"tile_fill [us]", 1.1, 0.01, 20.0}}};

  template <class T>
  static pm::basic_moe_kernels<T> from(const pm::moe_kernels& library,
                                       const std::array<T, count>& v) {
    auto k = tuned_experts::from(library, std::array<T, 4>{v[0], v[1], v[2], v[3]});
    k.tile_fill = v[4] * pm::us;
    return k;
  }
};

/// TensorRT-LLM's launcher. What goes between its kernels is as quick as DRAM gives products.
struct launcher_experts {
  static constexpr std::size_t count = 3;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {expert_floor, expert_matrix_ratio, expert_dram_saturation}};

  template <class T>
  static pm::basic_moe_kernels<T> from(const pm::moe_kernels& library,
                                       const std::array<T, count>& v) {
    return tuned_experts::from(library,
                               std::array<T, 4>{v[0], v[1], v[2], T(library.buffer_share)});
  }
};

/// Triton's default tiles, the last two numbers of which are what they draw of DRAM.
struct untuned_experts {
  static constexpr std::size_t count = 4;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"floor [us]", 40.0, 1.0, 80.0},
       {"dram_saturation", 4.0, 0.3, 20.0},
       {"few_tokens_dram_ratio", 1.2, 0.3, 1.37},
       {"many_tokens_dram_ratio", 0.8, 0.3, 1.37}}};

  template <class T>
  static pm::basic_moe_kernels<T> from(const pm::moe_kernels& library,
                                       const std::array<T, count>& v) {
    auto k = pm::lift<T>(library);
    k.floor = v[0] * pm::us;
    k.dram_saturation = v[1];
    k.few_tokens_dram_ratio = v[2];
    k.many_tokens_dram_ratio = v[3];
    return k;
  }
};

/// Calls f(model) with what is fitted of the library.
template <class F>
void with_expert_model(const pm::moe_kernels& library, F&& f) {
  if (library.untuned) {
    f(untuned_experts{});
  } else if (library.launcher_tiles) {
    f(launcher_experts{});
  } else if (library.tile_fill.value() > 0.0) {
    f(filled_experts{});
  } else {
    f(tuned_experts{});
  }
}

}  // namespace published
