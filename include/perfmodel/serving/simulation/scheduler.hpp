// Schedulers of serving engines, as a simulation runs them, with their defaults by version.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <perfmodel/step/deployment.hpp>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// Scheduling loop of a simulated engine.
///   vllm            decodes first, prefill chunks fill the token budget; preemption by recompute
///   sglang          prefill before decode; admission reserves a share of the future output
///   trtllm          decodes and prefills in one step; admission reserves the whole request
///   static_batches  a batch is prefilled and decoded to its last token before the next starts
enum class scheduler_kind { vllm, sglang, trtllm, static_batches };

/// Name of a scheduler.
constexpr const char* name_of(scheduler_kind k) {
  constexpr const char* names[] = {"vllm", "sglang", "trtllm", "static_batches"};
  return detail::entry_of(names, k, "scheduler_kind");
}

/// Capacity policy of TensorRT-LLM.
enum class capacity_policy { guaranteed_no_evict, max_utilization };
/// Division of a token budget among prefills that do not all fit (TensorRT-LLM).
enum class chunk_order { first_come_first_served, equal_progress };

/// Settings of a simulated scheduler. The defaults are those of vLLM 0.24 on a large GPU; limits
/// are those of one data-parallel group.
struct scheduler_settings {
  const char* name = "vllm-0.24";
  scheduler_kind kind = scheduler_kind::vllm;
  /// max_num_batched_tokens, chunked_prefill_size, max_num_tokens
  int token_budget = 8192;
  int max_running = 1024;  ///< max_num_seqs, max_running_requests, max_batch_size
  bool chunked_prefill = true;
  int block_tokens = 16;  ///< tokens of a KV-cache block (a page)
  bool prefix_caching = true;
  /// A step is scheduled while the step before it runs: asynchronous scheduling, overlap scheduler.
  bool asynchronous = true;
  int extra_steps = 0;  ///< steps that a finished sequence stays in the batch
  /// Time of a step with prefill / time of its kernels and links. Source: as frontend_of.
  double prefill_overhead = 1.14;

  // vLLM
  int long_prefill_threshold = 0;  ///< most tokens of one prefill in a step; 0: no limit
  bool full_prompt_check = true;   ///< a prompt is admitted only if all of it fits the cache
  double watermark = 0.0;          ///< share of the blocks that admission leaves free

  // SGLang
  bool mixed_chunk = false;        ///< decodes run in the step of a prefill
  int max_prefill_tokens = 16384;  ///< prefill tokens after which a batch is closed
  double conservativeness = 1.0;   ///< schedule_conservativeness
  int receive_interval = 1;        ///< decode steps between two looks at the queue

  // TensorRT-LLM
  capacity_policy capacity = capacity_policy::guaranteed_no_evict;
  chunk_order order = chunk_order::first_come_first_served;
  int chunk_unit = 32;               ///< a cut chunk is a multiple of it
  int batching_wait_iterations = 0;  ///< steps that prefills wait for more prefills
  double batching_wait_share = 1.0;  ///< share of the budget that ends the wait

  bool pads_prefills = false;  ///< static batches: prompts are padded to the longest

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::within("token_budget", 1.0, 1e9, "1 to 10^9"), s.token_budget...);
    f(field::within("max_running", 1.0, 1e6, "1 to 10^6"), s.max_running...);
    f(field::within("block_tokens", 1.0, 65536.0, "1 to 65536"), s.block_tokens...);
    f(field::within("extra_steps", 0.0, 100.0, "0 to 100"), s.extra_steps...);
    f(field::within("prefill_overhead", 0.1, 10.0, "0.1 to 10"), s.prefill_overhead...);
    f(field::within("long_prefill_threshold", 0.0, 1e9, "0 to 10^9"), s.long_prefill_threshold...);
    f(field::within("watermark", 0.0, 0.9, "0 to 0.9"), s.watermark...);
    f(field::within("max_prefill_tokens", 1.0, 1e9, "1 to 10^9"), s.max_prefill_tokens...);
    f(field::within("conservativeness", 0.0, 10.0, "0 to 10"), s.conservativeness...);
    f(field::within("receive_interval", 1.0, 1e6, "1 to 10^6"), s.receive_interval...);
    f(field::within("chunk_unit", 1.0, 65536.0, "1 to 65536"), s.chunk_unit...);
    f(field::within("batching_wait_iterations", 0.0, 1e6, "0 to 10^6"),
      s.batching_wait_iterations...);
    f(field::within("batching_wait_share", 0.0, 1.0, "0 to 1"), s.batching_wait_share...);
  }
};

