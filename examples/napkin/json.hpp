// JSON in and out: one strict reader for requests and files, one writer that never throws.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace napkin {

/// Keys stay in the order they were written in.
using json = nlohmann::ordered_json;

/// What a text may hold at most, so that none takes more memory or time than it is worth.
struct json_limits {
  std::size_t depth = 32;
  std::size_t keys = 64;  ///< in one object
};

/// Reads `text` into `into`. Stricter than the library: no key twice in an object, no number that a
/// double cannot hold, limits. Throws perfmodel::error (malformed_request, or out_of_range for such
/// a number); `into` then holds what was read before, so that a request's id is not lost.
void read_json(std::string_view text, json& into, const json_limits& limits = {});

/// In one line. Bytes that are not UTF-8 become U+FFFD.
std::string write_json(const json& value);

/// A number as JSON; whole ones without a fraction. Throws out_of_range, naming `key`, for an x
/// that JSON cannot hold.
json number_json(const char* key, double x);

/// `text` in quotes, for a message: control characters as spaces, cut after 60 bytes.
std::string in_quotes(std::string_view text);
/// A JSON value for a message.
std::string brief(const json& value);
/// A message in one line.
std::string one_line(std::string text);

}  // namespace napkin
