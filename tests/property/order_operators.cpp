// More of anything never takes less time, and more bandwidth never more: products, experts, streams
// and collectives, bound and calibrated. $PERFMODEL_SAMPLES samples of each property.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/roofline.hpp>

#include "support/order.hpp"

namespace property_order_operators {

namespace pm = perfmodel;
using perfmodel_test::calibrated_machine;
using perfmodel_test::calibrated_machines;
using perfmodel_test::one_of;
using perfmodel_test::order;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::whole;

namespace {

template <class Operator>
std::string told(const calibrated_machine& m, const Operator& w) {
  return perfmodel_test::fields_of(w) + "on " + m.device->name.c_str();
}

pm::gemm random_gemm(random_numbers& x) {
  pm::gemm g{.m = whole(x, 1, 2e4), .n = whole(x, 1, 3e4), .k = whole(x, 1, 3e4)};
  const double kind = x.uniform();
  if (kind < 0.2) g.weights = pm::fp8;
  if (kind > 0.8) g.weights = pm::storage_format(pm::int4, 128, 16);
  return g;
}
pm::moe_ffn random_experts(random_numbers& x) {
  pm::moe_ffn w{.tokens = whole(x, 1, 2e4),
                .hidden = 64.0 * whole(x, 1, 128),
                .intermediate = 64.0 * whole(x, 1, 256),
                .experts = power_of_two(x, 1, 8)};
  w.top_k = std::min(w.experts, power_of_two(x, 0, 3));
  if (x.uniform() < 0.3) w.shared_experts = 1.0;
  if (x.uniform() < 0.3) w.expert_parallel = 2.0;
  if (x.uniform() < 0.2) w.weights = pm::fp8;
  return w;
}

pm::call_conditions random_routing(random_numbers& x) {
  return {.routing = x.uniform() < 0.5 ? pm::expert_routing::random : pm::expert_routing::balanced};
}

/// The device with up to three times the DRAM bandwidth.
pm::accelerator with_more_bandwidth(const pm::accelerator& a, random_numbers& x) {
  pm::accelerator out = a;
  out.dram.bandwidth = x.uniform(1.0, 3.0) * a.dram.bandwidth.quantity();
  return out;
}

/// More of an operator, and more bandwidth, in bound and in calibrated mode.
template <class Random, class More, class Excused>
void check_order(const std::string& name, std::uint64_t seed, Random&& random, More&& more,
                 Excused&& excused) {
  random_numbers x(seed);
  order bound(name + ", bound"), calibrated(name + ", calibrated"),
      hardly(name + ", calibrated, by less than 1 %"), bandwidth(name + ", DRAM bandwidth, bound"),
      fitted_bandwidth(name + ", DRAM bandwidth, calibrated");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    const auto w = random(x);
    auto larger = w;
    more(larger, x);
    const pm::call_conditions conditions = random_routing(x);
    const pm::accelerator faster = with_more_bandwidth(*m.device, x);
    const auto where = [&] { return told(m, w) + "; " + told(m, larger); };
    const auto times = [&](const pm::accelerator& a, const auto& o) {
      return calibrated_estimate(a, o, m.calibration, conditions).time.value();
    };
    const double before = pm::roofline(*m.device, w).time.value(), t = times(*m.device, w);
    bound.rises(before, pm::roofline(*m.device, larger).time.value(), where);
    calibrated.rises(t, times(*m.device, larger), where, [&] { return excused(m, w, larger); });
    hardly.rises(0.99 * t, times(*m.device, larger), where);
    bandwidth.rises(pm::roofline(faster, w).time.value(), before, where);
    fitted_bandwidth.rises(times(faster, w), t, where);
  }
}
template <class Random, class More>
void check_order(const std::string& name, std::uint64_t seed, Random&& random, More&& more) {
  check_order(name, seed, random, more, [](const auto&...) { return false; });
}

/// Whether k of the larger product is cut into fewer parts, for any of the tiles.
bool fewer_parts(const calibrated_machine& m, const pm::gemm& g, const pm::gemm& larger) {
  const auto parts = [&](const pm::gemm& h, const auto& t) {
    return std::floor(m.device->sms.value() /
                      (std::ceil(h.m / t.rows) * std::ceil(h.n / t.columns)));
  };
  for (const auto& t : pm::detail::output_tiles) {
    if (parts(larger, t) < parts(g, t)) return true;
  }
  return false;
}

/// One row or token more is never less throughput, but where the law names a step of its kernels;
/// by less than 0.01 % where activations outgrow L2. Power, which takes its share of what more rows
/// gain, is left out.
template <class Random, class More, class Count, class Steps>
void check_throughput(const std::string& name, std::uint64_t seed, Random&& random, More&& more,
                      Count&& count, Steps&& steps) {
  random_numbers x(seed);
  order throughput(name + " per second, by less than 0.01 %");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    const auto w = random(x);
    auto larger = w;
    more(larger);
    const pm::call_conditions conditions = random_routing(x);
    pm::calibrated c = m.calibration;
    c.machine.power_slowdown = 0.0;
    const auto rate = [&](const auto& o) {
      return count(o) / calibrated_estimate(*m.device, o, c, conditions).time.value();
    };
    throughput.rises((1.0 - 1e-4) * rate(w), rate(larger), [&] { return told(m, w); },
                     [&] { return steps(m, w, larger, conditions); });
  }
}

}  // namespace

