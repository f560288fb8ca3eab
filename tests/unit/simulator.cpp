// The simulated service: schedules worked out by hand, queues of the textbooks, laws that any run
// obeys.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <perfmodel/laws/queueing.hpp>
#include <simulator/simulate.hpp>
#include <simulator/step_times.hpp>
#include <support/near.hpp>

namespace unit_simulator {

namespace pm = perfmodel;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::near;
using perfmodel_test::random_numbers;
using sim::outcome;
using sim::record;

namespace {

/// An iteration takes 1 s, 0.1 s per prompt token, and `per_sequence` for each that decodes.
sim::step_time seconds_of(double per_sequence = 0) {
  return sim::linear_pass(1.0, per_sequence, 0.1);
}

/// A and B come together, C comes during the first iteration.
sim::load three_requests() {
  return {.jobs = {{6, 3}, {8, 2}, {2, 1}}, .arrivals = {0, 0, 0.5}};
}

void check_request(const record& r, double queued, double ttft, double e2e) {
  CHECK(near(r.queued, queued, 1e-9));
  CHECK(near(r.ttft, ttft, 1e-9));
  CHECK(near(r.e2e, e2e, 1e-9));
}

/// A load with everything in it: spread, arrivals in bursts, a cache that is too small.
outcome busy_run(sim::scheduling kind, sim::eviction evict, std::uint64_t seed) {
  random_numbers r(seed);
  sim::load l;
  l.jobs = sim::draw_jobs(r, 400, sim::lognormal(60, 1.0), sim::uniform(1, 40), 0.2);
  l.arrivals = sim::renewal_arrivals(r, 400, 0.55, 2.0);
  const sim::scheduler s{.kind = kind,
                         .token_budget = 128,
                         .max_sequences = 16,
                         .kv_blocks = 40,
                         .evict = evict,
                         .swap_s_per_token = 0.001,
                         .host_per_iteration = 0.1,
                         .host_per_sequence = 0.01,
                         .host_per_request = 0.5,
                         .acceptance = {0.6, 0.4}};
  return sim::simulate(l, s, sim::linear_pass(1.0, 0.01, 0.01), seed);
}

}  // namespace

TEST_CASE("simulator: decodes first, then prefills up to the budget, by hand") {
  // 0.0-2.0  A 6, B 4 of 8    A's first token
  // 2.0-3.6  A, B 4, C 2      B's and C's first
  // 3.6-4.6  A, B
  const sim::scheduler s{.token_budget = 10};
  const outcome o = sim::simulate(three_requests(), s, seconds_of());
  check_request(o.requests[0], 0, 2.0, 4.6);
  check_request(o.requests[1], 0, 3.6, 4.6);
  check_request(o.requests[2], 1.5, 3.1, 3.1);
  CHECK(near(o.during.time, 4.6));
  CHECK(o.requests[2].held == 0);  // it waited for the iteration that was under way
  CHECK(near(o.batch(), 1.5));
  // With each decode at 0.5 s a token of C's would come 0.5 s later.
  check_request(sim::simulate(three_requests(), s, seconds_of(0.5)).requests[2], 1.5, 3.6, 3.6);
}

TEST_CASE("simulator: whole prefills in a decode batch, by hand") {
  // 0.0-1.6  A 6             A's first token; B's 8 tokens do not fit beside 6
  // 1.6-3.4  A, B 8          B's first; 1 left, C does not fit
  // 3.4-4.6  A, B, C 2       all done
  const sim::scheduler s{.token_budget = 10, .split_prompts = false};
  const outcome o = sim::simulate(three_requests(), s, seconds_of());
  check_request(o.requests[0], 0, 1.6, 4.6);
  check_request(o.requests[1], 1.6, 3.4, 4.6);
  check_request(o.requests[2], 2.9, 4.1, 4.1);
  CHECK(near(o.requests[2].held, 1.8));
  // A prompt longer than the budget is cut: 10 and 3 tokens.
  const sim::load long_prompt{.jobs = {{13, 2}}, .arrivals = {0}};
  check_request(sim::simulate(long_prompt, s, seconds_of()).requests[0], 0, 3.3, 4.3);
}

TEST_CASE("simulator: prefills first, by hand") {
  // 0.0-2.0  A 6, B 4 of 8   A's first token
  // 2.0-3.6  B 4, C 2        B's and C's first; A waits
  // 3.6-4.6  A, B            B done
  // 4.6-5.6  A
  sim::scheduler s{.kind = sim::scheduling::prefill_first, .token_budget = 10};
  const outcome o = sim::simulate(three_requests(), s, seconds_of());
  check_request(o.requests[0], 0, 2.0, 5.6);
  check_request(o.requests[1], 0, 3.6, 4.6);
  check_request(o.requests[2], 1.5, 3.1, 3.1);
  CHECK(near(o.gaps.at(1), 2.6, 0.005));  // A's, while B and C were prefilled
  // Whole: A 6 | B 8, C 2 | A, B | A
  s.split_prompts = false;
  const outcome whole = sim::simulate(three_requests(), s, seconds_of());
  check_request(whole.requests[0], 0, 1.6, 5.6);
  check_request(whole.requests[1], 1.6, 3.6, 4.6);
  check_request(whole.requests[2], 1.1, 3.1, 3.1);
}

TEST_CASE("simulator: a static batch, by hand") {
  // 0.0-2.4  A 6, B 8   both first tokens; C waits for the batch to end
  // 2.4-4.4  A, B       B done, and its row stays
  // 4.4-6.4  A, (B)     A done
  // 6.4-7.6  C 2
  const sim::scheduler s{.kind = sim::scheduling::static_batch, .max_sequences = 2};
  const outcome o = sim::simulate(three_requests(), s, seconds_of(0.5));
  check_request(o.requests[0], 0, 2.4, 6.4);
  check_request(o.requests[1], 0, 2.4, 4.4);
  check_request(o.requests[2], 5.9, 7.1, 7.1);
  // No request joins a batch that has begun, though a batch slot is free.
  const sim::scheduler roomy{.kind = sim::scheduling::static_batch, .max_sequences = 3};
  check_request(sim::simulate(three_requests(), roomy, seconds_of(0.5)).requests[2], 5.9, 7.1, 7.1);
  // Prefills of a batch beyond the budget take several iterations, and no sequence decodes before
  // the last.
  const sim::load four{.jobs = {{8, 2}, {8, 2}, {8, 2}, {8, 2}}, .concurrency = 4};
  const sim::scheduler bounded{
      .kind = sim::scheduling::static_batch, .token_budget = 16, .max_sequences = 3};
  const outcome b = sim::simulate(four, bounded, seconds_of());
  check_request(b.requests[0], 0, 2.6, 5.4);
  check_request(b.requests[2], 2.6, 4.4, 5.4);
  check_request(b.requests[3], 5.4, 7.2, 8.2);
}

TEST_CASE("simulator: a cache that runs out evicts the newest, by hand") {
  // 3 blocks of 16 tokens. In the third iteration A's 17th token needs a second block, and B has
  // two.
  const sim::load l{.jobs = {{15, 3}, {16, 3}}, .arrivals = {0, 0}};
  sim::scheduler s{.kv_blocks = 3, .swap_s_per_token = 0.01};
  // 0.0-4.1 A 15, B 16 | 4.1-5.1 A, B | 5.1-6.1 A | 6.1-8.9 B's 18 tokens again
  const outcome again = sim::simulate(l, s, seconds_of());
  check_request(again.requests[0], 0, 4.1, 6.1);
  check_request(again.requests[1], 0, 4.1, 8.9);
  CHECK(again.requests[1].preemptions == 1);
  CHECK(again.during.preemptions == 1);
  // Swapped: B's 17 tokens go out during the third iteration and in during the fourth.
  s.evict = sim::eviction::swap;
  const outcome swapped = sim::simulate(l, s, seconds_of());
  check_request(swapped.requests[0], 0, 4.1, 6.27);
  check_request(swapped.requests[1], 0, 4.1, 7.44);
  // Whole lengths are 2 blocks each, so B waits: 2.5, 3.5, 4.5 | 7.1, 8.1, 9.1
  s.reserve = sim::reservation::whole_length;
  const outcome reserved = sim::simulate(l, s, seconds_of());
  check_request(reserved.requests[0], 0, 2.5, 4.5);
  check_request(reserved.requests[1], 4.5, 7.1, 9.1);
  CHECK(reserved.during.preemptions == 0);
  // A prefix of 16 shared tokens leaves each of them one block, and both fit.
  const sim::load shared{.jobs = {{17, 3, 16}, {17, 3, 16}}, .arrivals = {0, 0}};
  s.prefix_shared = true;
  check_request(sim::simulate(shared, s, seconds_of()).requests[1], 0, 1.2, 3.2);
  s.kv_blocks = 2;
  CHECK_THROWS(sim::simulate(l, s, seconds_of()));  // a request that never fits
}

TEST_CASE("simulator: prefixes, host times and rounds of a draft, by hand") {
  const sim::load l{.jobs = {{10, 7, 6}}, .arrivals = {0}};
  check_request(sim::simulate(l, {}, seconds_of()).requests[0], 0, 1.4, 7.4);
  // 0.5 before the queue; 1 + 0.25 more per iteration.
  const sim::scheduler host{
      .host_per_iteration = 1.0, .host_per_sequence = 0.25, .host_per_request = 0.5};
  check_request(sim::simulate(l, host, seconds_of()).requests[0], 0, 0.5 + 2.65,
                0.5 + 2.65 + 6 * 2.25);
  // 1 token, then 3 and 3.
  const sim::scheduler sure{.acceptance = {1.0, 1.0}};
  const outcome o = sim::simulate(l, sure, seconds_of());
  check_request(o.requests[0], 0, 1.4, 3.4);
  CHECK(near(o.requests[0].tpot, 2.0 / 6));
  CHECK(o.gaps.count() == 2);
  const sim::load endless_answer{.jobs = {{1, 40001}}, .arrivals = {0}};
  const outcome some = sim::simulate(endless_answer, {.acceptance = {0.7, 0.5}}, seconds_of());
  CHECK(near(40000 / some.gaps.count(), 1 + 0.7 + 0.35, 0.02));
}

TEST_CASE("simulator: engines that look late, wait for more, or send several tokens, by hand") {
  // A's prompt ends at 1.6. B comes at 2.1, seen at 5.6, four decodes after the prompt.
  sim::load l{.jobs = {{6, 20}, {2, 1}}, .arrivals = {0, 2.1}};
  check_request(sim::simulate(l, {.poll_interval = 4}, seconds_of()).requests[1], 3.5, 4.7, 4.7);
  // Seen at 2.6, and passed over three times; C's 3 tokens make it half of the budget at 3.6.
  const sim::scheduler waits{.token_budget = 10, .wait_iterations = 3, .wait_share = 0.5};
  check_request(sim::simulate(l, waits, seconds_of()).requests[1], 3.5, 4.7, 4.7);
  l.jobs.push_back({3, 1});
  l.arrivals.push_back(3.0);
  check_request(sim::simulate(l, waits, seconds_of()).requests[1], 1.5, 3.0, 3.0);
  // Tokens at 1.4, 2.4, .. 7.4, shown by threes.
  const sim::load one{.jobs = {{10, 7, 6}}, .arrivals = {0}};
  const outcome o = sim::simulate(one, {.stream_interval = 3}, seconds_of());
  check_request(o.requests[0], 0, 1.4, 7.4);
  CHECK(o.gaps.count() == 3);
  CHECK(near(o.gaps.at(1), 3, 0.005));
  const sim::scheduler late{.stream_interval = 3, .stream_first = false};
  check_request(sim::simulate(one, late, seconds_of()).requests[0], 0, 3.4, 7.4);
}

TEST_CASE("simulator: closed loops of one and of many equal requests, by hand") {
  const std::vector<sim::job> equal(60, sim::job{20, 5});
  // Alone: a prompt of 3 s and four steps of 1 s.
  const outcome alone = sim::simulate({.jobs = equal}, {}, seconds_of());
  CHECK(near(alone.during.time, 60 * 7.0));
  CHECK(near(alone.of(&record::ttft).mean(), 3.0));
  // Six waves of ten that never part: 21 s of prompts in one iteration, four steps.
  const outcome waves = sim::simulate({.jobs = equal, .concurrency = 10}, {}, seconds_of());
  CHECK(near(waves.during.time, 6 * 25.0));
  CHECK(near(waves.of(&record::ttft).at(0.9), 21.0));
  CHECK(near(waves.in_system(), 10));
  // An endless loop is full to its end, a run is not.
  const sim::load endless{.jobs = equal, .concurrency = 7, .endless = true, .warm_up = 14};
  CHECK(near(sim::simulate(endless, {}, seconds_of()).in_system(), 7));
  const outcome run = sim::simulate({.jobs = equal, .concurrency = 7}, {}, seconds_of());
  CHECK(run.in_system() < 6.9);
}

TEST_CASE("simulator: one at a time is the queue of Pollaczek and Khinchine", "[long]") {
  // The standard error of a mean wait is 1 to 1.5 % at these loads.
  constexpr int n = 150000;
  const sim::scheduler s{.token_budget = 1 << 30, .max_sequences = 1};
  for (const double variation : {0.0, 1.0}) {
    random_numbers r(5);
    const double rho = 0.6;
    sim::load l;
    l.jobs = sim::draw_jobs(r, n, variation == 0 ? sim::constant(1000) : sim::exponential(1000),
                            sim::constant(1));
    l.arrivals = sim::renewal_arrivals(r, n, rho);
    const outcome o = sim::simulate(l, s, sim::linear_pass(0, 0, 0.001));
    const auto theory = pm::mg1(rho * pm::request_per_s, pm::second, variation);
    CHECK(near(o.of(&record::queued).mean(), theory.wait.value(), 0.04));
    CHECK(near(o.in_system(), theory.in_system.value(), 0.04));
  }
}

TEST_CASE("simulator: Little's law, no ITL lost, and the same again from the same seed") {
  for (const auto kind :
       {sim::scheduling::mixed, sim::scheduling::prefill_first, sim::scheduling::static_batch}) {
    for (const auto evict : {sim::eviction::recompute, sim::eviction::swap}) {
      const outcome o = busy_run(kind, evict, 11);
      const sim::sample e2e = o.of(&record::e2e), ttft = o.of(&record::ttft);
      // Seconds x requests, counted as time passed, and as requests left.
      CHECK(near(o.during.in_system, e2e.sum(), 1e-9));
      CHECK(near(o.in_system(), o.throughput() * e2e.mean(), 1e-9));
      CHECK(near(o.gaps.sum(), e2e.sum() - ttft.sum(), 1e-9));
      double tokens = 0;
      for (const record& r : o.requests) tokens += r.output;
      CHECK(o.during.tokens == tokens);
      CHECK((kind == sim::scheduling::static_batch || o.during.preemptions > 0));
      const outcome same = busy_run(kind, evict, 11), other = busy_run(kind, evict, 12);
      CHECK(same.of(&record::e2e).at(0.7) == e2e.at(0.7));
      CHECK(other.of(&record::e2e).at(0.7) != e2e.at(0.7));
    }
  }
}

TEST_CASE("simulator: what an iteration is said to have, by hand") {
  // Budget 10. A 8, B 2 of 13 | A, B 9 | A, B 2 | A, B
  std::vector<sim::pass> passes;
  const sim::step_time note = [&](const sim::pass& p) {
    passes.push_back(p);
    return 1.0;
  };
  sim::simulate({.jobs = {{8, 4}, {13, 2}}, .concurrency = 2}, {.token_budget = 10}, note);
  const sim::pass expected[] = {
      {0, 0, 1, 2, 10, 0}, {1, 8, 1, 1, 9, 2}, {1, 9, 1, 1, 2, 11}, {2, 11.5, 1, 0, 0, 0}};
  REQUIRE(passes.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(passes[i] == expected[i]);
}

TEST_CASE("simulator: every token computed once, unless it was evicted") {
  random_numbers r(6);
  sim::load l;
  l.jobs = sim::draw_jobs(r, 300, sim::lognormal(80, 1.0), sim::uniform(1, 40), 0.3);
  l.concurrency = 20;
  double expected = 0;
  for (const sim::job& j : l.jobs) expected += j.input - j.cached + j.output - 1;
  for (const auto kind : {sim::scheduling::mixed, sim::scheduling::prefill_first}) {
    for (const bool split : {true, false}) {
      double rows = 0;
      int most = 0, largest_decode_batch = 0;
      const sim::step_time count = [&](const sim::pass& p) {
        rows += p.decoding + p.prompt_tokens;
        most = std::max(most, p.prompt_tokens + (kind == sim::scheduling::mixed ? p.decoding : 0));
        largest_decode_batch = std::max(largest_decode_batch, p.decoding);
        return 1.0;
      };
      const sim::scheduler s{
          .kind = kind, .token_budget = 64, .split_prompts = split, .max_sequences = 12};
      sim::simulate(l, s, count);
      CHECK(rows == expected);
      CHECK(most == 64);
      CHECK(largest_decode_batch <= 12);
    }
  }
}

TEST_CASE(
    "simulator: lengths and interarrival times have the mean and the coefficient of variation that "
    "they are asked for") {
  random_numbers r(7);
  CHECK(near(sim::sample({4, 1, 2}).at(0.75), 3.0));
  const auto moments = [](const std::vector<double>& x) {
    double sum = 0, squares = 0;
    for (const double v : x) sum += v, squares += v * v;
    const double mean = sum / static_cast<double>(x.size());
    return std::array{mean,
                      std::sqrt(squares / static_cast<double>(x.size()) - mean * mean) / mean};
  };
  const auto drawn = [&](const sim::length_law& law) {
    std::vector<double> x;
    for (int i = 0; i < 100000; ++i) x.push_back(law(r));
    return moments(x);
  };
  CHECK(near(drawn(sim::lognormal(500, 0.8))[0], 500, 0.015));
  CHECK(near(drawn(sim::lognormal(500, 0.8))[1], 0.8, 0.03));
  CHECK(near(drawn(sim::uniform(80, 100))[0], 90, 0.002));
  CHECK(near(drawn(sim::one_of({1, 2, 6}))[0], 3, 0.01));
  for (const double variation : {0.0, 0.5, 1.0, 2.0}) {
    const std::vector<double> at = sim::renewal_arrivals(r, 100000, 4, variation);
    std::vector<double> gaps(at.size());
    std::adjacent_difference(at.begin(), at.end(), gaps.begin());
    CHECK(near(moments(gaps)[0], 0.25, 0.02));
    CHECK(std::abs(moments(gaps)[1] - variation) < 0.03 * variation + 1e-6);
  }
  const std::vector<double> together = sim::batch_arrivals(r, 100000, 4, 5);
  CHECK(together[4] == together[0]);
  CHECK(near(together.back(), 25000, 0.03));
}

}  // namespace unit_simulator
