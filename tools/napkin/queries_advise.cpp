// Techniques that would change a service, their gains, and the combined gain of the best.
#include <array>
#include <cmath>
#include <perfmodel/serving.hpp>
#include <perfmodel/tools/advise/advise.hpp>
#include <sstream>
#include <utility>

#include "advise_evaluators.hpp"
#include "infeasible.hpp"
#include "output.hpp"
#include "queries_diagnose.hpp"
#include "query.hpp"
#include "service_keys.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::vector<key> keys_of_serving() {
  std::vector<key> k = serving_queries().front().keys;
  std::erase_if(k,
                [](const key& one) { return std::string_view(one.name) == measured_key().name; });
  return k;
}

/// Parts of a service, in one pool or disaggregated.
pm::advised_service service_of(inputs<double>& in) {
  pm::advised_service s;
  s.load = service_load_of(in);
  if (has_pools(in)) {
    s.pools = pools_of(in);
    s.deployment = s.pools->decode.deployment;
    return s;
  }
  const replica_count n = replicas_of(in);
  s.deployment = deployment_of(in, n.groups);
  reserve_memory(in, s.deployment);
  s.speculation = speculation_of(in, s.deployment);
  s.replicas = n.replicas;
  return s;
}

json json_of(const pm::technique& t) {
  return {{"name", t.name},
          {"family", t.family},
          {"applies", t.applies},
          {"in_use", t.in_use},
          {"enables", t.makes_feasible},
          {"gain", t.has_ratio ? number_json("gain", t.gain) : json()},
          {"devices", number_json("devices", t.devices)},
          {"costs", t.cost},
          {"user", pm::name_of(t.user)},
          {"harmful_when", t.harmful_when},
          {"harmful", t.harmful},
          {"why", t.infeasible ? cat("infeasible with it: ", t.reason) : t.reason}};
}

std::string verdict_of(const pm::technique& t, bool overloaded) {
  if (t.infeasible) return "infeasible";
  if (t.makes_feasible) {
    if (t.in_use) return overloaded ? "in use, needed" : "in use, needed to be feasible";
    return overloaded ? "enough to be stable" : "enough to be feasible";
  }
  if (t.misses_target && t.gain > 1.0 + 1e-3) return "misses a target";
  if (t.harmful) return t.applies && t.gain >= 1.0 - 1e-3 ? "no gain" : "slower";
  if (!t.applies) return t.in_use ? "in use" : "n.a.";
  return t.in_use ? "in use" : t.gain > 1.005 ? "helps" : "no gain";
}

/// Adds a row with its text wrapped, so that the table has at most the terminal's columns.
void add_row(outcome<>& out, std::string label, const std::string& text) {
  constexpr std::size_t label_columns = std::string_view("  compute_communication_overlap").size();
  std::istringstream lines(wrapped(text, 0, terminal_columns - label_columns - 4));
  for (std::string line; std::getline(lines, line); label.clear())
    out.notes.push_back({label, line});
}

/// "weight_only_int4 + fp8 shorten a request from 9.525 s to 4.301 s (x2.21)."
std::string conclusion_of(const pm::advice& a, bool has_intervals) {
  if (!a.current.feasible || a.current_rate || !a.best.feasible) return "";
  const auto time = [](const auto& t) { return pm::to_string(t, 4); };
  if (a.combination.empty())
    return wrapped(cat("No technique shortens a request of ", time(a.current.e2e), "."), 0);
  std::string names;
  for (const std::string& n : a.combination) names += (names.empty() ? "" : " + ") + n;
  const std::string itl =
      has_intervals ? cat("; ITL ", time(a.best.itl), " and ", time(a.current.itl)) : "";
  return wrapped(
      cat("A request takes ", time(a.best.e2e), " with ", names, ", ", time(a.current.e2e),
          " without (x", pm::detail::significant(a.combined, 3), ")", itl, "."),
      0);
}

void add_text(outcome<>& out, const pm::advice& a) {
  const auto ratio = [](double x) { return cat("x", pm::detail::significant(x, 3)); };
  constexpr std::array<std::pair<const char*, const char*>, 3> headings{
      {{"for an operator", "options of the engine, or another checkpoint"},
       {"for the owner of the model", "training"},
       {"for the author of a kernel", "code"}}};
  std::optional<pm::technique_user> last;
  for (const pm::technique& t : a.techniques) {
    const auto& [user, what] = headings[static_cast<std::size_t>(t.user)];
    if (last != t.user) out.notes.push_back({user, what});
    last = t.user;
    const std::string verdict = verdict_of(t, a.current_rate.has_value());
    const bool helps = t.applies && !t.harmful && t.gain > 1.005;
    const bool slower = t.applies && t.gain < 1.0 - 1e-3;
    const std::string gain =
        t.has_ratio && (helps || slower || t.misses_target) ? ratio(t.gain) + ", " : "";
    const std::string costs = helps && !t.in_use ? cat("; costs: ", t.cost) : "";
    add_row(out, cat("  ", t.name), cat(gain, verdict, ": ", t.reason, costs));
  }
  std::string names;
  for (const std::string& n : a.combination) names += (names.empty() ? "" : " + ") + n;
  add_row(out, "best combination", names.empty() ? "none" : names);
  if (!a.current.feasible && !a.current_rate) {
    out.notes.push_back({"  gain", a.best.feasible ? "the service is feasible with them"
                                                   : "none: the service is infeasible"});
    return;
  }
  const std::string of_rate =
      a.best_rate ? cat(" in the largest sustainable rate (", pm::to_string(*a.best_rate, 4), ")")
                  : "";
  add_row(out, "  gain",
          cat(ratio(a.combined), of_rate, ", evaluated with all of them; single gains multiplied ",
              ratio(a.product_of_gains)));
}

