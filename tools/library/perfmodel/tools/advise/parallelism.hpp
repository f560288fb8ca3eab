// Techniques of parallelism: tensor, pipeline, data, expert and context parallelism, and overlap.
#pragma once

#include <algorithm>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Gain of overlapping communication with compute by kernels on `taken` SMs:
/// (compute + exposed communication) / overlap_with_sm_copy.
/// The gain is below 1 where those SMs cost more than the overlap hides.
/// *Test:* 400 us of communication, 600 us of compute, 8 of 132 SMs:
/// (400 + 600) / (600 + 400 x 8/132) = 1.602; with nothing exposed it is below 1.
template <Scalar T>
constexpr T overlap_gain(const duration<T>& compute, const duration<T>& communication,
                         const std::type_identity_t<T>& sms, const std::type_identity_t<T>& taken,
                         const std::type_identity_t<T>& exposed = T(1.0)) {
  const duration<T> before =
      detail::positive("compute", compute) +
      detail::fraction("exposed", exposed) * detail::not_negative("communication", communication);
  return named("gain of overlap",
               T(before / overlap_with_sm_copy(compute, communication, sms, taken)));
}

namespace detail {

/// Divides the replicas by `times` where there are that many, so that the device count stays.
inline void take_from_replicas(advised_service& s, int times) {
  if (s.replicas >= times) s.replicas /= times;
}

/// Doubles tensor parallelism; the alternative on as many devices is two replicas.
inline technique tensor_parallel(const adviser& a) {
  const technique_description words{"tensor_parallel", "parallelism",
                                    "two all-reduces a layer; twice the devices for one replica",
                                    "past its knee: replicas on as many devices are faster",
                                    "layout"};
  const int ranks = 2 * a.deployed().layout.tensor;
  technique t = a.try_change(words, [ranks](advised_service& s) {
    s.deployment.layout.tensor = ranks;
    if (s.deployment.layout.expert > 1) s.deployment.layout.expert *= 2;
    take_from_replicas(s, 2);
  });
  if (!t.applies || t.devices <= 1.0) return t;
  advised_service two = a.service();
  two.replicas *= 2.0;
  const serving_estimate e = a.evaluate(two);
  if (a.beats(two, e, t)) {
    // Against the replicas, which cost as much: below 1.
    if (t.has_ratio) {
      t.gain = a.sustained() ? t.gain * (*a.sustained() / a.rate_of(two))
                             : t.gain * (e.e2e / a.current().e2e);
    }
    t.harmful = true;
  }
  t.reason += a.sustained() ? join_text("; two replicas on as many devices: ", 2.0 * *a.sustained())
              : e.feasible  ? join_text("; two replicas on as many devices: ", e.e2e)
                            : join_text("; two replicas on as many devices are infeasible: ",
                                        e.feasible.reason);
  return t;
}

/// Halves tensor parallelism for twice the replicas, on the same devices.
inline technique model_replicas(const adviser& a) {
  const technique_description words{
      "data_parallel", "parallelism", "the weights in every replica (ZeRO shards them in training)",
      "tensor parallelism still gains, or the weights leave no memory for KV cache", "layout"};
  if (a.deployed().layout.tensor % 2 != 0 || a.deployed().layout.data > 1) {
    technique t = named_technique(words);
    t.in_use = a.service().replicas > 1.0;
    t.reason = "an odd tensor-parallel size cannot be split into replicas";
    return t;
  }
  return a.try_change(words, [](advised_service& s) {
    s.deployment.layout.tensor /= 2;
    s.deployment.layout.expert =
        (std::max)(1, (std::min)(s.deployment.layout.expert, s.deployment.layout.tensor));
    s.replicas *= 2.0;
  });
}

/// Halves tensor parallelism for twice the pipeline stages, on the same devices.
inline technique pipeline_parallel(const adviser& a) {
  const technique_description words{
      "pipeline_parallel", "parallelism",
      "a token runs through all stages in turn: bubbles without enough microbatches",
      "one fabric connects all ranks, so that tensor parallelism is faster", "layout"};
  if (a.deployed().layout.tensor % 2 != 0 || a.deployed().layout.data > 1) {
    technique t = named_technique(words);
    t.in_use = a.deployed().layout.pipeline > 1;
    t.reason = "an odd tensor-parallel size cannot be split into stages";
    return t;
  }
  return a.try_change(words, [](advised_service& s) {
    s.deployment.layout.tensor /= 2;
    s.deployment.layout.pipeline *= 2;
    s.deployment.layout.expert = (std::max)(1, s.deployment.layout.expert / 2);
  });
}

/// Expert parallelism over all ranks of a stage; with `data_parallel`, attention runs
/// data-parallel.
inline technique expert_parallel(const adviser& a, bool data_parallel) {
  const technique_description words =
      data_parallel
          ? technique_description{"wide_expert_parallel", "parallelism",
                                  "attention and KV cache of a sequence on one rank; all-to-alls",
                                  "batches are small: every rank reads the attention weights",
                                  "layout"}
          : technique_description{"expert_parallel", "parallelism",
                                  "an all-to-all of tokens; the rank with the busiest experts",
                                  "batches are small: a rank reads whole experts for few tokens",
                                  "layout"};
  const parallel_layout& l = a.deployed().layout;
  technique t = named_technique(words);
  if (!experts_of(a.deployed().model)) {
    t.reason = "the model has no routed experts";
    return t;
  }
  const int ranks = l.stage_ranks();
  t.in_use = data_parallel ? l.data > 1 : l.expert > 1;
  if (ranks < 2 || t.in_use) {
    t.reason = t.in_use ? "experts are parallel already" : "one rank has all experts";
    return t;
  }
  return a.try_change(words, [ranks, data_parallel](advised_service& s) {
    s.deployment.layout.expert = ranks;
    if (data_parallel) {
      s.deployment.layout.data = ranks;
      s.deployment.layout.tensor = 1;
    }
  });
}

/// Ring attention of a prefill on twice the ranks.
inline technique context_parallel(const adviser& a) {
  const technique_description words{
      "context_parallel", "parallelism",
      "keys and values are sent in a ring; twice the devices during a prefill",
      "blocks are too short to hide the ring, or attention is a small part of a prefill"};
  technique t = named_technique(words);
  const auto* shape = std::get_if<attention_shape>(&a.deployed().model.layers.mixers[0].shape);
  const interconnect& fabric = a.deployed().device.fabric;
  if (shape == nullptr || !fabric.exists()) {
    t.reason = shape == nullptr ? "the law covers grouped-query attention only"
                                : "no link between devices";
    return t;
  }
  const double tensor = a.deployed().layout.tensor, tokens = uncached_tokens(a.load());
  ring_attention ring{.ranks = 2,
                      .tokens = (std::max)(2.0, tokens),
                      .query_heads = (std::max)(1.0, shape->query_heads / tensor),
                      .kv_heads = (std::max)(1.0, shape->kv_heads / tensor),
                      .head_dim = shape->head_dim};
  const flop_rate<> rate = peak(a.deployed().device, formats_of(a.deployed()).linear.format);
  const auto in_ring = ring_attention_time(fabric, rate, ring);
  const flops<> all = 4.0 * ring.tokens * ring.tokens * ring.query_heads * ring.head_dim * flop;
  const duration<> on_one_rank = all / rate;
  const duration<> saved =
      a.deployed().model.layers.mixers[0].layers * (on_one_rank - in_ring.time) * 0.5;
  t = a.saving(words, duration<>{}, saved, false);
  t.devices = 2.0;
  t.reason = join_text("a block of ", ring.tokens / 2.0, " tokens computes for ", in_ring.compute,
                       " a layer and is sent in ", in_ring.transfer);
  t.harmful = in_ring.exposed.value() > 0.0 || t.gain < 1.001;
  return t;
}

inline technique communication_overlap(const adviser& a) {
  const technique_description words{
      "compute_communication_overlap", "parallelism",
      "SMs for the communication kernels; smaller pieces of work",
      "communication is short: hiding it gains less than its SMs cost"};
  technique t = named_technique(words);
  const duration<> links = a.current().decode.terms.time_of("communication");
  const duration<> work = a.current().itl - links;
  const double sms = a.deployed().device.sms.is_stated() ? a.deployed().device.sms.value() : 0.0;
  if (sms < 9.0 || !(work.value() > 0.0)) {
    t.reason = "the machine does not state its SMs";
    return t;
  }
  constexpr double taken = 8.0;
  const double pieces_cost = 0.02;  // share of the work, for two pieces: assumed
  const duration<> overlapped = overlap_with_sm_copy(work, links, sms, taken) + pieces_cost * work;
  t = a.saving(words, a.current().itl - overlapped, duration<>{}, false);
  t.applies = links.value() > 0.0;
  t.reason = join_text("communication takes ", links, " of a step of ", a.current().itl, "; 8 of ",
                       sms, " SMs and two pieces of work cost ", overlapped - max(work, links));
  t.harmful = t.gain < 1.0;
  return t;
}

}  // namespace detail

/// Tensor, pipeline, data, expert, wide expert and context parallelism, and communication overlap.
inline std::vector<technique> parallelism_techniques(const adviser& a) {
  return {detail::tensor_parallel(a),       detail::pipeline_parallel(a),
          detail::model_replicas(a),        detail::expert_parallel(a, false),
          detail::expert_parallel(a, true), detail::context_parallel(a),
          detail::communication_overlap(a)};
}

}  // namespace perfmodel::inline v0_3
