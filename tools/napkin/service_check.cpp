#include "service_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <perfmodel/units/text.hpp>

#include "engine_commands.hpp"
#include "infeasible.hpp"
#include "io/text_style.hpp"
#include "output.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr std::size_t most_rows = 3;
constexpr double most_requests = 200000.0;
/// Requests of a run that `serving` simulates. The ends of a longer run count for little.
constexpr double most_requests_of_run = 1e6;
/// A shorter run is repeated, with other lengths, until there are `requests_of_short_runs`.
constexpr double short_run = 50.0, requests_of_short_runs = 200.0;

/// The scheduler of a simulation that a scheduling policy of `serving` stands for.
const char* scheduler_for(std::string_view policy) {
  if (policy == "prefill_first") return pm::schedulers::sglang_0_5.name;
  if (policy == "static_batches") return pm::schedulers::static_batches.name;
  return pm::schedulers::vllm_0_24.name;
}

/// Adds a key of `serving` to a `simulate` request; returns whether the simulation has it.
bool translate(json& to, const std::string& name, const json& v) {
  if (name == "query" || name == "id" || name == "limit_share" || name == "measured_s" ||
      name == "requests" || name == "method")
    return true;
  if (name == "scheduler") {
    to[name] = scheduler_for(v.get<std::string>());
  } else if (name == "host_memory_bytes") {
    to["host_cache_bytes"] = v;
  } else if (name == "preemption") {
    return v == "recompute";
  } else if (name == "mode" || name == "set" || find_query("simulate").find(name) != nullptr) {
    to[name] = v;
  } else {
    return false;
  }
  return true;
}

/// Request of the same service for a simulation.
json simulated_request_of(const json& object, const request& r, service_check& c) {
  json out = {{"query", "simulate"}};
  for (const auto& [name, v] : object.items()) {
    if (!translate(out, name, v)) c.left_out.push_back(name);
  }
  // Prompts near the token budget run in chunks, or none would ever join the decodes; so do those
  // under a stated budget, as --save starts an engine.
  const bool is_static = r.text("scheduler") == "static_batches";
  const double longest = longest_prompt(r.number("input_tokens"), r.number("input_cv"));
  if (!is_static && (r.has("chunk_tokens") || longest > 5000.0)) out["chunked_prefill"] = true;
  // Lengths vary as the workload says; otherwise a little, because requests of equal length would
  // end in the same step for ever.
  for (const char* name : {"input_cv", "output_cv"}) {
    const double of_workload = r.number(name);
    if (!out.contains(name)) out[name] = of_workload > 0.0 ? of_workload : least_variation;
  }
  if (r.has("concurrency")) out["concurrency"] = std::lround(r.number("concurrency"));
  const auto leave_out = [&](const char* name) {
    if (out.erase(name) > 0) c.left_out.emplace_back(name);
  };
  if (out.contains("shared_tokens")) leave_out("prefix_hit");
  if (!out.contains("host_cache_bytes")) leave_out("host_link_bytes_per_s");
  return out;
}

/// Sets the number of requests: that of a run, or a steady state between a begin and an end without
/// counted requests. `in_flight` is the mean number of requests in the service.
void set_length(simulated_service& s, simulated_load& l, double run, double in_flight,
                service_check& c) {
  if (run > most_requests_of_run) {
    throw error(
        error_code::out_of_range,
        cat("requests is ", run, "; allowed in a simulation: at most ", most_requests_of_run));
  }
  if (run > 0.0) {
    l.generated->requests = static_cast<std::int64_t>(run);
    c.description = cat("a run of ", run, " requests");
    return;
  }
  const double ramp = std::min(most_requests, std::ceil(200.0 + 4.0 * in_flight));
  const double counted = std::min(most_requests, std::ceil(2000.0 + 10.0 * in_flight));
  s.options.warm_up = static_cast<std::int64_t>(ramp);
  s.options.count = static_cast<std::int64_t>(counted);
  l.generated->requests = static_cast<std::int64_t>(counted + 2.0 * ramp);
  c.description = cat(counted, " requests in steady state");
}

/// Closed-form values for the figures of a simulation.
using value_of_key = std::function<std::optional<double>(std::string_view)>;

