// What one pass takes, of a deployment and an iteration that are valid: its demand, its bound, its prediction.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/laws/execution.hpp>
#include <perfmodel/laws/roofline.hpp>
#include <perfmodel/step/communication.hpp>
#include <perfmodel/step/operators.hpp>

// What each operator of a pass takes under a policy: alone, beside another in one kernel, and small ones.

namespace perfmodel::detail {

/// Whether a policy has one kernel for prompts beside decodes, policy.beside(device, prompts, decodes).
template <class Policy, class T>
concept has_mixed_kernel = requires(const Policy& policy, const basic_accelerator<T>& device,
                                    const basic_attention_prefill<T>& prompts,
                                    const basic_attention_decode<T>& decodes) {
  policy.beside(device, prompts, decodes);
};

struct no_memo {};
/// What a policy keeps of operators between the passes of an answer: Policy::memo_type, or nothing.
template <class Policy>
struct kept_by {
  using type = no_memo;
};
template <class Policy>
  requires requires {
    typename Policy::memo_type;
  }
struct kept_by<Policy> {
  using type = typename Policy::memo_type;
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
constexpr void visit_operator_times(const rank_step<T>& p, operator_times<T, Policy>& times,
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
  visit_operator_times(rank_step<T>{d, i, formats}, times, visit);
}

/// The same for small kernels that the policy counts: policy.elementwise_kernels.
template <Scalar T, class Policy, class Visit>
constexpr void visit_elementwise_kernel_times(const rank_step<T>& p, const Policy& policy,
                                              Visit&& visit) {
  if constexpr (requires { policy.elementwise_kernels.any(); }) {
    if (!policy.elementwise_kernels.any()) return;
    visit_elementwise_kernels(p, [&](elementwise_kernel k, const T& times, const auto& w) {
      if (!policy.elementwise_kernels.counts(k)) return;
      const basic_operator<T> o{
          .name = name_of(k), .times = times, .demand = perfmodel::demand_of(w)};
      visit(o, duration<T>(times * policy.elementwise_kernel_time(p.on.device, k, w)));
    });
  }
}

template <Scalar T, class Policy, class Visit>
constexpr void visit_elementwise_kernel_times(const basic_deployment<T>& d,
                                              const basic_iteration<T>& i, const Policy& policy,
                                              Visit&& visit) {
  const engine_formats formats = formats_of(d);
  visit_elementwise_kernel_times(rank_step<T>{d, i, formats}, policy, visit);
}

}  // namespace perfmodel::detail

namespace perfmodel {

/// What a step moves and computes on one device, before any rate: the sums behind its terms.
template <Scalar T = double>
struct basic_step_demand {
  bytes<T> weights{};
  bytes<T> cache{};
  flops<T> matrix_flop{};
  flops<T> vector_flop{};
  duration<T> compute{};  ///< matrix FLOP over the peak of the format each runs in
  T launches{};
};
using step_demand = basic_step_demand<>;

namespace detail {

/// Adds up the operators of a pass. Activations are left out of the bytes: a bound may keep them on
/// the chip.
template <Scalar T>
class demand_sum {
 public:
  constexpr void add(const basic_operator<T>& o) {
    s_.weights += o.times * o.weights;
    s_.cache += o.times * o.cache;
    by_format_[static_cast<std::size_t>(o.demand.format)] +=
        named(o.name, o.part, o.times * o.demand.matrix_flop);
    s_.vector_flop += o.times * o.demand.vector_flop;
    s_.launches += o.times * o.demand.launches;
  }
  constexpr basic_step_demand<T> on(const basic_accelerator<T>& device) const {
    basic_step_demand<T> s = s_;
    for (const number_format f : all_formats) {
      const flops<T>& work = by_format_[static_cast<std::size_t>(f)];
      if (upper(work.value()) > 0.0) {
        s.matrix_flop += work;
        s.compute += named("FLOP", work) / peak(device, f);
      }
    }
    s.weights = named("weight bytes read", s.weights);
    s.cache = named("KV bytes moved", s.cache);
    return s;
  }

