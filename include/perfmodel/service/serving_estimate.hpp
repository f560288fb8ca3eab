// What a service under load does: latencies, their distributions, throughput.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/service/latency_distribution.hpp>

namespace perfmodel {

template <Scalar T = double>
struct basic_serving_estimate {
  duration<T> ttft{};  ///< time to first token, mean, waiting included
  duration<T> itl{};   ///< inter-token latency, mean, prefill of others included
  duration<T> e2e{};   ///< whole request, mean
  duration<T> wait{};  ///< part of ttft spent before the first iteration
  T batch{};           ///< sequences decoding at once
  T capacity{};        ///< sequences that fit in memory
  token_rate<T> output_rate{};
  request_rate<T> throughput{};
  basic_estimate<T> decode{};   ///< the mean iteration, whose time is itl
  basic_estimate<T> prefill{};  ///< a prompt on its own
  basic_latency_distribution<T>
      first_token{};  ///< of requests, how their time to first token is distributed
  basic_latency_distribution<T> gap{};  ///< of tokens, how the gaps before them are
  T e2e_cv{};                           ///< of requests
  perfmodel::feasibility feasible{};

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

}  // namespace perfmodel
