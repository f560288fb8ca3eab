// Benchmark runs of a service from files: engines' benchmark output, or a table.
#pragma once

#include <optional>
#include <perfmodel/tools/fit/service_run.hpp>
#include <string>
#include <vector>

#include "key.hpp"

namespace napkin {

/// Python writes infinite and undefined numbers as words that JSON does not have: Infinity becomes
/// "inf", NaN null.
std::string without_infinities(std::string_view text);

/// Whether a field is there, and a number.
bool has_number(const json_field& f, std::string_view key);

/// Coefficient of variation of a list of lengths; empty without two of them.
std::optional<double> variation_of_list(const json_field& f, std::string_view key);

/// The result of make(); its errors name the file and line.
template <class Make>
auto located(const std::string& where, const Make& make) {
  try {
    return make();
  } catch (const perfmodel::error& e) {
    throw perfmodel::error(e.code(), cat(where, ": ", e.what()));
  }
}

/// A run and its location: "mine.csv:3".
struct read_run {
  perfmodel::service_run run{};
  std::string where{};
};

/// Runs of some files. `constants` are keys of all of them, overridden by columns. A file is a CSV
/// with a header: keys of serving, and the means itl_s (or itl_ms, tpot_ms) and ttft_s (or
/// ttft_ms), with percentiles (p99_..., median_..., std_...) ignored. Or it is the JSON object of
/// `vllm bench serve --save-result`, or one JSON object per line from SGLang's bench_serving.
/// Throws unreadable_file, malformed_request, missing_key, unknown_key, wrong_type, out_of_range,
/// unknown_name, inconsistent and impossible_layout, each with the file and the line.
std::vector<read_run> read_runs(const std::vector<std::string>& paths, const json& constants);

}  // namespace napkin
