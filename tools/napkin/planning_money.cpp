// Text below a plan's table: prices, alternatives, headroom and tail latencies.
#include <algorithm>
#include <cmath>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/text.hpp>

#include "output.hpp"
#include "planning.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Number of features to set up in addition to replicas of one layout.
int parts_of(const pm::plan_point& p) {
  return (p.prefill ? 4 : 0) + (p.speculation_index ? 2 : 0) + (p.chunk_tokens ? 1 : 0);
}
bool within_one_percent(double a, double b) {
  return std::fabs(a - b) <= 0.01 * std::min(a, b);
}

/// The alternative of a plan with other choices; its number of GPUs grows where it is searched.
void add_alternative(planned& p, const plan_again& again, const pm::plan_request& q,
                     const char* choice, const char* by) {
  const int ceiling = p.search ? std::max(p.search->ceiling, q.gpus) : q.gpus;
  const pm::plan_result r =
      pm::search_gpu_count(q, {.first = q.gpus, .ceiling = ceiling, .until_met = true}, again)
          .result;
  plan_alternative x{choice, by, {}, {}, {}};
  if (r.best) x.point = r.frontier[*r.best];
  if (r.nearest_point) x.miss = r.nearest_miss;
  if (!r.best && !r.nearest_point && !r.rejected.empty()) x.reason = nearest_reason(q, r);
  p.alternatives.push_back(std::move(x));
}

std::string choice_text(const plan_alternative& x) {
  return x.choice + (std::string_view(x.by) == "kv_format" ? " KV cache" : "");
}
/// " (misses by 1.3x)", " (weights exceed the usable memory: 143 GB needed, 77 GB usable)".
std::string missed_by(const plan_alternative& x) {
  if (x.miss) return cat(" (misses by ", pm::detail::significant(*x.miss, 3), "x)");
  return cat(" (", x.reason.empty() ? "infeasible" : x.reason, ")");
}

/// The target that a service misses most, "" without one; `limits` are queue limits.
const char* missed(const pm::plan_request& q, const pm::serving_estimate& s,
                   const std::optional<plan_queue_limits>& limits) {
  if (!s.feasible) return "the service is overloaded";
  const pm::target_misses m = pm::misses_of(s, q.targets);
  const pm::duration<> longest =
      limits ? min(q.max_queueing_time, limits->wait) : q.max_queueing_time;
  const double wait = s.wait.value() / longest.value();
  const double queue = limits ? s.queued / limits->share : 0.0;
  if (std::max({m.worst(), wait, queue}) <= 1.0) return "";
  if (queue > 1.0 && queue >= m.worst())
    return "requests queue for KV memory or a running-request slot";
  if (wait >= m.worst()) return "queueing time exceeds its limit";
  if (m.itl >= m.worst()) return "ITL misses its target";
  return m.ttft >= m.worst() ? "TTFT misses its target" : "E2E misses its target";
}

std::string with_sign(double share) {
  const std::string s = fixed(100.0 * share, 0);
  return cat(s.front() == '-' ? "" : "+", s, " %");
}

std::string point_text(const pm::plan_request& q, const pm::plan_point& p) {
  return cat(p.replicas, " x ", layout_text(p.layout), " of ", p.accelerator.view(), ", ITL ",
             pm::to_string(p.serving.itl), percentiles_text(q, p.serving));
}

/// Reason why a plan has no headroom: its queue, or its mean wait.
std::string already_text(const planned& p, const pm::plan_point& best) {
  if (has_queue(p.request, best)) return queue_clause(p.request, best);
  return cat("requests wait for ", pm::to_string(best.serving.wait), " on average");
}

/// The cheapest of each engine other than the best point's.
void add_engines(planned& p, const plan_again& again) {
  const pm::plan_point& best = p.result.frontier[*p.result.best];
  std::vector<pm::engine> engines;
  for (const plan_calibration& c : p.calibrations) {
    const bool known = std::find(engines.begin(), engines.end(), c.serving_engine) != engines.end();
    if (!known && c.serving_engine != best.serving_engine) engines.push_back(c.serving_engine);
  }
  for (const pm::engine e : engines) {
    pm::plan_request q = p.request;
    q.engines = {e};
    const auto lacks_it = [&](const pm::accelerator& a) {
      return std::none_of(p.calibrations.begin(), p.calibrations.end(), [&](const auto& c) {
        return c.serving_engine == e && c.profiles.accelerator == a.name;
      });
    };
    std::erase_if(q.accelerators, lacks_it);
    if (q.pools) std::erase_if(q.pools->prefill_accelerators, lacks_it);
    if (!q.accelerators.empty()) add_alternative(p, again, q, pm::name_of(e), "engine");
  }
}

