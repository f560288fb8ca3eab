// Prompts on some replicas, answers on others: by hand, layer by layer, and at the edges.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"
#include "support/scalars.hpp"

namespace unit_disaggregated {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::check_scalars;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::deployment llama(const pm::accelerator& on, int tensor) {
  return pm::with_all_memory(
      pm::deployment{.device = on, .model = cat::llama_3_70b, .layout = {.tensor = tensor}});
}
pm::disaggregated pools(double prefill, double decode) {
  return {.prefill = {llama(cat::h100_sxm, 8), prefill},
          .decode = {llama(cat::h200_sxm, 8), decode},
          .link = {.bandwidth_per_device = 50.0 * pm::GB_per_s}};
}
pm::service_load closed(double concurrency) {
  return {.input_tokens = 2048, .output_tokens = 512, .arrivals = pm::closed_loop{concurrency}};
}
pm::service_load open(double rate) {
  return {.input_tokens = 2048,
          .output_tokens = 512,
          .arrivals = pm::open_loop{.rate = rate * pm::request_per_s}};
}
const auto policy = pm::datasheet{};

}  // namespace

TEST_CASE("disaggregated: the cache of a prompt is sent by every device of a replica") {
  // 80 layers x 2 x 8 heads x 128 x 2 bytes = 327,680 B per token; 2048 tokens, over 8 ranks.
  const double bytes = 327680.0 * 2048 / 8;
  auto d = pools(1, 1);
  CHECK(near(pm::transfer_time(d, 2048).value(), bytes / 50e9));
  d.link.latency = 1.0 * pm::ms;
  CHECK(near(pm::transfer_time(d, 2048).value(), 1e-3 + bytes / 50e9));
  d.decode.deployment = llama(cat::h200_sxm, 2);  // takes four times as much on each device
  CHECK(near(pm::transfer_time(d, 2048).value(), 1e-3 + 4 * bytes / 50e9));
  d.prefill.deployment = llama(cat::h200_sxm, 1);  // sends eight times as much
  CHECK(near(pm::transfer_time(d, 2048).value(), 1e-3 + 8 * bytes / 50e9));
  d.prefill.deployment = llama(cat::h200_sxm, 4);
  d.decode.deployment = llama(cat::h200_sxm, 8);
  CHECK(near(pm::transfer_time(d, 2048).value(), 1e-3 + 2 * bytes / 50e9));
}

TEST_CASE("disaggregated: what is left of a streamed transfer is as its layers run") {
  for (const double sent : {0.1, 0.9, 1.0, 1.1, 7.0}) {
    const int layers = 32;
    double computed = 0, there = 0;
    for (int i = 0; i < layers; ++i) {
      computed += 1.0;
      there = std::fmax(there, computed) + sent;
    }
    const pm::cache_link link{.bandwidth_per_device = 1.0 * pm::GB_per_s,
                              .latency = 2.0 * pm::second};
    const auto whole = (2.0 + layers * sent) * pm::second;
    CHECK(near(
        pm::exposed_transfer(link, pm::duration<>(whole), pm::duration<>(32.0 * pm::second), layers)
            .value(),
        2.0 + there - computed, 1e-9));
    auto after = link;
    after.streamed = false;
    CHECK(near(pm::exposed_transfer(after, pm::duration<>(whole), pm::duration<>(32.0 * pm::second),
                                    layers)
                   .value(),
               2.0 + layers * sent));
  }
}

