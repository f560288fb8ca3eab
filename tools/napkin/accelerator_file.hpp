// An accelerator as a file, and facts of one that a request changes: what --accelerator, --set and
// --price take, and what napkin gpus --export writes.
#pragma once

#include <memory>
#include <perfmodel/hardware/accelerator.hpp>
#include <string>
#include <string_view>

#include "key.hpp"

namespace napkin {

/// An accelerator of the catalogue, or one that lives as long as somebody holds it, as do the sources
/// that its facts refer to.
using found_accelerator = std::shared_ptr<const perfmodel::accelerator>;

/// Whether an accelerator of that name is a file: it has a '/' or ends in .json.
bool is_file(std::string_view name);
/// By its name in the catalogue, or from a file. Throws
/// unknown_accelerator; of a file unreadable_file, malformed_request, missing_key, unknown_key,
/// wrong_type, out_of_range and unknown_name, with the file's name.
found_accelerator named_accelerator(std::string_view name);

/// The accelerator with the facts of `set`, an object: {"dram.bandwidth": "6 TB/s"}, and at `price`, in
/// USD/h; either may be null. Their source is the caller. A machine on which kernels run otherwise
/// than on `a` has another name: what was measured of `a` is not of it.
/// Throws unknown_key, wrong_type, out_of_range and unknown_name.
found_accelerator changed_accelerator(const found_accelerator& a, const json* set,
                                      const json* price);

/// Whether a fact of that name is a time: dram.latency.
bool is_time_fact(std::string_view name);

/// What a file of the accelerator holds: each fact with its unit, basis and source.
json accelerator_file_json(const perfmodel::accelerator& a);
/// The same as text, a line for each fact.
std::string accelerator_file_text(const perfmodel::accelerator& a);

/// Facts that nobody states, and what their absence costs, one line each; "" where nothing is missing.
std::string absence_text(const perfmodel::accelerator& a);

}  // namespace napkin
