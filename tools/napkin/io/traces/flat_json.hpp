// JSON objects in one line, with values that are numbers, plain texts and lists of whole numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "rows.hpp"

namespace common::traces {

/// Scanner of such a line, six times as fast as a general parser. A line with more (escapes, nested
/// values, exponents, bytes that are not ASCII) is not accepted, and the parser has to read it.
template <class Reader>
class flat_scanner {
 public:
  flat_scanner(std::string_view line, Reader& reader)
      : at_(line.data()), end_(line.data() + line.size()), reader_(reader) {}

  /// Passes keys with their values to the reader. False where the line is of another kind; the
  /// reader then has a part of its values.
  bool scan(std::string& key) {
    if (!is_next('{')) return false;
    do {
      std::string_view name;
      if (!text(name) || !is_next(':')) return false;
      key.assign(name);
      if (!value(key)) return false;
    } while (is_next(','));
    if (!is_next('}')) return false;
    skip_blanks();
    return at_ == end_;
  }

 private:
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }
  bool is_next(char c) {
    skip_blanks();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool text(std::string_view& out) {
    if (!is_next('"')) return false;
    const char* begin = at_;
    for (; at_ != end_ && *at_ != '"'; ++at_) {
      if (*at_ == '\\' || *at_ < 0x20 || *at_ > 0x7E) return false;
    }
    out = {begin, static_cast<std::size_t>(at_ - begin)};
    return at_ != end_ && *at_++ == '"';
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  bool digits() {
    const char* begin = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return at_ != begin;
  }
  /// A whole number of at most 18 digits, without a sign.
  bool whole(std::int64_t& out) {
    skip_blanks();
    const char* begin = at_;
    if (!digits() || at_ - begin > 18 || (*begin == '0' && at_ - begin > 1)) return false;
    out = 0;
    for (const char* c = begin; c != at_; ++c) out = 10 * out + (*c - '0');
    return true;
  }
  bool number(field_value& v) {
    const char* begin = at_;
    const bool negative = at_ != end_ && *at_ == '-';
    if (negative) ++at_;
    if (at_ == end_ || !is_digit(*at_) || !whole(v.whole)) return false;
    v.is = field_value::kind::whole;
    const char* integer_end = at_;
    if (at_ != end_ && *at_ == '.' && (++at_, !digits())) return false;
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) return false;
    if (negative) v.whole = -v.whole;
    v.number = static_cast<double>(v.whole);
    if (at_ == integer_end) return true;
    v.is = field_value::kind::number;
    return std::from_chars(begin, at_, v.number).ec == std::errc();
  }
  bool word(std::string_view expected) {
    if (!std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected)) {
      return false;
    }
    at_ += expected.size();
    return true;
  }
  bool list(const std::string& key) {
    ++at_;
    reader_.list(key);
    if (is_next(']')) return true;
    do {
      field_value v{.is = field_value::kind::whole};
      if (!whole(v.whole)) return false;
      v.number = static_cast<double>(v.whole);
      reader_.value(key, v, true);
    } while (is_next(','));
    return is_next(']');
  }
  bool value(const std::string& key) {
    skip_blanks();
    if (at_ == end_) return false;
    field_value v{};
    switch (*at_) {
      case '[': return list(key);
      case '"':
        if (!text(v.text)) return false;
        break;
      case 't':
      case 'f':
        v.is = field_value::kind::truth;
        v.whole = *at_ == 't' ? 1 : 0;
        if (!word(v.whole == 1 ? "true" : "false")) return false;
        break;
      case 'n':
        v.is = field_value::kind::nothing;
        if (!word("null")) return false;
        break;
      default:
        if (!number(v)) return false;
    }
    reader_.value(key, v, false);
    return true;
  }

  const char* at_;
  const char* end_;
  Reader& reader_;
};

}  // namespace common::traces
