// A prepared deployment answers as the plain calls do, in whatever order it is asked.
#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step/prepared.hpp>

#include "support/near.hpp"
#include "support/order.hpp"
#include "support/refusal.hpp"

namespace property_prepared {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::whole;

TEST_CASE("a prepared deployment answers as step() does", "[calibrated]") {
  random_numbers x(37);
  long asked = 0, refused = 0;
  constexpr pm::engine engines[] = {pm::engine::none, pm::engine::vllm, pm::engine::sglang,
                                    pm::engine::trtllm};
  const pm::accelerator* const devices[] = {&cat::h100_sxm, &cat::b200_sxm, &cat::mi300x,
                                            &cat::l40s};
  for (const auto& entry : cat::models) {
    for (const pm::accelerator* device : devices) {
      pm::deployment d{.device = *device, .model = *entry.model};
      d.serving_engine = perfmodel_test::one_of(x, engines);
      d.layout.tensor = device->fabric.exists() && x.uniform() < 0.5 ? 8 : 1;
      const pm::calibrated policy = pm::calibrated_for(*device, d.serving_engine);
      try {
        auto prepared = pm::prepare(d, policy);
        const long n = 4 + samples() / 10000;
        for (long k = 0; k < n; ++k) {
          pm::iteration i{.batch = whole(x, 1, 512), .context = whole(x, 1, 32768)};
          if (k % 3 == 1) i.prefill_tokens = whole(x, 1, 8192);
          if (k % 3 == 2) i = {.batch = 0.0, .prefill_tokens = whole(x, 1, 8192)};
          const auto plain = pm::step(d, i, policy), kept = prepared.step(i);
          const auto bound = pm::step_bound(d, i);
          CHECK(near(kept.time.value(), plain.time.value(), 1e-12));
          CHECK(near(prepared.step_time(i).value(), plain.time.value(), 1e-12));
          CHECK(near(prepared.bound(i).time.value(), bound.time.value(), 1e-12));
          CHECK(kept.terms.size() == plain.terms.size());
          CHECK(bool(kept.feasible) == bool(plain.feasible));
          CHECK(bool(prepared.bound(i).feasible) == bool(bound.feasible));
          ++asked;
        }
      } catch (const pm::error&) {
        ++refused;  // a format or a layout that this device does not have
        CHECK_THROWS_AS(pm::step(d, {.batch = 1.0, .context = 1.0}, policy), pm::error);
      }
    }
  }
  INFO(asked << " steps asked, " << refused << " deployments refused");
  CHECK(asked > 500);
}

/// A deployment of the model with a random layout, engine and options; it may be refused.
pm::deployment random_deployment(random_numbers& x, const pm::transformer& model) {
  constexpr pm::engine engines[] = {pm::engine::none, pm::engine::vllm, pm::engine::trtllm};
  const pm::accelerator* const devices[] = {&cat::h100_sxm, &cat::b200_sxm, &cat::mi300x,
                                            &cat::a100_sxm_80gb};
  constexpr int tensors[] = {1, 2, 4, 8}, few[] = {1, 1, 2}, groups[] = {1, 1, 8};
  pm::deployment d{.device = *perfmodel_test::one_of(x, devices), .model = model};
  d.serving_engine = perfmodel_test::one_of(x, engines);
  d.layout.tensor = perfmodel_test::one_of(x, tensors);
  d.layout.pipeline = perfmodel_test::one_of(x, few);
  d.layout.data = d.layout.expert = perfmodel_test::one_of(x, groups);
  if (d.layout.data > 1) d.layout.tensor = 1;
  if (x.uniform() < 0.2) d.lora = pm::lora{.rank = 16.0, .adapters = 4.0, .active = 4.0};
  if (x.uniform() < 0.2) d.cpu_offload_bytes = 1e8 * pm::byte;
  if (model.encoder) d.encoder_rows = 0.5;
  return d;
}
pm::iteration random_iteration(random_numbers& x, long k) {
  pm::iteration i{.batch = whole(x, 1, 1024), .context = whole(x, 1, 65536)};
  if (k % 4 == 1) i.prefill_tokens = whole(x, 1, 8192);
  if (k % 4 == 2) i = {.batch = 0.0, .prefill_tokens = whole(x, 1, 8192)};
  if (k % 4 == 3) i.tokens_per_sequence = 4.0;
  if (k % 8 > 4 && i.prefill_tokens > 0.0) i.prefill_past = whole(x, 1, 16384);
  if (k % 16 == 9) i.prefill_sequences = 2.0;
  if (k % 16 == 13) i.steady = true;
  return i;
}

TEST_CASE("bounds from a record of the law equal step_bound()") {
  random_numbers x(41);
  long recorded = 0, asked = 0, refused = 0;
  for (std::size_t n = 0; n < 3 * std::size(cat::models); ++n) {
    const pm::deployment d = random_deployment(x, *cat::models[n / 3].model);
    try {
      auto prepared = pm::prepare(d, pm::datasheet{});
      pm::detail::recorded_bounds<double> records;
      for (long k = 0; k < 400; ++k) {
        const pm::iteration i = random_iteration(x, k);
        const auto plain = pm::step_bound(d, i), kept = prepared.bound(i);
        pm::duration<> time;
        recorded += records.time(d, i, time);
        CHECK(near(kept.time.value(), plain.time.value(), 1e-12));
        CHECK(near(prepared.bound_time(i).value(), plain.time.value(), 1e-12));
        CHECK(near(kept.mfu, plain.mfu, 1e-12));
        CHECK(near(kept.mbu, plain.mbu, 1e-12));
        CHECK(bool(kept.feasible) == bool(plain.feasible));
        CHECK(near(kept.feasible.needed, plain.feasible.needed, 1e-12));
        REQUIRE(kept.terms.size() == plain.terms.size());
        for (std::size_t t = 0; t < plain.terms.size(); ++t)
          CHECK(near(kept.terms[t].time.value(), plain.terms[t].time.value(), 1e-12));
        ++asked;
      }
    } catch (const pm::error&) {
      ++refused;
    }
  }
  INFO(asked << " bounds asked, " << recorded << " from a record, " << refused << " refused");
  CHECK(asked > 20000);
  CHECK(recorded > asked / 3);
}

TEST_CASE("a prepared deployment refuses what step() refuses", "[calibrated]") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_8b};
  d.layout.tensor = 0;
  const pm::calibrated policy = pm::calibrated_for(cat::h100_sxm);
  CHECK_THROWS_AS(pm::prepare(d, policy), pm::error);
  d.layout.tensor = 1;
  auto prepared = pm::prepare(d, policy);
  CHECK_THROWS_AS(prepared.step_time({.batch = 0.0}), pm::error);
  CHECK_THROWS_AS(prepared.step({.batch = -1.0}), pm::error);
  CHECK_THROWS_AS(pm::prepare(d, pm::calibrated_for(cat::a100_sxm_80gb)), pm::error);
}

}  // namespace property_prepared