TEST_CASE("matrix products: a row more is less throughput only past a matrix instruction's rows",
          "[calibrated][order]") {
  check_throughput(
      "rows", 77, random_gemm, [](pm::gemm& g) { g.m += 1.0; },
      [](const pm::gemm& g) { return g.m; },
      [](const calibrated_machine& m, const pm::gemm& g, const auto&, const auto&) {
        return std::fmod(g.m, pm::instruction_rows_of(*m.device)) == 0.0;
      });
}

TEST_CASE("experts: a token more is less throughput only past a tile, or untuned ones' switch",
          "[calibrated][order]") {
  check_throughput(
      "tokens", 78, random_experts, [](pm::moe_ffn& w) { w.tokens += 1.0; },
      [](const pm::moe_ffn& w) { return w.tokens; },
      [](const calibrated_machine&, const pm::moe_ffn& w, const pm::moe_ffn& more,
         const pm::call_conditions& c) {
        if (w.tokens == w.experts / w.expert_parallel) return true;  // 64 x 64 from 16 x 32
        const auto tiles_of_8 = [&](const pm::moe_ffn& v) {
          const auto routed = pm::detail::routed_to_rank(v, c);
          const double rows = routed.rows / routed.touched, shared = v.tokens / v.expert_parallel;
          return std::array{std::ceil(rows / 8.0), std::ceil(rows * v.expert_parallel / 8.0),
                            std::ceil(shared / 8.0), std::ceil(v.tokens / 8.0)};
        };
        return tiles_of_8(w) != tiles_of_8(more);
      });
}

TEST_CASE("experts: more tokens take longer", "[calibrated][order]") {
  check_order("tokens of experts", 71, random_experts,
              [](pm::moe_ffn& w, random_numbers& x) { w.tokens += whole(x, 1, 300); });
}

TEST_CASE("matrix products: larger ones take longer", "[calibrated][order]") {
  check_order(
      "rows", 72, random_gemm, [](pm::gemm& g, random_numbers& x) { g.m += whole(x, 1, 500); },
      fewer_parts);
  check_order(
      "columns", 73, random_gemm, [](pm::gemm& g, random_numbers& x) { g.n += whole(x, 1, 500); },
      fewer_parts);
  check_order("depth", 74, random_gemm,
              [](pm::gemm& g, random_numbers& x) { g.k += whole(x, 1, 500); });
}

TEST_CASE("streaming operators: more elements take longer", "[calibrated][order]") {
  check_order(
      "elements", 75,
      [](random_numbers& x) {
        return pm::elementwise{.elements = whole(x, 1, 1e8), .inputs = whole(x, 1, 4)};
      },
      [](pm::elementwise& e, random_numbers& x) { e.elements += whole(x, 1, 1e6); });
  check_order(
      "rows of a norm", 76,
      [](random_numbers& x) {
        return pm::norm{.rows = whole(x, 1, 1e5), .width = whole(x, 1, 2e4)};
      },
      [](pm::norm& e, random_numbers& x) { e.rows += whole(x, 1, 1e3); });
}

}  // namespace property_order_operators
