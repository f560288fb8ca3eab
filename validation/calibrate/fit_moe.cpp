// Fits the four numbers of each published library of expert kernels, over all accelerators at once
// (their shares are those of their machine profiles), scores them on model shapes, layouts, token
// counts and accelerators held out, and prints the entries of
// calibrated/catalog/attention.hpp.
//   fit_moe [folder of the measurements]
#include <functional>

#include "fit_rows.hpp"

namespace {

namespace pm = perfmodel;
using published::moe_row;
constexpr std::size_t count = 4;
using point = pm::dual<count>;

constexpr std::array<pm::fitted_parameter, count> parameters = {
    {{"floor [us]", 28.0, 1.0, 80.0},
     {"buffer_share", 0.55, 0.1, 1.0},
     {"matrix_ratio", 0.8, 0.1, 1.5},
     {"dram_saturation", 2.0, 0.3, 10.0}}};

/// The time of a row of one library, on its device and with the shares of its machine profile.
class predictor {
 public:
  explicit predictor(const std::vector<moe_row>& rows) : rows_(rows) {
    for (const moe_row& r : rows) {
      if (machines_.contains(r.gpu)) continue;
      const auto p = pm::catalog::moe_profile_of(*r.device).value;
      machines_[r.gpu] = {pm::lift<point>(*r.device), pm::lift<point>(p)};
    }
  }
  point operator()(const std::array<point, count>& v, std::size_t i) const {
    const moe_row& r = rows_[i];
    auto k = pm::lift<point>(*r.kernels);
    k.floor = v[0] * pm::us;
    k.buffer_share = v[1];
    k.matrix_ratio = v[2];
    k.dram_saturation = v[3];
    const machine& m = machines_.at(r.gpu);
    return pm::calibrated_estimate(m.device, pm::lift<point>(r.workload), {m.shares, k},
                                   {.routing = pm::expert_routing::balanced})
        .time.value();
  }

 private:
  struct machine {
    pm::basic_accelerator<point> device;
    pm::basic_machine_parameters<point> shares;
  };
  const std::vector<moe_row>& rows_;
  std::map<std::string, machine> machines_;
};

using published::append;

}  // namespace

int main(int argc, char** argv) {
  const auto all = published::moe_rows(argc > 1 ? argv[1] : "../shared/measured");
  if (all.empty()) {
    std::puts("no published expert latencies in that folder");
    return 1;
  }
  std::map<std::string, std::vector<moe_row>> libraries;
  for (const auto& x : all) libraries[x.kind()].push_back(x);

  const std::map<std::string, std::function<std::string(const moe_row&)>> parts = {
      {"model shapes held out", [](const moe_row& x) { return x.group; }},
      {"accelerators held out", [](const moe_row& x) { return x.gpu; }},
      {"layouts held out",
       [](const moe_row& x) {
         return std::to_string(x.workload.tensor_parallel) + "/" +
                std::to_string(x.workload.expert_parallel);
       }},
      {"token counts held out", [](const moe_row& x) {
         return std::to_string(static_cast<int>(std::log2(x.workload.tokens) / 3.0));
       }}};
  std::map<std::string, std::vector<double>> every;
  for (const auto& [name, rows] : libraries) {
    const predictor predict(rows);
    const auto measured = published::seconds_of(rows);
    const auto fit = pm::fit_log_ratios(parameters, std::span<const double>(measured), predict);
    published::print_score("in sample", name, fit.residual);
    append(every["in sample"], fit.residual);
    for (const auto& [what, part] : parts) {
      pm::fit_options options;
      options.refuse = false;  // a part of the rows may leave open what all tell
      const auto residual = fit_rows::held_out(parameters, rows, predict, part, options);
      if (residual.empty()) {
        std::printf("%-28s %-26s all rows are of one\n", what.c_str(), name.c_str());
        continue;
      }
      published::print_score(what, name, residual);
      append(every[what], residual);
    }
    published::print_parameters(parameters, fit);
  }
  for (const auto& [what, residual] : every) published::print_score(what, "all", residual);
  const auto& shapes = every["model shapes held out"];
  published::print_coverage("experts", shapes,
                            pm::catalog::moe_profile_of(*all.front().device).log_sigma);
  return 0;
}
