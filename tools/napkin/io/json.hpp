// JSON in and out: one strict reader, fields that are checked as they are read, one writer.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "codes.hpp"
#include "number_range.hpp"

namespace common {

using perfmodel::error;
using perfmodel::error_code;

/// JSON with object keys in written order.
using json = nlohmann::ordered_json;

/// Kind of fault in a text or a field.
enum class json_fault {
  malformed,      ///< not JSON, nested too deep, or over a limit
  duplicate_key,  ///< duplicate key in one object
  too_large,      ///< number outside the range of a double
  unknown_key,
  missing_key,
  wrong_type,
  not_allowed,   ///< number out of its range
  unknown_word,  ///< word that is not allowed
};

/// Throws the program's error for such a fault.
using json_report = void (*)(json_fault, const std::string& what);

/// Throws a perfmodel::error.
[[noreturn]] inline void report_as_error(json_fault fault, const std::string& what) {
  constexpr error_code codes[] = {code::malformed_request,  code::malformed_request,
                                  error_code::out_of_range, code::unknown_key,
                                  code::missing_key,        code::wrong_type,
                                  error_code::out_of_range, error_code::unknown_name};
  throw error(codes[static_cast<int>(fault)], what);
}

/// Limits of a text, which bound the memory and time of reading it.
struct json_limits {
  std::size_t depth = 32;
  std::size_t keys = 64;  ///< keys in one object
  json_report report = report_as_error;
};

namespace detail {

/// Builds the value while it is read; nlohmann's SAX parser calls these functions by name.
class json_builder {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  json_builder(json& root, const json_limits& limits) : root_(root), limits_(limits) {
    root_ = nullptr;
  }

  bool null() { return put(nullptr), true; }
  bool boolean(bool x) { return put(x), true; }
  bool number_integer(number_integer_t x) { return put(x), true; }
  bool number_unsigned(number_unsigned_t x) { return put(x), true; }
  /// An id keeps its digits as sent.
  bool number_float(number_float_t x, const string_t& token) {
    if (in_id()) return put(json::binary({token.begin(), token.end()})), true;
    return put(x), true;
  }
  bool string(string_t& x) { return put(std::move(x)), true; }
  bool binary(binary_t&) { return false; }

  bool start_object(std::size_t) { return open(json::object()); }
  bool end_object() { return stack_.pop_back(), true; }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_array() { return stack_.pop_back(), true; }

  bool key(string_t& name) {
    auto& object = stack_.back()->get_ref<json::object_t&>();
    if (object.size() >= limits_.keys) {
      fault(json_fault::malformed, cat("an object has more than ", limits_.keys, " keys"));
    }
    const auto [at, fresh] = object.emplace(name, nullptr);
    if (!fresh) {
      fault(json_fault::duplicate_key, cat("the key ", in_quotes(name), " appears twice"));
    }
    member_ = &at->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token, const json::exception& e) {
    constexpr int number_overflow = 406;
    if (e.id == number_overflow) {
      fault(json_fault::too_large, cat("the number ", in_quotes(token),
                                       " is out of the range of a double, about 1.8e308"));
    }
    fault(json_fault::malformed, cat("not JSON at byte ", position));
    return false;
  }

 private:
  /// Removes the incomplete last member of the root.
  void fault(json_fault what, const std::string& text) {
    if (stack_.size() > 1 && root_.is_object()) {
      root_.get_ref<json::object_t&>().back().second = nullptr;
    }
    limits_.report(what, text);
  }
  bool in_id() const {
    return !stack_.empty() && root_.is_object() &&
           root_.get_ref<const json::object_t&>().back().first == "id";
  }
  json& put(json x) {
    if (stack_.empty()) return root_ = std::move(x);
    json& parent = *stack_.back();
    if (parent.is_object()) return *member_ = std::move(x);
    parent.push_back(std::move(x));
    return parent.back();
  }
  bool open(json container) {
    if (stack_.size() >= limits_.depth) {
      fault(json_fault::malformed, cat("nested deeper than ", limits_.depth, " levels"));
    }
    stack_.push_back(&put(std::move(container)));
    return true;
  }

