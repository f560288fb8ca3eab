// Whole services: the time per output token of a closed loop, by the laws of serving and of a step.
#include <optional>
#include <perfmodel/calibrated/for_accelerator.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/workload/catalog/all.hpp>

#include "../calibrate/csv.hpp"
#include "published.hpp"

namespace perfmodel::validation {

namespace {

/// Columns of aic_e2e_serving_public.csv.
enum column {
  model,
  gpu,
  backend,
  version,
  precision,
  gemm_quant,
  moe_quant,
  isl,
  osl,
  concurrency,
  batch_per_replica,
  tp,
  pp,
  attention_dp,
  moe_tp,
  moe_ep,
  ttft_ms,
  tpot_ms
};

const transformer* model_of(const std::string& name) {
  if (name.rfind("DeepSeek-", 0) == 0) return &catalog::deepseek_r1;
  if (name == "Llama-3.1-70B") return &catalog::llama_3_1_70b;
  if (name.rfind("Qwen3-235B-A22B", 0) == 0) return &catalog::qwen_3_235b_a22b;
  if (name == "gpt-oss-120b") return &catalog::gpt_oss_120b;
  return nullptr;  // Qwen3.5 has linear attention
}

const accelerator* device_of(const std::string& name, bool rack) {
  if (name == "h100_sxm") return &catalog::h100_sxm;
  if (name == "h200_sxm") return &catalog::h200_sxm;
  if (name == "b200_sxm") return rack ? &catalog::gb200 : &catalog::b200_sxm;
  return nullptr;
}

struct service {
  deployment running{};
  load under{};
};

/// Formats are the narrowest that a row's label allows: the file does not say which layers stay
/// wide.
std::optional<service> service_of(const published::table_row& c) {
  const transformer* m = model_of(c[model]);
  if (m == nullptr || c[attention_dp].empty() || c[ttft_ms].empty() || c[tpot_ms].empty())
    return {};
  service s;
  deployment& d = s.running;
  d.layout = {.tensor = std::stoi(c[tp]),
              .pipeline = std::stoi(c[pp]),
              .expert = m->moe.layers > 0 ? std::stoi(c[moe_ep]) : 1,
              .data = std::stoi(c[attention_dp])};
  if (!layout_feasible(d.layout, sharded_dims_of(*m))) return {};
  const accelerator* a = device_of(c[gpu], d.layout.ranks() > 8);
  if (a == nullptr) return {};
  d.device = *a;
  d.model = *m;
  const bool gpt_oss = c[model] == "gpt-oss-120b";
  const bool four_bit = c[precision] == "fp4";
  const number_format linear = gpt_oss ? bf16 : four_bit ? fp4 : fp8;
  d.weights = weight_storage(storage_format(linear), storage_format(four_bit ? fp4 : fp8), bf16);
  d.activations = four_bit && c[gpu] == "b200_sxm" ? fp4 : fp8;
  d.kv = fp8;
  s.under = {.input_tokens = std::stod(c[isl]),
             .output_tokens = std::stod(c[osl]),
             .arrivals = closed_loop{std::stod(c[concurrency])}};
  return s;
}

}  // namespace

std::vector<comparison> published_serving(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& c : published::rows_of(folder + "/aic_e2e_serving_public.csv")) {
    const auto s = service_of(c);
    if (!s) continue;
    const accelerator& a = s->running.device;
    const bool flags = c[backend] == "trtllm";
    const auto links =
        calibrated_collectives_on(a, catalog::collective_profile_of(a),
                                  flags ? catalog::flag_kernels : catalog::barrier_kernels);
    const serving_estimate bounded = serving_bound(s->running, s->under);
    const serving_estimate said =
        serving(s->running, s->under,
                calibrated_for(a, find_engine(c[backend]).value_or(engine::none)), links);
    comparison r;
    r.table = "InferenceX, by AIConfigurator";
    r.quantity = "time per output token";
    r.device = c[gpu];
    r.format = c[precision];
    r.engine = c[backend];
    r.shape = c[model];
    if (r.shape.rfind("DeepSeek-", 0) == 0) r.shape = "DeepSeek-R1";
    r.regime = std::stod(c[concurrency]) <= 16.0 ? "to 16 requests" : "above 16 requests";
    r.unit = "s";
    r.measured = std::stod(c[tpot_ms]) * 1e-3;
    r.predicted = said.itl.value();
    r.bound = bounded.itl.value();
    r.held_to = r.bound;
    r.size = std::stod(c[concurrency]);
    r.by = "serving, calibrated operators and collectives";
    out.push_back(r);
  }
  return out;
}

}  // namespace perfmodel::validation
