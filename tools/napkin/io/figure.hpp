// Figures: panels of lines, points, bands and bars, drawn as SVG, PNG or text for a terminal.
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
  line,    ///< points joined by straight lines
  dashed,  ///< dashed line: a bound
  steps,   ///< each value holds up to the next x
  points,
  band  ///< area between y and upper: an interval
};

/// Series of points; values that are not finite interrupt its line. On a logarithmic axis values of
/// 0 and below do so too.
struct plot_series {
  std::string label{};  ///< name in the legend; empty: none
  std::vector<double> x{}, y{};
  plot_style style = plot_style::line;
  bool is_filled = false;             ///< area down to the x axis
  std::vector<double> upper{};        ///< upper edge of a band
  std::vector<std::string> labels{};  ///< text next to each point
  std::vector<std::string> names{};   ///< what a point is, for a tooltip
  std::string colour{};               ///< "#0072b2"; empty: the next of the palette
  bool has_marks = false;             ///< a mark at each point of a line
  bool is_ring = false;               ///< large open marks: the point that was asked for
};

/// Line across a panel at a value of one axis: a limit, a mean.
struct plot_rule {
  std::string label{};
  double at = 0.0;
  bool is_vertical = false;
};

/// Horizontal bar of a row. Rows stand in the order of their first bars. Bars of one row that
/// touch are stacked; a waterfall has one bar per row, each from the end of the one before.
struct plot_bar {
  std::string row{};
  double from = 0.0, to = 0.0;
  std::string series{};  ///< name in the legend: what limits it
  std::string colour{};
  std::string text{};  ///< next to the bar: its value
};

struct plot_panel {
  std::string title{};
  plot_axis x{}, y{};
  std::vector<plot_series> series{};
  std::vector<plot_rule> rules{};
  std::vector<plot_bar> bars{};  ///< a panel has bars, or series
};

/// Panels in rows of `columns` panels, below a title. Long lines are wrapped.
struct figure {
  std::string title{};
  std::string subtitle{};
  std::string source{};  ///< last line: where the numbers are from
  std::string note{};    ///< sentence in place of panels: why there is nothing to draw
  std::vector<plot_panel> panels{};
  int columns = 1;
  double width = 800.0;         ///< width of the page in pixels
  double panel_height = 420.0;  ///< height of a panel of series, labels included
};

/// The figure as an SVG document on white paper. It depends on no font or script, and is equal for
/// equal input. Marks carry their values as data-x and data-y, in base units, with 9 digits; text
/// next to points is moved aside, or left out where there is no room.
/// *Test*: tests/cli/plots.sh reads documents as XML, and compares marks with answers.
std::string svg_of(const figure& f);

/// The figure in at most `columns` columns of plain characters. Each series has a letter of its
/// own; of points in one cell the last series shows.
/// *Test*: tests/unit/figures.cpp, a picture drawn by hand.
std::string text_of(const figure& f, std::size_t columns = 100);

/// Writes a figure to FILE.svg or FILE.png; "-" or "text" gives the text back, for standard output.
/// PNG needs rsvg-convert (Debian and Ubuntu: librsvg2-bin). Throws perfmodel::error for another
/// ending, for an unwritable file, and where rsvg-convert is missing or fails.
std::string write_figure(const figure& f, const std::string& path);
/// Throws the error of write_figure that the path alone shows: another ending, no rsvg-convert.
void require_figure_path(const std::string& path);

/// Colour of an engine, a format, or a limiter: one word has one colour in all figures. Other words
/// give "", which takes the next of the palette. Colours: Okabe and Ito, Color Universal Design
/// (2008), told apart by colour-blind readers.
std::string colour_of(std::string_view word);
/// The palette in the order of use; index is taken modulo its size.
std::string palette_colour(std::size_t index);

/// Table of a sweep: names of columns, and rows of as many numbers or words. Cells that are empty
/// are gaps: infeasible results.
struct plot_table {
  std::vector<std::string> columns{};
  std::vector<std::vector<std::string>> rows{};
};
/// One panel per y key over the x key, one line per value of the group key ("": one line).
/// Axes are logarithmic where positive values span a factor of 20 and grow by factors. Keys ending
/// in _s, bytes, _per_s have their units. An x column of words is numbered 1, 2, ... and named in
/// the axis label. Throws std::invalid_argument for a key that is no column.
figure of_table(const plot_table& table, const std::string& x_key,
                const std::vector<std::string>& y_keys, const std::string& group_key = {});

/// Bar characters of rising height, one for each of `columns` equal parts of the values, from 0 to
/// the largest value. Means are shown where a part has several values.
std::string sparkline(std::span<const double> values, std::size_t columns);

}  // namespace common
