// Rows of the published collective latencies, as this project's collectives, and what is fitted to
// them.
#pragma once

#include <cmath>
#include <perfmodel/analysis/calibration.hpp>
#include <perfmodel/calibrated/catalog/collectives.hpp>
#include <perfmodel/calibrated/collectives.hpp>
#include <perfmodel/core/fields.hpp>

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

inline constexpr std::array<const char*, 3> measured_gpus = {"a100_sxm", "h100_sxm", "h200_sxm"};
inline std::size_t index_of(const std::string& gpu) {
  for (std::size_t i = 0; i < measured_gpus.size(); ++i) {
    if (gpu == measured_gpus[i]) return i;
  }
  throw std::out_of_range("gpu is \"" + gpu + "\"; allowed: a100_sxm, h100_sxm, h200_sxm");
}

/// A row with what the shipped profile says of it. `bound` moves the wire bytes at the data sheet's
/// link rate and waits for nothing; 80 % of measurements are stated to lie between `low` and
/// `high`.
struct collective_prediction {
  collective_row row;
  double measured = 0.0, predicted = 0.0, bound = 0.0, low = 0.0, high = 0.0;  ///< seconds
  const char* algorithm = "";
};

/// Of one row, whose `seconds` may be 0: a curve changes call.message and asks again.
inline collective_prediction predicted(const collective_row& row) {
  const pm::accelerator& a = *device_named(row.gpu);
  const pm::collective_profile profile = pm::catalog::collective_profile_of(a);
  pm::detail::count("bytes", row.call.message.quantity().value());
  const auto cost = pm::calibrated_collectives_on(
      a, profile, row.flags_with_data ? pm::catalog::flag_kernels : pm::catalog::barrier_kernels);
  const pm::collective_estimate e = pm::collective_time(a.fabric, row.call, cost);
  pm::collective least = row.call;
  least.implementation = pm::collective_implementation::any;

  collective_prediction out;
  out.row = row;
  out.measured = row.seconds;
  out.predicted = e.time.value();
  out.bound = pm::collective_time(a.fabric, least).time.value();
  const double width = std::exp(pm::z90 * profile.log_sigma);
  out.low = out.predicted / width;
  out.high = out.predicted * width;
  out.algorithm = pm::name_of(e.algorithm);
  return out;
}
/// Of every published row, NCCL's first; empty where the files are not there.
inline std::vector<collective_prediction> collective_predictions(const std::string& folder) {
  std::vector<collective_prediction> out;
  for (const auto& rows : {nccl_rows(folder), custom_rows(folder)}) {
    for (const auto& x : rows) out.push_back(predicted(x));
  }
  return out;
}

/// Of NCCL: four or five numbers per accelerator, six of the library that all three share.
struct nccl_model {
  static constexpr std::size_t count = 20;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"a100 launch [us]", 8.9, 1.0, 40.0},
       {"a100 hop [us]", 0.8, 0.1, 10.0},
       {"a100 simple_wait [us]", 25.0, 0.5, 90.0},
       {"a100 link_share", 0.7, 0.3, 1.0},
       {"h100 launch [us]", 4.7, 1.0, 40.0},
       {"h100 hop [us]", 0.8, 0.1, 10.0},
       {"h100 simple_wait [us]", 15.0, 0.5, 90.0},
       {"h100 link_share", 0.77, 0.3, 1.0},
       {"h200 launch [us]", 4.6, 1.0, 40.0},
       {"h200 hop [us]", 0.8, 0.1, 10.0},
       {"h200 simple_wait [us]", 15.0, 0.5, 90.0},
       {"h200 link_share", 0.77, 0.3, 1.0},
       {"h100 in_network_share", 0.6, 0.2, 1.0},
       {"h200 in_network_share", 0.6, 0.2, 1.0},
       {"ll_share", 0.033, 0.005, 0.5},
       {"ll128_share", 0.37, 0.1, 1.0},
       {"launch_growth_per_log2_rank", 0.16, 0.0, 2.0},
       {"simple_hop", 0.26, 0.0, 3.0},
       {"copy_rate", 2.6, 0.5, 20.0},
       {"in_network_wait", 4.3, 0.0, 20.0}}};

  template <class T>
  static pm::basic_collective_profile<T> from(const std::array<T, count>& v, std::size_t gpu) {
    pm::basic_collective_profile<T> p;
    p.value.launch = v[4 * gpu] * pm::us;
    p.value.hop = v[4 * gpu + 1] * pm::us;
    p.value.simple_wait = v[4 * gpu + 2] * pm::us;
    p.value.link_share = v[4 * gpu + 3];
    if (gpu > 0) p.value.in_network_share = v[11 + gpu];
    p.protocols = {v[14], v[15], v[16], v[17], v[18], v[19]};
    return p;
  }
};

