// Services put together by hand from their steps.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <string>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_serving {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::deployment llama(int tensor, int pipeline = 1, int data = 1) {
  return {.device = cat::h200_sxm,
          .model = cat::llama_3_8b,
          .layout = {.tensor = tensor, .pipeline = pipeline, .data = data}};
}
pm::deployment llama_70b() {
  return {.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
}

}  // namespace

TEST_CASE("serving: an unloaded request is one prefill and the decode steps after it") {
  const pm::service_load l{
      .input_tokens = 1000, .output_tokens = 100, .arrivals = pm::closed_loop{1}};
  const auto s = pm::serving_bound(llama_70b(), l);
  const auto prefill = pm::step_bound(llama_70b(), {.prefill_tokens = 1000});
  const auto decode = pm::step_bound(llama_70b(), {.batch = 1, .context = 1050});
  CHECK(near(s.ttft, prefill.time));
  CHECK(near(s.itl, decode.time));
  CHECK(near(s.e2e, prefill.time + 99.0 * decode.time));
  CHECK(near(s.output_rate.value(), 100 / s.e2e.value()));
}

TEST_CASE("serving: Little's law: requests in the system are throughput times their time") {
  for (const double concurrency : {1.0, 17.0, 64.0, 400.0, 2000.0}) {
    const auto s = pm::serving_bound(
        llama_70b(),
        {.input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{concurrency}});
    CHECK(near(s.throughput.value() * s.e2e.value(), concurrency, 1e-9));
    CHECK(s.batch <= pm::kv_capacity(llama_70b(), 2048 + 256.0).sequences);
  }
}

TEST_CASE("serving: an open loop settles where the batch is the arrivals during its decode time") {
  for (const double rate : {0.01, 1.0, 5.0, 12.0}) {
    const auto s =
        pm::serving_bound(llama_70b(), {.input_tokens = 2048,
                                        .output_tokens = 512,
                                        .arrivals = pm::open_loop{rate * pm::request_per_s}});
    REQUIRE(s.feasible.feasible);
    CHECK(near(s.batch, rate * 511 * s.itl.value(), 1e-9));  // the first token is the prefill's
  }
  const auto over =
      pm::serving_bound(llama_70b(), {.input_tokens = 2048,
                                      .output_tokens = 512,
                                      .arrivals = pm::open_loop{40 * pm::request_per_s}});
  CHECK_FALSE(over.feasible.feasible);
  CHECK(over.feasible.needed == 40);
  CHECK(over.feasible.available < 40);
}

TEST_CASE(
    "serving: open and closed loop agree where their batch does, but for whom a request meets") {
  // An arrival meets B others, one of a closed loop of B meets B - 1.
  const auto open =
      pm::serving_bound(llama_70b(), {.input_tokens = 256,
                                      .output_tokens = 2048,
                                      .arrivals = pm::open_loop{4 * pm::request_per_s}});
  const auto closed = pm::serving_bound(
      llama_70b(),
      {.input_tokens = 256, .output_tokens = 2048, .arrivals = pm::closed_loop{open.batch}});
  CHECK(near(open.itl, closed.itl, 0.01));
}

TEST_CASE("serving: chunks, batch limits and bad requests") {
  const pm::service_load whole{
      .input_tokens = 4096, .output_tokens = 256, .arrivals = pm::closed_loop{32}};
  pm::service_load chunked = whole;
  chunked.chunk_tokens = 512;
  CHECK(pm::serving_bound(llama_70b(), chunked).ttft > pm::serving_bound(llama_70b(), whole).ttft);
  pm::service_load limited = whole;
  limited.batch_limit = 8;
  const auto s = pm::serving_bound(llama_70b(), limited);
  CHECK(s.batch == 8);
  CHECK(s.wait.value() > 0);
  CHECK(s.itl < pm::serving_bound(llama_70b(), whole).itl);
  CHECK(refusal([] {
          (void)pm::serving_bound(llama_70b(), {.input_tokens = 10, .output_tokens = 10});
        }) == "PM-E010: arrivals.concurrency is 0; allowed: 1 or more");
  CHECK(refusal([] {
          (void)pm::serving_bound(
              llama_70b(),
              {.input_tokens = 0, .output_tokens = 10, .arrivals = pm::closed_loop{1}});
        }) == "PM-E010: input_tokens is 0; allowed: 1 or more");
}

