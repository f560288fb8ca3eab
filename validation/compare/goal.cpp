// Whether predictions of what was measured on a GPU are as near as they are meant to be, and which
// are not.
#include <algorithm>
#include <cmath>

#include "judge.hpp"

namespace perfmodel::validation {

namespace {

/// Goal for a calibrated operator; a synthetic decode step is held to its median alone.
constexpr double goal_median = 0.05, goal_p90 = 0.15, goal_step = 0.10;

struct scored_quantity {
  std::string device, quantity;
  std::vector<const comparison*> rows{};
  group_score score{};

  bool a_step() const { return quantity == "step_time"; }
  bool met() const {
    if (a_step()) return score.predicted.median <= goal_step;
    return score.predicted.median <= goal_median && score.predicted.p90 <= goal_p90;
  }
};

/// What was predicted of GPUs that were measured here.
std::vector<scored_quantity> on_gpus(const std::vector<compared_recording>& all) {
  grouped_rows groups;
  for (const compared_recording& r : all) {
    if (!r.recording.measured || r.recording.device.kind != "gpu") continue;
    for (const comparison& c : r.rows) {
      if (c.predicts()) groups[{c.device, c.quantity}].push_back(&c);
    }
  }
  std::vector<scored_quantity> out;
  for (const auto& [key, rows] : groups) {
    out.push_back({key.first, key.second, rows, score("", rows)});
  }
  return out;
}

double off(const comparison& c) {
  return c.predicted / c.measured - 1.0;
}

}  // namespace

std::string goal_lines(const std::vector<compared_recording>& all) {
  text_table t({"device", "quantity", "points", "median", "p90", "goal", ""}, "llrrr");
  const std::vector<scored_quantity> quantities = on_gpus(all);
  std::size_t met = 0;
  for (const scored_quantity& q : quantities) {
    met += q.met() ? 1 : 0;
    t.add({q.device, q.quantity, std::to_string(q.score.predicted.n),
           percent(q.score.predicted.median), percent(q.score.predicted.p90),
           q.a_step() ? "10 %" : "5 % / 15 %", q.met() ? "met" : "missed"});
  }
  if (quantities.empty()) return {};
  return cat(t.plain(), "goal: met by ", met, " of ", quantities.size(), " quantities\n");
}

std::string wrong_laws(const std::vector<compared_recording>& all) {
  std::vector<scored_quantity> missed;
  for (scored_quantity& q : on_gpus(all)) {
    if (!q.met()) missed.push_back(std::move(q));
  }
  std::stable_sort(missed.begin(), missed.end(),
                   [](const scored_quantity& a, const scored_quantity& b) {
                     return a.score.predicted.median > b.score.predicted.median;
                   });
  std::vector<scored_quantity> laws;  // one for each quantity, with the rows of every device
  for (scored_quantity& q : missed) {
    q.device += cat(' ', percent(q.score.predicted.median));
    const auto same = std::find_if(laws.begin(), laws.end(), [&](const scored_quantity& l) {
      return l.quantity == q.quantity;
    });
    if (same == laws.end()) {
      laws.push_back(q);
      continue;
    }
    same->device += cat(", ", q.device);
    same->rows.insert(same->rows.end(), q.rows.begin(), q.rows.end());
  }
  std::string out;
  for (const scored_quantity& q : laws) {
    const comparison& worst =
        **std::max_element(q.rows.begin(), q.rows.end(), [](const auto* a, const auto* b) {
          return std::abs(a->residual()) < std::abs(b->residual());
        });
    const auto slower = std::count_if(q.rows.begin(), q.rows.end(),
                                      [](const comparison* c) { return off(*c) < 0.0; });
    out += cat("- `", q.quantity, "` on ", q.device, ": ", slower, " of ", q.rows.size(),
               " points slower. Worst: ", worst.shape, ", measured ",
               amount(worst.measured, worst.unit), ", predicted ",
               amount(worst.predicted, worst.unit), ".\n");
  }
  return out.empty() ? "None misses the goal.\n" : out;
}

}  // namespace perfmodel::validation
