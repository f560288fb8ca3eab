// Scheduling rules of serving engines.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/engine/engine.hpp>

namespace perfmodel::inline v0_3 {

/// Tokens that an engine step processes. `mixed_chunks`: every sequence decodes, and prefill chunks
/// fill the rest of the token budget. `prefill_first`: waiting prefills run without decodes, as
/// many as the budget takes. `static_batches`: requests start at once, and none joins until the
/// last has ended.
enum class scheduling { mixed_chunks, prefill_first, static_batches };

constexpr const char* name_of(scheduling s) {
  constexpr const char* names[] = {"mixed_chunks", "prefill_first", "static_batches"};
  return detail::entry_of(names, s, "scheduling");
}

/// Restoration of a preempted sequence's cache: recomputed, or swapped in from host memory.
enum class preemption { recompute, swap };

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
