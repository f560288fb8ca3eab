#include "service_keys.hpp"

#include "query.hpp"

namespace napkin {

std::vector<key> draft_keys() {
  key acceptance = number("acceptance",
                          "probability that a draft token is accepted given the preceding ones: "
                          "one value, or one per position",
                          0.0, 1.0)
                       .optional();
  acceptance.kind = key_kind::numbers;
  return {count("draft_length", "draft tokens per engine step (enables speculative decoding)", 1.0,
                64.0)
              .optional(),
          acceptance,
          count("mtp",
                "draft tokens per engine step from the model's own multi-token-prediction (MTP) "
                "heads; default acceptance 0.85 (assumed)",
                1.0, 64.0)
              .optional(),
          word("drafter",
               "drafting method: lookup (n-grams, default), layer (one layer before the LM head, "
               "as EAGLE), heads (Medusa), part (a quarter of the model's layers)",
               {"lookup", "layer", "heads", "part"})
              .optional(),
          text("draft_model", "draft model, on the same GPUs").optional()};
}

std::vector<key> pool_keys() {
  key link = positive("kv_link_bytes_per_s",
                      "one-way bandwidth of each GPU to the other pool; default: the fabric where "
                      "it joins both pools, else the host link")
                 .optional();
  link.unit = perfmodel::exponents_of<perfmodel::bandwidth<>>();
  return {
      degree("prefill_tensor_parallel", "tensor-parallel size of a prefill replica").optional(),
      degree("prefill_expert_parallel", "expert-parallel size of a prefill replica").otherwise("1"),
      redundant_experts_key("prefill_redundant_experts"),
      degree("prefill_data_parallel", "data-parallel attention groups of a prefill replica")
          .otherwise("1"),
      degree("prefill_replicas", "number of prefill replicas").otherwise("1"),
      degree("decode_tensor_parallel", "tensor-parallel size of a decode replica").optional(),
      degree("decode_expert_parallel", "expert-parallel size of a decode replica").otherwise("1"),
      redundant_experts_key("decode_redundant_experts"),
      degree("decode_data_parallel", "data-parallel attention groups of a decode replica")
          .otherwise("1"),
      degree("decode_replicas", "number of decode replicas").otherwise("1"),
      link};
}

std::vector<std::string> left_out_of_bound(const request& r, bool pools) {
  const bool closed = !r.has("requests_per_s");
  std::vector<std::string> all;
  const auto leaves_out = [&](const char* name) {
    if (r.asked().find(name) != nullptr && r.at(name).given) all.emplace_back(name);
  };
  if (pools && closed) leaves_out("requests");
  if (!pools) leaves_out("arrival_cv");
  if (!pools || closed) leaves_out("input_cv");
  const bool drafts =
      r.asked().find("draft_length") != nullptr && (r.has("draft_length") || r.has("mtp"));
  if (!pools && !drafts) leaves_out("output_cv");
  leaves_out("limit_share");
  leaves_out("preemption");
  if (!r.has("scheduler") || !closed || r.text("scheduler") != "static_batches")
    leaves_out("scheduler");
  leaves_out("stream_interval");
  leaves_out("cuda_graphs");
  leaves_out("step_cpu_s");
  leaves_out("sequence_cpu_s");
  leaves_out("held_iterations");
  return all;
}

std::vector<key> target_keys() {
  return {time_limit("ttft_limit_s", "TTFT limit, for goodput").optional(),
          time_limit("itl_limit_s", "mean ITL limit, for goodput").optional(),
          number("limit_share",
                 "share of requests that must meet ttft_limit_s, for the largest sustainable rate",
                 0.0, 0.999)
              .otherwise("0.9")};
}

}  // namespace napkin
