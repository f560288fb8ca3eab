// Published services, each calibrated with a few of its own runs: how far off the others are.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/calibrated/catalog/service_spread.hpp>

#include "../../validation/calibrate/published_own_services.hpp"
#include "support/shared.hpp"

namespace pm = perfmodel;

TEST_CASE("own services: five runs tell of the others", "[calibrated][shared]") {
  const auto services = published::own_services(perfmodel_test::measured_folder(), 8);
  REQUIRE(services.size() > 60);
  std::vector<double> token[2], first[2];
  double inside_token = 0, inside_first = 0, runs = 0;
  for (const published::own_service& s : services) {
    for (const std::size_t seen : {std::size_t{0}, std::size_t{5}}) {
      const auto score = published::score_after(s, seen, 1, pm::catalog::spread_between_services);
      token[seen / 5].push_back(pm::score_of(score.token).mean);
      first[seen / 5].push_back(pm::score_of(score.first).mean);
      if (seen == 0) continue;
      const double n = static_cast<double>(score.token.size());
      inside_token += n * pm::coverage_of(score.token, score.token_sigma);
      inside_first += n * pm::coverage_of(score.first, score.first_sigma);
      runs += n;
    }
  }
  const auto median = [](const std::vector<double>& x) { return pm::detail::quantile(x, 0.5); };
  CAPTURE(median(token[0]), median(first[0]), median(token[1]), median(first[1]));
  CAPTURE(inside_token / runs, inside_first / runs);
  CHECK(median(token[1]) < 0.055);
  CHECK(median(first[1]) < 0.12);
  CHECK(median(token[1]) < 0.75 * median(token[0]));
  CHECK(median(first[1]) < median(first[0]));
  CHECK(inside_token > 0.72 * runs);
  CHECK(inside_first > 0.72 * runs);
}