  json& root_;
  json_limits limits_;
  std::vector<json*> stack_{};
  json* member_ = nullptr;
};

}  // namespace detail

/// Reads `text` into `into`. Stricter than the library: no duplicate key in an object, no number
/// outside the range of a double, limits. Throws the errors of limits.report; `into` then holds the
/// members read before, such as a request's id.
inline void read_json(std::string_view text, json& into, const json_limits& limits = {}) {
  detail::json_builder build(into, limits);
  if (text.find('\0') != text.npos) {  // the library ends the JSON there
    limits.report(json_fault::malformed, "a byte 0 is in the text");
  }
  json::sax_parse(text.begin(), text.end(), &build);
}

namespace detail {

/// Whether JSON has a text as it is: printable ASCII without quotes and backslashes. Eight bytes at
/// a time: a byte below a limit leaves its top bit set when the limit is subtracted.
inline bool is_plain(std::string_view text) {
  constexpr std::uint64_t each = 0x0101010101010101, top = 0x80 * each;
  const auto is_other = [](std::uint64_t x) {
    return ((x - 0x20 * each) | x | (x + each) | ((x ^ 0x22 * each) - each) |
            ((x ^ 0x5c * each) - each)) &
           top;
  };
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t x = 0;
    std::memcpy(&x, text.data(), 8);
    if (is_other(x) != 0) return false;
  }
  std::uint64_t x = 0x20 * each;
  for (std::size_t i = 0; i < text.size(); ++i) x = x << 8U | static_cast<unsigned char>(text[i]);
  return is_other(x) == 0;
}

/// Appends a string in quotes. nlohmann writes those with escapes or bytes above 127.
inline void append_text(std::string& out, std::string_view text) {
  if (!is_plain(text)) {
    out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
    return;
  }
  const std::size_t before = out.size();
  out.resize(before + text.size() + 2);
  char* to = out.data() + before;
  *to = '"';
  text.copy(to + 1, text.size());
  to[text.size() + 1] = '"';
}
template <class Number>
void append_number(std::string& out, Number x) {
  std::array<char, 64> text{};
  char* end = text.data();
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(x)) return void(out += "null");
    end = nlohmann::detail::to_chars(text.data(), text.data() + text.size(), x);
  } else {
    end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  }
  out.append(text.data(), end);
}
/// Appends the bytes of value.dump(), in a fifth of its time; false where the value holds digits.
inline bool append_json(std::string& out, const json& value) {
  const char* before = "";
  switch (value.type()) {
    case json::value_t::object:
      out += '{';
      for (const auto& [name, item] : value.get_ref<const json::object_t&>()) {
        out += std::exchange(before, ",");
        append_text(out, name);
        out += ':';
        if (!append_json(out, item)) return false;
      }
      out += '}';
      return true;
    case json::value_t::array:
      out += '[';
      for (const json& item : value.get_ref<const json::array_t&>()) {
        out += std::exchange(before, ",");
        if (!append_json(out, item)) return false;
      }
      out += ']';
      return true;
    case json::value_t::string: append_text(out, value.get_ref<const std::string&>()); return true;
    case json::value_t::boolean: out += value.get<bool>() ? "true" : "false"; return true;
    case json::value_t::number_integer:
      append_number(out, value.get_ref<const json::number_integer_t&>());
      return true;
    case json::value_t::number_unsigned:
      append_number(out, value.get_ref<const json::number_unsigned_t&>());
      return true;
    case json::value_t::number_float:
      append_number(out, value.get_ref<const json::number_float_t&>());
      return true;
    case json::value_t::binary: return false;
    default: out += "null"; return true;
  }
}

}  // namespace detail

/// Writes JSON in one line. Bytes that are not UTF-8 become U+FFFD; an id keeps the digits that it
/// was sent with.
inline std::string write_json(const json& value) {
  if (value.is_binary()) return {value.get_binary().begin(), value.get_binary().end()};
  std::string out;
  out.reserve(2048);
  if (detail::append_json(out, value)) return out;
  out.clear();
  const bool answer = value.is_object() && value.contains("id");
  const auto holds_digits = [](const auto& self, const json& v) -> bool {
    return v.is_binary() || std::any_of(v.begin(), v.end(), [&](const json& item) {
             return item.is_binary() || (item.is_structured() && self(self, item));
           });
  };
  if (!holds_digits(holds_digits, answer ? value["id"] : value)) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  for (const auto& [name, item] : value.items()) {
    out += out.empty() ? "" : ",";
    if (value.is_object()) out += cat(write_json(name), ':');
    out += write_json(item);
  }
  return value.is_object() ? cat('{', out, '}') : cat('[', out, ']');
}

