// Fits GEMMs and experts of AMD Instinct to the tuned tables of AITER, and scores them on held-out
// shapes and chips. Prints the entries of kernels/catalog/amd.hpp.
//   fit amd [folder of the measurements]
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <set>

#include "amd_models.hpp"
#include "fit_rows.hpp"
#include "fits.hpp"
#include "published_amd.hpp"

namespace fits::amd {

namespace {

namespace pm = perfmodel;
using published::amd_gemm_row;
using published::amd_moe_row;
using published::print_score;
using products = std::vector<amd_gemm_row>;
using fit_amd::all_formats_model;
using fit_amd::blocks;
using fit_amd::blocks_model;
using fit_amd::expert_predictor;
using fit_amd::of_experts;
using fit_amd::of_experts_and_dram;

double log_ratio(const amd_gemm_row& r, const pm::gemm_calibration& c) {
  return std::log(r.seconds / r.estimate(*r.device, c).time.value());
}

template <class Row>
std::map<std::string, std::vector<double>> by_scheme(const std::vector<Row>& rows,
                                                     const std::vector<double>& residual) {
  std::map<std::string, std::vector<double>> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out[rows[i].scheme].push_back(residual[i]);
  return out;
}
template <class Row>
void print_schemes(const std::string& what, const std::vector<Row>& rows,
                   const std::vector<double>& residual) {
  for (const auto& [scheme, r] : by_scheme(rows, residual)) print_score("  " + what, scheme, r);
}

/// Rows by the octave of m that they are in, two octaves to a line.
void print_rows_of(const products& rows, const std::vector<double>& residual) {
  std::map<int, std::vector<double>> by;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    by[static_cast<int>(std::log2(rows[i].workload.m) / 2.0)].push_back(residual[i]);
  }
  for (const auto& [k, r] : by) {
    print_score("  held out, m from", std::to_string(1 << (2 * k)), r);
  }
}

/// Fits the GEMMs of one chip and prints the result.
template <class Model>
pm::gemm_calibration report_gemms(const products& every) {
  using scalar = pm::dual<Model::count>;
  const products rows = published::thinned(every);
  const pm::accelerator& device = *rows.front().device;
  const std::string gpu = rows.front().gpu;
  const auto lifted = pm::lift<scalar>(device);
  const pm::machine_parameters known = pm::catalog::measured_machine_of(device)->machine->value;
  const auto predict = [&](const std::array<scalar, Model::count>& v, std::size_t i) {
    return rows[i].estimate(lifted, Model::from(known, v)).time.value();
  };
  const std::vector<double> measured = published::seconds_of(rows);
  const std::span<const double> seconds(measured);
  const auto fit = pm::fit_log_ratios(Model::parameters, seconds, predict);
  auto near_best = Model::parameters;
  for (std::size_t j = 0; j < Model::count; ++j) near_best[j].start = fit.value[j];
  std::map<std::string, std::size_t> shapes;
  std::vector<std::size_t> shape;
  for (const auto& r : rows) shape.push_back(shapes.emplace(r.shape, shapes.size()).first->second);
  const auto out =
      pm::held_out_residuals(near_best, seconds, std::span<const std::size_t>(shape), predict, 5);
  print_score("products, in sample", gpu, fit.residual);
  print_score("shapes (n, k) left out", gpu, out);
  print_schemes("shapes left out", rows, out);
  print_rows_of(rows, out);
  const pm::gemm_calibration c = Model::from(known, fit.value);
  std::vector<double> all, bound;
  for (const auto& r : every) {
    all.push_back(log_ratio(r, c));
    bound.push_back(std::log(r.seconds / pm::roofline(device, r.workload).time.value()));
  }
  print_score("every row, shapes seen", gpu, all);
  print_score("the bound", gpu, bound);
  published::print_parameters(Model::parameters, fit);
  published::print_coverage(gpu, out, pm::log_sigma_of(out));
  return c;
}

/// One chip's products by the other's profile.
void report_transfer(const products& every) {
  const auto* other = every.front().device == &pm::catalog::mi300x ? &pm::catalog::measured_mi355x
                                                                   : &pm::catalog::measured_mi300x;
  const pm::accelerator& device = *every.front().device;
  const auto p = pm::catalog::transferred_machine_profile(device);
  pm::engine_profile e;
  e.block_scale_share = pm::catalog::block_scale_share_of(other->device());
  std::vector<double> residual;
  for (const auto& r : published::thinned(every)) residual.push_back(log_ratio(r, {p.value, e}));
  print_score("by the other chip's profile", every.front().gpu, residual);
  published::print_coverage(every.front().gpu, residual, p.log_sigma);
}

/// What share of DRAM experts would have, were it theirs.
void report_dram_share(const std::string& scheme, const blocks& rows) {
  pm::fit_options options;
  options.largest_error = std::numeric_limits<double>::infinity();
  const std::vector<double> measured = published::seconds_of(rows);
  const auto fit = pm::fit_log_ratios(of_experts_and_dram, std::span<const double>(measured),
                                      expert_predictor<5>(rows), options);
  print_score("experts, with dram_share", scheme, fit.residual);
  published::print_parameters(of_experts_and_dram, fit);
}

/// Its four numbers. What the rows leave open, at a limit, is printed without a standard error.
pm::fit_result<4> expert_fit(const std::vector<double>& measured,
                             const expert_predictor<4>& predict) {
  pm::fit_options options;
  options.largest_error = std::numeric_limits<double>::infinity();
  try {
    return pm::fit_log_ratios(of_experts, std::span<const double>(measured), predict, options);
  } catch (const pm::error& e) {
    if (e.code() != pm::error_code::unidentifiable) throw;
    std::puts(e.what());
    options.refuse = false;
    return pm::fit_log_ratios(of_experts, std::span<const double>(measured), predict, options);
  }
}

/// Experts of one scheme, on whichever chips have rows, by the machine profiles of the catalogue.
void report_experts(const std::string& scheme, const blocks& rows) {
  const expert_predictor<4> predict(rows);
  const auto fit = expert_fit(published::seconds_of(rows), predict);
  pm::fit_options options;
  options.refuse = false;  // a part of the rows may leave open what all tell
  print_score("experts, in sample", scheme, fit.residual);
  const auto unseen = [&](const char* what, const auto& part) {
    const auto out = fit_rows::held_out(of_experts, rows, predict, part, options);
    if (!out.empty()) print_score(what, scheme, out);
    return out;
  };
  const auto out = unseen("model shapes held out", [](const amd_moe_row& r) { return r.group; });
  unseen("chips held out", [](const amd_moe_row& r) { return r.gpu; });
  std::map<std::string, std::vector<double>> groups;
  for (std::size_t i = 0; i < out.size(); ++i)
    groups[rows[i].gpu + " " + rows[i].group].push_back(out[i]);
  for (const auto& [who, r] : groups) print_score("  held out", who, r);
  published::print_parameters(of_experts, fit);
  if (!out.empty()) published::print_coverage(scheme, out, pm::log_sigma_of(out));
}

}  // namespace

int run(const std::string& folder, bool) {
  const products all = published::amd_gemms(folder);
  if (all.empty()) {
    std::puts("no published AMD GEMMs in that folder");
    return 1;
  }
  std::map<std::string, products> by_gpu;
  for (const auto& r : all) by_gpu[r.gpu].push_back(r);
  report_gemms<all_formats_model>(by_gpu["mi355x"]);
  report_gemms<blocks_model>(by_gpu["mi300x"]);
  for (const auto& [gpu, rows] : by_gpu) report_transfer(rows);
  std::map<std::string, blocks> schemes;
  for (const auto& r : published::amd_moes(folder)) schemes[r.scheme].push_back(r);
  for (const auto& [scheme, rows] : schemes) report_experts(scheme, rows);
  report_dram_share("mxfp4", schemes["mxfp4"]);
  return 0;
}

}  // namespace fits::amd
