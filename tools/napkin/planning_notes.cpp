// Intervals of the times of a plan's points.
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/units/text.hpp>
#include <stdexcept>

#include "planning_points.hpp"
#include "service_keys.hpp"

namespace napkin {

namespace pm = perfmodel;

const plan_calibration& calibration_at(const std::vector<plan_calibration>& all,
                                       const pm::label& accelerator, pm::engine e) {
  for (const plan_calibration& c : all) {
    if (c.profiles.accelerator == accelerator && c.serving_engine == e) return c;
  }
  throw std::logic_error(cat("no calibration of ", accelerator.view()));
}

calibrated_note note_on(const pm::plan_request& q, const pm::plan_point& p,
                        const plan_calibration& of) {
  calibration c = of.profiles;
  if (of.own_service != nullptr && is_plain_point(p)) {
    const pm::parallel_layout& l = p.layout;
    put_own_service(
        c, *of.own_service,
        {q.model.name.view(), of.serving_engine, l.tensor, l.pipeline, l.expert, l.data});
  }
  const pm::plan_precision& f = p.precision;
  c.runs(f.weights, f.activations, f.expert_activations.value_or(f.activations), f.kv,
         p.layout.expert > 1);
  outcome<> answer = outcome_of_point(p.serving);
  const pm::deployment d = pm::deployment_of(q, p);
  answer.sums = pm::all_reduce_kind_of(d, pm::iteration{.batch = p.serving.batch, .steady = true},
                                       c.calibration);
  answer.prefill_collectives = pm::prefill_all_reduce_kind_of(d, pm::load_of(q, p), c.calibration);
  answer.pools = p.prefill.has_value();
  const auto least = pm::bound_of_point(q, p);
  outcome<> bound = outcome_of_point(least);
  const pm::iteration one{.batch = 1.0, .context = pm::load_of(q, p).input_tokens};
  const double drafted = p.speculation_index ? pm::speculation_of(q, p).length : 0.0;
  bound.least_itl = pm::step_bound(d, one).time.value() / (drafted + 1.0);
  bound.least_ttft = least.prefill.time.value();
  note_calibration(answer, bound, c, profile_part::all);
  return *answer.calibrated;
}

calibrated_note note_of_prefills(const pm::plan_point& p, calibration c) {
  const pm::plan_precision& f = p.precision;
  c.runs(f.weights, f.activations, f.expert_activations.value_or(f.activations), f.kv,
         p.prefill->layout.expert > 1);
  outcome<> answer = outcome_of_point(p.serving);
  answer.terms = answer.prefill_terms;
  answer.pools = true;
  note_calibration(answer, answer, c, profile_part::all);
  return *answer.calibrated;
}

}  // namespace napkin
