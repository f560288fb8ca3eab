// Each machine without its own profile: by the transfer rule, and by a share of the bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/kernels/catalog/uncertainty.hpp>
#include <perfmodel/kernels/operator_prediction.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <string>
#include <utility>
#include <vector>

#include "published.hpp"
#include "published_collectives.hpp"
#include "published_gemm.hpp"
#include "transfer_uncertainty.hpp"

namespace transferred {

namespace pm = perfmodel;

/// ln(measured / bound) and ln(measured / predicted) by a transferred profile, with its stated
/// log_sigma.
struct transfer {
  std::vector<double> bound{}, transferred{};
  double stated = 0.0;

  void add(double seconds, double bound_time, double prediction, double log_sigma) {
    bound.push_back(std::log(seconds / bound_time));
    transferred.push_back(std::log(seconds / prediction));
    stated = log_sigma;
  }
  /// Share of the rows within the 80 % interval.
  double inside() const { return pm::coverage_of(transferred, stated); }
  /// log_sigma that covers this share of the rows.
  double holds(double share) const {
    std::vector<double> off;
    for (const double r : transferred) off.push_back(std::abs(r));
    return pm::detail::quantile(off, share) / pm::z90;
  }
};

/// Transfers by operation, such as "prefill fp8", and by chip.
using by_operation = std::map<std::string, std::map<std::string, transfer>>;

/// Errors of the bound times its median over the other chips; none without rows of other chips.
inline std::vector<double> share_of_bound(const std::map<std::string, transfer>& chips,
                                          const std::string& chip) {
  std::vector<double> others, out;
  for (const auto& [name, rows] : chips) {
    if (name != chip) published::append(others, rows.bound);
  }
  if (others.empty()) return out;
  const double share = pm::detail::quantile(others, 0.5);
  for (const double r : chips.at(chip).bound) out.push_back(r - share);
  return out;
}

inline void add_gemms(by_operation& out, const std::string& folder) {
  for (const auto& r : published::graph_gemms(folder)) {
    const bool weights_only = r.workload.weights.bits() < bits_of(r.workload.format);
    if (r.warmth_unknown() || weights_only) continue;
    const auto p = pm::catalog::transferred_machine_profile(*r.device);
    const auto e = pm::calibrated_estimate(*r.device, r.workload,
                                           {p.value, *pm::catalog::find_engine(r.engine)},
                                           pm::replay_conditions(r.copies));
    out["products " + r.dtype][r.gpu].add(
        r.seconds, pm::roofline(*r.device, r.workload).time.value(), e.time.value(),
        uncertainty_of("products " + r.dtype, *r.device).stated);
  }
}
inline void add_attention(by_operation& out, const std::string& folder) {
  for (const auto& r : published::attention_rows(folder)) {
    const auto e = r.estimate(pm::catalog::transferred_machine_profile(*r.device),
                              pm::catalog::transferred_attention_profile(*r.device));
    const auto bound = r.decode ? pm::roofline(*r.device, r.decode_workload())
                                : pm::roofline(*r.device, r.prefill_workload());
    out[r.kind()][r.device->name.c_str()].add(r.seconds, bound.time.value(), e.time.value(),
                                              uncertainty_of(r.kind(), *r.device).stated);
  }
}
/// Experts: libraries fitted to H100 and H200 at once; the machine's shares are transferred.
inline void add_experts(by_operation& out, const std::string& folder) {
  for (const auto& r : published::moe_rows(folder)) {
    pm::moe_kernels k = r.kernels->untuned ? pm::catalog::triton_experts : *r.kernels;
    const bool narrow = bits_of(r.workload.format) < 16.0;
    if (r.device == &pm::catalog::b200_sxm) {
      k = narrow ? pm::catalog::triton_fp8_experts : pm::catalog::triton_experts;
    }
    const auto machine = pm::catalog::transferred_machine_profile(*r.device);
    const auto e = pm::calibrated_estimate(*r.device, r.workload, {machine.value, k},
                                           {.routing = pm::expert_routing::balanced});
    const bool spread = narrow && r.workload.expert_parallel > 1.0;
    const char* operation = spread   ? "experts fp8, spread"
                            : narrow ? "experts fp8"
                                     : "experts bf16";
    out[operation][r.device->name.c_str()].add(
        r.seconds, pm::roofline(*r.device, demand_of(r.workload)).time.value(), e.time.value(),
        uncertainty_of(operation, *r.device).stated);
  }
}
/// Links: A100 and H200 from H100, H100 from H200; waiting times scale with the clocks.
inline void add_links(by_operation& out, const std::string& folder) {
  for (const auto& rows : {published::nccl_rows(folder), published::custom_rows(folder)}) {
    for (const auto& r : rows) {
      const pm::accelerator& a = *published::device_named(r.gpu);
      const auto& donor = r.gpu == "h100_sxm" ? pm::catalog::collectives_h200_sxm
                                              : pm::catalog::collectives_h100_sxm;
      const auto cost = pm::calibrated_collectives_on(
          a, pm::catalog::transferred_collectives(donor, a), published::kernels_of(r));
      const auto kind = r.nccl() ? pm::collective_kind::library : pm::collective_kind::own_kernels;
      out[r.nccl() ? "NCCL" : "engines' all-reduce"][r.gpu].add(
          r.seconds, published::predicted(r).bound,
          pm::collective_time(a.fabric, r.call, cost).time.value(),
          pm::catalog::transferred_link_log_sigmas(donor, a)[static_cast<std::size_t>(kind)]);
    }
  }
}

/// 16-bit GEMMs transferred between machines more than one generation apart.
struct distant_transfer {
  const pm::accelerator* to;
  const pm::catalog::measured_machine* from;
  transfer rows{};
};
inline std::vector<distant_transfer> distant_transfers(const std::string& folder) {
  std::vector<distant_transfer> out;
  const auto gemms = published::graph_gemms(folder);
  for (const pm::catalog::measured_machine* to : pm::catalog::measured_machines) {
    for (const pm::catalog::measured_machine* from : pm::catalog::measured_machines) {
      const pm::accelerator& a = to->device();
      if (pm::catalog::machine_distance(a, from->device()) < 1.0) continue;
      const auto p = pm::catalog::transferred_machine_profile(a, *from);
      distant_transfer found{&a, from};
      for (const auto& r : gemms) {
        if (r.device != &a || r.warmth_unknown() || r.dtype != "bfloat16") continue;
        const auto e =
            pm::calibrated_estimate(a, r.workload, {p.value, *pm::catalog::find_engine(r.engine)},
                                    pm::replay_conditions(r.copies));
        found.rows.add(r.seconds, r.seconds, e.time.value(),
                       pm::catalog::transferred_gemm_log_sigmas(a, *from)[0]);
      }
      if (!found.rows.transferred.empty()) out.push_back(std::move(found));
    }
  }
  return out;
}

inline by_operation all_of(const std::string& folder) {
  by_operation out;
  add_gemms(out, folder);
  add_attention(out, folder);
  add_experts(out, folder);
  add_links(out, folder);
  return out;
}

}  // namespace transferred
