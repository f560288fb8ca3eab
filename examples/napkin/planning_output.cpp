#include <algorithm>
#include <map>
#include <perfmodel/units/text.hpp>

#include "deployments.hpp"
#include "output.hpp"
#include "planning.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr std::size_t most_rows = 24;

bool limited_by_wait(const pm::plan_point& p) {
  return p.serving.wait.value() > 0.5 * p.serving.ttft.value();
}

json layout_json(const pm::parallel_layout& l) {
  return {{"tensor_parallel", l.tensor},
          {"pipeline_parallel", l.pipeline},
          {"expert_parallel", l.expert}};
}

/// What a point stores, and what multiplies with it, by part.
std::map<std::string, std::string> formats_of(const pm::plan_request& q,
                                              const pm::plan_precision& p) {
  const auto text = [](const pm::storage_format& stored, pm::number_format beside) {
    return cat(storage_text(stored), " x ", name_of(beside));
  };
  std::map<std::string, std::string> out = {{"layers", text(p.weights.linear, p.activations)},
                                            {"kv", storage_text(p.kv)}};
  if (experts_of(q.model))
    out["experts"] = text(p.weights.experts, p.expert_activations.value_or(p.activations));
  return out;
}

json point_json(const pm::plan_request& q, const pm::plan_point& p, const calibrated_note* note) {
  json out = {{"accelerator", p.accelerator.c_str()},
              {"precision", p.precision.name.c_str()},
              {"weight_format", pm::name_of(p.precision.weights.linear.format)},
              {"activation_format", pm::name_of(p.precision.activations)},
              {"kv_format", pm::name_of(p.precision.kv.format)},
              {"formats", formats_of(q, p.precision)}};
  out.update(layout_json(p.layout));
  out["replicas"] = p.replicas;
  out["gpus"] = p.gpus;
  out["batch_limit"] = number_json("batch_limit", p.batch_limit);
  out["batch"] = number_json("batch", p.serving.batch);
  outcome<> kept;
  add_reservation(kept, memory_budget_of(pm::deployment_of(q, p)));
  for (const auto& r : kept.results) out[r.key] = number_json(r.key, r.value);
  out["ttft_s"] = number_json("ttft_s", p.serving.ttft.value());
  out["itl_s"] = number_json("itl_s", p.serving.itl.value());
  out["output_tokens_per_s"] = number_json("output_tokens_per_s", p.output_rate.value());
  if (note != nullptr) note_json(out, *note);
  out["gpu_s_per_million_tokens"] =
      number_json("gpu_s_per_million_tokens", p.gpu_time_per_million.value());
  out["usd_per_million_tokens"] =
      p.cost_per_million ? number_json("usd_per_million_tokens", p.cost_per_million->value())
                         : json(nullptr);
  out["limiter"] = pm::name_of(p.serving.decode.limiter);
  json terms = json::object();
  for (const auto& t : p.serving.decode.terms) terms[t.name] = number_json(t.name, t.time.value());
  out["terms"] = std::move(terms);
  out["meets_targets"] = p.meets_targets;
  return out;
}

/// The infeasibility of a rejection, in words.
std::string why(const pm::plan_rejection& r) {
  if (r.unit[0] == '\0' && r.needed == 1.0 && r.available == 0.0) return r.reason;
  return sentence({false, r.reason.c_str(), r.unit, r.needed, r.available});
}

json rejection_json(const pm::plan_rejection& r) {
  json out = {{"accelerator", r.accelerator.c_str()}, {"precision", r.precision.c_str()}};
  out.update(layout_json(r.layout));
  out["reason"] = why(r);
  out["count"] = r.count;
  return out;
}

std::string layout_text(const pm::parallel_layout& l) {
  std::string s = "TP" + std::to_string(l.tensor);
  if (l.pipeline > 1) s += " PP" + std::to_string(l.pipeline);
  if (l.expert > 1) s += " EP" + std::to_string(l.expert);
  return s;
}

/// Two decimals, as money is written; four below a cent.
std::string money(double usd) {
  return fixed(usd, usd < 0.01 ? 4 : 2);
}

/// The bound on the inter-token latency beside a predicted one.
std::string bound_text(const calibrated_note& note) {
  for (const auto& b : note.bounds) {
    if (std::string_view(b.key) == "bound_time_s") return pm::to_string(b.value, b.unit);
  }
  return {};
}

