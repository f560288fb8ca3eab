// Services of given iterations, each term by hand: a run in a closed loop, arrivals, gaps and
// waits.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <numeric>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/machine_profile.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/serving/closed_loop.hpp>
#include <perfmodel/serving/open_loop.hpp>
#include <perfmodel/serving/prediction_of_service.hpp>
#include <vector>

#include "support/near.hpp"
#include "support/short_quantities.hpp"

namespace unit_service_by_hand {

namespace pm = perfmodel;
using perfmodel_test::in_ms;
using perfmodel_test::ms;
using perfmodel_test::near;
using pm::scheduling;

namespace {

/// Milliseconds: 10 to decode, 40 for a prompt alone, 25 for each of those that fill an iteration.
pm::prefill_steps passes(double together, double decodes) {
  return {.decode_time = ms(10),
          .prefill_time = ms(40),
          .decode_stall = ms(30),
          .marginal_prefill_time = ms(20),
          .saturated_prefill_time = ms(25),
          .prefills_per_step = together,
          .chunks = 1.0,
          .length_time = ms(40),
          .decode_steps_per_prefill = decodes};
}
pm::service_terms terms(scheduling kind, double output, double output_cv) {
  pm::service_terms t;
  t.scheduler = kind;
  t.output_tokens = output;
  t.output_cv = output_cv;
  t.input_cv = 0.5;
  t.request_cpu_time = ms(7);
  return t;
}

void check_part(const pm::latency_distribution& times, std::size_t i, double weight, double from,
                double spread, double tail) {
  INFO("part " << i << ": " << times[i].weight << " from " << in_ms(times[i].from) << " + "
               << in_ms(times[i].range) << ", tail " << in_ms(times[i].tail) << " ms");
  CHECK(near(times[i].weight, weight, 1e-9));
  CHECK(near(in_ms(times[i].from), from, 1e-9));
  CHECK(std::fabs(in_ms(times[i].range) - spread) < 1e-6);
  CHECK(std::fabs(in_ms(times[i].tail) - tail) < 1e-6);
}

/// Steps of a request: two before it joins one, its prefill and 100 that decode it, and those of
/// its 7 ms of CPU time, at 10 ms and what the prefills of 19 others, 20 ms each, add to one.
double steps_with_cpu_time(double others) {
  double step = 10;
  for (int i = 0; i < 200; ++i) step = 10 + 19 * 20 / (others + 7 / step);
  return others + 7 / step;
}
const double steps = steps_with_cpu_time(2 + 1 + 100);
/// Prefills that start in a step: 19 others, of which the first wave of a fifth does not count.
const double met = 19 * 0.8 / steps;
/// The mean gap where the first of them stalls it for 30 ms.
const double some = 1 - std::exp(-met);
const double mean_itl = 10 + some * 30 + (met - some) * 20;

/// 30 requests at a time, 100 in all, of which 20 fit: a first wave of a fifth, then four more.
pm::service_terms of_run(scheduling kind, double output_cv) {
  pm::service_terms t = terms(kind, 101, output_cv);
  t.scheduling_steps = 2;
  t.startup_time = ms(3);
  t.max_running = 20;
  return t;
}
const pm::closed_loop run{30, 100};

}  // namespace

TEST_CASE("service by hand: a run with prefills in clusters or waiting for their budget") {
  // Ends spread by 0.1 x 101 tokens, after k answers sqrt(k) times as much; four waves: 1 /
  // sqrt(2).
  const double ending = 19 * std::sqrt(0.5) / (2 * std::sqrt(std::acos(-1.0)) * 0.1 * 101);
  for (const double decodes : {1.0, 4.0}) {
    const auto x =
        pm::closed_service(of_run(scheduling::mixed_chunks, 0.1), passes(4, decodes), run);
    // Schweitzer: R = S (1 + 19 R / (R + Z)), of which prompts of a cv of 1/2 wait 5/8. A request is
    // away for 100 intervals, the two steps before it joins one, and its CPU time in full steps.
    const double away = 102 + 7 * decodes / 25;
    const double excess = 20 * decodes - away;
    const double round = (excess + std::sqrt(excess * excess + 4 * away * decodes)) / 2;
    CHECK(near(round, decodes * (1 + 19 * round / (round + away)), 0.05));
    // With those ahead of it a prompt takes 25 ms of their full steps, not 40.
    const double queue = 0.625 * (round - decodes) / decodes * 25 - (40 - 25);
    const double behind = ending / 2 * (25 + 20);
    CHECK((decodes > 1) == (queue > behind));
    const double delay = std::fmax(queue, behind);

    const double own = 7 + 2 * mean_itl + 40;
    const double in_service = own + delay + 100 * mean_itl;
    CHECK(near(in_ms(x.itl.mean()), mean_itl, 1e-9));
    CHECK(near(x.ttft_terms.coscheduled_prefills, ending, 1e-9));
    CHECK(near(in_ms(x.ttft_terms.prefill_queueing), delay, 1e-9));
    CHECK(near(in_ms(x.ttft_terms.admission_delay), in_service / 2, 1e-9));
    CHECK(near(in_ms(x.wait), delay + in_service / 2, 1e-9));
    CHECK(near(x.batch, 20 * 100 * mean_itl / in_service, 1e-9));
    const double longest = in_service + 0.1 * 1.86748 * 100 * mean_itl;  // normal: tabled
    CHECK(near(x.throughput.value(), 100 / (1e-3 * (3 + 4 * in_service + longest)), 1e-4));

    check_part(x.ttft, 0, 0.2, 7 + 3 + 100, 400, 0);
    const double meets = 1 - std::exp(-ending);
    const double from = own + in_service / 2 - 20;  // a prompt's length varies by half of its 40 ms
    check_part(x.ttft, 1, 0.8 * (1 - meets), from, 0, 20);
    // Of a Poisson count, the 99th percentile is that of the exponential beyond a constant.
    const double most = std::fmin(19 * 25, (1 + 2.326 / std::sqrt(ending)) * delay);
    const double tail =
        std::fmin(delay / meets, std::fmax(most - delay / meets, 0.0) / (std::log(100.0) - 1));
    check_part(x.ttft, 2, 0.8 * meets, from + delay / meets - tail, 0, tail + 20);
  }
}

TEST_CASE("service by hand: a full engine takes no longer than its work") {
  // Two requests that nothing keeps away, of one token and 25 ms each: 2 x 30 ms where prompts stall
  // decoding for 30, and a step of 10 ms for each of those that they wait for and are in.
  pm::service_terms t = terms(scheduling::mixed_chunks, 1, 0.0);
  t.request_cpu_time = {};
  t.max_running = 2;
  const auto x = pm::closed_service(t, passes(1, 1), pm::closed_loop{2});
  CHECK(in_ms(x.ttft.mean()) <= 2 * 30 + 2 * 10 + 1e-9);
  // One alone has only its prefill, even if a prompt of a full step takes longer.
  pm::prefill_steps p = passes(4, 1);
  p.saturated_prefill_time = 2.0 * p.prefill_time;
  t.max_running = 1;
  CHECK(near(in_ms(pm::closed_service(t, p, pm::closed_loop{1}).ttft.mean()), 40, 1e-9));
  // Outputs of one token decode nothing: one sequence at least is in a step.
  t.max_running = 20;
  CHECK(near(pm::closed_service(t, passes(4, 1), pm::closed_loop{20}).batch, 1.0, 1e-9));
}

TEST_CASE("service by hand: outputs of one length end in one step, in a full iteration at most") {
  const auto beside = [](scheduling kind, double together, const pm::closed_loop& loop) {
    return pm::closed_service(of_run(kind, 0.0), passes(together, 1), loop)
        .ttft_terms.coscheduled_prefills;
  };
  CHECK(near(beside(scheduling::mixed_chunks, 4, run), 4.0));
  CHECK(
      near(beside(scheduling::mixed_chunks, 0.1, run), 19 / steps, 1e-8));  // as a steady loop has
  CHECK(near(beside(scheduling::prefill_first, 4, run), 19.0));
  const double decoding = steps_with_cpu_time(2 + 100);  // its prefill is no step
  CHECK(near(beside(scheduling::prefill_first, 4, {30}), 19 / decoding, 1e-8));
  // Those that complete together wait for each other's prompts, half of them on average.
  const auto waves = pm::closed_service(of_run(scheduling::mixed_chunks, 0.0), passes(40, 1), run);
  CHECK(near(in_ms(waves.ttft_terms.prefill_queueing), 19 / 2.0 * (25 + 20), 1e-9));
  // The whole run at once is one wave.
  const auto once =
      pm::closed_service(of_run(scheduling::prefill_first, 0.1), passes(4, 1), {20, 10});
  CHECK(near(once.itl.mean(), ms(10)));
  CHECK(near(once.ttft[0].weight, 1.0));
  // One alone decodes whenever it is not at its prompt, and is one sequence then.
  auto t = terms(scheduling::mixed_chunks, 2, 0);
  CHECK(near(pm::closed_service(t, passes(4, 1), {1}).batch, 1.0));
  // Twice the prompts, where evictions compute them again.
  t = of_run(scheduling::prefill_first, 0.0);
  t.prefills_per_request = 2;
  const double twice = 2 * 19 * 0.8 / decoding, stalled = 1 - std::exp(-twice);
  // Of the first gap the 20 prompts that came together have the rest: 20 x 25 ms, but their mean end.
  const double rest = 20 * 25 - (40 + 0.5 * 19 * 25 + 0.5 * 3 * 20);
  CHECK(near(in_ms(pm::closed_service(t, passes(4, 1), run).itl.mean()),
             10 + 0.99 * (stalled * 30 + (twice - stalled) * 20) + 0.01 * rest, 1e-7));
  // The two steps before it joins are others': the rest of its own prompts is in none of them. Where
  // a batch is static nothing is prefilled in them.
  const auto before = [&](scheduling kind) {
    t.scheduler = kind;
    return in_ms(pm::closed_service(t, passes(4, 1), run).ttft_terms.scheduling_delay);
  };
  CHECK(near(before(scheduling::prefill_first), 2 * (10 + stalled * 30 + (twice - stalled) * 20),
             1e-7));
  CHECK(near(before(scheduling::static_batches), 2 * 10.0, 1e-7));
}

TEST_CASE(
    "service by hand: with a full budget a closed loop of B waits for B prefills less its own "
    "time") {
  // 20 prompts of 8 iterations, which come back after 100: 160 - 100 - 8 at least, all but nothing
  // less.
  CHECK(near(pm::schweitzer_wait(20.0, 8.0, 100.0, 0.0), 160 - 100 - 8.0));
  // With exponential lengths a prompt waits all of its R, here 0.5 (60 + sqrt(60^2 + 3200)).
  CHECK(near(pm::schweitzer_wait(20.0, 8.0, 100.0, 1.0), (60 + std::sqrt(6800)) / 2 - 8));
  CHECK(near(pm::schweitzer_wait(20.0, 8.0, 100.0, 3.0), (60 + std::sqrt(6800)) / 2 - 8));
  CHECK(pm::schweitzer_wait(1.0, 8.0, 100.0, 0.0) == 0.0);
  CHECK(near(pm::detail::mean_inverse_square_root(4.0), std::sqrt(0.5)));
  CHECK(pm::detail::mean_inverse_square_root(1.0) == 1.0);
}

TEST_CASE("service by hand: tokens that an initial burst sends in one stream chunk") {
  double sent_itl = 0.0;
  const auto wave = [&](scheduling kind, double iterations) {
    auto t = of_run(kind, 0.0);
    t.stream_steps = iterations;
    t.scheduling_steps += iterations;
    const auto x = pm::closed_service(t, passes(4, 1), run);
    sent_itl = in_ms(x.itl.mean());
    return x.ttft;
  };
  // Prompts end from 100 to 500 ms, in four more iterations of 100 ms each.
  check_part(wave(scheduling::mixed_chunks, 3), 0, 0.05, 7 + 3 + 100 + 300, 100, 0);
  auto ttft = wave(scheduling::mixed_chunks, 3);
  check_part(ttft, 1, 0.15, 7 + 3 + 500, 3 * sent_itl, 0);
  ttft = wave(scheduling::mixed_chunks, 6);
  check_part(ttft, 0, 0.2, 7 + 3 + 500 + 2 * sent_itl, 4 * sent_itl, 0);
  ttft = wave(scheduling::prefill_first, 6);
  check_part(ttft, 0, 0.2, 7 + 3 + 500 + 6 * sent_itl, 0, 0);
}

TEST_CASE("service by hand: ITLs that a chunk stalls, and ITLs that whole prefills stall") {
  auto p = passes(1, 3);
  p.chunks = 3;
  auto t = terms(scheduling::mixed_chunks, 101, 0);
  // 0.2 prompts in a gap, of three chunks that share its 30 ms: 0.6 of the gaps have one.
  auto gaps = pm::detail::itl_of(t, p, 0.2);
  check_part(gaps, 0, 0.4, 10, 0, 0);
  check_part(gaps, 1, 0.6, 20, 0, 0);
  gaps = pm::detail::itl_of(t, p, 0.5);
  check_part(gaps, 0, 0.0, 10, 0, 0);
  check_part(gaps, 1, 1.0, 25, 0, 0);
  // Each of four data-parallel groups has a chunk with probability 0.15, and all wait for any.
  p = passes(4, 0.75);
  p.chunks = 3;
  gaps = pm::detail::itl_of(t, p, 0.2);
  const double any = 1 - std::pow(0.85, 4);
  check_part(gaps, 0, 1 - any, 10, 0, 0);
  check_part(gaps, 1, any, 10 + (30 + (0.6 / any - 1) * 20) / 3, 0, 0);
  // Apart a prompt is whole, and its length varies its stall.
  t.scheduler = scheduling::prefill_first;
  gaps = pm::detail::itl_of(t, p, 0.2);
  const double share = 1 - std::exp(-0.2);
  check_part(gaps, 0, 1 - share, 10, 0, 0);
  check_part(gaps, 1, share, 40 - 15, 0, 15 + (0.2 - share) / share * 20);
  CHECK(pm::detail::itl_of(t, p, 0.0).size() == 1);
  // Prompts of 30 steps run together: at most one gap in 30 stalls, with 0.1 x 30 prompts in all.
  t.collecting_steps = 30;
  gaps = pm::detail::itl_of(t, p, 0.1);
  const double together = (1 - std::exp(-3.0)) / 30;
  check_part(gaps, 0, 1 - together, 10, 0, 0);
  check_part(gaps, 1, together, 40 - 15, 0, 15 + (0.1 - together) / together * 20);
  t.collecting_steps = 1;
  t.input_cv = 2;  // an exponential at most
  check_part(pm::detail::itl_of(t, p, 0.2), 1, share, 10, 0, 30 + (0.2 - share) / share * 20);
}

TEST_CASE("service by hand: no ITL has more prefills than a full iteration takes") {
  // One and a half: 1.2 in a gap are in 0.8 of them at least, where by chance 0.7 had any.
  const auto p = passes(1.5, 1 / 1.5);
  auto t = terms(scheduling::mixed_chunks, 101, 0);
  t.input_cv = 0;
  check_part(pm::detail::itl_of(t, p, 1.2), 0, 0.2, 10, 0, 0);
  check_part(pm::detail::itl_of(t, p, 1.2), 1, 0.8, 40, 0, 0.5 * 20);
  // All that a full one takes: each gap has them.
  const auto full = pm::detail::itl_of(t, p, 1.5);
  check_part(full, 0, 0, 10, 0, 0);
  check_part(full, 1, 1, 40, 0, 0.5 * 20);
  // Two chunks and a half stall two gaps and a half, whatever the last one is counted as.
  auto cut = passes(1, 2.5);
  cut.chunks = 3;
  cut.decode_stall = ms(75);
  check_part(pm::detail::itl_of(t, cut, 0.2), 1, 0.5, 40, 0, 0);
}

namespace {

/// Three requests at once, ten a second, with ITLs of 16 ms and a deviation of 12 ms.
pm::service_state of_arrivals(const pm::service_terms& t, const pm::prefill_steps& p) {
  pm::latency_distribution itl;
  itl.add({0.8, ms(10)});
  itl.add({0.2, ms(40)});
  const pm::open_loop arrivals{
      .rate = 10 * pm::request_per_s, .cv = 2.0, .arrivals_per_burst = 3.0};
  return pm::open_service(t, p, itl, arrivals, 12 * pm::request_per_s);
}

}  // namespace

TEST_CASE("service by hand: arrivals, mixed with decoding or not") {
  for (const auto kind : {scheduling::mixed_chunks, scheduling::prefill_first}) {
    const bool mixed = kind == scheduling::mixed_chunks;
    auto t = terms(kind, 11, 0.5);
    t.scheduling_steps = 3;
    t.stream_steps = 1;  // of its own answer, in any case
    t.max_running = 6;
    t.full_itl = ms(60);
    const auto x = of_arrivals(t, passes(2.5, 2));
    const double batch = 10 * 11 * 0.016, found = 1 - std::exp(-batch);
    // Apart, a prompt takes 25 ms of each 100. Mixed, some join a step that has room for 2.5.
    double starts = 0.0;
    for (int i = 0; i < 200; ++i) {
      const double any = 1 - std::exp(-starts);
      starts = 10e-3 * (10 + any * 30 + (starts - any) * 20);
    }
    const double joining = std::fmin(starts / (1 - std::exp(-starts)), 2.5);
    // Apart, k prompts in each of g prefill steps between two decode steps: g is what ends them, and
    // what leaves none of the 10 a second. With all places taken an ITL is 60 ms.
    double fewest = 0.25, many = 1e3;  // 0.8 k > 0.2
    const auto steps_left = [](double k) { return 0.1 / (0.8 * k - 0.2); };
    while (many - fewest > 1e-12 * many) {
      const double k = (fewest + many) / 2;
      const double ended = (1 - std::exp(-0.1)) * std::exp(0.2 + k * (1 - std::exp(-0.2)));
      (steps_left(k) > ended ? fewest : many) = k;
    }
    const double gap = std::fmin(60, (10 + steps_left(many) * 20) / 0.8);
    const double g = std::fmin(steps_left(many), (gap - 10) / 40), step = (gap - 10) / g;
    const double share = mixed ? (40 + (joining - 1) * 20) / 2.5 : std::fmin(25, step / 2.5);
    const double busy = 10e-3 * share;
    const double queue = busy / (1 - busy) * (2 * 2 + 0.5 * 0.5) / 2 * share;
    const double burst = (0.5 * 2 * 25 + 0.5 * 1.5 * 20) / (1 - busy);
    // The step in progress. Its prompts arrived in the one before it: 10 a second, each 20 ms with a
    // variation of 2^2 + 0.5^2, and 20 ms a step with any. A deviation of that step adds arrivals.
    double length = step, seen = step, of_time = 1 - 10 / gap, decoding = 0;
    if (mixed) {
      double random = 10 * std::exp(-starts), prefills = 0, all = 10 * random, squares = 0;
      double chance = std::exp(-starts);
      for (int n = 1; n < 60; ++n) {
        chance *= starts / n;
        const double of_n = 20 + 20 * n;
        prefills += chance * of_n;
        squares += chance * of_n * of_n;
      }
      random += prefills, all += squares;
      const double varied = (4.25 - 1) * starts * 20 * 20;
      const double alone = all - random * random + varied;
      double variance = alone;
      for (int i = 0; i < 200; ++i) variance = alone + 0.2 * 0.2 * variance;
      length = prefills / (1 - std::exp(-starts));
      seen = (squares + varied + 0.2 * 0.2 * variance) / prefills;
      of_time = prefills / random;
      decoding = (1 - std::exp(-10e-3 * 10 * random)) * (1 - of_time);
    } else {
      decoding = (1 - std::exp(-10e-3 * 10 * gap)) * 10 / gap;
      for (int i = 0; i < 200; ++i)
        seen = 20 + (1 - 20 / step) * (20 + 4.25 * 20 + 0.2 * (decoding * 10 + of_time * seen));
      of_time *= 1 - 1 / 2.5;
    }
    seen = std::fmax(length, std::fmin(seen, std::fmax(2.5 * 25, mixed ? 0 : step)));
    const double in_progress = decoding * 10 + of_time * seen;
    const double square = decoding * 100 + of_time * seen * (2 * seen - length);
    const double joined = std::fmin(10e-3 * in_progress, 1.5);
    const double before = mixed ? 16 : std::fmin(16, gap);
    const double own = 7 + found * before + 16 + 40 + burst + joined * 20;
    const double in_system = 10e-3 * (own + in_progress / 2 + queue + 9 * 16);
    const auto place = pm::detail::admission_queue_of(
        t, pm::open_loop{10 * pm::request_per_s, 2.0, 3.0}, in_system, 12 * pm::request_per_s);
    CHECK(near(x.throughput.value(), 10));
    CHECK(near(x.batch, batch, 1e-9));
    CHECK(near(in_ms(x.ttft_terms.frontend_time), 7, 1e-9));
    CHECK(near(in_ms(x.ttft_terms.scheduling_delay), found * before + 16 + in_progress / 2, 1e-9));
    CHECK(near(x.ttft_terms.scheduling_steps, found + 1, 1e-9));
    CHECK(near(x.ttft_terms.coscheduled_prefills + 1, joined + 1, 1e-9));
    CHECK(near(in_ms(x.ttft_terms.prefill_queueing), queue + burst + joined * 20, 1e-9));
    CHECK(near(in_ms(x.ttft_terms.admission_delay), place.share * in_ms(place.wait), 1e-9));
    CHECK(near(in_ms(x.wait), queue + burst + place.share * in_ms(place.wait), 1e-9));

    // Rest of a step, uniform in it, and prompts that arrived in it: mean and variance of both.
    const double waits = in_progress / 2 + joined * 20 + queue;
    const double variance = square / 12 + 0.2 * in_progress * 20 * 1.25 +
                            0.7 * 0.7 * (square - in_progress * in_progress) + queue * queue;
    const double some_wait = std::fmin(1, 2 * waits * waits / (variance + waits * waits));
    const double mean = waits / some_wait;
    const double deviation =
        std::fmin(mean, std::sqrt((variance + waits * waits) / some_wait - mean * mean));
    const double tail = std::hypot(deviation, 0.5 * 40), first = own - joined * 20;
    const double admitted = 1 - place.share;
    check_part(x.ttft, 0, admitted * (1 - some_wait), first - 20, 0, 20);
    check_part(x.ttft, 1, admitted * some_wait, first + mean - tail, 0, tail);
    check_part(x.ttft, 2, place.share, own + in_progress / 2, 0, queue + in_ms(place.wait));
    // An iteration for one prompt is joined by none.
    CHECK(of_arrivals(t, passes(1, 2)).ttft_terms.coscheduled_prefills == 0.0);
  }
}

TEST_CASE("service by hand: requests in the system are normal up to the places, geometric beyond") {
  auto t = terms(scheduling::prefill_first, 11, 0.5);
  t.max_running = 20;
  const auto wait = [&](double rate, double n) {
    return pm::detail::admission_queue_of(t, pm::open_loop{rate * pm::request_per_s, 2.0, 3.0}, n,
                                          12 * pm::request_per_s);
  };
  const double bursts = 3 * (1 + 2 * 2) / 2.0;
  const auto expected = [&](double ratio, double n, double e) {
    const double deviation = std::sqrt(bursts * n / (1 - e)), z = (20 - n) / deviation;
    const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
    const double at = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)) / deviation;
    return at / (1 - ratio) / (below + at * ratio / (1 - ratio));
  };
  // Ten a second fill 10 of 20 places, and 12 a second all: C grows as n^e with 10^e / 20^e = 6/10.
  const double e = std::log(0.6) / std::log(0.5);
  CHECK(near(wait(10, 10).share, expected(10.0 / 12, 10, e), 3e-4));
  // Allen and Cunneen, with 0.8 of the variation of arrivals and of answers: 0.83 / (1 - 0.83) = 5.
  CHECK(near(wait(10, 10).wait.value(), 0.8 * bursts * 1.25 * 5 / 10, 1e-9));
  // A service that does not slow as it fills, and one that does so in proportion, or nearly.
  CHECK(near(wait(6, 15).share, expected(0.5, 15, 0), 3e-4));
  CHECK(near(wait(11.99, 10).share, expected(11.99 / 12, 10, 0.95), 3e-4));
  CHECK(wait(0.001, 0.001).share == 0.0);
}

