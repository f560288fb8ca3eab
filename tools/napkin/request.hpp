// A request: a JSON object, checked against the keys of its query.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "accelerator_file.hpp"
#include "key.hpp"
#include "key_name.hpp"

namespace napkin {

struct query;
struct given_profile;
struct shared_texts;

/// Whether a query has prices: only plan.
bool has_prices(const query& asked);

/// The value of one key, from the request or by default.
struct value {
  bool present = false;  ///< false only for an optional key without a default
  bool given = false;    ///< whether the request has the key
  double number = 0.0;
  bool flag = false;
  std::string_view text{};
  std::string_view spelling{};  ///< text of a word as the request has it
  std::vector<double> numbers{};
};

/// Refers to the object it was made of, which must outlive it.
class request {
 public:
  /// Throws perfmodel::error: not an object, an unknown, missing or ill-typed key, out of range.
  request(const query& asked, const json& object, const given_profile* profile = nullptr);

  const query& asked() const { return asked_; }
  /// The profile of --profile; null where there is none.
  const given_profile* profile() const { return profile_; }
  /// The first accelerator, as changed by set and price. Throws logic_error where the request names
  /// none.
  const perfmodel::accelerator& accelerator() const;
  const std::vector<found_accelerator>& accelerators() const { return accelerators_; }
  /// Accelerators of the key prefill_accelerator; shared ones are the same as in accelerators().
  const std::vector<found_accelerator>& prefill_accelerators() const {
    return prefill_accelerators_;
  }
  bool has(const key_name& name) const { return at(name).present; }
  double number(const key_name& name) const { return at(name).number; }
  /// Throws out_of_range above what an int holds.
  int whole(const key_name& name) const;
  bool flag(const key_name& name) const { return at(name).flag; }
  std::string_view text(const key_name& name) const { return at(name).text; }
  const value& at(const key_name& name) const;
  /// The value of a key; null where the query has no key of that name.
  const value* find(const key_name& name) const;
  /// Values in the order of the query's keys.
  const value& at(std::size_t i) const { return values_[i]; }
  /// Replaces the number of the i-th key, which the request has. Its range is not checked.
  void put_number(std::size_t i, double x) { values_[i].number = x; }
  /// Whether only the scalar results are wanted, without the texts that explain them.
  bool scalars_only() const { return scalars_only_; }
  void want_scalars_only() { scalars_only_ = true; }
  /// Texts that results of this request with other numbers share; null where none are shared. Their
  /// results are written as JSON only.
  shared_texts* texts() const { return texts_.get(); }
  /// Shares texts from here on. Call it again where a number changes them.
  void share_texts();

 private:
  /// Lengths of a published workload, where the request states none.
  void take_workload();
  const query& asked_;
  const given_profile* profile_ = nullptr;
  std::vector<value> values_;
  bool scalars_only_ = false;
  std::shared_ptr<shared_texts> texts_{};
  std::vector<found_accelerator> accelerators_{};
  std::vector<found_accelerator> prefill_accelerators_{};
};

/// The value of --name on the command line as JSON: a number, with a unit where the key has one;
/// true or false; an array where there are commas; else a string. `spelled` is the key as it was
/// written, by default its name. Throws wrong_type, for a time without a unit too.
json from_command_line(const key* declared, const std::string& text, std::string_view spelled = {});
/// Throws what a request with that value of the key throws: wrong_type, out_of_range, unknown_name.
void check_value(const key& k, const json& v);
/// Adds a --set to a request: fact=value. Throws wrong_type for another form, inconsistent where
/// the fact is set already.
void add_set(json& request, std::string_view fact);
/// The value of --price: one number, or accelerator=price,accelerator=price. Throws wrong_type,
/// inconsistent.
json price_from_command_line(const std::string& text);
/// The value of --id: a number keeps its digits.
json id_from_command_line(const std::string& text);

[[noreturn]] void missing_key(const query& asked, std::string_view name, const std::string& hint);

}  // namespace napkin