std::string frontier_text(const planned& plan) {
  const pm::plan_result& r = plan.result;
  const bool predicted = !plan.notes.empty();
  table_rows rows = {{"", "accelerator", "precision", "layout", "copies", "GPUs", "batch", "TTFT",
                      "ITL", "tokens/s", "USD/Mtok", "GPU-h/Mtok", "limited by"}};
  if (predicted) rows[0].insert(rows[0].begin() + 9, "bound");
  const std::size_t n = r.frontier.size(), shown = std::min(n, most_rows);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t at =
        shown == n || shown < 2 ? i : i * (n - 1) / (shown - 1);  // evenly, both ends included
    const pm::plan_point& p = r.frontier[at];
    rows.push_back({at == r.best ? "*" : "", p.accelerator.c_str(), p.precision.name.c_str(),
                    layout_text(p.layout), std::to_string(p.replicas), std::to_string(p.gpus),
                    pm::detail::significant(p.serving.batch, 3), pm::to_string(p.serving.ttft),
                    pm::to_string(p.serving.itl), pm::detail::significant(p.output_rate.value(), 4),
                    p.cost_per_million ? money(p.cost_per_million->value()) : "-",
                    pm::detail::significant(p.gpu_time_per_million.value() / 3600.0, 3),
                    std::string(pm::name_of(p.serving.decode.limiter)) +
                        (limited_by_wait(p) ? ", then the queue" : "")});
    if (predicted) rows.back().insert(rows.back().begin() + 9, bound_text(plan.notes[at]));
  }
  std::string s = table(rows, predicted ? "llllrrrrrrrrrl" : "llllrrrrrrrrl");
  if (shown < n)
    s += "  (" + std::to_string(shown) + " of " + std::to_string(n) + " points; --json has all)\n";
  return s;
}

/// What stands behind the precisions of the frontier.
std::string formats_text(const planned& plan) {
  std::map<std::string, std::string> lines;
  for (const pm::plan_point& p : plan.result.frontier) {
    std::string& line = lines[p.precision.name.c_str()];
    line.clear();
    for (const auto& [part, format] : formats_of(plan.request, p.precision))
      line += cat(line.empty() ? "" : "; ", part, ' ', format);
  }
  std::string s;
  for (const auto& [name, line] : lines) s += cat("  ", name, ": ", line, ".\n");
  return s;
}

/// What the first point keeps of a GPU's memory.
std::string kept_text(const planned& plan) {
  const pm::memory_budget b =
      memory_budget_of(pm::deployment_of(plan.request, plan.result.frontier.front()));
  return "  Each GPU of the first uses " + pm::detail::significant(100.0 * b.utilization, 3) +
         " % of its memory: " + pm::to_string(b.weights) + " for weights, " +
         pm::to_string(b.activations) + " for activations, " + pm::to_string(b.runtime) +
         " for the runtime, and " + pm::to_string(kv_bytes_available(b)) + " for the cache.\n";
}

std::string rejected_text(const pm::plan_result& r) {
  if (r.rejected.empty()) return {};
  table_rows rows;
  for (const auto& x : r.rejected) {
    rows.push_back({x.accelerator.c_str(), x.precision.c_str(), layout_text(x.layout), why(x),
                    x.count > 1 ? "(and " + std::to_string(x.count - 1) + " more)" : ""});
  }
  return "What cannot be, and why (the nearest of each kind)\n" + table(rows, "l");
}

/// Without the prefixes that tell device, model and load apart, and cut where it is long.
std::string short_formula(std::string formula) {
  constexpr std::size_t longest = 90;
  for (const std::string prefix : {".shape", "model.", "load.", "device."}) {
    for (std::size_t at; (at = formula.find(prefix)) != formula.npos;)
      formula.erase(at, prefix.size());
  }
  return formula.size() <= longest ? formula : formula.substr(0, longest) + " ...";
}

/// Whether a step is about memory, a pass or the service, or is the time of one kind of operator. What
/// goes on inside a predicted operator is a dozen steps each: --json has them.
bool is_of_whole_model(const planned& plan, std::string_view step) {
  const std::string_view name =
      step.substr(0, step.rfind(" ("));  // without the number of a repeated one
  for (const std::string_view known : {"weight bytes per device",
                                       "kept for activations",
                                       "kept for the runtime",
                                       "utilization",
                                       "KV bytes available",
                                       "KV bytes per token",
                                       "KV bytes per token and device",
                                       "blocks",
                                       "blocks per sequence",
                                       "sequences",
                                       "batch",
                                       "all-reduce",
                                       "all_reduce",
                                       "all-reduces",
                                       "logits",
                                       "dispatch and combine",
                                       "stage transfers",
                                       "communication",
                                       "chunks",
                                       "step time",
                                       "inter-token latency",
                                       "service time",
                                       "wait",
                                       "time to first token",
                                       "output tokens per second"}) {
    if (name == known) return true;
  }
  return std::find(plan.operators.begin(), plan.operators.end(), name) != plan.operators.end();
}

