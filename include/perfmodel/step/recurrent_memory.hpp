// Memory of a sequence that does not grow with its length, on one device: recurrent states in the
// engine's format, one per draft token, and pools of them; keys and values of images.
#pragma once

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

/// Bytes that a sequence needs of a memory that SGLang splits once into a pool of states (0.9 to 1)
/// and one of KV cache: whichever pool is full first. Other engines have one pool.
/// Source: sglang, server_args.py, mamba_full_memory_ratio.
template <Scalar T>
constexpr bytes<T> sequence_of_pools(const basic_deployment<T>& d, const bytes<T>& sequence) {
  constexpr double ratio = 0.9;
  const bytes<T> states = states_on_device(d);
  const bytes<T> cache = sequence - states;
  if (d.serving_engine != engine::sglang || !(upper(states.value()) > 0.0)) return sequence;
  return bytes<T>::from_value(
      scalar_max(T(states.value() * ((1.0 + ratio) / ratio)), T(cache.value() * (1.0 + ratio))));
}

}  // namespace perfmodel::inline v0_3::detail
