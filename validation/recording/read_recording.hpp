// Reads a recording and checks every field of it against docs/recordings.md.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "quantities.hpp"
#include "recording.hpp"
#include "text_file.hpp"

namespace perfmodel::validation {

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
  no_checks,   ///< a measurement whose results were not compared with a reference
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
    return std::string(n < 10 ? "PM-R0" : "PM-R").append(std::to_string(n));
  }

 private:
  recording_fault fault_;
};

/// Who published the numbers, and where.
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

using nlohmann::json;

/// A value of the file, and where it stands.
class field {
 public:
  field(const json& v, std::string where, const std::string& file)
      : value_(&v), where_(std::move(where)), file_(&file) {}

  [[noreturn]] void fail(recording_fault fault, const std::string& what) const {
    throw recording_error(fault, std::string(*file_).append(": ").append(shown(what, 600)));
  }
  /// "points[0].unit is "ms"; allowed: s"
  [[noreturn]] void refuse(recording_fault fault, const std::string& allowed) const {
    std::string shown = value_->dump(-1, ' ', false, json::error_handler_t::replace);
    if (shown.size() > 40) shown = shown.substr(0, 37).append("...");
    fail(fault, name().append(" is ").append(shown).append("; allowed: ").append(allowed));
  }
  std::string name() const { return where_.empty() ? "the file" : where_; }
  const json& raw() const { return *value_; }

  /// Refuses what is no object, and keys that are not in `known`.
  const field& only(std::initializer_list<std::string_view> known) const {
    if (!value_->is_object()) refuse(recording_fault::wrong_type, "an object");
    for (const auto& item : value_->items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      std::string list;
      for (const std::string_view k : known) list.append(list.empty() ? "" : ", ").append(k);
      fail(recording_fault::unknown_key,
           inside(item.key()).append(" is not a key; allowed: ").append(list));
    }
    return *this;
  }
  bool has(const char* key) const { return value_->contains(key); }
  field operator[](const char* key) const {
    const auto at = value_->find(key);
    if (at == value_->end()) fail(recording_fault::missing_key, inside(key).append(" is missing"));
    return field(*at, inside(key), *file_);
  }
  std::vector<field> list() const {
    if (!value_->is_array()) refuse(recording_fault::wrong_type, "a list");
    std::vector<field> out;
    for (const json& item : *value_) {
      std::string at = where_;
      at.append("[").append(std::to_string(out.size())).append("]");
      out.emplace_back(item, std::move(at), *file_);
    }
    return out;
  }

  std::string text() const {
    if (!value_->is_string()) refuse(recording_fault::wrong_type, "text");
    return value_->get<std::string>();
  }
  std::string some_text() const {
    std::string s = text();
    if (s.empty()) refuse(recording_fault::not_allowed, "text that is not empty");
    return s;
  }
  /// One of this|that; any text where `allowed` is empty.
  std::string word(std::string_view allowed) const {
    std::string s = some_text();
    bool found = allowed.empty();
    std::string list;
    for_each_item(allowed, '|', [&](std::string_view item) {
      found = found || item == s;
      list.append(list.empty() ? "" : ", ").append(item);
    });
    if (!found) refuse(recording_fault::not_allowed, list);
    return s;
  }
  bool truth() const {
    if (!value_->is_boolean()) refuse(recording_fault::wrong_type, "true or false");
    return value_->get<bool>();
  }
  double finite() const {
    if (!value_->is_number()) refuse(recording_fault::wrong_type, "a finite number");
    const double x = value_->get<double>();
    if (!std::isfinite(x)) refuse(recording_fault::wrong_type, "a finite number");
    // What is this far from any measurement makes infinities and zeros of products and ratios.
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
    const double x = number();
    if (x != std::floor(x) || x < least || x > 1e9) {
      refuse(recording_fault::not_allowed,
             std::string("a whole number from ").append(least > 0.0 ? "1" : "0").append(" to 1e9"));
    }
    return static_cast<int>(x);
  }

 private:
  double at_least_0(double x) const {
    if (x < 0.0) refuse(recording_fault::not_allowed, "0 or more");
    return x;
  }
  std::string inside(std::string_view key) const {
    std::string s = where_;
    s.append(s.empty() ? "" : ".").append(key);
    return s;
  }

