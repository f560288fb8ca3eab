// Disaggregated services of InferenceX: their pools, with the formats of their checkpoints.
#pragma once

#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <string>
#include <vector>

#include "tables.hpp"

namespace published {

/// Without speculation; times are means.
struct disaggregated_service {
  std::string model{}, framework{}, precision{};
  pm::disaggregated pools{};
  pm::service_load load{};
  double seconds = 0.0, first = 0.0;
};

/// A worker has gpus / workers devices. SGLang distributes experts over all of them and replicates
/// some until the number divides.
inline pm::replica_pool pool_of(const common::table_row& c, const std::string& side) {
  const bool sglang = c.text("framework") == "dynamo-sglang";
  const bool gpt_oss = c.text("model").find("gpt-oss") != std::string::npos;
  const int workers = c.whole((side + "_workers").c_str());
  const int ranks = c.whole((side + "_gpus").c_str()) / workers;
  const bool data = c.text((side + "_dp_attention").c_str()) == "true";
  const int experts = sglang ? ranks : c.whole((side + "_ep").c_str());
  pm::deployment d{
      .device = pm::catalog::gb200,
      .model = gpt_oss ? pm::catalog::gpt_oss_120b : pm::catalog::deepseek_r1,
      .layout = {.tensor = data ? 1 : ranks, .expert = experts, .data = data ? ranks : 1}};
  for (auto& kind : d.model.layers.feed_forwards) {
    if (auto* routed = std::get_if<pm::expert_shape>(&kind.shape)) {
      routed->experts = std::ceil(routed->experts / experts) * experts;
    }
  }
  if (gpt_oss) {
    d.weights = d.model.stored;
  } else if (c.text("precision") == "fp4") {
    d.weights = pm::weight_storage(pm::storage_format(pm::number_format::fp4, 16.0, 8.0));
    d.weights.attention = pm::number_format::bf16;
    d.kv = pm::number_format::fp8;
  } else {
    d.weights = pm::weight_storage(pm::catalog::fp8_blocks);
  }
  d.serving_engine = sglang ? pm::engine::sglang : pm::engine::trtllm;
  return {d, double(workers)};
}

/// On GB200. Lengths are even over 80 to 100 % of isl and osl; a run is ten waves.
inline std::vector<disaggregated_service> disaggregated_services(const std::string& folder) {
  std::vector<disaggregated_service> out;
  for (const auto& c : rows_of(folder, "inferencex_serving_public.csv")) {
    if (c.text("disagg") != "true" || c.text("spec_decoding") != "none") continue;
    const double n = c.count("concurrency"), spread = 0.2 / std::sqrt(12.0) / 0.9;
    out.push_back({.model = c.text("model"),
                   .framework = c.text("framework"),
                   .precision = c.text("precision"),
                   .pools = {.prefill = pool_of(c, "prefill"),
                             .decode = pool_of(c, "decode"),
                             .link = {.bandwidth_per_device = 100.0 * pm::GB_per_s}},
                   .load = {.input_tokens = 0.9 * c.count("isl"),
                            .output_tokens = 0.9 * c.count("osl"),
                            .arrivals = pm::closed_loop{.concurrency = n, .requests = 10 * n},
                            .input_cv = spread,
                            .output_cv = spread},
                   .seconds = c.seconds("tpot_mean_ms", 1e-3),
                   .first = c.seconds("ttft_mean_ms", 1e-3)});
  }
  return out;
}

}  // namespace published
