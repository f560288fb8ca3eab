// A service put together by hand: distributions of latency, waves, queues, schedulers.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/serving.hpp>
#include <string>

#include "support/near.hpp"
#include "support/random.hpp"
#include "support/refusal.hpp"

namespace unit_service {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::duration<> s(double seconds) {
  return pm::duration<>::from_value(seconds);
}

// 10 ms to decode; a prefill takes 40 ms by itself, and 100 ms with three others.
constexpr pm::prefill_steps passes{.decode_time = 10 * pm::ms,
                                   .prefill_time = 40 * pm::ms,
                                   .decode_stall = 30 * pm::ms,
                                   .marginal_prefill_time = 20 * pm::ms,
                                   .saturated_prefill_time = 25 * pm::ms,
                                   .prefills_per_step = 4.0,
                                   .chunks = 1.0,
                                   .decode_steps_per_prefill = 0.25};

pm::service_terms terms(pm::scheduling kind, double output, double room = 1000.0) {
  pm::service_terms t;
  t.scheduler = kind;
  t.output_tokens = output;
  t.max_running = room;
  return t;
}

}  // namespace

TEST_CASE("latency: an even part is a ruler, an exponential its own quantiles") {
  pm::latency_distribution even;
  even.add({1.0, s(1), s(10)});
  CHECK(near(even.mean(), s(6)));
  CHECK(near(even.quantile(0.25), s(3.5)));
  CHECK(near(even.quantile(1.0), s(11)));
  CHECK(near(even.share_within(s(3.5)), 0.25));
  CHECK(near(even.deviation(), s(10 / std::sqrt(12.0))));
  pm::latency_distribution tail;
  tail.add({1.0, s(2), {}, s(5)});
  CHECK(near(tail.mean(), s(7)));
  CHECK(near(tail.deviation(), s(5)));
  for (const double p : {0.5, 0.9, 0.99}) CHECK(near(tail.quantile(p), s(2 - 5 * std::log(1 - p))));
}

TEST_CASE("latency: a tail that rounding loses is a constant") {
  // Tails that floating point leaves of a difference, far below the distance of two numbers at 4 s.
  for (const double tail : {1e-18, 1e-25, 1e-300}) {
    pm::latency_distribution l;
    l.add({0.5, pm::duration<>::from_value(4.0), {}, pm::duration<>::from_value(tail)});
    l.add({0.5, pm::duration<>::from_value(4.0), {}, pm::duration<>::from_value(tail)});
    CHECK(std::abs(l.quantile(0.99).value() - 4.0) < 1e-12);
  }
}

TEST_CASE("latency: a mixture has the shares of its parts") {
  pm::latency_distribution l;
  l.add({0.6, s(1)});          // a step
  l.add({0.3, s(2), s(2)});    // 2 to 4
  l.add({0.1, s(10), s(10)});  // 10 to 20
  CHECK(l.quantile(0.0) == s(1));
  CHECK(l.quantile(0.59) == s(1));
  CHECK(near(l.quantile(0.75), s(3)));
  CHECK(near(l.quantile(0.95), s(15)));
  CHECK(near(l.share_within(s(3)), 0.75));
  CHECK(near(l.mean(), s(0.6 * 1 + 0.3 * 3 + 0.1 * 15)));
  double last = 0;
  for (double p = 0; p <= 1; p += 0.01) {
    CHECK(l.quantile(p).value() >= last);
    last = l.quantile(p).value();
  }
  CHECK(refusal([&] { (void)l.quantile(1.5); }) == "PM-E010: share is 1.5; allowed: 0 to 1");
}

TEST_CASE("latency: a quantile is where bisection finds the share") {
  perfmodel_test::random_numbers x(7);
  int compared = 0;
  for (int k = 0; k < 4000; ++k) {
    pm::latency_distribution l;
    for (int i = 0; i < 4; ++i) {
      const bool tail = x.uniform() < 0.5;
      const double size = std::pow(10.0, 3.0 * x.uniform() - 3.0);
      l.add({0.25, s(x.uniform()), s(tail ? 0.0 : size), s(tail ? size : 0.0)});
    }
    for (const double share : {0.1, 0.5, 0.9, 0.99}) {
      double low = 0.0, high = 100.0;
      while (high - low > 1e-15 * high) {
        const double middle = 0.5 * (low + high);
        if (middle == low || middle == high) break;
        (l.share_within(s(middle)) < share ? low : high) = middle;
      }
      const double found = l.quantile(share).value();
      // Both ends of the rounding of the share itself, where the distribution is flat.
      const double error = l.share_within(s(found)) - share;
      if (std::abs(found - high) > 1e-12 * high && std::abs(error) > 4e-16) CHECK(found == high);
      ++compared;
    }
  }
  CHECK(compared == 16000);
}

