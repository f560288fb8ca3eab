// How many answers a second: one law over every scalar, and the composed ones.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <vector>

namespace pm = perfmodel;

namespace {

constexpr std::size_t points = 4096;  // 32 KiB of input: stays in the first two levels of cache

std::vector<double> intensities() {
  std::vector<double> x(points);
  for (std::size_t i = 0; i < points; ++i) x[i] = 0.25 * static_cast<double>(i + 1);
  return x;
}
void count_points(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(points));
}

// A number that the compiler does not know. (DoNotOptimize of a variable may change it where GCC
// compiled Google Benchmark 1.7.)
double at_run_time(double x) {
  volatile double y = x;
  return y;
}

// min(R, BW I) for every point, over doubles and over quantities of any scalar, each as the law has
// it, with its inputs checked, and as the bare formula. A check is a branch, so that the checked
// loops stay scalar; the bare ones are vectorised.
enum class inputs { checked, unchecked };

template <inputs Inputs>
class raw_sweep {
 public:
  [[gnu::noinline]] void operator()() {
    const double peak = peak_, memory = memory_;
    for (std::size_t i = 0; i < points; ++i) {
      if constexpr (Inputs == inputs::checked) {
        pm::detail::positive("peak_rate", peak);
        pm::detail::positive("memory", memory);
        pm::detail::not_negative("operations_per_byte", in_[i]);
      }
      const double from_memory = in_[i] * memory;
      out_[i] = from_memory < peak ? from_memory : peak;
    }
    benchmark::DoNotOptimize(out_.data());
    benchmark::ClobberMemory();
  }

 private:
  std::vector<double> in_ = intensities();
  std::vector<double> out_ = std::vector<double>(points);
  double peak_ = at_run_time(989.4e12);
  double memory_ = at_run_time(3.35e12);
};

template <class T, inputs Inputs>
class quantity_sweep {
 public:
  [[gnu::noinline]] void operator()() {
    const pm::flop_rate<T> peak = peak_;
    const pm::bandwidth<T> memory = memory_;
    for (std::size_t i = 0; i < points; ++i) {
      const pm::intensity<T> x = pm::intensity<T>::from_value(T(in_[i]));
      if constexpr (Inputs == inputs::checked) {
        out_[i] = pm::attainable(peak, memory, x);
      } else {
        out_[i] = min(peak, pm::flop_rate<T>(x * memory));
      }
    }
    benchmark::DoNotOptimize(out_.data());
    benchmark::ClobberMemory();
  }

 private:
  std::vector<double> in_ = intensities();
  std::vector<pm::flop_rate<T>> out_ = std::vector<pm::flop_rate<T>>(points);
  pm::flop_rate<T> peak_ = pm::lift<T>(at_run_time(989.4) * pm::TFLOP_per_s);
  pm::bandwidth<T> memory_ = pm::lift<T>(at_run_time(3.35) * pm::TB_per_s);
};

using raw = raw_sweep<inputs::checked>;
using raw_bare = raw_sweep<inputs::unchecked>;
template <class T>
using quantities = quantity_sweep<T, inputs::checked>;
template <class T>
using quantities_bare = quantity_sweep<T, inputs::unchecked>;

template <class Sweep>
void attainable(benchmark::State& state) {
  Sweep sweep;
  for (auto _ : state) sweep();
  count_points(state);
}
BENCHMARK(attainable<raw>);
BENCHMARK(attainable<quantities<double>>);
BENCHMARK(attainable<quantities<pm::interval>>);
BENCHMARK(attainable<quantities<pm::dual<1>>>);
BENCHMARK(attainable<quantities<pm::dual<5>>>);
BENCHMARK(attainable<raw_bare>);
BENCHMARK(attainable<quantities_bare<double>>);

