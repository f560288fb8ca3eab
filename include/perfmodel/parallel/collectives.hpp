// Time of a collective on a link: the alpha-beta model, with the cost as a policy.
#pragma once

#include <optional>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/memo.hpp>
#include <perfmodel/parallel/link_cost.hpp>
#include <perfmodel/scalar/math.hpp>
#include <tuple>

namespace perfmodel::inline v0_3 {

/// `wire` is per rank, on the busier direction of its link. algbw and busbw are 0 where the time is
/// 0.
template <Scalar T = double>
struct basic_collective_estimate {
  duration<T> time{};
  wire_bytes<T> wire{};
  algorithm_bandwidth<T> algbw{};
  bus_bandwidth<T> busbw{};
  collective_algorithm algorithm{};  ///< algorithm that was chosen
  perfmodel::limiter limiter{};
  basic_terms<T> terms{};  ///< transfer, latency
  perfmodel::feasibility feasible{};
};
using collective_estimate = basic_collective_estimate<>;

namespace detail {

using algorithm_list = short_list<collective_algorithm, 5>;
inline constexpr algorithm_list every_algorithm{
    collective_algorithm::ring, collective_algorithm::tree, collective_algorithm::two_shot,
    collective_algorithm::one_shot, collective_algorithm::in_network};

template <Scalar T>
constexpr basic_schedule<T> schedule_of(const basic_collective<T>& c, collective_algorithm a,
                                        const schedule_cost& sent = {}) {
  const bytes<T> message = c.message.quantity();
  return {c.operation,      a,
          c.implementation, c.launch,
          c.ranks,          sent.steps,
          message,          sent.share * message,
          c.format,         c.algorithm == collective_algorithm::best};
}

/// Steps and share of a collective. Inside a node NCCL's all-reduce tree is a chain, to the root
/// and back: 2(N-1) steps. Source: NCCL, src/graph/tuning.cc, 2 ((ranks / nodes - 1) intra +
/// log2(nodes) inter). The hop of a cost that selects algorithms is fitted to the tree's steps, and
/// keeps them.
template <Scalar T, class Cost>
constexpr schedule_cost sent_by(const basic_interconnect<T>& fabric, const basic_collective<T>& c,
                                collective_algorithm a) {
  schedule_cost s = steps_and_share(c.operation, a, c.ranks);
  const bool inside =
      fabric.kind != link_kind::infiniband && fabric.kind != link_kind::ethernet && c.ranks > 1;
  if (!SelectsAlgorithms<Cost, T> && inside && a == collective_algorithm::tree &&
      c.operation == collective_op::all_reduce &&
      c.implementation == collective_implementation::nccl)
    s.steps = 2.0 * (c.ranks - 1.0);
  return s;
}

/// Whether a collective may run in an algorithm: the one it names, one that the cost policy
/// selects, or any that the implementation has and the fabric can run.
template <Scalar T, class Cost>
constexpr bool may_run(const basic_interconnect<T>& fabric, const basic_collective<T>& c,
                       collective_algorithm a, const Cost& cost) {
  const bool implemented = implements(c.implementation, c.operation, a);
  if (c.algorithm != collective_algorithm::best) return a == c.algorithm && implemented;
  if constexpr (SelectsAlgorithms<Cost, T>) {
    return has_algorithm(c.operation, a) && cost.selects(fabric, schedule_of(c, a));
  } else {
    return implemented && (a != collective_algorithm::in_network || fabric.in_network_reduction);
  }
}

template <Scalar T, class Cost>
constexpr algorithm_list candidates(const basic_interconnect<T>& fabric,
                                    const basic_collective<T>& c, const Cost& cost) {
  algorithm_list run;
  bool any = false;
  for (const collective_algorithm a : every_algorithm) {
    const bool named = c.algorithm == collective_algorithm::best || c.algorithm == a;
    any = any || (named && implements(c.implementation, c.operation, a));
    if (may_run(fabric, c, a, cost)) run.push_back(a);
  }
  if (!any) {
    fail(error_code::inconsistent,
         "algorithm: this operation, or this implementation of it, has no such algorithm");
  }
  return run;
}

/// Time of a schedule under the cost policy. A message below one byte has a proportional latency.
template <Scalar T, class Cost>
constexpr basic_collective_price<T> price_of(const basic_interconnect<T>& fabric,
                                             const basic_schedule<T>& s, const Cost& cost) {
  const T sent = scalar_min(T(1.0), s.message.value());  // 1 from one byte on
  basic_collective_price<T> p;
  if constexpr (PricesSchedules<Cost, T>) {
    p = cost.price(fabric, s);
    p = {sent * p.time, sent * p.transfer, sent * p.latency};
  } else if constexpr (CostPolicy<Cost, T>) {  // or the build stops at require_cost_policy
    p.transfer = s.wire / cost.rate(fabric, s);
    p.latency = sent * cost.latency(fabric, s);
    p.time = p.transfer + p.latency;
  }
  p.time = named(name_of(s.algorithm), p.time);
  return p;
}

template <Scalar T>
constexpr feasibility carries(const basic_interconnect<T>& fabric, const basic_collective<T>& c) {
  const double n = c.ranks;
  if (!fabric.bandwidth.is_stated()) {
    return infeasible("there is no link between the accelerators", "accelerators", n, 1.0);
  }
  positive("bandwidth", fabric.bandwidth.quantity());
  // Any link has two ends, also one between an accelerator and its host.
  const bool between_two = c.operation == collective_op::point_to_point && c.ranks == 2;
  if (c.ranks > fabric.ranks && !between_two) {
    return infeasible("more ranks than the fabric joins", "accelerators", n, fabric.ranks);
  }
  if (c.algorithm == collective_algorithm::in_network && !fabric.in_network_reduction) {
    return infeasible("the switches of this fabric do not add", "", 1.0, 0.0);
  }
  return {};
}

/// collective_time without the check of the collective's fields.
template <Scalar T, class Cost>
constexpr basic_collective_estimate<T> time_of_collective(const basic_interconnect<T>& fabric,
                                                          const basic_collective<T>& c,
                                                          const Cost& cost) {
  const bytes<T> message = c.message.quantity();
  const algorithm_list run = candidates(fabric, c, cost);
  basic_collective_estimate<T> e;
  e.algorithm = run[0];
  if (c.ranks == 1) return e;
  e.feasible = carries(fabric, c);
  if (!fabric.bandwidth.is_stated()) return e;

  std::array<T, 5> time{}, wire{}, transfer{}, latency{};
  for (std::size_t i = 0; i < run.size(); ++i) {
    const auto s = schedule_of(c, run[i], sent_by<T, Cost>(fabric, c, run[i]));
    const basic_collective_price<T> p = price_of(fabric, s, cost);
    time[i] = p.time.value();
    wire[i] = s.wire.value();
    transfer[i] = p.transfer.value();
    latency[i] = p.latency.value();
  }
  const auto of_quickest = [&](const std::array<T, 5>& each) {
    return value_of_least(time, each, run.size());
  };
  e.algorithm = run[index_of_least(time, run.size())];
  e.wire = wire_bytes<T>(named("wire bytes", bytes<T>::from_value(of_quickest(wire))));
  e.terms.add(limiter::link, "transfer", duration<T>::from_value(of_quickest(transfer)));
  e.terms.add(limiter::latency, "latency", duration<T>::from_value(of_quickest(latency)));
  e.limiter = e.terms.limiting();
  T least = time[0];
  for (std::size_t i = 1; i < run.size(); ++i) least = scalar_min(least, time[i]);
  e.time = named(name_of(c.operation), duration<T>::from_value(least));
  const duration<T> shortest =
      duration<T>::from_value(T(1e-30));  // keeps 0 bytes in 0 s at 0 bytes/s
  e.algbw = algorithm_bandwidth<T>(named("algbw", message / max(e.time, shortest)));
  e.busbw = to_bus_bandwidth(c.operation, c.ranks, e.algbw);
  return e;
}

}  // namespace detail

/// Time of a collective by the quickest algorithm allowed: T = latency(steps) + wire bytes / rate.
/// With alpha_beta this is the alpha-beta model T = steps alpha + share S / beta.
/// One rank, and 0 bytes, cost exactly 0. A link carries a point-to-point transfer between its two
/// ends whatever number of ranks it joins.
/// Infeasible, with a reason: more ranks than the fabric joins, no link, or in_network without
/// switches that add. The time is then that of a fabric that could, and 0 without a link.
/// Source: Hockney 1994; Thakur et al. 2005, section 3.1.
/// Leaves out: contention with other traffic, the time of the additions, protocol switches,
/// hierarchy over several fabrics.
/// Errors: ranks not given, negative message or bandwidth; `inconsistent` where operation,
/// algorithm and implementation do not go together.
/// Tests: 16 KiB over 8 ranks at 450 GB/s take 63.7 ns; never below message-share / bandwidth;
/// monotone in bytes; a bound with in-network reduction never exceeds S / beta.
template <Scalar T, class Cost = full_link>
constexpr basic_collective_estimate<T> collective_time(const basic_interconnect<T>& fabric,
                                                       const basic_collective<T>& c,
                                                       const Cost& cost = {}) {
  require_cost_policy<Cost, T>();
  require_valid(c);
  detail::message_size(c.message.quantity());
  return detail::time_of_collective(fabric, c, cost);
}

/// n identical collectives in sequence: n times the time, terms and wire bytes.
template <Scalar T>
constexpr basic_collective_estimate<T> repeated_collective(const std::type_identity_t<T>& n,
                                                           basic_collective_estimate<T> e) {
  detail::not_negative("n", n);
  basic_terms<T> terms;
  for (const auto& t : e.terms) terms.add(t.kind, t.name, n * t.time);
  e.terms = terms;
  e.time = named("time of all", n * e.time);
  e.wire = wire_bytes<T>(n * e.wire.quantity());
  return e;
}

}  // namespace perfmodel::inline v0_3

