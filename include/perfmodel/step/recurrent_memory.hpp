// Memory of a sequence that does not grow with its length, on one device: recurrent states in the
// engine's format, one per draft token, and pools of them; keys and values of images.
#pragma once

#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/step/deployment.hpp>

namespace perfmodel::inline v0_3::detail {

/// Further states of a running sequence with prefix caching. vLLM: a checkpoint at the last block
/// boundary of the prompt. SGLang: the matched prefix, and the state handed to the cache.
/// Sources: vLLM, v1/kv_cache_interface.py, MambaSpec.max_memory_usage_bytes, mode `align` (2 + k
/// pages, without caching 1 + k); SGLang, kv_cache_configurator.py,
/// MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO of 3.
/// Leaves out: vLLM's mode `all`, with a state per block; SGLang's extra buffers, one or two more
/// states; checkpoints of ended sequences, which are evicted.
/// Test: Qwen3.5-27B holds as many sequences as their cache and 2 or 3 states allow, by hand.
constexpr double checkpoints_of(engine e) {
  return e == engine::sglang ? 2.0 : 1.0;
}

/// Bytes of the states of one mixer as the deployment's engine keeps them, with a copy per draft
/// token, and the checkpoints of prefix caching.
template <Scalar T, class Shape>
constexpr bytes<T> states_of(const basic_deployment<T>& d, const Shape& a) {
  if constexpr (requires { a.state_format; }) {
    const T states =
        d.states_per_sequence + (d.prefix_caching ? checkpoints_of(d.serving_engine) : 0.0);
    return states * sequence_state(stored_by(d.serving_engine, a));
  } else {
    return {};
  }
}

/// Bytes of a sequence in one mixer that do not grow with its length: states_of, or the keys and
/// values of its images in a cross-attention layer (Llama 3.2 Vision).
/// Test: 525 MB per image in the 20 layers of Llama 3.2 90B Vision.
template <Scalar T, class Shape>
constexpr bytes<T> fixed_bytes_of(const basic_deployment<T>& d, const Shape& a,
                                  const storage_format& kv) {
  if constexpr (requires { a.image_tokens; }) {
    if (!a.image_tokens) return {};
    return d.image_tokens * a.key_value_width() * bytes_of(kv);
  } else {
    return states_of(d, a);
  }
}

/// Bytes of recurrent states that one device stores for one sequence.
template <Scalar T>
constexpr bytes<T> states_on_device(const basic_deployment<T>& d) {
  return over_layers(d.model.layers.mixers,
                     [&](const auto& a) {
                       return bytes<T>(cache_share(a, T(d.layout.tensor)) * states_of(d, a));
                     }) /
         T(d.layout.pipeline);
}

/// SGLang's pool of recurrent states over its pool of KV cache.
inline constexpr double sglang_state_ratio = 0.9;

/// Bytes that a sequence needs of a memory that SGLang splits once into a pool of states (0.9 to 1)
/// and one of KV cache: whichever pool is full first. Other engines have one pool.
/// Source: sglang, server_args.py, mamba_full_memory_ratio.
template <Scalar T>
constexpr bytes<T> sequence_of_pools(const basic_deployment<T>& d, const bytes<T>& sequence) {
  if (d.serving_engine != engine::sglang) return sequence;
  constexpr double ratio = sglang_state_ratio;
  const bytes<T> states = states_on_device(d);
  const bytes<T> cache = sequence - states;
  if (!(upper(states.value()) > 0.0)) return sequence;
  return bytes<T>::from_value(
      scalar_max(T(states.value() * ((1.0 + ratio) / ratio)), T(cache.value() * (1.0 + ratio))));
}

/// Tokens of a memory of `available` bytes that holds sequences of `context` tokens and their
/// recurrent states: available / sequence x context. In SGLang, those of the pool of KV cache.
/// Sources: vLLM, v1/core/kv_cache_utils.py, get_kv_cache_capacity; SGLang as sequence_of_pools.
/// Test: Qwen3.5-27B under both engines, by hand (tests/cli/model_files.sh).
template <Scalar T>
constexpr T tokens_with_states(const basic_deployment<T>& d, const bytes<T>& available,
                               const bytes<T>& sequence, const T& context) {
  using math::floor;
  if (d.serving_engine != engine::sglang) return floor(T(available / sequence * context));
  const bytes<T> cache = sequence - states_on_device(d);
  return floor(T(available / ((1.0 + sglang_state_ratio) * cache) * context));
}

/// Leaves room for a drafter's cache of `drafter` bytes per sequence of `own` bytes. SGLang stores
/// it in the pool of KV cache, which recurrent states may leave unused.
/// Test: Qwen3.5-27B with MTP heads, by hand (tests/cli/model_files.sh).
template <Scalar T>
constexpr void share_with_drafter(basic_kv_capacity<T>& c, const basic_deployment<T>& d,
                                  const bytes<T>& own, const bytes<T>& drafter) {
  using math::floor;
  const T share = T(sequence_of_pools(d, own) / sequence_of_pools(d, bytes<T>(own + drafter)));
  const T blocks = floor(T(c.blocks * share));
  if (upper(c.blocks) > 0.0) c.tokens = c.tokens * T(blocks / c.blocks);
  c.blocks = blocks;
  c.sequences = floor(T(c.sequences * share));
}

}  // namespace perfmodel::inline v0_3::detail
