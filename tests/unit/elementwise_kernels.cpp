// Small kernels of a pass, counted by hand, and where a prediction has them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <map>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/hardware/catalog/nvidia_rtx.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/model/catalog/qwen.hpp>
#include <perfmodel/step.hpp>

namespace unit_elementwise_kernels {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;
using pm::elementwise_kernel;

namespace {

/// 16-bit elements that all kernels of a kind move in a pass, and how many kernels.
struct moved {
  double times = 0, elements = 0;
};
std::map<elementwise_kernel, moved> moved_by(const pm::deployment& d, const pm::iteration& i) {
  std::map<elementwise_kernel, moved> by;
  pm::for_each_elementwise_kernel(d, i, [&](elementwise_kernel k, double times, const auto& w) {
    by[k].times += times;
    by[k].elements += times * demand_of(w).dram.total().value() / 2;
  });
  return by;
}
pm::deployment llama(int tensor = 1) {
  return {.device = pm::catalog::rtx_pro_6000,
          .model = pm::catalog::llama_3_1_8b,
          .layout = {.tensor = tensor}};
}

}  // namespace

TEST_CASE("element-wise kernels of Llama 3.1 8B by hand") {
  // 10 sequences and a prompt of 90 tokens: 100 rows of 4096, 32 + 8 heads of 128, 32 layers.
  const pm::iteration i{.batch = 10, .context = 500, .prefill_tokens = 90};
  auto by = moved_by(llama(), i);
  CHECK(by[elementwise_kernel::residual].times == 64.0);
  CHECK(by[elementwise_kernel::residual].elements == 64.0 * 2 * 100 * 4096);
  CHECK(by[elementwise_kernel::rotary].times == 32.0);
  CHECK(by[elementwise_kernel::rotary].elements == 32.0 * 2 * 100 * 40 * 128);
  CHECK(by[elementwise_kernel::cache_write].elements == 32.0 * 2 * 100 * 8 * 256);
  CHECK(by[elementwise_kernel::activation].elements == 32.0 * 3 * 100 * 14336);
  CHECK(by.count(elementwise_kernel::head_norm) == 0);
  // fp32 logits of 10 tokens and the prompt's last, read once
  CHECK(by[elementwise_kernel::sampler].times == 1.0);
  CHECK(by[elementwise_kernel::sampler].elements == 11.0 * 128256 * 2);

  auto halves = moved_by(llama(2), i);
  for (const elementwise_kernel k : {elementwise_kernel::rotary, elementwise_kernel::cache_write,
                                     elementwise_kernel::activation}) {
    CHECK(halves[k].elements == by[k].elements / 2);
    CHECK(halves[k].times == by[k].times);
  }
  CHECK(halves[elementwise_kernel::residual].elements == by[elementwise_kernel::residual].elements);
}

TEST_CASE("element-wise kernels: norms of heads, a latent, and experts that have their own") {
  const pm::iteration i{.batch = 10, .context = 500};
  pm::deployment d = llama();
  d.model = pm::catalog::qwen_3_30b_a3b;
  auto qwen = moved_by(d, i);
  CHECK(qwen.count(elementwise_kernel::activation) == 0);
  // 36 heads of 128, and their weights of 128 elements
  CHECK(qwen[elementwise_kernel::head_norm].elements == 48.0 * (2 * 10 * 36 * 128 + 128));
  d.model = pm::catalog::deepseek_v3;
  auto deepseek = moved_by(d, i);
  CHECK(deepseek[elementwise_kernel::rotary].elements == 61.0 * 2 * 10 * 129 * 64);
  CHECK(deepseek[elementwise_kernel::cache_write].elements == 61.0 * 2 * 10 * 576);
  CHECK(deepseek[elementwise_kernel::activation].times == 3.0);
}

TEST_CASE(
    "element-wise kernels: a rank of two, with one norm over all its heads or a shared cache") {
  // 100 rows of 64; 8 heads and 4 KV heads of 16, with values of 24: 4 and 2 a rank.
  pm::attention_shape a{
      .query_heads = 8, .kv_heads = 4, .head_dim = 16, .value_dim = 24.0, .qk_norm_whole = true};
  pm::deployment d = llama(2);
  const auto ask = [&](const pm::mixer_shape& mixer, bool gated = true) {
    const pm::dense_shape x{.intermediate = 96, .gated = gated};
    d.model = {.hidden = 64, .vocabulary = 1000, .layers = {{3, mixer, x}}};
    return moved_by(d, {.batch = 100, .context = 500});
  };
  auto by = ask(a);
  CHECK(by[elementwise_kernel::rotary].elements == 3 * 2 * 100 * 6 * 16);
  CHECK(by[elementwise_kernel::head_norm].elements == 3 * (2 * 100 + 1) * 6 * 16);
  CHECK(by[elementwise_kernel::cache_write].elements == 3 * 2 * 100 * 2 * 40);
  a.shares_cache = true;
  a.qk_norm = true;
  by = ask(a);
  CHECK(by[elementwise_kernel::rotary].elements == 3 * 2 * 100 * 4 * 16);
  CHECK(by[elementwise_kernel::head_norm].elements == 3 * (2 * 100 * 4 + 1) * 16);
  CHECK(by.count(elementwise_kernel::cache_write) == 0);
  // Queries of 4 heads and one key of 8; a latent of 32 and 8, whole.
  by = ask(pm::latent_attention_shape{
      .query_heads = 8, .head_dim = 24, .value_dim = 20, .kv_rank = 32, .rope_dim = 8});
  CHECK(by[elementwise_kernel::rotary].elements == 3 * 2 * 100 * 5 * 8);
  CHECK(by[elementwise_kernel::cache_write].elements == 3 * 2 * 100 * 40);
  // Gate, up and their product, 48 of 96 values; up alone where there is no gate.
  CHECK(by[elementwise_kernel::activation].elements == 3 * 3 * 100 * 48);
  by = ask(a, false);
  CHECK(by[elementwise_kernel::activation].elements == 3 * 2 * 100 * 48);
}

TEST_CASE("element-wise kernels: one by hand") {
  const pm::machine_parameters m = pm::catalog::profile_rtx_pro_6000.value;
  const pm::accelerator& a = pm::catalog::rtx_pro_6000;
  const pm::elementwise_kernels s{.kernel_time = 2 * pm::us,
                                  .head_norm_cycles = 2,
                                  .sampler_floor = 20 * pm::us,
                                  .sampler_passes = 3};
  // 4 MB are in the 128 MiB of L2 whole.
  const pm::elementwise x{.elements = 1e6};
  const double bytes = 4e6 / 3.99e12;
  const auto time = [&](elementwise_kernel k, const auto& w) {
    return pm::elementwise_kernel_time(a, k, w, m, s).value();
  };
  CHECK_THAT(time(elementwise_kernel::rotary, x), WithinRel(2e-6 + bytes, 1e-5));
  CHECK_THAT(time(elementwise_kernel::residual, x), WithinRel(bytes, 1e-5));
  CHECK_THAT(time(elementwise_kernel::sampler, x), WithinRel(20e-6 + 3 * bytes, 1e-5));
  // 2 cycles for each of 1e6 elements on 188 SMs at 2.43 GHz are 4.4 us: much more than their
  // bytes.
  const pm::norm heads{.rows = 1e6 / 128, .width = 128};
  CHECK(time(elementwise_kernel::head_norm, heads) > 2e-6 + 2e6 / (188 * 2.43e9));
  CHECK(time(elementwise_kernel::head_norm, heads) < 2e-6 + 1.1 * 2e6 / (188 * 2.43e9));
}

TEST_CASE("element-wise kernels: a prediction has those that were measured, a bound none") {
  const pm::iteration i{.batch = 16, .context = 1000, .prefill_tokens = 512};
  const pm::calibrated with = pm::calibrated_for(pm::catalog::rtx_pro_6000, pm::engine::vllm);
  pm::calibrated without = with;
  without.elementwise_kernels = {};
  double small = 0;
  pm::for_each_elementwise_kernel(
      llama(), i, [&](elementwise_kernel k, double times, const auto& w) {
        if (k == elementwise_kernel::cache_write) return;  // not measured
        small += times * pm::elementwise_kernel_time(llama().device, k, w, with.machine,
                                                     with.elementwise_kernels)
                             .value();
      });
  const auto has = pm::step(llama(), i, with), has_not = pm::step(llama(), i, without);
  CHECK(small > 0.5e-3);
  // Norms find in L2 what was written for them, so the difference is a little less.
  CHECK(has.terms["other"].value() < has_not.terms["other"].value() + small);
  CHECK(has.terms["other"].value() > small);
  CHECK(has.terms["linear"].value() == has_not.terms["linear"].value());
  CHECK_FALSE(
      pm::calibrated_for(pm::catalog::h100_sxm, pm::engine::vllm).elementwise_kernels.has_any());
  CHECK(pm::step_bound(llama(), i).time.value() < has_not.time.value());
}

TEST_CASE("element-wise kernels of a layer on any chip, captured or eager") {
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_1_8b};
  const pm::iteration i{.batch = 16, .context = 1000};
  pm::calibrated calibration = pm::calibrated_for(d.device);
  const double fused = pm::step(d, i, calibration).time.value();
  calibration.elementwise_kernels = pm::unfused_layer_kernels();
  const double captured = pm::step(d, i, calibration).time.value();
  calibration.elementwise_kernels = pm::unfused_layer_kernels(pm::stream_kernel_time);
  const double eager = pm::step(d, i, calibration).time.value();
  CHECK(captured > fused + 96 * 1.0e-6);  // norms find their input in L2 now
  CHECK_THAT(eager - captured, WithinRel(96 * 1.3e-6, 1e-6));
}

