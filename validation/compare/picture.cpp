#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <perfmodel/analysis/scores.hpp>
#include <stdexcept>

#include "../recording/text_file.hpp"

namespace perfmodel::validation {

namespace {

std::string number(double x) {
  std::array<char, 32> text{};
  const int n = std::snprintf(text.data(), text.size(), "%.6g", x);
  return std::string(text.data(), static_cast<std::size_t>(n));
}

/// Told apart by the colour-blind as well: Okabe and Ito's palette.
constexpr std::array<const char*, 8> palette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#7f7f7f", "#000000"};

std::string style_of(const series& s, std::size_t index) {
  const std::string colour = palette[static_cast<std::size_t>(s.colour) % palette.size()];
  switch (s.as) {
    case mark::points: {
      constexpr std::array<int, 4> shapes = {7, 5, 9, 11};
      return std::string("with points pt ")
          .append(std::to_string(shapes[index % shapes.size()]))
          .append(" ps 0.8 lc rgb '")
          .append(colour)
          .append("'");
    }
    case mark::line: return std::string("with lines lw 2 lc rgb '").append(colour).append("'");
    case mark::dashed:
      return std::string("with lines lw 2 dt (8,6) lc rgb '").append(colour).append("'");
    case mark::band:
      return std::string(
                 "using 1:2:3 with filledcurves fs transparent solid 0.25 noborder lc rgb '")
          .append(colour)
          .append("'");
  }
  return {};
}

/// In single quotes, on one line: in double quotes gnuplot would run what stands in backquotes.
std::string quoted_title(const std::string& s) {
  std::string out = "'";
  for (const char c : shown(s, 200)) {
    if (c == '\'') out += '\'';
    out += c == '`' ? ' ' : c;
  }
  return out + "'";
}

/// Three to five ticks at powers of two over what is drawn, and the range to draw.
std::string byte_ticks(const picture& p) {
  double least = 1e300, most = 0.0;
  for (const panel& q : p.panels) {
    for (const series& l : q.lines) {
      for (const auto& row : l.rows) {
        if (!(row[0] > 0.0)) continue;
        least = row[0] < least ? row[0] : least;
        most = row[0] > most ? row[0] : most;
      }
    }
  }
  if (!(most > 0.0)) return {};
  const int from = static_cast<int>(std::floor(std::log2(least)));
  const int to = static_cast<int>(std::ceil(std::log2(most)));
  const int step = (to - from) / 4 + 1;
  std::string out = "set xtics (";
  constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  for (int power = (from + step - 1) / step * step, first = 1; power <= to; power += step) {
    const int unit = std::clamp(power / 10, 0, 4);
    out.append(first ? "" : ", ").append("\"");
    out.append(number(std::ldexp(1.0, power - 10 * unit))).append(" ");
    out.append(units[static_cast<std::size_t>(unit)]).append("\" ");
    out.append(number(std::pow(2.0, power)));
    first = 0;
  }
  out.append(")\nset xrange [").append(number(least / 1.5)).append(":");
  return out.append(number(most * 1.5)).append("]\n");
}

}  // namespace

bool picture::empty() const {
  for (const panel& p : panels) {
    for (const series& s : p.lines) {
      if (!s.rows.empty()) return false;
    }
  }
  return true;
}

std::string gnuplot_script(const picture& p, const std::string& terminal, const std::string& file) {
  const int count = static_cast<int>(p.panels.size());
  const int columns = count < p.columns ? count : p.columns;
  const int rows = (count + columns - 1) / columns;
  const int width = columns == 1 ? 900 : 520 * columns;
  const int height = 70 + (columns == 1 ? 560 : 400) * rows;
  std::string s;
  // Data first: a datablock cannot be defined inside multiplot.
  int block = 0;
  for (const panel& q : p.panels) {
    for (const series& l : q.lines) {
      s.append("$d").append(std::to_string(block++)).append(" << EOD\n");
      for (const auto& row : l.rows) {
        s.append(number(row[0])).append(" ").append(number(row[1]));
        if (l.as == mark::band) s.append(" ").append(number(row[2]));
        s.append("\n");
      }
      s.append("EOD\n");
    }
  }
  s.append("set terminal ").append(terminal).append(" noenhanced size ");
  s.append(std::to_string(width)).append(",").append(std::to_string(height));
  s.append(" font 'DejaVu Sans,13' background rgb 'white'\nset output '").append(file);
  s.append("'\nset multiplot layout ").append(std::to_string(rows)).append(",");
  s.append(std::to_string(columns)).append(" title ").append(quoted_title(p.title));
  s.append(" font 'DejaVu Sans,16'\n");
  s.append("set grid lc rgb '#dddddd' lt 1\nset tics nomirror\nset key ").append(p.key);
  s.append(" font 'DejaVu Sans,11' spacing 1.1 samplen 2 box lc rgb '#cccccc' opaque\n");
  if (p.log_x) s.append("set logscale x\n");
  if (p.log_y) s.append("set logscale y\n");
  if (p.bytes_on_x)
    s.append(byte_ticks(p));
  else if (p.log_x)
    s.append(p.plain_x ? "set format x '%h'\n" : "set format x '%.0s%c'\n");
  if (p.log_y) s.append("set format y '%h'\n");
  if (!p.y_ticks.empty()) s.append("set ytics (").append(p.y_ticks).append(")\n");
  if (p.y_most > p.y_least) {
    s.append("set yrange [").append(number(p.y_least)).append(":").append(number(p.y_most));
    s.append("]\n");
  }
  if (p.x_most > p.x_least) {
    s.append("set xrange [").append(number(p.x_least)).append(":").append(number(p.x_most));
    s.append("]\n");
  }
  s.append("set xlabel ").append(quoted_title(p.x_label)).append("\n");
  s.append("set ylabel ").append(quoted_title(p.y_label)).append("\n");
  block = 0;
  for (const panel& q : p.panels) {
    s.append("set title ").append(quoted_title(q.title)).append("\nplot ");
    bool first = true;
    for (std::size_t i = 0; i < q.lines.size(); ++i) {
      const series& l = q.lines[i];
      const int data = block++;
      if (l.rows.empty()) continue;
      s.append(first ? "" : ", \\\n  ").append("$d").append(std::to_string(data)).append(" ");
      s.append(style_of(l, static_cast<std::size_t>(l.colour)));
      s.append(l.title.empty() ? " notitle" : " title ");
      if (!l.title.empty()) s.append(quoted_title(l.title));
      first = false;
    }
    if (first) s.append("1/0 notitle");
    s.append("\n");
  }
  s.append("unset multiplot\n");
  return s;
}

bool has_gnuplot() {
  return std::system("command -v gnuplot >/dev/null 2>&1") == 0;  // NOLINT: no input in it
}

void draw(const picture& p, const std::string& folder) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "perfmodel_picture_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error(
        std::string("no folder can be made in ").append(fs::temp_directory_path().string()));
  }
  const fs::path scratch = pattern;
  for (const auto& [terminal, ending] :
       {std::pair<const char*, const char*>{"pngcairo", ".png"}, {"svg", ".svg"}}) {
    const fs::path script = scratch / std::string(p.name).append(".gp");
    const fs::path result = scratch / std::string(p.name).append(ending);
    const fs::path said = scratch / "said.txt";
    std::ofstream(script) << gnuplot_script(p, terminal, result.string());
    const std::string command = std::string("gnuplot '")
                                    .append(script.string())
                                    .append("' >'")
                                    .append(said.string())
                                    .append("' 2>&1");
    const int status = std::system(command.c_str());  // NOLINT: paths of our own making
    std::ifstream output(said);
    const std::string text((std::istreambuf_iterator<char>(output)),
                           std::istreambuf_iterator<char>());
    if (status != 0 || !fs::exists(result) || fs::file_size(result) == 0) {
      fs::remove_all(scratch);
      throw std::runtime_error(
          std::string("gnuplot could not draw ").append(p.name).append(": ").append(text));
    }
    fs::copy_file(result, fs::path(folder) / result.filename(),
                  fs::copy_options::overwrite_existing);
  }
  fs::remove_all(scratch);
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
