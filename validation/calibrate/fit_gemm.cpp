// Fits the machine and engine parameters of matrix products to published latencies, and says how
// far they predict rows, shapes and machines that the fit has not seen. Prints the entries of
// hardware/catalog/profiles.hpp.
//   fit_gemm [folder of the measurements]
#include <cstdio>
#include <functional>
#include <map>
#include <perfmodel/calibration.hpp>
#include <perfmodel/roofline.hpp>
#include "published_gemm.hpp"

namespace {

namespace pm = perfmodel;
using published::gemm_row;
using rows = std::vector<gemm_row>;
constexpr std::size_t count = 7;
using point = pm::dual<count>;

pm::machine_parameters from_values(const std::array<double, count>& v) {
  return {.matrix_floor = v[0] * pm::us, .matrix_share = v[1], .dram_share = v[2],
          .operand_bandwidth = v[3] * pm::TB_per_s, .tile_fill = v[4] * pm::us,
          .split_cost = v[5] * pm::us, .power_slowdown = v[6]};
}
pm::basic_machine_parameters<point> from_duals(const std::array<point, count>& v) {
  return {.matrix_floor = v[0] * pm::us, .matrix_share = v[1], .dram_share = v[2],
          .operand_bandwidth = v[3] * pm::TB_per_s, .tile_fill = v[4] * pm::us,
          .split_cost = v[5] * pm::us, .power_slowdown = v[6]};
}

/// Limits: nothing beats an empty kernel (1 us) nor shared memory (4 times what a start assumes).
std::array<pm::fitted_parameter, count> parameters_of(const pm::accelerator& a) {
  const double sms = a.sms.value();
  return {{{"matrix_floor [us]", 2.5, 1.0, 15.0},
           {"matrix_share", 0.85, 0.3, 1.1},
           {"dram_share", 0.85, 0.3, 1.0},
           {"operand_bandwidth [TB/s]", 0.1 * sms, 0.01 * sms, 0.5 * sms},
           {"tile_fill [us]", 1.0, 0.0, 10.0},
           {"split_cost [us]", 4.0, 0.0, 10.0},
           {"power_slowdown", 0.2, 0.0, 2.0}}};
}

/// The operand feed decides which tiles win, so the cost has a valley for each: start in several.
template <class Predict>
pm::fit_result<count> best_fit(const pm::accelerator& a, std::span<const double> t, Predict&& predict) {
  pm::fit_result<count> best;
  for (const double feed : {0.04, 0.1, 0.2, 0.35}) {
    auto p = parameters_of(a);
    p[3].start = feed * a.sms.value();
    auto fit = pm::fit_log_ratios(p, t, predict);
    if (best.residual.empty() || fit.cost < best.cost) best = std::move(fit);
  }
  return best;
}

std::vector<double> seconds_of(const rows& data) {
  std::vector<double> t;
  for (const auto& r : data) t.push_back(r.seconds);
  return t;
}

struct predictor {
  const rows& data;
  pm::basic_accelerator<point> device;
  explicit predictor(const rows& d) : data(d), device(pm::lift<point>(*d.front().device)) {}
  point operator()(const std::array<point, count>& v, std::size_t i) const {
    const gemm_row& r = data[i];
    return pm::calibrated_gemm(device, pm::lift<point>(r.workload), from_duals(v),
                               {.weight_copies = point(r.copies)})
        .time.value();
  }
};

double log_ratio(const gemm_row& r, const pm::machine_parameters& p, const pm::engine_profile& e = {}) {
  const auto t = pm::calibrated_gemm(*r.device, r.workload, p, {.engine = e, .weight_copies = r.copies});
  return std::log(r.seconds / t.time.value());
}

void print(const char* what, const std::string& who, const std::vector<double>& residual) {
  const auto s = pm::score_of(residual);
  std::printf("%-30s %-24s n %5zu  mean %5.1f %%  median %5.1f %%  p90 %5.1f %%  bias %+5.1f %%\n", what,
              who.c_str(), s.n, 100 * s.mean, 100 * s.median, 100 * s.p90, 100 * s.bias);
}

using grouping = std::function<std::size_t(const gemm_row&)>;
std::vector<double> held_out(const rows& data, double feed, const grouping& group, std::size_t folds) {
  std::vector<std::size_t> g;
  for (const auto& r : data) g.push_back(group(r));
  const auto t = seconds_of(data);
  auto p = parameters_of(*data.front().device);
  p[3].start = feed;
  return pm::held_out_residuals(p, std::span<const double>(t),
                                std::span<const std::size_t>(g), predictor(data), folds);
}

std::size_t number(double x) { return static_cast<std::size_t>(x); }

template <class T, std::size_t N>
pm::basic_engine_profile<T> engine_of(const char* name, const std::array<T, N>& v) {
  return {.name = name,
          .tensor_scale_floor = v[0] * pm::us,
          .quantise_floor = v[N - 1] * pm::us,
          .quantise_cycles = v[1],
          .block_scale_share = v[2]};
}

/// What an engine adds around low precision, jointly over machines and formats. With N = 3 it has
/// no rows that tell quantise_floor.
template <std::size_t N>
pm::engine_profile fit_engine(const char* name, const rows& all,
                              const std::map<std::string, pm::machine_parameters>& fitted) {
  using scalar = pm::dual<N>;
  rows data;
  std::vector<std::size_t> shape;
  std::map<std::string, pm::basic_accelerator<scalar>> devices;
  for (const auto& r : all) {
    if (r.engine != name || r.warmth_unknown() || bits_of(r.workload.format) > 8.0) continue;
    data.push_back(r);
    shape.push_back(number(r.workload.n * 1e6 + r.workload.k));
    if (!devices.contains(r.gpu)) devices[r.gpu] = pm::lift<scalar>(*r.device);
  }
  const auto t = seconds_of(data);
  const auto predict = [&](const std::array<scalar, N>& v, std::size_t i) {
    const gemm_row& r = data[i];
    auto e = engine_of(name, v);
    if (N == 3) e.quantise_floor = e.tensor_scale_floor;
    return pm::calibrated_gemm(devices.at(r.gpu), pm::lift<scalar>(r.workload),
                               pm::lift<scalar>(fitted.at(r.gpu)),
                               {.engine = e, .weight_copies = scalar(r.copies)})
        .time.value();
  };
  constexpr std::array<pm::fitted_parameter, 4> every{{{"tensor_scale_floor [us]", 4, 0.1, 30},
                                                       {"quantise_cycles", 1, 0.0, 10},
                                                       {"block_scale_share", 0.8, 0.2, 1.2},
                                                       {"quantise_floor [us]", 4, 0.1, 30}}};
  std::array<pm::fitted_parameter, N> p;
  for (std::size_t j = 0; j < N; ++j) p[j] = every[j];
  const auto fit = pm::fit_log_ratios(p, std::span<const double>(t), predict);
  print("narrow formats, in sample", name, fit.residual);
  const auto out = pm::held_out_residuals(p, std::span<const double>(t),
                                          std::span<const std::size_t>(shape), predict, 4);
  print("shapes left out", name, out);
  for (std::size_t j = 0; j < N; ++j) {
    std::printf("    %-24s %#.4g +- %.2g\n", p[j].name, fit.value[j], fit.standard_error[j]);
  }
  std::printf("    spread %.3g\n", pm::spread_of(out));
  auto e = engine_of<double>(name, fit.value);
  if (N == 3) e.quantise_floor = e.tensor_scale_floor;
  return e;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "../shared/measured";
  const rows all = published::graph_gemms(folder);
  if (all.empty()) {
    std::puts("no published matrix products in that folder");
    return 1;
  }
  std::map<std::string, rows> by_gpu;
  for (const auto& r : all) {
    if (r.dtype == "bfloat16" && !r.warmth_unknown()) by_gpu[r.gpu].push_back(r);
  }
  std::map<std::string, pm::machine_parameters> fitted;
  std::string entries;
  for (const auto& [gpu, data] : by_gpu) {
    const auto t = seconds_of(data);
    const auto fit = best_fit(*data.front().device, t, predictor(data));
    fitted[gpu] = from_values(fit.value);
    print("in sample", gpu, fit.residual);
    const auto shapes = held_out(data, fit.value[3], [](const gemm_row& r) { return number(r.workload.n * 1e6 + r.workload.k); }, 6);
    print("shapes (n, k) left out", gpu, shapes);
    print("each n left out", gpu, held_out(data, fit.value[3], [](const gemm_row& r) { return number(r.workload.n); }, 0));
    print("each k left out", gpu, held_out(data, fit.value[3], [](const gemm_row& r) { return number(r.workload.k); }, 0));
    print("each m left out", gpu, held_out(data, fit.value[3], [](const gemm_row& r) { return number(r.workload.m); }, 0));
    std::map<std::string, std::vector<double>> regime;
    std::vector<double> cold;
    std::vector<double> bound;
    for (const auto& r : data) {
      const auto e = pm::calibrated_gemm(*r.device, r.workload, fitted[gpu], {.weight_copies = r.copies});
      regime[pm::name_of(e.limiter)].push_back(std::log(r.seconds / e.time.value()));
      if (!r.may_be_warm()) cold.push_back(std::log(r.seconds / e.time.value()));
      bound.push_back(std::log(r.seconds / pm::roofline(*r.device, r.workload).time.value()));
    }
    for (const auto& [name, residual] : regime) print(("  " + name + "-bound").c_str(), gpu, residual);
    print("  weights larger than L2", gpu, cold);
    print("the bound", gpu, bound);
    std::size_t inside = 0;
    const double spread = pm::spread_of(shapes);
    for (const double r : fit.residual) inside += std::abs(r) <= 1.2816 * spread ? 1 : 0;
    std::printf("80 %% interval holds %.1f %% in sample; %d iterations\n",
                100.0 * static_cast<double>(inside) / static_cast<double>(data.size()), fit.iterations);
    std::printf("inline constexpr machine_profile %s{\n    .name = \"%s\",\n", gpu.c_str(), gpu.c_str());
    for (const bool error : {false, true}) {
      const auto& v = error ? fit.standard_error : fit.value;
      std::printf("    .%s = {.matrix_floor = %#.4g * us,\n        .matrix_share = %#.4g,\n"
                  "        .dram_share = %#.4g,\n        .operand_bandwidth = %#.4g * TB_per_s,\n"
                  "        .tile_fill = %#.4g * us,\n        .split_cost = %#.4g * us,\n"
                  "        .power_slowdown = %#.4g},\n",
                  error ? "standard_error" : "value", v[0], v[1], v[2], v[3], v[4], v[5], v[6]);
    }
    std::printf("    .spread = %.3g,\n    .from = &sources::aic_gemm};\n", spread);
  }

  std::map<std::string, pm::engine_profile> engines;
  engines["trtllm"] = fit_engine<4>("trtllm", all, fitted);
  engines["vllm"] = fit_engine<3>("vllm", all, fitted);
  std::map<std::string, std::vector<double>> narrow;
  for (const auto& r : all) {
    if (r.dtype == "bfloat16" || r.warmth_unknown()) continue;
    narrow[r.dtype + " " + r.engine + " " + r.gpu].push_back(log_ratio(r, fitted[r.gpu], engines[r.engine]));
  }
  for (const auto& [who, residual] : narrow) print("low precision", who, residual);

  // Never fitted: layers of real models, run eagerly; and machines by another machine's parameters.
  std::map<std::string, std::vector<double>> layers;
  for (const auto& r : published::layer_gemms(folder)) layers[r.gpu].push_back(log_ratio(r, fitted[r.gpu]));
  for (const auto& [gpu, residual] : layers) print("layers, never fitted", gpu, residual);
  for (const auto& [from, p] : fitted) {
    for (const auto& [gpu, data] : by_gpu) {
      if (from == gpu) continue;
      pm::machine_parameters scaled = p;
      const auto& a = *by_gpu[from].front().device;
      const auto& b = *data.front().device;
      scaled.operand_bandwidth = p.operand_bandwidth * (b.sms.value() / a.sms.value()) * (b.vector.clock.value() / a.vector.clock.value());
      std::vector<double> residual;
      for (const auto& r : data) residual.push_back(log_ratio(r, scaled));
      print("parameters of another machine", from + " for " + gpu, residual);
      std::printf("    spread %.3g\n", pm::spread_of(residual));
    }
  }
}
