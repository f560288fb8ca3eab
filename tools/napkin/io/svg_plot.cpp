#include "svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "text.hpp"

namespace common {

namespace {

constexpr std::array<const char*, 8> colours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                "#e69f00", "#56b4e9", "#000000", "#7f7f7f"};
constexpr double left_margin = 62.0, right_margin = 16.0, top_margin = 26.0, bottom_margin = 38.0;
constexpr double page_margin = 8.0, title_height = 24.0, subtitle_height = 18.0;

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20U ? ' ' : c;
    }
  }
  return out;
}

/// A coordinate with at most two decimals.
std::string pixels(double x) {
  std::string s = fixed(x, 2);
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

std::string text_at(double x, double y, std::string_view text, std::string_view attributes) {
  return cat("<text x=\"", pixels(x), "\" y=\"", pixels(y), "\"", attributes.empty() ? "" : " ",
             attributes, ">", escaped(text), "</text>\n");
}
std::string line_at(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return cat("<line x1=\"", pixels(x1), "\" y1=\"", pixels(y1), "\" x2=\"", pixels(x2), "\" y2=\"",
             pixels(y2), "\" ", attributes, "/>\n");
}

bool is_shown(double v, bool is_log) {
  return std::isfinite(v) && (!is_log || v > 0.0);
}

/// Values of an axis in pixels.
class axis_scale {
 public:
  axis_scale(const plot_axis& axis, std::pair<double, double> data, double begin, double end)
      : is_log_(axis.is_log), begin_(begin), end_(end) {
    low_ = axis.low.value_or(data.first);
    high_ = axis.high.value_or(data.second);
    if (is_log_) {
      if (!(low_ > 0.0)) low_ = high_ > 0.0 ? high_ / 1000.0 : 1.0;
      if (!(high_ > low_)) high_ = 10.0 * low_;
    } else {
      if (!axis.low && low_ > 0.0 && low_ < 0.7 * high_) low_ = 0.0;
      if (!(high_ > low_)) high_ = low_ + (low_ == 0.0 ? 1.0 : std::fabs(low_));
    }
    ticks_ = ticks_of(low_, high_, is_log_, end > begin ? 7 : 4);
    const bool is_vertical = end < begin;
    if (is_vertical && !axis.high && !is_log_ && !ticks_.empty())
      high_ = std::max(high_, ticks_.back());
    unit_ = scaled_unit_of(std::max(std::fabs(low_), std::fabs(high_)), axis.unit);
  }
  double at(double v) const {
    const double share =
        is_log_ ? std::log(v / low_) / std::log(high_ / low_) : (v - low_) / (high_ - low_);
    return begin_ + std::clamp(share, 0.0, 1.0) * (end_ - begin_);
  }
  bool holds(double v) const { return v >= low_ && v <= high_; }
  double low() const { return low_; }
  const std::vector<double>& ticks() const { return ticks_; }
  std::string tick_text(double v) const {
    return perfmodel::detail::significant(unit_.factor * v, 4);
  }
  std::string label_of(const plot_axis& axis) const {
    if (unit_.text.empty()) return axis.label;
    return axis.label.empty() ? unit_.text : cat(axis.label, " (", unit_.text, ")");
  }

 private:
  bool is_log_;
  double begin_, end_, low_ = 0.0, high_ = 1.0;
  std::vector<double> ticks_{};
  scaled_unit unit_{};
};

/// Least and largest shown value of a coordinate of all series and rules.
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
  }
  for (const plot_rule& r : p.rules) {
    if (r.is_vertical == of_x) add(r.at);
  }
  return low <= high ? std::pair{low, high} : std::pair{0.0, 1.0};
}

