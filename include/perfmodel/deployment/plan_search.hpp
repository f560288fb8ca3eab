// The search of a plan: each deployment judged once, those that another beats for sure passed over.
#pragma once

#include <atomic>
#include <cmath>
#include <deque>
#include <perfmodel/deployment/plan_choices.hpp>
#include <perfmodel/deployment/plan_ledger.hpp>
#include <perfmodel/deployment/plan_pools.hpp>
#include <perfmodel/deployment/plan_threads.hpp>
#include <vector>

namespace perfmodel::detail {

/// The next batch limit below: powers of two.
inline double next_limit(double limit) {
  const double power = std::exp2(std::floor(std::log2(limit)));
  return power < limit ? power : 0.5 * limit;
}

/// All that is tried of one deployment, noted in `to`, a ledger or a record:
/// serve(deployment, load) says what one replica does, serve(deployment, load, drafts) with speculation,
/// serve.apart(pools, load) what pools do.
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
    copied(c);
    if constexpr (Serve::predicts) {
      for (std::size_t i = 0; i < q_.drafts.size(); ++i) {
        const speculation s = drafts_on(q_.drafts[i], d);
        c.drafts = i;
        c.speculates = &s;
        c.room = speculative_capacity(d, s, context, q_.load.shared).sequences;
        copied(c);
      }
    }
  }

  /// Pools of these deployments; `kept` holds the ones that are noted.
  void apart(const accelerator& a, const plan_precision& f, const std::vector<deployment>& able,
             std::deque<deployment>& kept) {
    each_pools(q_, a, able, serve_,
               [&](const disaggregated& pools, double limit, const serving_estimate& s) {
                 const plan_pool prefill{pools.prefill.deployment.layout,
                                         static_cast<int>(pools.prefill.replicas)};
                 kept.push_back(pools.decode.deployment);
                 to_.next_run();
                 to_.note(
                     {&kept.back(), &f},
                     {static_cast<int>(pools.decode.replicas), static_cast<int>(pools.devices()),
                      limit, s.output_rate.value(), prefill},
                     s);
               });
  }

 private:
  void copied(const plan_candidate& c) {
    const std::vector<int> counts = counts_up_to(q_.gpus / c.on->layout.ranks());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool closed = q_.load.is_closed();
      if (closed && counts[i] > q_.load.concurrency()) break;  // some would idle
      // The batch that the next number of copies fills too, for which nobody waits as long.
      const bool last = i + 1 == counts.size();
      const double filled = last || !closed ? 0.0 : q_.load.concurrency() / counts[i + 1];
      limited(c, counts[i], filled >= 1.0 ? filled : 0.0);
    }
  }

  /// Batch limits from what one replica has of the load and of memory down in powers of two, until
  /// requests wait too long. Up to `filled` more copies are as cheap and as quick, and sooner.
  void limited(const plan_candidate& c, int replicas, double filled) {
    service_load share = shared_out(q_.load, replicas);
    if (c.chunk_tokens) share.chunk_tokens = c.chunk_tokens;
    const double wanted = share.is_closed() ? share.concurrency() : c.room;
    const double largest =
        (std::max)(1.0, (std::min)({wanted, c.room, q_.load.batch_limit.value_or(wanted)}));
    to_.next_run();
    for (double limit = largest; limit >= 1.0; limit = next_limit(limit)) {
      if (limit <= filled) {
        to_.pass_over();
      } else {
        share.batch_limit = limit;
        const plan_copies n{replicas, replicas * c.on->layout.ranks(), limit};
        if (!to_.note(c, n, serve_one(c, share))) break;
      }
      if (!share.is_closed()) break;
    }
  }

  serving_estimate serve_one(const plan_candidate& c, const service_load& l) const {
    if constexpr (Serve::predicts) {
      if (c.speculates != nullptr) return serve_(*c.on, l, *c.speculates);
    }
    return serve_(*c.on, l);
  }

  const plan_request& q_;
  const Serve& serve_;
  Notes& to_;
};

