// What an engine adds to a pass: its host's time, its ranks' waiting; by hand, and as properties.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/model/catalog/qwen.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/step.hpp>
#include <string>

namespace unit_engines {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

namespace {

constexpr pm::engine engines[] = {pm::engine::none, pm::engine::vllm, pm::engine::sglang,
                                  pm::engine::trtllm};

pm::deployment llama(const pm::parallel_layout& layout) {
  return {.device = pm::catalog::h100_sxm,
          .model = pm::catalog::llama_3_1_70b,
          .layout = layout,
          .weights = pm::number_format::fp8,
          .activations = pm::fp8};
}

pm::calibrated without_host(pm::calibrated c) {
  c.engine.step_cpu_time = c.engine.sequence_cpu_time = c.engine.rank_wait = pm::duration<>{};
  return c;
}
pm::calibrated round_host() {
  pm::calibrated c = without_host(pm::calibrated_for(pm::catalog::h100_sxm));
  c.engine.step_cpu_time = 1000.0 * pm::us;
  c.engine.sequence_cpu_time = 10.0 * pm::us;
  c.engine.rank_wait = 5.0 * pm::us;
  return c;
}

}  // namespace

TEST_CASE("engines: a library has no host, and its ranks do not wait", "[engines]") {
  const pm::deployment d = llama({.tensor = 8});
  const pm::calibrated calibration = pm::calibrated_for(d.device);
  const pm::estimate e = step(d, {.batch = 64, .context = 4096}, calibration);
  CHECK(e.terms.find("host") == nullptr);
  CHECK(e.time == step(d, {.batch = 64, .context = 4096}, without_host(calibration)).time);
}

TEST_CASE("engines: kernels of layers that no operator counts, by hand", "[engines]") {
  // DeepSeek-R1: 61 layers, 58 of them with routed experts. Llama 3.1 70B: 80 dense layers.
  const pm::deployment r1{
      .device = pm::catalog::h100_sxm, .model = pm::catalog::deepseek_r1, .layout = {.tensor = 8}};
  pm::calibrated layers = pm::calibrated_for(pm::catalog::h100_sxm);
  const pm::calibrated none = layers;
  layers.engine.layer_time = 10.0 * pm::us;
  layers.engine.expert_layer_time = 100.0 * pm::us;
  const auto more = [&](const pm::deployment& d, const pm::iteration& i) {
    return (step(d, i, layers).time - step(d, i, none).time).value();
  };
  const pm::iteration decode{.batch = 8, .context = 1000}, prompt{.prefill_tokens = 500};
  for (const pm::iteration& i : {decode, prompt}) {
    CHECK(std::abs(more(r1, i) / (61 * 10e-6 + 58 * 100e-6) - 1.0) < 1e-9);
    CHECK(std::abs(more(llama({.tensor = 8}), i) / (80 * 10e-6) - 1.0) < 1e-9);
  }
  CHECK(std::abs(prepare(r1, layers).step_time(decode) / step(r1, decode, layers).time - 1.0) <
        1e-12);
}

TEST_CASE("engines: layers that a prefill launches one by one, by hand", "[engines]") {
  // DeepSeek-R1: 61 layers of latent attention. Qwen3.5 397B: 45 of 60 layers are recurrent.
  const auto on_eight = [](const pm::transformer& m) {
    return pm::deployment{.device = pm::catalog::h200_sxm, .model = m, .layout = {.tensor = 8}};
  };
  pm::calibrated c = pm::calibrated_for(pm::catalog::h200_sxm);
  const pm::calibrated none = c;
  c.engine.latent_layer_time = 10.0 * pm::us;
  c.engine.prefill_latent_layer_time = 100.0 * pm::us;
  c.engine.prefill_recurrent_layer_time = 1000.0 * pm::us;
  const auto more = [&](const pm::deployment& d, const pm::iteration& i) {
    const double ms = 1e3 * (step(d, i, c).time - step(d, i, none).time).value();
    CHECK(std::abs(1e3 * (prepare(d, c).step_time(i) - prepare(d, none).step_time(i)).value() -
                   ms) < 1e-9);
    return ms;
  };
  const pm::iteration decode{.batch = 8, .context = 1000}, prompt{.prefill_tokens = 500};
  const pm::iteration both{.batch = 8, .context = 1000, .prefill_tokens = 500};
  CHECK(std::abs(more(on_eight(pm::catalog::deepseek_r1), prompt) - 6.71) < 1e-9);
  CHECK(std::abs(more(on_eight(pm::catalog::deepseek_r1), both) - 6.71) < 1e-9);
  CHECK(std::abs(more(on_eight(pm::catalog::deepseek_r1), decode) - 0.61) < 1e-9);
  pm::deployment no_blocks = on_eight(pm::catalog::deepseek_r1);
  no_blocks.weights = pm::bf16;
  CHECK(more(no_blocks, decode) == 0.0);
  CHECK(std::abs(more(on_eight(pm::catalog::qwen_3_5_397b_a17b), prompt) - 45.0) < 1e-9);
  CHECK(more(on_eight(pm::catalog::qwen_3_5_397b_a17b), decode) == 0.0);
  CHECK(more(on_eight(pm::catalog::llama_3_1_70b), prompt) == 0.0);
}

TEST_CASE("engines: longer kernels hide the launches of prefilled experts, by hand", "[engines]") {
  // Qwen3-235B: 94 layers of experts, 188 ms of launches with MXFP4 weights.
  pm::deployment d{.device = pm::catalog::h200_sxm,
                   .model = pm::catalog::qwen_3_235b_a22b,
                   .layout = {.tensor = 8}};
  d.weights = pm::weight_storage(pm::catalog::mxfp4);
  pm::calibrated c = pm::calibrated_for(pm::catalog::h200_sxm);
  const pm::calibrated none = c;
  c.engine.prefill_expert_launch_time = 2.0 * pm::ms;
  const pm::iteration decode{.batch = 8, .context = 1000}, prompt{.prefill_tokens = 500};
  const pm::iteration both{.batch = 8, .context = 1000, .prefill_tokens = 500};
  const pm::iteration long_prompt{.prefill_tokens = 32768};
  for (const pm::iteration& i : {prompt, both}) {
    CHECK(std::abs(1e3 * step(d, i, c).time.value() - 188.0) < 1e-9);
    CHECK(std::abs(1e3 * prepare(d, c).step_time(i).value() - 188.0) < 1e-9);
    CHECK(step(d, i, none).time < 188.0 * pm::ms);
  }
  CHECK(step(d, long_prompt, none).time > 188.0 * pm::ms);
  for (const pm::iteration& i : {decode, long_prompt})
    CHECK(step(d, i, c).time == step(d, i, none).time);
  pm::deployment dense = llama({.tensor = 8});
  dense.device = d.device;
  CHECK(step(dense, prompt, c).time == step(dense, prompt, none).time);
  d.weights = pm::fp8;
  CHECK(step(d, prompt, c).time == step(d, prompt, none).time);
  using pm::catalog::b200_sxm, pm::catalog::h200_sxm;
  const auto launch_time = [](const pm::accelerator& a, pm::engine e) {
    return pm::calibrated_for(a, e).engine.prefill_expert_launch_time.value();
  };
  CHECK(launch_time(h200_sxm, pm::engine::trtllm) > 0.0);
  CHECK(launch_time(b200_sxm, pm::engine::trtllm) == 0.0);
  CHECK(launch_time(h200_sxm, pm::engine::vllm) == 0.0);
}

TEST_CASE("engines: the release of a profile is that of its measurements", "[engines]") {
  using namespace pm::catalog;
  const auto software = [](const pm::accelerator& a, pm::engine e, pm::profile_part p) {
    const pm::measured_releases* r = pm::calibrated_for(a, e).note(p).releases;
    return std::string(r == nullptr ? "" : r->software);
  };
  CHECK(software(h100_sxm, pm::engine::vllm, pm::profile_part::gemms) ==
        "vLLM 0.24, TensorRT-LLM 1.3");
  CHECK(software(a100_sxm_80gb, pm::engine::vllm, pm::profile_part::gemms) ==
        "SGLang 0.5.10, TensorRT-LLM 1.0");
  CHECK(software(a100_sxm_80gb, pm::engine::vllm, pm::profile_part::attention) == "vLLM 0.14");
  CHECK(software(h20, pm::engine::vllm, pm::profile_part::gemms) ==
        software(h100_sxm, pm::engine::vllm, pm::profile_part::gemms));
  CHECK(software(mi300x, pm::engine::vllm, pm::profile_part::experts) == "AITER e4048607");
  CHECK(software(mi300x, pm::engine::vllm, pm::profile_part::attention).empty());
  CHECK(software(l40s, pm::engine::vllm, pm::profile_part::links).empty());
  // Source: versions and dates in the tables of services.
  const auto services = [](const pm::accelerator& a, pm::engine e) {
    return *pm::calibrated_for(a, e).engine.releases;
  };
  CHECK(services(h200_sxm, pm::engine::vllm).newest == pm::release_number{0, 18});
  CHECK(services(h200_sxm, pm::engine::sglang).oldest == pm::release_number{0, 5, 3});
  CHECK(services(mi355x, pm::engine::sglang).newest == pm::release_number{0, 5, 7});
  CHECK(services(b200_sxm, pm::engine::trtllm).until.year == 2026);
  CHECK(pm::calibrated_for(h200_sxm).engine.releases == nullptr);
}

TEST_CASE("engines: fp8 blocks delay the initial burst of a run by compile_time", "[engines]") {
  pm::deployment d{.device = pm::catalog::h200_sxm,
                   .model = pm::catalog::deepseek_r1,
                   .layout = {.tensor = 8},
                   .serving_engine = pm::engine::sglang};
  pm::calibrated c = pm::calibrated_for(d);
  const pm::service_load l{.input_tokens = 1000,
                           .output_tokens = 200,
                           .arrivals = pm::closed_loop{.concurrency = 4, .requests = 40}};
  const auto later = [&] {
    c.engine.compile_time = {};
    const pm::duration<> warm = serving(d, l, c).ttft;
    c.engine.compile_time = 1.0 * pm::second;
    return (serving(d, l, c).ttft - warm).value();
  };
  CHECK(std::abs(later() - 0.1) < 1e-9);  // 4 of 40 requests are the initial burst
  d.weights = pm::fp8;                    // a scale per tensor
  CHECK(later() == 0.0);
}

TEST_CASE("engines: SGLang's layers on Instinct, by hand", "[engines]") {
  const auto profile = [](const pm::accelerator& a, pm::engine e) {
    return pm::calibrated_for(a, e).engine;
  };
  const auto us = [](const pm::duration<>& t) { return t.value() * 1e6; };
  const auto cdna3 = profile(pm::catalog::mi300x, pm::engine::sglang);
  const auto cdna4 = profile(pm::catalog::mi355x, pm::engine::sglang);
  CHECK(std::abs(us(cdna3.layer_time + cdna3.expert_layer_time) - 280.0) < 1e-9);
  CHECK(std::abs(us(cdna4.layer_time + cdna4.expert_layer_time) - 70.0) < 1e-9);
  CHECK(us(profile(pm::catalog::mi300x, pm::engine::vllm).layer_time) == 11.0);
  CHECK(profile(pm::catalog::h200_sxm, pm::engine::vllm).layer_time.value() == 0.0);
}

TEST_CASE("engines: a request joins the decode pool after pool_iterations steps", "[engines]") {
  const pm::deployment one = llama({.tensor = 4});
  const pm::disaggregated pools{.prefill = {one, 1.0},
                                .decode = {one, 1.0},
                                .link = {.bandwidth_per_device = 50.0 * pm::GB_per_s}};
  pm::calibrated calibration = pm::calibrated_for(one.device);
  pm::service_load load{.input_tokens = 1000, .output_tokens = 200};
  load.arrivals = pm::closed_loop{.concurrency = 1};
  const auto before = pm::serving(pools, load, calibration);
  calibration.engine.pool_iterations = 16.0;
  const auto after = pm::serving(pools, load, calibration);
  // One request: 16 steps of one sequence more before its first token, none between tokens.
  CHECK(std::abs((after.ttft - before.ttft) / (16.0 * before.itl) - 1.0) < 1e-9);
  CHECK(std::abs((after.e2e - before.e2e) / (16.0 * before.itl) - 1.0) < 1e-9);
  CHECK(after.itl == before.itl);
}

TEST_CASE("engines: CPU time per step and per sequence, by hand", "[engines]") {
  const pm::iteration i{.batch = 64, .context = 4096};
  const auto host = [&](const pm::parallel_layout& layout) {
    return step(llama(layout), i, round_host()).terms["host"].value();
  };
  CHECK_THAT(host({}), WithinRel(1000e-6 + 64 * 10e-6, 1e-12));
  CHECK_THAT(host({.tensor = 8}), WithinRel(1640e-6, 1e-12));
  CHECK_THAT(host({.data = 4}), WithinRel(1000e-6 + 16 * 10e-6, 1e-12));
  // Two stages, of 32 sequences each.
  CHECK_THAT(host({.pipeline = 2}), WithinRel(2.0 * (1000e-6 + 32 * 10e-6), 1e-12));
}

TEST_CASE("engines: ranks wait once for each collective", "[engines]") {
  const pm::iteration i{.batch = 64, .context = 4096};
  const auto waiting = [&](const pm::deployment& d) {
    pm::calibrated calm = round_host();
    calm.engine.rank_wait = pm::duration<>{};
    return (step(d, i, round_host()).time - step(d, i, calm).time).value();
  };
  CHECK(waiting(llama({})) == 0.0);
  CHECK_THAT(waiting(llama({.tensor = 8})), WithinRel(160 * 5e-6, 1e-9));
  pm::deployment r1 = llama({.expert = 8, .data = 8});
  r1.model = pm::catalog::deepseek_r1;
  CHECK_THAT(waiting(r1), WithinRel(2 * 58 * 5e-6, 1e-9));  // dispatch and combine
  r1.layout = {.tensor = 8};
  CHECK_THAT(waiting(r1), WithinRel(2 * 61 * 5e-6, 1e-9));
}

TEST_CASE("engines: slower than without its host, and never quicker with more sequences",
          "[engines]") {
  for (const pm::engine by : engines) {
    INFO(pm::name_of(by));
    const pm::calibrated calibration = pm::calibrated_for(pm::catalog::h100_sxm, by);
    double before = 0.0;
    for (const double batch : {1.0, 2.0, 7.0, 32.0, 100.0, 256.0}) {
      const pm::deployment d = llama({.tensor = 4});
      const double t = step(d, {.batch = batch, .context = 2048}, calibration).time.value();
      CHECK(t >= before);
      CHECK(t >=
            step(d, {.batch = batch, .context = 2048}, without_host(calibration)).time.value());
      before = t;
    }
  }
}

TEST_CASE("engines: a host that takes no time still has a derivative", "[engines]") {
  using point = pm::dual<1>;
  auto calibration = pm::lift<point>(pm::calibrated_for(pm::catalog::h100_sxm));
  calibration.engine.step_cpu_time = point::variable(0.0, 0) * pm::us;
  const auto e =
      step(pm::lift<point>(llama({.tensor = 8})),
           pm::basic_iteration<point>{.batch = point(8.0), .context = point(512.0)}, calibration);
  CHECK_THAT(e.time.value().partial(0), WithinRel(1e-6, 1e-12));
}

}  // namespace unit_engines
