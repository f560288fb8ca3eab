// What is fitted to published collective latencies, and the fits.
#pragma once

#include <perfmodel/tools/fit/calibration.hpp>

#include "published_collectives.hpp"

namespace published {

/// NCCL's parameters: four or five for each accelerator, six that all three share.
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

/// Parameters of the engines' own kernels, given NCCL's: a floor and a CPU time for each generation
/// (none for NVLink 5, which has no data), and five that all share. Hopper's are for both its
/// chips.
struct custom_model {
  static constexpr std::size_t count = 10;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"a100 engine_all_reduce_floor [us]", 5.2, 0.5, 40.0},
       {"a100 host_launch [us]", 43.0, 1.0, 200.0},
       {"hopper engine_all_reduce_floor [us]", 4.2, 0.5, 40.0},
       {"hopper host_launch [us]", 22.0, 1.0, 200.0},
       {"nvlink5 engine_all_reduce_floor [us]", 6.5, 0.5, 40.0},
       {"engine_all_reduce_share", 0.6, 0.1, 1.0},
       {"floor_share", 0.69, 0.1, 1.5},
       {"rank_cost", 0.026, 0.0, 1.0},
       {"second_barrier", 1.15, 0.0, 5.0},
       {"floor_latencies", 3.6, 0.5, 20.0}}};

  template <class T>
  static pm::basic_calibrated_collectives<T> from(const std::array<T, count>& v, std::size_t of,
                                                  const pm::collective_profile& nccl,
                                                  const collective_row& row) {
    pm::basic_calibrated_collectives<T> p;
    p.profile = pm::lift<T>(nccl);
    p.profile.value.engine_all_reduce_floor = v[2 * of] * pm::us;
    p.profile.value.engine_all_reduce_share = v[5];
    p.profile.value.host_launch = v[of == 0 ? 1 : 3] * pm::us;
    p.kernels.floor_share = row.flags_with_data ? v[6] : T(1.0);
    p.kernels.rank_cost = v[7];
    p.kernels.second_barrier = v[8];
    p.kernels.floor_latencies = v[9];
    p.local_copy = pm::lift<T>(0.5 * device_named(row.gpu)->dram.bandwidth.quantity());
    return p;
  }
  /// With its own NCCL profile; what was posted names its kernel and falls back to none.
  template <class T>
  static pm::basic_calibrated_collectives<T> from(const std::array<T, count>& v,
                                                  const std::array<double, nccl_model::count>& nccl,
                                                  const collective_row& row) {
    const std::size_t of = kernel_index_of(row.gpu);
    return from(v, of, nccl_model::from(nccl, of == 2 ? 2 : index_of(row.gpu)), row);
  }
};

/// The accelerator with the fabric that a public row names.
inline const pm::accelerator& accelerator_of(const public_row& r) {
  return *pm::catalog::find_accelerator(r.gpu);
}

/// The default of NVLink 5, from public NCCL tables; parameters that they do not identify are
/// Hopper's. Waiting times are longer than on Hopper by one factor, unless the tables contradict.
/// The prior has a standard deviation of 30 % for each parameter and of 10 % for the rows, so that
/// tables of a few sizes do not leave the other parameters open.
struct nvlink5_model {
  static constexpr std::size_t count = 6;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"launch [us]", 6.0, 1.0, 40.0},
       {"hop [us]", 1.0, 0.1, 10.0},
       {"simple_wait [us]", 30.0, 0.5, 200.0},
       {"link_share", 0.7, 0.1, 1.0},
       {"in_network_share", 0.5, 0.1, 1.0},
       {"all waits over Hopper's", 1.5, 0.2, 5.0}}};

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
  /// A number over its expectation, which is 1, to the power of 0.1 / 0.3: rows of their own.
  template <class T>
  static std::array<T, count> expected(const std::array<T, count>& v) {
    using pm::math::pow;
    const pm::collective_parameters& h = pm::catalog::collectives_h100_sxm.value;
    const T third = T(0.1 / 0.3);
    return {pow(T(v[0] / (v[5] * (h.launch / pm::us))), third),
            pow(T(v[1] / (v[5] * (h.hop / pm::us))), third),
            pow(T(v[2] / (v[5] * (h.simple_wait / pm::us))), third),
            pow(T(v[3] / h.link_share), third),
            pow(T(v[4] / *h.in_network_share), third),
            pow(v[5], third)};
  }
};
/// Parameters of an engine's own kernels on it; the others are the shipped ones.
struct nvlink5_kernels_model {
  static constexpr std::size_t count = 1;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"engine_all_reduce_floor [us]", 6.5, 0.5, 40.0}}};

  template <class T>
  static pm::basic_collective_profile<T> from(const std::array<T, count>& v, const public_row&) {
    pm::basic_collective_profile<T> p = pm::lift<T>(pm::catalog::collectives_nvlink5);
    p.value.engine_all_reduce_floor = v[0] * pm::us;
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
    p.value.link_share = pm::catalog::pcie_link_share<T>(v[1] * pm::GB_per_s,
                                                         pm::lift<T>(link.bandwidth.quantity()));
    const bool freely = pm::catalog::crosses_sockets_freely(link.bandwidth.quantity());
    p.protocols.cross_socket_factor = freely ? T(1.0) : v[2];
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
/// Parameters from public rows, with a prior where the model has one. Residuals are those of the
/// rows.
template <class Model>
auto fit_public(std::span<const public_row> rows) {
  using point = pm::dual<Model::count>;
  constexpr bool expects = requires(const std::array<point, Model::count>& v) {
    Model::expected(v);
  };
  std::vector<double> measured;
  for (const public_row& r : rows) measured.push_back(1e-6 * r.us);
  if (expects && !rows.empty()) measured.resize(rows.size() + Model::count, 1.0);
  auto fit = pm::fit_log_ratios(Model::parameters, std::span<const double>(measured),
                                [&](const std::array<point, Model::count>& v, std::size_t i) {
                                  if constexpr (expects) {
                                    if (i >= rows.size())
                                      return Model::expected(v)[i - rows.size()];
                                  }
                                  return time_of(rows[i], Model::from(v, rows[i]));
                                });
  fit.residual.resize(rows.size());
  return fit;
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
        return time_of(r[i], custom_model::from(v, nccl, r[i]));
      });
}

}  // namespace published
