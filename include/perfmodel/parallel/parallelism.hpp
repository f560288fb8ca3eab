// Parallel layouts: what each degree shards, what it replicates, and what it sends.
// Tensor, pipeline, expert and data parallelism; zero.hpp and context_parallel.hpp have the rest.
#pragma once

#include <perfmodel/collectives.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel {

/// Parallel degrees. Expert parallelism regroups the ranks that tensor, data and context make, and
/// adds none: experts over `expert` groups, each expert over the tensor x data x context / expert
/// ranks of its group.
struct layout {
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;
  int data = 1;
  int context = 1;

  /// Accelerators in use.
  constexpr int ranks() const { return tensor * pipeline * data * context; }
  /// Ranks that share one expert's matrices.
  constexpr int expert_tensor() const { return tensor * data * context / expert; }
  friend constexpr bool operator==(const layout&, const layout&) = default;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("tensor", s.tensor...);
    f("pipeline", s.pipeline...);
    f("expert", s.expert...);
    f("data", s.data...);
    f("context", s.context...);
  }
};

/// What of a model has to divide. 0 heads, layers or accelerators: not stated, not checked; 0
/// experts: a dense model.
struct sharded_dims {
  int query_heads = 0;
  int kv_heads = 0;
  int layers = 0;
  int experts = 0;
  int accelerators = 0;  ///< that there are
};

/// Whether a model can be laid out so, and why not. KV heads are replicated where there are fewer
/// heads than ranks, so they divide or are divided. Errors: a degree below 1.
/// Tests: 64 query heads over 3 ranks cannot be; 8 KV heads over 16 ranks can.
constexpr feasibility layout_feasible(const layout& l, const sharded_dims& d) {
  detail::rank_count("tensor_parallel", l.tensor);
  detail::rank_count("pipeline_parallel", l.pipeline);
  detail::rank_count("expert_parallel", l.expert);
  detail::rank_count("data_parallel", l.data);
  detail::rank_count("context_parallel", l.context);
  const double ranks = static_cast<double>(l.tensor) * l.pipeline * l.data * l.context;
  if (d.accelerators > 0 && ranks > d.accelerators) {
    return infeasible("the layout takes more accelerators than there are", "accelerators", ranks,
                      d.accelerators);
  }
  if (ranks > 1e6)
    return infeasible("the layout takes more than a million accelerators", "accelerators", ranks,
                      1e6);
  if (d.query_heads > 0 && d.query_heads % l.tensor != 0) {
    return infeasible("tensor_parallel does not divide the query heads", "heads", l.tensor,
                      d.query_heads);
  }
  if (d.kv_heads > 0 && d.kv_heads % l.tensor != 0 && l.tensor % d.kv_heads != 0) {
    return infeasible("neither of tensor_parallel and the KV heads divides the other", "heads",
                      l.tensor, d.kv_heads);
  }
  if (d.layers > 0 && l.pipeline > d.layers) {
    return infeasible("pipeline_parallel has more stages than the model has layers", "layers",
                      l.pipeline, d.layers);
  }
  if (l.expert > 1 && (d.experts == 0 || d.experts % l.expert != 0)) {
    return infeasible("expert_parallel does not divide the experts", "experts", l.expert,
                      d.experts);
  }
  const int group = l.tensor * l.data * l.context;
  if (group % l.expert != 0) {
    return infeasible("expert_parallel does not divide the ranks of a stage", "accelerators",
                      l.expert, group);
  }
  return {};
}

namespace detail {
[[noreturn]] inline void impossible_layout(const feasibility& f) {
  throw error(error_code::impossible_layout, std::string(f.reason) + ": " + number_text(f.needed) +
                                                 " against " + number_text(f.available));
}
}  // namespace detail

/// The layout, once checked. Errors: `impossible_layout` with the reason and both numbers.
constexpr const layout& check(const layout& l, const sharded_dims& d) {
  const feasibility f = layout_feasible(l, d);
  if (!f.feasible) detail::impossible_layout(f);
  return l;
}

