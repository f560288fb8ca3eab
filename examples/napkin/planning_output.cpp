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

/// How a point runs beside its layout.
void add_choices(json& out, const pm::plan_request& q, const pm::plan_point& p) {
  out["replicas"] = p.replicas;
  out["gpus"] = p.gpus;
  if (p.prefill) {
    out["prefill"] = {{"accelerator", p.prefill->accelerator.c_str()}};
    out["prefill"].update(layout_json(p.prefill->layout));
    out["prefill"]["replicas"] = p.prefill->replicas;
  }
  if (p.drafts) out["draft_length"] = q.drafts[*p.drafts].length;
  if (p.chunk_tokens) out["chunk_tokens"] = number_json("chunk_tokens", *p.chunk_tokens);
  out["batch_limit"] = number_json("batch_limit", p.batch_limit);
  out["batch"] = number_json("batch", p.serving.batch);
  if (q.load.evicts && p.serving.first_token.size() > 0)
    out["evictions"] = number_json("evictions", p.serving.evictions);
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
  if (s.first_token.size() == 0) return;
  add("ttft_p50_s", s.first_token.quantile(0.5));
  add("ttft_p90_s", s.first_token.quantile(0.9));
  add("ttft_p99_s", s.first_token.quantile(0.99));
  add("itl_p50_s", s.gap.quantile(0.5));
  add("itl_p90_s", s.gap.quantile(0.9));
  add("itl_p99_s", s.gap.quantile(0.99));
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
              {"engine", pm::name_of(p.served_by)},
              {"precision", p.precision.name.c_str()},
              {"weight_format", pm::name_of(p.precision.weights.linear.format)},
              {"activation_format", pm::name_of(p.precision.activations)},
              {"kv_format", pm::name_of(p.precision.kv.format)}};
  out.update(layout_json(p.layout));
  add_choices(out, q, p);
  add_latencies(out, p.serving);
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
    out["binding"] = pm::name_of(review->binding);
  }
  out["limiter"] = pm::name_of(p.serving.decode.limiter);
  if (note != nullptr) note_json(out, *note);
  out["formats"] = formats_of(q, p.precision);
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
  if (l.data > 1) s += " DP" + std::to_string(l.data);
  if (l.expert > 1) s += " EP" + std::to_string(l.expert);
  return s;
}

/// Two decimals, as money is written; four below a cent.
std::string money(double usd) {
  return fixed(usd, usd < 0.01 ? 4 : 2);
}

/// The bound on the inter-token latency beside a predicted one.
std::string bound_note(const calibrated_note& note) {
  for (const auto& b : note.bounds) {
    if (std::string_view(b.key) == "bound_time_s") return pm::to_string(b.value, b.unit);
  }
  return {};
}

/// Pools, drafts and budgets, where a point has them.
std::string choices_text(const pm::plan_request& q, const pm::plan_point& p) {
  std::string s;
  const auto add = [&s](const std::string& part) { s += (s.empty() ? "" : ", ") + part; };
  if (p.prefill) {
    add(cat(is_mixed(p) ? cat("prefill on ", p.prefill->accelerator.view()) : "prefill apart", ": ",
            p.prefill->replicas, " x ", layout_text(p.prefill->layout)));
  }
  if (p.drafts) add(cat("drafts of ", q.drafts[*p.drafts].length));
  if (p.chunk_tokens) add(cat("chunks of ", pm::detail::significant(*p.chunk_tokens, 6)));
  return s.empty() ? "-" : s;
}

/// "35 ms (30-41)", with the interval in the unit of the time.
std::string with_interval(const pm::duration<>& t, const pm::time_range& r) {
  const std::string text = pm::to_string(t);
  const std::string unit = text.substr(text.find(' ') + 1);
  const double scale = unit == "s" ? 1.0 : unit == "ms" ? 1e3 : 1e6;
  return cat(text, " (", pm::detail::significant(scale * r.low.value(), 2), "-",
             pm::detail::significant(scale * r.high.value(), 2), ')');
}

