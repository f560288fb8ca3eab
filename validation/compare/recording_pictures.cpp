#include "recording_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <set>

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

/// Colours of the palette, the same in every picture.
constexpr int measured_colour = 0, predicted_colour = 1, lowered_colour = 3, cached_colour = 5,
              bound_colour = 6;

void sort_rows(std::vector<series>& lines) {
  for (series& s : lines) std::sort(s.rows.begin(), s.rows.end());
}

/// TFLOP/s over FLOP per byte, of the points of one quantity and format.
panel roofline_panel(const std::string& format, const std::vector<seen>& points,
                     const std::string& quantity, const accelerator* a) {
  panel q;
  const bool gemms = quantity == "gemm_time";
  q.title = cat(gemms ? "GEMM" : "FMA loops", format.empty() ? "" : ", ", format);
  q.lines = {{gemms ? "" : "predicted", mark::line, predicted_colour, {}},
             {"measured, operands in a cache", mark::points, cached_colour, {}},
             {"measured", mark::points, measured_colour, {}},
             {"min(peak, bandwidth x intensity)", mark::dashed, bound_colour, {}}};
  double least = 1e30, most = 0.0;
  for (const seen& s : points) {
    const double work = number_of(*s.at, "flop");
    const double moved = number_of(*s.at, "bytes_read") + number_of(*s.at, "bytes_written");
    if (s.at->quantity != quantity || word_of(*s.at, "format") != format) continue;
    if (!(work > 0.0 && moved > 0.0)) continue;
    const double intensity = work / moved;
    least = (std::min)(least, intensity);
    most = (std::max)(most, intensity);
    const auto add = [&](series& to, double time) {
      to.rows.push_back({intensity, 1e-12 * work / time, 0.0});
    };
    const bool warm = word_of(*s.at, "cache") == "warm";
    add(q.lines[warm ? 1 : 2], s.said->measured);
    if (!gemms && s.said->predicts()) add(q.lines[0], s.said->predicted);
    if (a == nullptr && s.said->bounded()) add(q.lines[3], s.said->bound);
  }
  sort_rows(q.lines);
  const auto known = std::find_if(std::begin(all_formats), std::end(all_formats),
                                  [&](number_format f) { return name_of(f) == format; });
  if (a != nullptr && most > 0.0) {
    const bool matrix = gemms && known != std::end(all_formats) && supports(*a, *known);
    const flop_rate<> ceiling = matrix ? peak(*a, *known) : vector_peak(*a);
    for (double x = least / 2.0; x <= 2.0 * most; x *= 1.1) {
      const flop_rate<> roof = attainable(ceiling, a->dram.bandwidth.quantity(), x * flop_per_byte);
      q.lines[3].rows.push_back({x, 1e-12 * roof.value(), 0.0});
    }
  } else if (gemms) {
    q.lines[3].rows.clear();  // several shapes of one intensity have no line between them
  }
  return q;
}

/// A panel for each format, each with its own roof.
picture roofline_picture(const std::string& device, const std::vector<seen>& points) {
  picture p;
  p.name = file_name("roofline", device);
  p.title = cat("Roofline, ", device);
  p.caption =
      "Dashed: min(peak of the format, DRAM bandwidth x intensity). Points above the slope had "
      "their operands in a cache.";
  p.x_label = "arithmetic intensity [FLOP per byte]";
  p.y_label = "TFLOP/s";
  const accelerator* a = catalog::find_accelerator(points.front().in->device.accelerator);
  for (const char* quantity : {"gemm_time", "intensity_time"}) {
    std::set<std::string> formats;
    for (const seen& s : points) {
      if (s.at->quantity == quantity) formats.insert(word_of(*s.at, "format"));
    }
    for (const std::string& format : formats) {
      panel q = roofline_panel(format, points, quantity, a);
      if (!q.lines[1].rows.empty() || !q.lines[2].rows.empty()) p.panels.push_back(std::move(q));
    }
  }
  if (p.panels.size() > 2) p.columns = 3;
  return p;
}

