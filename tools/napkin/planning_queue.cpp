// Number of GPUs of a plan, and its queued requests.
#include <algorithm>
#include <perfmodel/units/text.hpp>

#include "output.hpp"
#include "planning.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

std::string seconds_text(double s) {
  return pm::to_string(s * pm::second);
}

std::string hourly_text(const pm::plan_point& p) {
  const auto usd = usd_per_hour_of(p);
  return usd && p.cost_per_million
             ? cat(fixed(*usd, 2), " USD/h, ", money(p.cost_per_million->value()), " USD/Mtok, ")
             : "";
}

/// "45.36 USD/h, 1.15 USD/Mtok, ITL 17.9 ms (15-22), TTFT 171 ms"; without a note no interval.
std::string merits_text(const pm::plan_point& p, const calibrated_note* note = nullptr) {
  const std::string itl =
      note != nullptr ? with_interval(p.serving.itl, note->range) : pm::to_string(p.serving.itl);
  return cat(hourly_text(p), "ITL ", itl, ", TTFT ", pm::to_string(p.serving.ttft));
}

/// A cheaper deployment with disaggregated prefill; null where there is none.
const pm::plan_point* cheaper_disaggregated(const planned& p) {
  return p.disaggregation && p.disaggregation->cheaper ? &*p.disaggregation->cheaper : nullptr;
}

/// The weight formats of a request: "bf16".
std::string own_formats(const pm::plan_request& q) {
  std::vector<std::string> names;
  for (const pm::plan_precision& f : q.precisions) {
    const std::string name(f.name.view());
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return listed(names, [](const std::string& name) { return name; });
}

/// " (simulated: ITL 20 ms, TTFT 310 ms)"; empty without a simulation.
std::string fewest_simulated_text(const planned& p) {
  if (!p.fewest_simulated) return "";
  const plan_simulation& s = *p.fewest_simulated;
  if (!s.reason.empty()) return " (not simulated)";
  if (!s.missed.feasible) return " (simulated, it misses a target)";
  return cat(" (simulated: ", s.itl.value() > 0.0 ? cat("ITL ", pm::to_string(s.itl), ", ") : "",
             "TTFT ", pm::to_string(s.ttft), ")");
}

/// The limits tried, and whether fewer GPUs than the cheapest plan's would suffice.
std::string searched_text(const planned& p) {
  const int last = p.search->limits.back();
  std::string s = cat("Searched: up to ", last, last == 1 ? " GPU" : " GPUs",
                      last == p.search->ceiling ? " (--gpus sets another ceiling)." : ".");
  if (p.request.queued_limit < 1.0) {
    s += cat(" Without a TTFT target, the mean queueing time is limited to ",
             pm::to_string(p.request.max_queueing_time), " (--longest-wait), and ",
             pm::detail::significant(100.0 * p.request.queued_limit, 2),
             " % of requests may queue for KV cache or a running slot.");
  }
  s += " ";
  const auto& fewest = p.result.fewest_gpus;
  if (!p.result.best || !fewest) return s.substr(0, s.size() - 1);
  const pm::plan_point& best = p.result.frontier[*p.result.best];
  if (fewest->gpus >= best.gpus) {
    if (best.gpus == 1) return s.substr(0, s.size() - 1);
    return cat(s, cheaper_disaggregated(p) != nullptr ? "Without disaggregation, fewer" : "Fewer",
               " than ", best.gpus, " GPUs miss a target or a limit.");
  }
  return cat(s, "Fewest GPUs: ", deployment_text(*fewest), ", ", merits_text(*fewest),
             fewest_simulated_text(p), ".");
}

/// The formats within the targets where the checkpoint's own are not.
std::string formats_instead(const planned& p) {
  const pm::plan_result& r = p.result;
  const bool fits = r.nearest_point.has_value();
  const plan_alternative* cheapest = nullptr;
  double cost = 0.0;
  for (const plan_alternative& x : p.alternatives) {
    if (!x.point) continue;
    const double usd = pm::detail::cost_of(*x.point, r.all_priced);
    if (cheapest != nullptr && usd >= cost) continue;
    cheapest = &x;
    cost = usd;
  }
  const std::string none = fits ? "No deployment meets the targets" : "No deployment fits";
  if (cheapest == nullptr) {
    return cat(none, " in the checkpoint's own format (", own_formats(p.request),
               ") or in any other.");
  }
  return cat(none, " in the checkpoint's own format (", own_formats(p.request), ")",
             fits ? "; it does on " : "; it fits on ", cheapest->point->gpus, " x ",
             cheapest->point->accelerator.view(), " with ", cheapest->choice,
             " weights (--weight-format ", cheapest->choice, ").");
}

}  // namespace

