// One row of a plan's table on one page: binding constraint, cost, and breakdown of its times.
#include <algorithm>
#include <cmath>
#include <perfmodel/units/text.hpp>

#include "planning.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// The constraint against a larger batch, as a sentence.
std::string binding_text(pm::plan_constraint c) {
  switch (c) {
    case pm::plan_constraint::latency:
      return "latency: no constraint; a larger batch would be cheaper and slower";
    case pm::plan_constraint::memory:
      return "memory: no KV-cache capacity for a larger, cheaper batch";
    case pm::plan_constraint::load: return "load: no more requests for a larger, cheaper batch";
    case pm::plan_constraint::rate:
      return "arrivals: with one replica less the service would be overloaded";
    case pm::plan_constraint::wait:
      return "wait: a larger batch would exceed the limit of the queueing time";
    case pm::plan_constraint::prefill_pool:
    case pm::plan_constraint::transfer:
    case pm::plan_constraint::decode_pool: return cat(pm::name_of(c), ": the busiest stage");
    default: return cat(pm::name_of(c), ": a larger, cheaper batch would miss this target");
  }
}

const calibration* profiles_of(const planned& p, const pm::plan_point& point,
                               const pm::label& chip) {
  const calibration* found = nullptr;
  for (const plan_calibration& c : p.calibrations) {
    const bool same = c.profiles.accelerator == chip;
    if (same && c.serving_engine == point.serving_engine) found = &c.profiles;
  }
  return found;
}

std::string bandwidth_text(const pm::accelerator& a) {
  const auto& bandwidth = a.dram.bandwidth;
  return cat("DRAM bandwidth ",
             pm::to_string(bandwidth.quantity().value(), pm::exponents_of<pm::bandwidth<>>(), 4),
             ": ", pm::name_of(bandwidth.from().how), ": ", bandwidth.from().text);
}

/// A row of a plan, found by its number.
struct planned_row {
  planned plan{};
  std::size_t at = 0;

  planned_row(const json& object, const given_profile* profile, double row,
              bool shows_progress = true)
      : plan(plan_of(object, profile, shows_progress)) {
    const std::size_t n = plan.result.frontier.size();
    if (!(row >= 1.0) || !(row <= static_cast<double>(n)) || row != std::floor(row)) {
      throw error(error_code::out_of_range,
                  n == 0 ? cat("row is ", row, ", and the plan has none: nothing fits")
                         : cat("row is ", row, "; allowed: 1 to ", n, ", the rows of this plan"));
    }
    at = static_cast<std::size_t>(row) - 1;
  }

  summary screen(const json& object) const {
    summary s = summary_of_row(plan, at, object);
    if (!plan.notes.empty())
      s.sources.push_back("efficiencies and launch times: " + text_of(*plan.notes[at].profile));
    if (is_mixed(plan.result.frontier[at]))
      s.sources.push_back("prefill: " + text_of(plan.of_prefills.at(at)));
    return s;
  }
};

}  // namespace

summary summary_of_row(const planned& p, std::size_t at, const json& object) {
  const pm::plan_request& q = p.request;
  const pm::plan_point& point = p.result.frontier[at];
  served_load x{pm::deployment_of(q, point), pm::load_of(q, point), {}, {}};
  if (point.speculation_index) x.drafts = pm::speculation_of(q, point);
  if (point.prefill) x.pools = pm::pools_of(q, point);
  const bool mixed = is_mixed(point);
  const calibration* prompts = mixed ? profiles_of(p, point, point.prefill->accelerator) : nullptr;
  summary s = summary_of_service(x, profiles_of(p, point, point.accelerator), prompts);
  s.sources.push_back(bandwidth_text(x.deployment.device));
  if (mixed) s.sources.push_back(bandwidth_text(x.pools->prefill.deployment.device));
  s.sources.push_back(find_model(object.at("model").get<std::string>()).source);
  return s;
}

std::string plan_row_text(const json& object, const given_profile* profile, double row,
                          bool as_markdown) {
  const planned_row x(object, profile, row);
  std::string line = cat("row ", x.at + 1, " of ", x.plan.result.frontier.size(), ": ");
  const auto columns = columns_of(x.plan, x.at);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto& [head, value] = columns[i];
    if (value == "-") continue;
    const bool own = i < 4;  // accelerator, engine, precision, layout need no name
    line += cat(i == 0 ? "" : ", ", own ? "" : head + " ", value);
  }
  const pm::plan_review& review = x.plan.reviews[x.at];
  std::string s = wrapped(line, 0);
  s += wrapped("binding constraint: " + binding_text(review.binding_constraint), 2);
  for (const auto& [what, all] :
       {std::pair{"cost", &review.cost}, std::pair{"ITL", &review.latency}}) {
    const std::string text = elasticities_text(*all);
    if (!text.empty()) s += wrapped(cat("sensitivity of the ", what, ", per +1 %: ", text), 2);
  }
  const auto lines = static_cast<std::size_t>(std::count(s.begin(), s.end(), '\n'));
  return s + summary_text(x.screen(object), as_markdown, lines);
}

json plan_row_json(const json& object, const given_profile* profile, double row,
                   bool shows_progress) {
  const planned_row x(object, profile, row, shows_progress);
  json all = plan_json(x.plan, object);
  json out = json::object();
  if (all.contains("id")) out["id"] = all["id"];
  out["query"] = "plan";
  out["mode"] = all["mode"];
  out["row"] = x.at + 1;
  out["of"] = x.plan.result.frontier.size();
  out["summary"] = summary_json(x.screen(object));
  out["result"] = std::move(all["frontier"][x.at]);
  return out;
}

}  // namespace napkin