/// Weight of a run in the mean of a figure: its time for rates, its intervals for ITL, or requests.
double weight_of(std::string_view figure, const pm::simulation_result& r) {
  if (figure.ends_with("per_s") || figure == "batch") return r.window;
  if (figure.starts_with("itl")) return static_cast<double>(r.statistics.itl.count());
  return static_cast<double>(r.statistics.requests);
}

/// Figures of several runs: total requests over total time, and means of the latencies and of their
/// percentiles.
std::vector<simulated_figure> figures_of_runs(const simulated_service& s,
                                              const std::vector<pm::simulation_result>& runs) {
  std::vector<simulated_figure> all = figures_of(s, runs.front());
  if (runs.size() == 1) return all;
  std::vector<double> weights(all.size());
  for (simulated_figure& f : all) f.value = 0.0;
  for (const pm::simulation_result& r : runs) {
    const auto figures = figures_of(s, r);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double weight = weight_of(all[i].key, r);
      weights[i] += weight;
      all[i].value += weight * figures[i].value;
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].value /= std::max(weights[i], 1e-300);
  return all;
}

void compare(service_check& c, const simulated_service& s,
             const std::vector<pm::simulation_result>& runs, const value_of_key& closed_form) {
  for (const pm::simulation_result& r : runs) {
    if (r.feasible) continue;
    c.reason = sentence(r.feasible);
    return;
  }
  std::string group;
  for (const simulated_figure& f : figures_of_runs(s, runs)) {
    const std::string_view label = f.label;
    if (!label.starts_with("  ")) group = label;
    const std::optional<double> x = closed_form(f.key);
    if (!x) continue;
    const bool is_percentile = label.starts_with("  p");
    c.figures.push_back({f.key, is_percentile ? cat(group, label.substr(1)) : std::string(label),
                         f.unit, *x, f.value});
  }
}

/// Simulates, and keeps the reason where that is not possible.
template <class Simulate>
void simulate_into(service_check& c, const Simulate& run) {
  try {
    run();
  } catch (const pm::error& e) {
    c.reason = message_of(e);
  }
}

std::string figure_text(const checked_figure& f, double x) {
  return pm::to_string(x, f.unit, 4);
}

}  // namespace

// --- plan -----------------------------------------------------------------------------------

const pm::calibrated* policy_of(const planned& p, const pm::label& chip, pm::engine e) {
  for (const plan_calibration& c : p.calibrations) {
    if (c.profiles.accelerator == chip && c.serving_engine == e) return &c.profiles.calibration;
  }
  return nullptr;
}

namespace {

/// The scheduler of a plan's load, with the limits of the deployment's engine.
pm::scheduler_settings scheduler_of_point(const pm::plan_request& q, const pm::deployment& d) {
  const pm::scheduler_settings own = pm::scheduler_of(d);
  if (!q.load.scheduler) return own;
  pm::scheduler_settings s = *pm::find_scheduler(scheduler_for(pm::name_of(*q.load.scheduler)));
  if (s.kind == own.kind) return own;
  s.token_budget = own.token_budget;
  s.max_running = own.max_running;
  return s;
}

}  // namespace

simulated_service simulated_service_of(const planned& p, const pm::plan_point& point) {
  const pm::plan_request& q = p.request;
  simulated_service s;
  s.one = pm::deployment_of(q, point);
  if (point.prefill) {
    s.pools = pm::pools_of(q, point);
    s.prefill_policy = policy_of(p, point.prefill->accelerator, point.serving_engine);
  }
  if (point.speculation_index) s.options.speculate = pm::speculation_of(q, point);
  s.options.replicas = point.replicas;
  s.options.scheduler = scheduler_of_point(q, s.one);
  pm::scheduler_settings& scheduler = *s.options.scheduler;
  if (scheduler.kind == pm::scheduler_kind::static_batches) {
    scheduler.max_running = std::max(1, static_cast<int>(point.batch_limit));
    return s;
  }
  const double running = std::ceil(point.batch_limit / s.one.layout.data);
  if (point.chunk_tokens || divides_prompts(longest_prompt(q.load.input_tokens, q.load.input_cv),
                                            running, scheduler.token_budget))
    scheduler.chunked_prefill = true;
  // A limit that the replica's share of the clients fits in does not bind: routed in turn, one more
  // than the share may be with a replica.
  const bool binds = point.prefill || !q.load.is_closed() ||
                     q.load.concurrency() / point.replicas > point.batch_limit;
  if (binds && running >= 1.0 && running < scheduler.max_running)
    scheduler.max_running = static_cast<int>(running);
  return s;
}