/// KV heads that one rank holds: max(1, H_kv / N). Test: 8 heads over 4, 8 and 16 ranks: 2, 1, 1.
template <Scalar T>
constexpr T kv_heads_per_rank(const T& kv_heads, const T& tensor) {
  return scalar_max(T(1.0),
                    detail::count("kv_heads", kv_heads) / detail::count("tensor_parallel", tensor));
}
/// Copies of each KV head: max(1, N / H_kv). Test: 8 heads over 16 ranks: 2; times heads per rank
/// and divided by N gives all heads back.
template <Scalar T>
constexpr T kv_replication(const T& kv_heads, const T& tensor) {
  return scalar_max(T(1.0),
                    detail::count("tensor_parallel", tensor) / detail::count("kv_heads", kv_heads));
}
/// Layers of the slowest stage: ceil(L / p). Test: 80 layers over 3 stages: 27.
template <Scalar T>
constexpr T layers_per_stage(const T& layers, const T& pipeline) {
  using math::ceil;
  return ceil(detail::count("layers", layers) / detail::count("pipeline_parallel", pipeline));
}

/// Tensor parallelism of `layers` layers: each sums its activations over the ranks twice, after
/// attention and after the FFN. Source: Shoeybi et al., "Megatron-LM", 2019, section 3.
template <Scalar T = double>
struct basic_tensor_parallelism {
  int ranks = 1;
  T layers = T(1.0), batch = T(1.0), tokens = T(1.0), hidden{};
  number_format format = number_format::bf16;
  T all_reduces_per_layer = T(2.0);  ///< 1 where attention and FFN run side by side
};
using tensor_parallelism = basic_tensor_parallelism<>;

/// One of its all-reduces: message = batch tokens hidden b. Sequence parallelism splits it into a
/// reduce-scatter and an all-gather of the same bytes. Test: 32 x 2048 x 8192 bf16 is 1.074 GB.
template <Scalar T>
constexpr basic_collective<T> all_reduce_of(const basic_tensor_parallelism<T>& x) {
  const T elements = detail::count("batch", x.batch) * detail::count("tokens", x.tokens) *
                     detail::count("hidden", x.hidden);
  basic_collective<T> c;
  c.ranks = x.ranks;
  c.message = message_bytes<T>(named("message", elements * lift<T>(bytes_of(x.format))));
  return c;
}
/// T = layers x all-reduces per layer x T_all-reduce: the sums wait for each other, and nothing
/// hides them. Test: 160 of 1.074 GB over 8 ranks at 370 GB/s take 812 ms.
template <Scalar T, class Cost = full_link>
constexpr basic_collective_estimate<T> communication_time(const basic_link<T>& fabric,
                                                          const basic_tensor_parallelism<T>& x,
                                                          const Cost& cost = {}) {
  const T n = detail::count("layers", x.layers) *
              detail::count("all_reduces_per_layer", x.all_reduces_per_layer);
  return repeated_collective(n, collective_time(fabric, all_reduce_of(x), cost));
}

/// Share of a pipelined pass that a stage idles: (p-1) / (v m + p - 1), p stages, m microbatches, v
/// chunks of layers per stage. Sources: Huang et al., "GPipe", 2019, section 2.3; Narayanan et al.,
/// "Efficient large-scale language model training on GPU clusters", 2021, section 2.2 (their bubble
/// over ideal time is (p-1)/(v m)). Leaves out uneven stages and the transfers between them.
/// Tests: p = 4, m = 8: 3/11; one stage: 0.
template <Scalar T>
constexpr T pipeline_bubble(const T& stages, const T& microbatches, const T& chunks = T(1.0)) {
  const T wait = detail::count("pipeline_parallel", stages) - T(1.0);
  return named("bubble", wait / (detail::count("chunks", chunks) *
                                     detail::count("microbatches", microbatches) +
                                 wait));
}
/// Time of m microbatches through p equal stages: (m + (p-1)/v) t, t being a stage's time for one.
/// Test: the bubble's share of it is (p-1)/v t.
template <Scalar T>
constexpr duration<T> pipeline_parallel_time(const duration<T>& stage, const T& stages,
                                             const T& microbatches, const T& chunks = T(1.0)) {
  const T wait =
      (detail::count("pipeline_parallel", stages) - T(1.0)) / detail::count("chunks", chunks);
  return named("pipeline time", (detail::count("microbatches", microbatches) + wait) *
                                    detail::not_negative("stage", stage));
}
/// What one stage sends the next: batch tokens hidden b. With tensor parallelism each rank sends a
/// 1/N part of it. Test: 1/280 of what the 160 all-reduces of a 70B model send over 8 ranks.
template <Scalar T>
constexpr basic_collective<T> stage_transfer(const T& batch, const T& tokens_each, const T& hidden,
                                             number_format format) {
  basic_tensor_parallelism<T> x;
  x.batch = batch;
  x.tokens = tokens_each;
  x.hidden = hidden;
  x.format = format;
  basic_collective<T> c = all_reduce_of(x);
  c.operation = collective_op::point_to_point;
  c.ranks = 2;
  return c;
}

