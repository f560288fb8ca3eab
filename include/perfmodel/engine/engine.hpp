// The serving engines with measured kernels, and the device memory that each reserves.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// Serving engine. `none` is a plain library, which quantises no activations.
enum class engine { none, vllm, sglang, trtllm };

/// Name of an engine, as napkin spells it.
constexpr const char* name_of(engine e) {
  constexpr const char* names[] = {"none", "vllm", "sglang", "trtllm"};
  return detail::entry_of(names, e, "engine");
}

/// Engine of a name; tensorrt_llm is another name of trtllm.
constexpr std::optional<engine> find_engine(std::string_view name) {
  for (const engine e : {engine::none, engine::vllm, engine::sglang, engine::trtllm}) {
    if (name == name_of(e)) return e;
  }
  if (name == "tensorrt_llm") return engine::trtllm;
  return std::nullopt;
}

/// Release of an engine from which its defaults hold; `latest` is that of August 2026.
/// TensorRT-LLM's defaults are those of 1.0 since then: no change is known.
enum class engine_release {
  vllm_0_10,
  vllm_0_14,
  vllm_0_24,
  sglang_0_5_2,   ///< before October 2025
  sglang_0_5_10,  ///< up to 0.5.13
  trtllm_1_0,
  latest
};

/// Name of a release, as napkin spells it.
constexpr const char* name_of(engine_release r) {
  constexpr const char* names[] = {"vllm-0.10",     "vllm-0.14",  "vllm-0.24", "sglang-0.5.2",
                                   "sglang-0.5.10", "trtllm-1.0", "latest"};
  return detail::entry_of(names, r, "engine_release");
}

/// Release of a name.
constexpr std::optional<engine_release> find_release(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(engine_release::latest); ++i) {
    const auto r = static_cast<engine_release>(i);
    if (name == name_of(r)) return r;
  }
  return std::nullopt;
}
/// Engine of a release; nothing for `latest`, which each has.
constexpr std::optional<engine> engine_of(engine_release r) {
  constexpr std::optional<engine> engines[] = {engine::vllm,   engine::vllm,   engine::vllm,
                                               engine::sglang, engine::sglang, engine::trtllm,
                                               std::nullopt};
  return detail::entry_of(engines, r, "engine_release");
}

/// Whether LoRA adapters have matrices for routed experts, unless stated: vLLM's from 0.14 on.
/// Source: vLLM, lora/layers/fused_moe.py. Test: memory of a plan (tests/cli/engine_options.sh).
constexpr bool adapts_routed_experts(engine e, engine_release r) {
  return e == engine::vllm && r != engine_release::vllm_0_10;
}

// Device memory that a serving engine reserves in addition to weights and KV cache.

/// Largest engine step: vLLM's max_num_batched_tokens and max_num_seqs, SGLang's
/// chunked_prefill_size and cuda_graph_max_bs, TensorRT-LLM's max_num_tokens and max_batch_size. An
/// absent limit is the engine's default on the device. A service admits at most the stated
/// `sequences`, except with SGLang. `graph_tokens` is vLLM's max_cudagraph_capture_size.
template <Scalar T = double>
struct basic_engine_limits {
  std::optional<T> tokens{};
  std::optional<T> sequences{};
  std::optional<T> graph_tokens{};  ///< largest captured CUDA graph

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("sequences"), s.sequences...);
    f(field::count("graph_tokens"), s.graph_tokens...);
  }
};
using engine_limits = basic_engine_limits<>;

/// Dimensions of a model and its layout that decide the memory of an engine step on one rank.
template <Scalar T = double>
struct basic_step_dimensions {
  T hidden{};
  T widest{};  ///< most values of a token that a feed-forward stores at once
  T vocabulary{};
  bytes<> value_bytes = 2.0 * byte;  ///< bytes per value of the residual stream

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("hidden"), s.hidden...);
    f(field::not_negative("widest"), s.widest...);
    f(field::count("vocabulary"), s.vocabulary...);
    f(field::positive("value_bytes"), s.value_bytes...);
  }
};
using step_dimensions = basic_step_dimensions<>;

