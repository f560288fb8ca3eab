#include <algorithm>
#include <cmath>
#include <map>

#include "../calibrate/published_collectives.hpp"
#include "published.hpp"

namespace perfmodel::validation {

namespace {

/// Latencies of nccl-tests on four A100 that no profile was fitted to.
std::vector<published::collective_row> other_rows(const std::string& folder) {
  std::vector<published::collective_row> out;
  for (const auto& c : published::rows_of(folder + "/llmcompass_allreduce_4xA100.csv")) {
    published::collective_row x;
    x.gpu = "a100_sxm";
    x.operation = "all_reduce";
    x.kernels = "nccl (LLMCompass)";
    x.call.operation = collective_op::all_reduce;
    x.call.ranks = std::stoi(c[1]);
    x.call.message = message_bytes<>(std::stod(c[2]) * byte);
    x.call.implementation = implementation::nccl;
    x.call.launch = launch_mode::stream;
    x.call.format = fp16;
    x.seconds = std::stod(c[3]) * 1e-6;
    out.push_back(x);
  }
  return out;
}

comparison from(const published::collective_prediction& p, bool fitted) {
  comparison c;
  c.table = fitted ? "AIConfigurator" : "LLMCompass";
  c.quantity = p.row.operation;
  c.device = published::accelerator_of(p.row.gpu)->name.view();
  c.format = name_of(p.row.call.format);
  c.engine = p.row.kernels;
  if (!p.row.nccl()) c.engine.append(p.row.captured() ? ", captured" : ", eager");
  c.regime = p.row.call.message.quantity().value() < 65536.0     ? "to 64 KiB"
             : p.row.call.message.quantity().value() < 4194304.0 ? "to 4 MiB"
                                                                 : "above";
  c.shape = std::to_string(p.row.call.ranks).append(" ranks");
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
    series measured{std::to_string(ranks).append(" ranks"), mark::points, colour, {}};
    for (const auto* r : members) {
      measured.rows.push_back({r->row.call.message.quantity().value(), 1e6 * r->measured, 0.0});
    }
    series predicted{"", mark::line, colour, {}};
    const double least = measured.rows.front()[0];
    const double most = measured.rows.back()[0];
    for (double s = least; s <= most * 1.001; s *= 1.189207115) {
      published::collective_row at = members.front()->row;
      at.call.message = message_bytes<>(s * byte);
      predicted.rows.push_back({s, 1e6 * published::predicted(at).predicted, 0.0});
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
  std::map<std::string, std::map<std::string, std::vector<published::collective_prediction>>> nccl;
  std::map<std::string, std::vector<published::collective_prediction>> engines;
  for (const auto& p : published::collective_predictions(folder)) {
    if (p.row.nccl()) {
      if (p.row.call.format == int8) continue;
      nccl[p.row.gpu][p.row.operation].push_back(p);
    } else {
      std::string name = p.row.gpu;
      engines[name.append(", ")
                  .append(p.row.kernels)
                  .append(p.row.captured() ? ", captured" : ", eager")]
          .push_back(p);
    }
  }
  std::vector<picture> out;
  for (const auto& [gpu, operations] : nccl) {
    picture p;
    p.name = std::string("collectives_").append(gpu);
    p.title = std::string("NCCL on ").append(published::accelerator_of(gpu)->name.view());
    p.caption =
        "Points: nccl-tests, as published. Lines: the shipped profile. To see: flat at small "
        "messages (launch and hops), straight at large ones (the link), and the knees between, "
        "where NCCL changes its protocol.";
    p.x_label = "message";
    p.y_label = "time [us]";
    p.bytes_on_x = true;
    p.key = "top left";
    for (const auto& [operation, rows] : operations) {
      p.panels.push_back(panel_of(operation, rows));
    }
    out.push_back(std::move(p));
  }
  for (const char* gpu : published::measured_gpus) {
    picture own;
    own.name = std::string("collectives_engines_").append(gpu);
    own.title = std::string("All-reduce by an engine's own kernels, ").append(gpu);
    own.caption =
        "Points: as published. Lines: the shipped profile. To see: captured in a graph the floor "
        "is "
        "a few microseconds; launched one by one (eager) the host sets it.";
    own.x_label = "message";
    own.y_label = "time [us]";
    own.bytes_on_x = true;
    own.columns = 3;
    own.key = "top left";
    for (const auto& [name, rows] : engines) {
      if (rows.front().row.gpu != gpu) continue;
      own.panels.push_back(panel_of(name.substr(name.find(", ") + 2), rows));
    }
    if (!own.empty()) out.push_back(std::move(own));
  }
  return out;
}

}  // namespace perfmodel::validation
