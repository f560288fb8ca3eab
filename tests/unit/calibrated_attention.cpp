// Attention as kernels run it: what the formula says, by hand.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/hardware/catalog/nvidia_ada.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/moe.hpp>
#include <perfmodel/roofline.hpp>
#include <string_view>

#include "support/each_field.hpp"

namespace unit_calibrated_attention {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;
using perfmodel_test::refusal;

namespace {

/// A device of round numbers: 100 SMs at 1 GHz, 100 TFLOP/s, 1 TB/s, 10 MB of L2.
pm::accelerator round_device() {
  pm::accelerator a;
  a.name = "round";
  a.architecture = pm::chip_architecture::hopper;
  a.sms = pm::number<>::from_value(100.0);
  a.matrix.peak.bf16 = pm::flop_rate<>::from_value(1e14);
  a.vector.clock = pm::frequency<>::from_value(1e9);
  a.vector.peak.fp32 = pm::flop_rate<>::from_value(1e13);
  a.dram.bandwidth = pm::bandwidth<>::from_value(1e12);
  a.l2.capacity = pm::bytes<>::from_value(1e7);
  return a;
}
const pm::machine_parameters round_machine{.dram_share = 0.8};
const pm::attention_parameters round_parameters{.floor = 10.0 * pm::us,
                                                .tile_latency = 3.0 * pm::us,
                                                .element_rate = pm::frequency<>::from_value(1e10),
                                                .matrix_share = 0.5,
                                                .l2_bandwidth = pm::bandwidth<>::from_value(4e12)};
const pm::attention_kernels round_kernels{.name = "round",
                                          .max_splits = 32.0,
                                          .blocks_per_sm = 1.0,
                                          .tile_rows = 64.0,
                                          .tail = 0.3,
                                          .kernel_cycles = 2000.0,
                                          .split_cycles = 100.0,
                                          .sequence_cost = 0.1 * pm::us,
                                          .scheduled_sequences = 500.0};

/// Bytes that DRAM moves in a microsecond: 0.8 of 1 TB/s for products, and attention_dram_gain.
constexpr double dram = 0.8e6 * 1.06;

double us(const pm::duration<>& t) {
  return t.value() * 1e6;
}

}  // namespace

TEST_CASE("decode by hand: one sequence of 4,096 tokens and one KV head", "[calibrated]") {
  // 32 blocks of 128 tokens in 32 splits: 128 * 256 elements / 1e10 = 3.2768 us after 3 us.
  // 2.097 MB of cache are in L2 but for (0.21)^8: 0.524 us + the query. 31 splits of 0.1 us.
  const pm::attention_decode w{
      .batch = 1, .context = 4096, .query_heads = 8, .kv_heads = 1, .head_dim = 128};
  const auto e =
      pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::warm});
  CHECK_THAT(us(e.terms["blocks"]), WithinRel(6.2768, 1e-12));
  const double moved = 4096 * 512 + 512 + 8 * 128 * 2 * 2;
  CHECK_THAT(us(e.terms["memory"]), WithinRel(moved / 4e12 * 1e6, 1e-4));
  CHECK_THAT(us(e.terms["splits"]), WithinRel(3.1, 1e-12));
  CHECK_THAT(us(e.terms["further kernels"]), WithinRel(2.0, 1e-12));
  CHECK_THAT(us(e.terms["metadata"]), WithinRel(0.1, 1e-12));
  CHECK_THAT(us(e.time), WithinRel(10.0 + std::hypot(6.2768, moved / 4e6) + 5.2, 1e-4));
}

TEST_CASE("decode by hand: 3 sequences of 3,000 tokens, groups of 96 and an 8-bit cache",
          "[calibrated]") {
  // 12 tiles in 12 splits of 2 blocks each (attention_splits) on 100 SMs of two blocks, which share
  // an SM: one wave of twice what a block alone takes.
  pm::attention_decode w{.batch = 3,
                         .context = 3000,
                         .query_heads = 192,
                         .kv_heads = 2,
                         .head_dim = 128,
                         .value_dim = 64.0,
                         .kv_format = pm::fp8};
  pm::attention_kernels k = round_kernels;
  k.blocks_per_sm = 2.0;
  k.reorders_heads = true;
  k.low_precision_kv_time = 0.7 * pm::us;
  const auto ask = [&] {
    return pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, k});
  };
  auto e = ask();
  const double block = 2 * (3 + 2 * 128 * 192 / 1e4);
  CHECK_THAT(us(e.terms["blocks"]), WithinRel(block, 1e-12));
  CHECK_THAT(us(e.terms["splits"]), WithinRel(11 * 0.1, 1e-12));
  CHECK_THAT(us(e.terms["further kernels"]), WithinRel(2 * 2.0, 1e-12));
  CHECK_THAT(us(e.terms["metadata"]), WithinRel(0.3, 1e-12));
  CHECK_THAT(us(e.terms["conversion"]), WithinRel(0.7, 1e-12));
  // The cache and a new token of 2 x 192 bytes, queries of 128 and results of 64 in 16 bits.
  const double moved = 3 * 3001 * 2 * 192.0 + 3 * 192 * 192 * 2.0;
  CHECK_THAT(us(e.terms["memory"]), WithinRel(moved / dram, 1e-12));
  CHECK_THAT(us(e.time),
             WithinRel(10 + 1.1 + 4 + 0.3 + 0.7 + std::hypot(block, moved / dram), 1e-12));
  CHECK_THAT(e.mfu, WithinRel(2 * 3 * 3000 * 192.0 * 192 / 1e14 / e.time.value(), 1e-12));
  CHECK(e.limiter == pm::limiter::latency);
  // 144 blocks of which the shared memory of an SM, 100 KB, holds one: two waves, each alone. With
  // 50 KB both fit.
  k.block_memory = 80.0 * pm::kB;
  pm::accelerator a = round_device();
  a.shared.capacity = 100.0 * 100.0 * pm::kB;
  const auto held = [&] {
    return us(pm::calibrated_estimate(a, w, {round_machine, round_parameters, k}).terms["blocks"]);
  };
  CHECK_THAT(held(), WithinRel(2 * (3 + 2 * 128 * 192 / 1e4), 1e-12));
  k.decode_rows = 16.0;  // a quarter of the products
  CHECK_THAT(held(), WithinRel(2 * (3 + 2 * 128 * 192 / 4e4), 1e-12));
  w.batch = 1;  // 4 tiles in 24 parts of one block are 96, one an SM
  CHECK_THAT(held(), WithinRel(3 + 128 * 192 / 4e4, 1e-12));
  k.block_memory = 120.0 * pm::kB;  // one runs, whatever is stated
  CHECK_THAT(held(), WithinRel(3 + 128 * 192 / 4e4, 1e-12));
  k.block_memory = 50.0 * pm::kB;  // both
  CHECK_THAT(held(), WithinRel(2 * (3 + 128 * 192 / 4e4), 1e-12));
  w.batch = 500;  // the last that is scheduled
  CHECK_THAT(us(ask().terms["metadata"]), WithinRel(50.0, 1e-12));
  w.batch = 501;
  CHECK(ask().terms["metadata"].value() == 0.0);
}

