// Measurements of one's own, in CSV files: docs/validation/own_measurements.md.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace perfmodel::validation {

/// A file, its line, what is wrong and what is allowed.
class csv_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The rows of a file beside what the library says of them. Which operator they are of follows from
/// the header. Errors: csv_error.
std::vector<comparison> compare_csv(const std::string& file);

}  // namespace perfmodel::validation
