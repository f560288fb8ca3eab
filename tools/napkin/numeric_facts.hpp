// Numeric facts of an accelerator and numeric keys of a request, as inputs that can be changed.
#pragma once

#include <string>
#include <vector>

#include "query.hpp"

namespace napkin {

struct numeric_input {
  std::string name{};
  bool is_fact = false;
  bool whole = false;
  double value = 0.0;  ///< value of a fact, in the unit that `rest` begins with
  std::string rest{};  ///< unit of a fact, and "one way"
};

/// The numeric facts of the request's accelerator, in the form of --set.
std::vector<numeric_input> numeric_facts_of(const request& r);
/// A value of a fact, with its unit.
json fact_value(const numeric_input& x, double value);

}  // namespace napkin