TEST_CASE("service by hand: a request waits for the first stage of a pipeline, not for all") {
  for (const double stages : {1.0, 2.0, 4.0}) {
    pm::prefill_steps p = passes(4, 1);
    p.pipeline_stages = stages;
    pm::service_terms t = terms(scheduling::mixed_chunks, 101, 0);
    t.max_running = 64;
    // Half the time of a micro-batch in the first stage, where 7 others take it.
    const auto closed = pm::closed_service(t, p, pm::closed_loop{8});
    if (stages > 1.0)
      CHECK(near(closed.ttft_terms.scheduling_steps, (1 - std::exp(-7 / stages)) * 0.5 / stages));
    pm::latency_distribution itl;
    itl.add({1.0, ms(20)});
    const pm::open_loop arrivals{2.0 * pm::request_per_s};
    const auto open = pm::open_service(t, p, itl, arrivals, 20.0 * pm::request_per_s);
    if (stages == 1.0) continue;  // prompts share its steps: a test of its own
    const double decoding = 2 * 101 * 0.02;
    CHECK(near(in_ms(open.ttft_terms.scheduling_delay),
               (1 - std::exp(-decoding / stages)) * 20 / 2 / stages, 1e-9));
  }
}

TEST_CASE("service by hand: prefill of prompts that vary, the mean over their lengths") {
  // A ns per prompt token, and 2e-4 ns per token of context before or half of those beside it.
  const auto time_with = [](const pm::basic_iteration<double>& i) {
    const double each = i.prefill_tokens / i.prefill_sequences;
    return ms(1e-6 * i.prefill_tokens * (1.0 + 2e-4 * (i.prefill_past + 0.5 * each)));
  };
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_1_8b};
  for (const double input : {600.0, 1900.0, 6000.0}) {
    for (const double cv : {0.0, 0.3, 1.0}) {
      pm::service_load l{.input_tokens = input, .output_tokens = 100};
      l.input_cv = cv;
      l.chunk_tokens = 2000;
      const auto p =
          pm::detail::prefill_steps_of(d, l, scheduling::prefill_first, 0.0, ms(10), time_with);
      INFO(input << " tokens, " << cv << ": " << p.prefill_time.value());
      // The mean square of a length is its square times 1 + cv^2.
      CHECK(
          near(in_ms(p.prefill_time), 1e-6 * input * (1.0 + 1e-4 * input * (1.0 + cv * cv)), 1e-5));
    }
  }
  // All four prompts of a static batch are in one step.
  pm::service_load l{.input_tokens = 100, .output_tokens = 100};
  l.arrivals = pm::closed_loop{4};
  const auto p =
      pm::detail::prefill_steps_of(d, l, scheduling::static_batches, 4.0, ms(10), time_with);
  CHECK(p.prefills_per_step == 4.0);
}