TEST_CASE("disaggregated: an unloaded request is a prefill, a transfer and its steps") {
  const auto d = pools(3, 2);
  const auto s = pm::serving(d, closed(1), policy);
  const auto prompt = pm::step(d.prefill.deployment, {.prefill_tokens = 2048}, policy);
  const auto token = pm::step(d.decode.deployment, {.batch = 1, .context = 2048 + 256}, policy);
  CHECK(near(s.transfer, pm::transfer_time(d, 2048)));
  CHECK(near(s.exposed_transfer, s.transfer / 80.0));
  CHECK(near(s.ttft, prompt.time + s.exposed_transfer, 1e-9));
  CHECK(near(s.itl, token.time));
  CHECK(near(s.e2e, s.ttft + 511.0 * s.itl));
  CHECK(near(s.itl_distribution.quantile(0.999), s.itl));  // nothing stalls an answer
  auto by_decoder = d;
  by_decoder.first_token_from_decode = true;
  CHECK(near(pm::serving(by_decoder, closed(1), policy).ttft, s.ttft + s.itl, 1e-9));
}

TEST_CASE("disaggregated: the first output token of one is the last") {
  for (auto l : {closed(1), closed(64), closed(512), open(1)}) {
    l.output_tokens = 1.0;
    for (const auto& s : {pm::serving_bound(pools(1, 1), l), serving(pools(1, 1), l, policy)}) {
      CHECK(near(s.ttft.value(), s.e2e.value()));
      CHECK(s.ttft.value() > 0.0);
    }
  }
}

TEST_CASE("disaggregated: Little's law, whichever stage binds") {
  for (const double prefill : {1.0, 3.0, 40.0}) {
    for (const double n : {1.0, 30.0, 300.0, 2000.0, 20000.0}) {
      const auto s = pm::serving(pools(prefill, 2), closed(n), policy);
      REQUIRE(s.feasible);
      CHECK(near(s.throughput.value() * s.e2e.value(), n, 1e-6));
      CHECK(s.prefill_utilisation <= 1 + 1e-9);
      CHECK(s.decode_utilisation <= 1 + 1e-9);
      CHECK(s.batch <= s.capacity);
    }
  }
  CHECK(pm::serving(pools(1, 2), closed(20000), policy).binding == pm::service_stage::prefill);
  CHECK(pm::serving(pools(40, 2), closed(20000), policy).binding == pm::service_stage::decode);
}

TEST_CASE(
    "disaggregated: tokens batched in one stream chunk wait for the steps of all but the first") {
  // Ten tokens, of which the prefill pool computes one and the decode pool nine, a step each.
  const auto d = pools(3, 2);
  auto ten = closed(1);
  ten.stream_interval = 10;
  const auto prompt = pm::step(d.prefill.deployment, {.prefill_tokens = 2048}, policy).time;
  const auto token =
      pm::step(d.decode.deployment, {.batch = 1, .context = 2048 + 256}, policy).time;
  const auto s = pm::serving(d, ten, policy), one = pm::serving(d, closed(1), policy);
  CHECK(near(s.ttft, prompt + s.exposed_transfer + 9.0 * token, 1e-9));
  CHECK(near(s.e2e, one.e2e, 1e-9));  // the last token comes when it did
  CHECK(near(s.e2e, s.ttft + 502.0 * token, 1e-9));
  auto by_decoder = d;
  by_decoder.first_token_from_decode = true;  // it computes all ten
  CHECK(near(pm::serving(by_decoder, ten, policy).ttft, prompt + s.exposed_transfer + 10.0 * token,
             1e-9));
  auto all = ten;
  all.stream_interval = 1000;  // more than an answer has: it is sent whole
  CHECK(near(pm::serving(d, all, policy).ttft, one.e2e, 1e-9));
  for (const double n : {30.0, 2000.0}) {
    auto many = closed(n);
    many.stream_interval = 10;
    const auto x = pm::serving(d, many, policy), y = pm::serving(d, closed(n), policy);
    CHECK(near(x.ttft, y.ttft + 9.0 * y.itl, 1e-9));
    CHECK(near(x.throughput * x.e2e / pm::request, n, 1e-6));  // Little's law
  }
  auto arrive = open(5);
  arrive.stream_interval = 10;
  const auto x = pm::serving(d, arrive, policy), y = pm::serving(d, open(5), policy);
  CHECK(near(x.ttft_distribution.quantile(0.99), y.ttft_distribution.quantile(0.99) + 9.0 * y.itl,
             1e-9));
}

