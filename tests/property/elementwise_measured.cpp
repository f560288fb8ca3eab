// Streaming kernels against what others measured: small kernels over the same tensors again and
// again, and the element-wise operators of real models. The limits are a little above what
// docs/laws/calibrated_elementwise.md says.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <string>
#include <vector>

#include <fit/published_elementwise.hpp>
#include "support/shared.hpp"

namespace property_elementwise_measured {

namespace pm = perfmodel;
using published::elementwise_row;

namespace {

pm::machine_parameters machine_of(const elementwise_row& r) {
  return pm::catalog::machine_profile_of(*r.device).value;
}
double residual(const elementwise_row& r, const pm::machine_parameters& machine) {
  return std::log(r.seconds / r.estimate(*r.device, machine, r.kernels).time.value());
}

}  // namespace

TEST_CASE("element-wise kernels by machine and operator", "[calibrated][shared]") {
  std::map<std::string, std::vector<double>> by;
  for (const elementwise_row& r : published::elementwise_rows(perfmodel_test::measured_folder())) {
    by[r.gpu + ' ' + r.op].push_back(residual(r, machine_of(r)));
  }
  const std::map<std::string, double> limits{{"a100_sxm_80gb small kernel", 0.040},
                                             {"gh200_96gb small kernel", 0.053},
                                             {"a100_sxm_80gb add", 0.066},
                                             {"h100_sxm add", 0.097},  // nothing is fitted to it
                                             {"a100_sxm_80gb input_layernorm", 0.095},
                                             {"a100_sxm_80gb mlp_act", 0.093},
                                             {"a100_sxm_80gb attn_rope", 0.088},
                                             {"a100_sxm_80gb emb", 0.062},
                                             {"h100_sxm input_layernorm", 0.099},
                                             {"h100_sxm mlp_act", 0.130},
                                             {"h100_sxm attn_rope", 0.105}};
  for (const auto& [who, limit] : limits) {
    INFO(who);
    CHECK(by[who].size() >= 26);
    CHECK(pm::score_of(by[who]).mean < limit);
  }
}

TEST_CASE(
    "Hopper's L2 as a stream of kernels shows it predicts those of a graph, and the other way "
    "round",
    "[calibrated][shared]") {
  using scalar = pm::dual<1>;
  std::map<bool, std::vector<elementwise_row>> modes;
  for (const elementwise_row& r :
       published::elementwise_kernels(perfmodel_test::measured_folder())) {
    if (r.gpu == "gh200_96gb") modes[r.kernels.kernel_time == pm::graph_kernel_time].push_back(r);
  }
  REQUIRE(modes.size() == 2);
  for (const auto& [graph, rows] : modes) {
    std::vector<elementwise_row> in_l2;
    std::vector<double> measured, unseen;
    for (const elementwise_row& r : rows) {
      if (r.demand().dram.total().value() > 0.5 * r.device->l2.capacity.value()) continue;
      in_l2.push_back(r);
      measured.push_back(r.seconds);
    }
    const auto device = pm::lift<scalar>(*rows[0].device);
    auto machine = pm::lift<scalar>(machine_of(rows[0]));
    const auto fit = pm::fit_log_ratios(
        std::array<pm::fitted_parameter, 1>{{{"elementwise_l2_bandwidth [TB/s]", 4.0, 0.5, 20.0}}},
        std::span<const double>(measured), [&](const std::array<scalar, 1>& v, std::size_t i) {
          machine.elementwise_l2_bandwidth = v[0] * pm::TB_per_s;
          return in_l2[i]
              .estimate(device, machine, pm::lift<scalar>(in_l2[i].kernels))
              .time.value();
        });
    pm::machine_parameters found = machine_of(rows[0]);
    found.elementwise_l2_bandwidth = fit.value[0] * pm::TB_per_s;
    for (const elementwise_row& r : modes.at(!graph)) unseen.push_back(residual(r, found));
    INFO((graph ? "fitted to a graph" : "fitted to a stream") << ": " << fit.value[0] << " TB/s");
    CHECK(pm::score_of(unseen).mean < 0.060);
    pm::machine_parameters without = machine_of(rows[0]);
    without.elementwise_l2_bandwidth = {};
    std::vector<double> by_attention;
    for (const elementwise_row& r : modes.at(!graph)) by_attention.push_back(residual(r, without));
    CHECK(pm::score_of(by_attention).mean > 0.10);
  }
}

}  // namespace property_elementwise_measured
