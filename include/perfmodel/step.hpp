// How long one pass of a model takes on its devices: decode, prefill, or both at once.
#pragma once

#include <perfmodel/deployment/operators.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/roofline.hpp>

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

/// Sum over the operators of a pass. Activations are left out of the bytes: a bound may keep them
/// on the chip.
template <Scalar T>
constexpr basic_step_demand<T> demand_of_step(const basic_deployment<T>& d,
                                              const basic_iteration<T>& i) {
  basic_step_demand<T> s;
  std::array<flops<T>, all_formats.size()> by_format{};
  for_each_operator(d, i, [&](const basic_operator<T>& o) {
    s.weights += o.times * o.weights;
    s.cache += o.times * o.cache;
    by_format[static_cast<std::size_t>(o.demand.format)] +=
        named(o.name, o.times * o.demand.matrix_flop);
    s.vector_flop += o.times * o.demand.vector_flop;
    s.launches += o.times * o.demand.launches;
  });
  for (const number_format f : all_formats) {
    const flops<T>& work = by_format[static_cast<std::size_t>(f)];
    if (upper(work.value()) > 0.0) {
      s.matrix_flop += work;
      s.compute += named("FLOP", work) / peak(d.device, f);
    }
  }
  s.weights = named("weight bytes read", s.weights);
  s.cache = named("KV bytes moved", s.cache);
  return s;
}

namespace detail {
/// Ranks that a token is sent to, its own included, when it picks top_k experts at random: of N
/// ranks in E groups of experts N (1 - (1 - 1/E)^k), since it goes to a rank once.
template <Scalar T>
constexpr T ranks_reached(const layout& l, const T& top_k) {
  const double ranks = l.tensor * l.data;
  if (l.expert == 1) return T(ranks);
  using math::pow;
  return scalar_max(T(1.0), ranks * (1.0 - pow(T(1.0 - 1.0 / l.expert), top_k)));
}
}  // namespace detail

/// What a pass sends: two all-reduces per layer for tensor parallelism (one of them replaced by
/// dispatch and combine where experts are spread over data-parallel groups), the gathering of the
/// logits, and a transfer per pipeline boundary. Nothing hides it: each waits for the one before.
/// Tests: 160 all-reduces and the logits of 70B over 8 ranks; over 2 groups of a mixture of experts
/// each token's row goes out once, and comes back.
template <Scalar T, class Cost = full_link>
constexpr duration<T> communication_time(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                         const Cost& cost = {}) {
  const layout& l = d.layout;
  const detail::iteration_share<T> share = detail::share_of(l, i);
  const T& rows = share.rows;
  const number_format residual = d.weights.others;
  const bool spread = l.data > 1 && upper(d.model.moe.layers) > 0.0;
  duration<T> t{};
  if (l.tensor > 1) {
    basic_tensor_parallelism<T> x;
    x.ranks = l.tensor;
    x.tokens = rows;
    x.hidden = d.model.hidden;
    x.format = residual;
    const T sums = 2.0 * d.model.layers - (spread ? d.model.moe.layers : T(0.0));
    t += named("all-reduces", sums * collective_time(d.device.fabric, all_reduce_of(x), cost).time);
    basic_collective<T> logits;
    logits.operation = collective_op::all_gather;
    logits.ranks = l.tensor;
    logits.message = message_bytes<T>(share.logits * d.model.vocabulary * bytes_of(residual));
    t += named("logits", collective_time(d.device.fabric, logits, cost).time);
  }
  if (spread) {
    basic_expert_parallelism<T> x;
    x.ranks = l.tensor * l.data;
    x.tokens = rows / T(l.tensor);
    x.hidden = d.model.hidden;
    x.top_k = detail::ranks_reached(l, d.model.moe.top_k);
    x.dispatch = wider(d.activations, d.weights.experts.format);
    x.combine = residual;
    t += named("dispatch and combine",
               d.model.moe.layers * (collective_time(d.device.fabric, dispatch_of(x), cost).time +
                                     collective_time(d.device.fabric, combine_of(x), cost).time));
  }
  if (l.pipeline > 1) {
    const basic_link<T>& between =
        d.device.fabric.ranks >= l.ranks() ? d.device.fabric : d.device.host;
    basic_collective<T> hop = stage_transfer(T(1.0), rows, d.model.hidden, residual);
    hop.message =
        message_bytes<T>(hop.message.quantity() / T(l.tensor));  // each rank sends its part
    basic_link<T> pair = between;
    pair.ranks = scalar_max(2.0, between.ranks) > 2.0 ? between.ranks : 2;
    t += named("stage transfers", T(l.pipeline - 1) * collective_time(pair, hop, cost).time);
  }
  return t;
}

