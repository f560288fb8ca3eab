#include "request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <perfmodel/core/error.hpp>

#include "codes.hpp"
#include "query.hpp"

namespace napkin {

namespace {

using perfmodel::error;
using perfmodel::error_code;

std::optional<double> parse_number(std::string_view s, std::string_view& rest) {
  const std::size_t sign = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  if (s.size() <= sign || !(s[sign] == '.' || (s[sign] >= '0' && s[sign] <= '9'))) return {};
  double x = 0.0;
  const auto begin = s.data() + (s[0] == '+' ? 1 : 0);
  const auto [end, failure] = std::from_chars(begin, s.data() + s.size(), x);
  if (failure == std::errc::result_out_of_range) {
    throw error(error_code::out_of_range,
                "the number " + in_quotes(s) + " is beyond what a double holds");
  }
  if (failure != std::errc()) return {};
  rest = std::string_view(end, static_cast<std::size_t>(s.data() + s.size() - end));
  return x;
}

struct suffix {
  const char* text;
  double factor;
};
constexpr suffix times[] = {{"s", 1.0},   {"ms", 1e-3},  {"us", 1e-6},
                            {"ns", 1e-9}, {"min", 60.0}, {"h", 3600.0}};
constexpr suffix sizes[] = {{"B", 1.0},
                            {"kB", 1e3},
                            {"KB", 1e3},
                            {"MB", 1e6},
                            {"GB", 1e9},
                            {"TB", 1e12},
                            {"KiB", 1024.0},
                            {"MiB", 1048576.0},
                            {"GiB", 1073741824.0},
                            {"TiB", 1099511627776.0}};

std::optional<double> factor_of(key_unit unit, std::string_view text) {
  if (text.empty()) return 1.0;
  const std::span<const suffix> known = unit == key_unit::time    ? std::span<const suffix>(times)
                                        : unit == key_unit::bytes ? std::span<const suffix>(sizes)
                                                                  : std::span<const suffix>();
  for (const suffix& s : known) {
    if (text == s.text) return s.factor;
  }
  return {};
}

json scalar_value(const key* declared, std::string_view text) {
  std::string_view rest;
  if (const auto x = parse_number(text, rest)) {
    const key_unit unit = declared == nullptr ? key_unit::none : declared->unit;
    if (const auto factor = factor_of(unit, rest)) return number_json("the value", *x * *factor);
  }
  if (text == "true") return true;
  if (text == "false") return false;
  return std::string(text);
}

[[noreturn]] void wrong_type(const key& k, const json& v) {
  throw error(code::wrong_type,
              std::string(k.name) + " is " + brief(v) + "; allowed: " + k.allowed());
}
[[noreturn]] void refuse(const key& k, const json& v) {
  throw error(error_code::out_of_range,
              std::string(k.name) + " is " + brief(v) + "; allowed: " + k.allowed());
}

double checked_number(const key& k, const json& v) {
  if (!v.is_number()) wrong_type(k, v);
  const double x = v.get<double>();
  const bool low = k.above_least ? !(x > k.least) : !(x >= k.least);
  if (low || !(x <= k.most)) refuse(k, v);
  if (k.kind == key_kind::whole && x != std::floor(x)) refuse(k, v);
  return x;
}

void assign(const key& k, const json& v, value& out) {
  out.present = true;
  switch (k.kind) {
    case key_kind::whole:
    case key_kind::number: out.number = checked_number(k, v); return;
    case key_kind::numbers:
      if (!v.is_array()) {
        out.number = checked_number(k, v);
        return;
      }
      if (v.empty() || v.size() > 4096) refuse(k, v);
      for (const json& x : v) out.numbers.push_back(checked_number(k, x));
      return;
    case key_kind::flag:
      if (!v.is_boolean()) wrong_type(k, v);
      out.flag = v.get<bool>();
      return;
    case key_kind::text:
    case key_kind::word: break;
  }
  if (!v.is_string()) wrong_type(k, v);
  out.text = v.get_ref<const std::string&>();
  if (k.kind == key_kind::word &&
      std::find(k.words.begin(), k.words.end(), out.text) == k.words.end()) {
    throw error(error_code::unknown_name,
                std::string(k.name) + " is " + in_quotes(out.text) + "; allowed: " + k.allowed());
  }
}

void assign_default(const key& k, value& out) {
  const std::string_view text = k.fallback;
  if (text.empty()) return;
  out.present = true;
  std::string_view rest;
  switch (k.kind) {
    case key_kind::flag: out.flag = text == "true"; return;
    case key_kind::text:
    case key_kind::word: out.text = text; return;
    default: out.number = parse_number(text, rest).value_or(0.0);
  }
}

}  // namespace

void missing_key(const query& asked, std::string_view name, const std::string& hint) {
  throw error(code::missing_key, std::string(name) + " is missing; " + asked.name + " needs it" +
                                     (hint.empty() ? "" : ": " + hint));
}

request::request(const query& asked, const json& object, const given_profile* profile)
    : asked_(asked), profile_(profile), values_(asked.keys.size()) {
  for (const auto& [name, v] : object.items()) {
    if (std::find(std::begin(common_keys), std::end(common_keys), name) != std::end(common_keys))
      continue;
    const key* k = asked.find(name);
    if (k == nullptr) {
      std::vector<std::string_view> names;
      for (const key& known : asked.keys) names.push_back(known.name);
      throw error(code::unknown_key, in_quotes(name) + " is no key of " + asked.name +
                                         "; allowed: " + listed(names) + ", id, mode");
    }
    value& slot = values_[static_cast<std::size_t>(k - asked.keys.data())];
    slot.given = true;
    assign(*k, v, slot);
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].given) continue;
    const key& k = asked.keys[i];
    if (k.required) missing_key(asked, k.name, k.help);
    assign_default(k, values_[i]);
  }
}

const value& request::at(std::string_view name) const {
  const key* k = asked_.find(name);
  if (k == nullptr) throw std::logic_error("no key " + std::string(name) + " in " + asked_.name);
  return values_[static_cast<std::size_t>(k - asked_.keys.data())];
}

json from_command_line(const key* declared, const std::string& text) {
  if (declared != nullptr &&
      (declared->kind == key_kind::text || declared->kind == key_kind::word)) {
    return text;
  }
  if (text.find(',') == text.npos) return scalar_value(declared, text);
  json list = json::array();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    list.push_back(scalar_value(declared, std::string_view(text).substr(begin, comma - begin)));
    begin = comma + 1;
  }
  return list;
}

}  // namespace napkin
