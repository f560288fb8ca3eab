// Whole services: the time per output token of a closed loop, by the laws of serving and of a step.
#include <optional>
#include <perfmodel/calibrated/for_accelerator.hpp>
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

/// Mean lengths over those that a row names: InferenceX draws each from 80 to 100 % of its isl and osl.
double mean_length(const common::table_row& c) {
  return c.text("src").find("dump") != std::string::npos ? 0.9 : 1.0;
}

/// Formats are the narrowest that a row's label allows: the file does not say which layers stay
/// wide.
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
  const bool gpt_oss = c.text("model") == "gpt-oss-120b";
  const bool four_bit = c.text("precision") == "fp4";
  const number_format linear = gpt_oss ? bf16 : four_bit ? fp4 : fp8;
  d.weights = weight_storage(storage_format(linear), storage_format(four_bit ? fp4 : fp8), bf16);
  d.activations = four_bit && blackwell ? fp4 : fp8;
  d.kv = fp8;
  d.served_by = find_engine(c.text("backend")).value_or(engine::none);
  s.under = {.input_tokens = mean_length(c) * c.count("isl"),
             .output_tokens = mean_length(c) * c.count("osl"),
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