namespace {

/// Uniform between 0 and 1.
class uniform_numbers {
 public:
  double operator()() {
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(seed_ >> 11) + 0.5) * 0x1p-53;
  }
  double exponential(double mean) { return -mean * std::log((*this)()); }

 private:
  std::uint64_t seed_ = 1;
};

}  // namespace

TEST_CASE("service by hand: the step in progress after a CPU time, as simulated") {
  pm::latency_distribution lengths;  // of 10 ms, or of 40 and an exponential of 20
  lengths.add({0.7, ms(10)});
  lengths.add({0.3, ms(40), {}, ms(20)});
  for (const double cpu : {1.0, 10.0, 35.0, 200.0}) {
    uniform_numbers u;
    double rest = 0, length = 0;
    constexpr int n = 400000;
    for (int i = 0; i < n; ++i) {
      const double until = u.exponential(cpu);
      double end = 0, step = 0;
      while (end < until) end += step = u() < 0.7 ? 10 : 40 + u.exponential(20);
      rest += end - until;
      length += step;
    }
    const pm::detail::step_after_cpu_time<double> x(lengths, ms(cpu));
    INFO(cpu << " ms: " << in_ms(x.rest) << " for " << rest / n << ", " << in_ms(x.length)
             << " for " << length / n);
    CHECK(near(in_ms(x.rest), rest / n, 0.01));
    CHECK(near(in_ms(x.length), length / n, 0.01));
  }
  // A CPU time of nothing leaves a whole step, a long one half of one of equal steps.
  pm::latency_distribution equal;
  equal.add({1.0, ms(10)});
  using after = pm::detail::step_after_cpu_time<double>;
  CHECK(near(in_ms(after(equal, ms(1e-6)).rest), 10.0, 1e-6));
  CHECK(near(in_ms(after(equal, ms(1e4)).rest), 5.0, 1e-3));
}

