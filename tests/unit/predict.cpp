// One call for a calibrated prediction of a pass and of a service.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/plan.hpp>

#include "support/near.hpp"

namespace unit_predict {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;

namespace {

const pm::deployment llama{
    .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};

}  // namespace

TEST_CASE("predict: a step has its estimate, its bound and an interval around it") {
  const auto calibration = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  const pm::iteration i{.batch = 32, .context = 4096};
  const auto p = pm::predict(llama, i, calibration);
  CHECK(p.estimate.time == pm::step(llama, i, calibration).time);
  CHECK(p.bound.time == pm::step_bound(llama, i).time);
  CHECK(p.bound.time < p.estimate.time);
  CHECK(p.low < p.estimate.time);
  CHECK(near(p.low.value() * p.high.value(), std::pow(p.estimate.time.value(), 2)));
  // Products, attention and links took part; there are no experts.
  int parts = 0;
  for (const auto& note : p.stands_on) {
    ++parts;
    CHECK(note.part != pm::profile_part::experts);
  }
  CHECK(parts == 3);
}

TEST_CASE("step: a calibration is kernels and links in one argument") {
  const auto calibration = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  const pm::iteration i{.batch = 32, .context = 4096};
  const auto one = pm::step(llama, i, calibration);
  CHECK(one.time == pm::step(llama, i, calibration, calibration.links).time);
  CHECK(one.terms["communication"] >
        pm::step(llama, i, calibration, pm::full_link{}).terms["communication"]);
}

TEST_CASE("predict: the uncertainty of links follows the kernels that sum") {
  using enum pm::collective_kind;
  const pm::calibrated calibration = pm::calibrated_for(pm::catalog::h100_sxm, pm::engine::vllm);
  pm::deployment d;
  d.device = pm::catalog::h100_sxm;
  d.model = pm::catalog::llama_3_1_70b;
  d.layout.tensor = 8;
  const auto kind = [&](const pm::iteration& i) {
    return pm::all_reduce_kind_of(d, i, calibration);
  };
  // 16 KiB a row: 512 of them are 8 MiB.
  const pm::iteration decode{.batch = 64, .context = 4096}, chunk{.prefill_tokens = 8192};
  CHECK(kind(decode) == own_kernels);
  CHECK(kind({.batch = 512, .context = 100}) == own_kernels);
  CHECK(kind({.batch = 513, .context = 100}) == library);
  CHECK(kind(chunk) == library);
  auto two = d;
  two.layout.tensor = 16;
  two.network = pm::catalog::network_of("h100_sxm");
  CHECK(pm::all_reduce_kind_of(two, decode, calibration) == between_nodes);
  CHECK(pm::prefill_all_reduce_kind_of(d,
                                       pm::service_load{.input_tokens = 100, .output_tokens = 10},
                                       calibration) == own_kernels);
  CHECK(pm::prefill_all_reduce_kind_of(d,
                                       pm::service_load{.input_tokens = 8000, .output_tokens = 10},
                                       calibration) == library);
  // The mean of the parts' widths by their time: with that of the kernels that sum.
  for (const pm::iteration& i : {decode, chunk}) {
    const auto p = pm::predict(d, i, calibration);
    const double links = p.estimate.terms["communication"] / p.estimate.time;
    const pm::kind_log_sigmas& stated = calibration.note(pm::profile_part::links).by_kind;
    const auto log_sigma = [&](pm::collective_kind k) {
      return pm::detail::evidence_of_step(d, p.estimate, calibration, k).log_sigma();
    };
    CHECK(p.stands_on.log_sigma() == log_sigma(kind(i)));
    CHECK_THAT((log_sigma(own_kernels) - log_sigma(library)) / links,
               Catch::Matchers::WithinRel(stated[1] - stated[0], 1e-6));
  }
  d.layout.tensor = 1;
  CHECK(kind(decode) == library);
  d.layout.tensor = 7;  // no such kernel
  CHECK(kind(decode) == library);
}

TEST_CASE("predict: a service has an interval around its inter-token latency") {
  const auto calibration = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  const pm::service_load l{
      .input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{64}};
  const auto p = pm::predict(llama, l, calibration);
  CHECK(p.estimate.itl == pm::serving(llama, l, calibration).itl);
  CHECK(p.bound.itl == pm::serving_bound(llama, l).itl);
  CHECK(p.bound.itl < p.estimate.itl);
  CHECK(near(p.low.value() * p.high.value(), std::pow(p.estimate.itl.value(), 2)));
  CHECK(p.high > p.low);
}

TEST_CASE("predict: errors of kernels and of what is around them add as squares") {
  // 0.4 of what kernels are uncertain by is left in a service.
  CHECK(near(pm::service_log_sigma(0.75, 0.4), 0.5));
  const pm::service_uncertainty w{.token = 0.12,
                                  .first_token = 0.33,
                                  .dequantised_experts = 0.05,
                                  .pool_token = 0.4,
                                  .pool_first_token = 1.6};
  CHECK(near(pm::token_log_sigma(0.225, w), 0.15));
  CHECK(near(pm::token_log_sigma(0.0, w, true), 0.13));
  CHECK(near(pm::first_token_log_sigma(1.1, w), 0.55));
  CHECK(near(pm::token_log_sigma(0.75, disaggregated_uncertainty(w)), 0.5));
  CHECK(near(pm::first_token_log_sigma(3.0, disaggregated_uncertainty(w)), 2.0));
}

TEST_CASE("predict: a service is as uncertain as its engine on that maker's accelerators") {
  const auto widths = [](const pm::accelerator& a, pm::engine e) {
    return pm::calibrated_for(a, e).services;
  };
  const auto vllm = widths(cat::h100_sxm, pm::engine::vllm);
  CHECK(vllm.token < widths(cat::h100_sxm, pm::engine::sglang).token);
  CHECK(vllm.token < widths(cat::h100_sxm, pm::engine::trtllm).token);
  for (const pm::engine e : {pm::engine::vllm, pm::engine::sglang, pm::engine::trtllm}) {
    const auto none = widths(cat::h100_sxm, pm::engine::none), amd = widths(cat::mi355x, e);
    CHECK(amd.token == none.token);
    CHECK(amd.first_token == none.first_token);
    CHECK(widths(cat::h100_sxm, e).token < none.token);
    CHECK(widths(cat::gb200, e).token == widths(cat::h100_sxm, e).token);
  }
}

TEST_CASE(
    "predict: experts with dequantised low-precision weights are less certain by engines that were "
    "not measured so") {
  const auto width = [](pm::engine e, const pm::storage_format& experts) {
    pm::deployment d{.device = cat::h200_sxm, .model = cat::gpt_oss_120b, .layout = {.tensor = 2}};
    d.weights = pm::bf16;
    d.weights.experts = experts;
    const pm::service_load l{
        .input_tokens = 1024, .output_tokens = 512, .arrivals = pm::closed_loop{16}};
    const auto p = pm::predict(d, l, pm::calibrated_for(d.device, e));
    return std::log(p.high / p.low);
  };
  const pm::storage_format mxfp4(pm::number_format::fp4, 32, 8);
  CHECK(width(pm::engine::sglang, mxfp4) > 1.4 * width(pm::engine::sglang, pm::bf16));
  // Measured in vLLM's services, and as kernels that TensorRT-LLM has too.
  CHECK(width(pm::engine::vllm, mxfp4) < 1.2 * width(pm::engine::vllm, pm::bf16));
  CHECK(width(pm::engine::trtllm, mxfp4) < 1.2 * width(pm::engine::trtllm, pm::bf16));
}

TEST_CASE("plan: takes a function from an accelerator to its calibration") {
  const pm::plan_request q{
      .accelerators = {cat::h100_sxm, cat::h200_sxm},
      .model = cat::llama_3_8b,
      .gpus = 2,
      .load = {.input_tokens = 512, .output_tokens = 128, .arrivals = pm::closed_loop{8}},
      .precisions = {{"bf16"}}};
  const auto r = pm::plan(q, [](const pm::accelerator& a) { return pm::calibrated_for(a); });
  REQUIRE(r.best);
  for (const auto& p : r.frontier) {
    const auto d = pm::deployment_of(q, p);
    CHECK(p.serving.itl == pm::serving(d, pm::load_of(q, p), pm::calibrated_for(d.device)).itl);
  }
}

}  // namespace unit_predict
