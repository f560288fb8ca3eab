// A prefill chunk and decodes in one attention kernel, by hand.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/kernels/attention.hpp>

#include "support/near.hpp"

namespace unit_attention_mixed {

namespace pm = perfmodel;
using perfmodel_test::near;

namespace {

/// 100 SMs, 100 TFLOP/s, 1 TB/s, 10 MB of L2.
pm::accelerator round_device() {
  pm::accelerator a;
  a.name = "round";
  a.sms = pm::number<>::from_value(100.0);
  a.matrix.peak.bf16 = pm::flop_rate<>::from_value(1e14);
  a.dram.bandwidth = pm::bandwidth<>::from_value(1e12);
  a.l2.capacity = pm::bytes<>::from_value(1e7);
  return a;
}
const pm::mixed_attention_calibration round_kernel{
    .machine = {.dram_share = 0.8, .operand_bandwidth = 1.0 * pm::TB_per_s},
    .kernels = {.floor = 5.0 * pm::us,
                .tile_latency = 2.0 * pm::us,
                .idle_tile = 0.1 * pm::us,
                .matrix_share = 0.5,
                .tail = 0.25}};
constexpr pm::attention_prefill chunk{.batch = 2,
                                      .tokens = 200,
                                      .query_heads = 6,
                                      .kv_heads = 2,
                                      .head_dim = 128,
                                      .value_dim = 64.0,
                                      .past = 300};
pm::attention_decode decodes(double batch, double context) {
  return {.batch = batch,
          .context = context,
          .query_heads = 6,
          .kv_heads = 2,
          .head_dim = 128,
          .value_dim = 64.0};
}
pm::estimate beside(const pm::attention_decode& w) {
  return calibrated_estimate(round_device(), chunk, w, round_kernel);
}
double us(const pm::duration<>& t) {
  return t.value() * 1e6;
}

/// A step of 64 rows and 128 keys: 2 x 64 x 128 x (128 + 64) FLOP at half of an SM's TFLOP/s.
constexpr double step = 3.145728 / 0.5;
/// 4 blocks of 64 rows see 300 keys and on average 160 of their own, and half a step more.
constexpr double prompt_steps = 2 * 6 * 4 * (460 / 128.0 + 0.5);

}  // namespace

TEST_CASE("attention mixed: few tiles take what the longest takes") {
  // A decode of 1,000 tokens and itself has 8 steps, the chunk's last rows 500 / 128 + 1 / 2.
  CHECK(near(us(beside(decodes(3, 1000)).terms["tiles"]), 2 + 8 * step));
  CHECK(near(us(beside(decodes(3, 127)).terms["tiles"]), 2 + (500 / 128.0 + 0.5) * step));
}

TEST_CASE("attention mixed: many tiles share the SMs, and the longest leaves a tail") {
  // 300 x 6 decodes of 8 steps; the grid has 3 more tiles for each, that find no rows.
  const double tiles = 2 * 6 * 4 + 300 * 6;
  const double all = tiles * 2 + (prompt_steps + 1800 * 8) * step + 3 * 1800 * 0.1;
  const auto e = beside(decodes(300, 1000));
  const double longest = 2 + 8 * step;
  CHECK(near(us(e.terms["tiles"]), all / 100 + 0.25 * longest));
  CHECK(e.limiter == pm::limiter::compute);
  // 66 tiles on 100 SMs leave that part of a tail, here of twice the longest.
  pm::mixed_attention_calibration slow = round_kernel;
  slow.kernels.tail = 2.0;
  const double few = 66 * 2 + (prompt_steps + 18 * 8) * step + 3 * 18 * 0.1;
  CHECK(near(us(calibrated_estimate(round_device(), chunk, decodes(3, 1000), slow).terms["tiles"]),
             few / 100 + 2 * 0.66 * longest));
}

TEST_CASE("attention mixed: keys come again for a group's heads where L2 does not keep them") {
  const double prompts = pm::demand_of(chunk).dram.total().value();
  const auto moved = [&](const pm::attention_decode& w, double further) {
    const double keys = w.batch * w.context * 2 * 192 * 2;
    return prompts + pm::demand_of(w).dram.total().value() + further * keys;
  };
  // 3 x 3 tiles of a KV head run at once: each key is read once.
  auto e = beside(decodes(3, 1000));
  CHECK(near(us(e.terms["memory"]), moved(decodes(3, 1000), 0) / 0.8e6));
  // 60 x 3 tiles on 100 SMs are 1.8 heads' reads; of one head's 9.216 MB 1 / (1 + 0.9216^8) stay in
  // 10 MB.
  const double lost = 1 - 1 / (1 + std::pow(0.9216, 8));
  e = beside(decodes(60, 400));
  CHECK(near(us(e.terms["memory"]), moved(decodes(60, 400), 0.8 * lost) / 0.8e6));
  // At most as often as a group has heads.
  e = beside(decodes(3000, 1000));
  CHECK(near(us(e.terms["memory"]), moved(decodes(3000, 1000), 2) / 0.8e6, 1e-9));
  CHECK(near(e.mbu, moved(decodes(3000, 1000), 2) / 1e12 / e.time.value(), 1e-9));
  // The window of a decode limits its steps and its keys.
  auto window = decodes(3000, 1000);
  window.window = 400.0;
  CHECK(near(beside(window).time, beside(decodes(3000, 400)).time));
}

TEST_CASE("attention mixed: tiles hide memory in part, after a floor") {
  const auto e = beside(decodes(60, 400));
  CHECK(near(us(e.time), 5 + std::hypot(us(e.terms["tiles"]), us(e.terms["memory"]))));
  const double flop =
      (pm::demand_of(chunk).matrix_flop + pm::demand_of(decodes(60, 400)).matrix_flop).value();
  CHECK(near(e.mfu, flop / 1e14 / e.time.value()));
  CHECK(near(e.mbu, us(e.terms["memory"]) * 0.8 / us(e.time)));
}

}  // namespace unit_attention_mixed
