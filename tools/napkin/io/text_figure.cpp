// Figures as plain characters, for a terminal.
#include <algorithm>
#include <cmath>

#include "figure_axis.hpp"
#include "figure_text.hpp"
#include "text.hpp"

namespace common {

namespace {

constexpr std::string_view letters = "ox+*#%&@";

/// Rows of characters, written cell by cell.
class canvas {
 public:
  canvas(std::size_t columns, std::size_t rows) : rows_(rows, std::string(columns, ' ')) {}
  void put(long column, long row, char c) {
    if (row < 0 || column < 0 || row >= static_cast<long>(rows_.size())) return;
    std::string& line = rows_[static_cast<std::size_t>(row)];
    if (column < static_cast<long>(line.size())) line[static_cast<std::size_t>(column)] = c;
  }
  void put(long column, long row, std::string_view text) {
    for (const char c : text) put(column++, row, c);
  }
  const std::vector<std::string>& rows() const { return rows_; }

 private:
  std::vector<std::string> rows_;
};

std::string right_aligned(const std::string& text, std::size_t width) {
  const std::size_t n = length_of(text);
  return n < width ? std::string(width - n, ' ') + text : text;
}
std::string without_blanks(std::string s) {
  s.erase(s.find_last_not_of(' ') + 1);
  return s + "\n";
}

/// Cell of a value, from 0 to n - 1.
long cell(const axis_scale& scale, double v) {
  return std::lround(scale.at(v));
}

void draw_lines(canvas& to, const plot_panel& p, const plot_series& s, char mark,
                const axis_scale& x, const axis_scale& y) {
  const std::size_t n = std::min(s.x.size(), s.y.size());
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const auto shows = [&](std::size_t k) {
      return is_shown(s.x[k], p.x.is_log) && is_shown(s.y[k], p.y.is_log);
    };
    if (!shows(i) || !shows(i + 1)) continue;
    const double x1 = x.at(s.x[i]), y1 = y.at(s.y[i]), x2 = x.at(s.x[i + 1]);
    const double y2 = y.at(s.y[i + 1]);
    const int steps =
        std::max(1, static_cast<int>(std::ceil(std::max(std::fabs(x2 - x1), std::fabs(y2 - y1)))));
    for (int k = 0; k <= steps; ++k) {
      const double share = static_cast<double>(k) / steps;
      const double at = s.style == plot_style::steps ? y1 : y1 + share * (y2 - y1);
      to.put(std::lround(x1 + share * (x2 - x1)), std::lround(at), mark);
    }
  }
}

void draw_series(canvas& to, const plot_panel& p, const plot_series& s, char mark,
                 const axis_scale& x, const axis_scale& y) {
  if (s.style == plot_style::band) return;
  const char of_line = s.style == plot_style::dashed ? '.' : mark;
  if (s.style != plot_style::points) draw_lines(to, p, s, of_line, x, y);
  for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i) {
    if (!is_shown(s.x[i], p.x.is_log) || !is_shown(s.y[i], p.y.is_log)) continue;
    const long column = cell(x, s.x[i]), row = cell(y, s.y[i]);
    to.put(column, row, of_line);
    const bool has_label = s.style == plot_style::points && i < s.labels.size();
    if (has_label && length_of(s.labels[i]) <= 3) to.put(column, row, s.labels[i]);
  }
}

/// Letter of each series: bands have none.
std::vector<char> letters_of(const plot_panel& p) {
  std::vector<char> all;
  std::size_t used = 0;
  for (const plot_series& s : p.series) {
    if (s.style == plot_style::band) {
      all.push_back(' ');
    } else if (s.is_ring) {
      all.push_back('@');
    } else {
      all.push_back(letters[used++ % (letters.size() - 1)]);
    }
  }
  return all;
}

std::string legend_text(const plot_panel& p, const std::vector<char>& marks, std::size_t columns) {
  std::string out, line = " ";
  for (std::size_t i = 0; i < p.series.size(); ++i) {
    if (p.series[i].label.empty() || marks[i] == ' ') continue;
    const char mark = p.series[i].style == plot_style::dashed ? '.' : marks[i];
    const std::string entry = cat(" ", std::string(1, mark), " ", cut(p.series[i].label, 40), " ");
    if (length_of(line) + length_of(entry) > columns) {
      out += without_blanks(line);
      line = " ";
    }
    line += entry;
  }
  return line == " " ? out : out + without_blanks(line);
}

std::string x_axis_text(const plot_panel& p, const axis_scale& x, std::size_t left,
                        std::size_t width) {
  std::string ticks(width + 8, ' ');
  std::size_t free_from = 0;
  for (const double v : x.ticks()) {
    if (!x.holds(v)) continue;
    const std::string text = x.tick_text(v);
    const long at = std::max(0L, cell(x, v) - static_cast<long>(text.size() / 2));
    const auto begin = static_cast<std::size_t>(at);
    if (begin < free_from || begin + text.size() > ticks.size()) continue;
    ticks.replace(begin, text.size(), text);
    free_from = begin + text.size() + 1;
  }
  const std::string margin(left + 1, ' ');
  const std::string label = x.label_of(p.x);
  const std::size_t n = length_of(label);
  const std::string before(n < width ? (width - n) / 2 : 0, ' ');
  return without_blanks(margin + ticks) + without_blanks(margin + before + cut(label, width));
}

