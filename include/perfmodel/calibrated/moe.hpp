// A block of experts as grouped GEMM kernels run it.
#pragma once

#include <perfmodel/calibrated/attention.hpp>
#include <perfmodel/workload/operators/moe.hpp>

namespace perfmodel {

enum class routing { random, balanced };

namespace detail {

/// Rows of a tile: the power of two that holds `tokens` rows, between the kernel's least and most.
/// Both are powers of two themselves, at most 256.
template <Scalar T>
constexpr T moe_tile_rows(const T& expert_tokens, const basic_moe_kernels<T>& k) {
  T rows(16.0);
  for (double r : {16.0, 32.0, 64.0, 128.0}) rows += r * any(T(expert_tokens - r));
  return scalar_max(k.least_tile_rows, scalar_min(k.most_tile_rows, rows));
}

/// hypot(compute, memory) of one grouped GEMM: n columns and k_dim inner, for `groups` experts.
template <Scalar T>
constexpr duration<T> grouped_gemm_time(const T& groups, const T& row_tiles, const T& tile_rows,
                                        const T& n, const T& k_dim, const flop_rate<T>& rate,
                                        const perfmodel::bandwidth<T>& memory_rate,
                                        const bytes<T>& weight, const T& sms,
                                        const basic_moe_kernels<T>& k) {
  using math::ceil;
  const T column_tiles = ceil(T(n / k.tile_columns));
  const T waves = named("waves", T(groups * row_tiles * column_tiles / sms));
  const T padded = groups * row_tiles * tile_rows * column_tiles * k.tile_columns;
  const duration<T> compute =
      named("matrix time", 2.0 * padded * k_dim * flop / rate * scalar_max(T(1.0), T(1.0 / waves)));
  const T drawn = scalar_min(T(1.0), T(k.dram_saturation * waves));
  const duration<T> memory =
      named("weights' time", groups * n * k_dim * weight / (drawn * memory_rate));
  return partly_hidden(compute, memory);
}

}  // namespace detail

/// T = floor + first GEMM (h to 2 w, or w) + second (w to h) + buffers, per rank. Each GEMM is
/// hypot(compute, memory): compute = padded FLOP / (matrix_share R) max(1, 1 / waves), rows padded
/// to tiles of 16 to 128 by the tokens of an expert; memory = weights of the experts touched, at
/// dram_share BW min(1, dram_saturation waves): few tiles draw little. buffers = bytes written and
/// read between the kernels / (buffer_share BW): 12 w a row between the GEMMs (8 w without a gate)
/// and 4 h around them, and 2 w + 2 h more to convert them where 8-bit formats run on all rows.
/// Around the GEMMs there are tokens top_k rows on every rank; between them the rank's own, tokens
/// top_k / expert_parallel, or again all of them where the library buffers the whole group's.
/// Balanced routing touches min(experts, tokens top_k) experts; random routing the expected number.
/// w is intermediate / tensor_parallel; shared experts are further groups.
/// Source: the kernels (vllm fused_moe), fitted to AIConfigurator's published latencies.
/// Leaves out: imbalance, dispatch and combine between ranks, tuned tiles of single shapes.
/// Errors: as demand_of(moe_ffn) and require_valid of both profiles; an accelerator without sms or
/// the format.
/// Tests: by hand, on one rank and on two; published latencies of two accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_moe_ffn<T>& x,
                                                const basic_moe_parameters<T>& p,
                                                const basic_moe_kernels<T>& k,
                                                routing how = routing::random) {
  using math::ceil;
  require_valid(p);
  require_valid(k);
  const basic_demand<T> needs = demand_of(x);
  const T width = x.intermediate / x.tensor_parallel;
  const T rank_rows = x.tokens * x.top_k / x.expert_parallel;
  const T balanced = scalar_min(T(x.experts / x.expert_parallel), scalar_max(T(1.0), rank_rows));
  const T expected = scalar_max(T(1.0), experts_touched(x));
  const T touched = named("experts touched", how == routing::balanced ? balanced : expected);
  const T expert_tokens = named("tokens per expert", T(rank_rows / touched));
  const T tile_rows = named("tile rows", detail::moe_tile_rows(expert_tokens, k));
  const T row_tiles = ceil(T(expert_tokens / tile_rows));
  const T sms = detail::positive("sms", a.sms).value();

  const bool narrow = mid(bytes_of(x.format).value()) < 1.5;
  const T share = k.matrix_ratio * p.matrix_share;
  const flop_rate<T> rate = share * peak(a, needs.format);
  const perfmodel::bandwidth<T> dram =
      detail::positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const perfmodel::bandwidth<T> weight_rate = p.dram_share * dram;
  const bytes<T> weight = lift<T>(bytes_of(x.weights));
  const T up = (ffn_matrices(x.gated) - 1.0) * width;
  const auto both = [&](const T& groups, const T& tiles, const T& tall) {
    const duration<T> upwards = detail::grouped_gemm_time(groups, tiles, tall, up, x.hidden, rate,
                                                          weight_rate, weight, sms, k);
    const duration<T> downwards = detail::grouped_gemm_time(groups, tiles, tall, x.hidden, width,
                                                            rate, weight_rate, weight, sms, k);
    return upwards + downwards;
  };
  duration<T> gemms = both(touched, row_tiles, tile_rows);
  if (upper(x.shared_experts) > 0.0) {
    const T shared_tokens = x.tokens / x.expert_parallel;
    const T tall = detail::moe_tile_rows(shared_tokens, k);
    gemms += both(x.shared_experts, T(ceil(T(shared_tokens / tall))), tall);
  }

  const T all_rows = x.tokens * (x.top_k + x.shared_experts);
  const T wide_rows =
      k.all_rows_buffered ? all_rows : rank_rows + x.tokens * x.shared_experts / x.expert_parallel;
  const double converted = narrow && k.all_rows_buffered ? 2.0 : 0.0;
  const bytes<T> buffers =
      named("buffer bytes", (wide_rows * (4.0 * (up + width) + converted * width) +
                             all_rows * (4.0 + converted) * x.hidden) *
                                byte);

  basic_estimate<T> e;
  gemms = e.terms.add(limiter::compute, "grouped GEMMs", gemms);
  const duration<T> buffered =
      e.terms.add(limiter::memory, "buffers", buffers / (k.buffer_share * dram));
  e.limiter = e.terms.limiting();
  const duration<T> floor_time = e.terms.add(limiter::launch, "floor", k.floor);
  e.time = named("time", gemms + buffered + floor_time);
  e.mfu = needs.matrix_flop / peak(a, needs.format) / e.time;
  const bytes<T> beyond = (touched - expected) * ffn_matrices(x.gated) * x.hidden * width * weight;
  e.mbu = (needs.dram.total() + beyond) / dram / e.time;
  return e;
}

}  // namespace perfmodel
