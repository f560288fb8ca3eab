// The largest rate and the largest chunk budget that meet targets on latencies.
#pragma once

#include <perfmodel/service/load.hpp>
#include <perfmodel/service/targets.hpp>

namespace perfmodel {

namespace detail {

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

/// The largest rate at which serve(load) meets the targets, with `load` arriving at it (a closed loop's
/// lengths, by chance, and without its evictions, of which open loops have none); 0 where none does. Latencies rise with the rate: at most 70 answers; a dual gets
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
  load.evicts.reset();
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
