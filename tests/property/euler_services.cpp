// Euler's theorem, and partials against central differences, for laws of training state, of caches
// that are sent, fetched, shared and evicted, and of ridges. Where a law has two scales it is held
// to both, one after the other.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/parallel/zero.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/serving/kv_offload.hpp>
#include <perfmodel/serving/preemption.hpp>
#include <support/euler.hpp>
#include <support/short_quantities.hpp>

namespace property_euler_services {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::b;
using perfmodel_test::bps;
using perfmodel_test::check_law;
using perfmodel_test::fps;
using perfmodel_test::in2;
using perfmodel_test::in3;
using perfmodel_test::in4;
using perfmodel_test::in5;
using perfmodel_test::in6;
using perfmodel_test::s;
using perfmodel_test::work;

namespace {

constexpr pm::zero_stage stages[] = {pm::zero_stage::none, pm::zero_stage::optimizer,
                                     pm::zero_stage::gradients, pm::zero_stage::parameters};

template <class T>
pm::basic_deployment<T> on_h100(int ranks, const T& memory, const T& peak, const T& vector) {
  auto d = pm::lift<T>(pm::with_all_memory(pm::deployment{.device = cat::h100_sxm,
                                                          .model = cat::llama_3_1_8b,
                                                          .layout = {.tensor = ranks},
                                                          .serving_engine = pm::engine::vllm}));
  d.device.dram.bandwidth = bps(memory);
  d.device.matrix.peak.bf16 = fps(peak);
  d.device.vector.peak.fp32 = fps(vector);
  return d;
}

template <class T>
pm::basic_host_tier<T> host(const T& link, const T& latency) {
  return {.tokens = T(1e6), .bandwidth_per_device = bps(link), .latency = s(latency)};
}

/// 500 tokens that all share and 3000 of each of 600: x = those tokens, own, answer, capacity,
/// prefixes.
template <class T>
pm::basic_prefix_tree<T> tree(const in6<T>& x) {
  pm::basic_prefix_tree<T> t;
  t.levels.push_back({x[0], T(1.0)});
  t.levels.push_back({x[1], x[5]});
  t.own_tokens = x[2];
  t.output_tokens = x[3];
  return t;
}

}  // namespace

TEST_CASE("elasticities of training state have the sum that Euler's theorem says") {
  for (const pm::zero_stage stage : stages) {
    INFO(name_of(stage));
    check_law<3>("ZeRO, bytes of a parameter", {2.0, 2.0, 12.0}, {1, 1, 1}, 1,
                 [stage]<class T>(const in3<T>& x) {
                   return pm::zero_bytes_per_parameter(
                       stage, 64, pm::basic_training_state<T>{x[0], x[1], x[2]});
                 });
    check_law<4>("ZeRO, memory", {7.5e9, 2.0, 2.0, 12.0}, {1, 1, 1, 1}, 2,
                 [stage]<class T>(const in4<T>& x) {
                   return pm::zero_memory(stage, 64, x[0],
                                          pm::basic_training_state<T>{x[1], x[2], x[3]})
                       .value();
                 });
    check_law<3>(
        "ZeRO, traffic", {7.5e9, 2.0, 2.0}, {1, 0, 0}, 1, [stage]<class T>(const in3<T>& x) {
          return pm::zero_traffic(stage, 64, x[0], pm::basic_training_state<T>{x[1], x[2], T(12.0)})
              .quantity()
              .value();
        });
    check_law<5>(
        "a step of data-parallel ranks: twice of everything", {8e9, 0.08, 0.16, 12.0, 4.5e11},
        {1, 1, 1, 0, 0}, 1, [stage]<class T>(const in5<T>& x) {
          pm::basic_interconnect<T> fabric;
          fabric.kind = pm::link_kind::nvlink;
          fabric.bandwidth = bps(x[4]);
          fabric.ranks = 8;
          return pm::data_parallel_time(fabric, pm::basic_data_parallel_step<T>{.ranks = 8,
                                                                                .parameters = x[0],
                                                                                .forward = s(x[1]),
                                                                                .backward = s(x[2]),
                                                                                .pieces = x[3],
                                                                                .stage = stage})
              .time.value();
        });
  }
  check_law<1>("the message of all gradients", {8.03e9}, {1}, 1,
               []<class T>(const std::array<T, 1>& x) {
                 return pm::gradient_all_reduce(8, x[0], pm::bf16).message.quantity().value();
               });
}

TEST_CASE("elasticities of caches that are sent have the sum that Euler's theorem says") {
  check_law<3>("a prefix from the host: twice the tokens and the latency", {2048, 25e9, 2e-4},
               {1, 0, 1}, 1, []<class T>(const in3<T>& x) {
                 return pm::fetch_time(on_h100(1, T(3.35e12), T(989e12), T(67e12)),
                                       host(x[1], x[2]), x[0])
                     .value();
               });
  check_law<5>("fetched or computed: all rates twice, half the latency",
               {3.35e12, 989e12, 67e12, 25e9, 2e-4}, {1, 1, 1, 1, -1}, 0,
               []<class T>(const in5<T>& x) {
                 return pm::fetch_or_compute(on_h100(1, x[0], x[1], x[2]), host(x[3], x[4]),
                                             T(4096.0), pm::datasheet{})
                     .gain();
               });
  check_law<3>("a prompt's cache between pools", {2048, 50e9, 1e-4}, {1, 0, 1}, 1,
               []<class T>(const in3<T>& x) {
                 const auto d = on_h100(1, T(3.35e12), T(989e12), T(67e12));
                 pm::basic_disaggregated<T> pools;
                 pools.prefill.deployment = d;
                 pools.decode.deployment = d;
                 pools.link = {.bandwidth_per_device = bps(x[1]), .latency = s(x[2])};
                 return pm::transfer_time(pools, x[0]).value();
               });
  for (const double prompt : {0.05, 0.2}) {  // the link is slower, and quicker
    check_law<4>("what of a transfer is exposed", {0.1, prompt, 1e-4, 32.0}, {1, 1, 1, 0}, 1,
                 []<class T>(const in4<T>& x) {
                   const pm::basic_cache_link<T> link{.bandwidth_per_device = bps(T(50e9)),
                                                      .latency = s(x[2])};
                   return pm::exposed_transfer(link, s(x[0]), s(x[1]), x[3]).value();
                 });
  }
}

TEST_CASE("elasticities of evictions and shared prefixes have the sum that Euler's theorem says") {
  const std::array<double, 6> load{3.35e12, 989e12, 67e12, 50e9, 2000, 1000};
  const auto evicted = []<class T>(const in6<T>& x) {
    pm::basic_service_load<T> l{.input_tokens = x[4], .output_tokens = x[5]};
    l.arrivals = pm::basic_closed_loop<T>{T(4000.0)};
    return pm::preemption_of(on_h100(1, x[0], x[1], x[2]), l, bps(x[3]), pm::datasheet{});
  };
  check_law<6>("computed anew: twice the rates", load, {1, 1, 1, 1, 0, 0}, -1,
               [&]<class T>(const in6<T>& x) { return evicted(x).recompute_time.value(); });
  check_law<6>("sent out and in: twice the rates", load, {1, 1, 1, 1, 0, 0}, -1,
               [&]<class T>(const in6<T>& x) { return evicted(x).swap_time.value(); });
  check_law<6>("sent out and in: twice the tokens", load, {0, 0, 0, 0, 1, 1}, 1,
               [&]<class T>(const in6<T>& x) { return evicted(x).swap_time.value(); });
  check_law<2>(
      "evictions of a full service", {2000, 1000}, {1, 1}, 0,
      []<class T>(const in2<T>& x) { return pm::preemptions_of_full_service(x[0], x[1]); });

  const std::array<double, 6> shared{500, 3000, 200, 300, 4e5, 600};
  const std::array<double, 6> tokens{1, 1, 1, 1, 1, 0};
  check_law<6>("prefixes found: twice of all tokens", shared, tokens, 0,
               []<class T>(const in6<T>& x) { return pm::prefix_hit_of(tree(x), x[4]).hit_rate; });
  check_law<6>("requests that a cache remembers: twice of all tokens", shared, tokens, 0,
               []<class T>(const in6<T>& x) {
                 return pm::prefix_hit_of(tree(x), x[4]).requests_until_eviction;
               });
  // Conversations only: twice as many in twice as many tokens are found as often.
  const auto found = []<class T>(const in6<T>& x) {
    pm::basic_prefix_tree<T> t;
    t.levels.push_back({x[1], x[5]});
    t.own_tokens = x[2];
    t.output_tokens = x[3];
    return pm::prefix_hit_of(t, x[4]).hit_rate;
  };
  check_law<6>("prefixes found: twice the conversations and the room", shared, {0, 0, 0, 0, 1, 1},
               0, found);
  check_law<6>("prefixes found in the host's memory", shared, tokens, 0,
               []<class T>(const in6<T>& x) {
                 auto tier = host(T(25e9), T(0.0));
                 tier.tokens = x[4];
                 return pm::tiered_hit_of(tree(x), T(0.5 * x[4]), tier).host;
               });
  check_law<6>("sequences that share", shared, tokens, 0,
               []<class T>(const in6<T>& x) { return pm::sequences_sharing(tree(x), x[4]); });
}

TEST_CASE("elasticities of ridges, rates and repetitions have the sum that Euler's theorem says") {
  check_law<4>(
      "the batch at the ridge: half the cache", {295.3, 70e9, 2.0, 1e8}, {1, 0, 0, -1}, 1,
      []<class T>(const in4<T>& x) {
        return pm::ridge_batch(pm::intensity<T>::from_value(x[0]), x[1], b(x[2]), b(x[3])).batch;
      });
  check_law<4>(
      "the batch at the ridge: a model of twice the size", {295.3, 70e9, 2.0, 1e8}, {0, 1, 0, 1}, 0,
      []<class T>(const in4<T>& x) {
        return pm::ridge_batch(pm::intensity<T>::from_value(x[0]), x[1], b(x[2]), b(x[3])).batch;
      });
  const std::array<double, 5> kernel{4e11, 1e9, 1e-3, 989e12, 3.35e12};
  const auto reached = []<class T>(const in5<T>& x) {
    auto a = pm::lift<T>(pm::accelerator(cat::h100_sxm));
    a.matrix.peak.bf16 = fps(x[3]);
    a.dram.bandwidth = bps(x[4]);
    const pm::basic_demand<T> d{.matrix_flop = work(x[0]), .dram = {.read = b(x[1])}};
    return pm::achieved(a, d, s(x[2]));
  };
  check_law<5>("FLOP/s that were reached", kernel, {1, 1, 1, 0, 0}, 0,
               [&]<class T>(const in5<T>& x) { return reached(x).flop.value(); });
  check_law<5>("B/s that were reached", kernel, {1, 1, 1, 0, 0}, 0,
               [&]<class T>(const in5<T>& x) { return reached(x).dram.value(); });
  check_law<5>("the MFU that was reached", kernel, {0, 0, 1, -1, -1}, 0,
               [&]<class T>(const in5<T>& x) { return reached(x).mfu; });
  check_law<5>("the MBU that was reached", kernel, {0, 0, 1, -1, -1}, 0,
               [&]<class T>(const in5<T>& x) { return reached(x).mbu; });
  check_law<4>("n collectives: twice the bytes and the latency", {160, 16384, 4.5e11, 5e-6},
               {0, 1, 0, 1}, 1, []<class T>(const in4<T>& x) {
                 pm::basic_interconnect<T> fabric;
                 fabric.kind = pm::link_kind::nvlink;
                 fabric.bandwidth = bps(x[2]);
                 fabric.latency = s(x[3]);
                 fabric.ranks = 8;
                 pm::basic_collective<T> c;
                 c.ranks = 8;
                 c.message = pm::message_bytes<T>(b(x[1]));
                 const auto one = pm::collective_time(fabric, c, pm::stated_latency{});
                 return pm::repeated_collective(x[0], one).time.value();
               });
}

// The largest rate is found by bisection, and has no derivatives: Euler's theorem by its own words
// alone.
TEST_CASE("goodput: twice the rates of all machines and half the limits are twice the requests") {
  const auto goodput = [](double scale) {
    const auto d = on_h100(1, 3.35e12 * scale, 989e12 * scale, 67e12 * scale);
    pm::disaggregated pools;
    pools.prefill.deployment = pools.decode.deployment = d;
    pools.link = {.bandwidth_per_device = 50e9 * scale * pm::byte / pm::second};
    const pm::service_load load{.input_tokens = 1000,
                                .output_tokens = 200,
                                .arrivals = pm::open_loop{1.0 * pm::request_per_s}};
    const pm::service_targets targets{.ttft = pm::latency_target{(0.5 / scale) * pm::second},
                                      .itl = pm::latency_target{(0.02 / scale) * pm::second}};
    return pm::gain_of_disaggregation(pools, d, load, targets, pm::datasheet{});
  };
  const auto once = goodput(1.0), twice = goodput(2.0);
  REQUIRE(once.disaggregated.value() > 0.0);
  REQUIRE(once.collocated.value() > 0.0);
  CHECK(std::abs(twice.disaggregated / once.disaggregated - 2.0) <= 1e-5);
  CHECK(std::abs(twice.collocated / once.collocated - 2.0) <= 1e-5);
  CHECK(std::abs(twice.factor() / once.factor() - 1.0) <= 1e-5);
}

}  // namespace property_euler_services
