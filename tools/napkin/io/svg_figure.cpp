// Figures as SVG.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "figure_axis.hpp"
#include "figure_text.hpp"
#include "text.hpp"

namespace common {

namespace {

constexpr double font = 12.0, page_margin = 16.0, right_margin = 18.0;
constexpr double title_line = 22.0, small_line = 17.0, legend_line = 18.0, bar_height = 26.0;
constexpr const char* ink = "#1a1a1a";
constexpr const char* faint = "#555";

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
std::string exact(double x) {
  return perfmodel::detail::significant(x, 9);
}

std::string text_at(double x, double y, std::string_view text, std::string_view attributes) {
  return cat("<text x=\"", pixels(x), "\" y=\"", pixels(y), "\"", attributes.empty() ? "" : " ",
             attributes, ">", escaped(text), "</text>\n");
}
std::string line_at(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return cat("<line x1=\"", pixels(x1), "\" y1=\"", pixels(y1), "\" x2=\"", pixels(x2), "\" y2=\"",
             pixels(y2), "\" ", attributes, "/>\n");
}

struct rectangle {
  double left = 0.0, top = 0.0, right = 0.0, bottom = 0.0;
  bool meets(const rectangle& r) const {
    return left < r.right && r.left < right && top < r.bottom && r.top < bottom;
  }
};

/// Places text next to points so that it covers neither marks, lines nor other text.
class label_placer {
 public:
  explicit label_placer(const rectangle& inside) : inside_(inside) {}

  void take(const rectangle& r) { taken_.push_back(r); }
  void take_line(double x1, double y1, double x2, double y2) {
    const double length = std::hypot(x2 - x1, y2 - y1);
    const int n = std::clamp(static_cast<int>(length / 5.0), 1, 200);
    for (int i = 0; i <= n; ++i) {
      const double x = x1 + (x2 - x1) * i / n, y = y1 + (y2 - y1) * i / n;
      taken_.push_back({x - 1.5, y - 1.5, x + 1.5, y + 1.5});
    }
  }
  /// The text near a point, with a leader where it stands far off; "" where there is no room.
  std::string near(double x, double y, std::string_view text, std::string_view attributes) {
    const double width = text_width(text, font), height = font;
    for (const double gap : {7.0, 14.0, 24.0, 36.0, 50.0, 66.0, 84.0}) {
      for (const auto& [dx, dy] : {std::pair{1.0, -0.7},
                                   {1.0, 0.7},
                                   {-1.0, -0.7},
                                   {-1.0, 0.7},
                                   {1.0, 0.0},
                                   {-1.0, 0.0},
                                   {0.0, -1.0},
                                   {0.0, 1.0}}) {
        const double middle = x + dx * (gap + 0.5 * width);
        const double centre = y + dy * (gap + 0.5 * height);
        const rectangle box{middle - 0.5 * width - 2.0, centre - 0.5 * height - 1.0,
                            middle + 0.5 * width + 2.0, centre + 0.5 * height + 1.0};
        if (!free(box)) continue;
        taken_.push_back(box);
        const double near_x = std::clamp(x, box.left + 2.0, box.right - 2.0);
        std::string out;
        if (gap > 14.0) {
          const double near_y = std::clamp(y, box.top, box.bottom);
          out = line_at(x, y, near_x, near_y, "stroke=\"#999\" stroke-width=\"0.7\"");
          take_line(x, y, near_x, near_y);
        }
        return out + text_at(box.left + 2.0, centre + 0.36 * height, text, attributes);
      }
    }
    return {};
  }
  /// The first of several boxes that is free, as an index; none where there is no room.
  std::optional<std::size_t> first_free(std::span<const rectangle> boxes) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      if (!free(boxes[i])) continue;
      taken_.push_back(boxes[i]);
      return i;
    }
    return {};
  }

 private:
  bool free(const rectangle& box) const {
    if (box.left < inside_.left || box.right > inside_.right || box.top < inside_.top ||
        box.bottom > inside_.bottom)
      return false;
    return std::none_of(taken_.begin(), taken_.end(),
                        [&](const rectangle& r) { return r.meets(box); });
  }
  rectangle inside_;
  std::vector<rectangle> taken_{};
};

std::string series_colour(const plot_panel& p, std::size_t i) {
  if (!p.series[i].colour.empty()) return p.series[i].colour;
  if (const std::string known = colour_of(p.series[i].label); !known.empty()) return known;
  return palette_colour(i);
}

