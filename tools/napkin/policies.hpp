// The two modes, each as one policy over any scalar.
#pragma once

#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/laws/execution.hpp>
#include <perfmodel/parallel/collectives.hpp>

#include "inputs.hpp"
#include "profiles.hpp"

namespace napkin {

/// The two modes: data sheets of kernels and links, or a perfmodel::basic_calibrated.
struct bound_mode : perfmodel::datasheet, perfmodel::full_link {
  using hooks = perfmodel::policy_hooks<bound_mode>;
};

/// A calibration over T. `weight_copies` as in perfmodel::replaying. `over(spec, prefix, source)`
/// gives a spec over T.
template <perfmodel::Scalar T, class Inputs>
perfmodel::basic_calibrated<T> calibration_over(const calibration& c, const T& weight_copies,
                                                Inputs&& over) {
  using perfmodel::profile_part;
  const perfmodel::calibrated& from = c.calibration;
  const auto source_of = [&from](profile_part p) { return from.note(p).from; };
  perfmodel::basic_calibrated<T> s = perfmodel::lift<T>(from);
  s.machine = over(from.machine, "profile", source_of(profile_part::gemms));
  s.engine = over(from.engine, "engine", source_of(profile_part::quantisation));
  const auto attention = source_of(profile_part::attention);
  s.attention = over(from.attention, "attention", attention);
  s.attention_kernels = over(from.attention_kernels, "attention_kernels", attention);
  s.low_precision_attention_kernels =
      over(from.low_precision_attention_kernels, "attention_kernels", attention);
  const auto experts = source_of(profile_part::experts);
  s.moe_kernels = over(from.moe_kernels, "expert_kernels", experts);
  if (from.untuned_moe_kernels) {
    s.untuned_moe_kernels = over(*from.untuned_moe_kernels, "expert_kernels", experts);
  }
  s.dequantised_moe_kernels = over(from.dequantised_moe_kernels, "expert_kernels", experts);
  s.low_precision_moe_kernels = over(from.low_precision_moe_kernels, "expert_kernels", experts);
  s.expert_parallel_moe_kernels = over(from.expert_parallel_moe_kernels, "expert_kernels", experts);
  const auto links = source_of(profile_part::links);
  s.links.profile.value = over(from.links.profile.value, "collective", links);
  s.links.profile.protocols = over(from.links.profile.protocols, "protocols", links);
  s.links.kernels = over(from.links.kernels, "engine_all_reduce_kernels", links);
  s.network.profile.value =
      over(from.network.profile.value, "network", source_of(profile_part::network));
  s.conditions = perfmodel::replay_conditions(weight_copies);
  return s;
}

/// The estimate of an operator: by the policy's own model of it, where it has one.
template <perfmodel::Scalar T, class W, class Mode>
perfmodel::basic_estimate<T> estimate_of(const perfmodel::basic_accelerator<T>& a, const W& w,
                                         const perfmodel::basic_demand<T>& d, const Mode& mode) {
  if constexpr (requires { mode.estimate(a, w); }) {
    return mode.estimate(a, w);
  } else {
    return perfmodel::roofline(a, d, mode);
  }
}

}  // namespace napkin
