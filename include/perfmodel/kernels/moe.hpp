// A block of experts as grouped GEMM kernels run it.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/kernels/moe_untuned.hpp>
#include <perfmodel/operators/moe.hpp>
#include <perfmodel/scalar/p_norm.hpp>

namespace perfmodel {

/// The machine, and whose kernels run on it.
template <Scalar T = double>
struct basic_moe_calibration {
  basic_machine_parameters<T> machine{};
  basic_moe_kernels<T> kernels{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("kernels", s.kernels...);
  }
};
using moe_calibration = basic_moe_calibration<>;

namespace detail {

/// Rows of a tile: the power of two that holds `expert_tokens` rows, between the kernel's least and most.
/// Both are powers of two themselves, at most 256. The launcher's: of its candidates around the power of two that
/// holds the rows of all ranks the smallest, half of it.
/// Source: FlashInfer, csrc/trtllm_fused_moe_kernel_launcher.cu, computeSelectedTileN (num_tokens * top_k /
/// num_local_experts) and selectDefaultTileN, which is what runs where no autotuner did.
template <Scalar T>
constexpr T moe_tile_rows(const T& expert_tokens, const T& ranks, const basic_moe_kernels<T>& k) {
  const T counted = k.launcher_tiles ? T(expert_tokens * ranks) : expert_tokens;
  T rows(8.0);
  for (double r : {8.0, 16.0, 32.0, 64.0, 128.0}) rows += r * any(T(counted - r));
  if (k.launcher_tiles) rows *= 0.5;
  return scalar_max(k.least_tile_rows, scalar_min(k.most_tile_rows, rows));
}

/// What grouped products of one block share.
template <Scalar T>
struct grouped_rates {
  flop_rate<T> matrix{};
  bandwidth<T> weights{};
  bytes<T> weight{};  ///< of one
  T sms{};
  bytes<T> held{};  ///< weights that L2 still has for the next tile of rows
};

/// Groups of equal rows: experts that were touched, or shared experts.
template <Scalar T>
struct expert_groups {
  T count{}, tile_rows{}, row_tiles{};

