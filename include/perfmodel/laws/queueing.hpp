// Queues: M/M/1, M/D/1, M/G/1, G/G/1, M/M/c, and the equilibrium batch of decoding.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel {

/// A queue in steady state. Overload (arrivals >= what the servers complete) is a result:
/// `feasible` says so, utilisation stands, and every time and count is 0. A scalar that stands for
/// several values is overloaded where any of them is, so split a sweep at utilisation 1.
template <Scalar T = double>
struct basic_queue_estimate {
  T utilisation{};                            ///< share of the time that a server is busy
  std::optional<T> probability_of_waiting{};  ///< probability that all servers are busy (M/M/c)
  duration<T> wait{};                         ///< mean time in line
  duration<T> time{};                         ///< mean time in line and in service
  requests<T> waiting{};                      ///< mean number in line
  requests<T> in_system{};                    ///< mean number in line and in service
  perfmodel::feasibility feasible{};
};
using queue_estimate = basic_queue_estimate<>;

namespace detail {

template <Scalar T>
constexpr T offered_load(const request_rate<T>& arrivals, const duration<T>& service) {
  return T(detail::not_negative("arrivals", arrivals) * detail::positive("service", service) /
           request);
}
constexpr feasibility overload(double needed, double available) {
  return infeasible("requests arrive as fast as they can be served, or faster", "req/s", needed,
                    available);
}

}  // namespace detail

/// Mean wait = rho / (1 - rho) (Ca^2 + Cs^2) / 2 x service, Cx^2 the squared coefficient of
/// variation of the times between arrivals and of the service times. Source: Kingman, "The single
/// server queue in heavy traffic", Proc. Cambridge Phil. Soc. 57, 1961. Exact for Poisson arrivals
/// (Ca^2 = 1, Pollaczek-Khinchine); an approximation else, good near rho = 1, poor for bursts that
/// depend on each other. Errors: a rate, a time or a variation below 0.
/// Tests: M/G/1 for Ca^2 = 1; no wait without variation; grows with rho.
template <Scalar T>
constexpr basic_queue_estimate<T> gg1(const request_rate<T>& arrivals, const duration<T>& service,
                                      const std::type_identity_t<T>& arrival_variation,
                                      const std::type_identity_t<T>& service_variation) {
  detail::not_negative("arrival_variation", arrival_variation);
  detail::not_negative("service_variation", service_variation);
  basic_queue_estimate<T> q;
  q.utilisation = named("utilisation", detail::offered_load(arrivals, service));
  if (!(upper(q.utilisation) < 1.0)) {
    q.feasible = detail::overload(upper(arrivals.value()), 1.0 / upper(service.value()));
    return q;
  }
  q.wait = named("wait", q.utilisation / (1.0 - q.utilisation) *
                             (arrival_variation + service_variation) / 2.0 * service);
  q.time = named("time in system", q.wait + service);
  q.waiting = arrivals * q.wait;
  q.in_system = arrivals * q.time;
  return q;
}

/// Poisson arrivals, any service times: wait = lambda E[S^2] / (2 (1 - rho)) = rho / (1 - rho)
/// (1 + Cs^2) / 2 x E[S]. Source: Pollaczek 1930, Khinchine 1932; Harchol-Balter, "Performance
/// Modeling and Design of Computer Systems", 2013, section 23.
/// Tests: the simulated queue; its service_variation 1 is M/M/1, 0 is M/D/1.
template <Scalar T>
constexpr basic_queue_estimate<T> mg1(const request_rate<T>& arrivals, const duration<T>& service,
                                      const std::type_identity_t<T>& service_variation) {
  return gg1(arrivals, service, T(1.0), service_variation);
}

/// Poisson arrivals, exponential service times. Test: time = service / (1 - rho).
template <Scalar T>
constexpr basic_queue_estimate<T> mm1(const request_rate<T>& arrivals, const duration<T>& service) {
  return gg1(arrivals, service, T(1.0), T(1.0));
}

/// Poisson arrivals, equal service times. Test: waits half as long as M/M/1.
template <Scalar T>
constexpr basic_queue_estimate<T> md1(const request_rate<T>& arrivals, const duration<T>& service) {
  return gg1(arrivals, service, T(1.0), T(0.0));
}

/// Poisson arrivals that share one server equally, any service times: time = service / (1 - rho).
/// `wait` is the delay that sharing adds. Source: Kleinrock, "Time-shared systems: a theoretical
/// treatment", JACM 14(2), 1967; insensitive to the distribution of service times.
/// Test: the time of M/M/1.
template <Scalar T>
constexpr basic_queue_estimate<T> processor_sharing(const request_rate<T>& arrivals,
                                                    const duration<T>& service) {
  return mm1(arrivals, service);
}

