// Latency targets, and the largest arrival rate and chunk budget that meet them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <string_view>

// Latency targets: whether an estimate meets them, and by which factor it misses.

namespace perfmodel::inline v0_3 {

/// Upper limit of a latency. It applies to the mean, or to a percentile if `share` is given: {0.2 *
/// second, 0.99} limits the 99th percentile to 0.2 s. Percentiles of ITL are over tokens, those of
/// TTFT and E2E over requests.
template <Scalar T = double>
struct basic_latency_target {
  duration<T> limit{};
  std::optional<double> share{};

  constexpr basic_latency_target() = default;
  /// Converts from a duration, as in `.ttft = 0.5 * second`.
  constexpr basic_latency_target(const duration<T>& at_most, std::optional<double> of_requests = {})
      : limit(at_most), share(of_requests) {}

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("limit"), s.limit...);
    f(field::fraction("share"), s.share...);
  }
};
using latency_target = basic_latency_target<>;

/// Latency targets of a service. Without any target the service only has to be feasible.
template <Scalar T = double>
struct basic_service_targets {
  std::optional<basic_latency_target<T>> ttft{};
  std::optional<basic_latency_target<T>> itl{};
  std::optional<basic_latency_target<T>> e2e{};

  /// Whether any target is a percentile. Only predictions have percentiles; bounds have means.
  constexpr bool has_percentiles() const {
    return (ttft && ttft->share) || (itl && itl->share) || (e2e && e2e->share);
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("ttft", s.ttft...);
    f("itl", s.itl...);
    f("e2e", s.e2e...);
  }
};
using service_targets = basic_service_targets<>;

/// Ratio of each latency to its limit; 0 if the latency has no limit. A ratio above 1 misses the
/// target.
struct target_misses {
  double ttft = 0.0;
  double itl = 0.0;
  double e2e = 0.0;

  constexpr double worst() const { return (std::max)({ttft, itl, e2e}); }
};

/// Ratio of each latency of a service to its target. For an interval its worse end counts. A bound
/// has no latency distribution, so its means are compared even with percentile targets.
/// Test: by hand, for targets of means and of percentiles.
template <Scalar T>
constexpr target_misses misses_of(const basic_serving_estimate<T>& s,
                                  const basic_service_targets<T>& t) {
  const bool has_distribution = s.ttft_distribution.size() > 0;
  const auto over = [&](const std::optional<basic_latency_target<T>>& target,
                        const duration<T>& mean, const auto& quantile) {
    if (!target) return 0.0;
    const duration<T> latency = target->share && has_distribution ? quantile(*target->share) : mean;
    return upper(latency.value()) / lower(target->limit.value());
  };
  return {over(t.ttft, s.ttft, [&](double share) { return s.ttft_distribution.quantile(share); }),
          over(t.itl, s.itl, [&](double share) { return s.itl_distribution.quantile(share); }),
          over(t.e2e, s.e2e, [&](double share) { return s.e2e_quantile(share); })};
}

/// Whether a service is feasible and meets its targets.
template <Scalar T>
constexpr bool meets(const basic_serving_estimate<T>& s, const basic_service_targets<T>& t) {
  return s.feasible && misses_of(s, t).worst() <= 1.0;
}

namespace detail {

/// Largest rate between 1e-6 and 1e8 for which holds(rate) is true, with a relative precision of
/// 1e-6; 0 if it is false at 1e-6. The search multiplies the rate by 4, then bisects.
template <class Holds>
constexpr double largest_rate_that(const Holds& holds) {
  double meeting = 1e-6, missing = 1e9;
  if (!holds(meeting)) return 0.0;
  for (double rate = 1.0; missing > 1e8 && rate < 1e8; rate *= 4.0) {
    (holds(rate) ? meeting : missing) = rate;
  }
  while (missing - meeting > 1e-6 * missing) {
    const double middle =
        meeting > 0.01 * missing ? 0.5 * (meeting + missing) : math::sqrt(meeting * missing);
    (holds(middle) ? meeting : missing) = middle;
  }
  return meeting;
}

}  // namespace detail

