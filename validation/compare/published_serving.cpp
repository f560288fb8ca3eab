// Whole services: the time per output token of a closed loop, by the laws of serving and of a step.
#include <optional>
#include <perfmodel/calibrated/for_accelerator.hpp>
#include <perfmodel/deployment/engine_formats.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/workload/catalog/all.hpp>

#include "../calibrate/tables.hpp"
#include "published.hpp"

namespace perfmodel::validation {

namespace {

const transformer* model_of(const std::string& name) {
  if (name.rfind("DeepSeek-", 0) == 0) return &catalog::deepseek_r1;
  if (name == "Llama-3.1-70B") return &catalog::llama_3_1_70b;
  if (name.rfind("Qwen3-235B-A22B", 0) == 0) return &catalog::qwen_3_235b_a22b;
  if (name == "gpt-oss-120b") return &catalog::gpt_oss_120b;
  return nullptr;  // Qwen3.5 has linear attention
}

struct service {
  deployment running{};
  service_load under{};
};

/// A checkpoint of a model, and what it says of its cache.
struct checkpoint {
  weight_storage weights{};
  std::optional<storage_format> kv{};
};

/// The checkpoint that a row's precision names: the makers' own in fp8 and MXFP4, NVIDIA's in NVFP4, which
/// leave DeepSeek's attention in bf16; NVIDIA's keep the cache in fp8.
checkpoint checkpoint_of(const common::table_row& c, const transformer& m) {
  const storage_format fp8_blocks(fp8, 128.0 * 128.0, 32.0), nvfp4(fp4, 16.0, 8.0);
  if (c.text("model") == "gpt-oss-120b") return {m.stored, {}};
  const bool nvidia = c.text("model").starts_with("Llama") || c.text("precision") == "fp4";
  if (!nvidia) return {weight_storage(fp8_blocks), {}};
  checkpoint of{weight_storage(c.text("precision") == "fp4" ? nvfp4 : storage_format(fp8)), fp8};
  if (c.text("model").starts_with("DeepSeek")) of.weights.attention = bf16;
  return of;
}

/// Formats are those that a user gets who names none.
std::optional<service> service_of(const common::table_row& c) {
  const transformer* m = model_of(c.text("model"));
  if (m == nullptr || !c.has("attention_dp") || !c.has("ttft_ms") || !c.has("tpot_ms")) return {};
  service s;
  deployment& d = s.running;
  d.layout = {.tensor = c.whole("tp"),
              .pipeline = c.whole("pp"),
              .expert = experts_of(*m) ? c.whole("moe_ep") : 1,
              .data = c.whole("attention_dp")};
  if (!layout_feasible(d.layout, sharded_dims_of(*m))) return {};
  const accelerator* a = published::device_named(c.text("gpu"));
  if (a == nullptr) return {};
  const bool blackwell = c.text("gpu") == "b200_sxm";
  d.device = blackwell && d.layout.ranks() > 8 ? catalog::gb200 : *a;  // a rack
  d.model = *m;
  const checkpoint stored = checkpoint_of(c, *m);
  const engine_formats formats = engine_formats_of(
      stored.weights, stored.kv, d.device, find_engine(c.text("backend")).value_or(engine::none));
  d.weights = stored.weights;
  d.activations = formats.linear.format;
  d.expert_activations = formats.experts.format;
  d.kv = formats.kv;
  d.served_by = find_engine(c.text("backend")).value_or(engine::none);
  s.under = {.input_tokens = c.count("isl"),
             .output_tokens = c.count("osl"),
             .arrivals = closed_loop{c.count("concurrency")}};
  return s;
}

}  // namespace

std::vector<comparison> published_serving(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& c : published::rows_of(folder, "aic_e2e_serving_public.csv")) {
    const auto s = service_of(c);
    if (!s) continue;
    const accelerator& a = s->running.device;
    const std::string& backend = c.text("backend");
    const bool flags = backend == "trtllm";
    const auto links =
        calibrated_collectives_on(a, catalog::collective_profile_of(a),
                                  flags ? catalog::flag_kernels : catalog::barrier_kernels);
    const serving_estimate bounded = serving_bound(s->running, s->under);
    const serving_estimate said =
        serving(s->running, s->under, calibrated_for(a, s->running.served_by), links);
    comparison r;
    r.table = "InferenceX, by AIConfigurator";
    r.quantity = "time per output token";
    r.device = c.text("gpu");
    r.format = c.text("precision");
    r.engine = backend;
    r.shape = c.text("model");
    if (r.shape.starts_with("DeepSeek-")) r.shape = "DeepSeek-R1";
    r.regime = c.count("concurrency") <= 16.0 ? "to 16 requests" : "above 16 requests";
    r.unit = "s";
    r.measured = c.seconds("tpot_ms", 1e-3);
    r.predicted = said.itl.value();
    r.bound = bounded.itl.value();
    r.held_to = r.bound;
    r.size = c.count("concurrency");
    r.by = "serving, calibrated operators and collectives";
    out.push_back(r);
  }
  return out;
}

}  // namespace perfmodel::validation
