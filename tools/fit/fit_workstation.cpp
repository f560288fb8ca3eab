// Fits GEMMs and element-wise kernels of RTX PRO 6000 to vLLM's kernels, published by
// LLMServingSim. Scores them on held-out shapes, kinds of layer and models, and prints the entry of
// kernels/catalog/workstation.hpp.
//   fit workstation [folder of the measurements]
#include <cmath>
#include <cstdio>
#include <map>
#include <perfmodel/kernels/catalog/uncertainty.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/calibrate_machine.hpp>

#include "fit_rows.hpp"
#include "fits.hpp"
#include "published_gemm.hpp"
#include "published_workstation.hpp"

namespace fits::workstation {

namespace {

namespace pm = perfmodel;
using published::print_score;
using published::workstation_row;
using rows = std::vector<workstation_row>;

/// The L2 bandwidth that the element-wise kernels below give.
constexpr pm::bandwidth<> l2 = *pm::catalog::profile_rtx_pro_6000.value.l2_bandwidth;

pm::machine_fit fit_of(const rows& data) {
  std::vector<pm::gemm_measurement> measured;
  for (const auto& r : data) measured.push_back({r.product(), r.seconds * pm::second, r.copies});
  return pm::fit_machine(pm::catalog::rtx_pro_6000, measured, 5, l2);
}

double log_ratio(const workstation_row& r, const pm::machine_parameters& p) {
  const auto t =
      pm::calibrated_estimate(*r.device, r.product(), {p}, pm::replay_conditions(r.copies));
  return std::log(r.seconds / t.time.value());
}

/// Residuals of held-out rows, by fits that start from the parameters of all rows.
template <class Part>
void print_held_out(const char* what, const rows& data, const pm::machine_parameters& best,
                    Part&& part) {
  using scalar = pm::dual<7>;
  const auto device = pm::lift<scalar>(pm::catalog::rtx_pro_6000);
  const auto predict = [&](const std::array<scalar, 7>& v, std::size_t i) {
    return pm::calibrated_estimate(device, pm::lift<scalar>(data[i].product()),
                                   {pm::machine_parameters_of(v, l2)},
                                   pm::replay_conditions(scalar(data[i].copies)))
        .time.value();
  };
  auto parameters = pm::fitted_machine_parameters(pm::catalog::rtx_pro_6000);
  parameters[3].start = best.operand_bandwidth.value() * 1e-12;
  print_score(what, "rtx_pro_6000", fit_rows::held_out(parameters, data, predict, part));
}

void print_by(const char* what, const rows& data, const std::vector<double>& residual) {
  std::map<std::string, std::vector<double>> by;
  for (std::size_t i = 0; i < data.size(); ++i) by[data[i].group].push_back(residual[i]);
  for (const auto& [group, r] : by) print_score(what, group, r);
}

void report_gemms(const rows& data) {
  const auto fit = fit_of(data);
  print_score("products, in sample", "rtx_pro_6000", fit.residual);
  print_score("shapes (n, k) left out", "rtx_pro_6000", fit.held_out);
  print_by("  left out", data, fit.held_out);
  print_held_out("kinds of layer left out", data, fit.profile.value,
                 [](const auto& r) { return r.layer; });
  print_held_out("models left out", data, fit.profile.value, [](const auto& r) { return r.model; });
  std::vector<double> bound, shipped, by_relative;
  const auto relative = pm::catalog::transferred_machine_profile(pm::catalog::rtx_pro_6000);
  for (const auto& r : data) {
    bound.push_back(std::log(r.seconds / pm::roofline(*r.device, r.product()).time.value()));
    shipped.push_back(log_ratio(r, pm::catalog::profile_rtx_pro_6000.value));
    by_relative.push_back(log_ratio(r, relative.value));
  }
  print_score("the bound", "rtx_pro_6000", bound);
  print_score("without its own profile", "rtx_pro_6000", by_relative);
  print_score("shipped", "rtx_pro_6000", shipped);
  published::print_coverage("rtx_pro_6000", fit.held_out, fit.profile.log_sigma);
  published::print_coverage("transferred to it", by_relative,
                            pm::catalog::transferred_gemm_log_sigmas(
                                pm::catalog::rtx_pro_6000, pm::catalog::measured_l40s)[0]);
  const auto line = [](const char* name, double value, double error) {
    std::printf("    %-22s %#9.4g +- %.2g\n", name, value, error);
  };
  const pm::machine_parameters &p = fit.profile.value, &s = fit.profile.standard_error;
  line("matrix_floor [us]", p.matrix_floor.value() * 1e6, s.matrix_floor.value() * 1e6);
  line("matrix_share", p.matrix_share, s.matrix_share);
  line("dram_share", p.dram_share, s.dram_share);
  line("operands [TB/s]", p.operand_bandwidth.value() * 1e-12, s.operand_bandwidth.value() * 1e-12);
  line("tile_fill [us]", p.tile_fill.value() * 1e6, s.tile_fill.value() * 1e6);
  line("split_cost [us]", p.split_cost.value() * 1e6, s.split_cost.value() * 1e6);
  line("power_slowdown", p.power_slowdown, s.power_slowdown);
}

/// What GEMMs in CUDA graphs say, given the shares of the peaks.
constexpr std::array<pm::fitted_parameter, 4> of_graph_gemms = {
    {{"matrix_floor [us]", 1.5, 0.1, 10.0},
     {"operands [TB/s]", 12.0, 2.0, 60.0},
     {"tile_fill [us]", 1.0, 0.0, 10.0},
     {"split_cost [us]", 2.0, 0.0, 20.0}}};

void report_graph_gemms(const std::vector<published::gemm_row>& data, const rows& eager) {
  using scalar = pm::dual<4>;
  const auto with = [](const auto& v) {
    using T = std::remove_cvref_t<decltype(v[0])>;
    auto p = pm::lift<T>(pm::catalog::profile_rtx_pro_6000.value);
    p.matrix_floor = v[0] * pm::us;
    p.operand_bandwidth = v[1] * pm::TB_per_s;
    p.tile_fill = v[2] * pm::us;
    p.split_cost = v[3] * pm::us;
    return p;
  };
  const auto device = pm::lift<scalar>(pm::catalog::rtx_pro_6000);
  const auto predict = [&](const std::array<scalar, 4>& v, std::size_t i) {
    return pm::calibrated_estimate(device, pm::lift<scalar>(data[i].workload), {with(v)},
                                   pm::replay_conditions(scalar(data[i].copies)))
        .time.value();
  };
  const auto measured = published::seconds_of(data);
  const auto fit = pm::fit_log_ratios(of_graph_gemms, std::span<const double>(measured), predict);
  print_score("GEMMs in graphs, in sample", "rtx_pro_6000", fit.residual);
  const auto held_out = fit_rows::held_out(of_graph_gemms, data, predict, [](const auto& r) {
    return std::to_string(static_cast<int>(r.workload.n * 7.0 + r.workload.k) % 5);
  });
  print_score("  shapes (n, k) left out", "rtx_pro_6000", held_out);
  published::print_coverage("rtx_pro_6000", held_out, pm::log_sigma_of(held_out));
  std::vector<double> outside;
  for (const auto& r : eager) outside.push_back(log_ratio(r, with(fit.value)));
  print_score("LLMServingSim's, outside", "rtx_pro_6000", outside);
  published::print_parameters(of_graph_gemms, fit);
}

/// Attention of RTX PRO 6000: the parameters of fit_attention.
struct attention_model {
  static constexpr std::size_t count = fit_rows::attention_model::count;
  static constexpr auto parameters = fit_rows::attention_model::parameters;