namespace {

simulated_load load_of_plan(const pm::plan_request& q) {
  simulated_load l;
  l.generated = pm::workload_of(with_spread(q), 1);
  l.typical_tokens = q.load.input_tokens + q.load.output_tokens;
  return l;
}

service_check check_of_point(const planned& p, const pm::plan_point& point,
                             const std::optional<simulated_load>& given) {
  service_check c;
  simulated_service s = simulated_service_of(p, point);
  const pm::serving_estimate& closed = point.serving;
  simulated_load l = given ? *given : load_of_plan(p.request);
  if (given) {
    c.description = given->description;
  } else {
    const auto& load = p.request.load;
    double run = 0.0, in_flight = 0.0;
    if (load.is_closed()) {
      in_flight = load.concurrency();
      run = std::get<pm::closed_loop>(load.arrivals).requests.value_or(0.0);
    } else {
      in_flight = load.rate().value() * closed.e2e.value();
    }
    set_length(s, l, run, in_flight, c);
  }
  const auto value = [&](std::string_view key) -> std::optional<double> {
    if (key == "ttft_s") return closed.ttft.value();
    if (key == "itl_s") return closed.itl.value();
    if (key == "output_tokens_per_s") return point.output_rate.value();
    if (closed.ttft_distribution.size() == 0) return {};
    if (key == "ttft_p99_s") return closed.ttft_distribution.quantile(0.99).value();
    if (key == "itl_p99_s") return closed.itl_distribution.quantile(0.99).value();
    return {};
  };
  simulate_into(c, [&] {
    const pm::calibrated* policy = policy_of(p, point.accelerator, point.serving_engine);
    compare(c, s, {run_simulation(s, l, 1, policy)}, value);
  });
  return c;
}

/// "row 2: TTFT p99 1.2 s (+31 %), ITL 20 ms (-17 %)"; "" where all are near.
std::string deviations_text(const plan_check& c) {
  std::string text;
  for (const checked_figure& f : c.check.figures) {
    if (std::fabs(f.ratio() - 1.0) <= notable_deviation) continue;
    text += cat(text.empty() ? "" : ", ", f.label, " ", figure_text(f, f.simulation), " (",
                signed_percent(f.ratio() - 1.0), ")");
  }
  return text.empty() ? "" : cat("row ", c.row + 1, ": ", text);
}

/// Throughput of a service at half as many arrivals again: that of a queue that never ends, unless
/// it keeps up with them too. Completions are counted until the last arrival, without those of the
/// first quarter; k of them have about the variation of the lengths / sqrt(k) of error.
saturated_throughput saturated_throughput_of(simulated_service s, simulated_load l, double cv,
                                             const pm::calibrated* policy) {
  constexpr double more = 1.5, least_requests = 8000.0;
  auto* open = std::get_if<pm::open_arrivals>(&l.generated->arrivals);
  if (open == nullptr) return {};
  open->requests_per_s *= more;
  l.generated->requests = static_cast<std::int64_t>(
      std::max(least_requests, 2.0 * static_cast<double>(*s.options.count)));
  s.options.warm_up = 0;
  s.options.count.reset();
  std::vector<double> completions;
  double last = 0.0;
  const pm::simulation_result run =
      run_simulation(s, l, 1, policy, [&](const pm::request_record& one) {
        last = std::max(last, one.arrival);
        completions.push_back(one.arrival + one.e2e);
      });
  const double from = 0.25 * last;
  const auto n = static_cast<double>(std::count_if(
      completions.begin(), completions.end(), [&](double t) { return t > from && t <= last; }));
  if (!run.feasible || n < 1.0) return {};
  return {n / (last - from), std::max(0.2, cv) / std::sqrt(n)};
}

/// Simulates an open loop at `rate`. Where many requests queue, the saturated throughput tells
/// whether a queue ends; where it is unclear, four times the requests are simulated, and again.
pm::simulation_result open_run(simulated_service& s, simulated_load& l, double rate, double cv,
                               const pm::calibrated* policy, service_check& c) {
  constexpr std::int64_t longest = 100000;
  constexpr double many = 0.3;
  std::optional<saturated_throughput> saturated;
  for (int tries = 0;; ++tries) {
    std::vector<pm::request_record> all;
    pm::simulation_result run =
        run_simulation(s, l, 1, policy, [&](const pm::request_record& one) { all.push_back(one); });
    if (!run.feasible || !s.options.count) return run;
    const auto from = static_cast<std::size_t>(s.options.warm_up);
    c.trend = trend_of_arrivals(std::move(all), rate, true, from,
                                from + static_cast<std::size_t>(*s.options.count));
    if (!saturated && c.trend.queued_share > many && !s.pools)
      saturated = saturated_throughput_of(s, l, cv, policy);
    if (saturated && saturated->requests_per_s > 0.0) decide(c.trend, rate, *saturated);
    if (!c.trend.is_unclear || tries == 2 || 4 * *s.options.count > longest) return run;
    l.generated->requests += 3 * *s.options.count;
    *s.options.count *= 4;
    c.description = cat(*s.options.count, " requests in steady state");
  }
}

}  // namespace