/// Point of a curve: its curve, its x, and its y, `bytes` / time, or the time where bytes are 0.
struct drawn {
  std::string key;
  double x, bytes;
};

/// One y over one x, of the points of one quantity.
template <class Draw>
picture curves(picture p, const std::vector<seen>& points, std::string_view quantity, Draw draw) {
  std::map<std::string, std::vector<series>> lines;
  for (const seen& s : points) {
    if (s.at->quantity != quantity) continue;
    const drawn d = draw(s);
    if (!(d.x > 0.0)) continue;
    const auto y = [&d](double t) { return d.bytes > 0.0 ? d.bytes / t : t; };
    auto& three = lines[d.key];
    if (three.empty()) {
      three = {{"measured", mark::points, measured_colour, {}},
               {"predicted", mark::line, predicted_colour, {}},
               {"bound", mark::dashed, bound_colour, {}}};
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
       .x_unit = "B",
       .y_label = "bandwidth",
       .y_unit = "B/s"},
      points, "stream_time", [](const seen& s) {
        const point& p = *s.at;
        const std::string method = word_of(p, "method");
        return drawn{cat(word_of(p, "kernel"), ", ", word_of(p, "cache"),
                         method == "one_kernel" ? ", repeated in one kernel"
                         : method == "memcpy"   ? ", cudaMemcpyAsync"
                                                : ""),
                     number_of(p, "working_set_bytes"),
                     number_of(p, "bytes_read") + number_of(p, "bytes_written")};
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
       .x_unit = "B",
       .y_label = "latency",
       .y_unit = "s"},
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
       .x_unit = "B",
       .y_label = "bandwidth",
       .y_unit = "B/s"},
      points, "bytes_in_flight_time", [](const seen& s) {
        return drawn{"bandwidth over bytes in flight", s.said->size,
                     number_of(*s.at, "bytes_read")};
      });
}

/// Median and 10th to 90th percentile of predicted / measured, a row for each quantity.
picture ratio_picture(const std::string& device, const std::vector<seen>& points) {
  std::map<std::string, std::vector<double>> ratios;
  for (const seen& s : points) {
    if (!s.in->measured || s.in->device.kind != "gpu" || !s.said->predicts()) continue;
    ratios[s.said->quantity].push_back(s.said->predicted / s.said->measured);
  }
  if (ratios.size() < 5) return {};
  panel q;
  q.rules = {{"", 1.0, true}};
  const auto colour = [](int index) {
    return common::palette_colour(static_cast<std::size_t>(index));
  };
  for (const auto& [quantity, values] : ratios) {
    const auto at = [&values = values](double share) {
      return std::clamp(perfmodel::detail::quantile(values, share), 0.25, 4.0);
    };
    const std::string row = cat(quantity, " (", values.size(), ")");
    q.bars.push_back({row, at(0.1), at(0.9), "10th to 90th percentile", colour(cached_colour),
                      common::fixed(perfmodel::detail::quantile(values, 0.5), 2)});
    q.bars.push_back(
        {row, at(0.5) / 1.006, at(0.5) * 1.006, "median", colour(bound_colour + 1), ""});
  }
  return {.name = file_name("predicted_over_measured", device),
          .title = cat("Predicted / measured by quantity, ", device),
          .legend = "In parentheses the number of points; next to a bar its median. Dashed: equal.",
          .caption =
              "Right of 1: predicted too slow, for times. Ratios beyond 1/4 and 4 are drawn there.",
          .x_label = "predicted / measured",
          .x_least = 0.25,
          .x_most = 4.0,
          .panels = {std::move(q)}};
}

/// Predicted / measured; of a point at a lowered clock, predicted for that clock.
double ratio_of(const comparison& c) {
  return (c.slow && c.at_clock > 0.0 ? c.at_clock : c.predicted) / c.measured;
}

