// Context parallelism: one sequence over several ranks, whose keys and values travel in a ring.
#pragma once

#include <perfmodel/collectives.hpp>
#include <perfmodel/hardware/number_format.hpp>

namespace perfmodel {

/// Ring attention of one layer: each rank keeps the queries of tokens / ranks tokens and passes
/// blocks of keys and values on, ranks - 1 times.
template <Scalar T = double>
struct basic_ring_attention {
  int ranks = 1;
  T batch = T(1.0), tokens{}, query_heads{}, kv_heads{}, head_dim{};
  number_format format = number_format::bf16;
};
using ring_attention = basic_ring_attention<>;

/// `transfer` and `compute` are of one block; `exposed` is what the whole ring waits for blocks.
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

/// block = 2 (S/N) H_kv d_h b, block FLOP = 4 (S/N)^2 H_q d_h (each times the batch);
/// T = t_c + (N-1) max(t_c, t_x): the first block is at hand. Source: Liu, Zaharia and Abbeel,
/// "Ring Attention with Blockwise Transformers", 2023, section 3. Leaves out: causal masks (which
/// idle ranks unless blocks are striped), the read of the block from DRAM. `rate` is what attention
/// reaches on one rank. Errors: dimensions below 1, rate not positive. No link, or too few ranks on
/// it: infeasible. Tests: exposed is 0 exactly from hidden_block_tokens on; one rank sends nothing.
template <Scalar T, class Cost = full_link>
constexpr basic_ring_attention_estimate<T> ring_attention_time(const basic_link<T>& link,
                                                               const flop_rate<T>& rate,
                                                               const basic_ring_attention<T>& x,
                                                               const Cost& cost = {}) {
  const double n = detail::rank_count("ranks", x.ranks);
  const T own = detail::count("tokens", x.tokens) / T(n);
  const T batch = detail::count("batch", x.batch);
  const T width = detail::count("head_dim", x.head_dim);
  basic_ring_attention_estimate<T> e;
  e.block_flop =
      named("block flop",
            4.0 * (batch * own * own * detail::count("query_heads", x.query_heads) * width) *
                lift<T>(flop));
  e.compute = named("block compute", e.block_flop / detail::positive("rate", rate));
  if (x.ranks > 1) {
    const bytes<T> block = 2.0 * (batch * own * detail::count("kv_heads", x.kv_heads) * width) *
                           lift<T>(bytes_of(x.format));
    basic_collective<T> c;
    c.operation = collective::point_to_point;
    c.ranks = x.ranks;
    c.message = message_bytes<T>(named("block", block));
    const basic_collective_estimate<T> hop = collective_time(link, c, cost);
    e.block = hop.wire;
    e.transfer = hop.time;
    e.feasible = hop.feasible;
  }
  e.exposed = named("exposed", (n - 1.0) * max(e.transfer - e.compute, duration<T>{}));
  e.time = named("time", n * e.compute + e.exposed);
  return e;
}

/// Tokens per rank from which the transfer hides: S/N >= H_kv b R / (2 H_q BW). With as many KV
/// heads as query heads and 16-bit elements it is R / BW, whatever the width. Source: Liu et al.
/// 2023, section 3. Test: 312 TFLOP/s and 300 GB/s: 1040 tokens.
template <Scalar T>
constexpr T hidden_block_tokens(const flop_rate<T>& rate, const bandwidth<T>& one_way_rate,
                                const basic_ring_attention<T>& x) {
  const auto ridge = detail::positive("rate", rate) / detail::positive("bandwidth", one_way_rate);
  const T share =
      detail::count("kv_heads", x.kv_heads) / (2.0 * detail::count("query_heads", x.query_heads));
  return share * (ridge * lift<T>(bytes_of(x.format)) / lift<T>(flop));
}

}  // namespace perfmodel