/// A search over the deployments of a request, on its threads.
template <class Progress>
class plan_search {
 public:
  plan_search(const plan_request& q, Progress& progress)
      : q_(q), ledger_(q, progress), threads_(threads_of(q.threads)) {}

  template <class Serve>
  void on(const accelerator& a, engine e, const Serve& serve) {
    std::deque<piece> pieces;
    for (const plan_precision& f : q_.precisions) {
      if (f.run_by.value_or(e) != e) continue;
      if (computes(a, f)) {
        with<Serve>(a, f, e, pieces);
      } else {
        pieces.push_back(
            {.precision = &f,
             .why = infeasible("the accelerator does not compute in this format", "", 1, 0)});
      }
    }
    if (threads_ < 2) {
      for (piece& p : pieces) search(a, p, serve, ledger_);
    } else {
      search_ahead(a, pieces, serve);
    }
    if constexpr (Serve::predicts) ledger_.complete(a, e, serve);
  }

  plan_result ranked() { return ledger_.ranked(); }

 private:
  /// One deployment, or those that pools are made of, or why there is none.
  struct piece {
    const plan_precision* precision = nullptr;
    feasibility why{};
    parallel_layout layout{};
    std::optional<deployment> on{};
    std::optional<double> chunk_tokens{};
    std::vector<deployment> able{};
    std::deque<deployment> kept{};
  };

  /// Threads record what they try; it is noted in the order of the pieces.
  template <class Serve>
  void search_ahead(const accelerator& a, std::deque<piece>& pieces, const Serve& serve) {
    std::atomic<bool> met = ledger_.any_met();
    in_order(
        pieces.size(), threads_,
        [&](std::size_t i) {
          plan_record tried(q_, met);
          if (pieces[i].why) search(a, pieces[i], serve, tried);
          return tried;
        },
        [&](std::size_t i, const plan_record& tried) {
          if (!pieces[i].why) search(a, pieces[i], serve, ledger_);
          tried.into(ledger_);
          met = ledger_.any_met();
        });
  }

  template <class Serve>
  void with(const accelerator& a, const plan_precision& f, engine e, std::deque<piece>& pieces) {
    std::vector<deployment> able;
    for (const parallel_layout& l : layouts_of(q_.model, a, q_.gpus)) {
      const auto budgets = Serve::predicts ? budgets_of(q_, a, e, l.tensor)
                                           : std::vector<std::optional<double>>{std::nullopt};
      for (const std::optional<double>& budget : budgets) {
        const deployment d = deployment_of(q_, a, f, l, e, budget);
        const double longest = q_.load.input_tokens + q_.load.output_tokens;
        if (const feasibility in = fits(d, 1.0, longest); !in) {
          pieces.push_back({.precision = &f, .why = in, .layout = l});
          continue;
        }
        check_deployment(d);
        pieces.push_back({.precision = &f, .layout = l, .on = d, .chunk_tokens = budget});
        if (q_.pools && !budget) able.push_back(d);
      }
    }
    if (Serve::predicts && q_.pools) {
      pieces.push_back({.precision = &f, .able = std::move(able)});
    }
  }

  template <class Serve, class Notes>
  void search(const accelerator& a, piece& p, const Serve& serve, Notes& to) {
    plan_work<Serve, Notes> work(q_, serve, to);
    if (p.on) {
      work.scaled({.on = &*p.on, .precision = p.precision, .chunk_tokens = p.chunk_tokens});
    } else if (p.why) {
      if constexpr (Serve::predicts) work.apart(a, *p.precision, p.able, p.kept);
    } else if constexpr (std::same_as<Notes, plan_ledger<Progress>>) {
      to.reject(a.name, *p.precision, p.layout, p.why);
    }
  }

  const plan_request& q_;
  plan_ledger<Progress> ledger_;
  unsigned threads_;
};

}  // namespace perfmodel::detail
