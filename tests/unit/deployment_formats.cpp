// The formats that a deployment runs in where it states none, and what the names of formats stand
// for.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/step/memory.hpp>
#include <string>

namespace unit_deployment_formats {

namespace pm = perfmodel;
namespace catalog = pm::catalog;
using Catch::Matchers::WithinRel;
using pm::engine;
using pm::machine_kind;
using enum pm::number_format;

namespace {

// Llama 3 70B: 80 layers of 2 x 8192^2 + 2 x 8192 x 1024 + 3 x 8192 x 28672 weights in matrices.
constexpr double matrices = 80.0 * (2.0 * 8192 * 8192 + 2.0 * 8192 * 1024 + 3.0 * 8192 * 28672);
constexpr double others = 70553706496.0 - matrices;

constexpr pm::deployment llama(const pm::accelerator& a, const pm::weight_storage& weights) {
  return {.device = a, .model = catalog::llama_3_70b, .weights = weights};
}
double stored_bytes(const pm::accelerator& a, const pm::weight_storage& weights) {
  return pm::weight_bytes_per_device(llama(a, weights)).value();
}

constexpr pm::deployment deepseek{
    .device = catalog::h200_sxm, .model = catalog::deepseek_v3, .layout = {.tensor = 8}};

}  // namespace

// At compile time, and with designated initialisers of the bare formats.
static_assert(formats_of(deepseek).linear.format == fp8);
static_assert(
    formats_of(pm::deployment{
                   .device = catalog::h100_sxm, .weights = fp8, .activations = bf16, .kv = fp8})
        .linear.format == bf16);
static_assert(pm::storage_of(fp4).bits() == 4.5);
static_assert(pm::storage_of(fp4, machine_kind::gpu_amd).bits() == 4.25);
static_assert(pm::storage_of(int4).bits() == 4.125);
static_assert(pm::storage_of(fp8) == pm::storage_format(fp8));
static_assert(pm::without_scales(int4).bits() == 4.0);

TEST_CASE("names of 4-bit formats stand for block scales, by the accelerator") {
  const auto bytes = [](double bits) { return matrices * bits / 8.0 + 2.0 * others; };
  CHECK_THAT(stored_bytes(catalog::b200_sxm, fp4), WithinRel(bytes(4.5), 1e-12));
  CHECK_THAT(stored_bytes(catalog::h100_sxm, fp4), WithinRel(bytes(4.5), 1e-12));
  CHECK_THAT(stored_bytes(catalog::mi355x, fp4), WithinRel(bytes(4.25), 1e-12));
  CHECK_THAT(stored_bytes(catalog::h100_sxm, int4), WithinRel(bytes(4.125), 1e-12));
  CHECK_THAT(stored_bytes(catalog::h100_sxm, fp8), WithinRel(bytes(8.0), 1e-12));
  // Storage that is stated stays as it is.
  CHECK_THAT(stored_bytes(catalog::h100_sxm, pm::storage_format(int4, 32, 16)),
             WithinRel(bytes(4.5), 1e-12));
  CHECK_THAT(stored_bytes(catalog::mi355x, pm::storage_format(fp4, 16, 8)),
             WithinRel(bytes(4.5), 1e-12));
  CHECK_THAT(stored_bytes(catalog::h100_sxm, pm::without_scales(int4)),
             WithinRel(bytes(4.0), 1e-12));
  // Without an accelerator, NVFP4.
  CHECK_THAT(pm::weight_bytes(catalog::llama_3_70b, fp4).value(), WithinRel(bytes(4.5), 1e-12));
}

TEST_CASE("a step reads the bytes that the device stores, whatever the format") {
  for (const pm::number_format f : {bf16, fp8, int4, fp4}) {
    const pm::deployment d = llama(catalog::b200_sxm, f);
    CAPTURE(pm::name_of(f));
    double read = 0.0;
    pm::for_each_operator(d, pm::iteration{.batch = 1.0, .context = 100.0},
                          [&](const auto& o) { read += o.times * o.weights.value(); });
    // All but the table of input embeddings and the norms.
    const double table = 128256.0 * 8192.0, norms = 161.0 * 8192.0;
    CHECK_THAT(read, WithinRel(stored_bytes(catalog::b200_sxm, f) - 2.0 * (table + norms), 1e-9));
  }
}

TEST_CASE("a cache in fp4 has block scales too") {
  pm::deployment d = llama(catalog::b200_sxm, bf16);
  d.kv = fp4;
  const double elements = 80.0 * 2.0 * 8.0 * 128.0;
  CHECK_THAT(pm::kv_bytes_per_token_and_device(d).value(), WithinRel(elements * 4.5 / 8.0, 1e-12));
  CHECK(formats_of(d).kv == pm::storage_format(fp4, 16, 8));
}

TEST_CASE("a quantised checkpoint runs in its engine's formats, stated or not") {
  pm::deployment stated = deepseek;
  stated.activations = fp8;
  stated.kv = bf16;
  const pm::iteration prompt{.prefill_tokens = 8192.0};
  CHECK(pm::step_bound(deepseek, prompt).time == pm::step_bound(stated, prompt).time);
  stated.activations = bf16;
  CHECK(pm::step_bound(deepseek, prompt).time < pm::step_bound(stated, prompt).time);
  CHECK(formats_of(stated).linear.format == bf16);
  CHECK(std::string(formats_of(stated).linear.why) == "given");

  pm::deployment experts{.device = catalog::b200_sxm, .model = catalog::gpt_oss_120b};
  CHECK(formats_of(experts).linear.format == bf16);
  CHECK(formats_of(experts).experts.format == fp8);
  experts.activations = fp16;
  CHECK(formats_of(experts).experts.format == fp16);
  experts.expert_activations = bf16;
  CHECK(formats_of(experts).experts.format == bf16);
}

TEST_CASE("formats follow the accelerator that a deployment is moved to") {
  pm::deployment d = deepseek;
  d.device = catalog::a100_sxm_80gb;  // without fp8
  CHECK(formats_of(d).linear.format == bf16);
  d = llama(catalog::b200_sxm, fp4);
  CHECK(formats_of(d).linear.format == fp4);
  d.device = catalog::h100_sxm;
  CHECK(formats_of(d).linear.format == bf16);
  d.device = catalog::mi355x;
  CHECK(formats_of(d).linear.format == fp4);
  CHECK(formats_of(d).weights.linear == pm::storage_format(fp4, 32, 8));
}

TEST_CASE("TensorRT-LLM runs checkpoints of Model Optimizer with an fp8 cache") {
  const auto cache = [](const pm::accelerator& a, const pm::weight_storage& w, engine by) {
    pm::deployment d = llama(a, w);
    d.serving_engine = by;
    return formats_of(d).kv;
  };
  CHECK(cache(catalog::h100_sxm, fp8, engine::trtllm) == pm::storage_format(fp8));
  CHECK(cache(catalog::b200_sxm, fp4, engine::trtllm) == pm::storage_format(fp8));
  CHECK(cache(catalog::h100_sxm, bf16, engine::trtllm) == pm::storage_format(bf16));
  CHECK(cache(catalog::h100_sxm, int4, engine::trtllm) == pm::storage_format(bf16));
  CHECK(cache(catalog::h100_sxm, catalog::fp8_blocks, engine::trtllm) == pm::storage_format(bf16));
  CHECK(cache(catalog::a100_sxm_80gb, fp8, engine::trtllm) == pm::storage_format(bf16));
  for (const engine by : {engine::none, engine::vllm, engine::sglang}) {
    CHECK(cache(catalog::h100_sxm, fp8, by) == pm::storage_format(bf16));
  }
}

TEST_CASE("a plan's precisions store what a deployment with the same names stores") {
  for (const pm::plan_precision& p : pm::common_precisions()) {
    CAPTURE(p.name.c_str());
    pm::plan_request q;
    q.model = catalog::llama_3_70b;
    const pm::deployment d =
        pm::detail::deployment_of(q, catalog::b200_sxm, p, {}, engine::vllm, {});
    const pm::deployment again =
        llama(catalog::b200_sxm, {p.weights.linear.format, p.weights.others});
    CHECK(pm::weight_bytes_per_device(d) == pm::weight_bytes_per_device(again));
    CHECK(formats_of(d).weights.linear == formats_of(again).weights.linear);
  }
}

}  // namespace unit_deployment_formats
