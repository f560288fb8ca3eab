#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/operators/gemm.hpp>

namespace unit_operators_gemm {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

TEST_CASE("gemm: published intensities of an FFN gate product", "[operators]") {
  // k = 2048, n = 11008, bf16: a lab sheet's own column, printed to one decimal.
  struct row {
    double m, intensity;
  };
  constexpr std::array<row, 12> published{{{1, 1.0},
                                           {2, 2.0},
                                           {4, 4.0},
                                           {8, 8.0},
                                           {16, 15.9},
                                           {32, 31.4},
                                           {64, 61.7},
                                           {128, 119.2},
                                           {256, 222.9},
                                           {512, 394.9},
                                           {1024, 642.8},
                                           {2048, 936.9}}};
  for (const row& r : published) {
    const double i = demand_of(pm::gemm{.m = r.m, .n = 11008, .k = 2048}).intensity().value();
    INFO("m = " << r.m << ": " << i);
    CHECK(std::abs(i - r.intensity) <= 0.051);
  }
}

TEST_CASE("gemm: each operand has its own format", "[operators]") {
  const pm::demand d = demand_of(pm::gemm{.m = 10,
                                          .n = 64,
                                          .k = 128,
                                          .format = pm::bf16,
                                          .weights = {pm::int4, 64, 16},
                                          .output = pm::fp32});
  CHECK(d.format == pm::bf16);  // weight-only quantisation multiplies in the wider format
  CHECK(d.dram.read.value() == 10 * 128 * 2 + 128 * 64 * 0.53125);
  CHECK(d.dram.written.value() == 10 * 64 * 4);
  CHECK(d.matrix_flop.value() == 2 * 10 * 64 * 128);
  CHECK(d.vector_flop.value() == 0);
  CHECK(d.launches == 1);
}

TEST_CASE("gemm: a matrix-vector product in bf16 is 1 FLOP/byte, batching multiplies it",
          "[operators]") {
  CHECK_THAT(demand_of(pm::gemm{.m = 1, .n = 65536, .k = 65536}).intensity().value(),
             WithinRel(1.0, 1e-4));
  CHECK_THAT(demand_of(pm::gemm{.m = 8, .n = 65536, .k = 65536}).intensity().value(),
             WithinRel(8.0, 1e-3));
  CHECK_THAT(
      demand_of(pm::gemm{.m = 1, .n = 65536, .k = 65536, .format = pm::fp8}).intensity().value(),
      WithinRel(2.0, 1e-4));
}

TEST_CASE("gemm: dimensions below 1 are named", "[operators]") {
  try {
    (void)demand_of(pm::gemm{.m = 1, .n = 0, .k = 8});
    FAIL("accepted n = 0");
  } catch (const pm::error& e) {
    CHECK(e.code() == pm::error_code::out_of_range);
    CHECK(std::string(e.what()) == "gemm.n is 0; allowed: 1 or more");
  }
  CHECK_THROWS_AS(demand_of(pm::gemm{.m = std::nan(""), .n = 1, .k = 1}), pm::error);
  CHECK_THROWS_AS(demand_of(pm::gemm{.m = 1, .n = 1, .k = HUGE_VAL}), pm::error);
}

TEST_CASE("lm_head is its gemm; the 70B head reads 2.10 GB", "[operators]") {
  const pm::demand head = demand_of(pm::lm_head{.tokens = 4, .hidden = 8192, .vocabulary = 128256});
  const pm::demand product = demand_of(pm::gemm{.m = 4, .n = 128256, .k = 8192});
  CHECK(head.matrix_flop == product.matrix_flop);
  CHECK(head.dram.total() == product.dram.total());
  CHECK(head.name == pm::label("lm_head"));
  CHECK_THAT(head.dram.read.value(), WithinRel(2.1013e9 + 4 * 8192 * 2, 1e-4));
}

TEST_CASE("embedding: bytes follow the tokens, not the table", "[operators]") {
  const auto of = [](double tokens, double vocabulary) {
    return demand_of(pm::embedding{.tokens = tokens, .vocabulary = vocabulary, .hidden = 4096});
  };
  CHECK(of(5, 32000).dram.read.value() == 5 * 4096 * 2);
  CHECK(of(5, 32000).dram.written.value() == 5 * 4096 * 2);
  CHECK(of(5, 256000).dram.total() == of(5, 32000).dram.total());
  CHECK(of(5, 32000).flop().value() == 0);
  CHECK_THROWS_AS(of(0, 32000), pm::error);
  CHECK_THROWS_AS(of(5, 0), pm::error);
}

TEST_CASE("a storage format that cannot be is refused, by every operator that holds one") {
  const auto refused = [](double group, double scale, double zero) {
    pm::gemm g{.m = 1, .n = 4096, .k = 4096};
    g.weights = pm::storage_format(pm::int4, group, scale, zero);
    try {
      (void)demand_of(g);
    } catch (const pm::error& e) {
      return std::string(e.what());
    }
    return std::string("nothing refused");
  };
  constexpr double inf = pm::detail::infinity, nan = pm::detail::not_a_number;
  CHECK(refused(64, 16, 4) == "nothing refused");
  CHECK(refused(0, 0, 0) == "gemm.weights.group is 0; allowed: 1 or more");
  CHECK(refused(1, inf, 0) == "gemm.weights.scale_bits is inf; allowed: 0 to 64");
  CHECK(refused(64, -1000, 0) == "gemm.weights.scale_bits is -1000; allowed: 0 to 64");
  CHECK(refused(64, nan, 0) == "gemm.weights.scale_bits is not a number; allowed: 0 to 64");
  CHECK(refused(64, 16, -1) == "gemm.weights.zero_bits is -1; allowed: 0 to 64");
  for (const double group : {5e-324, nan, -1.0, 0.5}) {
    CHECK(refused(group, 16, 0).starts_with("gemm.weights.group is "));
  }
}

TEST_CASE("demand: of n operators one after the other, everything n times") {
  pm::demand d;
  d.matrix_flop = 3.0 * pm::flop;
  d.vector_flop = 5.0 * pm::flop;
  d.dram = {7.0 * pm::byte, 11.0 * pm::byte};
  d.l2 = {13.0 * pm::byte, 17.0 * pm::byte};
  d.shared = {19.0 * pm::byte, 23.0 * pm::byte};
  d.sent = 29.0 * pm::byte;
  d.launches = 2.0;
  const auto all = 10.0 * d;
  CHECK(d.flop().value() == 8);
  CHECK(all.matrix_flop.value() == 30);
  CHECK(all.vector_flop.value() == 50);
  CHECK(all.dram.read.value() == 70);
  CHECK(all.dram.written.value() == 110);
  CHECK(all.l2.total().value() == 300);
  CHECK(all.shared.read.value() == 190);
  CHECK(all.shared.written.value() == 230);
  CHECK(all.sent.value() == 290);
  CHECK(all.launches == 20);
}

}  // namespace unit_operators_gemm
