// Published measurements of services, as deployments with the formats that an engine uses by
// default.
#pragma once

#include <optional>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/deployment.hpp>
#include <string>
#include <vector>

#include "tables.hpp"

namespace published {

/// A service as a table has it: what was run, the time per output token and to the first.
struct service {
  std::string table{}, model{}, gpu{}, engine{}, version{}, precision{};
  pm::parallel_layout layout{};
  pm::service_load load{};
  double seconds = 0.0;
  double first = 0.0;      ///< seconds to the first token, the mean
  double first_p50 = 0.0;  ///< 0: the table has none
  double first_p99 = 0.0;
  bool may_speculate = false;  ///< more tokens a step than one, for all that the table says
  bool started_cold = false;   ///< its first requests waited for more than a service does
};

struct published_model {
  const char* begins;  ///< its name in a table, without the organisation
  const char* called;  ///< in a report
  const pm::transformer& is;
};
inline constexpr published_model published_models[] = {
    {"DeepSeek-", "DeepSeek-R1", pm::catalog::deepseek_r1},
    {"deepseek-r1", "DeepSeek-R1", pm::catalog::deepseek_r1},
    {"Llama-3.1-70B", "Llama-3.1-70B", pm::catalog::llama_3_1_70b},
    {"Qwen3-235B-A22B", "Qwen3-235B-A22B", pm::catalog::qwen_3_235b_a22b},
    {"Qwen3.5-397B-A17B", "Qwen3.5-397B-A17B", pm::catalog::qwen_3_5_397b_a17b},
    {"gpt-oss-120b", "gpt-oss-120b", pm::catalog::gpt_oss_120b}};

inline const published_model* model_of(std::string_view name) {
  name.remove_prefix(name.rfind('/') + 1);  // all of it where there is none
  for (const published_model& m : published_models) {
    if (name.starts_with(m.begins)) return &m;
  }
  return nullptr;
}

/// A checkpoint, and what it says of its cache.
struct checkpoint {
  pm::weight_storage weights{};
  std::optional<pm::storage_format> kv{};
};

/// The checkpoint of a model and a precision: the vendor's own in bf16, fp8 and MXFP4. For Llama in
/// fp8, and in fp4, it is NVIDIA's, with an fp8 KV cache and bf16 attention of DeepSeek and Qwen.
/// In fp4 on AMD it is AMD's.
inline checkpoint checkpoint_of(const service& s, const published_model& m,
                                const pm::accelerator& a) {
  using enum pm::number_format;
  const std::string_view model = m.called;
  if (model == "gpt-oss-120b" || s.precision == "bf16") return {m.is.stored, {}};
  const bool four_bit = s.precision == "fp4", llama = model.starts_with("Llama");
  if (!four_bit && !llama) return {pm::weight_storage(pm::catalog::fp8_blocks), {}};
  if (!four_bit) return {pm::weight_storage(fp8), fp8};
  const bool amd = pm::facts_of(a.architecture).kind == pm::machine_kind::gpu_amd;
  checkpoint c{pm::weight_storage(amd ? pm::catalog::mxfp4 : pm::storage_format(fp4, 16.0, 8.0)),
               fp8};
  if (!llama) c.weights.attention = bf16;
  if (amd) c.kv.reset();
  return c;
}

/// With the formats that a user gets who names none.
inline pm::deployment deployment_of(const service& s, const published_model& m,
                                    const pm::accelerator& a) {
  const checkpoint stored = checkpoint_of(s, m, a);
  pm::deployment d{.device = a, .model = m.is, .layout = s.layout, .weights = stored.weights};
  d.serving_engine = pm::find_engine(s.engine).value_or(pm::engine::none);
  d.kv = stored.kv;
  return d;
}

/// A run of ten requests for each concurrent one, all started at once. InferenceX draws lengths
/// evenly from 80 to 100 % of isl and osl: the mean is 0.9 of them, the coefficient of variation
/// 0.2 / sqrt(12) / 0.9. For others the number of requests is assumed; lengths are isl and osl, so
/// that a burst ends at once.
inline pm::service_load load_of(const common::table_row& c, bool inferencex) {
  const double of_lengths = inferencex ? 0.9 : 1.0, cv = inferencex ? 0.0642 : 0.0;
  const double concurrency = c.count("concurrency");
  const pm::closed_loop loop{concurrency, 10.0 * concurrency};
  return {.input_tokens = of_lengths * c.count("isl"),
          .output_tokens = of_lengths * c.count("osl"),
          .arrivals = loop,
          .input_cv = cv,
          .output_cv = cv};
}

/// Options of InferenceX's engines that affect TTFT, besides their defaults.
/// DeepSeek-R1 and Qwen3.5 by SGLang on B200: --scheduler-recv-interval 10 below 16 requests and 30
/// above.
/// --stream-interval does not delay a first token: SGLang sends tokens with a count of 1 modulo the
/// interval.
/// *Source:* SemiAnalysisAI/InferenceX, benchmarks/; sgl-project/sglang,
/// scheduler_output_processor_mixin.py.
inline void run_sglang_as_inferencex(service& s) {
  const bool polls_rarely =
      model_of(s.model) == model_of("DeepSeek-R1") || s.model.starts_with("Qwen3.5");
  if (!polls_rarely || !s.gpu.starts_with("b200")) return;
  s.load.batching_wait_iterations = s.load.concurrency() < 16.0 ? 5.0 : 15.0;
}

/// TensorRT-LLM: iterations that a prefill waits for others.
/// Llama on fewer than 8 GPUs, 1,024 tokens in and out: batch_wait_timeout_iters 20. On B200,
/// data-parallel attention waits until each rank has a prefill (enable_balance): DeepSeek-R1 60
/// iterations at most, gpt-oss the default of 50. DeepSeek-R1 in fp8 has batch_wait_timeout_iters
/// 40 for 64 to 255 requests of 1,024 tokens in and out. Half of the timeout is taken where an
/// arrival ends the wait early.
/// *Source:* SemiAnalysisAI/InferenceX, benchmarks/ (70b_fp8_h200_trt_slurm.sh,
/// dsr1_fp4_b200_trt.sh, dsr1_fp8_b200_trt.sh, gptoss_fp4_b200_trt.sh); the default:
/// NVIDIA/TensorRT-LLM, AttentionDpConfig.
inline void run_trtllm_as_inferencex(service& s) {
  const bool b200 = s.gpu.starts_with("b200");
  const bool short_ones = s.load.input_tokens < 1000.0 && s.load.output_tokens < 1000.0;
  const double c = s.load.concurrency();
  const bool deepseek = model_of(s.model) == model_of("DeepSeek-R1");
  if (s.model.starts_with("Llama")) {
    if (short_ones && s.layout.ranks() < 8) s.load.batching_wait_iterations = 20.0;
  } else if (b200 && s.layout.data > 1) {
    s.load.batching_wait_iterations = deepseek ? 30.0 : 25.0;
  } else if (b200 && deepseek && s.precision == "fp8" && short_ones && c >= 64.0 && c < 256.0) {
    s.load.batching_wait_iterations = 20.0;
  }
}

inline void run_as_inferencex(service& s) {
  if (s.engine == "sglang") run_sglang_as_inferencex(s);
  if (s.engine == "trtllm") run_trtllm_as_inferencex(s);
}

/// The ranks of AIConfigurator's rows. With expert parallelism the dump of 2026-04-06 multiplies
/// the degree of attention by that of experts once too often: its tp 64 with 8 x 8 equals tp 8 with
/// 1 x 8 of the dump before it, digit by digit. Rows without a degree of data parallelism have all
/// ranks of the experts.
inline std::optional<pm::parallel_layout> aic_layout(const common::table_row& c) {
  const int experts = c.whole("moe_ep"), expert_tensor = c.whole("moe_tp");
  pm::parallel_layout l{.tensor = c.whole("tp"), .pipeline = c.whole("pp"), .expert = experts};
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

/// DeepSeek-R1 by these versions of TensorRT-LLM: the same service (8 ranks, fp8, 64 requests of
/// 1,024 and 8,192 tokens) takes 22.4 ms a token in 1.2.0rc6.post2 and 12.2 in post3, below the
/// bound without speculation; 1.1.0rc2.post2 has rows of both kinds. InferenceX runs it with and
/// without MTP, and the dump has no column for that.
/// Qwen3.5 in fp8 by SGLang 0.5.9 on 4 B200 without expert parallelism: 4 requests take 5.1 ms a
/// token, on 8 B200 7.8, and in fp4, with half the bytes, 6.8. 256 requests take 37.5 ms.
inline bool may_speculate(const common::table_row& c) {
  const std::string& version = c.text("version");
  if (c.text("model").starts_with("Qwen3.5")) {
    return version == "0.5.9" && c.text("gpu") == "b200_sxm" && c.whole("tp") == 4 &&
           c.whole("moe_ep") == 1;
  }
  return c.text("model").starts_with("DeepSeek-") && c.text("backend") == "trtllm" &&
         (version == "1.2.0rc6.post3" || version == "1.1.0rc2.post2");
}

/// Rows of a dump of InferenceX, and those of Qwen3.5 elsewhere, which repeat it digit by digit.
inline bool run_by_inferencex(const common::table_row& c) {
  return c.text("src").find("dump") != std::string::npos || c.text("model").starts_with("Qwen3.5");
}

/// DeepSeek-R1 of an unnamed version, before InferenceX warmed up its servers: four requests of
/// 8,192 tokens have a mean TTFT of 5.5 s. The same service by SGLang 0.5.9 has 0.3 s, and the next
/// prompt length 0.6 s.
inline bool started_cold(const common::table_row& c) {
  return c.text("model") == "DeepSeek-R1" && !c.has("version");
}

inline std::vector<service> aic_services(const std::string& folder) {
  std::vector<service> out;
  for (const auto& c : rows_of(folder, "aic_e2e_serving_public.csv")) {
    if (!c.has("ttft_ms") || !c.has("tpot_ms") || !c.has("concurrency")) continue;
    const auto layout = aic_layout(c);
    if (!layout) continue;
    const bool dump = run_by_inferencex(c);
    out.push_back({.table = "InferenceX, by AIConfigurator",
                   .model = c.text("model"),
                   .gpu = c.text("gpu"),
                   .engine = c.text("backend"),
                   .version = c.has("version") ? c.text("version") : "",
                   .precision = c.text("precision"),
                   .layout = *layout,
                   .load = load_of(c, dump),
                   .seconds = c.seconds("tpot_ms", 1e-3),
                   .first = c.seconds("ttft_ms", 1e-3),
                   .may_speculate = may_speculate(c),
                   .started_cold = started_cold(c)});
    if (dump) run_as_inferencex(out.back());
  }
  return out;
}

/// Those that prefill and decode on the same devices, without speculation.
inline std::vector<service> inferencex_services(const std::string& folder) {
  std::vector<service> out;
  for (const auto& c : rows_of(folder, "inferencex_serving_public.csv")) {
    if (c.text("disagg") != "false" || c.text("spec_decoding") != "none") continue;
    if (!c.has("tpot_mean_ms") || !c.has("ttft_mean_ms")) continue;
    const int ranks = c.whole("tp");
    const bool data = c.text("dp_attention") == "true";
    const std::string& framework = c.text("framework");
    out.push_back(
        {.table = "InferenceX",
         .model = c.text("model"),
         .gpu = c.text("gpu").substr(0, c.text("gpu").find('-')),
         .engine = framework == "trt" ? "trtllm" : framework,
         .version = c.text("image").substr(c.text("image").rfind(':') + 1),
         .precision = c.text("precision"),
         .layout = {.tensor = data ? 1 : ranks, .expert = c.whole("ep"), .data = data ? ranks : 1},
         .load = load_of(c, true),
         .seconds = c.seconds("tpot_mean_ms", 1e-3),
         .first = c.seconds("ttft_mean_ms", 1e-3),
         .first_p50 = c.seconds("ttft_p50_ms", 1e-3),
         .first_p99 = c.seconds("ttft_p99_ms", 1e-3)});
    run_as_inferencex(out.back());
  }
  return out;
}

/// Whether engine overhead is fitted to the service. Excluded: vLLM on Qwen3-235B, where experts
/// ran 2 to 3 times as long as the same version's own latencies.
inline bool tells_of_engine(const service& s, pm::engine by) {
  if (s.may_speculate || pm::find_engine(s.engine) != by) return false;
  return by != pm::engine::vllm || !s.model.starts_with("Qwen3-235B");
}

/// All of them that are complete.
inline std::vector<service> services(const std::string& folder) {
  std::vector<service> out = aic_services(folder);
  for (service& s : inferencex_services(folder)) out.push_back(std::move(s));
  return out;
}

}  // namespace published
