#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/units/text.hpp>

#include "deployments.hpp"
#include "output.hpp"
#include "planning.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

constexpr std::size_t most_rows_shown = 24;

bool limited_by_wait(const pm::plan_point& p) {
  return p.serving.wait.value() > 0.5 * p.serving.ttft.value();
}

json layout_json(const pm::parallel_layout& l) {
  return {{"tensor_parallel", l.tensor},
          {"pipeline_parallel", l.pipeline},
          {"expert_parallel", l.expert},
          {"data_parallel", l.data}};
}

/// Storage and operand format of each part of a point.
std::map<std::string, std::string> formats_text(const pm::plan_request& q,
                                                const pm::plan_point& p) {
  const auto text = [](const pm::storage_format& stored, pm::number_format beside) {
    return cat(storage_text(stored), " x ", name_of(beside));
  };
  const pm::engine_formats f = pm::formats_of(pm::deployment_of(q, p));
  std::map<std::string, std::string> out = {{"layers", text(f.weights.linear, f.linear.format)},
                                            {"kv", storage_text(f.kv)}};
  if (experts_of(q.model)) out["experts"] = text(f.weights.experts, f.experts.format);
  return out;
}

/// How a point runs beside its layout.
void add_choices(json& out, const pm::plan_request& q, const pm::plan_point& p) {
  out["replicas"] = p.replicas;
  out["gpus"] = p.gpus;
  if (p.prefill) {
    out["prefill"] = {{"accelerator", p.prefill->accelerator.c_str()}};
    out["prefill"].update(layout_json(p.prefill->layout));
    out["prefill"]["replicas"] = p.prefill->replicas;
  }
  if (p.speculation_index) out["draft_length"] = q.speculations[*p.speculation_index].length;
  if (p.chunk_tokens) out["chunk_tokens"] = number_json("chunk_tokens", *p.chunk_tokens);
  out["batch_limit"] = number_json("batch_limit", p.batch_limit);
  out["batch"] = number_json("batch", p.serving.batch);
  if (q.load.preemption_mode && p.serving.ttft_distribution.size() > 0)
    out["evictions"] = number_json("evictions", p.serving.preemptions_per_request);
  outcome<> kept;
  add_reservation(kept, memory_budget_of(pm::deployment_of(q, p)));
  for (const auto& r : kept.results) out[r.key] = number_json(r.key, r.value);
}

/// Means; of a prediction percentiles too.
void add_latencies(json& out, const pm::serving_estimate& s) {
  const auto add = [&out](const char* key, const pm::duration<>& t) {
    out[key] = number_json(key, t.value());
  };
  add("ttft_s", s.ttft);
  add("itl_s", s.itl);
  add("e2e_s", s.e2e);
  add("wait_s", s.wait);
  if (s.ttft_distribution.size() == 0) return;
  add("ttft_p50_s", s.ttft_distribution.quantile(0.5));
  add("ttft_p90_s", s.ttft_distribution.quantile(0.9));
  add("ttft_p99_s", s.ttft_distribution.quantile(0.99));
  add("itl_p50_s", s.itl_distribution.quantile(0.5));
  add("itl_p90_s", s.itl_distribution.quantile(0.9));
  add("itl_p99_s", s.itl_distribution.quantile(0.99));
  add("e2e_p99_s", s.e2e_quantile(0.99));
}

json amount_json(const char* key, const std::optional<pm::money<>>& m) {
  return m ? number_json(key, m->value()) : json(nullptr);
}

template <std::size_t N>
json elasticities_json(const std::array<pm::elasticity, N>& all) {
  json out = json::object();
  for (const pm::elasticity& e : all) out[e.resource] = number_json(e.resource, e.value);
  return out;
}