/// Runs of points that are shown, as path data; `close` ends each run at the x axis.
std::string path_of(const plot_panel& p, const plot_series& s, const axis_scale& x,
                    const axis_scale& y, bool close) {
  std::string path;
  double first_x = 0.0, last_x = 0.0, last_y = 0.0;
  bool is_open = false;
  const auto end_run = [&] {
    if (is_open && close)
      path += cat("L", pixels(last_x), " ", pixels(y.at(y.low())), "L", pixels(first_x), " ",
                  pixels(y.at(y.low())), "Z");
    is_open = false;
  };
  for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i) {
    if (!is_shown(s.x[i], p.x.is_log) || !is_shown(s.y[i], p.y.is_log)) {
      end_run();
      continue;
    }
    const double at_x = x.at(s.x[i]), at_y = y.at(s.y[i]);
    if (!is_open) {
      path += cat("M", pixels(at_x), " ", pixels(at_y));
      first_x = at_x;
    } else {
      if (s.style == plot_style::steps) path += cat("L", pixels(at_x), " ", pixels(last_y));
      path += cat("L", pixels(at_x), " ", pixels(at_y));
    }
    is_open = true;
    last_x = at_x;
    last_y = at_y;
  }
  end_run();
  return path;
}

std::string series_svg(const plot_panel& p, const plot_series& s, const axis_scale& x,
                       const axis_scale& y, const char* colour) {
  std::string out;
  if (s.style == plot_style::points) {
    for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i) {
      if (!is_shown(s.x[i], p.x.is_log) || !is_shown(s.y[i], p.y.is_log)) continue;
      out += cat("<circle cx=\"", pixels(x.at(s.x[i])), "\" cy=\"", pixels(y.at(s.y[i])),
                 "\" r=\"2\" fill-opacity=\"0.6\" fill=\"", colour, "\"/>\n");
    }
    return out;
  }
  if (s.is_filled) {
    out += cat("<path d=\"", path_of(p, s, x, y, true), "\" fill=\"", colour,
               "\" fill-opacity=\"0.18\" stroke=\"none\"/>\n");
  }
  return out + cat("<path d=\"", path_of(p, s, x, y, false), "\" fill=\"none\" stroke=\"", colour,
                   "\" stroke-width=\"1.5\" stroke-linejoin=\"round\"/>\n");
}

struct rectangle {
  double left = 0.0, top = 0.0, right = 0.0, bottom = 0.0;
};

std::string axes_svg(const plot_panel& p, const axis_scale& x, const axis_scale& y,
                     const rectangle& r) {
  std::string out;
  for (const double v : y.ticks()) {
    if (!y.holds(v)) continue;
    out += line_at(r.left, y.at(v), r.right, y.at(v), "stroke=\"#e3e3e3\"");
    out += text_at(r.left - 6.0, y.at(v) + 3.5, y.tick_text(v), "text-anchor=\"end\"");
  }
  for (const double v : x.ticks()) {
    if (!x.holds(v)) continue;
    out += line_at(x.at(v), r.bottom, x.at(v), r.bottom + 4.0, "stroke=\"#333\"");
    out += text_at(x.at(v), r.bottom + 15.0, x.tick_text(v), "text-anchor=\"middle\"");
  }
  out += cat("<path d=\"M", pixels(r.left), " ", pixels(r.top), "V", pixels(r.bottom), "H",
             pixels(r.right), "\" fill=\"none\" stroke=\"#333\"/>\n");
  out +=
      text_at(0.5 * (r.left + r.right), r.bottom + 30.0, x.label_of(p.x), "text-anchor=\"middle\"");
  const double at = r.left - 48.0, middle = 0.5 * (r.top + r.bottom);
  return out + text_at(at, middle, y.label_of(p.y),
                       cat("text-anchor=\"middle\" transform=\"rotate(-90 ", pixels(at), " ",
                           pixels(middle), ")\""));
}

/// Names of the series in one row above the panel, from the right.
std::string legend_svg(const plot_panel& p, const rectangle& r) {
  constexpr double letter = 6.2, mark = 16.0, gap = 14.0;
  double at = r.right;
  std::string out;
  for (std::size_t i = p.series.size(); i-- > 0;) {
    const std::string& label = p.series[i].label;
    if (label.empty()) continue;
    at -= letter * static_cast<double>(label.size());
    out += text_at(at, r.top - 8.0, label, "");
    out += line_at(at - mark, r.top - 12.0, at - 4.0, r.top - 12.0,
                   cat("stroke=\"", colours[i % colours.size()], "\" stroke-width=\"2.5\""));
    at -= mark + gap;
  }
  return out;
}

