// What a collective costs on a link, as a policy: latency and rate, or a price.
#pragma once

#include <perfmodel/hardware/link.hpp>
#include <perfmodel/parallel/algorithms.hpp>

namespace perfmodel {

/// A collective laid out in one algorithm: what a cost policy prices.
template <Scalar T = double>
struct basic_schedule {
  collective_op operation = collective_op::all_reduce;
  perfmodel::algorithm algorithm = perfmodel::algorithm::ring;
  perfmodel::implementation implementation = perfmodel::implementation::any;
  launch_mode launch = launch_mode::graph;
  int ranks = 1;
  double steps = 0.0;
  bytes<T> message{};
  bytes<T> wire{};  ///< per rank, on the busier direction
  number_format format = number_format::bf16;
  bool among_others = false;  ///< `best` chooses between this and other algorithms
};

/// What a schedule takes: time = transfer + latency.
template <Scalar T = double>
struct basic_collective_price {
  duration<T> time{};
  duration<T> transfer{};
  duration<T> latency{};
};

/// A cost policy that prices a schedule as a whole, in place of a rate and a latency.
template <class Cost, class T>
concept PricesSchedules = requires(const Cost& cost, const basic_link<T>& l,
                                   const basic_schedule<T>& s) {
  { cost.price(l, s) } -> std::same_as<basic_collective_price<T>>;
};
/// A cost policy that knows among which algorithms a library chooses.
template <class Cost, class T>
concept SelectsAlgorithms = requires(const Cost& cost, const basic_link<T>& l,
                                     const basic_schedule<T>& s) {
  { cost.selects(l, s) } -> std::same_as<bool>;
};

/// The default cost policy: the link's whole one-way bandwidth and no latency. A bound.
/// A cost policy has these two functions, and may look at all of a schedule. In their place it may
/// have price(link, schedule) -> basic_collective_price; and selects(link, schedule) -> bool, which
/// says among which algorithms `best` chooses.
struct full_link {
  template <Scalar T>
  constexpr duration<T> latency(const basic_link<T>&, const basic_schedule<T>&) const {
    return {};
  }
  template <Scalar T>
  constexpr bandwidth<T> rate(const basic_link<T>& l, const basic_schedule<T>&) const {
    return l.bandwidth.quantity();
  }
};
/// The whole bandwidth, and the link's stated latency for each step.
struct stated_latency : full_link {
  template <Scalar T>
  constexpr duration<T> latency(const basic_link<T>& l, const basic_schedule<T>& s) const {
    return s.steps * detail::not_negative("latency", l.latency.quantity());
  }
};
/// Hockney's alpha + bytes / beta: a constant time for each step and a share (0, 1] of the
/// bandwidth.
template <Scalar T = double>
struct basic_alpha_beta {
  duration<T> alpha{};
  T bandwidth_share = T(1.0);

  constexpr duration<T> latency(const basic_link<T>&, const basic_schedule<T>& s) const {
    return s.steps * detail::not_negative("alpha", alpha);
  }
  constexpr bandwidth<T> rate(const basic_link<T>& l, const basic_schedule<T>&) const {
    detail::positive("bandwidth_share", bandwidth_share);
    return detail::fraction("bandwidth_share", bandwidth_share) * l.bandwidth.quantity();
  }
};
using alpha_beta = basic_alpha_beta<>;

}  // namespace perfmodel