/// Poisson arrivals, exponential service times, c servers, one line: P(wait) = C(c, a) with a =
/// lambda x service, and wait = C service / (c - a). Source: Erlang 1917. C comes from Erlang's B
/// by B_k = 1 / (1 + k / (a B_(k-1))), C = 1 / (1 + (1 - rho) (1 / B - 1)), which stays finite for
/// any c. Errors: servers outside 1 .. 10,000. Tests: c = 1 is M/M/1; C(2, 1) = 1/3; two servers on
/// one line beat two lines.
template <Scalar T>
constexpr basic_queue_estimate<T> mmc(const request_rate<T>& arrivals, const duration<T>& service,
                                      int servers) {
  detail::within("servers", static_cast<double>(servers), 1.0, 10000.0, "1 to 10000");
  const T offered = named("offered load", detail::offered_load(arrivals, service));
  basic_queue_estimate<T> q;
  q.utilisation = named("utilisation", offered / static_cast<double>(servers));
  if (!(upper(q.utilisation) < 1.0)) {
    q.feasible = detail::overload(upper(arrivals.value()), servers / upper(service.value()));
    return q;
  }
  // Below the floor a probability is nothing, and its inverse must stay a number.
  const T floor(1e-100);
  T blocked(1.0);
  for (int k = 1; k <= servers; ++k) {
    blocked = 1.0 / (1.0 + static_cast<double>(k) / scalar_max(T(offered * blocked), floor));
  }
  const T waits =
      named("probability of waiting",
            1.0 / (1.0 + (1.0 - q.utilisation) * (1.0 / scalar_max(blocked, floor) - 1.0)));
  q.probability_of_waiting = waits;
  q.wait = named("wait", waits * service / (static_cast<double>(servers) - offered));
  q.time = named("time in system", q.wait + service);
  q.waiting = arrivals * q.wait;
  q.in_system = arrivals * q.time;
  return q;
}

/// Quantile of the wait in M/M/c. The wait is 0 with probability 1 - C and else exponential with
/// mean service / (c - a), so it is max(0, ln(C / (1 - quantile))) x service / (c - a). Empty where
/// the queue is overloaded.
/// Errors: quantile outside [0, 1 - 1e-12]. Tests: the simulated queue; M/M/1 at rho = 0.9: the
/// 99th percentile is 45 service times.
template <Scalar T>
constexpr std::optional<duration<T>> wait_quantile(const request_rate<T>& arrivals,
                                                   const duration<T>& service, int servers,
                                                   const std::type_identity_t<T>& quantile) {
  using math::log;
  detail::within("quantile", quantile, 0.0, 1.0 - 1e-12, "0 to less than 1");
  const basic_queue_estimate<T> q = mmc(arrivals, service, servers);
  if (!q.feasible) return {};
  const T tail = scalar_max(*q.probability_of_waiting, T(1e-100)) / (1.0 - quantile);
  const T offered = detail::offered_load(arrivals, service);
  return named("wait quantile", duration<T>(scalar_max(T(log(tail)), T(0.0)) * service /
                                            (static_cast<double>(servers) - offered)));
}

/// Equilibrium of a decode batch with a step time of `fixed` plus `per_sequence` for each sequence.
template <Scalar T = double>
struct basic_batch_equilibrium {
  T batch{};           ///< sequences that decode at once, mean
  duration<T> step{};  ///< time of one step, which is the inter-token latency
  token_rate<T> demanded{};
  token_rate<T> saturation{};  ///< what the largest batch delivers
  perfmodel::feasibility feasible{};
};
using batch_equilibrium = basic_batch_equilibrium<>;

/// B = x t(B) with t(B) = t0 + B t1 and x = arrivals x tokens per request, hence B = x t0 / (1 - x
/// t1). Source: Little's law on the batch. Memory-bound decode has t0 = weight bytes / bandwidth
/// and t1 = KV bytes of a sequence / bandwidth. Not feasible where x t1 >= 1, or B exceeds
/// `largest_batch`; batch and step are then 0. Leaves out that B fluctuates, and prefill.
/// Errors: fixed or per_sequence below 0, both 0; largest_batch below 1.
/// Tests: fixed point of the iteration; B t(B)^-1 = x; B rises faster than x.
template <Scalar T>
constexpr basic_batch_equilibrium<T> decode_batch(const request_rate<T>& arrivals,
                                                  const tokens_per_request<T>& output,
                                                  const duration<T>& fixed,
                                                  const duration<T>& per_sequence,
                                                  const std::type_identity_t<T>& largest_batch) {
  detail::not_negative("fixed", fixed);
  detail::not_negative("per_sequence", per_sequence);
  detail::count("largest_batch", largest_batch);
  basic_batch_equilibrium<T> r;
  r.demanded = named("tokens demanded", detail::not_negative("arrivals", arrivals) *
                                            detail::positive("output", output));
  const duration<T> largest_step = fixed + largest_batch * per_sequence;
  detail::positive("fixed + per_sequence", largest_step);
  r.saturation = named("saturation", largest_batch * token / largest_step);
  const T growth = named("x t1", T(r.demanded * per_sequence / token));
  if (!(upper(growth) < 1.0)) {
    r.feasible = infeasible("decode steps take longer than tokens are asked for", "tok/s",
                            upper(r.demanded.value()), 1.0 / upper(per_sequence.value()));
    return r;
  }
  const T batch = named("batch", T(r.demanded * fixed / token) / (1.0 - growth));
  if (upper(batch) > lower(largest_batch)) {
    r.feasible = infeasible("the batch that the load needs is larger than the largest batch",
                            "sequences", upper(batch), lower(largest_batch));
    return r;
  }
  r.batch = batch;
  r.step = named("step", fixed + batch * per_sequence);
  return r;
}

}  // namespace perfmodel
