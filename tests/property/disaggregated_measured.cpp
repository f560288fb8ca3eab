// InferenceX's disaggregated services, by the pools that they name, with the formats of their
// checkpoints.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <string>

#include <fit/published_disaggregated.hpp>
#include "support/shared.hpp"

namespace property_disaggregated_measured {

namespace pm = perfmodel;

namespace {

struct errors {
  double sum = 0;
  int count = 0;
  void add(double predicted, double measured) {
    sum += std::abs(predicted / measured - 1);
    ++count;
  }
  double mean() const { return sum / count; }
};

}  // namespace

TEST_CASE("disaggregated: services on GB200 as published, without speculation", "[shared]") {
  std::map<std::string, errors> of_group;
  errors all;
  for (const auto& p : published::disaggregated_services(perfmodel_test::measured_folder())) {
    const auto calibration = pm::calibrated_for(p.pools.decode.deployment);
    const auto s = pm::serving(p.pools, p.load, calibration);
    all.add(s.itl.value(), p.seconds);
    of_group[p.model + " " + p.framework + " " + p.precision].add(s.itl.value(), p.seconds);
  }
  REQUIRE(all.count == 127);
  CHECK(all.mean() < 0.16);
  for (const auto& [name, of] : of_group) {
    INFO(name << ": " << of.count << " services, " << of.mean());
    CHECK(of.mean() < 0.25);
  }
}

}  // namespace property_disaggregated_measured
