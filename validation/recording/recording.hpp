// What an experiment measured, as it is written down: docs/recordings.md.
//
// The programs that measure include this and nothing but the standard library and their device's
// toolkit; hence JSON is written by these few lines. It is read, and every field checked, in
// read_recording.hpp.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace perfmodel::validation {

inline constexpr std::string_view recording_schema = "perfmodel.recording";
inline constexpr int recording_version = 1;

/// A result that is wrong, or no result. The program that meets one records nothing.
class measurement_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using value = std::variant<double, bool, std::string>;

/// A named value. Integers up to 2^53 are exact.
struct parameter {
  std::string name;
  value is;

  parameter(std::string n, const char* v) : name(std::move(n)), is(std::string(v)) {}
  parameter(std::string n, std::string v) : name(std::move(n)), is(std::move(v)) {}
  parameter(std::string n, bool v) : name(std::move(n)), is(v) {}
  template <class Number>
    requires(std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>)
  parameter(std::string n, Number v) : name(std::move(n)), is(static_cast<double>(v)) {}
};
using parameters = std::vector<parameter>;

struct point {
  std::string quantity;
  std::string unit;
  validation::parameters parameters;
  std::vector<double> samples;
};

struct check_result {
  std::string name;
  double error = 0;
  double tolerance = 0;
};

struct skipped_part {
  std::string part;
  std::string reason;
};

struct cache_level {
  int level = 0;
  double bytes = 0;
  int threads = 0;  ///< hardware threads that share one
};

/// What was measured on. Fields of the other kind of device are not written.
struct device_description {
  std::string kind{};         ///< gpu or cpu
  std::string name{};         ///< as its driver or operating system calls it
  std::string accelerator{};  ///< in perfmodel's catalogue, or empty
  double memory_bytes = 0;
  double sm_clock_hz = 0;  ///< the highest of an SM, or of a core
  // a GPU
  std::string compute_capability{};
  int sms = 0;
  int gpus = 0;
  double l2_bytes = 0;
  double shared_memory_per_sm_bytes = 0;
  int memory_bus_bits = 0;
  double memory_clock_hz = 0;
  // a CPU
  int cores = 0;
  int threads = 0;
  std::vector<cache_level> caches{};
};

/// Clocks, power and slow-downs at one moment.
struct device_state {
  double sm_clock_hz = 0;
  double memory_clock_hz = 0;
  double power_w = 0;
  double temperature_c = 0;
  std::vector<std::string> slowdown{};
};

struct run_description {
  std::string date{};      ///< in UTC, as 2026-01-31T12:00:00Z
  std::string revision{};  ///< of git, or unknown
  bool modified = false;
  std::string program{};
  std::string compiler{};
  std::string toolkit{};  ///< of a GPU
  std::string driver{};   ///< of a GPU
  bool reduced = false;
};

inline std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return std::string(text.data(), n);
}

namespace detail {

inline std::string number_text(double x) {
  if (!std::isfinite(x)) throw measurement_error("a recording holds no NaN and no infinity");
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x).ptr;
  return std::string(text.data(), end);
}

inline std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view digits = "0123456789abcdef";
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4U];
      out += digits[static_cast<unsigned char>(c) & 15U];
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

inline std::string value_text(const value& v) {
  if (const double* number = std::get_if<double>(&v)) return number_text(*number);
  if (const bool* truth = std::get_if<bool>(&v)) return *truth ? "true" : "false";
  return detail::quoted(std::get<std::string>(v));
}

/// A JSON object on one line.
inline std::string object_text(const parameters& fields) {
  std::string out = "{";
  for (const parameter& f : fields) {
    if (out.size() > 1) out += ", ";
    out += detail::quoted(f.name);
    out += ": ";
    out += value_text(f.is);
  }
  out += "}";
  return out;
}

inline std::string list_text(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& i : items) {
    if (out.size() > 1) out += ", ";
    out += i;
  }
  out += "]";
  return out;
}

}  // namespace detail

/// One experiment on one device. Errors: measurement_error where a check fails, a point has no
/// samples or one that is not finite or, but for the unit 1, not positive; nothing is written then.
class recording {
 public:
  recording(std::string experiment, std::string law, device_description on, run_description run)
      : experiment_(std::move(experiment)),
        law_(std::move(law)),
        on_(std::move(on)),
        run_(std::move(run)) {}

  void state_before(device_state s) { before_.push_back(std::move(s)); }
  void state_after(device_state s) { after_.push_back(std::move(s)); }

  /// Notes that a result is within `tolerance` of its reference, or throws.
  void check(std::string name, double error, double tolerance) {
    if (!(error <= tolerance)) {
      std::string text = "check failed: " + name;
      text.append(": error ").append(std::isfinite(error) ? detail::number_text(error) : "NaN");
      text.append(", allowed ").append(detail::number_text(tolerance));
      throw measurement_error(text);
    }
    checks_.push_back({std::move(name), error, tolerance});
  }

  void skip(std::string part, std::string reason) {
    skipped_.push_back({std::move(part), std::move(reason)});
  }

  void add(point p) {
    if (p.samples.empty()) throw measurement_error(p.quantity + ": no samples");
    for (const double s : p.samples) {
      if (!std::isfinite(s) || s < 0.0 || (s == 0.0 && p.unit != "1")) {
        throw measurement_error(p.quantity + ": a sample is zero, negative or not a number");
      }
    }
    points_.push_back(std::move(p));
  }

