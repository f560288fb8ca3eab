// Cost of a collective on a link, as a policy: latency and rate, or a price.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/interconnect.hpp>
#include <perfmodel/parallel/algorithms.hpp>

namespace perfmodel::inline v0_3 {

/// A collective in one algorithm: the input of a cost policy.
template <Scalar T = double>
struct basic_schedule {
  collective_op operation = collective_op::all_reduce;
  collective_algorithm algorithm = collective_algorithm::ring;
  collective_implementation implementation = collective_implementation::any;
  launch_mode launch = launch_mode::graph;
  int ranks = 1;
  double steps = 0.0;
  bytes<T> message{};
  bytes<T> wire{};  ///< bytes per rank, on the busier direction
  number_format format = number_format::bf16;
  bool is_one_of_several = false;  ///< `best` chooses between this and other algorithms
};

/// Bandwidth of the links that a schedule uses; a point-to-point transfer has two ends.
template <Scalar T>
constexpr bandwidth<T> link_bandwidth(const basic_interconnect<T>& l, const basic_schedule<T>& s) {
  return usable_bandwidth(l, s.operation == collective_op::point_to_point ? 2 : s.ranks);
}

/// Time of a schedule: time = transfer + latency.
template <Scalar T = double>
struct basic_collective_price {
  duration<T> time{};
  duration<T> transfer{};
  duration<T> latency{};
};

/// Alpha-beta piece of an algorithm's captured cost: wait + message x per_byte, and one second for
/// each byte beyond `largest`, where another piece takes over.
template <Scalar T = double>
struct basic_cost_piece {
  duration<T> wait{};
  decltype(duration<T>{} / bytes<T>{}) per_byte{};
  bytes<T> largest = bytes<T>::from_value(T(detail::infinity));
};

/// Cost policy that prices a whole schedule, in place of a rate and a latency.
template <class Cost, class T>
concept PricesSchedules = requires(const Cost& cost, const basic_interconnect<T>& l,
                                   const basic_schedule<T>& s) {
  { cost.price(l, s) } -> std::same_as<basic_collective_price<T>>;
};
/// Cost policy priced by the least of alpha-beta pieces. visit_cost_pieces(link, schedule,
/// add) calls add(piece) for each piece, and returns false where its price is not of that form.
template <class Cost, class T>
concept HasCostPieces = requires(const Cost& cost, const basic_interconnect<T>& l,
                                 const basic_schedule<T>& s, void (*add)(basic_cost_piece<T>)) {
  { cost.visit_cost_pieces(l, s, add) } -> std::same_as<bool>;
};
/// Cost policy that knows among which algorithms a library chooses.
template <class Cost, class T>
concept SelectsAlgorithms = requires(const Cost& cost, const basic_interconnect<T>& l,
                                     const basic_schedule<T>& s) {
  { cost.selects(l, s) } -> std::same_as<bool>;
};

namespace detail {
template <class Cost, class T>
concept has_latency = requires(const Cost& c, const basic_interconnect<T>& l,
                               const basic_schedule<T>& s) {
  { c.latency(l, s) } -> std::convertible_to<duration<T>>;
};
template <class Cost, class T>
concept has_rate = requires(const Cost& c, const basic_interconnect<T>& l,
                            const basic_schedule<T>& s) {
  { c.rate(l, s) } -> std::convertible_to<bandwidth<T>>;
};
}  // namespace detail

/// Requirements on the cost of a link: latency and rate of a schedule, or its price.
/// Satisfied by full_link, stated_latency, alpha_beta and calibrated_collectives.
template <class Cost, class T = double>
concept CostPolicy = PricesSchedules<Cost, T> ||
    (detail::has_latency<Cost, T>&& detail::has_rate<Cost, T>);

/// Stops the build with a readable message where a law is given a type that is no cost policy.
template <class Cost, class T>
constexpr void require_cost_policy() {
  constexpr bool latency = detail::has_latency<Cost, T> || PricesSchedules<Cost, T>;
  constexpr bool rate = detail::has_rate<Cost, T> || PricesSchedules<Cost, T>;
  static_assert(latency || rate,
                "this is no cost policy, which has latency and rate, or price: see "
                "docs/troubleshooting.md#a-cost-policy");
  static_assert(latency || !rate,
                "this cost policy has no latency(link, schedule) -> duration: see "
                "docs/troubleshooting.md#a-cost-policy");
  static_assert(rate || !latency,
                "this cost policy has no rate(link, schedule) -> bandwidth: see "
                "docs/troubleshooting.md#a-cost-policy");
}

/// The default cost policy: the whole one-way bandwidth of the links in use and no latency. A
/// bound.
struct full_link {
  template <Scalar T>
  constexpr duration<T> latency(const basic_interconnect<T>&, const basic_schedule<T>&) const {
    return {};
  }
  template <Scalar T>
  constexpr bandwidth<T> rate(const basic_interconnect<T>& l, const basic_schedule<T>& s) const {
    return link_bandwidth(l, s);
  }
};
/// The whole bandwidth, and the link's stated latency for each step.
struct stated_latency : full_link {
  template <Scalar T>
  constexpr duration<T> latency(const basic_interconnect<T>& l, const basic_schedule<T>& s) const {
    return s.steps * detail::not_negative("latency", l.latency.quantity());
  }
};
/// Hockney's alpha + bytes / beta: a constant time for each step and a share (0, 1] of the
/// bandwidth.
template <Scalar T = double>
struct basic_alpha_beta {
  duration<T> alpha{};
  T bandwidth_share = T(1.0);

  template <Scalar S>
  constexpr duration<S> latency(const basic_interconnect<S>&, const basic_schedule<S>& s) const {
    return S(s.steps) * detail::not_negative("alpha", alpha);
  }
  template <Scalar S>
  constexpr bandwidth<S> rate(const basic_interconnect<S>& l, const basic_schedule<S>& s) const {
    detail::positive("bandwidth_share", bandwidth_share);
    return S(detail::fraction("bandwidth_share", bandwidth_share)) * link_bandwidth(l, s);
  }

  template <class F, class... Specs>
  static constexpr void fields(F&& f, Specs&... p) {
    f(field::not_negative("alpha"), p.alpha...);
    f(field::share("bandwidth_share"), p.bandwidth_share...);
  }
};
using alpha_beta = basic_alpha_beta<>;

}  // namespace perfmodel::inline v0_3