  constexpr expert_groups(const T& groups, const T& tokens, const T& ranks,
                          const basic_moe_kernels<T>& k)
      : count(groups), tile_rows(named("tile rows", moe_tile_rows(tokens, ranks, k))) {
    using math::ceil;
    row_tiles = ceil(T(tokens / tile_rows));
  }
};

/// What tiles on all SMs find in L2: each partition of it keeps what its own SMs read.
/// Source: NVIDIA, A100 whitepaper, "Each L2 partition caches data for memory accesses from SMs in the GPCs directly
/// connected to the partition"; B200's rows of experts are closest at 0.5 to 0.6 of the capacity.
template <Scalar T>
constexpr bytes<T> resident_in_l2(const basic_accelerator<T>& a) {
  return positive("l2.capacity", a.l2.capacity.quantity()) / l2_partitions_of(a);
}

/// How often DRAM gives the weights of one group: once, and where its tiles of rows take all columns in turn once more
/// for each further tile of rows, but for what L2 holds of them.
template <Scalar T>
constexpr T weight_passes(const bytes<T>& weights, const T& row_tiles, const grouped_rates<T>& r,
                          const basic_moe_kernels<T>& k) {
  if (!k.columns_first) return T(1.0);
  const T missing = scalar_max(T(0.0), T(1.0 - r.held / weights));
  return named("passes over weights", T(1.0 + (row_tiles - 1.0) * missing));
}

/// One product of every group, `columns` wide and `depth` deep, whose rows are padded to tiles: the
/// matrix time beside the weights' time. Less than a wave leaves SMs idle. Few tiles draw little; tiles
/// of other rows and the same columns read the same weights, and draw no more.
template <Scalar T>
constexpr duration<T> grouped_gemm_time(const expert_groups<T>& g, const T& columns, const T& depth,
                                        const grouped_rates<T>& r, const basic_moe_kernels<T>& k) {
  using math::ceil;
  const T column_tiles = ceil(T(columns / k.tile_columns));
  const T waves = named("waves", T(g.count * g.row_tiles * column_tiles / r.sms));
  const T padded = g.count * g.row_tiles * g.tile_rows * column_tiles * k.tile_columns;
  const duration<T> compute = named(
      "matrix time", 2.0 * padded * depth * flop / r.matrix * scalar_max(T(1.0), T(1.0 / waves)));
  const T readers = named("tiles that read weights", T(g.count * column_tiles / r.sms));
  const T drawn = scalar_min(T(1.0), T(k.dram_saturation * readers));
  const bytes<T> weights = columns * depth * r.weight;
  const T read = g.count * weight_passes(weights, g.row_tiles, r, k);
  const duration<T> memory = named("weights' time", read * weights / (drawn * r.weights));
  return p_norm(compute, memory, k.overlap);
}

/// Up (and gate) and down again of every group.
template <Scalar T>
constexpr duration<T> block_time(const expert_groups<T>& g, const basic_moe_ffn<T>& x,
                                 const T& width, const grouped_rates<T>& r,
                                 const basic_moe_kernels<T>& k) {
  const T up = (perfmodel::ffn_matrices(x.gated) - 1.0) * width;
  return named("grouped up", grouped_gemm_time(g, up, x.hidden, r, k)) +
         named("grouped down", grouped_gemm_time(g, x.hidden, width, r, k));
}

/// Of the experts touched, by tiles that nobody tuned.
template <Scalar T>
constexpr duration<T> untuned_block_time(const basic_accelerator<T>& a, const basic_moe_ffn<T>& x,
                                         const basic_moe_calibration<T>& c, const T& touched,
                                         const T& rank_rows, const grouped_rates<T>& r) {
  const bytes<T> activation = lift<T>(bytes_of(storage_format(x.format)));
  const T many = any(T(x.tokens - x.experts / x.expert_parallel));
  const untuned_experts<T> e{touched,   rank_rows / touched,    many,     r.sms,     r.matrix,
                             r.weights, c.machine.l2_bandwidth, r.weight, activation};
  return untuned_time(e, x, T(x.intermediate / x.tensor_parallel),
                      bytes<T>(scalar_min(x.tokens, rank_rows) * x.hidden * activation),
                      positive("l2.capacity", a.l2.capacity.quantity()), c.kernels);
}

/// Rows and experts of the rank that the others wait for.
template <Scalar T>
struct routed_work {
  T rows{}, touched{};
};

/// Rows are the mean's times the imbalance, or the capacity factor where that is less, and at most what all
/// tokens choose among the rank's experts. Grouped: of half of the experts, all on the same ranks.
template <Scalar T>
constexpr routed_work<T> routed_to_rank(const basic_moe_ffn<T>& x,
                                        const basic_call_conditions<T>& conditions) {
  const T own = x.experts / x.expert_parallel;
  const bool grouped = conditions.routing == expert_routing::grouped;
  const T dealt = grouped ? scalar_max(x.top_k, T(0.5 * x.experts)) : x.experts;
  const T active = grouped ? scalar_min(own, dealt) : own;
  T rows = x.tokens * x.top_k * active / dealt;
  if (upper(x.expert_parallel) > 1.0) {
    detail::count("imbalance", conditions.imbalance);
    const T taken = conditions.capacity_factor.value_or(conditions.imbalance);
    const T busiest = scalar_min(conditions.imbalance, detail::count("capacity_factor", taken));
    rows = scalar_min(T(rows * busiest), T(x.tokens * scalar_min(x.top_k, active)));
  }
  const T expected = scalar_max(T(1.0), experts_touched(x));
  const T evenly = scalar_min(active, scalar_max(T(1.0), rows));
  return {rows, conditions.routing == expert_routing::random ? expected : evenly};
}

/// Written and read between the kernels, 2 bytes each time: between the products the rank's own rows, or those of
/// all choices where the library buffers them; after them the rank's rows are written, those of all choices read and
/// summed on every rank. A library that buffers all converts them for 8-bit products, and the tokens: 16 bits are
/// read, 8 written and read.
template <Scalar T>
constexpr bytes<T> buffer_bytes(const basic_moe_ffn<T>& x, const T& width, const T& rank_rows,
                                const basic_moe_kernels<T>& k) {
  const T up = (perfmodel::ffn_matrices(x.gated) - 1.0) * width;
  const T all_rows = x.tokens * (x.top_k + x.shared_experts);
  const T own_rows = rank_rows + x.tokens * x.shared_experts / x.expert_parallel;
  const T wide_rows = k.all_rows_buffered ? all_rows : own_rows;
  const bool narrow = bits_of(x.format) < 12.0;
  const double converted = narrow && k.all_rows_buffered ? 2.0 : 0.0;
  const T around = 2.0 * (own_rows + all_rows) + 2.0 * converted * x.tokens;
  return named("buffer bytes",
               (wide_rows * (4.0 * (up + width) + converted * width) + around * x.hidden) * byte);
}

}  // namespace detail

/// A block of experts on one rank: two grouped products of the experts touched (balanced routing
/// touches as many as there are rows; random routing the expected number) and of the shared ones,
/// buffers between the kernels, and their launches. Of ranks that share the experts it is the busiest:
/// conditions.imbalance, conditions.capacity_factor.
/// Source: the kernels (vllm fused_moe), fitted to AIConfigurator's published latencies.
/// Leaves out: imbalance among the experts of one rank, whose tiles share its SMs; dispatch and combine
/// between ranks, tuned tiles of single shapes; TensorRT-LLM's tiles where an engine tuned them at its start.
/// Where none of Triton's were tuned: moe_untuned.hpp.
/// Errors: as demand_of(moe_ffn); an accelerator without sms or the format.
/// Tests: by hand, on one rank and on two; more tokens are never quicker; published latencies of two
/// accelerators.
template <Scalar T>
constexpr basic_estimate<T> calibrated_estimate(const basic_accelerator<T>& a,
                                                const basic_moe_ffn<T>& x,
                                                const basic_moe_calibration<T>& c,
                                                const basic_call_conditions<T>& conditions = {}) {
  const basic_moe_kernels<T>& k = c.kernels;
  const basic_demand<T> needs = demand_of(x);
  const T width = x.intermediate / x.tensor_parallel;
  const detail::routed_work<T> routed = detail::routed_to_rank(x, conditions);
  const T& rank_rows = routed.rows;
  const T touched = named("experts touched", routed.touched);
  const bandwidth<T> dram = detail::positive("dram.bandwidth", a.dram.bandwidth.quantity());
  const detail::grouped_rates<T> rates{
      k.matrix_ratio * c.machine.matrix_share * peak(a, needs.format), c.machine.dram_share * dram,
      lift<T>(bytes_of(x.weights)), detail::positive("sms", a.sms).value(),
      k.columns_first ? detail::resident_in_l2(a) : bytes<T>{}};
  const T expert_tokens = named("tokens per expert", T(rank_rows / touched));
  duration<T> products =
      k.untuned ? detail::untuned_block_time(a, x, c, touched, rank_rows, rates)
                : detail::block_time(
                      detail::expert_groups<T>(touched, expert_tokens, x.expert_parallel, k), x,
                      width, rates, k);
  if (upper(x.shared_experts) > 0.0) {
    const T tokens = x.tokens / x.expert_parallel;
    products +=
        detail::block_time(detail::expert_groups<T>(x.shared_experts, tokens, x.expert_parallel, k),
                           x, width, rates, k);
  }

  basic_estimate<T> e;
  products = e.terms.add(limiter::compute, "grouped GEMMs", products);
  const bytes<T> buffers = detail::buffer_bytes(x, width, rank_rows, k);
  const duration<T> buffered =
      e.terms.add(limiter::memory, "buffers", buffers / (k.buffer_share * dram));
  e.limiter = e.terms.limiting();
  const duration<T> floor_time = e.terms.add(limiter::launch, "floor", k.floor);
  e.time = named("time", products + buffered + floor_time);
  e.mfu = needs.matrix_flop / peak(a, needs.format) / e.time;
  const bytes<T> beyond = (touched - scalar_max(T(1.0), experts_touched(x))) *
                          ffn_matrices(x.gated) * x.hidden * width * rates.weight;
  e.mbu = (needs.dram.total() + beyond) / dram / e.time;
  return e;
}

}  // namespace perfmodel
