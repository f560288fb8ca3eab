// Accelerators as files, and changed facts of a request: the values of --accelerator, --set and
// --price, and the output of napkin gpus --export.
#pragma once

#include <memory>
#include <perfmodel/hardware/accelerator.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "key.hpp"

namespace napkin {

/// An accelerator of the catalogue, or one with shared ownership together with the sources of its
/// facts.
using found_accelerator = std::shared_ptr<const perfmodel::accelerator>;

/// Whether an accelerator name is a file: it has a '/' or ends in .json.
bool is_file(std::string_view name);
/// Accelerator by its catalogue name, or from a file. Throws unknown_accelerator; for a file
/// unreadable_file, malformed_request, missing_key, unknown_key, wrong_type, out_of_range and
/// unknown_name, with the file's name.
found_accelerator named_accelerator(std::string_view name);

/// The accelerator with the facts of `set`, an object: {"dram.bandwidth": "6 TB/s"}, and at
/// `price`, in USD/h; either may be null. Their source is the caller. A machine on which kernels
/// run differently than on `a` has another name: measurements of `a` are not measurements of it.
/// Throws unknown_key, wrong_type, out_of_range and unknown_name.
found_accelerator changed_accelerator(const found_accelerator& a, const json* set,
                                      const json* price);

/// Whether a fact of that name is a time: dram.latency.
bool is_time_fact(std::string_view name);

/// What a fact of that name holds.
struct fact_description {
  bool exists = false;
  bool is_number = false;
  perfmodel::unit_exponents unit{};
};
fact_description describe_fact(std::string_view name);
/// Names of all facts, as in --set.
std::vector<std::string> fact_names();

/// File content of the accelerator: each fact with its unit, basis and source.
json accelerator_file_json(const perfmodel::accelerator& a);
/// The content as text, a line per fact.
std::string accelerator_file_text(const perfmodel::accelerator& a);

/// Missing facts and their consequences, one line each; "" where none is missing.
std::string absence_text(const perfmodel::accelerator& a);

}  // namespace napkin
