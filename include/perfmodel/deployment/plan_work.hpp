// All that a plan tries of one deployment, or of the pools that several make.
#pragma once

#include <cmath>
#include <deque>
#include <perfmodel/deployment/plan_choices.hpp>
#include <perfmodel/deployment/plan_ledger.hpp>
#include <perfmodel/deployment/plan_pools.hpp>
#include <vector>

namespace perfmodel::detail {

/// The next batch limit below: powers of two.
inline double next_limit(double limit) {
  const double power = std::exp2(std::floor(std::log2(limit)));
  return power < limit ? power : 0.5 * limit;
}

/// All that is tried of one deployment, noted in `to`, a ledger or a record:
/// serve(deployment, load) says what one replica does, serve(deployment, load, drafts) with speculation,
/// serve.apart(pools, load, prompts) what pools do whose prompts are served as `prompts`.
template <class Serve, class Notes>
class plan_work {
 public:
  plan_work(const plan_request& q, const Serve& serve, Notes& to) : q_(q), serve_(serve), to_(to) {}

  /// One layout with one budget: without drafts, and with each.
  void scaled(plan_candidate c) {
    const deployment& d = *c.on;
    const double longest = q_.load.input_tokens + q_.load.output_tokens;
    const bool grows = Serve::predicts && grows_into_memory(d.served_by);
    const double context = grows ? mean_context(q_.load) : longest;
    c.room = kv_capacity(d, q_.load.shared, context).sequences;
    const auto passes = serve_.passes(d);
    copied(c, [&](const service_load& l) { return serve_(d, l, passes); });
    if constexpr (Serve::predicts) {
      for (std::size_t i = 0; i < q_.drafts.size(); ++i) {
        const speculation s = drafts_on(q_.drafts[i], d);
        c.drafts = i;
        c.speculates = &s;
        c.room = speculative_capacity(d, s, context, q_.load.shared).sequences;
        copied(c, [&](const service_load& l) { return serve_(d, l, s); });
      }
    }
  }

  /// Pools of these deployments; `kept` holds the ones that are noted.
  void apart(const pool_kinds<Serve>& kinds, const plan_precision& f,
             const std::vector<deployment>& prefilling, const std::vector<deployment>& able,
             std::deque<deployment>& kept) {
    const bool alike = kinds.prompts.name == kinds.answers.name;
    each_pools(
        q_, kinds, prefilling, able,
        [&](const disaggregated& pools, double limit, const serving_estimate& s) {
          const plan_pool prefill{pools.prefill.deployment.layout,
                                  static_cast<int>(pools.prefill.replicas), kinds.prompts.name};
          kept.push_back(pools.decode.deployment);
          to_.next_run();
          to_.note({&kept.back(), &f},
                   {static_cast<int>(pools.decode.replicas), static_cast<int>(pools.devices()),
                    limit, s.output_rate.value(), prefill, alike ? nullptr : &kinds.prompts},
                   s);
        });
  }

 private:
  /// serve_one(load): what one replica does.
  template <class One>
  void copied(const plan_candidate& c, const One& serve_one) {
    const std::vector<int> counts = counts_up_to(q_.gpus / c.on->layout.ranks());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool closed = q_.load.is_closed();
      if (closed && counts[i] > q_.load.concurrency()) break;  // some would idle
      // The batch that the next number of copies fills too, for which nobody waits as long.
      const bool last = i + 1 == counts.size();
      const double filled = last || !closed ? 0.0 : q_.load.concurrency() / counts[i + 1];
      limited(c, counts[i], filled >= 1.0 ? filled : 0.0, serve_one);
    }
  }

  /// Batch limits from what one replica has of the load and of memory down in powers of two, until
  /// requests wait too long. Up to `filled` more copies are as cheap and as quick, and sooner.
  template <class One>
  void limited(const plan_candidate& c, int replicas, double filled, const One& serve_one) {
    service_load share = shared_out(q_.load, replicas);
    if (c.chunk_tokens) share.chunk_tokens = c.chunk_tokens;
    if (c.speculates != nullptr) share.evicts.reset();  // no more are let in than fit
    const double wanted = share.is_closed() ? share.concurrency() : c.room;
    const bool evicts = share.evicts && Serve::predicts && grows_into_memory(c.on->served_by);
    const double room = evicts ? wanted : c.room;  // memory is no limit to who is let in
    const double largest = (std::max)(1.0, let_in(*c.on, share, (std::min)(wanted, room)));
    to_.next_run();
    for (double limit = largest; limit >= 1.0; limit = next_limit(limit)) {
      if (limit <= filled) {
        to_.pass_over();
      } else {
        share.batch_limit = limit;
        const plan_copies n{replicas, replicas * c.on->layout.ranks(), limit};
        if (!to_.note(c, n, serve_one(share))) break;
      }
      if (!share.is_closed()) break;
    }
  }

  const plan_request& q_;
  const Serve& serve_;
  Notes& to_;
};

}  // namespace perfmodel::detail
