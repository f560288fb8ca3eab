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

/// A service as a table has it: what was run, and the time per output token.
struct service {
  std::string table{}, model{}, gpu{}, engine{}, precision{};
  parallel_layout layout{};
  service_load load{};
  double seconds = 0.0;
  bool may_speculate = false;  ///< more tokens a step than one, for all that the table says
};

struct published_model {
  const char* begins;  ///< its name in a table, without the organisation
  const char* called;  ///< in a report
  const transformer& is;
};
constexpr published_model published_models[] = {
    {"DeepSeek-", "DeepSeek-R1", catalog::deepseek_r1},
    {"deepseek-r1", "DeepSeek-R1", catalog::deepseek_r1},
    {"Llama-3.1-70B", "Llama-3.1-70B", catalog::llama_3_1_70b},
    {"Qwen3-235B-A22B", "Qwen3-235B-A22B", catalog::qwen_3_235b_a22b},
    {"Qwen3.5-397B-A17B", "Qwen3.5-397B-A17B", catalog::qwen_3_5_397b_a17b},
    {"gpt-oss-120b", "gpt-oss-120b", catalog::gpt_oss_120b}};

const published_model* model_of(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // all of it where there is none
  for (const published_model& m : published_models) {
    if (name.starts_with(m.begins)) return &m;
  }
  return nullptr;
}

/// A checkpoint, and what it says of its cache.
struct checkpoint {
  weight_storage weights{};
  std::optional<storage_format> kv{};
};

/// The checkpoint that a model and a precision name: the maker's own in bf16, fp8 and MXFP4; for Llama in
/// fp8, and in fp4, NVIDIA's, which keep the cache in fp8 and DeepSeek's and Qwen's attention in bf16; in
/// fp4 on AMD, AMD's.
checkpoint checkpoint_of(const service& s, const published_model& m, const accelerator& a) {
  using enum number_format;
  const std::string_view model = m.called;
  if (model == "gpt-oss-120b" || s.precision == "bf16") return {m.is.stored, {}};
  const bool four_bit = s.precision == "fp4", llama = model.starts_with("Llama");
  if (!four_bit && !llama) return {weight_storage(catalog::fp8_blocks), {}};
  if (!four_bit) return {weight_storage(fp8), fp8};
  const bool amd = facts_of(a.architecture).kind == machine_kind::gpu_amd;
  checkpoint c{weight_storage(amd ? catalog::mxfp4 : storage_format(fp4, 16.0, 8.0)), fp8};
  if (!llama) c.weights.attention = bf16;
  if (amd) c.kv.reset();
  return c;
}

/// With the formats that a user gets who names none.
deployment deployment_of(const service& s, const published_model& m, const accelerator& a) {
  const checkpoint stored = checkpoint_of(s, m, a);
  deployment d{.device = a, .model = m.is, .layout = s.layout, .weights = stored.weights};
  d.served_by = find_engine(s.engine).value_or(engine::none);
  const engine_formats f = engine_formats_of(stored.weights, stored.kv, a, d.served_by);
  d.activations = f.linear.format;
  d.expert_activations = f.experts.format;
  d.kv = f.kv;
  return d;
}

/// Lengths are means: InferenceX draws each from 80 to 100 % of its isl and osl.
service_load load_of(const common::table_row& c, double of_lengths) {
  return {.input_tokens = of_lengths * c.count("isl"),
          .output_tokens = of_lengths * c.count("osl"),
          .arrivals = closed_loop{c.count("concurrency")}};
}

/// The ranks of AIConfigurator's rows. The dump of 2026-04-06 multiplies the degree of attention by that of
/// experts once too often where experts are spread: its tp 64 with 8 x 8 are the same runs, digit by digit,
/// as tp 8 with 1 x 8 in the dump before it. Rows without a degree of data parallelism have all ranks that
/// the experts are on.
std::optional<parallel_layout> aic_layout(const common::table_row& c) {
  const int experts = c.whole("moe_ep"), expert_tensor = c.whole("moe_tp");
  parallel_layout l{.tensor = c.whole("tp"), .pipeline = c.whole("pp"), .expert = experts};
  if (c.has("attention_dp")) {
    l.data = c.whole("attention_dp");
    if (c.text("src") == "dump-2026-04-06" && expert_tensor > 1) {
      (l.data > 1 ? l.data : l.tensor) /= experts;
    }
  } else if (c.text("concurrency") == c.text("batch_per_replica")) {
    l.data = experts * expert_tensor / l.tensor;
  } else {
    return {};
  }
  return l;
}

