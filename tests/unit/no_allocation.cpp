// A service is answered without a call of operator new, its percentiles included.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <new>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/step.hpp>
#include <vector>

namespace unit_no_allocation {
namespace {
std::atomic<long> allocations{0};
}
}  // namespace unit_no_allocation

// Replaces the allocator of the whole test program, and counts its calls.
void* operator new(std::size_t size) {
  ++unit_no_allocation::allocations;
  if (void* p = std::malloc(size > 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++unit_no_allocation::allocations;
  return std::malloc(size > 0 ? size : 1);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}

namespace unit_no_allocation {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

template <class F>
long allocations_of(const F& f) {
  const long before = allocations;
  f();
  return allocations - before;
}

volatile double sink;

void answer(const pm::deployment& d, const pm::service_load& l, const pm::calibrated& calibration) {
  const pm::serving_estimate s = pm::serving(d, l, calibration);
  for (const double share : {0.5, 0.9, 0.99}) {
    sink = s.ttft_distribution.quantile(share).value() + s.itl_distribution.quantile(share).value();
  }
  sink = s.e2e.value();
}

}  // namespace

TEST_CASE("operator new is counted") {
  static void* volatile kept = nullptr;
  CHECK(allocations_of([] {
          kept = ::operator new(8);
          ::operator delete(kept);
        }) == 1);
}

TEST_CASE("serving: no result allocates, nor its percentiles") {
  for (const pm::engine e : {pm::engine::vllm, pm::engine::sglang, pm::engine::trtllm}) {
    const pm::calibrated calibration = pm::calibrated_for(cat::h100_sxm, e);
    for (const pm::transformer* model :
         {&cat::llama_3_70b, &cat::deepseek_v3, &cat::gpt_oss_120b}) {
      const pm::deployment d{
          .device = cat::h100_sxm, .model = *model, .layout = {.tensor = 8}, .serving_engine = e};
      pm::service_load l{.input_tokens = 2048.0, .output_tokens = 256.0};
      l.arrivals = pm::closed_loop{64.0};
      CHECK(allocations_of([&] { answer(d, l, calibration); }) == 0);
      l.arrivals = pm::closed_loop{64.0, 640.0};
      CHECK(allocations_of([&] { answer(d, l, calibration); }) == 0);
      l.arrivals = pm::open_loop{.rate = 2.0 * pm::request / pm::second};
      CHECK(allocations_of([&] { answer(d, l, calibration); }) == 0);
      const pm::iteration pass{.batch = 64.0, .context = 4096.0, .prefill_tokens = 512.0};
      CHECK(allocations_of([&] { sink = pm::step(d, pass, calibration).time.value(); }) == 0);
    }
  }
}

TEST_CASE("prepared steps allocate nothing once they are recorded") {
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::gpt_oss_120b};
  const pm::calibrated calibration = pm::calibrated_for(cat::h100_sxm);
  auto prepared = pm::prepare(d, calibration);
  std::vector<pm::iteration> steps;
  for (int i = 1; i <= 64; ++i) steps.push_back({.batch = 64.0 + i, .context = 4096.0});
  std::vector<pm::duration<>> times(steps.size());
  const auto ask = [&] {
    for (const pm::iteration& one : steps) {
      sink = prepared.bound(one).time.value() + prepared.bound_time(one).value();
      sink = prepared.step_time(one).value();
    }
    prepared.step_times(steps, times);
  };
  long first = 0;
  for (int i = 0; i < 10; ++i) first += allocations_of(ask);
  CHECK(first > 0);
  CHECK(allocations_of(ask) == 0);
}

TEST_CASE("services of a prepared deployment allocate nothing once their steps are recorded") {
  const pm::deployment d{.device = cat::h100_sxm,
                         .model = cat::llama_3_70b,
                         .layout = {.tensor = 8},
                         .serving_engine = pm::engine::vllm};
  auto prepared = pm::prepare(d, pm::calibrated_for(cat::h100_sxm, pm::engine::vllm));
  pm::service_load l{.input_tokens = 2048.0, .output_tokens = 256.0};
  l.arrivals = pm::open_loop{.rate = 4.0 * pm::request / pm::second};
  const auto ask = [&] { sink = pm::serving(prepared, l).itl.value(); };
  long first = 0;
  for (int i = 0; i < 400; ++i) first += allocations_of(ask);
  CHECK(first > 0);
  CHECK(allocations_of(ask) == 0);
}

}  // namespace unit_no_allocation
