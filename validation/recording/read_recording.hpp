// Reads a recording and checks every field of it against validation/recording/README.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <napkin/io/files.hpp>
#include <napkin/io/json.hpp>
#include "quantities.hpp"
#include "recording.hpp"

namespace perfmodel::validation {

using common::cat;
using common::shown;

/// What is wrong with a recording. Printed as PM-R and two digits.
enum class recording_fault {
  unreadable = 1,  ///< no such file, or a folder
  not_json,        ///< or a number that no double holds, such as 1e999
  wrong_schema,    ///< some other file
  future_version,  ///< written by a later perfmodel
  missing_key,
  unknown_key,
  duplicate_key,
  wrong_type,   ///< null, text for a number, ...
  not_allowed,  ///< a word or a number outside what its field allows
  unknown_experiment,
  unknown_quantity,  ///< not one of its experiment's
  wrong_unit,
  missing_parameter,
  no_points,
  no_samples,
  bad_sample,  ///< zero or negative, where the unit does not allow it
  no_checks,   ///< a measurement without a comparison of its results with a reference
  failed_check,
};

class recording_error : public std::runtime_error {
 public:
  recording_error(recording_fault fault, const std::string& message)
      : std::runtime_error(message), fault_(fault) {}
  recording_fault fault() const noexcept { return fault_; }
  /// PM-R01 .. PM-R18.
  std::string code() const {
    const int n = static_cast<int>(fault_);
    return cat(n < 10 ? "PM-R0" : "PM-R", n);
  }

 private:
  recording_fault fault_;
};

/// Publisher of the numbers, and place.
struct publication {
  std::string citation{};
  std::string address{};
};

/// A recording as read. `run` is of a measured one, `source` of a published one.
struct recorded {
  std::string file{};
  std::string experiment{};
  std::string law{};
  bool measured = true;
  run_description run{};
  publication source{};
  device_description device{};
  std::optional<device_state> before{}, after{};
  std::vector<check_result> checks{};
  std::vector<skipped_part> skipped{};
  std::vector<failed_part> failed{};  ///< has no points
  std::vector<point> points{};
};

/// The parameter of a point; null where it has none of that name.
inline const value* find_parameter(const point& p, std::string_view name) {
  for (const parameter& q : p.parameters) {
    if (q.name == name) return &q.is;
  }
  return nullptr;
}
inline double number_of(const point& p, std::string_view name, double otherwise = 0.0) {
  const value* v = find_parameter(p, name);
  const double* x = v == nullptr ? nullptr : std::get_if<double>(v);
  return x == nullptr ? otherwise : *x;
}
inline std::string word_of(const point& p, std::string_view name) {
  const value* v = find_parameter(p, name);
  const std::string* s = v == nullptr ? nullptr : std::get_if<std::string>(v);
  return s == nullptr ? std::string() : *s;
}
inline bool flag_of(const point& p, std::string_view name) {
  const value* v = find_parameter(p, name);
  const bool* b = v == nullptr ? nullptr : std::get_if<bool>(v);
  return b != nullptr && *b;
}

namespace detail {

[[noreturn]] inline void report(common::json_fault fault, const std::string& what) {
  constexpr recording_fault faults[] = {
      recording_fault::not_json,    recording_fault::duplicate_key, recording_fault::not_json,
      recording_fault::unknown_key, recording_fault::missing_key,   recording_fault::wrong_type,
      recording_fault::not_allowed, recording_fault::not_allowed};
  throw recording_error(faults[static_cast<int>(fault)], what);
}

/// A value of a recording. What is far from any measurement makes infinities and zeros of products
/// and ratios.
class field : public common::json_field {
 public:
  using common::json_field::refuse;

  field(const common::json_field& f) : json_field(f) {}  // NOLINT: the same value
  field operator[](std::string_view key) const { return json_field::operator[](key); }
  std::vector<field> list() const {
    const auto items = json_field::list();
    return {items.begin(), items.end()};
  }
  [[noreturn]] void refuse(recording_fault fault, std::string_view allowed) const {
    throw recording_error(fault, shown(refusal(allowed), 600));
  }

