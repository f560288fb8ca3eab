#include "picture.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <perfmodel/tools/fit/scores.hpp>
#include <stdexcept>

#include <napkin/io/text.hpp>

namespace perfmodel::validation {

using common::cat;
using common::shown;

namespace {

common::plot_series drawn_series(const series& s) {
  constexpr std::array styles = {common::plot_style::points, common::plot_style::line,
                                 common::plot_style::dashed, common::plot_style::band};
  common::plot_series out;
  out.label = shown(s.title, 200);
  out.style = styles[static_cast<std::size_t>(s.as)];
  out.colour = common::palette_colour(static_cast<std::size_t>(s.colour));
  for (const auto& [x, y, upper] : s.rows) {
    out.x.push_back(x);
    out.y.push_back(y);
    if (s.as == mark::band) out.upper.push_back(upper);
  }
  return out;
}

common::plot_axis axis_of(const std::string& label, bool is_log, double least, double most) {
  common::plot_axis out;
  out.label = label;
  out.is_log = is_log;
  if (least > 0.0 || most > 0.0) out.low = least;
  if (most > 0.0) out.high = most;
  return out;
}

}  // namespace

bool picture::empty() const {
  for (const panel& p : panels) {
    if (!p.bars.empty()) return false;
    for (const series& s : p.lines) {
      if (!s.rows.empty()) return false;
    }
  }
  return true;
}

std::string svg_of(const picture& p) {
  common::figure f;
  f.title = shown(p.title, 200);
  f.subtitle = shown(p.legend, 400);
  const auto count = static_cast<int>(p.panels.size());
  f.columns = count < p.columns ? count : p.columns;
  f.width = f.columns == 1 ? 760.0 : 470.0 * f.columns;
  f.panel_height = f.columns == 1 ? 440.0 : 340.0;
  for (const panel& q : p.panels) {
    common::plot_panel out;
    out.title = shown(q.title, 200);
    out.x = axis_of(p.x_label, p.log_x, p.x_least, p.x_most);
    out.x.unit = p.x_unit;
    out.y = axis_of(p.y_label, p.log_y, p.y_least, p.y_most);
    out.y.unit = p.y_unit;
    for (const series& s : q.lines) {
      if (!s.rows.empty()) out.series.push_back(drawn_series(s));
    }
    out.bars = q.bars;
    out.rules = q.rules;
    f.panels.push_back(std::move(out));
  }
  return common::svg_of(f);
}

void draw(const picture& p, const std::string& folder) {
  const auto file = std::filesystem::path(folder) / cat(p.name, ".svg");
  std::ofstream out(file, std::ios::binary);
  out << svg_of(p);
  if (!out.flush()) throw std::runtime_error(cat(file.string(), ": cannot be written"));
}

binned in_bins(const std::vector<std::array<double, 2>>& points, std::size_t least) {
  std::map<int, std::vector<double>> bins;
  for (const auto& [x, y] : points) {
    if (x > 0.0) bins[static_cast<int>(std::floor(2.0 * std::log10(x)))].push_back(y);
  }
  binned out;
  for (const auto& [bin, values] : bins) {
    if (values.size() < least) continue;
    const double x = std::pow(10.0, (bin + 0.5) / 2.0);
    using perfmodel::detail::quantile;
    out.median.push_back({x, quantile(values, 0.5), 0.0});
    out.range.push_back({x, quantile(values, 0.1), quantile(values, 0.9)});
  }
  return out;
}

}  // namespace perfmodel::validation
