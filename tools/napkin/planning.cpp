#include "planning.hpp"
#include "service_keys.hpp"

#include <algorithm>
#include <perfmodel/explain/predict.hpp>

#include "deployments.hpp"
#include "planning_points.hpp"
#include "planning_search.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Accelerators that decode, and accelerators of prefill pools only.
std::vector<pm::accelerator> accelerators_in(const pm::plan_request& q) {
  std::vector<pm::accelerator> all = q.accelerators;
  if (!q.pools) return all;
  for (const pm::accelerator& a : q.pools->prefill_accelerators) {
    if (pm::detail::find_accelerator(q.accelerators, a.name) == nullptr) all.push_back(a);
  }
  return all;
}

/// Applies a service profile to the engine that its runs were of.
void add_own_service(plan_calibration& c, const pm::plan_request& q, const given_profile* given) {
  if (given == nullptr || !given->service || given->service->by != c.serving_engine) return;
  if (!(given->machine.name == c.profiles.accelerator)) return;
  put_own_service(c.profiles, *given, {q.model.name.view(), c.serving_engine});
  c.profiles.widths.reset();  // of the layout of the runs: note_on
  c.own_service = given;
}
/// Throws inconsistent where a service profile applies to no part of the plan.
void require_own_service(const std::vector<plan_calibration>& all, const pm::plan_request& q,
                         const given_profile* given) {
  if (given == nullptr || !given->service || !given->must_match) return;
  const auto is_own = [](const plan_calibration& c) { return c.own_service != nullptr; };
  if (std::any_of(all.begin(), all.end(), is_own)) return;
  detail::contradiction(
      cat("the profile is of ", given->service->model, " on ", pm::name_of(given->service->by),
          ", and the plan is of ", q.model.name.view(), " on ",
          listed(all, [](const plan_calibration& c) { return pm::name_of(c.serving_engine); })));
}

/// Profiles of each accelerator under each of its engines.
std::vector<plan_calibration> calibrations_of(const pm::plan_request& q, const request& r) {
  std::vector<plan_calibration> all;
  for (const pm::accelerator& a : accelerators_in(q)) {
    pm::engine_list engines = pm::engines_on(a);
    if (!q.engines.empty() || engines.empty()) engines = {};
    for (const pm::engine e : q.engines) engines.push_back(e);
    if (engines.empty()) engines.push_back(pm::engine::none);
    for (const pm::engine e : engines) {
      all.push_back({e, calibration_of(a, profile_part::all, pm::name_of(e), r.profile())});
      add_own_service(all.back(), q, r.profile());
    }
  }
  require_own_service(all, q, r.profile());
  return all;
}

/// A plan's accelerators by the kind of their times: predictions or bounds.
struct plan_modes {
  std::vector<found_accelerator> predicted{};
  std::vector<found_accelerator> bounded{};
};
plan_modes modes_of(const request& r, std::optional<mode> wanted) {
  plan_modes all;
  for (const found_accelerator& a : r.accelerators()) {
    const mode m = wanted.value_or(default_mode(*a, profile_part::all, r.profile()));
    (m == mode::calibrated ? all.predicted : all.bounded).push_back(a);
  }
  return all;
}

/// Throws inconsistent where a request asks for targets that bounds do not have.
void require_bound_request(const pm::plan_request& q) {
  if (!q.targets.has_percentiles() && q.speculations.empty() && !q.pools) return;
  detail::contradiction(
      "percentiles, speculative decoding and disaggregated need predictions; allowed: mode "
      "calibrated");
}
/// The part of a request that bounds support: targets on means, no speculation, one pool.
void reduce_to_bounds(pm::plan_request& q) {
  for (auto* target : {&q.targets.ttft, &q.targets.itl, &q.targets.e2e}) {
    if (*target) (*target)->share.reset();
  }
  q.speculations.clear();
  q.pools.reset();
}

/// Compares the engines and accelerators of a plan. A search may stop before an engine that needs
/// more GPUs and is cheaper; then the plan is searched up to as many.
/// `settle` does what follows a new result.
template <class Settle>
void compare(planned& p, const std::vector<found_accelerator>& on, const plan_again& again,
             const note_of_point& note, const Settle& settle) {
  for (int i = 0; i < 4; ++i) {
    lead_with_nearest(p);
    p.alternatives.clear();
    p.best_of_each.clear();
    add_alternatives(p, again);
    add_best_of_each(p, on, again, note);
    const int more = gpus_of_cheaper(p);
    if (more <= p.request.gpus) return;
    p.request.gpus = more;
    p.search->limits.push_back(more);
    p.result = again(p.request);
    settle();
  }
}

