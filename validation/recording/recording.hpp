// What an experiment measured, as it is written down: validation/recording/README.md.
//
// The programs that measure include this and nothing but the standard library and their device's
// toolkit; hence JSON is written by these few lines. It is read, and every field checked, in
// read_recording.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <exception>
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

/// A result that is wrong, or no result: nothing that depends on it is recorded.
class measurement_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something that this device or library does not have: skipped, and no failure.
class not_available : public measurement_error {
 public:
  using measurement_error::measurement_error;
};

/// Why a program measures no further: its time is up, it was told to stop, its device is lost.
class run_stopped : public std::runtime_error {
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

/// What repetitions of one measurement gave and, where it is known, the SM clock during each.
struct repetitions : std::vector<double> {
  using std::vector<double>::vector;
  repetitions() = default;
  repetitions(std::vector<double> samples) : vector(std::move(samples)) {}  // NOLINT: the same
  std::vector<double> sm_clock_hz{};
};

struct point {
  std::string quantity;
  std::string unit;
  validation::parameters parameters;
  repetitions samples;
  std::vector<double> throttled{};  ///< samples at a lower clock than the others; not of `samples`
};

/// A sample is throttled if its SM clock is below this share of its point's median.
inline constexpr double throttled_below = 0.97;

struct check_result {
  std::string name;
  double error = 0;
  double tolerance = 0;
};

struct skipped_part {
  std::string part;
  std::string reason;
};

/// What was measured, or was to be, and is no number: a check of it failed, or a call.
struct failed_part {
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
  std::string name{};         ///< name by its driver or operating system
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
  std::string revision{};  ///< git revision, or unknown
  bool modified = false;
  std::string program{};
  std::string compiler{};
  std::string toolkit{};  ///< CUDA toolkit version, of a GPU's recording
  std::string driver{};   ///< GPU driver version
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

/// What a recording asks of the program that fills it.
class recording_host {
 public:
  virtual ~recording_host() = default;
  /// Before a part and before a point. Throws run_stopped where nothing more is to be measured.
  virtual void go_on() {}
  /// May add parameters to a point.
  virtual void describe(point&) {}
  /// Called in the handler of what ended a part. Throws where no other part can be measured.
  virtual void failed(const failed_part&) {}
};

/// One experiment on one device. With save_to() the file is there from the first point on, and says
/// until the end that the rest is missing. Errors: measurement_error where a check fails, a point
/// has no samples or one that is not finite or, but for the unit 1, not positive.
class recording {
 public:
  recording(std::string experiment, std::string law, device_description on, run_description run)
      : experiment_(std::move(experiment)),
        law_(std::move(law)),
        on_(std::move(on)),
        run_(std::move(run)) {}

  void state_before(device_state s) { before_.push_back(std::move(s)); }
  void state_after(device_state s) { after_.push_back(std::move(s)); }
  void watched_by(recording_host& host) { host_ = &host; }
  void save_to(std::string path) { path_ = std::move(path); }

  /// A part of a recording: checks, and the points that depend on them. `measure` makes both; its
  /// points count, and are saved, when it ends. If it throws, none of them counts, the part is
  /// recorded as failed (as skipped, on not_available), and the program goes on. Parts may be
  /// nested: the checks of the inner ones then come first.
  template <class Measure>
  void part(const std::string& name, Measure measure) {
    if (host_ != nullptr) host_->go_on();
    const std::size_t points = points_.size(), checks = checks_.size();
    const auto take_back = [&] {
      points_.resize(points);
      checks_.resize(checks);
      --open_parts_;
    };
    ++open_parts_;
    try {
      measure();
      --open_parts_;
      save();
    } catch (const run_stopped&) {
      take_back();
      throw;
    } catch (const not_available& e) {
      take_back();
      skip(name, e.what());
    } catch (const std::exception& e) {
      take_back();
      fail(name, e.what());
      if (host_ == nullptr) throw;
      host_->failed(failed_.back());
    }
  }

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
  void fail(std::string part, std::string reason) {
    failed_.push_back({std::move(part), std::move(reason)});
  }

