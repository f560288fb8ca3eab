#include "service_keys.hpp"

#include "query.hpp"

namespace napkin {

std::vector<key> draft_keys() {
  key acceptance =
      number("acceptance",
             "probability that a draft token is kept, given those before it: one, or one for each "
             "position",
             0.0, 1.0)
          .optional();
  acceptance.kind = key_kind::numbers;
  return {count("draft_length", "tokens that are drafted for each pass, where a service speculates",
                1.0, 64.0)
              .optional(),
          acceptance,
          count("mtp",
                "tokens that the model's own multi-token-prediction heads draft for each pass; "
                "acceptance 0.85 is assumed, where not given",
                1.0, 64.0)
              .optional(),
          word("drafter",
               "who drafts: lookup (n-grams, where not given), a layer before the head (EAGLE), "
               "heads (Medusa), part (a quarter of the layers)",
               {"lookup", "layer", "heads", "part"})
              .optional(),
          text("draft_model", "a model that drafts on the same GPUs").optional()};
}

std::vector<key> pool_keys() {
  key link = positive("kv_link_bytes_per_s",
                      "bandwidth of each GPU to the other pool, one way; where not given, of the "
                      "fabric where it joins both pools, else of the link to the host")
                 .optional();
  link.unit = perfmodel::exponents_of<perfmodel::bandwidth<>>();
  return {
      degree("prefill_tensor_parallel",
             "ranks that share each layer, of replicas that compute prompts and nothing else")
          .optional(),
      degree("prefill_expert_parallel", "groups that the experts are dealt to").otherwise("1"),
      degree("prefill_data_parallel", "as data_parallel, of a replica that computes prompts")
          .otherwise("1"),
      degree("prefill_replicas", "that compute prompts").otherwise("1"),
      degree("decode_tensor_parallel",
             "ranks that share each layer, of replicas that decode and nothing else")
          .optional(),
      degree("decode_expert_parallel", "groups that the experts are dealt to").otherwise("1"),
      degree("decode_data_parallel", "as data_parallel, of a replica that decodes").otherwise("1"),
      degree("decode_replicas", "that decode").otherwise("1"),
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
  leaves_out("held_iterations");
  return all;
}

std::vector<key> target_keys() {
  return {
      time_limit("ttft_limit_s", "longest time to first token, for goodput").optional(),
      time_limit("itl_limit_s", "longest inter-token latency, for goodput").optional(),
      number("limit_share",
             "of requests whose first token is within ttft_limit_s at the largest rate", 0.0, 0.999)
          .otherwise("0.9")};
}

}  // namespace napkin
