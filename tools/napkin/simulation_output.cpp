// Output of a simulation: text, CSV and plots.
#include <algorithm>
#include <array>
#include <cmath>
#include <perfmodel/units/text.hpp>

#include "infeasible.hpp"
#include "io/figure.hpp"
#include "io/text_style.hpp"
#include "output.hpp"
#include "simulation.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::string duration_text(double seconds) {
  return pm::to_string(seconds, pm::exponents_of<pm::duration<>>(), 4);
}
std::string short_number(double x, int digits = 4) {
  return pm::detail::significant(x, digits);
}

const simulated_figure& figure_named(const simulation& s, std::string_view key) {
  const auto at = std::find_if(s.figures.begin(), s.figures.end(),
                               [&](const simulated_figure& f) { return key == f.key; });
  if (at == s.figures.end()) throw std::logic_error(cat("no figure ", key));
  return *at;
}

/// "8 x h100_sxm (2 replicas of TP4)".
std::string service_text(const simulation& s) {
  const auto name = [](const pm::deployment& d) { return d.device.name.c_str(); };
  if (s.service.pools) {
    const auto& [prefill, decode] = std::pair{s.service.pools->prefill, s.service.pools->decode};
    return cat(prefill.replicas * prefill.deployment.layout.ranks(), " + ",
               decode.replicas * decode.deployment.layout.ranks(), " x ", name(decode.deployment),
               " (prefill and decode pools)");
  }
  const int ranks = s.service.one.layout.ranks();
  if (s.service.options.scaling) {
    const pm::autoscaling& a = *s.service.options.scaling;
    return cat(a.least, " to ", a.most, " replicas of ", ranks, " x ", name(s.service.one));
  }
  const int replicas = s.service.options.replicas;
  std::string text = cat(replicas * ranks, " x ", name(s.service.one));
  return replicas > 1 ? cat(text, " (", replicas, " replicas)") : text;
}

/// "1000 requests at 4 req/s on 8 x h100_sxm (vllm-0.24): mean TTFT 171 ms (p99 1.2 s), ..."
std::string conclusion_of(const simulation& s) {
  const auto value = [&](std::string_view key) { return figure_named(s, key).value; };
  std::string text =
      cat(s.load.description, " on ", service_text(s), ", scheduler ",
          s.service.options.scheduler->name, ": mean TTFT ", duration_text(value("ttft_s")),
          " (p99 ", duration_text(value("ttft_p99_s")), "), ",
          s.answer.has_itl ? cat("mean ITL ", duration_text(value("itl_s")), ", ") : "",
          short_number(value("output_tokens_per_s")), " tok/s, makespan ",
          duration_text(value("makespan_s")), ".");
  const double offered = s.load.offered_requests_per_s;
  if (s.trend.falls_behind)
    text += cat(" Requests arrive at ", short_number(offered), " req/s and are served at ",
                short_number(s.trend.served_per_s), " req/s: a longer run queues longer.");
  if (s.trend.is_unclear)
    text += cat(" A queue stays: this run is too short to tell whether ", short_number(offered),
                " req/s is sustained.");
  return styled(s.trend.falls_behind ? text_style::red : text_style::bold, wrapped(text, 0));
}

/// Notes of the reader of a trace, a line each.
std::string trace_notes_text(const simulation& s) {
  std::string text;
  if (!s.load.trace) return text;
  for (const std::string& note : s.load.trace->report.notes) text += wrapped("trace: " + note, 2);
  return styled(text_style::dim, text);
}

/// "171 ms +- 2 ms", without the error where there is one seed.
std::string with_error(const simulation& s, const simulated_figure& f) {
  const auto text = [&](double x, int digits) { return pm::to_string(x, f.unit, digits); };
  const bool whole = f.unit == pm::unit_exponents{} && f.value == std::floor(f.value);
  const std::string value = whole ? cat(f.value) : text(f.value, 4);
  return s.seeds > 1 ? cat(value, " +- ", text(f.standard_error, 2)) : value;
}

std::string latencies_text(const simulation& s) {
  table_rows rows = {{"", "mean", "p50", "p90", "p99"}};
  const auto measured = measured_figures_of(s.load);
  for (const auto& [label, stem] : {std::pair{"TTFT", "ttft"},
                                    {"ITL", "itl"},
                                    {"TPOT", "tpot"},
                                    {"E2E", "e2e"},
                                    {"queueing", "queueing"}}) {
    std::vector<std::string> row = {label};
    const bool between_tokens =
        std::string_view(label) == "ITL" || std::string_view(label) == "TPOT";
    if (between_tokens && !s.answer.has_itl) continue;
    for (const char* part : {"_s", "_p50_s", "_p90_s", "_p99_s"})
      row.push_back(with_error(s, figure_named(s, cat(stem, part))));
    rows.push_back(std::move(row));
    std::vector<std::string> recorded = {"  measured"}, ratios = {"  simulated over measured"};
    for (const auto& [key, x] : measured) {
      if (!key.starts_with(cat(stem, "_"))) continue;
      recorded.push_back(duration_text(x));
      ratios.push_back(x > 0.0 ? fixed(figure_named(s, key).value / x, 3) : "-");
    }
    if (recorded.size() == 1) continue;
    rows.push_back(std::move(recorded));
    rows.push_back(std::move(ratios));
  }
  return headed_table(rows, "lr");
}

