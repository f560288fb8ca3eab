// Parallel layouts: what is refused and why.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/parallel/zero.hpp>

namespace unit_parallelism {

namespace pm = perfmodel;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

pm::error_code refusal(const pm::parallel_layout& l, const pm::sharded_dims& d) {
  try {
    (void)pm::require_layout(l, d);
  } catch (const pm::error& e) {
    return e.code();
  }
  return pm::error_code{};
}
const pm::interconnect nvlink{
    .kind = pm::link_kind::nvlink, .bandwidth = 450.0 * pm::GB_per_s, .ranks = 8};

}  // namespace

TEST_CASE("an impossible layout says what does not divide what") {
  const pm::sharded_dims model{
      .query_heads = 64, .kv_heads = 8, .layers = 80, .experts = 0, .accelerators = 16};
  CHECK_THROWS_WITH(
      pm::require_layout({.tensor = 3}, model),
      ContainsSubstring("layout.tensor does not divide the query heads: 3 against 64"));
  CHECK_THROWS_WITH(pm::require_layout({.tensor = 12}, {.kv_heads = 8}),
                    ContainsSubstring("KV heads"));
  CHECK_THROWS_WITH(pm::require_layout({.pipeline = 96}, {.layers = 80}),
                    ContainsSubstring("96 against 80"));
  CHECK_THROWS_WITH(pm::require_layout({.tensor = 8, .data = 4}, model),
                    ContainsSubstring("32 against 16"));
  CHECK_THROWS_WITH(pm::require_layout({.expert = 2}, model), ContainsSubstring("layout.expert"));
  CHECK_THROWS_WITH(pm::require_layout({.expert = 2}, {.experts = 8}),
                    ContainsSubstring("ranks of a stage"));
  CHECK_THROWS_WITH(pm::require_layout({.tensor = 6, .expert = 6}, {.experts = 8}),
                    ContainsSubstring("6 against 8"));
  CHECK_THROWS_WITH(pm::require_layout({.expert = 48, .data = 48}, {.experts = 256}),
                    ContainsSubstring("48 against 256"));
  CHECK_THROWS_WITH(
      pm::require_layout({.expert = 48, .data = 48, .redundant_experts = 31}, {.experts = 256}),
      ContainsSubstring("48 against 287"));
  CHECK(pm::layout_feasible({.expert = 48, .data = 48, .redundant_experts = 32}, {.experts = 256}));
  CHECK_THROWS_WITH(pm::require_layout({.tensor = 8, .redundant_experts = 8}, {.experts = 256}),
                    ContainsSubstring("need expert parallelism"));
  CHECK_THROWS_WITH(pm::require_layout({.tensor = 8, .redundant_experts = 8}, model),
                    ContainsSubstring("a model with experts"));
  CHECK(refusal({.expert = 8, .data = 8, .redundant_experts = -8}, {.experts = 256}) ==
        pm::error_code::out_of_range);
  CHECK(refusal({.tensor = 3}, model) == pm::error_code::impossible_layout);
  CHECK(refusal({.tensor = 1000000, .pipeline = 1000000, .data = 1000000}, {}) ==
        pm::error_code::impossible_layout);
}

TEST_CASE("a layout takes as many ranks as its degrees multiplied") {
  const pm::parallel_layout l{.tensor = 2, .pipeline = 3, .data = 5, .context = 7};
  CHECK(l.ranks() == 210);
  CHECK(l.stage_ranks() == 70);
  CHECK(pm::layout_feasible(l, {.accelerators = 210}));
  const pm::feasibility one_short = pm::layout_feasible(l, {.accelerators = 209});
  CHECK_FALSE(one_short);
  CHECK(one_short.needed == 210.0);
  CHECK(one_short.available == 209.0);
  CHECK(pm::layout_feasible({.pipeline = 80}, {.layers = 80}));
  CHECK(pm::layout_feasible({.tensor = 1000, .data = 1000}, {}));
  CHECK_FALSE(pm::layout_feasible({.tensor = 1000, .data = 1001}, {}));
}

TEST_CASE("a degree below 1 is out of range, under its own name") {
  using enum pm::error_code;
  CHECK(refusal({.tensor = 0}, {}) == out_of_range);
  CHECK(refusal({.pipeline = -1}, {}) == out_of_range);
  CHECK(refusal({.expert = 0}, {}) == out_of_range);
  CHECK(refusal({.data = 0}, {}) == out_of_range);
  CHECK(refusal({.context = 0}, {}) == out_of_range);
  CHECK_THROWS_WITH(pm::require_layout({.context = 0}, {}),
                    ContainsSubstring("layout.context is 0"));
}

