// Waterfall of an engine step, and the memory of a model.
#include <algorithm>
#include <cmath>
#include <perfmodel/units/text.hpp>

#include "../io/figure_axis.hpp"
#include "../io/formats.hpp"
#include "../model_file.hpp"
#include "../summary.hpp"
#include "figures.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::string colour_of_limit(const std::string& limit) {
  const std::string known = colour_of(limit);
  return known.empty() ? palette_colour(5) : known;
}

}  // namespace

figure figure_of_step(const query& asked, const json& object, const given_profile* profile,
                      const json& answer) {
  const summary s = summary_of_steps(asked, object, profile, answer);
  const double time = answer["time_s"];
  const bool is_bound = answer["mode"] == "bound";
  figure out{.title = cat("Engine step: ", amount_text(time, "s"), is_bound ? " (bound)" : "",
                          ", limited by ", answer["limiter"].get<std::string>()),
             .subtitle = figure_request(asked, object),
             .source = figure_source(answer)};
  plot_panel p{.x = {.label = "time", .unit = "s", .low = 0.0}};
  double at = 0.0;
  for (const summary_part& part : s.parts) {
    for (const summary_step& step : part.steps) {
      p.bars.push_back({.row = step.name,
                        .from = at,
                        .to = at + step.time_s,
                        .series = step.limit,
                        .colour = colour_of_limit(step.limit),
                        .text = cat(amount_text(step.time_s, "s"), ", ",
                                    fixed(100.0 * step.time_s / time, 1), " %")});
      at += step.time_s;
    }
  }
  p.bars.push_back({.row = is_bound ? "step (bound)" : "step, predicted",
                    .from = 0.0,
                    .to = time,
                    .colour = "#333333",
                    .text = amount_text(time, "s")});
  if (const auto i = answer.find("interval_80_s"); i != answer.end() && i->is_array()) {
    const double low = (*i)[0], high = (*i)[1];
    p.bars.push_back({.row = "80 % interval",
                      .from = low,
                      .to = high,
                      .colour = "#999999",
                      .text = cat(amount_text(low, "s"), " to ", amount_text(high, "s"))});
  }
  const auto total = [&](const char* key, const char* row, const char* colour) {
    const double seconds = answer[key];
    p.bars.push_back(
        {.row = row, .to = seconds, .colour = colour, .text = amount_text(seconds, "s")});
  };
  if (answer.contains("bound_time_s")) total("bound_time_s", "bound (data sheet)", "#56b4e9");
  if (const auto m = object.find("measured_s"); m != object.end() && m->is_number())
    p.bars.push_back({.row = "measured",
                      .to = m->get<double>(),
                      .colour = "#000000",
                      .text = amount_text(m->get<double>(), "s")});
  out.panels = {std::move(p)};
  return out;
}

figure figure_of_model(const json& object, const json& answer) {
  const found_model& found = find_model(object["model"].get_ref<const std::string&>());
  const pm::transformer& m = found.model;
  const double weights = answer["weight_bytes"];
  const auto format = *find_format(answer["kv_format"].get_ref<const std::string&>());
  figure out{
      .title = cat(m.name.view(), ": memory of one sequence over its context"),
      .subtitle = cat(perfmodel::detail::significant(answer["parameters"].get<double>() / 1e9, 4),
                      "e9 parameters, ", amount_text(weights, "B"), " of weights in ",
                      answer["weight_format"].get<std::string>(), ", ",
                      amount_text(answer["kv_bytes_per_token"].get<double>(), "B"),
                      " of KV cache per token at long context (", pm::name_of(format), ")"),
      .source = cat("napkin: ", found.source)};
  plot_series kv{.label = "KV cache and recurrent state of one sequence",
                 .style = plot_style::points,
                 .colour = palette_colour(0)};
  for (const json& row : answer["over_context"]) {
    const double bytes = row["kv_bytes"].get<double>() + row["state_bytes"].get<double>();
    kv.x.push_back(row["context"]);
    kv.y.push_back(bytes);
    kv.labels.push_back(amount_text(bytes, "B"));
  }
  plot_panel p{.x = {.label = "context", .unit = "tokens", .is_log = true},
               .y = {.label = "memory", .unit = "B", .is_log = true}};
  plot_series line{.colour = palette_colour(0)};
  const pm::storage_format stored = found.kv.value_or(pm::storage_format(format));
  const pm::storage_format cache = stored.format == format ? stored : pm::storage_format(format);
  for (double c = kv.x.front(); c <= kv.x.back() * 1.0001; c *= std::pow(2.0, 0.25)) {
    line.x.push_back(c);
    line.y.push_back((kv_bytes(m, c, cache) + state_bytes(m)).value());
  }
  p.series = {std::move(line), std::move(kv)};
  p.rules = {{.label = cat("weights ", amount_text(weights, "B")), .at = weights}};
  if (answer["context_limit"].is_number())
    p.rules.push_back({.label = cat("context limit ", answer["context_limit"].get<double>()),
                       .at = answer["context_limit"],
                       .is_vertical = true});
  out.panels = {std::move(p)};
  return out;
}

}  // namespace napkin
