// Defaults for fabrics without a collected table, against public tables, and the fits that
// the defaults come from. Limits are a little above what is reached.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/parallel/hierarchy.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <span>
#include <string>
#include <vector>

#include <fit/left_out_links.hpp>

namespace property_collectives_public_tables {

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
/// The share of rows within what is stated of such kernels for 80 %.
double covered(std::span<const public_row> rows) {
  double inside = 0.0;
  for (const public_row& r : rows) {
    const auto kind = r.kernels == pm::collective_implementation::nccl
                          ? pm::collective_kind::library
                          : pm::collective_kind::own_kernels;
    const double spread = pm::catalog::link_log_sigmas_of(
        published::accelerator_of(r))[static_cast<std::size_t>(kind)];
    inside += std::abs(residual(r)) <= pm::z90 * spread ? 1.0 : 0.0;
  }
  return inside / static_cast<double>(rows.size());
}

/// A published collective of nccl-tests or rccl-tests. Of two numbers one is 0.
struct posted_collective {
  const char* gpu = "";
  int node_ranks = 8, nodes = 1;
  double adapter = 0.0;  ///< GB/s one way of each rank's network adapter
  pm::collective_op operation = pm::collective_op::all_reduce;
  double bytes = 0.0, busbw = 0.0, us = 0.0;  ///< busbw in GB/s
  bool switches_add = true;
};
constexpr double MiB = 1048576.0, GiB = 1024.0 * MiB;
constexpr auto gather = pm::collective_op::all_gather, scatter = pm::collective_op::reduce_scatter;
constexpr auto sum = pm::collective_op::all_reduce;
// stas00/ml-engineering, network/README.md (A100, H200, B200, MI300X); NVIDIA/nccl-tests #290, #309
// (H100); NVIDIA/nccl #1221 (H100 RoCE), #1374 (H800), #1244 (H20), #1639 (RTX 5090);
// coreweave/nccl-tests #43 (GB200). "Large" messages are taken as 8 GiB.
constexpr posted_collective posted[] = {
    {"a100_sxm_80gb", 8, 1, 0, sum, 32768, 0, 43.8},
    {"a100_sxm_80gb", 8, 1, 0, sum, MiB, 0, 101.9},
    {"a100_sxm_80gb", 8, 1, 0, sum, GiB, 229},
    {"a100_sxm_80gb", 8, 1, 0, sum, 16 * GiB, 234.9},
    {"h200_sxm", 8, 1, 0, sum, MiB, 39.9},
    {"h200_sxm", 8, 1, 0, sum, 64 * MiB, 346.5},
    {"h200_sxm", 8, 1, 0, sum, GiB, 463.6},
    {"h200_sxm", 8, 1, 0, sum, 16 * GiB, 482.3},
    {"h200_sxm", 8, 1, 0, sum, 16 * GiB, 367.6, 0, false},
    {"h200_sxm", 4, 1, 0, sum, 8 * GiB, 363},
    {"h200_sxm", 5, 1, 0, sum, 8 * GiB, 414},
    {"h200_sxm", 6, 1, 0, sum, 8 * GiB, 436},
    {"h200_sxm", 7, 1, 0, sum, 8 * GiB, 460},
    {"h200_sxm", 8, 1, 0, gather, 16 * GiB, 361.4},
    {"h200_sxm", 8, 1, 0, scatter, 16 * GiB, 362.9},
    {"h200_sxm", 8, 4, 50, sum, 4 * GiB, 364.9},
    {"h100_sxm", 8, 1, 0, sum, 8 * GiB, 478},
    {"h100_sxm", 8, 2, 50, sum, 8 * GiB, 470},
    {"h100_sxm", 8, 4, 50, sum, 8 * GiB, 365.8},
    {"h100_sxm", 8, 4, 50, sum, 4 * GiB, 320},
    {"h800_sxm", 8, 1, 0, sum, 8 * GiB, 215},
    {"h20", 8, 2, 50, sum, 16 * MiB, 155},
    {"h20", 8, 2, 50, sum, 64 * MiB, 269},
    {"h20", 8, 2, 50, sum, 512 * MiB, 313},
    {"b200_sxm", 8, 1, 0, sum, 32768, 1.2},
    {"b200_sxm", 8, 1, 0, sum, MiB, 36.1},
    {"b200_sxm", 8, 1, 0, sum, 64 * MiB, 400.6},
    {"b200_sxm", 8, 1, 0, sum, GiB, 723},
    {"b200_sxm", 8, 1, 0, sum, 16 * GiB, 845.7},
    {"b200_sxm", 4, 1, 0, sum, 8 * GiB, 673},
    {"b200_sxm", 6, 1, 0, sum, 8 * GiB, 778},
    {"b200_sxm", 8, 1, 0, sum, 8 * GiB, 682, 0, false},
    {"b200_sxm", 8, 4, 50, sum, MiB, 5.4},
    {"b200_sxm", 8, 4, 50, sum, 16 * MiB, 64.4},
    {"b200_sxm", 8, 4, 50, sum, 256 * MiB, 229},
    {"b200_sxm", 8, 4, 50, sum, GiB, 362},
    {"b200_sxm", 8, 4, 50, sum, 4 * GiB, 377.3},
    {"b200_sxm", 8, 4, 50, sum, 16 * GiB, 381.8},
    {"gb200", 72, 1, 0, sum, 512 * MiB, 586},
    {"gb200", 72, 1, 0, sum, GiB, 681},
    {"gb200", 72, 1, 0, sum, 2 * GiB, 758},
    {"gb200", 72, 1, 0, sum, 4 * GiB, 839},
    {"gb200", 72, 1, 0, sum, 8 * GiB, 835},
    {"mi300x", 2, 1, 0, sum, 4 * GiB, 47.7},
    {"mi300x", 8, 1, 0, sum, 4 * GiB, 312.9},
    {"rtx_5090", 8, 1, 0, sum, 4 * GiB, 28},
    {"rtx_5090", 4, 1, 0, sum, 4 * GiB, 35},
    {"a100_sxm_80gb", 8, 2, 12.5, sum, 8 * GiB, 75},
};

double posted_time(const posted_collective& x, bool bound) {
  const pm::accelerator& a = *pm::catalog::find_accelerator(x.gpu);
  pm::hierarchy h{.inside = a.fabric,
                  .between = {.kind = pm::link_kind::infiniband,
                              .bandwidth = x.adapter * pm::GB_per_s,
                              .ranks = 1024},
                  .ranks_inside = x.node_ranks};
  h.inside.in_network_reduction = h.inside.in_network_reduction && x.switches_add;
  pm::collective c{.operation = x.operation,
                   .ranks = x.node_ranks * x.nodes,
                   .message = pm::message_bytes<>(x.bytes * pm::byte)};
  if (bound) return pm::hierarchical_time(h, c).time.value();
  c.implementation = pm::collective_implementation::nccl;
  c.launch = pm::launch_mode::stream;
  const pm::calibrated cost = pm::calibrated_for(a);
  return pm::hierarchical_time(h, c, cost, cost).time.value();
}
double measured_time(const posted_collective& x) {
  if (x.us > 0.0) return x.us * 1e-6;
  return x.bytes * pm::bus_factor(x.operation, x.node_ranks * x.nodes) / (x.busbw * 1e9);
}

}  // namespace

