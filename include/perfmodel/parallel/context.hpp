// Context and sequence parallelism: one sequence over several ranks, with keys and values sent
// around a ring, or with the activations between the matrices sharded.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/parallel/collectives.hpp>

namespace perfmodel::inline v0_3 {

/// Mask of ring attention, and where a causal sequence lies: rank r has the r-th part of it
/// (contiguous), or parts r and 2 N - 1 - r of 2 N (zigzag), so that all ranks have equal work.
enum class ring_mask { none, contiguous, zigzag };

/// Name of a mask of ring attention.
constexpr const char* name_of(ring_mask m) {
  constexpr const char* names[] = {"none", "contiguous", "zigzag"};
  return detail::entry_of(names, m, "ring_mask");
}

/// Ring attention of one layer: each rank stores the queries of tokens / ranks tokens and sends
/// blocks of keys and values on, ranks - 1 times.
template <Scalar T = double>
struct basic_ring_attention {
  int ranks = 0;
  T batch = T(1.0), tokens{}, query_heads{}, kv_heads{}, head_dim{};
  number_format format = number_format::bf16;
  ring_mask mask = ring_mask::none;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("mask", s.mask...);
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

/// Time of ring attention: the first block needs no transfer, t_x, and t_c is that of a whole
/// block:
///
///     no mask              t_c + (N-1) max(t_c, t_x)
///     causal, contiguous   t_c/2 + (N-1) max(t_c, t_x)      some rank always has a whole block
///     causal, zigzag       t_c/2 + (N-1) max(t_c/2, t_x)    all ranks have half a block
///
/// block = 2 (S/N) H_kv d_h b, block FLOP = 4 (S/N)^2 H_q d_h (each times the batch). `rate` is the
/// FLOP/s that attention reaches on one rank.
/// Sources: Liu, Zaharia and Abbeel, "Ring Attention with Blockwise Transformers", 2023, section 3;
/// Brandon et al., "Striped Attention", 2023 (idle ranks under a causal mask); 2 N parts in pairs:
/// Dubey et al., "The Llama 3 Herd of Models", 2024, section 3.3.2.
/// Leaves out: the diagonal's half pair, the read of the block from DRAM.
/// Errors: dimensions below 1, rate not positive. Infeasible: no link, or too few ranks on it.
/// Tests: exposed is 0 from R b H_kv / (2 H_q BW) tokens a rank on; one rank sends nothing; zigzag
/// halves a ring that computes, and blocks of both layouts summed pair by pair.
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
  const double first = x.mask == ring_mask::none ? 1.0 : 0.5;
  const duration<T> each = (x.mask == ring_mask::zigzag ? 0.5 : 1.0) * e.compute;
  e.exposed = named("exposed", (n - 1.0) * max(e.transfer - each, duration<T>{}));
  e.time = named("time", first * e.compute + (n - 1.0) * each + e.exposed);
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

/// Activations recomputed in the backward pass: none; norms and the gated product (selective); all
/// but the layer's input.
enum class recomputation { none, selective, full };

/// Name of a recomputation policy.
constexpr const char* name_of(recomputation r) {
  constexpr const char* names[] = {"none", "selective", "full"};
  return detail::entry_of(names, r, "recomputation");
}

/// Layer of a decoder of today, for its stored activations: `tokens` in a microbatch, RMSNorm,
/// fused attention with grouped keys, no dropout, and a gated (SwiGLU) or plain feed-forward
/// network. An MoE layer stores `experts_per_token` networks of `intermediate`.
template <Scalar T = double>
struct basic_decoder_activations {
  int tensor = 1;
  T tokens{}, hidden{}, query_heads{}, kv_heads{}, head_dim{}, intermediate{};
  T experts_per_token = T(1.0);
  bool gated = true;
  bool sequence = false;  ///< the parts between the matrices are sharded too
  recomputation recomputed = recomputation::none;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::ranks("tensor"), s.tensor...);
    f(field::count("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("query_heads"), s.query_heads...);
    f(field::count("kv_heads"), s.kv_heads...);
    f(field::count("head_dim"), s.head_dim...);
    f(field::count("intermediate"), s.intermediate...);
    f(field::count("experts_per_token"), s.experts_per_token...);
    f("gated", s.gated...);
    f("sequence", s.sequence...);
    f("recomputed", s.recomputed...);
  }
};
using decoder_activations = basic_decoder_activations<>;

/// Bytes that one layer stores for its backward pass, 2 an element, each tensor counted once:
///
///     between matrices   inputs of 2 norms, results of 2 norms               4 h
///     attention          queries, keys, values, result                       2 (H_q + H_kv) d / t
///     feed-forward       gate, up and their product (plain: up, activation)  3 f (2 f) / t
///
/// Selective recomputation leaves out the norms' results, 2 h, and the product, f. Full keeps 2 h
/// bytes a token.
/// Sources: counted here, as Korthikanti et al. 2022, section 4, do for a GPT layer; fused
/// attention keeps no scores: Dao et al. 2022. Leaves out: row statistics of softmax and norms,
/// routing, tokens sent to several experts, gathered tensors of sequence parallelism.
/// Errors: dimensions below 1.
/// Tests: Llama 3 8B: 34 h bytes a token; 8 ranks 8 + 26/8; full 2.
template <Scalar T>
constexpr bytes<T> activation_bytes(const basic_decoder_activations<T>& x) {
  require_valid(x);
  const T t(x.tensor);
  const T& h = x.hidden;
  const bool stored = x.recomputed == recomputation::none;
  const T between = x.sequence ? T(1.0 / t) : T(1.0);
  T each = 2.0 * h * between;
  if (x.recomputed != recomputation::full) {
    const T attention = 2.0 * (x.query_heads + x.kv_heads) * x.head_dim;
    const T network = (x.gated ? 2.0 : 1.0) + (stored ? 1.0 : 0.0);
    each = 2.0 * ((stored ? 4.0 : 2.0) * h * between +
                  (attention + network * x.experts_per_token * x.intermediate) / t);
  }
  return named("activations", x.tokens * each * byte);
}

}  // namespace perfmodel::inline v0_3