/// Ratios of times or rates; none where the service does not fit.
void add_gains(outcome<>& out, const pm::advice& a) {
  if (a.best_rate)
    out.facts["combined_sustainable_requests_per_s"] =
        number_json("combined_sustainable_requests_per_s", a.best_rate->value());
  if (!a.best.feasible) out.facts["combined_feasible"] = false;
  out.facts["objective"] = a.current_rate
                               ? "sustainable_requests_per_s: the largest sustainable rate; "
                                 "latencies of an overloaded service are unbounded"
                               : "e2e_s: the mean end-to-end latency, queueing included";
  const bool has_ratio = a.current.feasible || a.current_rate;
  out.facts["product_of_gains"] =
      has_ratio ? number_json("product_of_gains", a.product_of_gains) : json();
}

outcome<> answered(const pm::advised_service& s, const pm::service_targets& targets,
                   pm::launch_framework framework, const pm::service_evaluator& ask) {
  pm::kernel_facts kernels;
  kernels.framework = framework;
  const pm::advice a = pm::advise(s, ask, targets, {}, kernels);
  outcome<> out;
  out.add("e2e_s", "end-to-end latency now (mean)", a.current.e2e);
  out.add("ttft_s", "  TTFT", a.current.ttft);
  out.add("itl_s", "  ITL", a.current.itl);
  out.add("combined_e2e_s", "  with the best combination", a.best.e2e);
  out.add("combined_gain", "  gain of the combination", a.combined);
  add_gains(out, a);
  out.conclusion = conclusion_of(a, s.load.output_tokens > 1.0);
  out.facts["method"] = "closed_form";
  out.facts["combined"] = a.combination;
  json techniques = json::array();
  for (const pm::technique& t : a.techniques) techniques.push_back(json_of(t));
  out.facts["tricks"] = std::move(techniques);
  add_row(out, "method",
          "closed form of each service (serving --method closed_form); napkin serving simulates "
          "the service, and its ITL may differ");
  add_text(out, a);
  out.set(a.current.feasible);
  if (a.current_rate) {
    note_overload(out, s.load, 1.0, s.devices(), [&](const pm::service_load& load) {
      pm::advised_service at = s;
      at.load = load;
      return ask(at);
    });
  }
  return out;
}

outcome<> advise_outcome(const request& r, const calibration* c) {
  inputs<double> in(r);
  const pm::advised_service s = service_of(in);
  pm::service_targets targets;
  if (in.has("ttft_limit_s"))
    targets.ttft = pm::latency_target{in.plain("ttft_limit_s") * pm::second};
  if (in.given("limit_share")) {
    if (!targets.ttft) in.missing("ttft_limit_s", "limit_share is the share of requests within it");
    targets.ttft->share = in.plain("limit_share");
  }
  if (in.has("itl_limit_s")) targets.itl = pm::latency_target{in.plain("itl_limit_s") * pm::second};
  pm::launch_framework framework = pm::launch_framework::engine;
  if (in.text("framework") == "eager") framework = pm::launch_framework::eager;
  if (in.text("framework") == "compiled") framework = pm::launch_framework::compiled;
  if (c == nullptr) {
    outcome<> out = answered(s, targets, framework, bound_evaluator());
    const std::vector<std::string> all = left_out_of_bound(r, s.pools.has_value());
    if (!all.empty()) out.facts["left_out"] = all;
    return out;
  }
  const pm::calibrated calibration = calibration_over(*c, in);
  outcome<> out = answered(s, targets, framework, calibrated_evaluator(calibration));
  out.pools = s.pools.has_value();
  const outcome<> bound = [&] {
    const pm::serving_estimate e = bound_evaluator()(s);
    outcome<> o;
    o.add("ttft_s", "", e.ttft);
    o.add("itl_s", "", e.itl);
    return o;
  }();
  note_calibration(out, bound, *c, profile_part::all);
  return out;
}

explanation no_advise_derivation(const request&, const calibration*) {
  throw pm::error(pm::error_code::inconsistent,
                  "advise compares many services and has no derivation; allowed: explain serving "
                  "with the same keys");
}

}  // namespace

std::vector<query> advise_queries() {
  query q;
  q.name = "advise";
  q.help =
      "Techniques for a service: gain of each for this model, machine and load, its costs, where "
      "it would be slower, and the best combination";
  q.keys = keys_of_serving();
  q.keys.push_back(word("framework",
                        "launches without CUDA graphs: an engine's, PyTorch eager or torch.compile",
                        {"engine", "eager", "compiled"})
                       .otherwise("engine"));
  q.part = profile_part::all;
  q.answer = advise_outcome;
  q.explain = no_advise_derivation;
  return {q, diagnose_query()};
}

}  // namespace napkin