 private:
  basic_step_demand<T> s_{};
  std::array<flops<T>, all_formats.size()> by_format_{};
};

template <Scalar T>
constexpr basic_step_demand<T> demand_of_pass(const rank_step<T>& p) {
  demand_sum<T> sum;
  visit_operators(p, [&](const basic_operator<T>& o) { sum.add(o); });
  return sum.on(p.on.device);
}

/// What bound and prediction share, once e has the terms on the chip: the time with communication;
/// which resource would take longest alone; and the shares of the peaks.
template <Scalar T>
constexpr void finish(basic_estimate<T>& e, const duration<T>& on_chip,
                      const basic_step_demand<T>& s, const duration<T>& memory,
                      const duration<T>& vector, const duration<T>& communication) {
  basic_terms<T> alone;
  alone.add(limiter::memory, "memory", memory);
  alone.add(limiter::compute, "compute", s.compute);
  alone.add(limiter::vector_compute, "vector", vector);
  alone.add(limiter::link, "communication", communication);
  e.limiter = alone.limiting();
  e.time = on_chip;
  if (upper(communication.value()) > 0.0) {
    e.time += e.terms.add(limiter::link, "communication", communication);
  }
  e.time = named("step time", e.time);
  e.mfu = T(s.compute / e.time);
  e.mbu = T(memory / e.time);
}

/// The bound of a pass, of valid values; whether it fits is asked apart.
template <Scalar T, class Cost>
constexpr basic_estimate<T> bound_of_pass(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                          const Cost& links) {
  const engine_formats formats = formats_of(d);
  const rank_step<T> p{d, i, formats};
  const basic_step_demand<T> s = demand_of_pass(p);
  const duration<T> communication = communication_of_pass(p, links);
  basic_estimate<T> e;
  const duration<T> weights =
      e.terms.add(limiter::memory, "weights", s.weights / d.device.dram.bandwidth);
  const duration<T> cache =
      e.terms.add(limiter::memory, "kv_cache", s.cache / d.device.dram.bandwidth);
  const duration<T> compute = e.terms.add(limiter::compute, "compute", s.compute);
  duration<T> vector{};
  if (upper(s.vector_flop.value()) > 0.0 && states_vector_peak(d.device)) {
    vector = e.terms.add(limiter::vector_compute, "vector", s.vector_flop / vector_peak(d.device));
  }
  const duration<T> memory = weights + cache;
  finish(e, max(max(memory, compute), vector), s, memory, vector, communication);
  return e;
}

/// What a device waits for its host, stage after stage: policy.cpu_time(sequences), where the policy
/// knows the engine.
template <Scalar T, class Policy>
constexpr duration<T> cpu_time_of_step(const rank_step<T>& p, const Policy& policy) {
  if constexpr (requires(const T& sequences) { policy.cpu_time(sequences); }) {
    return T(p.on.layout.pipeline) * policy.cpu_time(p.share.sequences);
  } else {
    return {};
  }
}

template <Scalar T, class Policy>
constexpr duration<T> cpu_time_of_step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                       const Policy& policy) {
  const engine_formats formats = formats_of(d);
  return cpu_time_of_step(rank_step<T>{d, i, formats}, policy);
}

/// Beside what links take: policy.rank_wait() of each collective, where the policy knows the engine.
template <Scalar T, class Policy>
constexpr duration<T> waiting_of_pass(const basic_deployment<T>& d, const Policy& policy) {
  if constexpr (requires { policy.rank_wait(); }) {
    return collectives_of_pass(d) * policy.rank_wait();
  } else {
    return {};
  }
}

/// What the passes of one deployment share: times of operators and collectives.
template <Scalar T, class Policy, class Cost>
struct step_times {
  engine_formats formats;
  operator_times<T, Policy> operators;
  collective_memo<T, Cost> links;