TEST_CASE("service by hand: chunks in data-parallel groups, as simulated") {
  // Steps of 10 ms, 25 more with a chunk and 5 for each further one; prompts of 1 to 3 chunks.
  constexpr double chunks = 1.5;
  for (const double rate : {0.002, 0.01, 0.02}) {  // a millisecond
    uniform_numbers u;
    std::array<std::deque<int>, 64> groups;
    double now = 0, arrival = 0, count = 0, with = 0, length = 0;
    std::size_t next = 0;
    while (count < 400000) {
      for (; arrival <= now; arrival += u.exponential(1 / rate)) {
        int n = 1;
        while (u() > 1 / chunks) ++n;
        groups[next++ % groups.size()].push_back(n);
      }
      double k = 0;
      for (auto& g : groups) {
        if (g.empty()) continue;
        ++k;
        if (--g.front() == 0) g.pop_front();
      }
      const double step = k > 0 ? 35 + 5 * (k - 1) : 10;
      now += step;
      ++count;
      if (k > 0) {
        ++with;
        length += step;
      }
    }
    const pm::prefill_steps p{.decode_time = ms(10),
                              .prefill_time = ms(35 * chunks),
                              .decode_stall = ms(25 * chunks),
                              .marginal_prefill_time = ms(5 * chunks),
                              .saturated_prefill_time = ms(1),
                              .prefills_per_step = 64,
                              .chunks = 2.0,
                              .decode_steps_per_prefill = chunks / 64};
    const pm::detail::chunks_in_groups<double> x(p, rate * 1e3 * pm::request_per_s);
    INFO(rate << ": share " << x.share << " for " << with / count << ", length " << in_ms(x.length)
              << " for " << length / with);
    CHECK(near(x.share, with / count, 0.06));
    CHECK(near(in_ms(x.length), length / with, 0.06));
  }
}

