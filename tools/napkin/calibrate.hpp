// napkin calibrate: the profile of a machine from GEMM latencies, or of an engine from benchmark
// runs of a service.
#pragma once

#include <string>
#include <vector>

#include "key.hpp"

namespace napkin {

struct calibrate_request {
  std::string accelerator{};
  std::string data{};               ///< file of GEMM latencies: see read_gemm_latencies
  std::string gpu{};                ///< rows of this GPU only; empty: all
  std::string backend{};            ///< rows of this backend only; empty: all
  std::vector<std::string> runs{};  ///< run files: see read_runs; `data` is empty then
  json constants = json::object();  ///< keys common to all runs, except the accelerator
  std::string out{};                ///< output file of the profile; empty: none
  bool as_json = false;             ///< whether the report is the profile itself
};

/// Fits the profile, writes it, and returns the report. Throws the errors of read_gemm_latencies
/// and fit_machine, and unreadable_file where the profile cannot be written.
std::string calibrate(const calibrate_request& r);
/// Service calibration, by read_runs and calibrate_service, with their errors.
std::string calibrate_runs(const calibrate_request& r);

/// Checks that the profile goes into a regular file other than `measured`. Throws unreadable_file,
/// inconsistent.
void check_out(const std::string& out, const std::vector<std::string>& measured);

}  // namespace napkin
