// Incumbents of a plan: points that are evaluated first, and end the evaluation of dominated ones.
#pragma once

#include <algorithm>
#include <perfmodel/plan/result.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Cost of a point per million output tokens: money, or device time if a price is missing.
inline double cost_of(const plan_point& p, bool all_priced) {
  if (all_priced && p.cost_per_million) return p.cost_per_million->value();
  return p.gpu_time_per_million.value();
}

/// Whether every accelerator of a request has a price.
inline bool has_all_prices(const plan_request& q) {
  const auto has_price = [](const accelerator& a) { return a.price.is_stated(); };
  if (!std::all_of(q.accelerators.begin(), q.accelerators.end(), has_price)) return false;
  return !q.pools || std::all_of(q.pools->prefill_accelerators.begin(),
                                 q.pools->prefill_accelerators.end(), has_price);
}

/// Point of a plan that meets the targets, found before the search (branch and bound).
struct incumbent {
  double cost = 0.0;
  duration<> itl{};
};

/// Incumbents of a plan. A point of at least the cost of one with a higher ITL is not on the Pareto
/// front. With more GPUs than another incumbent it is not the one with the fewest GPUs either.
class incumbent_list {
 public:
  explicit incumbent_list(bool all_priced = true) : all_priced_(all_priced) {}

  void add(const plan_point& p) {
    fewest_gpus_ = all_.empty() ? p.gpus : (std::min)(fewest_gpus_, p.gpus);
    (void)add_to_front(
        all_, {cost_of(p, all_priced_), p.serving.itl},
        [](const incumbent& a, const incumbent& b) { return a.cost <= b.cost && a.itl <= b.itl; });
  }
  /// ITL above which a point is in no row of the result; 0 if there is none.
  duration<> itl_to_beat(const plan_point& p) const {
    duration<> least{};
    if (all_.empty() || p.gpus <= fewest_gpus_) return least;
    const double cost = cost_of(p, all_priced_);
    for (const incumbent& x : all_) {
      const bool is_lower = least.value() == 0.0 || x.itl < least;
      if (x.cost <= cost && is_lower) least = x.itl;
    }
    return least;
  }

 private:
  bool all_priced_;
  int fewest_gpus_ = 0;
  std::vector<incumbent> all_{};
};

}  // namespace perfmodel::inline v0_3::detail
