// The two modes as policies over any scalar: what the laws take.
#pragma once

#include <perfmodel/calibrated/collectives.hpp>
#include <perfmodel/calibrated/policy.hpp>
#include <perfmodel/collectives.hpp>
#include <perfmodel/policy/execution.hpp>

#include "inputs.hpp"
#include "profiles.hpp"

namespace napkin {

struct bound_mode {
  perfmodel::datasheet kernels{};
  perfmodel::full_link links{};
  perfmodel::full_link network{};  ///< between nodes
};

/// The calibrated policy, with the kernels that fit an operator: an attention library by the width
/// of the cache, an expert library by that of the weights.
template <perfmodel::Scalar T>
class calibrated_kernels : public perfmodel::basic_calibrated<T> {
  using policy = perfmodel::basic_calibrated<T>;

 public:
  calibrated_kernels() = default;
  calibrated_kernels(const policy& wide, const policy& narrow, const policy& spread)
      : policy(wide), narrow_(narrow), spread_(spread) {}

  template <class W>
    requires requires(const policy& p, const perfmodel::basic_accelerator<T>& a, const W& w) {
      p.estimate(a, w);
    }
  constexpr perfmodel::basic_estimate<T> estimate(const perfmodel::basic_accelerator<T>& a,
                                                  const W& w) const {
    return for_operator(w).estimate(a, w);
  }
  /// A block of experts under the routing that is stated.
  constexpr perfmodel::basic_estimate<T> estimate(const perfmodel::basic_accelerator<T>& a,
                                                  const perfmodel::basic_moe_ffn<T>& w,
                                                  perfmodel::routing how) const {
    const policy& p = for_operator(w);
    return perfmodel::calibrated_estimate(a, w, p.moe, p.moe_kernels, how);
  }

 private:
  template <class W>
  constexpr const policy& for_operator(const W& w) const {
    if constexpr (requires { w.kv_format.bits(); }) {
      if (w.kv_format.bits() < 16.0) return narrow_;
    } else if constexpr (requires { w.experts; }) {
      using perfmodel::upper;
      if (w.weights.bits() < 16.0) return upper(w.expert_parallel) > 1.0 ? spread_ : narrow_;
    }
    return *this;
  }

  policy narrow_{}, spread_{};
};

template <perfmodel::Scalar T>
struct calibrated_mode {
  calibrated_kernels<T> kernels{};
  perfmodel::basic_calibrated_collectives<T> links{};
  perfmodel::basic_calibrated_collectives<T> network{};
};

/// The policies of a calibration: the one place that knows what the library's policies are made of.
/// `weight_copies` as in basic_calibrated. `name_inputs(spec, prefix, source)` gives a spec over T.
template <perfmodel::Scalar T, class Inputs>
calibrated_mode<T> policies_of(const calibration& c, const perfmodel::basic_accelerator<T>& device,
                               const T& weight_copies, Inputs&& over) {
  perfmodel::basic_calibrated<T> wide;
  wide.machine = over(c.machine.value, "profile", c.machine.from);
  wide.engine = over(c.engine, "engine", c.engine.from);
  wide.attention = over(c.attention.value, "attention", c.attention.from);
  wide.attention_kernels = over(c.attention_kernels, "attention_kernels", c.attention.from);
  wide.moe = over(c.experts.value, "experts", c.experts.from);
  wide.moe_kernels = over(c.expert_kernels, "expert_kernels", c.experts.from);
  wide.weight_copies = weight_copies;
  perfmodel::basic_calibrated<T> narrow = wide;
  narrow.attention_kernels =
      over(c.narrow_attention_kernels, "attention_kernels", c.attention.from);
  narrow.moe_kernels = over(c.narrow_expert_kernels, "expert_kernels", c.experts.from);
  perfmodel::basic_calibrated<T> spread = narrow;
  spread.moe_kernels = over(c.spread_expert_kernels, "expert_kernels", c.experts.from);
  return {calibrated_kernels<T>(wide, narrow, spread),
          perfmodel::calibrated_collectives_on(
              device, over(c.links, "collective", c.links.from),
              over(c.custom, "engine_all_reduce_kernels", c.links.from)),
          perfmodel::calibrated_collectives_on(device, over(c.network, "network", c.network.from))};
}

/// The estimate of an operator: by the policy's own model of it, where it has one.
template <perfmodel::Scalar T, class W, class Mode>
perfmodel::basic_estimate<T> estimate_of(const perfmodel::basic_accelerator<T>& a, const W& w,
                                         const perfmodel::basic_demand<T>& d, const Mode& mode) {
  if constexpr (requires { mode.kernels.estimate(a, w); }) {
    return mode.kernels.estimate(a, w);
  } else {
    return perfmodel::roofline(a, d, mode.kernels);
  }
}

}  // namespace napkin
