// Bottleneck of a measured engine step.
#include <algorithm>
#include <array>
#include <perfmodel/explain/predict.hpp>
#include <perfmodel/tools/diagnose/diagnose.hpp>

#include "deployments.hpp"
#include "io/amount.hpp"
#include "queries_diagnose.hpp"
#include "query.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr std::string_view share_names[] = {"input",       "host",       "launch", "communication",
                                            "waiting",     "allocation", "gemm",   "attention",
                                            "elementwise", "sampling"};

/// Share names in alphabetical order.
std::array<std::optional<double>*, std::size(share_names)> slots_of(pm::trace_shares& s) {
  return {&s.input,      &s.host, &s.launch,    &s.communication, &s.waiting,
          &s.allocation, &s.gemm, &s.attention, &s.elementwise,   &s.sampling};
}

/// Share from 0 to 1. Throws unknown_name and out_of_range with the allowed values.
void put_share(pm::trace_shares& shares, std::string_view name, const std::string& text) {
  const auto at = std::find(std::begin(share_names), std::end(share_names), name);
  if (at == std::end(share_names)) {
    throw pm::error(pm::error_code::unknown_name,
                    cat("shares has ", in_quotes(name), "; allowed: ", listed(share_names)));
  }
  std::string_view rest;
  const auto x = parse_number(text, rest);
  if (!x || !rest.empty() || !(*x >= 0.0 && *x <= 1.0)) {
    throw pm::error(pm::error_code::out_of_range,
                    cat("shares.", name, " is ", in_quotes(text), "; allowed: 0 to 1"));
  }
  *slots_of(shares)[static_cast<std::size_t>(at - std::begin(share_names))] = *x;
}

/// "launch=0.3,communication=0.2".
pm::trace_shares shares_of(std::string_view list) {
  pm::trace_shares shares;
  for (const std::string_view item : split(list, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == item.npos) {
      throw pm::error(pm::error_code::out_of_range,
                      cat("shares has ", in_quotes(item),
                          "; allowed: name=share, comma-separated, such as launch=0.3"));
    }
    put_share(shares, item.substr(0, equals), std::string(item.substr(equals + 1)));
  }
  return shares;
}

std::vector<key> measured_keys() {
  key dram = number("dram_bytes_per_s", "measured DRAM traffic per second, per GPU", 0.0, 1e18);
  dram.unit = pm::exponents_of<pm::bandwidth<>>();
  key gaps = number("launch_gaps_s", "total idle time between kernels", 0.0, 1e12);
  gaps.unit = pm::exponents_of<pm::duration<>>();
  key shares =
      text("shares",
           "measured shares of the time, name=share comma-separated or a JSON object: input, host, "
           "launch, communication, waiting, allocation, gemm, attention, elementwise, sampling");
  shares.words.assign(std::begin(share_names), std::end(share_names));
  shares.range = {.least = 0.0, .most = 1.0};
  return {
      time_limit("time_s", "measured time of the engine step"),
      dram.optional(),
      number("gpu_busy", "share of the time with a running kernel", 0.0, 1.0).optional(),
      gaps.optional(),
      number("l2_hit", "L2 hit rate", 0.0, 1.0).optional(),
      number("sectors_per_request", "32-byte sectors per request of a warp", 1.0, 64.0).optional(),
      number("achieved_flop_per_s", "achieved GEMM FLOP/s per GPU", 0.0, 1e21).optional(),
      shares.optional()};
}

pm::measured_step measured_in(inputs<double>& in) {
  pm::measured_step m;
  m.time = in.plain("time_s") * pm::second;
  const auto given = [&](const char* key, auto& slot, auto unit) {
    if (in.has(key)) slot = in.plain(key) * unit;
  };
  given("dram_bytes_per_s", m.dram, pm::byte / pm::second);
  given("achieved_flop_per_s", m.achieved, pm::flop / pm::second);
  given("launch_gaps_s", m.launch_gaps, pm::second);
  given("gpu_busy", m.gpu_busy, 1.0);
  given("l2_hit", m.l2_hit, 1.0);
  given("sectors_per_request", m.sectors, 1.0);
  const std::vector<double> named = in.numbers("shares");
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i] >= 0.0) *slots_of(m.shares)[i] = named[i];
  }
  if (named.empty() && in.has("shares")) m.shares = shares_of(in.text("shares"));
  return m;
}

