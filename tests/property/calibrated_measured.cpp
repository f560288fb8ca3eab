// The shipped profiles against published latencies: errors, intervals, bounds, and the fit itself.
// The limits are a little above what the profiles reach; docs/laws/calibrated_gemm.md has both.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/calibrate_machine.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <fit/published_gemm.hpp>
#include "support/shared.hpp"

namespace property_calibrated_measured {

namespace pm = perfmodel;
using published::gemm_row;

namespace {

/// A test calls this before its first assertion: it skips where the measurements are absent.
const std::vector<gemm_row>& graph_rows() {
  static const std::vector<gemm_row> rows =
      published::graph_gemms(perfmodel_test::measured_folder());
  REQUIRE_FALSE(rows.empty());
  return rows;
}

const pm::machine_profile& fitted_profile_of(const std::string& gpu) {
  for (const pm::catalog::measured_machine* m : pm::catalog::measured_machines) {
    if (m->device().name.view() == gpu) return *m->machine;
  }
  throw std::runtime_error("no profile was fitted to " + gpu);
}

/// ln(measured / predicted) by the shipped profile, or by one given.
double residual(const gemm_row& r, const pm::machine_parameters* machine = nullptr) {
  const pm::machine_profile& p = fitted_profile_of(r.gpu);
  const auto e = calibrated_estimate(
      *r.device, r.workload,
      {machine != nullptr ? *machine : p.value, *pm::catalog::find_engine(r.engine)},
      pm::replay_conditions(r.copies));
  return std::log(r.seconds / e.time.value());
}

}  // namespace

TEST_CASE("int8 and int4 weights with 16-bit activations, of held-out shapes",
          "[calibrated][shared]") {
  using scalar = pm::dual<2>;
  const std::vector<gemm_row> rows = published::weight_only(graph_rows());
  REQUIRE(rows.size() == 352);
  const auto device = pm::lift<scalar>(*rows[0].device);
  const auto machine = pm::lift<scalar>(fitted_profile_of(rows[0].gpu).value);
  std::vector<double> measured;
  std::vector<std::size_t> shape;
  std::map<double, std::size_t> shapes;
  for (const gemm_row& r : rows) {
    measured.push_back(r.seconds);
    const double nk = r.workload.n * 1e6 + r.workload.k;
    shape.push_back(shapes.emplace(nk, shapes.size()).first->second);
  }
  const auto predict = [&](const std::array<scalar, 2>& v, std::size_t i) {
    return published::dequantised_time(rows[i], device, machine, v);
  };
  const std::vector<double> unseen =
      pm::held_out_residuals(published::of_widening, std::span<const double>(measured),
                             std::span<const std::size_t>(shape), predict);
  std::map<std::string, std::vector<double>> held_out, shipped;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    held_out[rows[i].dtype].push_back(unseen[i]);
    shipped[rows[i].dtype].push_back(residual(rows[i]));
  }
  for (const char* dtype : {"int8_wo", "int4_wo"}) {
    INFO(dtype);
    CHECK(pm::score_of(held_out[dtype]).mean < 0.115);
    CHECK(pm::score_of(shipped[dtype]).mean < 0.115);
  }
}

TEST_CASE("bf16 matrix products on five machines", "[calibrated][shared]") {
  std::map<std::string, std::vector<double>> every, cold;
  for (const gemm_row& r : graph_rows()) {
    if (r.dtype != "bfloat16" || r.warmth_unknown()) continue;
    every[r.gpu].push_back(residual(r));
    if (!r.may_be_warm()) cold[r.gpu].push_back(every[r.gpu].back());
  }
  const std::map<std::string, std::array<double, 2>> limits{{"a100_sxm_80gb", {0.060, 0.050}},
                                                            {"h100_sxm", {0.053, 0.058}},
                                                            {"h200_sxm", {0.057, 0.054}},
                                                            {"b200_sxm", {0.076, 0.070}},
                                                            {"l40s", {0.099, 0.083}}};
  for (const auto& [gpu, limit] : limits) {
    INFO(gpu);
    CHECK(pm::score_of(every[gpu]).n > 500);
    CHECK(pm::score_of(every[gpu]).mean < limit[0]);
    CHECK(pm::score_of(cold[gpu]).mean < limit[1]);
    // The interval says 80 %, from shapes held out; in sample it may hold more.
    const double spread = fitted_profile_of(gpu).log_sigma;
    double inside = 0;
    for (const double x : every[gpu]) inside += std::abs(x) <= pm::z90 * spread ? 1.0 : 0.0;
    inside /= static_cast<double>(every[gpu].size());
    CHECK(inside > 0.78);
    CHECK(inside < 0.88);
  }
}

TEST_CASE("fp8 matrix products with quantisation by the engine", "[calibrated][shared]") {
  std::map<std::string, std::vector<double>> narrow;
  for (const gemm_row& r : graph_rows()) {
    if (bits_of(r.workload.format) <= 8.0 && !r.warmth_unknown()) {
      narrow[r.dtype + ' ' + r.gpu].push_back(residual(r));
    }
  }
  const std::map<std::string, double> limits{
      {"fp8 h100_sxm", 0.060},       {"fp8 h200_sxm", 0.062},       {"fp8 b200_sxm", 0.089},
      {"fp8 l40s", 0.104},           {"fp8_block h100_sxm", 0.060}, {"fp8_block h200_sxm", 0.078},
      {"fp8_block b200_sxm", 0.060}, {"fp8_block l40s", 0.132},     {"nvfp4 b200_sxm", 0.080},
      {"sq a100_sxm_80gb", 0.124}};
  CHECK(narrow.size() == limits.size());
  for (const auto& [who, limit] : limits) {
    INFO(who);
    CHECK(pm::score_of(narrow[who]).n > 140);
    CHECK(pm::score_of(narrow[who]).mean < limit);
  }
}

