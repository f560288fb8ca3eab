// How far a service is from the targets of a plan.
#pragma once

#include <algorithm>
#include <concepts>
#include <perfmodel/deployment/plan_request.hpp>

namespace perfmodel::detail {

/// Each latency over its limit; 0 where it has none. Above 1 it misses.
struct plan_misses {
  double ttft = 0.0;
  double itl = 0.0;
  double e2e = 0.0;
  double wait = 0.0;

  constexpr double of_targets() const { return (std::max)({ttft, itl, e2e}); }
  constexpr double worst() const { return (std::max)(of_targets(), wait); }
};

/// On means, or on the percentiles that the request names.
template <std::same_as<serving_estimate> Estimate>
plan_misses misses_of(const plan_request& q, const Estimate& s) {
  plan_misses m;
  const auto over = [](const duration<>& value, const duration<>& limit) {
    return value.value() / limit.value();
  };
  const auto of_part = [](const latency_distribution& all, const std::optional<double>& percentile,
                          const duration<>& mean) {
    return percentile ? all.quantile(*percentile / 100.0) : mean;
  };
  if (q.ttft) m.ttft = over(of_part(s.first_token, q.ttft_percentile, s.ttft), *q.ttft);
  if (q.itl) m.itl = over(of_part(s.gap, q.itl_percentile, s.itl), *q.itl);
  if (q.e2e) {
    m.e2e = over(q.e2e_percentile ? s.e2e_quantile(*q.e2e_percentile / 100.0) : s.e2e, *q.e2e);
  }
  m.wait = over(s.wait, q.longest_wait);
  return m;
}

}  // namespace perfmodel::detail
