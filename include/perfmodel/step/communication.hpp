// Communication of an engine step between the ranks of a deployment.
#pragma once

#include <algorithm>
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/hierarchy.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/step/deployment.hpp>
#include <perfmodel/step/rank_step.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Expected number of ranks that receive one token, its own rank included: N (1 - (1 - 1/E)^k).
/// N is the number of ranks of a stage, E the expert-parallel groups, and k = top_k random experts.
/// A rank receives a token once, even for several of its experts.
template <Scalar T>
constexpr T ranks_reached(const parallel_layout& l, const T& top_k) {
  const double ranks = l.stage_ranks();
  if (l.expert == 1) return T(ranks);
  using math::pow;
  return scalar_max(T(1.0), ranks * (1.0 - pow(T(1.0 - 1.0 / l.expert), top_k)));
}

/// Time of a collective among the ranks of a stage: on the fabric, or on the fabric and the network
/// where the ranks are on several nodes. NCCL runs it then: the engines' own kernels do not leave a
/// node (vLLM, custom_all_reduce.py).
template <Scalar T, class Cost>
constexpr duration<T> time_in_stage(const basic_deployment<T>& d, basic_collective<T> c,
                                    collective_memo<T, Cost>& links) {
  const basic_interconnect<T>& fabric = d.device.fabric;
  const int inside = fabric.reach();
  if (!d.network || c.ranks <= inside || c.ranks % inside != 0) return links.time(fabric, c);
  c.implementation = collective_implementation::nccl;
  basic_hierarchy<T> h{fabric, *d.network, inside};
  h.between.ranks = c.ranks;
  return hierarchical_time(h, c, links.cost(), links.cost()).time;
}

/// Time of `sums` all-reduces of `rows` token rows: one after each token mixer (attention or
/// recurrence) and each feed-forward. Expert-parallel layers dispatch and combine instead.
template <Scalar T, class Cost>
constexpr duration<T> all_reduces(const basic_deployment<T>& d, number_format residual,
                                  const T& rows, const T& sums, collective_memo<T, Cost>& links) {
  basic_tensor_parallelism<T> x;
  x.ranks = d.layout.tensor;
  x.tokens = rows;
  x.hidden = d.model.hidden;
  x.format = residual;
  return named("all-reduces", sums * time_in_stage(d, summed_activations(x), links));
}

/// Time of the all-gather of `rows` rows of logits among the tensor-parallel ranks.
template <Scalar T, class Cost>
constexpr duration<T> logits_all_gather(const basic_deployment<T>& d, number_format residual,
                                        const T& rows, collective_memo<T, Cost>& links) {
  basic_collective<T> c;
  c.operation = collective_op::all_gather;
  c.ranks = d.layout.tensor;
  c.message = message_bytes<T>(rows * d.model.vocabulary * bytes_of(residual));
  return named("logits", time_in_stage(d, c, links));
}

/// Time to send tokens to the ranks of their experts (dispatch) and the results back (combine), in
/// `layers` layers.
template <Scalar T, class Cost>
constexpr duration<T> dispatch_and_combine(const basic_deployment<T>& d, const engine_formats& f,
                                           const T& layers, const basic_expert_shape<T>& experts,
                                           const T& rows, collective_memo<T, Cost>& links) {
  basic_expert_parallelism<T> x;
  x.ranks = d.layout.stage_ranks();
  x.tokens = rows / T(d.layout.tensor);
  x.hidden = experts.expert_hidden(d.model.hidden);
  x.top_k = ranks_reached(d.layout, experts.top_k);
  x.dispatch = wider(f.experts.format, f.weights.experts.format);
  x.combine = at_least_16_bits(f.linear.format);
  const auto exchange = [&](number_format format) {
    return time_in_stage(d, exchange_tokens(x, format), links);
  };
  return named("dispatch and combine", layers * (named("dispatch", exchange(x.dispatch)) +
                                                 named("combine", exchange(x.combine))));
}

