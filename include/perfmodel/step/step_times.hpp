// Times of engine steps with checked inputs: total work, lower bound and prediction.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <perfmodel/core/memo.hpp>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/laws/execution.hpp>
#include <perfmodel/laws/roofline.hpp>
#include <perfmodel/step/communication.hpp>
#include <perfmodel/step/host_time.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/step/operators.hpp>

// Times of the operators of a step: single operators, mixed attention, element-wise kernels.

namespace perfmodel::inline v0_3::detail {

/// Policy with mixed_attention_time(device, prefills, decodes): one attention kernel for both.
template <class Policy, class T>
concept has_mixed_kernel = requires(const Policy& policy, const basic_accelerator<T>& device,
                                    const basic_attention_prefill<T>& prefills,
                                    const basic_attention_decode<T>& decodes) {
  policy.mixed_attention_time(device, prefills, decodes);
};

struct no_memo {};
/// Type that stores operator times from step to step: Policy::memo_type, or no_memo.
template <class Policy>
struct memo_of {
  using type = no_memo;
};
template <class Policy>
  requires requires {
    typename Policy::memo_type;
  }
struct memo_of<Policy> {
  using type = typename Policy::memo_type;
};

/// Times of a step's operators, one call per operator in the order of the step. Each is policy.time
/// (memoised if the policy has a memo), else policy.estimate, else the roofline. With a mixed
/// attention kernel, the decodes take their own time, and the prefills take the rest of the
/// kernel's time.
template <Scalar T, class Policy>
class operator_times {
 public:
  constexpr operator_times(const basic_accelerator<T>& device, const Policy& policy)
      : device_(device), policy_(policy) {}

  /// Time of one operator. `demand()` returns its FLOP and bytes; it is called only for the
  /// roofline.
  template <class W, class Demand>
  constexpr duration<T> time_of(const W& workload, const Demand& demand) {
    if constexpr (!has_mixed_kernel<Policy, T>) {
      return unmixed_time(workload, demand);
    } else if constexpr (std::same_as<W, basic_attention_prefill<T>>) {
      std::optional<duration<T>> both;
      if (pending_decodes_)
        both = policy_.mixed_attention_time(device_, workload, *pending_decodes_);
      pending_decodes_.reset();
      return both ? duration<T>(*both - decode_time_) : unmixed_time(workload, demand);
    } else {
      const duration<T> one = unmixed_time(workload, demand);
      pending_decodes_.reset();
      if constexpr (std::same_as<W, basic_attention_decode<T>>) {
        pending_decodes_ = workload;
        decode_time_ = one;
      }
      return one;
    }
  }

