// Measurements of one's own, in CSV files: validation/compare/README.md.
#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"

namespace perfmodel::validation {

/// The rows of a file with the library's predictions. The operator of a row follows from
/// the header. Errors: perfmodel::error with the file, its line, what is wrong and what is allowed.
std::vector<comparison> compare_csv(const std::string& file);

}  // namespace perfmodel::validation
