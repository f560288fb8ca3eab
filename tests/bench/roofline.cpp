// How many answers a second: one law over every scalar, and the composed ones.
#include <benchmark/benchmark.h>

#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/scalar/lanes.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <vector>

namespace pm = perfmodel;

namespace {

constexpr std::size_t points = 4096;  // 32 KiB of input: stays in the first-level caches

std::vector<double> intensities() {
  std::vector<double> x(points);
  for (std::size_t i = 0; i < points; ++i) x[i] = 0.25 * static_cast<double>(i + 1);
  return x;
}
void count_points(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(points));
}

void roofline_raw_double(benchmark::State& state) {
  const auto in = intensities();
  std::vector<double> out(points);
  double peak = 989.4e12, memory = 3.35e12;
  benchmark::DoNotOptimize(peak);
  benchmark::DoNotOptimize(memory);
  for (auto _ : state) {
    for (std::size_t i = 0; i < points; ++i) {
      const double from_memory = in[i] * memory;
      out[i] = from_memory < peak ? from_memory : peak;
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_points(state);
}
BENCHMARK(roofline_raw_double);

template <class T>
void roofline_over(benchmark::State& state) {
  const auto in = intensities();
  constexpr std::size_t width = pm::lanes_of<T>::count;
  pm::flop_rate<T> peak = pm::lift<T>(989.4 * pm::TFLOP_per_s);
  pm::bandwidth<T> memory = pm::lift<T>(3.35 * pm::TB_per_s);
  benchmark::DoNotOptimize(peak);
  benchmark::DoNotOptimize(memory);
  std::vector<pm::flop_rate<T>> out(points / width);
  for (auto _ : state) {
    for (std::size_t i = 0; i < points / width; ++i) {
      T x;
      if constexpr (width > 1) {
        x = T::load(in.data() + i * width);
      } else {
        x = T(in[i]);
      }
      out[i] = pm::attainable(peak, memory, pm::intensity<T>::from_value(x));
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_points(state);
}
BENCHMARK(roofline_over<double>);
BENCHMARK(roofline_over<pm::lanes<8>>);
BENCHMARK(roofline_over<pm::interval>);
BENCHMARK(roofline_over<pm::dual<1>>);
BENCHMARK(roofline_over<pm::dual<5>>);

// The iron law's arithmetic, three divisions and two maxima a point, as the memory levels of a
// kernel need it: bytes in, time out.
template <class T>
void stream_time_over(benchmark::State& state) {
  const auto in = intensities();
  constexpr std::size_t width = pm::lanes_of<T>::count;
  const auto device = pm::lift<T>(pm::catalog::h100_sxm);
  std::vector<pm::duration<T>> out(points / width);
  for (auto _ : state) {
    for (std::size_t i = 0; i < points / width; ++i) {
      T x;
      if constexpr (width > 1) {
        x = T::load(in.data() + i * width);
      } else {
        x = T(in[i]);
      }
      const pm::bytes<T> moved = x * 1e6 * pm::lift<T>(pm::byte);
      const pm::flops<T> work = x * 1e8 * pm::lift<T>(pm::flop);
      const pm::duration<T> compute = work / device.matrix.peak.bf16;
      const pm::duration<T> dram = moved / device.dram.bandwidth;
      const pm::duration<T> l2 = moved / device.l2.bandwidth;
      out[i] = max(max(compute, dram), l2);
    }
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_points(state);
}
BENCHMARK(stream_time_over<double>);
BENCHMARK(stream_time_over<pm::lanes<8>>);

void gemm_estimate(benchmark::State& state) {
  double m = 1;
  for (auto _ : state) {
    m = m < 4096 ? m + 1 : 1;
    benchmark::DoNotOptimize(pm::roofline(pm::catalog::h100_sxm, pm::gemm{.m = m, .n = 8192, .k = 8192}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(gemm_estimate);

void all_reduce_estimate(benchmark::State& state) {
  double size = 1;
  pm::collective_call c;
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
  return {.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_70b, .layout = {.tensor = 8}};
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
    benchmark::DoNotOptimize(pm::step(d, {.batch = batch, .context = 4096}));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(step_of_llama_70b);

void serving_of_llama_70b(benchmark::State& state) {
  const pm::deployment d = llama_on_8();
  double concurrency = 1;
  for (auto _ : state) {
    concurrency = concurrency < 256 ? concurrency + 1 : 1;
    benchmark::DoNotOptimize(
        pm::serving(d, {.input_tokens = 2048, .output_tokens = 512, .concurrency = concurrency}));
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
  q.load = {.input_tokens = 2048, .output_tokens = 512, .concurrency = 1024};
  long evaluated = 0;
  for (auto _ : state) {
    const pm::plan_result r = pm::plan(q);
    evaluated = r.evaluated;
    benchmark::DoNotOptimize(&r);
  }
  if (evaluated < 10000) state.SkipWithError("fewer than 10,000 deployments");
  state.counters["deployments"] = static_cast<double>(evaluated);
  state.SetItemsProcessed(state.iterations() * evaluated);
}
BENCHMARK(plan_of_10000_deployments)->Unit(benchmark::kMillisecond);

}  // namespace
