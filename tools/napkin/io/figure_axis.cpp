#include "figure_axis.hpp"

#include <algorithm>
#include <cmath>

#include "text.hpp"

namespace common {

namespace {

/// Prefixes of units that take them.
struct prefix {
  double factor;
  const char* text;
};
constexpr prefix small_prefixes[] = {{1.0, ""}, {1e3, "m"}, {1e6, "u"}, {1e9, "n"}};
constexpr prefix large_prefixes[] = {
    {1e-15, "P"}, {1e-12, "T"}, {1e-9, "G"}, {1e-6, "M"}, {1e-3, "k"}};

/// Ends of a logarithmic axis: whole decades up to three quarters of a decade away, else a margin.
void widen_log(double& low, double& high, const plot_axis& axis) {
  if (!axis.low) low /= 1.25;
  if (!axis.high) high *= 1.25;
}

}  // namespace

scaled_unit scaled_unit_of(double largest, std::string_view unit) {
  if (unit == "%") return {100.0, "%"};
  if (unit == "s") {
    for (const prefix& p : small_prefixes) {
      if (largest * p.factor >= 1.0 || p.factor == 1e9) return {p.factor, cat(p.text, "s")};
    }
  }
  if (unit == "USD") return {1.0, "USD"};
  for (const prefix& p : large_prefixes) {
    const bool is_unit = !unit.empty() && unit != "tokens" && unit != "tok/s";
    if (largest * p.factor < (is_unit ? 1.0 : 10.0)) continue;
    return {p.factor, is_unit ? cat(p.text, unit) : cat(p.text, unit.empty() ? "" : " ", unit)};
  }
  return {1.0, std::string(unit)};
}

std::string amount_text(double v, std::string_view unit) {
  const scaled_unit u = scaled_unit_of(std::fabs(v) * (1.0 + 1e-9), unit);
  const std::string number = perfmodel::detail::significant(u.factor * v, 3);
  return u.text.empty() ? number : cat(number, unit.empty() ? "" : " ", u.text);
}

std::vector<double> ticks_of(double low, double high, bool is_log, int count) {
  std::vector<double> ticks;
  if (!(high > low) || count < 1) return ticks;
  if (is_log) {
    const double decades = std::log10(high / low);
    const int every = std::max(1, static_cast<int>(std::ceil(decades / count)));
    for (int e = static_cast<int>(std::floor(std::log10(low))); e <= std::log10(high) + 1e-9; ++e) {
      for (const double times : {1.0, 2.0, 5.0}) {
        if (times > 1.0 && decades > 0.5 * count) break;
        if (times == 1.0 && e % every != 0) break;
        const double v = times * std::pow(10.0, e);
        if (v >= low * (1.0 - 1e-9) && v <= high * (1.0 + 1e-9)) ticks.push_back(v);
      }
    }
    if (ticks.size() > 1) return ticks;
    ticks.clear();  // within a decade: as on a linear axis
  }
  const double rough = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double times : {5.0, 2.0, 1.0}) {
    if (times * power >= rough * (1.0 - 1e-9)) step = times * power;
  }
  const double from = std::ceil(low / step - 1e-9) + 0.0;  // no -0
  for (double i = from; i * step <= high + 0.999 * step && ticks.size() < 100; i += 1.0)
    ticks.push_back(i * step);
  while (ticks.size() > 1 && (is_log ? ticks.back() > high : ticks[ticks.size() - 2] >= high))
    ticks.pop_back();
  return ticks;
}

bool is_shown(double v, bool is_log) {
  return std::isfinite(v) && (!is_log || v > 0.0);
}

std::pair<double, double> ends_of(const plot_panel& p, bool of_x) {
  const bool is_log = of_x ? p.x.is_log : p.y.is_log;
  double low = HUGE_VAL, high = -HUGE_VAL;
  const auto add = [&](double v) {
    if (!is_shown(v, is_log)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  };
  for (const plot_series& s : p.series) {
    for (const double v : of_x ? s.x : s.y) add(v);
    if (of_x) continue;
    for (const double v : s.upper) add(v);
  }
  for (const plot_bar& b : p.bars) {
    if (!of_x) break;
    add(b.from);
    add(b.to);
  }
  for (const plot_rule& r : p.rules) {
    if (r.is_vertical == of_x) add(r.at);
  }
  return low <= high ? std::pair{low, high} : std::pair{0.0, 1.0};
}

axis_scale::axis_scale(const plot_axis& axis, std::pair<double, double> data, double begin,
                       double end, int count)
    : is_log_(axis.is_log), begin_(begin), end_(end), base_unit_(axis.unit) {
  low_ = axis.low.value_or(data.first);
  high_ = axis.high.value_or(data.second);
  if (is_log_) {
    if (!(low_ > 0.0)) low_ = high_ > 0.0 ? high_ / 1000.0 : 1.0;
    if (!(high_ > low_)) {
      const double one = low_;
      if (!axis.low) low_ = one / 3.0;
      high_ = one * 3.0;
    }
    widen_log(low_, high_, axis);
  } else {
    if (!axis.low && low_ > 0.0 && low_ < 0.7 * high_) low_ = 0.0;
    if (!(high_ > low_)) {
      const double half = low_ == 0.0 ? 1.0 : 0.5 * std::fabs(low_);
      if (!axis.low && low_ != 0.0) low_ -= half;
      high_ += half;
    }
  }
  ticks_ = ticks_of(low_, high_, is_log_, count);
  const bool is_vertical = end < begin;
  if (!is_vertical && !axis.high && !is_log_) high_ += 0.03 * (high_ - low_);
  if (is_vertical && !axis.high && !is_log_ && !ticks_.empty())
    high_ = std::max(high_, ticks_.back());
  unit_ = scaled_unit_of(std::max(std::fabs(low_), std::fabs(high_)), axis.unit);
  is_wide_ = is_log_ && high_ > 100.0 * low_ && axis.unit != "%";
}

double axis_scale::at(double v) const {
  const double share =
      is_log_ ? std::log(v / low_) / std::log(high_ / low_) : (v - low_) / (high_ - low_);
  return begin_ + std::clamp(share, 0.0, 1.0) * (end_ - begin_);
}

/// On a wide logarithmic axis each tick has its own prefix: 10 us, 1 ms; 100, 10k.
std::string axis_scale::tick_text(double v) const {
  if (!is_wide_) return perfmodel::detail::significant(unit_.factor * v, 4);
  const bool has_unit = base_unit_ == "s" || base_unit_ == "B";
  const scaled_unit u = scaled_unit_of(v * (1.0 + 1e-9), has_unit ? base_unit_ : "1");
  std::string prefix = u.text;
  if (!has_unit) prefix.pop_back();
  return cat(perfmodel::detail::significant(u.factor * v, 4), has_unit ? " " : "", prefix);
}

std::string axis_scale::label_of(const plot_axis& axis) const {
  const bool in_ticks = is_wide_ && (base_unit_ == "s" || base_unit_ == "B");
  const std::string unit = is_wide_ ? (in_ticks ? "" : base_unit_) : unit_.text;
  if (unit.empty()) return axis.label;
  return axis.label.empty() ? unit : cat(axis.label, " (", unit, ")");
}

}  // namespace common