/// Transfers between pipeline stages. They use the fabric if it connects all ranks of the replica.
/// Else those from node to node use the network, and where none is stated all use the host link.
template <Scalar T, class Cost>
constexpr duration<T> stage_transfers(const basic_deployment<T>& d, number_format residual,
                                      const T& rows, collective_memo<T, Cost>& links) {
  const parallel_layout& l = d.layout;
  basic_collective<T> hop = stage_transfer(T(1.0), rows, d.model.hidden, residual);
  hop.message = message_bytes<T>(hop.message.quantity() / T(l.tensor));  // each rank sends its part
  const bool one_node = d.device.fabric.ranks >= l.ranks();
  if (one_node || !d.network) {
    const basic_interconnect<T>& between = one_node ? d.device.fabric : d.device.host;
    return named("stage transfers", T(l.pipeline - 1) * links.time(between, hop));
  }
  const int stages_of_node = (std::max)(1, d.device.fabric.ranks / l.stage_ranks());
  const int to_nodes = (l.pipeline - 1) / stages_of_node;
  duration<T> t = T(to_nodes) * links.time(*d.network, hop);
  if (l.pipeline - 1 > to_nodes)
    t += T(l.pipeline - 1 - to_nodes) * links.time(d.device.fabric, hop);
  return named("stage transfers", t);
}

/// Number of collectives that an engine step runs in all layers, without the all-gather of the
/// logits.
template <Scalar T>
constexpr T collectives_of_step(const basic_deployment<T>& d) {
  const double sum = d.layout.tensor > 1 ? 1.0 : 0.0;
  const auto of_feed_forward = [&](const auto& x) {
    const bool exchanged = requires {
      x.experts;
    }
    &&d.layout.data > 1;
    return T(exchanged ? 2.0 : sum);  // dispatch and combine
  };
  return over_layers(d.model.layers.mixers, [&](const auto&) { return T(sum); }) +
         over_layers(d.model.layers.feed_forwards, of_feed_forward);
}

/// Time that ranks wait for the last one in collectives: policy.rank_wait() for each; else 0.
template <Scalar T, class Policy>
constexpr duration<T> rank_wait_of_step(const basic_deployment<T>& d, const Policy& policy) {
  if constexpr (requires { policy.rank_wait(); }) {
    return collectives_of_step(d) * policy.rank_wait();
  } else {
    return {};
  }
}

template <Scalar T, class Cost>
constexpr duration<T> communication_of_step(const rank_step<T>& p,
                                            collective_memo<T, Cost>& links) {
  const basic_deployment<T>& d = p.replica;
  const parallel_layout& l = d.layout;
  const number_format residual = p.residual;
  const step_share<T>& share = p.share;
  duration<T> t{};
  T sums{};
  for (const auto& kind : d.model.layers.mixers) sums += kind.layers;
  for (const auto& kind : d.model.layers.feed_forwards) {
    if (l.data > 1 && std::holds_alternative<basic_expert_shape<T>>(kind.shape)) {
      const auto& experts = std::get<basic_expert_shape<T>>(kind.shape);
      t += dispatch_and_combine(d, p.formats, kind.layers, experts, share.rows, links);
    } else {
      sums += kind.layers;
    }
  }
  if (l.tensor > 1) {
    t += all_reduces(d, residual, share.rows, sums, links);
    t += logits_all_gather(d, residual, share.logits, links);
  }
  if (l.pipeline > 1) t += stage_transfers(d, residual, share.rows, links);
  return t;
}
template <Scalar T, class Cost>
constexpr duration<T> communication_of_step(const rank_step<T>& p, const Cost& links) {
  collective_memo<T, Cost> none(links);
  return communication_of_step(p, none);
}

template <Scalar T, class Cost>
constexpr duration<T> communication_of_step(const basic_deployment<T>& d,
                                            const basic_iteration<T>& i, Cost&& links) {
  const engine_formats formats = formats_of(d);
  return communication_of_step(rank_step<T>{d, i, formats}, links);
}

}  // namespace detail

/// Communication time of an engine step. Tensor parallelism has an all-reduce after each token
/// mixer (attention or recurrence) and each feed-forward, and one all-gather of the logits.
/// Stages of more ranks than the fabric joins use hierarchical_time on `d.network`.
/// With data-parallel groups, dispatch and combine replace the all-reduce after routed experts. A
/// pipeline adds a transfer at each stage boundary.
/// No collective overlaps with another one or with computation. Token rows have the format
/// residual_format(d).
/// Tests: Llama 3 70B on 8 tensor-parallel ranks has 160 all-reduces and one all-gather of the
/// logits. For a mixture of experts on 2 data-parallel groups, each token's row is sent once and
/// returned once.
template <Scalar T, class Cost = full_link>
constexpr duration<T> communication_time(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                         const Cost& links = {}) {
  detail::check_deployment(d);
  detail::check_iteration(i);
  return detail::communication_of_step(d, i, links);
}

}  // namespace perfmodel::inline v0_3
