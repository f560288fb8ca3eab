// Advice on kernels for a given service result: the part of a step to which each law is applied, by
// hand.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/tools/advise/attention.hpp>
#include <perfmodel/tools/advise/kernels.hpp>
#include <perfmodel/tools/advise/parallelism.hpp>
#include <perfmodel/tools/advise/scheduling.hpp>
#include <string>
#include <vector>

#include "support/near.hpp"

namespace unit_advise_kernels {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;

namespace {

/// 40 sequences decode at 10 ms a token, of 1.1 s in all; prompts of 512 join them.
pm::adviser given(const pm::transformer& m, int tensor) {
  pm::advised_service s;
  s.deployment = pm::with_all_memory(
      pm::deployment{.device = cat::h100_sxm, .model = m, .layout = {.tensor = tensor}});
  s.load = {.input_tokens = 512,
            .output_tokens = 101,
            .arrivals = pm::closed_loop{40},
            .input_cv = 0.5,
            .output_cv = 0.25};
  return pm::adviser(s, [](const pm::advised_service&) {
    pm::serving_estimate e;
    e.itl = 10.0 * pm::ms;
    e.e2e = 1100.0 * pm::ms;
    e.batch = 40;
    return e;
  });
}
/// Each of the 100 steps would take so much more without what is in use.
double in_use(const pm::duration<>& more) {
  return 1 + 100 * more.value() / 1.1;
}
/// Each would take so much less.
double to_gain(const pm::duration<>& less) {
  return 1.1 / (1.1 - 100 * less.value());
}

}  // namespace

TEST_CASE("advice on kernels by hand: a step of 238 rows on two ranks") {
  const pm::adviser a = given(cat::llama_3_8b, 2);
  const pm::kernel_facts facts{.registers = 300.0};
  const std::vector<pm::technique> all = pm::kernel_techniques(a, facts);
  const auto technique = [&](const std::string& name) {
    return *std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.name == name; });
  };
  const auto gain = [&](const char* name) { return technique(name).gain; };

  // 40 tokens, and 39 x 512 of prompts for each 101 of answers.
  const double rows = std::ceil(40 + 39 * 512 / 101.0), width = 4096;
  REQUIRE(rows == 238);
  const auto demand = pm::demand_of_step(a.deployed(), a.mean_step());
  const auto rate = cat::h100_sxm.dram.bandwidth.quantity();
  const pm::duration<> time = 10.0 * pm::ms;
  const pm::duration<> products = pm::duration<>::from_value(
      std::fmax((demand.weights / rate).value(), demand.compute.value()));

  // Four chains in each of 32 layers, with 45 of 300 values per thread spilled.
  const auto saved = pm::chain_saving(pm::bytes<>::from_value(rows * width * 2), 4.0 * 32);
  const auto spilled = pm::spilled_bytes(300.0, 255.0, 32 * rows * width);
  const auto fused = 2.0 * saved.dram.total();
  CHECK(near(
      gain("kernel_fusion"),
      in_use((pm::fusion_gain(fused, saved, spilled) - 1) * (saved.dram.total() + spilled) / rate),
      1e-9));

  // Lengths of prompts vary more than those of answers: in the part of a pass that reads caches.
  const double share = demand.cache / (demand.weights + demand.cache);
  const double persistent =
      pm::persistent_kernel_gain(time, demand.launches, facts.costs.node, 1 + 0.5 * share);
  CHECK(near(gain("persistent_kernel"), to_gain((1 - 1 / persistent) * time), 1e-9));

  const double busy = (demand.weights + demand.cache) / rate / time;
  const double streams =
      pm::streams_gain(demand.launches, time / demand.launches, busy, facts.costs.gap);
  CHECK(near(gain("multi_stream"), to_gain((1 - 1 / std::fmin(streams, 1.05)) * 0.1 * time), 1e-9));
  // Events that cost what is left of the bandwidth but 2 % gain no more than these.
  REQUIRE(busy < 0.9);
  pm::kernel_facts costly = facts;
  costly.costs.gap = (0.98 - busy) * time / demand.launches;
  for (const pm::technique& t : pm::kernel_techniques(a, costly)) {
    if (std::string(t.name) == "multi_stream")
      CHECK(near(t.gain, to_gain((1 - 0.98) * 0.1 * time), 1e-9));
  }

  // 4 x 16 tiles for 132 SMs; sums in 32 bits, written and read by each of four, in addition to 2 x
  // 4096 FLOP.
  const double split = pm::split_k_gain(4 * 16.0, 132.0, 4, rows * 4 * 4 / width);
  CHECK(near(gain("split_k"), in_use((split - 1) * 0.25 * products), 1e-9));
  CHECK(technique("split_k").in_use);

  // Four stages of tiles of 64 and of 128 rows, 64 deep, in 16 bits: 96 KiB of a block.
  const pm::thread_block block{8.0, 128.0, pm::bytes<>::from_value(4 * 192 * 64 * 2.0)};
  CHECK(near(gain("smem_tiling"),
             in_use((pm::tiling_gain(64.0, pm::sm_limits{}, block, 8.0) - 1) * products), 1e-9));
  CHECK(near(gain("async_copy"),
             in_use((pm::async_copy_gain(600e-9 * pm::second, 300e-9 * pm::second, 4.0) - 1) * 0.1 *
                    products),
             1e-9));
  const double wide = pm::matrix_instruction_gain(
      pm::peak(cat::h100_sxm, formats_of(a.deployed()).linear.format),
      pm::bandwidth<>::from_value(128 * 132 / 0.6e-9), pm::bytes<>::from_value(2.0), 16.0, 64.0);
  CHECK(near(gain("matrix_instructions"), in_use((wide - 1) * 0.5 * products), 1e-9));
  CHECK(technique("split_k").reason.find("64 tiles for 132 SMs") != std::string::npos);
}

