// Incumbents of a plan: points that are evaluated first, and end the evaluation of dominated ones.
#pragma once

#include <algorithm>
#include <iterator>
#include <perfmodel/plan/result.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Cost of a point per million output tokens: money, or device time if a price is missing.
inline double cost_of(const plan_point& p, bool all_priced) {
  if (all_priced && p.cost_per_million) return p.cost_per_million->value();
  return p.gpu_time_per_million.value();
}

/// Cost of a point with this accelerator, number of GPUs and throughput, as cost_of(point).
inline double cost_of(const accelerator& a, int gpus, const token_rate<>& output_rate,
                      bool all_priced) {
  const duration<> time = gpus * million_tokens / output_rate;
  if (all_priced && a.price.is_stated()) return money<>(time * a.price.quantity()).value();
  return time.value();
}

/// Whether every accelerator of a request has a price.
inline bool has_all_prices(const plan_request& q) {
  const auto has_price = [](const accelerator& a) { return a.price.is_stated(); };
  if (!std::all_of(q.accelerators.begin(), q.accelerators.end(), has_price)) return false;
  return !q.pools || std::all_of(q.pools->prefill_accelerators.begin(),
                                 q.pools->prefill_accelerators.end(), has_price);
}

/// Throughput and ITL of a deployment at one size of a closed loop. A bound has the largest
/// throughput and the least ITL of the sizes that it stands for. An infinite throughput: not known.
struct sized_result {
  token_rate<> output_rate = token_rate<>::from_value(infinity);
  duration<> itl{};
};

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
    const incumbent x{cost_of(p, all_priced_), p.serving.itl};
    if (has_better(x)) return;
    std::erase_if(all_, [&x](const incumbent& y) { return x.cost <= y.cost && x.itl <= y.itl; });
    const auto is_cheaper = [](const incumbent& a, const incumbent& b) { return a.cost < b.cost; };
    all_.insert(std::upper_bound(all_.begin(), all_.end(), x, is_cheaper), x);
  }
  /// Whether adding a point changes nothing.
  bool has_better(const plan_point& p) const {
    return p.gpus >= fewest_gpus_ && has_better(incumbent{cost_of(p, all_priced_), p.serving.itl});
  }
  bool empty() const { return all_.empty(); }
  bool all_priced() const { return all_priced_; }

  /// ITL above which a point of this cost is in no row of the result; 0 if there is none.
  duration<> itl_to_beat(int gpus, double cost) const {
    if (all_.empty() || gpus <= fewest_gpus_) return {};
    const auto above = std::upper_bound(all_.begin(), all_.end(), cost,
                                        [](double c, const incumbent& x) { return c < x.cost; });
    return above == all_.begin() ? duration<>{} : std::prev(above)->itl;
  }
  duration<> itl_to_beat(const plan_point& p) const {
    return itl_to_beat(p.gpus, cost_of(p, all_priced_));
  }
  /// Whether a point of at least this cost and ITL is in no row of the result.
  bool dominate(int gpus, double cost, const duration<>& itl) const {
    const duration<> to_beat = itl_to_beat(gpus, cost);
    return to_beat.value() > 0.0 && itl > to_beat;
  }

 private:
  bool has_better(const incumbent& p) const {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const incumbent& x) { return x.cost <= p.cost && x.itl <= p.itl; });
  }

  bool all_priced_;
  int fewest_gpus_ = 0;
  std::vector<incumbent> all_{};  ///< by rising cost and falling ITL
};

}  // namespace perfmodel::inline v0_3::detail
