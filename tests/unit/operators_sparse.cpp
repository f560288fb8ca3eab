// Scores of an indexer, and attention over what it chose.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/laws/roofline.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <perfmodel/operators/mixers.hpp>

#include "support/each_field.hpp"
#include "support/near.hpp"

namespace unit_operators_sparse {

namespace pm = perfmodel;
using perfmodel_test::near;

TEST_CASE("index_scores: one token over 65,536, 64 heads of 128") {
  constexpr auto d = demand_of(
      pm::index_scores{.sequences = 1, .tokens = 1, .past = 65535, .heads = 64, .dim = 128});
  // 2 x 65,536 pairs x 64 x 128; a key is 128 bytes and a scale of 4; queries in fp8.
  static_assert(d.format == pm::fp8);
  static_assert(d.matrix_flop.value() == 1073741824.0);
  static_assert(d.dram.read.value() == 65536.0 * 132 + 64 * 128);
  static_assert(d.dram.written.value() == 132);
  CHECK(near(d.dram.read.value(), 8.66e6, 1e-3));
}

TEST_CASE("index_scores: the bound is below a published fp8 kernel on H200") {
  // sgl-project/sglang #11989: 64 heads of 128, 2048 queries over all keys.
  for (const auto& [keys, us] :
       {std::pair(4096.0, 103.0), {8192, 222}, {16384, 458}, {32768, 931}}) {
    const pm::index_scores x{
        .sequences = 1, .tokens = 2048, .past = keys - 2048, .heads = 64, .dim = 128};
    const double bound = pm::roofline(pm::catalog::h200_sxm, x).time.value() * 1e6;
    CHECK(bound < us);
    CHECK(bound > 0.4 * us);
    // bf16 units are the limit of a chip whose queries are bf16.
    auto wide = x;
    wide.format = pm::bf16;
    CHECK(near(pm::roofline(pm::catalog::h200_sxm, wide).time.value() * 1e6 / bound, 2.0, 1e-3));
  }
}

TEST_CASE("index_scores: chunks of a prompt add up to it, and so do sequences") {
  const auto flop = [](double tokens, double past, double sequences = 1) {
    return demand_of(
               pm::index_scores{
                   .sequences = sequences, .tokens = tokens, .past = past, .heads = 64, .dim = 128})
        .matrix_flop.value();
  };
  double sum = 0;
  for (int token = 0; token < 500; ++token) sum += flop(1, token);
  CHECK(flop(500, 0) == sum);
  CHECK(flop(200, 0) + flop(300, 200) == sum);
  CHECK(flop(500, 0, 7) == 7 * sum);
}

TEST_CASE("index_scores: a key for every 4 tokens is a fourth of the pairs and of the keys") {
  pm::index_scores x{.sequences = 3, .tokens = 100, .past = 5000, .heads = 64, .dim = 128};
  const auto whole = demand_of(x);
  x.ratio = 4;
  const auto fourth = demand_of(x);
  const double queries = 3 * 100 * 64 * 128;
  CHECK(4 * fourth.matrix_flop.value() == whole.matrix_flop.value());
  CHECK(4 * (fourth.dram.read.value() - queries) == whole.dram.read.value() - queries);
  CHECK(4 * fourth.dram.written.value() == whole.dram.written.value());
}

TEST_CASE("gathered_attention: one token of 64 heads over 640 entries of 512") {
  constexpr auto d = demand_of(pm::gathered_attention{
      .sequences = 1, .tokens = 1, .seen = 640, .entries = 32896, .heads = 64, .width = 512});
  static_assert(d.matrix_flop.value() == 4.0 * 64 * 640 * 512);
  static_assert(d.dram.read.value() == 640.0 * 512 * 2 + 64 * 512 * 2);
  static_assert(d.dram.written.value() == 64.0 * 512 * 2);
  CHECK(near(d.matrix_flop.value(), 83.9e6, 1e-3));
}

TEST_CASE("gathered_attention: a latent of 576 of which 512 are the value") {
  constexpr auto d = demand_of(pm::gathered_attention{.sequences = 1,
                                                      .tokens = 1,
                                                      .seen = 2048,
                                                      .entries = 65536,
                                                      .heads = 128,
                                                      .width = 576,
                                                      .value_width = 512.0});
  static_assert(d.matrix_flop.value() == 2.0 * (576 + 512) * 2048 * 128);
  static_assert(d.dram.read.value() == 2048.0 * 576 * 2 + 128 * 576 * 2);
  static_assert(d.dram.written.value() == 128.0 * 512 * 2);
  CHECK(near(d.matrix_flop.value(), 570.4e6, 1e-3));
}

TEST_CASE("gathered_attention: no entry is read twice, however many tokens choose it") {
  pm::gathered_attention x{.sequences = 2,
                           .tokens = 10,
                           .seen = 640,
                           .entries = 2000,
                           .heads = 64,
                           .width = 512,
                           .kv_format = pm::fp8};
  const double rows = 2 * 10 * 64 * 512 * 2;
  CHECK(demand_of(x).dram.read.value() == 2 * 2000 * 512 + rows);
  x.entries = 1e5;
  CHECK(demand_of(x).dram.read.value() == 2 * 6400 * 512 + rows);
}

TEST_CASE("gathered_attention: over all tokens it is one KV head that is the value too") {
  const pm::gathered_attention all{
      .sequences = 4, .seen = 3000, .entries = 3000, .heads = 64, .width = 512};
  const auto d = demand_of(all);
  const auto decode = demand_of(pm::attention_decode{
      .batch = 4, .context = 3000, .query_heads = 64, .kv_heads = 1, .head_dim = 512});
  CHECK(d.matrix_flop == decode.matrix_flop);
  // Attention has read keys and values: twice as much.
  CHECK(near(d.dram.read.value(), decode.dram.read.value() / 2, 0.02));
}

TEST_CASE("index_scores, gathered_attention: each field outside its range is refused by name") {
  perfmodel_test::refuses_each_field(
      pm::index_scores{.sequences = 2, .tokens = 3, .past = 10, .heads = 4, .dim = 64},
      [](const pm::index_scores& x) { (void)demand_of(x); }, {"past"});
  perfmodel_test::refuses_each_field(
      pm::gathered_attention{
          .sequences = 2, .tokens = 3, .seen = 10, .entries = 20, .heads = 4, .width = 64},
      [](const pm::gathered_attention& x) { (void)demand_of(x); }, {"seen", "entries"});
}

}  // namespace unit_operators_sparse
