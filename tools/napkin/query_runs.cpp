#include "query_runs.hpp"

#include <iostream>
#include <optional>
#include <vector>

#include "io/files.hpp"
#include "json_rows.hpp"
#include "output.hpp"
#include "plan_files.hpp"
#include "planning.hpp"
#include "plot/figures.hpp"
#include "service_check.hpp"
#include "simulation.hpp"

namespace napkin {

namespace {

/// Writes the figure of --plot; a text plot to standard output.
void put_figure(const figure& f, const std::string& path) {
  std::cout << write_figure(f, path);
}

/// Computes a result, and prints it as JSON, text or rows.
template <class Compute, class ToJson, class ToText, class ToFigure>
auto print_result(const given_command& c, Compute compute, ToJson to_json, ToText to_text,
                  ToFigure to_figure) {
  const auto found = compute(c.request, c.profile.get());
  const json object = to_json(found, c.request);  // refuses what is not finite
  if (c.format == table_format::json) {
    std::cout << write_json(object) << "\n";
  } else if (c.format == table_format::text) {
    std::cout << to_text(found, c.request);
    if (c.plots_here) std::cout << "\n";
  } else {
    std::cout << rows_text(object, c.format);
  }
  if (!c.plot.empty()) put_figure(to_figure(found, c.request, object, c.profile.get()), c.plot);
  return found;
}

/// The figure of a query's result.
auto figure_of_query(const query& q) {
  return [&q](const auto&, const json& r, const json& object, const auto* profile) {
    return figure_of(q, r, profile, object);
  };
}

void write_files(const simulation& s, const json& request, const simulation_files& to) {
  if (!s.answer.feasible) return;
  if (!to.requests_csv.empty()) write_text_file("requests_csv", to.requests_csv, requests_csv(s));
  if (!to.timeline_csv.empty()) write_text_file("timeline_csv", to.timeline_csv, timeline_csv(s));
  if (!to.plot.empty()) put_figure(simulation_figure(s, request), to.plot);
}

}  // namespace

void run_query(const given_command& c) {
  const query& q = c.asked;
  print_result(
      c, [&](const json& r, const auto* p) { return evaluate(q, r, p); }, outcome_json,
      [&](const auto& found, const json& r) { return outcome_text(q, found, r); },
      figure_of_query(q));
}

bool run_plan(const given_command& c, const plan_options& options) {
  struct checked_plan {
    planned plan{};
    std::vector<plan_check> checks{};
  };
  std::optional<simulated_load> trace;
  if (!options.trace.empty()) trace = load_of_trace(options.trace, options.trace_format);
  const bool checks = options.check || trace;
  std::string saved;
  const auto found = print_result(
      c,
      [&](json r, const auto* profile) {
        if (trace) add_load_of_trace(r, *trace);
        checked_plan all{plan_of(r, profile), {}};
        if (checks) all.checks = checks_of_plan(all.plan, trace);
        return all;
      },
      [&](const checked_plan& p, const json& r) {
        json out = plan_json(p.plan, r);
        if (checks) out["checks"] = plan_checks_json(p.checks);
        if (options.folder.empty()) return out;
        saved = save_plan(options.folder, p.plan, r);
        out["saved"] = options.folder;
        return out;
      },
      [&](const checked_plan& p, const json&) {
        return plan_text(p.plan, options.wide) + plan_checks_text(p.checks) + saved;
      },
      [](const checked_plan& p, const json&, const json& object, const auto*) {
        return figure_of_plan(p.plan, object);
      });
  return meets_targets(found.plan);
}

void run_checked_service(const given_command& c) {
  print_result(
      c, [](const json& r, const auto* profile) { return checked_service_of(r, profile); },
      checked_service_json,
      [&](const checked_service& s, const json& r) {
        return outcome_text(c.asked, s.closed_form, r) + check_text(s.check);
      },
      figure_of_query(c.asked));
}

void run_simulation(const given_command& c, const simulation_files& to) {
  const bool keeps_requests = !to.requests_csv.empty() || !to.plot.empty();
  print_result(
      c,
      [&](const json& r, const auto* profile) {
        simulation s = simulation_of(r, profile, keeps_requests);
        write_files(s, r, to);
        return s;
      },
      [](const simulation& s, const json& r) { return outcome_json(s.answer, r); }, simulation_text,
      [](const auto&...) { return figure{}; });
}

std::string explain_plan_row(const json& request, const given_profile* profile, double row,
                             table_format format, bool markdown) {
  if (format == table_format::json) return write_json(plan_row_json(request, profile, row)) + "\n";
  return plan_row_text(request, profile, row, markdown);
}

}  // namespace napkin
