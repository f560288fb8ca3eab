// Parallel layouts, worked by hand.
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/parallel/zero.hpp>

namespace static_parallelism {

namespace pm = perfmodel;

namespace {

constexpr bool near_to(double a, double b, double relative) {
  const double d = a < b ? b - a : a - b;
  return d <= relative * (b < 0 ? -b : b);
}
constexpr pm::interconnect nvlink{
    .kind = pm::link_kind::nvlink, .bandwidth = 450.0 * pm::GB_per_s, .ranks = 8};

// 64 query heads, 8 KV heads, 80 layers
constexpr pm::sharded_dims dense{
    .query_heads = 64, .kv_heads = 8, .layers = 80, .accelerators = 64};
static_assert(pm::parallel_layout{.tensor = 8, .pipeline = 2, .data = 4}.ranks() == 64);
static_assert(pm::layout_feasible({.tensor = 8, .pipeline = 2, .data = 4}, dense));
static_assert(pm::layout_feasible({.tensor = 16}, dense));
static_assert(!pm::layout_feasible({.tensor = 3}, dense));
static_assert(!pm::layout_feasible({.tensor = 8, .data = 9}, dense));
static_assert(!pm::layout_feasible({.pipeline = 81}, {.layers = 80}));
static_assert(pm::layout_feasible({.pipeline = 80}, {.layers = 80}));
static_assert(!pm::layout_feasible({.expert = 2, .data = 2}, dense));
static_assert(pm::layout_feasible({.tensor = 1000, .data = 1000}, {}));
static_assert(!pm::layout_feasible({.tensor = 1000, .data = 1001}, {}));
static_assert(pm::require_layout({.tensor = 4}, dense).tensor == 4);
// 256 experts over 64 ranks, of which 8 serve attention together
constexpr pm::sharded_dims moe{.experts = 256};
static_assert(pm::layout_feasible({.tensor = 8, .expert = 64, .data = 8}, moe));
static_assert(pm::parallel_layout{.tensor = 8, .expert = 16, .data = 8}.expert_tensor() == 4);
static_assert(pm::parallel_layout{.tensor = 8, .expert = 64, .data = 8}.ranks() == 64);
static_assert(!pm::layout_feasible({.tensor = 8, .expert = 16}, moe));

// 8 KV heads over 4, 8, 16 ranks: 2, 1, 1 per rank, once, once, twice
static_assert(pm::kv_heads_per_rank(8.0, 4.0) == 2.0 && pm::kv_replication(8.0, 4.0) == 1.0);
static_assert(pm::kv_heads_per_rank(8.0, 8.0) == 1.0 && pm::kv_replication(8.0, 8.0) == 1.0);
static_assert(pm::kv_heads_per_rank(8.0, 16.0) == 1.0 && pm::kv_replication(8.0, 16.0) == 2.0);
static_assert(pm::layers_per_stage(80.0, 3.0) == 27.0 && pm::layers_per_stage(80.0, 4.0) == 20.0);

// 32 x 2048 tokens of a 70B model (80 layers, width 8192) in bf16
constexpr pm::tensor_parallelism prefill{
    .ranks = 8, .layers = 80, .batch = 32, .tokens = 2048, .hidden = 8192};
static_assert(pm::all_reduce_of(prefill).message.quantity() == 1073741824.0 * pm::byte);
constexpr auto tensor = pm::communication_time(nvlink, prefill);
static_assert(near_to(tensor.wire.quantity().value(), 300.6477e9, 1e-6));
static_assert(near_to(tensor.time.value(), 668.106e-3, 1e-5));
// Blocks with attention and FFN side by side sum once.
constexpr pm::tensor_parallelism side_by_side{.ranks = 8,
                                              .layers = 80,
                                              .batch = 32,
                                              .tokens = 2048,
                                              .hidden = 8192,
                                              .all_reduces_per_layer = 1};
static_assert(near_to(pm::communication_time(nvlink, side_by_side).time.value(), 334.053e-3, 1e-5));
// Batch 1: 63.7 ns each
static_assert(near_to(
    pm::communication_time(nvlink, pm::tensor_parallelism{.ranks = 8, .layers = 80, .hidden = 8192})
        .time.value(),
    160 * 63.7156e-9, 1e-5));

// Bubble: 3 / (8 + 3), interleaved twice 3 / (16 + 3); one stage none
static_assert(near_to(pm::pipeline_bubble(4.0, 8.0), 3.0 / 11, 1e-15));
static_assert(near_to(pm::pipeline_bubble(4.0, 8.0, 2.0), 3.0 / 19, 1e-15));
static_assert(pm::pipeline_bubble(1.0, 8.0) == 0.0);
// 8 microbatches of 10 ms through 4 stages: 110 ms; interleaved twice 95 ms
static_assert(near_to(pm::pipeline_parallel_time(10.0 * pm::ms, 4.0, 8.0).value(), 0.110, 1e-12));
static_assert(near_to(pm::pipeline_parallel_time(10.0 * pm::ms, 4.0, 8.0, 2.0).value(), 0.095,
                      1e-12));

// One boundary sends 1/280 of what 160 ring all-reduces over 8 ranks do.
constexpr auto boundary =
    pm::collective_time(nvlink, pm::stage_transfer(32.0, 2048.0, 8192.0, pm::bf16));
static_assert(boundary.wire.quantity() == 1073741824.0 * pm::byte);
static_assert(near_to(tensor.wire / boundary.wire, 280.0, 1e-12));

// 128 tokens, top 8, width 7168, bf16: 14.68 MB, 7/8 of it on the wire each way
constexpr pm::expert_parallelism experts{.ranks = 8, .tokens = 128, .hidden = 7168, .top_k = 8};
static_assert(pm::dispatch_of(experts).message.quantity() == 14680064.0 * pm::byte);
constexpr auto both_ways = pm::communication_time(nvlink, experts);
static_assert(both_ways.wire.quantity() == 2 * 12845056.0 * pm::byte);
static_assert(near_to(both_ways.time.value(), 2 * 12845056.0 / 450e9, 1e-12));
static_assert(near_to(both_ways.busbw.quantity().value(), 450e9, 1e-12));
// fp8 there, bf16 back: three quarters
constexpr pm::expert_parallelism mixed{
    .ranks = 8, .tokens = 128, .hidden = 7168, .top_k = 8, .dispatch = pm::fp8};
static_assert(near_to(pm::communication_time(nvlink, mixed).wire / both_ways.wire, 0.75, 1e-15));
constexpr auto there_and_back = pm::communication_time(nvlink, mixed);
static_assert(near_to(there_and_back.terms.sum().value(), 0.75 * 2 * 12845056.0 / 450e9, 1e-12));
static_assert(near_to(there_and_back.time.value(), 0.75 * 2 * 12845056.0 / 450e9, 1e-12));
static_assert(near_to(there_and_back.algbw.quantity().value(), 450e9 * 8 / 7, 1e-12));
constexpr pm::expert_parallelism skewed{
    .ranks = 8, .tokens = 128, .hidden = 7168, .top_k = 8, .imbalance = 1.5};
static_assert(near_to(pm::communication_time(nvlink, skewed).time / both_ways.time, 1.5, 1e-15));
static_assert(pm::communication_time(nvlink,
                                     pm::expert_parallelism{
                                         .ranks = 1, .tokens = 1, .hidden = 1, .top_k = 1})
                  .time == pm::duration<>{});

// 8.03e9 bf16 gradients over 8 ranks at 450 GB/s: 62.4556 ms
constexpr auto gradients =
    pm::collective_time(nvlink, pm::gradient_all_reduce(8, 8.03e9, pm::bf16));
static_assert(near_to(gradients.time.value(), 62.4556e-3, 1e-5));

// ZeRO: 16, 4 + 12/N, 2 + 14/N, 16/N
using pm::zero_stage;
static_assert(pm::zero_bytes_per_parameter(zero_stage::none, 64) == 16.0);
static_assert(pm::zero_bytes_per_parameter(zero_stage::optimizer, 64) == 4.0 + 12.0 / 64);
static_assert(pm::zero_bytes_per_parameter(zero_stage::gradients, 64) == 2.0 + 14.0 / 64);
static_assert(pm::zero_bytes_per_parameter(zero_stage::parameters, 64) == 0.25);
// The paper's 7.5e9 parameters over 64 ranks: 120, 31.4, 16.6, 1.9 GB
static_assert(pm::zero_memory(zero_stage::none, 64, 7.5e9) == 120.0 * pm::GB);
static_assert(near_to(pm::zero_memory(zero_stage::optimizer, 64, 7.5e9).value(), 31.4e9, 2e-3));
static_assert(near_to(pm::zero_memory(zero_stage::gradients, 64, 7.5e9).value(), 16.6e9, 3e-3));
static_assert(near_to(pm::zero_memory(zero_stage::parameters, 64, 7.5e9).value(), 1.9e9, 2e-2));
// Sent in a step: 2 P b (N-1)/N, and half as much again
static_assert(pm::zero_traffic(zero_stage::gradients, 8, 1e9).quantity() == 3.5 * pm::GB);
static_assert(pm::zero_traffic(zero_stage::parameters, 8, 1e9).quantity() == 5.25 * pm::GB);
static_assert(pm::zero_traffic(zero_stage::parameters, 1, 1e9).quantity() == 0.0 * pm::GB);

// Ring attention: as many KV heads as query heads, bf16: R / BW tokens, 312e12 / 300e9 = 1040
constexpr pm::ring_attention mha{
    .ranks = 8, .tokens = 8 * 1040.0, .query_heads = 32, .kv_heads = 32, .head_dim = 128};
constexpr pm::interconnect a100{
    .kind = pm::link_kind::nvlink, .bandwidth = 300.0 * pm::GB_per_s, .ranks = 8};
constexpr auto ring = pm::ring_attention_time(a100, 312.0 * pm::TFLOP_per_s, mha);
// block: 2 x 1040 x 32 x 128 x 2 bytes; FLOP: 4 x 1040^2 x 32 x 128
static_assert(ring.block.quantity() == 17039360.0 * pm::byte);
static_assert(ring.block_flop == 17720934400.0 * pm::flop);
static_assert(near_to(ring.transfer / ring.compute, 1.0, 1e-12));

// From the gradients through to the step: 62.46 ms behind 83.1 + 166.3 ms, in one bucket and in
// many
constexpr pm::data_parallel_step training(pm::zero_stage stage, double pieces) {
  return {.ranks = 8,
          .parameters = 8.03e9,
          .forward = 83.1 * pm::ms,
          .backward = 166.3 * pm::ms,
          .pieces = pieces,
          .stage = stage};
}
constexpr double step_ms(pm::zero_stage stage, double pieces) {
  return pm::data_parallel_time(nvlink, training(stage, pieces)).time.value() * 1e3;
}
static_assert(near_to(step_ms(zero_stage::none, 1), 83.1 + 166.3 + 62.4556, 1e-6));  // 311.9
static_assert(near_to(step_ms(zero_stage::none, 1e9), 249.4, 1e-6));
// ZeRO-1 in one bucket: half before the optimizer and half after it; in many only the second half
static_assert(near_to(step_ms(zero_stage::optimizer, 1), 311.8556, 1e-6));
static_assert(near_to(step_ms(zero_stage::gradients, 1e9), 249.4 + 31.2278, 1e-6));
// ZeRO-3: 93.7 ms in one piece, and all of it hidden in many
static_assert(near_to(step_ms(zero_stage::parameters, 1), 249.4 + 1.5 * 62.4556, 1e-6));
static_assert(near_to(step_ms(zero_stage::parameters, 1e9), 249.4, 1e-6));
// 24 of 132 SMs while 62.4556 ms hide: 11.36 ms
constexpr pm::data_parallel_step on_sms{.ranks = 8,
                                        .parameters = 8.03e9,
                                        .forward = 83.1 * pm::ms,
                                        .backward = 166.3 * pm::ms,
                                        .pieces = 1e9,
                                        .sms = 132,
                                        .taken = 24};
static_assert(near_to(pm::data_parallel_time(nvlink, on_sms).terms["SMs of communication"].value(),
                      62.4556e-3 * 24 / 132, 1e-5));

// 10 ms of compute concurrent with 5 ms on 20 of 132 SMs: 5 x 20/132 more. 20 ms outlast the 11.786
// that the compute then takes.
constexpr auto beside =
    pm::overlap_with_collective(10.0 * pm::ms, 5.0 * pm::ms, 132, pm::expert_exchange_sms);
static_assert(near_to(beside.time.value(), 10e-3 + 5e-3 * 20 / 132, 1e-12));
static_assert(beside.exposed == pm::duration<>{});
constexpr auto outlasted =
    pm::overlap_with_collective(10.0 * pm::ms, 20.0 * pm::ms, 132, pm::expert_exchange_sms);
static_assert(near_to(outlasted.time.value(), 20e-3, 1e-12));
static_assert(near_to(outlasted.exposed.value(), 20e-3 - 10e-3 * 132 / 112, 1e-12));
// A GEMM concurrent with NCCL on NVLink: 132 / 108 of its time
static_assert(
    near_to(pm::sm_interference(1.0 * pm::ms, 132, pm::communication_sms(nvlink.kind)).value(),
            1e-3 * 132 / 108, 1e-12));
static_assert(pm::communication_sms(pm::link_kind::pcie) == 4.0);
static_assert(pm::communication_sms(pm::link_kind::infiniband) == 16.0);
static_assert(pm::communication_sms(pm::link_kind::none) == 0.0);

// 8 microbatches of 10 ms through 4 stages: 80 + 30 ms; in two chunks 80 + 15
static_assert(near_to(pm::pipeline_parallel_time(10.0 * pm::ms, 4.0, 8.0).value(), 0.110, 1e-12));
static_assert(near_to(pm::pipeline_parallel_time(10.0 * pm::ms, 4.0, 8.0, 2.0).value(), 0.095,
                      1e-12));

// Korthikanti et al., table 2, 2048 tokens of width 12288: 34 bytes an element on one rank, 10 +
// 24/8 on eight, 34/8 with sequence parallelism; 96 heads keep 5 x 96 x 2048 / 12288 = 80 more, an
// eighth of it each
constexpr double per_element(const pm::layer_activations& x) {
  return pm::activation_bytes(x).value() / (2048.0 * 12288.0);
}
static_assert(per_element({.tokens = 2048, .hidden = 12288}) == 34.0);
static_assert(per_element({.tensor = 8, .tokens = 2048, .hidden = 12288}) == 13.0);
static_assert(per_element({.tensor = 8, .tokens = 2048, .hidden = 12288, .sequence = true}) ==
              4.25);
static_assert(per_element({.tensor = 8,
                           .tokens = 2048,
                           .hidden = 12288,
                           .heads = 96,
                           .sequence = true,
                           .scores = true}) == 14.25);

// 3 sequences of 100 tokens over 4 ranks, 8 query and 4 KV heads of 16 in fp8: blocks of 25 tokens
constexpr pm::ring_attention short_ring{.ranks = 4,
                                        .batch = 3,
                                        .tokens = 100,
                                        .query_heads = 8,
                                        .kv_heads = 4,
                                        .head_dim = 16,
                                        .format = pm::fp8};
constexpr auto three = pm::ring_attention_time(nvlink, 1.0 * pm::TFLOP_per_s, short_ring);
static_assert(three.block.quantity() == 2 * 3 * 25 * 4 * 16.0 * pm::byte);
static_assert(three.block_flop == 4 * 3 * 25 * 25 * 8 * 16.0 * pm::flop);
static_assert(near_to(three.compute.value(), 960000e-12, 1e-12));
static_assert(near_to(three.time.value(), 4 * 960000e-12, 1e-12));
// 3 sequences of 100 tokens of width 64, 8 heads on 2 ranks: 10 + 24/2 and 5 x 8 x 100 / (64 x 2)
static_assert(near_to(
    pm::activation_bytes(
        pm::layer_activations{
            .tensor = 2, .batch = 3, .tokens = 100, .hidden = 64, .heads = 8, .scores = true})
        .value(),
    3 * 100 * 64 * (22 + 31.25), 1e-12));

// 3e9 parameters in 3 pieces over 4 ranks at 1 GB/s; gradients of 4 bytes: 3 s to reduce a piece,
// 1.5 s to gather it
constexpr pm::interconnect slow{
    .kind = pm::link_kind::pcie, .bandwidth = 1.0 * pm::GB_per_s, .ranks = 8};
constexpr pm::estimate pieces(zero_stage stage) {
  return pm::data_parallel_time(slow, pm::data_parallel_step{.ranks = 4,
                                                             .parameters = 3e9,
                                                             .forward = 2.0 * pm::second,
                                                             .backward = 6.0 * pm::second,
                                                             .pieces = 3,
                                                             .stage = stage,
                                                             .state = {.gradients = 4.0},
                                                             .sms = 100,
                                                             .taken = 25});
}
// 2 + max(6 + 3, 2 + 9) + 4.5 s; of 13.5 s 9.5 are waited for, and a fourth of the other 4 is lost
constexpr auto gathered_after = pieces(zero_stage::gradients);
static_assert(near_to(gathered_after.terms["exposed communication"].value(), 9.5, 1e-12));
static_assert(near_to(gathered_after.terms["SMs of communication"].value(), 1.0, 1e-12));
static_assert(near_to(gathered_after.time.value(), 18.5, 1e-12));
// 1.5 + 2 x 1.5 + 2/3 forward, 1.5 + 2 x 4.5 + 2 + 3 backward: 12 2/3 of 18 s are waited for
constexpr auto gathered_twice = pieces(zero_stage::parameters);
static_assert(near_to(gathered_twice.terms["exposed communication"].value(), 38 / 3.0, 1e-12));
static_assert(near_to(gathered_twice.time.value(), 8 + 38 / 3.0 + 4 / 3.0, 1e-12));
// An all-reduce of 1.5 of 4e9 bytes, 6 s a piece: 2 + max(6 + 6, 2 + 18)
static_assert(near_to(pieces(zero_stage::none).terms["exposed communication"].value(), 14.0,
                      1e-12));
// An all-reduce sends gradients twice: 63/64 x 2 x 4 B x 7.5e9 of fp32.
static_assert(
    near_to(pm::zero_traffic(zero_stage::none, 64, 7.5e9, {.gradients = 4.0}).quantity().value(),
            59.0625e9, 1e-12));
// Four microbatches: ZeRO-2 reduces 4 x 2 B and gathers 2 B once, ZeRO-3 moves all of 6 B 4 times.
static_assert(near_to(pm::zero_traffic(zero_stage::gradients, 4, 1e9, {}, 4.0).quantity().value(),
                      7.5e9, 1e-12));
static_assert(near_to(pm::zero_traffic(zero_stage::parameters, 4, 1e9, {}, 4.0).quantity().value(),
                      18e9, 1e-12));
// Sent by one of 4 ranks: 3/4 of gradients of 4 bytes and parameters of 2, once or twice
static_assert(
    near_to(pm::zero_traffic(zero_stage::gradients, 4, 1e9, {.gradients = 4.0}).quantity().value(),
            4.5e9, 1e-12));
static_assert(
    near_to(pm::zero_traffic(zero_stage::parameters, 4, 1e9, {.gradients = 4.0}).quantity().value(),
            6e9, 1e-12));

}  // namespace

}  // namespace static_parallelism