/// Of the engines' own kernels, with NCCL's numbers as they are.
struct custom_model {
  static constexpr std::size_t count = 9;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"a100 engine_all_reduce_floor [us]", 5.2, 0.5, 40.0},
       {"a100 engine_all_reduce_share", 0.52, 0.1, 1.0},
       {"a100 host_launch [us]", 43.0, 1.0, 200.0},
       {"h200 engine_all_reduce_floor [us]", 4.2, 0.5, 40.0},
       {"h200 engine_all_reduce_share", 0.58, 0.1, 1.0},
       {"h200 host_launch [us]", 22.0, 1.0, 200.0},
       {"floor_share", 0.69, 0.1, 1.5},
       {"rank_cost", 0.026, 0.0, 1.0},
       {"second_barrier", 1.15, 0.0, 5.0}}};

  template <class T>
  static pm::basic_calibrated_collectives<T> from(const std::array<T, count>& v, std::size_t gpu,
                                                  const pm::collective_profile& nccl,
                                                  const collective_row& row) {
    const std::size_t at = gpu == 0 ? 0 : 3;
    pm::basic_calibrated_collectives<T> p;
    p.profile = pm::lift<T>(nccl);
    p.profile.value.engine_all_reduce_floor = v[at] * pm::us;
    p.profile.value.engine_all_reduce_share = v[at + 1];
    p.profile.value.host_launch = v[at + 2] * pm::us;
    p.kernels.floor_share = row.flags_with_data ? v[6] : T(1.0);
    p.kernels.rank_cost = v[7];
    p.kernels.second_barrier = v[8];
    p.local_copy = pm::lift<T>(0.5 * device_named(row.gpu)->dram.bandwidth.quantity());
    return p;
  }
};

/// The accelerator whose fabric a public row names.
inline const pm::accelerator& accelerator_of(const public_row& r) {
  return *pm::catalog::find_accelerator(r.gpu);
}

