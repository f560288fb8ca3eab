// How far fits of products in 16 bits are off on groups of rows that they have not seen.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <perfmodel/tools/fit/calibrate_machine.hpp>
#include <string>
#include <vector>

#include "fit_rows.hpp"
#include "published_gemm.hpp"

namespace left_out {

namespace pm = perfmodel;
using published::append;
using published::gemm_row;

/// "gemm h100_sxm eight_bit" -> ln(measured / predicted), each by a fit without the row's group.
using residuals = std::map<std::string, std::vector<double>>;

/// By fits without the rows of each part; a fit may leave open what all rows tell.
template <std::size_t N, class Row, class Predict>
std::vector<double> without_parts(
    const std::array<pm::fitted_parameter, N>& parameters, const std::vector<Row>& rows,
    Predict&& predict, const std::type_identity_t<std::function<std::string(const Row&)>>& part) {
  pm::fit_options options;
  options.refuse = false;
  return fit_rows::held_out(parameters, rows, predict, part, options);
}
inline std::string octaves(double x, double most) {
  return std::to_string(static_cast<int>(std::log2(x) / most));
}

/// 16-bit GEMMs of one machine: without each n, each k, and each four octaves of m.
inline void add_products(residuals& out, const std::vector<gemm_row>& rows) {
  using scalar = pm::dual<7>;
  const pm::accelerator& a = *rows.front().device;
  const auto device = pm::lift<scalar>(a);
  const pm::machine_parameters known = pm::catalog::machine_profile_of(a).value;
  auto p = pm::fitted_machine_parameters(a);
  const double start[] = {known.matrix_floor.value() * 1e6,
                          known.matrix_share,
                          known.dram_share,
                          known.operand_bandwidth.value() * 1e-12,
                          known.tile_fill.value() * 1e6,
                          known.split_cost.value() * 1e6,
                          known.power_slowdown};
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i].start = std::min(std::max(start[i], p[i].lower), p[i].upper);
  }
  const auto predict = [&](const std::array<scalar, 7>& v, std::size_t i) {
    return calibrated_estimate(device, pm::lift<scalar>(rows[i].workload),
                               {pm::machine_parameters_of(v, known.l2_bandwidth)},
                               pm::replay_conditions(scalar(rows[i].copies)))
        .time.value();
  };
  auto& of = out["gemm " + rows.front().gpu + " sixteen_bit"];
  const auto text = [](double x) { return std::to_string(x); };
  append(of,
         without_parts(p, rows, predict, [&](const gemm_row& r) { return text(r.workload.n); }));
  append(of,
         without_parts(p, rows, predict, [&](const gemm_row& r) { return text(r.workload.k); }));
  append(of, without_parts(p, rows, predict,
                           [&](const gemm_row& r) { return octaves(r.workload.m, 4); }));
}

}  // namespace left_out