TEST_CASE("serving: each group admits at most the engine's maximum running requests") {
  const pm::service_load whole{
      .input_tokens = 4096, .output_tokens = 256, .arrivals = pm::closed_loop{32}};
  pm::service_load limited = whole;
  limited.batch_limit = 8;
  const pm::datasheet calibration{};
  const auto started_for = [](pm::deployment d, double sequences, pm::engine e) {
    d.serving_engine = e;
    d.limits.sequences = sequences;
    d.activation_bytes = d.runtime_bytes = 2.0 * pm::GB;  // whatever it is started for
    return d;
  };
  for (const auto e : {pm::engine::vllm, pm::engine::trtllm, pm::engine::sglang}) {
    const auto eight = started_for(llama_70b(), 8, e), more = started_for(llama_70b(), 500, e);
    const bool limits = e != pm::engine::sglang;  // of graphs: larger batches run without
    const auto& as = limits ? limited : whole;
    CHECK(pm::serving_bound(eight, whole).e2e == pm::serving_bound(more, as).e2e);
    CHECK(pm::serving(eight, whole, calibration).e2e == pm::serving(more, as, calibration).e2e);
    const pm::disaggregated narrow{.prefill = {eight}, .decode = {eight}, .link = {pm::GB_per_s}};
    const pm::disaggregated wide{.prefill = {more}, .decode = {more}, .link = {pm::GB_per_s}};
    CHECK(pm::serving(narrow, whole, calibration).e2e == pm::serving(wide, as, calibration).e2e);
  }
  auto two = started_for(llama(1, 1, 2), 4, pm::engine::vllm);  // two groups of four
  CHECK(pm::serving_bound(two, whole).batch == 8);
}

TEST_CASE("serving: the mean step decodes a batch and takes the prefills of the others") {
  // 17 in the system: each of 16 others brings 1000 prompt tokens per 200 tokens that it decodes.
  const auto s = pm::serving_bound(
      llama(1), {.input_tokens = 1000, .output_tokens = 200, .arrivals = pm::closed_loop{17}});
  const auto decode = pm::demand_of_step(llama(1), {.batch = 17, .context = 1100});
  const auto prompt = pm::demand_of_step(llama(1), {.prefill_tokens = 1000});
  const double prompts = 16.0 / 200;
  const double memory = (decode.weights + decode.cache + prompts * prompt.cache).value() /
                        cat::h200_sxm.dram.bandwidth.value();
  const double compute = (decode.compute + prompts * prompt.compute).value();
  CHECK(near(s.itl.value(), std::fmax(memory, compute), 1e-9));
  CHECK(near(s.ttft, s.prefill.time));
}

TEST_CASE("serving: the bound computes the uncached tokens of the prefills") {
  const auto itl_of = [](const pm::service_load& l) {
    return pm::serving_bound(llama_70b(), l).itl;
  };
  pm::service_load l{.input_tokens = 2048, .output_tokens = 512};
  const auto decode = pm::step_bound(llama_70b(), {.batch = 64, .context = 2304}).time;

  l.arrivals = pm::closed_loop{64, 64};  // all in one wave: no prompt comes while they decode
  CHECK(near(itl_of(l), decode));
  l.arrivals = pm::closed_loop{64, 128};  // half of them
  CHECK(near(itl_of(l),
             pm::step_bound(llama_70b(), {64, 2304, 63 * 4 / 2.0, 0, 63 / 1024.0, true}).time));
  l.arrivals = pm::closed_loop{64};
  l.scheduler = pm::scheduling::static_batches;
  CHECK(near(itl_of(l), decode));

  l.scheduler.reset();
  l.prefix_hit = 0.5;
  CHECK(near(itl_of(l),
             pm::step_bound(llama_70b(), {64, 2304, 63 * 2, 1024, 63 / 512.0, true}).time));
  CHECK(near(pm::serving_bound(llama_70b(), l).ttft,
             pm::step_bound(llama_70b(), {.prefill_tokens = 1024, .prefill_past = 1024}).time));
}