  const json* value_;
  std::string where_;
  const std::string* file_;
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

/// Of a published recording a number may be 0: its source does not say.
inline device_description read_device(const field& f, bool measured) {
  const auto amount = [&](const char* key) {
    return measured ? f[key].positive() : f[key].not_negative();
  };
  const auto count = [&](const char* key) { return f[key].whole(measured ? 1.0 : 0.0); };
  if (!f.raw().is_object()) f.refuse(recording_fault::wrong_type, "an object");
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
    d.memory_clock_hz = amount("memory_clock_hz");
    d.sm_clock_hz = amount("sm_clock_hz");
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
  std::string list;
  for (const quantity_rule& r : quantity_rules) {
    if (r.experiment != experiment) continue;
    if (r.quantity == name) return r;
    list.append(list.empty() ? "" : ", ").append(r.quantity);
  }
  quantity.refuse(recording_fault::unknown_quantity,
                  std::string("of ").append(experiment).append(" ").append(list));
}

/// Checks that a parameter is there and of its kind.
inline void require_parameters(const field& parameters, const quantity_rule& r, bool gpu) {
  const auto find = [&](std::string_view name) {
    const std::string key(name);
    if (!parameters.has(key.c_str())) {
      parameters.fail(recording_fault::missing_parameter, parameters.name()
                                                              .append(".")
                                                              .append(key)
                                                              .append(" is missing: ")
                                                              .append(r.quantity)
                                                              .append(" needs it"));
    }
    return parameters[key.c_str()];
  };
  for_each_item(r.words, ' ', [&](std::string_view item) {
    const std::size_t equals = item.find('=');
    const std::string_view allowed =
        equals == std::string_view::npos ? std::string_view() : item.substr(equals + 1);
    static_cast<void>(find(item.substr(0, equals)).word(allowed));
  });
  for (const std::string_view list : {r.numbers, gpu ? r.gpu : r.cpu}) {
    for_each_item(list, ' ',
                  [&](std::string_view name) { static_cast<void>(find(name).not_negative()); });
  }
  if (parameters.has("ranks")) static_cast<void>(parameters["ranks"].whole(1.0));
  if (parameters.has("draft_length")) static_cast<void>(parameters["draft_length"].whole(0.0));
  for_each_item(r.flags, ' ',
                [&](std::string_view name) { static_cast<void>(find(name).truth()); });
}

inline point read_point(const field& f, std::string_view experiment, bool gpu) {
  f.only({"quantity", "unit", "parameters", "samples"});
  const quantity_rule r = rule_of(f["quantity"], experiment);
  point p;
  p.quantity = r.quantity;
  p.unit = f["unit"].text();
  if (p.unit != r.unit) {
    f["unit"].refuse(recording_fault::wrong_unit,
                     std::string("\"").append(r.unit).append("\" for ").append(r.quantity));
  }
  const field parameters = f["parameters"];
  if (!parameters.raw().is_object()) parameters.refuse(recording_fault::wrong_type, "an object");
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
  const field samples = f["samples"];
  for (const field& s : samples.list()) {
    const double x = s.finite();
    const bool zero = x == 0.0 && p.unit == "1";
    if (!zero && x < 1e-30) {
      s.refuse(recording_fault::bad_sample,
               p.unit == "1" ? "0, or from 1e-30 on" : "more than 0, from 1e-30 on");
    }
    p.samples.push_back(x);
  }
  if (p.samples.empty()) samples.refuse(recording_fault::no_samples, "at least one sample");
  return p;
}

/// Hundreds of times the longest recording that a program here writes.
inline constexpr std::uintmax_t largest_recording = std::uintmax_t{16} << 20U;

/// The JSON of a file, refusing keys that an object has twice.
inline json parse_file(const std::string& file) {
  const auto fail = [&](recording_fault fault, const std::string& what) {
    throw recording_error(fault, std::string(file).append(": ").append(shown(what, 600)));
  };
  const std::string why = why_unreadable(file, largest_recording);
  if (!why.empty()) fail(recording_fault::unreadable, why);
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  std::vector<std::set<std::string>> open;
  constexpr int deepest = 16;
  try {
    return json::parse(text.str(), [&](int depth, json::parse_event_t event, json& parsed) {
      // A recording has 5 levels. Thousands would overflow the stack of whoever walks the value.
      if (depth > deepest) {
        fail(recording_fault::not_json, "not JSON of a recording: nested more than 16 levels deep");
      }
      if (event == json::parse_event_t::object_start) open.emplace_back();
      if (event == json::parse_event_t::object_end) open.pop_back();
      if (event == json::parse_event_t::key &&
          !open.back().insert(parsed.get<std::string>()).second) {
        fail(recording_fault::duplicate_key,
             std::string(parsed.get<std::string>()).append(" stands there twice"));
      }
      return true;
    });
  } catch (const json::exception& e) {
    std::string what = e.what();
    const std::size_t name_end = what.find("] ");
    if (name_end != std::string::npos) what.erase(0, name_end + 2);
    fail(recording_fault::not_json, std::string("not JSON: ").append(what));
  }
  return {};
}

}  // namespace detail

