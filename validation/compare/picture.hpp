// Pictures of measured points over predicted lines, as SVG.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <napkin/io/figure.hpp>

namespace perfmodel::validation {

enum class mark {
  points,  ///< measured
  line,    ///< predicted
  dashed,  ///< the bound
  band,    ///< between two values
};

struct series {
  std::string title{};  ///< "" keeps it out of the legend
  mark as = mark::points;
  int colour = 0;                             ///< an index; series of one colour belong together
  std::vector<std::array<double, 3>> rows{};  ///< x, y and, of a band, its upper edge
};

struct panel {
  std::string title{};
  std::vector<series> lines{};
  std::vector<common::plot_bar> bars{};    ///< in place of lines
  std::vector<common::plot_rule> rules{};  ///< across the panel
};

/// One file of panels that share their axes.
struct picture {
  std::string name{};  ///< name of the files, without an ending
  std::string title{};
  std::string legend{};   ///< text below the title: marks, source and date of measurements
  std::string caption{};  ///< what to see
  /// Units are base units, "B" or "s", for ticks in kB or ns; empty: plain numbers.
  std::string x_label{}, x_unit{}, y_label{}, y_unit{};
  bool log_x = true, log_y = true;
  double y_least = 0.0, y_most = 0.0;  ///< 0: as the data asks
  double x_least = 0.0, x_most = 0.0;
  int columns = 2;
  std::vector<panel> panels{};

  bool empty() const;
};

/// The picture as an SVG document; series of one colour index have one colour in every picture.
std::string svg_of(const picture& p);

/// Writes folder/<name>.svg. Errors: std::runtime_error.
void draw(const picture& p, const std::string& folder);

/// Medians and the range of 80 % of y in bins of x, a half decade each: what a picture shows in
/// place of thousands of points. At least `least` points in a bin.
struct binned {
  std::vector<std::array<double, 3>> median, range;
};
binned in_bins(const std::vector<std::array<double, 2>>& points, std::size_t least = 5);

}  // namespace perfmodel::validation