void set_result(planned& p, const plan_again& again) {
  if (!p.search) {
    p.result = again(p.request);
    return;
  }
  pm::counted_plan c = pm::search_gpu_count(p.request, {.ceiling = p.search->ceiling}, again);
  p.search->limits = std::move(c.limits);
  p.request = std::move(c.request);
  p.result = std::move(c.result);
}

plan_queue queue_of(const pm::plan_request& q, const pm::plan_point& p) {
  const pm::serving_estimate& s = p.serving;
  const double services = p.prefill ? 1.0 : p.replicas;
  plan_queue all{services * pm::queued_requests(s), s.queued, s.admission_delay.value()};
  if (!q.load.is_closed()) all.wait_s = s.queued > 0.0 ? all.wait_s / s.queued : 0.0;
  return all;
}

bool has_queue(const pm::plan_request& q, const pm::plan_point& p) {
  const plan_queue all = queue_of(q, p);
  return q.load.is_closed() ? all.requests >= 0.5 : all.share >= 1e-3;
}

std::string queue_column(const pm::plan_request& q, const pm::plan_point& p) {
  if (!has_queue(q, p)) return "-";
  const plan_queue all = queue_of(q, p);
  return q.load.is_closed() ? fixed(all.requests, 0)
                            : cat(pm::detail::significant(100.0 * all.share, 2), " %");
}

std::string queue_clause(const pm::plan_request& q, const pm::plan_point& p) {
  const plan_queue all = queue_of(q, p);
  if (q.load.is_closed()) {
    return cat("each request queues for ", seconds_text(all.wait_s), " on average, ",
               fixed(all.requests, 0), " of ", pm::detail::significant(q.load.concurrency(), 6),
               " at any time");
  }
  return cat(pm::detail::significant(100.0 * all.share, 2), " % of requests queue, for ",
             seconds_text(all.wait_s), " on average");
}

void add_queue(json& out, const pm::plan_request& q, const pm::plan_point& p) {
  const plan_queue all = queue_of(q, p);
  out["queued_requests"] = number_json("queued_requests", all.requests);
  out["queued_share"] = number_json("queued_share", all.share);
  out["queue_wait_s"] = number_json("queue_wait_s", all.wait_s);
}

std::string deployment_text(const pm::plan_point& p) {
  const auto replicas = [](int n, const pm::parallel_layout& l) {
    return cat(n, n > 1 ? " replicas of " : " replica of ", layout_text(l));
  };
  std::string s = cat(p.gpus, " x ", p.accelerator.view(), " (", replicas(p.replicas, p.layout));
  if (p.prefill) {
    const std::string_view on = is_mixed(p) ? p.prefill->accelerator.view() : std::string_view();
    s += cat(" for decode, ", replicas(p.prefill->replicas, p.prefill->layout), " for prefill",
             on.empty() ? "" : " on ", on);
  }
  if (p.serving_engine != pm::engine::none) s += cat(", ", pm::name_of(p.serving_engine));
  return cat(s, ", ", p.precision.name.view(), ")");
}

