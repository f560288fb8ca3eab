// The estimate of a service under load: latencies, their distributions, throughput.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/serving/latency_distribution.hpp>
#include <perfmodel/serving/load.hpp>

namespace perfmodel::inline v0_3 {

/// Latencies and throughput of one replica under a load.
template <Scalar T = double>
struct basic_serving_estimate {
  duration<T> ttft{};  ///< mean time to first token, queueing included
  duration<T> itl{};   ///< mean inter-token latency, prefill interference included
  duration<T> e2e{};   ///< mean time of a whole request
  duration<T> wait{};  ///< part of ttft before the first engine step of the request
  /// Part of wait: queueing for KV memory or for one of the maximum running requests, mean.
  duration<T> admission_delay{};
  /// Share of requests that queue so: in a closed loop at any time, in an open one of arrivals.
  T queued{};
  T batch{};                    ///< mean number of sequences that decode
  T capacity{};                 ///< sequences of full length that fit in memory
  T preemptions_per_request{};  ///< 0 without a preemption_mode in the load
  token_rate<T> output_rate{};
  request_rate<T> throughput{};
  basic_estimate<T> decode{};   ///< mean decode step with prefill interference; its time is itl
  basic_estimate<T> prefill{};  ///< prefill of one prompt in a step of its own
  basic_latency_distribution<T> ttft_distribution{};
  basic_latency_distribution<T> itl_distribution{};
  T e2e_cv{};  ///< coefficient of variation of e2e
  perfmodel::feasibility feasible{};

  /// This estimate, if feasible. The latencies of an infeasible estimate assume that memory and
  /// rate sufficed.
  /// Errors: infeasible, with the reason.
  constexpr const basic_serving_estimate& checked() const {
    require_feasible(feasible);
    return *this;
  }

  /// Quantile of the time of a whole request, of a lognormal distribution.
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

/// Mean number of requests that queue for admission: throughput times admission_delay.
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

/// Adds the latency of whole requests: E2E = TTFT + (O - n) ITL, with n output tokens in the time
/// to the first (the stream interval), and the token throughput.
template <Scalar T>
constexpr void add_whole_requests(basic_serving_estimate<T>& s, const basic_service_load<T>& l,
                                  const T& tokens_at_ttft = T(1.0)) {
  using math::sqrt;
  const duration<T> decoding = scalar_max(T(l.output_tokens - tokens_at_ttft), T(0.0)) * s.itl;
  s.e2e = named("end to end", s.ttft + decoding);
  const T before = s.ttft_distribution.deviation().value();
  const T after = l.output_cv * decoding.value();
  s.e2e_cv = sqrt(T(before * before + after * after)) / s.e2e.value();
  s.output_rate = output_rate_of(l, s.throughput);
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
