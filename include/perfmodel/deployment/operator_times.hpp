// What each operator of a pass takes under a policy: alone, beside another in one kernel, and small ones.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/deployment/operators.hpp>
#include <perfmodel/deployment/small_kernels.hpp>
#include <perfmodel/policy/execution.hpp>
#include <perfmodel/roofline.hpp>

namespace perfmodel::detail {

/// Whether a policy has one kernel for prompts beside decodes, policy.beside(device, prompts, decodes).
template <class Policy, class T>
concept has_mixed_kernel = requires(const Policy& policy, const basic_accelerator<T>& device,
                                    const basic_attention_prefill<T>& prompts,
                                    const basic_attention_decode<T>& decodes) {
  policy.beside(device, prompts, decodes);
};

struct nothing_kept {};
/// What a policy keeps of operators between the passes of an answer: Policy::kept_type, or nothing.
template <class Policy>
struct kept_by {
  using type = nothing_kept;
};
template <class Policy>
  requires requires {
    typename Policy::kept_type;
  }
struct kept_by<Policy> {
  using type = typename Policy::kept_type;
};

/// What operators take, one after the other as a pass has them: policy.time(device, operator), with what
/// earlier passes kept where the policy keeps something, or the time of policy.estimate(device, operator), of a policy that knows an operator better than its demand, else
/// the roofline's. Where the policy has one kernel for prompts beside decodes, prompts take what that takes
/// beyond the decodes alone: of `times` passes with decodes the prompts join a share.
template <Scalar T, class Policy>
class operator_times {
 public:
  constexpr operator_times(const basic_accelerator<T>& device, const Policy& policy)
      : device_(device), policy_(policy) {}

  /// demand(): of the operator, where it is asked for.
  template <class W, class Demand>
  constexpr duration<T> of(const W& workload, const Demand& demand) {
    if constexpr (!has_mixed_kernel<Policy, T>) {
      return alone(workload, demand);
    } else if constexpr (std::same_as<W, basic_attention_prefill<T>>) {
      std::optional<duration<T>> both;
      if (decodes_) both = policy_.beside(device_, workload, *decodes_);
      decodes_.reset();
      return both ? duration<T>(*both - of_decodes_) : alone(workload, demand);
    } else {
      const duration<T> one = alone(workload, demand);
      decodes_.reset();
      if constexpr (std::same_as<W, basic_attention_decode<T>>) {
        decodes_ = workload;
        of_decodes_ = one;
      }
      return one;
    }
  }

 private:
  template <class W, class Demand>
  constexpr duration<T> alone(const W& workload, const Demand& demand) {
    if constexpr (requires { policy_.time(device_, workload, kept_); }) {
      return policy_.time(device_, workload, kept_);
    } else if constexpr (requires { policy_.time(device_, workload); }) {
      return policy_.time(device_, workload);
    } else if constexpr (requires { policy_.estimate(device_, workload); }) {
      return policy_.estimate(device_, workload).time;
    } else {
      return roofline(device_, demand(), policy_).time;
    }
  }

  const basic_accelerator<T>& device_;
  const Policy& policy_;
  std::optional<basic_attention_decode<T>> decodes_{};
  duration<T> of_decodes_{};
  [[no_unique_address]] typename kept_by<Policy>::type kept_{};
};

/// visit(operator, time of all of them) for what for_each_operator visits, of valid values.
template <Scalar T, class Policy, class Visit>
constexpr void visit_operator_times(const rank_pass<T>& p, operator_times<T, Policy>& times,
                                    Visit&& visit) {
  visit_operators(p, [&](const basic_operator<T>& o, const auto& workload) {
    const duration<T> one =
        times.of(workload, [&]() -> const basic_demand<T>& { return o.demand; });
    visit(o, duration<T>(o.times * one));
  });
}

template <Scalar T, class Policy, class Visit>
constexpr void visit_operator_times(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                    const Policy& policy, Visit&& visit) {
  const engine_formats formats = formats_of(d);
  operator_times<T, Policy> times(d.device, policy);
  visit_operator_times(rank_pass<T>{d, i, formats}, times, visit);
}

/// The same for small kernels that the policy counts: policy.small_kernels.
template <Scalar T, class Policy, class Visit>
constexpr void visit_small_kernel_times(const rank_pass<T>& p, const Policy& policy,
                                        Visit&& visit) {
  if constexpr (requires { policy.small_kernels.any(); }) {
    if (!policy.small_kernels.any()) return;
    visit_small_kernels(p, [&](small_kernel k, const T& times, const auto& w) {
      if (!policy.small_kernels.counts(k)) return;
      const basic_operator<T> o{
          .name = name_of(k), .times = times, .demand = perfmodel::demand_of(w)};
      visit(o, duration<T>(times * policy.small_kernel_time(p.on.device, k, w)));
    });
  }
}

template <Scalar T, class Policy, class Visit>
constexpr void visit_small_kernel_times(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                        const Policy& policy, Visit&& visit) {
  const engine_formats formats = formats_of(d);
  visit_small_kernel_times(rank_pass<T>{d, i, formats}, policy, visit);
}

}  // namespace perfmodel::detail
