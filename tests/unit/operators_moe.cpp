#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/moe.hpp>

namespace unit_operators_moe {

namespace pm = perfmodel;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {
pm::error_code code_of(const pm::moe_ffn& x) {
  try {
    (void)demand_of(x);
  } catch (const pm::error& e) {
    return e.code();
  }
  FAIL("nothing was thrown");
  return pm::error_code{};
}
}  // namespace

TEST_CASE("swiglu: three matrices, or two", "[operators]") {
  pm::swiglu x{.tokens = 32, .hidden = 4096, .intermediate = 14336};
  const pm::demand d = demand_of(x);
  CHECK(d.matrix_flop.value() == 32.0 * 6 * 4096 * 14336);
  CHECK(d.dram.read.value() == 2.0 * (3.0 * 4096 * 14336 + 32 * 4096));
  CHECK(d.dram.written.value() == 2.0 * 32 * 4096);
  CHECK(d.launches == 1);
  x.gated = false;
  CHECK(demand_of(x).matrix_flop.value() == 32.0 * 4 * 4096 * 14336);
  CHECK(demand_of(x).dram.read.value() == 2.0 * (2.0 * 4096 * 14336 + 32 * 4096));
  x.activation_flop = 1;  // ReLU
  CHECK(demand_of(x).vector_flop.value() == 32.0 * 14336);
  x.weights = {pm::int4, 64, 16};
  CHECK(demand_of(x).dram.read.value() == 0.53125 * 2.0 * 4096 * 14336 + 2.0 * 32 * 4096);
  x.hidden = 0;
  CHECK_THROWS_AS(demand_of(x), pm::error);
}

TEST_CASE("swiglu: unfused is its GEMMs and its activation", "[operators]") {
  const double t = 48, h = 512, w = 1536;
  const pm::demand gate_up = demand_of(pm::gemm{.m = t, .n = 2 * w, .k = h});
  const pm::demand down = demand_of(pm::gemm{.m = t, .n = h, .k = w});
  const pm::demand act =
      demand_of(pm::elementwise{.elements = t * w, .inputs = 2, .flop_per_element = 5});
  const pm::demand whole = demand_of(pm::swiglu{
      .tokens = t, .hidden = h, .intermediate = w, .fused = false, .activation_flop = 5});
  CHECK(whole.dram.read == gate_up.dram.read + act.dram.read + down.dram.read);
  CHECK(whole.dram.written == gate_up.dram.written + act.dram.written + down.dram.written);
  CHECK(whole.flop() == gate_up.flop() + act.flop() + down.flop());
  CHECK(whole.launches == 3);

  const pm::demand up = demand_of(pm::gemm{.m = t, .n = w, .k = h});
  const pm::demand relu = demand_of(pm::elementwise{.elements = t * w});
  const pm::demand plain = demand_of(
      pm::swiglu{.tokens = t, .hidden = h, .intermediate = w, .gated = false, .fused = false});
  CHECK(plain.dram.total() == up.dram.total() + relu.dram.total() + down.dram.total());
}

TEST_CASE("expected_experts: published values and limits", "[operators]") {
  CHECK_THAT(pm::expected_experts(256.0, 8.0, 1.0), WithinAbs(8.0, 1e-11));
  CHECK_THAT(pm::expected_experts(256.0, 8.0, 32.0), WithinAbs(163.31, 0.005));
  CHECK_THAT(pm::expected_experts(256.0, 8.0, 256.0), WithinAbs(255.92, 0.005));
  CHECK(pm::expected_experts(8.0, 2.0, 0.0) == 0);
  CHECK_THAT(pm::expected_experts(8.0, 2.0, 2.0), WithinRel(8 * (1 - 0.75 * 0.75), 1e-13));
  CHECK(pm::expected_experts(8.0, 8.0, 5.0) == 8);
  CHECK_THAT(pm::expected_experts(8.0, 2.0, 1e9), WithinRel(8.0, 1e-13));
  CHECK_THROWS_AS(pm::expected_experts(8.0, 9.0, 1.0), pm::error);
  CHECK_THROWS_AS(pm::expected_experts(8.0, 0.0, 1.0), pm::error);
  CHECK_THROWS_AS(pm::expected_experts(8.0, 2.0, -1.0), pm::error);
}

TEST_CASE("moe_ffn: one expert is a dense block", "[operators]") {
  const pm::demand moe = demand_of(pm::moe_ffn{
      .tokens = 7, .hidden = 512, .intermediate = 1024, .experts = 1, .top_k = 1, .fused = false});
  const pm::demand dense =
      demand_of(pm::swiglu{.tokens = 7, .hidden = 512, .intermediate = 1024, .fused = false});
  CHECK(moe.matrix_flop == dense.matrix_flop);
  CHECK(moe.dram.read == dense.dram.read);
  CHECK(moe.dram.written == dense.dram.written);
  CHECK(moe.launches == dense.launches);
}

TEST_CASE("moe_ffn: Mixtral from one token to many", "[operators]") {
  pm::moe_ffn x{.tokens = 1, .hidden = 4096, .intermediate = 14336, .experts = 8, .top_k = 2};
  const double expert = 3.0 * 4096 * 14336;  // parameters
  CHECK_THAT(demand_of(x).dram.read.value(), WithinRel(2 * expert * 2 + 4096 * 2, 1e-13));
  CHECK(demand_of(x).matrix_flop.value() == 2 * 2 * expert);
  x.tokens = 4096;
  CHECK_THAT(demand_of(x).dram.read.value(), WithinRel(8 * expert * 2 + 4096.0 * 4096 * 2, 1e-13));
  CHECK(demand_of(x).matrix_flop.value() == 4096 * 2 * 2 * expert);
  CHECK(demand_of(x).dram.written.value() == 4096.0 * 4096 * 2);
}

TEST_CASE("moe_ffn: what one rank of a group holds", "[operators]") {
  pm::moe_ffn x{.tokens = 32,
                .hidden = 7168,
                .intermediate = 2048,
                .experts = 256,
                .top_k = 8,
                .format = pm::fp8};
  const pm::demand whole = demand_of(x);
  x.expert_parallel = 8;
  CHECK_THAT(experts_touched(x), WithinAbs(163.3138 / 8, 1e-4));
  CHECK(demand_of(x).matrix_flop == whole.matrix_flop / 8.0);
  // 1 - (7/8)^8 = 65.64 % of the tokens reach a rank.
  CHECK_THAT(demand_of(x).dram.written.value(), WithinRel(32 * 7168 * 0.656391, 1e-5));
  x.expert_parallel = 1;
  x.tensor_parallel = 4;
  CHECK_THAT(experts_touched(x), WithinAbs(163.3138, 1e-4));
  CHECK(demand_of(x).matrix_flop == whole.matrix_flop / 4.0);
  CHECK(demand_of(x).dram.written == whole.dram.written);  // partial sums of every token
  const double expert = 3.0 * 7168 * 2048;
  CHECK_THAT(demand_of(x).dram.read.value(), WithinRel(163.3138 * expert / 4 + 32 * 7168, 1e-5));
}

TEST_CASE("moe_ffn: shared experts serve every token", "[operators]") {
  pm::moe_ffn x{.tokens = 64, .hidden = 1024, .intermediate = 512, .experts = 16, .top_k = 4};
  const pm::demand routed = demand_of(x);
  x.shared_experts = 2;
  const double expert = 3.0 * 1024 * 512;
  CHECK((demand_of(x).matrix_flop - routed.matrix_flop).value() == 64 * 2 * 2 * expert);
  CHECK_THAT((demand_of(x).dram.read - routed.dram.read).value(), WithinRel(2 * 2 * expert, 1e-12));
  x.expert_parallel = 4;  // each rank has both and a quarter of the tokens
  CHECK(demand_of(x).matrix_flop.value() == 2 * expert * 64 * (4 + 2) / 4);
}

TEST_CASE("moe_ffn: layouts that cannot be", "[operators]") {
  const pm::moe_ffn good{
      .tokens = 64, .hidden = 1024, .intermediate = 512, .experts = 16, .top_k = 4};
  CHECK_NOTHROW(demand_of(good));
  pm::moe_ffn x = good;
  x.tensor_parallel = 3;
  CHECK(code_of(x) == pm::error_code::impossible_layout);
  x = good;
  x.expert_parallel = 5;
  CHECK(code_of(x) == pm::error_code::impossible_layout);
  x.expert_parallel = 32;
  CHECK(code_of(x) == pm::error_code::impossible_layout);
  x = good;
  x.top_k = 17;
  CHECK(code_of(x) == pm::error_code::inconsistent);
  x = good;
  x.tokens = 0;
  CHECK(code_of(x) == pm::error_code::out_of_range);
  x = good;
  x.expert_parallel = 0.5;
  CHECK(code_of(x) == pm::error_code::out_of_range);
}

TEST_CASE("moe_router is its gemm", "[operators]") {
  const pm::demand r =
      demand_of(pm::moe_router{.tokens = 5, .hidden = 7168, .experts = 256, .weights = pm::fp32});
  const pm::demand g = demand_of(pm::gemm{.m = 5, .n = 256, .k = 7168, .weights = pm::fp32});
  CHECK(r.flop() == g.flop());
  CHECK(r.dram.total() == g.dram.total());
  CHECK(r.format == pm::fp32);
}

}  // namespace unit_operators_moe
