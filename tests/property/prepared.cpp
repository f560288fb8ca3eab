// A prepared deployment answers as the plain calls do, in whatever order it is asked.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <iterator>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step/prepared.hpp>
#include <string_view>
#include <type_traits>
#include <vector>

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
template <class Law>
using recorded_times = pm::detail::recorded_steps<double, Law>;

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
      recorded_times<pm::detail::recorded_bound<double, false>> records({d});
      for (long k = 0; k < 400; ++k) {
        const pm::iteration i = random_iteration(x, k);
        const auto plain = pm::step_bound(d, i), kept = prepared.bound(i);
        std::array<double, 1> time;
        recorded += records.at(i, time);
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

/// A decode, prefill or mixed step of few powers of two, so that records are made soon.
pm::iteration near_iteration(random_numbers& x, long k) {
  pm::iteration i{.batch = whole(x, 17, 128), .context = whole(x, 1, 65536)};
  if (k % 4 == 1) i.prefill_tokens = whole(x, 257, 512);
  if (k % 4 == 2) i = {.batch = 0.0, .prefill_tokens = whole(x, 1025, 2048)};
  if (k % 8 == 1) i.prefill_past = whole(x, 1025, 2048);
  return i;
}

void check_same(const pm::estimate& kept, const pm::estimate& plain) {
  CHECK(near(kept.time.value(), plain.time.value(), 1e-12));
  CHECK(near(kept.mfu, plain.mfu, 1e-12));
  CHECK(near(kept.mbu, plain.mbu, 1e-12));
  CHECK(bool(kept.feasible) == bool(plain.feasible));
  REQUIRE(kept.terms.size() == plain.terms.size());
  for (std::size_t t = 0; t < plain.terms.size(); ++t) {
    CHECK(std::string_view(kept.terms[t].name) == plain.terms[t].name);
    // A term may be a small difference of the others, as the exposed launches are.
    const double miss = (kept.terms[t].time - plain.terms[t].time).value();
    CHECK(std::abs(miss) <= 1e-12 * plain.time.value());
  }
}

TEST_CASE("predicted times from a record, and blocks of them, equal step()", "[calibrated]") {
  random_numbers x(43);
  long recorded = 0, asked = 0, refused = 0;
  const std::size_t stride = perfmodel_test::sanitized ? 10 : 1;
  for (std::size_t m = 0; m < std::size(cat::models); m += stride) {
    pm::deployment d = random_deployment(x, *cat::models[m].model);
    d.cuda_graphs = x.uniform() < 0.8;
    try {
      const pm::calibrated policy = pm::calibrated_for(d.device, d.serving_engine);
      recorded_times<pm::detail::recorded_prediction<double, pm::calibrated>> records({d, policy});
      auto prepared = pm::prepare(d, policy);
      std::vector<pm::iteration> steps;
      for (long k = 0; k < 1200; ++k) steps.push_back(near_iteration(x, k / 40));
      std::vector<pm::duration<>> times(steps.size());
      prepared.step_times(steps, times);  // makes the records
      prepared.step_times(steps, times);
      for (std::size_t k = 0; k < steps.size(); ++k) {
        const pm::duration<> plain = pm::step(d, steps[k], policy).time;
        std::array<double, 1> time{plain.value()};
        recorded += records.at(steps[k], time);
        CHECK(near(time[0], plain.value(), 1e-12));
        check_same(prepared.step(steps[k]), pm::step(d, steps[k], policy));
        CHECK(near(times[k].value(), plain.value(), 1e-12));
        ++asked;
      }
    } catch (const pm::error&) {
      ++refused;
    }
  }
  INFO(asked << " steps asked, " << recorded << " from a record, " << refused << " refused");
  CHECK(asked > static_cast<long>(20000 / stride));
  CHECK(recorded > asked / 10);
}

TEST_CASE("a record rounds and chooses as the law does at any input") {
  // Ceilings of quotients that are whole, and choices whose bounds are below 0.
  const auto law = [](const auto& x) {
    using T = std::remove_cvref_t<decltype(x)>;
    using pm::scalar_max, pm::scalar_min;
    using pm::math::ceil, pm::math::floor;
    const T above = scalar_max(T(0.0), scalar_min(T(1.0), T(ceil(T(x - 8.0)))));
    return T(ceil(T(x / 132.0)) * 2.0 + floor(T(480.0 / x)) + above * x);
  };
  using recorded = pm::detail::recorded<double>;
  pm::detail::recording<double> r;
  const recorded made = law(recorded::input(r, 5.0, 1.0, 1e6));
  const pm::detail::recorded_program<double> program(r, {made}, 1);
  REQUIRE(program.is_usable());
  int held = 0;
  for (double x = 1.0; x < 1000.0; x += 1.0) {
    pm::detail::recorded_program<double>::numbers numbers;
    numbers[0] = x;
    if (!program.run(numbers)) continue;
    CHECK(near(program.result(numbers, 0), law(x), 1e-15));
    ++held;
  }
  CHECK(held == 999);
}

TEST_CASE("times are asked for as many steps as there are") {
  auto prepared = pm::prepare(pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_1_8b},
                              pm::datasheet{});
  const std::vector<pm::iteration> steps(3, {.batch = 2.0, .context = 10.0});
  std::vector<pm::duration<>> times(2);
  CHECK_THROWS_AS(prepared.step_times(steps, times), pm::error);
  times.resize(3);
  prepared.step_times(steps, times);
  CHECK(times[2] == prepared.step_time(steps[0]));
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