std::string interval_text(const pm::time_range& r) {
  return cat(duration_text(r.low.value()), " to ", duration_text(r.high.value()));
}

std::string figures_text(const simulation& s) {
  table_rows rows;
  for (const char* key : {"requests_per_s", "goodput_requests_per_s", "output_tokens_per_s",
                          "batch", "makespan_s", "preemptions", "engine_steps", "steps"}) {
    const simulated_figure& f = figure_named(s, key);
    rows.push_back({f.label, with_error(s, f)});
  }
  rows.push_back({"KV cache in use (mean)", percent(figure_named(s, "kv_use").value)});
  const double hit = figure_named(s, "cache_hit").value;
  std::string tiers;
  if (const auto at = s.answer.facts.find("cache_hit_by_tier"); at != s.answer.facts.end()) {
    for (const auto& [tier, share] : at->items())
      tiers += cat(tiers.empty() ? ": " : ", ", tier, " ", percent(share.get<double>()));
  }
  rows.push_back({"prefix-cache hit rate", percent(hit) + tiers});
  if (s.service.options.scaling)
    rows.push_back({"replicas", cat(short_number(figure_named(s, "replicas").value), " (mean), ",
                                    s.first.most_replicas, " (largest)")});
  if (const auto& note = s.answer.calibrated) {
    if (note->first_token)
      rows.push_back({"80 % interval of TTFT", interval_text(*note->first_token)});
    if (s.answer.has_itl) rows.push_back({"80 % interval of ITL", interval_text(note->range)});
  }
  return table(rows, "l");
}

/// Values of the timeline; shares of the KV cache are means over the replicas.
struct timeline_columns {
  std::vector<double> from{}, running{}, waiting{}, kv_use{}, tokens{};
  double interval = 0.0;

  explicit timeline_columns(const simulation& s) {
    const pm::simulation_timeline& t = s.first.statistics.timeline;
    interval = t.interval();
    double replicas = s.service.options.replicas;
    if (s.service.pools) replicas = s.service.pools->decode.replicas;
    if (s.service.options.scaling) replicas = figure_named(s, "replicas").value;
    for (std::size_t i = 0; i < t.count(); ++i) {
      const auto state = t[i];
      from.push_back(interval * static_cast<double>(i));
      running.push_back(state.running);
      waiting.push_back(state.waiting);
      kv_use.push_back(std::min(1.0, state.kv_use / std::max(1.0, replicas)));
      tokens.push_back(state.tokens);
    }
  }
};

/// The state over time, a row of bars each.
std::string sparklines_text(const simulation& s) {
  constexpr std::size_t columns = 56;
  const timeline_columns t(s);
  if (t.from.size() < 2) return "";
  std::string out =
      cat("over time, 0 to ", duration_text(figure_named(s, "makespan_s").value), ":\n");
  const auto add = [&](std::string label, const std::vector<double>& values, double factor,
                       const char* unit) {
    label.resize(16, ' ');
    const double largest = *std::max_element(values.begin(), values.end());
    out += cat("  ", label, sparkline(values, columns), "  up to ",
               short_number(factor * largest, 3), unit, "\n");
  };
  add("running", t.running, 1.0, "");
  add("waiting", t.waiting, 1.0, "");
  add("KV cache", t.kv_use, 100.0, " %");
  add("tokens/s", t.tokens, 1.0, "");
  return out;
}

std::string basis_text(const simulation& s) {
  std::string text;
  if (const auto& note = s.answer.calibrated) {
    text = wrapped(cat("Engine steps by the profile ", text_of(*note->profile), "."), 2);
  } else {
    text = "  Engine steps at the bounds of data sheets: none runs faster.\n";
  }
  if (!s.answer.hint.empty()) text += cat("  ", s.answer.hint, ".\n");
  return styled(text_style::dim, text);
}

// --- plots ----------------------------------------------------------------------------------

plot_panel over_time(const char* title, plot_axis y) {
  return {.title = title, .x = {.label = "time", .unit = "s", .low = 0.0}, .y = std::move(y)};
}
plot_series steps_of(const char* label, const timeline_columns& t, std::vector<double> y) {
  return {.label = label,
          .x = t.from,
          .y = std::move(y),
          .style = plot_style::steps,
          .is_filled = true};
}