/// Reads and checks one recording. Errors: recording_error, which names the file, the field, what
/// it was and what is allowed. Tests: one tampered recording for every fault.
inline recorded read_recording(const std::string& file) {
  using detail::field;
  const nlohmann::json parsed = detail::parse_file(file);
  const field top(parsed, "", file);
  if (!parsed.is_object() || !parsed.contains("schema") ||
      parsed["schema"] != std::string(recording_schema)) {
    top.fail(recording_fault::wrong_schema,
             std::string("schema is not \"").append(recording_schema).append("\""));
  }
  const field version = top["version"];
  if (version.whole(1.0) > recording_version) {
    version.refuse(recording_fault::future_version,
                   std::string("up to ").append(std::to_string(recording_version)));
  }

  recorded r;
  r.file = file;
  r.measured = top["origin"].word("measured|published") == "measured";
  if (r.measured) {
    top.only({"schema", "version", "experiment", "law", "origin", "run", "device", "state",
              "checks", "skipped", "points"});
  } else {
    top.only({"schema", "version", "experiment", "law", "origin", "source", "device", "state",
              "checks", "skipped", "points"});
  }
  r.experiment = top["experiment"].text();
  std::string known;
  bool found = false;
  std::string_view last;
  for (const quantity_rule& q : quantity_rules) {
    found = found || q.experiment == r.experiment;
    if (q.experiment == last) continue;
    last = q.experiment;
    known.append(known.empty() ? "" : ", ").append(last);
  }
  if (!found) top["experiment"].refuse(recording_fault::unknown_experiment, known);
  r.law = top["law"].some_text();
  r.device = detail::read_device(top["device"], r.measured);
  const bool gpu = r.device.kind == "gpu";
  if (r.measured) {
    r.run = detail::read_run(top["run"], gpu);
  } else {
    const field s = top["source"].only({"citation", "address"});
    r.source.citation = s["citation"].some_text();
    if (s.has("address")) r.source.address = s["address"].some_text();
  }
  if (top.has("state")) {
    const field state = top["state"].only({"before", "after"});
    if (state.has("before")) r.before = detail::read_state(state["before"]);
    if (state.has("after")) r.after = detail::read_state(state["after"]);
  }
  for (const field& c : top["checks"].list()) {
    c.only({"name", "error", "tolerance"});
    check_result check{c["name"].some_text(), c["error"].deviation(), c["tolerance"].deviation()};
    if (check.error > check.tolerance) {
      c["error"].refuse(recording_fault::failed_check,
                        std::string("up to ").append(detail::number_text(check.tolerance)));
    }
    r.checks.push_back(std::move(check));
  }
  if (r.measured && r.checks.empty()) {
    top["checks"].refuse(recording_fault::no_checks, "at least one, of a measured recording");
  }
  for (const field& s : top["skipped"].list()) {
    s.only({"part", "reason"});
    r.skipped.push_back({s["part"].some_text(), s["reason"].some_text()});
  }
  for (const field& p : top["points"].list()) {
    r.points.push_back(detail::read_point(p, r.experiment, gpu));
  }
  if (r.points.empty()) top["points"].refuse(recording_fault::no_points, "at least one point");
  return r;
}

}  // namespace perfmodel::validation