TEST_CASE(
    "latency: derivatives are those of the part that a quantile lies in, ranges hold both ends") {
  using d = pm::dual<1>;
  const auto x = d::variable(10.0, 0);
  const auto seconds = [](const d& v) { return pm::duration<d>::from_value(v); };
  pm::basic_latency_distribution<d> l;
  l.add({d(0.5), seconds(d(1.0))});
  l.add({d(0.5), seconds(d(2.0)), seconds(x)});
  CHECK(near(l.quantile(0.75).value().value(), 7.0));
  CHECK(near(l.quantile(0.75).value().partial(0), 0.5));  // halfway along the spread
  CHECK(l.quantile(0.25).value().partial(0) == 0.0);
  using r = pm::interval;
  pm::basic_latency_distribution<r> wide;
  wide.add({r(1.0), pm::duration<r>::from_value(r(1.0, 2.0)),
            pm::duration<r>::from_value(r(8.0, 10.0))});
  CHECK(near(wide.quantile(0.5).value().lo(), 5.0));
  CHECK(near(wide.quantile(0.5).value().hi(), 7.0));
}

TEST_CASE(
    "latency: weights are shares of their sum, and of fewer than all the rest is at the end") {
  pm::latency_distribution l;
  l.add({1.5, s(4), s(2)});  // 4 to 6, mean 5
  l.add({0.5, s(1)});
  CHECK(near(l.mean(), s(4)));
  // Squares: 3/4 of 1 and a range of 2 with the variance 4 / 12; a quarter is 3 away.
  CHECK(near(l.deviation(), s(std::sqrt(0.75 * (1 + 4 / 12.0) + 0.25 * 9))));
  pm::latency_distribution most;
  most.add({0.5, s(9)});
  most.add({0.4, s(3)});
  CHECK(most.quantile(0.95) == s(9));
  CHECK(most.quantile(0.4) == s(3));
  most.delay(s(1), s(2), 1);  // all but the first
  CHECK(near(most.mean(), s((0.5 * 9 + 0.4 * 6) / 0.9)));
}

TEST_CASE("latencies: a wait added to a range keeps the mean, and the larger deviation") {
  const auto s = [](double x) { return x * pm::second; };
  // 0 to 10 s deviates by 10 / sqrt(12) = 2.9 s, an exponential wait by its mean.
  pm::latency_distribution little, much;
  little.add({1.0, s(0), s(10)});
  much.add({1.0, s(0), s(10)});
  little.delay(s(1), s(1));
  CHECK(near(little.mean().value(), 7));
  CHECK(near(little.quantile(0.5).value(), 1 + 1 + 5));
  much.delay(s(1), s(5));
  CHECK(near(much.mean().value(), 11));
  CHECK(near(much.quantile(0.5).value(), 1 + 5 + 5 * std::log(2.0), 1e-9));
}

TEST_CASE("latency: a step has the derivatives of where it is, and of no other") {
  using d = pm::dual<1>;
  const auto seconds = [](const d& v) { return pm::duration<d>::from_value(v); };
  pm::basic_latency_distribution<d> l;
  l.add({d(0.5), seconds(d::variable(1.0, 0))});
  l.add({d(0.5), seconds(d(3.0))});
  CHECK(l.quantile(0.25).value().partial(0) == 1.0);
  CHECK(l.quantile(0.75).value().partial(0) == 0.0);
}

TEST_CASE("latency: normal quantiles of a printed table") {
  const double table[][2] = {{0.001, -3.0902}, {0.1, -1.2816},  {0.5, 0.0},
                             {0.75, 0.6745},   {0.975, 1.9600}, {0.9999, 3.7190}};
  for (const auto& [share, z] : table)
    CHECK(std::fabs(pm::detail::normal_quantile(share) - z) < 5e-4);
}

TEST_CASE("service: one unloaded request is its prefill and its decode steps") {
  for (const auto kind : {pm::scheduling::mixed_chunks, pm::scheduling::prefill_first,
                          pm::scheduling::static_batches}) {
    auto t = terms(kind, 101);
    t.request_cpu_time = 7 * pm::ms;
    const auto one = pm::closed_service(t, passes, pm::closed_loop{1});
    CHECK(near(one.ttft.mean(), 47 * pm::ms, 1e-6));
    CHECK(near(one.itl.mean(), 10 * pm::ms));
    CHECK(near(1 / one.throughput.value(), 0.047 + 100 * 0.01, 1e-6));
  }
}

