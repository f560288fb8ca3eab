#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/operators/quantized.hpp>

namespace unit_operators_quantized {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

TEST_CASE("storage_format: bits with scales and zero points", "[operators]") {
  CHECK(pm::storage_format(pm::int4, 32, 16).bits() == 4.5);
  CHECK(pm::storage_format(pm::int4, 16, 16).bits() == 5.0);
  CHECK(pm::storage_format(pm::int8, 128, 32).bits() == 8.25);
  CHECK(pm::storage_format(pm::fp4, 32, 8).bits() == 4.25);  // MXFP4
  CHECK_THAT(16.0 / pm::storage_format(pm::int4, 64, 16).bits(), WithinRel(3.76471, 1e-5));
}

TEST_CASE("conversion: 64 values of bf16 become 34 bytes", "[operators]") {
  const pm::conversion c{.elements = 64, .from = pm::bf16, .to = {pm::int4, 64, 16}};
  CHECK(demand_of(c).dram.read.value() == 128);
  CHECK(demand_of(c).dram.written.value() == 34);
  CHECK(demand_of(c).vector_flop.value() == 128);
  CHECK_THROWS_AS(demand_of(pm::conversion{.elements = 0}), pm::error);
}

TEST_CASE("with_dequantisation: arithmetic, not bytes", "[operators]") {
  const pm::gemm g{.m = 16, .n = 256, .k = 128, .weights = {pm::int4, 64, 16}};
  const pm::demand plain = demand_of(g);
  const pm::demand d = with_dequantisation(plain, g.n * g.k);
  CHECK(d.vector_flop.value() == 2 * 256 * 128);
  CHECK(d.dram.total() == plain.dram.total());
  CHECK(with_dequantisation(plain, g.n * g.k, 3.0).vector_flop.value() == 3 * 2 * 256 * 128);
  CHECK_THROWS_AS(with_dequantisation(plain, 0.0), pm::error);
}

TEST_CASE("split_outliers: the ends and the middle", "[operators]") {
  const pm::gemm g{.m = 16, .n = 256, .k = 1000};
  const pm::demand narrow =
      demand_of(pm::gemm{.m = 16, .n = 256, .k = 1000, .format = pm::int8, .output = pm::bf16});
  const pm::demand wide = demand_of(pm::gemm{.m = 16, .n = 256, .k = 1000, .format = pm::fp16});
  const pm::outlier_split none = split_outliers(g, 0.0);
  CHECK(none.regular.dram.total() == narrow.dram.total());
  CHECK(none.regular.format == pm::int8);
  CHECK(none.outliers.flop().value() == 0);
  CHECK(none.outliers.dram.total().value() == 0);
  const pm::outlier_split all = split_outliers(g, 1.0);
  CHECK(all.outliers.dram.read == wide.dram.read);
  CHECK(all.regular.dram.read.value() == 0);
  CHECK(all.outliers.format == pm::fp16);
  const pm::outlier_split some = split_outliers(g, 0.25);
  CHECK(some.regular.flop() + some.outliers.flop() == wide.flop());
  CHECK(some.regular.dram.read == 0.75 * narrow.dram.read);
  CHECK(some.outliers.dram.read == 0.25 * wide.dram.read);
  CHECK((some.regular.dram.written + some.outliers.dram.written).value() == 16 * 256 * 2);
  CHECK_THROWS_AS(split_outliers(g, 1.5), pm::error);
  CHECK_THROWS_AS(split_outliers(g, -0.1), pm::error);
}

TEST_CASE("sparse_2_4: half the FLOP, nine bits for sixteen", "[operators]") {
  const pm::gemm g{.m = 16, .n = 256, .k = 1024};
  const pm::demand d = sparse_2_4(g);
  CHECK(d.matrix_flop.value() == 16 * 256 * 1024);
  CHECK(d.dram.read.value() == 2 * 16 * 1024 + 0.5625 * 2 * 256 * 1024);
  CHECK(d.dram.written == demand_of(g).dram.written);
  const pm::gemm scaled{.m = 16, .n = 256, .k = 1024, .weights = {pm::int8, 128, 32}};
  CHECK(sparse_2_4(scaled).dram.read.value() == 2 * 16 * 1024 + (0.625 + 0.03125) * 256 * 1024);
}

}  // namespace unit_operators_quantized