namespace detail {
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
}  // namespace detail

/// T = max((weights + cache) / BW, FLOP / R, vector FLOP / R_v) + communication, on one device.
/// weights + cache is every byte that cannot stay on the chip. Source: the decode roofline of Pope
/// et al., "Efficiently scaling transformer inference", MLSys 2023 (arXiv 2211.05102), section 3.
/// With a pipeline, the time is that of one token through all stages while every stage is busy.
/// With a policy other than bound: the sum of roofline(operator) over all operators, launches
/// included. Terms: weights, kv_cache, compute, vector, communication (bound); linear, attention,
/// experts, other, communication (else). A deployment that does not fit has its time and a reason.
/// Leaves out: sampling, scheduling, host time. Errors: formats the device lacks, empty iteration.
/// Tests: 70B bf16 batch 1 at 3.35 TB/s is 41.5 ms plus its cache; halves over 2 ranks less the
/// communication; grows with batch, context and prefill tokens.
template <Scalar T, class Policy = datasheet, class Cost = full_link>
constexpr basic_estimate<T> step(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                 const Policy& policy = {}, const Cost& cost = {}) {
  basic_estimate<T> e;
  const auto& dram = d.device.dram;
  detail::positive("dram.bandwidth", dram.bandwidth.quantity());
  const T prompts = i.prefill_sequences * scalar_min(i.prefill_tokens, T(1.0));
  e.feasible =
      fits(d, T(i.batch + prompts),
           scalar_max(i.context, T(i.prefill_tokens / i.prefill_sequences + i.prefill_past)));
  const basic_step_demand<T> s = demand_of_step(d, i);
  const duration<T> communication = communication_time(d, i, cost);
  duration<T> on_chip{}, memory{}, vector{};
  if constexpr (std::same_as<Policy, datasheet>) {
    const duration<T> weights = e.terms.add(limiter::memory, "weights", s.weights / dram.bandwidth);
    const duration<T> cache = e.terms.add(limiter::memory, "kv_cache", s.cache / dram.bandwidth);
    const duration<T> compute = e.terms.add(limiter::compute, "compute", s.compute);
    if (upper(s.vector_flop.value()) > 0.0 && states_vector_peak(d.device)) {
      vector =
          e.terms.add(limiter::vector_compute, "vector", s.vector_flop / vector_peak(d.device));
    }
    memory = weights + cache;
    on_chip = max(max(memory, compute), vector);
  } else {
    std::array<duration<T>, 4> by_class{};
    for_each_operator(d, i, [&](const basic_operator<T>& o, const auto& workload) {
      by_class[static_cast<std::size_t>(o.kind)] +=
          named(o.name, o.times * detail::operator_time(d.device, o.demand, workload, policy));
    });
    for (std::size_t c = 0; c < by_class.size(); ++c) {
      const auto kind = static_cast<operator_class>(c);
      if (upper(by_class[c].value()) > 0.0) e.terms.add(limiter::none, name_of(kind), by_class[c]);
      on_chip += by_class[c];
    }
    memory = (s.weights + s.cache) / dram.bandwidth;
  }
  basic_terms<T> sides;  // what each resource would take alone
  sides.add(limiter::memory, "memory", memory);
  sides.add(limiter::compute, "compute", s.compute);
  sides.add(limiter::vector_compute, "vector", vector);
  sides.add(limiter::link, "communication", communication);
  e.limiter = sides.limiting();
  e.time = on_chip;
  if (upper(communication.value()) > 0.0)
    e.time += e.terms.add(limiter::link, "communication", communication);
  e.time = named("step time", e.time);
  e.mfu = T(s.compute / e.time);
  e.mbu = T((s.weights + s.cache) / dram.bandwidth / e.time);
  return e;
}

}  // namespace perfmodel
