// Commands that compute a result from a request and print it: queries, plan and simulate.
#pragma once

#include <memory>
#include <string>

#include "profiles.hpp"
#include "query.hpp"
#include "sweep.hpp"

namespace napkin {

/// A command as it was given.
struct given_command {
  const query& asked;
  json request{};
  std::unique_ptr<given_profile> profile{};  ///< profile of --profile; null without one
  table_format format = table_format::text;
  std::string plot{};       ///< file of --plot; empty: no figure
  bool plots_here = false;  ///< the figure is text, below the result
};

/// Options of `napkin plan` in addition to its keys.
struct plan_options {
  bool wide = false, check = false;
  std::string trace{}, trace_format = "auto", folder{};
};
/// Files that `napkin simulate` writes in addition to its result.
struct simulation_files {
  std::string requests_csv{}, timeline_csv{}, plot{};
};

/// Prints the result of a query.
void run_query(const given_command& c);
/// Prints a plan. Returns whether a deployment meets the targets.
bool run_plan(const given_command& c, const plan_options& options);
/// Prints the result of `serving`, and the same service simulated.
void run_checked_service(const given_command& c);
/// Prints a simulation, and writes its files.
void run_simulation(const given_command& c, const simulation_files& to);
/// A row of a plan and its derivation, as text or JSON.
std::string explain_plan_row(const json& request, const given_profile* profile, double row,
                             table_format format, bool markdown);

}  // namespace napkin