std::string series_panel(const plot_panel& p, std::size_t columns) {
  constexpr std::size_t rows = 16, left = 10;
  const std::size_t width = columns - left - 9;
  const axis_scale x(p.x, ends_of(p, true), 0.0, static_cast<double>(width - 1), 6);
  const axis_scale y(p.y, ends_of(p, false), static_cast<double>(rows - 1), 0.0, 5);
  canvas cells(width, rows);
  for (const plot_rule& r : p.rules) {
    if (!(r.is_vertical ? x : y).holds(r.at)) continue;
    const long at = cell(r.is_vertical ? x : y, r.at);
    for (long i = 0; i < static_cast<long>(r.is_vertical ? rows : width); ++i)
      cells.put(r.is_vertical ? at : i, r.is_vertical ? i : at, r.is_vertical ? ':' : '-');
  }
  const std::vector<char> marks = letters_of(p);
  for (std::size_t i = 0; i < p.series.size(); ++i)
    draw_series(cells, p, p.series[i], marks[i], x, y);
  std::string out = without_blanks(" " + cut(y.label_of(p.y), columns - 1));
  std::vector<std::string> ticks(rows);
  for (const double v : y.ticks()) {
    if (y.holds(v)) ticks[static_cast<std::size_t>(cell(y, v))] = y.tick_text(v);
  }
  for (std::size_t r = 0; r < rows; ++r)
    out += without_blanks(right_aligned(ticks[r], left) + "|" + cells.rows()[r]);
  out += std::string(left, ' ') + "+" + std::string(width, '-') + "\n";
  out += x_axis_text(p, x, left, width) + legend_text(p, marks, columns);
  for (const plot_rule& r : p.rules) {
    if (!r.label.empty())
      out += without_blanks(cut(cat("  ", r.is_vertical ? ":" : "-", " ", r.label), columns));
  }
  return out;
}

std::string bar_panel(const plot_panel& p, std::size_t columns) {
  std::size_t names = 0, texts = 0;
  for (const plot_bar& b : p.bars) {
    names = std::max(names, std::min<std::size_t>(30, length_of(b.row)));
    texts = std::max(texts, std::min<std::size_t>(28, length_of(b.text)));
  }
  const std::size_t width = columns - names - texts - 6;
  auto ends = ends_of(p, true);
  ends.first = std::min(0.0, ends.first);
  const axis_scale x({.low = ends.first, .high = ends.second}, ends, 0.0,
                     static_cast<double>(width), 5);
  std::string out, line, before, text;
  const auto end_row = [&] {
    if (before.empty()) return;
    const std::string name = cut(before, 30);
    line.resize(width, ' ');
    out += without_blanks(
        cat("  ", name, std::string(names - length_of(name), ' '), " |", line, " ", cut(text, 28)));
    line.clear();
  };
  for (const plot_bar& b : p.bars) {
    if (b.row != before) {
      end_row();
      text.clear();
    }
    before = b.row;
    if (!b.text.empty()) text = b.text;
    if (!std::isfinite(b.from) || !std::isfinite(b.to)) continue;
    const auto from = static_cast<std::size_t>(cell(x, b.from));
    const auto to =
        std::max(static_cast<std::size_t>(cell(x, b.to)), b.to > b.from ? from + 1 : from);
    line.resize(std::max(line.size(), std::min(to, width)), ' ');
    for (std::size_t i = from; i < std::min(to, width); ++i) line[i] = '#';
  }
  end_row();
  return out;
}

std::string paragraph(std::string_view text, std::size_t columns) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t end = rest.size();
    if (end > columns) {
      end = rest.rfind(' ', columns);
      if (end == rest.npos || end == 0) end = columns;
    }
    out += without_blanks(std::string(rest.substr(0, end)));
    rest.remove_prefix(end);
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  }
  return out;
}

}  // namespace

std::string text_of(const figure& f, std::size_t columns) {
  columns = std::clamp<std::size_t>(columns, 48, 200);
  std::string out = paragraph(one_line(f.title), columns) +
                    paragraph(one_line(f.subtitle), columns) + paragraph(one_line(f.note), columns);
  for (const plot_panel& p : f.panels) {
    out += "\n";
    if (!p.title.empty()) out += without_blanks(cut(one_line(p.title), columns));
    out += p.bars.empty() ? series_panel(p, columns) : bar_panel(p, columns);
  }
  return out;
}

std::string sparkline(std::span<const double> values, std::size_t columns) {
  constexpr const char* bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  columns = std::min(columns, values.size());
  std::vector<double> means;
  double largest = 0.0;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t from = i * values.size() / columns, to = (i + 1) * values.size() / columns;
    double sum = 0.0;
    for (std::size_t k = from; k < to; ++k) sum += values[k];
    means.push_back(sum / static_cast<double>(to - from));
    largest = std::max(largest, means.back());
  }
  std::string out;
  for (const double m : means) {
    const double height = largest > 0.0 ? 8.0 * m / largest : 0.0;
    out += bars[static_cast<std::size_t>(std::clamp(std::ceil(height - 1e-9), 0.0, 8.0))];
  }
  return out;
}

}  // namespace common
