#include <algorithm>
#include <cmath>
#include <map>
#include <perfmodel/units/text.hpp>

#include "deployments.hpp"
#include "io/text_style.hpp"
#include "output.hpp"
#include "planning.hpp"
#include "summary.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

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
  const auto text = [](const pm::storage_format& stored, pm::number_format operand) {
    return cat(storage_text(stored), " x ", name_of(operand));
  };
  const pm::engine_formats f = pm::formats_of(pm::deployment_of(q, p));
  std::map<std::string, std::string> out = {{"layers", text(f.weights.linear, f.linear.format)},
                                            {"kv", storage_text(f.kv)}};
  if (experts_of(q.model)) out["experts"] = text(f.weights.experts, f.experts.format);
  return out;
}

/// Replicas, pools and reservations of a point, in addition to its layout.
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
  outcome<> reserved;
  add_reservation(reserved, memory_budget_of(pm::deployment_of(q, p)));
  for (const auto& r : reserved.results) out[r.key] = number_json(r.key, r.value);
}

/// Whether a request of the plan has an ITL: none has with one output token.
bool requests_decode(const pm::plan_request& q) {
  return q.load.output_tokens > 1.0;
}

/// Means, and percentiles of a prediction.
void add_latencies(json& out, const pm::plan_request& q, const pm::serving_estimate& s) {
  const bool no_itl = !requests_decode(q);
  const auto add = [&out, no_itl](std::string_view key, const pm::duration<>& t) {
    json value = number_json(key, t.value());
    out[std::string(key)] = no_itl && key.starts_with("itl_") ? json() : std::move(value);
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
  add_latencies(out, q, p.serving);
  for (const target_percentile& t : percentiles_of(q, p.serving)) {
    const std::string key = cat(t.key, "_percentile_s");
    out[key] = number_json(key.c_str(), t.time.value());
  }
  add_queue(out, q, p);
  out["output_tokens_per_s"] = number_json("output_tokens_per_s", p.output_rate.value());
  out["gpu_s_per_million_tokens"] =
      number_json("gpu_s_per_million_tokens", p.gpu_time_per_million.value());
  if (note != nullptr && !p.prefill && p.output_rate.value() > 0.0) {
    const pm::deployment d = deployment_of(q, p);
    if (pm::has_board_power(d.device)) {
      const auto load = pm::resolve_prefix_hit(d, load_of(q, p));
      const pm::power<> each = pm::power_of_service(d, load, p.serving);
      out["joules_per_output_token"] =
          number_json("joules_per_output_token", pm::joules_per_output_token(d, p.serving, each));
    }
  }
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

json rejection_json(const pm::plan_request& q, const pm::plan_rejection& r) {
  json out = {{"accelerator", r.accelerator.c_str()}, {"precision", r.precision.c_str()}};
  out.update(layout_json(r.layout));
  out["reason"] = why(q, r);
  out["count"] = r.count;
  return out;
}

/// The bound on the ITL of a predicted point.
std::string bound_note(const calibrated_note& note) {
  for (const auto& b : note.bounds) {
    if (std::string_view(b.key) == "bound_time_s") return pm::to_string(b.value, b.unit);
  }
  return {};
}

/// Whether a point has a queue, and the table a column of it.
bool queues(const planned& plan) {
  const auto& all = plan.result.frontier;
  return std::any_of(all.begin(), all.end(),
                     [&](const pm::plan_point& p) { return has_queue(plan.request, p); });
}

/// Row of the table: deployment, latencies, cost, limiter and binding constraint. `wide` adds the
/// intervals.
std::vector<std::string> row_text(const planned& plan, std::size_t at, bool wide) {
  const pm::plan_point& p = plan.result.frontier[at];
  const pm::plan_review& review = plan.reviews[at];
  const calibrated_note* note = plan.notes.empty() ? nullptr : &plan.notes[at];
  const auto usd = [](const std::optional<pm::money<>>& m) { return m ? money(m->value()) : "-"; };
  const bool ranged = wide && note != nullptr && note->first_token.has_value();
  const auto of_prefills = plan.of_prefills.find(at);
  const bool transferred =
      (note != nullptr && !note->profile->transfers.empty()) ||
      (of_prefills != plan.of_prefills.end() && !of_prefills->second.transfers.empty());
  std::vector<std::string> row = {
      at == plan.result.best ? "*" : "",
      cat(p.gpus, " x ", p.accelerator.view(), transferred ? " ~" : ""),
      pm::name_of(p.serving_engine),
      p.precision.name.c_str(),
      cat(p.replicas, " x ", layout_text(p.layout)),
      choices_text(plan.request, p),
      p.chunk_tokens ? pm::detail::significant(*p.chunk_tokens, 6) : "-",
      pm::detail::significant(std::ceil(p.batch_limit), 6),
      pm::detail::significant(p.serving.batch, 3),
      ranged ? with_interval(p.serving.ttft, *note->first_token) : pm::to_string(p.serving.ttft),
      !requests_decode(plan.request) ? "none"
      : ranged                       ? with_interval(p.serving.itl, note->range)
                                     : pm::to_string(p.serving.itl)};
  for (const target_percentile& t : percentiles_of(plan.request, p.serving))
    row.push_back(pm::to_string(t.time));
  if (note != nullptr) row.push_back(requests_decode(plan.request) ? bound_note(*note) : "none");
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
                (limited_by_wait(p) ? " + queue" : ""));
  row.push_back(pm::name_of(review.binding_constraint));
  return row;
}

constexpr const char* token_budget = "token budget";
constexpr const char* max_num_seqs = "max_num_seqs";

std::vector<std::string> frontier_head(const planned& plan) {
  std::vector<std::string> head = {"",         "GPUs",     "engine",     "format",
                                   "replicas", "features", token_budget, max_num_seqs,
                                   "batch",    "TTFT",     "ITL"};
  for (const target_percentile& t :
       percentiles_of(plan.request, plan.result.frontier.front().serving))
    head.push_back(t.name);
  if (!plan.notes.empty()) head.push_back("ITL bound");
  head.push_back("tok/s");
  const std::vector<std::string> costs =
      plan.result.all_priced ? std::vector<std::string>{"USD/h", "USD/Mtok", "in", "out"}
                             : std::vector<std::string>{"GPU-h/Mtok"};
  head.insert(head.end(), costs.begin(), costs.end());
  if (queues(plan)) head.push_back("queued");
  head.insert(head.end(), {"limiter", "binding"});
  return head;
}

constexpr std::size_t first_of_deployment = 1, features_column = 5, token_budget_column = 6,
                      max_num_seqs_column = 7;

/// Whether two rows are deployments that differ in this column only.
bool tells_rows_apart(const table_rows& rows, std::size_t column) {
  const auto differ_there_only = [column](const auto& a, const auto& b) {
    for (std::size_t i = first_of_deployment; i <= max_num_seqs_column; ++i) {
      if ((a[i] == b[i]) == (i == column)) return false;
    }
    return true;
  };
  for (std::size_t i = 1; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      if (differ_there_only(rows[i], rows[j])) return true;
    }
  }
  return false;
}