  template <class T>
  static pm::basic_attention_calibration<T> from(const pm::basic_accelerator<T>& a,
                                                 const std::array<T, count>& v) {
    const auto machine = pm::lift<T>(pm::catalog::profile_rtx_pro_6000.value);
    return {.machine = machine,
            .attention = {.floor = v[0] * pm::us,
                          .tile_latency = v[1] * pm::us,
                          .element_rate = v[2] * pm::GHz,
                          .matrix_share = v[3],
                          .l2_bandwidth = v[4] * fit_rows::attention_dram(a, machine)}};
  }
};

void report_attention(const std::vector<published::attention_row>& data) {
  using row = published::attention_row;
  const fit_rows::fit<attention_model, row> of(data);
  const auto fit = of.result();
  fit_rows::print_kinds("attention, in sample", "rtx_pro_6000", data, fit.residual);
  const auto heads = of.held_out([](const row& x) { return x.group; });
  fit_rows::print_kinds("  head counts left out", "rtx_pro_6000", data, heads);
  published::print_coverage("rtx_pro_6000", heads, pm::log_sigma_of(heads));
  published::print_parameters(attention_model::parameters, fit);
}

/// Fitted parameters of element-wise kernels: start and end times, L2 bandwidth, small table
/// lookups.
constexpr std::array<pm::fitted_parameter, 3> of_streaming = {
    {{"kernel_time [us]", 2.0, 0.5, 10.0},
     {"l2_bandwidth [TB/s]", 4.0, 0.5, 20.0},
     {"serial_lookup [us]", 0.3, 0.0, 2.0}}};

void report_streaming(const rows& data) {
  using scalar = pm::dual<3>;
  const auto device = pm::lift<scalar>(pm::catalog::rtx_pro_6000);
  const auto predict = [&](const std::array<scalar, 3>& v, std::size_t i) {
    auto machine = pm::lift<scalar>(pm::catalog::profile_rtx_pro_6000.value);
    machine.l2_bandwidth = v[1] * pm::TB_per_s;
    return data[i]
        .streamed(device, machine,
                  pm::basic_memory_bound_kernels<scalar>{.kernel_time = v[0] * pm::us,
                                                         .serial_lookup_time = v[2] * pm::us})
        .time.value();
  };
  const auto measured = published::seconds_of(data);
  const auto fit = pm::fit_log_ratios(of_streaming, std::span<const double>(measured), predict);
  print_score("streaming, in sample", "rtx_pro_6000", fit.residual);
  // Nothing but the embedding tells what look-ups take.
  const std::array<pm::fitted_parameter, 2> all_but_look_ups{of_streaming[0], of_streaming[1]};
  using pair = pm::dual<2>;
  const auto device_of_pair = pm::lift<pair>(pm::catalog::rtx_pro_6000);
  const auto predict_pair = [&](const std::array<pair, 2>& v, std::size_t i) {
    auto machine = pm::lift<pair>(pm::catalog::profile_rtx_pro_6000.value);
    machine.l2_bandwidth = v[1] * pm::TB_per_s;
    return data[i]
        .streamed(
            device_of_pair, machine,
            pm::basic_memory_bound_kernels<pair>{.kernel_time = v[0] * pm::us,
                                                 .serial_lookup_time = pair(fit.value[2]) * pm::us})
        .time.value();
  };
  print_score("kinds of layer left out", "rtx_pro_6000",
              fit_rows::held_out(all_but_look_ups, data, predict_pair,
                                 [](const workstation_row& r) { return r.layer; }));
  print_score("models and ranks left out", "rtx_pro_6000",
              fit_rows::held_out(of_streaming, data, predict,
                                 [](const workstation_row& r) { return r.source; }));
  print_by("  in sample", data, fit.residual);
  std::vector<double> bound;
  for (const auto& r : data) bound.push_back(std::log(r.seconds / r.bound().value()));
  print_score("the bound", "rtx_pro_6000", bound);
  published::print_parameters(of_streaming, fit);
}

/// Parameters of the remaining element-wise kernels of a step: head norms and sampler.
constexpr std::array<pm::fitted_parameter, 3> of_small_kernels = {
    {{"head_norm_cycles", 0.5, 0.0, 5.0},
     {"sampler_floor [us]", 15.0, 1.0, 100.0},
     {"sampler_passes", 2.0, 0.1, 20.0}}};

void report_small_kernels(const std::vector<published::small_kernel_row>& all) {
  using scalar = pm::dual<3>;
  std::vector<published::small_kernel_row> data;
  for (const auto& r : all) {
    if (r.layer == "qk_norm" || r.layer == "sampler") data.push_back(r);
  }
  const auto device = pm::lift<scalar>(pm::catalog::rtx_pro_6000);
  const auto machine = pm::lift<scalar>(pm::catalog::profile_rtx_pro_6000.value);
  const auto shipped = pm::lift<scalar>(pm::catalog::elementwise_kernels_rtx_pro_6000);
  const auto predict = [&](const std::array<scalar, 3>& v, std::size_t i) {
    auto s = shipped;
    s.head_norm_cycles = v[0];
    s.sampler_floor = v[1] * pm::us;
    s.sampler_passes = v[2];
    return data[i].predicted(device, machine, s);
  };
  const auto measured = published::seconds_of(data);
  const auto fit = pm::fit_log_ratios(of_small_kernels, std::span<const double>(measured), predict);
  published::print_parameters(of_small_kernels, fit);
  std::map<std::string, std::vector<double>> by;
  for (const auto& r : all) {
    const double t = r.predicted(pm::catalog::rtx_pro_6000, pm::catalog::profile_rtx_pro_6000.value,
                                 pm::catalog::elementwise_kernels_rtx_pro_6000);
    by[r.layer].push_back(std::log(r.seconds / t));
  }
  for (const auto& [layer, residual] : by) print_score("small kernels, shipped", layer, residual);
}

constexpr std::array<pm::fitted_parameter, 1> of_experts = {{{"buffer_share", 1.0, 0.1, 10.0}}};

/// Triton's experts as on Hopper, but for the rate of their buffers.
void report_experts(const std::vector<published::expert_row>& data) {
  using scalar = pm::dual<1>;
  const auto device = pm::lift<scalar>(pm::catalog::rtx_pro_6000);
  const auto machine = pm::lift<scalar>(pm::catalog::profile_rtx_pro_6000.value);
  const auto predict = [&](const std::array<scalar, 1>& v, std::size_t i) {
    auto k = pm::lift<scalar>(pm::catalog::triton_experts);
    k.buffer_share = v[0];
    return data[i].predicted(device, machine, k);
  };
  const auto measured = published::seconds_of(data);
  const auto fit = pm::fit_log_ratios(of_experts, std::span<const double>(measured), predict);
  std::vector<double> as_hopper;
  for (const auto& r : data) {
    const double t = r.predicted(pm::catalog::rtx_pro_6000, pm::catalog::profile_rtx_pro_6000.value,
                                 pm::catalog::triton_experts);
    as_hopper.push_back(std::log(r.seconds / t));
  }
  print_score("experts as on Hopper", "rtx_pro_6000", as_hopper);
  print_score("experts, in sample", "rtx_pro_6000", fit.residual);
  print_score("numbers of experts left out", "rtx_pro_6000",
              fit_rows::held_out(of_experts, data, predict,
                                 [](const published::expert_row& r) { return r.group; }));
  published::print_parameters(of_experts, fit);
}

constexpr std::array<pm::fitted_parameter, 5> of_mixed_attention = {
    {{"floor [us]", 3.0, 0.5, 30.0},
     {"tile_latency [us]", 2.0, 0.05, 20.0},
     {"idle_tile [us]", 0.3, 0.0, 3.0},
     {"matrix_share", 0.6, 0.1, 1.1},
     {"tail", 0.4, 0.0, 1.0}}};

void report_mixed_attention(const std::vector<published::mixed_attention_row>& data) {
  using scalar = pm::dual<5>;
  const auto device = pm::lift<scalar>(pm::catalog::rtx_pro_6000);
  const auto machine = pm::lift<scalar>(pm::catalog::profile_rtx_pro_6000.value);
  const auto predict = [&](const std::array<scalar, 5>& v, std::size_t i) {
    const pm::basic_mixed_attention_parameters<scalar> p{.floor = v[0] * pm::us,
                                                         .tile_latency = v[1] * pm::us,
                                                         .idle_tile = v[2] * pm::us,
                                                         .matrix_share = v[3],
                                                         .tail = v[4]};
    return pm::calibrated_estimate(device, pm::lift<scalar>(data[i].prompt),
                                   pm::lift<scalar>(data[i].decodes), {machine, p})
        .time.value();
  };
  const auto measured = published::seconds_of(data);
  const auto fit =
      pm::fit_log_ratios(of_mixed_attention, std::span<const double>(measured), predict);
  print_score("mixed attention, in sample", "rtx_pro_6000", fit.residual);
  const auto unseen = [&](const char* what, auto part) {
    print_score(what, "rtx_pro_6000", fit_rows::held_out(of_mixed_attention, data, predict, part));
  };
  using row = published::mixed_attention_row;
  unseen("models left out", [](const row& r) { return r.model; });
  unseen("numbers of decodes left out", [](const row& r) { return r.decodes_group; });
  unseen("chunks left out", [](const row& r) { return r.chunk_group; });
  std::vector<double> bound;
  for (const row& r : data)
    bound.push_back(std::log(r.seconds / r.bound(pm::catalog::rtx_pro_6000)));
  print_score("the bound", "rtx_pro_6000", bound);
  published::print_parameters(of_mixed_attention, fit);
  std::printf("    spread %.3g\n", pm::log_sigma_of(fit.residual));
}

}  // namespace

int run(const std::string& folder, bool) {
  const rows all = published::workstation_rows(folder);
  if (all.empty()) {
    std::puts("no published kernels of RTX PRO 6000 in that folder");
    return 1;
  }
  rows products, streaming;
  for (const auto& r : all) (r.is_gemm() ? products : streaming).push_back(r);
  report_gemms(products);
  if (const auto data = published::workstation_graph_gemms(folder); !data.empty())
    report_graph_gemms(data, products);
  if (const auto data = published::workstation_attention_rows(folder); !data.empty())
    report_attention(data);
  report_streaming(streaming);
  report_experts(published::expert_rows(folder));
  report_small_kernels(published::small_kernel_rows(folder));
  report_mixed_attention(published::mixed_attention_rows(folder));
  return 0;
}

}  // namespace fits::workstation
