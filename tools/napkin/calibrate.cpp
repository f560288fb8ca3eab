#include "calibrate.hpp"

#include <cmath>
#include <filesystem>
#include <perfmodel/kernels/catalog/transfer.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/tools/fit/scores.hpp>
#include <perfmodel/units/text.hpp>

#include "accelerator_file.hpp"
#include "fits.hpp"
#include "io/files.hpp"
#include "io/text_style.hpp"
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

/// Last part of a path, also where it ends in '/'.
std::string name_of_path(const std::string& path) {
  const std::filesystem::path p(path);
  return (p.has_filename() ? p : p.parent_path()).filename().string();
}

std::vector<std::string> score_row(const std::string& name, const std::vector<double>& residual) {
  const pm::prediction_score s = pm::score_of(residual);
  return {name,
          std::to_string(s.n),
          share_text(s.mean),
          share_text(s.median),
          share_text(s.p90),
          share_text(s.bias)};
}

/// ln(measured / bound) of each row.
std::vector<double> bound_residuals(const pm::accelerator& a,
                                    const std::vector<measured_gemm>& rows) {
  std::vector<double> out;
  for (const measured_gemm& r : rows)
    out.push_back(std::log(r.time / pm::roofline(a, r.product).time));
  return out;
}

/// ln(measured / predicted) of each row by a profile that has not seen it.
std::vector<double> residuals(const pm::accelerator& a, const std::vector<measured_gemm>& rows,
                              const pm::machine_parameters& by) {
  std::vector<double> out;
  for (const measured_gemm& r : rows) {
    const pm::duration<> predicted =
        pm::calibrated_estimate(a, r.product, {by, {}}, pm::replay_conditions(r.weight_copies))
            .time;
    out.push_back(std::log(r.time / predicted));
  }
  return out;
}

/// Names of the parameters that keep the shipped profile's value.
std::vector<std::string> kept_parameters(const pm::machine_fit& fit) {
  std::vector<std::string> out;
  std::size_t i = 0;
  pm::machine_parameters::fields(
      [&](const pm::field& about, const auto&) {
        if (i < fit.from_prior.size() && fit.from_prior[i]) out.emplace_back(about.name);
        ++i;
      },
      fit.profile.value);
  return out;
}

std::string parameters_text(const pm::machine_fit& fit) {
  table_rows rows = {{"parameter", "value", "standard error", ""}};
  std::size_t i = 0;
  pm::machine_parameters::fields(
      [&](const pm::field& about, const auto& value, const auto& standard_error) {
        using type = std::remove_cvref_t<decltype(value)>;
        const bool at_limit = i < fit.at_bound.size() && fit.at_bound[i];
        const bool fitted = i < fit.from_prior.size() && !fit.from_prior[i];
        ++i;
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
  std::string s = headed_table(rows, "lrrl");
  const std::vector<std::string> kept = kept_parameters(fit);
  if (kept.empty()) return s;
  if (fit.residual.empty()) {
    return s + "  No row is a GEMM latency: all parameters keep the shipped profile's values.\n";
  }
  return s + "  The rows do not identify " + listed(kept) +
         (kept.size() == 1 ? ", which keeps the shipped profile's value.\n"
                           : ", which keep the shipped profile's values.\n");
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

namespace {

/// "h100_sxm: 12 GEMM latencies in x.csv are predicted within 3 % on average (held out); ...".
std::string conclusion_text(const pm::accelerator& a, const std::string& source,
                            const pm::machine_fit& fit, const std::vector<measured_gemm>& rows) {
  if (rows.empty()) return cat(a.name.view(), ": ", source, "\n");
  return wrapped(cat(a.name.view(), ": ", source, " are predicted within ",
                     share_text(pm::score_of(fit.held_out).mean),
                     " on average (held out); their bound is off by ",
                     share_text(pm::score_of(bound_residuals(a, rows)).mean), "."),
                 0);
}

}  // namespace

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
  const gemm_latencies data = read_gemm_latencies(r.data, a, {r.gpu, r.backend});
  std::vector<measured_gemm> rows = data.fitted;
  rows.insert(rows.end(), data.verify.begin(), data.verify.end());
  if (!data.recorded) check_sizes(rows);
  std::vector<pm::gemm_measurement> measurements;
  for (const measured_gemm& x : rows) measurements.push_back({x.product, x.time, x.weight_copies});
  const pm::machine_profile shipped = pm::catalog::machine_profile_of(a);
  const pm::machine_fit fit = fit_gemm_profile(a, measurements, shipped);
  const std::string source =
      std::to_string(rows.size()) + " GEMM latencies in " + name_of_path(r.data);
  json content =
      profile_file_json(fit.profile, is_file(r.accelerator) ? r.accelerator : a.name.c_str(),
                        source, pm::score_of(fit.held_out));
  if (const auto kept = kept_parameters(fit); !kept.empty()) content["from_prior"] = kept;
  if (!r.out.empty()) {
    write_text_file("out", r.out,
                    content.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  }
  if (r.as_json) return write_json(content) + "\n";

  std::string s = styled(text_style::bold, conclusion_text(a, source, fit, rows));
  s += parameters_text(fit);
  table_rows scores = {{"", "rows", "mean", "median", "90th percentile", "bias"}};
  if (!rows.empty()) {
    scores.push_back(score_row("held out", fit.held_out));
    scores.push_back(score_row("in sample", fit.residual));
    scores.push_back(score_row("the shipped profile", residuals(a, rows, shipped.value)));
    scores.push_back(score_row("the bound", bound_residuals(a, rows)));
  }
  if (!data.verify.empty()) {
    const auto first = static_cast<std::ptrdiff_t>(data.fitted.size());
    scores.push_back(score_row("verification of drafts, held out",
                               {fit.held_out.begin() + first, fit.held_out.end()}));
    scores.push_back(score_row("verification of drafts, shipped profile",
                               residuals(a, data.verify, shipped.value)));
  }
  if (!data.warm.empty()) {
    scores.push_back(score_row("weights in L2", residuals(a, data.warm, fit.profile.value)));
    scores.push_back(
        score_row("weights in L2, shipped profile", residuals(a, data.warm, shipped.value)));
  }
  if (scores.size() > 1) s += "relative error\n" + headed_table(scores, "lr");
  const auto range = pm::range_of(pm::duration<>::from_value(1.0), fit.profile.log_sigma);
  s += "  80 % of measurements are expected at " + pm::detail::significant(range.low.value(), 3) +
       " to " + pm::detail::significant(range.high.value(), 3) + " times a prediction (log_sigma " +
       pm::detail::significant(fit.profile.log_sigma, 3) + ").\n";
  if (!r.out.empty()) s += "  written: " + one_line(r.out) + "\n";
  return s;
}

}  // namespace napkin
