// What a predicted answer takes: matrix products, decode attention, experts, collectives.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/step.hpp>

namespace pm = perfmodel;
namespace catalog = pm::catalog;

namespace {

constexpr std::size_t inputs = 64;  // in turn, so that nothing is known when this is compiled

template <class Workload, class Vary>
std::array<Workload, inputs> varied(Workload w, Vary vary) {
  std::array<Workload, inputs> all{};
  for (std::size_t i = 0; i < inputs; ++i) {
    vary(w, static_cast<double>(i));
    all[i] = w;
  }
  return all;
}

pm::calibrated policy(double weight_copies) {
  pm::calibrated p = pm::calibrated_for(catalog::h200_sxm, pm::engine::vllm);
  p.conditions = pm::replay_conditions(weight_copies);
  return p;
}

template <class Workload>
void answer(benchmark::State& state, const std::array<Workload, inputs>& all) {
  const pm::calibrated p = policy(6.0);
  const pm::accelerator device = catalog::h200_sxm;
  std::size_t i = 0;
  double sum = 0.0;
  for (auto _ : state) {
    sum += p.estimate(device, all[i]).time.value();
    i = (i + 1) % inputs;
  }
  if (!(sum > 0.0)) state.SkipWithError("no time");
  state.SetItemsProcessed(state.iterations());
}

void calibrated_gemm(benchmark::State& state) {
  answer(state, varied(pm::gemm{.m = 1, .n = 8192, .k = 8192},
                       [](pm::gemm& g, double i) { g.m = 1 + 61 * i; }));
}
BENCHMARK(calibrated_gemm);

void calibrated_gemm_fp8(benchmark::State& state) {
  pm::gemm g{.m = 1, .n = 8192, .k = 8192, .format = pm::fp8};
  g.weights = pm::fp8;
  g.output = pm::bf16;
  answer(state, varied(g, [](pm::gemm& x, double i) { x.m = 1 + 61 * i; }));
}
BENCHMARK(calibrated_gemm_fp8);

void calibrated_decode_attention(benchmark::State& state) {
  const pm::attention_decode a{
      .batch = 1, .context = 4096, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
  answer(state, varied(a, [](pm::attention_decode& x, double i) { x.batch = 1 + i; }));
}
BENCHMARK(calibrated_decode_attention);

void calibrated_prefill_attention(benchmark::State& state) {
  const pm::attention_prefill a{
      .batch = 1, .tokens = 1, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
  answer(state, varied(a, [](pm::attention_prefill& x, double i) { x.tokens = 1 + 127 * i; }));
}
BENCHMARK(calibrated_prefill_attention);

void calibrated_experts(benchmark::State& state) {
  const pm::moe_ffn x{
      .tokens = 1, .hidden = 4096, .intermediate = 1536, .experts = 128, .top_k = 8};
  answer(state, varied(x, [](pm::moe_ffn& w, double i) { w.tokens = 1 + 17 * i; }));
}
BENCHMARK(calibrated_experts);

void calibrated_elementwise(benchmark::State& state) {
  answer(state, varied(pm::elementwise{.elements = 1e6},
                       [](pm::elementwise& w, double i) { w.elements = 1e4 * (1 + i); }));
}
BENCHMARK(calibrated_elementwise);

void collective_answer(benchmark::State& state, pm::collective_implementation how) {
  const auto cost = pm::calibrated_collectives_on(
      catalog::h200_sxm, catalog::collective_profile_of(catalog::h200_sxm));
  const pm::interconnect fabric = catalog::h200_sxm.fabric;
  pm::collective c;
  c.ranks = 8;
  c.implementation = how;
  double size = 512.0;
  const auto all = varied(c, [&size](pm::collective& x, double) {
    x.message = pm::message_bytes<>(size * pm::byte);
    size *= 1.2;
  });
  std::size_t i = 0;
  double sum = 0.0;
  for (auto _ : state) {
    sum += pm::collective_time(fabric, all[i], cost).time.value();
    i = (i + 1) % inputs;
  }
  if (!(sum > 0.0)) state.SkipWithError("no time");
  state.SetItemsProcessed(state.iterations());
}
void calibrated_all_reduce_nccl(benchmark::State& state) {
  collective_answer(state, pm::collective_implementation::nccl);
}
BENCHMARK(calibrated_all_reduce_nccl);
void calibrated_all_reduce_custom(benchmark::State& state) {
  collective_answer(state, pm::collective_implementation::custom);
}
BENCHMARK(calibrated_all_reduce_custom);

void calibrated_step_of_llama_70b(benchmark::State& state) {
  const pm::deployment d{
      .device = catalog::h200_sxm, .model = catalog::llama_3_70b, .layout = {.tensor = 8}};
  const pm::calibrated kernels = policy(0.0);
  const auto links =
      pm::calibrated_collectives_on(d.device, catalog::collective_profile_of(d.device));
  double batch = 1.0;
  for (auto _ : state) {
    batch = batch < 256.0 ? batch + 1.0 : 1.0;
    benchmark::DoNotOptimize(pm::step(d, {.batch = batch, .context = 4096}, kernels, links));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(calibrated_step_of_llama_70b);

/// With its percentiles.
void calibrated_service(benchmark::State& state, const pm::service_load& load) {
  const pm::deployment d{.device = catalog::h100_sxm,
                         .model = catalog::llama_3_70b,
                         .layout = {.tensor = 8},
                         .serving_engine = pm::engine::vllm};
  const pm::calibrated calibration = pm::calibrated_for(catalog::h100_sxm, pm::engine::vllm);
  pm::service_load l = load;
  for (auto _ : state) {
    l.input_tokens = l.input_tokens < 2100.0 ? l.input_tokens + 1.0 : 2048.0;
    const pm::serving_estimate s = pm::serving(d, l, calibration);
    for (const double share : {0.5, 0.9, 0.99}) {
      benchmark::DoNotOptimize(s.ttft_distribution.quantile(share));
      benchmark::DoNotOptimize(s.itl_distribution.quantile(share));
    }
  }
  state.SetItemsProcessed(state.iterations());
}
void calibrated_service_closed(benchmark::State& state) {
  calibrated_service(
      state, {.input_tokens = 2048.0, .output_tokens = 256.0, .arrivals = pm::closed_loop{64.0}});
}
BENCHMARK(calibrated_service_closed);
void calibrated_service_open(benchmark::State& state) {
  calibrated_service(state, {.input_tokens = 2048.0,
                             .output_tokens = 256.0,
                             .arrivals = pm::open_loop{.rate = 4.0 * pm::request / pm::second}});
}
BENCHMARK(calibrated_service_open);

/// Plan on up to 64 devices, on one thread.
void calibrated_plan(benchmark::State& state) {
  const pm::plan_request q{
      .accelerators = {catalog::h100_sxm},
      .model = catalog::llama_3_70b,
      .gpus = 64,
      .load = {.input_tokens = 2048.0, .output_tokens = 512.0, .arrivals = pm::closed_loop{512.0}},
      .engines = {pm::engine::vllm}};
  const pm::calibrated calibration = pm::calibrated_for(catalog::h100_sxm, pm::engine::vllm);
  long evaluated = 0;
  for (auto _ : state) evaluated += pm::plan(q, calibration).evaluated;
  state.SetItemsProcessed(evaluated);
}
BENCHMARK(calibrated_plan)->Unit(benchmark::kMillisecond);

}  // namespace