TEST_CASE("service: a request has the prefill interference of all others while it decodes") {
  // Prefill first, one prompt per step: 9 others stall 1000 ITLs for 40 ms each. The first follows
  // the request's own prefill: half of the 9 / 1000 that came with it run there.
  auto apart = passes;
  apart.prefills_per_step = 1;
  apart.marginal_prefill_time = apart.saturated_prefill_time = apart.decode_stall = 40 * pm::ms;
  apart.decode_steps_per_prefill = 0;
  const auto ten =
      pm::closed_service(terms(pm::scheduling::prefill_first, 1001), apart, pm::closed_loop{10});
  const double first = 0.009 * 40 - 0.5 * 0.009 * 40;
  CHECK(near(ten.itl.mean(), (10.0 + 0.999 * 0.009 * 40 + 0.001 * first) * pm::ms, 1e-5));
  CHECK(near(ten.itl.quantile(0.5), 10 * pm::ms));
  CHECK(ten.itl.quantile(0.999) >= 50 * pm::ms);  // 0.9 % of the gaps have a prompt
}

TEST_CASE("service: the initial burst of a run is served one after the other") {
  // 40 requests, the first 20 at once, one prompt at a time: they wait 40 to 800 ms, 420 on
  // average.
  auto apart = passes;
  apart.prefills_per_step = 1;
  apart.marginal_prefill_time = apart.saturated_prefill_time = 40 * pm::ms;
  auto t = terms(pm::scheduling::prefill_first, 1001);
  t.output_cv = 0.5;
  const auto run = pm::closed_service(t, apart, pm::closed_loop{20, 40});
  CHECK(near(run.ttft[0].weight, 0.5));
  CHECK(near(run.ttft[0].from, 40 * pm::ms));
  CHECK(near(run.ttft[0].from + run.ttft[0].range, 800 * pm::ms));
  CHECK(near(run.ttft.quantile(0.99), (40.0 + 0.98 * 760.0) * pm::ms, 1e-6));
  // 19 other requests of the second burst end within 2 sqrt(pi) 500 tokens: 0.0107 with each.
  CHECK(run.ttft.quantile(0.4) == 40 * pm::ms);
}

TEST_CASE("service: those that find no place wait by Little's law") {
  const auto t = terms(pm::scheduling::prefill_first, 101, 10);
  const auto ten = pm::closed_service(t, passes, pm::closed_loop{10});
  const auto thirty = pm::closed_service(t, passes, pm::closed_loop{30});
  CHECK(near(ten.throughput, thirty.throughput));
  CHECK(near(thirty.ttft.mean() - ten.ttft.mean(), s(20 / ten.throughput.value())));
}

TEST_CASE("service: what a first token waits for adds up to its mean") {
  const auto sum = [](const pm::service_state& x) {
    const pm::ttft_terms& f = x.ttft_terms;
    return f.frontend_time + f.scheduling_delay + passes.prefill_time + f.prefill_queueing +
           f.admission_delay + f.kv_fetch;
  };
  for (const auto kind : {pm::scheduling::mixed_chunks, pm::scheduling::prefill_first,
                          pm::scheduling::static_batches}) {
    pm::service_terms t = terms(kind, 101, 20.0);
    t.request_cpu_time = 7 * pm::ms;
    t.scheduling_steps = 2.5;
    const auto closed = pm::closed_service(t, passes, pm::closed_loop{30});
    CHECK(near(sum(closed), closed.ttft.mean(), 1e-9));
    // 2.5 mean steps, and 10 of 30 requests queue for admission. The prefills that came with its own
    // are in its intervals and in none of those steps (prefill_first: service_by_hand.cpp); a static
    // batch decodes in them alone.
    const auto delay = closed.ttft_terms.scheduling_delay;
    const auto itls = 2.5 * closed.itl.mean();
    if (kind == pm::scheduling::mixed_chunks) CHECK(near(delay, itls, 1e-7));
    if (kind == pm::scheduling::static_batches) CHECK(near(delay, 2.5 * passes.decode_time, 1e-7));
    CHECK(near(closed.ttft_terms.admission_delay, s(10 / closed.throughput.value()), 1e-9));
    // The initial burst of a run is in addition: a tenth of the requests.
    const auto run = pm::closed_service(t, passes, pm::closed_loop{20, 200.0});
    const auto& wave = run.ttft[0];
    CHECK(near(wave.weight, 0.1, 1e-12));
    CHECK(near(0.1 * (wave.from + 0.5 * wave.range) + 0.9 * sum(run), run.ttft.mean(), 1e-9));

    const pm::open_loop arrivals{.rate = 5 * pm::request_per_s};
    const auto open =
        pm::open_service(t, passes, pm::closed_service(t, passes, pm::closed_loop{10}).itl,
                         arrivals, 8 * pm::request_per_s);
    CHECK(near(sum(open), open.ttft.mean(), 1e-9));
  }
}

