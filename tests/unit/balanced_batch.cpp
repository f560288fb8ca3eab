// A pass by its time alone, as searches ask for it.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>

namespace unit_balanced_batch {

namespace pm = perfmodel;
namespace cat = pm::catalog;

namespace {

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-11 * std::abs(b);
}

}  // namespace

TEST_CASE(
    "calibrated_time: a step's time without terms is the prediction's, operator by operator") {
  for (const pm::engine e : {pm::engine::vllm, pm::engine::sglang}) {
    const pm::calibrated calibration = pm::calibrated_for(cat::h100_sxm, e);
    for (const pm::transformer& m : {cat::llama_3_70b, cat::deepseek_v3, cat::gpt_oss_120b}) {
      for (const pm::number_format f : {pm::bf16, pm::fp8}) {
        const pm::deployment d{.device = cat::h100_sxm,
                               .model = m,
                               .layout = {.tensor = 8},
                               .weights = f,
                               .activations = f,
                               .kv = f,
                               .serving_engine = e};
        for (const pm::iteration& i :
             {pm::iteration{.batch = 37, .context = 2000}, pm::iteration{.prefill_tokens = 3000},
              pm::iteration{
                  .batch = 5, .context = 900, .prefill_tokens = 512, .prefill_past = 100}}) {
          const pm::estimate whole = pm::detail::prediction_of_step(d, i, calibration, calibration);
          CHECK(near(pm::detail::time_of_step(d, i, calibration, calibration).value(),
                     whole.time.value()));
          pm::detail::visit_operators(d, i, [&](const pm::basic_operator<>&, const auto& workload) {
            if constexpr (requires { calibration.time(d.device, workload); }) {
              CHECK(near(calibration.time(d.device, workload).value(),
                         calibration.estimate(d.device, workload).time.value()));
            }
          });
        }
      }
    }
  }
}

}  // namespace unit_balanced_batch