// How many times as fast one sweep is as another: both in turn, the least time of each.
template <class Sweep>
double seconds_of(Sweep& sweep) {
  constexpr int rounds = 16;
  const auto start = std::chrono::steady_clock::now();
  for (int r = 0; r < rounds; ++r) sweep();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
template <class Sweep, class Reference>
void speed_over(benchmark::State& state) {
  Sweep sweep;
  Reference reference;
  double least = std::numeric_limits<double>::infinity();
  double least_reference = least;
  for (auto _ : state) {
    least = pm::scalar_min(least, seconds_of(sweep));
    least_reference = pm::scalar_min(least_reference, seconds_of(reference));
  }
  state.counters["times_as_fast"] = least_reference / least;
}
BENCHMARK(speed_over<quantities<double>, raw>);
BENCHMARK(speed_over<quantities_bare<double>, raw_bare>);
BENCHMARK(speed_over<quantities<pm::interval>, quantities<double>>);
BENCHMARK(speed_over<quantities<pm::dual<1>>, quantities<double>>);
BENCHMARK(speed_over<quantities<pm::dual<5>>, quantities<double>>);

// The iron law's arithmetic, three divisions and two maxima a point, as the memory levels of a
// kernel need it: bytes in, time out.
void stream_time(benchmark::State& state) {
  const auto in = intensities();
  const pm::accelerator& device = pm::catalog::h100_sxm;
  std::vector<pm::duration<>> out(points);
  for (auto _ : state) {
    for (std::size_t i = 0; i < points; ++i) {
      const pm::bytes<> moved = in[i] * 1e6 * pm::byte;
      const pm::flops<> work = in[i] * 1e8 * pm::flop;
      const pm::duration<> compute = work / device.matrix.peak.bf16;
      const pm::duration<> dram = moved / device.dram.bandwidth;
      const pm::duration<> l2 = moved / device.l2.bandwidth;
      out[i] = max(max(compute, dram), l2);
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_points(state);
}
BENCHMARK(stream_time);

void gemm_estimate(benchmark::State& state) {
  double m = 1;
  for (auto _ : state) {
    m = m < 4096 ? m + 1 : 1;
    benchmark::DoNotOptimize(
        pm::roofline(pm::catalog::h100_sxm, pm::gemm{.m = m, .n = 8192, .k = 8192}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(gemm_estimate);

void all_reduce_estimate(benchmark::State& state) {
  double size = 1;
  pm::collective c;
  c.ranks = 8;
  for (auto _ : state) {
    size = size < 1e9 ? size * 1.01 : 1;
    c.message = pm::message_bytes<>(size * pm::byte);
    benchmark::DoNotOptimize(pm::collective_time(pm::catalog::h100_sxm.fabric, c));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(all_reduce_estimate);

pm::deployment llama_on_8() {
  return {
      .device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_70b, .layout = {.tensor = 8}};
}

void kv_capacity_answer(benchmark::State& state) {
  const pm::deployment d = llama_on_8();
  double context = 1;
  for (auto _ : state) {
    context = context < 8192 ? context + 1 : 1;
    benchmark::DoNotOptimize(pm::kv_capacity(d, context));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(kv_capacity_answer);

void step_of_llama_70b(benchmark::State& state) {
  const pm::deployment d = llama_on_8();
  double batch = 1;
  for (auto _ : state) {
    batch = batch < 256 ? batch + 1 : 1;
    benchmark::DoNotOptimize(pm::step_bound(d, {.batch = batch, .context = 4096}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(step_of_llama_70b);

void serving_of_llama_70b(benchmark::State& state) {
  const pm::deployment d = llama_on_8();
  double concurrency = 1;
  for (auto _ : state) {
    concurrency = concurrency < 256 ? concurrency + 1 : 1;
    benchmark::DoNotOptimize(pm::serving_bound(
        d, {.input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{concurrency}}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(serving_of_llama_70b);

// Items are deployments: the request is wide enough for more than 10,000 of them.
void plan_of_10000_deployments(benchmark::State& state) {
  pm::plan_request q;
  for (const auto& entry : pm::catalog::accelerators) q.accelerators.push_back(*entry.spec);
  q.model = pm::catalog::llama_3_70b;
  q.gpus = 64;
  q.load = {.input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{1024}};
  long evaluated = 0;
  for (auto _ : state) {
    const pm::plan_result r = pm::plan_bound(q);
    evaluated = r.evaluated;
    benchmark::DoNotOptimize(&r);
  }
  if (evaluated < 10000) state.SkipWithError("fewer than 10,000 deployments");
  state.counters["deployments"] = static_cast<double>(evaluated);
  state.SetItemsProcessed(state.iterations() * evaluated);
}
BENCHMARK(plan_of_10000_deployments)->Unit(benchmark::kMillisecond);

}  // namespace
