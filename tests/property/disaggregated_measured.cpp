// InferenceX's disaggregated services, by the pools that they name, with the formats of their checkpoints.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <perfmodel/calibrated/for_accelerator.hpp>
#include <perfmodel/deployment/engine_formats.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <string>

#include "support/shared.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

/// A worker has gpus / workers devices. SGLang spreads experts over all of them and adds copies until
/// they divide.
pm::replica_pool pool_of(const common::table_row& c, const std::string& side) {
  const bool sglang = c.text("framework") == "dynamo-sglang";
  const bool gpt_oss = c.text("model").find("gpt-oss") != std::string::npos;
  const int workers = c.whole((side + "_workers").c_str());
  const int ranks = c.whole((side + "_gpus").c_str()) / workers;
  const bool data = c.text((side + "_dp_attention").c_str()) == "true";
  const int experts = sglang ? ranks : c.whole((side + "_ep").c_str());
  pm::deployment d{
      .device = cat::gb200,
      .model = gpt_oss ? cat::gpt_oss_120b : cat::deepseek_r1,
      .layout = {.tensor = data ? 1 : ranks, .expert = experts, .data = data ? ranks : 1}};
  for (auto& kind : d.model.layers.feed_forwards) {
    if (auto* routed = std::get_if<pm::expert_shape>(&kind.shape)) {
      routed->experts = std::ceil(routed->experts / experts) * experts;
    }
  }
  std::optional<pm::storage_format> cache;
  if (gpt_oss) {
    d.weights = d.model.stored;
  } else if (c.text("precision") == "fp4") {
    d.weights = pm::weight_storage(pm::storage_format(pm::number_format::fp4, 16.0, 8.0));
    d.weights.attention = pm::number_format::bf16;
    cache = pm::number_format::fp8;
  } else {
    d.weights = pm::weight_storage(cat::fp8_blocks);
  }
  d.served_by = sglang ? pm::engine::sglang : pm::engine::trtllm;
  const auto formats = pm::engine_formats_of(d.weights, cache, d.device, d.served_by);
  d.activations = formats.linear.format;
  d.expert_activations = formats.experts.format;
  d.kv = formats.kv;
  return {d, double(workers)};
}

struct errors {
  double sum = 0;
  int count = 0;
  void add(double predicted, double measured) {
    sum += std::abs(predicted / measured - 1);
    ++count;
  }
  double mean() const { return sum / count; }
};

}  // namespace

TEST_CASE("disaggregated: services on GB200 as published, without speculation", "[shared]") {
  const auto table = perfmodel_test::measured_table("inferencex_serving_public.csv");
  std::map<std::string, errors> of_group;
  errors all;
  for (const auto& c : table) {
    if (c.text("disagg") != "true" || c.text("spec_decoding") != "none") continue;
    const pm::disaggregated d{.prefill = pool_of(c, "prefill"),
                              .decode = pool_of(c, "decode"),
                              .link = {.per_device = 100.0 * pm::GB_per_s}};
    const double n = c.count("concurrency");
    // Lengths are even over 80 to 100 % of isl and osl; a run is ten waves.
    const double spread = 0.2 / std::sqrt(12.0) / 0.9;
    const pm::service_load load{.input_tokens = 0.9 * c.count("isl"),
                                .output_tokens = 0.9 * c.count("osl"),
                                .arrivals = pm::closed_loop{.concurrency = n, .requests = 10 * n},
                                .input_cv = spread,
                                .output_cv = spread};
    const auto silicon = pm::calibrated_for(cat::gb200, d.decode.deployment.served_by);
    const auto s = pm::serving(d, load, silicon);
    const double measured = c.seconds("tpot_mean_ms", 1e-3);
    all.add(s.itl.value(), measured);
    of_group[c.text("model") + " " + c.text("framework") + " " + c.text("precision")].add(
        s.itl.value(), measured);
  }
  REQUIRE(all.count == 127);
  CHECK(all.mean() < 0.16);
  for (const auto& [name, of] : of_group) {
    INFO(name << ": " << of.count << " services, " << of.mean());
    CHECK(of.mean() < 0.25);
  }
}
