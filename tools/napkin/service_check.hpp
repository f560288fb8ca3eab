// Closed form and simulation of the same service, side by side.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "planning.hpp"
#include "simulation.hpp"

namespace napkin {

/// One figure by closed form and by simulation.
struct checked_figure {
  std::string key{};
  std::string label{};
  perfmodel::unit_exponents unit{};
  double closed_form = 0.0;
  double simulation = 0.0;

  double ratio() const { return closed_form > 0.0 ? simulation / closed_form : 1.0; }
};

/// Simulation of a service that a closed form predicts. In steady state the begin and the end of
/// the simulation are not counted.
struct service_check {
  std::string description{};  ///< "2000 requests, 1500 of them counted"
  std::vector<checked_figure> figures{};
  std::vector<std::string> left_out{};  ///< given keys that the simulation does not have
  std::string reason{};                 ///< why there is no simulation; else ""
  arrival_trend trend{};                ///< trend of an open loop
};

/// Variation of lengths in a simulation without a stated one. Requests of equal length would end in
/// the same step for ever.
inline constexpr double least_variation = 0.05;
/// Variation of output lengths in a closed loop of a plan, where real clients do not stay in step.
inline constexpr double least_output_variation = 0.3;

/// Load of a plan with spread lengths. A target on a percentile of E2E keeps the stated outputs.
inline perfmodel::service_load with_spread(const perfmodel::plan_request& q) {
  perfmodel::service_load l = q.load;
  const auto* closed = std::get_if<perfmodel::closed_loop>(&l.arrivals);
  const bool is_steady = closed != nullptr && !closed->requests;
  const bool keeps_outputs = q.targets.e2e && q.targets.e2e->share;
  const double outputs = is_steady && !keeps_outputs ? least_output_variation : least_variation;
  l.input_cv = std::max(l.input_cv, least_variation);
  l.output_cv = std::max(l.output_cv, outputs);
  return l;
}

/// Deviation from which a check of a plan reports a figure.
inline constexpr double notable_deviation = 0.15;

/// Check of a `serving` request, given its result.
service_check check_of_serving(const json& object, const given_profile* profile,
                               const outcome<>& closed_form);

/// A `serving` request by its closed form, and its check.
struct checked_service {
  outcome<> closed_form{};
  service_check check{};
};
/// Throws inconsistent where the request asks for a simulation in place of the closed form.
checked_service checked_service_of(const json& object, const given_profile* profile);
/// The result of the closed form, with `check`.
json checked_service_json(const checked_service& s, const json& object);
/// Removes `check` from a request of a service or a plan and returns its value; false without it.
/// Throws wrong_type.
bool take_check(json& object);
/// Replaces the latencies and rates of a closed form by those of a simulation, where `method` and
/// the load ask for it and the simulation has all that was asked for. `r` is the request of
/// `object`.
void simulate_instead(outcome<>& closed_form, const request& r, const json& object);
json check_json(const service_check& c);
/// Table of closed form, simulation and their ratio.
std::string check_text(const service_check& c);

/// The service of a row of a plan, as --save starts it; its calibration, null for a bound.
simulated_service simulated_service_of(const planned& p, const perfmodel::plan_point& point);
const perfmodel::calibrated* policy_of(const planned& p, const perfmodel::label& chip,
                                       perfmodel::engine e);
/// Check of one row of a plan.
struct plan_check {
  std::size_t row = 0;  ///< from 0
  service_check check{};
};
/// Adds the mean lengths, their variation and the mean rate of a trace to a `plan` request, where
/// it has none. Throws missing_key where the trace has no arrival times.
void add_load_of_trace(json& request, const simulated_load& load);
/// Checks of the first rows of a plan under its load, or under a given one.
std::vector<plan_check> checks_of_plan(const planned& p,
                                       const std::optional<simulated_load>& load = {});
json plan_checks_json(const std::vector<plan_check>& checks);
/// Table of the checked rows, and a sentence that names the figures that differ by more than
/// `notable_deviation`.
std::string plan_checks_text(const std::vector<plan_check>& checks);

}  // namespace napkin