json point_json(const pm::plan_request& q, const pm::plan_point& p, const calibrated_note* note,
                const pm::plan_review* review) {
  json out = {{"accelerator", p.accelerator.c_str()},
              {"engine", pm::name_of(p.serving_engine)},
              {"precision", p.precision.name.c_str()},
              {"weight_format", pm::name_of(p.precision.weights.linear.format)},
              {"activation_format", pm::name_of(p.precision.activations)},
              {"kv_format", pm::name_of(p.precision.kv.format)}};
  out.update(layout_json(p.layout));
  add_choices(out, q, p);
  add_latencies(out, p.serving);
  for (const target_percentile& t : percentiles_of(q, p.serving)) {
    const std::string key = cat(t.key, "_percentile_s");
    out[key] = number_json(key.c_str(), t.time.value());
  }
  add_queue(out, q, p);
  out["output_tokens_per_s"] = number_json("output_tokens_per_s", p.output_rate.value());
  out["gpu_s_per_million_tokens"] =
      number_json("gpu_s_per_million_tokens", p.gpu_time_per_million.value());
  out["usd_per_million_tokens"] = amount_json("usd_per_million_tokens", p.cost_per_million);
  const auto hourly = usd_per_hour_of(p);
  out["usd_per_hour"] = hourly ? number_json("usd_per_hour", *hourly) : json(nullptr);
  if (review != nullptr) {
    out["usd_per_million_input_tokens"] =
        amount_json("usd_per_million_input_tokens", review->per_million_input);
    out["usd_per_million_output_tokens"] =
        amount_json("usd_per_million_output_tokens", review->per_million_output);
    out["binding"] = pm::name_of(review->binding_constraint);
  }
  out["limiter"] = pm::name_of(p.serving.decode.limiter);
  if (note != nullptr) note_json(out, *note);
  out["formats"] = formats_text(q, p);
  json terms = json::object();
  for (const auto& t : p.serving.decode.terms) terms[t.name] = number_json(t.name, t.time.value());
  out["terms"] = std::move(terms);
  if (review != nullptr) {
    out["elasticities"] = {{"cost", elasticities_json(review->cost)},
                           {"itl", elasticities_json(review->latency)}};
  }
  out["meets_targets"] = p.meets_targets;
  return out;
}

json rejection_json(const pm::plan_rejection& r) {
  json out = {{"accelerator", r.accelerator.c_str()}, {"precision", r.precision.c_str()}};
  out.update(layout_json(r.layout));
  out["reason"] = why(r);
  out["count"] = r.count;
  return out;
}

/// The bound on the inter-token latency beside a predicted one.
std::string bound_note(const calibrated_note& note) {
  for (const auto& b : note.bounds) {
    if (std::string_view(b.key) == "bound_time_s") return pm::to_string(b.value, b.unit);
  }
  return {};
}

/// Whether a point of the frontier has a queue, and the table a column of it.
bool queues(const planned& plan) {
  const auto& all = plan.result.frontier;
  return std::any_of(all.begin(), all.end(),
                     [&](const pm::plan_point& p) { return has_queue(plan.request, p); });
}

/// What a point is, what it does, what it costs, and what holds it back.
std::vector<std::string> row_text(const planned& plan, std::size_t at) {
  const pm::plan_point& p = plan.result.frontier[at];
  const pm::plan_review& review = plan.reviews[at];
  const calibrated_note* note = plan.notes.empty() ? nullptr : &plan.notes[at];
  const auto usd = [](const std::optional<pm::money<>>& m) { return m ? money(m->value()) : "-"; };
  const bool ranged = note != nullptr && note->first_token.has_value();
  const auto of_prefills = plan.of_prefills.find(at);
  const bool transferred =
      (note != nullptr && !note->profile.transfers.empty()) ||
      (of_prefills != plan.of_prefills.end() && !of_prefills->second.transfers.empty());
  std::vector<std::string> row = {
      at == plan.result.best ? "*" : "",
      cat(p.accelerator.view(), transferred ? " ~" : ""),
      pm::name_of(p.serving_engine),
      p.precision.name.c_str(),
      layout_text(p.layout),
      choices_text(plan.request, p),
      std::to_string(p.replicas),
      std::to_string(p.gpus),
      pm::detail::significant(p.serving.batch, 3),
      ranged ? with_interval(p.serving.ttft, *note->first_token) : pm::to_string(p.serving.ttft),
      ranged ? with_interval(p.serving.itl, note->range) : pm::to_string(p.serving.itl)};
  for (const target_percentile& t : percentiles_of(plan.request, p.serving))
    row.push_back(pm::to_string(t.time));
  if (note != nullptr) row.push_back(bound_note(*note));
  row.push_back(pm::detail::significant(p.output_rate.value(), 4));
  if (plan.result.all_priced) {
    row.push_back(money(usd_per_hour_of(p).value_or(0.0)));
    row.push_back(usd(p.cost_per_million));
    row.push_back(usd(review.per_million_input));
    row.push_back(usd(review.per_million_output));
  } else {
    row.push_back(pm::detail::significant(p.gpu_time_per_million.value() / 3600.0, 3));
  }
  if (queues(plan)) row.push_back(queue_column(plan.request, p));
  row.push_back(std::string(pm::name_of(p.serving.decode.limiter)) +
                (limited_by_wait(p) ? ", then the queue" : ""));
  row.push_back(pm::name_of(review.binding_constraint));
  return row;
}

