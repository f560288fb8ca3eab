// The query `simulate`: runs over seeds, their figures, and the result.
#include "simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <perfmodel/explain/predict.hpp>

#include "deployments.hpp"
#include "infeasible.hpp"
#include "output.hpp"
#include "service_keys.hpp"
#include "simulation_run.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr pm::unit_exponents second_unit = pm::exponents_of<pm::duration<>>();

/// Means over runs, with their standard errors.
void merge(std::vector<simulated_figure>& all, const std::vector<std::vector<double>>& runs) {
  const auto n = static_cast<double>(runs.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    double sum = 0.0, squares = 0.0;
    for (const auto& run : runs) sum += run[i];
    const double mean = sum / n;
    for (const auto& run : runs) squares += (run[i] - mean) * (run[i] - mean);
    all[i].value = mean;
    all[i].standard_error = n > 1.0 ? std::sqrt(squares / (n - 1.0) / n) : 0.0;
  }
}

/// Intervals and profile of a prediction, at the mean engine step of the run.
void note_uncertainty(outcome<>& out, const simulation& s, const calibration& c) {
  const pm::deployment& prefills =
      s.service.pools ? s.service.pools->prefill.deployment : s.service.one;
  const pm::simulation_statistics& stats = s.first.statistics;
  const double n = std::max(1.0, static_cast<double>(stats.requests));
  const double input = std::max(1.0, stats.input_tokens / n);
  const pm::iteration decode{.batch = std::max(1.0, stats.mean_batch() * s.service.one.layout.data),
                             .context = input + 0.5 * stats.output_tokens / n,
                             .steady = true};
  const pm::iteration prefill{.prefill_tokens = input};
  outcome<> typical;
  for (const simulated_figure& f : s.figures) {
    if (std::string_view(f.key) == "ttft_s" || std::string_view(f.key) == "itl_s")
      typical.results.push_back({f.key, "", f.value, second_unit});
  }
  typical.terms = pm::step(s.service.one, decode, c.calibration).terms;
  typical.prefill_terms = pm::step(prefills, prefill, c.calibration).terms;
  typical.sums = pm::all_reduce_kind_of(s.service.one, decode, c.calibration);
  typical.prefill_collectives = pm::all_reduce_kind_of(prefills, prefill, c.calibration);
  typical.pools = s.service.pools.has_value();
  note_calibration(typical, typical, c, profile_part::all);
  typical.calibrated->bounds.clear();
  out.calibrated = std::move(typical.calibrated);
}

/// Share of prompt tokens found in each tier of the prefix cache.
json cache_hits_json(const simulation& s) {
  const pm::simulation_statistics& stats = s.first.statistics;
  const double unit =
      s.load.trace ? s.load.trace->workload.block_tokens : pm::workload_source::unit_tokens;
  const double tokens = std::max(1.0, stats.input_tokens);
  const double host = unit * static_cast<double>(stats.host_units) / tokens;
  const double disk = unit * static_cast<double>(stats.disk_units) / tokens;
  const double device = std::max(0.0, s.first.cache_hit() - host - disk);
  return {{"device", number_json("cache_hit", device)},
          {"host", number_json("cache_hit", host)},
          {"disk", number_json("cache_hit", disk)}};
}

/// What the reader of a trace found besides requests.
json trace_json(const trace_report& r) {
  json out = {{"format", r.format}, {"rows", r.rows}};
  const auto add = [&out](const char* key, std::int64_t n) {
    if (n > 0) out[key] = n;
  };
  add("failed_rows", r.failed_rows);
  add("empty_rows", r.empty_rows);
  add("other_runs", r.other_runs);
  add("late_rows", r.late_rows);
  if (!r.notes.empty()) out["notes"] = r.notes;
  return out;
}

void add_facts(outcome<>& out, const simulation& s) {
  if (s.trend.falls_behind) {
    out.facts["keeps_up"] = "no";
    out.facts["served_requests_per_s"] = number_json("requests_per_s", s.trend.served_per_s);
  } else if (s.trend.is_unclear) {
    out.facts["keeps_up"] = "unclear";
  }
  if (s.load.trace) out.facts["trace"] = trace_json(s.load.trace->report);
  for (const auto& [key, x] : measured_figures_of(s.load))
    out.facts["measured"][key] = number_json(key, x);
  for (const simulated_figure& f : s.figures) {
    if (s.seeds > 1)
      out.facts[cat(f.key, "_standard_error")] = number_json(f.key, f.standard_error);
  }
  out.facts["scheduler"] = s.service.options.scheduler->name;
  if (s.service.options.tiers.host.value() > 0.0)
    out.facts["cache_hit_by_tier"] = cache_hits_json(s);
  if (s.service.options.scaling) out.facts["most_replicas"] = s.first.most_replicas;
}

