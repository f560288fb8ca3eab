// Attention over a prompt and over a cache, contiguous and paged, and how many blocks fit.
#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/laws/kv_cache.hpp>

#include "predict.hpp"

namespace perfmodel::validation {

prediction predict_prefill(const question& q) {
  attention_prefill w{.batch = q.number("batch"),
                      .tokens = q.number("tokens"),
                      .query_heads = q.number("query_heads"),
                      .kv_heads = q.number("kv_heads"),
                      .head_dim = q.number("head_dim"),
                      .format = q.format()};
  w.kv_format = w.format;
  w.causal = flag_of(q.at, "causal");
  w.fused = q.word("variant") != "unfused";
  const demand d = demand_of(w);
  prediction p = w.fused ? bounded_by(q, d, q.on.policy.estimate(q.on.device, w),
                                      "calibrated::estimate of attention")
                         : bounded_by(q, d, roofline(q.on.device, d, q.on.policy), "roofline");
  p.shape = shape_of(q, "variant batch tokens query_heads kv_heads head_dim");
  return p;
}

prediction predict_decode(const question& q) {
  attention_decode w{.batch = q.number("batch"),
                     .context = q.number("context"),
                     .query_heads = q.number("query_heads"),
                     .kv_heads = q.number("kv_heads"),
                     .head_dim = q.number("head_dim"),
                     .format = q.format()};
  w.kv_format = w.format;
  if (const double block = q.number("block_size"); block > 0.0) w.block_size = block;
  calibrated policy = q.on.policy;
  policy.conditions = replay_conditions(q.warm() ? 1.0 : 0.0);
  prediction p = bounded_by(q, demand_of(w), policy.estimate(q.on.device, w),
                            "calibrated::estimate of attention");
  p.shape = shape_of(q, "batch context query_heads kv_heads head_dim splits");
  if (!q.word("order").empty()) p.shape = cat(q.word("order"), " ", p.shape);
  return p;
}

prediction predict_kv_blocks(const question& q) {
  prediction p;
  const memory_budget b{.capacity = q.number("free_bytes") * byte,
                        .runtime = q.number("reserved_bytes") * byte};
  const kv_capacity_result c = kv_capacity(b, q.number("block_bytes") * byte_per_token, 1.0, 1.0);
  p.value = c.blocks;
  p.by = "kv_capacity";
  p.size = q.number("block_bytes");
  p.shape = shape_of(q, "block_bytes");
  return p;
}

}  // namespace perfmodel::validation
