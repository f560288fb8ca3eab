// Comparisons of a plan: nearest deployment to the targets, best of each accelerator, disaggregated
// prefill, and infeasible configurations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <perfmodel/units/text.hpp>

#include "output.hpp"
#include "planning.hpp"

namespace napkin {

namespace {

namespace pm = perfmodel;

/// Needed over available; rejections without numbers sort last.
double shortfall_of(const pm::plan_rejection& r) {
  return r.available > 0.0 ? r.needed / r.available : std::numeric_limits<double>::infinity();
}

}  // namespace

bool is_same(const pm::plan_point& a, const pm::plan_point& b) {
  return pm::detail::refuses(pm::refusal_of(a, {}), b);
}

std::string nearest_reason(const pm::plan_request& q, const pm::plan_result& r) {
  const auto nearest = std::min_element(
      r.rejected.begin(), r.rejected.end(),
      [](const auto& x, const auto& y) { return shortfall_of(x) < shortfall_of(y); });
  if (nearest == r.rejected.end()) return "nothing fits";
  const bool any = nearest->precision == pm::label{};
  return why(q, *nearest) +
         (any ? "" : cat(" (", nearest->precision.view(), ", ", layout_text(nearest->layout), ")"));
}

namespace {

/// The refusal of the point nearest to the targets; null where its closed forms miss one.
const pm::plan_refusal* refusal_of_nearest(const pm::plan_request& q, const pm::plan_result& r) {
  const auto at = std::find_if(q.refused.begin(), q.refused.end(), [&](const auto& x) {
    return pm::detail::refuses(x, *r.nearest_point);
  });
  return at == q.refused.end() ? nullptr : &*at;
}
plan_miss miss_of_nearest(const pm::plan_request& q, const pm::plan_result& r) {
  if (refusal_of_nearest(q, r) != nullptr) return {"a target when simulated", r.nearest_miss};
  return worst_miss_of(q, r.nearest_point->serving);
}

/// " (90 % of 85.5 GB)": the usable memory as a share of the capacity; "" without an accelerator.
std::string share_of_memory(const pm::plan_request& q, const pm::plan_rejection& r) {
  const auto text = [&](const std::vector<pm::accelerator>& all) -> std::string {
    for (const pm::accelerator& a : all) {
      if (!(a.name == r.accelerator)) continue;
      const pm::bytes<> memory = a.dram.capacity.quantity();
      return cat(" (", pm::detail::significant(100.0 * r.available / memory.value(), 3), " % of ",
                 pm::to_string(memory), ")");
    }
    return {};
  };
  const std::string own = text(q.accelerators);
  return own.empty() && q.pools ? text(q.pools->prefill_accelerators) : own;
}

accelerator_best best_in(const pm::plan_request& q, const pm::plan_result& r,
                         const found_accelerator& on, const note_of_point& note) {
  accelerator_best b{.on = on};
  if (r.best) {
    b.point = r.frontier[*r.best];
    b.meets_targets = true;
  } else if (r.nearest_point) {
    b.point = *r.nearest_point;
    b.miss = miss_of_nearest(q, r);
  } else {
    b.reason = nearest_reason(q, r);
  }
  if (b.point) b.note = note(q, *b.point);
  return b;
}

/// "12 GPUs (6 x TP2, trtllm, fp8), 1.15 USD/Mtok, ITL 17.9 ms (15-22), TTFT 171 ms".
std::string comparison_text(const planned& p, const pm::plan_point& point,
                            const std::optional<calibrated_note>& note, bool ttft_interval) {
  const pm::serving_estimate& s = point.serving;
  const std::string choices = choices_text(p.request, point);
  const bool ranged = note && note->first_token;
  return cat(
      point.gpus, point.gpus == 1 ? " GPU (" : " GPUs (", point.prefill ? "decode " : "",
      point.replicas, " x ", layout_text(point.layout), ", ", pm::name_of(point.serving_engine),
      ", ", point.precision.name.view(), choices == "-" ? "" : cat(", ", choices), "), ",
      cost_text(p, point), ", ITL ",
      ranged ? with_interval(s.itl, note->range) : pm::to_string(s.itl), ", TTFT ",
      ranged && ttft_interval ? with_interval(s.ttft, *note->first_token) : pm::to_string(s.ttft),
      percentiles_text(p.request, s));
}

}  // namespace

std::string why(const pm::plan_request& q, const pm::plan_rejection& r) {
  const bool limit =
      r.reason.starts_with("the mean queueing time") || r.reason.starts_with("requests queue") ||
      r.reason.starts_with("the prediction exceeds") || r.reason.starts_with("the simulated");
  if (limit) {
    const std::string found = pm::detail::significant(r.needed, 4);
    const std::string most = pm::detail::significant(r.available, 4);
    return found == most ? cat(r.reason, ": just over the limit of ", most, ' ', r.unit)
                         : cat(r.reason, ": ", found, ' ', r.unit, ", limit ", most, ' ', r.unit);
  }
  if (std::string_view(r.unit) == "req/s") {
    // A rejection has the share of one replica.
    const double replicas =
        q.load.is_closed() ? 1.0 : std::round(q.load.rate().value() / std::max(r.needed, 1e-300));
    const std::string by = replicas > 1.5 ? cat(" by ", replicas, " replicas") : "";
    return cat(r.reason, ": ", pm::detail::significant(replicas * r.needed, 4), " req/s offered, ",
               pm::detail::significant(replicas * r.available, 4), " req/s sustainable", by);
  }
  if (r.unit[0] == '\0' && r.needed == 1.0 && r.available == 0.0) return r.reason;
  const std::string s = sentence({false, r.reason.c_str(), r.unit, r.needed, r.available});
  return is_usable_memory(r.reason) ? s + share_of_memory(q, r) : s;
}

std::string layout_text(const pm::parallel_layout& l) {
  std::string s = "TP" + std::to_string(l.tensor);
  if (l.pipeline > 1) s += " PP" + std::to_string(l.pipeline);
  if (l.data > 1) s += " DP" + std::to_string(l.data);
  if (l.expert > 1) s += " EP" + std::to_string(l.expert);
  return s;
}

std::string money(double usd) {
  return fixed(usd, usd < 0.01 ? 4 : 2);
}

std::string choices_text(const pm::plan_request& q, const pm::plan_point& p) {
  std::string s;
  const auto add = [&s](const std::string& part) { s += (s.empty() ? "" : ", ") + part; };
  if (p.prefill) {
    add(cat(is_mixed(p) ? cat("prefill on ", p.prefill->accelerator.view()) : "prefill pool", ": ",
            p.prefill->replicas, " x ", layout_text(p.prefill->layout)));
  }
  if (p.speculation_index)
    add(cat("speculative, ", q.speculations[*p.speculation_index].length, " draft tokens"));
  return s.empty() ? "-" : s;
}

std::string with_interval(const pm::duration<>& t, const pm::time_range& r) {
  const std::string text = pm::to_string(t);
  const std::string unit = text.substr(text.find(' ') + 1);
  const double scale = unit == "s" ? 1.0 : unit == "ms" ? 1e3 : 1e6;
  return cat(text, " (", pm::detail::significant(scale * r.low.value(), 2), "-",
             pm::detail::significant(scale * r.high.value(), 2), ')');
}

std::vector<target_percentile> percentiles_of(const pm::plan_request& q,
                                              const pm::serving_estimate& s) {
  std::vector<target_percentile> all;
  if (s.ttft_distribution.size() == 0) return all;
  const auto add = [&all](const auto& target, const char* key, const char* name,
                          const auto& quantile) {
    if (!target || !target->share) return;
    all.push_back({key, cat('p', pm::detail::significant(100.0 * *target->share, 4), ' ', name),
                   quantile(*target->share)});
  };
  const pm::service_targets& t = q.targets;
  add(t.ttft, "ttft", "TTFT", [&](double share) { return s.ttft_distribution.quantile(share); });
  add(t.itl, "itl", "ITL", [&](double share) { return s.itl_distribution.quantile(share); });
  add(t.e2e, "e2e", "E2E", [&](double share) { return s.e2e_quantile(share); });
  return all;
}

std::string percentiles_text(const pm::plan_request& q, const pm::serving_estimate& s) {
  std::string text;
  for (const target_percentile& t : percentiles_of(q, s))
    text += cat(", ", t.name, ' ', pm::to_string(t.time));
  return text;
}

plan_miss worst_miss_of(const pm::plan_request& q, const pm::serving_estimate& s) {
  const pm::detail::plan_misses m = pm::detail::misses_of(q, s);
  const auto named = [](const auto& target, const char* name) {
    return target->share ? cat('p', pm::detail::significant(100.0 * *target->share, 4), ' ', name)
                         : std::string(name);
  };
  if (m.of_queue() >= m.of_targets()) {
    return m.queue > m.wait ? plan_miss{"the limit on queued requests", m.queue}
                            : plan_miss{"the longest wait", m.wait};
  }
  if (m.itl >= m.of_targets()) return {named(q.targets.itl, "ITL"), m.itl};
  if (m.ttft >= m.of_targets()) return {named(q.targets.ttft, "TTFT"), m.ttft};
  return {named(q.targets.e2e, "E2E"), m.e2e};
}

std::string miss_text(const plan_miss& m) {
  return cat("misses ", m.target, " by ", pm::detail::significant(m.factor, 3), "x");
}

void lead_with_nearest(planned& p) {
  pm::plan_result& r = p.result;
  if (r.best || !r.nearest_point) return;
  const auto at = std::find_if(r.frontier.begin(), r.frontier.end(),
                               [&](const auto& x) { return is_same(x, *r.nearest_point); });
  if (at == r.frontier.end()) {
    r.frontier.insert(r.frontier.begin(), *r.nearest_point);
  } else {
    std::rotate(r.frontier.begin(), at, at + 1);
  }
}

void add_best_of_each(planned& p, const std::vector<found_accelerator>& on, const plan_again& again,
                      const note_of_point& note) {
  const pm::plan_result& r = p.result;
  for (const found_accelerator& a : on) {
    const bool first = r.best && r.frontier[*r.best].accelerator == a->name;
    if (on.size() == 1 || first) {
      p.best_of_each.push_back(best_in(p.request, r, a, note));
      continue;
    }
    pm::plan_request q = p.request;
    std::erase_if(q.accelerators, [&](const auto& x) { return !(x.name == a->name); });
    const int ceiling = p.search ? std::max(p.search->ceiling, q.gpus) : q.gpus;
    const pm::counted_plan c =
        pm::search_gpu_count(q, {.first = q.gpus, .ceiling = ceiling, .until_met = true}, again);
    p.best_of_each.push_back(best_in(c.request, c.result, a, note));
  }
}

int gpus_of_cheaper(const planned& p) {
  if (!p.search || !p.result.best) return 0;
  int gpus = 0;
  double least = 0.999 * cost_of(p, p.result.frontier[*p.result.best]);
  const auto look = [&](const pm::plan_point& point) {
    const double cost = cost_of(p, point);
    if (cost >= least) return;
    least = cost;
    gpus = point.gpus;
  };
  for (const accelerator_best& b : p.best_of_each) {
    if (b.point && b.meets_targets) look(*b.point);
  }
  for (const plan_alternative& x : p.alternatives) {
    if (x.point && std::string_view(x.by) == "engine") look(*x.point);
  }
  return gpus;
}

void add_disaggregation(planned& p, const plan_again& again, const note_of_point& note) {
  const pm::service_load& load = p.request.load;
  const bool other_scheduling =
      load.preemption_mode || load.scheduler == pm::scheduling::static_batches;
  if (p.request.pools || other_scheduling || p.request.gpus < 2 || p.result.frontier.empty())
    return;
  const pm::plan_point& first = p.result.frontier[p.result.best.value_or(0)];
  pm::plan_request q = p.request;
  q.pools.emplace();
  q.speculations.clear();
  q.engines = {first.serving_engine};
  std::erase_if(q.accelerators, [&](const auto& a) { return !(a.name == first.accelerator); });
  std::erase_if(q.precisions, [&](const auto& x) {
    return x.weights.linear.format != first.precision.weights.linear.format;
  });
  const pm::accelerator& chip = q.accelerators.front();
  if (!pm::detail::link_of(*q.pools, chip, chip, 2)) return;
  const pm::plan_result r = again(q);
  p.disaggregation = plan_disaggregation{first, {}, {}};
  if (!r.best || !r.frontier[*r.best].prefill) return;
  const pm::plan_point& pools = r.frontier[*r.best];
  constexpr double least_gain = 0.01;
  const bool cheaper = cost_of(p, pools) < (1.0 - least_gain) * cost_of(p, first);
  if (p.result.best && !cheaper) return;
  p.disaggregation->cheaper = pools;
  p.disaggregation->note = note(q, pools);
}

std::string best_of_each_text(const planned& p) {
  const bool alone = p.best_of_each.size() < 2 && p.bounds_only.empty();
  if (alone) return {};
  std::string s = "Best of each accelerator\n";
  for (const accelerator_best& b : p.best_of_each) {
    std::string line = cat(b.on->name.view(), ": ");
    if (!b.point) {
      line += cat("infeasible: ", b.reason);
    } else {
      if (!b.meets_targets) line += cat(miss_text(b.miss), ": ");
      line += comparison_text(p, *b.point, b.note, false);
      const std::string transfers = b.note ? transfers_text(*b.note->profile) : "";
      if (!transfers.empty()) line += cat("; transferred profile (", transfers, ")");
    }
    s += wrapped(line, 2);
  }
  for (const planned& bounds : p.bounds_only) {
    for (const accelerator_best& b : bounds.best_of_each)
      s += cat("  ", b.on->name.view(), ": roofline bounds only, below\n");
  }
  return s + "\n";
}

std::string disaggregation_text(const planned& p) {
  if (!p.disaggregation) return {};
  const pm::plan_point& first = p.disaggregation->beside;
  const std::string on = cat(first.accelerator.view(), ", ", pm::name_of(first.serving_engine),
                             ", ", pm::name_of(first.precision.weights.linear.format), " weights");
  if (!p.disaggregation->cheaper) {
    return cat("  Disaggregated (", on,
               "): ", p.result.best ? "no gain at this load.\n" : "misses the targets too.\n");
  }
  const pm::plan_point& pools = *p.disaggregation->cheaper;
  const double saved = 1.0 - cost_of(p, pools) / cost_of(p, first);
  const std::string gain = p.result.best
                               ? cat(fixed(100.0 * saved, 0), " % cheaper than the plan marked *")
                               : std::string("meets the targets");
  return wrapped(
      cat("Disaggregated (", on, "): ", comparison_text(p, pools, p.disaggregation->note, true),
          "; ", gain, " (--disaggregated)."),
      2);
}

std::string nearest_text(const planned& plan) {
  const pm::plan_point& p = *plan.result.nearest_point;
  std::string simulated = ": ";
  if (const auto* x = refusal_of_nearest(plan.request, plan.result)) {
    const pm::feasibility& f = x->why;
    simulated =
        cat(" (",
            why(plan.request,
                {.reason = f.reason, .unit = f.unit, .needed = f.needed, .available = f.available}),
            "); by closed forms it meets them all: ");
  }
  return cat("Nearest (row 1): ", deployment_text(p), " ",
             miss_text(miss_of_nearest(plan.request, plan.result)), simulated, "mean TTFT ",
             pm::to_string(p.serving.ttft), " (", pm::to_string(p.serving.wait),
             " of it queueing), ITL ", pm::to_string(p.serving.itl), ", E2E ",
             pm::to_string(p.serving.e2e), percentiles_text(plan.request, p.serving), ".");
}

std::string rejected_text(const planned& p) {
  struct rejected_kind {
    const pm::plan_request* request;
    const pm::plan_rejection* nearest;
    long count;
  };
  std::vector<rejected_kind> kinds;
  const auto add = [&kinds](const planned& of) {
    for (const pm::plan_rejection& x : of.result.rejected) {
      const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const rejected_kind& k) {
        return k.nearest->accelerator == x.accelerator && k.nearest->reason == x.reason;
      });
      if (same == kinds.end()) {
        kinds.push_back({&of.request, &x, x.count});
      } else {
        same->count += x.count;
        if (shortfall_of(x) < shortfall_of(*same->nearest)) same->nearest = &x;
      }
    }
  };
  add(p);
  for (const planned& bounds : p.bounds_only) add(bounds);
  if (kinds.empty()) return {};
  std::string s = "Infeasible configurations (closest of each kind), and why\n";
  for (const auto& [request, x, count] : kinds) {
    const bool any = x->precision == pm::label{};  // several formats were tried
    const std::string what = any ? "" : cat(" ", x->precision.view(), " ", layout_text(x->layout));
    s += wrapped(cat(x->accelerator.view(), what, ": ", why(*request, *x),
                     count > 1 ? cat("; ", count - 1, " more for this reason") : ""),
                 2);
  }
  return s;
}

}  // namespace napkin
