// Queues: M/M/1, M/D/1, M/G/1, G/G/1, M/M/c, G/G/c, closed networks, and a decode batch.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <span>

namespace perfmodel::inline v0_3 {

/// A queue in steady state. Overload (utilisation >= 1) is a result: `feasible` is false,
/// utilisation stays, and every time and count is 0. A scalar of several values is overloaded if
/// any of them is, so split a sweep at utilisation 1.
template <Scalar T = double>
struct basic_queue_estimate {
  T utilisation{};                            ///< share of time that a server is busy
  std::optional<T> probability_of_waiting{};  ///< M/M/c: P(all servers are busy)
  duration<T> wait{};                         ///< mean time in queue
  duration<T> time{};                         ///< mean time in queue and in service
  requests<T> waiting{};                      ///< mean number in queue
  requests<T> in_system{};                    ///< mean number in queue and in service
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

/// Mean wait of a single-server queue at utilisation rho below 1:
/// W = rho / (1 - rho) v S, with v = (Ca^2 + Cs^2) / 2 and S the mean service time. It is the
/// formula of `gg1` for callers that bound rho themselves.
/// Source: Pollaczek 1930, Khinchine 1932 (Poisson arrivals); Allen, "Probability, Statistics, and
/// Queueing Theory", 1990, section 5.3 (Allen and Cunneen, other arrivals).
/// Errors: none; the caller keeps rho below 1.
/// Test: the wait of gg1 at the same utilisation.
template <Scalar T>
constexpr duration<T> single_server_wait(const T& utilisation,
                                         const std::type_identity_t<T>& variation,
                                         const duration<T>& service) {
  return utilisation / (1.0 - utilisation) * variation * service;
}

/// Mean residual time of a renewal process seen at a random instant: E[X^2] / (2 E[X]) =
/// (m + s^2 / m) / 2, with mean m and standard deviation s. In an M/G/1 queue with vacations an
/// arrival at an idle server waits for the residual of a vacation.
/// Source: Levy and Yechiali, "Utilization of idle time in an M/G/1 queueing system", Management
/// Science 22(2), 1975.
/// Errors: none. Test: half of a constant; all of an exponential.
template <Scalar T>
constexpr duration<T> mean_residual_time(const duration<T>& mean, const duration<T>& deviation) {
  return 0.5 *
         (mean + duration<T>::from_value(deviation.value() * deviation.value() / mean.value()));
}

/// Probability that an arrival waits in M/M/c, approximately: rho^(sqrt(2 (c + 1)) - 1). The mean
/// wait is this over c (1 - rho), in service times.
/// Source: Sakasegawa, "An approximation formula Lq = alpha rho^beta / (1 - rho)", Annals of the
/// Institute of Statistical Mathematics 29, 1977.
/// Errors: none; the caller keeps rho in (0, 1). c may be a fraction.
/// Test: M/M/1 for one server; within 0.05 of Erlang's C for 2 to 16 servers, 0.5 to 0.95 busy.
template <Scalar T>
constexpr T sakasegawa_waiting_probability(const T& utilisation, const T& servers) {
  using math::exp;
  using math::log;
  using math::sqrt;
  return exp(T((sqrt(T(2.0 * (servers + 1.0))) - 1.0) * log(utilisation)));
}

/// Mean wait of G/G/c at utilisation rho below 1: W = v P / (1 - rho) S / c, with
/// v = (Ca^2 + Cs^2) / 2, P Sakasegawa's probability of waiting in M/M/c, and S / c = `period` the
/// mean time between completions of c busy servers.
/// Source: Sakasegawa 1977; Allen and Cunneen, in Allen 1990, section 5.3 (the variation).
/// Errors: none; the caller keeps rho in (0, 1).
/// Test: single_server_wait for one server.
template <Scalar T>
constexpr duration<T> multi_server_wait(const T& utilisation, const T& servers, const T& variation,
                                        const duration<T>& period) {
  return variation * sakasegawa_waiting_probability(utilisation, servers) / (1.0 - utilisation) *
         period;
}

/// Mean wait at one server of a closed network with N customers, service time S and think time Z.
/// Schweitzer's approximate mean value analysis has the response time R = S (1 + (N - 1) R /
/// (R + Z)), hence R = (x + sqrt(x^2 + 4 S Z)) / 2 with x = N S - Z. The wait is
/// min(1, (1 + v^2) / 2) (R - S), v the coefficient of variation of S, and at least x - S, the
/// wait at a saturated server.
/// Source: Schweitzer, "Approximate analysis of multiclass closed networks of queues", 1979;
/// Reiser and Lavenberg, JACM 27(2), 1980 (mean value analysis).
/// Errors: none. Any unit of time serves, if S and Z have the same.
/// Test: tests/unit/service_by_hand.cpp; saturated where N S exceeds Z by far.
template <Scalar T>
constexpr T schweitzer_wait(const T& customers, const T& service, const T& think_time,
                            const T& variation) {
  using math::sqrt;
  const T excess = customers * service - think_time;
  const T response = 0.5 * (excess + sqrt(T(excess * excess + 4.0 * (service * think_time))));
  const T share = scalar_min(T(1.0), T((1.0 + variation * variation) / 2.0));
  return scalar_max(scalar_max(T(share * (response - service)), T(excess - service)), T(0.0));
}

/// Mean wait = rho / (1 - rho) (Ca^2 + Cs^2) / 2 x g x service, Cx^2 the squared coefficient of
/// variation of the times between arrivals and of the service times. g corrects for arrivals more
/// regular than Poisson: exp(-2 (1 - rho) (1 - Ca^2)^2 / (3 rho (Ca^2 + Cs^2))), 1 for Ca^2 >= 1.
/// Sources: Kingman, "The single server queue in heavy traffic", Proc. Cambridge Phil. Soc. 57,
/// 1961; Kraemer and Langenbach-Belz, 8th International Teletraffic Congress, 1976 (g). Exact for
/// Poisson arrivals (Ca^2 = 1, Pollaczek-Khinchine); an approximation else, good near rho = 1, poor
/// for bursts that depend on each other. Errors: a rate, a time or a variation below 0.
/// Tests: M/G/1 for Ca^2 = 1; no wait without variation; grows with rho; Erlang-4/Erlang-4 at rho
/// 0.5 waits 0.118 (simulated 0.129).
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
  using math::exp;
  const T both = arrival_variation + service_variation;
  const T regular = scalar_max(T(1.0 - arrival_variation), T(0.0));
  // A floor keeps an idle queue, and one without variation, from dividing by 0.
  const T correction = exp(T(-2.0 * (1.0 - q.utilisation) * regular * regular /
                             scalar_max(T(3.0 * q.utilisation * both), T(1e-9))));
  q.wait = named("wait", correction * single_server_wait(q.utilisation, T(both / 2.0), service));
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

/// A class of requests before a server: Poisson arrivals, mean service time, its squared variation.
template <Scalar T = double>
struct basic_priority_class {
  request_rate<T> arrivals{};
  duration<T> service{};
  T variation = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("arrivals"), s.arrivals...);
    f(field::positive("service"), s.service...);
    f(field::not_negative("variation"), s.variation...);
  }
};
using priority_class = basic_priority_class<>;