/// Names and colours of a legend, each name once.
using legend_entries = std::vector<std::pair<std::string, std::string>>;
legend_entries legend_of(const plot_panel& p) {
  legend_entries all;
  const auto add = [&](const std::string& label, const std::string& colour) {
    if (label.empty()) return;
    for (const auto& known : all) {
      if (known.first == label) return;
    }
    all.emplace_back(label, colour);
  };
  for (std::size_t i = 0; i < p.series.size(); ++i) {
    const bool is_band = p.series[i].style == plot_style::band;
    add(p.series[i].label, series_colour(p, i) + (is_band ? "\" fill-opacity=\"0.3" : ""));
  }
  for (const plot_bar& b : p.bars) add(b.series, b.colour);
  return all;
}

/// Legend entries in rows that fit a width: left edges, row by row.
struct placed_legend {
  std::vector<std::pair<double, int>> at{};
  int rows = 0;
};
constexpr double mark_width = 20.0;
placed_legend placed(const std::vector<std::pair<std::string, std::string>>& legend, double width) {
  placed_legend out;
  double x = 0.0;
  for (const auto& [label, colour] : legend) {
    const double needed = mark_width + text_width(label, font);
    if (x > 0.0 && x + needed > width) {
      x = 0.0;
      ++out.rows;
    }
    out.at.emplace_back(x, out.rows);
    x += needed + 16.0;
  }
  if (!legend.empty()) ++out.rows;
  return out;
}

class panel_drawing {
 public:
  panel_drawing(const plot_panel& p, const rectangle& whole)
      : p_(p),
        legend_(legend_of(p)),
        legend_at_(placed(legend_, whole.right - right_margin - whole.left)),
        whole_(whole),
        r_(inner(p, whole, legend_at_.rows)),
        x_(p.x, bar_ends(p), r_.left, r_.right, r_.right - r_.left > 420.0 ? 8 : 5),
        y_(p.y, ends_of(p, false), r_.bottom, r_.top, 6),
        places_({r_.left + 1.0, r_.top + 1.0, r_.right - 1.0, r_.bottom - 1.0}) {}

  std::string svg() {
    std::string out = "<g>\n" + heading();
    if (!p_.bars.empty()) {
      out += bars();
      for (const plot_rule& rule : p_.rules) out += line_of(rule);
      return out + "</g>\n";
    }
    out += axes();
    for (std::size_t i = 0; i < p_.series.size(); ++i) out += series(i);
    for (const plot_rule& rule : p_.rules) out += line_of(rule);
    for (std::size_t i = 0; i < p_.series.size(); ++i) out += labels(i);
    for (const plot_rule& rule : p_.rules) out += label_of(rule);
    return out + "</g>\n";
  }

  /// Height of a panel of bars; 0 of another one.
  static double bars_height(const plot_panel& p, double width) {
    if (p.bars.empty()) return 0.0;
    const int legend = placed(legend_of(p), width - right_margin).rows;
    return top_of(p, legend) + bar_height * static_cast<double>(rows_of(p).size()) + 44.0;
  }

 private:
  static std::vector<std::string> rows_of(const plot_panel& p) {
    std::vector<std::string> rows;
    for (const plot_bar& b : p.bars) {
      if (std::find(rows.begin(), rows.end(), b.row) == rows.end()) rows.push_back(b.row);
    }
    return rows;
  }
  static double top_of(const plot_panel& p, int legend_rows) {
    return (p.title.empty() ? 4.0 : 22.0) + legend_line * legend_rows + 6.0;
  }
  static std::pair<double, double> bar_ends(const plot_panel& p) {
    auto ends = ends_of(p, true);
    if (!p.bars.empty() && !p.x.is_log) {
      ends.first = std::min(ends.first, 0.0);
      if (ends.second <= ends.first) ends.second = ends.first + 1e-9;
    }
    return ends;
  }
  /// The plot's area: the widest text of the y axis has room at its left.
  static rectangle inner(const plot_panel& p, const rectangle& whole, int legend_rows) {
    double widest = 0.0;
    if (p.bars.empty()) {
      const axis_scale y(p.y, ends_of(p, false), 100.0, 0.0, 6);
      for (const double v : y.ticks()) widest = std::max(widest, text_width(y.tick_text(v), font));
      widest += 10.0 + small_line;
    } else {
      for (const std::string& row : rows_of(p))
        widest = std::max(widest, text_width(cut(row, 34), font));
      widest += 10.0;
    }
    return {whole.left + widest, whole.top + top_of(p, legend_rows), whole.right - right_margin,
            whole.bottom - (p.bars.empty() ? 40.0 : 38.0)};
  }