TEST_CASE("layers of real models, that no fit has seen", "[calibrated][shared]") {
  graph_rows();
  std::map<std::string, std::vector<double>> by_gpu;
  for (const gemm_row& r : published::layer_gemms(perfmodel_test::measured_folder()))
    by_gpu[r.gpu].push_back(residual(r));
  CHECK(pm::score_of(by_gpu["a100_sxm_80gb"]).mean < 0.092);
  CHECK(pm::score_of(by_gpu["h100_sxm"]).mean < 0.110);
}

TEST_CASE("a machine by its relative's parameters", "[calibrated][shared]") {
  std::map<std::string, std::vector<double>> loan;
  for (const gemm_row& r : graph_rows()) {
    if (r.dtype != "bfloat16") continue;
    if (r.gpu == "h200_sxm")
      loan[r.gpu].push_back(residual(r, &pm::catalog::profile_h100_sxm.value));
    if (r.gpu == "h100_sxm")
      loan[r.gpu].push_back(residual(r, &pm::catalog::profile_h200_sxm.value));
  }
  CHECK(pm::score_of(loan["h200_sxm"]).mean < 0.058);
  CHECK(pm::score_of(loan["h100_sxm"]).mean < 0.058);
}

// Left out: weights up to twice the L2, part of which the run before may have left there. Three
// rows of an L40S (m = 1, 128 MB of weights, 96 MB of L2) are of that kind and beat their bound.
TEST_CASE("no cold matrix product is faster than its bound", "[calibrated][shared]") {
  int faster = 0, rows = 0;
  for (const gemm_row& r : graph_rows()) {
    if (r.weight_bytes() <= 2.0 * r.device->l2.capacity.value()) continue;
    ++rows;
    if (roofline(*r.device, r.workload).time.value() > r.seconds) {
      ++faster;
      UNSCOPED_INFO(r.gpu << " " << r.engine << " " << r.dtype << " " << r.workload.m << " "
                          << r.workload.n << " " << r.workload.k << " " << r.seconds * 1e6
                          << " us, bound " << roofline(*r.device, r.workload).time.value() * 1e6);
    }
  }
  CHECK(rows > 1500);
  CHECK(faster == 0);
}

TEST_CASE("the shipped H100 profile is what the fit gives", "[calibrated][shared]") {
  std::vector<pm::gemm_measurement> rows;
  for (const gemm_row& r : graph_rows()) {
    if (r.dtype != "bfloat16" || r.gpu != "h100_sxm") continue;
    rows.push_back({r.workload, r.seconds * pm::second, r.copies});
  }
  const pm::machine_profile& shipped = pm::catalog::profile_h100_sxm;
  const pm::machine_fit fit =
      pm::fit_machine(pm::catalog::h100_sxm, rows, 3, shipped.value.l2_bandwidth);
  int parameters = 0;
  pm::machine_parameters::fields(
      [&]<class V>(const pm::field& about, const V& fitted, const V& value, const V& error) {
        INFO(about.name);
        if (about.name == std::string_view("elementwise_l2_bandwidth")) return;  // of other kernels
        if constexpr (pm::detail::is_optional<V>) {
          CHECK(fitted == value);
        } else {
          CHECK(fitted - value <= error);
          CHECK(value - fitted <= error);
        }
        ++parameters;
      },
      fit.profile.value, shipped.value, shipped.standard_error);
  CHECK(parameters == 8);  // seven fitted, and the L2's bandwidth
  // Shapes held out: the goal is 7 % on A100, H100 and H200, and four in five inside the interval.
  CHECK(pm::score_of(fit.held_out).mean < 0.07);
  CHECK(pm::coverage_of(fit.held_out, shipped.log_sigma) > 0.70);
  CHECK(pm::coverage_of(fit.held_out, shipped.log_sigma) < 0.90);
}

TEST_CASE("each part of the formula earns its place on the measurements", "[calibrated][shared]") {
  const std::vector<gemm_row>& rows = graph_rows();
  const auto mean_with = [&](const char* gpu, auto change) {
    std::vector<double> x;
    for (const gemm_row& r : rows) {
      if (r.dtype != "bfloat16" || r.gpu != gpu || r.warmth_unknown()) continue;
      pm::machine_parameters p = fitted_profile_of(gpu).value;
      change(p);
      x.push_back(residual(r, &p));
    }
    return pm::score_of(x).mean;
  };
  const auto share_without = [&](const char* gpu, auto change) {
    return mean_with(gpu, change) / mean_with(gpu, [](pm::machine_parameters&) {});
  };
  using p = pm::machine_parameters;
  CHECK(share_without("a100_sxm_80gb", [](p& m) { m.tile_fill = {}; }) > 1.3);
  CHECK(share_without("a100_sxm_80gb", [](p& m) { m.split_cost = {}; }) > 1.1);
  CHECK(share_without("a100_sxm_80gb", [](p& m) { m.matrix_floor = {}; }) > 1.1);
  CHECK(share_without("a100_sxm_80gb",
                      [](p& m) { m.operand_bandwidth = 100.0 * m.operand_bandwidth; }) > 1.1);
  CHECK(share_without("l40s", [](p& m) { m.l2_bandwidth = {}; }) > 1.01);
  CHECK(share_without("h200_sxm", [](p& m) { m.power_slowdown = 0.0; }) > 1.1);
}

}  // namespace property_calibrated_measured