TEST_CASE("counts beyond an int are divided as they are") {
  const pm::sharded_dims odd{.query_heads = 4294967297.0, .kv_heads = 4294967297.0};
  CHECK(std::string(pm::layout_feasible({.tensor = 2}, odd).reason) ==
        "layout.tensor does not divide the query heads");
  CHECK(pm::layout_feasible({.tensor = 641}, odd));  // Euler: 641 divides 2^32 + 1
  CHECK(pm::layout_feasible({.pipeline = 2}, {.layers = 4294967297.0}));
}

TEST_CASE("ranks that were not given are refused, and one rank costs nothing") {
  const auto refused = ContainsSubstring("ranks is 0; allowed: 1 to 1000000");
  CHECK_THROWS_WITH(pm::communication_time(nvlink, pm::tensor_parallelism{.hidden = 8192}),
                    refused);
  CHECK_THROWS_WITH(
      pm::communication_time(nvlink, pm::expert_parallelism{.tokens = 1, .hidden = 8, .top_k = 1}),
      refused);
  CHECK_THROWS_WITH(pm::data_parallel_time(nvlink, {.parameters = 1e9}), refused);
  CHECK(pm::communication_time(nvlink, pm::tensor_parallelism{.ranks = 1, .hidden = 8192}).time ==
        pm::duration<>{});
}

TEST_CASE("dimensions below 1 are refused") {
  CHECK_THROWS_AS(pm::all_reduce_of(pm::tensor_parallelism{.ranks = 8}), pm::error);
  CHECK_THROWS_AS(pm::pipeline_bubble(0.0, 8.0), pm::error);
  CHECK_THROWS_AS(pm::pipeline_bubble(4.0, 0.5), pm::error);
  CHECK_THROWS_AS(pm::pipeline_parallel_time(-1.0 * pm::ms, 4.0, 8.0), pm::error);
  CHECK_THROWS_AS(
      pm::dispatch_of(pm::expert_parallelism{.ranks = 8, .tokens = 1, .hidden = 8, .top_k = 0}),
      pm::error);
  CHECK_THROWS_AS(pm::dispatch_of(pm::expert_parallelism{
                      .ranks = 8, .tokens = 1, .hidden = 8, .top_k = 1, .imbalance = 0.5}),
                  pm::error);
  CHECK_THROWS_AS(pm::zero_bytes_per_parameter(pm::zero_stage::none, 0), pm::error);
  CHECK_THROWS_AS(pm::gradient_all_reduce(8, 0.0, pm::bf16), pm::error);
}

TEST_CASE("too many ranks are infeasible in every kind of parallelism") {
  CHECK_FALSE(
      pm::communication_time(nvlink, pm::tensor_parallelism{.ranks = 16, .hidden = 8192}).feasible);
  CHECK_FALSE(pm::communication_time(
                  nvlink, pm::expert_parallelism{.ranks = 16, .tokens = 1, .hidden = 8, .top_k = 1})
                  .feasible);
  CHECK_FALSE(pm::collective_time(nvlink, pm::gradient_all_reduce(16, 1e9, pm::bf16)).feasible);
  CHECK_FALSE(
      pm::ring_attention_time(
          nvlink, 1.0 * pm::PFLOP_per_s,
          pm::ring_attention{
              .ranks = 16, .tokens = 1e6, .query_heads = 64, .kv_heads = 8, .head_dim = 128})
          .feasible);
}

TEST_CASE("without a link experts cannot be reached, and no rate is made up") {
  const auto e = pm::communication_time(
      pm::interconnect{}, pm::expert_parallelism{.ranks = 8, .tokens = 1, .hidden = 8, .top_k = 1});
  CHECK_FALSE(e.feasible);
  CHECK(e.time == pm::duration<>{});
  CHECK(e.algbw == pm::algorithm_bandwidth<>{});
  CHECK(e.busbw == pm::bus_bandwidth<>{});
}

TEST_CASE("gradients of an 8.03B model over 8 GPUs take 62.5 ms, and 439 ms over PCIe at 64 GB/s") {
  const auto gradients = pm::gradient_all_reduce(8, 8.03e9, pm::bf16);
  CHECK_THAT(pm::collective_time(nvlink, gradients).time.value(), WithinRel(62.4556e-3, 1e-5));
  const pm::interconnect pcie{
      .kind = pm::link_kind::pcie, .bandwidth = 64.0 * pm::GB_per_s, .ranks = 8};
  CHECK_THAT(pm::collective_time(pcie, gradients).time.value(), WithinRel(439.141e-3, 1e-5));
}

