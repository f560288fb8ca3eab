// Fits the L2 bandwidth of a machine to element-wise kernels replayed over the same tensors.
// Fits the costs of kernels that load one element at a time to layers of real models; scores both.
//   fit elementwise [folder of the measurements]
#include <cmath>
#include <cstdio>
#include <map>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/roofline.hpp>
#include <set>

#include "fit_rows.hpp"
#include "fits.hpp"
#include "published_elementwise.hpp"

namespace fits::elementwise {

namespace {

namespace pm = perfmodel;
using published::elementwise_row;

pm::machine_parameters machine_of(const elementwise_row& r) {
  return pm::catalog::machine_profile_of(*r.device).value;
}

/// The L2's bandwidth, from rows that fit it twice over.
void fit_l2(const std::string& gpu, const std::vector<elementwise_row>& rows) {
  using point = pm::dual<1>;
  const auto device = pm::lift<point>(*rows.front().device);
  const auto predict = [&](const std::array<point, 1>& v, std::size_t i) {
    auto machine = pm::lift<point>(machine_of(rows[i]));
    machine.elementwise_l2_bandwidth = v[0] * pm::TB_per_s;
    return rows[i].estimate(device, machine, pm::lift<point>(rows[i].kernels)).time.value();
  };
  const auto t = published::seconds_of(rows);
  const auto fit = pm::fit_log_ratios(
      std::array<pm::fitted_parameter, 1>{{{"l2_bandwidth [TB/s]", 4.0, 0.5, 20.0}}},
      std::span<const double>(t), predict);
  published::print_score("tensors in L2", gpu, fit.residual);
  std::printf("    l2_bandwidth %#.4g +- %.2g TB/s\n", fit.value[0], fit.standard_error[0]);
}

/// What an element costs where it is loaded alone, over all machines.
void fit_scalar_kernels(const std::vector<elementwise_row>& rows) {
  using point = pm::dual<4>;
  std::map<std::string, pm::basic_accelerator<point>> devices;
  std::set<std::string> operators;
  for (const auto& r : rows) {
    devices.emplace(r.gpu, pm::lift<point>(*r.device));
    if (!r.is_lookup()) operators.insert(r.op);
  }
  const auto predict = [&](const std::array<point, 4>& v, std::size_t i) {
    const pm::basic_memory_bound_kernels<point> k{.kernel_time = v[0] * pm::us,
                                                  .element_cycles = v[1],
                                                  .lookup_cycles = v[2],
                                                  .serial_lookup_time = v[3] * pm::us};
    return rows[i]
        .estimate(devices.at(rows[i].gpu), pm::lift<point>(machine_of(rows[i])), k)
        .time.value();
  };
  const std::array<pm::fitted_parameter, 4> p{{{"kernel_time [us]", 3.0, 1.0, 10.0},
                                               {"element_cycles", 0.6, 0.0, 5.0},
                                               {"lookup_cycles", 1.8, 0.0, 10.0},
                                               {"serial_lookup [us]", 0.5, 0.0, 5.0}}};
  const auto t = published::seconds_of(rows);
  const auto fit = pm::fit_log_ratios(p, std::span<const double>(t), predict);
  published::print_score("one element at a time", "in sample", fit.residual);
  published::print_score(
      "one element at a time", "accelerators held out",
      fit_rows::held_out(p, rows, predict, [](const elementwise_row& r) { return r.gpu; }));
  published::print_score(
      "one element at a time", "models held out",
      fit_rows::held_out(p, rows, predict, [](const elementwise_row& r) { return r.model; }));
  published::print_score("one element at a time", "sizes held out",
                         fit_rows::held_out(p, rows, predict, [](const elementwise_row& r) {
                           return std::to_string(static_cast<int>(std::log2(r.seconds * 1e6)));
                         }));
  // One operator left out at a time, but look-ups: nothing else tells what those take.
  std::vector<double> unseen;
  for (const std::string& left_out : operators) {
    std::vector<double> kept;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].op == left_out) continue;
      kept.push_back(t[i]);
      index.push_back(i);
    }
    const auto others = pm::fit_log_ratios(
        p, std::span<const double>(kept),
        [&](const std::array<point, 4>& v, std::size_t i) { return predict(v, index[i]); });
    std::array<point, 4> found;
    for (std::size_t j = 0; j < found.size(); ++j) found[j] = point(others.value[j]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].op == left_out) unseen.push_back(std::log(t[i] / predict(found, i).value()));
    }
  }
  published::print_score("one element at a time", "operators held out", unseen);
  published::print_parameters(p, fit);
  std::printf("    spread %.2g\n", pm::log_sigma_of(fit.residual));
}

}  // namespace

int run(const std::string& folder, bool) {
  const auto all = published::elementwise_rows(folder);
  if (all.empty()) {
    std::puts("no published element-wise latencies in that folder");
    return 1;
  }
  std::map<std::string, std::vector<elementwise_row>> in_l2;
  std::vector<elementwise_row> scalar;
  std::map<std::string, std::vector<double>> score, bound;
  for (const auto& r : all) {
    const auto e = r.estimate(*r.device, machine_of(r), r.kernels);
    std::string who = r.gpu;
    who += ' ';
    who += r.source;
    who += ' ';
    who += r.op;
    score[who].push_back(std::log(r.seconds / e.time.value()));
    bound[who].push_back(std::log(r.seconds / pm::roofline(*r.device, r.demand()).time.value()));
    const double bytes = r.demand().dram.total().value();
    if (r.op == "small kernel" && bytes < 0.5 * r.device->l2.capacity.value()) {
      in_l2[r.gpu].push_back(r);
    }
    if (r.kernels.element_cycles > 0.0) scalar.push_back(r);
  }
  for (const auto& [gpu, rows] : in_l2) fit_l2(gpu, rows);
  fit_scalar_kernels(scalar);
  for (const auto& [who, residual] : score) {
    published::print_score("the bound", who, bound[who]);
    published::print_score("shipped", who, residual);
  }
  return 0;
}

}  // namespace fits::elementwise