std::string panel_svg(const plot_panel& p, const rectangle& whole) {
  const rectangle r{whole.left + left_margin, whole.top + top_margin, whole.right - right_margin,
                    whole.bottom - bottom_margin};
  const axis_scale x(p.x, ends_of(p, true), r.left, r.right);
  const axis_scale y(p.y, ends_of(p, false), r.bottom, r.top);
  std::string out = "<g>\n" + axes_svg(p, x, y, r);
  for (std::size_t i = 0; i < p.series.size(); ++i)
    out += series_svg(p, p.series[i], x, y, colours[i % colours.size()]);
  for (const plot_rule& rule : p.rules) {
    constexpr const char* dashes = "stroke=\"#555\" stroke-dasharray=\"4 3\"";
    if (!(rule.is_vertical ? x : y).holds(rule.at)) continue;
    if (rule.is_vertical) {
      out += line_at(x.at(rule.at), r.top, x.at(rule.at), r.bottom, dashes);
      out += text_at(x.at(rule.at) + 3.0, r.top + 10.0, rule.label, "fill=\"#555\"");
    } else {
      out += line_at(r.left, y.at(rule.at), r.right, y.at(rule.at), dashes);
      out += text_at(r.right - 3.0, y.at(rule.at) - 3.0, rule.label,
                     "text-anchor=\"end\" fill=\"#555\"");
    }
  }
  out += text_at(r.left, r.top - 8.0, p.title, "font-weight=\"bold\"");
  return out + legend_svg(p, r) + "</g>\n";
}

/// Prefixes of units that take them.
struct prefix {
  double factor;
  const char* text;
};
constexpr prefix small_prefixes[] = {{1.0, ""}, {1e3, "m"}, {1e6, "u"}, {1e9, "n"}};
constexpr prefix large_prefixes[] = {{1e-12, "T"}, {1e-9, "G"}, {1e-6, "M"}, {1e-3, "k"}};

}  // namespace

scaled_unit scaled_unit_of(double largest, std::string_view unit) {
  if (unit == "%") return {100.0, "%"};
  if (unit == "s") {
    for (const prefix& p : small_prefixes) {
      if (largest * p.factor >= 1.0 || p.factor == 1e9) return {p.factor, cat(p.text, "s")};
    }
  }
  for (const prefix& p : large_prefixes) {
    if (largest * p.factor < (unit == "B" ? 1.0 : 10.0)) continue;
    return {p.factor, unit == "B" ? cat(p.text, "B") : cat(p.text, unit.empty() ? "" : " ", unit)};
  }
  return {1.0, std::string(unit)};
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
    return ticks;
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
  if (ticks.size() > 1 && ticks[ticks.size() - 2] >= high) ticks.pop_back();
  return ticks;
}

std::string svg_of(const plot_page& page) {
  const auto columns = static_cast<std::size_t>(std::max(1, page.columns));
  const std::size_t rows = (page.panels.size() + columns - 1) / columns;
  double top = page_margin + (page.title.empty() ? 0.0 : title_height);
  if (!page.subtitle.empty()) top += subtitle_height;
  const double height = top + static_cast<double>(rows) * page.panel_height + page_margin;
  std::string out = cat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"",
      pixels(page.width), "\" height=\"", pixels(height), "\" viewBox=\"0 0 ", pixels(page.width),
      " ", pixels(height), "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n",
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  if (!page.title.empty())
    out += text_at(page_margin, page_margin + 14.0, page.title,
                   "font-size=\"15\" font-weight=\"bold\"");
  if (!page.subtitle.empty())
    out += text_at(page_margin, top - 6.0, page.subtitle, "fill=\"#555\"");
  const double width = (page.width - 2.0 * page_margin) / static_cast<double>(columns);
  for (std::size_t i = 0; i < page.panels.size(); ++i) {
    const double left = page_margin + static_cast<double>(i % columns) * width;
    const double upper = top + static_cast<double>(i / columns) * page.panel_height;
    out += panel_svg(page.panels[i], {left, upper, left + width, upper + page.panel_height});
  }
  return out + "</svg>\n";
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
