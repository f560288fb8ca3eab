// Euler's theorem, and partials against central differences, for laws of launches, overlap,
// scaling, metrics, queues and drafts. Laws of whole numbers alone have no slope: kernels' stages,
// warps, tiles, regions.
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/laws/scaling.hpp>
#include <perfmodel/laws/speculative.hpp>
#include <support/euler.hpp>
#include <support/short_quantities.hpp>

namespace property_euler_time {

namespace pm = perfmodel;
using perfmodel_test::b;
using perfmodel_test::bps;
using perfmodel_test::check_law;
using perfmodel_test::fps;
using perfmodel_test::in2;
using perfmodel_test::in3;
using perfmodel_test::rps;
using perfmodel_test::s;
using perfmodel_test::tps;
using perfmodel_test::work;

namespace {
template <class T>
pm::basic_launch_costs<T> launches(const std::array<T, 5>& x) {
  return {.cpu = s(x[0]), .gap = s(x[1]), .replay = s(x[2]), .synchronise = s(x[3])};
}
template <class T>
pm::basic_speculative_steps<T> steps(const std::array<T, 4>& x) {
  return {s(x[1]), s(x[2]), s(x[3])};
}
}  // namespace

TEST_CASE("elasticities of launches and overlap have the sum that Euler's theorem says") {
  const std::array<double, 5> host{5e-6, 1e-6, 8e-6, 3e-6, 1e-3}, times{1, 1, 1, 1, 1};
  check_law<5>("launches waited for", host, times, 1, []<class T>(const std::array<T, 5>& x) {
    return pm::synchronised_time(launches(x), T(300.0), s(x[4])).time.value();
  });
  check_law<5>("exposed launches", host, times, 1, []<class T>(const std::array<T, 5>& x) {
    return pm::exposed_launch(launches(x), T(300.0), s(x[4])).value();
  });
  check_law<3>("kernels of a step", {80, 12, 7}, {1, 0, 1}, 1,
               []<class T>(const in3<T>& x) { return pm::kernels_per_step(x[0], x[1], x[2]); });
  check_law<2>("one after the other", {2e-3, 3e-3}, {1, 1}, 1,
               []<class T>(const in2<T>& x) { return pm::serial(s(x[0]), s(x[1])).value(); });
  check_law<2>("one behind the other", {2e-3, 3e-3}, {1, 1}, 1,
               []<class T>(const in2<T>& x) { return pm::overlapped(s(x[0]), s(x[1])).value(); });
  check_law<3>("partly behind", {2e-3, 3e-3, 2.5}, {1, 1, 0}, 1, []<class T>(const in3<T>& x) {
    return pm::partly_overlapped(s(x[0]), s(x[1]), pm::basic_overlap<T>{x[2]}).value();
  });
  check_law<2>("exposed communication", {5e-3, 3e-3}, {1, 1}, 1,
               []<class T>(const in2<T>& x) { return pm::exposed_time(s(x[0]), s(x[1])).value(); });
  check_law<2>("overlap efficiency", {5e-3, 2e-3}, {1, 1}, 0,
               []<class T>(const in2<T>& x) { return pm::overlap_efficiency(s(x[0]), s(x[1])); });
  check_law<2>("beside a copy engine", {2e-3, 3e-3}, {1, 1}, 1, []<class T>(const in2<T>& x) {
    return pm::overlap_with_dma(s(x[0]), s(x[1])).value();
  });
}

TEST_CASE("elasticities of speed-ups have the sum that Euler's theorem says") {
  check_law<2>("the floor of Amdahl's law", {10.0, 0.7}, {1, 0}, 1,
               []<class T>(const in2<T>& x) { return pm::amdahl_floor(s(x[0]), x[1]).value(); });
  check_law<1>(
      "the largest speed-up, by what is left", {0.3}, {1}, -1,
      []<class T>(const std::array<T, 1>& x) { return pm::largest_speedup(T(1.0 - x[0])); });
  // Laws of pure numbers, (1 - 1/S) / (1 - 1/f): only the slopes.
  check_law<2>("the share that a speed-up shows", {1.6, 8.0}, {0, 0}, 0,
               []<class T>(const in2<T>& x) { return pm::share_from_speedup(x[0], x[1]); });
  check_law<1>("the share that is gone, of what is left", {1.6}, {1}, -1,
               []<class T>(const std::array<T, 1>& x) { return T(1.0 - pm::removed_share(x[0])); });
  check_law<3>("share of a part after", {0.4, 0.5, 0.8}, {1, 0, 1}, 0,
               []<class T>(const in3<T>& x) {
                 pm::basic_amdahl<T> whole;
                 whole.time_ratio = x[2];
                 return pm::new_share(pm::basic_amdahl_part<T>{x[0], x[1]}, whole);
               });
  check_law<3>("scaling of a batch", {5000.0, 32.0, 200.0}, {1, 0, 1}, 0,
               []<class T>(const in3<T>& x) {
                 return pm::batch_scaling_efficiency(tps(x[0]), x[1], tps(x[2]));
               });
  check_law<2>("ranks saved", {1000.0, 0.1}, {1, 0}, 1,
               []<class T>(const in2<T>& x) { return pm::ranks_saved(x[0], x[1]); });
  check_law<2>("time with a tax", {10.0, 0.2}, {1, 0}, 1,
               []<class T>(const in2<T>& x) { return pm::time_with_tax(s(x[0]), x[1]).value(); });
  check_law<2>("time without a tax", {10.0, 0.2}, {1, 0}, 1, []<class T>(const in2<T>& x) {
    return pm::time_without_tax(s(x[0]), x[1]).value();
  });
  check_law<3>("the tail of a batch", {500, 200, 900}, {1, 1, 1}, 0,
               []<class T>(const in3<T>& x) { return pm::static_batch_tail(x); });
  check_law<3>("gain of continuous batching", {500, 200, 900}, {1, 1, 1}, 0,
               []<class T>(const in3<T>& x) { return pm::continuous_batching_gain(x); });
}

TEST_CASE("elasticities of metrics have the sum that Euler's theorem says") {
  check_law<3>("MFU", {4e14, 1.0, 9.9e14}, {1, 1, 0}, 0,
               []<class T>(const in3<T>& x) { return pm::mfu(work(x[0]), s(x[1]), fps(x[2])); });
  check_law<3>("MBU", {2e12, 1.0, 3.35e12}, {1, 0, 1}, 0,
               []<class T>(const in3<T>& x) { return pm::mbu(b(x[0]), s(x[1]), bps(x[2])); });
  check_law<2>("HFU", {0.4, 0.5}, {1, 0}, 1,
               []<class T>(const in2<T>& x) { return pm::hfu(x[0], x[1]); });
  check_law<2>("FLOP of a trained token", {7e9, 0.3}, {1, 0}, 1, []<class T>(const in2<T>& x) {
    return pm::training_flop_per_token(x[0], x[1]).value();
  });
  check_law<2>("FLOP of training", {7e9, 2e12}, {1, 0}, 1,
               []<class T>(const in2<T>& x) { return pm::training_flop(x[0], x[1]).value(); });
  check_law<3>("end to end", {0.2, 0.02, 300.0}, {1, 1, 0}, 1, []<class T>(const in3<T>& x) {
    return pm::end_to_end(s(x[0]), s(x[1]), x[2]).value();
  });
  check_law<3>("cost of a thousand tokens", {4.0, 7.5e-4, 533.3}, {0, 1, 1}, 0,
               []<class T>(const in3<T>& x) {
                 return pm::cost_per_thousand_tokens(x[0], pm::price<T>::from_value(x[1]),
                                                     tps(x[2]))
                     .value();
               });
}

TEST_CASE(
    "elasticities of queues, savings and speculation have the sum that Euler's theorem says") {
  check_law<3>("M/G/1", {7.0, 0.1, 1.4}, {1, -1, 0}, -1, []<class T>(const in3<T>& x) {
    return pm::mg1(rps(x[0]), s(x[1]), x[2]).time.value();
  });
  check_law<2>("M/D/1", {7.0, 0.1}, {1, -1}, -1,
               []<class T>(const in2<T>& x) { return pm::md1(rps(x[0]), s(x[1])).time.value(); });
  check_law<3>("what a fused chain saves", {1e8, 3.0, 2.0}, {1, 0, 0}, 1,
               []<class T>(const in3<T>& x) {
                 return pm::chain_saving(b(x[0]), x[1], x[2]).dram.total().value();
               });
  check_law<2>("traffic before over after", {3e8, 1e8}, {1, 1}, 0, []<class T>(const in2<T>& x) {
    return pm::traffic_ratio(pm::basic_traffic<T>{.read = b(x[0])},
                             pm::basic_traffic<T>{.read = b(x[1])});
  });
  const std::array<double, 4> drafts{0.7, 20e-3, 2e-3, 22e-3}, times{0, 1, 1, 1};
  check_law<4>("a round of drafts", drafts, times, 1, []<class T>(const std::array<T, 4>& x) {
    return pm::round_time(4, steps(x)).value();
  });
  check_law<4>("a token of a round", drafts, times, 1, []<class T>(const std::array<T, 4>& x) {
    return pm::time_per_token(pm::emitted_tokens(x[0], 4), 4, steps(x)).value();
  });
  // The speed-up (1 - a^(k+1)) / ((1 - a) (1 + k c)) times (1 + k c) is without the cost's scale.
  check_law<2>("a speculation's gain", {0.7, 0.1}, {0, 1}, 0, []<class T>(const in2<T>& x) {
    return T(pm::speculate(x[0], 4, x[1]).speedup * (1.0 + 4.0 * x[1]));
  });
}

}  // namespace property_euler_time
