// Expert parallelism: tokens sent to the ranks of their experts, and back.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/laws/order_statistics.hpp>
#include <perfmodel/parallel/collectives.hpp>

namespace perfmodel::inline v0_3 {

/// Expert parallelism of one MoE layer: every rank sends each of its tokens to the ranks of its
/// top_k experts and gets the results back. Source: Lepikhin et al., "GShard", 2020, section 3.2.
template <Scalar T = double>
struct basic_expert_parallelism {
  int ranks = 0;
  T tokens{};  ///< tokens on this rank
  T hidden{};
  T top_k{};
  number_format dispatch = number_format::bf16;
  number_format combine = number_format::bf16;
  T imbalance = T(1.0);  ///< load of the busiest rank over the mean load

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::ranks("ranks"), s.ranks...);
    f(field::positive("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("top_k"), s.top_k...);
    f("dispatch", s.dispatch...);
    f("combine", s.combine...);
    f(field::count("imbalance"), s.imbalance...);
  }
};
using expert_parallelism = basic_expert_parallelism<>;

namespace detail {
/// One all-to-all, without a check of the fields.
template <Scalar T>
constexpr basic_collective<T> exchange_tokens(const basic_expert_parallelism<T>& x,
                                              number_format format) {
  const T rows = x.imbalance * x.tokens * x.top_k;
  basic_collective<T> c;
  c.operation = collective_op::all_to_all;
  c.ranks = x.ranks;
  c.message = message_bytes<T>(named("message", rows * x.hidden * bytes_of(format)));
  return c;
}
}  // namespace detail

/// The two all-to-alls: message = imbalance tokens top_k hidden b each, a share (N-1)/N of it on
/// the wire.
/// Leaves out: routing limited to few nodes, sending a token once to a rank with two of its
/// experts.
/// Test: 128 tokens, top 8, hidden size 7168, bf16, 8 ranks: 12.85 MB on the wire each way.
template <Scalar T>
constexpr basic_collective<T> dispatch_of(const basic_expert_parallelism<T>& x) {
  require_valid(x);
  return detail::exchange_tokens(x, x.dispatch);
}
/// All-to-all that combines the experts' outputs, in the format of `combine`.
template <Scalar T>
constexpr basic_collective<T> combine_of(const basic_expert_parallelism<T>& x) {
  require_valid(x);
  return detail::exchange_tokens(x, x.combine);
}

/// Time of dispatch and combine in sequence: T = T_dispatch + T_combine. The terms are those of the
/// sum.
/// Test: wire bytes are 2 T k d b (N-1)/N.
template <Scalar T, class Cost = full_link>
constexpr basic_collective_estimate<T> communication_time(const basic_interconnect<T>& fabric,
                                                          const basic_expert_parallelism<T>& x,
                                                          const Cost& cost = {}) {
  basic_collective_estimate<T> e = collective_time(fabric, dispatch_of(x), cost);
  const basic_collective_estimate<T> back = collective_time(fabric, combine_of(x), cost);
  basic_terms<T> terms;
  for (const auto& t : e.terms) terms.add(t.kind, t.name, t.time + back.terms[t.name]);
  e.terms = terms;
  e.limiter = terms.limiting();
  e.time = named("time", named("dispatch", e.time) + named("combine", back.time));
  e.wire = e.wire + back.wire;
  if (upper(e.time.value()) > 0.0) {
    const bytes<T> messages = dispatch_of(x).message.quantity() + combine_of(x).message.quantity();
    e.algbw = algorithm_bandwidth<T>(messages / e.time);
    e.busbw = to_bus_bandwidth(collective_op::all_to_all, x.ranks, e.algbw);
  }
  return e;
}

/// Experts with a capacity: each takes at most ceil(factor tokens top_k / experts) tokens.
/// Source: Fedus et al., "Switch Transformers", 2021, section 2.2; Lepikhin et al., "GShard", 2020.
/// Test: 4096 tokens, top 2, 64 experts, factor 1.25: 160.
template <Scalar T>
constexpr T expert_capacity(const T& tokens, const std::type_identity_t<T>& top_k,
                            const std::type_identity_t<T>& experts,
                            const std::type_identity_t<T>& factor) {
  using math::ceil;
  detail::within("top_k", top_k, 1.0, upper(detail::count("experts", experts)), "1 to experts");
  // A whole number but for rounding, such as 1.1 x 10, is that number.
  return named("capacity", T(ceil(T(detail::positive("factor", factor) *
                                        detail::count("tokens", tokens) * top_k / experts -
                                    1e-9))));
}

/// Share of routed tokens beyond the capacity of their expert, which are dropped. Routing is
/// uniform and tokens are independent, so an expert has a binomial number X of tokens, of mean
/// mu = tokens top_k / experts: E[max(X - capacity, 0)] / mu.
/// Source: the binomial law; drops as in Fedus et al. 2021, section 2.2. Leaves out: routers that
/// prefer experts, which drop more, and capacities shared between experts.
/// Errors: as expert_capacity. Tests: 4 tokens of 2 experts, factor 1: 3/16; none at factor =
/// experts; falls with the factor.
template <Scalar T>
constexpr T dropped_tokens(const T& tokens, const std::type_identity_t<T>& top_k,
                           const std::type_identity_t<T>& experts,
                           const std::type_identity_t<T>& factor) {
  using math::exp;
  using math::log;
  const T capacity = expert_capacity(tokens, top_k, experts, factor);
  const T p = top_k / experts;
  if (upper(capacity) >= upper(tokens)) return T(0.0);
  T log_share = tokens * log(T(1.0 - p)), dropped(0.0);
  const double most = upper(tokens), deviations = 12.0;
  const double end =
      upper(T(tokens * p)) + deviations * (1.0 + math::sqrt(upper(T(tokens * p)))) + 30.0;
  for (double x = 0.0; x < most && x < end; x += 1.0) {
    log_share += log(T((tokens - x) / (x + 1.0) * p / (1.0 - p)));
    dropped += scalar_max(T(x + 1.0 - capacity), T(0.0)) * exp(log_share);
  }
  return named("dropped", dropped / (tokens * p));
}

/// Expected load of the busiest of E experts over the mean, under uniform routing:
/// 1 + e(E) sqrt((1 - p) / mu), for p = top_k / experts, mu = tokens p and e the largest of E
/// normal values. Leaves out: the skew of few tokens an expert, popular experts.
/// Test: 65,536 tokens, top 8 of 256: 1.061, within 1 % of a simulation; 1 if every expert has all.
template <Scalar T>
constexpr T largest_expert_load(const T& tokens, const std::type_identity_t<T>& top_k,
                                const std::type_identity_t<T>& experts) {
  using math::sqrt;
  detail::within("top_k", top_k, 1.0, upper(detail::count("experts", experts)), "1 to experts");
  const T p = top_k / experts;
  const T deviation = sqrt(T((1.0 - p) / (detail::count("tokens", tokens) * p)));
  return named("largest load", T(1.0 + detail::largest_of_normals(experts) * deviation));
}

/// Rows of the experts of the busiest expert-parallel rank, with popularity by a power law: the
/// number x of an expert's tokens has the density x^-a from `least` to `most`. In steps of u,
///   x(u) = (least^(1-a) + u (most^(1-a) - least^(1-a)))^(1/(1-a)),  u = (i + 1/2) / experts
/// and all x are scaled to tokens x top_k rows. The busiest of R ranks with m experts each has
///   m mean + e(R) sqrt((m variance + m mean) (1 - 1/R)),
/// with e the largest of R normal values, and at least the most popular expert and m - 1 mean ones.
/// Source: ai-dynamo/aiconfigurator 095f58a5, collector, power_law_logits_v3: x is 1 to 0.8 of the
/// tokens, and 0.01 to 2 with fewer rows than experts; rank 0 is the busiest.
/// Leaves out: the variation between two draws; placement of experts by popularity.
/// Test: tests/unit/expert_load.cpp, against a simulation of that source.
template <Scalar T = double>
struct basic_popular_experts {
  T least{}, most{}, exponent{};
  double experts{};  ///< experts of the rank
  T unit = T(1.0);   ///< rows per unit of popularity
  T rows{};          ///< rows of the rank