/// What a point is, what it does, what it costs, and what holds it back.
std::vector<std::string> row_text(const planned& plan, std::size_t at) {
  const pm::plan_point& p = plan.result.frontier[at];
  const pm::plan_review& review = plan.reviews[at];
  const calibrated_note* note = plan.notes.empty() ? nullptr : &plan.notes[at];
  const auto usd = [](const std::optional<pm::money<>>& m) { return m ? money(m->value()) : "-"; };
  const bool ranged = note != nullptr && note->first_token.has_value();
  std::vector<std::string> row = {
      at == plan.result.best ? "*" : "",
      p.accelerator.c_str(),
      pm::name_of(p.served_by),
      p.precision.name.c_str(),
      layout_text(p.layout),
      choices_text(plan.request, p),
      std::to_string(p.replicas),
      std::to_string(p.gpus),
      pm::detail::significant(p.serving.batch, 3),
      ranged ? with_interval(p.serving.ttft, *note->first_token) : pm::to_string(p.serving.ttft),
      ranged ? with_interval(p.serving.itl, note->range) : pm::to_string(p.serving.itl)};
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
  row.push_back(std::string(pm::name_of(p.serving.decode.limiter)) +
                (limited_by_wait(p) ? ", then the queue" : ""));
  row.push_back(pm::name_of(review.binding));
  return row;
}

std::vector<std::string> frontier_head(const planned& plan) {
  std::vector<std::string> head = {"",       "accelerator", "engine", "precision", "layout", "with",
                                   "copies", "GPUs",        "batch",  "TTFT",      "ITL"};
  if (!plan.notes.empty()) head.push_back("bound");
  head.push_back("tokens/s");
  const std::vector<std::string> costs =
      plan.result.all_priced ? std::vector<std::string>{"USD/h", "USD/Mtok", "in", "out"}
                             : std::vector<std::string>{"GPU-h/Mtok"};
  head.insert(head.end(), costs.begin(), costs.end());
  head.insert(head.end(), {"limited by", "held by"});
  return head;
}

std::string frontier_text(const planned& plan) {
  const pm::plan_result& r = plan.result;
  table_rows rows = {frontier_head(plan)};
  std::string align = "llllllrrrrr";
  align.append(rows[0].size() - 2 - align.size(), 'r');
  align += "ll";
  const std::vector<std::size_t> kept = distinct_rows(plan);
  const std::size_t n = r.frontier.size(), apart = kept.size(),
                    shown = std::min(apart, most_rows_shown);
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

/// What the columns say that need words, and what the first point's cost depends on.
std::string review_text(const planned& plan) {
  std::string s = plan.notes.empty() ? "  "
                                     : "  In brackets the interval that holds 80 % of "
                                       "measurements, in the same unit. ";
  s += "Held by: what a fuller batch, which costs less, would run into.\n";
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
  const std::string all = elasticities_text(plan.reviews[0].cost);
  return all.empty()
             ? s
             : s + "  One per cent more of it changes the cost of the first by: " + all + ".\n";
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
  const pm::plan_point& p = plan.result.frontier.front();
  const pm::memory_budget b = memory_budget_of(pm::deployment_of(plan.request, p));
  return cat("  Each ", is_mixed(p) ? p.accelerator.view() : std::string_view("GPU")) +
         " of the first uses " + pm::detail::significant(100.0 * b.utilization, 3) +
         " % of its memory: " + pm::to_string(b.weights) + " for weights, " +
         pm::to_string(b.activations) + " for activations, " + pm::to_string(b.runtime) +
         " for the runtime, and " + pm::to_string(kv_bytes_available(b)) + " for the cache.\n";
}

/// A row for each reason on each kind of chip: the one that came nearest, and how many more there are.
std::string rejected_text(const pm::plan_result& r) {
  if (r.rejected.empty()) return {};
  std::vector<std::pair<const pm::plan_rejection*, long>> kinds;
  for (const auto& x : r.rejected) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) {
      return k.first->accelerator == x.accelerator && k.first->reason == x.reason;
    });
    if (same == kinds.end()) {
      kinds.emplace_back(&x, x.count);
    } else {
      same->second += x.count;
    }
  }
  table_rows rows;
  for (const auto& [x, count] : kinds) {
    const bool any = x->precision == pm::label{};  // whatever is tried there
    rows.push_back({x->accelerator.c_str(), x->precision.c_str(), any ? "" : layout_text(x->layout),
                    why(*x), count > 1 ? cat("(and ", count - 1, " more)") : ""});
  }
  return "What cannot be, and why (the nearest of each kind)\n" + table(rows, "l");
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
      if (c.profiles.accelerator == chip) names.push_back(pm::name_of(c.served_by));
    }
    s += cat("Engines on ", chip.view(), ": ", listed(names), ".\n");
  }
  return s;
}

