// Services of given step times that outgrow their memory, or with prefixes in host memory: each
// term by hand.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/serving.hpp>

#include "support/near.hpp"

namespace unit_service_memory_by_hand {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;

namespace {

const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_8b};

/// Seconds of a pass.
double given(double batch, double prefill, double past = 0) {
  return 0.010 + 1e-4 * batch + 1e-5 * prefill + 2e-6 * past;
}
const auto pass = [](const pm::iteration& i) {
  pm::estimate e;
  e.time = pm::duration<>::from_value(given(i.batch, i.prefill_tokens, i.prefill_past));
  return e;
};
pm::detail::predicted_service<double> predicted(const pm::deployment& on, const pm::service_load& l,
                                                const pm::service_terms& engine) {
  return pm::detail::predict_service(on, l, engine, pass);
}

pm::service_load long_answers(double concurrency) {
  return {.input_tokens = 4000,
          .output_tokens = 4000,
          .arrivals = pm::closed_loop{concurrency},
          .prefix_hit = 0.25};
}
/// Amid their answers sequences have 6000 tokens.
double amid_answers() {
  return pm::kv_capacity(d, 6000).sequences;
}

}  // namespace

TEST_CASE("memory by hand: sequences grow into it with a deviation of their lengths to spare") {
  const auto l = long_answers(500);
  const pm::service_terms none;
  const auto p = predicted(d, l, none);
  const auto s = p.estimate;
  // Answers are anywhere between 0 and 4000, a deviation of 4000 / sqrt(12).
  const double fit = amid_answers();
  CHECK(near(p.terms.max_running, fit - 4000 / (std::sqrt(12.0) * 6000) * std::sqrt(fit), 1e-9));
  CHECK(near(s.capacity, pm::kv_capacity(d, 8000).sequences));
  CHECK(p.terms.max_running > s.capacity);
  CHECK(near(s.throughput.value() * s.e2e.value(), 500, 1e-9));
}

TEST_CASE("memory by hand: evicted sequences are computed again, or come back over a link") {
  for (const auto how : {pm::preemption::recompute, pm::preemption::swap}) {
    auto l = long_answers(500);
    l.preemption_mode = how;
    const pm::service_terms none;
    const auto p = predicted(d, l, none);
    const auto s = p.estimate;
    // 4000 tokens of others' growth, for which each gives up its prompt and 400 of its answer.
    const double times = 4000 / 4400.0, fit = amid_answers();
    CHECK(near(s.preemptions_per_request, times));
    CHECK(near(p.terms.max_running, fit, 1e-9));
    const bool anew = how == pm::preemption::recompute;
    // A prompt has 3000 tokens to compute, and again with 400: what is cached stays so.
    if (anew) CHECK(near(*p.terms.prefills_per_request, 1 + times * 3400 / 3000));
    const double moved = 2 * 32 * 4096 * 3400.0 / cat::h100_sxm.host.bandwidth.value();
    const double back = anew ? given(0, 3400, 1000) : moved;
    if (!anew) {
      auto plain = long_answers(500);
      plain.batch_limit = fit;
      const auto without = predicted(d, plain, none);
      CHECK(p.steps.decode_stall > without.steps.decode_stall);
      const auto again = pm::detail::prefill_steps_of(
          d, l, p.terms.scheduler, std::fmax(1.0, p.steps.prefill_iteration.batch),
          p.steps.decode_time, [](const auto& i) { return pass(i).time; });
      CHECK(near(p.steps.decode_stall.value(), again.decode_stall.value() + times * moved, 1e-9));
    }

    // The loop without them, then in service for so much longer.
    const auto plain = pm::closed_service(p.terms, p.steps, pm::closed_loop{500});
    const double before = fit / plain.throughput.value(), in_service = before + times * back;
    CHECK(near(s.throughput.value(), fit / in_service, 1e-9));
    // n (n + 1) / 2 ends of others, each in_service / fit after the one before.
    const double away = times * (1 + times) / 2 * in_service / fit;
    const double beyond = (500 - fit) / fit;
    CHECK(near(s.wait.value(), plain.wait.value() + beyond * (in_service - before) - away, 1e-9));
    CHECK(near(s.ttft.value(), plain.ttft.mean().value() + s.wait.value() - plain.wait.value(),
               1e-9));
    const auto& last = s.itl_distribution[s.itl_distribution.size() - 1];
    CHECK(near(last.weight, times / 3999, 1e-9));
    CHECK(near(last.from.value(), plain.itl.mean().value() + back, 1e-9));
    CHECK(near(last.tail.value(), away / times, 1e-9));
    CHECK(near(s.itl_distribution[0].weight, (1 - times / 3999) * plain.itl[0].weight, 1e-9));
    CHECK(near(s.throughput.value() * s.e2e.value(), 500, 0.01));
  }
}