/// The cheapest with the checkpoint's own weights and an fp8 KV cache.
void add_cache_format(planned& p, const plan_again& again) {
  if (p.others.empty()) return;
  pm::plan_request q = p.request;
  std::erase_if(q.precisions, [](const auto& x) { return x.kv.bits() < 16.0; });
  for (pm::plan_precision& x : q.precisions) {
    x.kv = pm::fp8;
    x.name = pm::detail::precision_name(x.weights, x.kv);
  }
  if (!q.precisions.empty()) add_alternative(p, again, q, "fp8", "kv_format");
}

/// Whether weights of a format are those of the best point or, without one, of the request.
bool is_own(const planned& p, pm::number_format f) {
  const auto stored = [f](const pm::plan_precision& x) { return x.weights.linear.format == f; };
  if (p.result.best) return stored(p.result.frontier[*p.result.best].precision);
  const auto& all = p.request.precisions;
  return std::any_of(all.begin(), all.end(), stored);
}

}  // namespace

double cost_of(const planned& p, const pm::plan_point& point) {
  return pm::detail::cost_of(point, p.result.all_priced);
}

std::string cost_text(const planned& p, const pm::plan_point& point) {
  const double cost = cost_of(p, point);
  return p.result.all_priced ? cat(money(cost), " USD/Mtok")
                             : cat(pm::detail::significant(cost / 3600.0, 3), " GPU-h/Mtok");
}

std::optional<double> usd_per_hour_of(const pm::plan_point& p) {
  if (!p.cost_per_million) return {};
  return p.cost_per_million->value() * p.output_rate.value() * 3600.0 / 1e6;
}

std::vector<std::size_t> distinct_rows(const planned& p) {
  const auto& points = p.result.frontier;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const bool alike = !kept.empty() &&
                       within_one_percent(points[i].serving.itl.value(),
                                          points[kept.back()].serving.itl.value()) &&
                       within_one_percent(cost_of(p, points[i]), cost_of(p, points[kept.back()]));
    if (!alike) {
      kept.push_back(i);
    } else if (kept.back() != 0 && parts_of(points[i]) < parts_of(points[kept.back()])) {
      kept.back() = i;
    }
  }
  return kept;
}

std::vector<std::size_t> rows_shown(const planned& p, std::size_t most) {
  const std::vector<std::size_t> distinct = distinct_rows(p);
  const std::size_t n = distinct.size(), shown = std::min(n, most);
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < shown; ++i)
    rows.push_back(distinct[shown == n || shown < 2 ? i : i * (n - 1) / (shown - 1)]);
  return rows;
}

void add_alternatives(planned& p, const plan_again& again) {
  if (p.result.best) {
    add_engines(p, again);
    add_cache_format(p, again);
  }
  std::vector<pm::plan_precision> all = p.request.precisions;
  all.insert(all.end(), p.others.begin(), p.others.end());
  for (const pm::number_format f : pm::all_formats) {
    pm::plan_request q = p.request;
    q.precisions = all;
    std::erase_if(q.precisions, [&](const auto& x) { return x.weights.linear.format != f; });
    if (q.precisions.empty() || is_own(p, f)) continue;
    add_alternative(p, again, q, pm::name_of(f), "weight_format");
  }
}

pm::service_load load_times(pm::service_load l, double factor) {
  if (auto* closed = std::get_if<pm::closed_loop>(&l.arrivals)) {
    closed->concurrency *= factor;
  } else {
    auto& open = std::get<pm::open_loop>(l.arrivals);
    open.rate = factor * open.rate;
  }
  return l;
}

