// How an engine's scheduler fills its iterations.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/engine/engine.hpp>

namespace perfmodel {

/// Which tokens an iteration takes. `mixed_chunks`: every sequence decodes, and prompts fill what is
/// left of the token budget, in chunks. `prefill_first`: prompts that wait run alone, as many as the
/// budget takes, and decoding stops meanwhile. `static_batches`: requests are started together, and
/// none joins until the last has ended.
enum class scheduling { mixed_chunks, prefill_first, static_batches };

constexpr const char* name_of(scheduling s) {
  constexpr const char* names[] = {"mixed_chunks", "prefill_first", "static_batches"};
  return detail::entry_of(names, s, "scheduling");
}

/// How the cache of an evicted sequence comes back: computed anew, or from the host's memory.
enum class preemption { recompute, swap };

constexpr const char* name_of(preemption p) {
  constexpr const char* names[] = {"recompute", "swap"};
  return detail::entry_of(names, p, "preemption");
}

/// What an engine does unless told otherwise. Sources: vLLM, docs/configuration/optimization.md
/// (chunked prefill is on wherever it can be); TensorRT-LLM,
/// docs/source/features/paged-attention-ifb-scheduler.md (prompts run beside answers in one iteration;
/// whole ones, where vLLM cuts them); SGLang, docs/advanced_features/server_arguments.md
/// (enable_mixed_chunk is off). `none` is as vLLM.
constexpr scheduling scheduling_of(engine e) {
  return e == engine::sglang ? scheduling::prefill_first : scheduling::mixed_chunks;
}

/// Whether an engine admits a request that fits with the tokens it has, and lets it grow (TensorRT-LLM
/// keeps room for the whole answer). Sources: vLLM, v1/core/sched/scheduler.py; SGLang,
/// managers/schedule_policy.py (a share of the answer to come is counted); TensorRT-LLM,
/// docs/source/features/paged-attention-ifb-scheduler.md (GUARANTEED_NO_EVICT).
constexpr bool grows_into_memory(engine e) {
  return e != engine::trtllm;
}

}  // namespace perfmodel
