// Points that no other beats on both inter-token latency and cost.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <perfmodel/plan/request.hpp>
#include <perfmodel/plan/result.hpp>
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

// The search over pools: prompts on some replicas, answers on others.

/// The chips of both pools, and how each serves; of one kind of chip, the same twice.
template <class Serve>
struct pool_kinds {
  const accelerator& prompts;
  const Serve& prefill;
  const accelerator& answers;
  const Serve& decode;
};
template <class Serve>
pool_kinds(const accelerator&, const Serve&, const accelerator&, const Serve&) -> pool_kinds<Serve>;

/// Deployments that could compute prompts, and what one takes: of device time, and on its own.
struct prompt_pool {
  const deployment* on = nullptr;
  double device_time = 0.0;
  double alone = 0.0;
};

/// Those of which no other is both cheaper and quicker.
template <class Serve>
std::vector<prompt_pool> prompt_pools(const plan_request& q, const pool_kinds<Serve>& kinds,
                                      const std::vector<deployment>& able) {
  std::vector<prompt_pool> all;
  service_load one = load_of_pools(q);
  one.arrivals = closed_loop{1.0};
  for (const deployment& d : able) {
    const auto link = link_of(*q.pools, kinds.prompts, kinds.answers, 2 * d.layout.ranks());
    if (!link) continue;
    const disaggregated_estimate s =
        kinds.prefill.apart({.prefill = {d}, .decode = {d}, .link = *link}, one, kinds.prefill);
    const double slot = s.prefill_utilisation / s.throughput.value();
    const prompt_pool p{&d, slot * d.layout.ranks(), s.prefill.time.value()};
    const auto beats = [](const prompt_pool& x, const prompt_pool& y) {
      return x.device_time <= y.device_time && x.alone <= y.alone;
    };
    if (std::any_of(all.begin(), all.end(), [&](const prompt_pool& x) { return beats(x, p); }))
      continue;
    std::erase_if(all, [&](const prompt_pool& x) { return beats(p, x); });
    all.push_back(p);
  }
  return all;
}

/// Pools of these deployments: replicas that decode in powers of two, with all of the load that fits, and
/// as many that prefill as keep them busy, rounded down and up, and one.
/// visit(pools, largest batch of a replica, estimate).
template <class Serve, class Visit>
void each_pools(const plan_request& q, const pool_kinds<Serve>& kinds,
                const std::vector<deployment>& prefilling, const std::vector<deployment>& able,
                const Visit& visit) {
  const double longest = q.load.input_tokens + q.load.output_tokens;
  for (const prompt_pool& prompts : prompt_pools(q, kinds, prefilling)) {
    const int own = prompts.on->layout.ranks();
    for (const deployment& d : able) {
      const double room = kv_capacity(d, q.load.shared, longest).sequences;
      disaggregated pools{.prefill = {*prompts.on},
                          .decode = {d},
                          .first_token_from_decode = q.pools->first_token_from_decode};
      for (const int replicas : powers_up_to((q.gpus - own) / d.layout.ranks())) {
        const double wanted = q.load.is_closed() ? q.load.concurrency() / replicas : room;
        if (wanted < 1.0) break;
        const int most = (q.gpus - replicas * d.layout.ranks()) / own;
        service_load load = load_of_pools(q);
        load.batch_limit = (std::max)(1.0, admitted_sequences(d, load, (std::min)(wanted, room)));
        pools.decode.replicas = replicas;
        const auto with = [&](int copies) {
          pools.prefill.replicas = copies;
          const auto link = link_of(*q.pools, kinds.prompts, kinds.answers,
                                    copies * own + replicas * d.layout.ranks());
          if (!link) return 0.0;
          pools.link = *link;
          const disaggregated_estimate s = kinds.decode.apart(pools, load, kinds.prefill);
          visit(pools, *load.batch_limit, s);
          return replicas * s.balanced_ratio;
        };
        const double balanced = (std::min)(with(1), static_cast<double>(most));
        const int down = static_cast<int>(std::floor(balanced));
        const int up = static_cast<int>(std::ceil(balanced));
        if (down > 1) (void)with(down);
        if (up > 1 && up != down) (void)with(up);
      }
    }
  }
}

// How far a service is from the targets of a plan.

/// What misses a target by how much, and the wait and the queued share over their limits.
struct plan_misses : target_misses {
  double wait = 0.0;
  double queue = 0.0;  ///< queued share over its limit; 0 without a limit

  constexpr double of_targets() const { return target_misses::worst(); }
  constexpr double of_queue() const { return (std::max)(wait, queue); }
  constexpr double worst() const { return (std::max)(of_targets(), of_queue()); }
};

template <std::same_as<serving_estimate> Estimate>
plan_misses misses_of(const plan_request& q, const Estimate& s) {
  return {perfmodel::misses_of(s, q.targets), s.wait.value() / q.longest_wait.value(),
          q.queued_limit < 1.0 ? s.queued / q.queued_limit : 0.0};
}

}  // namespace perfmodel::detail