TEST_CASE("splits are evened out over the blocks of the context", "[calibrated]") {
  // 40 blocks over at most 32 splits: 2 blocks each, so 20 splits, not 32.
  const pm::attention_decode w{
      .batch = 1, .context = 40 * 128, .query_heads = 8, .kv_heads = 1, .head_dim = 128};
  const auto e =
      pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::warm});
  CHECK_THAT(us(e.terms["splits"]), WithinRel(1.9, 1e-12));
  CHECK_THAT(us(e.terms["blocks"]), WithinRel(3.0 + 2 * 3.2768, 1e-12));
}

TEST_CASE("many tiles run in tile waves and are not split", "[calibrated]") {
  // 800 tiles on 100 SMs: 8 waves of one block each, no metadata above 500 sequences.
  const pm::attention_decode w{
      .batch = 800, .context = 100, .query_heads = 8, .kv_heads = 1, .head_dim = 128};
  const auto e =
      pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::warm});
  CHECK_THAT(us(e.terms["blocks"]), WithinRel(8 * 6.2768, 1e-12));
  CHECK(e.terms["splits"].value() == 0.0);
  CHECK(e.terms["further kernels"].value() == 0.0);
  CHECK(e.terms["metadata"].value() == 0.0);
  // 41 MB of cache are out of L2: the share in it is (10 / 41)^8.
  const double moved = 800.0 * (100 * 512 + 512 + 8 * 128 * 2 * 2);
  CHECK_THAT(us(e.terms["memory"]), WithinRel(moved / dram, 1e-4));
  // One tile more is a wave more.
  pm::attention_decode more = w;
  more.batch = 801;
  CHECK_THAT(us(pm::calibrated_estimate(round_device(), more,
                                        {round_machine, round_parameters, round_kernels})
                    .terms["blocks"]),
             WithinRel(9 * 6.2768, 1e-12));
}

TEST_CASE("heads are reordered only where there is something to reorder", "[calibrated]") {
  pm::attention_kernels k = round_kernels;
  k.reorders_heads = true;
  const auto kernels = [&](double batch, double query_heads, double kv_heads) {
    const pm::attention_decode w{.batch = batch,
                                 .context = 100,
                                 .query_heads = query_heads,
                                 .kv_heads = kv_heads,
                                 .head_dim = 128};
    return us(pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, k},
                                      {.cache = pm::cache_state::warm})
                  .terms["further kernels"]);
  };
  CHECK_THAT(kernels(4, 32, 8), WithinRel(2.0, 1e-12));
  CHECK(kernels(1, 32, 8) == 0.0);
  CHECK(kernels(4, 32, 1) == 0.0);
  CHECK(kernels(4, 8, 8) == 0.0);
}

TEST_CASE("a cache is warm below the L2's size and cold above it", "[calibrated]") {
  const auto room = pm::bytes<>::from_value(1e7);
  CHECK(pm::l2_resident_share(room, room) == 0.5);
  CHECK(pm::l2_resident_share(0.5 * room, room) > 0.996);
  CHECK(pm::l2_resident_share(2.0 * room, room) < 0.004);
}

TEST_CASE("a cold call reads all from DRAM", "[calibrated]") {
  const pm::attention_decode w{
      .batch = 1, .context = 4096, .query_heads = 8, .kv_heads = 1, .head_dim = 128};
  const auto e =
      pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::cold});
  const double moved = 4096 * 512 + 512 + 8 * 128 * 2 * 2;
  CHECK_THAT(us(e.terms["memory"]), WithinRel(moved / dram, 1e-12));
  CHECK_THAT(e.mbu, WithinRel(moved / 1e12 / e.time.value(), 1e-12));
  // No more than DRAM has, whatever products reach.
  const auto most = pm::calibrated_estimate(
      round_device(), w, {{.dram_share = 0.99}, round_parameters, round_kernels});
  CHECK_THAT(us(most.terms["memory"]), WithinRel(moved / 1e6, 1e-12));
}