TEST_CASE("ring attention waits for its blocks below the least number of tokens") {
  pm::ring_attention x{
      .ranks = 8, .tokens = 8 * 400.0, .query_heads = 64, .kv_heads = 64, .head_dim = 128};
  const auto rate = 900.0 * pm::TFLOP_per_s;  // 2000 tokens hide at 450 GB/s
  const auto few = pm::ring_attention_time(nvlink, rate, x);
  // transfer / compute = 2000 / 400, and 7 of 8 blocks are waited for
  CHECK_THAT(few.transfer / few.compute, WithinRel(5.0, 1e-12));
  CHECK_THAT(few.exposed / few.compute, WithinRel(28.0, 1e-12));
  CHECK_THAT(few.time / few.compute, WithinRel(36.0, 1e-12));
  x.tokens = 8 * 2001.0;
  const auto many = pm::ring_attention_time(nvlink, rate, x);
  CHECK(many.exposed == pm::duration<>{});
  CHECK_THAT(many.time / many.compute, WithinRel(8.0, 1e-12));
  // 8 KV heads for 64 query heads: an eighth of the bytes
  x.kv_heads = 8;
  CHECK_THAT(pm::ring_attention_time(nvlink, rate, x).transfer / many.transfer,
             WithinRel(0.125, 1e-12));
  x.ranks = 1;
  CHECK(pm::ring_attention_time(pm::interconnect{}, rate, x).transfer == pm::duration<>{});
}

TEST_CASE("overlap and activations refuse infeasible input by name") {
  CHECK_THROWS_WITH(pm::overlap_with_collective(1.0 * pm::ms, 1.0 * pm::ms, 20, 20),
                    ContainsSubstring("taken is 20"));
  CHECK_THROWS_WITH(pm::overlap_with_collective(1.0 * pm::ms, -1.0 * pm::ms, 132, 20),
                    ContainsSubstring("communication"));
  CHECK_THROWS_WITH(pm::pipeline_parallel_time(1.0 * pm::ms, 0.0, 8.0),
                    ContainsSubstring("stages is 0"));
  CHECK_THROWS_WITH(pm::pipeline_parallel_time(1.0 * pm::ms, 4.0, 8.0, 0.5),
                    ContainsSubstring("chunks is 0.5"));
  CHECK_THROWS_WITH(pm::activation_bytes(pm::layer_activations{.tensor = 0}),
                    ContainsSubstring("tensor is 0"));
  CHECK_THROWS_AS(pm::activation_bytes(pm::layer_activations{.tokens = 8}), pm::error);
  pm::data_parallel_step x{
      .ranks = 8, .parameters = 1e9, .forward = 1.0 * pm::ms, .backward = 2.0 * pm::ms};
  x.pieces = 0.0;
  CHECK_THROWS_WITH(pm::data_parallel_time(nvlink, x), ContainsSubstring("pieces is 0"));
  x.pieces = 4.0;
  x.sms = 132.0;
  x.taken = 132.0;
  CHECK_THROWS_WITH(pm::data_parallel_time(nvlink, x), ContainsSubstring("taken is 132"));
  x.taken = 24.0;
  x.ranks = 16;
  CHECK_FALSE(pm::data_parallel_time(nvlink, x).feasible);
  x.ranks = 0;
  CHECK_THROWS_WITH(pm::data_parallel_time(nvlink, x), ContainsSubstring("ranks is 0"));
}

TEST_CASE("a KV head and an MLA latent are in the memory of every rank that needs them") {
  // 8 KV heads over 16 ranks: one each, twice as much in all. MLA's latent: see deployment.
  CHECK(pm::kv_heads_per_rank(8.0, 16.0) * 16.0 == 16.0);
  CHECK(pm::kv_replication(8.0, 16.0) == 2.0);
  CHECK(pm::kv_replication(1.0, 8.0) == 8.0);  // one latent for all heads
}

TEST_CASE("names of the stages of ZeRO") {
  CHECK(std::string(pm::name_of(pm::zero_stage::none)) == "none");
  CHECK(std::string(pm::name_of(pm::zero_stage::parameters)) == "parameters");
}

TEST_CASE("ZeRO-3 in two pieces over a link that is slower than the compute") {
  // A piece has 450e9 parameters, 900 GB in bf16, of which half crosses the link of two ranks: 1 s
  // to gather it, and 1 s to reduce its gradients.
  const pm::data_parallel_step x{.ranks = 2,
                                 .parameters = 900e9,
                                 .forward = 1.0 * pm::second,
                                 .backward = 1.0 * pm::second,
                                 .pieces = 2.0,
                                 .stage = pm::zero_stage::parameters,
                                 .sms = 100.0,
                                 .taken = 50.0};
  const pm::estimate e = pm::data_parallel_time(nvlink, x);
  // 1 + 1 + 0.5 forward, 1 + 2 + 0.5 + 1 backward; of 6 s at the link 5 are waited for.
  CHECK_THAT(e.terms["exposed communication"].value(), WithinRel(5.0, 1e-12));
  CHECK_THAT(e.terms["SMs of communication"].value(), WithinRel(0.5, 1e-12));
  CHECK_THAT(e.time.value(), WithinRel(7.5, 1e-12));
}

}  // namespace unit_parallelism
