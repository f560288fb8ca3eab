// Fits the machine and engine parameters of matrix products to published latencies, and says how
// far they predict rows, shapes and machines that the fit has not seen. Prints the entries of
// kernels/catalog/machines.hpp.
//   fit gemm [folder of the measurements]
#include <cmath>
#include <cstdio>
#include <map>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/calibrate_machine.hpp>
#include "fits.hpp"
#include "published_gemm.hpp"

namespace fits::gemm {

namespace {

namespace pm = perfmodel;
using published::gemm_row;
using published::print_score;
using rows = std::vector<gemm_row>;
using parameters_by_gpu = std::map<std::string, pm::machine_parameters>;

double log_ratio(const gemm_row& r, const pm::machine_parameters& p,
                 const pm::engine_profile& e = {}) {
  const auto t =
      pm::calibrated_estimate(*r.device, r.workload, {p, e}, pm::replay_conditions(r.copies));
  return std::log(r.seconds / t.time.value());
}

std::vector<pm::gemm_measurement> measurements(const rows& data) {
  std::vector<pm::gemm_measurement> out;
  for (const auto& r : data) out.push_back({r.workload, r.seconds * pm::second, r.copies});
  return out;
}

/// The L2 bandwidth that fit_attention finds; GEMMs depend little on it.
std::optional<pm::bandwidth<>> l2_of(const rows& data) {
  return pm::catalog::machine_profile_of(*data.front().device).value.l2_bandwidth;
}

/// Residuals of rows with a held-out value of the member `of`.
std::vector<double> held_out(const rows& data, double pm::gemm::*of) {
  std::map<double, rows> parts;
  for (const auto& r : data) parts[r.workload.*of].push_back(r);
  std::vector<double> out;
  for (const auto& [value, left_out] : parts) {
    rows kept;
    for (const auto& r : data) {
      if (r.workload.*of != value) kept.push_back(r);
    }
    const auto fit = pm::fit_machine(*data.front().device, measurements(kept), 2, l2_of(data));
    for (const auto& r : left_out) out.push_back(log_ratio(r, fit.profile.value));
  }
  return out;
}

/// A row of the catalogue's table, without the L2, which other fits find.
void print_row(const pm::machine_parameters& p, const char* end) {
  std::printf("    machine_row({%#.4g, %#.4g, %#.4g, %#.4g, %#.4g, %#.4g, %#.4g})%s\n",
              p.matrix_floor.value() * 1e6, p.matrix_share, p.dram_share,
              p.operand_bandwidth.value() * 1e-12, p.tile_fill.value() * 1e6,
              p.split_cost.value() * 1e6, p.power_slowdown, end);
}

/// By format, engine and machine.
void print_low_precision(const char* what, const rows& data, const std::vector<double>& residual) {
  std::map<std::string, std::vector<double>> by;
  for (std::size_t i = 0; i < data.size(); ++i) {
    by[data[i].dtype + ' ' + data[i].engine + ' ' + data[i].gpu].push_back(residual[i]);
  }
  for (const auto& [who, r] : by) print_score(what, who, r);
  print_score(what, data.front().engine, residual);
}

/// What an engine adds around low precision, jointly over machines and formats.
pm::engine_profile fit_engine(const char* name, const rows& all, const parameters_by_gpu& fitted) {
  using scalar = pm::dual<published::low_precision_count>;
  const rows data = published::low_precision_rows(all, name);
  std::map<std::string,
           std::pair<pm::basic_accelerator<scalar>, pm::basic_machine_parameters<scalar>>>
      machines;
  for (const auto& r : data) {
    if (machines.contains(r.gpu)) continue;
    machines[r.gpu] = {pm::lift<scalar>(*r.device), pm::lift<scalar>(fitted.at(r.gpu))};
  }
  const auto t = published::seconds_of(data);
  const auto predict = [&](const std::array<scalar, published::low_precision_count>& v,
                           std::size_t i) {
    const gemm_row& r = data[i];
    const auto& [device, machine] = machines.at(r.gpu);
    return pm::calibrated_estimate(device, pm::lift<scalar>(r.workload),
                                   {machine, published::low_precision_engine(name, v)},
                                   pm::replay_conditions(scalar(r.copies)))
        .time.value();
  };
  const auto p = published::low_precision_parameters(name);
  const auto fit = pm::fit_log_ratios(p, std::span<const double>(t), predict);
  print_low_precision("narrow, in sample", data, fit.residual);
  const auto unseen = [&](const char* what, auto part, const std::optional<std::size_t>& folds) {
    std::map<double, std::size_t> parts;
    std::vector<std::size_t> group;
    for (const auto& r : data) {
      group.push_back(parts.emplace(part(r.workload), parts.size()).first->second);
    }
    const auto out = pm::held_out_residuals(p, std::span<const double>(t),
                                            std::span<const std::size_t>(group), predict, folds);
    print_low_precision(what, data, out);
    return pm::log_sigma_of(out);
  };
  unseen("narrow, each n left out", [](const pm::gemm& g) { return g.n; }, {});
  unseen("narrow, each k left out", [](const pm::gemm& g) { return g.k; }, {});
  const double spread = unseen(
      "narrow, (n, k) left out", [](const pm::gemm& g) { return g.n * 1e6 + g.k; }, 4);
  published::print_parameters(p, fit);
  std::printf("    spread %.3g\n", spread);
  return published::low_precision_engine<double>(name, fit.value);
}

/// Weights with fewer bits than 16-bit activations: fits without the row's (n, k), its n, its k.
void report_widening(const rows& all, const parameters_by_gpu& fitted) {
  using scalar = pm::dual<2>;
  const rows data = published::weight_only(all);
  if (data.empty()) return;
  const auto device = pm::lift<scalar>(*data.front().device);
  const auto machine = pm::lift<scalar>(fitted.at(data.front().gpu));
  const auto predict = [&](const std::array<scalar, 2>& v, std::size_t i) {
    return published::dequantised_time(data[i], device, machine, v);
  };
  const auto t = published::seconds_of(data);
  const auto fit = pm::fit_log_ratios(published::of_widening, std::span<const double>(t), predict);
  const auto print = [&](const char* what, const std::vector<double>& residual) {
    std::map<std::string, std::vector<double>> by;
    for (std::size_t i = 0; i < data.size(); ++i) by[data[i].dtype].push_back(residual[i]);
    for (const auto& [dtype, r] : by) print_score(what, data.front().gpu + ' ' + dtype, r);
  };
  print("widened, in sample", fit.residual);
  const auto unseen = [&](const char* what, auto part) {
    std::map<double, std::size_t> parts;
    std::vector<std::size_t> group;
    for (const auto& r : data) {
      group.push_back(parts.emplace(part(r.workload), parts.size()).first->second);
    }
    print(what, pm::held_out_residuals(published::of_widening, std::span<const double>(t),
                                       std::span<const std::size_t>(group), predict));
  };
  unseen("widened, (n, k) left out", [](const pm::gemm& g) { return g.n * 1e6 + g.k; });
  unseen("widened, each n left out", [](const pm::gemm& g) { return g.n; });
  unseen("widened, each k left out", [](const pm::gemm& g) { return g.k; });
  published::print_parameters(published::of_widening, fit);
}

/// By what the profile says limits a product, of cold weights, and the bound.
void report_regimes(const std::string& gpu, const rows& data, const pm::machine_parameters& p) {
  std::map<std::string, std::vector<double>> regime;
  std::vector<double> cold, bound;
  for (const auto& r : data) {
    const auto e =
        pm::calibrated_estimate(*r.device, r.workload, {p}, pm::replay_conditions(r.copies));
    regime[pm::name_of(e.limiter)].push_back(std::log(r.seconds / e.time.value()));
    if (!r.may_be_warm()) cold.push_back(std::log(r.seconds / e.time.value()));
    bound.push_back(std::log(r.seconds / pm::roofline(*r.device, r.workload).time.value()));
  }
  for (const auto& [name, residual] : regime) print_score("  " + name + "-bound", gpu, residual);
  print_score("  weights larger than L2", gpu, cold);
  print_score("the bound", gpu, bound);
}

/// Fits one machine and prints all about it. `unknown`: rows that may have run from L2.
pm::machine_parameters report_machine(const std::string& gpu, const rows& data,
                                      const rows& unknown) {
  const auto fit = pm::fit_machine(*data.front().device, measurements(data), 5, l2_of(data));
  const pm::machine_parameters& p = fit.profile.value;
  print_score("in sample", gpu, fit.residual);
  print_score("shapes (n, k) left out", gpu, fit.held_out);
  std::vector<double> cold;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!data[i].may_be_warm()) cold.push_back(fit.held_out[i]);
  }
  print_score("  weights larger than L2", gpu, cold);
  print_score("each n left out", gpu, held_out(data, &pm::gemm::n));
  print_score("each k left out", gpu, held_out(data, &pm::gemm::k));
  print_score("each m left out", gpu, held_out(data, &pm::gemm::m));
  report_regimes(gpu, data, p);
  if (!unknown.empty()) {
    std::vector<double> residual = fit.residual;
    for (const auto& r : unknown) residual.push_back(log_ratio(r, p));
    print_score("with those that fill the L2", gpu, residual);
  }
  published::print_coverage(gpu, fit.held_out, fit.profile.log_sigma);
  std::printf("    profile_%s = fitted_to(%s, sources::aic_gemm, %.3g,\n", gpu.c_str(), gpu.c_str(),
              fit.profile.log_sigma);
  print_row(p, ",");
  print_row(fit.profile.standard_error, ")");
  return p;
}

