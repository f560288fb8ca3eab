// Fits what serving engines add to a pass to the time per output token of whole services, scores them
// on models, accelerators and versions held out, and prints the entries of
// calibrated/catalog/machines.hpp.
//   fit_engines [folder of the measurements]
#include "fit_rows.hpp"
#include "published_engines.hpp"

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

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

/// Residuals of all engines together, which the intervals of services are set by.
class widths {
 public:
  void add(const std::string& what, const std::vector<engine_row>& rows,
           const std::vector<double>& residual) {
    for (std::size_t i = 0; i < residual.size(); ++i)
      if (!rows[i].median) of_[what].push_back(std::abs(residual[i]));
  }
  void print() const {
    for (const auto& [what, r] : of_)
      std::printf("%-40s n %4zu  80 %% within exp(z90 %.3f)\n", what.c_str(), r.size(),
                  pm::detail::quantile(r, 0.8) / pm::z90);
  }

 private:
  std::map<std::string, std::vector<double>> of_{};
};

template <class Model>
void report_requests(const std::vector<engine_row>& rows, widths& all) {
  const auto found = published::fit_engine<Model>(rows);
  print_by("first token, in sample", rows, found.residual);
  all.add("first token, in sample", rows, found.residual);
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
    all.add(what, first, residual);
  };
  unseen("first token, models held out", [](const engine_row& r) { return r.model; });
  unseen("first token, accelerators held out", [](const engine_row& r) { return r.gpu; });
  published::print_parameters(Model::parameters, found);
}

template <class Model>
void report_passes(pm::engine by, const std::vector<engine_row>& rows, widths& all,
                   const pm::small_kernels& counted = {}) {
  const published::engine_prediction<Model> predict(rows, counted);
  const auto found = published::fit_engine<Model>(rows, counted);
  print_by("in sample", rows, found.residual);
  all.add("in sample", rows, found.residual);
  published::print_score("in sample", pm::name_of(by), found.residual);
  pm::fit_options options;
  options.refuse = false;  // a part of the rows may leave open what all tell
  const auto unseen = [&](const char* what, const auto& part) {
    const auto residual = fit_rows::held_out(Model::parameters, rows, predict, part, options);
    if (residual.empty()) return;
    print_by(what, rows, residual);
    published::print_score(what, pm::name_of(by), residual);
    all.add(what, rows, residual);
  };
  unseen("models held out", [](const engine_row& r) { return r.model; });
  unseen("accelerators held out", [](const engine_row& r) { return r.gpu; });
  unseen("versions held out", [](const engine_row& r) { return r.version; });
  published::print_parameters(Model::parameters, found);
}

/// What is shipped, and what it would be if a pass had the small kernels of its layers, each launched apart.
template <class Model, class Requests>
void fit(pm::engine by, const std::string& folder, widths& all) {
  const auto rows = published::engine_rows(folder, by);
  if (rows.empty()) return;
  std::printf("%s, %zu services\n", pm::name_of(by), rows.size());
  report_passes<Model>(by, rows, all);
  report_requests<Requests>(published::rows_of_requests(rows), all);
  std::printf("%s, passes with the small kernels of a layer\n", pm::name_of(by));
  widths not_shipped;
  report_passes<Model>(by, rows, not_shipped, pm::unfused_layer_kernels());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "../shared/measured";
  if (published::services(folder).empty()) {
    std::puts("no published services in that folder");
    return 1;
  }
  widths all;
  fit<published::vllm_model, published::starting_request_model>(pm::engine::vllm, folder, all);
  fit<published::sglang_model, published::starting_request_model>(pm::engine::sglang, folder, all);
  fit<published::trtllm_model, published::request_model>(pm::engine::trtllm, folder, all);
  all.print();
  return 0;
}