TEST_CASE("a chunk in a decode batch is one kernel of a step where it was measured") {
  const pm::calibrated c = pm::calibrated_for(pm::catalog::rtx_pro_6000, pm::engine::vllm);
  const pm::mixed_attention_calibration both{c.machine, *c.mixed_attention};
  const pm::iteration i{.batch = 64, .context = 1000, .prefill_tokens = 512, .prefill_past = 256};
  const pm::attention_prefill x{
      .batch = 1, .tokens = 512, .query_heads = 32, .kv_heads = 8, .head_dim = 128, .past = 256};
  pm::attention_decode y{
      .batch = 64, .context = 1000, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
  const auto of = [&](const pm::iteration& pass) {
    return pm::step(llama(), pass, c).terms["attention"].value();
  };
  const double mixed = calibrated_estimate(pm::catalog::rtx_pro_6000, x, y, both).time.value();
  CHECK_THAT(of(i), WithinRel(32 * mixed, 1e-12));
  CHECK(of(i) >
        of({.batch = 64, .context = 1000}) + of({.prefill_tokens = 512, .prefill_past = 256}));

  // In a mean of passes half of them have the chunk.
  pm::iteration half = i;
  half.prefill_tokens = 256;
  half.prefill_sequences = 0.5;
  half.steady = true;
  const double alone = c.estimate(pm::catalog::rtx_pro_6000, y).time.value();
  CHECK_THAT(of(half), WithinRel(16 * mixed + 16 * alone, 1e-12));

  // Beyond the 128 decodes that were measured each takes what it takes without a chunk.
  pm::iteration many = i;
  many.batch = 200;
  y.batch = 128;
  const double most = calibrated_estimate(pm::catalog::rtx_pro_6000, x, y, both).time.value();
  const double first = c.estimate(pm::catalog::rtx_pro_6000, y).time.value();
  y.batch = 200;
  const double all = c.estimate(pm::catalog::rtx_pro_6000, y).time.value();
  CHECK_THAT(of(many), WithinRel(32 * (most + all - first), 1e-12));

  // Heads of 256 were not measured: two kernels.
  const pm::attention_prefill wide{
      .batch = 1, .tokens = 512, .query_heads = 32, .kv_heads = 8, .head_dim = 256};
  const pm::attention_decode wide_decodes{
      .batch = 64, .context = 1000, .query_heads = 32, .kv_heads = 8, .head_dim = 256};
  CHECK_FALSE(c.mixed_attention_time(pm::catalog::rtx_pro_6000, wide, wide_decodes).has_value());
  CHECK_FALSE(pm::calibrated_for(pm::catalog::h100_sxm).mixed_attention.has_value());
}

TEST_CASE("a step on RTX PRO 6000 is not shorter for more decodes, longer chunks or contexts") {
  const pm::calibrated c = pm::calibrated_for(pm::catalog::rtx_pro_6000, pm::engine::vllm);
  const auto time = [&](double batch, double context, double chunk) {
    const pm::iteration i{.batch = batch, .context = context, .prefill_tokens = chunk};
    return pm::step(llama(), i, c).time.value();
  };
  for (double batch = 1; batch <= 256; batch *= 2) {
    for (double context = 128; context <= 8192; context *= 4) {
      for (double chunk = 16; chunk <= 2048; chunk *= 2) {
        INFO(batch << " decodes over " << context << " beside " << chunk);
        CHECK(time(2 * batch, context, chunk) >= time(batch, context, chunk));
        CHECK(time(batch, 2 * context, chunk) >= time(batch, context, chunk));
        CHECK(time(batch, context, 2 * chunk) >= time(batch, context, chunk));
        CHECK(time(batch, context, chunk) >= time(batch, context, 0));
      }
    }
  }
}

}  // namespace unit_elementwise_kernels