  const std::vector<point>& points() const { return points_; }
  const std::vector<check_result>& checks() const { return checks_; }
  const std::vector<skipped_part>& skipped() const { return skipped_; }

  void write(std::ostream& out) const {
    if (checks_.empty()) throw measurement_error(experiment_ + ": no result was checked");
    if (points_.empty()) throw measurement_error(experiment_ + ": nothing was measured");
    using detail::object_text;
    out << "{\n  \"schema\": " << detail::quoted(recording_schema)
        << ",\n  \"version\": " << recording_version
        << ",\n  \"experiment\": " << detail::quoted(experiment_)
        << ",\n  \"law\": " << detail::quoted(law_) << ",\n  \"origin\": \"measured\",\n";
    parameters run{{"date", run_.date},
                   {"revision", run_.revision},
                   {"modified", run_.modified},
                   {"program", run_.program},
                   {"compiler", run_.compiler}};
    if (on_.kind == "gpu") {
      run.emplace_back("toolkit", run_.toolkit);
      run.emplace_back("driver", run_.driver);
    }
    run.emplace_back("reduced", run_.reduced);
    out << "  \"run\": " << object_text(run) << ",\n  \"device\": " << device_text() << ",\n";
    if (!before_.empty() || !after_.empty()) {
      out << "  \"state\": {";
      if (!before_.empty()) out << "\"before\": " << state_text(before_.back());
      if (!before_.empty() && !after_.empty()) out << ", ";
      if (!after_.empty()) out << "\"after\": " << state_text(after_.back());
      out << "},\n";
    }
    std::vector<std::string> lines;
    for (const check_result& c : checks_) {
      lines.push_back(
          object_text({{"name", c.name}, {"error", c.error}, {"tolerance", c.tolerance}}));
    }
    write_list(out, "checks", lines, ",\n");
    lines.clear();
    for (const skipped_part& s : skipped_) {
      lines.push_back(object_text({{"part", s.part}, {"reason", s.reason}}));
    }
    write_list(out, "skipped", lines, ",\n");
    lines.clear();
    for (const point& p : points_) {
      std::string text = "{\"quantity\": " + detail::quoted(p.quantity);
      text.append(", \"unit\": ").append(detail::quoted(p.unit));
      text.append(", \"parameters\": ").append(object_text(p.parameters));
      std::vector<std::string> samples;
      for (const double s : p.samples) samples.push_back(detail::number_text(s));
      text.append(", \"samples\": ").append(detail::list_text(samples)).append("}");
      lines.push_back(std::move(text));
    }
    write_list(out, "points", lines, "\n");
    out << "}\n";
  }

  void write(const std::string& path) const {
    std::ostringstream text;
    write(text);  // all of it or nothing
    std::ofstream file(path);
    file << text.str();
    file.flush();
    if (!file) throw measurement_error("cannot write " + path);
  }

 private:
  static void write_list(std::ostream& out, std::string_view name,
                         const std::vector<std::string>& lines, std::string_view end) {
    out << "  \"" << name << "\": [";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out << (i == 0 ? "\n    " : ",\n    ") << lines[i];
    }
    out << (lines.empty() ? "]" : "\n  ]") << end;
  }

  static std::string state_text(const device_state& s) {
    std::string out = detail::object_text({{"sm_clock_hz", s.sm_clock_hz},
                                           {"memory_clock_hz", s.memory_clock_hz},
                                           {"power_w", s.power_w},
                                           {"temperature_c", s.temperature_c}});
    out.pop_back();
    std::vector<std::string> reasons;
    for (const std::string& r : s.slowdown) reasons.push_back(detail::quoted(r));
    out.append(", \"slowdown\": ").append(detail::list_text(reasons)).append("}");
    return out;
  }

  std::string device_text() const {
    parameters fields{{"kind", on_.kind},
                      {"name", on_.name},
                      {"accelerator", on_.accelerator},
                      {"memory_bytes", on_.memory_bytes},
                      {"sm_clock_hz", on_.sm_clock_hz}};
    if (on_.kind == "gpu") {
      fields.emplace_back("compute_capability", on_.compute_capability);
      fields.emplace_back("sms", on_.sms);
      fields.emplace_back("gpus", on_.gpus);
      fields.emplace_back("l2_bytes", on_.l2_bytes);
      fields.emplace_back("shared_memory_per_sm_bytes", on_.shared_memory_per_sm_bytes);
      fields.emplace_back("memory_bus_bits", on_.memory_bus_bits);
      fields.emplace_back("memory_clock_hz", on_.memory_clock_hz);
      return detail::object_text(fields);
    }
    fields.emplace_back("cores", on_.cores);
    fields.emplace_back("threads", on_.threads);
    std::string out = detail::object_text(fields);
    out.pop_back();
    std::vector<std::string> levels;
    for (const cache_level& c : on_.caches) {
      levels.push_back(
          detail::object_text({{"level", c.level}, {"bytes", c.bytes}, {"threads", c.threads}}));
    }
    out.append(", \"caches\": ").append(detail::list_text(levels)).append("}");
    return out;
  }

  std::string experiment_, law_;
  device_description on_;
  run_description run_;
  std::vector<device_state> before_, after_;
  std::vector<check_result> checks_;
  std::vector<skipped_part> skipped_;
  std::vector<point> points_;
};

}  // namespace perfmodel::validation
