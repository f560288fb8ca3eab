// Fits the attention parameters of every published accelerator, scores them on head counts, batches
// and lengths held out and on other accelerators, and prints the entries of
// hardware/catalog/attention_profiles.hpp.
//   fit_attention [folder of the measurements]
#include "fit_rows.hpp"

namespace {

namespace pm = perfmodel;
using published::attention_row;

using fit_rows::attention_model;
using attention_fit = fit_rows::fit<attention_model, attention_row>;

std::string third(const char* name, double x) {
  return name + std::to_string(static_cast<int>(std::log2(x) / 3.0));
}

void print_entry(const char* field, const std::array<double, attention_model::count>& v,
                 double l2) {
  std::printf(
      "    .%s = {.floor = %#.4g * us,\n        .tile_latency = %#.4g * us,\n"
      "        .element_rate = %#.4g * GHz,\n        .matrix_share = %#.4g,\n"
      "        .dram_share = %#.4g,\n        .l2_bandwidth = %#.4g * TB_per_s},\n",
      field, v[0], v[1], v[2], v[3], v[4], l2);
}

}  // namespace

int main(int argc, char** argv) {
  const auto all = published::attention_rows(argc > 1 ? argv[1] : "../shared/measured");
  if (all.empty()) {
    std::puts("no published attention latencies in that folder");
    return 1;
  }
  std::map<std::string, std::vector<const attention_row*>> machines;
  for (const auto& x : all) machines[x.gpu].push_back(&x);

  std::map<std::string, std::array<double, attention_model::count>> found;
  for (const auto& [gpu, rows] : machines) {
    const attention_fit data(rows);
    const auto fit = data.result();
    found[gpu] = fit.value;
    fit_rows::print_kinds("in sample", gpu, rows, data.residuals(fit.value));
    const auto heads = data.held_out([](const attention_row& x) { return x.group; });
    fit_rows::print_kinds("head counts held out", gpu, rows, heads);
    fit_rows::print_kinds("batches held out", gpu, rows, data.held_out([](const attention_row& x) {
      return third("batch", x.batch);
    }));
    fit_rows::print_kinds("lengths held out", gpu, rows, data.held_out([](const attention_row& x) {
      return third("length", x.length);
    }));
    for (std::size_t j = 0; j < attention_model::count; ++j) {
      if (!fit.at_bound[j]) continue;
      std::printf("%s is at its bound: not identified\n", attention_model::parameters[j].name);
    }
    const double dram = data.rows().front()->device->dram.bandwidth.value() * 1e-12 * fit.value[4];
    std::printf("inline constexpr attention_profile attention_%s{\n    .name = \"%s\",\n",
                gpu.c_str(), data.rows().front()->device->name.c_str());
    print_entry("value", fit.value, fit.value[5] * dram);
    print_entry("standard_error", fit.standard_error, fit.standard_error[5] * dram);
    std::printf("    .spread = %.2g,\n    .from = &sources::aic_attention};\n",
                pm::spread_of(heads));
  }
  for (const auto& [from, value] : found) {
    for (const auto& [gpu, rows] : machines) {
      if (from == gpu) continue;
      fit_rows::print_kinds("with " + from + "'s values", gpu, rows,
                            attention_fit(rows).residuals(value));
    }
  }
}
