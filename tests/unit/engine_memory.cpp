// What engines keep of a device's memory: by hand, and as they logged it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/engine/cuda_graphs.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <vector>

#include <fit/published_memory.hpp>
#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/shared.hpp"

namespace unit_engine_memory {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;
using pm::engine;

namespace {

constexpr engine engines[] = {engine::none, engine::vllm, engine::sglang, engine::trtllm};
constexpr pm::step_dimensions llama_8b{.hidden = 4096, .widest = 3 * 14336, .vocabulary = 128256};

double activations_of(const pm::step_dimensions& w, const pm::engine_limits& limits) {
  return profiled_activations(engine::vllm, pm::engine_memory_of(engine::vllm), limits, w).value();
}
pm::deployment llama_over(int tensor, engine e) {
  return {.device = cat::h100_sxm,
          .model = cat::llama_3_70b,
          .layout = {.tensor = tensor},
          .serving_engine = e};
}
double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

}  // namespace

TEST_CASE("engine_memory: the widest layer or the sampler, by hand") {
  // 20,000 tokens of 16 bits: residual, normed input and output, gate, up and their product.
  CHECK(near(activations_of(llama_8b, {20000, 256}), 20000 * 2.0 * (3 * 4096 + 3 * 14336)));
  // 4,096 sequences, each with all logits, while the tokens' last hidden states wait.
  const double logit = pm::engine_memory_of(engine::vllm).logit_bytes.value();
  CHECK(near(activations_of(llama_8b, {2048, 4096}), logit * 4096 * 128256 + 2048 * 2.0 * 4096));
  for (const double tokens : {1.0, 512.0, 8192.0, 1e5}) {
    for (const double sequences : {1.0, 64.0, 1024.0}) {
      const double a = activations_of(llama_8b, {tokens, sequences});
      CHECK(a >= tokens * 2 * (3 * 4096 + 3 * 14336));
      CHECK(a >= logit * sequences * 128256);
      CHECK(activations_of(llama_8b, {2 * tokens, sequences}) >= a);
      CHECK(activations_of(llama_8b, {tokens, 2 * sequences}) >= a);
    }
  }
}

TEST_CASE("engine_memory: experts hold a token's dispatch and combine buffers") {
  // Mixtral over 2 ranks: 2 buffers of max(2 x 7168, 4096) and of 7168 values; 2048 tokens.
  pm::deployment d{.device = cat::l40s, .model = cat::mixtral_8x7b, .layout = {.tensor = 2}};
  d.limits = {32768, 1};
  CHECK(near(memory_budget_of(d).activations.value(),
             32768 * 2.0 * (3 * 4096 + 2 * (2 * 7168 + 7168))));
  // DeepSeek-V3 over 8: 8 dispatch buffers, more than the 2 x 256 of a rank, and an expert of 2048
  // for all.
  d = {.device = cat::h200_sxm, .model = cat::deepseek_v3, .layout = {.tensor = 8}};
  d.limits = {32768, 1};
  const double expert_layer = 8 * (7168 + 256) + 3 * 2048 / 8;
  CHECK(near(memory_budget_of(d).activations.value(), 32768 * 2.0 * (3 * 7168 + expert_layer)));
}

TEST_CASE("engine_memory: communicators where there are other ranks") {
  CHECK(memory_budget_of(llama_over(1, engine::none)).runtime == 0.04 * pm::GiB);
  CHECK(near(memory_budget_of(llama_over(2, engine::none)).runtime, (0.04 + 2.1) * pm::GiB));
}

TEST_CASE("engine_memory: vLLM's defaults by release") {
  // 0.92 less 0.6 GiB of graphs since April 2026; 16384 tokens from 160 GiB on since August.
  pm::deployment d = llama_over(8, engine::vllm);
  const auto now = memory_budget_of(d);
  CHECK(now.utilization == 0.92);
  CHECK(near(now.runtime, (0.04 + 2.1 + 0.6) * pm::GiB));
  d.cuda_graphs = false;
  CHECK(near(memory_budget_of(d).runtime, (0.04 + 2.1) * pm::GiB));
  for (const auto r : {pm::engine_release::vllm_0_10, pm::engine_release::vllm_0_14}) {
    d.release = r;
    CHECK(memory_budget_of(d).utilization == 0.9);
    CHECK(near(memory_budget_of(d).runtime, (0.04 + 2.1) * pm::GiB));
  }
  const auto budget = [](double gib, pm::engine_release r) {
    return *engine_limits_on(engine::vllm, {}, gib * pm::GiB, 1, false, r).tokens;
  };
  CHECK(budget(160, pm::engine_release::latest) == 16384);
  CHECK(budget(159, pm::engine_release::latest) == 8192);
  CHECK(budget(180, pm::engine_release::vllm_0_24) == 8192);
}

TEST_CASE("engine_memory: SGLang's defaults by release") {
  using pm::engine_release;
  // Before October 2025, server_args.py: 9.5 GiB and half a GiB for each rank of 80 GiB, 12 of 141,
  // 2.8 of 24; chunks of 8192 from 35 GiB on. Since then 4096 from 35 to 60 GiB.
  const auto share = [](double gib, int ranks, engine_release r) {
    const pm::engine_memory m = engine_memory_of(engine::sglang, r);
    const auto limits = engine_limits_on(engine::sglang, {}, gib * pm::GiB, ranks, false, r);
    return engine_utilization(engine::sglang, m, limits, gib * pm::GiB, {}, ranks, r);
  };
  CHECK(std::fabs(share(80, 1, engine_release::sglang_0_5_2) - (1.0 - 10.0 / 80.0)) < 1e-12);
  CHECK(std::fabs(share(141, 8, engine_release::sglang_0_5_2) - (1.0 - 16.0 / 141.0)) < 1e-12);
  CHECK(std::fabs(share(24, 4, engine_release::sglang_0_5_2) - (1.0 - 3.2 / 24.0)) < 1e-12);
  CHECK(std::fabs(share(180, 8, engine_release::sglang_0_5_2) - (1.0 - 32.0 / 180.0)) < 1e-12);
  CHECK(share(80, 1, engine_release::sglang_0_5_10) == share(80, 1, engine_release::latest));
  const auto chunk = [](double gib, engine_release r) {
    return *engine_limits_on(engine::sglang, {}, gib * pm::GiB, 1, false, r).tokens;
  };
  CHECK(chunk(45, engine_release::sglang_0_5_2) == 8192);
  CHECK(chunk(45, engine_release::latest) == 4096);
  CHECK(chunk(180, engine_release::sglang_0_5_2) == 16384);
  pm::deployment d = llama_over(8, engine::sglang);
  const double now = memory_budget_of(d).utilization;
  d.release = engine_release::sglang_0_5_2;
  CHECK(memory_budget_of(d).utilization > now);
}

TEST_CASE("engine_memory: MXFP4 experts in vLLM's whole tiles") {
  using pm::engine_release;
  const auto gib = [](const pm::transformer& m, const pm::accelerator& chip, engine e,
                      engine_release r) {
    pm::deployment d{.device = chip, .model = m};
    d.serving_engine = e;
    d.release = r;
    return weight_bytes_per_device(d).value() / 1073741824.0;
  };
  const pm::transformer& large = pm::catalog::gpt_oss_120b;
  const pm::transformer& small = pm::catalog::gpt_oss_20b;
  const pm::accelerator& h100 = pm::catalog::h100_sxm;
  // "Model loading took" in the logs of vllm-project/vllm#23278 and #33155, and of a run of 0.19.
  CHECK(near(gib(large, h100, engine::vllm, engine_release::vllm_0_10), 65.9651, 0.002));
  CHECK(near(gib(large, h100, engine::vllm, engine_release::vllm_0_14), 64.38, 0.002));
  CHECK(near(gib(small, pm::catalog::a100_sxm_80gb, engine::vllm, engine_release::vllm_0_14), 13.72,
             0.005));
  // The file has 60.77 GiB. Widths of whole tiles stay.
  CHECK(near(gib(large, h100, engine::sglang, engine_release::latest), 60.77, 0.001));
  const pm::transformer& whole = pm::catalog::qwen_3_30b_a3b;
  CHECK(gib(whole, h100, engine::vllm, engine_release::latest) ==
        gib(whole, h100, engine::none, engine_release::latest));
}

TEST_CASE("engine_memory: a release is one of its engine's") {
  using pm::engine_release;
  CHECK(pm::engine_of(engine_release::vllm_0_14) == engine::vllm);
  CHECK(pm::engine_of(engine_release::sglang_0_5_10) == engine::sglang);
  CHECK(pm::engine_of(engine_release::trtllm_1_0) == engine::trtllm);
  CHECK(!pm::engine_of(engine_release::latest));
  CHECK(pm::find_release("sglang-0.5.2") == engine_release::sglang_0_5_2);
  CHECK(pm::find_release("latest") == engine_release::latest);
  CHECK(!pm::find_release("sglang-0.5"));
}

TEST_CASE("engine_memory: CUDA graphs by the sizes that vLLM captures") {
  // 1, 2, 4, 8, 16, 24, 32: 7 sizes. To 512: 3, 31 multiples of 8, 17 multiples of 16 from 256 on.
  CHECK(pm::captured_graphs(32.0) == 7);
  CHECK(pm::captured_graphs(512.0) == 51);
  CHECK(pm::captured_graphs(1.0) == 1);
  CHECK(pm::captured_graphs(3.0) == 2);
  for (const int largest : {4, 5, 8, 100, 248, 255, 256, 300, 512}) {
    int sizes = 0;
    for (int n = 1; n <= largest; ++n) sizes += pm::cuda_graphs::vllm_graph(n, largest) == n;
    CHECK(pm::captured_graphs(double(largest)) == sizes);
  }
  const auto graphs = [](const pm::engine_limits& limits) {
    pm::deployment d = llama_over(1, engine::vllm);
    d.limits = limits;
    return (memory_budget_of(d).runtime - 0.04 * pm::GiB) / pm::GiB;
  };
  CHECK(near(graphs({}), 0.6));
  CHECK(near(graphs({8192, 16}), 0.6 * 7 / 51));
  CHECK(near(graphs({8192, 1024, 16}), 0.6 * 5 / 51));
  CHECK(near(graphs({8192, 1024, 1024}), 0.6 * 83 / 51));
  CHECK(near(graphs({64, 1024}), 0.6 * 11 / 51));  // the token budget limits them too
}

TEST_CASE("engine_memory: checkpoints of recurrent states with prefix caching") {
  // vLLM: 2 + k states with prefix caching, 1 + k without; SGLang: 3 in place of 1.
  pm::deployment d{.device = cat::h100_sxm,
                   .model = cat::qwen_3_5_27b,
                   .layout = {.tensor = 2},
                   .serving_engine = engine::vllm};
  const auto bytes = [&] { return pm::detail::states_on_device(d).value(); };
  const double one = bytes();
  CHECK(one > 0.0);
  d.prefix_caching = true;
  CHECK(near(bytes(), 2 * one));
  d.states_per_sequence = 5.0;  // four drafts
  CHECK(near(bytes(), 6 * one));
  d.states_per_sequence = 1.0;
  d.serving_engine = engine::sglang;
  const double three = bytes();
  d.prefix_caching = false;
  CHECK(near(three, 3 * bytes()));
  // A cached prefix of 3800 tokens has its KV cache and one state, whatever a running one keeps.
  pm::prefix_levels shared;
  shared.push_back({3800.0, 50.0});
  const auto cache = [&](double tokens) {
    return pm::detail::sequence_on_device(d, tokens).value();
  };
  const double kv = cache(4096.0) - cache(296.0);
  for (const bool caching : {false, true}) {
    d.prefix_caching = caching;
    d.states_per_sequence = caching ? 5.0 : 1.0;
    CHECK(near(pm::detail::cache_tree(d, shared, 4096.0, 16.0).levels[0].tokens, kv + three / 3));
  }
  d.model = cat::llama_3_70b;
  d.prefix_caching = true;
  CHECK(bytes() == 0.0);
}

TEST_CASE("engine_memory: limits that engines start with") {
  const auto on = [](engine e, double gib, int tensor, bool small = false) {
    const auto l = engine_limits_on(e, {}, gib * pm::GiB, tensor, small);
    return std::pair(*l.tokens, *l.sequences);
  };
  using pair = std::pair<double, double>;
  CHECK(on(engine::vllm, 24, 1) == pair(2048, 256));
  CHECK(on(engine::vllm, 80, 1) == pair(8192, 1024));
  CHECK(on(engine::vllm, 80, 1, true) == pair(2048, 256));
  CHECK(on(engine::sglang, 24, 1) == pair(2048, 24));
  CHECK(on(engine::sglang, 24, 4) == pair(2048, 80));
  CHECK(on(engine::sglang, 80, 1) == pair(8192, 256));
  CHECK(on(engine::sglang, 192, 8) == pair(16384, 512));
  CHECK(on(engine::trtllm, 80, 1) == pair(8192, 2048));
  // A device of exactly the least memory has the limits of larger ones.
  CHECK(on(engine::vllm, 70, 1) == pair(8192, 1024));
  CHECK(on(engine::sglang, 19, 1) == pair(2048, 8));
  CHECK(on(engine::sglang, 20, 1) == pair(2048, 24));
  CHECK(on(engine::sglang, 35, 1) == pair(4096, 32));
  CHECK(on(engine::sglang, 35, 4) == pair(4096, 160));
  CHECK(on(engine::sglang, 60, 3) == pair(8192, 256));
  CHECK(on(engine::sglang, 60, 4) == pair(8192, 512));
  CHECK(on(engine::sglang, 160, 1) == pair(16384, 512));
  const auto stated = engine_limits_on(engine::vllm, {512, {}}, 80 * pm::GiB, 1, false);
  CHECK(stated.tokens == 512);
  CHECK(stated.sequences == 1024);
  const auto range = engine_limits_on(
      engine::vllm, {}, pm::bytes<pm::interval>::from_value(pm::interval(60e9, 90e9)), 1, false);
  CHECK(range.sequences->lo() == 256);
  CHECK(range.sequences->hi() == 1024);
}

TEST_CASE("engine_memory: SGLang's share of the memory, as its server computes it") {
  // 512 + 1.5 x 2048 + 2 x 80 + 128 x 4 MiB of an L4's 23,034; 13,440 of 81,920.
  pm::deployment d{.device = cat::l4,
                   .model = cat::llama_3_8b,
                   .layout = {.tensor = 4},
                   .serving_engine = engine::sglang};
  d.device.dram.capacity = 23034.0 * pm::MiB;
  CHECK(near(memory_budget_of(d).utilization, 1.0 - 4256.0 / 23034.0));
  d.layout.tensor = 1;
  d.device.dram.capacity = 80.0 * pm::GiB;
  CHECK(near(memory_budget_of(d).utilization, 1.0 - 13440.0 / 81920.0));
  d.limits.tokens = 2048;  // less than 10 GiB of more than 60 is never left
  CHECK(near(memory_budget_of(d).utilization, 0.875));
  d.device.dram.capacity = 60.0 * pm::GiB;  // 512 + 3072 + 2 x 256 + 128 MiB
  CHECK(near(memory_budget_of(d).utilization, 1.0 - 4224.0 / 61440.0));
  d.device.dram.capacity = 1.0 * pm::GiB;
  CHECK(memory_budget_of(d).utilization == 0.0);
}

TEST_CASE(
    "engine_memory: TensorRT-LLM takes nine tenths of the memory that weights and activations "
    "leave") {
  const auto b = memory_budget_of(llama_over(8, engine::trtllm));
  CHECK(near(kv_bytes_available(b), 0.9 * (b.capacity - b.weights - b.activations - b.runtime)));
}

TEST_CASE("engine_memory: capacity, serving and plan keep the same, for every engine") {
  const pm::service_load load{
      .input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{64}};
  std::vector<double> capacities;
  for (const engine e : engines) {
    for (const int tensor : {4, 8}) {
      const pm::deployment d = llama_over(tensor, e);
      const double room = pm::kv_capacity(d, 2560.0).sequences;
      CHECK(pm::serving_bound(d, load).capacity == room);
      CHECK(fits(d, room, 2560.0));
      CHECK_FALSE(fits(d, room + 2.0, 2560.0));
      capacities.push_back(room);
      const auto r = pm::plan_bound({.accelerators = {cat::h100_sxm},
                                     .model = cat::llama_3_70b,
                                     .gpus = tensor,
                                     .load = load,
                                     .precisions = {{"bf16"}},
                                     .engines = {e}});
      bool seen = false;
      for (const auto& p : r.frontier) {
        if (p.layout.tensor != tensor) continue;
        seen = true;
        CHECK(p.serving.capacity == room);
      }
      CHECK(seen);
    }
  }
  CHECK(capacities[0] < capacities[2]);   // none as vLLM before 0.21: 0.9, not 0.92
  CHECK(capacities[1] != capacities[5]);  // SGLang keeps more
}

TEST_CASE("engine_memory: what is stated stands, and all three are the textbook's") {
  auto d = llama_over(8, engine::vllm);
  const auto by_law = memory_budget_of(d);
  CHECK(by_law.utilization == 0.92);
  d.activation_bytes = 3.0 * pm::GB;
  CHECK(memory_budget_of(d).activations == 3.0 * pm::GB);
  CHECK(memory_budget_of(d).runtime == by_law.runtime);
  d.runtime_bytes = 1.0 * pm::GB;
  d.utilization = 0.8;
  const auto b = memory_budget_of(d);
  CHECK(near(kv_bytes_available(b), 0.8 * b.capacity - b.weights - 4.0 * pm::GB));
  CHECK(near(kv_bytes_available(memory_budget_of(with_all_memory(d))), b.capacity - b.weights));
  d.limits.sequences = 0.0;
  CHECK(refusal([&] { (void)memory_budget_of(d); }) ==
        "PM-E010: limits.sequences is 0; allowed: 1 or more");
  d.limits = {};
  d.utilization = 1.5;
  CHECK(refusal([&] { (void)memory_budget_of(d); }) ==
        "PM-E010: utilization is 1.5; allowed: 0 to 1");
}

TEST_CASE("engine_memory: blocks follow from a log's own split within 1 %", "[shared]") {
  int rows = 0;
  for (const auto& r : published::memory_rows(perfmodel_test::measured_folder())) {
    if (r.blocks == 0) continue;
    const pm::memory_budget b{r.total * pm::GiB, r.utilization, r.weights * pm::GiB,
                              r.activations * pm::GiB, r.runtime * pm::GiB};
    const double blocks = pm::kv_capacity(b, r.kv_bytes * pm::byte_per_token, 1.0).blocks;
    INFO(r.model << " on " << r.gpu);
    // One log states its share as 0.22; another of its lines says 22.37 %.
    const double rounding = r.utilization < 0.5 ? 0.005 * r.total / r.cache : 0.0;
    CHECK(std::abs(blocks / r.blocks - 1.0) < 0.01 + rounding);
    ++rows;
  }
  CHECK(rows == 8);
}

TEST_CASE("engine_memory: predicted activations and runtime leave the cache of the logs",
          "[shared]") {
  std::vector<double> activations, started, today;
  for (const auto& r : published::memory_rows(perfmodel_test::measured_folder())) {
    const auto memory = pm::engine_memory_of(engine::vllm);
    const auto off = [&](const pm::engine_limits& l) {
      const pm::memory_budget b{r.total * pm::GiB, r.utilization, r.weights * pm::GiB,
                                activations_of(r.widths, l) * pm::byte, engine_runtime(memory, 1)};
      return std::abs(kv_bytes_available(b) / (r.cache * pm::GiB) - 1.0);
    };
    INFO(r.model << " on " << r.gpu);
    activations.push_back(
        std::abs(activations_of(r.widths, r.started) / (r.activations * pm::GiB.value()) - 1.0));
    CHECK(activations.back() < 0.1);
    started.push_back(off(r.started));
    CHECK(started.back() < 0.1);
    today.push_back(off(engine_limits_on(engine::vllm, {}, r.total * pm::GiB, 1, r.is_a100())));
  }
  REQUIRE(activations.size() == 9);
  CHECK(median(activations) < 0.03);
  CHECK(median(started) < 0.05);
  CHECK(median(today) < 0.05);
}

TEST_CASE("engine_memory: SGLang's cache of QwQ 32B on four L4", "[shared]") {
  for (const auto& r : perfmodel_test::measured_table("kv_capacity_logs_public.csv")) {
    if (!r.text("engine").starts_with("SGLang")) continue;
    pm::deployment d{.device = cat::l4,
                     .model = cat::qwen_2_5_32b,
                     .layout = {.tensor = 4},
                     .utilization = 0.85,  // its version's default over four ranks
                     .serving_engine = engine::sglang};
    d.runtime_bytes = pm::engine_memory_of(engine::sglang).runtime;  // PCIe: 0.13 GB of NCCL
    const auto budget = memory_budget_of(d, r.number("weights_gib") * pm::GiB);
    CHECK(std::abs(kv_bytes_available(budget) / (r.number("kv_cache_gib_per_gpu") * pm::GiB) -
                   1.0) < 0.05);
  }
}

TEST_CASE("engine memory: a cache that grows by the token is stored in whole blocks") {
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_8b};
  // 17 tokens take two blocks of 16, as 32 do.
  CHECK(pm::kv_capacity(d, 17.0, 16.0).sequences == pm::kv_capacity(d, 32.0, 16.0).sequences);
  CHECK(pm::kv_capacity(d, 17.0, 1.0).sequences > 1.8 * pm::kv_capacity(d, 17.0, 16.0).sequences);
}