// Memoised costs of the collectives of a service: alpha-beta pieces that give the time of any
// message.

namespace perfmodel::inline v0_3::detail {

/// Cost pieces of one collective, over all algorithms that may run.
template <Scalar T>
struct collective_cost_pieces {
  short_list<basic_cost_piece<T>, 12> pieces{};

  /// Least time over the pieces; a message below one byte has a proportional latency.
  constexpr duration<T> time(const bytes<T>& message) const {
    if (pieces.empty()) return {};
    const auto time_of = [&](const basic_cost_piece<T>& l) {
      const duration<T> t = l.wait + message * l.per_byte;
      return message > l.largest ? t + duration<T>::from_value((message - l.largest).value()) : t;
    };
    duration<T> least = time_of(pieces[0]);
    for (std::size_t i = 1; i < pieces.size(); ++i) least = min(least, time_of(pieces[i]));
    return scalar_min(T(1.0), message.value()) * least;
  }
};

/// Times of valid collectives under a cost policy, equal to time_of_collective. The cost pieces of
/// a collective are found once, whatever its message, where the policy states them for plain
/// numbers.
/// Test: tests/property/memoised_steps.cpp, against time_of_collective.
template <Scalar T, class Cost>
class collective_memo {
 public:
  constexpr explicit collective_memo(const Cost& cost) : cost_(cost) {}
  constexpr const Cost& cost() const { return cost_; }

