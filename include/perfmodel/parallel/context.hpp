// Context and sequence parallelism: one sequence over several ranks, with keys and values sent
// around a ring, or with the activations between the matrices sharded.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/parallel/collectives.hpp>

namespace perfmodel::inline v0_3 {

/// Ring attention of one layer: each rank stores the queries of tokens / ranks tokens and sends
/// blocks of keys and values on, ranks - 1 times.
template <Scalar T = double>
struct basic_ring_attention {
  int ranks = 0;
  T batch = T(1.0), tokens{}, query_heads{}, kv_heads{}, head_dim{};
  number_format format = number_format::bf16;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::ranks("ranks"), s.ranks...);
    f(field::count("batch"), s.batch...);
    f(field::count("tokens"), s.tokens...);
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f("format", s.format...);
  }
};
using ring_attention = basic_ring_attention<>;

/// `transfer` and `compute` are the times of one block; `exposed` is the ring's total wait for
/// blocks.
template <Scalar T = double>
struct basic_ring_attention_estimate {
  wire_bytes<T> block{};
  flops<T> block_flop{};
  duration<T> transfer{};
  duration<T> compute{};
  duration<T> exposed{};
  duration<T> time{};
  perfmodel::feasibility feasible{};
};

/// Time of ring attention: T = t_c + (N-1) max(t_c, t_x), since the first block needs no transfer.
/// block = 2 (S/N) H_kv d_h b, block FLOP = 4 (S/N)^2 H_q d_h (each times the batch). `rate` is the
/// FLOP/s that attention reaches on one rank.
/// Source: Liu, Zaharia and Abbeel, "Ring Attention with Blockwise Transformers", 2023, section 3.
/// Leaves out: causal masks (which idle ranks unless blocks are striped), the read of the block
/// from DRAM.
/// Errors: dimensions below 1, rate not positive. Infeasible: no link, or too few ranks on it.
/// Tests: exposed is 0 from R b H_kv / (2 H_q BW) tokens a rank on; one rank sends nothing.
template <Scalar T, class Cost = full_link>
constexpr basic_ring_attention_estimate<T> ring_attention_time(const basic_interconnect<T>& fabric,
                                                               const flop_rate<T>& rate,
                                                               const basic_ring_attention<T>& x,
                                                               const Cost& cost = {}) {
  require_valid(x);
  const double n = x.ranks;
  const T own = x.tokens / T(n);
  basic_ring_attention_estimate<T> e;
  e.block_flop =
      named("block flop", 4.0 * (x.batch * own * own * x.query_heads * x.head_dim) * flop);
  e.compute = named("block compute", e.block_flop / detail::positive("rate", rate));
  if (x.ranks > 1) {
    const bytes<T> block = 2.0 * (x.batch * own * x.kv_heads * x.head_dim) * bytes_of(x.format);
    basic_collective<T> c;
    c.operation = collective_op::point_to_point;
    c.ranks = x.ranks;
    c.message = message_bytes<T>(named("block", block));
    const basic_collective_estimate<T> hop = collective_time(fabric, c, cost);
    e.block = hop.wire;
    e.transfer = hop.time;
    e.feasible = hop.feasible;
  }
  e.exposed = named("exposed", (n - 1.0) * max(e.transfer - e.compute, duration<T>{}));
  e.time = named("time", n * e.compute + e.exposed);
  return e;
}

/// Activations that one transformer layer stores for the backward pass in 16 bits: `batch`
/// sequences of s tokens, hidden size h and a heads over t tensor-parallel ranks.
/// `sequence`: the parts between the matrices are sharded too. `scores`: the attention matrix is
/// stored, not recomputed.
template <Scalar T = double>
struct basic_layer_activations {
  int tensor = 1;
  T batch = T(1.0), tokens{}, hidden{}, heads{};
  bool sequence = false;
  bool scores = false;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::ranks("tensor"), s.tensor...);
    f(field::count("batch"), s.batch...);
    f(field::count("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f(field::not_negative("heads"), s.heads...);
    f("sequence", s.sequence...);
    f("scores", s.scores...);
  }
};
using layer_activations = basic_layer_activations<>;

/// Bytes of activations: s b h (10 + 24/t + 5 a s/(h t)), and s b h (34/t + 5 a s/(h t)) with
/// sequence parallelism; the last term only with `scores`. The bytes sent are those of tensor
/// parallelism: each all-reduce becomes a reduce-scatter and an all-gather.
/// Source: Korthikanti et al., "Reducing activation recomputation in large transformer models",
/// 2022, table 2.
/// Errors: dimensions below 1.
/// Tests: one rank of 2048 x 12288 stores 34 bytes an element; 8 ranks 13, sequence-parallel 4.25.
template <Scalar T>
constexpr bytes<T> activation_bytes(const basic_layer_activations<T>& x) {
  require_valid(x);
  const T t(x.tensor);
  const T elements = x.batch * x.tokens * x.hidden;
  T each = x.sequence ? T(34.0 / t) : T(10.0 + 24.0 / t);
  if (x.scores) each += 5.0 * detail::count("heads", x.heads) * x.tokens / (x.hidden * t);
  return named("activations", elements * each * byte);
}

}  // namespace perfmodel::inline v0_3
