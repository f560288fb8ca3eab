// What to change of a service: every trick, its gain there, and what the best bring together.
#include <cmath>
#include <perfmodel/serving.hpp>
#include <perfmodel/tools/advise/advise.hpp>

#include "infeasible.hpp"
#include "queries_diagnose.hpp"
#include "query.hpp"
#include "service_keys.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::vector<key> keys_of_serving() {
  std::vector<key> k = serving_queries().front().keys;
  std::erase_if(k,
                [](const key& one) { return std::string_view(one.name) == measured_key().name; });
  return k;
}

/// What a service in one pool or in two is made of.
pm::advised_service service_of(inputs<double>& in) {
  pm::advised_service s;
  s.load = service_load_of(in);
  if (has_pools(in)) {
    s.pools = pools_of(in);
    s.deployment = s.pools->decode.deployment;
    return s;
  }
  const int groups = in.whole("data_parallel");
  const bool spread = in.whole("expert_parallel") > in.whole("tensor_parallel");
  s.deployment = deployment_of(in, spread ? groups : 1);
  reserve_memory(in, s.deployment);
  s.speculation = speculation_of(in, s.deployment);
  if (!spread) s.replicas = groups;
  return s;
}

constexpr bound_mode data_sheets{};

template <class Mode, class... What>
pm::serving_estimate served(const Mode& mode, const What&... what) {
  if constexpr (std::same_as<Mode, bound_mode>) {
    return pm::serving_bound(what...);
  } else {
    return pm::serving(what..., mode);
  }
}

template <class Mode>
pm::service_evaluator asks(const Mode& mode) {
  return [&mode](const pm::advised_service& s) -> pm::serving_estimate {
    if (s.pools) return served(mode, *s.pools, s.load);
    double copies = s.replicas;
    if (s.load.is_closed()) copies = std::fmin(copies, s.load.concurrency());
    const pm::service_load share = pm::per_replica(s.load, copies);
    return s.speculation ? served(mode, s.deployment, share, *s.speculation)
                         : served(mode, s.deployment, share);
  };
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
          {"harmful_when", t.harmful_when},
          {"harmful", t.harmful},
          {"why", t.reason}};
}

std::string verdict_of(const pm::technique& t, bool overloaded) {
  if (t.makes_feasible) {
    if (t.in_use) return overloaded ? "in use, needed" : "in use, needed to be feasible";
    return overloaded ? "enough to be stable" : "enough to be feasible";
  }
  if (t.harmful) return t.applies && t.gain >= 1.0 - 1e-3 ? "no use here" : "harms here";
  if (!t.applies) return t.in_use ? "in use" : "not here";
  return t.in_use ? "in use" : t.gain > 1.0 + 1e-3 ? "helps" : "nothing";
}

void add_text(outcome<>& out, const pm::advice& a) {
  const auto ratio = [](double x) { return cat("x", pm::detail::significant(x, 3)); };
  for (const pm::technique& t : a.techniques) {
    const std::string gain = t.has_ratio ? ratio(t.gain) + ", " : "";
    out.notes.push_back(
        {t.name, cat(gain, verdict_of(t, a.current_rate.has_value()), ": ", t.reason)});
  }
  std::string names;
  for (const std::string& n : a.combination) names += (names.empty() ? "" : " + ") + n;
  out.notes.push_back({"best together", names.empty() ? "nothing" : names});
  if (!a.current.feasible && !a.current_rate) {
    out.notes.push_back({"  gain", a.best.feasible ? "the service is feasible with them"
                                                   : "none: the service is infeasible"});
    return;
  }
  const std::string of_rate =
      a.best_rate ? cat(" in the largest sustainable rate (", pm::to_string(*a.best_rate, 4), ")")
                  : "";
  out.notes.push_back(
      {"  gain", cat(ratio(a.combined), of_rate, ", asked with all of them; the product would be ",
                     ratio(a.product_of_gains))});
}

/// Ratios of times or of rates; none where the service does not fit, and so has neither.
void add_gains(outcome<>& out, const pm::advice& a) {
  if (a.best_rate)
    out.facts["combined_sustainable_requests_per_s"] =
        number_json("combined_sustainable_requests_per_s", a.best_rate->value());
  if (!a.best.feasible) out.facts["combined_feasible"] = false;
  out.facts["objective"] = a.current_rate
                               ? "sustainable_requests_per_s: the largest rate that the service "
                                 "sustains; overloaded, it has no time of a request"
                               : "e2e_s: the mean time of a whole request, waiting included";
  const bool has_ratio = a.current.feasible || a.current_rate;
  out.facts["product_of_gains"] =
      has_ratio ? number_json("product_of_gains", a.product_of_gains) : json();
}

template <class Mode>
outcome<> answered(const pm::advised_service& s, const pm::service_targets& targets,
                   const Mode& mode) {
  const pm::service_evaluator ask = asks(mode);
  const pm::advice a = pm::advise(s, ask, targets);
  outcome<> out;
  out.add("e2e_s", "a request now, mean", a.current.e2e);
  out.add("ttft_s", "  time to first token", a.current.ttft);
  out.add("itl_s", "  inter-token latency", a.current.itl);
  out.add("combined_e2e_s", "a request with the best together", a.best.e2e);
  out.add("combined_gain", "gain of the best together", a.combined);
  add_gains(out, a);
  out.facts["combined"] = a.combination;
  json techniques = json::array();
  for (const pm::technique& t : a.techniques) techniques.push_back(json_of(t));
  out.facts["tricks"] = std::move(techniques);
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

outcome<> advise_answer(const request& r, const calibration* c) {
  inputs<double> in(r);
  const pm::advised_service s = service_of(in);
  pm::service_targets targets;
  if (in.has("ttft_limit_s"))
    targets.ttft = pm::latency_target{in.plain("ttft_limit_s") * pm::second};
  if (in.given("limit_share")) {
    if (!targets.ttft) in.missing("ttft_limit_s", "limit_share is of it");
    targets.ttft->share = in.plain("limit_share");
  }
  if (in.has("itl_limit_s")) targets.itl = pm::latency_target{in.plain("itl_limit_s") * pm::second};
  if (c == nullptr) {
    outcome<> out = answered(s, targets, data_sheets);
    const std::vector<std::string> all = left_out_of_bound(r, s.pools.has_value());
    if (!all.empty()) out.facts["left_out"] = all;
    return out;
  }
  const pm::calibrated calibration = silicon_of(*c, in);
  outcome<> out = answered(s, targets, calibration);
  out.pools = s.pools.has_value();
  const outcome<> bound = [&] {
    const pm::serving_estimate e = asks(data_sheets)(s);
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
                  "advise compares many services and has no derivation of its own; allowed: "
                  "explain serving with the same keys");
}

}  // namespace

std::vector<query> advise_queries() {
  query q;
  q.name = "advise";
  q.help =
      "What to change of a service: every trick with its gain for this model, machine and load, "
      "what "
      "it costs and whether it harms here, ranked; and the gain of the best of them together";
  q.keys = keys_of_serving();
  q.part = profile_part::all;
  q.answer = advise_answer;
  q.explain = no_advise_derivation;
  return {q, diagnose_query()};
}

}  // namespace napkin