TEST_CASE("disaggregated: a field of mixed scheduling is refused by name") {
  const auto asked = [](const auto& change) {
    auto l = closed(4);
    change(l);
    const std::string why = refusal([&] { (void)pm::serving(pools(1, 1), l, policy); });
    CHECK(refusal([&] { (void)pm::serving_bound(pools(1, 1), l); }) == why);
    return why;
  };
  CHECK(asked([](auto& l) { l.batching_wait_iterations = 5; }) ==
        "PM-E010: batching_wait_iterations is 5; allowed: 0 with disaggregated pools, where "
        "prefill never waits for decoding");
  CHECK(asked([](auto& l) { l.scheduler = pm::scheduling::mixed_chunks; }) ==
        "PM-E031: scheduler is mixed_chunks; allowed: none with disaggregated pools, where "
        "prefill and decode do not share steps");
}

TEST_CASE("disaggregated: at the balanced ratio both pools are equally busy") {
  auto load = closed(3000);
  load.batch_limit = 128;
  const double ratio = pm::serving(pools(1, 1), load, policy).balanced_ratio;
  const auto s = pm::serving(pools(10 * ratio, 10), load, policy);
  CHECK(near(s.prefill_utilisation, s.decode_utilisation, 1e-9));
  const auto more = pm::serving(pools(20 * ratio, 10), load, policy);
  CHECK(more.decode_utilisation > more.prefill_utilisation);
}

TEST_CASE(
    "disaggregated: arrivals that a stage does not keep up with name the nearest that it does") {
  auto slow = pools(1, 4);
  slow.link.bandwidth_per_device = 0.1 * pm::GB_per_s;
  auto few = open(200);
  few.batch_limit = 4;
  const struct {
    pm::disaggregated d;
    pm::service_load load;
    const char* reason;
  } cases[] = {
      {pools(1, 4), open(100), "prompts arrive faster than the prefill pool computes them"},
      {slow, open(5), "prompts arrive faster than the link moves their cache"},
      {pools(40, 1), few,
       "requests arrive faster than the largest batch of the decode pool serves them"}};
  for (const auto& c : cases) {
    const auto s = pm::serving(c.d, c.load, policy);
    REQUIRE_FALSE(s.feasible);
    CHECK(std::string(s.feasible.reason) == c.reason);
    auto below = c.load, above = c.load;
    below.arrivals = pm::open_loop{.rate = 0.999 * s.feasible.available * pm::request_per_s};
    above.arrivals = pm::open_loop{.rate = 1.001 * s.feasible.available * pm::request_per_s};
    CHECK(pm::serving(c.d, below, policy).feasible);
    CHECK_FALSE(pm::serving(c.d, above, policy).feasible);
  }
}

TEST_CASE("disaggregated: pools that do not fit, and bad requests") {
  auto d = pools(1, 1);
  d.prefill.deployment = llama(cat::h100_sxm, 1);
  CHECK_FALSE(pm::serving(d, closed(1), policy).feasible);
  d = pools(1, 1);
  d.decode.deployment = llama(cat::h100_sxm, 1);
  CHECK_FALSE(pm::serving(d, closed(1), policy).feasible);
  CHECK(refusal([] { (void)pm::serving(pools(0, 1), closed(1), policy); }) ==
        "PM-E010: prefill.replicas is 0; allowed: 1 to 1000000");
  d = pools(1, 1);
  d.link.bandwidth_per_device = {};
  CHECK(refusal([&] {
          (void)pm::serving(d, closed(1), policy);
        }).starts_with("PM-E010: link.bandwidth_per_device is 0"));
}

