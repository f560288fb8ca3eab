#include "request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "query.hpp"

namespace napkin {

namespace {

std::optional<double> parse_number(std::string_view s, std::string_view& rest) {
  const std::size_t sign = !s.empty() && (s[0] == '-' || s[0] == '+') ? 1 : 0;
  if (s.size() <= sign || !(s[sign] == '.' || (s[sign] >= '0' && s[sign] <= '9'))) return {};
  double x = 0.0;
  const auto begin = s.data() + (s[0] == '+' ? 1 : 0);
  const auto [end, failure] = std::from_chars(begin, s.data() + s.size(), x);
  if (failure == std::errc::result_out_of_range) {
    throw error(error_code::out_of_range,
                cat("the number ", in_quotes(s), " is beyond what a double holds"));
  }
  if (failure != std::errc()) return {};
  rest = std::string_view(end, static_cast<std::size_t>(s.data() + s.size() - end));
  return x;
}

// CLI::AsNumberWithUnit does the same and keeps six digits.
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

double checked_number(const key& k, const json_field& v) {
  const double x = v.raw().is_number() ? v.number() : 0.0;
  if (!v.raw().is_number()) v.refuse(json_fault::wrong_type, k.allowed());
  if (!k.range.holds(x)) v.refuse(json_fault::not_allowed, k.allowed());
  return x;
}

void assign(const key& k, const json& given, value& out) {
  const json_field v(given, k.name);
  out.present = true;
  switch (k.kind) {
    case key_kind::number: out.number = checked_number(k, v); return;
    case key_kind::numbers:
      if (!given.is_array()) {
        out.number = checked_number(k, v);
        return;
      }
      if (given.empty() || given.size() > 4096) v.refuse(json_fault::not_allowed, k.allowed());
      for (const json_field& x : v.list()) out.numbers.push_back(checked_number(k, x));
      return;
    case key_kind::flag: out.flag = v.truth(); return;
    case key_kind::text:
    case key_kind::word: break;
  }
  if (!given.is_string()) v.refuse(json_fault::wrong_type, k.allowed());
  out.text = given.get_ref<const std::string&>();
  if (k.kind == key_kind::word &&
      std::find(k.words.begin(), k.words.end(), out.text) == k.words.end()) {
    v.refuse(json_fault::unknown_word, k.allowed());
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
  const auto items = split(text, ',');
  if (items.size() == 1) return scalar_value(declared, text);
  json list = json::array();
  for (const std::string_view item : items) list.push_back(scalar_value(declared, item));
  return list;
}

json id_from_command_line(const std::string& text) {
  json id = from_command_line(nullptr, text), sent;
  if (!id.is_number()) return id;
  try {
    read_json(cat("{\"id\":", text, '}'), sent);
    return sent["id"];
  } catch (const error&) {
    return id;  // +1 and .5 are no JSON
  }
}

}  // namespace napkin