TEST_CASE("collectives that others measured, on many chips and over nodes", "[calibrated]") {
  double total = 0.0;
  std::vector<double> errors;
  for (const posted_collective& x : posted) {
    const double measured = measured_time(x), predicted = posted_time(x, false);
    INFO(x.gpu << " " << x.nodes << " x " << x.node_ranks << ", " << x.bytes << " B: measured "
               << measured << " s, predicted " << predicted);
    CHECK(posted_time(x, true) < measured);
    CHECK(posted_time(x, true) <= predicted);
    errors.push_back(std::abs(predicted / measured - 1.0));
    total += errors.back();
    if (std::string(x.gpu) == "mi300x") CHECK(errors.back() < 0.05);
  }
  std::sort(errors.begin(), errors.end());
  // Far off: small messages over nodes (EFA among them), and RTX 5090 with peer access, which no fit
  // has.
  CHECK(total / static_cast<double>(errors.size()) < 0.20);
  CHECK(errors[errors.size() / 2] < 0.10);
}

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
  // With the parameters that all kernels share fitted too: calibrated_collectives_measured.cpp.
  CHECK_THAT(shipped.engine_all_reduce_floor / pm::us, WithinRel(kernels.value[0], 0.05));
  // All that waits does so by one factor, and so does the engines' barrier, which it was not fitted
  // to.
  CHECK_THAT(nccl.value[5], WithinRel(1.66, 0.01));
  CHECK_THAT(shipped.engine_all_reduce_floor /
                 pm::catalog::collectives_h100_sxm.value.engine_all_reduce_floor,
             WithinRel(nccl.value[5], 0.05));
}

