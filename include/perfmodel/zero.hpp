// ZeRO: which training state data-parallel ranks share out, what is left on each, and what they
// send.
#pragma once

#include <perfmodel/collectives.hpp>

namespace perfmodel {

/// What is shared out: nothing; optimizer state (ZeRO-1); also gradients (ZeRO-2); also parameters
/// (ZeRO-3, FSDP).
enum class zero_stage { none, optimizer, gradients, parameters };

constexpr const char* name_of(zero_stage s) {
  constexpr const char* names[] = {"none", "optimizer", "gradients", "parameters"};
  return names[static_cast<int>(s)];
}

/// Bytes per parameter of each training state. The defaults are mixed-precision Adam's: 16-bit
/// parameters and gradients; fp32 parameters, momentum and variance.
template <Scalar T = double>
struct basic_training_state {
  T parameters = T(2.0), gradients = T(2.0), optimizer = T(12.0);
};
using training_state = basic_training_state<>;

/// Bytes per parameter on each of N ranks: 16, 4 + 12/N, 2 + 14/N, 16/N.
/// Source: Rajbhandari et al., "ZeRO", SC20, section 5 and figure 1. Leaves out activations,
/// buffers and what is gathered for the layer at work. Test: N = 64: 16, 4.19, 2.22, 0.25.
template <Scalar T = double>
constexpr T zero_bytes_per_parameter(zero_stage stage, int data,
                                     const basic_training_state<T>& s = {}) {
  const T n(detail::rank_count("data_parallel", data));
  const T p = detail::not_negative("parameters", s.parameters);
  const T g = detail::not_negative("gradients", s.gradients);
  const T o = detail::not_negative("optimizer", s.optimizer);
  switch (stage) {
    case zero_stage::none:
      return p + g + o;
    case zero_stage::optimizer:
      return p + g + o / n;
    case zero_stage::gradients:
      return p + (g + o) / n;
    default:
      return (p + g + o) / n;
  }
}
/// The same for a whole model. Test: 7.5e9 parameters over 64 ranks: 120, 31.4, 16.6, 1.9 GB.
template <Scalar T = double>
constexpr bytes<T> zero_memory(zero_stage stage, int data, const T& parameters,
                               const basic_training_state<T>& s = {}) {
  return named("training state", detail::count("parameters", parameters) *
                                     zero_bytes_per_parameter(stage, data, s) * lift<T>(byte));
}

/// Bytes one rank sends in a step: (N-1)/N times 2 P b (an all-reduce, or a reduce-scatter of the
/// gradients and an all-gather of the parameters), 3 P b when the parameters are shared out too and
/// gathered for forward and backward. Source: Rajbhandari et al. 2020, section 7.
/// Test: stage 3 sends 1.5 times what the others do.
template <Scalar T = double>
constexpr wire_bytes<T> zero_traffic(zero_stage stage, int data, const T& parameters,
                                     const basic_training_state<T>& s = {}) {
  const double part = bus_factor(collective::all_gather, data);
  const T gathers(stage == zero_stage::parameters ? 2.0 : 1.0);
  const T sent = detail::not_negative("gradients", s.gradients) +
                 gathers * detail::not_negative("parameters", s.parameters);
  return wire_bytes<T>(
      named("wire bytes", part * (detail::count("parameters", parameters) * sent * lift<T>(byte))));
}

}  // namespace perfmodel
