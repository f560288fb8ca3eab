// Euler's theorem on homogeneous laws: where scaling inputs x_i by L^w_i scales a result by L^k,
// the elasticities e_i of the result have sum w_i e_i = k. And each partial against central
// differences.
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/roofline.hpp>
#include <support/euler.hpp>
#include <support/short_quantities.hpp>

namespace property_euler {

namespace pm = perfmodel;
using perfmodel_test::b;
using perfmodel_test::bps;
using perfmodel_test::check_law;
using perfmodel_test::fps;
using perfmodel_test::rps;
using perfmodel_test::s;
using perfmodel_test::tps;
using perfmodel_test::work;

namespace {

template <class T>
pm::price<T> usd(const T& x) {
  return pm::price<T>::from_value(x);
}

}  // namespace

TEST_CASE("elasticities of machine laws have the sum that Euler's theorem says") {
  check_law<5>(
      "iron law: twice the rates and half the overhead", {17.5e9, 3.35e12, 2e12, 989e12, 1e-4},
      {0, 1, 0, 1, -1}, -1, []<class T>(const std::array<T, 5>& x) {
        return pm::iron_law(b(x[0]), bps(x[1]), work(x[2]), fps(x[3]), s(x[4])).time.value();
      });
  check_law<5>("iron law: twice of everything that is done", {17.5e9, 3.35e12, 2e12, 989e12, 1e-4},
               {1, 0, 1, 0, 1}, 1, []<class T>(const std::array<T, 5>& x) {
                 return pm::iron_law(b(x[0]), bps(x[1]), work(x[2]), fps(x[3]), s(x[4]),
                                     pm::basic_overlap<T>{T(1.5)})
                     .time.value();
               });
  check_law<2>("ridge point", {989.4e12, 3.35e12}, {1, 1}, 0,
               []<class T>(const std::array<T, 2>& x) {
                 return pm::ridge_point(fps(x[0]), bps(x[1])).value();
               });
  check_law<3>("attainable bandwidth", {3.35e12, 0.5e6, 300e-9}, {1, 0, -1}, 1,
               []<class T>(const std::array<T, 3>& x) {
                 return pm::attainable_bandwidth(bps(x[0]), b(x[1]), s(x[2])).value();
               });
  check_law<3>("slowest load", {300e-9, 60e-9, 4.0}, {1, 1, 0}, 1,
               []<class T>(const std::array<T, 3>& x) {
                 return pm::slowest_load(s(x[0]), s(x[1]), x[2]).value();
               });
  check_law<2>("bandwidth from concurrency", {1e6, 300e-9}, {1, 0}, 1,
               []<class T>(const std::array<T, 2>& x) {
                 return pm::bandwidth_from_concurrency(b(x[0]), s(x[1])).value();
               });
  check_law<2>(
      "power of a memory", {3.35e12, 56e-12}, {1, 1}, 2, []<class T>(const std::array<T, 2>& x) {
        return pm::memory_power(bps(x[0]), pm::energy_per_byte<T>::from_value(x[1])).value();
      });
  check_law<3>("buckets behind a backward pass", {0.166, 0.0625, 20.0}, {1, 1, 0}, 1,
               []<class T>(const std::array<T, 3>& x) {
                 return pm::bucketed_backward(s(x[0]), s(x[1]), x[2]).value();
               });
  check_law<3>("two buffers", {2e-6, 3e-6, 40.0}, {1, 1, 0}, 1,
               []<class T>(const std::array<T, 3>& x) {
                 return pm::double_buffered_time(s(x[0]), s(x[1]), x[2]).value();
               });
}

TEST_CASE("elasticities of queues and prices have the sum that Euler's theorem says") {
  check_law<2>("M/M/1", {7.0, 0.1}, {1, -1}, -1, []<class T>(const std::array<T, 2>& x) {
    return pm::mm1(rps(x[0]), s(x[1])).time.value();
  });
  check_law<4>("G/G/1", {7.0, 0.1, 1.5, 0.7}, {1, -1, 0, 0}, -1,
               []<class T>(const std::array<T, 4>& x) {
                 return pm::gg1(rps(x[0]), s(x[1]), x[2], x[3]).time.value();
               });
  check_law<2>("processor sharing", {7.0, 0.1}, {1, -1}, -1,
               []<class T>(const std::array<T, 2>& x) {
                 return pm::processor_sharing(rps(x[0]), s(x[1])).time.value();
               });
  check_law<2>("M/M/8", {70.0, 0.1}, {1, -1}, -1, []<class T>(const std::array<T, 2>& x) {
    return pm::mmc(rps(x[0]), s(x[1]), 8).time.value();
  });
  check_law<2>("requests in a system", {7.0, 0.1}, {1, -1}, 0,
               []<class T>(const std::array<T, 2>& x) {
                 return pm::requests_in_system(rps(x[0]), s(x[1])).value();
               });
  check_law<2>("latency of streams", {64.0, 533.3}, {1, 1}, 0,
               []<class T>(const std::array<T, 2>& x) {
                 return pm::inter_token_latency_of(x[0], tps(x[1])).value();
               });
  check_law<3>("cost of a token: twice the GPUs at twice the rate", {4.0, 7.5e-4, 533.3}, {1, 0, 1},
               0, []<class T>(const std::array<T, 3>& x) {
                 return pm::cost_per_million_tokens(x[0], usd(x[1]), tps(x[2])).value();
               });
  check_law<3>(
      "price that a cost implies", {8.0, 1.2e-4, 50.0}, {0, 1, 1}, 2,
      []<class T>(const std::array<T, 3>& x) {
        return pm::implied_price(x[0], pm::money_per_token<T>::from_value(x[1]), tps(x[2])).value();
      });
}

}  // namespace property_euler
