// Simulation of the cheapest row of a plan, and of that with fewest GPUs. A row that misses a
// target is refused.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

#include "output.hpp"
#include "planning.hpp"
#include "service_check.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Requests in the simulated service; of a larger one, fewer replicas are simulated.
constexpr double most_in_flight = 500.0;
/// Output tokens simulated in all; beyond them no further row is tried.
constexpr double most_tokens = 1.5e9;
/// Requests of a run that is simulated whole. The ends of a longer one count for little.
constexpr double longest_run = 20000.0;
/// Rows that may be refused: each costs a simulation and a plan.
constexpr std::size_t most_refused = 16;
/// A simulated latency is that of a sample: it may exceed its target by this factor.
constexpr double sampling = 1.05;

/// The load of a point, and how much of it is simulated: a run, or a steady state.
simulated_load load_of_point(const pm::plan_request& q, const pm::plan_point& p,
                             simulated_service& s, plan_simulation& out) {
  pm::service_load load = with_spread(q);
  const auto in_flight = [&] {
    return load.is_closed() ? load.concurrency() : load.rate().value() * p.serving.e2e.value();
  };
  const auto* closed = std::get_if<pm::closed_loop>(&load.arrivals);
  const double run = closed != nullptr ? closed->requests.value_or(0.0) : 0.0;
  const bool is_run = run > 0.0 && run <= longest_run;
  const double enough = std::ceil(p.replicas * std::min(1.0, most_in_flight / in_flight()));
  if (!is_run && !p.prefill && enough < p.replicas) {
    s.options.replicas = static_cast<int>(enough);
    load = load_times(load, enough / p.replicas);
    out.description = cat(enough, " of ", p.replicas, " replicas, ");
  }
  simulated_load l;
  l.generated = pm::workload_of(load, 1);
  l.typical_tokens = load.input_tokens + load.output_tokens;
  if (is_run) {
    l.generated->requests = static_cast<std::int64_t>(run);
    out.description += cat("a run of ", run, " requests");
    return l;
  }
  const double around = std::min(in_flight(), 10.0 * most_in_flight);
  s.options.warm_up = static_cast<std::int64_t>(200.0 + 4.0 * around);
  s.options.count = static_cast<std::int64_t>(1000.0 + 10.0 * around);
  l.generated->requests = *s.options.count + 2 * s.options.warm_up;
  out.description += cat(*s.options.count, " requests in steady state");
  return l;
}

/// Notes a target that the simulation misses by more than the one noted before.
template <class Sample>
void check_target(plan_simulation& out, const char* of_mean, const char* of_percentile,
                  const Sample& sample, const std::optional<pm::latency_target>& target) {
  if (!target) return;
  const char* reason = target->share ? of_percentile : of_mean;
  const double time = target->share ? sample.quantile(*target->share) : sample.mean();
  const double limit = target->limit.value();
  if (!(time > sampling * limit)) return;
  if (!out.missed.feasible && out.missed.needed / out.missed.available > time / limit) return;
  out.missed = pm::infeasible(reason, "s", time, limit);
}

/// Simulates a point. A service that cannot be simulated keeps its closed form.
plan_simulation simulation_of_point(const planned& p, const pm::plan_point& point) {
  plan_simulation out;
  simulated_service s = simulated_service_of(p, point);
  const simulated_load l = load_of_point(p.request, point, s, out);
  const pm::service_targets& targets = p.request.targets;
  try {
    const pm::simulation_result r =
        run_simulation(s, l, 1, policy_of(p, point.accelerator, point.serving_engine));
    if (!r.feasible) {
      out.reason = sentence(r.feasible);
      return out;
    }
    out.output_tokens = static_cast<double>(r.simulated_requests) * p.request.load.output_tokens;
    const pm::simulation_statistics& of = r.statistics;
    out.ttft = of.ttft.mean() * pm::second;
    out.itl = of.itl.mean() * pm::second;
    out.e2e = of.e2e.mean() * pm::second;
    const pm::latency_target longest_wait = p.request.max_queueing_time;
    check_target(out, "the simulated mean queueing time exceeds its limit", "", of.queueing,
                 std::optional(longest_wait));
    check_target(out, "the simulated mean TTFT misses its target",
                 "the simulated TTFT percentile misses its target", of.ttft, targets.ttft);
    check_target(out, "the simulated mean ITL misses its target",
                 "the simulated ITL percentile misses its target", of.itl, targets.itl);
    check_target(out, "the simulated mean E2E misses its target",
                 "the simulated E2E percentile misses its target", of.e2e, targets.e2e);
  } catch (const pm::error& e) {
    out.reason = message_of(e);
  }
  return out;
}

}  // namespace

void confirm_by_simulation(planned& p, const std::function<void()>& plan_anew) {
  double tokens = 0.0;
  std::optional<pm::plan_point> confirmed;
  // The point's simulation; nothing where it is refused, and the plan is another.
  const auto confirmed_by = [&](const pm::plan_point& point) -> std::optional<plan_simulation> {
    plan_simulation s = simulation_of_point(p, point);
    tokens += s.output_tokens;
    const bool is_last = p.request.refused.size() >= most_refused || tokens > most_tokens;
    if (s.missed.feasible || is_last) return s;
    p.request.refused.push_back(pm::refusal_of(point, s.missed));
    plan_anew();
    return {};
  };
  p.simulated.reset();
  p.fewest_simulated.reset();
  while (p.result.best) {
    const pm::plan_point best = p.result.frontier[*p.result.best];
    if (!confirmed || !is_same(*confirmed, best)) {
      p.simulated = confirmed_by(best);
      if (!p.simulated) continue;
      confirmed = best;
    }
    p.simulated->refused = p.request.refused.size();
    const std::optional<pm::plan_point> fewest = p.result.fewest_gpus;
    const bool is_other = p.search && fewest && fewest->gpus < best.gpus;
    if (!p.simulated->missed.feasible || !is_other) return;
    p.fewest_simulated = confirmed_by(*fewest);
    if (!p.fewest_simulated) continue;
    p.fewest_simulated->refused = p.request.refused.size();
    return;
  }
  p.simulated.reset();
}

}  // namespace napkin