/// Parameters of one engine's memory. `logit_bytes` is the size of its profiling step per sampled
/// logit: the logit, its 32-bit duplicate, and the buffers for sorting, softmax and summing.
template <Scalar T = double>
struct basic_engine_memory {
  T utilization{};         ///< share of the device, or of its free memory: see engine_utilization
  bytes<T> logit_bytes{};  ///< 0: sampling is not part of the profiling step
  bytes<T> runtime{};      ///< contexts and libraries, as the engine counts them on one rank
  /// NCCL and the buffers of all-reduces on a rank with peers, over NVLink.
  bytes<T> communicators{};
  bytes<T> graphs{};  ///< CUDA graphs, where the engine counts them inside its utilization

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::share("utilization"), s.utilization...);
    f(field::not_negative("logit_bytes"), s.logit_bytes...);
    f(field::not_negative("runtime"), s.runtime...);
    f(field::not_negative("communicators"), s.communicators...);
    f(field::not_negative("graphs"), s.graphs...);
  }
};
using engine_memory = basic_engine_memory<>;

/// Memory parameters of an engine, fitted by tools/fit/fit_memory.cpp to start-up logs;
/// docs/laws/engine_memory.md has the standard errors. `none` has those of vLLM before 0.21.
/// TensorRT-LLM's are assumed, without a log.
/// vLLM's utilization is 0.92 since 0.21 (2026-04-21), less its estimate of CUDA graphs. The 0.6
/// GiB of its 51 default sizes are assumed, the middle of the 0.1 to 1.1 GiB in logs.
/// Source: vLLM, v1/worker/gpu_worker.py, determine_available_memory, at commit 017e9f444.
constexpr engine_memory engine_memory_of(engine e, engine_release r = engine_release::latest) {
  switch (e) {
    case engine::sglang: return {1.0, 0.0 * byte, 0.73 * GiB, 2.1 * GiB};
    case engine::trtllm: return {0.9, 0.0 * byte, 0.73 * GiB, 2.1 * GiB};
    case engine::vllm:
      if (r == engine_release::vllm_0_24 || r == engine_release::latest)
        return {0.92, 38.8 * byte, 0.04 * GiB, 2.1 * GiB, 0.6 * GiB};
      [[fallthrough]];
    default: return {0.9, 38.8 * byte, 0.04 * GiB, 2.1 * GiB};
  }
}

namespace detail {

/// An increasing step function of the memory, over any scalar.
template <Scalar T, class F>
constexpr T by_capacity(const bytes<T>& capacity, const F& value_at) {
  const T x = T(capacity / lift<T>(GiB));
  if constexpr (Range<T>) {
    return T(value_at(lower(x)), value_at(upper(x)));
  } else {
    return T(value_at(mid(x)));
  }
}

/// SGLang's largest captured batch.
constexpr double graph_batch(double gib, int tensor) {
  const bool many = tensor >= 4;
  if (gib < 20.0) return 8.0;
  if (gib < 35.0) return many ? 80.0 : 24.0;
  if (gib < 60.0) return many ? 160.0 : 32.0;
  return gib < 160.0 && !many ? 256.0 : 512.0;
}
constexpr double chunk_of_sglang(double gib) {
  if (gib < 35.0) return 2048.0;
  if (gib < 60.0) return 4096.0;
  return gib < 160.0 ? 8192.0 : 16384.0;
}

// SGLang before October 2025: its largest captured batch, its chunk, and the memory in MiB that it
// left for all else.
constexpr double old_graph_batch(double gib, int tensor) {
  if (gib < 35.0) return tensor >= 4 ? 80.0 : 8.0;
  if (gib < 90.0) return 160.0;
  return gib < 160.0 ? 256.0 : 512.0;
}
constexpr double old_chunk_of_sglang(double gib) {
  if (gib < 35.0) return 2048.0;
  return gib < 160.0 ? 8192.0 : 16384.0;
}
constexpr double old_reserve_of_sglang(double gib, int ranks) {
  if (gib < 35.0) return (2.8 + ranks / 10.0) * 1024.0;
  if (gib < 160.0) return ((gib < 90.0 ? 9.5 : 12.0) + ranks / 2.0) * 1024.0;
  return 32.0 * 1024.0;
}

}  // namespace detail