/// Class k (from 0, the most urgent) of a server that completes a request before it takes the next
/// most urgent one: wait = sum of lambda E[S^2] / 2 over all classes / ((1 - a) (1 - b)), with a
/// the utilisation by classes before k, and b with k too.
/// Source: Cobham, "Priority assignment in waiting line problems", Operations Research 2, 1954.
/// Not feasible where all classes together keep the server busy. Errors: no such class; as mg1.
/// Tests: one class is M/G/1; the waits of equal services, weighted by arrivals, have its mean.
template <Scalar T>
constexpr basic_queue_estimate<T> priority_queue(std::span<const basic_priority_class<T>> classes,
                                                 std::size_t k) {
  detail::within("k", static_cast<double>(k), 0.0, static_cast<double>(classes.size()) - 1.0,
                 "a class from 0 on");
  T before(0.0), load(0.0), all(0.0);
  duration<T> residual{};
  request_rate<T> arrivals{};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const basic_priority_class<T>& c = classes[i];
    require_valid(c);
    const T own = c.arrivals * c.service / request;
    residual += own * (1.0 + c.variation) / 2.0 * c.service;
    if (i < k) before += own;
    if (i <= k) load += own;
    all += own;
    arrivals += c.arrivals;
  }
  const basic_priority_class<T>& own = classes[k];
  basic_queue_estimate<T> q;
  q.utilisation = named("utilisation", all);
  if (!(upper(all) < 1.0)) {
    const double needed = upper(arrivals.value());
    q.feasible = detail::overload(needed, needed / upper(all));
    return q;
  }
  q.wait = named("wait", residual / ((1.0 - before) * (1.0 - load)));
  q.time = named("time in system", q.wait + own.service);
  q.waiting = own.arrivals * q.wait;
  q.in_system = own.arrivals * q.time;
  return q;
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

/// Equilibrium of a decode batch under arrivals: a step takes `fixed` plus `per_sequence` for each
/// sequence.
template <Scalar T = double>
struct basic_batch_equilibrium {
  T batch{};           ///< mean number of sequences that decode
  duration<T> step{};  ///< time of one step, the inter-token latency
  token_rate<T> demanded{};
  token_rate<T> saturation{};  ///< token rate of the largest batch
  perfmodel::feasibility feasible{};
};
using batch_equilibrium = basic_batch_equilibrium<>;

/// Mean batch B = x (t0 + t1) / (1 - x t1) and mean step of a sequence (t0 + t1) / (1 - x t1), for
/// steps of t0 + n t1 with n sequences and x = arrivals x tokens per request. Memory-bound decode
/// has t0 = weight bytes / bandwidth and t1 = KV bytes of a sequence / bandwidth.
/// Source: derived here. Poisson arrivals to a processor that serves n requests at n / (t0 + n t1)
/// are a birth-death chain, insensitive to lengths (Kelly, "Reversibility and Stochastic Networks",
/// 1979, section 3.3); its n is negative binomial. The mean field n = x t(n) is low by
/// t0 / (t0 + t1).
/// Not feasible where x t1 >= 1, or B exceeds `largest_batch`; batch and step are then 0.
/// Leaves out prefill, and a limit that n reaches while its mean does not.
/// Errors: fixed or per_sequence below 0, both 0; largest_batch below 1.
/// Tests: the chain summed; B / step = x; one request alone takes t0 + t1.
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
  const duration<T> each = fixed + per_sequence;
  const T batch = named("batch", T(r.demanded * each / token) / (1.0 - growth));
  if (upper(batch) > lower(largest_batch)) {
    r.feasible = infeasible("the batch that the load needs is larger than the largest batch",
                            "sequences", upper(batch), lower(largest_batch));
    return r;
  }
  r.batch = batch;
  r.step = named("step", each / (1.0 - growth));
  return r;
}

}  // namespace perfmodel::inline v0_3
