// Estimate of a service under load: latencies, their distributions, and throughput.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/serving/latency_distribution.hpp>
#include <perfmodel/serving/load.hpp>

namespace perfmodel::inline v0_3 {

/// Latencies and throughput of a service under a load (one replica, unless a function states
/// otherwise).
template <Scalar T = double>
struct basic_serving_estimate {
  duration<T> ttft{};  ///< mean time to first token, queueing included
  duration<T> itl{};   ///< mean inter-token latency, prefill interference included
  duration<T> e2e{};   ///< mean time from arrival to the last token
  /// Mean queueing before the first engine step of a request, part of ttft.
  duration<T> wait{};
  /// Mean queueing for KV memory or for one of the maximum running requests; part of `wait`.
  duration<T> admission_delay{};
  /// Share of requests that queue for admission: of those in the system in a closed loop, of the
  /// arrivals in an open loop.
  T queued{};
  T batch{};                    ///< mean number of decoding sequences
  T capacity{};                 ///< full-length sequences that fit in the KV cache
  T preemptions_per_request{};  ///< 0 if the load has no preemption_mode
  token_rate<T> output_rate{};
  request_rate<T> throughput{};
  basic_estimate<T> decode{};   ///< mean decode step including prefill interference
  basic_estimate<T> prefill{};  ///< prefill of one prompt without other requests
  basic_latency_distribution<T> ttft_distribution{};
  basic_latency_distribution<T> itl_distribution{};
  T e2e_cv{};  ///< coefficient of variation of e2e
  perfmodel::feasibility feasible{};

  /// Returns this estimate if it is feasible. The latencies of an infeasible estimate are computed
  /// as if memory and service rate were sufficient.
  /// Errors: an infeasible estimate, with the reason.
  constexpr const basic_serving_estimate& checked() const {
    require_feasible(feasible);
    return *this;
  }

  /// Quantile of the end-to-end latency, from a lognormal distribution with the mean `e2e` and the
  /// coefficient of variation `e2e_cv`; at least that of TTFT, which no request ends before.
  /// Errors: a share not between 0 and 1, which has no quantile.
  /// Test: by hand; tests/cli/percentiles.sh.
  constexpr duration<T> e2e_quantile(double share) const {
    using math::exp;
    using math::log;
    using math::sqrt;
    const T variance = log(T(1.0 + e2e_cv * e2e_cv));
    detail::within("share", share, 1e-12, 1.0 - 1e-12, "between 0 and 1");
    const duration<T> whole =
        exp(T(detail::normal_quantile(share) * sqrt(variance) - 0.5 * variance)) * e2e;
    return ttft_distribution.size() > 0 ? max(whole, ttft_distribution.quantile(share)) : whole;
  }
};
using serving_estimate = basic_serving_estimate<>;

/// Mean number of requests that queue for admission: throughput x admission_delay.
/// Source: Little 1961.
/// Test: a closed loop of N requests with a batch limit of B queues N - B requests.
template <Scalar T>
constexpr T queued_requests(const basic_serving_estimate<T>& s) {
  return s.throughput * s.admission_delay / request;
}

namespace detail {

/// Sets `queued` in a closed loop of N requests: queued_requests / N.
template <Scalar T>
constexpr void add_queue_in_loop(basic_serving_estimate<T>& s, const basic_service_load<T>& l) {
  const T share = queued_requests(s) / l.concurrency();
  s.queued = scalar_min(scalar_max(share, T(0.0)), T(1.0));
}

/// Sets the end-to-end latency, E2E = TTFT + (O - n) ITL, its variation, and the output token rate.
/// O is the number of output tokens. n (`tokens_at_ttft`) is the number of tokens in the first
/// streamed message.
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