/// Limits that an engine starts with; stated ones take precedence. `small_batches` is vLLM's choice
/// on A100 whatever its memory.
/// Sources: vLLM, engine/arg_utils.py, get_batch_defaults: 8192 tokens and 1024 sequences from 70
/// GiB on, 2048 and 256 below, of the API server; since 2026-08-11 16384 tokens from 160 GiB on;
/// SGLang, srt/server_args.py,
/// _handle_gpu_memory_settings, and __post_init__ before October 2025; TensorRT-LLM, BuildConfig:
/// 8192 tokens.
/// Test: each of them on 24, 80 and 192 GiB.
template <Scalar T>
constexpr basic_engine_limits<T> engine_limits_on(engine e, const basic_engine_limits<T>& stated,
                                                  const bytes<T>& capacity, int tensor,
                                                  bool small_batches,
                                                  engine_release r = engine_release::latest) {
  const auto pick = [&](const std::optional<T>& given, const auto& value_at) {
    return given ? *given : detail::by_capacity(capacity, value_at);
  };
  if (e == engine::sglang) {
    const bool old = r == engine_release::sglang_0_5_2;
    return {pick(stated.tokens, old ? detail::old_chunk_of_sglang : detail::chunk_of_sglang),
            pick(stated.sequences, [&](double gib) {
              return old ? detail::old_graph_batch(gib, tensor) : detail::graph_batch(gib, tensor);
            })};
  }
  if (e == engine::trtllm) {
    return {stated.tokens.value_or(T(8192.0)), stated.sequences.value_or(T(2048.0))};
  }
  const auto large = [&](double gib) { return gib >= 70.0 && !small_batches; };
  const bool has_large_budget = e == engine::vllm && r == engine_release::latest;
  return {pick(stated.tokens,
               [&](double gib) {
                 if (has_large_budget && gib >= 160.0) return 16384.0;
                 return large(gib) ? 8192.0 : 2048.0;
               }),
          pick(stated.sequences, [&](double gib) { return large(gib) ? 1024.0 : 256.0; }),
          stated.graph_tokens};
}

/// Number of CUDA graphs that vLLM captures up to `largest` tokens: 1, 2, 4, multiples of 8 to 248,
/// then multiples of 16.
/// Source: vLLM, config/vllm.py, _set_cudagraph_sizes, at commit 017e9f444.
/// Test: 51 to 512 tokens, 7 to 32; the sizes of cuda_graphs::vllm_graph.
template <Scalar T>
constexpr T captured_graphs(const T& largest) {
  using math::floor;
  const T halves = floor(T(largest / 2.0));
  const T eights = floor(T(scalar_min(largest, T(248.0)) / 8.0));
  const T sixteens = floor(T(scalar_max(T(largest - 240.0), T(0.0)) / 16.0));
  return scalar_min(T(halves + 1.0), T(3.0)) + eights + sixteens;
}

/// Memory of the CUDA graphs that an engine counts, in proportion to their number. The largest has
/// the stated `graph_tokens`, else min(2 sequences, 512), and at most the token budget.
/// Logged per size: 24 MiB (vllm-project/vllm#50780), 23 (gpustack/runner#251, 16 sizes), 6 to 28
/// (vllm-project/vllm#22897); the 51 default sizes have 12 MiB each in the mean.
/// Leaves out: 1024 tokens by default on compute capability 10.x since 2026-08-07; sizes of drafts.
/// Test: max_num_seqs of 16 leave 7 of 51 sizes, 84 MiB of 0.6 GiB.
template <Scalar T>
constexpr bytes<T> graph_bytes(const basic_engine_memory<T>& m,
                               const basic_engine_limits<T>& limits) {
  if (!(upper(m.graphs.value()) > 0.0)) return {};
  const T largest =
      limits.graph_tokens ? *limits.graph_tokens : scalar_min(T(2.0 * *limits.sequences), T(512.0));
  return captured_graphs(scalar_min(largest, *limits.tokens)) / 51.0 * m.graphs;
}

