// Fits the parameters of each published library of expert kernels, over all accelerators at once
// (their shares are those of the machine profiles). Scores them on held-out model shapes, layouts,
// token counts and accelerators, and prints the entries of kernels/catalog/experts.hpp. Kernels
// that dequantise 4-bit weights have no published rows: their matrix rate is fitted to whole
// services.
//   fit moe [folder of the measurements]
#include <cmath>
#include <cstdio>
#include <functional>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/serving.hpp>

#include "expert_models.hpp"
#include "fit_rows.hpp"
#include "fits.hpp"
#include "published_services.hpp"

namespace fits::moe {

namespace {

namespace pm = perfmodel;
using published::moe_row;

/// The time of a row of one library, on its device and with the shares of its machine profile.
template <class Model>
class predictor {
 public:
  using point = pm::dual<Model::count>;
  explicit predictor(const std::vector<moe_row>& rows) : rows_(rows) {
    for (const moe_row& r : rows) {
      if (machines_.contains(r.gpu)) continue;
      const auto p = pm::catalog::moe_profile_of(*r.device).value;
      machines_[r.gpu] = {pm::lift<point>(*r.device), pm::lift<point>(p)};
    }
  }
  point operator()(const std::array<point, Model::count>& v, std::size_t i) const {
    const moe_row& r = rows_[i];
    const auto k = Model::from(*r.kernels, v);
    const machine& m = machines_.at(r.gpu);
    return pm::calibrated_estimate(m.device, pm::lift<point>(r.workload), {m.shares, k},
                                   r.template conditions<point>())
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

const std::map<std::string, std::function<std::string(const moe_row&)>> parts = {
    {"model shapes held out", [](const moe_row& x) { return x.group; }},
    {"accelerators held out", [](const moe_row& x) { return x.gpu; }},
    {"layouts held out",
     [](const moe_row& x) {
       return std::to_string(x.workload.tensor_parallel) + "/" +
              std::to_string(x.workload.expert_parallel);
     }},
    {"routings held out",
     [](const moe_row& x) { return std::to_string(x.routing == pm::expert_routing::power_law); }},
    {"token counts held out", [](const moe_row& x) {
       return std::to_string(static_cast<int>(std::log2(x.workload.tokens) / 3.0));
     }}};

/// Residuals of all libraries, by the group held out, and of model shapes over the uncertainty that
/// the profile of their machine states.
struct scores {
  std::map<std::string, std::vector<double>> every{};
  std::map<double, std::vector<double>> stated{};
};

/// Fits one library, and scores it on what the fit has not seen.
template <class Model>
void report(const std::string& name, const std::vector<moe_row>& rows, scores& out) {
  const predictor<Model> predict(rows);
  const auto measured = published::seconds_of(rows);
  pm::fit_options in_sample;
  // With tile_fill, matrix_ratio or dram_saturation may stay at its upper limit.
  in_sample.refuse = !(rows.front().kernels->tile_fill.value() > 0.0);
  const auto fit =
      pm::fit_log_ratios(Model::parameters, std::span<const double>(measured), predict, in_sample);
  published::print_score("in sample", name, fit.residual);
  append(out.every["in sample"], fit.residual);
  for (const auto& [what, part] : parts) {
    pm::fit_options options;
    options.refuse = false;  // a part of the rows may leave open what all tell
    const auto residual = fit_rows::held_out(Model::parameters, rows, predict, part, options);
    if (residual.empty()) {
      std::printf("%-28s %-26s all rows are of one\n", what.c_str(), name.c_str());
      continue;
    }
    published::print_score(what, name, residual);
    append(out.every[what], residual);
    const double spread = pm::catalog::moe_profile_of(*rows.front().device).log_sigma;
    if (what == "model shapes held out") append(out.stated[spread], residual);
  }
  published::print_parameters(Model::parameters, fit);
}

/// gpt-oss by vLLM on H200: MXFP4 experts with 16-bit activations. The CPU time per step and per
/// sequence is fitted with their matrix rate, because it is no part of the kernels.
class dequantised_fit {
 public:
  explicit dequantised_fit(const std::string& folder) {
    for (const published::service& s : published::services(folder)) {
      const published::published_model* m = published::model_of(s.model);
      const bool h200 = pm::catalog::find_accelerator(s.gpu) == &device_;
      if (m == nullptr || &m->is != &pm::catalog::gpt_oss_120b || !h200 || s.engine != "vllm")
        continue;
      rows_.push_back(s);
      deployments_.push_back(pm::lift<scalar>(deployment_of(s, *m, device_)));
    }
  }
  void print() const {
    if (rows_.empty()) return;
    const auto predict = [this](const std::array<scalar, 3>& v, std::size_t i) {
      auto calibration = calibration_;
      calibration.dequantised_moe_kernels.matrix_ratio = v[0];
      calibration.engine.step_cpu_time = v[1] * pm::us;
      calibration.engine.sequence_cpu_time = v[2] * pm::us;
      return serving(deployments_[i], pm::lift<scalar>(rows_[i].load), calibration).itl.value();
    };
    const auto measured = published::seconds_of(rows_);
    const auto fit = pm::fit_log_ratios(parameters_, std::span<const double>(measured), predict);
    published::print_score("in sample", "dequantised_experts", fit.residual);
    const auto unseen = [&](const char* what, const auto& part) {
      published::print_score(what, "dequantised_experts",
                             fit_rows::held_out(parameters_, rows_, predict, part));
    };
    using published::service;
    unseen("layouts held out", [](const service& s) { return std::to_string(s.layout.tensor); });
    unseen("batches held out",
           [](const service& s) { return std::to_string(s.load.concurrency()); });
    unseen("lengths held out", [](const service& s) {
      return std::to_string(s.load.input_tokens - s.load.output_tokens);
    });
    published::print_parameters(parameters_, fit);
  }

 private:
  using scalar = pm::dual<3>;
  static constexpr std::array<pm::fitted_parameter, 3> parameters_ = {
      {{"matrix_ratio", 0.4, 0.1, 1.5},
       {"host, a step [us]", 500.0, 1.0, 5000.0},
       {"host, a sequence [us]", 5.0, 0.1, 100.0}}};
  const pm::accelerator& device_ = pm::catalog::h200_sxm;
  pm::basic_calibrated<scalar> calibration_ =
      pm::lift<scalar>(pm::calibrated_for(device_, pm::engine::vllm));
  std::vector<published::service> rows_{};
  std::vector<pm::basic_deployment<scalar>> deployments_{};
};

}  // namespace

int run(const std::string& folder, bool) {
  const auto all = published::moe_rows(folder);
  if (all.empty()) {
    std::puts("no published expert latencies in that folder");
    return 1;
  }
  std::map<std::string, std::vector<moe_row>> libraries;
  for (const auto& x : all) {
    if (x.fitted) libraries[x.kind()].push_back(x);
  }

  for (const bool skewed_routing : {false, true}) {
    for (const auto& x : published::workstation_moe_rows(folder, skewed_routing))
      libraries[x.kind()].push_back(x);
  }

  const auto skewed = published::skewed_moe_rows(folder);
  for (const auto& x : skewed) {
    if (x.fitted) libraries[x.kind()].push_back(x);
  }

  scores of_all;
  for (const auto& library : libraries) {  // clang 14 captures no structured binding
    published::with_expert_model(*library.second.front().kernels, [&](auto model) {
      report<decltype(model)>(library.first, library.second, of_all);
    });
  }
  for (const auto& [what, residual] : of_all.every) published::print_score(what, "all", residual);
  for (const auto& [spread, residual] : of_all.stated) {
    published::print_coverage("experts", residual, spread);
  }
  std::map<std::string, std::vector<double>> never;
  for (const auto& x : all) {
    const auto e = x.estimate(pm::catalog::moe_profile_of(*x.device).value);
    if (!x.fitted) never[x.gpu + ' ' + x.kind()].push_back(std::log(x.seconds / e.time.value()));
  }
  for (const auto& x : skewed) {
    const auto e = x.estimate(pm::catalog::moe_profile_of(*x.device).value);
    if (!x.fitted)
      never[x.gpu + ' ' + x.kind() + ", skewed"].push_back(std::log(x.seconds / e.time.value()));
  }
  for (const auto& [who, residual] : never) published::print_score("never fitted", who, residual);
  dequantised_fit(folder).print();
  return 0;
}

}  // namespace fits::moe
