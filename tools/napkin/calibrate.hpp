// napkin calibrate: the profile of a machine from measured latencies of matrix products, or of an engine
// from runs of one's own service.
#pragma once

#include <string>
#include <vector>

#include "key.hpp"

namespace napkin {

struct calibrate_request {
  std::string accelerator{};
  std::string data{};               ///< a file: see read_products
  std::string gpu{};                ///< rows of this gpu only; all where empty
  std::string backend{};            ///< rows of this backend only; all where empty
  std::vector<std::string> runs{};  ///< files: see read_runs; `data` is empty then
  json constants = json::object();  ///< keys of all runs, but the accelerator
  std::string out{};                ///< where the profile is written; nowhere where empty
  bool as_json = false;             ///< the report is the profile itself
};

/// Fits, writes the profile, and returns the report. Throws what read_products and fit_machine
/// throw, and unreadable_file where the profile cannot be written.
std::string calibrate(const calibrate_request& r);
/// The same by what read_runs and calibrate_service do.
std::string calibrate_runs(const calibrate_request& r);

/// A profile goes into a file of its own: nothing waits for a reader of a pipe, and what was `measured`
/// stays. Throws unreadable_file, inconsistent.
void check_out(const std::string& out, const std::vector<std::string>& measured);

}  // namespace napkin
