// An engine's parameters from runs of one's own service: synthetic services, and by hand.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/tools/fit/calibrate_service.hpp>
#include <perfmodel/tools/fit/service_search.hpp>
#include <span>
#include <support/refusal.hpp>
#include <vector>

namespace unit_service_calibration {

namespace pm = perfmodel;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using enum pm::service_parameter;

namespace {

constexpr std::size_t at(pm::service_parameter p) {
  return static_cast<std::size_t>(p);
}

/// Few numbers as of published services.
constexpr pm::service_residual_sigma spread{
    .of = {0.1, 500e-6, 15e-6, 0.25, 20e-3, 2.0}, .token_noise = 0.05, .first_token_noise = 0.15};

pm::deployment llama() {
  return {.device = pm::catalog::h200_sxm,
          .model = pm::catalog::llama_3_1_70b,
          .layout = {.tensor = 4},
          .serving_engine = pm::engine::vllm};
}
pm::calibrated shipped() {
  return pm::calibrated_for(pm::catalog::h200_sxm, pm::engine::vllm);
}
/// A run measured on an engine with those numbers.
pm::service_run run_of(const pm::engine_profile& engine, double input, double output,
                       double concurrency) {
  pm::calibrated calibration = shipped();
  calibration.engine = engine;
  const pm::service_load load{.input_tokens = input,
                              .output_tokens = output,
                              .arrivals = pm::closed_loop{concurrency, 10.0 * concurrency}};
  const pm::serving_estimate s = serving(llama(), load, calibration);
  return {llama(), load, s.itl, s.ttft};
}
std::vector<pm::service_run> runs_of(const pm::engine_profile& engine) {
  std::vector<pm::service_run> runs;
  for (const double input : {128.0, 1024.0, 8192.0}) {
    for (const double concurrency : {1.0, 4.0, 16.0, 64.0}) {
      runs.push_back(run_of(engine, input, 512.0, concurrency));
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("service calibration: step_time_factor multiplies kernels and links, and not the host",
          "[calibrated]") {
  const pm::iteration i{.batch = 64, .context = 4096};
  pm::calibrated slow = shipped();
  slow.engine.step_time_factor = 1.5;
  const pm::estimate alone = step(llama(), i, shipped()), slower = step(llama(), i, slow);
  const double host = alone.terms["host"].value();
  CHECK(host > 0.0);
  CHECK_THAT(slower.time.value(), WithinRel(1.5 * (alone.time.value() - host) + host, 1e-12));
  slow.engine.step_time_factor = 1.0;
  CHECK(step(llama(), i, slow).time == alone.time);
}

TEST_CASE("service calibration: runs as predicted move nothing", "[calibrated]") {
  const auto runs = runs_of(shipped().engine);
  const auto found = pm::calibrate_service(runs, shipped(), spread);
  for (const double shift : found.posterior.shift) CHECK_THAT(shift, WithinAbs(0.0, 1e-9));
  for (std::size_t j = 0; j < pm::service_parameters; ++j) {
    CHECK(found.posterior.standard_error[j] <= spread.of[j]);
    CHECK(found.variance_removed[j] >= 0.0);
    CHECK(found.variance_removed[j] < 1.0);
  }
}

TEST_CASE("service calibration: a synthetic service is found again", "[calibrated]") {
  pm::service_numbers own{};
  own[at(step_time_factor)] = 0.12;
  own[at(step_cpu_time)] = 400e-6;
  own[at(sequence_cpu_time)] = 12e-6;
  own[at(prefill_step_factor)] = -0.2;
  const auto runs = runs_of(pm::shift_profile(shipped().engine, own));
  const auto found = pm::calibrate_service(runs, shipped(), spread);
  for (std::size_t j = 0; j < pm::service_parameters; ++j) {
    CAPTURE(pm::name_of(static_cast<pm::service_parameter>(j)), found.posterior.shift[j]);
    CHECK(std::abs(found.posterior.shift[j] - own[j]) <= 2.0 * found.posterior.standard_error[j]);
  }
  CHECK(found.variance_removed[at(step_time_factor)] > 0.8);
  CHECK_THAT(found.posterior.shift[at(step_time_factor)], WithinAbs(0.12, 0.03));
  double before = 0.0, after = 0.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(std::abs(*found.token_after[i]) < 0.02);
    before += std::abs(*found.token_before[i]);
    after += std::abs(*found.token_after[i]);
  }
  CHECK(before > 10.0 * after);
  // A prediction for a load that was not run: the truth is inside the interval.
  const pm::service_run other = run_of(pm::shift_profile(shipped().engine, own), 4096, 1024, 32);
  pm::calibrated calibration = shipped();
  calibration.engine = found.posterior.engine;
  const pm::serving_estimate s = serving(other.deployment, other.load, calibration);
  CHECK(std::abs(std::log(*other.itl / s.itl)) < 0.01);
  CHECK(std::abs(std::log(*other.ttft / s.ttft)) < pm::z90 * found.posterior.first_token_log_sigma);
}

TEST_CASE("service calibration: an engine unlike published ones is found too",
          "[calibrated][long]") {
  // 30 ms of CPU time a step are 50 standard deviations of published services.
  pm::service_numbers own{};
  own[at(step_cpu_time)] = 30e-3;
  const pm::engine_profile engine = pm::shift_profile(shipped().engine, own);
  std::vector<pm::service_run> runs;
  for (const double concurrency : {1.0, 4.0, 16.0}) {
    runs.push_back(run_of(engine, 1024, 256, concurrency));
  }
  pm::service_residual_sigma prior = spread;
  prior.noise_runs = 2.0;
  const auto found = pm::calibrate_service(runs, shipped(), prior);
  CHECK(found.prior_scale[at(step_cpu_time)] > 1.0);
  CHECK_THAT(pm::value_of(found.posterior.engine, step_cpu_time),
             WithinRel(pm::value_of(engine, step_cpu_time), 0.1));
  const pm::service_run other = run_of(engine, 4096, 128, 8);
  pm::calibrated calibration = shipped();
  calibration.engine = found.posterior.engine;
  const pm::serving_estimate s = serving(other.deployment, other.load, calibration);
  CHECK(std::abs(std::log(*other.itl / s.itl)) < 0.1);
  // A service like published ones keeps their prior.
  const auto near = pm::calibrate_service(runs_of(shipped().engine), shipped(), prior);
  for (const double scale : near.prior_scale) CHECK(scale == 1.0);
}

TEST_CASE("service calibration: one run and one factor, by hand", "[calibrated]") {
  // Without a host a token takes step_time_factor x its kernels, a straight line of logarithms:
  // with equal noise and prior the posterior is halfway, and its variance a half of the prior's.
  pm::calibrated calibration = shipped();
  calibration.engine.step_cpu_time = calibration.engine.sequence_cpu_time = pm::duration<>{};
  pm::service_residual_sigma only{.of = {0.1}, .token_noise = 0.1, .first_token_noise = 0.1};
  const pm::service_load alone{
      .input_tokens = 512, .output_tokens = 512, .arrivals = pm::closed_loop{1}};
  const pm::serving_estimate s = serving(llama(), alone, calibration);
  const pm::service_run run{llama(), alone, std::exp(0.08) * s.itl, {}};
  const auto found = pm::calibrate_service(std::span(&run, 1), calibration, only);
  CHECK_THAT(found.posterior.shift[at(step_time_factor)], WithinRel(0.04, 1e-3));
  CHECK_THAT(found.posterior.standard_error[at(step_time_factor)],
             WithinRel(0.1 / std::sqrt(2.0), 1e-3));
  CHECK_THAT(found.variance_removed[at(step_time_factor)], WithinRel(0.5, 1e-3));
  CHECK(found.posterior.shift[at(step_cpu_time)] == 0.0);
  CHECK(found.variance_removed[at(step_cpu_time)] == 0.0);
  // Around one more such run: its noise, and what is open of the factor.
  CHECK_THAT(found.posterior.token_log_sigma, WithinRel(0.1 * std::sqrt(1.5), 1e-3));
  CHECK_FALSE(found.first_token_after.front());
  // Two such runs move it two thirds of the way; around a third one, the noise and what is open
  // then.
  const auto twice = pm::calibrate_service(std::vector{run, run}, calibration, only);
  CHECK_THAT(twice.posterior.shift[at(step_time_factor)], WithinRel(0.08 * 2.0 / 3.0, 1e-3));
  CHECK_THAT(twice.posterior.covariance[0][0], WithinRel(0.01 / 3.0, 1e-3));
  CHECK_THAT(twice.posterior.token_log_sigma, WithinRel(0.1 * std::sqrt(4.0 / 3.0), 1e-3));
}

TEST_CASE("service calibration: what the search makes least, by hand", "[calibrated]") {
  pm::service_run run = run_of(shipped().engine, 1024.0, 512.0, 16.0);
  run.itl = 1.07 * *run.itl;
  run.ttft = 1.1 * *run.ttft;
  pm::detail::service_search search(std::span(&run, 1), shipped(), spread);
  const double before = search.cost;
  CHECK_THAT(before, WithinRel(0.5 * std::pow(std::log(1.07) / spread.token_noise, 2) +
                                   0.5 * std::pow(std::log(1.1) / spread.first_token_noise, 2),
                               1e-9));
  search.descend();
  const double runs = 0.5 * std::pow(*search.residuals(0)[0] / spread.token_noise, 2) +
                      0.5 * std::pow(*search.residuals(1)[0] / spread.first_token_noise, 2);
  double prior = 0.0;
  for (int j = 0; j < pm::detail::service_search::n; ++j) {
    prior += 0.5 * std::pow(search.x[j] / spread.of[static_cast<std::size_t>(j)], 2);
  }
  CHECK(prior > 0.1 * runs);
  CHECK_THAT(search.cost, WithinRel(runs + prior, 1e-12));
  CHECK(search.cost < before);
}

TEST_CASE("service calibration: the noise is the service's own, by hand", "[calibrated]") {
  // Four runs of one load, and no parameter to fit: residuals 0.3, 0.1, -0.1, -0.3, with a prior of
  // 0.1 that counts as 2.
  pm::service_residual_sigma still{.token_noise = 0.1, .first_token_noise = 0.1, .noise_runs = 2.0};
  const pm::service_run as_shipped = run_of(shipped().engine, 1024, 512, 16);
  std::vector<pm::service_run> runs;
  for (const double off : {0.3, 0.1, -0.1, -0.3}) {
    runs.push_back(as_shipped);
    runs.back().itl = std::exp(off) * *as_shipped.itl;
    runs.back().ttft.reset();
  }
  const auto found = pm::calibrate_service(runs, shipped(), still);
  CHECK_THAT(found.posterior.token_noise,
             WithinRel(std::sqrt((2.0 * 0.01 + 2.0 * 0.09 + 2.0 * 0.01) / 6.0), 1e-9));
  // With 6 degrees of freedom Student's interval of 80 % is 1.440 / 1.282 of a normal one.
  CHECK_THAT(found.posterior.token_log_sigma / found.posterior.token_noise,
             WithinRel(1.440 / 1.2816, 2e-3));
  // No run tells of first tokens: the prior, and 1.886 / 1.282.
  CHECK_THAT(found.posterior.first_token_noise, WithinRel(0.1, 1e-9));
  CHECK_THAT(found.posterior.first_token_log_sigma, WithinRel(0.1 * 1.886 / 1.2816, 3e-2));
  // If all services have the same noise, it is the prior's.
  still.noise_runs.reset();
  const auto same = pm::calibrate_service(runs, shipped(), still);
  CHECK_THAT(same.posterior.token_log_sigma, WithinRel(0.1, 1e-9));
}

TEST_CASE("service calibration: runs that scatter widen what is said of further ones",
          "[calibrated]") {
  pm::service_residual_sigma own = spread;
  own.noise_runs = 2.0;
  const std::vector<pm::service_run> quiet = runs_of(shipped().engine);
  std::vector<pm::service_run> loud = quiet;
  for (std::size_t i = 0; i < loud.size(); ++i)
    loud[i].itl = std::exp(i % 2 == 0 ? 0.2 : -0.2) * *loud[i].itl;
  const auto of = [&](const std::vector<pm::service_run>& runs) {
    return pm::calibrate_service(runs, shipped(), own).posterior;
  };
  const auto of_quiet = of(quiet), of_loud = of(loud);
  CHECK(of_quiet.token_log_sigma < 0.5 * spread.token_noise);
  CHECK(of_loud.token_log_sigma > 3.0 * spread.token_noise);
  CHECK(of_loud.token_log_sigma < 0.35);
  CHECK(of_loud.first_token_log_sigma < 1.5 * of_quiet.first_token_log_sigma);
}

TEST_CASE("service calibration: a run that is overloaded as shipped takes no part",
          "[calibrated]") {
  const auto at_rate = [](double rate) {
    return pm::service_load{.input_tokens = 2000,
                            .output_tokens = 500,
                            .arrivals = pm::open_loop{.rate = rate * pm::request / pm::second}};
  };
  std::vector<pm::service_run> runs = runs_of(shipped().engine);
  for (pm::service_run& r : runs) r.itl = 1.1 * *r.itl;
  const auto steady = pm::calibrate_service(runs, shipped(), spread);
  // A finite benchmark of 100 requests per second: a queue of minutes, where a steady state has
  // none.
  runs.push_back({llama(), at_rate(100.0), 0.2 * pm::second, 300.0 * pm::second});
  REQUIRE(!serving(llama(), runs.back().load, shipped()).feasible);
  const auto found = pm::calibrate_service(runs, shipped(), spread);
  CHECK(!found.feasible_before.back());
  CHECK(bool(found.feasible_before.front()));
  CHECK_FALSE(pm::has_latencies(found.feasible_before.back()));
  CHECK_FALSE(found.token_before.back());
  CHECK_FALSE(found.first_token_before.back());
  CHECK(found.posterior.shift == steady.posterior.shift);
  CHECK(found.posterior.token_log_sigma == steady.posterior.token_log_sigma);
  CHECK(found.posterior.first_token_log_sigma == steady.posterior.first_token_log_sigma);
  const std::string alone = perfmodel_test::refusal(
      [&] { (void)pm::calibrate_service(std::span(&runs.back(), 1), shipped(), spread); });
  CHECK(alone.find("no run has predicted latencies; run 1: requests arrive faster") !=
        std::string::npos);
}

TEST_CASE("service calibration: a run over more ranks than the fabric joins counts",
          "[calibrated]") {
  CHECK_FALSE(pm::has_latencies(pm::infeasible("weights exceed the memory", "B", 2, 1)));
  pm::service_run run = run_of(shipped().engine, 1024.0, 512.0, 16.0);
  run.deployment.device.fabric.ranks = 2;
  run.itl = 1.1 * *run.itl;
  const auto found = pm::calibrate_service(std::span(&run, 1), shipped(), spread);
  REQUIRE(!found.feasible_before.front());
  CHECK_THAT(*found.token_before.front(), WithinAbs(std::log(1.1), 1e-9));
  CHECK(found.posterior.shift[at(step_time_factor)] > 0.0);
}

TEST_CASE("service calibration: parameters that one load cannot identify", "[calibrated]") {
  // One batch size: time of a sequence and of a pass act alike on the time per token.
  pm::service_residual_sigma wide{
      .of = {0.0, 5e-3, 500e-6, 0.0, 0.0, 0.0}, .token_noise = 0.01, .first_token_noise = 0.5};
  const pm::service_run run = run_of(shipped().engine, 1024, 512, 16);
  const auto found = pm::calibrate_service(std::vector{run, run, run}, shipped(), wide);
  REQUIRE(found.correlated.size() == 1);
  CHECK(found.correlated.front() == std::pair{step_cpu_time, sequence_cpu_time});
  const auto apart = pm::calibrate_service(runs_of(shipped().engine), shipped(), wide);
  CHECK(apart.posterior.standard_error[at(sequence_cpu_time)] <
        0.5 * found.posterior.standard_error[at(sequence_cpu_time)]);
}

TEST_CASE("service calibration: limits and outliers", "[calibrated]") {
  // Much quicker than its kernels: no host's time is below 0.
  std::vector<pm::service_run> runs = runs_of(shipped().engine);
  for (pm::service_run& r : runs) r.itl = 0.7 * *r.itl;
  const auto quick = pm::calibrate_service(runs, shipped(), spread);
  CHECK(quick.posterior.engine.step_cpu_time.value() >= 0.0);
  CHECK(quick.posterior.shift[at(step_time_factor)] < -0.1);
  // One bad run of twelve, three times as slow, moves the factor by less than its error.
  runs = runs_of(shipped().engine);
  runs[5].itl = 3.0 * *runs[5].itl;
  const auto odd = pm::calibrate_service(runs, shipped(), spread);
  CHECK(std::abs(odd.posterior.shift[at(step_time_factor)]) <
        1.5 * odd.posterior.standard_error[at(step_time_factor)]);
  CHECK(*odd.token_after[5] > 0.9);
}

TEST_CASE("service calibration: runs that are none", "[calibrated]") {
  const auto code_of = [](const std::vector<pm::service_run>& runs) {
    try {
      (void)pm::calibrate_service(runs, shipped(), spread);
    } catch (const pm::error& e) {
      return e.code();
    }
    FAIL("no error");
    return pm::error_code{};
  };
  const pm::service_run good = run_of(shipped().engine, 1024, 512, 16);
  CHECK(code_of({}) == pm::error_code::unidentifiable);
  pm::service_run bad = good;
  bad.itl.reset();
  bad.ttft.reset();
  CHECK(code_of({good, bad}) == pm::error_code::unidentifiable);
  CHECK(perfmodel_test::refusal([&] {
          (void)pm::calibrate_service(std::vector{good, bad}, shipped(), spread);
        }) == "PM-E050: run 2 has no measured time");
  bad = good;
  bad.itl = 0.0 * pm::second;
  CHECK(code_of({good, bad}) == pm::error_code::out_of_range);
  bad = good;
  bad.deployment.serving_engine = pm::engine::trtllm;
  CHECK(code_of({good, bad}) == pm::error_code::inconsistent);
  bad = good;
  bad.deployment.device = pm::catalog::h100_sxm;
  CHECK(code_of({good, bad}) == pm::error_code::inconsistent);
}

}  // namespace unit_service_calibration