/// Throws out_of_range, naming `key`, for an x that JSON cannot represent.
inline void require_finite(std::string_view key, double x) {
  if (std::isfinite(x)) return;
  throw error(error_code::out_of_range,
              cat(key, " is not a finite number for these inputs; allowed: smaller ones"));
}
/// Whether a number is written without a fraction.
inline bool is_written_whole(double x) {
  constexpr double exact = 9007199254740992.0;  // 2^53
  return std::fabs(x) < exact && x == static_cast<double>(static_cast<std::int64_t>(x));
}
/// A number as JSON; whole ones without a fraction. Throws out_of_range, naming `key`, for an x
/// that JSON cannot represent.
inline json number_json(std::string_view key, double x) {
  require_finite(key, x);
  if (is_written_whole(x)) return static_cast<std::int64_t>(x);
  return x;
}

/// A JSON value for a message.
inline std::string brief(const json& value) {
  if (value.is_string()) return in_quotes(value.get_ref<const std::string&>());
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return shown(write_json(value));
}

/// A value of a file with its location, points[0].unit. A refusal reads: points[0].unit is "ms";
/// allowed: s.
class json_field {
 public:
  explicit json_field(const json& v, std::string where = {}, json_report report = report_as_error)
      : value_(&v), where_(std::move(where)), report_(report) {}

  const json& raw() const { return *value_; }
  std::string name() const { return where_.empty() ? "the file" : where_; }
  [[noreturn]] void fail(json_fault fault, std::string_view what) const {
    report_(fault, shown(what, 600));
    throw std::logic_error("a fault was not reported");
  }
  /// Text of the refusal of this value.
  std::string refusal(std::string_view allowed) const {
    return cat(name(), " is ", brief(*value_), "; allowed: ", allowed);
  }
  [[noreturn]] void refuse(json_fault fault, std::string_view allowed) const {
    fail(fault, refusal(allowed));
  }

  /// Refuses a value that is not an object, and keys that are not in `known`.
  template <class Names = std::initializer_list<std::string_view>>
  const json_field& only(const Names& known) const {
    object();
    for (const auto& item : value_->items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      fail(json_fault::unknown_key,
           cat(inside(item.key()), " is not a key; allowed: ", listed(known)));
    }
    return *this;
  }
  const json_field& object() const {
    if (!value_->is_object()) refuse(json_fault::wrong_type, "an object");
    return *this;
  }
  bool has(std::string_view key) const { return value_->contains(key); }
  json_field operator[](std::string_view key) const {
    object();
    const auto at = value_->find(key);
    if (at == value_->end()) fail(json_fault::missing_key, cat(inside(key), " is missing"));
    return json_field(*at, inside(key), report_);
  }
  std::vector<json_field> list() const {
    if (!value_->is_array()) refuse(json_fault::wrong_type, "a list");
    std::vector<json_field> out;
    for (const json& item : *value_) {
      out.emplace_back(item, cat(where_, '[', out.size(), ']'), report_);
    }
    return out;
  }

  std::string text() const {
    if (!value_->is_string()) refuse(json_fault::wrong_type, "text");
    return value_->get<std::string>();
  }
  std::string some_text() const {
    std::string s = text();
    if (s.empty()) refuse(json_fault::not_allowed, "text that is not empty");
    return s;
  }
  /// A word of this|that; any text where `allowed` is empty.
  std::string word(std::string_view allowed) const {
    std::string s = some_text();
    const auto words = split(allowed, '|');
    if (!allowed.empty() && std::find(words.begin(), words.end(), s) == words.end()) {
      refuse(json_fault::unknown_word, listed(words));
    }
    return s;
  }
  bool truth() const {
    if (!value_->is_boolean()) refuse(json_fault::wrong_type, "true or false");
    return value_->get<bool>();
  }
  double number() const {
    if (!value_->is_number()) refuse(json_fault::wrong_type, "a number");
    return value_->get<double>();
  }
  double number(const number_range& allowed) const {
    const double x = number();
    if (!allowed.holds(x)) refuse(json_fault::not_allowed, allowed.allowed());
    return x;
  }

 private:
  std::string inside(std::string_view key) const {
    return cat(where_, where_.empty() ? "" : ".", key);
  }

  const json* value_;
  std::string where_;
  json_report report_;
};

}  // namespace common
