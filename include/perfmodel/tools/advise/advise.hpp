// What to change: every trick beside a service, ranked, and what the best of them bring together.
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

namespace perfmodel {

/// The tricks, those that help most first, and what the service does with the best that go together:
/// `combined` is asked of the service with all of them at once, `product` of their single gains is what
/// they would bring if none took from another. Of an overloaded service the gains are ratios of the
/// largest rates that it sustains: `sustained_now`, and with the best `sustained_then`.
struct advice {
  serving_estimate now{};
  std::vector<technique> techniques{};
  std::vector<std::string> together{};
  double combined = 1.0;
  double product = 1.0;
  serving_estimate then{};
  std::optional<request_rate<>> sustained_now{}, sustained_then{};

  const technique* find(std::string_view name) const {
    for (const technique& t : techniques) {
      if (name == t.name) return &t;
    }
    return nullptr;
  }
};

namespace detail {

inline bool recommended(const technique& t) {
  return t.applies && !t.in_use && !t.harmful && t.apply && (t.enables || t.gain > 1.0 + 1e-3) &&
         t.devices <= 1.0 + 1e-9;
}

/// First what is not in use and helps, by gain; then what is in use; then what does not apply.
inline int rank_of(const technique& t) {
  if (t.enables && !t.in_use) return 0;
  if (!t.applies) return 3;
  return t.in_use ? 2 : 1;
}

/// The service with all of these.
inline advised_service with_all(const adviser& a, const std::vector<const technique*>& techniques) {
  advised_service s = a.service();
  for (const technique* t : techniques) t->apply(s);
  return s;
}

/// Whether what the service does with more tricks is better than without them.
inline bool better(const adviser& a, const serving_estimate& now, const serving_estimate& then) {
  if (!then.feasible) return false;
  if (!now.feasible) return true;
  if (meets(now, a.targets()) && !meets(then, a.targets())) return false;
  return then.e2e.value() < now.e2e.value() * (1.0 - 1e-3);
}

/// Puts trick after trick to the service, best first, in place of one that decides the same, and keeps
/// those that still help beside the others.
inline void combine(advice& out, const adviser& a) {
  std::vector<const technique*> chosen;
  out.then = out.now;
  out.sustained_now = out.sustained_then = a.sustained();
  for (const technique& t : out.techniques) {
    if (!recommended(t)) continue;
    std::vector<const technique*> more = chosen;
    std::erase_if(more, [&t](const technique* o) { return std::string_view(o->sets) == t.sets; });
    more.push_back(&t);
    const advised_service with = with_all(a, more);
    if (with.pools && with.drafts) continue;
    try {
      const serving_estimate e = a.answer(with);
      if (out.sustained_then) {
        const request_rate<> rate = a.rate_of(with);
        if (!(rate > (1.0 + 1e-3) * *out.sustained_then)) continue;
        out.sustained_then = rate;
      } else if (!better(a, out.then, e)) {
        continue;
      }
      out.then = e;
      chosen = more;
    } catch (const error&) {
      continue;
    }
  }
  for (const technique* t : chosen) {
    out.together.push_back(t->name);
    out.product *= t->gain;
  }
  if (out.sustained_then) {
    out.combined = *out.sustained_then / *out.sustained_now;
    return;
  }
  if (!out.now.feasible) return;
  const double now = out.now.e2e.value(), then = out.then.e2e.value();
  if (now > 0.0 && then > 0.0 && std::isfinite(now) && std::isfinite(then))
    out.combined = now / then;
}

}  // namespace detail

/// Every trick beside a service that `ask` answers for. A gain is of the mean time of a whole request,
/// waiting included: in a closed loop it is that of throughput too. The gain of an overloaded open
/// loop is of the largest rate that it sustains. A service that does not fit has no gains, only
/// what makes it fit. The best set is found greedily: best first, each kept where the service with
/// it and all before it is quicker still, of those that take no more devices.
/// Leaves out: accuracy, which no time shows; sets that are better though a member alone is not.
/// Errors: a field of the service or a target that cannot be; those of `ask` of the service as it is.
/// Tests: each trick helps in one case and harms in one, by numbers from elsewhere; the set is as
/// asked of all at once, and never slower than its best member.
inline advice advise(const advised_service& service, const service_answer& ask,
                     const service_targets& targets = {}, const advice_acceptance& assumed = {},
                     const kernel_facts& kernels = {}) {
  require_valid(service);
  require_valid(targets);
  require_valid(assumed);
  require_valid(kernels);
  const adviser a(service, ask, targets);
  advice out;
  out.now = a.now();
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
  std::ranges::stable_sort(out.techniques, [](const technique& x, const technique& y) {
    const int i = detail::rank_of(x), j = detail::rank_of(y);
    if (i != j) return i < j;
    return x.gain != y.gain ? x.gain > y.gain : x.e2e < y.e2e;
  });
  detail::combine(out, a);
  return out;
}

}  // namespace perfmodel
