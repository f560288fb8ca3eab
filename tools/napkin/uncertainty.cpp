#include "uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/units/text.hpp>

#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

struct named_terms {
  const char* name;
  std::vector<std::string_view> terms;
};
/// The terms of an engine step, each with one profile.
const named_terms kinds[] = {
    {"products", {pm::name_of(pm::operator_class::linear), pm::name_of(pm::operator_class::other)}},
    {"attention", {pm::name_of(pm::operator_class::attention)}},
    {"experts", {pm::name_of(pm::operator_class::experts)}},
    {"collectives", {"communication"}}};

/// Kernel uncertainty by profile, with shares of the total.
std::vector<uncertainty_part> kernels_of(const outcome<>& answer, const calibration& c,
                                         profile_part part, double whole) {
  std::vector<uncertainty_part> parts;
  double sum = 0.0;
  for (const named_terms& k : kinds) {
    pm::basic_terms<double> own;
    double time = 0.0;
    for (const auto& t : answer.terms) {
      if (std::find(k.terms.begin(), k.terms.end(), t.name) == k.terms.end()) continue;
      time += own.add(t.kind, t.name, t.time).value();
    }
    if (!(time > 0.0)) continue;
    const double width = evidence_of(c, part, own).log_sigma();
    parts.push_back({k.name, time / whole, width, time * width});
    sum += time * width;
  }
  for (uncertainty_part& p : parts) p.uncertainty_share /= sum > 0.0 ? sum : 1.0;
  return parts;
}

}  // namespace

uncertainty_parts uncertainty_parts_of(const outcome<>& answer, const calibration* of_machine,
                                       profile_part part) {
  uncertainty_parts out;
  if (of_machine == nullptr || !answer.calibrated) return out;
  calibration c = *of_machine;
  c.kinds.kind_of_all_reduces = answer.sums;
  out.low = answer.calibrated->range.low.value();
  out.high = answer.calibrated->range.high.value();
  double whole = 0.0;
  bool service = false;
  for (const auto& r : answer.results) {
    const std::string_view key = r.key;
    if (key == "itl_s") service = true;
    if (key != "itl_s" && (key != "time_s" || service)) continue;
    whole = r.value;
    out.of = r.key;
  }
  const double kernels = answer.log_sigma.value_or(evidence_of(c, part, answer.terms).log_sigma());
  if (part == profile_part::all) {
    out.parts = kernels_of(answer, c, part, whole);
  } else {
    out.parts.push_back({"the kernel", 1.0, kernels, 1.0});
  }
  if (service) {
    const double all = widths_of(c, c.kinds, kernels, 0.0, answer.pools, answer.terms).token;
    const double left = pm::kernel_sigma_share * kernels;
    const double of_kernels = all > 0.0 ? std::min(1.0, left * left / (all * all)) : 1.0;
    double share = 1.0;
    for (uncertainty_part& p : out.parts) {
      p.uncertainty_share *= of_kernels;
      share -= p.time_share;
    }
    out.parts.push_back({"engine and scheduler", std::max(0.0, share),
                         std::sqrt(std::max(0.0, all * all - left * left)), 1.0 - of_kernels});
  }
  std::stable_sort(out.parts.begin(), out.parts.end(),
                   [](const uncertainty_part& a, const uncertainty_part& b) {
                     return a.uncertainty_share > b.uncertainty_share;
                   });
  return out;
}

json uncertainty_json(const uncertainty_parts& w) {
  json parts = json::array();
  for (const uncertainty_part& p : w.parts) {
    parts.push_back({{"part", p.name},
                     {"time_share", number_json("time_share", p.time_share)},
                     {"log_sigma", number_json("log_sigma", p.log_sigma)},
                     {"uncertainty_share", number_json("uncertainty_share", p.uncertainty_share)}});
  }
  return {{"of", w.of},
          {"low_s", number_json("low_s", w.low)},
          {"high_s", number_json("high_s", w.high)},
          {"parts", std::move(parts)}};
}

std::string uncertainty_text(const json& interval) {
  const auto time = [&](const char* key) {
    return pm::to_string(interval[key].get<double>(), pm::exponents_of<pm::duration<>>(), 4);
  };
  std::string s = cat("  interval of ", interval["of"].get<std::string>(), ": 80 % within ",
                      time("low_s"), " to ", time("high_s"));
  const char* before = "; shares of the uncertainty: ";
  for (const json& p : interval["parts"]) {
    s += cat(before, p["part"].get<std::string>(), ' ',
             fixed(100.0 * p["uncertainty_share"].get<double>(), 1), " %");
    before = ", ";
  }
  return s + "\n";
}

}  // namespace napkin