TEST_CASE("advice on kernels by hand: tokens fall on experts by chance") {
  const pm::adviser a = given(cat::mixtral_8x7b, 8);
  const auto p = pm::detail::split_into_kernels(a);
  CHECK(p.columns == 512);
  CHECK(p.tiles() == 4 * 4);
  // 238 rows, two of eight experts each: 59.5, which vary by their root.
  CHECK(near(pm::detail::imbalance_of(a, p), 1 + 0.5 * p.cache_share + 1 / std::sqrt(59.5), 1e-9));
}

TEST_CASE(
    "advice by hand: a saving is of steps and of a prompt, of a request that it does not end") {
  const pm::adviser a = given(cat::llama_3_8b, 1);
  const pm::technique_description words{"a", "b", "c", "d"};
  const auto gain = [&](double step, double prompt, bool used) {
    return a.saving(words, step * pm::ms, prompt * pm::ms, used).gain;
  };
  CHECK(near(gain(1, 10, true), 1210 / 1100.0));
  CHECK(near(gain(1, 10, false), 1100 / 990.0));
  CHECK(near(gain(100, 0, false), 1000.0));
  CHECK(near(gain(-1, -100, true), 900 / 1100.0));
  CHECK(near(gain(-100, 0, true), 1e-6));
  CHECK(a.saving(words, -0.02 * pm::ms, {}, true).harmful);
  CHECK_FALSE(a.saving(words, -0.01 * pm::ms, {}, true).harmful);
}

TEST_CASE("advice by hand: the longest of 99 outputs is their 99th percentile, of a lognormal") {
  const double variance = std::log(1.25), longest = 2.3263 * std::sqrt(variance) - variance / 2;
  CHECK(near(pm::static_batch_stretch(99.0, 0.5), std::exp(longest), 1e-3));
}

TEST_CASE("advice by hand: scores that stay in a fused kernel, and prefill on twice the ranks") {
  const pm::adviser a = given(cat::llama_3_8b, 2);
  // 16 of 32 heads, 512 x 512 scores and probabilities, written and read in 16 bits, in 32 layers.
  const double scores = 4 * 16 * 512 * 512 * 2 * 32.0;
  const double prompt = scores / cat::h100_sxm.dram.bandwidth.value();
  CHECK(near(pm::detail::flash_attention(a).gain, 1 + prompt / 1.1, 1e-9));

  const auto rate = pm::peak(cat::h100_sxm, formats_of(a.deployed()).linear.format);
  const auto two = pm::ring_attention_time(
      cat::h100_sxm.fabric, rate,
      pm::ring_attention{
          .ranks = 2, .tokens = 512, .query_heads = 16, .kv_heads = 4, .head_dim = 128});
  const double alone = 4.0 * 512 * 512 * 16 * 128 / rate.value();
  const auto shared = pm::detail::context_parallel(a);
  // Half of the squares are seen, alone and in the ring.
  const double saved = 32 * 0.5 * (alone - two.time.value());
  CHECK(near(shared.gain, 1.1 / (1.1 - saved), 1e-9));
  CHECK(shared.devices == 2.0);
  CHECK(shared.reason.find("a block of 256 tokens") == 0);
}

TEST_CASE("advice by hand: pools of the replicas that there are") {
  pm::advised_service s;
  s.deployment =
      pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_8b, .layout = {.tensor = 2}};
  s.load = {.input_tokens = 100, .output_tokens = 10, .arrivals = pm::closed_loop{4}};
  s.replicas = 5.0;
  const pm::adviser five(s, [](const pm::advised_service&) { return pm::serving_estimate{}; });
  const pm::disaggregated d = pm::detail::split_into_pools(five, 2.0);
  CHECK(d.prefill.replicas == 2.0);
  CHECK(d.decode.replicas == 3.0);
  CHECK(d.devices() == 10.0);
}

}  // namespace unit_advise_kernels