service_check check_of_serving(const json& object, const given_profile* profile,
                               const outcome<>& closed_form) {
  service_check c;
  const request asked(find_query("serving"), object, profile);
  if (!closed_form.feasible) {
    c.reason = closed_form.reason;
    return c;
  }
  const auto value = [&](std::string_view key) -> std::optional<double> {
    for (const auto& one : closed_form.results) {
      if (key == one.key) return value_in(closed_form, one);
    }
    return {};
  };
  simulate_into(c, [&] {
    const json simulated = simulated_request_of(object, asked, c);
    const query& simulate = find_query("simulate");
    const request r(simulate, simulated, profile);
    inputs<double> in(r);
    simulated_load l = simulated_load_of(in);
    simulated_service s = simulated_service_of(in);
    const double in_flight = value("requests_per_s").value_or(0.0) * value("e2e_s").value_or(0.0);
    const double run = asked.number("requests");
    set_length(s, l, run, in_flight, c);
    const auto calibration = calibration_of_request(simulate, r, mode_in(object));
    std::optional<pm::calibrated> policy;
    if (calibration) policy = calibration_over(*calibration, in);
    const bool is_short = run > 0.0 && run < short_run;
    const auto times =
        static_cast<std::uint64_t>(is_short ? std::ceil(requests_of_short_runs / run) : 1.0);
    if (is_short) c.description += cat(", ", times, " times");
    const pm::calibrated* const with = policy ? &*policy : nullptr;
    std::vector<pm::simulation_result> runs;
    if (r.has("requests_per_s")) {
      const double cv = std::max(in.plain("input_cv"), in.plain("output_cv"));
      runs.push_back(open_run(s, l, r.number("requests_per_s"), cv, with, c));
    } else {
      for (std::uint64_t seed = 1; seed <= times; ++seed)
        runs.push_back(run_simulation(s, l, seed, with));
    }
    compare(c, s, runs, value);
  });
  return c;
}

checked_service checked_service_of(const json& object, const given_profile* profile) {
  if (const auto method = object.find("method");
      method != object.end() && method->is_string() &&
      common::lower_case(method->get<std::string>()) == "simulation")
    throw error(error_code::inconsistent,
                "method is simulation, and check compares the closed form with it; allowed: one of "
                "them");
  checked_service s{evaluate_closed_form(find_query("serving"), object, profile), {}};
  s.closed_form.facts["method"] = "closed_form";
  s.check = check_of_serving(object, profile, s.closed_form);
  return s;
}

json checked_service_json(const checked_service& s, const json& object) {
  json out = outcome_json(s.closed_form, object);
  out["check"] = check_json(s.check);
  return out;
}

bool take_check(json& object) {
  const auto at = object.find("check");
  if (at == object.end()) return false;
  const bool checks = json_field(*at, "check").truth();
  object.erase(at);
  return checks;
}