/// Throws infeasible where requests were not completed.
void require_all_completed(const pm::simulation_result& r) {
  if (!r.feasible || r.completed_requests == r.simulated_requests) return;
  throw error(error_code::infeasible,
              cat(r.simulated_requests - r.completed_requests, " of ", r.simulated_requests,
                  " requests are never scheduled with these settings of the scheduler"));
}

struct no_derivation {
  static explanation of(const request&, const calibration*) {
    throw error(error_code::inconsistent,
                "simulate has no derivation; allowed: napkin explain serving, the closed form");
  }
};

}  // namespace

std::unique_ptr<pm::request_source> simulated_load::source(std::uint64_t seed) const {
  if (generated) return std::make_unique<pm::workload_source>(*generated, seed);
  pm::replay_options o = replay;
  o.seed = seed;
  return std::make_unique<pm::trace_source>(trace->workload, o);
}

pm::simulation_result run_simulation(const simulated_service& s, const simulated_load& l,
                                     std::uint64_t seed, const pm::calibrated* policy,
                                     std::function<void(const pm::request_record&)> keeps) {
  pm::simulation_options o = s.options;
  o.seed = seed;
  o.typical_tokens = l.typical_tokens;
  o.on_request = std::move(keeps);
  const auto source = l.source(seed);
  if (policy == nullptr) {
    return s.pools ? run_pools_at_bounds(*s.pools, *source, o)
                   : run_replicas_at_bounds(s.one, *source, o);
  }
  if (!s.pools) return run_replicas(s.one, *source, *policy, o);
  return run_pools(*s.pools, *source, s.prefill_policy == nullptr ? *policy : *s.prefill_policy,
                   *policy, o);
}

