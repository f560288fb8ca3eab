// Fits the engine overhead of a step to the ITL of whole services, scores it on held-out models,
// accelerators and versions, and prints the entries of kernels/catalog/machines.hpp.
// Prints the uncertainty that covers held-out services, with the stated one
// (kernels/catalog/uncertainty.hpp). With --record it prints only that, as
// tests/data/services_left_out.tsv.
//   fit engines [folder of the measurements] [--record]
#include "fit_rows.hpp"
#include "fits.hpp"
#include "left_out_services.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace fits::engines {

namespace {

namespace pm = perfmodel;
using published::engine_row;

void print_by(const char* what, const std::vector<engine_row>& rows,
              const std::vector<double>& residual) {
  std::map<std::string, std::vector<double>> by;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    by[rows[i].model + ' ' + rows[i].gpu + (rows[i].median ? ", median" : "")].push_back(
        residual[i]);
  }
  for (const auto& [group, r] : by) published::print_score(what, group, r);
}

template <class Model>
void report_requests(const std::vector<engine_row>& rows) {
  const auto found = published::fit_engine<Model>(rows);
  print_by("first token, in sample", rows, found.residual);
  published::print_score("first token, in sample", "all", found.residual);
  pm::fit_options options;
  options.refuse = false;
  const published::engine_prediction<Model> predict(rows);
  std::vector<engine_row> first = rows;  // held_out scores `seconds`
  for (engine_row& r : first) r.seconds = Model::measured(r);
  const auto unseen = [&](const char* what, const auto& part) {
    const auto residual = fit_rows::held_out(Model::parameters, first, predict, part, options);
    if (residual.empty()) return;
    print_by(what, first, residual);
  };
  unseen("first token, models held out", [](const engine_row& r) { return r.model; });
  unseen("first token, accelerators held out", [](const engine_row& r) { return r.gpu; });
  published::print_parameters(Model::parameters, found);
}

template <class Model>
void report_steps(pm::engine by, const std::vector<engine_row>& rows,
                  const pm::elementwise_kernels& counted = {}) {
  const published::engine_prediction<Model> predict(rows, counted);
  const auto found = published::fit_engine<Model>(rows, counted);
  print_by("in sample", rows, found.residual);
  published::print_score("in sample", pm::name_of(by), found.residual);
  pm::fit_options options;
  options.refuse = false;  // a part of the rows may leave open what all tell
  const auto unseen = [&](const char* what, const auto& part) {
    const auto residual = fit_rows::held_out(Model::parameters, rows, predict, part, options);
    if (residual.empty()) return;
    print_by(what, rows, residual);
    published::print_score(what, pm::name_of(by), residual);
  };
  unseen("models held out", [](const engine_row& r) { return r.model; });
  unseen("accelerators held out", [](const engine_row& r) { return r.gpu; });
  unseen("versions held out", [](const engine_row& r) { return r.version; });
  published::print_parameters(Model::parameters, found);
}

/// Error of the shipped model, and of one with a launch for each element-wise kernel of a layer.
template <class Model, class Requests>
void fit(pm::engine by, const std::string& folder) {
  const auto rows = published::engine_rows(folder, by);
  if (rows.empty()) return;
  std::printf("%s, %zu services\n", pm::name_of(by), rows.size());
  report_steps<Model>(by, rows);
  report_requests<Requests>(published::rows_of_requests(rows));
  std::printf("%s, passes with the small kernels of a layer\n", pm::name_of(by));
  report_steps<Model>(by, rows, pm::unfused_layer_kernels());
}

using published::request_model;
using published::starting_request_model;

void fit_all(const std::string& folder) {
  fit<published::vllm_model, starting_request_model>(pm::engine::vllm, folder);
  fit<published::sglang_model, starting_request_model>(pm::engine::sglang, folder);
  fit<published::trtllm_model, request_model>(pm::engine::trtllm, folder);
}

left_out_services::by_line left_out(const std::string& folder) {
  left_out_services::by_line out;
  using left_out_services::add_engine;
  add_engine<published::vllm_model, starting_request_model>(out, folder, pm::engine::vllm);
  add_engine<published::sglang_model, starting_request_model>(out, folder, pm::engine::sglang);
  add_engine<published::trtllm_model, request_model>(out, folder, pm::engine::trtllm);
  left_out_services::add_elsewhere(out, folder);
  left_out_services::add_pools(out, folder);
  return out;
}

/// Rows that the uncertainty of services is set from: whole kinds; for one model on one accelerator
/// the share within the interval.
void print(const left_out_services::by_line& all, bool record) {
  if (record)
    std::puts("engine\tkind\tleft_out\tquantity\trows\tservices\tholds_72\tholds_80\tholds_90");
  for (const auto& [line, rows] : all) {
    const bool kind = std::count(line.begin(), line.end(), ' ') == 3;
    std::vector<double> around;
    for (const auto& r : rows) around.push_back(r.around);
    using left_out_services::holds;
    const std::size_t services = left_out_services::services_of(rows);
    const double at72 = holds(rows, 0.72), at80 = holds(rows, 0.80), at90 = holds(rows, 0.90);
    if (!record) {
      std::printf(
          "%-56s n %4zu of %2zu services  72 %% %.3f  80 %% %.3f  90 %% %.3f  stated %.3f "
          "holds %3.0f %%\n",
          line.c_str(), rows.size(), services, at72, at80, at90, around.front(),
          100.0 * left_out_services::inside(rows));
    } else if (kind && line.find(" fitted nothing ") == std::string::npos &&
               line.find(" widened nothing ") == std::string::npos) {
      std::string cells = line;
      std::replace(cells.begin(), cells.end(), ' ', '\t');
      std::printf("%s\t%zu\t%zu\t%.3f\t%.3f\t%.3f\n", cells.c_str(), rows.size(), services, at72,
                  at80, at90);
    }
  }
}

}  // namespace

int run(const std::string& folder, bool record) {
  if (published::services(folder).empty()) {
    std::puts("no published services in that folder");
    return 1;
  }
  if (!record) fit_all(folder);
  print(left_out(folder), record);
  return 0;
}

}  // namespace fits::engines
