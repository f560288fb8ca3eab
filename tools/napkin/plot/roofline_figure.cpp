// Rooflines: of one GEMM, and of the operators of a model.
#include <algorithm>
#include <cmath>
#include <perfmodel/roofline.hpp>
#include <perfmodel/units/text.hpp>

#include "../catalogues.hpp"
#include "../io/figure_axis.hpp"
#include "../io/formats.hpp"
#include "../request.hpp"
#include "figures.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr const char* of_bound = "#56b4e9";
constexpr const char* of_prediction = "#d55e00";
constexpr const char* of_measurement = "#333333";

/// A count without an exponent up to a billion.
std::string count_digits(double x) {
  return perfmodel::detail::significant(x, 9);
}

plot_series points_in(const char* label, const char* colour) {
  return {.label = label, .style = plot_style::points, .colour = colour};
}
void add_point(plot_series& to, double x, double y, const std::string& label,
               const std::string& name) {
  to.x.push_back(x);
  to.y.push_back(y);
  to.labels.push_back(label);
  to.names.push_back(name);
}
/// "gate_up: 19.8 FLOP/B, 44 TFLOP/s, 12 us".
std::string name_of_point(std::string_view what, double x, double rate, double seconds) {
  return cat(what, ": ", amount_text(x, "FLOP/B"), ", ", amount_text(rate, "FLOP/s"),
             seconds > 0.0 ? cat(", ", amount_text(seconds, "s")) : "");
}

}  // namespace

plot_panel roofline_panel(const std::vector<roof_line>& roofs,
                          const std::vector<plot_series>& series) {
  plot_panel p{.x = {.label = "arithmetic intensity", .unit = "FLOP/B", .is_log = true},
               .y = {.label = "FLOP rate of one GPU", .unit = "FLOP/s", .is_log = true}};
  double low = HUGE_VAL, high = 0.0;
  for (const roof_line& r : roofs) {
    const double ridge = r.flop_per_s / r.bytes_per_s;
    low = std::min(low, ridge / 30.0);
    high = std::max(high, 4.0 * ridge);
  }
  for (const plot_series& s : series) {
    for (const double x : s.x) {
      low = std::min(low, x / 2.0);
      high = std::max(high, x * 2.0);
    }
  }
  for (const roof_line& r : roofs) {
    const double ridge = r.flop_per_s / r.bytes_per_s;
    p.series.push_back({.label = cat("roof of ", r.format),
                        .x = {low, ridge, high},
                        .y = {low * r.bytes_per_s, r.flop_per_s, r.flop_per_s},
                        .colour = colour_of(r.format)});
    p.rules.push_back({.label = cat("ridge ", r.format, ": ", amount_text(ridge, "FLOP/B")),
                       .at = ridge,
                       .is_vertical = true});
  }
  p.series.insert(p.series.end(), series.begin(), series.end());
  return p;
}

figure figure_of_gemm(const query& asked, const json& object, const json& answer) {
  const request r(asked, object);
  const bool activated = r.has("activation_format");
  const auto f = *find_format(r.text(activated ? "activation_format" : "format"));
  const pm::accelerator& a = r.accelerator();
  const double dram = a.dram.bandwidth.quantity().value();
  const double flop = answer["flop"], x = answer["flop_per_byte"], time = answer["time_s"];
  plot_series bound = points_in("bound", of_bound),
              predicted = points_in("predicted", of_prediction);
  plot_series measured = points_in("measured", of_measurement);
  const bool is_bound = answer["mode"] == "bound";
  const double bound_s = is_bound ? time : answer["bound_time_s"].get<double>();
  add_point(bound, x, flop / bound_s, cat("bound ", amount_text(bound_s, "s")),
            name_of_point("bound", x, flop / bound_s, bound_s));
  if (!is_bound)
    add_point(predicted, x, flop / time, cat("predicted ", amount_text(time, "s")),
              name_of_point("predicted", x, flop / time, time));
  std::vector<plot_series> all = {bound};
  if (!is_bound) all.push_back(predicted);
  if (r.has("measured_s")) {
    const double seconds = r.number("measured_s");
    add_point(measured, x, flop / seconds, cat("measured ", amount_text(seconds, "s")),
              name_of_point("measured", x, flop / seconds, seconds));
    all.push_back(measured);
  }
  figure out{
      .title = cat("GEMM ", count_digits(r.number("m")), " x ", count_digits(r.number("n")), " x ",
                   count_digits(r.number("k")), " on the roofline of ", a.name.view()),
      .subtitle = cat(amount_text(time, "s"), is_bound ? " (bound)" : " predicted", ", limited by ",
                      answer["limiter"].get<std::string>(), ". ", figure_request(asked, object)),
      .source = figure_source(answer)};
  out.panels = {roofline_panel({{pm::name_of(f), pm::peak(a, f).value(), dram}}, all)};
  return out;
}

figure figure_of_roofline(const query& asked, const json& object, const json& answer) {
  const request r(asked, object);
  std::vector<roof_line> roofs;
  for (const json& f : answer["roofs"])
    roofs.push_back({f["format"], f["flop_per_s"], answer["bytes_per_s"]});
  plot_series bound = points_in("operator at the roof", of_bound);
  plot_series predicted = points_in("operator, predicted", of_prediction);
  plot_series measured = points_in("measured", of_measurement);
  if (const auto at = answer.find("operators"); at != answer.end()) {
    const bool predicts =
        std::any_of(at->begin(), at->end(), [](const json& o) { return o.contains("flop_per_s"); });
    for (const json& o : *at) {
      if (!o.contains("bound_flop_per_s")) continue;
      const std::string name = o["name"];
      const double x = o["flop_per_byte"], roof = o["bound_flop_per_s"];
      add_point(bound, x, roof, predicts ? "" : name,
                name_of_point(name, x, roof, o["bound_time_s"]));
      if (!o.contains("flop_per_s")) continue;
      const double rate = o["flop_per_s"];
      add_point(predicted, x, rate,
                o["share"] < 1.0 ? cat(name, " ", fixed(100.0 * o["share"].get<double>(), 0), " %")
                                 : name,
                name_of_point(name, x, rate, o["time_s"]));
    }
  }
  if (answer.contains("attainable_flop_per_s") && !answer.contains("measured")) {
    const double x = answer["kernel_flop_per_byte"], rate = answer["attainable_flop_per_s"];
    add_point(bound, x, rate, cat("at most ", amount_text(rate, "FLOP/s")),
              name_of_point("attainable", x, rate, 0.0));
  }
  if (const auto m = answer.find("measured"); m != answer.end()) {
    const double x = (*m)["flop_per_byte"], rate = (*m)["flop_per_s"];
    add_point(measured, x, rate, cat("measured ", amount_text(rate, "FLOP/s")),
              name_of_point((*m)["name"].get<std::string>(), x, rate, 0.0));
  }
  std::vector<plot_series> all;
  for (plot_series* s : {&bound, &predicted, &measured}) {
    if (!s->x.empty()) all.push_back(std::move(*s));
  }
  figure out{.title = cat("Roofline of ", r.accelerator().name.view()),
             .subtitle = figure_request(asked, object),
             .source = figure_source(answer)};
  if (answer.contains("time_s"))
    out.title +=
        cat(": ",
            answer.contains("share_by_memory") || answer["operators"].size() > 1 ? "engine step "
                                                                                 : "GEMM ",
            amount_text(answer["time_s"].get<double>(), "s"));
  out.panels = {roofline_panel(roofs, all)};
  return out;
}

}  // namespace napkin
