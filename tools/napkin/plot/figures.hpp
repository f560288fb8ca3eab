// Figures of results: what --plot draws. Every point of a figure is a number of the result's JSON,
// or of the result of a nearby request.
#pragma once

#include "../io/figure.hpp"
#include "../planning.hpp"

namespace napkin {

/// Whether --plot draws the results of a query: gemm, roofline, step, serving, model.
bool has_figure(const query& asked);
/// The figure of a result; `answer` is its JSON. An infeasible result is a figure with the reason.
figure figure_of(const query& asked, const json& request, const given_profile* profile,
                 const json& answer);
/// Pareto front of a plan: rows numbered as in its table, the recommended one with a star.
figure figure_of_plan(const planned& p, const json& answer);

// The figures of each query.
figure figure_of_gemm(const query& asked, const json& request, const json& answer);
figure figure_of_roofline(const query& asked, const json& request, const json& answer);
figure figure_of_step(const query& asked, const json& request, const given_profile* profile,
                      const json& answer);
figure figure_of_serving(const query& asked, const json& request, const given_profile* profile,
                         const json& answer);
figure figure_of_model(const json& request, const json& answer);

/// "Prediction by napkin 0.3: profile h100_sxm (measured)." below a figure.
std::string figure_source(const json& answer);
/// The request in words, without its query: "model llama-3.1-70b, accelerator h100".
std::string figure_request(const query& asked, const json& request);

/// One roof of an accelerator.
struct roof_line {
  std::string format{};
  double flop_per_s = 0.0, bytes_per_s = 0.0;
};
/// Panel of roofs over the intensities of `points`, and the ridge points as rules.
plot_panel roofline_panel(const std::vector<roof_line>& roofs,
                          const std::vector<plot_series>& points);

}  // namespace napkin
