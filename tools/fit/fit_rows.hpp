// What the fits of attention and of expert blocks have in common: fit, hold out, score, print.
#pragma once

#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <string>
#include <vector>

#include "published.hpp"

namespace fit_rows {

namespace pm = perfmodel;

/// Residuals of rows by a fit without the rows of their part, by name; none for rows of one part.
template <std::size_t N, class Row, class Predict, class Part>
std::vector<double> held_out(const std::array<pm::fitted_parameter, N>& parameters,
                             const std::vector<Row>& rows, Predict&& predict, Part&& part,
                             const pm::fit_options& options = {}) {
  std::map<std::string, std::size_t> parts;
  std::vector<std::size_t> group;
  for (const Row& r : rows) group.push_back(parts.emplace(part(r), parts.size()).first->second);
  if (parts.size() < 2) return {};
  const std::vector<double> measured = published::seconds_of(rows);
  return pm::held_out_residuals(parameters, std::span<const double>(measured),
                                std::span<const std::size_t>(group), predict, {}, options);
}

/// Rows of one machine with the parameters that Model names: Model::count, Model::parameters and
/// Model::from(device, values) -> what row.estimate(device, .) takes.
template <class Model, class Row>
class fit {
 public:
  explicit fit(std::vector<Row> rows)
      : rows_(std::move(rows)), device_(pm::lift<point>(*rows_.front().device)) {}

  auto result() const {
    // What the rows leave open is printed as such, and does not stop the rest.
    pm::fit_options options;
    options.largest_error = std::numeric_limits<double>::infinity();
    const std::vector<double> measured = published::seconds_of(rows_);
    return pm::fit_log_ratios(Model::parameters, std::span<const double>(measured), predictor(),
                              options);
  }
  template <class Part>
  std::vector<double> held_out(Part&& part) const {
    return fit_rows::held_out(Model::parameters, rows_, predictor(), part);
  }

 private:
  using point = pm::dual<Model::count>;
  auto predictor() const {
    return [this](const std::array<point, Model::count>& v, std::size_t i) {
      return rows_[i].estimate(device_, Model::from(device_, v)).time.value();
    };
  }

  std::vector<Row> rows_;
  pm::basic_accelerator<point> device_;
};

using published::print_score;

/// Prints each kind of row for itself: residuals in the order of `rows`.
template <class Row>
void print_kinds(const std::string& what, const std::string& who, const std::vector<Row>& rows,
                 const std::vector<double>& residual) {
  std::map<std::string, std::vector<double>> kinds;
  for (std::size_t i = 0; i < rows.size(); ++i) kinds[rows[i].kind()].push_back(residual[i]);
  for (const auto& [kind, r] : kinds) print_score(what, who + " " + kind, r);
}

/// The machine profile; attention has the same share of DRAM bandwidth.
inline const pm::machine_parameters& machine_of(const pm::label& accelerator) {
  for (const pm::catalog::measured_machine* m : pm::catalog::measured_machines) {
    if (m->device().name == accelerator) return m->machine->value;
  }
  throw pm::error(pm::error_code::unknown_accelerator, accelerator.c_str());
}

/// What attention gets from DRAM.
template <class T>
pm::bandwidth<T> attention_dram(const pm::basic_accelerator<T>& a,
                                const pm::basic_machine_parameters<T>& m) {
  return pm::attention_dram_gain * m.dram_share * a.dram.bandwidth.quantity();
}

/// What is fitted of attention, and within which limits.
struct attention_model {
  static constexpr std::size_t count = 5;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      {{"floor [us]", 6.0, 0.5, 50.0},
       {"tile_latency [us]", 3.0, 0.05, 50.0},
       {"element_rate [1/ns]", 25.0, 2.0, 500.0},
       {"matrix_share", 0.8, 0.2, 1.2},
       {"l2_bandwidth over DRAM's", 2.0, 1.0, 12.0}}};

  template <class T>
  static pm::basic_attention_calibration<T> from(const pm::basic_accelerator<T>& a,
                                                 const std::array<T, count>& v) {
    const auto machine = pm::lift<T>(machine_of(a.name));
    return {.machine = machine,
            .attention = {.floor = v[0] * pm::us,
                          .tile_latency = v[1] * pm::us,
                          .element_rate = v[2] * pm::GHz,
                          .matrix_share = v[3],
                          .l2_bandwidth = v[4] * attention_dram(a, machine)}};
  }
};
/// The profile with a known L2 bandwidth: that of the machine profile on Hopper, that of DRAM on
/// A100, which has no row with a KV cache resident in L2.
struct attention_model_of_known_l2 {
  static constexpr std::size_t count = 4;
  static constexpr std::array<pm::fitted_parameter, count> parameters = {
      attention_model::parameters[0], attention_model::parameters[1],
      attention_model::parameters[2], attention_model::parameters[3]};

  template <class T>
  static pm::basic_attention_calibration<T> from(const pm::basic_accelerator<T>& a,
                                                 const std::array<T, count>& v) {
    auto c = attention_model::from(a, std::array<T, 5>{v[0], v[1], v[2], v[3], T(1.0)});
    c.attention.l2_bandwidth = c.machine.l2_bandwidth;
    if (a.architecture == pm::chip_architecture::ampere) {
      c.attention.l2_bandwidth = attention_dram(a, c.machine);
    }
    return c;
  }
  static bool is_of(const pm::accelerator& a) {
    return a.architecture == pm::chip_architecture::ampere ||
           a.architecture == pm::chip_architecture::hopper;
  }
};

}  // namespace fit_rows