TEST_CASE(
    "serving: an unloaded chunked prefill is its chunks, each reading the cache of those before") {
  const auto d = llama(1);
  const auto s = pm::serving_bound(d, {.input_tokens = 4000,
                                       .output_tokens = 10,
                                       .arrivals = pm::closed_loop{1},
                                       .chunk_tokens = 1000});
  double chunks = 0;
  for (const double past : {0.0, 1000.0, 2000.0, 3000.0}) {
    chunks += pm::step_bound(d, {.prefill_tokens = 1000, .prefill_past = past}).time.value();
  }
  CHECK(near(s.ttft.value(), chunks, 1e-9));  // compute-bound, so linear in what lies before
  const auto one = pm::serving_bound(d, {.input_tokens = 4000,
                                         .output_tokens = 10,
                                         .arrivals = pm::closed_loop{1},
                                         .chunk_tokens = 9000});
  CHECK(near(one.ttft, one.prefill.time));
}

TEST_CASE("serving: chunks re-read the cache that whole prefills do not read") {
  const pm::service_load whole{
      .input_tokens = 4000, .output_tokens = 400, .arrivals = pm::closed_loop{11}};
  auto chunked = whole;
  chunked.chunk_tokens = 500;
  const auto cache = [](const pm::serving_estimate& s) {
    return s.decode.terms["kv_cache"].value();
  };
  // Ten others bring 1/400 of a prompt per pass: 8 chunks with (4000 - 500) / 2 tokens before each.
  // They decode in 399 of the 407 passes that they are in service for, over 4200 tokens and their
  // own.
  const double again = 10.0 / 400 * 8 * 1750, away = 10.0 * 8 / 407 * 4201;
  const double seconds = (again - away) * 131072 / cat::h200_sxm.dram.bandwidth.value();
  CHECK(
      near(cache(pm::serving_bound(llama(1), chunked)) - cache(pm::serving_bound(llama(1), whole)),
           seconds, 1e-9));
}

TEST_CASE("serving: what a chunk keeps up with bounds who is in service") {
  // 4 chunks of 1000 and 9 tokens: 13 passes, each with a chunk, compute 13 / 4 prompts. More only
  // wait.
  const pm::service_load few{.input_tokens = 4000,
                             .output_tokens = 10,
                             .arrivals = pm::closed_loop{3},
                             .chunk_tokens = 1000};
  auto many = few, most = few;
  many.arrivals = pm::closed_loop{40};
  most.arrivals = pm::closed_loop{13.0 / 4};
  const auto s = pm::serving_bound(llama(1), many);
  CHECK(near(s.batch, 13.0 / 4));
  CHECK(near(s.itl, pm::serving_bound(llama(1), most).itl));
  CHECK(near(s.throughput, pm::serving_bound(llama(1), most).throughput));
  CHECK(near(pm::serving_bound(llama(1), few).batch, 3.0));
  // Two groups, each with a chunk of its own.
  CHECK(near(pm::serving_bound(llama(1, 1, 2), many).batch, 13.0 / 2));
}

TEST_CASE("serving: two data-parallel groups at twice the load are one group at its own") {
  // In an open loop, where an arrival meets all: half of them in its own group.
  const pm::service_load one{
      .input_tokens = 500, .output_tokens = 500, .arrivals = pm::open_loop{8 * pm::request_per_s}};
  auto both = one;
  both.arrivals = pm::open_loop{16 * pm::request_per_s};
  const auto a = pm::serving_bound(llama(1), one);
  const auto b = pm::serving_bound(llama(1, 1, 2), both);
  CHECK(near(a.itl, b.itl, 1e-9));
  CHECK(near(2 * a.batch, b.batch, 1e-9));
  // A prompt that both groups could take waits less than in the queue of one.
  CHECK(b.ttft < a.ttft);
  CHECK(near(b.ttft, b.prefill.time, 1e-9));
  CHECK(near(2.0 * a.output_rate, b.output_rate));
}

TEST_CASE("serving: a pipeline's stages work side by side") {
  // Two stages at twice the batch: the same token latency but for the hand-over, twice the tokens.
  const pm::service_load one{
      .input_tokens = 500, .output_tokens = 500, .arrivals = pm::open_loop{8 * pm::request_per_s}};
  auto twice = one;
  twice.arrivals = pm::open_loop{16 * pm::request_per_s};
  const auto a = pm::serving_bound(llama(1), one);
  const auto b = pm::serving_bound(llama(1, 2), twice);
  CHECK(near(b.itl - b.decode.terms["communication"], a.itl, 1e-3));
  CHECK(near(b.batch, 2 * a.batch, 0.01));
  // Four chunks through two stages take five stage times, not eight.
  const pm::service_load alone{.input_tokens = 4096,
                               .output_tokens = 8,
                               .arrivals = pm::closed_loop{1},
                               .chunk_tokens = 1024};
  const auto chunk =
      pm::step_bound(llama(1, 2), {.prefill_tokens = 1024, .prefill_past = 1536}).time;
  CHECK(near(pm::serving_bound(llama(1, 2), alone).ttft, 2.5 * chunk));
}

