// Published services of one engine, played through the simulator with the settings that they were
// run with: what of the time to first token is the schedule, without a host's time and with nothing
// fitted.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <simulator/simulate.hpp>
#include <simulator/step_times.hpp>

#include <fit/published_services.hpp>
#include "support/shared.hpp"

namespace property_services_replayed {

namespace pm = perfmodel;
namespace sim = perfmodel_test::simulator;
using sim::record;

namespace {

/// SemiAnalysisAI/InferenceX, benchmarks/dsr1_fp8_h200.sh: SGLang with chunks of 32,768 tokens,
/// which sends the first token at once and then every tenth.
constexpr auto sglang_on_h200 = [](const pm::service_load& l) {
  return sim::scheduler{.kind = sim::scheduling::prefill_first,
                        .token_budget = 32768,
                        .max_sequences = l.output_tokens < 1000 ? 512 : 256,
                        .stream_interval = 10};
};

/// Ten waves of `concurrency`, lengths 80 to 100 % of the nominal ones.
sim::load ten_waves(const pm::service_load& l) {
  perfmodel_test::random_numbers r(3);
  const int concurrency = static_cast<int>(l.concurrency());
  const auto spread = [](double mean) { return sim::uniform(8.0 / 9 * mean, 10.0 / 9 * mean); };
  return {
      .jobs = sim::draw_jobs(r, 10 * concurrency, spread(l.input_tokens), spread(l.output_tokens)),
      .concurrency = concurrency};
}

}  // namespace

TEST_CASE("published services: DeepSeek-R1 by SGLang, times to first token",
          "[calibrated][shared]") {
  const std::string folder = perfmodel_test::measured_folder();
  int rows = 0, in_time = 0;
  double median = 0;
  for (const published::service& s : published::inferencex_services(folder)) {
    if (s.engine != "sglang" || s.gpu != "h200" || s.load.concurrency() > 32) continue;
    const published::published_model& m = *published::model_of(s.model);
    const pm::deployment d = published::deployment_of(s, m, *pm::catalog::find_accelerator(s.gpu));
    const auto pass = sim::predicted_step(d, pm::calibrated_for(d));
    const sim::outcome o = sim::simulate(ten_waves(s.load), sglang_on_h200(s.load), pass);
    const double first = o.of(&record::ttft).at(0.5);
    ++rows;
    median += s.first_p50 / first;
    // Had the first text come with the tenth token, half of all would not be so soon.
    in_time += s.first_p50 < first + 9.0 * s.seconds;
  }
  REQUIRE(rows > 20);
  CAPTURE(rows, median / rows, in_time);
  // Reading the prompt, the tokens' way and the host's time of a prompt's pass are not simulated.
  CHECK(median > 1.2 * rows);
  CHECK(median < 2.4 * rows);
  CHECK(in_time == rows);
}

}  // namespace property_services_replayed