TEST_CASE("prefill by hand: full tiles of 64 rows", "[calibrated]") {
  // 4 sequences of 640 tokens, 20 heads: 800 tiles, 8 waves. t_pair on one SM = 100 * 512 / (0.5 *
  // 1e14) + 1 / 16e9 = 1.024 + 0.0625 ns. Mean tile: 64 rows x 352 columns, the longest 64 x 640.
  const pm::attention_prefill w{
      .batch = 4, .tokens = 640, .query_heads = 20, .kv_heads = 20, .head_dim = 128};
  const auto e =
      pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::warm});
  const double pair = 1.024e-3 + 0.0625e-3;
  const double longest = 1.5 + 64 * 640 * pair;
  CHECK_THAT(us(e.terms["tiles"]), WithinRel(8 * (1.5 + 64 * 352 * pair) + 0.3 * longest, 1e-12));
  // Queries and results once, keys and values three times (new and stored by a kernel of their own,
  // read back): 10 x 2 bytes for each of 4 x 640 x 20 x 128; 39 MB distinct of 52 MB moved, so out
  // of the 10 MB of L2.
  const double elements = 4.0 * 640 * 20 * 128;
  CHECK_THAT(us(e.terms["memory"]), WithinRel((4 + 4) * elements / dram, 1e-4));
  CHECK_THAT(us(e.terms["cache write"]), WithinRel(8 * elements / dram, 1e-4));
  CHECK_THAT(us(e.time), WithinRel(13.0 + us(e.terms["tiles"]) + us(e.terms["memory"]) +
                                       us(e.terms["cache write"]),
                                   1e-12));
}

TEST_CASE("prefill by hand: 200 tokens after 300 cached in 8 bits, in 4 parts", "[calibrated]") {
  pm::attention_prefill w{.batch = 2,
                          .tokens = 200,
                          .query_heads = 6,
                          .kv_heads = 2,
                          .head_dim = 128,
                          .value_dim = 64.0,
                          .kv_format = pm::fp8,
                          .past = 300};
  pm::attention_kernels k = round_kernels;
  k.blocks_per_sm = 2.0;
  k.overlaps_memory = true;
  k.partial_row_cycles = 300.0;
  k.low_precision_kv_time = 0.7 * pm::us;
  k.low_precision_kv_matrix = 0.5;
  k.low_precision_element_cycles = 0.2;
  const auto ask = [&] {
    return pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, k});
  };
  auto e = ask();
  // 4 blocks of 64 rows in each of 12 heads are 0.48 waves. 256 rows see 300 + 31.5 keys before
  // their own block's mean row; the longest sees 556. A quarter of the peak: 100 x 2 x 192 / 25e12
  // and 1 / 16e9.
  const double pair = 1.536e-3 + 0.0625e-3;
  const double mean = 1.5 + (256 * 331.5 + 256 * 257 / 2.0) / 4 * pair;
  const double longest = 1.5 + 64 * 556 * pair / 4;
  CHECK_THAT(us(e.terms["tiles"]), WithinRel(0.48 * mean + 0.3 * 0.48 * longest, 1e-12));
  CHECK_THAT(us(e.terms["floor"]), WithinRel(13.0, 1e-12));
  // 4 parts of 2 x 200 x 6 rows.
  CHECK_THAT(us(e.terms["splits"]), WithinRel(4 * 2400 * 300 / 100 / 1e3 + 2.0, 1e-12));
  // Queries, results and 500 cached tokens; new keys and values in 16 bits, stored in 8. Each query
  // and new key or value takes 0.2 cycles to convert.
  const double fresh = 2 * 200 * 2 * 192, queries = 2 * 200 * 6 * 128;
  const double needed = (queries + 2 * 200 * 6 * 64) * 2 + 2 * 500 * 2 * 192;
  const double convert = 2 * 0.7 + 0.2 * (queries + fresh) / 100 / 1e3;
  CHECK_THAT(us(e.terms["conversion"]), WithinRel(convert, 1e-12));
  const double moved = needed + fresh * 2 + fresh;
  CHECK_THAT(us(e.terms["memory"]), WithinRel(needed / dram, 1e-12));
  CHECK_THAT(us(e.terms["cache write"]), WithinRel(3 * fresh / dram, 1e-12));
  CHECK_THAT(us(e.time), WithinRel(13.0 + convert + us(e.terms["splits"]) + 3 * fresh / dram +
                                       std::hypot(us(e.terms["tiles"]), needed / dram),
                                   1e-12));
  CHECK_THAT(e.mbu, WithinRel(moved / 1e12 / e.time.value(), 1e-12));
  const double flop = 2 * 12 * (200 * 300 + 200 * 201 / 2.0) * 192;
  CHECK_THAT(e.mfu, WithinRel(flop / 1e14 / e.time.value(), 1e-12));
  // Under a window of 100 a block of rows sees 164: of 256 rows after 31.5 keys the first 132.5 see
  // fewer.
  w.past = 0;
  w.window = 100.0;
  k.partial_row_cycles.reset();
  e = ask();
  const double seen = 132.5 * 31.5 + 132.5 * 133.5 / 2 + 123.5 * 164;
  const double last = 1.5 + 64 * 164 * pair;
  CHECK_THAT(us(e.terms["tiles"]),
             WithinRel(std::max(last, 0.48 * (1.5 + seen / 4 * pair) + 0.3 * 0.48 * last), 1e-12));
  // Without a mask every row sees all 256, and all tiles take as long: whole waves.
  w.window.reset();
  w.causal = false;
  const double all = 1.5 + 64 * 256 * pair;
  w.batch = 20;
  CHECK_THAT(us(ask().terms["tiles"]), WithinRel(5 * all, 1e-12));
}