/// The default of NVLink 5: what public tables of NCCL on it tell apart, the rest being Hopper's.
struct nvlink5_model {
  static constexpr std::size_t count = 5;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"launch [us]", 6.0, 1.0, 40.0},
       {"hop [us]", 1.0, 0.1, 10.0},
       {"simple_wait [us]", 30.0, 0.5, 200.0},
       {"link_share", 0.7, 0.1, 1.0},
       {"in_network_share", 0.5, 0.1, 1.0}}};

  template <class T>
  static pm::basic_collective_profile<T> from(const std::array<T, count>& v, const public_row&) {
    pm::basic_collective_profile<T> p = pm::lift<T>(pm::catalog::collectives_h100_sxm);
    p.value.launch = v[0] * pm::us;
    p.value.hop = v[1] * pm::us;
    p.value.simple_wait = v[2] * pm::us;
    p.value.link_share = v[3];
    p.value.in_network_share = v[4];
    return p;
  }
};
/// Of an engine's own kernels on it.
struct nvlink5_kernels_model {
  static constexpr std::size_t count = 2;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"engine_all_reduce_floor [us]", 5.0, 0.5, 40.0},
       {"engine_all_reduce_share", 0.6, 0.1, 1.0}}};

  template <class T>
  static pm::basic_collective_profile<T> from(const std::array<T, count>& v, const public_row&) {
    pm::basic_collective_profile<T> p = pm::lift<T>(pm::catalog::collectives_h100_sxm);
    p.value.engine_all_reduce_floor = v[0] * pm::us;
    p.value.engine_all_reduce_share = v[1];
    return p;
  }
};
/// The default of PCIe: a hop, what NCCL's channels carry, and what it costs that cards sit below
/// two sockets.
struct pcie_model {
  static constexpr std::size_t count = 3;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"hop [us]", 2.0, 0.2, 20.0},
       {"channels [GB/s]", 20.0, 5.0, 60.0},
       {"cross_socket_factor", 1.5, 1.0, 4.0}}};

  template <class T>
  static pm::basic_collective_profile<T> from(const std::array<T, count>& v, const public_row& r) {
    const pm::interconnect& link = accelerator_of(r).fabric;
    pm::basic_collective_profile<T> p = pm::lift<T>(pm::catalog::collective_profile_of(link));
    p.value.hop = v[0] * pm::us;
    p.value.link_share = v[1] * (1.0 * pm::GB_per_s / link.bandwidth.quantity());
    p.protocols.cross_socket_factor = v[2];
    return p;
  }
};

/// What a cost policy with this profile says of a public row, in seconds.
template <class T>
T time_of(const public_row& r, const pm::basic_collective_profile<T>& profile) {
  pm::basic_calibrated_collectives<T> cost;
  cost.profile = profile;
  pm::basic_collective<T> c;
  c.operation = r.operation;
  c.implementation = r.kernels;
  c.ranks = r.ranks;
  c.message = pm::message_bytes<T>(r.bytes * pm::lift<T>(1.0 * pm::byte));
  return pm::collective_time(pm::lift<T>(accelerator_of(r).fabric), c, cost).time.value();
}
/// Its parameters from public rows.
template <class Model>
auto fit_public(std::span<const public_row> rows) {
  using point = pm::dual<Model::count>;
  std::vector<double> measured;
  for (const public_row& r : rows) measured.push_back(1e-6 * r.us);
  return pm::fit_log_ratios(Model::parameters, std::span<const double>(measured),
                            [&](const std::array<point, Model::count>& v, std::size_t i) {
                              return time_of(rows[i], Model::from(v, rows[i]));
                            });
}

/// By a profile and kernels that the caller builds, over any scalar.
template <class T>
T time_of(const collective_row& x, const pm::basic_calibrated_collectives<T>& cost) {
  const auto link = pm::lift<T>(device_named(x.gpu)->fabric);
  return pm::collective_time(link, pm::lift<T>(x.call), cost).time.value();
}

inline auto fit_nccl(const std::vector<collective_row>& r) {
  const std::vector<double> measured = seconds_of(r);
  return pm::fit_log_ratios(
      nccl_model::parameters, std::span<const double>(measured),
      [&](const std::array<pm::dual<nccl_model::count>, nccl_model::count>& v, std::size_t i) {
        using point = pm::dual<nccl_model::count>;
        pm::basic_calibrated_collectives<point> cost;
        cost.profile = nccl_model::from(v, index_of(r[i].gpu));
        return time_of(r[i], cost);
      });
}
inline auto fit_custom(const std::vector<collective_row>& r,
                       const std::array<double, nccl_model::count>& nccl) {
  const std::vector<double> measured = seconds_of(r);
  return pm::fit_log_ratios(
      custom_model::parameters, std::span<const double>(measured),
      [&](const std::array<pm::dual<custom_model::count>, custom_model::count>& v, std::size_t i) {
        const std::size_t gpu = index_of(r[i].gpu);
        return time_of(r[i], custom_model::from(v, gpu, nccl_model::from(nccl, gpu), r[i]));
      });
}

}  // namespace published
