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
  double weight_copies = 0.0;  ///< buffers that a benchmark reads in turn; 0: cold cache
};

/// The accelerator of the bound of a call that a benchmark repeats, with a working set W of all its
/// buffers: of a working set that stays, L2 of capacity C serves at most the share C / W, and DRAM
/// the rest; all of it is not faster than L2 bandwidth, where that is stated. From W = 2 C on the
/// cache is cold. *Source*: a cache of C holds no more than C; 2 C as in the published benchmarks,
/// where KV caches under twice the L2 may be read from it.
template <perfmodel::Scalar T>
perfmodel::basic_accelerator<T> with_warm_cache(perfmodel::basic_accelerator<T> a,
                                                const perfmodel::bytes<T>& working_set) {
  using perfmodel::mid;
  if (!a.l2.capacity.is_stated() || !(mid(working_set.value()) > 0.0)) return a;
  const T held = a.l2.capacity.quantity() / working_set;
  if (!(mid(held) > 0.5)) return a;
  constexpr double none = 1e6;  // of a working set that fits, DRAM is no limit
  const T factor = mid(held) < 1.0 - 1.0 / none ? T(T(1.0) / (T(1.0) - held)) : T(none);
  perfmodel::bandwidth<T> most = factor * a.dram.bandwidth.quantity();
  if (a.l2.bandwidth.is_stated() && mid(a.l2.bandwidth.quantity().value()) < mid(most.value()))
    most = a.l2.bandwidth.quantity();
  if (mid(most.value()) > mid(a.dram.bandwidth.quantity().value())) a.dram.bandwidth = most;
  return a;
}

/// A calibration over T. `weight_copies` as in perfmodel::replaying. `over(spec, prefix, source)`
/// gives a spec over T.
template <perfmodel::Scalar T, class Inputs>
perfmodel::basic_calibrated<T> calibration_over(const calibration& c, const T& weight_copies,
                                                Inputs&& over) {
  using perfmodel::profile_part;
  const perfmodel::calibrated& from = c.calibration;
  if constexpr (std::same_as<T, double>) {
    perfmodel::calibrated s = from;
    s.conditions = perfmodel::replay_conditions(weight_copies);
    return s;
  }
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