/// Expert parallelism of one MoE layer: every rank sends each of its tokens to the ranks of its
/// top_k experts and gets the results back. Source: Lepikhin et al., "GShard", 2020, section 3.2.
template <Scalar T = double>
struct basic_expert_parallelism {
  int ranks = 1;
  T tokens{};  ///< on this rank
  T hidden{};
  T top_k{};
  number_format dispatch = number_format::bf16;
  number_format combine = number_format::bf16;
  T imbalance = T(1.0);  ///< load of the busiest rank over the mean load
};
using expert_parallelism = basic_expert_parallelism<>;

namespace detail {
template <Scalar T>
constexpr basic_collective<T> exchange_tokens(const basic_expert_parallelism<T>& x,
                                              number_format format) {
  const T rows = positive("tokens", x.tokens) * count("top_k", x.top_k);
  basic_collective<T> c;
  c.operation = collective_op::all_to_all;
  c.ranks = x.ranks;
  c.message =
      message_bytes<T>(named("message", count("imbalance", x.imbalance) * rows *
                                            count("hidden", x.hidden) * lift<T>(bytes_of(format))));
  return c;
}
}  // namespace detail

/// The two all-to-alls: message = imbalance tokens top_k hidden b each, a share (N-1)/N of it on
/// the wire. Leaves out: routing limited to few nodes, sending a token once to a rank with two of
/// its experts. Test: 128 tokens, top 8, width 7168, bf16, 8 ranks: 12.85 MB on the wire each way.
template <Scalar T>
constexpr basic_collective<T> dispatch_of(const basic_expert_parallelism<T>& x) {
  return detail::exchange_tokens(x, x.dispatch);
}
template <Scalar T>
constexpr basic_collective<T> combine_of(const basic_expert_parallelism<T>& x) {
  return detail::exchange_tokens(x, x.combine);
}

/// T = T_dispatch + T_combine, one after the other. The terms are those of the sum.
/// Test: wire bytes are 2 T k d b (N-1)/N.
template <Scalar T, class Cost = full_link>
constexpr basic_collective_estimate<T> communication_time(const basic_link<T>& fabric,
                                                          const basic_expert_parallelism<T>& x,
                                                          const Cost& cost = {}) {
  basic_collective_estimate<T> e = collective_time(fabric, dispatch_of(x), cost);
  const basic_collective_estimate<T> back = collective_time(fabric, combine_of(x), cost);
  basic_terms<T> terms;
  for (const auto& t : e.terms) terms.add(t.kind, t.name, t.time + back.terms[t.name]);
  e.terms = terms;
  e.limiter = terms.limiting();
  e.time = named("time", e.time + back.time);
  e.wire = e.wire + back.wire;
  if (upper(e.time.value()) > 0.0) {
    const bytes<T> messages = dispatch_of(x).message.quantity() + combine_of(x).message.quantity();
    e.algbw = algorithm_bandwidth<T>(messages / e.time);
    e.busbw = to_bus_bandwidth(collective_op::all_to_all, x.ranks, e.algbw);
  }
  return e;
}

/// The all-reduce of all gradients: message = parameters b.
/// Test: 8.03e9 bf16 gradients over 8 ranks at 450 GB/s take 62.5 ms on a ring.
template <Scalar T>
constexpr basic_collective<T> gradient_all_reduce(int data, const T& parameters,
                                                  number_format format) {
  basic_collective<T> c;
  c.ranks = data;
  c.message = message_bytes<T>(
      named("message", detail::count("parameters", parameters) * lift<T>(bytes_of(format))));
  return c;
}

}  // namespace perfmodel
