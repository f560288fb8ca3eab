#include "picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
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
      return cat("with points pt ", shapes[index % shapes.size()], " ps 0.8 lc rgb '", colour, "'");
    }
    case mark::line: return cat("with lines lw 2 lc rgb '", colour, "'");
    case mark::dashed: return cat("with lines lw 2 dt (8,6) lc rgb '", colour, "'");
    case mark::band:
      return cat("using 1:2:3 with filledcurves fs transparent solid 0.25 noborder lc rgb '",
                 colour, "'");
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
    out += cat(first ? "" : ", ", "\"");
    out += cat(number(std::ldexp(1.0, power - 10 * unit)), " ");
    out += cat(units[static_cast<std::size_t>(unit)], "\" ");
    out += number(std::pow(2.0, power));
    first = 0;
  }
  out += cat(")\nset xrange [", number(least / 1.5), ":");
  return cat(out, number(most * 1.5), "]\n");
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

namespace {

/// Data first: a datablock cannot be defined inside multiplot.
std::string data_blocks(const picture& p) {
  std::string s;
  int block = 0;
  for (const panel& q : p.panels) {
    for (const series& l : q.lines) {
      s += cat("$d", block++, " << EOD\n");
      for (const auto& row : l.rows) {
        s += cat(number(row[0]), " ", number(row[1]));
        if (l.as == mark::band) s += cat(" ", number(row[2]));
        s += "\n";
      }
      s += "EOD\n";
    }
  }
  return s;
}

std::string axes(const picture& p) {
  const auto range = [](const char* axis, double least, double most) {
    return most > least ? cat("set ", axis, "range [", number(least), ":", number(most), "]\n")
                        : std::string();
  };
  return cat(p.log_x ? "set logscale x\n" : "", p.log_y ? "set logscale y\n" : "",
             p.bytes_on_x ? byte_ticks(p)
             : !p.log_x   ? ""
             : p.plain_x  ? "set format x '%h'\n"
                          : "set format x '%.0s%c'\n",
             p.log_y ? "set format y '%h'\n" : "",
             p.y_ticks.empty() ? "" : cat("set ytics (", p.y_ticks, ")\n"),
             range("y", p.y_least, p.y_most), range("x", p.x_least, p.x_most), "set xlabel ",
             quoted_title(p.x_label), "\nset ylabel ", quoted_title(p.y_label), "\n");
}

std::string plots(const picture& p) {
  std::string s;
  int block = 0;
  for (const panel& q : p.panels) {
    std::string lines;
    for (const series& l : q.lines) {
      const int data = block++;
      if (l.rows.empty()) continue;
      lines += cat(lines.empty() ? "" : ", \\\n  ", "$d", data, " ",
                   style_of(l, static_cast<std::size_t>(l.colour)),
                   l.title.empty() ? " notitle" : cat(" title ", quoted_title(l.title)));
    }
    s += cat("set title ", quoted_title(q.title), "\nplot ", lines.empty() ? "1/0 notitle" : lines,
             "\n");
  }
  return s;
}

}  // namespace

std::string gnuplot_script(const picture& p, const std::string& terminal, const std::string& file) {
  const int count = static_cast<int>(p.panels.size());
  const int columns = count < p.columns ? count : p.columns;
  const int rows = (count + columns - 1) / columns;
  const int width = columns == 1 ? 900 : 520 * columns;
  const int height = (p.legend.empty() ? 70 : 90) + (columns == 1 ? 560 : 400) * rows;
  const std::string title =
      quoted_title(p.title) + (p.legend.empty() ? "" : cat(".\"\\n\".", quoted_title(p.legend)));
  return cat(data_blocks(p), "set terminal ", terminal, " noenhanced size ", width, ",", height,
             " font 'DejaVu Sans,13' background rgb 'white'\nset output '", file,
             "'\nset multiplot layout ", rows, ",", columns, " title ", title,
             p.legend.empty() ? " font 'DejaVu Sans,16'" : " font 'DejaVu Sans,12'",
             "\nset grid lc rgb '#dddddd' lt 1\nset tics nomirror\nset key ", p.key,
             " font 'DejaVu Sans,11' spacing 1.1 samplen 2 box lc rgb '#cccccc' opaque\n", axes(p),
             plots(p), "unset multiplot\n");
}

bool has_gnuplot() {
  return std::system("command -v gnuplot >/dev/null 2>&1") == 0;  // NOLINT: no input in it
}

void draw(const picture& p, const std::string& folder) {
  namespace fs = std::filesystem;
  std::string pattern = (fs::temp_directory_path() / "perfmodel_picture_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error(cat("no folder can be made in ", fs::temp_directory_path().string()));
  }
  const fs::path scratch = pattern;
  for (const auto& [terminal, ending] :
       {std::pair<const char*, const char*>{"pngcairo", ".png"}, {"svg", ".svg"}}) {
    const fs::path script = scratch / cat(p.name, ".gp");
    const fs::path result = scratch / cat(p.name, ending);
    const fs::path said = scratch / "said.txt";
    std::ofstream(script) << gnuplot_script(p, terminal, result.string());
    const std::string command = cat("gnuplot '", script.string(), "' >'", said.string(), "' 2>&1");
    const int status = std::system(command.c_str());  // NOLINT: paths of our own making
    std::ifstream output(said);
    const std::string text((std::istreambuf_iterator<char>(output)),
                           std::istreambuf_iterator<char>());
    if (status != 0 || !fs::exists(result) || fs::file_size(result) == 0) {
      fs::remove_all(scratch);
      throw std::runtime_error(cat("gnuplot could not draw ", p.name, ": ", text));
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