/// Each machine without its own profile, by its nearest other machine.
void report_transfer(const std::map<std::string, rows>& by_gpu) {
  std::vector<double> every;
  for (const auto& [gpu, data] : by_gpu) {
    const auto transferred = pm::catalog::transferred_machine_profile(*data.front().device);
    std::vector<double> residual;
    for (const auto& r : data) residual.push_back(log_ratio(r, transferred.value));
    print_score("without its own profile", gpu, residual);
    published::print_coverage(gpu, residual, transferred.log_sigma);
    published::append(every, residual);
  }
  print_score("without its own profile", "all", every);
}

}  // namespace

int run(const std::string& folder, bool) {
  const rows all = published::graph_gemms(folder);
  if (all.empty()) {
    std::puts("no published matrix products in that folder");
    return 1;
  }
  std::map<std::string, rows> by_gpu, unknown;
  for (const auto& r : all) {
    if (r.dtype == "bfloat16") (r.warmth_unknown() ? unknown : by_gpu)[r.gpu].push_back(r);
  }
  parameters_by_gpu fitted;
  for (const auto& [gpu, data] : by_gpu) fitted[gpu] = report_machine(gpu, data, unknown[gpu]);
  for (const char* engine : {"trtllm", "vllm"}) fit_engine(engine, all, fitted);
  report_widening(all, fitted);
  // Never fitted: layers of real models, run eagerly.
  std::map<std::string, std::vector<double>> layers;
  for (const auto& r : published::layer_gemms(folder))
    layers[r.gpu].push_back(log_ratio(r, fitted[r.gpu]));
  for (const auto& [gpu, residual] : layers) print_score("layers, never fitted", gpu, residual);
  report_transfer(by_gpu);
  return 0;
}

}  // namespace fits::gemm