void add_headroom(planned& p, const calibration* c) {
  if (!meets_targets(p)) return;
  const pm::plan_point& best = p.result.frontier[*p.result.best];
  if (best.prefill) return;
  const pm::plan_request& q = p.request;
  const pm::deployment d = pm::deployment_of(q, best);
  pm::service_load own = pm::load_of(q, best);
  if (own.is_closed() && own.concurrency() <= best.batch_limit)
    own.batch_limit = q.load.batch_limit;  // it was not the binding constraint
  const auto at = [&](double factor) {
    const pm::service_load l = load_times(own, factor);
    if (c == nullptr) return pm::serving_bound(d, l);
    return best.speculation_index ? pm::serving(d, l, pm::speculation_of(q, best), c->calibration)
                                  : pm::serving(d, l, c->calibration);
  };
  const auto missed_at = [&](double factor) -> std::string {
    return missed(q, at(factor), p.headroom_limits);
  };
  const auto* closed = std::get_if<pm::closed_loop>(&q.load.arrivals);
  const bool ends =
      closed != nullptr && closed->requests.value_or(0.0) > 0.0;  // a benchmark run with an end
  const double most = ends ? *closed->requests / closed->concurrency : 1024.0;
  try {
    double low = 1.0, high = 2.0;
    if (!missed_at(low).empty()) {
      if (p.headroom_limits) p.headroom = plan_headroom{1.0, already_text(p, best)};
      return;
    }
    for (; high < most && missed_at(high).empty(); high *= 2.0) low = high;
    if (high >= most) return;
    while (high - low > 1e-4 * low) {
      const double middle = 0.5 * (low + high);
      (missed_at(middle).empty() ? low : high) = middle;
    }
    p.headroom = plan_headroom{low, missed_at(high)};
  } catch (const pm::error&) {  // more concurrent requests than the run has in total
    p.headroom.reset();
  }
}

json money_json(const planned& p) {
  json out = json::object();
  out["prices"] = json::array();
  for (const found_accelerator& a : p.accelerators) {
    if (!a->price.is_stated()) continue;
    out["prices"].push_back(
        {{"accelerator", a->name.c_str()},
         {"usd_per_hour", number_json("usd_per_hour", 3600.0 * a->price.value())},
         {"basis", pm::name_of(a->price.from().how)},
         {"source", a->price.from().text}});
  }
  out["alternatives"] = json::array();
  for (const plan_alternative& x : p.alternatives) {
    json one = {{"by", x.by}, {"choice", x.choice}, {"meets_targets", x.point.has_value()}};
    if (x.point) {
      one["accelerator"] = x.point->accelerator.c_str();
      one["engine"] = pm::name_of(x.point->serving_engine);
      one["precision"] = x.point->precision.name.c_str();
      one["gpus"] = x.point->gpus;
      const double over =
          p.result.best ? cost_of(p, *x.point) / cost_of(p, p.result.frontier[0]) - 1.0 : 0.0;
      if (p.result.best) one["cost_over_best"] = number_json("cost_over_best", over);
    }
    if (x.miss) one["nearest_miss"] = number_json("nearest_miss", *x.miss);
    if (!x.reason.empty()) one["reason"] = x.reason;
    out["alternatives"].push_back(std::move(one));
  }
  if (p.headroom) {
    const pm::service_load& l = p.request.load;
    out["headroom"] = {{"factor", number_json("factor", p.headroom->factor)},
                       {"beyond", p.headroom->beyond}};
    if (l.is_closed()) {
      out["headroom"]["concurrency"] = std::floor(l.concurrency() * p.headroom->factor);
    } else {
      out["headroom"]["requests_per_s"] =
          number_json("requests_per_s", l.rate().value() * p.headroom->factor);
    }
  }
  return out;
}

std::string alternatives_text(const planned& p) {
  std::string s, none;
  const auto& all = p.alternatives;
  const bool met = p.result.best.has_value();
  const bool targets = p.request.targets.ttft || p.request.targets.itl || p.request.targets.e2e;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].point) {
      none += cat(none.empty() ? "" : ", ", choice_text(all[i]),
                  targets || !all[i].reason.empty() ? missed_by(all[i]) : "");
      continue;
    }
    const pm::plan_point& point = *all[i].point;
    const double cost = cost_of(p, point);
    std::string choice = choice_text(all[i]);
    while (i + 1 < all.size() && all[i + 1].by == all[i].by && all[i + 1].point &&
           within_one_percent(cost_of(p, *all[i + 1].point), cost)) {
      choice += cat(" or ", choice_text(all[++i]));
    }
    const bool engine = std::string_view(all[i].by) == "engine";
    if (engine) choice += cat(" (", point.precision.name.view(), ")");
    if (!engine && !p.calibrations.empty())
      choice += cat(" (", pm::name_of(point.serving_engine), ")");
    const std::string over =
        met ? cat(" (", with_sign(cost / cost_of(p, p.result.frontier[0]) - 1.0), ")") : "";
    s += cat("    ", choice, ": ", cost_text(p, point), over, ", ", point_text(p.request, point),
             "\n");
  }
  if (!none.empty())
    s += wrapped(cat(targets ? "no deployment within the targets: " : "infeasible: ", none), 4);
  if (s.empty()) return s;
  return (met ? "  Cheapest with another engine or format, by closed forms:\n"
              : "  Cheapest with another format:\n") +
         s;
}

