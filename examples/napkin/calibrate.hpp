// napkin calibrate: the profile of a machine from measured latencies of matrix products.
#pragma once

#include <string>

namespace napkin {

struct calibrate_request {
  std::string accelerator{};
  std::string data{};     ///< a file: see read_products
  std::string gpu{};      ///< rows of this gpu only; all where empty
  std::string backend{};  ///< rows of this backend only; all where empty
  std::string out{};      ///< where the profile is written; nowhere where empty
  bool as_json = false;   ///< the report is the profile itself
};

/// Fits, writes the profile, and returns the report. Throws what read_products and fit_machine
/// throw, and unreadable_file where the profile cannot be written.
std::string calibrate(const calibrate_request& r);

}  // namespace napkin
