// The search for the batch at which what arrives is what is served, and what it costs.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/calibrated/for_accelerator.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/workload/catalog/all.hpp>

namespace pm = perfmodel;
namespace cat = pm::catalog;

namespace {

struct found {
  double batch = 0.0;
  int evaluations = 0;
};

template <class Arriving>
found balance_of(double largest, const Arriving& arriving) {
  found f;
  pm::detail::balance_search search(largest);
  for (; !search.done(); ++f.evaluations) search.learn(arriving(search.guess()));
  f.batch = search.guess();
  return f;
}
bool near(double a, double b) {
  return std::abs(a - b) <= 1e-11 * std::abs(b);
}

}  // namespace

TEST_CASE("balanced_batch: roots known beforehand, in few evaluations") {
  const found square = balance_of(1e6, [](double b) { return 300.0 * std::sqrt(b); });
  CHECK(near(square.batch, 90000.0));
  CHECK(square.evaluations <= 6);
  const found line = balance_of(1e6, [](double b) { return 10.0 + 0.9 * b; });
  CHECK(near(line.batch, 100.0));
  CHECK(line.evaluations <= 10);
  const found below_one = balance_of(1e3, [](double b) { return 0.01 + 0.001 * b; });
  CHECK(near(below_one.batch, 0.01 / 0.999));
  CHECK(below_one.evaluations <= 5);
}

TEST_CASE("balanced_batch: jumps, ends and functions that fall") {
  // Of a jump the upper side.
  const found jump = balance_of(100.0, [](double b) { return b < 37.2 ? 50.0 : 20.0; });
  CHECK(jump.batch >= 37.2);
  CHECK(near(jump.batch, 37.2));
  CHECK(jump.evaluations <= 60);
  CHECK(balance_of(100.0, [](double b) { return 2.0 * b; }).batch == 100.0);
  CHECK(balance_of(0.3, [](double b) { return 2.0 * b; }).batch == 0.3);
  CHECK(balance_of(100.0, [](double) { return 0.0; }).batch < 1e-80);
  const double w = balance_of(1e6, [](double b) { return 1e5 * std::exp(-b); }).batch;
  CHECK(near(w * std::exp(w), 1e5));
}

TEST_CASE("calibrated_time: a pass by its time alone is the prediction's, operator by operator") {
  for (const pm::engine e : {pm::engine::vllm, pm::engine::sglang}) {
    const pm::calibrated silicon = pm::calibrated_for(cat::h100_sxm, e);
    for (const pm::transformer& m : {cat::llama_3_70b, cat::deepseek_v3, cat::gpt_oss_120b}) {
      for (const pm::number_format f : {pm::bf16, pm::fp8}) {
        const pm::deployment d{.device = cat::h100_sxm,
                               .model = m,
                               .layout = {.tensor = 8},
                               .weights = f,
                               .activations = f,
                               .kv = f,
                               .served_by = e};
        for (const pm::iteration& i :
             {pm::iteration{.batch = 37, .context = 2000}, pm::iteration{.prefill_tokens = 3000},
              pm::iteration{
                  .batch = 5, .context = 900, .prefill_tokens = 512, .prefill_past = 100}}) {
          const pm::estimate whole = pm::detail::prediction_of_pass(d, i, silicon, silicon);
          CHECK(pm::detail::time_of_pass(d, i, silicon, silicon) == whole.time);
          pm::detail::visit_operators(d, i, [&](const pm::basic_operator<>&, const auto& workload) {
            if constexpr (requires { silicon.time(d.device, workload); }) {
              CHECK(near(silicon.time(d.device, workload).value(),
                         silicon.estimate(d.device, workload).time.value()));
            }
          });
        }
      }
    }
  }
}
