// Fits the GEMM profile of a machine to measured GEMM latencies.
#pragma once

#include <algorithm>
#include <map>
#include <numeric>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <perfmodel/tools/fit/machine_fit.hpp>

namespace perfmodel::inline v0_3 {

/// Names, units and limits of the seven parameters, in the order of basic_machine_parameters.
/// A kernel takes at least 1 us; a share of peak is at most 1.1 (clocks can exceed the data sheet),
/// a share of DRAM bandwidth at most 1; operands arrive at 10 GB/s to 1 TB/s per SM.
inline std::array<fitted_parameter, 7> fitted_machine_parameters(const accelerator& a) {
  const double sms = detail::count("sms", a.sms.value());
  return {{{"matrix_floor [us]", 2.5, 1.0, 15.0},
           {"matrix_share", 0.85, 0.3, 1.1},
           {"dram_share", 0.85, 0.3, 1.0},
           {"operand_bandwidth [TB/s]", 0.1 * sms, 0.01 * sms, 1.0 * sms},
           {"tile_fill [us]", 1.0, 0.0, 10.0},
           {"split_cost [us]", 4.0, 0.0, 10.0},
           {"power_slowdown", 0.2, 0.0, 2.0}}};
}

/// Machine parameters from numbers in the units of fitted_machine_parameters; `l2` is not fitted.
template <Scalar T>
constexpr basic_machine_parameters<T> machine_parameters_of(
    const std::array<T, 7>& v, const std::optional<perfmodel::bandwidth<>>& l2) {
  basic_machine_parameters<T> p;
  p.matrix_floor = v[0] * us;
  p.matrix_share = v[1];
  p.dram_share = v[2];
  p.operand_bandwidth = v[3] * TB_per_s;
  p.tile_fill = v[4] * us;
  p.split_cost = v[5] * us;
  p.power_slowdown = v[6];
  if (l2) p.l2_bandwidth = lift<T>(*l2);
  return p;
}

namespace detail {
/// Refuses an invalid GEMM, with the number of its row.
inline void check_row(const gemm_measurement& r, std::size_t i) {
  try {
    demand_of(r.workload);
    not_negative("weight_copies", r.weight_copies);
  } catch (const error& e) {
    throw error(e.code(), "measurement " + std::to_string(i + 1) + ": " + e.what());
  }
}
}  // namespace detail

/// Measured GEMMs as the fits need them: `shape[i]` numbers the (n, k) of row i.
struct gemm_rows {
  std::vector<double> seconds{};
  std::vector<std::size_t> shape{};
  std::vector<basic_gemm<dual<7>>> gemms{};
};

inline gemm_rows gemm_rows_of(std::span<const gemm_measurement> rows) {
  gemm_rows out;
  std::map<std::pair<double, double>, std::size_t> shapes;
  for (const gemm_measurement& r : rows) {
    detail::check_row(r, out.seconds.size());
    out.seconds.push_back(r.time.value());
    out.gemms.push_back(lift<dual<7>>(r.workload));
    const std::pair<double, double> nk{r.workload.n, r.workload.k};
    out.shape.push_back(shapes.try_emplace(nk, shapes.size()).first->second);
  }
  return out;
}

namespace detail {
/// Time of one row in seconds.
template <Scalar T>
constexpr T row_time(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                     const gemm_measurement& row, const basic_machine_parameters<T>& p) {
  return calibrated_estimate(a, g, {p}, replay_conditions(T(row.weight_copies))).time.value();
}
}  // namespace detail

/// Bandwidth of operands to an SM in TB/s at which a search starts: which tiles are selected
/// depends on it, so the cost has several minima.
inline constexpr double operand_starts[] = {0.04, 0.1, 0.2, 0.4, 0.8};

/// Fits the seven parameters of an accelerator to its rows.
/// The selected tiles depend on the operand bandwidth, so the cost has several minima: the search
/// starts from five values and returns the best. `l2`: bandwidth of the L2 where it is known,
/// because GEMMs depend little on it.
/// *Source:* fit_log_ratios.
/// *Errors:* as fit_log_ratios, among them too few rows, rows of one size, rows of one regime, a
/// wrong unit; a time that is not positive; an invalid GEMM or weight_copies; an accelerator
/// without sms.
/// *Test:* the H100's published rows give the shipped profile.
inline machine_fit fit_machine(const accelerator& a, std::span<const gemm_measurement> rows,
                               std::optional<std::size_t> folds = 5,
                               const std::optional<perfmodel::bandwidth<>>& l2 = {}) {
  using scalar = dual<7>;
  const auto [seconds, shape, gemms] = gemm_rows_of(rows);
  const auto device = lift<scalar>(a);
  const auto predict = [&, &gemms = gemms](const std::array<scalar, 7>& v, std::size_t i) {
    return detail::row_time(device, gemms[i], rows[i], machine_parameters_of(v, l2));
  };
  auto parameters = fitted_machine_parameters(a);
  const std::span<const double> measured(seconds);
  fit_result<7> best;
  error refusal(error_code::unidentifiable, "");
  for (const double per_sm : operand_starts) {
    parameters[3].start = per_sm * a.sms.value();
    try {
      auto fit = fit_log_ratios(parameters, measured, predict);
      if (best.residual.empty() || fit.cost < best.cost) best = std::move(fit);
    } catch (const error& e) {  // unidentifiable at this minimum; another start may identify it
      if (e.code() != error_code::unidentifiable) throw;
      refusal = e;
    }
  }
  if (best.residual.empty()) throw refusal;
  machine_fit out;
  parameters[3].start = best.value[3];
  out.held_out =
      held_out_residuals(parameters, measured, std::span<const std::size_t>(shape), predict, folds);
  out.profile.name = a.name;
  out.profile.value = machine_parameters_of(best.value, l2);
  out.profile.standard_error = machine_parameters_of(best.standard_error, {});
  out.profile.log_sigma = log_sigma_of(out.held_out);
  out.at_bound = best.at_bound;
  out.residual = std::move(best.residual);
  return out;
}

namespace detail {
/// Parameters as numbers in the units of fitted_machine_parameters.
inline std::array<double, 7> numbers_of(const machine_parameters& p) {
  return {p.matrix_floor / us, p.matrix_share,    p.dram_share,    p.operand_bandwidth / TB_per_s,
          p.tile_fill / us,    p.split_cost / us, p.power_slowdown};
}
}  // namespace detail

/// Fits a machine's parameters to any number of rows. Parameters that they do not identify keep the
/// values of `prior`, the profile in use before, and are marked in `from_prior`; so does the L2
/// bandwidth. `held_out`: residuals by fits of the same kind without the row's (n, k), in `folds`
/// folds; with one (n, k) alone, by the prior. The profile's log_sigma is theirs, and the prior's
/// where there are no rows.
/// *Source:* fit_from_prior, with a standard error of at most a quarter of the parameter's range.
/// *Errors:* as fit_log_ratios, but none for too few or too similar rows; an invalid GEMM or
/// weight_copies; an accelerator without sms.
/// *Test:* every recording of the project's H200s, and the whole folder; tests/cli/calibrate.sh.
inline machine_fit fit_machine_from_prior(const accelerator& a,
                                          std::span<const gemm_measurement> rows,
                                          const machine_profile& prior, std::size_t folds = 5) {
  using scalar = dual<7>;
  const gemm_rows data = gemm_rows_of(rows);
  const auto device = lift<scalar>(a);
  const auto& l2 = prior.value.l2_bandwidth;
  const std::array<double, 7> known = detail::numbers_of(prior.value);
  const fit_options options{.largest_error = 0.25};
  auto parameters = fitted_machine_parameters(a);
  for (std::size_t j = 0; j < 7; ++j) {
    parameters[j].start = (std::clamp)(known[j], parameters[j].lower, parameters[j].upper);
  }
  const auto fit_to = [&](const std::vector<std::size_t>& selected) {
    std::vector<double> seconds;
    for (const std::size_t i : selected) seconds.push_back(data.seconds[i]);
    const auto predict = [&](const std::array<scalar, 7>& v, std::size_t row) {
      const std::size_t i = selected[row];
      return detail::row_time(device, data.gemms[i], rows[i], machine_parameters_of(v, l2));
    };
    auto best =
        fit_from_prior(parameters, known, std::span<const double>(seconds), predict, options);
    for (const double per_sm : operand_starts) {
      auto from = parameters;
      from[3].start = per_sm * a.sms.value();
      auto fit = fit_from_prior(from, known, std::span<const double>(seconds), predict, options);
      if (fit.cost < best.cost) best = std::move(fit);
    }
    return best;
  };
  std::vector<std::size_t> all(rows.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const fit_result<7> best = fit_to(all);
  machine_fit out;
  out.profile = prior;
  out.profile.name = a.name;
  out.profile.value = machine_parameters_of(best.value, l2);
  out.profile.standard_error = machine_parameters_of(best.standard_error, {});
  out.at_bound = best.at_bound;
  out.from_prior = best.from_prior;
  out.residual = best.residual;
  const std::size_t shapes =
      rows.empty() ? 0 : *std::max_element(data.shape.begin(), data.shape.end()) + 1;
  folds = (std::min)(folds, shapes);
  out.held_out.resize(rows.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<std::size_t> others;
    for (const std::size_t i : all) {
      if (data.shape[i] % folds != fold) others.push_back(i);
    }
    const machine_parameters p = machine_parameters_of(fit_to(others).value, l2);
    for (const std::size_t i : all) {
      if (data.shape[i] % folds != fold) continue;
      out.held_out[i] =
          detail::log_ratio(data.seconds[i], detail::row_time(a, rows[i].workload, rows[i], p), i);
    }
  }
  if (!rows.empty()) out.profile.log_sigma = log_sigma_of(out.held_out);
  return out;
}

}  // namespace perfmodel::inline v0_3