/// Columns that a terminal may lack, the first of them first; never one that tells rows apart.
std::vector<std::string_view> expendable_columns(const table_rows& rows) {
  std::vector<std::string_view> all = {"ITL bound", "in", "out", "binding", "batch"};
  if (!tells_rows_apart(rows, max_num_seqs_column)) all.push_back(max_num_seqs);
  all.insert(all.end(), {"tok/s", "limiter", "USD/h"});
  if (!tells_rows_apart(rows, token_budget_column)) all.push_back(token_budget);
  if (!tells_rows_apart(rows, features_column)) all.push_back("features");
  all.push_back("queued");
  return all;
}

/// Removes the columns of features and token budgets where no row has any.
void drop_unused_choices(table_rows& rows, std::string& align) {
  for (const std::size_t column : {token_budget_column, features_column}) {
    const auto uses = [column](const auto& row) { return row[column] != "-"; };
    if (std::any_of(rows.begin() + 1, rows.end(), uses)) continue;
    for (auto& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    align.erase(column, 1);
  }
}

/// Meaning of the engine settings that a table shows. `pools`: whether a row has a prefill pool.
std::string settings_legend(const std::vector<std::string>& head, bool pools) {
  const auto has = [&head](const char* name) {
    return std::find(head.begin(), head.end(), name) != head.end();
  };
  std::string s;
  if (has(max_num_seqs)) s = "max_num_seqs: maximum running requests per replica";
  if (has(token_budget))
    s += cat(s.empty() ? "" : "; ", "token budget: max_num_batched_tokens of a step");
  if (has("queued")) s += cat(s.empty() ? "" : "; ", "queued: requests that queue for a slot");
  if (pools && !has("features"))
    s += cat(s.empty() ? "" : "; ", "replicas: of the decode pool; --wide has the prefill pool");
  return s.empty() ? s : styled(text_style::dim, wrapped(s + ".", 2));
}

std::string frontier_text(const planned& plan, bool wide, std::size_t most_rows = most_rows_shown) {
  const pm::plan_result& r = plan.result;
  table_rows rows = {frontier_head(plan)};
  std::string align = "llllllrrrrr";
  align.append(rows[0].size() - 2 - align.size(), 'r');
  align += "ll";
  const std::vector<std::size_t> all = rows_shown(plan, most_rows);
  const std::size_t n = r.frontier.size(), most = distinct_rows(plan).size(), shown = all.size();
  std::size_t best = 0;  // its row of the table
  for (const std::size_t at : all) {
    rows.push_back(row_text(plan, at, wide));
    if (shown < n) rows.back()[0] = cat(at + 1, rows.back()[0]);
    if (at == r.best) best = rows.size() - 1;
  }
  const std::vector<std::string_view> expendable = expendable_columns(rows);
  drop_unused_choices(rows, align);
  const bool narrowed = !wide && drop_columns(rows, align, expendable);
  const bool pools = std::any_of(r.frontier.begin(), r.frontier.end(),
                                 [](const pm::plan_point& p) { return p.prefill.has_value(); });
  std::string s = headed_table(rows, align, best) + settings_legend(rows[0], pools);
  std::string notes;
  if (shown < n)
    notes =
        cat(shown, " of ", n, " points",
            most < n ? "; rows within 1 % of the row above are left out" : "", "; --json has all");
  if (narrowed) notes += cat(notes.empty() ? "" : "; ", "more columns: --wide");
  return notes.empty() ? s : s + styled(text_style::dim, wrapped(cat("(", notes, ")"), 2));
}

/// The source GPUs of the rows that are marked.
std::string transfers_legend(const planned& plan) {
  std::vector<std::string> known;
  const auto add = [&known](const profile_note& n) {
    const std::string text = transfers_text(n);
    const std::string one = cat(n.name, " (", text, ")");
    const bool listed_before = std::find(known.begin(), known.end(), one) != known.end();
    if (!text.empty() && !listed_before) known.push_back(one);
  };
  for (const calibrated_note& n : plan.notes) add(*n.profile);
  for (const auto& [row, n] : plan.of_prefills) add(n);
  if (known.empty()) return {};
  return styled(
      text_style::dim,
      wrapped(cat("~: another GPU's profile, with a wider interval: ", listed(known), "."), 2));
}

/// Explanation of columns, and the cost sensitivity of row 1.
std::string review_text(const planned& plan) {
  std::string s;
  if (!plan.notes.empty()) s += "  In brackets: 80 % interval, in the unit of the time.\n";
  s += "  limiter: of the decode time. binding: the constraint on a larger, cheaper batch.\n";
  if (plan.result.all_priced) {
    s +=
        "  USD/Mtok: total cost per million output tokens; in, out: the cost of prefill and decode "
        "time\n  per million input and output tokens.\n";
  }
  const auto& points = plan.result.frontier;
  if (std::any_of(points.begin(), points.end(), is_mixed)) {
    s += "  With a prefill pool on another accelerator, the row names the one that decodes; its "
         "cost is\n  that of both.\n";
  }
  const std::string all = elasticities_text(plan.reviews[0].cost);
  return all.empty() ? s : s + wrapped(cat("Cost sensitivity of row 1, per +1 %: ", all, "."), 2);
}

/// The formats behind the precisions of the Pareto front.
std::string formats_text(const planned& plan) {
  std::map<std::string, std::map<std::string, std::string>>
      lines;  // formats and accelerator, by precision
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

/// Memory budget of a GPU of row 1.
std::string memory_text(const planned& plan) {
  const pm::plan_point& p = plan.result.frontier.front();
  const pm::memory_budget b = memory_budget_of(pm::deployment_of(plan.request, p));
  return wrapped(
      cat("Memory of row 1, per ", is_mixed(p) ? p.accelerator.view() : std::string_view("GPU"),
          ", ", pm::detail::significant(100.0 * b.utilization, 3), " % used: weights ",
          pm::to_string(b.weights), ", activations ", pm::to_string(b.activations), ", runtime ",
          pm::to_string(b.runtime), ", KV cache ", pm::to_string(kv_bytes_available(b)), "."),
      2);
}

std::string load_text(const pm::plan_request& q) {
  const auto number = [](double x) { return pm::detail::significant(x, 4); };
  std::string s = cat("Asked for: ", q.model.name.view(), ", ",
                      q.load.is_closed() ? cat(number(q.load.concurrency()), " concurrent requests")
                                         : cat(number(q.load.rate().value()), " requests/s"),
                      ", ", number(q.load.input_tokens), " input and ",
                      number(q.load.output_tokens), " output tokens");
  const auto target = [&s](const char* name, const std::optional<pm::latency_target>& within) {
    if (!within) return;
    const std::string of = within->share ? "p" + pm::detail::significant(100.0 * *within->share, 4)
                                         : std::string("mean");
    s += cat(", ", of, ' ', name, " within ", pm::to_string(within->limit));
  };
  target("TTFT", q.targets.ttft);
  target("ITL", q.targets.itl);
  target("E2E", q.targets.e2e);
  s = wrapped(cat(s, "; up to ", q.gpus, q.gpus == 1 ? " GPU." : " GPUs."), 0);
  const double longest = q.load.input_tokens + q.load.output_tokens;
  if (!q.model.max_context || !(longest > *q.model.max_context)) return s;
  return s + wrapped(cat("Requests have ", pm::detail::number_text(longest),
                         " tokens, and the model's limit is ",
                         pm::detail::number_text(*q.model.max_context),
                         "; engines refuse longer requests."),
                     0);
}

/// Engines that were compared.
std::string engines_text(const planned& p) {
  if (p.calibrations.empty()) {
    return p.request.engines.empty()
               ? "Bounds are the same for every engine; memory reservation as without one "
                 "(--engine).\n"
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

/// Basis of the times: fitted parameters and their sources.
std::string basis_text(const planned& p) {
  std::string s =
      "These are bounds from data sheets: no engine step runs faster; latencies may be lower.\n";
  if (!p.left_out.empty())
    s += cat("  Not used: ", listed(p.left_out, [](const auto& k) { return k; }), ".\n");
  if (p.calibrations.empty()) return s;
  s = "Predictions from fitted parameters (--mode bound has roofline bounds only):\n";
  for (const plan_calibration& k :
       p.calibrations) {  // once per profile, from the point with the most sources
    const calibration& c = k.profiles;
    const profile_note* most = nullptr;
    const auto take = [&](const profile_note& n) {
      const bool own = n.name == c.accelerator.c_str();
      if (own && (most == nullptr || n.source.size() > most->source.size())) most = &n;
    };
    for (const calibrated_note& n : p.notes) take(*n.profile);
    for (const auto& [row, n] : p.of_prefills) take(n);
    if (most == nullptr) continue;
    const std::string line = wrapped(text_of(*most), 2);
    if (s.find(line) == s.npos) s += line;  // engines share profiles
  }
  return s;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> columns_of(const planned& p, std::size_t at) {
  const std::vector<std::string> head = frontier_head(p), row = row_text(p, at, true);
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

/// Bounds of accelerators without predictions, and the reasons for that.
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

/// The accelerators of a plan of bounds, and the reasons why they have no predictions.
std::string bounds_headline(const planned& bounds) {
  std::string s = cat("Roofline bounds only: ",
                      listed(bounds.best_of_each, [](const auto& b) { return b.on->name.c_str(); }),
                      ". Least times of engine steps, not predictions.\n");
  for (const std::string& hint : bounds.hints) s += wrapped(hint + ".", 2);
  return s;
}

/// "Roofline bounds only": a separate block with few rows.
std::string bounds_only_text(const planned& p, bool wide) {
  constexpr std::size_t most_rows = 4;
  std::string s;
  for (const planned& bounds : p.bounds_only) {
    s += bounds_headline(bounds);
    if (!bounds.left_out.empty()) {
      s += cat("  Not used: ", listed(bounds.left_out, [](const auto& k) { return k; }), ".\n");
    }
    if (p.request.targets.has_percentiles())
      s += "  Targets on percentiles are compared with the bounds of means.\n";
    if (!p.request.speculations.empty() || p.request.pools)
      s += "  Bounds have neither speculative decoding nor disaggregated prefill.\n";
    for (const accelerator_best& b : bounds.best_of_each) {
      if (!b.point) s += wrapped(cat(b.on->name.view(), ": infeasible: ", b.reason), 2);
      if (b.point && !b.meets_targets) {
        s += wrapped(cat(b.on->name.view(), ": ", miss_text(b.miss), " even at its bound"), 2);
      }
    }
    if (!bounds.result.frontier.empty()) s += frontier_text(bounds, wide, most_rows);
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
  out["pruned"] = p.result.pruned;
  out["feasible"] = p.result.feasible;
  out.update(money_json(p));
  out.update(search_json(p));
  out["meets_targets"] = meets_targets(p);
  const auto& limit = p.request.model.max_context;
  if (limit && p.request.load.input_tokens + p.request.load.output_tokens > *limit)
    out["context_limit"] = *limit;
  out["best"] = nullptr;
  json frontier = json::array();
  for (std::size_t i = 0; i < p.result.frontier.size(); ++i) {
    frontier.push_back(point_json(p.request, p.result.frontier[i],
                                  p.notes.empty() ? nullptr : &p.notes[i], &p.reviews[i]));
    if (const auto prompts = p.of_prefills.find(i); prompts != p.of_prefills.end())
      frontier.back()["prefill"]["profile"] = profile_json(prompts->second);
  }
  if (p.result.best) out["best"] = frontier[*p.result.best];
  if (p.simulated) out["simulated"] = simulated_json(*p.simulated);
  out["frontier"] = std::move(frontier);
  if (p.result.nearest_point) {
    out["nearest"] = point_json(p.request, *p.result.nearest_point, nullptr, nullptr);
    out["nearest_miss"] = number_json("nearest_miss", p.result.nearest_miss);
  }
  json rejected = json::array();
  for (const auto& x : p.result.rejected) rejected.push_back(rejection_json(p.request, x));
  for (const planned& bounds : p.bounds_only) {
    for (const auto& x : bounds.result.rejected)
      rejected.push_back(rejection_json(bounds.request, x));
  }
  out["rejected"] = std::move(rejected);
  json shown = json::array();
  for (const std::size_t at : rows_shown(p)) shown.push_back(at + 1);
  out["rows_shown"] = std::move(shown);
  out.update(comparison_json(p));
  if constexpr (!is_page_module) out["derivation"] = derivation_json(derivation_of_plan(p));
  if (!p.left_out.empty()) out["left_out"] = p.left_out;
  if (!p.not_read.empty()) out["not_read"] = p.not_read;
  return out;
}

namespace {

const char* caption(const pm::plan_result& r) {
  if (r.best)
    return "Pareto front (cost, ITL) of the deployments within the targets; *: cheapest\n";
  return r.frontier.size() > 1 ? "Row 1: the nearest to the targets; then the Pareto front (cost, "
                                 "ITL) of those that miss them\n"
                               : "The nearest to the targets\n";
}

/// Formats, memory, prices and the sources of all times.
std::string details_text(const planned& p) {
  std::string s;
  if (!p.result.frontier.empty())
    s += review_text(p) + prices_text(p, true) + formats_text(p) + memory_text(p) + "\n";
  s += engines_text(p) + basis_text(p);
  if (p.request.load.preemption_mode && (p.request.pools || !p.request.speculations.empty()))
    s += "Points with speculation or pools admit only requests that fit, without preemption.\n";
  return s;
}

}  // namespace

std::string plan_text(const planned& p, bool wide) {
  const pm::plan_result& r = p.result;
  std::string s = p.hints.empty() ? "" : bounds_headline(p);
  s += with_styled_sentence(r.best ? text_style::bold : text_style::red, conclusion_text(p)) + "\n";
  if (r.frontier.empty()) {
    s += alternatives_text(p);
  } else {
    s += caption(r) + frontier_text(p, wide) + transfers_legend(p) + money_text(p);
    if (!wide) s += prices_text(p, false);
  }
  s += "\n" + best_of_each_text(p) + bounds_only_text(p, wide);
  if (const std::string rejected = rejected_text(p); !rejected.empty()) s += rejected + "\n";
  if (wide) s += details_text(p);
  std::string notes = load_text(p.request);
  notes += cat(r.evaluated, " deployments evaluated, ", r.feasible, " feasible; ", r.pruned,
               " left out (another costs no more, with no higher ITL).\n");
  if (p.calibrations.empty() && !wide) notes += basis_text(p);
  if (!p.not_read.empty()) notes += wrapped(not_read_text(p.not_read), 0);
  notes += "Effects of quantization on output quality are not modelled.\n";
  if (!r.frontier.empty())
    notes += cat("Breakdown of a row: napkin explain plan ... --row 1.",
                 wide ? "" : " Sources and all columns: --wide.", "\n");
  return s + styled(text_style::dim, notes);
}

}  // namespace napkin
