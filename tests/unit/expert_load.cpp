// Distribution of tokens over experts: imbalance, capacity, groups.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/moe.hpp>
#include <perfmodel/operators/moe.hpp>

namespace unit_expert_load {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

TEST_CASE("the busiest rank takes the imbalance, the capacity at most, and no more than all",
          "[calibrated]") {
  pm::moe_ffn x{.tokens = 800,
                .hidden = 4096,
                .intermediate = 1536,
                .experts = 128,
                .top_k = 8,
                .expert_parallel = 8};
  pm::call_conditions how{.routing = pm::expert_routing::balanced};
  const auto rows = [&] { return pm::detail::routed_to_rank(x, how).rows; };
  CHECK(rows() == 800.0);
  how.imbalance = 1.5;
  CHECK(rows() == 1200.0);
  how.capacity_factor = 1.25;
  CHECK(rows() == 1000.0);
  how = {.routing = pm::expert_routing::balanced, .imbalance = 100.0};
  CHECK(rows() == 6400.0);  // every choice of every token
  x.expert_parallel = 1;    // nothing waits
  CHECK(rows() == 6400.0);
  const pm::moe_calibration c{.kernels = {.floor = 10.0 * pm::us}};
  const auto time = [&] { return calibrated_estimate(pm::catalog::h100_sxm, x, c, how).time; };
  x.expert_parallel = 8;
  const auto uneven = time();
  how.imbalance = 1.0;
  CHECK(time() < uneven);
  how.imbalance = 0.5;
  CHECK_THROWS_AS(time(), pm::error);
}

TEST_CASE("tokens that agree on groups touch half of the experts, all on half of the ranks",
          "[calibrated]") {
  pm::moe_ffn x{.tokens = 64, .hidden = 7168, .intermediate = 2048, .experts = 256, .top_k = 8};
  const pm::call_conditions how{.routing = pm::expert_routing::grouped};
  const auto at = [&] { return pm::detail::routed_to_rank(x, how); };
  CHECK(at().touched == 128.0);
  CHECK(at().rows == 512.0);
  x.expert_parallel = 8;  // 32 experts a rank, all of them chosen: a quarter of 512 rows
  CHECK(at().touched == 32.0);
  CHECK(at().rows == 128.0);
}

}  // namespace unit_expert_load
