// How far fits of collectives are off on groups of rows that they have not seen.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "collective_models.hpp"
#include "interval_names.hpp"

namespace left_out {

namespace pm = perfmodel;
using published::collective_row;
using residuals = std::map<std::string, std::vector<double>>;

template <class Row>
struct split_rows {
  std::vector<Row> most{}, out{};
};
template <class Row, class Left>
split_rows<Row> without(const std::vector<Row>& all, const Left& left) {
  split_rows<Row> s;
  for (const Row& r : all) (left(r) ? s.out : s.most).push_back(r);
  return s;
}

/// Large all-reduces on 8 ranks are in every fit, because only they identify the switches.
inline bool tells_switches(const collective_row& x) {
  return x.operation == "all_reduce" && x.call.ranks == 8 && x.call.format != pm::int8 &&
         x.call.message.quantity().value() > 6e7;
}

inline std::string key_of_links(const std::string& chip, pm::collective_kind k) {
  return "links " + chip + ' ' + name_of(k);
}

/// NCCL's: without each operation and each number of ranks.
inline void add_library(residuals& out, const std::vector<collective_row>& nccl) {
  const auto hold_out = [&](const auto& left) {
    const auto rows =
        without(nccl, [&](const collective_row& x) { return left(x) && !tells_switches(x); });
    const auto v = published::fit_nccl(rows.most).value;
    for (const collective_row& x : without(nccl, left).out) {
      pm::calibrated_collectives cost;
      cost.profile = published::nccl_model::from(v, published::index_of(x.gpu));
      const std::string chip(published::device_named(x.gpu)->name.view());
      out[key_of_links(chip, pm::collective_kind::library)].push_back(
          std::log(x.seconds / published::time_of(x, cost)));
    }
  };
  for (const std::string op : {"all_reduce", "all_gather"}) {
    hold_out([&](const collective_row& x) { return x.operation == op; });
  }
  for (const int ranks : {2, 4, 8}) {
    hold_out([&](const collective_row& x) { return x.call.ranks == ranks; });
  }
}

/// The engines' kernels: without each number of ranks and each engine; public rows without each
/// chip's or each kernel's table.
inline void add_own_kernels(residuals& out, const std::vector<collective_row>& nccl,
                            const std::vector<collective_row>& all) {
  const auto library = published::fit_nccl(nccl).value;
  const auto hold_out = [&](const auto& left) {
    const auto rows = without(all, left);
    const auto v = published::fit_custom(rows.most, library).value;
    for (const collective_row& x : rows.out) {
      // H100's are few, and its numbers are H200's.
      const std::string chip(x.gpu == "h100_sxm" ? "h200_sxm"
                                                 : published::device_named(x.gpu)->name.view());
      out[key_of_links(chip, pm::collective_kind::own_kernels)].push_back(std::log(
          x.seconds / published::time_of(x, published::custom_model::from(v, library, x))));
    }
  };
  for (const int ranks : {2, 4, 8}) {
    hold_out([&](const collective_row& x) { return x.call.ranks == ranks; });
  }
  for (const std::string kernels : {"vllm/", "sglang/0.5.10", "sglang/0.5.14", "trtllm"}) {
    hold_out([&](const collective_row& x) { return x.kernels.starts_with(kernels); });
  }
  hold_out([](const collective_row& x) { return x.gpu == "h100_sxm"; });
  for (const auto kernel :
       {pm::collective_implementation::one_shot, pm::collective_implementation::two_shot}) {
    hold_out([&](const collective_row& x) {
      return x.gpu == "b300_sxm" && x.call.implementation == kernel;
    });
  }
}

/// ln(measured / predicted) of each table that people posted, by a fit to the others.
template <class Model>
std::vector<double> without_tables(std::span<const published::public_row> all) {
  std::map<std::string, std::vector<published::public_row>> tables;
  for (const auto& r : all) tables[r.source].push_back(r);
  std::vector<double> unseen;
  for (const auto& [source, out] : tables) {
    std::vector<published::public_row> most;
    for (const auto& r : all) {
      if (source != r.source) most.push_back(r);
    }
    const auto v = published::fit_public<Model>(most).value;
    for (const auto& r : out) {
      unseen.push_back(std::log(1e-6 * r.us / published::time_of(r, Model::from(v, r))));
    }
  }
  return unseen;
}

/// Errors of links. NVLink 5 stands for B200, PCIe for RTX PRO 6000; the one-shot kernels over PCIe
/// are unchanged.
inline void add_links(residuals& out, const std::string& folder) {
  const auto nccl = published::nccl_rows(folder);
  const auto all = published::kernel_rows(folder);
  if (nccl.empty() || all.empty()) return;
  add_library(out, nccl);
  add_own_kernels(out, nccl, all);
  using enum pm::collective_kind;
  out[key_of_links("b200_sxm", library)] =
      without_tables<published::nvlink5_model>(published::public_nvlink5);
  out[key_of_links("rtx_pro_6000", library)] =
      without_tables<published::pcie_model>(published::public_pcie);
  for (const auto& r : published::public_pcie_kernels) {
    const auto p = pm::catalog::collective_profile_of(published::accelerator_of(r));
    out[key_of_links("rtx_pro_6000", own_kernels)].push_back(
        std::log(1e-6 * r.us / published::time_of(r, p)));
  }
}

/// Chips by each other's links: "h200_sxm library a100_sxm_80gb" is H200's NCCL by A100's profile.
inline void add_lent_links(residuals& out, const std::string& folder) {
  for (const auto& rows : {published::nccl_rows(folder), published::custom_rows(folder)}) {
    for (const collective_row& x : rows) {
      const pm::accelerator& a = *published::device_named(x.gpu);
      const auto kind = x.nccl() ? pm::collective_kind::library : pm::collective_kind::own_kernels;
      for (const pm::collective_profile* donor : pm::catalog::measured_collective_profiles) {
        if (donor->donor == &a) continue;
        const auto cost = pm::calibrated_collectives_on(
            a, pm::catalog::transferred_collectives(*donor, a), published::kernels_of(x));
        out[std::string(a.name.view()) + ' ' + name_of(kind) + ' ' + donor->name.c_str()].push_back(
            std::log(x.seconds / published::time_of(x, cost)));
      }
    }
  }
}

}  // namespace left_out
