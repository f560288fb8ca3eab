// The search over pools: prompts on some replicas, answers on others.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/deployment/plan_choices.hpp>
#include <perfmodel/deployment/plan_result.hpp>

namespace perfmodel::detail {

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
    const double slot = s.prefill_busy / s.throughput.value();
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
      disaggregated pools{
          .prefill = {*prompts.on}, .decode = {d}, .decode_starts = q.pools->decode_starts};
      for (const int replicas : powers_up_to((q.gpus - own) / d.layout.ranks())) {
        const double wanted = q.load.is_closed() ? q.load.concurrency() / replicas : room;
        if (wanted < 1.0) break;
        const int most = (q.gpus - replicas * d.layout.ranks()) / own;
        service_load load = load_of_pools(q);
        load.batch_limit = (std::max)(1.0, let_in(d, load, (std::min)(wanted, room)));
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

}  // namespace perfmodel::detail
