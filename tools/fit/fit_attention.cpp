// Fits the attention parameters of every published accelerator, scores them on head counts, batches
// and lengths held out and on other accelerators, and prints the entries of
// kernels/catalog/attention.hpp.
//   fit attention [folder of the measurements]
#include "fit_rows.hpp"
#include "fits.hpp"

#include <cmath>
#include <cstdio>

namespace fits::attention {

namespace {

namespace pm = perfmodel;
using published::attention_row;
using rows_of_machine = std::vector<attention_row>;

std::string third(const char* name, double x) {
  return name + std::to_string(static_cast<int>(std::log2(x) / 3.0));
}

/// A row of the catalogue's table. `dram`, in TB/s: what an L2 is fitted over.
template <class Values>
void print_row(const Values& v, double dram, const char* end) {
  std::printf("    attention_row({%#.4g, %#.4g, %#.4g, %#.4g", v[0], v[1], v[2], v[3]);
  if (v.size() > 4) std::printf(", %#.4g", v[4] * dram);
  std::printf("})%s\n", end);
}

/// Fits one machine and prints all about it; the result predicts rows of any machine.
template <class Model>
pm::attention_calibration report(const std::string& gpu, const rows_of_machine& rows) {
  const fit_rows::fit<Model, attention_row> data(rows);
  const auto fit = data.result();
  fit_rows::print_kinds("in sample", gpu, rows, fit.residual);
  const auto heads = data.held_out([](const attention_row& x) { return x.group; });
  fit_rows::print_kinds("head counts held out", gpu, rows, heads);
  fit_rows::print_kinds("batches held out", gpu, rows, data.held_out([](const attention_row& x) {
    return third("batch", x.batch);
  }));
  fit_rows::print_kinds("lengths held out", gpu, rows, data.held_out([](const attention_row& x) {
    return third("length", x.length);
  }));
  published::print_coverage(gpu, heads, pm::log_sigma_of(heads));
  for (std::size_t j = 0; j < Model::count; ++j) {
    const auto& p = Model::parameters[j];
    if (fit.at_bound[j] || fit.standard_error[j] > p.upper - p.lower) {
      std::printf("%s is not identified\n", p.name);
    }
  }
  const pm::accelerator& device = *rows.front().device;
  const double dram =
      fit_rows::attention_dram(device, fit_rows::machine_of(device.name)).value() * 1e-12;
  std::printf("    attention_%s = fitted_to(%s, sources::aic_attention, %.2g,\n", gpu.c_str(),
              device.name.c_str(), pm::log_sigma_of(heads));
  print_row(fit.value, dram, ",");
  print_row(fit.standard_error, dram, ")");
  return Model::from(device, fit.value);
}

}  // namespace

int run(const std::string& folder, bool) {
  const auto all = published::attention_rows(folder);
  if (all.empty()) {
    std::puts("no published attention latencies in that folder");
    return 1;
  }
  std::map<std::string, rows_of_machine> machines;
  for (const auto& x : all) machines[x.gpu].push_back(x);

  for (const auto& [gpu, rows] : machines) {
    if (fit_rows::attention_model_of_known_l2::is_of(*rows.front().device)) {
      report<fit_rows::attention_model_of_known_l2>(gpu, rows);
    } else {
      report<fit_rows::attention_model>(gpu, rows);
    }
  }
  // Each machine without its own profile, by its nearest other machine.
  std::vector<double> every;
  for (const auto& [gpu, rows] : machines) {
    std::vector<double> residual;
    const pm::accelerator& device = *rows.front().device;
    const auto machine = pm::catalog::transferred_machine_profile(device);
    const auto attention = pm::catalog::transferred_attention_profile(device);
    for (const attention_row& r : rows) {
      residual.push_back(std::log(r.seconds / r.estimate(machine, attention).time.value()));
    }
    fit_rows::print_kinds("without its own profile", gpu, rows, residual);
    published::print_coverage(gpu + " by the default rule", residual, attention.log_sigma);
    published::append(every, residual);
  }
  published::print_score("without its own profile", "all", every);
  return 0;
}

}  // namespace fits::attention