  void add(point p) {
    if (host_ != nullptr) host_->go_on();
    if (p.samples.empty()) throw measurement_error(p.quantity + ": no samples");
    for (const double s : p.samples) {
      if (!std::isfinite(s) || s < 0.0 || (s == 0.0 && p.unit != "1")) {
        throw measurement_error(p.quantity + ": a sample is zero, negative or not a number");
      }
    }
    set_clock(p);
    if (host_ != nullptr) host_->describe(p);
    points_.push_back(std::move(p));
    if (open_parts_ == 0) save();
  }

  const std::vector<point>& points() const { return points_; }
  const std::vector<check_result>& checks() const { return checks_; }
  const std::vector<skipped_part>& skipped() const { return skipped_; }
  const std::vector<failed_part>& failed() const { return failed_; }

  void write(std::ostream& out) const {
    if (checks_.empty() && !points_.empty()) {
      throw measurement_error(experiment_ + ": no result was checked");
    }
    if (points_.empty() && failed_.empty()) {
      throw measurement_error(experiment_ + ": nothing was measured");
    }
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
    for (const failed_part& f : failed_) {
      lines.push_back(object_text({{"part", f.part}, {"reason", f.reason}}));
    }
    if (!lines.empty()) write_list(out, "failed", lines, ",\n");
    lines.clear();
    for (const point& p : points_) lines.push_back(point_text(p));
    write_list(out, "points", lines, "\n");
    out << "}\n";
  }

  /// All of it, or what was there before.
  void write(const std::string& path) const {
    std::ostringstream text;
    write(text);
    const std::string beside = path + ".new";
    std::ofstream file(beside);
    file << text.str();
    file.close();
    if (!file || std::rename(beside.c_str(), path.c_str()) != 0) {
      throw measurement_error("cannot write " + path);
    }
  }

 private:
  /// What there is so far, as of a program that may not live to write more.
  void save() {
    if (path_.empty() || points_.empty()) return;
    fail("the rest", "not measured when this was written");
    try {
      write(path_);
    } catch (const measurement_error& e) {
      throw run_stopped(e.what());
    }
    failed_.pop_back();
  }

  /// The clock of a point is the median of its samples'; samples at a lower one are set aside.
  static void set_clock(point& p) {
    const std::vector<double> clocks = std::move(p.samples.sm_clock_hz);
    if (clocks.size() != p.samples.size()) return;
    std::vector<double> sorted = clocks;
    std::sort(sorted.begin(), sorted.end());
    const double median = sorted[sorted.size() / 2];
    std::vector<double> kept;
    for (std::size_t i = 0; i < clocks.size(); ++i) {
      (clocks[i] < throttled_below * median ? p.throttled : kept).push_back(p.samples[i]);
    }
    p.samples = std::move(kept);
    p.parameters.emplace_back("sm_clock_hz", median);
  }

  static std::string point_text(const point& p) {
    const auto numbers = [](const std::vector<double>& samples) {
      std::vector<std::string> items;
      for (const double s : samples) items.push_back(detail::number_text(s));
      return detail::list_text(items);
    };
    std::string text = "{\"quantity\": " + detail::quoted(p.quantity);
    text.append(", \"unit\": ").append(detail::quoted(p.unit));
    text.append(", \"parameters\": ").append(detail::object_text(p.parameters));
    text.append(", \"samples\": ").append(numbers(p.samples));
    if (!p.throttled.empty()) text.append(", \"throttled\": ").append(numbers(p.throttled));
    return text + "}";
  }

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
  std::vector<failed_part> failed_;
  std::vector<point> points_;
  recording_host* host_ = nullptr;
  std::string path_;
  int open_parts_ = 0;
};

}  // namespace perfmodel::validation
