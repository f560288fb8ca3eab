// Tricks inside kernels and between them, beside the mean pass of a service.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <perfmodel/tools/advise/kernel_laws.hpp>
#include <vector>

namespace perfmodel {

/// What kernels cost that no data sheet says: assumed, of the order that is measured on H100 and H200
/// (docs/laws/launch.md). `shapes` is how often a captured shape comes back.
struct kernel_facts {
  launch_costs costs{.cpu = duration<>::from_value(5e-6),
                     .gap = duration<>::from_value(1e-6),
                     .replay = duration<>::from_value(8e-6),
                     .node = duration<>::from_value(0.5e-6),
                     .synchronise = duration<>::from_value(20e-6)};
  duration<> capture = duration<>::from_value(0.5);
  double calls = 10000.0;                               ///< of a captured shape
  double registers = 64.0;                              ///< a thread of the fused kernels
  duration<> latency = duration<>::from_value(600e-9);  ///< of a load from DRAM

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("costs", s.costs...);
    f(field::not_negative("capture"), s.capture...);
    f(field::count("calls"), s.calls...);
    f(field::count("registers"), s.registers...);
    f(field::positive("latency"), s.latency...);
  }
};

namespace detail {

/// The mean pass in pieces, and its largest product: rows x columns x depth in tiles of 64 x 128.
struct step_in_kernels {
  double kernels = 0.0, layers = 0.0, rows = 0.0, columns = 0.0, depth = 0.0, sms = 0.0;
  duration<> time{}, products{}, memory{};
  bytes<> hidden{};  ///< of the rows
  double cache_share = 0.0;

