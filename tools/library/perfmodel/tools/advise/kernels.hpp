// Techniques of kernels and launches, applied to the mean engine step of a service.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <perfmodel/tools/advise/kernel_laws.hpp>
#include <string_view>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Ways in which a framework launches the kernels of a step without CUDA graphs: an inference
/// engine, PyTorch modules one operation at a time, and PyTorch after torch.compile.
enum class launch_framework { engine, eager, compiled };

constexpr const char* name_of(launch_framework f) {
  constexpr const char* names[] = {"engine", "eager", "compiled"};
  return detail::entry_of(names, f, "launch_framework");
}

/// Kernels that a framework launches for each layer and outside the layers, and its CPU time for
/// each: Python, dispatcher and driver.
struct framework_launches {
  double per_layer = 0.0, others = 0.0;
  duration<> cpu{};
};

/// Sources. Engine: 12 a layer, of GEMMs, attention, norms, rotary embedding, cache and activation;
/// 25 us each, from GPT-2 of 12 layers on H200 in eager mode, 4.8 ms a token with vLLM and 4.9 ms
/// with SGLang (deepspeedai/DeepSpeed #8352). Eager: 120 a layer and 10 us (Llama 7B of 32 layers,
/// 39 ms a token on A100 before torch.compile: PyTorch, "Accelerating Generative AI with PyTorch
/// II", 2023). Compiled: 30 a layer at 5 us, assumed. CPUs differ by a factor of 2.
constexpr framework_launches launches_of(launch_framework f) {
  switch (f) {
    case launch_framework::eager: return {120.0, 20.0, duration<>::from_value(10e-6)};
    case launch_framework::compiled: return {30.0, 10.0, duration<>::from_value(5e-6)};
    default: return {12.0, 10.0, duration<>::from_value(25e-6)};
  }
}

/// Assumed kernel costs that no data sheet states, of the order measured on H100 and H200
/// (docs/laws/launch.md). `costs.cpu` replaces the CPU time of the framework where it is not 0.
struct kernel_facts {
  launch_framework framework = launch_framework::engine;
  launch_costs costs{.cpu = duration<>{},
                     .gap = duration<>::from_value(1e-6),
                     .replay = duration<>::from_value(8e-6),
                     .node = duration<>::from_value(0.5e-6),
                     .synchronise = duration<>::from_value(20e-6)};
  duration<> capture = duration<>::from_value(0.5);
  double calls = 10000.0;                               ///< replays of a captured shape
  double registers = 64.0;                              ///< registers per thread of fused kernels
  duration<> latency = duration<>::from_value(600e-9);  ///< DRAM load latency

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("framework", s.framework...);
    f("costs", s.costs...);
    f(field::not_negative("capture"), s.capture...);
    f(field::count("calls"), s.calls...);
    f(field::count("registers"), s.registers...);
    f(field::positive("latency"), s.latency...);
  }
};

namespace detail {

/// The mean engine step in kernels, and its largest GEMM: rows x columns x depth, tiles of 64 x
/// 128.
struct kernels_of_step {
  double kernels = 0.0, layers = 0.0, rows = 0.0, columns = 0.0, depth = 0.0, sms = 0.0;
  duration<> time{}, gemms{}, memory{};
  bytes<> hidden{};  ///< bytes of the hidden states of all rows
  double cache_share = 0.0;