TEST_CASE("service: a chunk budget that cannot keep up is full, and its prefills wait") {
  // 100 sequences of 10 gaps, each prompt takes 2 full iterations: 200 iterations a round.
  auto chunks = passes;
  chunks.prefills_per_step = 1;
  chunks.chunks = chunks.decode_steps_per_prefill = 2;
  chunks.prefill_time = chunks.saturated_prefill_time = 100 * pm::ms;
  chunks.decode_stall = chunks.marginal_prefill_time = 80 * pm::ms;
  const auto full =
      pm::closed_service(terms(pm::scheduling::mixed_chunks, 11), chunks, pm::closed_loop{100});
  CHECK(near(full.itl.mean(), 50 * pm::ms));  // every gap is a full iteration
  CHECK(near(1 / full.throughput.value(), 0.1, 0.02));
  CHECK(full.ttft.mean() > 9 * pm::second);
}

namespace {

/// Two stages by turns of two groups, 5 ms each, or 15 with one of the prompt's `chunks`, one in
/// each turn: how much later a turn ends that comes long after.
double later_by(int chunks) {
  const auto last = [](int heavy) {
    double free[2] = {}, group[2] = {};
    for (int turn = 0; turn < 40; ++turn) {
      double at = group[turn % 2];
      for (double& stage : free) stage = at = std::max(stage, at) + (turn < heavy ? 0.015 : 0.005);
      group[turn % 2] = at;
    }
    return group[1];
  };
  return last(chunks) - last(0);
}

}  // namespace

TEST_CASE("service: a prompt stalls others until its chunks are through the stages of a pipeline") {
  // 10 ms to decode and 30 ms with a chunk. Four chunks take two and a half gaps and add 20 ms to
  // each; 0.4 prompts in a gap fill it.
  const pm::deployment d{.device = cat::h200_sxm,
                         .model = cat::llama_3_8b,
                         .layout = {.pipeline = 2},
                         .serving_engine = pm::engine::vllm};
  const pm::service_load l{.input_tokens = 400,
                           .output_tokens = 11,
                           .arrivals = pm::closed_loop{8},
                           .chunk_tokens = 104};  // 100, and the 4 that a stage decodes
  const auto with_prefills = [](const pm::iteration&) { return s(0.030); };
  const auto p = pm::detail::prefill_steps_of(d, l, pm::scheduling::mixed_chunks, 8.0, s(0.010),
                                              with_prefills);
  CHECK(near(p.decode_stall, s(0.050)));
  CHECK(near(p.decode_stall, s(later_by(4))));
  const auto t = terms(pm::scheduling::mixed_chunks, 11);
  CHECK(near(pm::detail::itl_of(t, p, 0.5).mean(), s(0.030)));
  CHECK(near(pm::detail::itl_of(t, p, 0.2).mean(), s(0.020)));
  CHECK(near(pm::detail::itl_of(t, p, 0.2)[0].weight, 0.5));
  auto whole = l;
  whole.chunk_tokens = 404.0;
  const auto one = pm::detail::prefill_steps_of(d, whole, pm::scheduling::mixed_chunks, 8.0,
                                                s(0.010), with_prefills);
  CHECK(near(one.decode_stall, s(0.020)));
  CHECK(near(one.decode_stall, s(later_by(1))));
}

TEST_CASE("service: without mixed steps every request in service decodes") {
  for (const auto kind : {pm::scheduling::prefill_first, pm::scheduling::static_batches}) {
    CHECK(near(pm::closed_service(terms(kind, 101), passes, pm::closed_loop{16}).batch, 16.0));
    CHECK(near(pm::closed_service(terms(kind, 101, 4), passes, pm::closed_loop{16}).batch, 4.0));
  }
}