  std::string heading() const {
    std::string out;
    double y = whole_.top + 4.0;
    if (!p_.title.empty()) {
      const auto room = static_cast<std::size_t>((whole_.right - whole_.left) / (0.66 * font));
      y = whole_.top + 22.0;
      out += text_at(whole_.left, y - 8.0, cut(p_.title, room),
                     "font-size=\"13\" font-weight=\"600\"");
    }
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const double x = whole_.left + legend_at_.at[i].first;
      const double line = y + legend_line * (legend_at_.at[i].second + 0.5);
      out += cat("<rect x=\"", pixels(x), "\" y=\"", pixels(line - 5.0),
                 "\" width=\"14\" height=\"9\" rx=\"2\" fill=\"", legend_[i].second, "\"/>\n");
      out += text_at(x + mark_width, line + 4.0, legend_[i].first, "");
    }
    return out;
  }

  std::string x_axis() {
    std::string out;
    double end = -HUGE_VAL;
    for (const double v : x_.ticks()) {
      if (!x_.holds(v)) continue;
      out += line_at(x_.at(v), r_.top, x_.at(v), r_.bottom, "stroke=\"#e6e6e6\"");
      const double half = 0.5 * text_width(x_.tick_text(v), font);
      const double middle = std::min(x_.at(v), whole_.right - half);
      if (middle - half < end + 6.0) continue;
      end = middle + half;
      out += text_at(middle, r_.bottom + 16.0, x_.tick_text(v), "text-anchor=\"middle\"");
    }
    return out + text_at(0.5 * (r_.left + r_.right), r_.bottom + 34.0, x_.label_of(p_.x),
                         "text-anchor=\"middle\"");
  }
  std::string axes() {
    std::string out = x_axis();
    for (const double v : y_.ticks()) {
      if (!y_.holds(v)) continue;
      out += line_at(r_.left, y_.at(v), r_.right, y_.at(v), "stroke=\"#e6e6e6\"");
      out += text_at(r_.left - 6.0, y_.at(v) + 4.0, y_.tick_text(v), "text-anchor=\"end\"");
    }
    out += cat("<path d=\"M", pixels(r_.left), " ", pixels(r_.top), "V", pixels(r_.bottom), "H",
               pixels(r_.right), "\" fill=\"none\" stroke=\"", faint, "\"/>\n");
    const double at = whole_.left + 11.0, middle = 0.5 * (r_.top + r_.bottom);
    return out + text_at(at, middle, y_.label_of(p_.y),
                         cat("text-anchor=\"middle\" transform=\"rotate(-90 ", pixels(at), " ",
                             pixels(middle), ")\""));
  }

  bool shows(const plot_series& s, std::size_t i) const {
    return is_shown(s.x[i], p_.x.is_log) && is_shown(s.y[i], p_.y.is_log);
  }
  static std::size_t size_of(const plot_series& s) { return std::min(s.x.size(), s.y.size()); }

  /// Runs of points that are shown, as path data; `close` ends each run at the x axis.
  std::string path_of(const plot_series& s, bool close) {
    std::string path;
    double first_x = 0.0, last_x = 0.0, last_y = 0.0;
    bool is_open = false;
    const auto end_run = [&] {
      if (is_open && close)
        path += cat("L", pixels(last_x), " ", pixels(y_.at(y_.low())), "L", pixels(first_x), " ",
                    pixels(y_.at(y_.low())), "Z");
      is_open = false;
    };
    for (std::size_t i = 0; i < size_of(s); ++i) {
      if (!shows(s, i)) {
        end_run();
        continue;
      }
      const double at_x = x_.at(s.x[i]), at_y = y_.at(s.y[i]);
      if (!is_open) {
        path += cat("M", pixels(at_x), " ", pixels(at_y));
        first_x = at_x;
      } else {
        if (s.style == plot_style::steps) path += cat("L", pixels(at_x), " ", pixels(last_y));
        path += cat("L", pixels(at_x), " ", pixels(at_y));
        places_.take_line(last_x, last_y, at_x, at_y);
      }
      is_open = true;
      last_x = at_x;
      last_y = at_y;
    }
    end_run();
    return path;
  }

  std::string band(const plot_series& s, const std::string& colour) const {
    std::string there, back;
    for (std::size_t i = 0; i < std::min(size_of(s), s.upper.size()); ++i) {
      if (!shows(s, i) || !is_shown(s.upper[i], p_.y.is_log)) continue;
      there += cat(there.empty() ? "M" : "L", pixels(x_.at(s.x[i])), " ", pixels(y_.at(s.y[i])));
      back = cat("L", pixels(x_.at(s.x[i])), " ", pixels(y_.at(s.upper[i])), back);
    }
    if (there.empty()) return {};
    return cat("<path d=\"", there, back, "Z\" fill=\"", colour, "\" fill-opacity=\"0.16\"/>\n");
  }

  std::string point(const plot_series& s, std::size_t i, const std::string& colour) {
    const double x = x_.at(s.x[i]), y = y_.at(s.y[i]);
    const double radius = s.is_ring ? 7.0 : size_of(s) > 200 ? 2.0 : 4.0;
    places_.take({x - radius, y - radius, x + radius, y + radius});
    std::string name = i < s.names.size() ? s.names[i] : std::string();
    if (name.empty() && i < s.labels.size()) name = s.labels[i];
    if (name.empty()) name = s.label;
    const std::string tooltip = size_of(s) > 200 ? "" : cat("<title>", escaped(name), "</title>");
    const std::string fill = s.is_ring
                                 ? cat("fill=\"none\" stroke=\"", colour, "\" stroke-width=\"2\"")
                                 : cat("fill=\"", colour, "\" fill-opacity=\"0.85\"");
    return cat("<circle cx=\"", pixels(x), "\" cy=\"", pixels(y), "\" r=\"", pixels(radius), "\" ",
               fill, " data-x=\"", exact(s.x[i]), "\" data-y=\"", exact(s.y[i]), "\"",
               tooltip.empty() ? "/>\n" : cat(">", tooltip, "</circle>\n"));
  }

  std::string series(std::size_t index) {
    const plot_series& s = p_.series[index];
    const std::string colour = series_colour(p_, index);
    if (s.style == plot_style::band) return band(s, colour);
    std::string out =
        s.label.empty() ? "<g>\n" : cat("<g data-series=\"", escaped(s.label), "\">\n");
    if (s.style != plot_style::points) {
      if (s.is_filled)
        out += cat("<path d=\"", path_of(s, true), "\" fill=\"", colour,
                   "\" fill-opacity=\"0.18\" stroke=\"none\"/>\n");
      out += cat("<path d=\"", path_of(s, false), "\" fill=\"none\" stroke=\"", colour,
                 "\" stroke-width=\"2\" stroke-linejoin=\"round\"",
                 s.style == plot_style::dashed ? " stroke-dasharray=\"6 4\"" : "", "/>\n");
    }
    if (s.style == plot_style::points || s.has_marks) {
      for (std::size_t i = 0; i < size_of(s); ++i) {
        if (shows(s, i)) out += point(s, i, colour);
      }
    }
    return out + "</g>\n";
  }
  std::string labels(std::size_t index) {
    const plot_series& s = p_.series[index];
    std::string out;
    for (std::size_t i = 0; i < std::min(size_of(s), s.labels.size()); ++i) {
      if (s.labels[i].empty() || !shows(s, i)) continue;
      out += places_.near(x_.at(s.x[i]), y_.at(s.y[i]), cut(s.labels[i], 60), "");
    }
    return out;
  }

  std::string line_of(const plot_rule& rule) {
    constexpr const char* dashes = "stroke=\"#666\" stroke-dasharray=\"4 3\"";
    if (!(rule.is_vertical ? x_ : y_).holds(rule.at)) return {};
    const double x = x_.at(rule.at), y = y_.at(rule.at);
    if (rule.is_vertical) {
      places_.take_line(x, r_.top, x, r_.bottom);
      return line_at(x, r_.top, x, r_.bottom, cat(dashes, " data-x=\"", exact(rule.at), "\""));
    }
    places_.take_line(r_.left, y, r_.right, y);
    return line_at(r_.left, y, r_.right, y, cat(dashes, " data-y=\"", exact(rule.at), "\""));
  }
  /// The label of a rule along it, at the first free place.
  std::string label_of(const plot_rule& rule) {
    if (rule.label.empty() || !(rule.is_vertical ? x_ : y_).holds(rule.at)) return {};
    const double width = text_width(rule.label, font);
    std::vector<rectangle> boxes;
    for (int i = 0; i < 24; ++i) {
      const double along = (rule.is_vertical ? r_.bottom - r_.top : r_.right - r_.left) * i / 24.0;
      for (const bool after : {true, false}) {
        rectangle b;
        if (rule.is_vertical) {
          b.left = x_.at(rule.at) + (after ? 4.0 : -5.0 - width);
          b.top = r_.top + 3.0 + along;
        } else {
          b.left = r_.right - 4.0 - width - along;
          b.top = y_.at(rule.at) + (after ? -font - 4.0 : 4.0);
        }
        boxes.push_back({b.left, b.top, b.left + width, b.top + font});
      }
    }
    const auto at = places_.first_free(boxes);
    if (!at) return {};
    return text_at(boxes[*at].left, boxes[*at].top + 10.0, rule.label, cat("fill=\"", faint, "\""));
  }

  std::string bars() {
    std::string out = x_axis();
    const std::vector<std::string> rows = rows_of(p_);
    std::vector<double> ends(rows.size(), r_.left);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double middle = r_.top + bar_height * (static_cast<double>(i) + 0.5);
      out += text_at(r_.left - 8.0, middle + 4.0, cut(rows[i], 34), "text-anchor=\"end\"");
    }
    for (const plot_bar& b : p_.bars) {
      if (!std::isfinite(b.from) || !std::isfinite(b.to)) continue;
      const auto row =
          static_cast<std::size_t>(std::find(rows.begin(), rows.end(), b.row) - rows.begin());
      const double top = r_.top + bar_height * static_cast<double>(row) + 4.0;
      const double left = x_.at(b.from), right = std::max(x_.at(b.to), left + 0.75);
      out += cat("<rect x=\"", pixels(left), "\" y=\"", pixels(top), "\" width=\"",
                 pixels(right - left), "\" height=\"", pixels(bar_height - 8.0), "\" fill=\"",
                 b.colour.empty() ? palette_colour(row) : b.colour, "\" data-from=\"",
                 exact(b.from), "\" data-to=\"", exact(b.to), "\"><title>",
                 escaped(cat(b.row, ": ", b.text)), "</title></rect>\n");
      if (b.text.empty()) continue;
      const double width = text_width(b.text, font), room = r_.right + right_margin;
      const bool inside = right + 6.0 + width > room;
      const double at = inside ? std::max(left - 6.0 - width, r_.left + 2.0) : right + 6.0;
      const bool covers = inside && at + width > left;
      out += text_at(at, top + 13.5, b.text, covers ? "fill=\"#fff\" font-weight=\"600\"" : "");
    }
    return out + line_at(r_.left, r_.top, r_.left, r_.bottom, cat("stroke=\"", faint, "\""));
  }

  const plot_panel& p_;
  std::vector<std::pair<std::string, std::string>> legend_;
  placed_legend legend_at_;
  rectangle whole_, r_;
  axis_scale x_, y_;
  label_placer places_;
};