std::string headroom_text(const planned& p) {
  if (!p.headroom) return {};
  if (p.headroom->factor == 1.0)
    return wrapped(cat("Headroom: none; ", p.headroom->beyond, "."), 0);
  const pm::service_load& l = p.request.load;
  const double f = p.headroom->factor;
  const double users = l.is_closed() ? std::floor(l.concurrency() * f) : 0.0;
  const std::string up_to =
      l.is_closed() ? cat(fixed(users, 0), " concurrent requests")
                    : cat(pm::detail::significant(l.rate().value() * f, 3), " requests/s");
  const double more = l.is_closed() ? users / l.concurrency() : f;
  return wrapped(
      cat("Headroom: ", up_to, " (", with_sign(more - 1.0), "), then ", p.headroom->beyond, "."),
      0);
}

json simulated_json(const plan_simulation& s) {
  json out = {{"requests", s.description}, {"refused", s.refused}};
  if (!s.reason.empty()) {
    out["reason"] = s.reason;
    return out;
  }
  out["ttft_s"] = number_json("ttft_s", s.ttft.value());
  if (s.itl.value() > 0.0) out["itl_s"] = number_json("itl_s", s.itl.value());
  out["e2e_s"] = number_json("e2e_s", s.e2e.value());
  out["meets_targets"] = s.missed.feasible;
  return out;
}

std::string simulated_text(const planned& p) {
  if (is_page_module && !p.calibrations.empty())
    return "Closed forms; napkin plan also simulates the cheapest.\n";
  if (!p.simulated) return {};
  const plan_simulation& s = *p.simulated;
  const bool has_itl = s.itl.value() > 0.0;
  std::string text = s.reason.empty()
                         ? cat("Simulated (", s.description,
                               "): ", has_itl ? cat("mean ITL ", pm::to_string(s.itl), ", ") : "",
                               "mean TTFT ", pm::to_string(s.ttft))
                         : cat("Not simulated: ", s.reason);
  if (!s.missed.feasible)
    text += cat("; ", s.missed.reason, ": ", pm::to_string(s.missed.needed * pm::second),
                ", limit ", pm::to_string(s.missed.available * pm::second));
  if (s.refused > 0)
    text += cat("; ", s.refused, s.refused > 1 ? " others miss" : " other misses",
                " a target when simulated", s.missed.feasible ? "" : ", and no more were tried");
  return wrapped(text + ".", 0);
}

bool meets_targets(const planned& p) {
  return p.result.best && (!p.simulated || p.simulated->missed.feasible);
}

/// The p99 of row 1, where targets apply to means.
std::string tails_text(const planned& p) {
  if (p.calibrations.empty()) return {};
  const pm::service_targets& t = p.request.targets;
  const pm::serving_estimate& s = p.result.frontier[0].serving;
  std::string tails, keys;
  const auto add = [&](const auto& target, const char* name, const char* key, const auto& p99) {
    if (!target || target->share) return;
    tails += cat(tails.empty() ? "" : ", ", name, " ", pm::to_string(p99));
    keys += cat(keys.empty() ? "" : " ", "--", key, "-percentile 99");
  };
  if (s.ttft_distribution.size() > 0) {
    add(t.ttft, "TTFT", "ttft", s.ttft_distribution.quantile(0.99));
    add(t.itl, "ITL", "itl", s.itl_distribution.quantile(0.99));
    add(t.e2e, "E2E", "e2e", s.e2e_quantile(0.99));
  }
  if (tails.empty()) return {};
  return wrapped(cat("Targets apply to means; p99: ", tails, ". ", keys, " sets a target on p99."),
                 0);
}

std::string prices_text(const planned& p, bool with_sources) {
  std::string s;
  for (const found_accelerator& a : p.accelerators) {
    if (!a->price.is_stated()) continue;
    const std::string source = a->price.from().text;
    const std::string basis =
        cat(pm::name_of(a->price.from().how), source.empty() || !with_sources ? "" : ": ",
            with_sources ? source : "");
    s += wrapped(cat("Price of ", a->name.view(), ": ", fixed(3600.0 * a->price.value(), 2),
                     " USD/h; ", basis, with_sources ? "" : "; --price sets another"),
                 2);
  }
  return s;
}

std::string money_text(const planned& p) {
  return alternatives_text(p) + disaggregation_text(p);
}

}  // namespace napkin
