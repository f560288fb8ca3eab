// The catalogue's engine against a fit to the published services.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <string>

#include <fit/published_engines.hpp>
#include "support/shared.hpp"

namespace unit_engines_fitted {

namespace pm = perfmodel;

TEST_CASE("engines: the catalogue holds what the services say", "[engines][shared]") {
  const std::string folder = perfmodel_test::measured_folder();
  const auto rows = published::engine_rows(folder, pm::engine::vllm);
  REQUIRE(rows.size() > 300);
  const auto fit = published::fit_engine<published::vllm_model>(rows);
  // To half a standard error: the laws of a service that stand behind it have errors of their own.
  const double shipped = pm::catalog::engine_vllm.step_cpu_time.value() * 1e6;
  CHECK(std::abs(shipped - fit.value[0]) < 0.5 * fit.standard_error[0]);
}

}  // namespace unit_engines_fitted
