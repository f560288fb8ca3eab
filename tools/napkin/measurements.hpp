// GEMM latencies from a file, for a fit of a machine profile.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/units/quantity.hpp>
#include <string>
#include <vector>

namespace napkin {

struct measured_gemm {
  perfmodel::gemm product{};
  perfmodel::duration<> time{};
  double weight_copies = 0.0;  ///< weight buffers that the benchmark read in turn; 0: cold cache
};

/// Selection of rows; an empty name selects all.
struct row_choice {
  std::string gpu{};
  std::string backend{};
};

/// GEMM latencies of a file or folder. `fitted` and `verify`, GEMMs of few rows as drafts are
/// verified: rows for the fit. `warm`: GEMMs with weights in L2, which the fit does not see and its
/// profile predicts.
struct gemm_latencies {
  std::vector<measured_gemm> fitted{};
  std::vector<measured_gemm> warm{}, verify{};
  bool recorded = false;  ///< from recordings
};

/// GEMM latencies of a file: a recording (validation/recording) where it starts with '{', else a
/// CSV with a header; of a folder: of all recordings in it. CSV columns: dtype, m, n, k, latency_us
/// (or latency_ms, latency_s), and optionally gpu, backend and weight_copies (default: the
/// backend's published benchmark, else 0). A recording yields the median of each point: gemm_time
/// with cold weights, as in a model, and verify_time; without any, gemm_time with warm weights.
/// Throws unreadable_file, missing_key, unknown_key, wrong_type, out_of_range, unknown_name and
/// inconsistent, each with the line or point; rows of several GPUs are inconsistent.
gemm_latencies read_gemm_latencies(const std::string& path, const perfmodel::accelerator& a,
                                   const row_choice& choice);

}  // namespace napkin
