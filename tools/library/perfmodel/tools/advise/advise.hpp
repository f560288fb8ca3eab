// Ranks every technique for a service and finds the best combination.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/tools/advise/attention.hpp>
#include <perfmodel/tools/advise/formats.hpp>
#include <perfmodel/tools/advise/kernels.hpp>
#include <perfmodel/tools/advise/parallelism.hpp>
#include <perfmodel/tools/advise/scheduling.hpp>
#include <string>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Techniques by who can use them, then in the order of their gain, and the best combination.
/// `combined` is the gain of the service with the whole combination; `product_of_gains` would be
/// its gain if techniques were independent. An overloaded service is compared by the largest
/// sustainable rates: `current_rate`, and `best_rate` with the combination.
struct advice {
  serving_estimate current{};
  std::vector<technique> techniques{};
  std::vector<std::string> combination{};
  double combined = 1.0;
  double product_of_gains = 1.0;
  serving_estimate best{};
  std::optional<request_rate<>> current_rate{}, best_rate{};

  const technique* find(std::string_view name) const {
    for (const technique& t : techniques) {
      if (name == t.name) return &t;
    }
    return nullptr;
  }
};

namespace detail {

inline bool is_recommended(const technique& t) {
  return t.applies && !t.in_use && !t.harmful && t.apply &&
         (t.makes_feasible || t.gain > 1.0 + 1e-3) && t.devices <= 1.0 + 1e-9;
}

/// A gain and a verdict that agree: a technique that gains is not harmful, but for a missed target,
/// and one that does not help here has no gain above 1. Each has a reason.
inline void settle(technique& t) {
  const bool gains = t.applies && t.has_ratio && t.gain > 1.0 + 1e-3;
  if (gains && t.harmful && !t.misses_target) {
    if (t.apply && t.gain > 1.02) {
      t.harmful = false;  // the service with it was evaluated, and is quicker
    } else {
      t.gain = 1.0;  // a gain over kernels that this service does not have
    }
  }
  if (!t.applies && !t.makes_feasible) t.gain = 1.0;
  if (t.reason.empty()) t.reason = t.harmful_when;
}

/// Order of display: a technique that makes feasible, applies, is in use, does not apply.
inline int rank_of(const technique& t) {
  if (t.makes_feasible && !t.in_use) return 0;
  if (!t.applies) return 3;
  return t.in_use ? 2 : 1;
}

/// The service with all of these techniques.
inline advised_service with_techniques(const adviser& a,
                                       const std::vector<const technique*>& techniques) {
  advised_service s = a.service();
  for (const technique* t : techniques) t->apply(s);
  return s;
}

/// Whether the estimate `then` is better than `now`.
inline bool improves(const adviser& a, const serving_estimate& now, const serving_estimate& then) {
  if (!then.feasible) return false;
  if (!now.feasible) return true;
  if (meets(now, a.targets()) && !meets(then, a.targets())) return false;
  return then.e2e.value() < now.e2e.value() * (1.0 - 1e-3);
}

/// Adds techniques to the service, best first, and retains those that still gain.
/// A technique replaces an earlier one with the same choice.
inline void combine(advice& out, const adviser& a) {
  std::vector<const technique*> chosen;
  out.best = out.current;
  out.current_rate = out.best_rate = a.sustained();
  for (const technique& t : out.techniques) {
    if (!is_recommended(t)) continue;
    std::vector<const technique*> more = chosen;
    std::erase_if(more,
                  [&t](const technique* o) { return std::string_view(o->choice) == t.choice; });
    more.push_back(&t);
    const advised_service with = with_techniques(a, more);
    if (with.pools && with.speculation) continue;
    try {
      const serving_estimate e = a.evaluate(with);
      if (out.best_rate) {
        const request_rate<> rate = a.rate_of(with);
        if (!(rate > (1.0 + 1e-3) * *out.best_rate)) continue;
        out.best_rate = rate;
      } else if (!improves(a, out.best, e)) {
        continue;
      }
      out.best = e;
      chosen = more;
    } catch (const error&) {
      continue;
    }
  }
  for (const technique* t : chosen) {
    out.combination.push_back(t->name);
    out.product_of_gains *= t->gain;
  }
  if (out.best_rate) {
    out.combined = *out.best_rate / *out.current_rate;
    return;
  }
  if (!out.current.feasible) return;
  const double now = out.current.e2e.value(), then = out.best.e2e.value();
  if (now > 0.0 && then > 0.0 && std::isfinite(now) && std::isfinite(then))
    out.combined = now / then;
}

}  // namespace detail

/// The gain of every technique for a service, by the estimates of `evaluator`.
/// gain = mean request time without / with, queueing included; in a closed loop it is the gain of
/// throughput too. An overloaded open loop is compared by its largest sustainable rate. A service
/// that does not fit has no gains, only the techniques that make it fit. The combination is found
/// greedily among techniques that need no more devices: best first, each one retained where the
/// service becomes faster.
/// *Leaves out:* accuracy; combinations in which a technique gains only with another one.
/// *Errors:* a field of the service or a target out of range; errors of `evaluator`.
/// *Tests:* each technique gains in one case and is harmful in another, by independent numbers; the
/// combination equals the service with all its techniques, and is never slower than the best one.
inline advice advise(const advised_service& service, const service_evaluator& evaluator,
                     const service_targets& targets = {}, const advice_acceptance& assumed = {},
                     const kernel_facts& kernels = {}) {
  require_valid(service);
  require_valid(targets);
  require_valid(assumed);
  require_valid(kernels);
  const adviser a(service, evaluator, targets);
  advice out;
  out.current = a.current();
  const auto add = [&out](std::vector<technique> more) {
    for (technique& t : more) out.techniques.push_back(std::move(t));
  };
  add(format_techniques(a));
  add(parallelism_techniques(a));
  add(scheduling_techniques(a));
  add(speculation_techniques(a, assumed));
  add(attention_techniques(a));
  add(kernel_techniques(a, kernels));
  add(memory_techniques(a));
  for (technique& t : out.techniques) detail::settle(t);
  std::ranges::stable_sort(out.techniques, [](const technique& x, const technique& y) {
    if (x.user != y.user) return x.user < y.user;
    const int i = detail::rank_of(x), j = detail::rank_of(y);
    if (i != j) return i < j;
    return x.gain != y.gain ? x.gain > y.gain : x.e2e < y.e2e;
  });
  detail::combine(out, a);
  return out;
}

}  // namespace perfmodel::inline v0_3
