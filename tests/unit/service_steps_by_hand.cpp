// Services with engine steps of given times: chunked prefill, the bound of a service, and pools,
// each by hand.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/serving.hpp>
#include <string>

#include "support/near.hpp"
#include "support/short_quantities.hpp"

namespace unit_service_steps_by_hand {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::in_ms;
using perfmodel_test::ms;
using perfmodel_test::near;
using pm::scheduling;

namespace {

pm::deployment of_groups(int pipeline, int data) {
  return pm::with_all_memory(
      pm::deployment{.device = cat::h100_sxm,
                     .model = cat::llama_3_8b,
                     .layout = {.tensor = 2, .pipeline = pipeline, .data = data}});
}
/// 1000 tokens, of which a cache has 400.
pm::service_load load(double chunk) {
  return {.input_tokens = 1000,
          .output_tokens = 101,
          .arrivals = pm::closed_loop{5, 20},
          .chunk_tokens = chunk,
          .prefix_hit = 0.4};
}
/// Milliseconds of a pass.
double given(const pm::iteration& i) {
  return 5 + 0.1 * i.batch + 0.001 * i.context + 0.01 * i.prefill_tokens + 0.002 * i.prefill_past;
}
pm::duration<> time_of(const pm::iteration& i) {
  return ms(given(i));
}
pm::estimate pass_of(const pm::iteration& i) {
  pm::estimate e;
  e.time = ms(given(i));
  return e;
}

}  // namespace

TEST_CASE("steps by hand: every data-parallel group decodes as many as the largest") {
  const auto step_of = [](double concurrency, bool open) {
    pm::service_load l{.input_tokens = 100, .output_tokens = 101};
    if (open) {
      l.arrivals = pm::open_loop{concurrency * pm::request_per_s};
    } else {
      l.arrivals = pm::closed_loop{concurrency};
    }
    pm::service_terms engine;
    const auto estimate_step = [](const pm::iteration& i) { return pass_of(i); };
    return in_ms(
        pm::detail::predict_service(of_groups(1, 4), l, engine, estimate_step).steps.decode_time);
  };
  const double context = 150.5;
  CHECK(near(step_of(1, false), given({.batch = 4, .context = context, .prefill_past = 0}), 1e-9));
  CHECK(near(step_of(3, false), step_of(1, false), 1e-9));
  // Of hardly any others in an open loop, a request decodes alone in its group.
  CHECK(near(step_of(0.001, true), step_of(1, false), 1e-6));
  // Of n others, spread evenly: (G - 1) / 2 more than the mean, as ceil(n / G) G has.
  double all = 0;
  for (int n = 5; n <= 8; ++n) all += 4 * std::ceil(n / 4.0);
  CHECK(near(all / 4, (5 + 6 + 7 + 8) / 4.0 + 1.5));
}

TEST_CASE("steps by hand: a prefill in chunks, over stages and groups") {
  // 600 tokens in chunks of 250: 2.4 full ones, three in all; their mean begins behind 400 + 175.
  const double cached = 575;
  for (const auto kind : {scheduling::prefill_first, scheduling::mixed_chunks}) {
    const bool mixed = kind == scheduling::mixed_chunks;
    // A budget of which decoding leaves so many tokens: each group's stage decodes its share of 32.
    const auto leaving = [&](double tokens, double groups) {
      return load(tokens + (mixed ? 32.0 / groups : 0.0));
    };
    const auto time = [&](double tokens) {
      return given({mixed ? 32.0 : 0.0, 1050.5, tokens, cached});
    };
    const auto p =
        pm::detail::prefill_steps_of(of_groups(2, 3), leaving(250, 6), kind, 32.0, ms(4), time_of);
    CHECK(p.chunks == 3);
    CHECK(near(p.prefills_per_step, 6));        // one for each stage of each group
    const double others = mixed ? 0.6 * 4 : 0;  // what the last chunk leaves of an iteration
    CHECK(near(in_ms(p.prefill_time), (2.4 + 1) / 2 * time(250) + others, 1e-9));
    // The time for which chunks are in one of two stages.
    CHECK(near(in_ms(p.decode_stall),
               mixed ? (2.4 + 1) / 2 * (time(250) - 4) : in_ms(p.prefill_time), 1e-9));
    CHECK(near(in_ms(p.saturated_prefill_time), 2.4 / 6 * time(1500), 1e-9));
    CHECK(near(in_ms(p.marginal_prefill_time), 2.4 * (0.01 * 1250) / 5, 1e-9));
    CHECK(near(p.decode_steps_per_prefill + 1, mixed ? 1.4 : 1.0));
    CHECK(near(p.prefill_iteration.prefill_past, cached));
    // One at a time: its own time without that of the concurrent decoding.
    const auto one =
        pm::detail::prefill_steps_of(of_groups(1, 1), leaving(250, 1), kind, 32.0, ms(4), time_of);
    CHECK(one.prefills_per_step == 1);
    CHECK(near(in_ms(one.marginal_prefill_time), 2.4 * time(250) - (mixed ? 2.4 * 4 : 0), 1e-9));
    // A budget of two and a half prompts.
    const auto wide =
        pm::detail::prefill_steps_of(of_groups(2, 3), leaving(1500, 6), kind, 32.0, ms(4), time_of);
    CHECK(wide.chunks == 1);
    CHECK(near(wide.prefills_per_step, 2.5 * 6));
  }
}

TEST_CASE("steps by hand: the budget that decoding leaves, and the load that fills it") {
  const auto d = of_groups(2, 2);
  auto l = load(300);
  CHECK(pm::detail::prefill_budget(d, l, scheduling::prefill_first, 100.0) == 300);
  CHECK(pm::detail::prefill_budget(d, l, scheduling::mixed_chunks, 100.0) == 300 - 25);
  // 100 gaps meet two prompts of 600 tokens: twelve and itself in each, over two stages of two
  // groups.
  CHECK(near(pm::detail::largest_decode_batch(d, l, 100.0, 2.0), 4 * 300 / 13.0));
  l.chunk_tokens.reset();
  const double all = pm::detail::step_token_budget(d);
  CHECK(pm::detail::prefill_budget(d, l, scheduling::prefill_first, 100.0) == all);
  CHECK(near(pm::detail::prefill_budget(d, l, scheduling::mixed_chunks, 100.0), all - 25));
  CHECK(near(pm::detail::prefill_budget(d, l, scheduling::mixed_chunks, 4 * all), all / 16));
  // A sequence is not divided.
  CHECK(pm::detail::prefill_budget(d, l, scheduling::mixed_chunks, 2.0) == all - 1);
  CHECK(near(pm::detail::largest_decode_batch(d, l, 100.0, 2.0), 4 * all / 13));
  // Short prompts among long answers: a sixteenth of the budget is theirs in any case.
  CHECK(near(pm::detail::largest_decode_batch(d, l, 1e4, 1.0), 4 * all / (16 * 0.06)));
}

TEST_CASE("steps by hand: the default budget changes nothing where it is stated") {
  for (const auto engine : {pm::engine::none, pm::engine::vllm, pm::engine::sglang}) {
    auto d = of_groups(1, 1);
    d.serving_engine = engine;
    pm::service_load unsaid{
        .input_tokens = 4000, .output_tokens = 200, .arrivals = pm::closed_loop{64}};
    auto said = unsaid;
    said.chunk_tokens = pm::detail::step_token_budget(d);
    CHECK(*said.chunk_tokens == 8192);
    for (const auto kind : {scheduling::prefill_first, scheduling::mixed_chunks}) {
      unsaid.scheduler = said.scheduler = kind;
      const auto a = pm::serving(d, unsaid, pm::datasheet{}),
                 b = pm::serving(d, said, pm::datasheet{});
      CHECK(a.itl == b.itl);
      CHECK(a.ttft == b.ttft);
      CHECK(a.throughput == b.throughput);
      said.chunk_tokens = 8191;  // and one token less changes little
      const auto less = pm::serving(d, said, pm::datasheet{});
      CHECK(near(a.itl.value(), less.itl.value(), 1e-3));
      said.chunk_tokens = 8192;
    }
  }
}

TEST_CASE("bound by hand: a run that decodes in steps with other requests' chunks") {
  const auto d = of_groups(2, 1);
  const auto s = pm::detail::steady_state(d, load(250), pass_of);
  // Four others, but for the first quarter of all, each in three chunks of 200 behind 400 + 200
  // tokens. Of the 102 passes of a request, two over both stages are its prompt's: in 100 it
  // decodes.
  const double beside = 4 * 100 / 102.0;
  const double itl = given({1 + beside, 1050.5, 3 * 600 / 101.0, 600});
  const double first = (3 + 1) / 2.0 * given({beside, 1050.5, 200, 600});
  CHECK(near(in_ms(s.itl), itl, 1e-9));
  CHECK(near(in_ms(s.ttft), first, 1e-9));
  CHECK(near(s.throughput.value(), 5e3 / (first + 100 * itl), 1e-9));
  CHECK(near(in_ms(s.e2e), first + 100 * itl, 1e-9));
  // Places for two of the five: three wait.
  auto l = load(250);
  l.batch_limit = 2;
  const auto two = pm::detail::steady_state(d, l, pass_of);
  CHECK(near(two.throughput.value() * two.e2e.value(), 5, 1e-9));
  CHECK(near(two.wait.value(), 3 / two.throughput.value(), 1e-9));
}

TEST_CASE("bound by hand: arrivals, and more of them than prefills or batch slots admit") {
  const auto d = of_groups(2, 3);
  auto l = load(250);
  const auto at = [&](double rate) {
    l.arrivals = pm::open_loop{rate * pm::request_per_s};
    return pm::detail::steady_state(d, l, pass_of);
  };
  const auto s = at(12);
  CHECK(s.feasible);
  CHECK(near(s.batch, 12 * 100 * s.itl.value(), 1e-6));
  CHECK(near(in_ms(s.itl), given({s.batch, 1050.5, s.batch * 600 / 100, 600}), 1e-6));
  // Many prompts take 0.01 ms per token of 600. M/D/1 of these waits for less than a prompt takes.
  const double first = (3 + 1) / 2.0 * given({s.batch, 1050.5, 200, 600}), each = 6;
  const double busy = 12 * 1e-3 * each;
  CHECK(busy / (1 - busy) / 2 * each + each < first);
  CHECK(near(in_ms(s.ttft), first, 1e-6));
  CHECK(s.wait.value() == 0);
  // 30 decodes take 100 steps. Each step with 30 / 100 prefills takes longer than one without, and
  // as many prefills on their own, since each step with prefill reads 600 cached tokens.
  l.batch_limit = 30;
  const double full = given({30, 1050.5, 0, 0}) + 30 / 100.0 * each;
  CHECK(full < given({30, 1050.5, 180, 600}));
  const auto over = at(40);
  CHECK_FALSE(over.feasible);
  CHECK(near(over.feasible.available, 30 / (1e-3 * full * 100), 1e-6));
  // One that never catches up waits as a queue that is all but full, 10^6 / 2 of its service.
  CHECK(near(in_ms(at(1000).wait), 0.5e6 * each, 1e-3));
  // Outputs of one token are prefills alone: 160 of 6 ms per second, and the wait for them.
  l.output_tokens = 1;
  l.batch_limit.reset();
  l.chunk_tokens.reset();
  const auto one = at(160);
  const double queue = 0.96 / 0.04 / 2 * each;
  CHECK(one.feasible);
  CHECK(near(in_ms(one.ttft), queue + each, 1e-4));
}

TEST_CASE(
    "service by hand: whole requests vary with their TTFT and their output length, as a "
    "lognormal") {
  pm::serving_estimate s;
  s.ttft = 6.0 * pm::second;
  s.itl = ms(20);
  s.throughput = 2 * pm::request_per_s;
  s.ttft_distribution.add({1.0, 3.0 * pm::second, {}, 3.0 * pm::second});
  auto l = load(250);
  l.output_tokens = 201;
  l.output_cv = 1;
  pm::detail::add_whole_requests(s, l);
  CHECK(near(s.e2e.value(), 10));
  CHECK(near(s.e2e_cv, std::sqrt(3.0 * 3.0 + 4.0 * 4.0) / 10, 1e-9));
  CHECK(near(s.output_rate.value(), 402));
  pm::detail::add_whole_requests(s, l, 51.0);
  CHECK(near(s.e2e.value(), 9));
  // cv^2 = e^4 - 1: a logarithm with a deviation of 2, with the mean over e^2 as median, 1.2 s. No
  // request ends before its first token: half of these take longer than 3 s (1 + ln 2).
  s.e2e_cv = std::sqrt(std::exp(4.0) - 1);
  CHECK(near(s.e2e_quantile(0.5).value(), 3 * (1 + std::log(2.0)), 1e-9));
  s.ttft_distribution = {};
  CHECK(near(s.e2e_quantile(0.5).value(), 9 * std::exp(-2.0), 1e-3));
  CHECK(near(s.e2e_quantile(0.8413447).value(), 9.0, 2e-3));
}

namespace {

/// Two replicas compute prompts, 120 ms each and 220 ms for two; three decode, 10 ms and 0.5 for
/// each sequence.
struct two_pools {
  pm::disaggregated d{.prefill = {of_groups(1, 1), 2},
                      .decode = {of_groups(1, 1), 3},
                      .link = {.bandwidth_per_device = 1.0 * pm::GB_per_s, .streamed = false}};
  pm::service_load l{.input_tokens = 1000,
                     .output_tokens = 101,
                     .arrivals = pm::closed_loop{24, 96},
                     .chunk_tokens = 2000.0,
                     .input_cv = 1.0,
                     .output_cv = 0.5};
  pm::service_terms engine = [] {
    pm::service_terms t;
    t.request_cpu_time = ms(7);
    return t;
  }();
  // 32 layers x 4 KiB x 1000 tokens, over two devices.
  double sent = 1e3 * 32 * 4096 * 1000 / 2 / 1e9;
  double own = 7 + 120 + sent;
  static double step(double batch) { return 10 + 0.5 * batch; }

