// Published services, each calibrated with a few of its own runs: how far off the others are.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <perfmodel/kernels/catalog/uncertainty.hpp>
#include <string>

#include <fit/published_own_services.hpp>
#include "support/shared.hpp"

namespace property_own_services {

namespace pm = perfmodel;

TEST_CASE("own services: five runs tell of the others", "[calibrated][shared]") {
  const auto services = published::own_services(perfmodel_test::measured_folder(), 8);
  REQUIRE(services.size() > 60);
  std::vector<double> token[2], first[2];
  std::map<std::string, std::array<double, 3>> inside;  // by model and engine: ITL, TTFT, runs
  for (const published::own_service& s : services) {
    for (const std::size_t seen : {std::size_t{0}, std::size_t{5}}) {
      const auto score =
          published::score_after(s, seen, 1, pm::catalog::variation_between_services);
      token[seen / 5].push_back(pm::score_of(score.token).mean);
      first[seen / 5].push_back(pm::score_of(score.first).mean);
      if (seen == 0) continue;
      const double n = static_cast<double>(score.token.size());
      for (const std::string& of :
           {std::string("all"),
            s.model + ' ' + pm::name_of(s.runs.front().deployment.serving_engine)}) {
        inside[of][0] += n * pm::coverage_of(score.token, score.token_sigma);
        inside[of][1] += n * pm::coverage_of(score.first, score.first_sigma);
        inside[of][2] += n;
      }
    }
  }
  const auto median = [](const std::vector<double>& x) { return pm::detail::quantile(x, 0.5); };
  CAPTURE(median(token[0]), median(first[0]), median(token[1]), median(first[1]));
  CHECK(median(token[1]) < 0.055);
  CHECK(median(first[1]) < 0.12);
  CHECK(median(token[1]) < 0.75 * median(token[0]));
  CHECK(median(first[1]) < median(first[0]));
  const auto& [token_of_all, first_of_all, all] = inside["all"];
  CHECK(token_of_all > 0.72 * all);
  CHECK(token_of_all < 0.90 * all);
  CHECK(first_of_all > 0.72 * all);
  CHECK(first_of_all < 0.90 * all);
  // One draw of five: 3 services and 55 runs at least of each.
  for (const auto& [of, is] : inside) {
    CAPTURE(of, is[0] / is[2], is[1] / is[2]);
    CHECK(is[0] > 0.60 * is[2]);
    CHECK(is[1] > 0.60 * is[2]);
  }
}

}  // namespace property_own_services
