// The score that anyone can run: tables of published measurements with predictions.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

#include <compare/report.hpp>
#include "published.hpp"

namespace perfmodel::validation {

namespace {

/// Rows that share the words `key` gives, in the order of those words; a group's cells are they.
using group_key = std::vector<std::string>;

/// Columns of a table of groups beyond the errors of the prediction.
struct shown_columns {
  bool bound{}, interval{}, fitted{true};
};

/// Errors are in per cent, without the sign, so that a row stays short.
template <class Key>
text_table grouped(const std::vector<comparison>& rows, std::vector<std::string> header,
                   shown_columns show, Key key) {
  std::map<group_key, std::vector<const comparison*>> groups;
  for (const comparison& c : rows) {
    const group_key k = key(c);
    if (!k.empty()) groups[k].push_back(&c);
  }
  const std::string align = std::string(header.size(), 'l') + "r";
  for (std::string& c : page_columns()) header.push_back(std::move(c));
  if (show.bound) header.emplace_back("bound");
  if (show.interval) header.emplace_back("covered");
  if (show.fitted) header.emplace_back("fitted");
  text_table out(std::move(header), align);
  for (const auto& [k, members] : groups) {
    std::vector<std::string> cells = k;
    const group_score s = score("", members);
    for (std::string& c : page_cells(s)) cells.push_back(std::move(c));
    if (show.bound) cells.push_back(page_percent(s.bound.n > 0, s.bound.median));
    if (show.interval) {
      cells.push_back(
          s.stated == 0
              ? std::string("-")
              : fixed(100.0 * static_cast<double>(s.covered) / static_cast<double>(s.stated), 0));
    }
    if (!show.fitted) {
      out.add(std::move(cells));
      continue;
    }
    const auto fitted = std::count_if(members.begin(), members.end(),
                                      [](const comparison* c) { return c->fitted; });
    cells.emplace_back(fitted == 0                                             ? "no"
                       : fitted == static_cast<std::ptrdiff_t>(members.size()) ? "yes"
                                                                               : "partly");
    out.add(std::move(cells));
  }
  return out;
}

/// Error over size: medians and the middle 80 % of predicted / measured, for the prediction and for
/// the bound.
picture error_over_size(const std::string& operation, const std::vector<comparison>& rows) {
  picture p;
  p.name = cat("error_", operation);
  std::replace(p.name.begin(), p.name.end(), ' ', '_');
  p.title = cat("Predicted over measured: ", operation);
  p.legend = cat(
      "line: median of half a decade, band: middle 80 % of it, points: median of held-out "
      "rows; ",
      operation == "elementwise" ? "vidur 7d475133, gpu-benches 1c36d509, LLMCompass 2e015fd2"
                                 : "aiconfigurator 095f58a5, vidur 7d475133, LLMCompass 2e015fd2");
  p.caption =
      "Line: median in half a decade of size; band: the middle 80 %; points: the median of "
      "held-out rows. Blue: the prediction; grey: the bound. The prediction stays near 1 at every "
      "size; the bound is far below for short kernels.";
  const bool arithmetic = operation == "gemm" || operation == "attention prefill";
  p.x_label = arithmetic ? "FLOP" : "bytes moved";
  p.y_label = "predicted / measured";
  p.y_least = 0.1;
  p.y_most = 3.0;
  p.columns = 3;
  std::map<std::string, std::array<std::vector<std::array<double, 2>>, 3>> by_device;
  for (const comparison& c : rows) {
    if (c.quantity != operation || !c.predicts() || !(c.size > 0.0)) continue;
    by_device[c.device][0].push_back({c.size, c.predicted / c.measured});
    by_device[c.device][1].push_back({c.size, c.bound / c.measured});
    if (!c.fitted) by_device[c.device][2].push_back({c.size, c.predicted / c.measured});
  }
  for (const auto& [device, points] : by_device) {
    const binned said = in_bins(points[0]);
    const binned limit = in_bins(points[1]);
    if (said.median.empty()) continue;
    panel q;
    const std::size_t n = points[0].size(), unseen = points[2].size();
    q.title = cat(device, ", n = ", n,
                  unseen == 0   ? ", in-sample"
                  : unseen == n ? ", held out"
                                : cat(", ", unseen, " held out"));
    q.lines.push_back({"", mark::band, 6, limit.range});
    q.lines.push_back({"", mark::band, 1, said.range});
    q.lines.push_back({"bound", mark::line, 6, limit.median});
    q.lines.push_back({"predicted", mark::line, 1, said.median});
    q.lines.push_back({"predicted, held-out rows", mark::points, 2, in_bins(points[2]).median});
    const double least = said.median.front()[0], most = said.median.back()[0];
    q.lines.push_back({"", mark::dashed, 7, {{least, 1.0, 0.0}, {most, 1.0, 0.0}}});
    p.panels.push_back(std::move(q));
  }
  return p;
}

picture serving_picture(const std::vector<comparison>& rows) {
  picture p;
  p.name = "serving_tpot";
  p.title = "Time per output token of whole services";
  p.legend =
      "points: runs, most of them in-sample; InferenceX 2025-12 to 2026-01, aiconfigurator "
      "095f58a5";
  p.caption =
      "Points: closed-loop runs of InferenceX and AIConfigurator, over the prediction (orange) and "
      "the bound (grey). Line: equal. CPU time, the scheduler and expert imbalance lift points "
      "above the line. Points of DeepSeek-R1 below it may be runs with MTP.";
  p.x_label = "predicted [ms]";
  p.y_label = "measured [ms]";
  p.columns = 2;
  p.x_least = 0.5;
  p.x_most = 300.0;
  p.y_least = 1.0;
  p.y_most = 600.0;
  std::map<std::string, panel> panels;
  for (const comparison& c : rows) {
    panel& q = panels[c.shape];
    if (q.lines.empty()) {
      q.title = c.shape;
      q.lines = {{"against the bound", mark::points, 6, {}},
                 {"against the prediction", mark::points, 1, {}},
                 {"measured = predicted", mark::line, 7, {{1.0, 1.0, 0.0}, {300.0, 300.0, 0.0}}}};
    }
    q.lines[0].rows.push_back({1e3 * c.bound, 1e3 * c.measured, 0.0});
    if (c.predicts()) q.lines[1].rows.push_back({1e3 * c.predicted, 1e3 * c.measured, 0.0});
  }
  for (auto& [name, q] : panels) {
    q.title += cat(", n = ", q.lines[0].rows.size());
    p.panels.push_back(std::move(q));
  }
  return p;
}

/// What is wrong with a table, with the kind of table that it is.
template <class Score>
auto scored(const char* kind, const std::string& folder, Score&& score) {
  try {
    return score(folder);
  } catch (const std::exception& e) {
    throw std::invalid_argument(cat("--data ", folder, ": tables of ", kind, ": ", e.what()));
  }
}

}  // namespace

published_scores score_published(const std::string& folder) {
  published_scores s;
  s.kernels = scored("kernels", folder, published_kernels);
  s.collectives = scored("collectives", folder, published_collectives);
  s.serving = scored("services", folder, published_serving);
  s.memory = scored("memory", folder, published_memory);
  if (!s.memory.empty()) {
    for (comparison& c : published_sweeps()) s.memory.push_back(std::move(c));
  }
  s.tokens = scored("tokens", folder, published_tokens);
  for (const char* operation :
       {"gemm", "attention decode", "attention prefill", "experts", "elementwise"}) {
    s.pictures.push_back(error_over_size(operation, s.kernels));
  }
  for (auto&& more :
       {scored("collectives", folder, collective_pictures),
        scored("memory", folder, memory_pictures), scored("tokens", folder, token_pictures)}) {
    for (const picture& p : more) s.pictures.push_back(p);
  }
  s.pictures.push_back(serving_picture(s.serving));
  std::erase_if(s.pictures, [](const picture& p) { return p.empty(); });
  return s;
}

std::vector<titled_table> published_tables(const published_scores& s) {
  std::vector<titled_table> out;
  if (!s.kernels.empty()) {
    out.push_back({"Kernels", "By number format.",
                   grouped(s.kernels, {"operation", "GPU", "format"},
                           {.bound = true, .interval = true}, [](const comparison& c) {
                             return group_key{c.quantity, c.device, c.format};
                           })});
  }
  if (!s.collectives.empty()) {
    out.push_back({"Collectives",
                   "By implementation, NCCL's by message size; `<4MiB` begins at 64 KiB.",
                   grouped(s.collectives, {"operation", "GPU", "kernels", "message"},
                           {.interval = true}, [](const comparison& c) {
                             const bool nccl = c.engine.rfind("nccl", 0) == 0;
                             return group_key{c.quantity, c.device, c.engine,
                                              nccl ? c.regime : std::string("all")};
                           })});
  }
  if (!s.serving.empty()) {
    out.push_back(
        {"Whole services: time per output token",
         "The engine parameters were fitted to these rows on NVIDIA GPUs; held-out errors are in "
         "[engines](../../docs/laws/engines.md). The rate of experts with 4-bit weights on Hopper "
         "was "
         "fitted to gpt-oss by vLLM. The floor of an engine's all-reduce on NVLink 5 was chosen "
         "from two measurements by the scaling of Llama on B200. Expert imbalance is left out. "
         "Formats are an engine's defaults. Nothing was fitted to services on AMD GPUs: they use "
         "NVIDIA's CPU times and transferred profiles of attention and links "
         "([AMD](../../docs/laws/calibrated_amd.md)).",
         grouped(s.serving, {"model", "GPU", "engine", "format"}, {.interval = true},
                 [](const comparison& c) {
                   return group_key{c.shape, c.device, c.engine, c.format};
                 })});
  }
  if (!s.memory.empty()) {
    out.push_back(
        {"Memory",
         "From gpu-benches: its tables at 1c36d509. GH200 and A100 40 GB come from "
         "`gpu-l2-cache/h200.txt` at 3088b333, `gpu-strides/h200.txt` at 0a45416b, and "
         "`gpu-roofline/h200.txt` and `alex_a100_40.txt` at e4e93a37. Their h200, which "
         "reads memory at 3.9 TB/s, is a GH200 with 96 GB.",
         grouped(s.memory, {"quantity", "GPU", "level"}, {.bound = true}, [](const comparison& c) {
           return group_key{c.quantity, c.device, c.regime};
         })});
  }
  if (!s.tokens.empty()) {
    out.push_back(
        {"Speculation and KV capacity", "Laws without a fitted number.",
         grouped(s.tokens, {"quantity", "source"}, {.fitted = false}, [](const comparison& c) {
           const bool curve = c.table == "SpecDecode-Bench";
           return group_key{c.quantity, curve ? c.device : c.table};
         })});
  }
  return out;
}

}  // namespace perfmodel::validation
