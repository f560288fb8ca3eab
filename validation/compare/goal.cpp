// Whether predictions of what was measured on a GPU are as near as they are meant to be, and which
// are not.
#include <algorithm>
#include <cmath>
#include <optional>

#include "judge.hpp"
#include "predict.hpp"

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
      if (c.predicts() && !c.fitted) groups[{c.device, c.quantity}].push_back(&c);
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

text_table own_profile_table(const std::vector<compared_recording>& all) {
  text_table t({"device", "quantity", "n", "shipped: median", "p90", "own: median", "p90",
                "parameters of the shipped profile"},
               "llrrrrrl");
  std::map<std::string, std::vector<recorded>> runs;
  for (const compared_recording& r : all) {
    if (r.recording.measured && r.recording.device.kind == "gpu") {
      runs[device_label(r.recording)].push_back(r.recording);
    }
  }
  for (const auto& [device, run] : runs) {
    machine on = machine_of(run.front().device, run);
    const std::optional<machine_fit> own = own_profile(on, run);
    if (!own) continue;
    machine fitted = on;
    fitted.policy.machine = own->profile.value;
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> residuals;
    std::size_t row = 0;  // of the fit
    for (const recorded& r : run) {
      const std::vector<comparison> before = compare_recording(r, on);
      const std::vector<comparison> after = compare_recording(r, fitted);
      for (std::size_t i = 0; i < r.points.size(); ++i) {
        const std::string& quantity = r.points[i].quantity;
        const bool cold_gemm = is_cold_gemm(r.points[i]);
        if (!cold_gemm && quantity != "step_time") continue;
        auto& [shipped, by_own] =
            residuals[cold_gemm ? cat(quantity, ", cold, left out") : quantity];
        shipped.push_back(before[i].residual());
        by_own.push_back(cold_gemm ? own->held_out[row++] : after[i].residual());
      }
    }
    std::string prior;
    std::size_t at = 0;
    machine_parameters::fields(
        [&](const field& about, const auto&) {
          if (at < own->from_prior.size() && own->from_prior[at++]) {
            prior += cat(prior.empty() ? "" : ", ", about.name);
          }
        },
        own->profile.value);
    for (const auto& [quantity, errors] : residuals) {
      const prediction_score a = score_of(errors.first), b = score_of(errors.second);
      t.add({device, cat(quantity), std::to_string(b.n), page_percent(true, a.median),
             page_percent(true, a.p90), page_percent(true, b.median), page_percent(true, b.p90),
             prior});
    }
  }
  return t;
}

std::string summary_lines(const std::vector<compared_recording>& all) {
  constexpr std::pair<const char*, const char*> words[] = {
      {"gemm_time", "GEMMs"},
      {"verify_time", "verification of drafts"},
      {"step_time", "steps of eight layers"},
      {"attention_decode_time", "decode attention"},
      {"attention_prefill_time", "prefill attention"},
      {"moe_time", "experts"},
      {"chain_time", "fused and unfused chains"},
      {"stream_time", "memory streams"},
      {"load_latency", "load latency"},
      {"arithmetic_time", "arithmetic peaks"},
      {"transfer_time", "transfers from and to the host"},
      {"launch_time", "launches"},
      {"energy", "energy"}};
  std::map<std::string, std::map<std::string, std::vector<const comparison*>>> devices;
  std::map<std::string, std::string> names;
  for (const compared_recording& r : all) {
    if (!r.recording.measured || r.recording.device.kind != "gpu") continue;
    const std::string device = device_label(r.recording);
    names[device] = r.recording.device.name;
    for (const comparison& c : r.rows) devices[device][c.quantity].push_back(&c);
  }
  std::string out;
  for (const auto& [device, quantities] : devices) {
    out += cat("your ", names[device], ", predicted over measured (median error):\n");
    std::size_t slow = 0, counted = 0, points = 0;
    for (const auto& [quantity, rows] : quantities) {
      for (const comparison* c : rows) {
        slow += c->slow ? 1 : 0;
        counted += c->clock_hz > 0.0 ? 1 : 0;
        ++points;
      }
    }
    for (const auto& [quantity, word] : words) {
      const auto found = quantities.find(quantity);
      if (found == quantities.end()) continue;
      const group_score s = score("", found->second);
      if (s.predicted.n == 0) continue;
      out += cat("  ", word, ": ", percent(s.at_clock.median), " of ", s.predicted.n, " points");
      if (s.stated > 0) {
        out += cat("; ", s.covered * 100 / s.stated, " % inside the 80 % interval");
      }
      if (s.violations > 0) out += cat("; ", s.violations, " below the bound");
      out += "\n";
    }
    if (slow > 0) {
      out += cat("  ", slow, " of ", counted,
                 " points with a counted clock ran more than 3 % below the tensor clock: a power "
                 "cap or heat. They are scored at the clock that they had.\n");
    }
  }
  return out;
}

}  // namespace perfmodel::validation