TEST_CASE("service by hand: TTFT of steps that take all prompts that wait, as simulated") {
  // Steps of 6 ms and 4 for each prompt, one after the other; all arrivals run in the next.
  const pm::prefill_steps p{.decode_time = ms(6),
                            .prefill_time = ms(10),
                            .decode_stall = ms(4),
                            .marginal_prefill_time = ms(4),
                            .saturated_prefill_time = ms(4),
                            .prefills_per_step = 1e4,
                            .chunks = 1.0,
                            .length_time = ms(10),
                            .decode_steps_per_prefill = 1e-4};
  pm::service_terms t = terms(scheduling::mixed_chunks, 1001, 0);
  t.input_cv = 0;
  t.request_cpu_time = {};
  t.max_running = 1e6;
  for (const double rate : {0.05, 0.15, 0.2}) {  // a millisecond
    uniform_numbers uniform;
    std::vector<double> waiting, times;
    double now = 0, arrival = 0;
    while (times.size() < 400000) {
      for (; arrival <= now; arrival += uniform.exponential(1 / rate)) waiting.push_back(arrival);
      now += 6 + 4 * static_cast<double>(waiting.size());
      for (const double from : waiting) times.push_back(now - from);
      waiting.clear();
    }
    const double mean =
        std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    std::sort(times.begin(), times.end());
    const double p99 = times[times.size() * 99 / 100];
    const pm::open_loop arrivals{rate * 1e3 * pm::request_per_s};
    const auto itl = pm::detail::open_loop_itl(t, p, arrivals, 0.0);
    const auto x = pm::open_service(t, p, itl, arrivals, 1e6 * pm::request_per_s);
    INFO(rate << ": " << in_ms(x.ttft.mean()) << " for " << mean << ", p99 "
              << in_ms(x.ttft.quantile(0.99)) << " for " << p99);
    CHECK(near(in_ms(x.ttft.mean()), mean, 0.02));
    CHECK(near(in_ms(x.ttft.quantile(0.99)), p99, 0.15));
  }
}