plot_panel latency_panel(const simulation& s) {
  constexpr std::size_t most = 3000;
  plot_panel p = over_time("TTFT by time of arrival", {.label = "TTFT", .unit = "s", .low = 0.0});
  plot_series dots{.style = plot_style::points};
  const std::size_t every = s.requests.size() / most + 1;
  for (std::size_t i = 0; i < s.requests.size(); i += every) {
    dots.x.push_back(s.requests[i].arrival);
    dots.y.push_back(s.requests[i].ttft);
  }
  p.series = {std::move(dots)};
  if (const auto& limit = s.service.options.ttft_limit)
    p.rules = {{.label = "limit", .at = limit->value()}};
  return p;
}

/// Share of the values below each latency.
plot_series distribution(const char* label, const pm::latency_sample& sample) {
  plot_series out{.label = label};
  for (int i = 0; i <= 400; ++i) {
    const double p = i / 400.0;
    out.x.push_back(sample.quantile(p));
    out.y.push_back(p);
  }
  return out;
}
plot_series distribution(const char* label, const pm::latency_histogram& values) {
  plot_series out{.label = label};
  double below = 0.0;
  values.visit_bins([&](double, double upper, double count) {
    below += count;
    out.x.push_back(upper);
    out.y.push_back(below / values.count());
  });
  return out;
}
plot_panel distributions(const char* title, std::vector<plot_series> series) {
  return {.title = title,
          .x = {.label = "latency", .unit = "s", .is_log = true},
          .y = {.label = "share below", .unit = "%", .low = 0.0, .high = 1.0},
          .series = std::move(series)};
}

}  // namespace

std::string simulation_text(const simulation& s, const json& request) {
  const query& asked = find_query("simulate");
  const std::string asked_for = styled(text_style::dim, wrapped(headline(asked, request), 0));
  if (!s.answer.feasible)
    return with_styled_sentence(text_style::red, conclusion_text(s.answer)) + asked_for;
  return conclusion_of(s) + asked_for + latencies_text(s) + figures_text(s) + sparklines_text(s) +
         trace_notes_text(s) + basis_text(s);
}

std::string requests_csv(const simulation& s) {
  std::string out =
      "index,session,arrival_s,input_tokens,output_tokens,cached_tokens,queueing_s,ttft_s,tpot_s,"
      "e2e_s,preemptions,replica\n";
  const auto digits = [](double x) { return short_number(x, 9); };
  for (const pm::request_record& r : s.requests) {
    out += cat(r.index, ",", r.session, ",", digits(r.arrival), ",", r.input_tokens, ",",
               r.output_tokens, ",", r.cached_tokens, ",", digits(r.queueing), ",", digits(r.ttft),
               ",", digits(r.tpot()), ",", digits(r.e2e), ",", r.preemptions, ",", r.replica, "\n");
  }
  return out;
}

std::string timeline_csv(const simulation& s) {
  const timeline_columns t(s);
  std::string out = "from_s,to_s,running,waiting,kv_use,output_tokens_per_s\n";
  const auto digits = [](double x) { return short_number(x, 9); };
  for (std::size_t i = 0; i < t.from.size(); ++i) {
    out += cat(digits(t.from[i]), ",", digits(t.from[i] + t.interval), ",", digits(t.running[i]),
               ",", digits(t.waiting[i]), ",", digits(t.kv_use[i]), ",", digits(t.tokens[i]), "\n");
  }
  return out;
}

figure simulation_figure(const simulation& s, const json& request) {
  const timeline_columns t(s);
  std::string model = request.value("model", std::string());
  figure page{.title = cat("Simulation: ", shown(model), ", ", s.load.description),
              .subtitle = cat(service_text(s), ", scheduler ", s.service.options.scheduler->name)};
  page.columns = 2;
  page.panel_height = 200.0;
  page.width = 960.0;
  plot_panel requests = over_time("Requests", {.label = "requests", .low = 0.0});
  requests.series = {steps_of("running", t, t.running), steps_of("waiting", t, t.waiting)};
  plot_panel cache =
      over_time("KV cache", {.label = "in use", .unit = "%", .low = 0.0, .high = 1.0});
  cache.series = {steps_of("", t, t.kv_use)};
  plot_panel tokens = over_time("Output", {.label = "throughput", .unit = "tok/s", .low = 0.0});
  tokens.series = {steps_of("", t, t.tokens)};
  const pm::simulation_statistics& stats = s.first.statistics;
  page.panels = {std::move(requests), std::move(cache), std::move(tokens), latency_panel(s)};
  page.panels.push_back(distributions(
      "Requests by latency", {distribution("queueing", stats.queueing),
                              distribution("TTFT", stats.ttft), distribution("E2E", stats.e2e)}));
  page.panels.push_back(distributions(
      "Tokens by latency", {distribution("ITL", stats.itl), distribution("TPOT", stats.tpot)}));
  return page;
}

}  // namespace napkin
