// A request: a JSON object, checked against the keys of its query.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "key.hpp"

namespace napkin {

struct query;
struct given_profile;

/// The value of one key, from the request or by default.
struct value {
  bool present = false;  ///< false only for an optional key without a default
  bool given = false;    ///< by the request, not by default
  double number = 0.0;
  bool flag = false;
  std::string_view text{};
  std::vector<double> numbers{};
};

/// Refers to the object it was made of, which must outlive it.
class request {
 public:
  /// Throws perfmodel::error: not an object, an unknown, missing or ill-typed key, out of range.
  request(const query& asked, const json& object, const given_profile* profile = nullptr);

  const query& asked() const { return asked_; }
  /// The profile that --profile read; null where there is none.
  const given_profile* profile() const { return profile_; }
  bool has(std::string_view name) const { return at(name).present; }
  double number(std::string_view name) const { return at(name).number; }
  int whole(std::string_view name) const { return static_cast<int>(at(name).number); }
  bool flag(std::string_view name) const { return at(name).flag; }
  std::string_view text(std::string_view name) const { return at(name).text; }
  const value& at(std::string_view name) const;
  /// In the order of the query's keys.
  const value& at(std::size_t i) const { return values_[i]; }

 private:
  const query& asked_;
  const given_profile* profile_ = nullptr;
  std::vector<value> values_;
};

/// The value of --name on the command line as JSON: a number, with a unit where the key has one;
/// true or false; an array where there are commas; else a string.
json from_command_line(const key* declared, const std::string& text);
/// The value of --id: a number keeps its digits.
json id_from_command_line(const std::string& text);

[[noreturn]] void missing_key(const query& asked, std::string_view name, const std::string& hint);

}  // namespace napkin
