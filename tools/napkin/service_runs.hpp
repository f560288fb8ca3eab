// Runs of one's own service from files: what benchmarks of engines write, or a table.
#pragma once

#include <perfmodel/tools/fit/service_search.hpp>
#include <string>
#include <vector>

#include "key.hpp"

namespace napkin {

/// The keys of `serving` that a run may have: as a column, or for all runs on the command line.
std::vector<key> run_keys();

/// A run, and where it stands: "mine.csv:3".
struct read_run {
  perfmodel::service_run run{};
  std::string where{};
};

/// The runs of some files. `constants` are keys of all of them, which a column overrides. A file is
/// - a CSV with a header: keys of serving, and the means itl_s (or itl_ms, tpot_ms) and ttft_s (or
///   ttft_ms); percentiles (p99_..., median_..., std_...) are passed over;
/// - what `vllm bench serve --save-result` writes: one JSON object;
/// - what SGLang's bench_serving writes: one JSON object in each line.
/// Throws unreadable_file, malformed_request, missing_key, unknown_key, wrong_type, out_of_range,
/// unknown_name, inconsistent and impossible_layout, each with the file and the line.
std::vector<read_run> read_runs(const std::vector<std::string>& paths, const json& constants);

}  // namespace napkin
