// napkin calibrate --runs: the engine parameters of a service from a few of its benchmark runs.
#include <algorithm>
#include <cmath>
#include <perfmodel/kernels/catalog/uncertainty.hpp>
#include <perfmodel/units/text.hpp>

#include "accelerator_file.hpp"
#include "calibrate.hpp"
#include "fits.hpp"
#include "io/files.hpp"
#include "io/text_style.hpp"
#include "output.hpp"
#include "service_profile.hpp"
#include "service_runs.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Checks that all runs have the same model, engine and layout.
void check_same(const std::vector<read_run>& runs) {
  const pm::deployment& first = runs.front().run.deployment;
  for (const read_run& r : runs) {
    const pm::deployment& d = r.run.deployment;
    const auto other = [&](const char* what) {
      throw error(error_code::inconsistent,
                  cat(r.where, ": ", what, " differs from that of ", runs.front().where,
                      "; all runs must be of one service"));
    };
    if (!(d.device.name == first.device.name)) other("the accelerator");
    if (!(d.model.name == first.model.name)) other("the model");
    if (d.serving_engine != first.serving_engine) other("the engine");
    const pm::parallel_layout &a = d.layout, &b = first.layout;
    const bool same = a.tensor == b.tensor && a.pipeline == b.pipeline && a.expert == b.expert &&
                      a.data == b.data;
    if (!same) other("the layout");
  }
}

std::string value_text(pm::service_parameter p, double x) {
  if (file_key(p) != name_of(p)) return pm::to_string(x * pm::second);
  return pm::detail::significant(x, 4);
}

std::string parameters_text(const pm::engine_profile& shipped,
                            const pm::service_calibration& found) {
  table_rows rows = {
      {"parameter", "shipped", "now", "standard error", "information from the runs"}};
  for (std::size_t i = 0; i < pm::service_parameters; ++i) {
    const auto p = static_cast<pm::service_parameter>(i);
    const double now = value_of(found.posterior.engine, p);
    const double sigma = found.posterior.standard_error[i] * (is_factor(p) ? now : 1.0);
    rows.push_back({name_of(p), value_text(p, value_of(shipped, p)), value_text(p, now),
                    value_text(p, sigma),
                    cat(std::lround(100.0 * found.variance_removed[i]), " %")});
  }
  return headed_table(rows, "lrrrr");
}

/// "overloaded", where the prediction of a run has no steady state.
std::string error_text(const std::optional<double>& residual, const pm::feasibility& f) {
  if (!has_latencies(f)) return std::string_view(f.unit) == "req/s" ? "overloaded" : "does not fit";
  if (!residual) return "-";
  const double off = 100.0 * (std::exp(-*residual) - 1.0);
  return cat(off < 0.0 ? "" : "+", pm::detail::significant(off, 2), " %");
}

std::string runs_text(const std::vector<read_run>& runs, const pm::service_calibration& c) {
  table_rows rows = {{"run", "ITL before", "after", "TTFT before", "after"}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows.push_back({runs[i].where.substr(runs[i].where.find_last_of('/') + 1),
                    error_text(c.token_before[i], c.feasible_before[i]),
                    error_text(c.token_after[i], c.feasible_after[i]),
                    error_text(c.first_token_before[i], c.feasible_before[i]),
                    error_text(c.first_token_after[i], c.feasible_after[i])});
  }
  const auto out =
      std::ranges::count_if(c.feasible_before, [](const auto& f) { return !has_latencies(f); });
  std::string text = headed_table(rows, "lrrrr");
  if (out > 0) {
    text += cat("  excluded from the fit (no predicted latencies): ", out, " of ", runs.size(),
                " runs\n");
  }
  return text;
}

/// Mean relative error of the predictions that a run has; empty where none has one.
template <class Residuals>
std::optional<double> mean_error(const Residuals& residuals) {
  double sum = 0.0;
  int n = 0;
  for (const std::optional<double>& r : residuals) {
    if (!r) continue;
    sum += std::abs(std::exp(-*r) - 1.0);
    ++n;
  }
  return n > 0 ? std::optional(sum / n) : std::nullopt;
}