/// Lines of text of the page's width, one below the other, from `top` on, which moves down.
std::string paragraph(std::string_view text, double width, double size, double line, double& top,
                      std::string_view attributes) {
  std::string out;
  for (const std::string& s : wrapped_to(text, width, size)) {
    top += line;
    out += text_at(page_margin, top - 0.3 * line, s, attributes);
  }
  return out;
}

}  // namespace

std::string svg_of(const figure& f) {
  const double inside = f.width - 2.0 * page_margin;
  double top = page_margin - 4.0;
  std::string body =
      paragraph(f.title, inside, 17.0, title_line, top, "font-size=\"16\" font-weight=\"600\"");
  body += paragraph(f.subtitle, inside, font, small_line, top, cat("fill=\"", faint, "\""));
  body += paragraph(f.note, inside, 14.0, 30.0, top, "font-size=\"14\"");
  top += 8.0;
  const auto columns = static_cast<std::size_t>(std::max(1, f.columns));
  const double width = inside / static_cast<double>(columns);
  for (std::size_t i = 0; i < f.panels.size(); i += columns) {
    double height = 0.0;
    const std::size_t end = std::min(i + columns, f.panels.size());
    for (std::size_t k = i; k < end; ++k) {
      const double of_bars = panel_drawing::bars_height(f.panels[k], width);
      height = std::max(height, of_bars > 0.0 ? of_bars : f.panel_height);
    }
    for (std::size_t k = i; k < end; ++k) {
      const double left = page_margin + static_cast<double>(k - i) * width;
      const double right = left + width - (k + 1 < end ? 6.0 : 0.0);
      body += panel_drawing(f.panels[k], {left, top, right, top + height}).svg();
    }
    top += height;
  }
  body += paragraph(f.source, inside, 11.0, 15.0, top, "fill=\"#666\" font-size=\"10.5\"");
  const double height = top + 10.0;
  return cat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title desc\" "
      "width=\"",
      pixels(f.width), "\" height=\"", pixels(height), "\" viewBox=\"0 0 ", pixels(f.width), " ",
      pixels(height),
      "\" font-family=\"system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', "
      "sans-serif\" font-size=\"12\" fill=\"",
      ink, "\">\n<title id=\"title\">", escaped(f.title), "</title>\n<desc id=\"desc\">",
      escaped(f.note.empty() ? f.subtitle : f.note), "</desc>\n",
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", body, "</svg>\n");
}

}  // namespace common
