// Elasticities of composed answers: what is the limit, and what is not.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/serving.hpp>
#include <string>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_sensitivity {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;
using scalar = pm::dual<5>;

namespace {

pm::basic_deployment<scalar> llama_on(const pm::basic_accelerator<scalar>& a, int tensor) {
  auto d = pm::lift<scalar>(pm::deployment{
      .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = tensor}});
  d.device = a;
  return d;
}

}  // namespace

TEST_CASE("sensitivity: the shares of a step's time are its elasticities") {
  const pm::deployment plain{
      .device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
  const auto decode = pm::elasticities(cat::h100_sxm, [](const auto& a) {
    return pm::step_bound(llama_on(a, 8), pm::basic_iteration<scalar>{.batch = 32, .context = 4096})
        .time;
  });
  const auto e = pm::step_bound(plain, {.batch = 32, .context = 4096});
  CHECK(std::string(decode[2].resource) == "dram.bandwidth");
  CHECK(near(decode[2].value, -(e.terms["weights"] + e.terms["kv_cache"]) / e.time));
  CHECK(near(decode[4].value, -(e.terms["communication"] / e.time)));
  CHECK(decode[0].value == 0.0);
  CHECK(decode[1].value == 0.0);
  CHECK(decode[3].value == 0.0);
  const auto prefill = pm::elasticities(cat::h100_sxm, [](const auto& a) {
    return pm::step_bound(llama_on(a, 8), pm::basic_iteration<scalar>{.prefill_tokens = 4096}).time;
  });
  const auto p = pm::step_bound(plain, {.prefill_tokens = 4096});
  CHECK(near(prefill[0].value, -(p.terms["compute"] / p.time)));
  CHECK(prefill[2].value == 0.0);
}

TEST_CASE("sensitivity: a law may return a number; a rate grows with its resource") {
  const auto rate = pm::elasticities(cat::h100_sxm, [](const auto& a) {
    return 1.0 /
           pm::step_bound(llama_on(a, 1), pm::basic_iteration<scalar>{.batch = 1, .context = 1})
               .time.value();
  });
  CHECK(near(rate[2].value, 1.0));
  CHECK(refusal([] {
          (void)pm::elasticities(cat::h100_sxm, [](const auto&) { return scalar(0.0); });
        }) == "PM-E010: result is 0; allowed: more than 0");
}

}  // namespace unit_sensitivity