namespace {

/// Output tokens from which the closed form of a closed loop agrees with the simulation
/// (docs/laws/research/closed_forms.md).
constexpr double closed_form_outputs = 64.0;

bool wants_simulation(const request& r, const outcome<>& closed_form) {
  const std::string_view method = r.text("method");
  if (method != "auto") return method == "simulation";
  if (!closed_form.calibrated || !closed_form.feasible) return false;
  if (r.profile() != nullptr) return false;  // a profile is fitted to the closed form
  const bool is_steady_loop = r.has("concurrency") && !(r.number("requests") > 0.0);
  return !is_steady_loop || r.number("concurrency") <= 2.0 ||
         r.number("output_tokens") < closed_form_outputs;
}

/// Rates of an open loop that keeps up: the offered rate, which the arrivals of a sample only draw,
/// and the simulated share of it within the limits.
void state_offered_rates(outcome<>& answer, const service_check& c) {
  const auto figure = [&](std::string_view key) {
    return std::find_if(c.figures.begin(), c.figures.end(),
                        [&](const checked_figure& f) { return f.key == key; });
  };
  const auto requests = figure("requests_per_s");
  if (requests == c.figures.end() || !(requests->simulation > 0.0)) return;
  for (auto& result : answer.results) {
    const auto at = figure(result.key);
    if (at == c.figures.end() || !std::string_view(result.key).ends_with("per_s")) continue;
    const bool is_share = at->key == "goodput_requests_per_s";
    result.value = is_share ? at->simulation / requests->ratio() : at->closed_form;
  }
}

void scale(pm::time_range& range, double factor) {
  range.low = factor * range.low;
  range.high = factor * range.high;
}

/// States that requests arrive faster than the simulated engine completes them.
void state_overload(outcome<>& answer, double offered, double completed) {
  answer.set(pm::infeasible("requests arrive faster than the simulated engine completes them",
                            "req/s", offered, completed));
  answer.facts["offered_requests_per_s"] = number_json("requests_per_s", offered);
  answer.facts["sustainable_requests_per_s"] = number_json("requests_per_s", completed);
}

}  // namespace

void simulate_instead(outcome<>& closed_form, const request& r, const json& object) {
  if (!wants_simulation(r, closed_form)) return;
  const service_check c = check_of_serving(object, r.profile(), closed_form);
  if (!c.reason.empty() || !c.left_out.empty()) {
    const auto own = [](const std::string& k) { return k; };
    const std::string why = c.reason.empty() ? cat("not simulated: ", listed(c.left_out, own))
                                             : cat("no simulation: ", c.reason);
    closed_form.notes.push_back({"method", cat("closed form; ", why)});
    return;
  }
  for (auto& result : closed_form.results) {
    const auto at = std::find_if(c.figures.begin(), c.figures.end(),
                                 [&](const checked_figure& f) { return f.key == result.key; });
    if (at == c.figures.end()) continue;
    if (closed_form.calibrated && at->closed_form > 0.0) {
      if (at->key == "itl_s") scale(closed_form.calibrated->range, at->ratio());
      if (at->key == "ttft_s" && closed_form.calibrated->first_token)
        scale(*closed_form.calibrated->first_token, at->ratio());
      if (at->key == "itl_s" && closed_form.facts.contains("measured_over_predicted"))
        closed_form.facts["measured_over_predicted"] = number_json(
            "measured_s", closed_form.facts["measured_over_predicted"].get<double>() / at->ratio());
    }
    result.value = at->simulation;
  }
  if (r.has("requests_per_s")) state_offered_rates(closed_form, c);
  // A search over rates has no simulation for each; near saturation the two differ.
  if (closed_form.facts.contains("largest_rate_requests_per_s"))
    closed_form.facts["largest_rate_method"] = "closed_form";
  if (c.trend.falls_behind)
    state_overload(closed_form, r.number("requests_per_s"), c.trend.served_per_s);
  closed_form.facts["method"] = "simulation";
  if (c.trend.is_unclear) closed_form.facts["keeps_up"] = "unclear";
  const char* const unclear =
      ", of which a queue stays: too few to tell whether the rate is sustained";
  closed_form.notes.push_back(
      {"method", cat("simulation, ", c.description, c.trend.is_unclear ? unclear : "")});
}

json check_json(const service_check& c) {
  json out = {{"requests", c.description}};
  for (const checked_figure& f : c.figures) {
    out[f.key] = {{"closed_form", number_json(f.key, f.closed_form)},
                  {"simulation", number_json(f.key, f.simulation)},
                  {"ratio", number_json(f.key, f.ratio())}};
  }
  if (!c.left_out.empty()) out["not_simulated"] = c.left_out;
  if (!c.reason.empty()) out["reason"] = c.reason;
  return out;
}