std::string derivation_text(const planned& plan) {
  const bool all = plan.calibrations.empty();
  table_rows rows;
  for (const auto& i : plan.best.inputs) {
    if (i.name.starts_with("device."))
      rows.push_back({i.name.substr(7), i.value, "[" + i.source + "]"});
  }
  for (const auto& s : plan.best.steps) {
    if (all || is_of_whole_model(plan, s.name))
      rows.push_back({s.name, s.value, "= " + short_formula(s.formula)});
  }
  return table(rows, "l");
}

std::string load_text(const pm::plan_request& q) {
  const auto number = [](double x) { return pm::detail::significant(x, 4); };
  std::string s = std::string(q.model.name.c_str()) + ", up to " + std::to_string(q.gpus) +
                  " GPUs: prompts of " + number(q.load.input_tokens) + " tokens, answers of " +
                  number(q.load.output_tokens) + ", ";
  s += q.load.is_closed() ? number(q.load.concurrency()) + " requests at a time"
                          : number(q.load.rate().value()) + " requests/s";
  if (q.ttft) s += ", TTFT within " + pm::to_string(*q.ttft);
  if (q.itl) s += ", ITL within " + pm::to_string(*q.itl);
  return s + "\n";
}

/// What the times are, and from what.
std::string basis_text(const planned& p) {
  std::string s = "These are bounds from data sheets: nothing runs faster.\n";
  for (const std::string& hint : p.hints) s += cat("  ", hint, ".\n");
  if (p.calibrations.empty()) return s;
  s = "These are predictions from fitted parameters (ITL's bound beside it; --mode bound has only "
      "bounds):\n";
  for (const calibration& c : p.calibrations) {  // once each, by the point with the most sources
    const profile_note* most = nullptr;
    for (const calibrated_note& n : p.notes) {
      const bool own = n.profile.name == c.accelerator.c_str();
      if (own && (most == nullptr || n.profile.source.size() > most->source.size()))
        most = &n.profile;
    }
    if (most != nullptr) s += "  " + text_of(*most) + "\n";
  }
  return s;
}

}  // namespace

json plan_json(const planned& p, const json& object) {
  json out = json::object();
  if (const auto id = object.find("id"); id != object.end()) out["id"] = *id;
  out["mode"] = p.calibrations.empty() ? "bound" : "calibrated";
  out["evaluated"] = p.result.evaluated;
  out["feasible"] = p.result.feasible;
  out["meets_targets"] = p.result.best.has_value();
  out["best"] = nullptr;
  json frontier = json::array();
  for (std::size_t i = 0; i < p.result.frontier.size(); ++i) {
    frontier.push_back(
        point_json(p.request, p.result.frontier[i], p.notes.empty() ? nullptr : &p.notes[i]));
  }
  if (p.result.best) out["best"] = frontier[*p.result.best];
  out["frontier"] = std::move(frontier);
  json rejected = json::array();
  for (const auto& x : p.result.rejected) rejected.push_back(rejection_json(x));
  out["rejected"] = std::move(rejected);
  out["derivation"] = derivation_json(p.best);
  return out;
}

std::string plan_text(const planned& p, const json&) {
  const pm::plan_result& r = p.result;
  std::string s = load_text(p.request);
  s += std::to_string(r.evaluated) + " deployments evaluated, " + std::to_string(r.feasible) +
       " feasible.\n\n";
  if (r.frontier.empty()) {
    s += "Nothing fits.\n\n";
  } else {
    s += r.best
             ? "Worth having: no other deployment within the targets is both cheaper and quicker\n"
             : "None meets the targets; no other deployment is both cheaper and quicker than "
               "these\n";
    s += frontier_text(p) + formats_text(p) + kept_text(p) + "\n";
  }
  if (!r.rejected.empty()) s += rejected_text(r) + "\n";
  if (!p.best.steps.empty()) {
    s += "How the first of these comes about, for one copy (formulas in full: --json)\n" +
         derivation_text(p) + "\n";
  }
  return s + basis_text(p) +
         "Whether a precision keeps the answers good enough is not judged here. Prices are the "
         "catalogue's\n"
         "(`napkin gpus <accelerator>`) unless --price gives another.\n";
}

}  // namespace napkin