std::vector<std::string> frontier_head(const planned& plan) {
  std::vector<std::string> head = {"",       "accelerator", "engine",   "precision",
                                   "layout", "with",        "replicas", "GPUs",
                                   "batch",  "TTFT",        "ITL"};
  for (const target_percentile& t :
       percentiles_of(plan.request, plan.result.frontier.front().serving))
    head.push_back(t.name);
  if (!plan.notes.empty()) head.push_back("bound");
  head.push_back("tokens/s");
  const std::vector<std::string> costs =
      plan.result.all_priced ? std::vector<std::string>{"USD/h", "USD/Mtok", "in", "out"}
                             : std::vector<std::string>{"GPU-h/Mtok"};
  head.insert(head.end(), costs.begin(), costs.end());
  if (queues(plan)) head.push_back("queued");
  head.insert(head.end(), {"limited by", "binding"});
  return head;
}

std::string frontier_text(const planned& plan, std::size_t most_rows = most_rows_shown) {
  const pm::plan_result& r = plan.result;
  table_rows rows = {frontier_head(plan)};
  std::string align = "llllllrrrrr";
  align.append(rows[0].size() - 2 - align.size(), 'r');
  align += "ll";
  const std::vector<std::size_t> kept = distinct_rows(plan);
  const std::size_t n = r.frontier.size(), apart = kept.size(), shown = std::min(apart, most_rows);
  for (std::size_t i = 0; i < shown; ++i) {  // evenly, both ends included
    const std::size_t at = kept[shown == apart || shown < 2 ? i : i * (apart - 1) / (shown - 1)];
    rows.push_back(row_text(plan, at));
    if (shown < n) rows.back()[0] = cat(at + 1, rows.back()[0]);
  }
  std::string s = table(rows, align.c_str());
  if (shown < n)
    s +=
        cat("  (", shown, " of ", n, " points",
            apart < n ? ", without those within 1 % of the one before" : "", "; --json has all)\n");
  return s;
}

/// The source GPUs of the rows that are marked.
std::string transfers_legend(const planned& plan) {
  std::vector<std::string> known;
  const auto add = [&known](const profile_note& n) {
    const std::string text = transfers_text(n);
    const std::string one = cat(n.name, " (", text, ")");
    const bool told = std::find(known.begin(), known.end(), one) != known.end();
    if (!text.empty() && !told) known.push_back(one);
  };
  for (const calibrated_note& n : plan.notes) add(n.profile);
  for (const auto& [row, n] : plan.of_prefills) add(n);
  if (known.empty()) return {};
  return wrapped(cat("~: a transferred profile, with a wider interval: ", listed(known), "."), 2);
}

/// What the columns say that need words, and what the first point's cost depends on.
std::string review_text(const planned& plan) {
  std::string s = plan.notes.empty() ? "  "
                                     : "  In brackets the interval that holds 80 % of "
                                       "measurements, in the same unit. ";
  s += "Binding: the constraint that a larger, cheaper batch would violate.\n";
  if (plan.result.all_priced) {
    s += "  USD for a million output tokens, which pay for all; and for a million of each kind, "
         "by the time of prompts and of answers.\n";
  }
  const auto& points = plan.result.frontier;
  if (std::any_of(points.begin(), points.end(), is_mixed)) {
    s += "  Where prompts run on chips of their own, the accelerator is the one that decodes; USD "
         "is "
         "the price of both.\n";
  }
  s += transfers_legend(plan);
  const std::string all = elasticities_text(plan.reviews[0].cost);
  return all.empty()
             ? s
             : s + "  One per cent more of it changes the cost of the first by: " + all + ".\n";
}

