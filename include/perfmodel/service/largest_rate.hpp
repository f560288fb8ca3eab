// Targets on a service's latencies, the largest rate and the largest chunk budget that meet them.
#pragma once

#include <optional>
#include <perfmodel/service/load.hpp>
#include <perfmodel/service/serving_estimate.hpp>

namespace perfmodel {

/// A latency that the mean stays within, or that a `share` of all requests (of gaps: of tokens) does:
/// {0.2 * second, 0.99}.
template <Scalar T = double>
struct basic_latency_target {
  duration<T> limit{};
  std::optional<double> share{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("limit"), s.limit...);
    f(field::fraction("share"), s.share...);
  }
};
using latency_target = basic_latency_target<>;

/// What a service has to meet; without any, to keep up.
template <Scalar T = double>
struct basic_service_targets {
  std::optional<basic_latency_target<T>> ttft{};
  std::optional<basic_latency_target<T>> itl{};
  std::optional<basic_latency_target<T>> e2e{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("ttft", s.ttft...);
    f("itl", s.itl...);
    f("e2e", s.e2e...);
  }
};
using service_targets = basic_service_targets<>;

namespace detail {

/// In the worst lane, or at the worse end of a range.
template <Scalar T>
constexpr bool within_limit(const duration<T>& latency, const basic_latency_target<T>& t) {
  return upper(latency.value()) <= lower(t.limit.value());
}

/// The largest rate of requests that holds(rate), by bounded steps: doubling to 1e8, bisection to 1e-6.
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

/// Whether a service is feasible and within them. A bound has no distribution: of it, the means.
template <Scalar T>
constexpr bool meets(const basic_serving_estimate<T>& s, const basic_service_targets<T>& t) {
  if (!s.feasible) return false;
  const bool spread = s.first_token.size() > 0;
  const auto of = [&](const std::optional<basic_latency_target<T>>& target, const duration<T>& mean,
                      const auto& quantile) {
    if (!target) return true;
    return detail::within_limit(target->share && spread ? quantile(*target->share) : mean, *target);
  };
  return of(t.ttft, s.ttft, [&](double share) { return s.first_token.quantile(share); }) &&
         of(t.itl, s.itl, [&](double share) { return s.gap.quantile(share); }) &&
         of(t.e2e, s.e2e, [&](double share) { return s.e2e_quantile(share); });
}

/// The largest rate at which serve(load) meets the targets, with `load` arriving at it (a closed loop's
/// lengths, by chance); 0 where none does. Latencies rise with the rate: at most 70 answers; a dual gets
/// no derivatives of it.
/// Errors: a limit of 0 or below; a share outside 0 to 1.
/// Tests: met there and not 1 % above, by means and by percentiles; without targets it is where
/// the service stops to keep up.
template <Scalar T, class Serve>
constexpr request_rate<T> largest_rate(basic_service_load<T> load,
                                       const basic_service_targets<T>& targets,
                                       const Serve& serve) {
  require_valid(targets);
  basic_open_loop<T> loop;
  if (!load.is_closed()) loop = std::get<basic_open_loop<T>>(load.arrivals);
  return request_rate<T>::from_value(T(detail::largest_rate_that([&](double rate) {
    loop.rate = request_rate<T>::from_value(T(rate));
    load.arrivals = loop;
    return meets(serve(load), targets);
  })));
}

/// The largest chunk budget, in whole tokens up to `most`, with which serve(load) stays within the
/// target of the gaps between tokens; 0 where none does. By bisection: a budget is too large where gaps
/// are too long, and too small where the service does not keep up with the load.
/// Errors: a limit of 0 or below; `most` below 1.
/// Tests: met with it, and not with one token more; a looser target never lowers it; `most` where no
/// prompt is in the way.
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

}  // namespace perfmodel