TEST_CASE("the default of PCIe is what public tables say", "[calibrated]") {
  const auto f = published::fit_public<published::pcie_model>(published::public_pcie);
  const auto gen5 = pm::catalog::collective_profile_of(pm::catalog::rtx_pro_6000);
  const auto gen4 = pm::catalog::collective_profile_of(pm::catalog::l40s);
  CHECK_THAT(gen5.value.hop / pm::us, WithinRel(f.value[0], 0.01));
  for (const auto& [profile, device] :
       {std::pair{gen5, pm::catalog::rtx_pro_6000}, std::pair{gen4, pm::catalog::l40s}}) {
    const auto link = device.fabric.bandwidth.quantity();
    INFO(device.name.c_str() << ", channels " << f.value[1]);
    CHECK_THAT(profile.value.link_share,
               WithinRel(pm::catalog::pcie_link_share(f.value[1] * pm::GB_per_s, link), 0.01));
    // SimuMax on generation 4, nine tables on both: 17 to 22 GB/s.
    CHECK(profile.value.link_share * link > 17.0 * pm::GB_per_s);
    CHECK(profile.value.link_share * link < 22.0 * pm::GB_per_s);
  }
  CHECK_THAT(gen4.protocols.cross_socket_factor, WithinRel(f.value[2], 0.01));
  CHECK(gen5.protocols.cross_socket_factor == 1.0);
}

TEST_CASE("how far the defaults are from public tables", "[calibrated]") {
  const auto mean = [](std::span<const public_row> rows) {
    return pm::score_of(residuals(rows)).mean;
  };
  CHECK(mean(published::public_nvlink5) < 0.07);
  CHECK(mean(published::public_nvlink5_kernels) < 0.07);
  CHECK(mean(published::public_pcie) < 0.19);
  CHECK(mean(published::public_pcie_kernels) < 0.11);
  // H100's kernels take H200's numbers.
  CHECK(mean(published::public_h100_kernels) < 0.09);
  CHECK(mean(published::public_h100) < 0.14);
}

TEST_CASE("80 % of public rows lie where the defaults say", "[calibrated]") {
  CHECK(covered(published::public_nvlink5) >= 0.8);
  CHECK(covered(published::public_nvlink5_kernels) >= 0.8);
  CHECK(covered(published::public_pcie) >= 0.8);
  CHECK(covered(published::public_pcie_kernels) >= 0.8);
}

TEST_CASE("a PCIe table that the fit has not seen", "[calibrated]") {
  const auto unseen = left_out::without_tables<published::pcie_model>(published::public_pcie);
  const auto s = pm::score_of(unseen);
  INFO("mean " << s.mean << ", median " << s.median << ", spread " << pm::log_sigma_of(unseen));
  CHECK(s.mean < 0.24);  // 0.29 with sockets that slow cards of generation 5 too
  CHECK(s.median < 0.18);
  CHECK(pm::log_sigma_of(unseen) < pm::catalog::collective_profile_of(pm::catalog::l40s).log_sigma);
}

TEST_CASE("a table of NVLink 5 that the fit has not seen", "[calibrated]") {
  // Without what is expected of the numbers it was 37 % off: what one table alone shows was open.
  const auto unseen = left_out::without_tables<published::nvlink5_model>(published::public_nvlink5);
  const auto s = pm::score_of(unseen);
  INFO("mean " << s.mean << ", p90 " << s.p90 << ", spread " << pm::log_sigma_of(unseen));
  CHECK(unseen.size() == 31);
  CHECK(s.mean < 0.09);
  CHECK(s.p90 < 0.22);
  const double stated = pm::catalog::link_log_sigmas_of(pm::catalog::b200_sxm)[0];
  CHECK(pm::coverage_of(unseen, stated) > 0.72);
  CHECK(pm::coverage_of(unseen, stated) <= 0.90);
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
      const auto gathered = pm::collective_time(a->fabric, c, cost);
      c.operation = pm::collective_op::reduce_scatter;
      CHECK(pm::collective_time(a->fabric, c, cost).time == gathered.time);
    }
  }
}

}  // namespace property_collectives_public_tables
