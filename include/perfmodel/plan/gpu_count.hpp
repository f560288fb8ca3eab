// Search for the number of GPUs: the limit of a plan doubles until more GPUs stop helping.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/plan/collector.hpp>
#include <perfmodel/plan/request.hpp>
#include <perfmodel/plan/result.hpp>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Limits of a search for the number of GPUs.
struct gpu_count_limits {
  int first = 1;           ///< limit tried first, doubled from there
  int ceiling = 1024;      ///< largest limit tried
  bool until_met = false;  ///< stop at the first limit that meets the targets
};

/// Plan with its number of GPUs. `result.fewest_gpus` is exact without pools: a plan with a lower
/// limit has no best.
struct counted_plan {
  plan_request request{};     ///< `gpus` is the limit of `result`
  plan_result result{};       ///< plan of the limit with the cheapest best, the largest of equals
  std::vector<int> limits{};  ///< limits tried, ascending
};

namespace detail {

/// Cost of a plan's best point; infinite without one.
inline double cost_of_best(const plan_result& r) {
  return r.best ? cost_of(r.frontier[*r.best], r.all_priced) : infinity;
}

/// Whether the larger limit lowers the best cost, or the smallest miss without one, by over 0.1 %.
inline bool more_gpus_help(const plan_result& fewer, const plan_result& more) {
  constexpr double same = 0.999;
  if (more.best) return cost_of_best(more) < same * cost_of_best(fewer);
  if (fewer.best) return false;                                  // plans with pools may lose theirs
  if (!more.nearest_point || !fewer.nearest_point) return true;  // nothing served yet
  return more.nearest_miss < same * fewer.nearest_miss;
}

/// Bisection for the fewest GPUs between a limit that misses the targets and one that meets them: a
/// plan without pools tries all that one of fewer GPUs does. With pools fewer may also be cheaper.
template <class Plan>
void find_fewest_gpus(counted_plan& c, std::optional<plan_point>& fewest, const Plan& plan_of) {
  if (!fewest) return;
  int misses = 0;
  for (const int limit : c.limits) {
    if (limit < fewest->gpus) misses = limit;
  }
  plan_request q = c.request;
  for (q.gpus = fewest->gpus - 1; q.gpus > misses; q.gpus = (misses + fewest->gpus) / 2) {
    plan_result r = plan_of(q);
    if (!r.fewest_gpus) {
      misses = q.gpus;
      continue;
    }
    fewest = r.fewest_gpus;
    if (cost_of_best(r) < cost_of_best(c.result)) {
      c.result = std::move(r);
      c.request.gpus = q.gpus;
    }
  }
}

}  // namespace detail

/// Plan of a request without a number of GPUs: plan_of(request) for limits of first, 2 first,
/// 4 first, ... up to the ceiling. It stops at a limit that meets the targets if its double has no
/// cheaper best, and without a best after two doublings that leave the smallest miss as it is.
/// Leaves out: optima behind a doubling that does not help. Errors: those of plan_of; bad limits.
/// Test: each GPU count on its own.
template <class Plan>
counted_plan search_gpu_count(plan_request q, const gpu_count_limits& limits, const Plan& plan_of) {
  const double ceiling = limits.ceiling;
  detail::within("ceiling", ceiling, 1.0, 65536.0, "1 to 65536");
  detail::within("first", static_cast<double>(limits.first), 1.0, ceiling, "1 to the ceiling");
  counted_plan c{.request = q};
  std::optional<plan_point> fewest;
  int idle = 0;  // doublings in a row that did not help
  for (q.gpus = limits.first;; q.gpus = (std::min)(2 * q.gpus, limits.ceiling)) {
    plan_result r = plan_of(q);
    if (r.fewest_gpus && (!fewest || r.fewest_gpus->gpus < fewest->gpus)) fewest = r.fewest_gpus;
    idle = c.limits.empty() || detail::more_gpus_help(c.result, r) ? 0 : idle + 1;
    c.limits.push_back(q.gpus);
    if (!(detail::cost_of_best(r) > detail::cost_of_best(c.result))) {
      c.result = std::move(r);
      c.request.gpus = q.gpus;
    }
    const bool met = c.result.best.has_value();
    if (q.gpus == limits.ceiling || idle == 2 || (met && (limits.until_met || idle == 1))) break;
  }
  if (!limits.until_met) detail::find_fewest_gpus(c, fewest, plan_of);
  c.result.fewest_gpus = std::move(fewest);
  return c;
}

}  // namespace perfmodel::inline v0_3