/// What stands behind the precisions of the frontier.
std::string formats_text(const planned& plan) {
  std::map<std::string, std::map<std::string, std::string>> lines;  // formats, and an accelerator
  for (const pm::plan_point& p : plan.result.frontier) {
    std::string line;
    for (const auto& [part, format] : formats_text(plan.request, p))
      line += cat(line.empty() ? "" : "; ", part, ' ', format);
    lines[p.precision.name.c_str()].emplace(line, p.accelerator.c_str());
  }
  std::string s;
  for (const auto& [name, formats] : lines) {
    for (const auto& [line, accelerator] : formats)
      s += cat("  ", name, formats.size() > 1 ? cat(" on ", accelerator) : "", ": ", line, ".\n");
  }
  return s;
}

/// What the first point keeps of a GPU's memory.
std::string kept_text(const planned& plan) {
  const pm::plan_point& p = plan.result.frontier.front();
  const pm::memory_budget b = memory_budget_of(pm::deployment_of(plan.request, p));
  return cat("  Each ", is_mixed(p) ? p.accelerator.view() : std::string_view("GPU")) +
         " of the first uses " + pm::detail::significant(100.0 * b.utilization, 3) +
         " % of its memory: " + pm::to_string(b.weights) + " for weights, " +
         pm::to_string(b.activations) + " for activations, " + pm::to_string(b.runtime) +
         " for the runtime, and " + pm::to_string(kv_bytes_available(b)) + " for the cache.\n";
}

std::string load_text(const pm::plan_request& q) {
  const auto number = [](double x) { return pm::detail::significant(x, 4); };
  std::string s = std::string(q.model.name.c_str()) + ", up to " + std::to_string(q.gpus) +
                  " GPUs: prompts of " + number(q.load.input_tokens) + " tokens, answers of " +
                  number(q.load.output_tokens) + ", ";
  s += q.load.is_closed() ? number(q.load.concurrency()) + " requests at a time"
                          : number(q.load.rate().value()) + " requests/s";
  const auto target = [&s](const char* name, const std::optional<pm::latency_target>& within) {
    if (!within) return;
    const std::string of = within->share ? "p" + pm::detail::significant(100.0 * *within->share, 4)
                                         : std::string("mean");
    s += cat(", ", of, ' ', name, " within ", pm::to_string(within->limit));
  };
  target("TTFT", q.targets.ttft);
  target("ITL", q.targets.itl);
  target("E2E", q.targets.e2e);
  return s + "\n";
}

/// Whose services were tried.
std::string engines_text(const planned& p) {
  if (p.calibrations.empty()) {
    return p.request.engines.empty()
               ? "A bound is of the machine, whatever the engine; memory is kept "
                 "as without one (--engine).\n"
               : "";
  }
  std::string s;
  std::vector<pm::label> chips;
  for (const plan_calibration& c : p.calibrations) {
    if (chips.empty() || !(chips.back() == c.profiles.accelerator))
      chips.push_back(c.profiles.accelerator);
  }
  for (const pm::label& chip : chips) {
    std::vector<std::string_view> names;
    for (const plan_calibration& c : p.calibrations) {
      if (c.profiles.accelerator == chip) names.push_back(pm::name_of(c.serving_engine));
    }
    s += cat("Engines on ", chip.view(), ": ", listed(names), ".\n");
  }
  return s;
}

