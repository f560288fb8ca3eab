// What each operator of a pass takes under a policy: alone, beside another in one kernel, and small ones.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/deployment/operators.hpp>
#include <perfmodel/deployment/small_kernels.hpp>
#include <perfmodel/policy/execution.hpp>
#include <perfmodel/roofline.hpp>

namespace perfmodel::detail {

/// A policy that knows an operator better than its demand has policy.estimate(device, operator).
template <Scalar T, class W, class Policy>
constexpr duration<T> operator_time(const basic_accelerator<T>& device,
                                    const basic_demand<T>& demand, const W& workload,
                                    const Policy& policy) {
  if constexpr (requires { policy.estimate(device, workload); }) {
    return policy.estimate(device, workload).time;
  } else {
    return roofline(device, demand, policy).time;
  }
}

/// visit(operator, time of all of them) for what for_each_operator visits, of valid values. Where the
/// policy has one kernel for prompts beside decodes, policy.beside(device, prompts, decodes), the prompts
/// take what that kernel takes beyond the decodes alone: of `times` passes with decodes the prompts join a share.
template <Scalar T, class Policy, class Visit>
constexpr void visit_operator_times(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                    const Policy& policy, Visit&& visit) {
  std::optional<basic_attention_decode<T>> decodes;
  duration<T> of_decodes{};
  visit_operators(d, i, [&]<class W>(const basic_operator<T>& o, const W& workload) {
    duration<T> one{};
    if constexpr (std::same_as<W, basic_attention_prefill<T>>) {
      std::optional<duration<T>> both;
      if constexpr (requires { policy.beside(d.device, workload, *decodes); }) {
        if (decodes) both = policy.beside(d.device, workload, *decodes);
      }
      one = both ? duration<T>(*both - of_decodes)
                 : operator_time(d.device, o.demand, workload, policy);
    } else {
      one = operator_time(d.device, o.demand, workload, policy);
    }
    decodes.reset();
    if constexpr (std::same_as<W, basic_attention_decode<T>>) {
      decodes = workload;
      of_decodes = one;
    }
    visit(o, duration<T>(o.times * one));
  });
}

/// The same for small kernels that the policy counts: policy.small_kernels.
template <Scalar T, class Policy, class Visit>
constexpr void visit_small_kernel_times(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                        const Policy& policy, Visit&& visit) {
  if constexpr (requires { policy.small_kernels.any(); }) {
    if (!policy.small_kernels.any()) return;
    visit_small_kernels(rank_pass<T>{d, i}, [&](small_kernel k, const T& times, const auto& w) {
      if (!policy.small_kernels.counts(k)) return;
      const basic_operator<T> o{
          .name = name_of(k), .times = times, .demand = perfmodel::demand_of(w)};
      visit(o, duration<T>(times * policy.small_kernel_time(d.device, k, w)));
    });
  }
}

}  // namespace perfmodel::detail
