// What a deployment stores and what fits it, for models that layouts cut unevenly.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/step/memory.hpp>
#include <string>

#include "support/layers.hpp"
#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_deployment {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("deployment: projections to MLA's latents are whole on every rank") {
  pm::deployment d{.device = cat::h200_sxm,
                   .model = cat::deepseek_v3,
                   .layout = {.tensor = 8},
                   .weights = pm::fp8};
  const auto p = parameters(cat::deepseek_v3);
  const double latents = 61 * 7168.0 * (1536 + 512 + 64);
  const double expected = (p.attention + p.linear - latents) / 8 + latents + p.experts / 8 +
                          2 * (p.other + (p.embedding + p.head) / 8);
  CHECK(near(weight_bytes_per_device(d).value(), expected));
}

TEST_CASE("deployment: experts are cut over all ranks of a stage, however they are grouped") {
  pm::deployment d{.device = cat::gb200,
                   .model = cat::deepseek_v3,
                   .layout = {.tensor = 4, .data = 8},
                   .weights = pm::fp8};
  const auto whole = weight_bytes_per_device(d);
  for (const int expert : {2, 8, 32}) {
    d.layout.expert = expert;
    CHECK(near(weight_bytes_per_device(d), whole));
  }
  d.layout.data = 1;
  d.layout.expert = 1;
  const auto four = weight_bytes_per_device(d);
  const double routed = parameters(cat::deepseek_v3).experts;
  CHECK(near((four - whole).value(), routed / 4 - routed / 32, 1e-9));
}

TEST_CASE(
    "deployment: biases of experts are cut as they are, norms by stages only, an encoder by "
    "ranks") {
  pm::deployment d{.device = cat::h200_sxm,
                   .model = cat::gpt_oss_120b,
                   .layout = {.tensor = 4, .pipeline = 2, .expert = 2}};
  d.weights = pm::fp8;
  d.weights.others = pm::bf16;
  const auto p = parameters(cat::gpt_oss_120b);
  CHECK(p.expert_biases > 1e6);
  const double layers = p.attention / 4 + p.linear / 4 + p.experts / 4;
  const double wide = (p.expert_biases / 4 + p.other) / 2 + (p.embedding + p.head) / 4;
  CHECK(near(weight_bytes_per_device(d).value(), layers / 2 + 2 * wide));
  d.model.encoder = pm::encoder_shape{.parameters = 4e9};
  CHECK(near(weight_bytes_per_device(d).value(), layers / 2 + 2 * (wide + 1e9)));
}

TEST_CASE("deployment: rows travel in 16 bits or as they are") {
  const auto rows = [](pm::number_format activations) {
    return pm::residual_format(pm::deployment{.activations = activations});
  };
  CHECK(rows(pm::fp16) == pm::fp16);
  CHECK(rows(pm::fp32) == pm::fp32);
  CHECK(rows(pm::fp8) == pm::bf16);
}

TEST_CASE(
    "deployment: a cache that fills the usable memory fits, unless weights leave none for it") {
  const auto why = [](double weights, double others, double cache) {
    const pm::memory_budget b{.capacity = 200.0 * pm::byte,
                              .utilization = 0.5,
                              .weights = weights * pm::byte,
                              .activations = 0.75 * others * pm::byte,
                              .runtime = 0.25 * others * pm::byte};
    return pm::detail::memory_fits(b, cache * pm::byte);
  };
  CHECK(why(40, 20, 40).feasible);
  CHECK(std::string(why(40, 20, 41).reason) ==
        "weights and KV cache exceed the usable memory of a device");
  CHECK(why(40, 20, 41).needed == 101);
  CHECK(why(40, 20, 41).available == 100);
  CHECK(std::string(why(80, 20, 0).reason) ==
        "weights, activations and runtime leave no usable memory for a KV cache");
  CHECK(std::string(why(100, 0, 0).reason) ==
        "weights and KV cache exceed the usable memory of a device, and so do the weights alone");
}

TEST_CASE("deployment: the busiest of two groups has whole sequences, or what there is of one") {
  const pm::deployment d{
      .device = cat::h200_sxm, .model = cat::llama_3_8b, .layout = {.tensor = 2, .data = 2}};
  const auto tokens = [&](double sequences) {
    return pm::detail::cache_on_device(d, sequences, 100.0).value() / (131072 / 2);
  };
  CHECK(tokens(0.5) == 50);
  CHECK(tokens(1) == 100);
  CHECK(tokens(3) == 150);
}

TEST_CASE("deployment: of a window's cache one sequence fits, or less than one does not") {
  pm::deployment d{.device = cat::h200_sxm, .model = cat::gemma_3_27b};
  d = with_all_memory(d);
  const double sequence = 2 * 16 * 128 * 2.0 * (10 * 32768 + 52 * 1024.0);
  const double weights = weight_bytes_per_device(d).value();
  d.device.dram.capacity = pm::bytes<>::from_value(weights + sequence);
  CHECK(kv_capacity(d, 32768.0).sequences == 1);
  CHECK(kv_capacity(d, 32768.0).feasible.feasible);
  d.device.dram.capacity = pm::bytes<>::from_value(weights + 0.99 * sequence);
  const auto c = kv_capacity(d, 32768.0);
  CHECK(c.sequences == 0);
  CHECK(std::string(c.feasible.reason) ==
        "the weights leave no memory for one sequence of this context");
  CHECK(c.feasible.needed == sequence);
  CHECK(near(c.feasible.available, 0.99 * sequence, 1e-9));
}

