// Expert parallelism: tokens sent to the ranks of their experts, and back.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
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

}  // namespace perfmodel::inline v0_3