TEST_CASE(
    "disaggregated: it pays where an ITL target leaves no time for prefill, not where it is "
    "loose") {
  const auto pools_of = pm::disaggregated{.prefill = {llama(cat::h100_sxm, 8), 1},
                                          .decode = {llama(cat::h100_sxm, 8), 1},
                                          .link = {.bandwidth_per_device = 50.0 * pm::GB_per_s}};
  const auto load = open(1);
  const auto token = pm::step(pools_of.decode.deployment, {.batch = 64, .context = 2304}, policy);
  const auto gain = [&](double ttft, const pm::duration<>& itl) {
    return pm::gain_of_disaggregation(
        pools_of, llama(cat::h100_sxm, 8), load,
        {.ttft = pm::latency_target{ttft * pm::second, 0.9}, .itl = pm::latency_target{itl}},
        policy);
  };
  CHECK(gain(2.0, token.time).factor() > 1.2);
  CHECK(gain(20.0, 20.0 * token.time).factor() < 0.8);
}

TEST_CASE("goodput: the targets hold there and not above") {
  const auto d = pools(2, 1);
  const auto serve = [&](const pm::service_load& l) { return pm::serving(d, l, policy); };
  for (const double ttft : {0.2, 0.4, 2.0}) {
    const pm::service_targets targets{.ttft = pm::latency_target{ttft * pm::second, 0.9},
                                      .itl = pm::latency_target{12.0 * pm::ms}};
    const double rate = pm::largest_rate(open(1), targets, serve).value();
    REQUIRE(rate > 0);
    CHECK(pm::meets(serve(open(0.999 * rate)), targets));
    CHECK_FALSE(pm::meets(serve(open(1.01 * rate)), targets));
  }
  CHECK(pm::largest_rate(open(1), {.ttft = pm::latency_target{1.0 * pm::us, 0.9}}, serve).value() ==
        0);
}

TEST_CASE("disaggregated: the law of waiting for several servers against Erlang's") {
  for (const int servers : {1, 2, 4, 16}) {
    for (const double busy : {0.5, 0.7, 0.9, 0.95}) {
      const double chance = pm::sakasegawa_waiting_probability(busy, double(servers));
      const auto erlang = pm::mmc(busy * servers * pm::request_per_s, 1.0 * pm::second, servers);
      const double off = chance - *erlang.probability_of_waiting;
      CHECK(off >= -1e-12);
      CHECK(off < (servers == 1 ? 1e-12 : 0.05));
    }
  }
}

TEST_CASE("scalars: disaggregated, closed and open") {
  const auto serve = [](const auto& x, const auto& arrivals) {
    using T = std::remove_cvref_t<decltype(x[0])>;
    auto d = pm::lift<T>(pools(2, 1));
    d.prefill.deployment.device.matrix.peak.bf16 = pm::flop_rate<T>::from_value(x[0]);
    d.decode.deployment.device.dram.bandwidth = pm::bandwidth<T>::from_value(x[1]);
    d.link.bandwidth_per_device = pm::bandwidth<T>::from_value(x[2]);
    return pm::serving(d,
                       pm::basic_service_load<T>{
                           .input_tokens = x[3], .output_tokens = x[4], .arrivals = arrivals},
                       policy)
        .e2e.value();
  };
  check_scalars(
      [&](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        return serve(x, pm::basic_closed_loop<T>{x[5]});
      },
      989.4e12, 4.8e12, 50e9, 2048.0, 512.0, 40.0);
  check_scalars(
      [&](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        return serve(x, pm::basic_open_loop<T>{.rate = x[5] * pm::request_per_s});
      },
      989.4e12, 4.8e12, 50e9, 2048.0, 512.0, 5.0);
}

TEST_CASE("goodput: the factor is one of rates; infinite where only the pools have any") {
  const auto factor = [](double apart, double together) {
    return pm::goodput_estimate{apart * pm::request_per_s, together * pm::request_per_s}.factor();
  };
  CHECK(factor(6, 4) == 1.5);
  CHECK(factor(0, 4) == 0.0);
  CHECK(factor(6, 0) == pm::detail::infinity);
  CHECK(factor(0, 0) == 0.0);
}

}  // namespace unit_disaggregated