  double tiles() const { return std::ceil(rows / 64.0) * std::ceil(columns / 128.0); }
};

inline kernels_of_step split_into_kernels(const adviser& a) {
  const deployment& d = a.deployed();
  const basic_step_demand<> demand = demand_of_step(d, a.mean_step());
  kernels_of_step p;
  p.kernels = (std::max)(1.0, demand.launches);
  p.layers = d.model.layers.count;
  p.rows = (std::max)(1.0, std::ceil(a.mean_step().batch + a.mean_step().prefill_tokens));
  p.depth = d.model.hidden;
  p.columns = (std::max)(1.0, d.model.hidden / d.layout.tensor);
  p.sms = d.device.sms.is_stated() ? d.device.sms.value() : 1.0;
  p.time = a.current().itl;
  p.memory = (demand.weights + demand.cache) / d.device.dram.bandwidth.quantity();
  p.gemms = max(duration<>(demand.weights / d.device.dram.bandwidth.quantity()), demand.compute);
  p.hidden = p.rows * p.depth * bytes_of(number_format::bf16);
  p.cache_share = demand.cache / (demand.weights + demand.cache);
  return p;
}

/// A technique with a gain on the time `part` of a step.
inline technique gain_on_part(const adviser& a, const technique_description& words, double gain,
                              const duration<>& part, const std::string& why, bool harms,
                              bool in_use = true) {
  const double lost = in_use ? gain - 1.0 : 1.0 - 1.0 / (std::max)(gain, 1e-3);
  technique t = a.saving(words, lost * part, duration<>{}, in_use);
  t.harmful = harms;
  t.reason = why;
  return t;
}

/// Switches CUDA graphs of all deployments of a service.
inline void use_graphs(advised_service& s, bool graphs) {
  s.deployment.cuda_graphs = graphs;
  if (!s.pools) return;
  s.pools->prefill.deployment.cuda_graphs = graphs;
  s.pools->decode.deployment.cuda_graphs = graphs;
}

/// The service with and without CUDA graphs, where its evaluator prices launches and no costs of
/// launches are given. Else a step takes `p.time` with graphs; the time of nodes is in it. In
/// eager mode it takes as long as the CPU needs for the framework's kernels, if that is longer.
inline technique cuda_graph(const adviser& a, const kernels_of_step& p, const kernel_facts& f) {
  const technique_description words{
      "cuda_graph", "launches", "a capture for each shape, and memory for it",
      "dynamic shapes replay a capture too seldom, or kernels are longer than launches"};
  const kernel_facts usual{};
  const bool given = f.framework != usual.framework || f.costs.cpu != usual.costs.cpu ||
                     f.capture != usual.capture || f.calls != usual.calls;
  if (!given) {
    const bool used = a.deployed().cuda_graphs;
    technique t = a.try_change(
        words, [used](advised_service& s) { use_graphs(s, !used); }, used);
    if (t.makes_feasible || t.gain != 1.0) return t;
  }
  const framework_launches by = launches_of(f.framework);
  launch_costs costs = f.costs;
  if (!(costs.cpu.value() > 0.0)) costs.cpu = by.cpu;
  costs.node = costs.gap = duration<>{};
  const double kernels = kernels_per_step(p.layers, by.per_layer, by.others);
  const double gain = graph_gain(costs, kernels, p.time, f.capture, f.calls);
  const duration<> exposed = exposed_launch(costs, kernels, p.time);
  return gain_on_part(
      a, words, gain, p.time,
      join_text("in eager mode the CPU launches ", kernels, " kernels in ", kernels * costs.cpu,
                ", a step takes ", p.time, ": exposed launch time ", exposed, "; a capture of ",
                f.capture, " is replayed ", f.calls, " times"),
      gain < 1.001);
}

inline technique kernel_fusion(const adviser& a, const kernels_of_step& p, const kernel_facts& f) {
  const fusion_saving saved = chain_saving(p.hidden, 4.0 * p.layers);
  const bytes<> spilled =
      spilled_bytes(f.registers, registers_a_thread, p.layers * p.rows * p.depth);
  const bytes<> moved = 2.0 * saved.dram.total();
  const double gain = fusion_gain(moved, saved, spilled);
  const duration<> part =
      (moved - saved.dram.total() + spilled) / a.deployed().device.dram.bandwidth.quantity();
  return gain_on_part(a,
                      {"kernel_fusion", "kernels", "registers; a kernel for each chain",
                       "the fused kernel needs more than 255 registers a thread, and spills"},
                      gain, part,
                      join_text("norms, residuals and activations: ", saved.dram.total(),
                                " of traffic, ", saved.launches, " fewer launches; ", f.registers,
                                " registers a thread spill ", spilled),
                      gain < 1.0);
}

/// Largest work of an SM over the mean: 1 + cv of lengths x the share of a step that reads KV cache
/// + 1/sqrt(tokens per expert), the relative standard deviation of randomly routed tokens.
inline double imbalance_of(const adviser& a, const kernels_of_step& p) {
  double excess = (std::max)(a.load().input_cv, a.load().output_cv) * p.cache_share;
  if (const auto e = experts_of(a.deployed().model)) {
    excess += 1.0 / std::sqrt((std::max)(1.0, p.rows * e->top_k / e->experts));
  }
  return 1.0 + excess;
}

inline technique persistent_kernel(const adviser& a, const kernels_of_step& p,
                                   const kernel_facts& f) {
  const double imbalance = imbalance_of(a, p);
  const double gain = persistent_kernel_gain(p.time, p.kernels, f.costs.node, imbalance);
  return gain_on_part(
      a,
      {"persistent_kernel", "launches", "a tile scheduler; one block size for all work",
       "work is imbalanced: SMs wait for the busiest one"},
      gain, p.time,
      join_text("one launch in place of ", p.kernels, " nodes of ", f.costs.node,
                "; the busiest SM has ", imbalance, " times the mean work"),
      gain < 1.0, false);
}

inline technique multi_stream(const adviser& a, const kernels_of_step& p, const kernel_facts& f) {
  const double in_use = p.memory / p.time, share = (std::min)(1.0, (std::max)(in_use, 0.01));
  const double gain = streams_gain(p.kernels, p.time / p.kernels, share, f.costs.gap);
  technique t = gain_on_part(a,
                             {"multi_stream", "launches", "events between streams; harder to debug",
                              "one kernel saturates the memory or the SMs"},
                             (std::min)(gain, 1.05), 0.1 * p.time,
                             join_text("independent kernels, assumed 10 % of a step, use ",
                                       100.0 * share, " % of the bandwidth"),
                             gain < 1.02, false);
  return t;
}

inline technique sync_elimination(const adviser& a, const kernels_of_step& p,
                                  const kernel_facts& f) {
  const double gain = (p.time + f.costs.synchronise) / p.time;
  return gain_on_part(
      a,
      {"sync_elimination", "launches", "the host reads a token one step later",
       "the host needs the result at once, or a synchronisation is short for the step"},
      gain, p.time,
      join_text("one synchronisation of ", f.costs.synchronise, " in a step of ", p.time),
      gain < 1.001);
}

inline technique split_k(const adviser& a, const kernels_of_step& p) {
  constexpr int splits = 4;
  const double reduction = 2.0 * p.rows * splits * 4.0 / (2.0 * p.depth);
  const double gain = split_k_gain(p.tiles(), p.sms, splits, (std::min)(reduction, 1.0));
  return gain_on_part(
      a,
      {"split_k", "kernels", "partial sums in 32 bits, written and read",
       "tiles fill the SMs already"},
      (std::max)(gain, 0.5), 0.25 * p.gemms,
      join_text("assumed for 25 % of the GEMM time: ", p.tiles(), " tiles for ", p.sms,
                " SMs, 4 splits; partial sums cost ", 100.0 * reduction, " % of a GEMM"),
      gain < 1.0, p.tiles() < p.sms);
}

/// Techniques that library kernels use already. The gain is over a kernel without the technique, on
/// the assumed share of a step in such kernels.
inline std::vector<technique> gemm_techniques(const adviser& a, const kernels_of_step& p,
                                              const kernel_facts& f) {
  constexpr double tile_rows = 64.0, tile_columns = 128.0, stages = 4.0;
  const double tile = (std::min)(tile_rows, p.rows);
  const bytes<> shared = stages * (tile_rows + tile_columns) * 64.0 * 2.0 * byte;
  const thread_block block{8.0, 128.0, shared};
  const double tiles = tiling_gain(tile, sm_limits{}, block, 8.0);
  const duration<> load = f.latency, compute = 0.5 * f.latency;
  const double pipelined = async_copy_gain(load, compute, stages);
  const double buffered = double_buffering_gain(load, load, 64.0);
  const bytes<> value = bytes_of(number_format::bf16);
  const bandwidth<> shared_rate = 128.0 * p.sms * byte / (f.latency / 1000.0);
  const flop_rate<> rate = peak(a.deployed().device, formats_of(a.deployed()).linear.format);
  const double instructions = matrix_instruction_gain(rate, shared_rate, value, 16.0, 64.0);
  const double rows = p.rows;
  return {
      gain_on_part(a,
                   {"smem_tiling", "kernels", "shared memory, hence fewer resident blocks",
                    "a batch has one row, or no block fits an SM"},
                   tiles, p.gemms, join_text("a tile of ", tile, " rows reads weights once"),
                   tiles <= 1.0),
      gain_on_part(a,
                   {"async_copy", "kernels", "stages in shared memory; alignment to 16 bytes",
                    "compute between loads is too short to hide them, or stages reduce occupancy"},
                   pipelined, 0.1 * p.gemms,
                   join_text("assumed for 10 % of the GEMM time: a load of ", load, ", ", stages,
                             " stages of ", compute),
                   pipelined <= 1.001),
      gain_on_part(
          a,
          {"double_buffering", "kernels", "twice the buffer",
           "two buffers halve the resident blocks"},
          buffered, 0.1 * p.gemms,
          "assumed for 10 % of the GEMM time: a load overlaps the compute of the previous tile",
          buffered <= 1.0),
      gain_on_part(
          a,
          {"matrix_instructions", "kernels", "TMA loads; at least 64 rows",
           "fewer rows than an instruction has, or operands arrive too late"},
          rows < 64.0 ? 1.0 : instructions, 0.5 * p.gemms,
          join_text("assumed for 50 % of the GEMM time: ", rows, " rows for an instruction of 64"),
          rows < 64.0)};
}

/// Access patterns that library kernels use already. The gain is over a kernel without the
/// technique, on the assumed share of a step.
inline std::vector<technique> access_techniques(const adviser& a, const kernels_of_step& p) {
  const double vectors = vector_access_gain(int(p.depth), 8);
  return {
      gain_on_part(
          a,
          {"vectorized_access", "kernels", "alignment, and a tail",
           "rows are not a multiple of the vector"},
          vectors, 0.01 * p.time,
          join_text("assumed for 1 % of a step: rows of ", p.depth, " in vectors of 8 elements"),
          vectors < 1.0),
      gain_on_part(
          a, {"swizzle", "kernels", "an XOR in each address", "there are no bank conflicts"},
          swizzle_gain(32), 0.01 * p.gemms,
          "assumed for 1 % of the GEMM time: columns of a tile with rows of 128 bytes", false),
      gain_on_part(a,
                   {"coalescing", "kernels", "one data layout for producer and consumer",
                    "accesses are coalesced already"},
                   coalescing_gain(64, 2), 0.01 * p.time,
                   "assumed for 1 % of a step: a column of rows of 64 elements of 2 bytes", false),
      gain_on_part(a,
                   {"warp_shuffle", "kernels", "one warp for each row",
                    "a row spans several warps, which exchange through shared memory"},
                   shuffle_gain(int((std::min)(1024.0, p.depth)), 80.0, 6.0), 0.005 * p.time,
                   join_text("assumed for 0.5 % of a step: norms of ", p.depth, " elements"),
                   false)};
}

}  // namespace detail

/// CUDA graphs, fusion, persistent kernels, streams, synchronisation, split-K, and techniques of
/// library kernels.
inline std::vector<technique> kernel_techniques(const adviser& a, const kernel_facts& f = {}) {
  const detail::kernels_of_step p = detail::split_into_kernels(a);
  std::vector<technique> all = {detail::cuda_graph(a, p, f),        detail::kernel_fusion(a, p, f),
                                detail::persistent_kernel(a, p, f), detail::multi_stream(a, p, f),
                                detail::sync_elimination(a, p, f),  detail::split_k(a, p)};
  for (technique& t : detail::gemm_techniques(a, p, f)) all.push_back(std::move(t));
  for (technique& t : detail::access_techniques(a, p)) all.push_back(std::move(t));
  for (technique& t : all) {
    if (std::string_view(t.name) != "cuda_graph") t.user = technique_user::kernel_author;
  }
  return all;
}

}  // namespace perfmodel::inline v0_3
