// A step and a service over all scalars, and what must hold for any of them.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/workload/catalog/all.hpp>

#include "support/near.hpp"
#include "support/random.hpp"
#include "support/scalars.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::check_scalars;
using perfmodel_test::near;

namespace {

template <class T>
pm::basic_deployment<T> on_h100(const pm::transformer& m, int tensor, const T& bandwidth, const T& peak) {
  auto d = pm::lift<T>(pm::deployment{.device = cat::h100_sxm, .model = m, .layout = {.tensor = tensor}});
  d.device.dram.bandwidth = pm::bandwidth<T>::from_value(bandwidth);
  d.device.matrix.peak.bf16 = pm::flop_rate<T>::from_value(peak);
  return d;
}

}  // namespace

TEST_CASE("scalars: kv_capacity without the floors") {
  check_scalars([](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    return pm::kv_bytes_available(pm::basic_memory_budget<T>{pm::bytes<T>::from_value(x[0]), x[1],
                                                             pm::bytes<T>::from_value(x[2]),
                                                             pm::bytes<T>::from_value(x[3]), {}}).value();
  }, 80e9, 0.9, 17.5e9, 2e9);
  check_scalars([](const auto& x) { return pm::contiguous_waste(x[0], x[1]); }, 500.0, 4096.0);
  check_scalars([](const auto& x) { return pm::waste_free_gain(pm::paged_waste(x[0], x[1])); }, 500.0, 16.0);
}

TEST_CASE("scalars: a decode step") {
  for (const auto* m : {&cat::llama_3_70b, &cat::mixtral_8x7b, &cat::gemma_3_27b}) {
    check_scalars([m](const auto& x) {
      using T = std::remove_cvref_t<decltype(x[0])>;
      return pm::step(on_h100<T>(*m, 8, x[0], x[1]), pm::basic_iteration<T>{.batch = x[2], .context = x[3]}).time.value();
    }, 3.35e12, 989.4e12, 32.0, 4096.0);
  }
}

TEST_CASE("scalars: a prefill and a mixed step") {
  check_scalars([](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    return pm::step(on_h100<T>(cat::llama_3_70b, 8, x[0], x[1]),
                    pm::basic_iteration<T>{.batch = x[2], .context = x[3], .prefill_tokens = x[4]}).time.value();
  }, 3.35e12, 989.4e12, 32.0, 4096.0, 2048.0);
}

TEST_CASE("scalars: serving, closed and open") {
  check_scalars([](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    return pm::serving(on_h100<T>(cat::llama_3_70b, 8, x[0], x[1]),
                       pm::basic_load<T>{.input_tokens = x[2], .output_tokens = x[3], .concurrency = x[4]}).e2e.value();
  }, 3.35e12, 989.4e12, 2048.0, 512.0, 40.0);
  check_scalars([](const auto& x) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    return pm::serving(on_h100<T>(cat::llama_3_70b, 8, x[0], x[1]),
                       pm::basic_load<T>{.input_tokens = x[2], .output_tokens = x[3], .requests_per_s = x[4]}).batch;
  }, 3.35e12, 989.4e12, 1024.0, 512.0, 5.0);
}

TEST_CASE("a step is monotone: more work is never quicker, more machine never slower") {
  perfmodel_test::random_numbers random(7);
  const auto time = [](const pm::deployment& d, const pm::iteration& i) { return pm::step(d, i).time; };
  for (int n = 0; n < 200; ++n) {
    const pm::iteration i{.batch = std::floor(random.log_uniform(1, 512)), .context = random.log_uniform(1, 1e5),
                          .prefill_tokens = std::floor(random.log_uniform(1, 8192))};
    const int tensor = 1 << static_cast<int>(random.uniform(0, 4));
    const auto d = on_h100<double>(cat::llama_3_70b, tensor, 3.35e12, 989.4e12);
    const auto t = time(d, i);
    auto more = i;
    more.batch *= 2;
    CHECK(time(d, more) >= t);
    more = i;
    more.context *= 2;
    CHECK(time(d, more) >= t);
    more = i;
    more.prefill_tokens *= 2;
    CHECK(time(d, more) >= t);
    CHECK(time(on_h100<double>(cat::llama_3_70b, tensor, 2 * 3.35e12, 989.4e12), i) <= t);
    CHECK(time(on_h100<double>(cat::llama_3_70b, tensor, 3.35e12, 2 * 989.4e12), i) <= t);
    auto wider = d;
    wider.device.fabric.bandwidth = 2.0 * d.device.fabric.bandwidth.quantity();
    CHECK(time(wider, i) <= t);
    CHECK(pm::step(d, i, pm::derated{.compute_efficiency = 0.8, .memory_efficiency = 0.8}).time >= t);
    const auto e = pm::step(d, i);
    CHECK(e.mfu <= 1.0 + 1e-12);
    CHECK(e.mbu <= 1.0 + 1e-12);
  }
}

TEST_CASE("decode intensity tends to 2 P / (context x kv), which 70B never carries over the ridge") {
  const auto intensity = [](double context) {
    pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_70b};
    const auto s = pm::demand_of_step(d, {.batch = 1e7, .context = context});
    return s.matrix_flop / (s.weights + s.cache);
  };
  // The seed leaves out attention's own FLOP, 8 FLOP/byte at 8 query heads a KV head.
  CHECK(near(intensity(4096).value(), 2 * 69.5e9 / (4097 * 327680.0) + 8, 0.01));
  CHECK(near(intensity(8192).value(), 2 * 69.5e9 / (8193 * 327680.0) + 8, 0.01));
}

TEST_CASE("tensor parallelism divides what is on a device by its ranks") {
  for (const int ranks : {2, 4, 8}) {
    const pm::deployment one{.device = cat::h100_sxm, .model = cat::llama_3_70b};
    auto many = one;
    many.layout.tensor = ranks;
    const auto a = pm::demand_of_step(one, {.batch = 8, .context = 2048});
    const auto b = pm::demand_of_step(many, {.batch = 8, .context = 2048});
    CHECK(near(a.weights.value(), ranks * b.weights.value()));
    CHECK(near(a.cache.value(), ranks * b.cache.value()));
    CHECK(near(a.matrix_flop.value(), ranks * b.matrix_flop.value()));
  }
}
