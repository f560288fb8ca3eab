// The shipped profiles of AMD's chips against the tuned kernels that AITER publishes: errors, the
// bound and intervals. The limits are a little above what the profiles reach;
// docs/laws/calibrated_amd.md has both.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <string>
#include <vector>

#include <fit/published_amd.hpp>
#include "support/shared.hpp"

namespace property_calibrated_amd_measured {

namespace pm = perfmodel;

namespace {

using residuals = std::map<std::string, std::vector<double>>;

template <class Row>
double residual(const Row& r) {
  const pm::calibrated calibration = pm::calibrated_for(*r.device);
  pm::call_conditions how;
  if constexpr (requires { r.routing; }) how.routing = r.routing;
  return std::log(r.seconds /
                  calibrated_estimate(*r.device, r.workload, calibration, how).time.value());
}

}  // namespace

TEST_CASE("tuned products on MI300X and MI355X", "[calibrated][shared]") {
  const auto all = published::amd_gemms(perfmodel_test::measured_folder());
  REQUIRE(all.size() > 1000);
  residuals by, bound;
  for (const auto& r : published::thinned(all)) {
    by[r.gpu].push_back(residual(r));
    bound[r.gpu].push_back(std::log(r.seconds / pm::roofline(*r.device, r.workload).time.value()));
  }
  const std::map<std::string, double> limits{{"mi300x", 0.12}, {"mi355x", 0.20}};
  for (const auto& [gpu, limit] : limits) {
    INFO(gpu);
    CHECK(pm::score_of(by[gpu]).mean < limit);
    CHECK(std::abs(pm::score_of(by[gpu]).bias) < 0.06);
    CHECK(pm::score_of(by[gpu]).mean < 0.5 * pm::score_of(bound[gpu]).mean);
    const double sigma =
        pm::catalog::machine_profile_of(*pm::catalog::find_accelerator(gpu)).log_sigma;
    CHECK(pm::coverage_of(by[gpu], sigma) > 0.72);
    CHECK(pm::coverage_of(by[gpu], sigma) < 0.90);
  }
}

TEST_CASE("tuned experts on MI300X and MI355X", "[calibrated][shared]") {
  residuals by;
  std::vector<double> every;
  for (const auto& r : published::amd_moes(perfmodel_test::measured_folder())) {
    by[r.scheme].push_back(residual(r));
    every.push_back(by[r.scheme].back());
  }
  REQUIRE(every.size() > 500);
  const std::map<std::string, double> limits{
      {"bf16", 0.15}, {"fp8_block128", 0.20}, {"mxfp4", 0.20}, {"w4a16", 0.20}};
  for (const auto& [scheme, limit] : limits) {
    INFO(scheme);
    CHECK(pm::score_of(by[scheme]).mean < limit);
  }
  CHECK(pm::coverage_of(every, pm::catalog::aiter_experts_log_sigma) > 0.72);
  CHECK(pm::coverage_of(every, pm::catalog::aiter_experts_log_sigma) < 0.92);
}

}  // namespace property_calibrated_amd_measured
