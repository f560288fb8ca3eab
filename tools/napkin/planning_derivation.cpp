// Derivation of a plan's first row.
#include <algorithm>
#include <perfmodel/serving.hpp>
#include <vector>

#include "deployments.hpp"
#include "planning_points.hpp"

namespace napkin {

namespace pm = perfmodel;

namespace {

/// Serves a point again over numbers with provenance.
pm::derivation derive(const pm::plan_request& q, const pm::plan_point& p,
                      const std::vector<plan_calibration>& calibrations) {
  pm::trace tape;
  const auto d = pm::trace_inputs(pm::deployment_of(q, p), tape);
  const auto l = pm::trace_inputs(pm::load_of(q, p), tape, "load");
  pm::basic_serving_estimate<pm::traced> s;
  if (calibrations.empty()) {
    s = pm::serving_bound(d, l);
  } else {
    const calibration& c = calibration_at(calibrations, p.accelerator, p.serving_engine).profiles;
    const auto calibration = calibration_over<pm::traced>(
        c, pm::traced(0.0), [&](const auto& spec, const char* prefix, const pm::source* from) {
          return traced_constants(spec, tape, prefix, *from);
        });
    s = pm::serving(d, l, calibration);
  }
  pm::derivation steps = derivation_of(outcome_of_point(s));
  for (auto& i : steps.inputs) {
    if (i.source.empty()) i.source = i.name.starts_with("load.") ? "given" : q.model.name.c_str();
  }
  return steps;
}

}  // namespace

pm::derivation derivation_of_plan(const planned& p) {
  if constexpr (is_page_module) return {};
  const auto& points = p.result.frontier;
  const auto plain = std::find_if(points.begin(), points.end(), is_plain_point);
  if (plain == points.end()) return {};
  return derive(p.request, *plain, p.calibrations);
}

}  // namespace napkin