  double finite() const {
    const double x = json_field::number();
    if (std::abs(x) > 1e30) refuse(recording_fault::not_allowed, "up to 1e30 in size");
    return x;
  }
  double number() const {
    const double x = finite();
    if (x != 0.0 && std::abs(x) < 1e-30) {
      refuse(recording_fault::not_allowed, "0, or from 1e-30 on in size");
    }
    return x;
  }
  double not_negative() const { return at_least_0(number()); }
  /// How far a result is off: that may be as little as it likes.
  double deviation() const { return at_least_0(finite()); }
  double positive() const {
    const double x = number();
    if (!(x > 0.0)) refuse(recording_fault::not_allowed, "more than 0");
    return x;
  }
  int whole(double least) const {
    return static_cast<int>(json_field::number({.least = least, .most = 1e9, .whole = true}));
  }

 private:
  double at_least_0(double x) const {
    if (x < 0.0) refuse(recording_fault::not_allowed, "0 or more");
    return x;
  }
};

inline bool is_date(std::string_view s) {
  constexpr std::string_view form = "0000-00-00T00:00:00Z";
  if (s.size() != form.size()) return false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const bool digit = s[i] >= '0' && s[i] <= '9';
    if (form[i] == '0' ? !digit : s[i] != form[i]) return false;
  }
  const auto two = [&](std::size_t at) { return 10 * (s[at] - '0') + (s[at + 1] - '0'); };
  const int month = two(5), day = two(8);
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && two(11) <= 23 && two(14) <= 59 &&
         two(17) <= 60;
}
inline bool is_revision(std::string_view s) {
  if (s == "unknown") return true;
  return s.size() == 40 && s.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

inline run_description read_run(const field& f, bool gpu) {
  if (gpu) {
    f.only({"date", "revision", "modified", "program", "compiler", "toolkit", "driver", "reduced"});
  } else {
    f.only({"date", "revision", "modified", "program", "compiler", "reduced"});
  }
  run_description r;
  r.date = f["date"].text();
  if (!is_date(r.date)) {
    f["date"].refuse(recording_fault::not_allowed, "a time in UTC as 2026-01-31T12:00:00Z");
  }
  r.revision = f["revision"].text();
  if (!is_revision(r.revision)) {
    f["revision"].refuse(recording_fault::not_allowed, "40 hexadecimal digits, or unknown");
  }
  r.modified = f["modified"].truth();
  r.program = f["program"].some_text();
  r.compiler = f["compiler"].some_text();
  if (gpu) {
    r.toolkit = f["toolkit"].some_text();
    r.driver = f["driver"].some_text();
  }
  r.reduced = f["reduced"].truth();
  return r;
}

/// In a published recording a number may be 0: its source does not state it.
inline device_description read_device(const field& f, bool measured) {
  const auto amount = [&](const char* key) {
    return measured ? f[key].positive() : f[key].not_negative();
  };
  const auto count = [&](const char* key) { return f[key].whole(measured ? 1.0 : 0.0); };
  device_description d;
  d.kind = f["kind"].word("gpu|cpu");
  if (d.kind == "gpu") {
    f.only({"kind", "name", "accelerator", "memory_bytes", "sm_clock_hz", "compute_capability",
            "sms", "gpus", "l2_bytes", "shared_memory_per_sm_bytes", "memory_bus_bits",
            "memory_clock_hz"});
    d.compute_capability = f["compute_capability"].some_text();
    d.sms = count("sms");
    d.gpus = count("gpus");
    d.l2_bytes = amount("l2_bytes");
    d.shared_memory_per_sm_bytes = amount("shared_memory_per_sm_bytes");
    d.memory_bus_bits = count("memory_bus_bits");
    // The driver may say 0 for a part of a GPU, as virtual machines have.
    d.memory_clock_hz = f["memory_clock_hz"].not_negative();
    d.sm_clock_hz = f["sm_clock_hz"].not_negative();
  } else {
    f.only({"kind", "name", "accelerator", "memory_bytes", "sm_clock_hz", "cores", "threads",
            "caches"});
    d.cores = count("cores");
    d.threads = count("threads");
    for (const field& c : f["caches"].list()) {
      c.only({"level", "bytes", "threads"});
      d.caches.push_back({c["level"].whole(1.0), c["bytes"].positive(), c["threads"].whole(1.0)});
    }
    d.sm_clock_hz = f["sm_clock_hz"].not_negative();
  }
  d.name = f["name"].some_text();
  d.accelerator = f["accelerator"].text();
  if (d.kind == "cpu" && !d.accelerator.empty()) {
    f["accelerator"].refuse(recording_fault::not_allowed, "\"\" of a cpu");
  }
  d.memory_bytes = amount("memory_bytes");
  return d;
}

inline device_state read_state(const field& f) {
  f.only({"sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "slowdown"});
  device_state s;
  s.sm_clock_hz = f["sm_clock_hz"].not_negative();
  s.memory_clock_hz = f["memory_clock_hz"].not_negative();
  s.power_w = f["power_w"].not_negative();
  s.temperature_c = f["temperature_c"].number();
  for (const field& reason : f["slowdown"].list()) s.slowdown.push_back(reason.some_text());
  return s;
}

inline quantity_rule rule_of(const field& quantity, std::string_view experiment) {
  const std::string name = quantity.text();
  std::vector<std::string_view> names;
  for (const quantity_rule& r : quantity_rules) {
    if (r.experiment != program_of(experiment)) continue;
    if (r.quantity == name) return r;
    names.push_back(r.quantity);
  }
  quantity.refuse(recording_fault::unknown_quantity,
                  cat("of ", experiment, " ", common::listed(names)));
}

inline std::vector<std::string_view> words_of(std::string_view list) {
  return list.empty() ? std::vector<std::string_view>() : common::split(list, ' ');
}

/// Checks that a parameter is there and of its kind.
inline void require_parameters(const field& parameters, const quantity_rule& r, bool gpu) {
  const auto find = [&](std::string_view name) -> field {
    if (parameters.has(name)) return parameters[name];
    throw recording_error(
        recording_fault::missing_parameter,
        cat(parameters.name(), ".", name, " is missing: ", r.quantity, " needs it"));
  };
  // The name without its "?", which says that the parameter may be missing; empty where it is.
  const auto named = [&](std::string_view name) {
    if (!name.ends_with('?')) return name;
    name.remove_suffix(1);
    return parameters.has(name) ? name : std::string_view();
  };
  for (const std::string_view item : words_of(r.words)) {
    const auto parts = common::split(item, '=');
    const std::string_view name = named(parts.front());
    if (!name.empty()) static_cast<void>(find(name).word(parts.size() > 1 ? parts.back() : ""));
  }
  for (const std::string_view list : {r.numbers, gpu ? r.gpu : r.cpu}) {
    for (const std::string_view item : words_of(list)) {
      const std::string_view name = named(item);
      if (!name.empty()) static_cast<void>(find(name).not_negative());
    }
  }
  if (parameters.has("ranks")) static_cast<void>(parameters["ranks"].whole(1.0));
  if (parameters.has("draft_length")) static_cast<void>(parameters["draft_length"].whole(0.0));
  for (const std::string_view name : words_of(r.flags)) static_cast<void>(find(name).truth());
}

inline std::vector<double> read_samples(const field& samples, std::string_view unit) {
  std::vector<double> out;
  for (const field& s : samples.list()) {
    const double x = s.finite();
    const bool zero = x == 0.0 && unit == "1";
    if (!zero && x < 1e-30) {
      s.refuse(recording_fault::bad_sample,
               unit == "1" ? "0, or from 1e-30 on" : "more than 0, from 1e-30 on");
    }
    out.push_back(x);
  }
  if (out.empty()) samples.refuse(recording_fault::no_samples, "at least one sample");
  return out;
}

inline point read_point(const field& f, std::string_view experiment, bool gpu) {
  f.only({"quantity", "unit", "parameters", "samples", "throttled"});
  const quantity_rule r = rule_of(f["quantity"], experiment);
  point p;
  p.quantity = r.quantity;
  p.unit = f["unit"].text();
  if (p.unit != r.unit) {
    f["unit"].refuse(recording_fault::wrong_unit, cat("\"", r.unit, "\" for ", r.quantity));
  }
  const field parameters = f["parameters"];
  parameters.object();
  require_parameters(parameters, r, gpu);
  for (const auto& item : parameters.raw().items()) {
    const field q = parameters[item.key().c_str()];
    if (q.raw().is_boolean()) {
      p.parameters.emplace_back(item.key(), q.truth());
    } else if (q.raw().is_number()) {
      p.parameters.emplace_back(item.key(), q.number());
    } else if (q.raw().is_string()) {
      p.parameters.emplace_back(item.key(), q.text());
    } else {
      q.refuse(recording_fault::wrong_type, "a number, a text, true or false");
    }
  }
  p.samples = read_samples(f["samples"], p.unit);
  if (f.has("throttled")) p.throttled = read_samples(f["throttled"], p.unit);
  return p;
}

inline void check_experiment(const field& experiment) {
  std::vector<std::string_view> known;
  for (const quantity_rule& q : quantity_rules) {
    if (known.empty() || known.back() != q.experiment) known.push_back(q.experiment);
  }
  if (std::find(known.begin(), known.end(), program_of(experiment.text())) != known.end()) return;
  experiment.refuse(recording_fault::unknown_experiment, common::listed(known));
}

inline std::vector<check_result> read_checks(const field& checks, bool needed) {
  std::vector<check_result> out;
  for (const field& c : checks.list()) {
    c.only({"name", "error", "tolerance"});
    out.push_back({c["name"].some_text(), c["error"].deviation(), c["tolerance"].deviation()});
    if (out.back().error <= out.back().tolerance) continue;
    c["error"].refuse(recording_fault::failed_check,
                      cat("up to ", number_text(out.back().tolerance)));
  }
  if (needed && out.empty()) {
    checks.refuse(recording_fault::no_checks, "at least one, of a measured recording");
  }
  return out;
}

/// Reads the whole file.
inline recorded read(const field& top) {
  if (!top.raw().is_object() || !top.has("schema") ||
      top["schema"].raw() != std::string(recording_schema)) {
    throw recording_error(recording_fault::wrong_schema,
                          cat("schema is not \"", recording_schema, "\""));
  }
  const field version = top["version"];
  if (version.whole(1.0) > recording_version) {
    version.refuse(recording_fault::future_version, cat("up to ", recording_version));
  }
  recorded r;
  r.measured = top["origin"].word("measured|published") == "measured";
  top.only({"schema", "version", "experiment", "law", "origin", r.measured ? "run" : "source",
            "device", "state", "checks", "skipped", "failed", "points"});
  r.experiment = top["experiment"].text();
  check_experiment(top["experiment"]);
  r.law = top["law"].some_text();
  r.device = read_device(top["device"], r.measured);
  const bool gpu = r.device.kind == "gpu";
  if (r.measured) {
    r.run = read_run(top["run"], gpu);
  } else {
    const field s = top["source"].only({"citation", "address"});
    r.source.citation = s["citation"].some_text();
    if (s.has("address")) r.source.address = s["address"].some_text();
  }
  if (top.has("state")) {
    const field state = top["state"].only({"before", "after"});
    if (state.has("before")) r.before = read_state(state["before"]);
    if (state.has("after")) r.after = read_state(state["after"]);
  }
  for (const field& s : top["skipped"].list()) {
    s.only({"part", "reason"});
    r.skipped.push_back({s["part"].some_text(), s["reason"].some_text()});
  }
  if (top.has("failed")) {
    for (const field& f : top["failed"].list()) {
      f.only({"part", "reason"});
      r.failed.push_back({f["part"].some_text(), f["reason"].some_text()});
    }
  }
  for (const field& p : top["points"].list()) {
    r.points.push_back(read_point(p, r.experiment, gpu));
  }
  r.checks = read_checks(top["checks"], r.measured && !(r.points.empty() && !r.failed.empty()));
  if (r.points.empty() && r.failed.empty())
    top["points"].refuse(recording_fault::no_points, "at least one point");
  return r;
}

/// Hundreds of times the longest recording that a program here writes.
inline constexpr std::uintmax_t largest_recording = std::uintmax_t{16} << 20U;

}  // namespace detail

/// Reads and checks one recording. Errors: recording_error, which names the file, the field, what
/// it was and what is allowed. Tests: one tampered recording for every fault.
inline recorded read_recording(const std::string& file) {
  try {
    std::string why;
    const auto text = common::try_read(file, detail::largest_recording, why);
    if (!text) throw recording_error(recording_fault::unreadable, why);
    if (text->empty()) {
      throw recording_error(recording_fault::unreadable, "cannot be read: it is empty");
    }
    common::json parsed;
    common::read_json(*text, parsed, {.depth = 16, .keys = 4096, .report = detail::report});
    recorded r = detail::read(common::json_field(parsed, {}, detail::report));
    r.file = file;
    return r;
  } catch (const recording_error& e) {
    throw recording_error(e.fault(), cat(file, ": ", shown(e.what(), 600)));
  }
}

}  // namespace perfmodel::validation
