// Elasticities against the ratio of two evaluations.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>

#include "support/near.hpp"
#include "support/random.hpp"

namespace property_sensitivity {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using scalar = pm::dual<5>;

namespace {

/// The accelerator with one of machine_resources scaled.
pm::accelerator scaled(pm::accelerator a, std::size_t resource, double by) {
  const auto scale_all = [by](auto& peaks) {
    for (const pm::number_format f : pm::all_formats) {
      auto& all = peaks;
      std::remove_cvref_t<decltype(all)>::fields(
          [&](const pm::field& about, auto& x) {
            if (std::string(about.name) == name_of(f)) x = by * x.quantity();
          },
          all);
    }
  };
  if (resource == 0) scale_all(a.matrix.peak);
  if (resource == 1) scale_all(a.vector.peak);
  if (resource == 2) a.dram.bandwidth = by * a.dram.bandwidth.quantity();
  if (resource == 3) a.l2.bandwidth = by * a.l2.bandwidth.quantity();
  if (resource == 4) a.fabric.bandwidth = by * a.fabric.bandwidth.quantity();
  return a;
}

}  // namespace

TEST_CASE("sensitivity: elasticities are slopes of the logarithm, and those of a bound sum to -1") {
  perfmodel_test::random_numbers random(41);
  const pm::transformer* models[] = {&cat::llama_3_70b, &cat::mixtral_8x7b, &cat::gemma_3_27b,
                                     &cat::deepseek_v3};
  for (int n = 0; n < 40; ++n) {
    const pm::deployment d{.device = cat::h200_sxm,
                           .model = *models[n % 4],
                           .layout = {.tensor = 1 << static_cast<int>(random.uniform(0, 4))}};
    const pm::iteration i{.batch = std::floor(random.log_uniform(1, 600)),
                          .context = std::floor(random.log_uniform(1, 20000)),
                          .prefill_tokens = std::floor(random.log_uniform(0.5, 2000))};
    const auto found = pm::elasticities(d.device, [&](const auto& a) {
      auto lifted = pm::lift<scalar>(d);
      lifted.device = a;
      return pm::step_bound(lifted, pm::lift<scalar>(i)).time;
    });
    double sum = 0;
    for (std::size_t r = 0; r < 5; ++r) {
      const auto time = [&](double by) {
        auto other = d;
        other.device = scaled(d.device, r, by);
        return pm::step_bound(other, i).time.value();
      };
      const double h = 1e-6;
      const double slope = std::log(time(1 + h) / time(1 - h)) / std::log((1 + h) / (1 - h));
      INFO(d.model.name.view() << " " << found[r].resource);
      CHECK(std::abs(found[r].value - slope) < 1e-6);
      sum += found[r].value;
    }
    CHECK(perfmodel_test::near(sum, -1.0, 1e-9));
  }
}

}  // namespace property_sensitivity
