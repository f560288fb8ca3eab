// Machine instructions per value of fusion's kernels, where all threads of a block have values.
// fusion.cu records them; machine_code checks its kernels without loops against them, within a
// tenth on every architecture. Counted in the code of nvcc 13 for sm_90. GELU's include its load,
// conversions and store.
#pragma once

namespace perfmodel::validation::chain_instructions {

inline constexpr double bias = 7.0, gelu = 31.0, bias_gelu = 33.0;
inline constexpr double normalise = 8.2, affine = 8.5;

/// LayerNorm in one kernel, by the pieces of eight values that a thread holds: 1, 2 or 4.
constexpr double layer_norm(int held) {
  return held == 1 ? 22.5 : held == 2 ? 17.0 : 14.5;
}

}  // namespace perfmodel::validation::chain_instructions