/// "mean error of ITL 17 % before and 0.2 % after, of TTFT 16 % and 0.5 %".
std::string errors_text(const pm::service_calibration& c) {
  std::string s;
  const auto add = [&s](const char* what, const auto& before, const auto& after) {
    const auto a = mean_error(before), b = mean_error(after);
    if (a && b)
      s += cat(s.empty() ? "mean error of " : ", of ", what, " ", share_text(*a), " before and ",
               share_text(*b), " after");
  };
  add("ITL", c.token_before, c.token_after);
  add("TTFT", c.first_token_before, c.first_token_after);
  return s.empty() ? "no run has a prediction" : s;
}

/// Non-identifiable parameters: pairs, and parameters with little information in the runs.
std::string open_text(const pm::service_calibration& c) {
  std::string s;
  for (const auto& [a, b] : c.correlated) {
    s += cat("  not separately identified: ", name_of(a), " and ", name_of(b),
             "; add runs at other concurrencies and lengths\n");
  }
  std::vector<std::string_view> silent, widened;
  for (std::size_t i = 0; i < pm::service_parameters; ++i) {
    const char* name = name_of(static_cast<pm::service_parameter>(i));
    if (c.variance_removed[i] < 0.1) silent.push_back(name);
    if (c.prior_scale[i] > 1.0) widened.push_back(name);
  }
  if (!widened.empty())
    s += cat("  unlike published services of this engine: ", listed(widened), "\n");
  if (!silent.empty())
    s += cat("  not identified by these runs, shipped value kept: ", listed(silent), "\n");
  return s;
}

std::string uncertainty_text(const char* what, double log_sigma) {
  const auto range = pm::range_of(pm::duration<>::from_value(1.0), log_sigma);
  return cat("  80 % of further runs are expected at ",
             pm::detail::significant(range.low.value(), 3), " to ",
             pm::detail::significant(range.high.value(), 3), " times the predicted ", what, "\n");
}

}  // namespace

std::string calibrate_runs(const calibrate_request& r) {
  for (const auto& [option, given] :
       {std::pair{"data", &r.data}, {"gpu", &r.gpu}, {"backend", &r.backend}}) {
    if (given->empty()) continue;
    throw error(error_code::inconsistent,
                cat(option, " selects GEMM latencies; not allowed with --runs"));
  }
  if (!r.out.empty()) check_out(r.out, r.runs);
  json constants = r.constants;
  constants["accelerator"] = r.accelerator;
  const std::vector<read_run> read = read_runs(r.runs, constants);
  check_same(read);
  std::vector<pm::service_run> runs;
  for (const read_run& one : read) runs.push_back(one.run);

  const pm::deployment& d = runs.front().deployment;
  const calibration c =
      calibration_of(d.device, profile_part::all, pm::name_of(d.serving_engine), nullptr);
  const auto found = fit_service(runs, c.calibration);
  own_service own{.model = d.model.name.c_str(),
                  .by = d.serving_engine,
                  .tensor = d.layout.tensor,
                  .pipeline = d.layout.pipeline,
                  .expert = d.layout.expert,
                  .data = d.layout.data,
                  .token_log_sigma = found.posterior.token_log_sigma,
                  .first_token_log_sigma = found.posterior.first_token_log_sigma};
  const std::string& first = r.runs.front();
  const std::string source =
      cat(runs.size(), runs.size() == 1 ? " run" : " runs", " in ",
          first.substr(first.find_last_of('/') + 1), r.runs.size() > 1 ? " and others" : "");
  const json content =
      service_profile_json(own, is_file(r.accelerator) ? r.accelerator : d.device.name.c_str(),
                           source, c.calibration.engine, found);
  if (!r.out.empty()) {
    write_text_file("out", r.out,
                    content.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  }
  if (r.as_json) return write_json(content) + "\n";
  std::string s = styled(
      text_style::bold,
      wrapped(cat(d.model.name.view(), " on ", d.device.name.view(), " by ",
                  pm::name_of(d.serving_engine), ", ", source, ": ", errors_text(found), "."),
              0));
  s += parameters_text(c.calibration.engine, found) + open_text(found);
  s += "error of the prediction\n" + runs_text(read, found);
  s += uncertainty_text("inter-token latency", own.token_log_sigma);
  s += uncertainty_text("time to first token", own.first_token_log_sigma);
  if (!r.out.empty()) s += "  written: " + one_line(r.out) + "\n";
  return s;
}

}  // namespace napkin
