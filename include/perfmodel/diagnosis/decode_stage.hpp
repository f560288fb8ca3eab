// The four stages of decoding: launches, the L2, DRAM, compute.
#pragma once

#include <perfmodel/core/entry_of.hpp>
#include <perfmodel/step.hpp>

namespace perfmodel {

/// What a step of decoding waits for, from few sequences to many.
enum class decode_stage { launch, l2, bandwidth, compute };

constexpr const char* name_of(decode_stage s) {
  constexpr const char* names[] = {"launch", "l2", "bandwidth", "compute"};
  return detail::entry_of(names, s, "decode_stage");
}

/// The stage of a step: the longest of n launches at `cpu` each, its bytes (from the L2 where those of the whole
/// step fit there, else from DRAM) and its FLOP. Ties go to the first. Source: the four stages of a lab on
/// RTX 5080 with Qwen2.5-3B. Leaves out kernels of which some have their bytes in the L2.
/// Tests: launches of 8 us: Qwen2.5-3B alone on B200 launch, Llama-3-8B alone on H100 bandwidth, with 1024
/// short ones compute; a model of 20 MB on H100 without launches l2.
template <Scalar T>
constexpr decode_stage decode_stage_of(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                       const duration<T>& cpu) {
  const basic_step_demand<T> s = demand_of_step(d, i);
  const bytes<T> moved = s.weights + s.cache;
  const duration<T> launches = s.launches * detail::not_negative("cpu", cpu);
  const bool inside = d.device.l2.capacity.is_stated() && d.device.l2.bandwidth.is_stated() &&
                      upper(moved.value()) <= lower(d.device.l2.capacity.quantity().value());
  const duration<T> memory =
      moved / (inside ? d.device.l2.bandwidth : d.device.dram.bandwidth).quantity();
  const double l = lower(launches.value()), m = lower(memory.value()), c = lower(s.compute.value());
  if (l >= m && l >= c) return decode_stage::launch;
  if (m >= c) return inside ? decode_stage::l2 : decode_stage::bandwidth;
  return decode_stage::compute;
}

}  // namespace perfmodel
