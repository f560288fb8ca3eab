#include "recording_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/roofline.hpp>

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

std::string file_name(const std::string& what, const std::string& device) {
  std::string s = what;
  s += "_";
  for (const char c : device) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    const bool capital = c >= 'A' && c <= 'Z';
    if (plain)
      s += c;
    else if (capital)
      s += static_cast<char>(c - 'A' + 'a');
    else if (s.back() != '_')
      s += '_';
  }
  while (s.back() == '_') s.pop_back();
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
      "intensity). To see: which points the slope bounds and which the ceiling. Points above the "
      "slope had their operands in a cache.";
  p.x_label = "arithmetic intensity [FLOP per byte]";
  p.y_label = "TFLOP/s";
  p.plain_x = true;
  p.key = "bottom right";
  const accelerator* a = catalog::find_accelerator(device);
  for (const auto& [quantity, title] :
       {std::pair<const char*, const char*>{"gemm_time", "products"},
        {"intensity_time", "loops of so many FLOP a byte"}}) {
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

/// One y over one x, by the words that `name` gives.
template <class Take>
picture curves(const std::string& name, const std::string& title, const std::vector<seen>& points,
               Take take) {
  picture p;
  p.name = name;
  p.title = title;
  std::map<std::string, std::array<series, 3>> lines;
  for (const seen& s : points) {
    std::string key;
    double x = 0.0;
    // 1 / y of a time: `scale` / time is what is drawn, or time itself where scale is 0.
    double scale = 0.0;
    x = s.said->size;
    if (!take(*s.at, key, x, scale) || !(x > 0.0)) continue;
    const auto y = [&](double t) { return scale > 0.0 ? scale / t : t * 1e9; };
    auto& three = lines[key];
    three[0].rows.push_back({x, y(s.said->measured), 0.0});
    if (s.said->predicts()) three[1].rows.push_back({x, y(s.said->predicted), 0.0});
    if (s.said->bounded()) three[2].rows.push_back({x, y(s.said->bound), 0.0});
  }
  for (auto& [key, three] : lines) {
    panel q;
    q.title = key;
    three[0].title = "measured";
    three[1].title = "predicted";
    three[2].title = "bound";
    three[1].as = mark::line;
    three[1].colour = 1;
    three[2].as = mark::dashed;
    three[2].colour = 6;
    q.lines.assign(three.begin(), three.end());
    sort_rows(q.lines);
    p.panels.push_back(std::move(q));
  }
  return p;
}

}  // namespace

std::vector<picture> recording_pictures(const std::vector<compared_recording>& all) {
  seen_by_device devices;
  for (const compared_recording& r : all) {
    for (std::size_t i = 0; i < r.rows.size(); ++i) {
      devices[r.rows[i].device].push_back({&r.recording, &r.recording.points[i], &r.rows[i]});
    }
  }
  std::vector<picture> out;
  for (const auto& [device, points] : devices) {
    out.push_back(roofline_picture(device, points));

    picture streams =
        curves(file_name("bandwidth", device), cat("Bandwidth over the working set, ", device),
               points, [](const point& p, std::string& key, double& x, double& scale) {
                 if (p.quantity != "stream_time") return false;
                 key = cat(word_of(p, "kernel"), ", ", word_of(p, "cache"));
                 x = number_of(p, "working_set_bytes");
                 scale = 1e-9 * (number_of(p, "bytes_read") + number_of(p, "bytes_written"));
                 return true;
               });
    streams.caption =
        "Points: measured. Line: predicted. Dashed: the bound, by a GPU's data sheet or by the "
        "fastest "
        "that a CPU was seen at. To see: small sets are bound by the start of a kernel; warm ones "
        "run "
        "at the cache's rate until they no longer fit.";
    streams.x_label = "working set";
    streams.y_label = "bandwidth [GB/s]";
    streams.bytes_on_x = true;
    out.push_back(std::move(streams));

    picture chase = curves(file_name("latency", device), cat("Latency of one load, ", device),
                           points, [](const point& p, std::string& key, double& x, double&) {
                             if (p.quantity != "load_latency") return false;
                             key = "pointer chase";
                             x = number_of(p, "working_set_bytes");
                             return true;
                           });
    chase.caption =
        "Points: measured. Line: the latency of the level that holds the set, by the catalogue or, "
        "of "
        "a CPU, by the sets that fill a level to a half. To see: one plateau for each level.";
    chase.x_label = "working set";
    chase.y_label = "latency [ns]";
    chase.bytes_on_x = true;
    chase.key = "top left";
    out.push_back(std::move(chase));

    picture little = curves(file_name("littles_law", device), cat("Little's law, ", device), points,
                            [](const point& p, std::string& key, double&, double& scale) {
                              if (p.quantity != "bytes_in_flight_time") return false;
                              key = "bandwidth over bytes in flight";
                              scale = 1e-9 * number_of(p, "bytes_read");
                              return true;
                            });
    little.caption =
        "Points: measured. Line: min(share x bandwidth, bytes in flight / latency). To see: "
        "bandwidth "
        "grows with what is in flight until the memory is full.";
    little.x_label = "bytes in flight";
    little.y_label = "bandwidth [GB/s]";
    little.bytes_on_x = true;
    out.push_back(std::move(little));
  }
  std::erase_if(out, [](const picture& p) { return p.empty(); });
  return out;
}

}  // namespace perfmodel::validation
