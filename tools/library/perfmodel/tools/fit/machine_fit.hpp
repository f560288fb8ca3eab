// Measured GEMM latencies, and the profile fitted to them.
#pragma once

#include <array>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// One measured GEMM latency, without quantising kernels. `weight_copies`: number of weight buffers
/// that the benchmark read in turn, see replaying.
struct gemm_measurement {
  gemm workload{};
  duration<> time{};
  double weight_copies = 0;
};

/// A fitted profile. `residual`: ln(measured / predicted) of each row; `held_out`: the same
/// residual by fits without the rows of this (n, k). `at_bound`, `from_prior`: see fit_result.
struct machine_fit {
  machine_profile profile{};
  std::array<bool, 7> at_bound{}, from_prior{};
  std::vector<double> residual, held_out;
};

}  // namespace perfmodel::inline v0_3
