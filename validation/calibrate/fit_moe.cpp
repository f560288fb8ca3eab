// Fits the expert-block parameters of every published accelerator, scores them on model shapes,
// layouts and token counts held out and on the other accelerator, and prints the entries of
// hardware/catalog/attention_profiles.hpp.
//   fit_moe [folder of the measurements]
#include "fit_rows.hpp"

namespace {

namespace pm = perfmodel;
using published::moe_row;

using fit_rows::moe_model;
using moe_fit = fit_rows::fit<moe_model, moe_row>;

}  // namespace

int main(int argc, char** argv) {
  const auto all = published::moe_rows(argc > 1 ? argv[1] : "../shared/measured");
  if (all.empty()) {
    std::puts("no published expert latencies in that folder");
    return 1;
  }
  std::map<std::string, std::vector<const moe_row*>> machines;
  for (const auto& x : all) machines[x.gpu].push_back(&x);

  std::map<std::string, std::array<double, moe_model::count>> found;
  for (const auto& [gpu, rows] : machines) {
    const moe_fit data(rows);
    const auto fit = data.result();
    found[gpu] = fit.value;
    fit_rows::print("in sample", gpu, data.residuals(fit.value));
    fit_rows::print_kinds("in sample", gpu, rows, data.residuals(fit.value));
    const auto shapes = data.held_out([](const moe_row& x) { return x.group; });
    fit_rows::print("shapes held out", gpu, shapes);
    fit_rows::print("layouts held out", gpu, data.held_out([](const moe_row& x) {
      return std::to_string(x.workload.tensor_parallel) + "/" +
             std::to_string(x.workload.expert_parallel);
    }));
    fit_rows::print("token counts held out", gpu, data.held_out([](const moe_row& x) {
      return std::to_string(static_cast<int>(std::log2(x.workload.tokens) / 3.0));
    }));
    std::printf(
        "inline constexpr moe_profile moe_%s{\n    .name = \"%s\",\n"
        "    .value = {.matrix_share = %#.4g, .dram_share = %#.4g},\n"
        "    .standard_error = {.matrix_share = %#.2g, .dram_share = %#.2g},\n"
        "    .spread = %.2g,\n    .from = &sources::aic_moe};\n",
        gpu.c_str(), gpu.c_str(), fit.value[0], fit.value[1], fit.standard_error[0],
        fit.standard_error[1], pm::spread_of(shapes));
  }
  for (const auto& [from, value] : found) {
    for (const auto& [gpu, rows] : machines) {
      if (from != gpu)
        fit_rows::print("with " + from + "'s values", gpu, moe_fit(rows).residuals(value));
    }
  }
}
