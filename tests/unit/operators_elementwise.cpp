#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/operators/elementwise.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/operators/norm.hpp>

namespace unit_operators_elementwise {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

TEST_CASE("elementwise: n tensors in, m out, f FLOP an element", "[operators]") {
  const pm::demand d = demand_of(pm::elementwise{
      .elements = 1000, .inputs = 2, .outputs = 3, .flop_per_element = 7, .format = pm::fp32});
  CHECK(d.vector_flop.value() == 7000);
  CHECK(d.matrix_flop.value() == 0);
  CHECK(d.dram.read.value() == 8000);
  CHECK(d.dram.written.value() == 12000);
  CHECK(d.l2.total() == d.dram.total());
}

TEST_CASE("elementwise: bias, GELU and dropout in one kernel save 4 tensors", "[operators]") {
  // Three kernels read and write the tensor each: 6 tensors. One kernel: 2. At 2,048 x 4,096
  // elements in 16 bit, 16.777 MB each, that saves 67.1 MB.
  const pm::elementwise one{.elements = 2048 * 4096};
  const pm::bytes<> saved = 3.0 * demand_of(one).dram.total() - demand_of(one).dram.total();
  CHECK(saved.value() == 67108864);
}

TEST_CASE("elementwise: inputs that make no operator", "[operators]") {
  CHECK_THROWS_AS(demand_of(pm::elementwise{.elements = 0}), pm::error);
  CHECK_THROWS_AS(demand_of(pm::elementwise{.elements = 1, .inputs = -1}), pm::error);
  CHECK_THROWS_AS(demand_of(pm::elementwise{.elements = 1, .inputs = 0, .outputs = 0}), pm::error);
  CHECK_THROWS_AS(demand_of(pm::elementwise{.elements = 1, .flop_per_element = -1}), pm::error);
  CHECK(demand_of(pm::elementwise{.elements = 8, .inputs = 0}).dram.read.value() == 0);  // a fill
}

TEST_CASE("norm: FLOP and bytes of one row by hand", "[operators]") {
  // Three values in fp32. RMSNorm: 3 squares, 3 additions, 3 times the root, 3 times gamma = 12.
  const pm::demand rms = demand_of(pm::norm{.rows = 1, .width = 3, .format = pm::fp32});
  CHECK(rms.vector_flop.value() == 12);
  CHECK(rms.dram.read.value() == 12 + 12);  // the row and gamma
  CHECK(rms.dram.written.value() == 12);
  // LayerNorm: 3 additions; 3 differences, squares, additions; 3 differences, scalings, times
  // gamma, plus beta = 24.
  const pm::demand layer =
      demand_of(pm::norm{.rows = 1, .width = 3, .kind = pm::norm_kind::layer, .format = pm::fp32});
  CHECK(layer.vector_flop.value() == 24);
  CHECK(layer.dram.read.value() == 12 + 24);  // the row, gamma and beta
}

TEST_CASE("norm: intensities, passes over memory and the residual", "[operators]") {
  const pm::norm rms{.rows = 1e6, .width = 8192};
  pm::norm layer = rms;
  layer.kind = pm::norm_kind::layer;
  CHECK_THAT(demand_of(layer).intensity().value(), WithinRel(2.0, 1e-5));
  CHECK_THAT(demand_of(rms).intensity().value(), WithinRel(1.0, 1e-5));
  const double elements = 1e6 * 8192;
  CHECK(demand_of(rms).dram.total().value() == 2 * 2 * elements + 2 * 8192);

  pm::norm twice = rms;
  twice.passes = 2;
  CHECK(demand_of(twice).dram.read - demand_of(rms).dram.read == 2.0 * elements * pm::byte);
  CHECK(demand_of(twice).dram.written == demand_of(rms).dram.written);

  pm::norm residual = rms;
  residual.residual = true;
  CHECK(demand_of(residual).dram.read - demand_of(rms).dram.read == 2.0 * elements * pm::byte);
  CHECK(demand_of(residual).dram.written == 2.0 * demand_of(rms).dram.written);
  CHECK(demand_of(residual).vector_flop.value() == 5 * elements);

  twice.passes = 0.5;
  CHECK_THROWS_AS(demand_of(twice), pm::error);
  CHECK(std::string(name_of(pm::norm_kind::rms)) == "rms");
  CHECK(std::string(name_of(pm::norm_kind::layer)) == "layer");
}

TEST_CASE("softmax: a row read three times costs twice a row read once", "[operators]") {
  pm::softmax s{.rows = 64, .width = 4096};
  const pm::demand once = demand_of(s);
  CHECK(once.vector_flop.value() == 5 * 64 * 4096);
  CHECK(once.dram.read.value() == 2 * 64 * 4096);
  s.passes = 3;
  CHECK(demand_of(s).dram.total() == 2.0 * once.dram.total());
}

TEST_CASE("sampling: a row of logits in, a token out", "[operators]") {
  pm::sampling s{.rows = 1, .vocabulary = 128256};
  CHECK(demand_of(s).dram.total().value() == 513028);  // 128256 x 4 + 4
  CHECK(demand_of(s).vector_flop.value() == 128256);
  s.kind = pm::sampling_kind::multinomial;
  CHECK(demand_of(s).vector_flop.value() == 7 * 128256);
  CHECK(std::string(name_of(s.kind)) == "multinomial");
  CHECK(std::string(name_of(pm::sampling_kind::greedy)) == "greedy");
}

TEST_CASE("rope: three FLOP an element, in place", "[operators]") {
  pm::rope r{.tokens = 10, .heads = 72, .head_dim = 128};
  const pm::demand whole = demand_of(r);
  CHECK(whole.vector_flop.value() == 3 * 10 * 72 * 128);
  CHECK(whole.dram.read == whole.dram.written);
  CHECK(whole.dram.read.value() == 2 * 10 * 72 * 128);
  r.rotary_dim = 32;  // a quarter of each head
  CHECK(demand_of(r).flop() == 0.25 * whole.flop());
  r.rotary_dim = 129;
  CHECK_THROWS_AS(demand_of(r), pm::error);
}

TEST_CASE("kv_write: tokens go to the cache in its own format", "[operators]") {
  pm::kv_write w{.tokens = 1024, .kv_heads = 8, .head_dim = 128};
  CHECK(demand_of(w).dram.written == 4.0 * pm::MiB);
  w.kv_format = pm::fp8;
  CHECK(demand_of(w).dram.written == 2.0 * pm::MiB);
  CHECK(demand_of(w).dram.read == 4.0 * pm::MiB);
  w.value_dim = 64;
  CHECK(demand_of(w).dram.written == 1.5 * pm::MiB);
  CHECK(demand_of(w).flop().value() == 0);
}

TEST_CASE("an embedding is in the format of its table") {
  for (const pm::number_format f : {pm::fp8, pm::bf16, pm::fp32}) {
    const auto d =
        demand_of(pm::embedding{.tokens = 2, .vocabulary = 10, .hidden = 8, .format = f});
    CHECK(d.format == f);
    CHECK(d.dram.read == 16.0 * pm::bytes_of(f));
  }
}

}  // namespace unit_operators_elementwise