/// Predicted over measured times of GEMMs over their rows, a panel for each format.
picture gemm_picture(const std::string& device, const std::vector<seen>& points) {
  std::map<std::string, std::vector<series>> formats;
  for (const seen& s : points) {
    if (s.at->quantity != "gemm_time" || !s.in->measured || !s.said->predicts()) continue;
    if (s.in->device.kind != "gpu" || word_of(*s.at, "cache") == "warm") continue;
    auto& two = formats[word_of(*s.at, "format")];
    if (two.empty()) {
      two = {{"at the tensor clock", mark::points, measured_colour, {}},
             {"at a lowered clock, predicted for that clock", mark::points, lowered_colour, {}},
             {"", mark::dashed, bound_colour, {}}};
    }
    two[s.said->slow ? 1 : 0].rows.push_back({number_of(*s.at, "m"), ratio_of(*s.said), 0.0});
    two[2].rows = {{1.0, 1.0, 0.0}, {8192.0, 1.0, 0.0}};
  }
  picture p{.name = file_name("gemm_over_rows", device),
            .title = cat("GEMM with cold weights, predicted / measured, ", device),
            .caption = "One point for each shape. A power cap lowers the clock of large GEMMs.",
            .x_label = "rows m",
            .y_label = "predicted / measured",
            .y_least = 0.5,
            .y_most = 2.0};
  for (auto& [format, lines] : formats) p.panels.push_back({format, std::move(lines)});
  return p;
}

/// Predicted over measured times, a panel for each quantity that has no picture of its own.
picture times_picture(const std::string& device, const std::vector<seen>& points) {
  constexpr std::pair<const char*, const char*> quantities[] = {
      {"attention_prefill_time", "prefill attention"},
      {"attention_decode_time", "decode attention"},
      {"paged_attention_time", "decode attention through a block table"},
      {"step_time", "steps of eight layers"},
      {"moe_time", "experts"},
      {"chain_time", "fused and unfused chains"},
      {"launch_time", "launches"},
      {"transfer_time", "transfers from and to the host"},
      {"overlap_time", "GEMM concurrent with a transfer"},
      {"shared_memory_time", "shared memory"},
      {"arithmetic_time", "arithmetic peaks"},
      {"verify_time", "verification of drafts"}};
  picture p{
      .name = file_name("times", device),
      .title = cat("Predicted / measured over the measured time, ", device),
      .caption = "Above 1: predicted too slow. Pink: at a lowered clock, and predicted for it.",
      .x_label = "measured time",
      .x_unit = "s",
      .y_label = "predicted / measured",
      .y_least = 0.2,
      .y_most = 5.0,
      .columns = 3};
  for (const auto& [quantity, title] : quantities) {
    panel q{.title = title,
            .lines = {{"at the tensor clock", mark::points, measured_colour, {}},
                      {"at a lowered clock", mark::points, lowered_colour, {}}},
            .rules = {{"", 1.0, false}}};
    for (const seen& s : points) {
      if (s.said->quantity != quantity || !s.said->predicts()) continue;
      if (!s.in->measured || s.in->device.kind != "gpu") continue;
      q.lines[s.said->slow ? 1 : 0].rows.push_back({s.said->measured, ratio_of(*s.said), 0.0});
    }
    if (!q.lines[0].rows.empty() || !q.lines[1].rows.empty()) p.panels.push_back(std::move(q));
  }
  return p;
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
    for (auto* draw : {ratio_picture, gemm_picture, times_picture, latency_picture,
                       roofline_picture, bandwidth_picture, littles_law_picture}) {
      // A further run repeats the curves of the first.
      if (further_run && draw != ratio_picture && draw != latency_picture) continue;
      picture p = draw(device, points);
      if (!p.empty()) out.push_back(std::move(p));
    }
  }
  return out;
}

}  // namespace perfmodel::validation
