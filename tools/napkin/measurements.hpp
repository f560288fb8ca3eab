// Latencies of matrix products from a file, to fit a profile to.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/units/quantity.hpp>
#include <string>
#include <vector>

namespace napkin {

struct measured_product {
  perfmodel::gemm product{};
  perfmodel::duration<> time{};
  double weight_copies = 0.0;  ///< that the benchmark read in turn; 0: it emptied the cache
};

/// Which rows of a file: all of them where a name is empty.
struct row_choice {
  std::string gpu{};
  std::string backend{};
};

/// The products of a file: a recording (docs/recordings.md) where it starts with '{', else a CSV
/// with a header. Columns: dtype, m, n, k, latency_us (or latency_ms, latency_s), and perhaps gpu,
/// backend and weight_copies (where there is none: as the backend's published benchmark, else 0).
/// Of a recording each point's median counts. Throws unreadable_file, missing_key, unknown_key,
/// wrong_type, out_of_range, unknown_name and inconsistent, each with the line or point; among them
/// rows of more than one gpu.
std::vector<measured_product> read_products(const std::string& path,
                                            const perfmodel::accelerator& a,
                                            const row_choice& choice);

}  // namespace napkin