/// Peak memory of the profiling step at an engine's start, in the largest layer or in the sampler:
/// max(b tokens (3 hidden + widest), logit_bytes sequences vocabulary + b tokens hidden).
/// In the layer a token has its residual, its normed input and its output in addition to the
/// feed-forward. SGLang does not profile: its activations lie outside its utilization, and this is
/// 0.
/// Sources: vLLM, v1/worker/gpu_worker.py, determine_available_memory, and gpu_model_runner.py,
/// profile_run.
/// Leaves out: encoders of images, weights unpacked for a GEMM, logits of the prompt.
/// Tests: Llama 3.1 8B with 20,000 tokens, 2.06 GiB by hand and in the log; 4,096 sequences of
/// 128,256 logits, 19.1 GiB in the log; never below either part.
template <Scalar T>
constexpr bytes<T> profiled_activations(engine e, const basic_engine_memory<T>& m,
                                        const basic_engine_limits<T>& limits,
                                        const basic_step_dimensions<T>& w) {
  if (e == engine::sglang) return {};
  const T tokens = detail::count("limits.tokens", *limits.tokens);
  const bytes<T> value = lift<T>(w.value_bytes);
  const bytes<T> layer =
      named("widest layer of a step", tokens * (3.0 * w.hidden + w.widest) * value);
  const bytes<T> sampler = named("sampler", detail::count("limits.sequences", *limits.sequences) *
                                                    w.vocabulary * m.logit_bytes +
                                                tokens * w.hidden * value);
  return named("kept for activations", max(layer, sampler));
}

/// Memory of an engine outside the allocator of its tensors: runtime, and communicators where there
/// are other ranks. CUDA graphs are not in it: before 0.21 vLLM took their 0.1 to 1.1 GiB from the
/// memory outside its utilization.
/// Leaves out: the context where vLLM counts it (before 0.7: 0.4 to 1.8 GiB on NVIDIA).
template <Scalar T>
constexpr bytes<T> engine_runtime(const basic_engine_memory<T>& m, int ranks) {
  return ranks > 1 ? named("kept for the runtime", m.runtime + m.communicators) : m.runtime;
}

/// Share of the capacity that an engine uses; `reserved` is the memory of weights, activations and
/// runtime.
/// vLLM: 0.92 of the device, 0.9 before 0.21. TensorRT-LLM: 0.9 of the memory left free by
/// `reserved`, as a share of the capacity. SGLang: 1 - (512 + 1.5 max(tokens, 2048) + 2 sequences +
/// 128 ranks) MiB / capacity, at least 10 GiB out of more than 60; before October 2025 a reserve by
/// the memory alone.
/// Sources: vLLM, CacheConfig; TensorRT-LLM, KvCacheConfig.free_gpu_memory_fraction and
/// _torch/pyexecutor/_util.py, _cal_max_memory; SGLang as above.
/// Test: 0.815 of an L4's 23,034 MiB over four ranks, 0.836 of 80 GiB on one; 0.875 of 80 GiB on
/// one before October 2025.
template <Scalar T>
constexpr T engine_utilization(engine e, const basic_engine_memory<T>& m,
                               const basic_engine_limits<T>& limits, const bytes<T>& capacity,
                               const bytes<T>& reserved, int ranks,
                               engine_release r = engine_release::latest) {
  if (e == engine::trtllm) {
    return scalar_min(T(1.0), T(m.utilization + (1.0 - m.utilization) * T(reserved / capacity)));
  }
  if (e != engine::sglang) return m.utilization;
  if (r == engine_release::sglang_0_5_2) {
    const T reserve = detail::by_capacity(
        capacity, [&](double gib) { return detail::old_reserve_of_sglang(gib, ranks); });
    return named("utilization",
                 scalar_max(T(0.0), T(m.utilization - T(reserve * lift<T>(MiB) / capacity))));
  }
  const T runtime_mib = 512.0 + 1.5 * scalar_max(*limits.tokens, T(2048.0)) +
                        2.0 * *limits.sequences + 128.0 * static_cast<double>(ranks);
  const T least =
      detail::by_capacity(capacity, [](double gib) { return gib > 60.0 ? 10.0 * 1024.0 : 0.0; });
  const bytes<T> left = scalar_max(runtime_mib, least) * lift<T>(MiB);
  return named("utilization", scalar_max(T(0.0), T(m.utilization - T(left / capacity))));
}