TEST_CASE("deployment: an expert that its ranks cannot share is a reason, not an error") {
  pm::transformer m = cat::mixtral_8x7b;
  perfmodel_test::experts(m).intermediate = 14335;
  const auto f =
      fits(pm::deployment{.device = cat::h200_sxm, .model = m, .layout = {.tensor = 2}}, 1.0, 1.0);
  CHECK(std::string(f.reason) == "the ranks that share an expert do not divide its width");
  CHECK(f.needed == 2);
  CHECK(f.available == 14335);
  // Whole experts on either rank need no division.
  CHECK(fits(
      pm::deployment{.device = cat::h200_sxm, .model = m, .layout = {.tensor = 2, .expert = 2}},
      1.0, 1.0));
}

TEST_CASE("deployment: capacity of 8 H100, of two groups, and of a model of windows") {
  const auto d = with_all_memory(
      pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}});
  const double free = cat::h100_sxm.dram.capacity.value() - weight_bytes_per_device(d).value();
  const auto c = kv_capacity(d, 4096.0);
  CHECK(c.sequences == std::floor(free / (4096 * 40960.0)));
  CHECK(c.available.value() == free);
  auto groups = with_all_memory(pm::deployment{.device = cat::h200_sxm, .model = cat::llama_3_8b});
  const double one = kv_capacity(groups, 8192.0).sequences;
  groups.layout.data = 2;
  CHECK(kv_capacity(groups, 8192.0).sequences == 2 * one);

  pm::deployment gemma{.device = cat::h200_sxm, .model = cat::gemma_3_27b};
  const double room = kv_bytes_available(memory_budget_of(gemma)).value();
  const double per_layer = 2 * 16 * 128 * 2.0;  // 16 KV heads of 128, keys and values in bf16
  CHECK(kv_capacity(gemma, 32768.0).sequences ==
        std::floor(room / (per_layer * (10 * 32768 + 52 * 1024.0))));
  for (auto& kind : gemma.model.layers.mixers) {
    std::get<pm::attention_shape>(kind.shape).window.reset();
  }
  CHECK(kv_capacity(gemma, 32768.0).sequences ==
        std::floor(std::floor(room / (per_layer * 62 * 16)) / 2048));
  CHECK(perfmodel_test::windowed_layers_of(cat::gemma_3_27b) == 52);
}

TEST_CASE("deployment: a pipeline cuts weights and cache of layers by its stages") {
  pm::deployment d{
      .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 4, .pipeline = 4}};
  CHECK(kv_bytes_per_token_and_device(d).value() == 327680 / 16);
  CHECK(fits(d, 1.0, 4096.0));
  d.layout.pipeline = 81;
  CHECK(std::string(fits(d, 1.0, 1.0).reason) ==
        "layout.pipeline has more stages than the model has layers");
}

TEST_CASE("require_fits: a layout that cannot be is refused before any byte is counted") {
  const auto over = [](int tensor) {
    return pm::detail::bytes_needed(
        pm::detail::tensor_parallel_deployment(cat::h100_sxm, cat::llama_3_70b, tensor, pm::bf16,
                                               pm::bf16),
        1.0, 1.0);
  };
  CHECK(refusal([&] { (void)over(3); }) ==
        "PM-E030: layout.tensor does not divide the query heads: 3 against 64");
  CHECK(refusal([&] { (void)over(16); }) ==
        "PM-E030: the layout takes more accelerators than there are: 16 against 8");
  CHECK(near(over(8).value(), 17.64e9, 1e-3));
}

// By hand: 48 ranks hold 288 slots, six a layer and rank; 64 ranks hold 256, four. An expert has 3 x
// 7168 x 2048 parameters of one byte, in each of 58 layers.
TEST_CASE("deployment: 48 ranks hold 256 experts and 32 redundant ones") {
  pm::deployment d{.device = cat::gb200,
                   .model = cat::deepseek_v3,
                   .layout = {.expert = 48, .data = 48, .redundant_experts = 32},
                   .weights = pm::fp8};
  const auto six = weight_bytes_per_device(d);
  CHECK(fits(d, 1.0, 4096.0));
  const auto step_of = [](const pm::deployment& x) {
    return pm::step_bound(x, {.batch = 48.0 * 64, .context = 4096}).time.value();
  };
  const double by_48 = step_of(d);
  d.layout = {.expert = 64, .data = 64};
  CHECK(near((six - weight_bytes_per_device(d)).value(), 2 * 58 * 3 * 7168.0 * 2048, 1e-9));
  // Half as many experts again are read from memory; every expert of a rank has tokens.
  CHECK(by_48 > step_of(d));
  d.layout = {.expert = 48, .data = 48};
  CHECK(std::string(fits(d, 1.0, 4096.0).reason) == "layout.expert does not divide the experts");
}

}  // namespace unit_deployment
