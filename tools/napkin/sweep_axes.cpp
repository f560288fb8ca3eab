#include "sweep_axes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <perfmodel/units/text.hpp>

#include "io/amount.hpp"

namespace napkin {

namespace {

constexpr std::size_t most_values = 1'000'000;         ///< values of one axis
constexpr std::uint64_t most_points = 10'000'000'000;  ///< points of a grid
constexpr const char* axis_forms =
    "KEY=LO..HI:N (N values evenly spaced), KEY=LO..HI:xF (by the factor F), KEY=A,B,C";

/// The number in 15 digits, which takes the rounding of a sum out of it.
double rounded(double x) {
  return std::strtod(perfmodel::detail::significant(x, 15).c_str(), nullptr);
}

[[noreturn]] void refuse(error_code code, const std::string& what, std::string_view text,
                         const std::string& allowed) {
  throw error(code, cat(what, " is ", in_quotes(one_line(text)), "; allowed: ", allowed));
}

/// A name and its kind, before its values are known.
sweep_axis named_axis(const query& asked, std::string_view spelled) {
  sweep_axis axis;
  std::string name(spelled);
  if (name.find('.') == name.npos) std::replace(name.begin(), name.end(), '-', '_');
  if (const napkin::key* k = asked.find_spelled(name)) {
    axis.name = k->name;
    axis.key = static_cast<std::size_t>(k - asked.keys.data());
    axis.unit = k->unit;
    return axis;
  }
  if (name == "mode" && asked.part != profile_part::none) {
    axis.name = name;
    axis.kind = axis_kind::mode;
    return axis;
  }
  if (name.starts_with("model.") && asked.find("model") != nullptr) {
    axis.name = name;
    axis.kind = axis_kind::model;
    return axis;
  }
  const bool has_facts = asked.find("accelerator") != nullptr;
  if (has_facts) {
    for (std::size_t at = 0;; ++at) {  // h100_sxm.dram.bandwidth is the fact dram.bandwidth
      const fact_description fact = describe_fact(std::string_view(name).substr(at));
      if (fact.exists) {
        axis.name = name;
        axis.kind = axis_kind::fact;
        axis.unit = fact.unit;
        axis.plain_number = fact.is_number;  // until its values are read
        return axis;
      }
      at = name.find('.', at);
      if (at == name.npos) break;
    }
  }
  std::vector<std::string> facts;
  if (has_facts) facts = fact_names();
  std::vector<std::string_view> names(facts.begin(), facts.end());
  if (names.empty() || name.find('.') == name.npos) {
    names.clear();
    for (const napkin::key& k : asked.keys) names.push_back(k.name);
  }
  throw error(code::unknown_key,
              cat("over has ", in_quotes(one_line(spelled)), ", which is not a key of ", asked.name,
                  has_facts ? " and not a fact of its accelerator" : "", "; did you mean ",
                  nearest(name, names), "?"));
}

/// Number of one end or value, in base units.
double number_of(const query& asked, const sweep_axis& axis, std::string_view text,
                 std::string_view spelled) {
  if (axis.kind == axis_kind::fact) {
    const bool is_time = axis.unit == perfmodel::exponents_of<perfmodel::duration<>>();
    if (is_time && lacks_unit(text))
      throw error(code::wrong_type, cat("over ", spelled, " is ", two_readings(text, "ns")));
    const auto x = parse_amount(text, axis.unit);
    if (!x) refuse(code::wrong_type, cat("over ", spelled), text, allowed_amount(axis.unit));
    return *x;
  }
  if (axis.kind == axis_kind::model) {
    const auto x = parse_count(text);
    if (!x) refuse(code::wrong_type, cat("over ", spelled), text, "a number, or 8k, 32Ki, 70B");
    return *x;
  }
  const napkin::key& k = asked.keys[axis.key];
  const json v = from_command_line(&k, std::string(text), spelled);
  if (!v.is_number()) refuse(code::wrong_type, cat("over ", spelled), text, k.allowed());
  return v.get<double>();
}

bool holds_whole_numbers(const query& asked, const sweep_axis& axis) {
  return axis.kind == axis_kind::key && asked.keys[axis.key].range.whole;
}

json value_of(const query& asked, const sweep_axis& axis, double x) {
  const json v = number_json(axis.name, x);
  if (axis.kind == axis_kind::key) check_value(asked.keys[axis.key], v);
  return v;
}

/// Values of LO..HI:N.
std::vector<double> evenly_spaced(double low, double high, std::size_t n) {
  std::vector<double> all;
  for (std::size_t i = 0; i + 1 < n; ++i)
    all.push_back(
        rounded(low + (high - low) * static_cast<double>(i) / static_cast<double>(n - 1)));
  all.front() = low;
  all.push_back(high);
  return all;
}
/// Values of LO..HI:xF.
std::vector<double> by_factor(double low, double high, double factor, const std::string& what) {
  std::vector<double> all;
  for (std::size_t i = 0;; ++i) {
    const double x = low * std::pow(factor, static_cast<double>(i));
    if (!(x <= high * (1.0 + 1e-9))) break;
    if (all.size() >= most_values)
      throw error(error_code::out_of_range,
                  cat(what, " has more than ", most_values, " values; allowed: a larger factor"));
    all.push_back(x >= high * (1.0 - 1e-9) ? high : rounded(x));
  }
  return all;
}

/// Reads LO..HI:N and LO..HI:xF.
std::vector<double> range_values(const query& asked, const sweep_axis& axis, std::string_view text,
                                 std::string_view spelled) {
  const std::size_t dots = text.find("..");
  const std::size_t colon = text.find(':', dots);
  const std::string what = cat("over ", spelled);
  if (colon == text.npos || colon + 1 == text.size() || dots == 0 || dots + 2 == colon)
    refuse(code::wrong_type, what, text, axis_forms);
  const double low = number_of(asked, axis, text.substr(0, dots), spelled);
  const double high = number_of(asked, axis, text.substr(dots + 2, colon - dots - 2), spelled);
  std::string_view steps = text.substr(colon + 1), rest;
  const bool geometric = steps[0] == 'x' || steps[0] == 'X';
  if (geometric) steps.remove_prefix(1);
  const auto n = parse_number(steps, rest);
  if (!n || !rest.empty()) refuse(code::wrong_type, what, text, axis_forms);
  if (!(low < high))
    refuse(error_code::out_of_range, what, text, "a range with its smaller end first");
  if (geometric) {
    if (!(*n > 1.0)) refuse(error_code::out_of_range, what, text, "a factor above 1, such as x2");
    if (!(low > 0.0))
      refuse(error_code::out_of_range, what, text, "a range above 0 for steps by a factor");
    return by_factor(low, high, *n, what);
  }
  if (*n != std::floor(*n) || *n < 2.0 || *n > static_cast<double>(most_values))
    refuse(error_code::out_of_range, what, text,
           cat("2 to ", most_values, " values, a whole number"));
  const auto count = static_cast<std::size_t>(*n);
  std::vector<double> all = evenly_spaced(low, high, count);
  if (holds_whole_numbers(asked, axis) && low == std::floor(low) && high == std::floor(high)) {
    if (*n > high - low + 1.0)
      throw error(error_code::out_of_range,
                  cat(what, " is ", in_quotes(one_line(text)), ", and ", axis.name,
                      " is a whole number; allowed: up to ",
                      perfmodel::detail::significant(high - low + 1.0, 15), " values"));
    for (double& x : all) x = std::round(x);
  }
  return all;
}

/// Reads one item of A,B,C.
json list_value(const query& asked, const sweep_axis& axis, std::string_view item, bool number,
                std::string_view spelled) {
  if (axis.kind == axis_kind::model)
    return value_of(asked, axis, number_of(asked, axis, item, spelled));
  if (number && axis.kind == axis_kind::fact) {
    if (item.ends_with("way")) return std::string(item);  // 900GB/s two way
    return value_of(asked, axis, number_of(asked, axis, item, spelled));
  }
  if (axis.kind != axis_kind::key) return std::string(item);
  const napkin::key& k = asked.keys[axis.key];
  json v = from_command_line(&k, std::string(item), spelled);
  check_value(k, v);
  return v;
}

}  // namespace

sweep_axis parse_axis(const query& asked, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size())
    refuse(code::wrong_type, "over", text, axis_forms);
  const std::string_view spelled = text.substr(0, equals), given = text.substr(equals + 1);
  sweep_axis axis = named_axis(asked, spelled);
  const napkin::key* k = axis.kind == axis_kind::key ? &asked.keys[axis.key] : nullptr;
  const bool number = k != nullptr ? k->kind == key_kind::number || k->kind == key_kind::numbers
                                   : axis.plain_number || axis.kind == axis_kind::model;
  if (number && given.find("..") != given.npos) {
    for (const double x : range_values(asked, axis, given, spelled))
      axis.values.push_back(value_of(asked, axis, x));
  } else {
    for (const std::string_view item : split(given, ',')) {
      if (item.empty()) refuse(code::wrong_type, cat("over ", spelled), given, axis_forms);
      axis.values.push_back(list_value(asked, axis, item, number, spelled));
    }
  }
  axis.plain_number = k != nullptr && number && !changes_calibration(*k) &&
                      std::ranges::all_of(axis.values, [](const json& v) { return v.is_number(); });
  return axis;
}