/// DeepSeek-R1 by these versions of TensorRT-LLM: the same service (8 ranks, fp8, 64 requests of 1,024 and
/// 8,192 tokens) takes 22.4 ms a token in 1.2.0rc6.post2 and 12.2 in post3, below the bound of a token at a
/// time; 1.1.0rc2.post2 has rows of both kinds. InferenceX runs it with and without MTP; the dump has no
/// column that says which.
bool may_speculate(const common::table_row& c) {
  const std::string& version = c.text("version");
  return c.text("model").starts_with("DeepSeek-") && c.text("backend") == "trtllm" &&
         (version == "1.2.0rc6.post3" || version == "1.1.0rc2.post2");
}

std::vector<service> aic_services(const std::string& folder) {
  std::vector<service> out;
  for (const auto& c : published::rows_of(folder, "aic_e2e_serving_public.csv")) {
    if (!c.has("ttft_ms") || !c.has("tpot_ms") || !c.has("concurrency")) continue;
    const auto layout = aic_layout(c);
    if (!layout) continue;
    const bool dump = c.text("src").find("dump") != std::string::npos;
    out.push_back({.table = "InferenceX, by AIConfigurator",
                   .model = c.text("model"),
                   .gpu = c.text("gpu"),
                   .engine = c.text("backend"),
                   .precision = c.text("precision"),
                   .layout = *layout,
                   .load = load_of(c, dump ? 0.9 : 1.0),
                   .seconds = c.seconds("tpot_ms", 1e-3),
                   .may_speculate = may_speculate(c)});
  }
  return out;
}

/// Those that prefill and decode on the same devices, without speculation.
std::vector<service> inferencex_services(const std::string& folder) {
  std::vector<service> out;
  for (const auto& c : published::rows_of(folder, "inferencex_serving_public.csv")) {
    if (c.text("disagg") != "false" || c.text("spec_decoding") != "none") continue;
    if (!c.has("tpot_mean_ms")) continue;
    const int ranks = c.whole("tp");
    const bool data = c.text("dp_attention") == "true";
    const std::string& framework = c.text("framework");
    out.push_back(
        {.table = "InferenceX",
         .model = c.text("model"),
         .gpu = c.text("gpu").substr(0, c.text("gpu").find('-')),
         .engine = framework == "trt" ? "trtllm" : framework,
         .precision = c.text("precision"),
         .layout = {.tensor = data ? 1 : ranks, .expert = c.whole("ep"), .data = data ? ranks : 1},
         .load = load_of(c, 0.9),
         .seconds = c.seconds("tpot_mean_ms", 1e-3)});
  }
  return out;
}

/// Beside its bound and, where kernels of the accelerator were measured, its prediction.
std::optional<comparison> compared(const service& s) {
  const published_model* m = model_of(s.model);
  const accelerator* a = catalog::find_accelerator(s.gpu);
  if (m == nullptr || a == nullptr) return {};
  const deployment d = deployment_of(s, *m, *a);
  if (!layout_feasible(d.layout, sharded_dims_of(d.model))) return {};
  comparison r;
  r.table = s.table;
  r.quantity = "time per output token";
  r.device = a->name.c_str();
  r.format = s.precision;
  r.engine = s.may_speculate ? cat(s.engine, ", with MTP or without") : s.engine;
  r.shape = m->called;
  r.size = s.load.concurrency();
  r.regime = r.size <= 16.0 ? "to 16 requests" : "above 16 requests";
  r.unit = "s";
  r.measured = s.seconds;
  r.bound = serving_bound(d, s.load).itl.value();
  if (!s.may_speculate) r.held_to = r.bound;
  r.by = "serving, calibrated operators and collectives";
  if (catalog::can_be_calibrated(*a)) {
    r.predicted = serving(d, s.load, calibrated_for(*a, d.served_by)).itl.value();
  }
  return r;
}

}  // namespace

std::vector<comparison> published_serving(const std::string& folder) {
  std::vector<comparison> out;
  for (const auto& services : {aic_services(folder), inferencex_services(folder)}) {
    for (const service& s : services) {
      if (auto c = compared(s)) out.push_back(std::move(*c));
    }
  }
  return out;
}

}  // namespace perfmodel::validation
