// A service of a prepared deployment is that of serving(), in whatever order loads are asked.
#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/step.hpp>

#include "support/near.hpp"
#include "support/order.hpp"
#include "support/refusal.hpp"

namespace property_prepared_services {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::random_numbers;
using perfmodel_test::whole;

/// A closed loop, a run or an open loop; prompts of few powers of two, so that records are made.
pm::service_load random_load(random_numbers& x, long k) {
  pm::service_load l{.input_tokens = whole(x, 257, 1024), .output_tokens = whole(x, 64, 512)};
  if (k % 3 == 2) {
    l.arrivals = pm::open_loop{.rate = (0.2 + 2.0 * x.uniform()) * pm::request / pm::second};
  } else {
    pm::closed_loop loop{whole(x, 1, 64)};
    if (k % 3 == 1) loop.requests = 10.0 * loop.concurrency;
    l.arrivals = loop;
  }
  if (k % 7 == 3) l.prefix_hit = 0.5;
  return l;
}

TEST_CASE("a service of a prepared deployment equals serving()", "[calibrated]") {
  random_numbers x(47);
  long asked = 0, refused = 0;
  constexpr pm::engine engines[] = {pm::engine::vllm, pm::engine::sglang, pm::engine::trtllm};
  const pm::accelerator* const devices[] = {&cat::h100_sxm, &cat::b200_sxm, &cat::mi300x};
  const std::size_t stride = perfmodel_test::sanitized ? 20 : 4;
  for (std::size_t m = 0; m < std::size(cat::models); m += stride) {
    pm::deployment d{.device = *perfmodel_test::one_of(x, devices),
                     .model = *cat::models[m].model,
                     .layout = {.tensor = 8},
                     .serving_engine = perfmodel_test::one_of(x, engines)};
    try {
      const pm::calibrated policy = pm::calibrated_for(d.device, d.serving_engine);
      auto prepared = pm::prepare(d, policy);
      for (long k = 0; k < 200; ++k) {
        const pm::service_load l = random_load(x, k);
        const auto plain = pm::serving(d, l, policy), kept = pm::serving(prepared, l);
        // The batch of an open loop is a root, found to 1e-13.
        const double within = l.is_closed() ? 1e-12 : 1e-9;
        INFO("model " << m << ", load " << k);
        CHECK(near(kept.itl.value(), plain.itl.value(), within));
        CHECK(near(kept.ttft.value(), plain.ttft.value(), within));
        CHECK(near(kept.throughput.value(), plain.throughput.value(), within));
        CHECK(near(kept.batch, plain.batch, within));
        CHECK(near(kept.capacity, plain.capacity, 1e-12));
        CHECK(near(kept.decode.mbu, plain.decode.mbu, within));
        CHECK(near(kept.prefill.time.value(), plain.prefill.time.value(), 1e-12));
        CHECK(bool(kept.feasible) == bool(plain.feasible));
        CHECK(bool(kept.decode.feasible) == bool(plain.decode.feasible));
        CHECK(near(kept.ttft_distribution.quantile(0.9).value(),
                   plain.ttft_distribution.quantile(0.9).value(), within));
        ++asked;
      }
    } catch (const pm::error&) {
      ++refused;  // a format or a layout that this device does not have
    }
  }
  INFO(asked << " services asked, " << refused << " deployments refused");
  CHECK(asked > (perfmodel_test::sanitized ? 200 : 1000));
}

TEST_CASE("a prepared deployment refuses the loads that serving() refuses", "[calibrated]") {
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_8b};
  auto prepared = pm::prepare(d, pm::calibrated_for(cat::h100_sxm));
  CHECK_THROWS_AS(pm::serving(prepared, {.input_tokens = 0.0, .output_tokens = 1.0}), pm::error);
}

}  // namespace property_prepared_services
