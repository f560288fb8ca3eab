// Pictures of measured points over predicted lines, drawn by gnuplot.
#pragma once

#include <array>
#include <string>
#include <vector>

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
};

/// One file of panels that share their axes.
struct picture {
  std::string name{};  ///< name of the files, without an ending
  std::string title{};
  std::string legend{};   ///< text below the title: marks, source and date of measurements
  std::string caption{};  ///< what to see
  std::string x_label{}, y_label{};
  bool log_x = true, log_y = true;
  double y_least = 0.0, y_most = 0.0;  ///< 0, 0: as the data asks
  double x_least = 0.0, x_most = 0.0;
  bool bytes_on_x = false;  ///< ticks as 1 KiB, 1 MiB
  bool plain_x = false;     ///< ticks as 1000, else as 1k
  std::string y_ticks{};    ///< "0.1, 1, 10"; empty: as gnuplot chooses
  int columns = 2;
  std::string key = "bottom right";
  std::vector<panel> panels{};

  bool empty() const;
};

/// The gnuplot program of a picture.
std::string gnuplot_script(const picture& p, const std::string& terminal, const std::string& file);

/// Whether gnuplot can be run.
bool has_gnuplot();

/// Draws folder/<name>.svg and .png. Errors: std::runtime_error with what gnuplot said.
void draw(const picture& p, const std::string& folder);

/// Medians and the range of 80 % of y in bins of x, a half decade each: what a picture shows in
/// place of thousands of points. At least `least` points in a bin.
struct binned {
  std::vector<std::array<double, 3>> median, range;
};
binned in_bins(const std::vector<std::array<double, 2>>& points, std::size_t least = 5);

}  // namespace perfmodel::validation