TEST_CASE("engine memory: tokens next to recurrent states and a drafter, by hand") {
  pm::deployment d{.device = cat::h200_sxm, .model = cat::qwen_3_5_27b};
  // 16 of 64 layers attend: 4 x 2 x 256 values of 2 bytes each, 65536 B a token. SGLang's cookbook
  // has 153.9 MB of states.
  constexpr double token = 65536.0, context = 8192.0, memory = 100e9;
  const auto tokens = [&](engine e, double drafter) {
    d.serving_engine = e;
    const auto sequence = pm::detail::sequence_on_device(d, context) + drafter * pm::byte;
    return pm::detail::tokens_with_states(d, memory * pm::byte, sequence, context);
  };
  const double sequence = context * token + 153.9e6;
  CHECK(near(tokens(engine::vllm, 0.0), memory / sequence * context, 1e-4));
  CHECK(near(tokens(engine::vllm, sequence), memory / (2.0 * sequence) * context, 1e-4));
  // SGLang's pool of KV cache is 1 / 1.9 of the memory, whatever the states.
  CHECK(near(tokens(engine::sglang, 0.0), memory / 1.9 / token, 1e-5));
  CHECK(near(tokens(engine::sglang, context * token), memory / 1.9 / (2.0 * token), 1e-5));

  const auto shared = [&](engine e, double own, double drafter) {
    d.serving_engine = e;
    pm::kv_capacity_result c;
    c.blocks = 1000.0;
    c.tokens = 16000.0 * pm::token;
    c.sequences = 100.0;
    pm::detail::share_with_drafter(c, d, own * pm::byte, drafter * pm::byte);
    return c;
  };
  const auto half = shared(engine::vllm, sequence, sequence);
  CHECK(half.blocks == 500.0);
  CHECK(half.tokens == 8000.0 * pm::token);
  CHECK(half.sequences == 50.0);
  // SGLang: a cache of 1.9 x (context + drafter) against states of 1.9 / 0.9 x 153.9 MB.
  CHECK(near(shared(engine::sglang, sequence, context * token).sequences, 50.0, 0.021));
  CHECK(shared(engine::sglang, 153.9e6 + 50e6, 50e6).sequences == 100.0);  // states fill first
}

}  // namespace unit_engine_memory
