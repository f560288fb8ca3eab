#include "calibrate.hpp"

#include <cmath>
#include <filesystem>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/calibrate_machine.hpp>
#include <perfmodel/units/text.hpp>

#include "accelerator_file.hpp"
#include "io/files.hpp"
#include "measurements.hpp"
#include "output.hpp"
#include "profile_file.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;
/// Checks that sizes vary: one size cannot separate launch overhead from throughput.
void check_sizes(const std::vector<measured_gemm>& rows) {
  for (const measured_gemm& r : rows) {
    const pm::gemm &x = r.product, &first = rows.front().product;
    if (x.m != first.m || x.n != first.n || x.k != first.k) return;
  }
  if (rows.size() < 2) {
    throw error(error_code::unidentifiable,
                "there is one measurement; it cannot separate launch overhead from throughput: add "
                "other sizes, from launch-bound to compute-bound");
  }
  throw error(error_code::unidentifiable,
              "all " + std::to_string(rows.size()) +
                  " measurements are of one size; add others, from launch-bound to "
                  "compute-bound");
}

std::vector<std::string> score_row(const char* name, const std::vector<double>& residual) {
  const pm::prediction_score s = pm::score_of(residual);
  return {name, share_text(s.mean), share_text(s.median), share_text(s.p90), share_text(s.bias)};
}

/// ln(measured / bound) of each row.
std::vector<double> bound_residuals(const pm::accelerator& a,
                                    const std::vector<measured_gemm>& rows) {
  std::vector<double> out;
  for (const measured_gemm& r : rows)
    out.push_back(std::log(r.time / pm::roofline(a, r.product).time));
  return out;
}

std::string parameters_text(const pm::machine_fit& fit) {
  table_rows rows = {{"parameter", "value", "standard error", ""}};
  std::size_t i = 0;
  pm::machine_parameters::fields(
      [&](const pm::field& about, const auto& value, const auto& standard_error) {
        using type = std::remove_cvref_t<decltype(value)>;
        const bool at_limit = i < fit.at_bound.size() && fit.at_bound[i];
        const bool fitted = i++ < fit.at_bound.size();
        const char* remark = at_limit ? "at its limit" : fitted ? "" : "from the shipped profile";
        if constexpr (pm::detail::is_optional<type>) {
          if (value) rows.push_back({about.name, pm::to_string(*value), "-", remark});
        } else if constexpr (pm::Quantity<type>) {
          rows.push_back({about.name, pm::to_string(value),
                          fitted ? pm::to_string(standard_error) : "-", remark});
        } else {
          rows.push_back({about.name, pm::detail::significant(value, 4),
                          fitted ? pm::detail::significant(standard_error, 2) : "-", remark});
        }
      },
      fit.profile.value, fit.profile.standard_error);
  return table(rows, "lrrl");
}

}  // namespace

void check_out(const std::string& out, const std::vector<std::string>& measured) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  const auto status = fs::status(out, unknown);
  if (!fs::exists(status)) return;
  if (!fs::is_regular_file(status) && !fs::is_character_file(status)) {
    unreadable("out", out, "is not a file");
  }
  for (const std::string& file : measured) {
    if (!fs::equivalent(out, file, unknown)) continue;
    throw error(error_code::inconsistent,
                "out: " + in_quotes(out) + " is the file of the measurements; give another file");
  }
}

std::string calibrate(const calibrate_request& r) {
  if (!r.runs.empty()) return calibrate_runs(r);
  if (r.data.empty())
    throw error(code::missing_key, "data is missing; or give runs (--data, --runs)");
  if (!r.constants.empty()) {
    throw error(error_code::inconsistent,
                cat(r.constants.begin().key(), " is a key of --runs; --data has GEMM latencies"));
  }
  const found_accelerator chip = named_accelerator(r.accelerator);
  const pm::accelerator& a = *chip;
  if (!r.out.empty()) check_out(r.out, {r.data});
  const std::vector<measured_gemm> rows = read_gemm_latencies(r.data, a, {r.gpu, r.backend});
  check_sizes(rows);
  std::vector<pm::gemm_measurement> measurements;
  for (const measured_gemm& x : rows) measurements.push_back({x.product, x.time, x.weight_copies});
  constexpr std::size_t folds = 5;
  // GEMM latencies do not identify the L2 rate: it is the catalogue profile's.
  const pm::machine_fit fit =
      pm::fit_machine(a, std::span<const pm::gemm_measurement>(measurements), folds,
                      pm::catalog::machine_profile_of(a).value.l2_bandwidth);
  const std::string source = std::to_string(rows.size()) + " GEMM latencies in " +
                             r.data.substr(r.data.find_last_of('/') + 1);
  const json content =
      profile_file_json(fit.profile, is_file(r.accelerator) ? r.accelerator : a.name.c_str(),
                        source, pm::score_of(fit.held_out));
  if (!r.out.empty()) {
    write_text_file("out", r.out,
                    content.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  }
  if (r.as_json) return write_json(content) + "\n";

  std::string s = wrapped(cat(a.name.view(), ": ", source, " are predicted within ",
                              share_text(pm::score_of(fit.held_out).mean),
                              " on average (held out); their bound is off by ",
                              share_text(pm::score_of(bound_residuals(a, rows)).mean), "."),
                          0);
  s += parameters_text(fit);
  s += "relative error\n" + table({{"", "mean", "median", "90th percentile", "bias"},
                                   score_row("held out", fit.held_out),
                                   score_row("in sample", fit.residual),
                                   score_row("the bound", bound_residuals(a, rows))},
                                  "lr");
  const auto range = pm::range_of(pm::duration<>::from_value(1.0), fit.profile.log_sigma);
  s += "  80 % of measurements are expected at " + pm::detail::significant(range.low.value(), 3) +
       " to " + pm::detail::significant(range.high.value(), 3) + " times a prediction (log_sigma " +
       pm::detail::significant(fit.profile.log_sigma, 3) + ").\n";
  if (!r.out.empty()) s += "  written: " + one_line(r.out) + "\n";
  return s;
}

}  // namespace napkin
