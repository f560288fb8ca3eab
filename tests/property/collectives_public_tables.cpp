// Defaults for fabrics that nobody collected, against tables that people posted, and the fits that
// the defaults come from. Limits are a little above what is reached.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <map>
#include <perfmodel/analysis/scores.hpp>
#include <span>
#include <string>
#include <vector>

#include "../../validation/calibrate/published_collectives.hpp"

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;
using published::public_row;

namespace {

/// ln(measured / predicted), by the shipped profile.
double residual(const public_row& r) {
  const pm::collective_profile p = pm::catalog::collective_profile_of(published::accelerator_of(r));
  return std::log(1e-6 * r.us / published::time_of(r, p));
}
std::vector<double> residuals(std::span<const public_row> rows) {
  std::vector<double> out;
  for (const public_row& r : rows) out.push_back(residual(r));
  return out;
}
/// The share of rows within what the profile states for 80 %.
double covered(std::span<const public_row> rows) {
  double inside = 0.0;
  for (const public_row& r : rows) {
    const double spread =
        pm::catalog::collective_profile_of(published::accelerator_of(r)).log_sigma;
    inside += std::abs(residual(r)) <= pm::z90 * spread ? 1.0 : 0.0;
  }
  return inside / static_cast<double>(rows.size());
}

}  // namespace

TEST_CASE("the default of NVLink 5 is what public tables say", "[calibrated]") {
  const pm::collective_parameters shipped = pm::catalog::collectives_nvlink5.value;
  const pm::collective_parameters error = pm::catalog::collectives_nvlink5.standard_error;
  const auto nccl = published::fit_public<published::nvlink5_model>(published::public_nvlink5);
  CHECK_THAT(shipped.launch / pm::us, WithinRel(nccl.value[0], 0.01));
  CHECK_THAT(shipped.hop / pm::us, WithinRel(nccl.value[1], 0.01));
  CHECK_THAT(shipped.simple_wait / pm::us, WithinRel(nccl.value[2], 0.01));
  CHECK_THAT(shipped.link_share, WithinRel(nccl.value[3], 0.01));
  CHECK_THAT(*shipped.in_network_share, WithinRel(nccl.value[4], 0.01));
  CHECK_THAT(error.hop / pm::us, WithinRel(nccl.standard_error[1], 0.1));
  const auto kernels =
      published::fit_public<published::nvlink5_kernels_model>(published::public_nvlink5_kernels);
  CHECK_THAT(shipped.engine_all_reduce_share, WithinRel(kernels.value[1], 0.01));
  // Between vLLM's six B300 and H200, as TensorRT-LLM's serving runs on B200 ask for.
  CHECK_THAT(shipped.engine_all_reduce_floor / pm::us,
             WithinRel(std::sqrt(kernels.value[0] * 4.17), 0.01));
}

TEST_CASE("the default of PCIe is what public tables say", "[calibrated]") {
  const auto f = published::fit_public<published::pcie_model>(published::public_pcie);
  const auto gen5 = pm::catalog::collective_profile_of(pm::catalog::rtx_pro_6000);
  const auto gen4 = pm::catalog::collective_profile_of(pm::catalog::l40s);
  CHECK_THAT(gen5.value.hop / pm::us, WithinRel(f.value[0], 0.01));
  for (const auto& [profile, device] :
       {std::pair{gen5, pm::catalog::rtx_pro_6000}, std::pair{gen4, pm::catalog::l40s}}) {
    const auto rate = profile.value.link_share * device.fabric.bandwidth.quantity();
    CHECK_THAT(rate / pm::GB_per_s, WithinRel(f.value[1], 0.01));
  }
  CHECK_THAT(gen5.protocols.cross_socket_factor, WithinRel(f.value[2], 0.01));
}

TEST_CASE("how far the defaults are from public tables", "[calibrated]") {
  const auto mean = [](std::span<const public_row> rows) {
    return pm::score_of(residuals(rows)).mean;
  };
  CHECK(mean(published::public_nvlink5) < 0.07);
  CHECK(mean(published::public_nvlink5_kernels) < 0.12);
  CHECK(mean(published::public_pcie) < 0.25);
  CHECK(mean(published::public_pcie_kernels) < 0.11);
  // H100's kernels take H200's numbers, which nobody had measured on H100.
  CHECK(mean(published::public_h100_kernels) < 0.15);
  CHECK(mean(published::public_h100) < 0.14);
}

TEST_CASE("80 % of public rows lie where the defaults say", "[calibrated]") {
  CHECK(covered(published::public_nvlink5) >= 0.8);
  CHECK(covered(published::public_nvlink5_kernels) >= 0.8);
  CHECK(covered(published::public_pcie) >= 0.8);
  CHECK(covered(published::public_pcie_kernels) >= 0.8);
}

TEST_CASE("a PCIe table that the fit has not seen", "[calibrated]") {
  std::map<std::string, std::vector<public_row>> by;
  for (const public_row& r : published::public_pcie) by[r.source].push_back(r);
  std::vector<double> unseen;
  for (const auto& [source, out] : by) {
    std::vector<public_row> most;
    for (const public_row& r : published::public_pcie) {
      if (source != r.source) most.push_back(r);
    }
    const auto f = published::fit_public<published::pcie_model>(most);
    for (const public_row& r : out) {
      const auto p = published::pcie_model::from(f.value, r);
      unseen.push_back(std::log(1e-6 * r.us / published::time_of(r, p)));
    }
  }
  const auto s = pm::score_of(unseen);
  INFO("mean " << s.mean << ", median " << s.median << ", spread " << pm::log_sigma_of(unseen));
  CHECK(s.mean < 0.30);
  CHECK(s.median < 0.15);
  CHECK(pm::log_sigma_of(unseen) < pm::catalog::collective_profile_of(pm::catalog::l40s).log_sigma);
}

TEST_CASE("a reduce-scatter takes what an all-gather takes, as measured", "[calibrated]") {
  // SimuMax fits both on 8 B200 (0.6731 and 0.6735 of the link) and on A100 PCIe of 4 (0.6845 and
  // 0.6915); the model has one formula for both.
  for (const pm::accelerator* a :
       {&pm::catalog::h200_sxm, &pm::catalog::b200_sxm, &pm::catalog::l40s}) {
    const auto cost = pm::calibrated_collectives_on(*a, pm::catalog::collective_profile_of(*a));
    for (double bytes = 512; bytes < 1e9; bytes *= 4) {
      pm::collective c{.operation = pm::collective_op::all_gather,
                       .ranks = 8,
                       .message = pm::message_bytes<>(bytes * pm::byte),
                       .implementation = pm::collective_implementation::nccl};
      const auto gather = pm::collective_time(a->fabric, c, cost);
      c.operation = pm::collective_op::reduce_scatter;
      CHECK(pm::collective_time(a->fabric, c, cost).time == gather.time);
    }
  }
}