/// Which missed point misses by the least.
std::string nearest_text(const planned& plan) {
  const pm::plan_point& p = *plan.result.nearest;
  return cat("Nearest: ", p.replicas, " x ", layout_text(p.layout), " of ", p.accelerator.view(),
             is_mixed(p) ? cat(" (", choices_text(plan.request, p), ")") : "", " with ",
             pm::name_of(p.served_by), " in ", p.precision.name.view(), ": TTFT ",
             pm::to_string(p.serving.ttft), ", ITL ", pm::to_string(p.serving.itl), ", E2E ",
             pm::to_string(p.serving.e2e), ", of which ", pm::to_string(p.serving.wait),
             " wait for a place; its worst target is missed by a factor of ",
             pm::detail::significant(plan.result.miss, 3), ".\n");
}

/// What the times are, and from what.
std::string basis_text(const planned& p) {
  std::string s = "These are bounds from data sheets: nothing runs faster.\n";
  for (const std::string& hint : p.hints) s += cat("  ", hint, ".\n");
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
    for (const auto& [row, n] : p.of_prompts) take(n);
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

json plan_json(const planned& p, const json& object) {
  json out = json::object();
  if (const auto id = object.find("id"); id != object.end()) out["id"] = *id;
  out["mode"] = p.calibrations.empty() ? "bound" : "calibrated";
  out["evaluated"] = p.result.evaluated;
  out["passed_over"] = p.result.passed_over;
  out["feasible"] = p.result.feasible;
  out.update(money_json(p));
  out["meets_targets"] = p.result.best.has_value();
  out["best"] = nullptr;
  json frontier = json::array();
  for (std::size_t i = 0; i < p.result.frontier.size(); ++i) {
    frontier.push_back(point_json(p.request, p.result.frontier[i],
                                  p.notes.empty() ? nullptr : &p.notes[i], &p.reviews[i]));
    if (const auto prompts = p.of_prompts.find(i); prompts != p.of_prompts.end())
      frontier.back()["prefill"]["profile"] = profile_json(prompts->second);
  }
  if (p.result.best) out["best"] = frontier[*p.result.best];
  out["frontier"] = std::move(frontier);
  if (p.result.nearest) {
    out["nearest"] = point_json(p.request, *p.result.nearest, nullptr, nullptr);
    out["nearest_miss"] = number_json("nearest_miss", p.result.miss);
  }
  json rejected = json::array();
  for (const auto& x : p.result.rejected) rejected.push_back(rejection_json(x));
  out["rejected"] = std::move(rejected);
  out["derivation"] = derivation_json(derivation_of_plan(p));
  if (!p.left_out.empty()) out["left_out"] = p.left_out;
  return out;
}

std::string plan_text(const planned& p, const json& object) {
  const pm::plan_result& r = p.result;
  std::string s = load_text(p.request);
  s += std::to_string(r.evaluated) + " deployments evaluated, " + std::to_string(r.feasible) +
       " feasible; " + std::to_string(r.passed_over) +
       " more passed over, where another is as cheap and as quick, and sooner.\n" +
       engines_text(p) + "\n";
  if (!r.best && r.nearest) s += nearest_text(p);
  if (r.frontier.empty()) {
    s += r.nearest ? "Everybody waits too long, whatever serves.\n\n" : "Nothing fits.\n\n";
  } else {
    s += r.best
             ? "Worth having: no other deployment within the targets is both cheaper and quicker\n"
             : "None meets the targets; no other deployment is both cheaper and quicker than "
               "these\n";
    s += frontier_text(p) + review_text(p) + money_text(p) + formats_text(p) + kept_text(p) + "\n";
  }
  if (!r.rejected.empty()) s += rejected_text(r) + "\n";
  if (!r.frontier.empty()) {
    s += "How the first of these comes about, for one copy (another: napkin explain plan --row 2 "
         "...; "
         "formulas: --json)\n" +
         summary_text(summary_of_row(p, 0, object), false) + "\n";
  }
  return s + basis_text(p) +
         (p.request.load.evicts && (p.request.pools || !p.request.drafts.empty())
              ? "Points with drafts or pools let in no more requests than fit, and evict none.\n"
              : "") +
         "Whether a precision keeps the answers good enough is not judged here.\n";
}

}  // namespace napkin