json json_of(const pm::finding& f) {
  return {{"cause", pm::name_of(f.cause)},
          {"share", number_json("share", f.share)},
          {"evidence", f.evidence},
          {"lever", pm::remedy_for(f.cause)},
          {"check", pm::check_for(f.cause)}};
}

outcome<> outcome_of(const pm::diagnosis& d) {
  outcome<> out;
  const pm::finding& first = d.cause();
  out.add("bound_time_s", "bound of the step", d.bound.time);
  out.add("dram_share", "share of DRAM bandwidth", d.dram_share);
  out.add("compute_share", "share of peak compute", d.compute_share);
  out.facts = json_of(first);
  out.facts.erase("share");
  out.facts["stage"] = pm::name_of(d.stage);
  json others = json::array();
  const auto row = [&](const char* label, const std::string& text) {
    out.notes.push_back({label, text});
  };
  row("cause", pm::name_of(first.cause));
  row("  evidence", first.evidence);
  row("  lever", pm::remedy_for(first.cause));
  row("  check", pm::check_for(first.cause));
  for (std::size_t i = 1; i < d.findings.size(); ++i) {
    others.push_back(json_of(d.findings[i]));
    row("or", cat(pm::name_of(d.findings[i].cause), ": ", d.findings[i].evidence));
  }
  row("stage of the step", pm::name_of(d.stage));
  out.facts["alternatives"] = std::move(others);
  out.set(d.bound.feasible);
  return out;
}

/// The calibrated step with its interval and profile.
outcome<> predicted_outcome(inputs<double>& in, const pm::deployment& d, const pm::iteration& i,
                            const calibration& c, const pm::estimate& e) {
  outcome<> out, bound;
  out.add("time_s", "time", e.time);
  out.explain(e);
  out.sums = pm::all_reduce_kind_of(d, i, calibration_over(c, in));
  bound.add("time_s", "time", pm::step_bound(d, i).time);
  note_calibration(out, bound, c, profile_part::all);
  return out;
}

outcome<> diagnose_outcome(const request& r, const calibration* c) {
  inputs<double> in(r);
  const pm::deployment d = step_deployment_of(in);
  const pm::iteration i = iteration_of(in);
  const pm::measured_step m = measured_in(in);
  if (c == nullptr) return outcome_of(pm::diagnose(d, i, m));
  const pm::estimate e = pm::step(d, i, calibration_over(*c, in));
  if (!e.feasible) return outcome_of(pm::diagnose(d, i, m));
  outcome<> predicted = predicted_outcome(in, d, i, *c, e);
  const pm::time_range& range = predicted.calibrated->range;
  outcome<> out = outcome_of(
      pm::diagnose(d, i, m, 5.0 * pm::us, {}, pm::step_prediction{e, range.low, range.high}));
  for (const auto& t : e.terms)
    out.facts["predicted_terms"][t.name] = number_json(t.name, t.time.value());
  out.add("predicted_time_s", "predicted time of the step", e.time);
  const auto text = [](const pm::duration<>& t) { return pm::to_string(t, 4); };
  out.conclusion = cat("Measured ", text(m.time), ", predicted ", text(e.time),
                       " (80 %: ", text(range.low), " to ", text(range.high), "): ",
                       m.time > range.high  ? "slower than expected"
                       : m.time < range.low ? "faster than expected"
                                            : "as expected",
                       ".\n");
  out.facts["measured_over_predicted"] = number_json("time_s", m.time / e.time);
  out.calibrated = std::move(predicted.calibrated);
  out.calibrated->bounds.clear();
  return out;
}

explanation no_diagnose_derivation(const request&, const calibration*) {
  throw pm::error(pm::error_code::inconsistent,
                  "diagnose ranks causes and has no derivation of its own; allowed: explain step "
                  "with the same deployment");
}

}  // namespace

query diagnose_query() {
  query q;
  q.name = "diagnose";
  q.help =
      "Bottleneck of a measured engine step: cause, evidence, what to change, what to check next, "
      "and alternatives";
  q.keys = step_queries().front().keys;
  std::erase_if(q.keys,
                [](const key& k) { return std::string_view(k.name) == measured_key().name; });
  for (key& k : measured_keys()) q.keys.push_back(std::move(k));
  q.part = profile_part::all;
  q.answer = diagnose_outcome;
  q.explain = no_diagnose_derivation;
  return q;
}

}  // namespace napkin
