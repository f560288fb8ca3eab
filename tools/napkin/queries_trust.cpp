// How far to trust a prediction of a service: errors on the published runs nearest to it.
#include <algorithm>
#include <cmath>

#include "model_page.hpp"
#include "query.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Errors of one figure in per cent: mean (of TTFT the median) of |predicted / measured - 1|, bias,
/// and share of runs inside the 80 % interval (-1: no interval). 0 where the runs have no such
/// figure.
struct figure_errors {
  double mean = 0.0, bias = 0.0, inside = -1.0;
};
/// Published runs of one service. Parameters in billions tell its model.
struct published_runs {
  const char* source;
  const char* protocol;
  const char* model;
  double parameters, active;
  const char* accelerator;
  const char* engine;
  int runs;
  bool fitted;                ///< constants of the engine were fitted to these runs
  const char* measured_with;  ///< the engine's releases and the latest month; "": not stated
  figure_errors itl{}, ttft{}, rate{}, e2e{};
};
constexpr published_runs published[] = {
#include "published_scores.inc"
};

constexpr std::size_t rows_shown = 6;

struct asked_service {
  double parameters, active;  ///< in billions
  const pm::accelerator& accelerator;
  std::string_view engine;
};

bool same_size(double a, double b) {
  return std::fabs(a / b - 1.0) < 0.02;
}
bool same_model(const asked_service& s, const published_runs& r) {
  return same_size(s.parameters, r.parameters) && same_size(s.active, r.active);
}
bool same_accelerator(const asked_service& s, const published_runs& r) {
  return find_accelerator(r.accelerator).name == s.accelerator.name;
}
bool same_engine(const asked_service& s, const published_runs& r) {
  return s.engine == "none" || s.engine == r.engine;
}

/// 0 for the same service. A factor of two in active parameters, another kind of model (dense or
/// experts), another accelerator of the same architecture and another engine are a step each;
/// another architecture is two.
double distance(const asked_service& s, const published_runs& r) {
  double d = 0.0;
  if (!same_model(s, r)) {
    d += 0.5 + std::fabs(std::log2(s.active / r.active));
    const bool routed = s.parameters > 1.5 * s.active, other = r.parameters > 1.5 * r.active;
    if (routed != other) d += 1.0;
  }
  if (!same_accelerator(s, r)) {
    const pm::accelerator& a = find_accelerator(r.accelerator);
    d += a.architecture == s.accelerator.architecture ? 1.0 : 2.0;
  }
  return d + (same_engine(s, r) ? 0.0 : 1.0);
}

/// "ITL 5 % off (bias +2 %), 94 % inside the interval".
std::string errors_text(const char* name, const figure_errors& e) {
  if (!(e.mean > 0.0)) return "";
  std::string s = cat(name, " ", whole_percent(0.01 * e.mean), " off (bias ",
                      e.bias < 0.0 ? "-" : "+", whole_percent(0.01 * std::fabs(e.bias)), ")");
  return e.inside < 0.0 ? s : cat(s, ", ", whole_percent(0.01 * e.inside), " inside the interval");
}
std::string all_errors(const published_runs& r) {
  std::string s;
  for (const std::string& part :
       {errors_text("ITL", r.itl), errors_text("TTFT", r.ttft), errors_text("tokens/s", r.rate),
        errors_text("whole request", r.e2e)}) {
    if (!part.empty()) s += cat(s.empty() ? "" : "; ", part);
  }
  return s;
}
std::string service_text(const published_runs& r) {
  const char* const with = r.measured_with;
  return cat(r.model, " on ", r.accelerator, " by ", r.engine, *with == '\0' ? "" : " ", with);
}

json json_of(const figure_errors& e) {
  if (!(e.mean > 0.0)) return nullptr;
  return {{"mean_error", e.mean / 100.0},
          {"bias", e.bias / 100.0},
          {"inside_interval", e.inside < 0.0 ? json(nullptr) : json(e.inside / 100.0)}};
}
json json_of(const published_runs& r, double d) {
  return {{"source", r.source},
          {"protocol", r.protocol},
          {"model", r.model},
          {"accelerator", r.accelerator},
          {"engine", r.engine},
          {"runs", r.runs},
          {"fitted", r.fitted},
          {"measured_with", r.measured_with},
          {"distance", number_json("distance", d)},
          {"itl", json_of(r.itl)},
          {"ttft", json_of(r.ttft)},
          {"output_rate", json_of(r.rate)},
          {"e2e", json_of(r.e2e)}};
}

std::string conclusion_of(const asked_service& s, const published_runs& nearest) {
  std::string missing;
  const auto lacks = [&](bool same, const char* what) {
    if (!same) missing += cat(missing.empty() ? "" : ", ", what);
  };
  lacks(same_model(s, nearest), "another model");
  lacks(same_accelerator(s, nearest), "another GPU");
  lacks(same_engine(s, nearest), "another engine");
  return wrapped(
      cat(missing.empty() ? "Published runs of this service: "
                          : cat("No published run of this service. Nearest (", missing, "): "),
          service_text(nearest), ", ", nearest.protocol, ", ", nearest.runs,
          nearest.fitted ? " runs, to which the engine was fitted: " : " runs, not fitted: ",
          all_errors(nearest), "."),
      0);
}

outcome<> trust_outcome(const request& r, const calibration*) {
  const pm::transformer& m = find_model(r.text("model")).model;
  const asked_service s{parameters(m).total() / 1e9, counted_active(m) / 1e9, r.accelerator(),
                        r.text("engine")};
  std::vector<std::pair<double, const published_runs*>> all;
  for (const published_runs& p : published) all.push_back({distance(s, p), &p});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->runs > b.second->runs;
  });
  all.resize(std::min(all.size(), rows_shown));
  outcome<> out;
  out.conclusion = conclusion_of(s, *all.front().second);
  out.add("distance", "distance of the nearest", all.front().first);
  out.facts["published"] = json::array();
  for (const auto& [d, p] : all) {
    out.facts["published"].push_back(json_of(*p, d));
    const char* const with = p->measured_with;
    out.notes.push_back({cat(p->model, " on ", p->accelerator, " by ", p->engine),
                         cat(*with == '\0' ? "" : cat(with, "; "), p->protocol, ", ", p->runs,
                             p->runs == 1 ? " run" : " runs", p->fitted ? " (fitted)" : "", ": ",
                             all_errors(*p), ". ", p->source)});
  }
  return out;
}

explanation no_derivation(const request&, const calibration*) {
  throw pm::error(pm::error_code::inconsistent,
                  "trust lists published runs and has no derivation; allowed: explain serving");
}

}  // namespace

std::vector<query> trust_queries() {
  query q;
  q.name = "trust";
  q.help = "Errors of predictions on the published runs nearest to a service";
  q.keys = {model_key(), accelerator_key(), engine_key()};
  q.answer = trust_outcome;
  q.explain = no_derivation;
  return {q};
}

}  // namespace napkin
