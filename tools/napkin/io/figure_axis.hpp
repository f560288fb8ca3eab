// Axes of figures: ranges, ticks and the text of values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "figure.hpp"

namespace common {

/// Round values within `low` to `high`, about `count` of them. On a logarithmic axis: powers of 10,
/// with 2 and 5 times them where there are few.
std::vector<double> ticks_of(double low, double high, bool is_log, int count);

/// Unit of an axis with the prefix that suits `largest`: 0.02 s has the factor 1000 and "ms".
struct scaled_unit {
  double factor = 1.0;
  std::string text{};
};
scaled_unit scaled_unit_of(double largest, std::string_view unit);

/// Whether a value can be drawn.
bool is_shown(double v, bool is_log);

/// Least and largest shown value of a coordinate of all that a panel holds; 0 and 1 without any.
std::pair<double, double> ends_of(const plot_panel& p, bool of_x);

/// Values of an axis in pixels or in characters, from `begin` to `end`.
class axis_scale {
 public:
  /// `count`: about as many ticks.
  axis_scale(const plot_axis& axis, std::pair<double, double> data, double begin, double end,
             int count);
  /// Position of a value; values outside the axis are at its ends.
  double at(double v) const;
  bool holds(double v) const { return v >= low_ && v <= high_; }
  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<double>& ticks() const { return ticks_; }
  std::string tick_text(double v) const;
  std::string label_of(const plot_axis& axis) const;

 private:
  bool is_log_, is_wide_ = false;
  double begin_, end_, low_ = 0.0, high_ = 1.0;
  std::vector<double> ticks_{};
  scaled_unit unit_{};
  std::string base_unit_{};
};

/// A value with three digits, in its unit with a prefix: "19.8 ms", "443 TFLOP/s".
std::string amount_text(double v, std::string_view unit);

}  // namespace common
