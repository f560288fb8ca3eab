// Collectives, speculation, experts and whole steps.
#include <perfmodel/laws/acceptance.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/step.hpp>
#include <stdexcept>

#include "predict.hpp"

namespace perfmodel::validation {

prediction predict_all_reduce(const question& q) {
  collective c;
  c.operation = collective_op::all_reduce;
  c.ranks = static_cast<int>(q.number("ranks"));
  c.message = message_bytes<>(q.number("bytes") * byte);
  c.implementation = collective_implementation::nccl;
  c.launch = q.word("launch") == "graph" ? launch_mode::graph : launch_mode::stream;
  prediction p;
  p.shape = shape_of(q, "ranks bytes launch");
  p.size = q.number("bytes");
  p.value = collective_time(q.on.device.fabric, c, q.on.links).time.value();
  c.implementation = collective_implementation::any;
  p.bound = collective_time(q.on.device.fabric, c).time.value();
  p.held_to = p.bound;
  p.by = "collective_time";
  p.profiled = true;
  if (c.ranks < 2) p.note = "one rank has nothing to send";
  return p;
}

prediction predict_wire_bytes(const question& q) {
  const std::string name = q.word("algorithm");
  const collective_algorithm a = name == "ring"       ? collective_algorithm::ring
                                 : name == "one_shot" ? collective_algorithm::one_shot
                                                      : collective_algorithm::two_shot;
  const schedule_cost x =
      steps_and_share(collective_op::all_reduce, a, static_cast<int>(q.number("ranks")));
  prediction p;
  p.value = x.share * q.number("message_bytes");
  p.size = q.number("message_bytes");
  p.shape = shape_of(q, "algorithm ranks message_bytes");
  p.by = "steps_and_share";
  return p;
}

prediction predict_acceptance(const question& q) {
  prediction p;
  p.value = q.number("overlap");
  p.size = p.value;
  p.shape = shape_of(q, "draft_length vocabulary overlap");
  p.by = "an identity: the overlap of the two distributions";
  return p;
}

prediction predict_emitted(const question& q) {
  prediction p;
  p.value = emitted_tokens(q.number("acceptance"), static_cast<int>(q.number("draft_length")))
                .quantity()
                .value();
  p.size = q.number("acceptance");
  p.shape = shape_of(q, "draft_length acceptance");
  p.by = "emitted_tokens";
  return p;
}

prediction predict_experts(const question& q) {
  moe_ffn w{.tokens = q.number("tokens"),
            .hidden = q.number("hidden"),
            .intermediate = q.number("intermediate"),
            .experts = q.number("experts"),
            .top_k = q.number("top_k"),
            .format = q.format()};
  w.weights = w.format;
  demand needs = demand_of(w);
  // The law's expected number of experts; these tokens may touch fewer.
  if (q.number("bytes_read") > 0.0) {
    needs.dram.read = min(needs.dram.read, bytes<>(q.number("bytes_read") * byte));
  }
  prediction p =
      bounded_by(q, needs,
                 calibrated_estimate(q.on.device, w, {q.on.policy.machine, q.on.policy.moe_kernels},
                                     {.routing = expert_routing::random}),
                 "calibrated_estimate of moe_ffn");
  p.shape = shape_of(q, "tokens hidden intermediate experts top_k");
  return p;
}

prediction predict_experts_touched(const question& q) {
  prediction p;
  p.value = expected_experts(q.number("experts"), q.number("top_k"), q.number("tokens"));
  p.size = q.number("tokens");
  p.shape = shape_of(q, "tokens experts top_k");
  p.by = "expected_experts";
  return p;
}

prediction predict_step(const question& q) {
  deployment d;
  d.device = q.on.device;
  d.model.name = "recorded";
  d.model.hidden = q.number("hidden");
  d.model.vocabulary = q.number("vocabulary");
  d.model.layers = {{q.number("layers"),
                     attention_shape{.query_heads = q.number("query_heads"),
                                     .kv_heads = q.number("kv_heads"),
                                     .head_dim = q.number("head_dim")},
                     dense_shape{q.number("intermediate")}}};
  d.weights = q.format();
  d.activations = q.format();
  d.kv = q.format();
  iteration i;
  i.batch = q.number("batch");
  i.context = (std::max)(1.0, q.number("context"));
  i.prefill_tokens = q.number("prefill_tokens");
  calibrated policy = q.on.policy;
  const bool eager = q.word("launch") == "eager";
  policy.kernel_time = eager ? stream_kernel_time : graph_kernel_time;
  prediction p;
  p.value = step(d, i, policy, q.on.links).time.value();
  p.bound = step_bound(d, i).time.value();
  p.held_to = p.bound;
  p.size = q.number("batch");
  p.shape = shape_of(q, "launch batch context prefill_tokens");
  p.by = "step";
  p.profiled = true;
  if (eager) p.by += ", stream_kernel_time";
  return p;
}

}  // namespace perfmodel::validation