std::vector<simulated_figure> figures_of(const simulated_service& s,
                                         const pm::simulation_result& r) {
  std::vector<simulated_figure> all;
  const auto add = [&](const char* key, const char* label, double x,
                       const pm::unit_exponents& unit = {}) {
    all.push_back({key, label, unit, x, 0.0});
  };
  const pm::simulation_statistics& stats = r.statistics;
  const auto add_times = [&](const std::array<const char*, 4>& keys, const char* label,
                             const auto& sample) {
    add(keys[0], label, sample.mean(), second_unit);
    add(keys[1], "  p50", sample.quantile(0.5), second_unit);
    add(keys[2], "  p90", sample.quantile(0.9), second_unit);
    add(keys[3], "  p99", sample.quantile(0.99), second_unit);
  };
  add_times({"ttft_s", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s"}, "TTFT", stats.ttft);
  add_times({"itl_s", "itl_p50_s", "itl_p90_s", "itl_p99_s"}, "ITL", stats.itl);
  add_times({"tpot_s", "tpot_p50_s", "tpot_p90_s", "tpot_p99_s"}, "TPOT", stats.tpot);
  add_times({"e2e_s", "e2e_p50_s", "e2e_p90_s", "e2e_p99_s"}, "end-to-end latency", stats.e2e);
  add_times({"queueing_s", "queueing_p50_s", "queueing_p90_s", "queueing_p99_s"}, "queueing",
            stats.queueing);
  constexpr auto rate = pm::exponents_of<pm::request_rate<>>();
  add("requests_per_s", "requests", r.requests_per_s(), rate);
  add("goodput_requests_per_s", "  goodput within the limits", r.goodput_requests_per_s(), rate);
  add("output_tokens_per_s", "output throughput", r.output_tokens_per_s(),
      pm::exponents_of<pm::token_rate<>>());
  // Mean number of requests between their first and last token, by Little's law.
  const double decode_s = stats.itl.count() * stats.itl.mean();
  add("batch", "running requests (decode batch)", r.window > 0.0 ? decode_s / r.window : 0.0);
  add("kv_use", "KV cache in use (mean)", stats.mean_kv_use());
  add("makespan_s", "makespan", r.makespan, second_unit);
  add("simulated_requests", "simulated requests", static_cast<double>(r.simulated_requests));
  add("engine_steps", "engine steps", static_cast<double>(r.steps));
  add("steps", "  priced", static_cast<double>(r.priced_steps));
  add("preemptions", "preemptions", static_cast<double>(r.preemptions));
  add("cache_hit", "prefix-cache hit rate", r.cache_hit());
  if (s.options.scaling && r.makespan > 0.0)
    add("replicas", "replicas (mean)", r.replica_seconds / r.makespan);
  return all;
}

std::vector<std::pair<std::string, double>> measured_figures_of(const simulated_load& l) {
  std::vector<std::pair<std::string, double>> all;
  if (!l.trace || l.trace->measured.empty()) return all;
  const pm::replay_options& o = l.replay;
  const auto& requests = l.trace->workload.requests;
  auto n = static_cast<std::int64_t>(requests.size());
  const bool has_sessions = std::any_of(requests.begin(), requests.end(),
                                        [](const pm::trace_request& r) { return r.session >= 0; });
  const bool is_part = o.first_requests > 0 && o.first_requests < n;
  if (o.rate_factor != 1.0 || o.requests_per_s > 0.0 || (is_part && has_sessions)) return all;
  if (is_part) n = o.first_requests;
  const auto add = [&](const char* stem, double measured_latency::*member) {
    pm::latency_sample values;
    for (std::int64_t i = 0; i < n; ++i) {
      const double x = l.trace->measured[static_cast<std::size_t>(i)].*member;
      if (x >= 0.0) values.add(x);
    }
    if (values.count() == 0.0) return;
    all.emplace_back(cat(stem, "_s"), values.mean());
    all.emplace_back(cat(stem, "_p50_s"), values.quantile(0.5));
    all.emplace_back(cat(stem, "_p90_s"), values.quantile(0.9));
    all.emplace_back(cat(stem, "_p99_s"), values.quantile(0.99));
  };
  add("ttft", &measured_latency::ttft_s);
  add("tpot", &measured_latency::tpot_s);
  add("e2e", &measured_latency::e2e_s);
  return all;
}

namespace {

/// The trend of an open loop from its first quarter on; nothing without a rate of arrivals.
arrival_trend trend_of_load(const simulated_load& l,
                            const std::vector<pm::request_record>& requests) {
  if (!(l.offered_requests_per_s > 0.0)) return {};
  const auto* open = l.generated ? std::get_if<pm::open_arrivals>(&l.generated->arrivals) : nullptr;
  const bool is_drawn = open != nullptr && !l.generated->sessions;
  return trend_of_arrivals(requests, l.offered_requests_per_s, is_drawn, requests.size() / 4,
                           requests.size());
}

}  // namespace

simulation simulate_request(const request& r, const calibration* c, bool keeps_requests) {
  inputs<double> in(r);
  simulation s;
  s.load = simulated_load_of(in);
  s.service = simulated_service_of(in);
  s.seeds = in.whole("seeds");
  std::optional<pm::calibrated> policy;
  if (c != nullptr) policy = calibration_over(*c, in);
  const auto seed = static_cast<std::uint64_t>(in.plain("seed"));
  outcome<>& out = s.answer;
  std::vector<std::vector<double>> runs;
  pm::feasibility feasible{};
  try {
    for (int i = 0; i < s.seeds; ++i) {
      const bool keeps = i == 0 && (keeps_requests || s.load.offered_requests_per_s > 0.0);
      pm::simulation_result result = run_simulation(
          s.service, s.load, seed + static_cast<std::uint64_t>(i), policy ? &*policy : nullptr,
          keeps ? [&s](const pm::request_record& done) { s.requests.push_back(done); }
                : std::function<void(const pm::request_record&)>{});
      require_all_completed(result);
      feasible = result.feasible;
      const auto figures = figures_of(s.service, result);
      std::vector<double> values;
      for (const simulated_figure& f : figures) values.push_back(f.value);
      runs.push_back(std::move(values));
      if (i == 0) {
        s.figures = figures;
        s.first = std::move(result);
      }
      if (!feasible) break;
    }
    out.set(feasible);
  } catch (const pm::error& e) {
    if (e.code() != error_code::infeasible) throw;
    out.set({});
    out.feasible = false;
    out.reason = message_of(e);
    s.figures = figures_of(s.service, s.first);
    runs.assign(1, std::vector<double>(s.figures.size()));
  }
  if (out.feasible) s.trend = trend_of_load(s.load, s.requests);
  if (!keeps_requests) s.requests.clear();
  std::sort(s.requests.begin(), s.requests.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  merge(s.figures, runs);
  out.has_itl = s.first.statistics.itl.count() > 0.0;
  for (const simulated_figure& f : s.figures) {
    if (out.feasible) {
      out.results.push_back({f.key, f.label, f.value, f.unit});
    } else {
      out.facts[f.key] = nullptr;
    }
  }
  if (out.feasible) add_facts(out, s);
  note_formats(out, in);
  if (s.service.pools) note_link(out, in, *s.service.pools);
  if (c != nullptr) note_uncertainty(out, s, *c);
  return s;
}

simulation simulation_of(const json& object, const given_profile* profile, bool keeps_requests) {
  const query& asked = find_query("simulate");
  const std::optional<mode> wanted = mode_in(object);
  const request r(asked, object, profile);
  const std::optional<calibration> c = calibration_of_request(asked, r, wanted);
  simulation s = simulate_request(r, c ? &*c : nullptr, keeps_requests);
  if (!c && !wanted) s.answer.hint = prediction_hint(r.accelerator(), asked.part);
  add_remedies(s.answer, asked, object, profile);
  return s;
}

std::vector<query> simulation_queries() {
  query q;
  q.name = "simulate";
  q.help =
      "Simulation of a service, event by event: a run with an end, conversations, a trace; "
      "schedulers as engines have them, several replicas behind a router, autoscaling";
  q.keys = simulation_keys();
  q.part = profile_part::all;
  q.answer = [](const request& r, const calibration* c) { return simulate_request(r, c).answer; };
  q.explain = no_derivation::of;
  return {q};
}

}  // namespace napkin
