// TTFT, ITL and throughput of a service over its load, and the Pareto front of a plan.
#include <algorithm>
#include <cmath>
#include <perfmodel/units/text.hpp>

#include "../io/figure_axis.hpp"
#include "../output.hpp"
#include "figures.hpp"

namespace napkin {

namespace {

/// Results over the load that is swept: the request's with other rates or numbers of requests.
struct load_sweep {
  const char* key = "";
  std::vector<double> loads{};
  std::vector<json> answers{};
};

json answer_at(const query& asked, json request, const given_profile* profile, const char* key,
               double load) {
  request[key] = load;
  try {
    return outcome_json(evaluate(asked, request, profile), request);
  } catch (const error&) {
    return {{"feasible", false}};
  }
}
bool serves(const json& answer) {
  return answer.value("feasible", false) && answer["itl_s"].is_number();
}

/// Rates up to the sustainable one: closer together towards it, since latencies grow there.
std::vector<double> rates_around(double asked, double most) {
  std::vector<double> all;
  if (!(most > 0.0)) return all;
  for (const double share : {0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98})
    all.push_back(share * most);
  if (asked < most) all.push_back(asked);
  std::sort(all.begin(), all.end());
  return all;
}
/// Powers of 2 up to four times the asked number, which is one of them.
std::vector<double> concurrencies_around(double asked) {
  std::vector<double> all = {asked};
  for (double c = 1.0; c <= std::max(8.0, 4.0 * asked) && c < 1e6; c *= 2.0) {
    if (c != asked) all.push_back(c);
  }
  std::sort(all.begin(), all.end());
  return all;
}

load_sweep sweep_of(const query& asked, const json& request, const given_profile* profile,
                    const json& answer) {
  load_sweep s;
  const bool by_rate = request.contains("requests_per_s");
  s.key = by_rate ? "requests_per_s" : "concurrency";
  const double load = request[s.key];
  std::vector<double> loads;
  if (by_rate) {
    json over = answer.contains("sustainable_requests_per_s")
                    ? answer
                    : answer_at(asked, request, profile, s.key, 1e6);
    const auto most = over.find("sustainable_requests_per_s");
    loads = rates_around(
        load, most != over.end() && most->is_number() ? most->get<double>() : 2.0 * load);
  } else {
    loads = concurrencies_around(load);
  }
  for (const double x : loads) {
    json one = x == load ? answer : answer_at(asked, request, profile, s.key, x);
    if (!serves(one)) continue;
    s.loads.push_back(x);
    s.answers.push_back(std::move(one));
  }
  return s;
}

plot_panel latency_over_load(const load_sweep& s, const char* title, const char* key,
                             const char* interval, double asked, const std::string& limit_key,
                             const json& request) {
  const bool by_rate = std::string_view(s.key) == "requests_per_s";
  plot_panel p{.title = title,
               .x = {.label = by_rate ? "offered load" : "concurrent requests",
                     .unit = by_rate ? "req/s" : "",
                     .is_log = !by_rate},
               .y = {.label = std::string_view(key).ends_with("_per_s") ? "throughput" : "latency",
                     .unit = std::string_view(key).ends_with("_per_s") ? "tok/s" : "s"}};
  plot_series band{
      .label = "80 % interval", .style = plot_style::band, .colour = palette_colour(0)};
  plot_series mean{.label = "mean", .colour = palette_colour(0), .has_marks = true};
  plot_series ring{.label = "asked for", .style = plot_style::points, .colour = palette_colour(1)};
  ring.is_ring = true;
  for (std::size_t i = 0; i < s.loads.size(); ++i) {
    const json& one = s.answers[i];
    if (!one[key].is_number()) continue;
    const double x = s.loads[i], y = one[key];
    mean.x.push_back(x);
    mean.y.push_back(y);
    const std::string value = amount_text(y, p.y.unit);
    mean.names.push_back(cat(perfmodel::detail::significant(x, 4), ": ", value));
    if (x == asked) {
      ring.x.push_back(x);
      ring.y.push_back(y);
      ring.labels.push_back(value);
    }
    if (const auto at = one.find(interval); at != one.end() && at->is_array()) {
      band.x.push_back(x);
      band.y.push_back((*at)[0]);
      band.upper.push_back((*at)[1]);
    }
  }
  if (!band.x.empty()) p.series.push_back(std::move(band));
  double least = HUGE_VAL, most = 0.0;
  for (const double y : mean.y) {
    least = std::min(least, y);
    most = std::max(most, y);
  }
  p.y.is_log = least > 0.0 && most > 12.0 * least;
  if (!p.y.is_log) p.y.low = 0.0;
  p.series.push_back(std::move(mean));
  if (!ring.x.empty()) p.series.push_back(std::move(ring));
  if (const auto limit = request.find(limit_key); limit != request.end() && limit->is_number())
    p.rules = {{.label = "target", .at = limit->get<double>()}};
  return p;
}

}  // namespace

figure figure_of_serving(const query& asked, const json& request, const given_profile* profile,
                         const json& answer) {
  figure out{.title = "TTFT and ITL over the load",
             .subtitle = figure_request(asked, request),
             .source = figure_source(answer)};
  if (!request.contains("requests_per_s") && !request.contains("concurrency")) {
    out.note = "No load to draw over: give concurrency or requests_per_s.";
    return out;
  }
  const load_sweep s = sweep_of(asked, request, profile, answer);
  const double load = request[s.key];
  const bool feasible = serves(answer);
  if (feasible)
    out.title += cat(": ", amount_text(answer["ttft_s"].get<double>(), "s"), " and ",
                     amount_text(answer["itl_s"].get<double>(), "s"), " as asked");
  if (!feasible) out.note = cat("Infeasible as asked: ", answer.value("reason", ""), ".");
  if (s.loads.empty()) return out;
  if (!feasible && answer.contains("sustainable_requests_per_s"))
    out.title += ", up to the sustainable rate";
  out.width = 900.0;
  out.columns = 2;
  out.panel_height = 320.0;
  out.panels = {
      latency_over_load(s, "Mean TTFT", "ttft_s", "ttft_interval_80_s", load, "ttft_limit_s",
                        request),
      latency_over_load(s, "Mean ITL", "itl_s", "itl_interval_80_s", load, "itl_limit_s", request)};
  if (std::string_view(s.key) == "concurrency") {
    out.columns = 3;
    out.width = 1080.0;
    out.panels.push_back(latency_over_load(s, "Output throughput", "output_tokens_per_s", "none",
                                           load, "none", request));
  }
  return out;
}

namespace {
/// The deployment and its latencies: the first two lines of a conclusion.
std::string first_sentences(const std::string& conclusion) {
  const std::size_t first = conclusion.find('\n');
  return one_line(conclusion.substr(0, conclusion.find("\n", std::min(first, first + 1) + 1)));
}
}  // namespace

figure figure_of_plan(const planned& p, const json& answer) {
  figure out{.title = "Pareto front: cost and inter-token latency",
             .subtitle = first_sentences(conclusion_text(p)),
             .source = cat("napkin plan; numbers are rows of its table, * the ",
                           p.result.best ? "cheapest within the targets" : "nearest to the targets",
                           "; labels in tooltips.")};
  const json& rows = answer["frontier"];
  if (rows.empty()) {
    out.title = "Plan: infeasible";
    out.note = "No deployment serves this load; napkin plan lists the reasons.";
    return out;
  }
  const bool priced = std::all_of(rows.begin(), rows.end(), [](const json& r) {
    return r.contains("usd_per_million_tokens") && r["usd_per_million_tokens"].is_number();
  });
  const char* cost = priced ? "usd_per_million_tokens" : "gpu_s_per_million_tokens";
  plot_panel panel{.x = {.label = "mean ITL", .unit = "s"},
                   .y = {.label = priced ? "USD per million tokens" : "GPU time per million tokens",
                         .unit = priced ? "" : "s",
                         .low = 0.0}};
  plot_series front{.x = {}, .y = {}, .colour = "#bbbbbb"};
  std::vector<plot_series> engines;
  for (const std::size_t i : rows_shown(p)) {
    const json& r = rows[i];
    const double x = r["itl_s"], y = r[cost];
    front.x.push_back(x);
    front.y.push_back(y);
    const std::string engine = r["engine"], label = cat(r["accelerator"].get<std::string>(),
                                                        engine == "none" ? "" : cat(", ", engine));
    auto at = std::find_if(engines.begin(), engines.end(),
                           [&](const plot_series& s) { return s.label == label; });
    if (at == engines.end()) at = engines.insert(at, {.label = label, .style = plot_style::points});
    at->x.push_back(x);
    at->y.push_back(y);
    at->labels.push_back(cat(i + 1, i == 0 && p.result.best ? "*" : ""));
    at->names.push_back(cat(i + 1, ": ", deployment_text(p.result.frontier[i]), ", ITL ",
                            amount_text(x, "s"), ", ", perfmodel::detail::significant(y, 3),
                            priced ? " USD/Mtok" : " GPU-s/Mtok"));
  }
  panel.series = {std::move(front)};
  // One accelerator: the engines' own colours. Several: an engine may stand twice.
  const bool one_chip = std::all_of(rows.begin(), rows.end(), [&](const json& r) {
    return r["accelerator"] == rows[0]["accelerator"];
  });
  for (plot_series& s : engines) {
    const std::size_t comma = s.label.find(", ");
    if (one_chip && comma != s.label.npos) s.colour = colour_of(s.label.substr(comma + 2));
    panel.series.push_back(std::move(s));
  }
  out.panels = {std::move(panel)};
  return out;
}

}  // namespace napkin
