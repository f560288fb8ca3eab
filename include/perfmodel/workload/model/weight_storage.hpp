// The formats that a checkpoint's weights are stored in.
#pragma once

#include <perfmodel/hardware/number_format.hpp>

namespace perfmodel {

/// How a checkpoint stores its weights. One format for all matrices of the layers in the usual case;
/// gpt-oss compresses its experts alone, NVIDIA's NVFP4 files leave `attention` (every mixer) as it
/// was. `linear` is dense and shared feed-forwards, `others` everything else.
struct weight_storage {
  storage_format linear{};
  storage_format experts{};
  number_format others = number_format::bf16;
  storage_format attention = linear;

  constexpr weight_storage() = default;
  constexpr weight_storage(const storage_format& all, number_format rest = number_format::bf16)
      : linear(all), experts(all), others(rest) {}
  constexpr weight_storage(number_format all) : weight_storage(storage_format(all)) {}
  constexpr weight_storage(const storage_format& of_linear, const storage_format& of_experts,
                           number_format rest)
      : linear(of_linear), experts(of_experts), others(rest) {}

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("linear", s.linear...);
    f("experts", s.experts...);
    f("others", s.others...);
    f("attention", s.attention...);
  }
};

}  // namespace perfmodel
