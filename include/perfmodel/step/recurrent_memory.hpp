// Memory of recurrent states on one device: the engine's format, a state per draft token, pools.
#pragma once

#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/step/deployment.hpp>

namespace perfmodel::inline v0_3::detail {

/// Bytes of the states of one mixer as the deployment's engine keeps them, with a copy per draft
/// token.
template <Scalar T, class Shape>
constexpr bytes<T> states_of(const basic_deployment<T>& d, const Shape& a) {
  if constexpr (requires { a.state_format; }) {
    return d.states_per_sequence * sequence_state(stored_by(d.serving_engine, a));
  } else {
    return {};
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