  constexpr step_times(const basic_deployment<T>& d, const Policy& policy, const Cost& cost)
      : formats(formats_of(d)), operators(d.device, policy), links(cost) {}
};

/// The prediction of a pass, of valid values.
template <Scalar T, class Policy, class Cost>
constexpr basic_estimate<T> prediction_of_step(const basic_deployment<T>& d,
                                               const basic_iteration<T>& i, const Policy& policy,
                                               step_times<T, Policy, Cost>& times) {
  const rank_step<T> p{d, i, times.formats};
  demand_sum<T> sum;
  std::array<duration<T>, 4> by_class{};
  const auto add = [&](const basic_operator<T>& o, const duration<T>& time) {
    sum.add(o);
    by_class[static_cast<std::size_t>(o.kind)] += named(o.name, o.part, time);
  };
  visit_operator_times(p, times.operators, add);
  visit_elementwise_kernel_times(p, policy, add);
  basic_estimate<T> e;
  duration<T> on_chip{};
  for (std::size_t c = 0; c < by_class.size(); ++c) {
    by_class[c] = time_under_policy(by_class[c], policy);
    const char* name = name_of(static_cast<operator_class>(c));
    if (upper(by_class[c].value()) > 0.0) e.terms.add(limiter::none, name, by_class[c]);
    on_chip += by_class[c];
  }
  const duration<T> host = cpu_time_of_step(p, policy);
  if (upper(host.value()) > 0.0) e.terms.add(limiter::launch, "host", host);
  on_chip += host;
  const basic_step_demand<T> s = sum.on(d.device);
  const duration<T> memory = (s.weights + s.cache) / d.device.dram.bandwidth;
  const duration<T> communication = time_under_policy(
      duration<T>(communication_of_pass(p, times.links) + waiting_of_pass(d, policy)), policy);
  finish(e, on_chip, s, memory, duration<T>{}, communication);
  return e;
}

template <Scalar T, class Policy, class Cost>
constexpr basic_estimate<T> prediction_of_step(const basic_deployment<T>& d,
                                               const basic_iteration<T>& i, const Policy& policy,
                                               const Cost& links) {
  step_times<T, Policy, Cost> times(d, policy, links);
  return prediction_of_step(d, i, policy, times);
}

/// The time of that prediction alone, without its demand, terms and shares.
template <Scalar T, class Policy, class Cost>
constexpr duration<T> time_of_step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                   const Policy& policy, step_times<T, Policy, Cost>& times) {
  if constexpr (requires(const T& x) { x.name_step("", unit_exponents{}); }) {
    return prediction_of_step(d, i, policy, times).time;  // a derivation has its terms
  } else {
    const rank_step<T> p{d, i, times.formats};
    std::array<duration<T>, 4> by_class{};
    const auto add = [&](operator_class c, const duration<T>& all) {
      by_class[static_cast<std::size_t>(c)] += all;
    };
    visit_layers(p, [&](const operator_head<T>& o, const auto& workload) {
      add(o.kind,
          o.times * times.operators.of(workload, [&] { return demand_of_valid(workload); }));
    });
    visit_elementwise_kernel_times(
        p, policy, [&](const basic_operator<T>& o, const duration<T>& all) { add(o.kind, all); });
    duration<T> time{};
    for (const duration<T>& kernels : by_class) time += time_under_policy(kernels, policy);
    time += cpu_time_of_step(p, policy);
    const duration<T> waiting = waiting_of_pass(d, policy);
    return time +
           time_under_policy(duration<T>(communication_of_pass(p, times.links) + waiting), policy);
  }
}

template <Scalar T, class Policy, class Cost>
constexpr duration<T> time_of_step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                   const Policy& policy, const Cost& links) {
  step_times<T, Policy, Cost> times(d, policy, links);
  return time_of_step(d, i, policy, times);
}

/// Passes of one deployment under a policy: what each takes, and its whole prediction. What does not differ
/// from pass to pass is kept, so that passes are asked for by one thread.
template <Scalar T, class Policy, class Cost>
class predicted_step {
 public:
  constexpr predicted_step(const basic_deployment<T>& on, const Policy& policy, const Cost& links)
      : on_(on), policy_(policy), times_(on, policy, links) {}

  constexpr basic_estimate<T> operator()(const basic_iteration<T>& i) {
    return prediction_of_step(on_, i, policy_, times_);
  }
  constexpr duration<T> time(const basic_iteration<T>& i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (!(i == last_)) {
        last_time_ = time_of_step(on_, i, policy_, times_);
        last_ = i;
      }
      return last_time_;
    } else {
      return time_of_step(on_, i, policy_, times_);
    }
  }

 private:
  const basic_deployment<T>& on_;
  const Policy& policy_;
  step_times<T, Policy, Cost> times_;
  basic_iteration<T> last_{};  ///< which no pass is at first: it has no token
  duration<T> last_time_{};
};
/// What an iteration takes by pass(iteration) -> estimate, or pass.time(iteration) where it has one.
template <Scalar T, class Pass>
constexpr duration<T> time_by(Pass& pass, const basic_iteration<T>& i) {
  if constexpr (requires { pass.time(i); }) {
    return pass.time(i);
  } else {
    return pass(i).time;
  }
}

/// A calibration knows its links as well as its kernels; with any other policy links are whole.
template <Scalar T, class Policy>
constexpr decltype(auto) links_of(const Policy& policy) {
  if constexpr (CostPolicy<Policy, T>) {
    return (policy);
  } else {
    return full_link{};
  }
}

}  // namespace detail

}  // namespace perfmodel
