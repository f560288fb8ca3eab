// Rows of the published collective latencies, as this project's collectives.
#pragma once

#include <cmath>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/interval.hpp>

#include "public_collectives.hpp"
#include "published.hpp"

namespace published {

/// One latency. `flags_with_data`: TensorRT-LLM's kernels, and SGLang's from 0.5.14 on.
struct collective_row {
  std::string gpu, operation, kernels;
  pm::collective call;
  double seconds = 0.0;
  bool flags_with_data = false;

  bool nccl() const { return call.implementation == pm::collective_implementation::nccl; }
  bool captured() const { return call.launch == pm::launch_mode::graph; }
};

/// The engine's kernels behind a row.
inline const pm::engine_all_reduce_kernels& kernels_of(const collective_row& x) {
  return x.flags_with_data ? pm::catalog::flag_kernels : pm::catalog::barrier_kernels;
}

inline std::vector<collective_row> nccl_rows(const std::string& folder) {
  std::vector<collective_row> out;
  for (const auto& r : rows_of(folder, "aic_nccl_collectives_public.csv")) {
    collective_row x;
    x.gpu = r.text("gpu");
    x.operation = r.text("op");
    x.kernels = "nccl";
    x.call = {.operation = x.operation == "all_reduce"       ? pm::collective_op::all_reduce
                           : x.operation == "all_gather"     ? pm::collective_op::all_gather
                           : x.operation == "reduce_scatter" ? pm::collective_op::reduce_scatter
                                                             : pm::collective_op::all_to_all,
              .ranks = r.whole("num_gpus"),
              .message = pm::message_bytes<>(r.number("bytes") * pm::byte),
              .implementation = pm::collective_implementation::nccl,
              .launch = pm::launch_mode::stream,
              .format = r.text("dtype") == "int8" ? pm::int8 : pm::fp16};
    x.seconds = r.seconds();
    if (device_named(x.gpu) != nullptr) out.push_back(x);
  }
  return out;
}

inline std::vector<collective_row> custom_rows(const std::string& folder) {
  std::vector<collective_row> out;
  for (const auto& r : rows_of(folder, "aic_custom_allreduce_public.csv")) {
    collective_row x;
    x.gpu = r.text("gpu");
    x.operation = "all_reduce";
    x.kernels = r.text("version");
    const bool eager = r.text("impl").find("eager") != std::string::npos;
    x.call = {.operation = pm::collective_op::all_reduce,
              .ranks = r.whole("num_gpus"),
              .message = pm::message_bytes<>(r.number("bytes") * pm::byte),
              .implementation = pm::collective_implementation::custom,
              .launch = eager ? pm::launch_mode::stream : pm::launch_mode::graph};
    x.flags_with_data = x.kernels.starts_with("trtllm") || x.kernels == "sglang/0.5.14";
    x.seconds = r.seconds();
    if (device_named(x.gpu) != nullptr) out.push_back(x);
  }
  return out;
}

/// The engines' kernels that people posted, of H100 and NVLink 5.
inline std::vector<collective_row> posted_kernel_rows() {
  std::vector<collective_row> out;
  const auto add = [&](std::span<const public_row> rows) {
    for (const public_row& r : rows) {
      out.push_back({.gpu = r.gpu,
                     .operation = "all_reduce",
                     .kernels = r.source,
                     .call = {.operation = r.operation,
                              .ranks = r.ranks,
                              .message = pm::message_bytes<>(r.bytes * pm::byte),
                              .implementation = r.kernels,
                              .launch = pm::launch_mode::graph},
                     .seconds = 1e-6 * r.us});
    }
  };
  add(public_h100_kernels);
  add(public_nvlink5_kernels);
  return out;
}
/// All rows that the constants of the engines' kernels are fitted to.
inline std::vector<collective_row> kernel_rows(const std::string& folder) {
  std::vector<collective_row> all = custom_rows(folder);
  if (all.empty()) return all;
  const std::vector<collective_row> posted = posted_kernel_rows();
  all.insert(all.end(), posted.begin(), posted.end());
  return all;
}

inline constexpr std::array<const char*, 3> measured_gpus = {"a100_sxm", "h100_sxm", "h200_sxm"};
inline std::size_t index_of(const std::string& gpu) {
  for (std::size_t i = 0; i < measured_gpus.size(); ++i) {
    if (gpu == measured_gpus[i]) return i;
  }
  throw std::out_of_range("gpu is \"" + gpu + "\"; allowed: a100_sxm, h100_sxm, h200_sxm");
}
/// Index of the floor and CPU time of an engine's kernel: A100, Hopper, NVLink 5.
inline std::size_t kernel_index_of(const std::string& gpu) {
  if (gpu == "a100_sxm") return 0;
  return gpu == "h100_sxm" || gpu == "h200_sxm" ? 1 : 2;
}

/// A row with what the shipped profile says of it. `bound` moves the wire bytes at the data sheet's
/// link rate and waits for nothing; 80 % of measurements are stated to lie between `low` and
/// `high`.
struct collective_prediction {
  collective_row row;
  double measured = 0.0, predicted = 0.0, bound = 0.0, low = 0.0, high = 0.0;  ///< seconds
  const char* algorithm = "";
};

/// Prediction of one row; `seconds` may be 0 where a curve changes call.message.
inline collective_prediction predicted(const collective_row& row) {
  const pm::accelerator& a = *device_named(row.gpu);
  const pm::collective_profile profile = pm::catalog::collective_profile_of(a);
  pm::detail::count("bytes", row.call.message.quantity().value());
  const auto cost = pm::calibrated_collectives_on(a, profile, kernels_of(row));
  const pm::collective_estimate e = pm::collective_time(a.fabric, row.call, cost);
  pm::collective least = row.call;
  least.implementation = pm::collective_implementation::any;

  collective_prediction out;
  out.row = row;
  out.measured = row.seconds;
  out.predicted = e.time.value();
  out.bound = pm::collective_time(a.fabric, least).time.value();
  const auto kind = row.nccl() ? pm::collective_kind::library : pm::collective_kind::own_kernels;
  const double width =
      std::exp(pm::z90 * pm::catalog::link_log_sigmas_of(a)[static_cast<std::size_t>(kind)]);
  out.low = out.predicted / width;
  out.high = out.predicted * width;
  out.algorithm = pm::name_of(e.algorithm);
  return out;
}
/// All published rows, NCCL's first; empty without the files.
inline std::vector<collective_prediction> collective_predictions(const std::string& folder) {
  std::vector<collective_prediction> out;
  for (const auto& rows : {nccl_rows(folder), custom_rows(folder)}) {
    for (const auto& x : rows) out.push_back(predicted(x));
  }
  return out;
}

}  // namespace published
