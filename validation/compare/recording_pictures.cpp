#include "recording_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/scores.hpp>

#include "measured.hpp"

namespace perfmodel::validation {

namespace {

/// A point with its comparison.
struct seen {
  const recorded* in;
  const point* at;
  const comparison* said;
};
using seen_by_device = std::map<std::string, std::vector<seen>>;

std::string file_name(const char* what, const std::string& device) {
  std::string s = cat(what, '_');
  for (const char c : device) {
    const bool capital = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (plain || capital) s += capital ? static_cast<char>(c - 'A' + 'a') : c;
    if (!plain && !capital && s.back() != '_') s += '_';
  }
  s.erase(s.find_last_not_of('_') + 1);
  return s;
}

void sort_rows(std::vector<series>& lines) {
  for (series& s : lines) std::sort(s.rows.begin(), s.rows.end());
}

/// FLOP/s over FLOP/byte, of the points of one quantity.
panel roofline_panel(const std::string& title, const std::vector<seen>& points,
                     const std::string& quantity, const accelerator* a) {
  panel q;
  q.title = title;
  q.lines = {{"measured", mark::points, 0, {}},
             {"predicted", mark::line, 1, {}},
             {"bound", mark::dashed, 6, {}}};
  double least = 1e30, most = 0.0;
  number_format format = bf16;
  for (const seen& s : points) {
    if (s.at->quantity != quantity) continue;
    const double work = number_of(*s.at, "flop");
    const double moved = number_of(*s.at, "bytes_read") + number_of(*s.at, "bytes_written");
    if (!(work > 0.0 && moved > 0.0)) continue;
    const double intensity = work / moved;
    least = (std::min)(least, intensity);
    most = (std::max)(most, intensity);
    q.lines[0].rows.push_back({intensity, 1e-12 * work / s.said->measured, 0.0});
    if (s.said->predicts()) {
      q.lines[1].rows.push_back({intensity, 1e-12 * work / s.said->predicted, 0.0});
    }
    if (a == nullptr && s.said->bounded()) {
      q.lines[2].rows.push_back({intensity, 1e-12 * work / s.said->bound, 0.0});
    }
    for (const number_format f : all_formats) {
      if (word_of(*s.at, "format") == name_of(f)) format = f;
    }
  }
  sort_rows(q.lines);
  // Several shapes of one intensity have no line between them.
  auto& line = q.lines[1].rows;
  bool one_each = true;
  for (std::size_t i = 1; i < line.size(); ++i) {
    one_each = one_each && line[i][0] > line[i - 1][0] * 1.0001;
  }
  if (!one_each) {
    q.lines[1].as = mark::points;
    q.lines[2].rows.clear();
  }
  if (a != nullptr && most > 0.0) {
    const bool matrix = quantity == "gemm_time" && supports(*a, format);
    const flop_rate<> ceiling = matrix ? peak(*a, format) : vector_peak(*a);
    q.lines[2].title = "data sheet";
    for (double x = least / 2.0; x <= 2.0 * most; x *= 1.1) {
      const flop_rate<> roof = attainable(ceiling, a->dram.bandwidth.quantity(), x * flop_per_byte);
      q.lines[2].rows.push_back({x, 1e-12 * roof.value(), 0.0});
    }
  }
  return q;
}

picture roofline_picture(const std::string& device, const std::vector<seen>& points) {
  picture p;
  p.name = file_name("roofline", device);
  p.title = cat("Roofline, ", device);
  p.caption =
      "Points: measured. Line, or orange points: predicted. Dashed: min(peak, bandwidth x "
      "intensity). Points above the slope had their operands in a cache.";
  p.x_label = "arithmetic intensity [FLOP per byte]";
  p.y_label = "TFLOP/s";
  p.plain_x = true;
  p.key = "bottom right";
  const accelerator* a = catalog::find_accelerator(points.front().in->device.accelerator);
  for (const auto& [quantity, title] : {std::pair<const char*, const char*>{"gemm_time", "GEMM"},
                                        {"intensity_time", "FMA loops"}}) {
    panel q = roofline_panel(title, points, quantity, a);
    if (!q.lines[0].rows.empty()) p.panels.push_back(std::move(q));
  }
  double least = 1e30, most = 0.0, slowest = 1e30, fastest = 0.0;
  for (const panel& q : p.panels) {
    for (const series& l : q.lines) {
      for (const auto& row : l.rows) {
        least = (std::min)(least, row[0]);
        most = (std::max)(most, row[0]);
        slowest = (std::min)(slowest, row[1]);
        fastest = (std::max)(fastest, row[1]);
      }
    }
  }
  p.x_least = 0.7 * least;
  p.x_most = 1.4 * most;
  p.y_least = 0.7 * slowest;
  p.y_most = 1.6 * fastest;
  return p;
}

/// A point of a curve: which curve, its x, and its y: `scale` / time, or the time in ns where scale
/// is 0.
struct drawn {
  std::string key;
  double x, scale;
};

/// One y over one x, of the points of one quantity.
template <class Draw>
picture curves(picture p, const std::vector<seen>& points, std::string_view quantity, Draw draw) {
  p.bytes_on_x = true;
  std::map<std::string, std::vector<series>> lines;
  for (const seen& s : points) {
    if (s.at->quantity != quantity) continue;
    const drawn d = draw(s);
    if (!(d.x > 0.0)) continue;
    const auto y = [&d](double t) { return d.scale > 0.0 ? d.scale / t : t * 1e9; };
    auto& three = lines[d.key];
    if (three.empty()) {
      three = {{"measured", mark::points, 0, {}},
               {"predicted", mark::line, 1, {}},
               {"bound", mark::dashed, 6, {}}};
    }
    three[0].rows.push_back({d.x, y(s.said->measured), 0.0});
    if (s.said->predicts()) three[1].rows.push_back({d.x, y(s.said->predicted), 0.0});
    if (s.said->bounded()) three[2].rows.push_back({d.x, y(s.said->bound), 0.0});
  }
  for (auto& [key, three] : lines) {
    sort_rows(three);
    p.panels.push_back({key, std::move(three)});
  }
  return p;
}

picture bandwidth_picture(const std::string& device, const std::vector<seen>& points) {
  return curves(
      {.name = file_name("bandwidth", device),
       .title = cat("Bandwidth over the working set, ", device),
       .caption =
           "Points: measured. Line: predicted. Dashed: the bound, of a GPU's data sheet or of "
           "the CPU's fastest sample. Launch time limits small sets; warm sets run at the "
           "cache's rate until they no longer fit.",
       .x_label = "working set",
       .y_label = "bandwidth [GB/s]"},
      points, "stream_time", [](const seen& s) {
        const point& p = *s.at;
        const std::string method = word_of(p, "method");
        return drawn{cat(word_of(p, "kernel"), ", ", word_of(p, "cache"),
                         method == "one_kernel" ? ", repeated in one kernel"
                         : method == "memcpy"   ? ", cudaMemcpyAsync"
                                                : ""),
                     number_of(p, "working_set_bytes"),
                     1e-9 * (number_of(p, "bytes_read") + number_of(p, "bytes_written"))};
      });
}

picture latency_picture(const std::string& device, const std::vector<seen>& points) {
  return curves(
      {.name = file_name("latency", device),
       .title = cat("Latency of one load, ", device),
       .caption =
           "Points: measured. Line: latency of the level that holds the set; for a CPU from the "
           "sets that fill a level to a half. Each level is a plateau.",
       .x_label = "working set",
       .y_label = "latency [ns]",
       .key = "top left"},
      points, "load_latency", [](const seen& s) {
        const std::string first = word_of(*s.at, "first_level");
        return drawn{cat("pointer chase", first == "l1"   ? ", through L1"
                                          : first == "l2" ? ", past L1"
                                                          : ""),
                     number_of(*s.at, "working_set_bytes"), 0.0};
      });
}

picture littles_law_picture(const std::string& device, const std::vector<seen>& points) {
  return curves(
      {.name = file_name("littles_law", device),
       .title = cat("Little's law, ", device),
       .caption = "Points: measured. Line: min(share x bandwidth, bytes in flight / latency).",
       .x_label = "bytes in flight",
       .y_label = "bandwidth [GB/s]"},
      points, "bytes_in_flight_time", [](const seen& s) {
        return drawn{"bandwidth over bytes in flight", s.said->size,
                     1e-9 * number_of(*s.at, "bytes_read")};
      });
}

/// Median, 10th to 90th percentile and extremes of predicted / measured, a row for each quantity.
picture ratio_picture(const std::string& device, const std::vector<seen>& points) {
  std::map<std::string, std::vector<double>> ratios;
  for (const seen& s : points) {
    if (!s.in->measured || s.in->device.kind != "gpu" || !s.said->predicts()) continue;
    ratios[s.said->quantity].push_back(s.said->predicted / s.said->measured);
  }
  if (ratios.size() < 5) return {};
  const double rows = static_cast<double>(ratios.size());
  panel q;
  q.lines = {{"largest and smallest", mark::points, 6, {}},
             {"median", mark::points, 1, {}},
             {"equal", mark::dashed, 7, {{1.0, 0.0, 0.0}, {1.0, rows + 1.0, 0.0}}}};
  std::vector<series> ranges;
  std::string names;
  double row = rows;
  for (const auto& [quantity, values] : ratios) {
    const auto at = [&values = values](double share) {
      return std::clamp(perfmodel::detail::quantile(values, share), 0.1, 10.0);
    };
    q.lines[0].rows.push_back({at(0.0), row, 0.0});
    q.lines[0].rows.push_back({at(1.0), row, 0.0});
    q.lines[1].rows.push_back({at(0.5), row, 0.0});
    ranges.push_back({ranges.empty() ? "10th to 90th percentile" : "",
                      mark::line,
                      0,
                      {{at(0.1), row, 0.0}, {at(0.9), row, 0.0}}});
    names += cat(names.empty() ? "" : ", ", "\"", quantity, ", ", values.size(), "\" ", row);
    row -= 1.0;
  }
  q.lines.insert(q.lines.begin(), ranges.begin(), ranges.end());
  return {.name = file_name("predicted_over_measured", device),
          .title = cat("Predicted / measured by quantity, ", device),
          .caption =
              "Quantities with their numbers of points. Right of 1: predicted too slow, for "
              "times. Ratios beyond 0.1 and 10 are drawn there.",
          .x_label = "predicted / measured",
          .log_y = false,
          .y_least = 0.0,
          .y_most = rows + 1.0,
          .x_least = 0.09,
          .x_most = 11.0,
          .plain_x = true,
          .y_ticks = names,
          .key = "outside center bottom horizontal",
          .panels = {std::move(q)}};
}

}  // namespace

std::vector<picture> recording_pictures(const std::vector<compared_recording>& all) {
  seen_by_device devices;
  for (const compared_recording& r : all) {
    for (std::size_t i = 0; i < r.recording.points.size(); ++i) {
      devices[r.rows[i].device].push_back({&r.recording, &r.recording.points[i], &r.rows[i]});
    }
  }
  std::vector<picture> out;
  for (const auto& [device, points] : devices) {
    const std::string& accelerator = points.front().in->device.accelerator;
    const bool further_run = !accelerator.empty() && device != accelerator;
    for (auto* draw : {ratio_picture, latency_picture, roofline_picture, bandwidth_picture,
                       littles_law_picture}) {
      // A further run repeats the curves of the first.
      if (further_run && draw != ratio_picture && draw != latency_picture) continue;
      picture p = draw(device, points);
      if (!p.empty()) out.push_back(std::move(p));
    }
  }
  return out;
}

}  // namespace perfmodel::validation