/// What the times are, and from what.
std::string basis_text(const planned& p) {
  std::string s =
      "These are bounds from data sheets: no engine step runs faster; latencies may be lower.\n";
  if (!p.left_out.empty())
    s += cat("  They leave out ", listed(p.left_out, [](const auto& k) { return k; }), ".\n");
  if (p.calibrations.empty()) return s;
  s = "These are predictions from fitted parameters (ITL's bound beside it; --mode bound has only "
      "bounds):\n";
  for (const plan_calibration& k :
       p.calibrations) {  // once each, by the point with the most sources
    const calibration& c = k.profiles;
    const profile_note* most = nullptr;
    const auto take = [&](const profile_note& n) {
      const bool own = n.name == c.accelerator.c_str();
      if (own && (most == nullptr || n.source.size() > most->source.size())) most = &n;
    };
    for (const calibrated_note& n : p.notes) take(n.profile);
    for (const auto& [row, n] : p.of_prefills) take(n);
    if (most == nullptr) continue;
    const std::string line = wrapped(text_of(*most), 2);
    if (s.find(line) == s.npos) s += line;  // engines share profiles
  }
  return s;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> columns_of(const planned& p, std::size_t at) {
  const std::vector<std::string> head = frontier_head(p), row = row_text(p, at);
  std::vector<std::pair<std::string, std::string>> all;
  for (std::size_t i = 1; i < head.size(); ++i) all.emplace_back(head[i], row[i]);
  return all;
}

std::string elasticities_text(const std::array<pm::elasticity, 7>& of) {
  std::vector<pm::elasticity> all(of.begin(), of.end());
  std::erase_if(all, [](const pm::elasticity& e) { return std::abs(e.value) < 0.005; });
  std::stable_sort(all.begin(), all.end(), [](const pm::elasticity& x, const pm::elasticity& y) {
    return std::abs(x.value) > std::abs(y.value);
  });
  return listed(all, [](const auto& e) { return cat(e.resource, ' ', fixed(e.value, 2), " %"); });
}

namespace {

json best_json(const planned& p, const accelerator_best& b, const char* times) {
  json out = {{"accelerator", b.on->name.c_str()},
              {"mode", times},
              {"meets_targets", b.meets_targets},
              {"reason", b.reason}};
  if (!b.point) return out;
  if (!b.meets_targets) {
    out["misses"] = {{"target", b.miss.target}, {"factor", number_json("factor", b.miss.factor)}};
  }
  out["point"] = point_json(p.request, *b.point, b.note ? &*b.note : nullptr, nullptr);
  return out;
}

/// The bounds of accelerators without predictions, and why they have none.
json bounds_json(const planned& bounds) {
  json rows = json::array();
  for (std::size_t i = 0; i < bounds.result.frontier.size(); ++i) {
    rows.push_back(
        point_json(bounds.request, bounds.result.frontier[i], nullptr, &bounds.reviews[i]));
    rows.back()["mode"] = "bound";
  }
  return rows;
}

json comparison_json(const planned& p) {
  const char* times = p.calibrations.empty() ? "bound" : "calibrated";
  json out = json::object();
  out["best_of_each"] = json::array();
  for (const accelerator_best& b : p.best_of_each)
    out["best_of_each"].push_back(best_json(p, b, times));
  out["bounds_only"] = json::array();
  for (const planned& bounds : p.bounds_only) {
    for (const accelerator_best& b : bounds.best_of_each)
      out["best_of_each"].push_back(best_json(bounds, b, "bound"));
    out["bounds_only"] = bounds_json(bounds);
    out["no_prediction"] = bounds.hints;
  }
  if (p.disaggregation) {
    json& d =
        out["disaggregated"] = {{"accelerator", p.disaggregation->beside.accelerator.c_str()},
                                {"engine", pm::name_of(p.disaggregation->beside.serving_engine)},
                                {"gain", p.disaggregation->cheaper.has_value()}};
    if (p.disaggregation->cheaper) {
      const pm::plan_point& pools = *p.disaggregation->cheaper;
      d["cost_over_best"] = number_json(
          "cost_over_best", cost_of(p, pools) / cost_of(p, p.disaggregation->beside) - 1.0);
      const auto& note = p.disaggregation->note;
      d["point"] = point_json(p.request, pools, note ? &*note : nullptr, nullptr);
    }
  }
  return out;
}

/// The accelerators of a plan of bounds, and why they have no predictions.
std::string bounds_headline(const planned& bounds) {
  std::string s = cat("Roofline bounds only: ",
                      listed(bounds.best_of_each, [](const auto& b) { return b.on->name.c_str(); }),
                      ". Least times of engine steps, not predictions.\n");
  for (const std::string& hint : bounds.hints) s += wrapped(hint + ".", 2);
  return s;
}

/// "Roofline bounds only": a block of its own, with few rows.
std::string bounds_only_text(const planned& p) {
  constexpr std::size_t most_rows = 4;
  std::string s;
  for (const planned& bounds : p.bounds_only) {
    s += bounds_headline(bounds);
    if (!bounds.left_out.empty()) {
      s +=
          cat("  They leave out ", listed(bounds.left_out, [](const auto& k) { return k; }), ".\n");
    }
    if (p.request.targets.has_percentiles())
      s += "  Targets on percentiles are held against the bounds of means.\n";
    if (!p.request.speculations.empty() || p.request.pools)
      s += "  They have neither speculative decoding nor disaggregated prefill.\n";
    for (const accelerator_best& b : bounds.best_of_each) {
      if (!b.point) s += wrapped(cat(b.on->name.view(), ": infeasible: ", b.reason), 2);
      if (b.point && !b.meets_targets) {
        s += wrapped(cat(b.on->name.view(), ": ", miss_text(b.miss), " even at its bound"), 2);
      }
    }
    if (!bounds.result.frontier.empty()) s += frontier_text(bounds, most_rows);
    s += "\n";
  }
  return s;
}

}  // namespace

json plan_json(const planned& p, const json& object) {
  json out = json::object();
  if (const auto id = object.find("id"); id != object.end()) out["id"] = *id;
  out["mode"] = p.calibrations.empty() ? "bound" : "calibrated";
  out["evaluated"] = p.result.evaluated;
  out["passed_over"] = p.result.pruned;
  out["feasible"] = p.result.feasible;
  out.update(money_json(p));
  out.update(search_json(p));
  out["meets_targets"] = p.result.best.has_value();
  out["best"] = nullptr;
  json frontier = json::array();
  for (std::size_t i = 0; i < p.result.frontier.size(); ++i) {
    frontier.push_back(point_json(p.request, p.result.frontier[i],
                                  p.notes.empty() ? nullptr : &p.notes[i], &p.reviews[i]));
    if (const auto prompts = p.of_prefills.find(i); prompts != p.of_prefills.end())
      frontier.back()["prefill"]["profile"] = profile_json(prompts->second);
  }
  if (p.result.best) out["best"] = frontier[*p.result.best];
  out["frontier"] = std::move(frontier);
  if (p.result.nearest_point) {
    out["nearest"] = point_json(p.request, *p.result.nearest_point, nullptr, nullptr);
    out["nearest_miss"] = number_json("nearest_miss", p.result.nearest_miss);
  }
  json rejected = json::array();
  for (const auto& x : p.result.rejected) rejected.push_back(rejection_json(x));
  for (const planned& bounds : p.bounds_only) {
    for (const auto& x : bounds.result.rejected) rejected.push_back(rejection_json(x));
  }
  out["rejected"] = std::move(rejected);
  out.update(comparison_json(p));
  out["derivation"] = derivation_json(derivation_of_plan(p));
  if (!p.left_out.empty()) out["left_out"] = p.left_out;
  return out;
}

std::string plan_text(const planned& p, const json& object) {
  const pm::plan_result& r = p.result;
  std::string s = conclusion_text(p) + load_text(p.request);
  if (!p.hints.empty()) s += bounds_headline(p);
  s += std::to_string(r.evaluated) + " deployments evaluated, " + std::to_string(r.feasible) +
       " feasible; " + std::to_string(r.pruned) +
       " more passed over, where another is as cheap and as quick, and sooner.\n" +
       engines_text(p) + "\n";
  if (!r.best && r.nearest_point) s += nearest_text(p);
  if (r.frontier.empty()) {
    s += cat("Nothing fits.\n", alternatives_text(p), "\n");
  } else {
    s += r.best
             ? "Worth having: no other deployment within the targets is both cheaper and quicker\n"
         : r.frontier.size() > 1 ? "None meets the targets; below row 1, no other deployment is "
                                   "both cheaper and quicker "
                                   "than these\n"
                                 : "None meets the targets\n";
    s += frontier_text(p) + review_text(p) + money_text(p) + formats_text(p) + kept_text(p) + "\n";
  }
  s += best_of_each_text(p) + bounds_only_text(p);
  if (const std::string rejected = rejected_text(p); !rejected.empty()) s += rejected + "\n";
  if (!r.frontier.empty()) {
    s += "How the first of these comes about, for one copy (another: napkin explain plan --row 2 "
         "...; "
         "formulas: --json)\n" +
         summary_text(summary_of_row(p, 0, object), false) + "\n";
  }
  return s + basis_text(p) +
         (p.request.load.preemption_mode && (p.request.pools || !p.request.speculations.empty())
              ? "Points with drafts or pools let in no more requests than fit, and evict none.\n"
              : "") +
         "Whether a precision keeps the answers good enough is not judged here.\n";
}

}  // namespace napkin