TEST_CASE("service: static batches wait for the longest output") {
  auto t = terms(pm::scheduling::static_batches, 101);
  t.output_cv = 0.2;
  const auto even =
      pm::closed_service(terms(pm::scheduling::static_batches, 101), passes, pm::closed_loop{16});
  const auto varied = pm::closed_service(t, passes, pm::closed_loop{16});
  // 16 prompts take 400 ms, and end after 40 + (15 x 25 + 3 x 20) / 2 ms in the mean. The first gap of
  // an answer is that of the rest.
  const double rest = 400 - (40 + 0.5 * 15 * 25 + 0.5 * 3 * 20);
  CHECK(near(even.itl.mean(), (10 + rest / 100) * pm::ms));
  CHECK(near(varied.ttft.mean() - even.ttft.mean(), 0.2 * 1.76599 * 100 * even.itl.mean(), 1e-3));
}

TEST_CASE("service: 64k prefills in chunks of 2048 do not stop the others") {
  // What chunking buys: the 99th percentile of the gaps, for a longer wait of the prompt.
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_70b, .layout = {.tensor = 8}};
  const pm::derated calibration{.compute_efficiency = 0.7, .memory_efficiency = 0.8};
  pm::service_load l{.input_tokens = 65536, .output_tokens = 1000, .arrivals = pm::closed_loop{8}};
  l.scheduler = pm::scheduling::prefill_first;
  l.chunk_tokens = 65536;
  const auto whole = pm::serving(d, l, calibration);
  l.scheduler = pm::scheduling::mixed_chunks;
  l.chunk_tokens = 2048;
  const auto chunked = pm::serving(d, l, calibration);
  CHECK(whole.itl_distribution.quantile(0.997) > 20.0 * chunked.itl_distribution.quantile(0.997));
  CHECK(chunked.ttft > whole.ttft);
  CHECK(near(chunked.itl_distribution.quantile(0.5), whole.itl_distribution.quantile(0.5), 0.1));
}

TEST_CASE("service: half a prompt found in the cache is half a prompt to compute") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_8b};
  const pm::derated calibration{.compute_efficiency = 0.7};
  pm::service_load l{.input_tokens = 4096, .output_tokens = 100, .arrivals = pm::closed_loop{1}};
  const auto none = pm::serving(d, l, calibration);
  l.prefix_hit = 0.5;
  const auto half = pm::serving(d, l, calibration);
  CHECK(half.ttft < 0.56 * none.ttft);  // its attention still sees the other half
  CHECK(half.ttft > 0.5 * none.ttft);
  l.prefix_hit = 1.0;
  CHECK(refusal([&] { (void)pm::serving(d, l, calibration); }) ==
        "PM-E010: prefix_hit is 1; allowed: 0 to 0.999: the last token is always computed");
}

TEST_CASE("service: arrivals beyond the capacity of a full service report the sustainable rate") {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_8b};
  const pm::derated calibration{.compute_efficiency = 0.7};
  pm::service_load l{.input_tokens = 1024, .output_tokens = 256};
  l.batch_limit = 64;
  l.arrivals = pm::open_loop{1000 * pm::request_per_s};
  const auto over = pm::serving(d, l, calibration);
  CHECK_FALSE(over.feasible);
  CHECK(std::string(over.feasible.reason) ==
        "requests arrive faster than a full batch serves them");
  l.arrivals = pm::closed_loop{64};
  CHECK(near(over.feasible.available, pm::serving(d, l, calibration).throughput.value()));
  l.arrivals = pm::open_loop{0.9 * over.feasible.available * pm::request_per_s};
  CHECK(pm::serving(d, l, calibration).feasible);
}

TEST_CASE("service: an idle engine answers an arrival as it answers a single request") {
  const pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_8b};
  for (const pm::engine engine : {pm::engine::vllm, pm::engine::sglang, pm::engine::trtllm}) {
    pm::deployment served = d;
    served.serving_engine = engine;
    const auto costs = pm::calibrated_for(served);
    for (const double output : {1.0, 2.0, 16.0, 256.0}) {
      pm::service_load l{.input_tokens = 1024, .output_tokens = output};
      l.arrivals = pm::closed_loop{1};
      const auto alone = pm::serving(served, l, costs);
      l.arrivals = pm::open_loop{1e-6 * pm::request_per_s};
      const auto idle = pm::serving(served, l, costs);
      INFO(pm::name_of(engine) << ", output " << output);
      CHECK(near(idle.ttft, alone.ttft, 1e-3));
      CHECK(near(idle.itl, alone.itl, 1e-3));
      CHECK(near(idle.e2e, alone.e2e, 1e-3));
    }
  }
}