TEST_CASE("serving: the wait of an open loop is that of an M/D/1 queue before the prefill") {
  const pm::service_load l{
      .input_tokens = 2000, .output_tokens = 50, .arrivals = pm::open_loop{10 * pm::request_per_s}};
  const auto s = pm::serving_bound(llama(1), l);
  const double busy = 10 * s.prefill.time.value();
  CHECK(busy < 1);
  CHECK(near(s.wait.value(), busy / (2 * (1 - busy)) * s.prefill.time.value(), 1e-9));
  CHECK(near(s.throughput.value(), 10.0));
}

TEST_CASE("serving: prompts of an open loop share the read of the weights") {
  // Prefills of 16 tokens take a read of the weights (16 GB at 4.8 TB/s, 3.3 ms), their FLOP 0.26 ms:
  // 1000 prompts per second are no overload, and wait for less than one of them computes.
  const pm::service_load l{
      .input_tokens = 16, .output_tokens = 2, .arrivals = pm::open_loop{1000 * pm::request_per_s}};
  const auto s = pm::serving_bound(llama(1), l);
  const double flop = pm::demand_of_step(llama(1), {.prefill_tokens = 16}).compute.value();
  CHECK(1000 * s.prefill.time.value() > 3);
  CHECK(1000 * flop < 0.3);
  CHECK(s.feasible.feasible);
  CHECK(near(s.ttft, s.prefill.time, 1e-9));
  // 5000 do not: the FLOP alone exceed a second.
  pm::service_load more = l;
  more.arrivals = pm::open_loop{5000 * pm::request_per_s};
  CHECK(5000 * flop > 1);
  CHECK_FALSE(pm::serving_bound(llama(1), more).feasible.feasible);
}

TEST_CASE("serving: the bound admits the sequences that fit at their mean context") {
  pm::deployment d = llama(1);
  const pm::service_load l{
      .input_tokens = 1, .output_tokens = 8191, .arrivals = pm::closed_loop{1e6}};
  const auto s = pm::serving_bound(d, l);
  CHECK(near(s.batch, pm::kv_capacity(d, 1 + 8191 / 2.0).sequences, 1e-9));
  CHECK(s.batch > 1.9 * s.capacity);
}

TEST_CASE("serving: the least prefill in a pipeline is a stage's, and a token in the others") {
  const pm::service_load l{
      .input_tokens = 8192, .output_tokens = 2, .arrivals = pm::closed_loop{1}};
  const auto whole = pm::step_bound(llama(1, 4), {.prefill_tokens = 8192}).time;
  const auto token = pm::step_bound(llama(1, 4), {.prefill_tokens = 1}).time;
  CHECK(near(pm::serving_bound(llama(1, 4), l).ttft, 0.25 * whole + 0.75 * token, 1e-9));
}

TEST_CASE("serving: a derivation evaluates the same numbers, under any policy and in either loop") {
  const pm::derated slow{
      .compute_efficiency = 0.6, .memory_efficiency = 0.7, .launch = 3.0 * pm::us};
  const pm::basic_derated<pm::traced> traced_slow{0.6, 0.7, pm::lift<pm::traced>(3.0 * pm::us)};
  for (const pm::service_load& l : {pm::service_load{.input_tokens = 512,
                                   .output_tokens = 128,
                                   .arrivals = pm::open_loop{6 * pm::request_per_s}},
                                    pm::service_load{.input_tokens = 512,
                                    .output_tokens = 128,
                                    .arrivals = pm::closed_loop{12},
                                    .chunk_tokens = 200}}) {
    pm::trace t;
    const auto d = pm::trace_inputs(llama(2), t, "deployment");
    const auto traced_load = pm::trace_inputs(l, t, "load");
    CHECK(pm::serving_bound(d, traced_load).e2e.value().value() ==
          pm::serving_bound(llama(2), l).e2e.value());
    CHECK(pm::serving(d, traced_load, traced_slow).e2e.value().value() ==
          pm::serving(llama(2), l, slow).e2e.value());
    CHECK(pm::serving(d, traced_load, traced_slow, pm::stated_latency{}).itl.value().value() ==
          pm::serving(llama(2), l, slow, pm::stated_latency{}).itl.value());
  }
}