json search_json(const planned& p) {
  json out = json::object();
  if (!p.search) return out;
  json search = {{"limits", p.search->limits}, {"ceiling", p.search->ceiling}};
  search["queued_limit"] =
      p.request.queued_limit < 1.0 ? json(p.request.queued_limit) : json(nullptr);
  search["longest_wait_s"] = number_json("longest_wait_s", p.request.max_queueing_time.value());
  search["fewest_gpus"] = p.result.fewest_gpus ? json(p.result.fewest_gpus->gpus) : json(nullptr);
  if (p.fewest_simulated) search["fewest_simulated"] = simulated_json(*p.fewest_simulated);
  out["gpu_search"] = std::move(search);
  return out;
}

namespace {

/// "mean ITL 17.9 ms (80 %: 15-22; target 20 ms)".
std::string latency_text(const char* name, const pm::duration<>& mean,
                         const std::optional<pm::time_range>& range,
                         const std::optional<pm::latency_target>& target) {
  std::string s = range ? with_interval(mean, *range) : pm::to_string(mean);
  if (range) s.insert(s.find('(') + 1, "80 %: ");
  s = cat("mean ", name, " ", s);
  if (!target || target->share) return s;
  const std::string limit = cat("target ", pm::to_string(target->limit), ")");
  if (!range) return cat(s, " (", limit);
  s.back() = ';';
  return cat(s, " ", limit);
}

/// The cheapest deployment, its latencies, and its headroom.
std::string best_text(const planned& p) {
  const pm::plan_result& r = p.result;
  const pm::plan_point& best = r.frontier[*r.best];
  const pm::plan_point* pools = p.search ? cheaper_disaggregated(p) : nullptr;
  const std::string cost = hourly_text(best);
  std::string s =
      wrapped(cat(r.all_priced ? "Cheapest" : "Least GPU time (a price is missing)",
                  !meets_targets(p) ? " by closed forms (simulated, it misses a target)" : "",
                  pools != nullptr ? " without disaggregation: " : ": ", deployment_text(best),
                  cost.empty() ? "" : ": ", cost.substr(0, cost.find_last_not_of(", ") + 1), "."),
              0);
  const calibrated_note* note = p.notes.empty() ? nullptr : &p.notes[*r.best];
  const bool ranged = note != nullptr && note->first_token.has_value();
  const pm::service_targets& t = p.request.targets;
  const auto range_of = [&](bool first) {
    if (!ranged) return std::optional<pm::time_range>{};
    return std::optional<pm::time_range>(first ? *note->first_token : note->range);
  };
  s += wrapped(cat(p.calibrations.empty() ? "Bounds: " : "Predicted ",
                   p.request.load.output_tokens > 1.0
                       ? latency_text("ITL", best.serving.itl, range_of(false), t.itl) + ", "
                       : "",
                   latency_text("TTFT", best.serving.ttft, range_of(true), t.ttft),
                   percentiles_text(p.request, best.serving), "."),
               0);
  s += tails_text(p) + simulated_text(p) + headroom_text(p);
  if (pools != nullptr) {
    const double saved = 1.0 - cost_of(p, *pools) / cost_of(p, best);
    s += wrapped(cat("Disaggregated: ", deployment_text(*pools), ", ", fixed(100.0 * saved, 0),
                     " % cheaper (--disaggregated)."),
                 0);
  }
  if (has_queue(p.request, best) && best.serving.queued > plan_queue_limits{}.share) {
    std::string queue = queue_clause(p.request, best);
    queue[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(queue[0])));
    s +=
        wrapped(cat(queue, ".", p.search ? "" : " Omit --gpus to search for a number of GPUs."), 0);
  }
  return s;
}

}  // namespace

std::string conclusion_text(const planned& p) {
  const pm::plan_result& r = p.result;
  std::string s;
  if (r.best) {
    s = best_text(p);
  } else if (!p.others.empty()) {
    s = wrapped(formats_instead(p), 0);
  } else {
    s = r.nearest_point ? "No deployment meets the targets.\n" : "No deployment fits.\n";
  }
  if (!r.best && r.nearest_point) s += wrapped(nearest_text(p), 0);
  return p.search ? s + wrapped(searched_text(p), 0) : s;
}

}  // namespace napkin
