// What a collective takes on a link: the alpha-beta model, with the cost as a policy.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/policy/cost.hpp>
#include <perfmodel/scalar/choose.hpp>

namespace perfmodel {

/// `wire` is per rank, on the busier direction of its link. algbw and busbw are 0 where time is.
template <Scalar T = double>
struct basic_collective_estimate {
  duration<T> time{};
  wire_bytes<T> wire{};
  algorithm_bandwidth<T> algbw{};
  bus_bandwidth<T> busbw{};
  per_lane<T, perfmodel::algorithm> algorithm{};  ///< the one chosen
  per_lane<T, perfmodel::limiter> limiter{};
  basic_terms<T> terms{};  ///< transfer, latency
  perfmodel::feasibility feasible{};
};
using collective_estimate = basic_collective_estimate<>;

/// T = latency(steps) + wire bytes / rate, for the quickest algorithm allowed; with alpha_beta the
/// alpha-beta model T = steps alpha + share S / beta. Source: Hockney 1994; Thakur et al. 2005,
/// section 3.1. Leaves out: contention with other traffic, the time of the additions, protocol
/// switches, hierarchy over several fabrics. A message below one byte waits in proportion, so
/// nothing costs nothing. One rank costs exactly 0. More ranks than the fabric joins, no link, or
/// in_network without switches that add: infeasible with a reason (the time is then that of a
/// fabric that could, and 0 without a link). Errors: ranks below 1, negative message or bandwidth;
/// `inconsistent` where operation, algorithm and implementation do not go together. Tests: 16 KiB
/// over 8 ranks at 450 GB/s take 63.7 ns; never below message-share / bandwidth; monotone in bytes;
/// a bound with in-network reduction never exceeds S / beta.
template <Scalar T, class Cost = full_link>
constexpr basic_collective_estimate<T> collective_time(const basic_link<T>& fabric,
                                                       const basic_collective<T>& c,
                                                       const Cost& cost = {}) {
  constexpr std::array<algorithm, 5> all = {algorithm::ring, algorithm::tree, algorithm::two_shot,
                                            algorithm::one_shot, algorithm::in_network};
  basic_collective_estimate<T> e;
  const double n = detail::rank_count("ranks", c.ranks);
  const bytes<T> message = detail::not_negative("bytes", c.message.quantity());

  std::array<algorithm, all.size()> usable{};
  std::array<T, all.size()> time{}, wire{}, transfer{}, latency{};
  std::size_t count = 0;
  bool named_algorithm = false;
  for (const algorithm a : all) {
    if (!implements(c.implementation, c.operation, a)) continue;
    if (c.algorithm != algorithm::best && c.algorithm != a) continue;
    named_algorithm = true;
    if constexpr (!requires(const basic_schedule<T>& s) { cost.selects(fabric, s); }) {
      if (a == algorithm::in_network && !fabric.in_network_reduction &&
          c.algorithm == algorithm::best)
        continue;
      usable[count++] = a;
    } else if (c.algorithm == a) {
      usable[count++] = a;
    }
  }
  if constexpr (requires(const basic_schedule<T>& s) { cost.selects(fabric, s); }) {
    if (c.algorithm == algorithm::best && named_algorithm) {
      for (const algorithm a : all) {
        const basic_schedule<T> s{c.operation, a,  c.implementation, c.launch, c.ranks, 0.0,
                                  message,     {}, c.format,         true};
        if (has_algorithm(c.operation, a) && cost.selects(fabric, s)) usable[count++] = a;
      }
    }
  }
  if (!named_algorithm) {
    detail::fail(error_code::inconsistent,
                 "algorithm: this operation, or this implementation of it, has no such algorithm");
  }
  if constexpr (lanes_of<T>::count == 1)
    e.algorithm = usable[0];
  else
    e.algorithm.fill(usable[0]);
  if (c.ranks == 1) return e;

  if (!(upper(fabric.bandwidth.value()) != 0.0)) {
    e.feasible = infeasible("there is no link between the accelerators", "accelerators", n, 1.0);
    return e;
  }
  detail::positive("bandwidth", fabric.bandwidth.quantity());
  if (c.ranks > fabric.ranks) {
    e.feasible = infeasible("more ranks than the fabric joins", "accelerators", n, fabric.ranks);
  } else if (c.algorithm == algorithm::in_network && !fabric.in_network_reduction) {
    e.feasible = infeasible("the switches of this fabric do not add", "", 1.0, 0.0);
  }

  const T sent = scalar_min(T(1.0), message.value());  // 1 from one byte on
  for (std::size_t i = 0; i < count; ++i) {
    const schedule_cost x = steps_and_share(c.operation, usable[i], c.ranks);
    const basic_schedule<T> s{
        c.operation, usable[i], c.implementation,  c.launch, c.ranks,
        x.steps,     message,   x.share * message, c.format, c.algorithm == algorithm::best};
    wire[i] = s.wire.value();
    if constexpr (requires { cost.price(fabric, s); }) {
      const basic_collective_price<T> price = cost.price(fabric, s);
      transfer[i] = sent * price.transfer.value();
      latency[i] = sent * price.latency.value();
      time[i] = sent * price.time.value();
    } else {
      transfer[i] = bytes<T>(s.wire) / cost.rate(fabric, s) / lift<T>(second);
      latency[i] = sent * cost.latency(fabric, s).value();
      time[i] = transfer[i] + latency[i];
    }
    time[i] = named(name_of(usable[i]), duration<T>::from_value(time[i])).value();
  }

  const auto chosen = [&](std::size_t lane) {
    return usable[detail::index_of_least(time, count, lane)];
  };
  if constexpr (lanes_of<T>::count == 1) {
    e.algorithm = chosen(0);
  } else {
    for (std::size_t lane = 0; lane < lanes_of<T>::count; ++lane) e.algorithm[lane] = chosen(lane);
  }
  e.wire = wire_bytes<T>(
      named("wire bytes", bytes<T>::from_value(detail::value_of_least(time, wire, count))));
  e.terms.add(limiter::link, "transfer",
              duration<T>::from_value(detail::value_of_least(time, transfer, count)));
  e.terms.add(limiter::latency, "latency",
              duration<T>::from_value(detail::value_of_least(time, latency, count)));
  e.limiter = e.terms.limiting();
  T least = time[0];
  for (std::size_t i = 1; i < count; ++i) least = scalar_min(least, time[i]);
  e.time = named(name_of(c.operation), duration<T>::from_value(least));
  const duration<T> shortest =
      duration<T>::from_value(T(1e-30));  // keeps 0 bytes in 0 s at 0 bytes/s
  e.algbw = algorithm_bandwidth<T>(named("algbw", message / max(e.time, shortest)));
  e.busbw = to_bus_bandwidth(c.operation, c.ranks, e.algbw);
  return e;
}

/// n collectives like this one, one after the other: n times the time, terms and wire bytes.
template <Scalar T>
constexpr basic_collective_estimate<T> repeated_collective(const T& n,
                                                           basic_collective_estimate<T> e) {
  detail::not_negative("n", n);
  basic_terms<T> terms;
  for (const auto& t : e.terms) terms.add(t.kind, t.name, n * t.time);
  e.terms = terms;
  e.time = named("time of all", n * e.time);
  e.wire = wire_bytes<T>(n * e.wire.quantity());
  return e;
}

/// The message at which a ring all-reduce waits as long as it transfers: S* = N alpha beta, from
/// 2(N-1) alpha = 2(N-1)/N S / beta. Test: 8 ranks, 5 us, 450 GB/s: 18 MB.
template <Scalar T>
constexpr message_bytes<T> knee_message(int ranks, const duration<T>& alpha,
                                        const bandwidth<T>& one_way_rate) {
  const double n = detail::rank_count("ranks", ranks);
  detail::not_negative("alpha", alpha);
  return message_bytes<T>(named("knee", n * alpha * detail::positive("bandwidth", one_way_rate)));
}

}  // namespace perfmodel