TEST_CASE("service by hand: the step in progress never gets shorter at a higher rate") {
  // At few arrivals it is one of 40 ms for 4 % of the time at 1 a second, or one that decodes.
  const pm::prefill_steps p = passes(8, 0.125);
  pm::service_terms t = terms(scheduling::mixed_chunks, 101, 0);
  t.input_cv = 0;
  double last = 0;
  for (double rate = 1e-3; rate < 45; rate *= 1.2) {
    const pm::open_loop arrivals{rate * pm::request_per_s};
    const pm::detail::prefill_queue<double> queue(t, p, arrivals);
    const double mean = in_ms(queue.in_progress.mean);
    INFO(rate << " a second: " << mean << " ms");
    CHECK(mean >= last);
    last = mean;
    if (rate > 0.1) continue;
    const double decoding = 1 - std::exp(-100 * 1e-3 * rate * (10 + rate * 10e-3 * 30));
    CHECK(near(mean, 1e-3 * rate * 40 * 40 + (1 - 1e-3 * rate * 40) * decoding * 10, 0.01));
  }
}

TEST_CASE(
    "service by hand: a step is that of the mean over prompt lengths, not of the mean length") {
  // Steps of whole tiles: 1 ms for each 128 tokens.
  const pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_1_8b};
  const auto tiles = [](const pm::iteration& i) { return ms(std::ceil(i.prefill_tokens / 128)); };
  for (const double input : {1024.0, 1025.0, 2000.0}) {
    for (const double cv : {0.2, 0.5}) {
      pm::service_load l{.input_tokens = input, .output_tokens = 100};
      l.input_cv = cv;
      l.chunk_tokens = 8192;
      const auto p =
          pm::detail::prefill_steps_of(d, l, scheduling::prefill_first, 0.0, ms(5), tiles);
      double expected = 0;  // lognormal
      const double s2 = std::log(1 + cv * cv);
      for (int i = 0; i < 1000; ++i) {
        const double z = pm::detail::normal_quantile((i + 0.5) / 1000);
        const double tokens = input * std::exp(std::sqrt(s2) * z - s2 / 2);
        expected += std::ceil(tokens / 128) / 1000;
      }
      CHECK(near(in_ms(p.prefill_step_time), expected, 0.05));
      CHECK(near(in_ms(p.length_time), input / 128, 0.2));
    }
    pm::service_load one{.input_tokens = input, .output_tokens = 100};
    const auto p =
        pm::detail::prefill_steps_of(d, one, scheduling::prefill_first, 0.0, ms(5), tiles);
    CHECK(near(in_ms(p.prefill_step_time), std::ceil(input / 128), 1e-9));
  }
}

TEST_CASE("service by hand: an engine's times are taken over") {
  struct engine_only {
    pm::basic_engine_profile<> engine{};
  } policy;
  policy.engine.request_cpu_time = ms(1);
  policy.engine.request_iterations = 2.5;
  policy.engine.prefill_step_factor = 1.25;
  policy.engine.run_start = ms(7);
  const pm::service_terms t = pm::detail::engine_terms<double>(policy);
  CHECK(t.request_cpu_time == ms(1));
  CHECK(t.scheduling_steps == 2.5);
  CHECK(t.prefill_slowdown == 1.25);
  CHECK(t.startup_time == ms(7));
}

}  // namespace unit_service_by_hand
