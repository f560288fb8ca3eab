// The largest rate of requests that a service takes within targets, and two services held against each
// other.
#pragma once

#include <perfmodel/service/largest_rate.hpp>
#include <perfmodel/service/load.hpp>
#include <perfmodel/service/serving_estimate.hpp>

namespace perfmodel {

/// A share of all requests has its first token within `ttft`, and the mean time between tokens is within
/// `itl`.
template <Scalar T = double>
struct basic_latency_targets {
  duration<T> ttft{};
  duration<T> itl{};
  double share = 0.9;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("ttft"), s.ttft...);
    f(field::positive("itl"), s.itl...);
  }
};
using latency_targets = basic_latency_targets<>;

/// Whether a service stays within them, in its worst lane or at the worse end of a range.
template <Scalar T>
constexpr bool meets(const basic_serving_estimate<T>& s, const basic_latency_targets<T>& t) {
  return s.feasible && upper(s.itl.value()) <= lower(t.itl.value()) &&
         upper(s.first_token.quantile(t.share).value()) <= lower(t.ttft.value());
}

/// The largest rate at which serve(load) meets the targets, with `load` arriving at it: 0 where none
/// does. Latencies rise with the rate, so that it is found by doubling and bisection, to 1e-6; a dual
/// gets no derivatives of it. Source of the term: Zhong et al., "DistServe", OSDI 2024.
/// Errors: targets of 0 or below; a share outside 0 to 1.
/// Tests: the targets hold there and fail 1 % above; looser targets never lower it.
template <Scalar T, class Serve>
constexpr request_rate<T> goodput(basic_service_load<T> load, const basic_latency_targets<T>& t,
                                  const Serve& serve) {
  require_valid(t);
  basic_open_loop<T> loop;
  if (!load.is_closed()) loop = std::get<basic_open_loop<T>>(load.arrivals);
  const auto within = [&](double rate) {
    loop.rate = request_rate<T>::from_value(T(rate));
    load.arrivals = loop;
    return meets(serve(load), t);
  };
  return request_rate<T>::from_value(T(detail::largest_rate_that(within)));
}

/// Goodput of the same devices both ways.
template <Scalar T = double>
struct basic_goodput_estimate {
  request_rate<T> disaggregated{};
  request_rate<T> collocated{};

  /// Above 1 it pays; where only the pools meet the targets at all, infinity.
  constexpr double factor() const {
    const double apart = mid(disaggregated.value()), shared = mid(collocated.value());
    return shared > 0.0 ? apart / shared : (apart > 0.0 ? detail::infinity : 0.0);
  }
};
using goodput_estimate = basic_goodput_estimate<>;

}  // namespace perfmodel