TEST_CASE("rows of tiles see whole steps of keys, and one row of tiles whole tile waves",
          "[calibrated]") {
  const auto tiles = [](double batch, double tokens, double keys) {
    pm::attention_kernels k = round_kernels;
    k.tile_keys = keys;
    const pm::attention_prefill w{
        .batch = batch, .tokens = tokens, .query_heads = 10, .kv_heads = 10, .head_dim = 128};
    return us(pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, k})
                  .terms["tiles"]);
  };
  const double pair = 1.0865e-3;
  // 60 tokens are one tile of 64 rows: 110 on 100 SMs are two waves. In steps of 128 keys a row
  // sees 128.
  CHECK_THAT(tiles(11, 60, 1), WithinRel(2 * (1.5 + 64 * 64 * pair), 1e-12));
  CHECK_THAT(tiles(11, 60, 128), WithinRel(2 * (1.5 + 64 * 128 * pair), 1e-12));
  // 250 tokens are four, which see 128, 128, 256 and 256: 4.4 waves and 0.3 of the longest.
  const double longest = 1.5 + 64 * 256 * pair;
  CHECK_THAT(tiles(11, 250, 128), WithinRel(4.4 * (1.5 + 64 * 192 * pair) + 0.3 * longest, 1e-12));
  // 170 are three, the third of which sees 256: half of them have a step that is theirs by half.
  CHECK_THAT(tiles(10, 170, 128), WithinRel(3 * (1.5 + 64 * 160 * pair) + 0.3 * longest, 1e-12));
}

TEST_CASE("a window and a past count the pairs of whole tiles", "[calibrated]") {
  // One tile of 64 rows over 1,000 cached tokens and itself: 64 x 1,064 pairs.
  pm::attention_prefill w{
      .batch = 1, .tokens = 64, .query_heads = 1, .kv_heads = 1, .head_dim = 128, .past = 1000};
  const double pair = 1.0865e-3;
  auto e =
      pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::warm});
  CHECK_THAT(us(e.terms["tiles"]), WithinRel(1.5 + 64 * 1064 * pair + 0.3 * 0.01 * 0.0, 0.02));
  // A window of 64 leaves at most 128 columns to a tile.
  w.window = 64;
  e = pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::warm});
  CHECK(us(e.terms["tiles"]) < 1.5 + 1.02 * 64 * 128 * pair);
}

TEST_CASE("a prefill of few tiles splits its keys, at a price", "[calibrated]") {
  // 8 heads of 256 rows are 16 tiles of 128 for 100 slots: 6 parts would fit, 256 keys make 2.
  pm::attention_prefill w{
      .batch = 1, .tokens = 256, .query_heads = 8, .kv_heads = 8, .head_dim = 128};
  pm::attention_kernels k = round_kernels;
  k.partial_row_cycles = 300.0;
  const auto whole =
      pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, round_kernels},
                              {.cache = pm::cache_state::warm});
  const auto split = pm::calibrated_estimate(
      round_device(), w, {round_machine, round_parameters, k}, {.cache = pm::cache_state::warm});
  // 32 tiles of 64 rows on 100 SMs: the longest, 64 x 256 pairs, sets the time; it halves.
  const double pairs = 64 * 256 * 1.0865e-3;
  CHECK_THAT(us(whole.terms["tiles"]), WithinRel(1.5 + pairs, 1e-12));
  CHECK(us(split.terms["tiles"]) < 0.8 * us(whole.terms["tiles"]));
  // 2 parts x 256 tokens x 8 heads x 300 cycles on 100 SMs of 1 GHz, and a kernel of 2000 cycles.
  CHECK_THAT(us(split.terms["splits"]), WithinRel(12.288 + 2.0, 1e-12));
  CHECK(whole.terms.find("splits") == nullptr);
  // 16 times as many sequences fill the slots.
  w.batch = 16;
  CHECK(pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, k},
                                {.cache = pm::cache_state::warm})
            .terms.find("splits") == nullptr);
}

