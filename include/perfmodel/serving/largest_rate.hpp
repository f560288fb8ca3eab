// Latency targets, and the largest rate and chunk budget that meet them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <string_view>

// Latency targets: whether an estimate meets them, and by which factor it misses.

namespace perfmodel::inline v0_3 {

/// Upper limit of a latency: of its mean, or of a percentile (`share`): {0.2 * second, 0.99}. ITL
/// percentiles are over tokens, the others over requests.
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

/// Latency targets of a service. Without any target it only has to be stable.
template <Scalar T = double>
struct basic_service_targets {
  std::optional<basic_latency_target<T>> ttft{};
  std::optional<basic_latency_target<T>> itl{};
  std::optional<basic_latency_target<T>> e2e{};

  /// Whether a target is a percentile, which only predictions have.
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

/// Ratio of each latency to its limit; 0 without a limit. A ratio above 1 misses.
struct target_misses {
  double ttft = 0.0;
  double itl = 0.0;
  double e2e = 0.0;

  constexpr double worst() const { return (std::max)({ttft, itl, e2e}); }
};

/// Ratios of the latencies of a service to its targets, in the worst lane or at the worse end of an
/// interval. A bound has no distribution, so its means are compared.
/// Test: by hand, of means and of percentiles.
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

/// Largest rate for which holds(rate), in 1e-6 to 1e8, to 1e-6 of it: by factors of 4, then
/// bisection.
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

/// Largest arrival rate at which serve(load) meets the targets; 0 where none does. A closed loop
/// keeps its lengths, with Poisson arrivals and without preemption, which open loops do not have.
/// Latencies rise with the rate: at most 70 evaluations. A dual gets no derivatives of it.
/// Errors: a limit of 0 or below; a share outside 0 to 1.
/// Test: met there and not 1 % above, by means and by percentiles; without targets the limit of
/// stability.
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

/// Largest chunk budget, in whole tokens up to `most`, with which serve(load) meets an ITL target;
/// 0 where none does. By bisection: a budget is too large where ITL is too long, and too small
/// where the service is overloaded.
/// Errors: a limit of 0 or below; `most` below 1.
/// Test: met with it, and not with one token more; a looser target never lowers it; `most` where no
/// prefill interferes.
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

/// Goodput of the same devices with and without disaggregation: the largest rate within targets.
/// Source: Zhong et al., "DistServe", OSDI 2024 (the term).
template <Scalar T = double>
struct basic_goodput_estimate {
  request_rate<T> disaggregated{};
  request_rate<T> collocated{};

  /// Gain of disaggregation; infinity where only the pools meet the targets.
  constexpr double factor() const {
    const double pools = mid(disaggregated.value()), shared = mid(collocated.value());
    return shared > 0.0 ? pools / shared : (pools > 0.0 ? detail::infinity : 0.0);
  }
};
using goodput_estimate = basic_goodput_estimate<>;

// Overload of an open loop, and the largest rate it sustains.

/// Whether an estimate is infeasible because of its arrival rate. The queue then grows without
/// bound, and the latencies of the estimate are not of a steady state.
template <Scalar T>
constexpr bool is_overloaded(const basic_serving_estimate<T>& s) {
  return !s.feasible && std::string_view(s.feasible.unit) == "req/s";
}

/// Largest rate of the load's requests that a service sustains, sup{rate : serve(load at rate) is
/// feasible}; 0 where no request fits. By largest_rate without targets, to 1e-6.
/// Leaves out: preemption, which open loops do not have.
/// Test: feasible at 0.999 of it and overloaded at 1.001, in one pool, in two, and in bounds.
template <Scalar T, class Serve>
constexpr request_rate<T> sustainable_rate(const basic_service_load<T>& load, const Serve& serve) {
  return largest_rate(load, basic_service_targets<T>{}, serve);
}

/// Replicas that sustain an arrival rate: ceil(offered / sustainable).
/// Errors: a rate not above 0.
/// Test: by hand.
inline double replicas_to_sustain(const request_rate<>& offered,
                                  const request_rate<>& sustainable) {
  detail::positive("offered", offered.value());
  detail::positive("sustainable", sustainable.value());
  return std::ceil(offered / sustainable);
}

}  // namespace perfmodel::inline v0_3