TEST_CASE("service: prompts that arrive between two steps are those of the time between them") {
  auto t = terms(pm::scheduling::mixed_chunks, 101);
  for (const double rate : {0.1, 5.0, 20.0, 35.0}) {
    // m = rate (D + (1 - exp(-m)) S + (m - 1 + exp(-m)) M), by iteration
    double m = 0.0;
    for (int i = 0; i < 2000; ++i) {
      const double any = 1 - std::exp(-m);
      m = rate * (0.010 + any * 0.030 + (m - any) * 0.020);
    }
    const auto found = pm::detail::arrivals_between_steps(t, passes, rate * pm::request_per_s);
    CHECK(near(found, std::fmin(m, 4.0), 1e-6));
  }
}

TEST_CASE("service: prefill first, the gap between two decode steps is a busy period") {
  auto t = terms(pm::scheduling::prefill_first, 101, 1e9);
  const auto interval = [&](double marginal, double rate) {
    auto p = passes;
    p.marginal_prefill_time = s(marginal);
    return pm::detail::prefill_first_interval<double>(t, p, rate * pm::request_per_s);
  };
  for (const double rate : {0.5, 5.0, 20.0}) {
    // One prompt a step: M/G/1 with the decode step as its vacation, D / (1 - rate P).
    CHECK(near(interval(0.040, rate).mean, s(0.010 / (1 - rate * 0.040)), 1e-9));
    // Any number in 40 ms: steps go on while one arrives in 40 ms.
    const double steps = (1 - std::exp(-rate * 0.010)) * std::exp(rate * 0.040);
    CHECK(near(interval(0.0, rate).prefill_steps, steps, 1e-9));
    CHECK(near(interval(0.0, rate).mean, s(0.010 + steps * 0.040), 1e-9));
  }
}

TEST_CASE("service: lengths of a list") {
  const double two[] = {100, 300};
  CHECK(pm::length_statistics_of(two).mean == 200);
  CHECK(near(pm::length_statistics_of(two).cv, 0.5));
  const double three[] = {1, 2, 6};
  CHECK(near(pm::length_statistics_of(three).cv, std::sqrt((4 + 1 + 9) / 3.0) / 3));
  CHECK(refusal([] { (void)pm::length_statistics_of({}); }) ==
        "PM-E010: lengths is 0; allowed: 1 or more");
}

TEST_CASE("service: a load by hand, its chunks, its contexts and what replicas have of it") {
  pm::service_load l{
      .input_tokens = 1000, .output_tokens = 300, .arrivals = pm::closed_loop{30, 90}};
  l.prefix_hit = 0.4;
  CHECK(near(pm::detail::mean_chunk(l), 600));
  l.chunk_tokens = 2048;
  CHECK(near(pm::detail::mean_chunk(l), 600));
  l.chunk_tokens = 200;
  CHECK(near(pm::detail::mean_chunk(l), 200));
  // Chunks begin behind 400, 600 and 800 tokens.
  CHECK(near(pm::detail::tokens_before_chunk(l, 200.0), 600));
  // 0 to 300 tokens of an answer; as an exponential each token stands behind 300, on average.
  CHECK(near(pm::detail::mean_context(l), 1150));
  l.output_cv = 2;
  CHECK(near(pm::detail::mean_context(l), 1000 + 300 * 5 / 2.0));

  const auto loop_of = [&](double replicas) {
    return std::get<pm::closed_loop>(pm::per_replica(l, replicas).arrivals);
  };
  CHECK(loop_of(3).concurrency == 10);
  CHECK(*loop_of(3).requests == 30);
  CHECK(loop_of(60).concurrency == 1);
  CHECK(*loop_of(60).requests == 1.5);
  CHECK(*loop_of(180).requests == 1);
  l.arrivals = pm::open_loop{6 * pm::request_per_s};
  CHECK(pm::per_replica(l, 3.0).rate().value() == 2);
  l.preemption_mode = pm::preemption::recompute;
  CHECK(refusal([&] { pm::detail::check_load(l); }) ==
        "PM-E031: preemption_mode is recompute; allowed: none in an open loop");
  l.preemption_mode.reset();
  l.host = pm::host_cache{.hit = 0.4};
  CHECK_NOTHROW(pm::detail::check_load(l));
  l.host->hit = 0.5;
  CHECK(refusal([&] {
          pm::detail::check_load(l);
        }).starts_with("PM-E010: host.hit is 0.5; allowed: 0 to prefix_hit"));
}

}  // namespace unit_service
