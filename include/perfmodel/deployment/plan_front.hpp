// Points that no other beats on both inter-token latency and cost.
#pragma once

#include <algorithm>
#include <perfmodel/deployment/plan_result.hpp>
#include <vector>

namespace perfmodel::detail {

inline double expense(const plan_point& p, bool priced) {
  if (priced && p.cost_per_million) return p.cost_per_million->value();
  return p.gpu_time_per_million.value();
}

/// What points are held against each other by.
struct plan_merit {
  double expense = 0.0;
  double itl = 0.0;
  double ttft = 0.0;
  int gpus = 0;
};
inline plan_merit merit_of(const plan_point& p, bool priced) {
  return {expense(p, priced), p.serving.itl.value(), p.serving.ttft.value(), p.gpus};
}

constexpr bool dominates(const plan_merit& a, const plan_merit& b) {
  if (!(a.expense <= b.expense && a.itl <= b.itl)) return false;
  if (a.expense < b.expense || a.itl < b.itl) return true;
  return a.ttft < b.ttft || (a.ttft == b.ttft && a.gpus <= b.gpus);  // of equals, the first
}
inline bool dominates(const plan_point& a, const plan_point& b, bool priced) {
  return dominates(merit_of(a, priced), merit_of(b, priced));
}

/// The points that no other dominates. A point is made only where it is one of them.
class pareto_front {
 public:
  bool takes(const plan_merit& m) const {
    return std::none_of(merits_.begin(), merits_.end(),
                        [&](const plan_merit& known) { return dominates(known, m); });
  }
  void add(const plan_merit& m, const plan_point& p) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (dominates(m, merits_[i])) continue;
      if (kept != i) {
        merits_[kept] = merits_[i];
        points[kept] = std::move(points[i]);
      }
      ++kept;
    }
    merits_.resize(kept);
    points.resize(kept);
    merits_.push_back(m);
    points.push_back(p);
  }
  void clear() {
    merits_.clear();
    points.clear();
  }

  std::vector<plan_point> points{};

 private:
  std::vector<plan_merit> merits_{};
};

/// Counts what was left out, and keeps of each reason the one that came nearest.
inline void note_rejection(plan_result& r, const label& accelerator, const plan_precision& f,
                           const parallel_layout& l, const feasibility& why) {
  const double miss = why.available > 0 ? why.needed / why.available : why.needed;
  for (auto& x : r.rejected) {
    if (x.accelerator == accelerator && x.precision == f.name && x.reason == why.reason) {
      ++x.count;
      const double best = x.available > 0 ? x.needed / x.available : x.needed;
      if (miss < best) {
        x.layout = l;
        x.needed = why.needed;
        x.available = why.available;
      }
      return;
    }
  }
  r.rejected.push_back(
      {accelerator, f.name, l, why.reason, why.unit, why.needed, why.available, 1});
}

}  // namespace perfmodel::detail