TEST_CASE("serving: what does not fit has its numbers and a reason") {
  pm::deployment d = llama(1);
  d.utilization = 0.05;
  const auto s = pm::serving_bound(
      d, {.input_tokens = 100, .output_tokens = 100, .arrivals = pm::closed_loop{4}});
  CHECK_FALSE(s.feasible);
  CHECK(std::string(s.feasible.reason) ==
        "weights and KV cache exceed the usable memory of a device, and so do the weights alone");
  CHECK(s.capacity == 0);
  CHECK(s.batch == 1);
  CHECK(std::isfinite(s.e2e.value()));
  CHECK(refusal([&] {
          (void)pm::serving_bound(
              llama(1), {.input_tokens = 1, .output_tokens = 1, .arrivals = pm::closed_loop{0.5}});
        }) == "PM-E010: arrivals.concurrency is 0.5; allowed: 1 or more");
  CHECK(refusal([&] {
          (void)pm::serving_bound(llama(1), {.input_tokens = 1,
                                             .output_tokens = 1,
                                             .arrivals = pm::closed_loop{1},
                                             .batch_limit = 0.5});
        }) == "PM-E010: batch_limit is 0.5; allowed: 1 or more");
}

TEST_CASE("serving: an open loop of a mixture of experts balances") {
  // Experts touched make the step concave in the batch. The root by bisection, of weights in bf16.
  const pm::deployment d{
      .device = cat::h100_sxm, .model = cat::gpt_oss_20b, .weights = pm::number_format::bf16};
  const auto s = pm::serving_bound(d, {.input_tokens = 1024,
                                       .output_tokens = 256,
                                       .arrivals = pm::open_loop{8 * pm::request_per_s}});
  const auto step_of = [&](double batch) {  // 1 prefill per 255 decodes
    return pm::step_bound(d, {.batch = batch,
                              .context = 1024 + 128,
                              .prefill_tokens = batch / 255 * 1024,
                              .prefill_sequences = batch / 255,
                              .steady = true})
        .time.value();
  };
  double low = 1, high = 100;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (8 * 255 * step_of(middle) > middle ? low : high) = middle;
  }
  CHECK(near(s.batch, low, 1e-6));
  CHECK(near(s.itl.value(), step_of(low), 1e-6));
  for (const double rate : {0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0}) {
    for (const auto* m : {&cat::gpt_oss_20b, &cat::mixtral_8x7b, &cat::deepseek_v2_lite}) {
      const pm::deployment on{.device = cat::h200_sxm, .model = *m, .layout = {.tensor = 2}};
      const auto open =
          pm::serving_bound(on, {.input_tokens = 1024,
                                 .output_tokens = 256,
                                 .arrivals = pm::open_loop{rate * pm::request_per_s}});
      if (open.feasible) CHECK(near(open.batch, rate * 255 * open.itl.value(), 1e-9));
    }
  }
}

TEST_CASE("serving: a batch that arrivals jump past is the first that serves them") {
  // 10 in flight below a batch of 20, 30 from there on: no batch balances.
  pm::detail::balance_search search(1000.0);
  int asked = 0;
  for (; !search.done() && asked < 1000; ++asked) search.learn(search.guess() < 20.0 ? 30.0 : 10.0);
  CHECK(search.done());
  CHECK(asked < 300);
  CHECK(near(search.guess(), 20.0, 1e-12));
}

TEST_CASE("serving: what cannot keep up is not quicker to its first token than its bound") {
  const pm::deployment d{
      .device = cat::h100_sxm, .model = cat::mixtral_8x7b, .layout = {.tensor = 8}};
  pm::service_load l{.input_tokens = 3424, .output_tokens = 3};
  const auto prompt = pm::step_bound(d, {.prefill_tokens = 3424}).time.value();
  l.arrivals = pm::open_loop{0.999 / prompt * pm::request_per_s};
  const auto bound = pm::serving_bound(d, l);
  const auto slow = pm::serving(d, l, pm::derated{.compute_efficiency = 0.7});
  CHECK(bound.feasible.feasible);
  CHECK_FALSE(slow.feasible.feasible);
  CHECK(slow.ttft >= bound.ttft);
}

}  // namespace unit_serving