void check_axes(const json& base, const std::vector<sweep_axis>& axes) {
  if (axes.empty())
    throw error(code::missing_key, cat("over is missing; sweep needs it: ", axis_forms));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::string& name = axes[i].name;
    for (std::size_t before = 0; before < i; ++before) {
      if (axes[before].name == name)
        throw error(error_code::inconsistent, cat("over has ", name, " twice; allowed: once"));
    }
    if (axes[i].kind == axis_kind::model) {
      if (!base.contains("model"))
        throw error(code::missing_key, cat("model is missing; over ", name, " changes it"));
      continue;
    }
    const bool fact = axes[i].kind == axis_kind::fact;
    if (fact ? base.contains("set") && base["set"].contains(name) : base.contains(name))
      throw error(error_code::inconsistent,
                  cat("over has ", name, ", which is given as ", fact ? "--set" : "a key",
                      " too; allowed: one of them"));
  }
}

std::uint64_t points_of(const std::vector<sweep_axis>& axes) {
  std::uint64_t n = 1;
  for (const sweep_axis& a : axes) {
    n *= a.values.size();  // at most 10^10 x 10^6
    if (n > most_points)
      throw error(error_code::out_of_range,
                  cat("over gives more than ", most_points, " points; allowed: fewer values"));
  }
  return n;
}

