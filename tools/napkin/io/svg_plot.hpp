// Plots: pages of panels as SVG, and rows of a few characters for a terminal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace common {

/// Axis of a panel. Its unit gets a prefix that suits the values: 20 ms, 4 kB, 10k tok/s.
struct plot_axis {
  std::string label{};
  std::string unit{};  ///< "s", "B", "FLOP/s"; "%" shows shares as per cent; empty: a plain number
  bool is_log = false;
  std::optional<double> low{}, high{};  ///< ends; default: those of the data
};

enum class plot_style {
  line,   ///< points joined by straight lines
  steps,  ///< each value holds up to the next x
  points
};

/// Series of points; values that are not finite interrupt its line. On a logarithmic axis values of
/// 0 and below do so too.
struct plot_series {
  std::string label{};
  std::vector<double> x{}, y{};
  plot_style style = plot_style::line;
  bool is_filled = false;  ///< area down to the x axis
};

/// Line across a panel at a value of one axis: a limit, a mean.
struct plot_rule {
  std::string label{};
  double at = 0.0;
  bool is_vertical = false;
};

struct plot_panel {
  std::string title{};
  plot_axis x{}, y{};
  std::vector<plot_series> series{};
  std::vector<plot_rule> rules{};
};

/// Page of panels in rows of `columns` panels.
struct plot_page {
  std::string title{};
  std::string subtitle{};
  std::vector<plot_panel> panels{};
  int columns = 1;
  double width = 960.0;         ///< width of the page in pixels
  double panel_height = 180.0;  ///< height of a panel with its labels
};

/// The page as an SVG document. It depends on no font or script, and is equal for equal input.
/// Test: tests/cli/simulate.sh reads the document as XML.
std::string svg_of(const plot_page& page);

/// Round values within `low` to `high`, about `count` of them. On a logarithmic axis: powers of 10,
/// with 2 and 5 times them where there are few.
std::vector<double> ticks_of(double low, double high, bool is_log, int count);

/// Unit of an axis with the prefix that suits `largest`: 0.02 s has the factor 1000 and "ms".
struct scaled_unit {
  double factor = 1.0;
  std::string text{};
};
scaled_unit scaled_unit_of(double largest, std::string_view unit);

/// Bar characters of rising height, one for each of `columns` equal parts of the values, from 0 to
/// the largest value. Means are shown where a part has several values.
std::string sparkline(std::span<const double> values, std::size_t columns);

}  // namespace common
