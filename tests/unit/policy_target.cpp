// A calibration knows its accelerator and its engine, and laws refuse another deployment.
#include <algorithm>
#include <catch2/catch_all.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/plan.hpp>
#include <string>
#include <vector>

namespace unit_policy_target {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

pm::deployment on(const pm::accelerator& a, pm::engine e = pm::engine::none) {
  return {.device = a, .model = cat::llama_3_8b, .serving_engine = e};
}
constexpr pm::iteration decode{.batch = 8, .context = 1000};
const pm::service_load load{
    .input_tokens = 500, .output_tokens = 50, .arrivals = pm::closed_loop{4}};

/// Whether a law refuses with `inconsistent` in a message that has all words.
template <class Law>
bool says(const Law& law, const std::vector<std::string>& words) {
  try {
    law();
  } catch (const pm::error& e) {
    const std::string text = e.what();
    return e.code() == pm::error_code::inconsistent &&
           std::all_of(words.begin(), words.end(),
                       [&](const std::string& w) { return text.find(w) != std::string::npos; });
  }
  return false;
}

}  // namespace

TEST_CASE("a calibration of a deployment is that of its accelerator and engine") {
  const pm::deployment d = on(cat::h100_sxm, pm::engine::sglang);
  CHECK(pm::step(d, decode, pm::calibrated_for(d)).time ==
        pm::step(d, decode, pm::calibrated_for(cat::h100_sxm, pm::engine::sglang)).time);
}

TEST_CASE("a calibration of another accelerator is refused") {
  const pm::calibrated a100 = pm::calibrated_for(cat::a100_sxm_80gb);
  const pm::deployment d = on(cat::h200_sxm);
  const std::vector<std::string> words{"policy: calibrated for a100_sxm_80gb",
                                       "the deployment is on h200_sxm",
                                       "allowed: calibrated_for(deployment)"};
  CHECK(says([&] { pm::step(d, decode, a100); }, words));
  CHECK(says([&] { pm::serving(d, load, a100); }, words));
  CHECK(says([&] { pm::predict(d, decode, a100); }, words));
  CHECK(says([&] { pm::predict(d, load, a100); }, words));
  const pm::plan_request q{.accelerators = {cat::h200_sxm}, .model = cat::llama_3_8b, .load = load};
  CHECK(says([&] { pm::plan(q, a100); }, words));
  // One architecture, another chip.
  CHECK_THROWS_AS(pm::step(d, decode, pm::calibrated_for(cat::h100_sxm)), pm::error);
}

TEST_CASE("a changed copy, a policy made by hand and a data sheet are accepted") {
  pm::accelerator faster = cat::h100_sxm;
  faster.dram.bandwidth = 5.0 * pm::TB_per_s;
  const pm::calibrated h100 = pm::calibrated_for(cat::h100_sxm);
  CHECK(pm::step(on(faster), decode, h100).time < pm::step(on(cat::h100_sxm), decode, h100).time);
  pm::calibrated by_hand = h100;
  by_hand.target = {};
  CHECK_NOTHROW(pm::step(on(cat::h200_sxm), decode, by_hand));
  CHECK_NOTHROW(pm::step(on(cat::h200_sxm), decode, pm::derated{}));
}

TEST_CASE("a calibration under another engine is refused, and none fits every engine") {
  const pm::deployment d = on(cat::h100_sxm, pm::engine::trtllm);
  const pm::calibrated vllm = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  const std::vector<std::string> words{"policy: calibrated for vllm", "serving_engine is trtllm"};
  CHECK(says([&] { pm::step(d, decode, vllm); }, words));
  CHECK(says([&] { pm::serving(d, load, vllm); }, words));
  CHECK_NOTHROW(pm::step(d, decode, pm::calibrated_for(cat::h100_sxm)));
  CHECK_NOTHROW(pm::step(on(cat::h100_sxm), decode, vllm));
}

}  // namespace unit_policy_target
