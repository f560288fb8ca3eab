// What fusing promises.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/fusion.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_fusion {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

TEST_CASE("fusing keeps FLOP, removes the intermediate twice and never lowers intensity") {
  random_numbers r(1);
  for (int i = 0; i < 500; ++i) {
    pm::demand a, b;
    a.matrix_flop = r.log_uniform(1e3, 1e15) * pm::flop;
    b.vector_flop = r.log_uniform(1e3, 1e12) * pm::flop;
    a.dram = {r.log_uniform(1e3, 1e9) * pm::byte, r.log_uniform(1e3, 1e9) * pm::byte};
    b.dram = {a.dram.written + r.log_uniform(1, 1e9) * pm::byte,
              r.log_uniform(1e3, 1e9) * pm::byte};
    a.l2 = a.dram;
    b.l2 = b.dram;
    const pm::bytes<> kept = r.uniform() * a.dram.written;
    const pm::demand f = pm::fuse(a, b, kept);
    CHECK(near(f.flop(), a.flop() + b.flop()));
    CHECK(near((a.dram.total() + b.dram.total() - f.dram.total()).value(), 2 * kept.value(), 1e-6));
    CHECK(f.l2.total() == f.dram.total());
    CHECK(f.intensity() * (1 + 1e-12) >= (a.flop() + b.flop()) / (a.dram.total() + b.dram.total()));
    CHECK(pm::traffic_ratio(a.dram + b.dram, f.dram) >= 1 - 1e-12);
    CHECK(f.launches == 1);
    // fusing an intermediate is what chain_saving says
    const pm::fusion_saving s = pm::chain_saving(kept, 1);
    CHECK(near(f.dram.total() + s.dram.total(), a.dram.total() + b.dram.total()));
    CHECK(f.launches + s.launches == a.launches + b.launches);
  }
}

TEST_CASE("the attention ratio is the byte count's") {
  random_numbers r(2);
  for (int i = 0; i < 500; ++i) {
    const double tokens = std::ceil(r.log_uniform(1, 1e6)), dim = std::ceil(r.uniform(32, 256));
    const double groups = std::ceil(r.uniform(0, 16)), kv = std::ceil(r.uniform(0, 16));
    const double q = groups * kv;
    const double operands = 2 * (q + kv) * tokens * dim * 2, scores = 4 * q * tokens * tokens * 2;
    CHECK(near(pm::attention_fusion_ratio(tokens, dim, q, kv), (operands + scores) / operands));
    CHECK(near(pm::attention_fusion_ratio(tokens, dim), 1 + tokens / dim));
  }
}

}  // namespace property_fusion