/// Adds intervals, profiles and reviews of all rows.
void add_notes(planned& p) {
  const auto policy = policy_of(p.calibrations);
  for (const pm::plan_point& point : p.result.frontier) {
    const auto profiles = [&](const pm::label& chip) -> const plan_calibration& {
      return calibration_at(p.calibrations, chip, point.serving_engine);
    };
    p.notes.push_back(note_on(p.request, point, profiles(point.accelerator)));
    p.reviews.push_back(pm::review_of(p.request, point, policy));
    if (!is_mixed(point)) continue;
    const calibrated_note prompts =
        note_of_prefills(point, profiles(point.prefill->accelerator).profiles);
    p.notes.back().first_token = prompts.first_token;
    p.of_prefills[p.notes.size() - 1] = *prompts.profile;
  }
}

void predict(planned& p, const request& r, const std::vector<found_accelerator>& on,
             bool shows_progress) {
  p.calibrations = calibrations_of(p.request, r);
  const plan_again again = [&](const pm::plan_request& q) {
    return search_predictions(q, p.calibrations, false);
  };
  set_result(p, [&](const pm::plan_request& q) {
    return search_predictions(q, p.calibrations, shows_progress);
  });
  const auto confirm = [&] {
    if constexpr (!is_page_module) confirm_by_simulation(p, [&] { set_result(p, again); });
  };
  confirm();
  const note_of_point note = [&](const pm::plan_request& q, const pm::plan_point& point) {
    return std::optional(
        note_on(q, point, calibration_at(p.calibrations, point.accelerator, point.serving_engine)));
  };
  compare(p, on, again, note, confirm);
  add_disaggregation(p, again, note);
  if (p.result.best) {
    const pm::plan_point& best = p.result.frontier[*p.result.best];
    add_headroom(p,
                 &calibration_at(p.calibrations, best.accelerator, best.serving_engine).profiles);
  }
  add_notes(p);
}
void bound(planned& p, const request& r, const std::vector<found_accelerator>& on, bool asked,
           bool shows_progress) {
  const plan_again again = [&](const pm::plan_request& q) { return search_bounds(q, false); };
  set_result(p, [&](const pm::plan_request& q) { return search_bounds(q, shows_progress); });
  p.left_out = left_out_of_bound(r, false);
  compare(
      p, on, again, [](const auto&, const auto&) { return std::nullopt; }, [] {});
  add_headroom(p, nullptr);
  for (const pm::plan_point& point : p.result.frontier) {
    p.reviews.push_back(pm::review_of_bound(p.request, point));
  }
  if (asked) return;
  for (const found_accelerator& a : on) p.hints.push_back(prediction_hint(*a, profile_part::all));
}

/// Parts of a request to search: formats of alternatives, the number of GPUs, the headroom.
void set_searches(planned& p, const request& r) {
  p.others = other_precisions_of(r, p.request);
  if (!r.has("gpus")) p.search.emplace();
  if (limits_queue(r)) p.headroom_limits.emplace();
}

/// Bounds of accelerators without predictions, for the same request.
planned bounds_of_others(const request& r, const std::vector<found_accelerator>& on,
                         bool shows_progress) {
  planned p;
  p.accelerators = on;
  p.request = plan_request_of(r, on, {}, false);
  reduce_to_bounds(p.request);
  set_searches(p, r);
  bound(p, r, on, false, shows_progress);
  return p;
}

}  // namespace

planned plan_of(const json& object, const given_profile* profile, bool shows_progress) {
  const std::optional<mode> wanted = mode_in(object);
  const request r(plan_keys(), object, profile);
  const std::vector<found_accelerator> prefill_on = prefill_accelerators_of(r);
  const plan_modes modes = modes_of(r, wanted);
  const bool predicted = !modes.predicted.empty();
  const std::vector<found_accelerator>& on = predicted ? modes.predicted : modes.bounded;
  planned p;
  p.accelerators = r.accelerators();
  p.accelerators.insert(p.accelerators.end(), prefill_on.begin(), prefill_on.end());
  p.request = plan_request_of(r, on, prefill_on, predicted);
  p.not_read = find_model(r.text("model")).not_read;
  set_searches(p, r);
  if (predicted) {
    predict(p, r, on, shows_progress);
  } else {
    require_bound_request(p.request);
    bound(p, r, on, wanted.has_value(), shows_progress);
  }
  if (predicted && !modes.bounded.empty())
    p.bounds_only.push_back(bounds_of_others(r, modes.bounded, shows_progress));
  return p;
}

}  // namespace napkin