/// Largest arrival rate at which the estimate serve(load) meets the targets; 0 if no rate does. A
/// closed loop becomes an open loop with Poisson arrivals and the same request lengths, without
/// preemption (which open loops do not model). The search relies on latencies that rise with the
/// rate, and needs at most 70 evaluations. A dual number as scalar gets no derivatives of the
/// result.
/// Errors: a latency limit that is not above 0; a share outside 0 to 1.
/// Test: targets are met at the result and missed 1 % above it, for means and percentiles; without
/// targets the result is the stability limit.
template <Scalar T, class Serve>
constexpr request_rate<T> largest_rate(basic_service_load<T> load,
                                       const basic_service_targets<T>& targets,
                                       const Serve& serve) {
  require_valid(targets);
  basic_open_loop<T> loop;
  if (!load.is_closed()) loop = std::get<basic_open_loop<T>>(load.arrivals);
  load.preemption_mode.reset();
  return request_rate<T>::from_value(T(detail::largest_rate_that([&](double rate) {
    loop.rate = request_rate<T>::from_value(T(rate));
    load.arrivals = loop;
    return meets(serve(load), targets);
  })));
}

/// Largest chunk budget, in whole tokens up to `most`, with which the estimate serve(load) meets an
/// ITL target; 0 if none does. The search is a bisection. A budget is too large if ITL exceeds the
/// target, and too small if the service is overloaded.
/// Errors: a latency limit that is not above 0; `most` below 1.
/// Test: the target is met with the result and missed with one token more; a looser target never
/// lowers the result; it is `most` if no prefill interferes.
template <Scalar T, class Serve>
constexpr int chunk_budget_for(basic_service_load<T> load, const basic_latency_target<T>& itl,
                               int most, const Serve& serve) {
  require_valid(itl);
  detail::count("most", static_cast<double>(most));
  int best = 0, low = 0, high = most + 1;
  for (int chunk = most; high - low > 1; chunk = low + (high - low) / 2) {
    load.chunk_tokens = T(chunk);
    const basic_serving_estimate<T> s = serve(load);
    const bool within = meets(s, basic_service_targets<T>{.itl = itl});
    (within || !s.feasible ? low : high) = chunk;
    if (within) best = chunk;
  }
  return best;
}

// Goodput of two services.

/// Goodput (the largest arrival rate within the targets) of the same number of devices, with and
/// without disaggregation.
/// Source: Zhong et al., "DistServe", OSDI 2024 (definition of goodput).
template <Scalar T = double>
struct basic_goodput_estimate {
  request_rate<T> disaggregated{};
  request_rate<T> collocated{};

  /// Goodput with disaggregation / goodput without; infinity if only the disaggregated pools meet
  /// the targets.
  constexpr double factor() const {
    const double pools = mid(disaggregated.value()), shared = mid(collocated.value());
    return shared > 0.0 ? pools / shared : (pools > 0.0 ? detail::infinity : 0.0);
  }
};
using goodput_estimate = basic_goodput_estimate<>;

// Overload of an open loop, and the largest rate it sustains.

/// Whether an estimate is infeasible because requests arrive too fast. The queue then grows without
/// bound, and the latencies of the estimate do not describe a steady state.
template <Scalar T>
constexpr bool is_overloaded(const basic_serving_estimate<T>& s) {
  return !s.feasible && std::string_view(s.feasible.unit) == "req/s";
}

/// Largest arrival rate at which the estimate serve(load) is feasible, whatever the latencies; 0 if
/// no request fits in memory. It is largest_rate without targets, with a relative precision of
/// 1e-6.
/// Leaves out: preemption, which open loops do not model.
/// Test: the service is feasible at 0.999 of the result and overloaded at 1.001 of it, for one
/// pool, for disaggregated pools, and for bounds.
template <Scalar T, class Serve>
constexpr request_rate<T> sustainable_rate(const basic_service_load<T>& load, const Serve& serve) {
  return largest_rate(load, basic_service_targets<T>{}, serve);
}

/// Number of replicas that sustain an arrival rate: offered rate / sustainable rate of one replica,
/// rounded up.
/// Errors: a rate that is not above 0.
/// Test: by hand.
inline double replicas_to_sustain(const request_rate<>& offered,
                                  const request_rate<>& sustainable) {
  detail::positive("offered", offered.value());
  detail::positive("sustainable", sustainable.value());
  return std::ceil(offered / sustainable);
}

}  // namespace perfmodel::inline v0_3
