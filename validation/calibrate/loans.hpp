// Every machine as if it had no profile: by the transfer rule, and by a share of the bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/analysis/scores.hpp>
#include <perfmodel/calibrated/catalog/collectives.hpp>
#include <perfmodel/calibrated/catalog/transfer.hpp>
#include <perfmodel/calibrated/catalog/widths.hpp>
#include <perfmodel/calibrated/operator_prediction.hpp>
#include <perfmodel/roofline.hpp>
#include <string>
#include <utility>
#include <vector>

#include "published.hpp"
#include "published_collectives.hpp"
#include "published_gemm.hpp"

namespace loans {

namespace pm = perfmodel;

/// ln of a measurement over its bound, and over the prediction by another machine's profile; that over the
/// log_sigma that a loan states.
struct loan {
  std::vector<double> bound{}, transferred{}, stated{};

  void add(double seconds, double bound_time, double prediction, double log_sigma) {
    bound.push_back(std::log(seconds / bound_time));
    transferred.push_back(std::log(seconds / prediction));
    stated.push_back(transferred.back() / log_sigma);
  }
  /// Share of the rows inside the interval of 80 %.
  double inside() const { return pm::coverage_of(stated, 1.0); }
};

/// What a loan to a measured machine states of products: the donor's width of that kind, its profile's or the
/// engine's where it has none, and what the loan adds.
inline double lent_width(const published::gemm_row& r) {
  const pm::catalog::measured_machine& donor = pm::catalog::donor_of(*r.device);
  const auto kind = pm::product_kind_of(r.workload.format, r.workload.weights);
  const double own =
      pm::catalog::measured_widths_of(donor).products[static_cast<std::size_t>(kind)];
  const double more = pm::catalog::transfer_log_sigma(*r.device, donor.device());
  const double engine = pm::quantises(kind) ? pm::catalog::find_engine(r.engine)->log_sigma : 0.0;
  return own > 0.0 ? pm::catalog::in_quadrature(own, more)
                   : std::max(pm::catalog::in_quadrature(donor.machine->log_sigma, more), engine);
}
inline double lent_width(const published::attention_row& r) {
  const pm::catalog::measured_machine& donor = pm::catalog::nearest_relative_of(*r.device);
  const auto kind = pm::attention_kind_of(r.kv_format, !r.decode);
  return pm::catalog::in_quadrature(
      pm::catalog::measured_widths_of(donor).attention[static_cast<std::size_t>(kind)],
      pm::catalog::attention_transfer_log_sigma(*r.device, donor.device()));
}
/// By what is computed, "prefill fp8", then by chip.
using by_operation = std::map<std::string, std::map<std::string, loan>>;

/// Errors of the bound times one number, its median over the other chips; none where no other has such rows.
inline std::vector<double> share_of_bound(const std::map<std::string, loan>& chips,
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

inline void add_products(by_operation& out, const std::string& folder) {
  for (const auto& r : published::graph_gemms(folder)) {
    const bool weights_only = r.workload.weights.bits() < bits_of(r.workload.format);
    if (r.warmth_unknown() || weights_only) continue;
    const auto p = pm::catalog::transferred_machine_profile(*r.device);
    const auto e = pm::calibrated_estimate(*r.device, r.workload,
                                           {p.value, *pm::catalog::find_engine(r.engine)},
                                           pm::replaying(r.copies));
    out["products " + r.dtype][r.gpu].add(
        r.seconds, pm::roofline(*r.device, r.workload).time.value(), e.time.value(), lent_width(r));
  }
}
inline void add_attention(by_operation& out, const std::string& folder) {
  for (const auto& r : published::attention_rows(folder)) {
    const auto e = r.estimate(pm::catalog::transferred_machine_profile(*r.device),
                              pm::catalog::transferred_attention_profile(*r.device));
    const auto bound = r.decode ? pm::roofline(*r.device, r.decode_workload())
                                : pm::roofline(*r.device, r.prefill_workload());
    out[r.kind()][r.device->name.c_str()].add(r.seconds, bound.time.value(), e.time.value(),
                                              lent_width(r));
  }
}
/// Their libraries were fitted to H100 and H200 together; the machine's shares are borrowed.
inline void add_experts(by_operation& out, const std::string& folder) {
  const double elsewhere = pm::catalog::moe_profile_of(pm::catalog::l40s).log_sigma;
  for (const auto& r : published::moe_rows(folder)) {
    pm::moe_kernels k = r.kernels->untuned ? pm::catalog::triton_experts : *r.kernels;
    const bool narrow = bits_of(r.workload.format) < 16.0;
    if (r.device == &pm::catalog::b200_sxm) {
      k = narrow ? pm::catalog::triton_fp8_experts : pm::catalog::triton_experts;
    }
    const auto machine = pm::catalog::transferred_machine_profile(*r.device);
    const auto e = pm::calibrated_estimate(*r.device, r.workload, {machine.value, k},
                                           {.routing = pm::expert_routing::balanced});
    out[narrow ? "experts fp8" : "experts bf16"][r.device->name.c_str()].add(
        r.seconds, pm::roofline(*r.device, demand_of(r.workload)).time.value(), e.time.value(),
        elsewhere);
  }
}
/// A100 and H200 by H100's links, H100 by H200's.
inline void add_links(by_operation& out, const std::string& folder) {
  pm::interconnect link;
  link.kind = pm::link_kind::nvlink;
  link.bandwidth = {1.0 * pm::GB_per_s, pm::given_by_caller};
  const double elsewhere = pm::catalog::collective_profile_of(link).log_sigma;
  for (const auto& rows : {published::nccl_rows(folder), published::custom_rows(folder)}) {
    for (const auto& r : rows) {
      const pm::accelerator& a = *published::device_named(r.gpu);
      const auto& donor = r.gpu == "h100_sxm" ? pm::catalog::collectives_h200_sxm
                                              : pm::catalog::collectives_h100_sxm;
      const auto cost = pm::calibrated_collectives_on(
          a, donor, r.flags_with_data ? pm::catalog::flag_kernels : pm::catalog::barrier_kernels);
      out[r.nccl() ? "NCCL" : "engines' all-reduce"][r.gpu].add(
          r.seconds, published::predicted(r).bound,
          pm::collective_time(a.fabric, r.call, cost).time.value(), elsewhere);
    }
  }
}

inline by_operation all_of(const std::string& folder) {
  by_operation out;
  add_products(out, folder);
  add_attention(out, folder);
  add_experts(out, folder);
  add_links(out, folder);
  return out;
}

}  // namespace loans
