// What a service under load does: latencies, their distributions, throughput.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/serving/latency_distribution.hpp>
#include <perfmodel/serving/load.hpp>

namespace perfmodel {

template <Scalar T = double>
struct basic_serving_estimate {
  duration<T> ttft{};  ///< time to first token, mean, waiting included
  duration<T> itl{};   ///< inter-token latency, mean, prefill of others included
  duration<T> e2e{};   ///< whole request, mean
  duration<T> wait{};  ///< part of ttft spent before the first iteration
  /// Part of wait: queueing for KV memory or for one of the maximum running requests, mean.
  duration<T> admission_delay{};
  /// Share of requests that queue so: in a closed loop at any time, in an open one of arrivals.
  T queued{};
  T batch{};              ///< sequences decoding at once
  T capacity{};           ///< sequences that fit in memory
  T preemption_effect{};  ///< evictions per request, where a load says how it evicts
  token_rate<T> output_rate{};
  request_rate<T> throughput{};
  basic_estimate<T> decode{};   ///< the mean iteration, whose time is itl
  basic_estimate<T> prefill{};  ///< a prompt on its own
  basic_latency_distribution<T>
      first_token{};  ///< of requests, how their time to first token is distributed
  basic_latency_distribution<T> gap{};  ///< of tokens, how the gaps before them are
  T e2e_cv{};                           ///< of requests
  perfmodel::feasibility feasible{};

  /// This estimate, if feasible; latencies of an infeasible one are those if memory and rate
  /// sufficed. Errors: infeasible, with the reason.
  constexpr const basic_serving_estimate& checked() const {
    require_feasible(feasible);
    return *this;
  }

  /// The whole time that a share of all requests stays within, as of a lognormal.
  constexpr duration<T> e2e_quantile(double share) const {
    using math::exp;
    using math::log;
    using math::sqrt;
    const T variance = log(T(1.0 + e2e_cv * e2e_cv));
    return exp(T(detail::normal_quantile(detail::fraction("share", share)) * sqrt(variance) -
                 0.5 * variance)) *
           e2e;
  }
};
using serving_estimate = basic_serving_estimate<>;

/// Requests that queue for admission at any time, mean: X admission_delay.
/// Source: Little 1961. Test: a closed loop of N with a batch limit of B queues N - B.
template <Scalar T>
constexpr T queued_requests(const basic_serving_estimate<T>& s) {
  return s.throughput * s.admission_delay / request;
}

namespace detail {

/// The share of a closed loop's N requests that queue at any time: queued_requests / N.
template <Scalar T>
constexpr void add_queue_in_loop(basic_serving_estimate<T>& s, const basic_service_load<T>& l) {
  const T share = queued_requests(s) / l.concurrency();
  s.queued = scalar_min(scalar_max(share, T(0.0)), T(1.0));
}

/// What follows for whole requests from first tokens, gaps and throughput; `first` tokens come in the time
/// to the first.
template <Scalar T>
constexpr void add_whole_requests(basic_serving_estimate<T>& s, const basic_service_load<T>& l,
                                  const T& first = T(1.0)) {
  using math::sqrt;
  const duration<T> answer = scalar_max(T(l.output_tokens - first), T(0.0)) * s.itl;
  s.e2e = named("end to end", s.ttft + answer);
  const T sd = s.first_token.deviation().value();
  const T spread = l.output_cv * answer.value();
  s.e2e_cv = sqrt(T(sd * sd + spread * spread)) / s.e2e.value();
  s.output_rate = output_rate_of(l, s.throughput);
}

}  // namespace detail

}  // namespace perfmodel