  /// x(u) of the i-th of n experts, the least popular one first.
  constexpr T popularity(double i, double n) const {
    using math::exp;
    using math::log;
    using math::pow;
    const double u = (i + 0.5) / n;
    const T s = 1.0 - exponent;
    if (lower(s) < 1e-6 && upper(s) > -1e-6) return least * exp(T(u * log(T(most / least))));
    const T first = pow(least, s);
    return pow(T(first + u * (pow(most, s) - first)), T(1.0 / s));
  }
  /// Sum of f(rows) over the experts of the rank.
  template <class F>
  constexpr T sum(const F& f) const {
    T total(0.0);
    for (double i = 0.0; i < experts; i += 1.0) total += f(T(unit * popularity(i, experts)));
    return total;
  }
  /// Experts with a row: one with fewer than 1 has one as often.
  constexpr T touched() const {
    return sum([](const T& r) { return scalar_min(T(1.0), r); });
  }
  /// Tiles of `tile_rows` rows, over all experts.
  constexpr T row_tiles(const T& tile_rows) const {
    return sum([&](const T& r) {
      using math::ceil;
      return T(scalar_min(T(1.0), r) * ceil(T(scalar_max(T(1.0), r) / tile_rows)));
    });
  }
};
using popular_experts = basic_popular_experts<>;

/// popular_experts of a power law with `exponent`, over `ranks`. Errors: top_k outside 1 to
/// experts; an exponent of 0 or less.
template <Scalar T>
constexpr basic_popular_experts<T> popular_experts_of(const T& tokens,
                                                      const std::type_identity_t<T>& top_k,
                                                      const std::type_identity_t<T>& experts,
                                                      const std::type_identity_t<T>& ranks,
                                                      const std::type_identity_t<T>& exponent) {
  using math::sqrt;
  detail::within("top_k", top_k, 1.0, upper(detail::count("experts", experts)), "1 to experts");
  const T rows = detail::count("tokens", tokens) * top_k;
  const bool few = upper(rows) <= upper(experts);
  basic_popular_experts<T> p{.least = T(few ? 0.01 : 1.0),
                             .most = few ? T(2.0) : scalar_max(T(1.01), T(0.8 * tokens)),
                             .exponent = detail::positive("popularity_exponent", exponent),
                             .experts = upper(experts)};
  const T total = p.sum([](const T& x) { return x; });
  const T squares = p.sum([](const T& x) { return T(x * x); });
  p.unit = rows / total;
  p.rows = rows;
  if (!(upper(ranks) > 1.0)) return p;
  const T own = experts / ranks, mean = rows / experts;
  const T variance = squares / experts * p.unit * p.unit - mean * mean;
  const T variance_of_rank = own * (scalar_max(T(0.0), variance) + mean) * (1.0 - 1.0 / ranks);
  const T normal = own * mean + detail::largest_of_normals(ranks) * sqrt(variance_of_rank);
  const T most_popular = p.unit * p.popularity(p.experts - 1.0, p.experts);
  const T others = (rows - most_popular) / (experts - 1.0);
  p.rows = scalar_min(scalar_max(normal, T(most_popular + (own - 1.0) * others)),
                      T(tokens * scalar_min(top_k, own)));
  p.experts = upper(own);
  p.unit = T(1.0);
  p.unit = p.rows / p.sum([](const T& x) { return x; });
  return p;
}

}  // namespace perfmodel::inline v0_3
