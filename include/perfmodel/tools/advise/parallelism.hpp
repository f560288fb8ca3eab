// Tricks of layouts: ranks that share layers, stages, copies, experts spread, tokens of a prompt shared out.
#pragma once

#include <algorithm>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <vector>

namespace perfmodel {

/// Communication that is hidden behind work by kernels that hold `taken` of the SMs: without,
/// T = compute + communication; with, overlap_with_sm_copy. Returns without over with; below 1 where the
/// SMs it takes cost more than it hides.
/// Test: 400 us beside 600 us with 8 of 132 SMs: (400 + 600) / (600 + 400 x 8/132) = 1.602; where work does
/// not wait for it (all of it hidden already) it is below 1.
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

/// With half the copies where there are two or more, so that the devices stay the same.
inline void take_from_replicas(advised_service& s, int times) {
  if (s.copies >= times) s.copies /= times;
}

/// Twice the ranks, against two copies of what there is on as many devices.
inline technique tensor_parallel(const adviser& a) {
  const technique_words words{"tensor_parallel", "parallelism",
                              "two all-reduces a layer; twice the devices where there is one copy",
                              "past its knee: copies on as many devices answer sooner", "layout"};
  const int wider = 2 * a.runs().layout.tensor;
  technique t = a.asked(words, [wider](advised_service& s) {
    s.runs.layout.tensor = wider;
    if (s.runs.layout.expert > 1) s.runs.layout.expert *= 2;
    take_from_replicas(s, 2);
  });
  if (!t.applies || t.devices <= 1.0) return t;
  advised_service two = a.service();
  two.copies *= 2.0;
  const serving_estimate copies = a.answer(two);
  t.harmful = t.harmful || a.outdoes(two, copies, t);
  t.why += a.sustained() ? say("; two replicas on as many devices: ", 2.0 * *a.sustained())
           : copies.feasible
               ? say("; two replicas on as many devices: ", copies.e2e)
               : say("; two replicas on as many devices are infeasible: ", copies.feasible.reason);
  return t;
}

/// Half the ranks for twice the copies, on the same devices.
inline technique model_replicas(const adviser& a) {
  const technique_words words{
      "data_parallel", "parallelism",
      "the weights once more in every copy (ZeRO shares them out in training)",
      "ranks of one copy still gain from each other, or the weights leave no room", "layout"};
  if (a.runs().layout.tensor % 2 != 0 || a.runs().layout.data > 1) {
    technique t = named_technique(words);
    t.in_use = a.service().copies > 1.0;
    t.why = "there is no even number of ranks to split into copies";
    return t;
  }
  return a.asked(words, [](advised_service& s) {
    s.runs.layout.tensor /= 2;
    s.runs.layout.expert = (std::max)(1, (std::min)(s.runs.layout.expert, s.runs.layout.tensor));
    s.copies *= 2.0;
  });
}

/// Half the ranks in twice the stages, on the same devices.
inline technique stages(const adviser& a) {
  const technique_words words{
      "pipeline_parallel", "parallelism",
      "a token passes all stages in turn: bubbles unless many batches are under way",
      "one fabric joins all ranks, so that tensor parallelism is quicker", "layout"};
  if (a.runs().layout.tensor % 2 != 0 || a.runs().layout.data > 1) {
    technique t = named_technique(words);
    t.in_use = a.runs().layout.pipeline > 1;
    t.why = "there is no even number of ranks to split into stages";
    return t;
  }
  return a.asked(words, [](advised_service& s) {
    s.runs.layout.tensor /= 2;
    s.runs.layout.pipeline *= 2;
    s.runs.layout.expert = (std::max)(1, s.runs.layout.expert / 2);
  });
}

inline technique expert_parallel_experts(const adviser& a, bool wide) {
  const technique_words low_precision_words{
      "expert_parallel", "parallelism", "an all-to-all of tokens, and the busiest expert's rank",
      "batches are small: a rank reads whole experts for few tokens", "layout"};
  const technique_words wide_words{
      "wide_expert_parallel", "parallelism",
      "attention and its cache on one rank for each sequence; all-to-alls",
      "batches are small: attention's weights are read by every rank", "layout"};
  const technique_words& words = wide ? wide_words : low_precision_words;
  const parallel_layout& l = a.runs().layout;
  technique t = named_technique(words);
  if (!experts_of(a.runs().model)) {
    t.why = "the model has no routed experts";
    return t;
  }
  const int ranks = l.stage_ranks();
  t.in_use = wide ? l.data > 1 : l.expert > 1;
  if (ranks < 2 || t.in_use) {
    t.why = t.in_use ? "experts are spread already" : "one rank has all experts";
    return t;
  }
  return a.asked(words, [ranks, wide](advised_service& s) {
    s.runs.layout.expert = ranks;
    if (wide) {
      s.runs.layout.data = ranks;
      s.runs.layout.tensor = 1;
    }
  });
}

/// Attention of a prompt shared out to twice the ranks in a ring.
inline technique shared_prompt(const adviser& a) {
  const technique_words words{
      "context_parallel", "parallelism",
      "keys and values travel in a ring; twice the devices while a prompt runs",
      "blocks are too short to hide the ring, or attention is little of a prompt"};
  technique t = named_technique(words);
  const auto* shape = std::get_if<attention_shape>(&a.runs().model.layers.mixers[0].shape);
  const interconnect& fabric = a.runs().device.fabric;
  if (shape == nullptr || !fabric.exists()) {
    t.why = shape == nullptr ? "the law has grouped-query attention" : "no link between devices";
    return t;
  }
  const double tensor = a.runs().layout.tensor, tokens = uncached_tokens(a.load());
  ring_attention ring{.ranks = 2,
                      .tokens = (std::max)(2.0, tokens),
                      .query_heads = (std::max)(1.0, shape->query_heads / tensor),
                      .kv_heads = (std::max)(1.0, shape->kv_heads / tensor),
                      .head_dim = shape->head_dim};
  const flop_rate<> rate = peak(a.runs().device, formats_of(a.runs()).linear.format);
  const auto two = ring_attention_time(fabric, rate, ring);
  const flops<> all = 4.0 * ring.tokens * ring.tokens * ring.query_heads * ring.head_dim * flop;
  const duration<> alone = all / rate;
  const duration<> saved = a.runs().model.layers.mixers[0].layers * (alone - two.time) * 0.5;
  t = a.saving(words, duration<>{}, saved, false);
  t.devices = 2.0;
  t.why = say("a block of ", ring.tokens / 2.0, " tokens computes for ", two.compute,
              " a layer and travels for ", two.transfer);
  t.harmful = two.exposed.value() > 0.0 || t.gain < 1.001;
  return t;
}

inline technique hidden_communication(const adviser& a) {
  const technique_words words{
      "compute_communication_overlap", "parallelism",
      "SMs that the communication's kernels hold; work cut in pieces",
      "communication is no bottleneck: what is hidden is less than the SMs cost"};
  technique t = named_technique(words);
  const duration<> links = a.now().decode.terms.time_of("communication");
  const duration<> work = a.now().itl - links;
  const double sms = a.runs().device.sms.is_stated() ? a.runs().device.sms.value() : 0.0;
  if (sms < 9.0 || !(work.value() > 0.0)) {
    t.why = "the machine does not state its SMs";
    return t;
  }
  constexpr double taken = 8.0;
  const double pieces_cost = 0.02;  // of work, cut in two: assumed
  const duration<> with = overlap_with_sm_copy(work, links, sms, taken) + pieces_cost * work;
  t = a.saving(words, a.now().itl - with, duration<>{}, false);
  t.applies = links.value() > 0.0;
  t.why = say("communication takes ", links, " of a step of ", a.now().itl, "; 8 of ", sms,
              " SMs and cutting the work in two cost ", with - max(work, links));
  t.harmful = t.gain < 1.0;
  return t;
}

}  // namespace detail

/// tensor, pipeline, data, expert, wide expert and context parallelism, and communication beside compute.
inline std::vector<technique> parallelism_techniques(const adviser& a) {
  return {detail::tensor_parallel(a),
          detail::stages(a),
          detail::model_replicas(a),
          detail::expert_parallel_experts(a, false),
          detail::expert_parallel_experts(a, true),
          detail::shared_prompt(a),
          detail::hidden_communication(a)};
}

}  // namespace perfmodel
