#include <algorithm>
#include <cmath>
#include <map>

#include <fit/published_collectives.hpp>
#include "published.hpp"

namespace perfmodel::validation {

namespace {

/// Latencies of nccl-tests on four A100 that no profile was fitted to.
std::vector<published::collective_row> other_rows(const std::string& folder) {
  std::vector<published::collective_row> out;
  for (const auto& c : published::rows_of(folder, "llmcompass_allreduce_4xA100.csv")) {
    out.push_back({.gpu = "a100_sxm",
                   .operation = "all_reduce",
                   .kernels = "nccl (LLMCompass)",
                   .call = {.ranks = c.whole("num_gpus"),
                            .message = message_bytes<>(c.number("bytes") * byte),
                            .implementation = collective_implementation::nccl,
                            .launch = launch_mode::stream,
                            .format = fp16},
                   .seconds = c.seconds()});
  }
  return out;
}

comparison from(const published::collective_prediction& p, bool fitted) {
  comparison c;
  c.table = fitted ? "AIConfigurator" : "LLMCompass";
  c.quantity = p.row.operation;
  c.device = published::device_named(p.row.gpu)->name.view();
  c.format = name_of(p.row.call.format);
  c.engine = p.row.kernels;
  if (!p.row.nccl()) c.engine += p.row.captured() ? ", captured" : ", eager";
  c.regime = p.row.call.message.quantity().value() < 65536.0     ? "<64KiB"
             : p.row.call.message.quantity().value() < 4194304.0 ? "<4MiB"
                                                                 : ">=4MiB";
  c.shape = cat(p.row.call.ranks, " ranks");
  c.unit = "s";
  c.measured = p.measured;
  c.predicted = p.predicted;
  c.bound = p.bound;
  c.held_to = p.bound;
  c.size = p.row.call.message.quantity().value();
  c.fitted = fitted;
  c.log_sigma = std::log(p.high / p.predicted) / z90;
  c.by = p.algorithm;
  return c;
}

/// Measured points over the predicted curve and the bound, by ranks.
panel panel_of(const std::string& title,
               const std::vector<published::collective_prediction>& rows) {
  std::map<int, std::vector<const published::collective_prediction*>> by_ranks;
  for (const auto& r : rows) by_ranks[r.row.call.ranks].push_back(&r);
  panel out;
  out.title = title;
  int colour = 0;
  for (auto& [ranks, members] : by_ranks) {
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) {
      return a->row.call.message.quantity() < b->row.call.message.quantity();
    });
    series measured{cat(ranks, " ranks"), mark::points, colour, {}};
    for (const auto* r : members) {
      measured.rows.push_back({r->row.call.message.quantity().value(), r->measured, 0.0});
    }
    series predicted{"", mark::line, colour, {}};
    const double least = measured.rows.front()[0];
    const double most = measured.rows.back()[0];
    for (double s = least; s <= most * 1.001; s *= 1.189207115) {
      published::collective_row at = members.front()->row;
      at.call.message = message_bytes<>(s * byte);
      predicted.rows.push_back({s, published::predicted(at).predicted, 0.0});
    }
    out.lines.push_back(std::move(measured));
    out.lines.push_back(std::move(predicted));
    ++colour;
  }
  return out;
}

}  // namespace

std::vector<comparison> published_collectives(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& p : published::collective_predictions(folder)) out.push_back(from(p, true));
  for (const auto& r : other_rows(folder)) out.push_back(from(published::predicted(r), false));
  return out;
}

std::vector<picture> collective_pictures(const std::string& folder) {
  using predictions = std::vector<published::collective_prediction>;
  std::map<std::string, std::map<std::string, predictions>> nccl, engines;
  for (const auto& p : published::collective_predictions(folder)) {
    if (p.row.nccl()) {
      if (p.row.call.format != int8) nccl[p.row.gpu][p.row.operation].push_back(p);
    } else {
      engines[p.row.gpu][cat(p.row.kernels, p.row.captured() ? ", captured" : ", eager")].push_back(
          p);
    }
  }
  std::vector<picture> out;
  const auto add = [&out](const std::map<std::string, predictions>& panels, picture p) {
    p.x_label = "message";
    p.y_label = "time";
    p.legend = "Points: measured. Lines: predicted.";
    p.y_unit = "s";
    p.x_unit = "B";
    for (const auto& [title, rows] : panels) p.panels.push_back(panel_of(title, rows));
    out.push_back(std::move(p));
  };
  for (const auto& [gpu, operations] : nccl) {
    add(operations,
        {.name = cat("collectives_", gpu),
         .title = cat("NCCL on ", published::device_named(gpu)->name.view()),
         .caption =
             "Points: nccl-tests, as published. Lines: the shipped profile. Small messages are "
             "flat (launch and hops), large ones straight (the link). The knees between are "
             "changes of NCCL's protocol."});
  }
  for (const auto& [gpu, kernels] : engines) {
    add(kernels, {.name = cat("collectives_engines_", gpu),
                  .title = cat("All-reduce by an engine's own kernels, ", gpu),
                  .caption = "Points: as published. Lines: the shipped profile. Captured in a "
                             "graph the floor is a few microseconds; launched one by one (eager) "
                             "the CPU sets it.",
                  .columns = 3});
  }
  return out;
}

}  // namespace perfmodel::validation