/// CPU time per kernel that vLLM launches without CUDA graphs, its Python code included: the
/// geometric mean of three public runs. It depends on the CPU.
/// Sources: 45 us, Qwen3-14B-AWQ on A100 (QwenLM/Qwen3#1536: 20.6 ms per token, less 0.6 ms per
/// step, over 444 kernels); 70 us, Qwen2.5-72B-AWQ (vllm#13204); 79 us, a 7B model
/// (vllm-omni#7960).
/// Leaves out: SGLang, at most 25 us (Llama 3 8B on H100, sgl-project/sglang#1401).
/// Test: 87 us in a fourth run, Qwen3-8B on A100 (vllm#42058), lie inside the interval.
inline constexpr duration<> eager_launch_time = 63.0 * us;
/// Standard deviation of ln(eager_launch_time) over the three runs.
inline constexpr double eager_launch_log_sigma = 0.30;

// Scheduling rules of serving engines.

/// Tokens that an engine step processes. `mixed_chunks`: every sequence decodes, and prefill chunks
/// fill the rest of the token budget. `prefill_first`: waiting prefills run without decodes, as
/// many as the budget takes. `static_batches`: requests start at once, and none joins until the
/// last has ended.
enum class scheduling { mixed_chunks, prefill_first, static_batches };

/// Name of a scheduling policy.
constexpr const char* name_of(scheduling s) {
  constexpr const char* names[] = {"mixed_chunks", "prefill_first", "static_batches"};
  return detail::entry_of(names, s, "scheduling");
}

/// Restoration of a preempted sequence's cache: recomputed, or swapped in from host memory.
enum class preemption { recompute, swap };

/// Name of a treatment of preempted sequences.
constexpr const char* name_of(preemption p) {
  constexpr const char* names[] = {"recompute", "swap"};
  return detail::entry_of(names, p, "preemption");
}

/// Default scheduling of an engine; `none` is as vLLM.
/// Sources: vLLM, docs/configuration/optimization.md (chunked prefill is on wherever it can be);
/// TensorRT-LLM, docs/source/features/paged-attention-ifb-scheduler.md (prefills and decodes in one
/// iteration; whole prefills, where vLLM has chunks); SGLang,
/// docs/advanced_features/server_arguments.md (enable_mixed_chunk is off).
constexpr scheduling scheduling_of(engine e) {
  return e == engine::sglang ? scheduling::prefill_first : scheduling::mixed_chunks;
}

/// Whether an engine admits a request that fits with its present tokens, and lets it grow.
/// TensorRT-LLM reserves the KV cache of all output tokens.
/// Sources: vLLM, v1/core/sched/scheduler.py; SGLang, managers/schedule_policy.py (a share of the
/// future output is counted); TensorRT-LLM, docs/source/features/paged-attention-ifb-scheduler.md
/// (GUARANTEED_NO_EVICT).
constexpr bool grows_into_memory(engine e) {
  return e != engine::trtllm;
}

}  // namespace perfmodel::inline v0_3