namespace schedulers {

/// vLLM before 0.14: synchronous scheduling, and only the first chunk of a prompt must fit.
/// Source: vLLM v1/core/sched/scheduler.py (async scheduling is the default since 2025-12-29).
inline constexpr scheduler_settings vllm_0_10{
    .name = "vllm-0.10", .asynchronous = false, .full_prompt_check = false};
/// vLLM 0.14 to 0.18: asynchronous scheduling.
inline constexpr scheduler_settings vllm_0_14{.name = "vllm-0.14", .full_prompt_check = false};
/// vLLM from 0.19 on: the whole prompt must fit at admission (since 2026-03-24).
inline constexpr scheduler_settings vllm_0_24{};
/// SGLang 0.5: prefill first, radix cache with pages of one token, overlap scheduler.
/// Source: SGLang managers/schedule_policy.py, managers/scheduler.py.
inline constexpr scheduler_settings sglang_0_5{.name = "sglang-0.5",
                                               .kind = scheduler_kind::sglang,
                                               .max_running = 2048,
                                               .block_tokens = 1,
                                               .extra_steps = 1,
                                               .prefill_overhead = 1.2};
/// TensorRT-LLM 1.x, PyTorch backend: in-flight batching of whole prompts, capacity to completion.
/// Source: TensorRT-LLM capacityScheduler.cpp, microBatchScheduler.cpp, llm_args.py.
inline constexpr scheduler_settings trtllm_1_0{.name = "trtllm-1.0",
                                               .kind = scheduler_kind::trtllm,
                                               .max_running = 2048,
                                               .chunked_prefill = false,
                                               .block_tokens = 32,
                                               .extra_steps = 1,
                                               .prefill_overhead = 1.1};
/// A batch runs until its last sequence ends.
inline constexpr scheduler_settings static_batches{.name = "static",
                                                   .kind = scheduler_kind::static_batches,
                                                   .max_running = 32,
                                                   .prefix_caching = false,
                                                   .asynchronous = false,
                                                   .prefill_overhead = 1.0};

inline constexpr const scheduler_settings* all[] = {&vllm_0_10,  &vllm_0_14,  &vllm_0_24,
                                                    &sglang_0_5, &trtllm_1_0, &static_batches};

}  // namespace schedulers

/// Scheduler of a name ("vllm-0.24", "sglang-0.5", ...); null for an unknown name.
constexpr const scheduler_settings* find_scheduler(std::string_view name) {
  for (const scheduler_settings* s : schedulers::all)
    if (name == s->name) return s;
  return nullptr;
}

/// Scheduler of a deployment's engine in its release, with the engine's default limits on
/// the device. Stated limits of the deployment take precedence; SGLang's `sequences` limit is its
/// largest captured graph and does not limit admission.
/// Source: engine_limits_on; SGLang divides its chunk budget among data-parallel groups.
/// Test: the defaults of each engine on 24 and 80 GiB.
inline scheduler_settings scheduler_of(const deployment& d) {
  scheduler_settings s = schedulers::vllm_0_24;
  if (d.release == engine_release::vllm_0_10) s = schedulers::vllm_0_10;
  if (d.release == engine_release::vllm_0_14) s = schedulers::vllm_0_14;
  if (d.serving_engine == engine::sglang) s = schedulers::sglang_0_5;
  if (d.serving_engine == engine::trtllm) s = schedulers::trtllm_1_0;
  const engine_limits limits = engine_limits_on(
      d.serving_engine, d.limits, d.device.dram.capacity.quantity(), d.layout.tensor,
      d.device.architecture == chip_architecture::ampere, d.release);
  s.token_budget = static_cast<int>(*limits.tokens);
  if (d.serving_engine == engine::sglang) {
    s.token_budget = (std::max)(1, s.token_budget / d.layout.data);
  } else {
    s.max_running = static_cast<int>(*limits.sequences);
  }
  return s;
}

/// Admission limit of a data-parallel group for `stated` requests of the whole replica: SGLang
/// divides max_running_requests among the groups, others take it per group.
/// Source: SGLang, kv_cache_configurator.py, at commit 8905cbd42.
/// Test: 100 over 8 groups are 12, and 100 in vLLM.
inline int max_running_of(const deployment& d, int stated) {
  return d.serving_engine == engine::sglang ? (std::max)(1, stated / d.layout.data) : stated;
}
/// SGLang's max_running_requests with speculative decoding, where nothing is stated.
/// Source: SGLang, speculative_hook.py, at commit 8905cbd42.
inline constexpr int sglang_speculative_requests = 48;

/// Front end of an engine.
/// Source: chosen by hand on published services, not by a fit:
/// docs/validation/simulated_runs.md.
constexpr frontend_time frontend_of(engine e) {
  switch (e) {
    case engine::vllm: return {4e-3, 0.5e-3, 2e-6};
    case engine::sglang: return {20e-3, 0.5e-3, 2e-6};
    case engine::trtllm: return {20e-3, 0.5e-3, 2e-6};
    default: return {};
  }
}

}  // namespace perfmodel::inline v0_3