  template <template <class, class, class> class Flow>
  pm::disaggregated_estimate estimate(const pm::service_terms& terms) const {
    const auto prefill = [](const pm::iteration& i) {
      pm::estimate e;
      e.time = ms(20 + 0.1 * i.prefill_tokens);
      return e;
    };
    const auto decode = [](const pm::iteration& i) {
      pm::estimate e;
      e.time = ms(step(i.batch));
      return e;
    };
    return Flow<double, decltype(prefill), decltype(decode)>(d, l, terms, prefill, decode)
        .estimate();
  }
  pm::disaggregated_estimate predicted() const {
    return estimate<pm::detail::disaggregated_prediction>(engine);
  }
  pm::disaggregated_estimate bound() const { return estimate<pm::detail::disaggregated_bound>({}); }
};

void check_part(const pm::latency_distribution& times, std::size_t i, double weight, double from,
                double spread, double tail) {
  INFO("part " << i << ": " << times[i].weight << " from " << in_ms(times[i].from) << " + "
               << in_ms(times[i].range) << ", tail " << in_ms(times[i].tail) << " ms");
  CHECK(std::fabs(times[i].weight - weight) < 1e-6);
  CHECK(near(in_ms(times[i].from), from, 1e-6));
  CHECK(std::fabs(in_ms(times[i].range) - spread) < 1e-3);
  CHECK(std::fabs(in_ms(times[i].tail) - tail) < 1e-3);
}

}  // namespace

TEST_CASE("pools by hand: a run with an initial burst of prefills") {
  two_pools x;
  for (const double output : {101.0, 41.0}) {
    for (const bool starts : {false, true}) {
      x.l.output_tokens = output;
      x.l.stream_interval = 3;
      x.d.first_token_from_decode = starts;
      const auto s = x.predicted();
      const double steps = output - 1 + (starts ? 1 : 0);
      const double batch = s.batch / 3, step = x.step(batch), answer = steps * step;
      CHECK(near(in_ms(s.itl), step, 1e-9));
      CHECK(near(s.throughput.value(), 3 * batch / (1e-3 * answer), 1e-9));
      // A prompt is a slot of 220 / 2 / 2 ms; its wave ends from 220 ms, two on each, to 24 slots.
      const double away = x.own + answer - 55;
      const double queue = pm::schweitzer_wait(24.0, 55.0, away, 1.0);
      const double first = 7 + x.sent + (220 + 24 * 55) / 2.0;
      const double before = 0.25 * first + 0.75 * (x.own + queue);
      CHECK(near(s.throughput.value(), 24e3 / std::fmax(answer + before, 24 * 55), 1e-6));
      const double certain = std::fmax(24 * 55 - away - 55, 0);
      const double start = ((starts ? 1 : 0) + 2) * step;
      check_part(s.ttft_distribution, 0, 0.25, 7 + x.sent + start + 220, 1100, 0);
      const double waits = std::pow(std::fmin(s.prefill_utilisation, 1 - 1e-6), std::sqrt(6.0) - 1);
      // Prompts as exponential as their cv of 1 says: prefill and transfer from 0 on. Waits between 0
      // and twice their mean vary less, by 1 / sqrt(3) of it, and are taken at their mean.
      const double prompt = 120 + x.sent, unqueued = x.own + start + certain;
      const double waiting = (queue - certain) / waits;
      CHECK(prompt > waiting / std::sqrt(3.0));
      check_part(s.ttft_distribution, 1, 0.75 * (1 - waits), unqueued - prompt, 0, prompt);
      check_part(s.ttft_distribution, 2, 0.75 * waits, unqueued + waiting - prompt, 0, prompt);
      CHECK(near(in_ms(s.wait), 0.75 * queue + 0.25 * ((220 + 24 * 55) / 2.0 - 120), 1e-6));
      // A link for each of two devices that send and three that take.
      CHECK(near(s.transfer_utilisation, s.throughput.value() * 1e-3 * x.sent / 2, 1e-9));
    }
  }
  // One replica per request: no prefill has another one in its steps.
  x.l.arrivals = pm::closed_loop{2, 8};
  CHECK(near(in_ms(x.predicted().ttft_distribution[0].from),
             7 + x.sent + in_ms(x.predicted().itl) * 3 + 120, 1e-6));
}

TEST_CASE("pools by hand: places that are all taken, and the rate that they let through") {
  two_pools x;
  x.l.batch_limit = 4;
  const auto s = x.predicted();
  const double answer = 100 * x.step(4);
  CHECK(near(s.batch, 12, 1e-6));
  CHECK(near(s.decode_utilisation, 1, 1e-6));
  CHECK(near(s.throughput.value(), 12e3 / answer, 1e-6));
  CHECK(near(s.balanced_ratio, 110 / (answer / 4), 1e-6));
  const double queue = pm::schweitzer_wait(24.0, 55.0, x.own + answer - 55, 1.0);
  const double before = 0.25 * (7 + x.sent + 770) + 0.75 * (x.own + queue);
  const double place = 2 * answer - answer - before;
  CHECK(near(in_ms(s.wait), place + 0.75 * queue + 0.25 * (770 - 120), 1e-6));
  const auto b = x.bound();
  CHECK(near(b.batch, 12, 1e-6));
  CHECK(near(b.throughput.value() * b.e2e.value(), 24, 1e-6));
}

TEST_CASE("pools by hand: arrivals queue behind prefills and for a batch slot") {
  two_pools x;
  x.l.batch_limit = 6;
  x.l.input_cv = 0.5;
  const pm::open_loop arrivals{.rate = 8 * pm::request_per_s, .cv = 2.0, .arrivals_per_burst = 3.0};
  x.l.arrivals = arrivals;
  const double most = 18e3 / (100 * x.step(6)), busy = 8 * 0.055;
  const double waits = std::pow(busy, std::sqrt(6.0) - 1);
  const double queue = (2 * 2 + 0.5 * 0.5) / 2.0 * waits / (1 - busy) * 55;
  const auto s = x.predicted();
  CHECK(s.feasible);
  const double batch = 8 * 0.1 / 3 * x.step(s.batch / 3);  // of each of three
  CHECK(near(s.batch, 3 * batch, 1e-6));
  auto places = x.engine;
  places.max_running = 18;
  places.output_cv = 0.5;
  const auto taken =
      pm::detail::admission_queue_of(places, arrivals, 3 * batch, most * pm::request_per_s);
  const double place = taken.share * in_ms(taken.wait);
  CHECK(place > 1);
  CHECK(near(in_ms(s.wait), place + 55 + queue, 1e-6));  // two come with it: a slot each, or half
  // Half of prefill and transfer varies, by its cv of 0.5.
  const double prompt = 120 + x.sent;
  check_part(s.ttft_distribution, 0, 1 - waits, x.own + place + 55 - prompt / 2, 0, prompt / 2);
  check_part(s.ttft_distribution, 1, waits, x.own + place + 55 - prompt / 2, 0,
             prompt / 2 + queue / waits);
  const auto b = x.bound();
  CHECK(near(in_ms(b.wait), 55 + queue, 1e-6));
  CHECK(near(in_ms(b.ttft), x.own - 7 + 55 + queue, 1e-6));
  CHECK(near(in_ms(b.itl), x.step(batch), 1e-6));
  CHECK(near(in_ms(b.e2e), in_ms(b.ttft) + 100 * in_ms(b.itl), 1e-6));
  CHECK(near(b.batch, 3 * batch, 1e-6));
  // The minimum of 18.2 prefills and 13.8 outputs a second, and at the least all but that.
  x.l.arrivals = pm::open_loop{most * 1.001 * pm::request_per_s};
  const auto over = x.predicted();
  CHECK_FALSE(over.feasible);
  CHECK(near(over.feasible.available, most, 1e-6));
  CHECK(std::string(over.feasible.reason).find("decode pool") != std::string::npos);
  x.l.arrivals = pm::open_loop{most * 0.999 * pm::request_per_s};
  CHECK(x.predicted().feasible);
}

TEST_CASE("pools by hand: a budget of one prompt and a half") {
  two_pools x;
  x.l.chunk_tokens = 1500;
  // 150 ms and 20 ms over 1.5 prompts and two replicas.
  const auto s = x.predicted();
  CHECK(near(s.prefill_utilisation, s.throughput.value() * 0.170 / 1.5 / 2, 1e-9));
}

}  // namespace unit_service_steps_by_hand