 private:
  template <class W, class Demand>
  constexpr duration<T> unmixed_time(const W& workload, const Demand& demand) {
    if constexpr (requires { policy_.time(device_, workload, memo_); }) {
      return policy_.time(device_, workload, memo_);
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
  std::optional<basic_attention_decode<T>> pending_decodes_{};
  duration<T> decode_time_{};
  [[no_unique_address]] typename memo_of<Policy>::type memo_{};
};

/// Time of all layers that no operator counts: engine.layer_time per layer,
/// expert_layer_time for each with routed experts, latent_layer_time for latent attention in fp8
/// blocks; in a step with prefill also prefill_latent_layer_time and prefill_recurrent_layer_time.
/// Test: tests/unit/engines.cpp.
template <Scalar T, class Engine>
constexpr duration<T> uncounted_layer_time(const rank_step<T>& p, const Engine& engine) {
  const auto& layers = p.model().layers;
  const T latent = layers_with<basic_latent_attention_shape<T>, T>(layers.mixers);
  const T experts = layers_with<basic_expert_shape<T>, T>(layers.feed_forwards);
  duration<T> t = layers.count * engine.layer_time + experts * engine.expert_layer_time;
  const storage_format& attention = p.replica.weights.attention;
  if (attention.format == number_format::fp8 && attention.group)
    t += latent * engine.latent_layer_time;
  if (!p.has_prefills()) return t;
  const T recurrent = layers_with<basic_recurrent_shape<T>, T>(layers.mixers);
  return t + p.prefill_share() * (latent * engine.prefill_latent_layer_time +
                                  recurrent * engine.prefill_recurrent_layer_time);
}

/// Calls visit(operator, time) for each element-wise kernel that policy.elementwise_kernels
/// includes, and once for the kernels of the layers that no operator counts.
template <Scalar T, class Policy, class Visit>
constexpr void visit_elementwise_kernel_times(const rank_step<T>& p, const Policy& policy,
                                              Visit&& visit) {
  if constexpr (requires { policy.engine.layer_time; }) {
    const duration<T> uncounted = uncounted_layer_time(p, policy.engine);
    if (upper(uncounted.value()) > 0.0) {
      visit(basic_operator<T>{.name = "uncounted kernels", .times = T(p.model().layers.count)},
            uncounted);
    }
  }
  if constexpr (requires { policy.elementwise_kernels.has_any(); }) {
    if (!policy.elementwise_kernels.has_any()) return;
    visit_elementwise_kernels(p, [&](elementwise_kernel k, const T& times, const auto& w) {
      if (!policy.elementwise_kernels.includes(k)) return;
      const basic_operator<T> o{
          .name = name_of(k), .times = times, .demand = perfmodel::demand_of(w)};
      visit(o, duration<T>(times * policy.elementwise_kernel_time(p.replica.device, k, w)));
    });
  }
}

/// Completes an estimate: time = on-chip time + communication, and the shares of the peaks. The
/// limiter is the resource with the longest time: memory, compute, vector units or links.
template <Scalar T>
constexpr void add_communication(basic_estimate<T>& e, const duration<T>& on_chip,
                                 const basic_step_demand<T>& s, const duration<T>& memory,
                                 const duration<T>& vector, const duration<T>& communication,
                                 const duration<T>& host_link = {},
                                 const duration<T>& launch = {}) {
  basic_terms<T> resources;
  resources.add(limiter::memory, "memory", memory);
  if (upper(host_link.value()) > 0.0) resources.add(limiter::link, "host_link", host_link);
  resources.add(limiter::compute, "compute", s.compute);
  resources.add(limiter::vector_compute, "vector", vector);
  resources.add(limiter::link, "communication", communication);
  if (upper(launch.value()) > 0.0) resources.add(limiter::launch, "launch", launch);
  e.limiter = resources.limiting();
  e.time = on_chip;
  if (upper(communication.value()) > 0.0) {
    e.time += e.terms.add(limiter::link, "communication", communication);
  }
  e.time = named("step time", e.time);
  e.mfu = T(s.compute / e.time);
  e.mbu = T(memory / e.time);
}

/// Parts of a predicted step: the times that add up to it, and those of its work at the peaks.
template <Scalar T>
struct predicted_parts {
  std::array<duration<T>, 4> kernels{};  ///< by operator class
  duration<T> host_link{}, links{}, launches{}, host{};
  duration<T> compute{}, memory{};  ///< matrix FLOP and DRAM bytes at the peaks

  constexpr duration<T> on_chip() const {
    duration<T> sum{};
    for (const duration<T>& t : kernels) sum += t;
    return sum + host_link + (launches + host);
  }
  constexpr duration<T> time() const { return on_chip() + links; }
  /// Calls add(limiter, name, time) for each operator class.
  template <class Add>
  constexpr void visit_kernels(const Add& add) const {
    for (std::size_t c = 0; c < kernels.size(); ++c)
      add(limiter::none, name_of(static_cast<operator_class>(c)), kernels[c]);
  }
};

/// Completes the estimate of a predicted step: `e` has its terms already.
template <Scalar T>
constexpr void add_communication(basic_estimate<T>& e, const predicted_parts<T>& x) {
  basic_step_demand<T> s;
  s.compute = x.compute;
  add_communication(e, x.on_chip(), s, x.memory, duration<T>{}, x.links, x.host_link,
                    duration<T>(x.launches + x.host));
}

/// Predicts engine steps of one deployment with checked inputs. It memoises times of operators and
/// collectives: use one object per thread.
template <Scalar T, class Policy, class Cost>
class predicted_step {
 public:
  constexpr predicted_step(const basic_deployment<T>& d, const Policy& policy, const Cost& links)
      : replica_(d),
        policy_(policy),
        formats_(formats_of(d)),
        operators_(d.device, policy),
        links_(links) {}

  constexpr basic_estimate<T> operator()(const basic_iteration<T>& i) {
    basic_estimate<T> e;
    const auto add = [&e](limiter kind, const char* name, const duration<T>& t) {
      if (upper(t.value()) > 0.0) e.terms.add(kind, name, t);
    };
    add_communication(e, parts_of(i, add));
    return e;
  }

  /// Parts of a step. `add(limiter, name, time)` names each for the derivation.
  template <class Add>
  constexpr predicted_parts<T> parts_of(const basic_iteration<T>& i, const Add& add) {
    const rank_step<T> p{replica_, i, formats_};
    demand_sum<T> sum;
    predicted_parts<T> x{kernels_of(p, i, sum)};
    x.visit_kernels(add);
    const basic_step_demand<T> s = sum.step_demand_on(replica_.device);
    x.links = link_time(p);
    x.host_link = reads_over_host_link(s.weights);
    add(limiter::link, "host_link", x.host_link);
    x.launches = exposed_launches(p, policy_, x.time());
    add(limiter::launch, "launches", x.launches);
    x.host = cpu_time_of_step(p, policy_);
    add(limiter::launch, "host", x.host);
    const T resident = 1.0 - host_weight_share(replica_);
    x.compute = s.compute;
    x.memory = (resident * s.weights + s.cache) / replica_.device.dram.bandwidth;
    return x;
  }

  /// Time of a step, without its total work, breakdown and shares of the peaks.
  constexpr duration<T> time(const basic_iteration<T>& i) {
    if constexpr (requires(const T& x) { x.name_step("", unit_exponents{}); }) {
      return (*this)(i).time;  // a scalar that records formulas needs the breakdown
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!(i.batch > 0.0)) return prefills_.value_of(i, [&] { return time_of(i); });
      return last_.value_of(i, [&] { return time_of(i); });
    } else {
      return time_of(i);
    }
  }

 private:
  /// Kernel times of a step by operator class. `work`, if given, adds up its FLOP and bytes;
  /// without it, demands are computed for rooflines only.
  template <class... Work>
  constexpr std::array<duration<T>, 4> kernel_times(const rank_step<T>& p, Work&... work) {
    std::array<duration<T>, 4> by_class{};
    const auto add = [&](const auto& o, const duration<T>& all) {
      (work.add(o), ...);
      by_class[static_cast<std::size_t>(o.kind)] += named(o.name, o.part, all);
    };
    if constexpr (sizeof...(Work) > 0) {
      visit_operators(p, [&](const basic_operator<T>& o, const auto& workload) {
        const auto demand = [&]() -> const basic_demand<T>& { return o.demand; };
        add(o, duration<T>(o.times * operators_.time_of(workload, demand)));
      });
    } else {
      visit_layers(p, [&](const operator_head<T>& o, const auto& workload) {
        const auto demand = [&] { return demand_of(valid_operator{workload}); };
        add(o, duration<T>(o.times * operators_.time_of(workload, demand)));
      });
    }
    visit_elementwise_kernel_times(p, policy_, add);
    for (duration<T>& t : by_class) t = time_under_policy(t, policy_);
    return by_class;
  }
  /// kernel_times, memoised for the last step without prefill: a service asks for the parts of a
  /// step of which it had the time.
  template <class... Work>
  constexpr std::array<duration<T>, 4> kernels_of(const rank_step<T>& p,
                                                  const basic_iteration<T>& i, Work&... work) {
    if constexpr (std::is_floating_point_v<T>) {
      if (i.batch > 0.0 && !(i.prefill_tokens > 0.0)) {
        if (const auto* known = decodes_.find(i)) {
          (visit_operators(p, [&](const basic_operator<T>& o) { work.add(o); }), ...);
          return *known;
        }
        return decodes_.value_of(i, [&] { return kernel_times(p, work...); });
      }
    }
    return kernel_times(p, work...);
  }
  /// Communication of a step, with the wait for the last rank.
  constexpr duration<T> link_time(const rank_step<T>& p) {
    const duration<T> waiting = rank_wait_of_step(replica_, policy_);
    return time_under_policy(duration<T>(communication_of_step(p, links_) + waiting), policy_);
  }
  /// Predicted time to read weights in host memory. Kernels that read them do not overlap others.
  constexpr duration<T> reads_over_host_link(const bytes<T>& weights) const {
    return host_link_time(replica_, weights) / host_link_share;
  }
  constexpr duration<T> time_of(const basic_iteration<T>& i) {
    const rank_step<T> p{replica_, i, formats_};
    duration<T> time{};
    for (const duration<T>& kernels : kernels_of(p, i)) time += kernels;
    if (upper(replica_.cpu_offload_bytes.value()) > 0.0) {
      time += reads_over_host_link(demand_of_rank(p).weights);
    }
    time += link_time(p);
    return time + exposed_launches(p, policy_, time) + cpu_time_of_step(p, policy_);
  }

  const basic_deployment<T>& replica_;
  const Policy& policy_;
  engine_formats formats_;
  operator_times<T, Policy> operators_;
  collective_memo<T, Cost> links_;
  memo<basic_iteration<T>, duration<T>, 1> last_{};
  memo<basic_iteration<T>, duration<T>, 2> prefills_{};                ///< steps without decodes
  memo<basic_iteration<T>, std::array<duration<T>, 4>, 1> decodes_{};  ///< kernels without prefill
};

/// Prediction of one step with checked inputs.
template <Scalar T, class Policy, class Cost>
constexpr basic_estimate<T> prediction_of_step(const basic_deployment<T>& d,
                                               const basic_iteration<T>& i, const Policy& policy,
                                               const Cost& links) {
  return predicted_step<T, Policy, Cost>(d, policy, links)(i);
}
/// The time of prediction_of_step, without its total work, breakdown and shares of the peaks.
template <Scalar T, class Policy, class Cost>
constexpr duration<T> time_of_step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                   const Policy& policy, const Cost& links) {
  return predicted_step<T, Policy, Cost>(d, policy, links).time(i);
}
/// Time of an iteration: predictor.time(iteration), else that of predictor(iteration).
template <Scalar T, class Predictor>
constexpr duration<T> step_time_of(Predictor& predictor, const basic_iteration<T>& i) {
  if constexpr (requires { predictor.time(i); }) {
    return predictor.time(i);
  } else {
    return predictor(i).time;
  }
}

/// Policy that prices collectives: the given one if it does (as calibrations do), else full_link.
template <Scalar T, class Policy>
constexpr decltype(auto) links_of(const Policy& policy) {
  if constexpr (CostPolicy<Policy, T>) {
    return (policy);
  } else {
    return full_link{};
  }
}

}  // namespace perfmodel::inline v0_3::detail