  constexpr duration<T> time(const basic_interconnect<T>& fabric, const basic_collective<T>& c) {
    if constexpr (std::is_floating_point_v<T> && HasCostPieces<Cost, T>) {
      const pieces& known = pieces_.value_of(std::tuple(&fabric, c.operation, c.ranks, c.format,
                                                        c.algorithm, c.implementation, c.launch),
                                             [&] { return pieces_of(fabric, c); });
      if (known) return known->time(c.message.quantity());
    }
    if constexpr (std::is_floating_point_v<T>) {
      return least_time(fabric, c);
    } else {
      return time_of_collective(fabric, c, cost_).time;
    }
  }

 private:
  using pieces = std::optional<collective_cost_pieces<T>>;

  /// The time of time_of_collective, without its other results.
  constexpr duration<T> least_time(const basic_interconnect<T>& fabric,
                                   const basic_collective<T>& c) const {
    const algorithm_list run = candidates(fabric, c, cost_);
    if (c.ranks == 1 || !fabric.bandwidth.is_stated()) return {};
    positive("bandwidth", fabric.bandwidth.quantity());
    duration<T> least = duration<T>::from_value(T(infinity));
    for (const collective_algorithm a : run) {
      const auto s = schedule_of(c, a, sent_by<T, Cost>(fabric, c, a));
      least = min(least, price_of(fabric, s, cost_).time);
    }
    return least;
  }

  constexpr pieces pieces_of(const basic_interconnect<T>& fabric, basic_collective<T> c) const {
    collective_cost_pieces<T> all;
    const algorithm_list run = candidates(fabric, c, cost_);
    if (c.ranks == 1 || !fabric.bandwidth.is_stated()) return all;
    positive("bandwidth", fabric.bandwidth.quantity());
    c.message = message_bytes<T>(lift<T>(1.0 * byte));
    for (const collective_algorithm a : run) {
      const auto s = schedule_of(c, a, sent_by<T, Cost>(fabric, c, a));
      const bool known = cost_.visit_cost_pieces(
          fabric, s, [&](const basic_cost_piece<T>& l) { all.pieces.push_back(l); });
      if (!known) return std::nullopt;
    }
    return all;
  }

  const Cost& cost_;
  memo<std::tuple<const basic_interconnect<T>*, collective_op, int, number_format,
                  collective_algorithm, collective_implementation, launch_mode>,
       pieces, 4>
      pieces_{};
};

}  // namespace perfmodel::inline v0_3::detail