TEST_CASE("memory by hand: a prefix that the host has comes over its link first") {
  pm::service_load l{
      .input_tokens = 4000,
      .output_tokens = 101,
      .arrivals = pm::closed_loop{20},
      .input_cv = 0.5,
      .prefix_hit = 0.75,
      .stream_interval = 3,
      .batching_wait_iterations = 2,
      .host = pm::host_cache{
          .hit = 0.5, .bandwidth_per_device = 10.0 * pm::GB_per_s, .latency = 1.0 * pm::ms}};
  const double each = 1e-3 + 32 * 4096 * 2000.0 / 10e9;
  const auto wait_at = [&](double busy) { return 0.5 * (1 + 0.25) * busy / (1 - busy) * each; };
  const pm::service_terms none;
  const auto p = predicted(d, l, none);
  const auto s = p.estimate;
  CHECK(near(p.terms.stream_steps, 2));
  CHECK(near(p.terms.scheduling_steps, 2 + 2));
  // 19 of 20 others leave the link busy, and a prompt that is there waits for the end of an
  // iteration.
  const double x = s.throughput.value(), found = 19 / 20.0;
  const auto n = pm::closed_loop{20 - x * p.state.ttft_terms.kv_fetch.value()};
  const auto beside = pm::closed_service(p.terms, p.steps, n);
  CHECK(near(x, beside.throughput.value(), 1e-6));
  const double rest =
      pm::detail::residual_step_time(p.terms, p.steps, beside, beside.itl.mean()).value();
  const double waits = wait_at(found * x * each) + found * rest;
  CHECK(near(p.state.ttft_terms.kv_fetch.value(), each + waits, 1e-6));
  CHECK(near(s.wait.value(), beside.wait.value() + waits, 1e-6));
  CHECK(near(s.ttft.value(), beside.ttft.mean().value() + each + waits, 1e-6));
  CHECK(near(s.ttft_distribution[0].from.value(), beside.ttft[0].from.value() + each, 1e-6));
  CHECK(near(s.e2e.value(), s.ttft.value() + 98 * s.itl.value(), 1e-9));  // three come first

  l.arrivals = pm::open_loop{5 * pm::request_per_s};
  const auto open = predicted(d, l, none);
  CHECK(open.estimate.feasible);
  CHECK(near(open.state.ttft_terms.kv_fetch.value(), each + wait_at(5 * each), 1e-9));
  l.arrivals = pm::open_loop{1.001 / each * pm::request_per_s};
  const auto over = predicted(d, l, none);
  CHECK_FALSE(over.estimate.feasible);
}

TEST_CASE("memory by hand: an output is no longer than itself, whatever is sent first") {
  pm::service_load l{.input_tokens = 100, .output_tokens = 5, .arrivals = pm::closed_loop{1}};
  l.stream_interval = 50;
  const pm::service_terms none;
  const auto all = predicted(d, l, none);
  const auto s = all.estimate;
  CHECK(near(all.terms.stream_steps, 4));
  CHECK(near(s.e2e, s.ttft));
  CHECK(near(s.ttft.value(), given(1, 100) + 4 * given(1, 0), 0.02));
}

TEST_CASE("memory by hand: a link for each group, and what is shared is not given up") {
  const pm::prefix_fetch two{.transfer_time = 10.0 * pm::ms, .links = 2.0, .variation = 1.0};
  CHECK(near(two.utilisation(100 * pm::request_per_s), 0.5));
  CHECK(near(two.response_time(0.5), 20.0 * pm::ms));  // M/M/1
  auto l = long_answers(500);
  l.shared = {{1000, 1}};
  CHECK(near(pm::detail::preemptions_when_full(l), 4000 / (3000 + 400.0)));
}

}  // namespace unit_service_memory_by_hand
