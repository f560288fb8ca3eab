// Sizes of the pools of a disaggregated service, for plans.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/plan/result.hpp>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Deployment of a prefill pool, with the two times that decide between deployments.
struct prefill_choice {
  const deployment* runs = nullptr;
  double device_time = 0.0;    ///< time per prompt x devices, of a saturated pool
  double unloaded_time = 0.0;  ///< prefill time of one prompt
};
constexpr bool dominates(const prefill_choice& a, const prefill_choice& b) {
  return a.device_time <= b.device_time && a.unloaded_time <= b.unloaded_time;
}

/// Choices of a disaggregated service: for each pool the accelerator, its evaluator, and the
/// deployments that fit in memory.
template <class Evaluator>
struct pool_choices {
  const accelerator& prefill_device;
  const Evaluator& prefill;
  const std::vector<deployment>& prefill_deployments;
  const accelerator& decode_device;
  const Evaluator& decode;
  const std::vector<deployment>& decode_deployments;
};

/// Pareto front of prefill deployments: device time per prompt and unloaded prefill time.
template <class Evaluator>
std::vector<prefill_choice> prefill_front(const plan_request& q,
                                          const pool_choices<Evaluator>& choices) {
  std::vector<prefill_choice> all;
  service_load one = load_of_pools(q);
  one.arrivals = closed_loop{1.0};
  for (const deployment& d : choices.prefill_deployments) {
    const auto link =
        link_of(*q.pools, choices.prefill_device, choices.decode_device, 2 * d.layout.ranks());
    if (!link) continue;
    const disaggregated_estimate s = choices.prefill.serve_pools(
        {.prefill = {d}, .decode = {d}, .link = *link}, one, choices.prefill);
    const double period = s.prefill_utilisation / s.throughput.value();
    all.push_back({&d, period * d.layout.ranks(), s.prefill.time.value()});
  }
  return pareto_front(all, [](const auto& a, const auto& b) { return dominates(a, b); });
}

/// Visits disaggregated services of all sizes. Decode replicas are powers of two, each with as much
/// of the load as fits in memory. Prefill replicas are 1, and the number that balances the decode
/// pool, rounded down and up. The call is visit(pools, maximum running requests of a decode
/// replica, estimate).
template <class Evaluator, class Visit>
void visit_pools(const plan_request& q, const pool_choices<Evaluator>& choices,
                 const Visit& visit) {
  const double longest = q.load.input_tokens + q.load.output_tokens;
  for (const prefill_choice& prefill : prefill_front(q, choices)) {
    const int prefill_ranks = prefill.runs->layout.ranks();
    for (const deployment& d : choices.decode_deployments) {
      const double capacity = kv_capacity(d, q.load.shared, longest).sequences;
      disaggregated pools{.prefill = {*prefill.runs},
                          .decode = {d},
                          .first_token_from_decode = q.pools->first_token_from_decode};
      for (const int replicas : powers_up_to((q.gpus - prefill_ranks) / d.layout.ranks())) {
        const double wanted = q.load.is_closed() ? q.load.concurrency() / replicas : capacity;
        if (wanted < 1.0) break;
        const int most = (q.gpus - replicas * d.layout.ranks()) / prefill_ranks;
        service_load load = load_of_pools(q);
        load.batch_limit =
            (std::max)(1.0, admitted_sequences(d, load, (std::min)(wanted, capacity)));
        pools.decode.replicas = replicas;
        // Visits one number of prefill replicas. Returns the number that balances the decode pool.
        const auto visit_prefill_count = [&](int count) {
          pools.prefill.replicas = count;
          const auto link = link_of(*q.pools, choices.prefill_device, choices.decode_device,
                                    count * prefill_ranks + replicas * d.layout.ranks());
          if (!link) return 0.0;
          pools.link = *link;
          const disaggregated_estimate s = choices.decode.serve_pools(pools, load, choices.prefill);
          visit(pools, *load.batch_limit, s);
          return replicas * s.balanced_ratio;
        };
        const double balanced = (std::min)(visit_prefill_count(1), static_cast<double>(most));
        const int down = static_cast<int>(std::floor(balanced));
        const int up = static_cast<int>(std::ceil(balanced));
        if (down > 1) (void)visit_prefill_count(down);
        if (up > 1 && up != down) (void)visit_prefill_count(up);
      }
    }
  }
}

}  // namespace perfmodel::inline v0_3::detail