  double tiles() const { return std::ceil(rows / 64.0) * std::ceil(columns / 128.0); }
};

inline step_in_kernels kernels_of(const adviser& a) {
  const deployment& d = a.runs();
  const basic_step_demand<> demand = demand_of_step(d, a.mean_step());
  step_in_kernels p;
  p.kernels = (std::max)(1.0, demand.launches);
  p.layers = d.model.layers.count;
  p.rows = (std::max)(1.0, std::ceil(a.mean_step().batch + a.mean_step().prefill_tokens));
  p.depth = d.model.hidden;
  p.columns = (std::max)(1.0, d.model.hidden / d.layout.tensor);
  p.sms = d.device.sms.is_stated() ? d.device.sms.value() : 1.0;
  p.time = a.now().itl;
  p.memory = (demand.weights + demand.cache) / d.device.dram.bandwidth.quantity();
  p.products = max(duration<>(demand.weights / d.device.dram.bandwidth.quantity()), demand.compute);
  p.hidden = p.rows * p.depth * bytes_of(number_format::bf16);
  p.cache_share = demand.cache / (demand.weights + demand.cache);
  return p;
}

/// A kernel-level trick whose law gains so much of `part` of a pass.
inline technique of_part(const adviser& a, const technique_words& words, double gain,
                         const duration<>& part, const std::string& why, bool harms,
                         bool in_use = true) {
  const double lost = in_use ? gain - 1.0 : 1.0 - 1.0 / (std::max)(gain, 1e-3);
  technique t = a.saving(words, lost * part, duration<>{}, in_use);
  t.harmful = harms;
  t.why = why;
  return t;
}

inline technique cuda_graph(const adviser& a, const step_in_kernels& p, const kernel_facts& f) {
  const double gain = graph_gain(f.costs, p.kernels, p.time, f.capture, f.calls);
  const duration<> exposed = exposed_launch(f.costs, p.kernels, p.time);
  return of_part(
      a,
      {"cuda_graph", "launches", "a capture for each shape, and memory for it",
       "shapes are dynamic and a capture is not earned back, or kernels outlast launches"},
      gain, p.time,
      say(p.kernels, " kernels a pass of ", p.time, ", launches expose ", exposed, ", nodes cost ",
          p.kernels * f.costs.node, "; a capture of ", f.capture, " is used ", f.calls, " times"),
      gain < 1.001);
}

inline technique kernel_fusion(const adviser& a, const step_in_kernels& p, const kernel_facts& f) {
  const fusion_saving saved = chain_saving(p.hidden, 4.0 * p.layers);
  const bytes<> spilled =
      spilled_bytes(f.registers, registers_a_thread, p.layers * p.rows * p.depth);
  const bytes<> moved = 2.0 * saved.dram.total();
  const double gain = fusion_gain(moved, saved, spilled);
  const duration<> part =
      (moved - saved.dram.total() + spilled) / a.runs().device.dram.bandwidth.quantity();
  return of_part(
      a,
      {"kernel_fusion", "kernels", "registers; a kernel for each chain",
       "the fused kernel needs more than 255 registers a thread, and spills"},
      gain, part,
      say("norms, residuals and activations: ", saved.dram.total(), " of traffic, ", saved.launches,
          " launches less; ", f.registers, " registers a thread spill ", spilled),
      gain < 1.0);
}

/// Work is unequal where lengths vary, in the part of a pass that reads caches, and where tokens fall on
/// experts by chance, whose numbers vary by their root.
inline double imbalance_of(const adviser& a, const step_in_kernels& p) {
  double unequal = (std::max)(a.load().input_cv, a.load().output_cv) * p.cache_share;
  if (const auto e = experts_of(a.runs().model)) {
    unequal += 1.0 / std::sqrt((std::max)(1.0, p.rows * e->top_k / e->experts));
  }
  return 1.0 + unequal;
}

inline technique persistent_kernel(const adviser& a, const step_in_kernels& p,
                                   const kernel_facts& f) {
  const double imbalance = imbalance_of(a, p);
  const double gain = persistent_kernel_gain(p.time, p.kernels, f.costs.node, imbalance);
  return of_part(a,
                 {"persistent_kernel", "launches", "its own scheduler; one size of block for all",
                  "work is unequal: SMs wait for the one that has the most"},
                 gain, p.time,
                 say("one launch in place of ", p.kernels, " nodes of ", f.costs.node,
                     "; the busiest SM has ", imbalance, " of the mean"),
                 gain < 1.0, false);
}

inline technique multi_stream(const adviser& a, const step_in_kernels& p, const kernel_facts& f) {
  const double in_use = p.memory / p.time, share = (std::min)(1.0, (std::max)(in_use, 0.01));
  const double gain = streams_gain(p.kernels, p.time / p.kernels, share, f.costs.gap);
  technique t =
      of_part(a,
              {"multi_stream", "launches", "events between streams; an order to reason about",
               "there is no room: one kernel keeps the memory or the SMs busy"},
              (std::min)(gain, 1.05), 0.1 * p.time,
              say("kernels that do not need each other are assumed a tenth of a pass, and keep ",
                  100.0 * share, " % of the bandwidth busy"),
              gain < 1.02, false);
  return t;
}

inline technique sync_elimination(const adviser& a, const step_in_kernels& p,
                                  const kernel_facts& f) {
  const double gain = (p.time + f.costs.synchronise) / p.time;
  return of_part(a,
                 {"sync_elimination", "launches", "the host knows a token one pass later",
                  "the result is needed (wrong answers), or a wait is nothing beside a pass"},
                 gain, p.time, say("one wait of ", f.costs.synchronise, " in a pass of ", p.time),
                 gain < 1.001);
}

inline technique split_k(const adviser& a, const step_in_kernels& p) {
  constexpr int splits = 4;
  const double reduction = 2.0 * p.rows * splits * 4.0 / (2.0 * p.depth);
  const double gain = split_k_gain(p.tiles(), p.sms, splits, (std::min)(reduction, 1.0));
  return of_part(a,
                 {"split_k", "kernels", "partial sums in 32 bits, written and read",
                  "tiles fill the SMs already"},
                 (std::max)(gain, 0.5), 0.25 * p.products,
                 say("of a quarter of the products, assumed: ", p.tiles(), " tiles for ", p.sms,
                     " SMs, four ways; sums cost ", 100.0 * reduction, " % of a product"),
                 gain < 1.0, p.tiles() < p.sms);
}

/// Tricks that every library's kernels have: their gains are over a kernel that does without, of the share of
/// a pass that is assumed to be of such a kernel.
inline std::vector<technique> gemm_techniques(const adviser& a, const step_in_kernels& p,
                                              const kernel_facts& f) {
  constexpr double tile_rows = 64.0, tile_columns = 128.0, stages = 4.0;
  const double tile = (std::min)(tile_rows, p.rows);
  const bytes<> shared = stages * (tile_rows + tile_columns) * 64.0 * 2.0 * byte;
  const thread_block block{8.0, 128.0, shared};
  const double tiled = tiling_gain(tile, sm_limits{}, block, 8.0);
  const duration<> load = f.latency, compute = 0.5 * f.latency;
  const double hidden = async_copy_gain(load, compute, stages);
  const double doubled = double_buffering_gain(load, load, 64.0);
  const bytes<> value = bytes_of(number_format::bf16);
  const bandwidth<> shared_rate = 128.0 * p.sms * byte / (f.latency / 1000.0);
  const auto reached = [&] {
    const flop_rate<> r = peak(a.runs().device, formats_of(a.runs()).linear.format);
    return wide_instruction_gain(r, shared_rate, value, 16.0, 64.0);
  }();
  const double rows = p.rows;
  return {
      of_part(a,
              {"smem_tiling", "kernels", "shared memory, and so resident blocks",
               "a batch has one row, or tiles leave no block room on an SM"},
              tiled, p.products,
              say("a tile of ", tile, " rows reads weights once for all of them"), tiled <= 1.0),
      of_part(a,
              {"async_copy", "kernels", "stages in shared memory; alignment to 16 bytes",
               "compute between loads is too little to hide behind, or stages take the occupancy"},
              hidden, 0.1 * p.products,
              say("of a tenth of the products, assumed: a load of ", load, " behind ", stages,
                  " stages of ", compute),
              hidden <= 1.001),
      of_part(a, {"double_buffering", "kernels", "twice the buffer", "two buffers halve what fits"},
              doubled, 0.1 * p.products,
              "of a tenth of the products, assumed: a load under the compute of the tile before",
              doubled <= 1.0),
      of_part(a,
              {"matrix_instructions", "kernels", "TMA to feed it; 64 rows at least",
               "fewer rows than an instruction has, or operands that come too late"},
              rows < 64.0 ? 1.0 : reached, 0.5 * p.products,
              say("of half of the products, assumed: ", rows, " rows for an instruction of 64"),
              rows < 64.0),
      of_part(a,
              {"vectorized_access", "kernels", "alignment, and a tail",
               "rows are not a multiple of the width"},
              vector_access_gain(int(p.depth), 8), 0.01 * p.time,
              say("of 1 % of a pass, assumed: rows of ", p.depth, " in words of 8 elements"),
              vector_access_gain(int(p.depth), 8) < 1.0),
      of_part(a, {"swizzle", "kernels", "an XOR in each address", "there is no conflict to avoid"},
              swizzle_gain(32), 0.01 * p.products,
              say("of 1 % of the products, assumed: columns of a tile of 128 bytes a row"), false),
      of_part(a,
              {"coalescing", "kernels", "a layout that both sides agree on",
               "accesses are in order already"},
              coalescing_gain(64, 2), 0.01 * p.time,
              say("of 1 % of a pass, assumed: a column of rows of 64 elements of 2 bytes"), false),
      of_part(a,
              {"warp_shuffle", "kernels", "one warp for each row",
               "a row is wider than a warp: warps still meet in shared memory"},
              shuffle_gain(int((std::min)(1024.0, p.depth)), 80.0, 6.0), 0.005 * p.time,
              say("of 0.5 % of a pass, assumed: norms of ", p.depth, " elements"), false)};
}

}  // namespace detail

/// Graphs, fusion, one kernel for all, streams, waits, split-K, and what library kernels have.
inline std::vector<technique> kernel_techniques(const adviser& a, const kernel_facts& f = {}) {
  const detail::step_in_kernels p = detail::kernels_of(a);
  std::vector<technique> all = {detail::cuda_graph(a, p, f),        detail::kernel_fusion(a, p, f),
                                detail::persistent_kernel(a, p, f), detail::multi_stream(a, p, f),
                                detail::sync_elimination(a, p, f),  detail::split_k(a, p)};
  for (technique& t : detail::gemm_techniques(a, p, f)) all.push_back(std::move(t));
  return all;
}

}  // namespace perfmodel