std::vector<std::size_t> place_of(const std::vector<sweep_axis>& axes, std::uint64_t point) {
  std::vector<std::size_t> place(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    place[i] = static_cast<std::size_t>(point % axes[i].values.size());
    point /= axes[i].values.size();
  }
  return place;
}

json request_at(const json& base, const std::vector<sweep_axis>& axes,
                const std::vector<std::size_t>& place) {
  json object = base;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const json& v = axes[i].values[place[i]];
    if (axes[i].kind == axis_kind::fact) {
      object["set"][axes[i].name] = v;
    } else if (axes[i].kind == axis_kind::model) {
      std::string model = object["model"].get<std::string>();
      const bool more = model.ends_with('}');
      if (more) model.pop_back();
      object["model"] = cat(model, more ? "," : "{", axes[i].name.substr(6), "=", v.dump(), "}");
    } else {
      object[axes[i].name] = v;
    }
  }
  return object;
}

point_range shard_of(std::uint64_t points, std::uint64_t i, std::uint64_t n) {
  const std::uint64_t each = points / n, longer = points % n;
  const std::uint64_t first = each * (i - 1) + std::min(i - 1, longer);
  return {first, each + (i <= longer ? 1 : 0)};
}

std::pair<std::uint64_t, std::uint64_t> parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != text.npos) {
    std::string_view rest, after;
    const auto i = parse_number(text.substr(0, slash), rest);
    const auto n = parse_number(text.substr(slash + 1), after);
    const bool whole =
        i && n && rest.empty() && after.empty() && *i == std::floor(*i) && *n == std::floor(*n);
    if (whole && *i >= 1.0 && *i <= *n && *n <= 1e9)
      return {static_cast<std::uint64_t>(*i), static_cast<std::uint64_t>(*n)};
  }
  refuse(code::wrong_type, "shard", text, "i/n with i from 1 to n, such as 3/8");
}

}  // namespace napkin