TEST_CASE("exponentials concurrent with the tensor cores hide in part", "[calibrated]") {
  pm::attention_kernels k = round_kernels;
  k.overlaps_exponential = true;
  const pm::attention_prefill w{
      .batch = 64, .tokens = 6400, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
  const double serial = us(pm::calibrated_estimate(round_device(), w,
                                                   {round_machine, round_parameters, round_kernels},
                                                   {.cache = pm::cache_state::warm})
                               .terms["tiles"]);
  const double beside =
      us(pm::calibrated_estimate(round_device(), w, {round_machine, round_parameters, k},
                                 {.cache = pm::cache_state::warm})
             .terms["tiles"]);
  CHECK_THAT(beside / serial, WithinRel(std::hypot(1.024, 0.0625) / 1.0865, 1e-2));
}

TEST_CASE("grouped GEMMs by hand", "[calibrated]") {
  // Balanced, 64 tokens, top 2 of 8 experts, 1,024 -> 2 x 2,048 -> 1,024: 16 tokens an expert, one
  // tile of 16 rows. First GEMM: 8 x 32 = 256 tiles on 100 SMs; second: 64 tiles, 0.64 of a wave.
  const pm::moe_ffn x{.tokens = 64, .hidden = 1024, .intermediate = 2048, .experts = 8, .top_k = 2};
  const pm::machine_parameters p{.matrix_share = 0.5, .dram_share = 0.8};
  const pm::moe_kernels k{.floor = 20.0 * pm::us, .buffer_share = 0.5, .dram_saturation = 1.0};
  const auto e =
      pm::calibrated_estimate(round_device(), x, {p, k}, {.routing = pm::expert_routing::balanced});
  const double first =
      std::hypot(2.0 * 8 * 16 * 4096 * 1024 / 5e13, 8.0 * 4096 * 1024 * 2 / 0.8e12);
  const double second =
      std::hypot(2.0 * 8 * 16 * 1024 * 2048 / 5e13 / 0.64, 8.0 * 1024 * 2048 * 2 / (0.64 * 0.8e12));
  CHECK_THAT(e.terms["grouped GEMMs"].value(), WithinRel(first + second, 1e-12));
  CHECK_THAT(e.terms["buffers"].value(),
             WithinRel(128.0 * (6 * 2048 + 2 * 1024) * 2 / 0.5e12, 1e-12));
  CHECK_THAT(
      e.time.value(),
      WithinRel(20e-6 + e.terms["grouped GEMMs"].value() + e.terms["buffers"].value(), 1e-12));
  // Two ranks: a half of the rows between the GEMMs and written after them, but every rank sums
  // all.
  pm::moe_ffn ranks = x;
  ranks.expert_parallel = 2;
  const auto own = pm::calibrated_estimate(round_device(), ranks, {p, k},
                                           {.routing = pm::expert_routing::balanced});
  CHECK_THAT(own.terms["buffers"].value(),
             WithinRel((64.0 * 6 * 2048 + (64.0 + 128.0) * 1024) * 2 / 0.5e12, 1e-12));
  pm::moe_kernels buffering = k;
  buffering.all_rows_buffered = true;
  const auto all = pm::calibrated_estimate(round_device(), ranks, {p, buffering},
                                           {.routing = pm::expert_routing::balanced});
  CHECK_THAT(all.terms["buffers"].value(),
             WithinRel((128.0 * 6 * 2048 + (64.0 + 128.0) * 1024) * 2 / 0.5e12, 1e-12));
  // 17 rows take a tile of 32.
  CHECK(pm::detail::moe_tile_rows(17.0, 1.0, k) == 32.0);
  CHECK(pm::detail::moe_tile_rows(1.0, 1.0, k) == 16.0);
  CHECK(pm::detail::moe_tile_rows(1000.0, 8.0, k) == 128.0);
}

TEST_CASE("grouped GEMMs as TensorRT-LLM's launcher runs them, by hand", "[calibrated]") {
  // 100 tokens, top 2 of 2 experts, 1,024 -> 2 x 4,096 -> 1,024: 100 rows an expert, for which it
  // counts on a tile of 128 and takes 64. Of 16.8 MB of weights up, an L2 of 10 MB in two
  // partitions holds 5, and the second tile of rows reads the rest again; of 8.4 MB down likewise.
  pm::moe_ffn x{.tokens = 100, .hidden = 1024, .intermediate = 4096, .experts = 2, .top_k = 2};
  const pm::machine_parameters p{.matrix_share = 0.5, .dram_share = 0.8};
  const pm::moe_kernels k{.least_tile_rows = 8.0,
                          .most_tile_rows = 64.0,
                          .dram_saturation = 100.0,
                          .overlap = 4.0,
                          .launcher_tiles = true,
                          .columns_first = true};
  pm::accelerator device = round_device();
  device.l2_partitions = pm::number<>::from_value(2.0);
  const auto products = [&] {
    return calibrated_estimate(device, x, {p, k}, {.routing = pm::expert_routing::balanced})
        .terms["grouped GEMMs"]
        .value();
  };
  const auto product = [](double tiles, double columns, double depth) {
    const double weights = columns * depth * 2;
    const double once_more = std::max(0.0, 1 - 5e6 / weights);
    const double memory = 2 * weights * (1 + (tiles - 1) * once_more) / 0.8e12;
    const double waves = 2 * tiles * columns / 128 / 100;
    const double matrix = 2 * 2 * tiles * 64 * columns * depth / 5e13 * std::max(1.0, 1 / waves);
    return std::pow(std::pow(matrix, 4) + std::pow(memory, 4), 0.25);
  };
  CHECK_THAT(products(), WithinRel(product(2, 8192, 1024) + product(2, 1024, 4096), 1e-12));
  // One expert on each of two ranks: it counts on all rows, 200, and still has no larger tile.
  CHECK(pm::detail::moe_tile_rows(100.0, 2.0, k) == 64.0);
  // 12 rows: 16, of which 8; of two ranks 32, of which 16; no more than 8 rows are never cut.
  CHECK(pm::detail::moe_tile_rows(12.0, 1.0, k) == 8.0);
  CHECK(pm::detail::moe_tile_rows(12.0, 2.0, k) == 16.0);
  CHECK(pm::detail::moe_tile_rows(8.0, 1.0, k) == 8.0);
  CHECK(pm::detail::moe_tile_rows(33.0, 1.0, k) == 32.0);
  // In an L2 that holds them they are read once.
  device.l2.capacity = 100e6 * pm::byte;
  const auto held = [](double columns, double depth) {
    const double memory = 2 * columns * depth * 2 / 0.8e12;
    const double waves = 4 * columns / 128 / 100;
    const double matrix = 2 * 2 * 2 * 64 * columns * depth / 5e13 * std::max(1.0, 1 / waves);
    return std::pow(std::pow(matrix, 4) + std::pow(memory, 4), 0.25);
  };
  CHECK_THAT(products(), WithinRel(held(8192, 1024) + held(1024, 4096), 1e-12));
}

TEST_CASE("experts by untuned tiles, by hand", "[calibrated]") {
  // 16 experts of 1,024 x 192, 2 tokens each of 16: few. 16 x 12 tiles of 16 x 32 up, 16 x 32 down,
  // on 100 SMs.
  pm::moe_ffn x{.tokens = 16, .hidden = 1024, .intermediate = 192, .experts = 16, .top_k = 2};
  pm::machine_parameters machine{.dram_share = 0.5};
  machine.l2_bandwidth = pm::bandwidth<>::from_value(2e12);
  const pm::moe_kernels k{.all_rows_buffered = true,
                          .floor = 20.0 * pm::us,
                          .dram_saturation = 4.0,
                          .untuned = true,
                          .few_tokens_dram_ratio = 1.25,
                          .many_tokens_dram_ratio = 0.8};
  const auto ask = [&] {
    return calibrated_estimate(round_device(), x, {machine, k},
                               {.routing = pm::expert_routing::balanced});
  };
  // Up: weights of 16 x 384 x 1,024 through L2, and 2 rows of each expert for each of 12 columns of
  // tiles; DRAM at 1.25 x 0.5 TB/s. Down the same with 1,024 columns of 192.
  const auto product = [](double columns, double depth, double tile, double rows,
                          double tiles_of_rows, double ratio) {
    const double weights = 16 * columns * depth * 2;
    const double tiles = columns / tile;
    const double arrived = (tiles_of_rows * weights + 16 * tiles * rows * depth * 2) / 2e6;
    return std::hypot(arrived, weights / (ratio * 0.5e6));
  };
  CHECK_THAT(
      us(ask().terms["grouped GEMMs"]),
      WithinRel(product(384, 1024, 32, 2, 1, 1.25) + product(1024, 192, 32, 2, 1, 1.25), 1e-9));
  // 800 tokens: 100 rows of each, two tiles of 64 x 64.
  x.tokens = 800;
  CHECK_THAT(
      us(ask().terms["grouped GEMMs"]),
      WithinRel(product(384, 1024, 64, 100, 2, 0.8) + product(1024, 192, 64, 100, 2, 0.8), 1e-9));
  // 8,000: their 16.4 MB do not fit an L2 of 10 MB, and 39 % of the rows come from DRAM, at 0.5
  // TB/s.
  x.tokens = 8000;
  const double missing = 1 - 1e7 / (8000 * 2048.0);
  const double rows = 16.0 * 6 * 1000 * 1024 * 2;
  const double weights = 16.0 * 384 * 1024 * 2;
  const double up = std::hypot((16 * weights + rows * (1 - missing)) / 2e6 + rows * missing / 0.5e6,
                               weights / 0.4e6);
  CHECK_THAT(us(ask().terms["grouped GEMMs"]),
             WithinRel(up + product(1024, 192, 64, 1000, 16, 0.8), 1e-9));
  CHECK(pm::has_tuned_tiles_on_a100(8, 1792));
  CHECK_FALSE(pm::has_tuned_tiles_on_a100(8, 14336));
}

TEST_CASE("grouped GEMMs of the busiest of four ranks by hand, with shared experts",
          "[calibrated]") {
  // 100 tokens choose 2 of 16 experts: 50 rows a rank in the mean, 62.5 with the capacity of 1.25
  // below the imbalance of 1.5. Its 4 experts have 15.6 each, a tile of 16 rows. Two ranks share
  // the width of 300.
  pm::moe_ffn x{.tokens = 100,
                .hidden = 1000,
                .intermediate = 300,
                .experts = 16,
                .top_k = 2,
                .shared_experts = 2,
                .tensor_parallel = 2,
                .expert_parallel = 4};
  const pm::machine_parameters p{.matrix_share = 0.5, .dram_share = 0.8};
  pm::moe_kernels k{.tile_columns = 64.0,
                    .floor = 20.0 * pm::us,
                    .buffer_share = 0.5,
                    .matrix_ratio = 0.8,
                    .dram_saturation = 2.0};
  pm::call_conditions dealt{
      .routing = pm::expert_routing::balanced, .imbalance = 1.5, .capacity_factor = 1.25};
  const auto e = pm::calibrated_estimate(round_device(), x, {p, k}, dealt);
  // `experts` matrices of this size, in tiles of `rows` x 64 on 100 SMs: less than a wave takes as
  // long as one; they draw twice their share of the SMs of 0.8 TB/s.
  const auto product = [](double experts, double rows, double columns, double depth) {
    const double tiles = experts * std::ceil(columns / 64);
    const double matrix = 2 * tiles * rows * 64 * depth / 4e13 / std::min(1.0, tiles / 100);
    const double weights = experts * columns * depth * 2;
    return std::hypot(matrix, weights / (std::min(1.0, 2 * tiles / 100) * 0.8e12));
  };
  // 25 tokens of each rank go through the shared experts, tiles of 32 rows.
  const double routed = product(4, 16, 2 * 150, 1000) + product(4, 16, 1000, 150);
  const double shared = product(2, 32, 2 * 150, 1000) + product(2, 32, 1000, 150);
  CHECK_THAT(e.terms["grouped GEMMs"].value(), WithinRel(routed + shared, 1e-12));
  // 62.5 and 100 x 2 / 4 rows of 3 x 150 values between the products, and of 1000 after them; 100 x
  // (2 + 2) are summed.
  const double buffers = 112.5 * 450 * 4 + (112.5 + 400) * 1000 * 2;
  CHECK_THAT(e.terms["buffers"].value(), WithinRel(buffers / 0.5e12, 1e-12));
  CHECK_THAT(e.time.value(), WithinRel(20e-6 + routed + shared + buffers / 0.5e12, 1e-12));
  const auto needs = pm::demand_of(x);
  CHECK_THAT(e.mfu, WithinRel(needs.matrix_flop.value() / 1e14 / e.time.value(), 1e-12));
  const double beyond = 4 - pm::experts_touched(x);  // balanced rows touch all
  CHECK_THAT(e.mbu, WithinRel((needs.dram.total().value() + beyond * 3 * 1000 * 150 * 2) / 1e12 /
                                  e.time.value(),
                              1e-12));
  // Random ones the expected number.
  dealt.routing = pm::expert_routing::random;
  const double random = pm::calibrated_estimate(round_device(), x, {p, k}, dealt).mbu;
  const auto at_random = pm::calibrated_estimate(round_device(), x, {p, k}, dealt);
  CHECK_THAT(random, WithinRel(needs.dram.total().value() / 1e12 / at_random.time.value(), 1e-12));
  // A library that buffers all rows converts them for 8-bit products: 2 bytes more of the result, 4
  // of the tokens.
  k.all_rows_buffered = true;
  CHECK_THAT(pm::detail::buffer_bytes(x, 150.0, 62.5, k).value(),
             WithinRel(400 * 450 * 4 + (112.5 + 400) * 1000 * 2.0, 1e-12));
  x.format = pm::fp8;
  CHECK_THAT(pm::detail::buffer_bytes(x, 150.0, 62.5, k).value(),
             WithinRel(400 * (450 * 4 + 150 * 2) + ((112.5 + 400) * 2 + 100 * 4) * 1000.0, 1e-12));
  // A library that sums the rank's rows reads and writes each, reads 100 tokens, writes 100 results.
  k.all_rows_buffered = false;
  k.sums_own_rows = true;
  CHECK_THAT(pm::detail::buffer_bytes(x, 150.0, 62.5, k).value(),
             WithinRel(112.5 * 450 * 4 + (112.5 * 4 + 100 * 4) * 1000.0, 1e-12));
}

TEST_CASE("rows and experts of the busiest rank", "[calibrated]") {
  pm::moe_ffn x{.tokens = 100,
                .hidden = 1000,
                .intermediate = 300,
                .experts = 16,
                .top_k = 2,
                .expert_parallel = 4};
  const auto rows = [&](const pm::call_conditions& c) {
    return pm::detail::routed_to_rank(x, c).rows;
  };
  const auto touched = [&](const pm::call_conditions& c) {
    return pm::detail::routed_to_rank(x, c).touched;
  };
  using enum pm::expert_routing;
  CHECK(rows({.routing = balanced, .imbalance = 1.5}) == 75);
  CHECK(rows({.routing = balanced, .imbalance = 10}) == 200);  // no more than are chosen
  CHECK(rows({.routing = balanced, .imbalance = 1.5, .capacity_factor = 1.25}) == 62.5);
  CHECK(rows({.routing = balanced, .imbalance = 1.5, .capacity_factor = 2.0}) == 75);
  // Groups: two of four ranks have the half of the experts that all tokens choose from.
  CHECK(rows({.routing = grouped}) == 100);
  CHECK(touched({.routing = grouped}) == 4);
  x.experts = 4;  // at least as many as a token chooses, whatever the half is
  x.top_k = 3;
  CHECK(rows({.routing = grouped}) == 100);
  x = {.tokens = 100, .hidden = 1000, .intermediate = 300, .experts = 16, .top_k = 2};
  CHECK(rows({.routing = grouped}) == 200);  // one rank has them all
  CHECK(rows({.imbalance = 0.0}) == 200);    // and is no busier than others
  CHECK(touched({.routing = grouped}) == 8);
  CHECK(touched({.routing = balanced}) == 16);
  x.expert_parallel = 16;
  CHECK(rows({.routing = balanced, .imbalance = 100}) ==
        100);  // each token has its one expert once
  x.tokens = 1;
  CHECK(touched({.routing = balanced}) == 1);
  x.expert_parallel = 4;
  x.tokens = 5;
  CHECK(touched({.routing = balanced}) == 2.5);
}

TEST_CASE("profiles go by machine, then by architecture with a wider interval", "[calibrated]") {
  namespace c = pm::catalog;
  CHECK(c::attention_profile_of(c::h200_sxm).name.view() == "h200_sxm");
  CHECK(c::attention_profile_of(c::h20).donor->name.view() == "h100_sxm");
  CHECK(c::attention_profile_of(c::h20).log_sigma > 1.2 * c::attention_h100_sxm.log_sigma);
  CHECK(c::attention_profile_of(c::rtx_5090).log_sigma >= 0.17);
  // The rates of a transfer go with SMs x clock; its DRAM share is its machine profile's.
  CHECK_FALSE(c::attention_profile_of(c::h20).value.l2_bandwidth.has_value());
  CHECK(c::machine_profile_of(c::h20).value.dram_share == c::profile_h100_sxm.value.dram_share);
  CHECK(c::attention_profile_of(c::gb200).donor->name.view() == "b200_sxm");
  CHECK(c::attention_profile_of(c::rtx_4090).donor->name.view() == "l40s");
  CHECK(c::attention_profile_of(c::rtx_5090).donor->name.view() == "rtx_pro_6000");
  CHECK(&c::attention_kernels_of(c::h20) == &c::flash_attention_3);
  CHECK(&c::attention_kernels_of(c::b200_sxm) == &c::tensorrt_llm);
  CHECK(&c::attention_kernels_of(c::l40s, pm::fp8) == &c::flashinfer);
  CHECK(&c::attention_kernels_of(c::a100_sxm_80gb) == &c::flash_attention_2);
  CHECK(c::moe_profile_of(c::b200_sxm).log_sigma == 0.3);
}

TEST_CASE("an A100 of 40 GB is an A100, whatever its memory's bandwidth", "[calibrated]") {
  namespace c = pm::catalog;
  pm::accelerator a = c::a100_sxm_80gb;
  a.name = "a100_of_mine";
  a.dram.capacity = 40.0 * pm::GB;
  a.dram.bandwidth = 1.555 * pm::TB_per_s;
  CHECK(pm::l2_partitions_of(a) == 2.0);
  for (const pm::accelerator& x : {a, c::a100_sxm_40gb}) {
    CHECK(c::machine_profile_of(x).donor == &c::a100_sxm_80gb);
    CHECK(c::attention_profile_of(x).donor == &c::a100_sxm_80gb);
    CHECK(c::collective_profile_of(x).donor == &c::a100_sxm_80gb);
    CHECK(c::machine_profile_of(x).value.matrix_share ==
          c::profile_a100_sxm_80gb.value.matrix_share);
    CHECK(c::machine_profile_of(x).log_sigma > c::profile_a100_sxm_80gb.log_sigma);
  }
}

TEST_CASE("nothing is transferred to another kind of machine", "[calibrated]") {
  namespace c = pm::catalog;
  for (const pm::accelerator* a :
       {&c::tpu_v5e, &c::groq_lpu, &c::cerebras_wse3, &c::m3_ultra, &c::mi210}) {
    INFO(a->name.c_str());
    CHECK_THROWS_AS(c::machine_profile_of(*a), pm::error);
    CHECK_THROWS_AS(c::attention_profile_of(*a), pm::error);
    CHECK_THROWS_AS(c::collective_profile_of(*a), pm::error);
  }
  CHECK(refusal([&] { c::machine_profile_of(c::tpu_v5e); }) ==
        "PM-E031: nothing was fitted to a machine like tpu_v5e (TPU): it has a bound and no "
        "calibrated prediction");
}

TEST_CASE("prediction and bound: the calibrated time is never below the roofline", "[calibrated]") {
  namespace c = pm::catalog;
  for (double batch : {1.0, 16.0, 512.0}) {
    for (double context : {128.0, 4096.0, 131072.0}) {
      const pm::attention_decode w{
          .batch = batch, .context = context, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
      if (demand_of(w).dram.total() < 2.0 * c::h200_sxm.l2.capacity) continue;  // may be warm
      const auto e = pm::calibrated_estimate(
          c::h200_sxm, w,
          {c::profile_h200_sxm.value, c::attention_h200_sxm.value, c::flash_attention_3},
          {.cache = pm::cache_state::warm});
      CHECK(e.time > pm::roofline(c::h200_sxm, w).time);
      CHECK(e.mbu < 1.0);
    }
  }
}

TEST_CASE("uncomputable input is refused by name", "[calibrated]") {
  const pm::attention_decode w{
      .batch = 1, .context = 4096, .query_heads = 8, .kv_heads = 1, .head_dim = 128};
  pm::accelerator a = round_device();
  a.l2.capacity = {};
  CHECK_THROWS_AS(pm::calibrated_estimate(a, w, {round_machine, round_parameters, round_kernels},
                                          {.cache = pm::cache_state::warm}),
                  pm::error);
  pm::attention_parameters p = round_parameters;
  p.l2_bandwidth = {};  // and the machine's is not known
  CHECK(refusal([&] {
          pm::calibrated_estimate(round_device(), w, {round_machine, p, round_kernels},
                                  {.cache = pm::cache_state::warm});
        }) == "PM-E010: l2_bandwidth is missing");
}

TEST_CASE("each number that no machine and no library has is refused at the door", "[calibrated]") {
  const auto door = [](const auto& x) { require_valid(x); };
  perfmodel_test::refuses_each_field(round_parameters, door, {});
  perfmodel_test::refuses_each_field(
      round_kernels, door,
      {"tail", "kernel_cycles", "split_cycles", "sequence_cost", "scheduled_sequences",
       "low_precision_kv_time", "low_precision_element_cycles", "dequantisation_cycles"});
  perfmodel_test::refuses_each_field(pm::catalog::triton_experts, door, {"tile_fill"});
}

TEST_CASE("every attention and expert profile of the catalogue is valid", "[calibrated]") {
  namespace c = pm::catalog;
  for (const auto* k :
       {&c::flash_attention_2, &c::flash_attention_3, &c::flashinfer, &c::tensorrt_llm}) {
    CHECK(refusal([&] { require_valid(*k); }) == "nothing refused");
  }
  for (const auto* k : {&c::triton_experts, &c::triton_fp8_experts, &c::cutlass_experts,
                        &c::trtllm_experts, &c::trtllm_fp8_experts, &c::dequantised_experts}) {
    CHECK(refusal([&] { require_valid(*k); }) == "nothing refused");
  }
  for (const pm::accelerator* a : {&c::a100_sxm_80gb, &c::h100_sxm, &c::h200_sxm, &c::h20,
                                   &c::b200_sxm, &c::l40s, &c::rtx_5090}) {
    INFO(a->name.c_str());
    CHECK(refusal([&] { require_valid(c::attention_profile_of(*a).value); }) == "nothing refused");
    CHECK(refusal([&] { require_valid(c::moe_profile_of(*a).value); }) == "nothing refused");
  }
}

}  // namespace unit_calibrated_attention