std::string check_text(const service_check& c) {
  if (!c.reason.empty()) return wrapped(cat("Check: no simulation: ", c.reason, "."), 0);
  table_rows rows = {{"", "closed form", "simulation", "ratio"}};
  const checked_figure* worst = nullptr;
  for (const checked_figure& f : c.figures) {
    rows.push_back({f.label, figure_text(f, f.closed_form), figure_text(f, f.simulation),
                    fixed(f.ratio(), 3)});
    const auto size = [](const checked_figure& x) { return std::fabs(std::log(x.ratio())); };
    if (f.ratio() > 0.0 && (worst == nullptr || size(f) > size(*worst))) worst = &f;
  }
  std::string s = cat("Check by simulation, ", c.description);
  if (worst != nullptr)
    s += cat(": largest deviation ", signed_percent(worst->ratio() - 1.0), " (", worst->label, ")");
  const auto own = [](const std::string& k) { return k; };
  const std::string left_out =
      c.left_out.empty() ? "" : wrapped(cat("Not simulated: ", listed(c.left_out, own), "."), 0);
  return styled(text_style::bold, wrapped(s + ".", 0)) + styled(text_style::dim, left_out) +
         headed_table(rows, "lr");
}

void add_load_of_trace(json& request, const simulated_load& load) {
  const auto& requests = load.trace->workload.requests;
  std::vector<double> input, output;
  double first = HUGE_VAL, last = 0.0;
  for (const pm::trace_request& r : requests) {
    input.push_back(r.input_tokens);
    output.push_back(r.output_tokens);
    first = std::min(first, r.arrival_s);
    last = std::max(last, r.arrival_s);
  }
  const auto add = [&](const char* key, const std::vector<double>& lengths, const char* cv) {
    const pm::length_statistics of = pm::length_statistics_of(lengths);
    if (!request.contains(key)) request[key] = number_json(key, of.mean);
    if (!request.contains(cv)) request[cv] = number_json(cv, of.cv);
  };
  add("input_tokens", input, "input_cv");
  add("output_tokens", output, "output_cv");
  if (request.contains("concurrency") || request.contains("requests_per_s")) return;
  if (!(last > first)) {
    throw error(code::missing_key,
                "concurrency is missing; plan needs it: the trace has no arrival times");
  }
  const double rate = static_cast<double>(requests.size() - 1) / (last - first);
  request["requests_per_s"] = number_json("requests_per_s", rate);
}

std::vector<plan_check> checks_of_plan(const planned& p,
                                       const std::optional<simulated_load>& load) {
  std::vector<plan_check> checks;
  for (const std::size_t row : distinct_rows(p)) {
    if (checks.size() == most_rows) break;
    checks.push_back({row, check_of_point(p, p.result.frontier[row], load)});
  }
  return checks;
}

json plan_checks_json(const std::vector<plan_check>& checks) {
  json out = json::array();
  for (const plan_check& c : checks) {
    json one = {{"row", c.row + 1}};
    one.update(check_json(c.check));
    out.push_back(std::move(one));
  }
  return out;
}

std::string plan_checks_text(const std::vector<plan_check>& checks) {
  if (checks.empty()) return "";
  table_rows rows;
  std::string deviations, not_simulated;
  for (const plan_check& c : checks) {
    const std::string text = deviations_text(c);
    if (!text.empty()) deviations += wrapped(text, 2);
    if (!c.check.reason.empty())
      not_simulated +=
          wrapped(cat("Row ", c.row + 1, " is not simulated: ", c.check.reason, "."), 0);
    if (c.check.figures.empty()) continue;
    if (rows.empty()) {
      rows.push_back({"row"});
      for (const checked_figure& f : c.check.figures) rows[0].push_back(f.label);
    }
    rows.push_back({cat(c.row + 1)});
    for (const checked_figure& f : c.check.figures)
      rows.back().push_back(cat(figure_text(f, f.simulation), " x", fixed(f.ratio(), 2)));
  }
  const std::string what =
      cat("Simulated, ", checks.front().check.description, "; x: simulation over closed form");
  if (rows.empty()) return not_simulated;
  std::string s = styled(
      text_style::bold, wrapped(cat(what, deviations.empty() ? ". All are within 15 %." : "."), 0));
  s += headed_table(rows, "r") + styled(text_style::dim, not_simulated);
  return deviations.empty() ? s : cat(s, "More than 15 % from the closed form:\n", deviations);
}

}  // namespace napkin
