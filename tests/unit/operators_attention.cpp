#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>

#include "support/refusal.hpp"

namespace unit_operators_attention {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;
using perfmodel_test::refusal;

namespace {
// A 70B-class layer with all heads, and with its 8 KV heads.
constexpr pm::attention_prefill multi_head{.batch = 1,
                                           .tokens = 8192,
                                           .query_heads = 64,
                                           .kv_heads = 64,
                                           .head_dim = 128,
                                           .causal = false};

constexpr pm::attention_prefill unfused(pm::attention_prefill a) {
  a.fused = false;
  return a;
}
constexpr pm::attention_prefill grouped(pm::attention_prefill a) {
  a.kv_heads = 8;
  return a;
}

template <class F>
pm::error_code code_of(F&& f) {
  try {
    (void)f();
  } catch (const pm::error& e) {
    return e.code();
  }
  FAIL("nothing was thrown");
  return pm::error_code{};
}
}  // namespace

TEST_CASE("attention_prefill: unfused traffic of the published example", "[operators]") {
  const pm::demand d = demand_of(unfused(multi_head));
  CHECK_THAT(d.dram.total().value(), WithinRel(34.9e9, 1e-3));
  CHECK_THAT(d.dram.total().value() / 64, WithinRel(545.3e6, 1e-3));
  CHECK_THAT(d.intensity().value(), WithinRel(63.0154, 1e-5));
  CHECK(d.launches == 3);
  pm::attention_prefill at_2048 = unfused(multi_head);
  at_2048.tokens = 2048;
  CHECK_THAT(demand_of(at_2048).intensity().value(), WithinRel(60.2353, 1e-5));
}

TEST_CASE("attention_prefill: fusing removes a factor of 1 + S/d, more with grouped heads",
          "[operators]") {
  const auto ratio = [](pm::attention_prefill a) {
    return demand_of(unfused(a)).dram.total() / demand_of(a).dram.total();
  };
  pm::attention_prefill a = multi_head;
  CHECK(ratio(a) == 65.0);
  for (const double s : {128.0, 1152.0, 1920.0, 3712.0}) {
    a.tokens = s;
    CHECK_THAT(ratio(a), WithinRel(1.0 + s / 128.0, 1e-14));
  }
  // (2 Hq + 2 Hkv) S d b + 4 Hq S^2 b over the first term: 114.8 for 64 and 8 heads.
  CHECK_THAT(ratio(grouped(multi_head)), WithinRel(114.778, 1e-5));
  CHECK_THAT(demand_of(grouped(multi_head)).dram.total().value(), WithinRel(302e6, 1e-3));
  CHECK(demand_of(grouped(multi_head)).matrix_flop == demand_of(multi_head).matrix_flop);
}

TEST_CASE("attention_prefill: causal is half the square and the diagonal", "[operators]") {
  pm::attention_prefill causal = multi_head;
  causal.causal = true;
  const double half = 0.5 * demand_of(multi_head).matrix_flop.value();
  CHECK_THAT(demand_of(causal).matrix_flop.value(), WithinRel(half, 1.3e-4));
  CHECK(demand_of(causal).matrix_flop.value() - half == 64 * 2.0 * 8192 * 128);
  CHECK(demand_of(causal).dram.total() == demand_of(multi_head).dram.total());
  causal.fused = false;  // unfused kernels compute the square and mask it
  CHECK(demand_of(causal).matrix_flop == demand_of(multi_head).matrix_flop);
}

TEST_CASE("causal_pairs: by hand", "[operators]") {
  CHECK(pm::causal_pairs(1.0) == 1);
  CHECK(pm::causal_pairs(4.0) == 1 + 2 + 3 + 4);
  CHECK(pm::causal_pairs(2.0, 10.0) == 11 + 12);
  CHECK(pm::causal_pairs(5.0, 0.0, 3.0) == 1 + 2 + 3 + 3 + 3);
  CHECK(pm::causal_pairs(3.0, 1.0, 3.0) == 2 + 3 + 3);
  CHECK(pm::causal_pairs(3.0, 7.0, 3.0) == 3 + 3 + 3);
  CHECK(pm::causal_pairs(3.0, 0.0, 100.0) == 1 + 2 + 3);
  CHECK_THROWS_AS(pm::causal_pairs(0.0), pm::error);
  CHECK_THROWS_AS(pm::causal_pairs(1.0, -1.0), pm::error);
  CHECK_THROWS_AS(pm::causal_pairs(1.0, 0.0, 0.5), pm::error);
}

TEST_CASE("attention_prefill: a chunk reads what went before once, a window only its part",
          "[operators]") {
  pm::attention_prefill a{
      .batch = 2, .tokens = 512, .query_heads = 8, .kv_heads = 2, .head_dim = 64, .past = 1536};
  CHECK(demand_of(a).matrix_flop.value() == 2.0 * 2 * 8 * (512 * 1536 + 512 * 513 / 2) * 128);
  CHECK(demand_of(a).dram.read.value() == 2 * (512 * 8 * 64 + 2048 * 2 * 128) * 2);
  CHECK(demand_of(a).dram.written.value() == 2 * 512 * 8 * 64 * 2);
  a.window = 256;  // the first of the 512 sees itself and 255 before it
  CHECK(demand_of(a).matrix_flop.value() == 2.0 * 2 * 8 * (512 * 256) * 128);
  CHECK(demand_of(a).dram.read.value() == 2 * (512 * 8 * 64 + (512 + 255) * 2 * 128) * 2);
}

TEST_CASE("attention_prefill: formats, value width and softmax arithmetic", "[operators]") {
  pm::attention_prefill a{.batch = 1,
                          .tokens = 16,
                          .query_heads = 4,
                          .kv_heads = 4,
                          .head_dim = 192,
                          .value_dim = 128,
                          .format = pm::bf16,
                          .kv_format = pm::fp8,
                          .causal = false};
  const pm::demand d = demand_of(a);
  CHECK(d.format == pm::bf16);
  CHECK(d.matrix_flop.value() == 2 * 4 * 16 * 16 * (192 + 128));
  CHECK(d.dram.read.value() == 4 * 16 * 192 * 2 + 4 * 16 * (192 + 128));
  CHECK(d.dram.written.value() == 4 * 16 * 128 * 2);
  CHECK(d.vector_flop.value() == 0);
  a.softmax_flop = 5;
  CHECK(demand_of(a).vector_flop.value() == 5 * 4 * 16 * 16);
  a.format = pm::fp8;
  CHECK(demand_of(a).format == pm::fp8);
}

TEST_CASE("attention: heads that cannot be grouped", "[operators]") {
  pm::attention_prefill a = multi_head;
  a.kv_heads = 24;
  CHECK(code_of([&] { return demand_of(a); }) == pm::error_code::inconsistent);
  try {
    (void)demand_of(a);
  } catch (const pm::error& e) {
    CHECK(std::string(e.what()) ==
          "kv_heads is 24 and query_heads is 64; kv_heads must divide query_heads");
  }
  a.kv_heads = 128;
  CHECK(code_of([&] { return demand_of(a); }) == pm::error_code::inconsistent);
  const pm::attention_decode d{
      .batch = 1, .context = 10, .query_heads = 10, .kv_heads = 4, .head_dim = 64};
  CHECK(code_of([&] { return demand_of(d); }) == pm::error_code::inconsistent);
}

TEST_CASE("attention_prefill: past and window belong to causal attention", "[operators]") {
  pm::attention_prefill a = multi_head;
  a.past = 10;
  CHECK(code_of([&] { return demand_of(a); }) == pm::error_code::inconsistent);
  a.past = 0;
  a.window = 10;
  CHECK(code_of([&] { return demand_of(a); }) == pm::error_code::inconsistent);
  a.causal = true;
  CHECK_NOTHROW(demand_of(a));
  a.past = -1;
  CHECK(code_of([&] { return demand_of(a); }) == pm::error_code::out_of_range);
}

TEST_CASE("flash attention: keys and values read again for every block of rows", "[operators]") {
  const double reread = pm::flash_attention_reread_bytes(8192.0, 128.0, 128.0).value();
  CHECK_THAT(reread, WithinRel(272.6e6, 1e-3));
  CHECK(reread == 2.0 * 8192 * 128 * (2 + 2 * 64));
  CHECK(pm::flash_attention_reread_bytes(8193.0, 128.0, 128.0).value() ==
        2.0 * 8193 * 128 * (2 + 2 * 65));
  // One block of rows is the compulsory traffic of one head.
  CHECK(pm::flash_attention_reread_bytes(8192.0, 128.0, 8192.0) ==
        demand_of(multi_head).dram.total() / 64.0);
}

TEST_CASE("flash attention: accesses between S d and S^2 d", "[operators]") {
  const double s = 8192, d = 128;
  CHECK(pm::flash_attention_accesses(s, d, s * d) == s * d);
  CHECK(pm::flash_attention_accesses(s, d, d) == s * s * d);
  CHECK(pm::flash_attention_accesses(s, d, 2e4) == 2 * pm::flash_attention_accesses(s, d, 4e4));
  CHECK(pm::unfused_attention_accesses(s, d) == 65 * s * d);
  CHECK_THROWS_AS(pm::flash_attention_accesses(s, d, d - 1), pm::error);
  CHECK_THROWS_AS(pm::flash_attention_accesses(s, d, s * d + 1), pm::error);
}

TEST_CASE("attention_decode: bytes and FLOP of a 70B layer by hand", "[operators]") {
  pm::attention_decode a{
      .batch = 4, .context = 4096, .query_heads = 64, .kv_heads = 8, .head_dim = 128};
  const pm::demand d = demand_of(a);
  CHECK(d.matrix_flop.value() == 4.0 * 4 * 4096 * 64 * 128);
  CHECK(d.dram.read.value() == 4.0 * (4096 * 4096 + 64 * 128 * 2));
  CHECK(d.dram.written.value() == 4.0 * (64 * 128 * 2 + 4096));
  CHECK(d.launches == 1);
  CHECK(d.l2.total() == d.dram.total());
  // All 80 layers: 327,680 bytes of cache for each token.
  CHECK(80 * 4096 == 327680);

  a.kv_format = pm::fp8;
  CHECK(demand_of(a).dram.read.value() == 4.0 * (4096 * 2048 + 64 * 128 * 2));
  CHECK(demand_of(a).format == pm::bf16);
  a.kv_format = {pm::fp8, 128, 32};  // an fp32 scale for every 128: 3.125 % more
  CHECK(demand_of(a).dram.read.value() == 4.0 * (4096 * 2048 * 1.03125 + 64 * 128 * 2));
}

TEST_CASE("what attention has not is left out: 0 is no window, no page and no width",
          "[operators]") {
  pm::attention_decode a{
      .batch = 4, .context = 4096, .query_heads = 64, .kv_heads = 8, .head_dim = 128};
  const auto said = [&](std::optional<double> pm::attention_decode::*field) {
    pm::attention_decode zero = a;
    zero.*field = 0;
    return refusal([&] { demand_of(zero); });
  };
  CHECK(said(&pm::attention_decode::block_size) ==
        "PM-E010: attention_decode.block_size is 0; allowed: 1 or more");
  CHECK(said(&pm::attention_decode::window) ==
        "PM-E010: attention_decode.window is 0; allowed: 1 or more");
  CHECK(said(&pm::attention_decode::value_dim) ==
        "PM-E010: attention_decode.value_dim is 0; allowed: 1 or more");
  a.kv_format.group = 0;
  CHECK(refusal([&] { demand_of(a); }) ==
        "PM-E010: attention_decode.kv_format.group is 0; allowed: 1 or more");
}

TEST_CASE("attention_decode: pages, window and splits", "[operators]") {
  pm::attention_decode a{
      .batch = 4, .context = 4096, .query_heads = 64, .kv_heads = 8, .head_dim = 128};
  const pm::demand plain = demand_of(a);
  a.block_size = 16;
  CHECK(demand_of(a).dram.read - plain.dram.read == 4.0 * 256.0 * 4.0 * pm::byte);
  a.context = 4097;
  CHECK(pm::page_table_bytes(4097.0, 16.0).value() == 257 * 4);

  a = {.batch = 4,
       .context = 4096,
       .query_heads = 64,
       .kv_heads = 8,
       .head_dim = 128,
       .window = 1024};
  CHECK(demand_of(a).matrix_flop == 0.25 * plain.matrix_flop);
  CHECK(pm::attended_tokens(4096.0, 1024.0) == 1024);
  CHECK(pm::attended_tokens(512.0, 1024.0) == 512);
  CHECK(attended_tokens(pm::attention_decode{.context = 512}) == 512);

  a = {.batch = 1, .context = 4096, .query_heads = 64, .kv_heads = 8, .head_dim = 128, .splits = 8};
  const pm::demand split = demand_of(a);
  CHECK(pm::split_bytes(64.0, 128.0, 8.0).value() == 8 * 64 * 130 * 4);
  CHECK(pm::split_bytes(64.0, 128.0, 1.0).value() == 0);
  CHECK(split.l2.read - split.dram.read == 266240.0 * pm::byte);
  CHECK(split.l2.written - split.dram.written == 266240.0 * pm::byte);
  CHECK(split.dram.total() == plain.dram.total() / 4.0);
  CHECK(split.launches == 2);
  a.splits = 0;
  CHECK_THROWS_AS(demand_of(a), pm::error);
}

TEST_CASE("mla_decode: one cache line for all heads", "[operators]") {
  pm::mla_decode a{.batch = 1, .context = 65536, .heads = 128, .latent = 512, .rope = 64};
  const pm::demand d = demand_of(a);
  CHECK(d.matrix_flop.value() == 2.0 * 65536 * 128 * (576 + 512));
  CHECK(d.dram.read.value() == 65536.0 * 1152 + 128 * 576 * 2);
  CHECK(d.dram.written.value() == 128 * 512 * 2 + 1152);
  // 128 heads x 2 x 1088 FLOP over 1152 bytes.
  CHECK_THAT(d.intensity().value(), WithinRel(241.78, 5e-3));
  a.heads = 16;  // an eighth of the heads reads the same cache
  CHECK_THAT(demand_of(a).dram.read.value(), WithinRel(d.dram.read.value(), 2e-3));
  CHECK(demand_of(a).matrix_flop == d.matrix_flop / 8.0);
  a.block_size = 64;
  CHECK(demand_of(a).dram.read.value() == 65536.0 * 1152 + 16 * 576 * 2 + 1024 * 4);
  a.splits = 4;
  CHECK((demand_of(a).l2.read - demand_of(a).dram.read).value() == 4 * 16 * 514 * 4);
  a.latent = 0;
  CHECK_THROWS_AS(demand_of(a), pm::error);
}

TEST_CASE("mla_decode: a layer of DeepSeek-V3 against the same heads without compression",
          "[operators]") {
  // 128 KV heads with keys of 192 and values of 128: 40,960 values a token against 576.
  const pm::attention_decode plain{.batch = 1,
                                   .context = 1e6,
                                   .query_heads = 128,
                                   .kv_heads = 128,
                                   .head_dim = 192,
                                   .value_dim = 128};
  const pm::mla_decode latent{.batch = 1, .context = 1e6, .heads = 128, .latent = 512, .rope = 64};
  CHECK_THAT(demand_of(plain).dram.total() / demand_of(latent).dram.total(),
             WithinRel(40960.0 / 576.0, 1e-3));
}

}  // namespace unit_operators_attention
