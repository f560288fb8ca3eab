// The search of a plan: each deployment judged once, those that another beats for sure passed over.
#pragma once

#include <atomic>
#include <cmath>
#include <deque>
#include <perfmodel/plan/front.hpp>
#include <perfmodel/plan/ledger.hpp>
#include <perfmodel/plan/request.hpp>
#include <perfmodel/plan/threads.hpp>
#include <vector>

// All that a plan tries of one deployment, or of the pools that several make.

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
    const bool grows = Serve::predicts && grows_into_memory(d.serving_engine);
    const double context = grows ? mean_context(q_.load) : longest;
    c.room = kv_capacity(d, q_.load.shared, context).sequences;
    auto passes = serve_.passes(d);
    copied(c, [&](const service_load& l) { return serve_(d, l, passes); });
    if constexpr (Serve::predicts) {
      for (std::size_t i = 0; i < q_.drafts.size(); ++i) {
        const speculation s = speculation_on(q_.drafts[i], d);
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
    service_load share = per_replica(q_.load, replicas);
    if (c.chunk_tokens) share.chunk_tokens = c.chunk_tokens;
    if (c.speculates != nullptr) share.preemption_mode.reset();  // no more are let in than fit
    const double wanted = share.is_closed() ? share.concurrency() : c.room;
    const bool preempts =
        share.preemption_mode && Serve::predicts && grows_into_memory(c.on->serving_engine);
    const double room = preempts ? wanted : c.room;  // memory is no limit to who is let in
    const double largest =
        (std::max)(1.0, admitted_sequences(*c.on, share, (std::min)(wanted, room)));
    to_.next_run();
    for (double limit = largest; limit >= 1.0; limit = next_limit(limit)) {
      if (limit <= filled) {
        to_.prune();
      } else {
        share.batch_limit = limit;
        const plan_replicas n{replicas, replicas * c.on->layout.ranks(), limit};
        if (!to_.note(c, n, serve_one(share))) break;
      }
      if (!share.is_closed()) break;
    }
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
      if (f.run_by.value_or(e) != e || !runs_on(a, f)) continue;
      if (computes(a, f)) {
        with<Serve>(a, f, e, pieces);
      } else {
        pieces.push_back({.precision = &f, .why = no_such_format()});
      }
    }
    search_all(pool_kinds{a, serve, a, serve}, pieces);
    if constexpr (Serve::predicts) ledger_.complete(a, e, serve);
  }

  /// What could compute prompts on chips that others decode beside: the deployments of each precision.
  /// Why others could not is noted where no plan of their own says so.
  template <class Serve>
  std::vector<std::vector<deployment>> prefilling_on(const accelerator& a, engine e, const Serve&) {
    std::vector<std::vector<deployment>> all;
    const bool plans = named_in(q_.accelerators, a.name) != nullptr;
    for (const plan_precision& f : q_.precisions) {
      all.emplace_back();
      if (f.run_by.value_or(e) != e) continue;
      if (!computes(a, f)) {
        if (!plans) ledger_.reject(a.name, f, {}, no_such_format());
        continue;
      }
      std::deque<piece> pieces;
      with<Serve>(a, f, e, pieces);
      for (piece& p : pieces) {
        if (!p.why && !plans) ledger_.reject(a.name, f, p.layout, p.why);
        if (p.why && !p.on) all.back() = std::move(p.able);
      }
    }
    return all;
  }
  /// Pools whose prompts are computed by such, and whose answers by other chips.
  template <class Serve>
  void across(const pool_kinds<Serve>& kinds, engine e,
              const std::vector<std::vector<deployment>>& prefilling) {
    std::deque<piece> pieces;
    for (std::size_t i = 0; i < q_.precisions.size(); ++i) {
      const plan_precision& f = q_.precisions[i];
      if (prefilling[i].empty() || !runs_on(kinds.answers, f) || !computes(kinds.answers, f))
        continue;
      std::deque<piece> own;
      with<Serve>(kinds.answers, f, e, own);
      own.back().prefilling = &prefilling[i];
      pieces.push_back(std::move(own.back()));
    }
    search_all(kinds, pieces);
  }
  void reject(const accelerator& a, const char* why) {
    ledger_.reject(a.name, {}, {}, infeasible(why, "", 1, 0));
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
    const std::vector<deployment>* prefilling = nullptr;  ///< null: those that are able
    std::deque<deployment> kept{};
  };

  static bool runs_on(const accelerator& a, const plan_precision& f) {
    return f.run_on == label{} || f.run_on == a.name;
  }
  static feasibility no_such_format() {
    return infeasible("the accelerator does not compute in this format", "", 1, 0);
  }

  template <class Serve>
  void search_all(const pool_kinds<Serve>& kinds, std::deque<piece>& pieces) {
    if (threads_ < 2) {
      for (piece& p : pieces) search(kinds, p, ledger_);
    } else {
      search_ahead(kinds, pieces);
    }
  }

  /// Threads record what they try; it is noted in the order of the pieces.
  template <class Serve>
  void search_ahead(const pool_kinds<Serve>& kinds, std::deque<piece>& pieces) {
    std::atomic<bool> met = ledger_.any_met();
    in_order(
        pieces.size(), threads_,
        [&](std::size_t i) {
          plan_record tried(q_, met);
          if (pieces[i].why) search(kinds, pieces[i], tried);
          return tried;
        },
        [&](std::size_t i, const plan_record& tried) {
          if (!pieces[i].why) search(kinds, pieces[i], ledger_);
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
  void search(const pool_kinds<Serve>& kinds, piece& p, Notes& to) {
    plan_work<Serve, Notes> work(q_, kinds.decode, to);
    if (p.on) {
      work.scaled({.on = &*p.on, .precision = p.precision, .chunk_tokens = p.chunk_tokens});
    } else if (p.why) {
      if constexpr (Serve::predicts) {
        work.apart(kinds, *p.precision, p.prefilling ? *p.prefilling : p.able, p.able, p.kept);
      }
    } else if constexpr (std::same_as<Notes, plan_ledger<Progress>>) {
      to.reject(kinds.answers.name, *p.precision, p.layout, p.why);
    }
  }

  const plan_request& q_;
  plan_ledger<Progress> ledger_;
  unsigned threads_;
};

}  // namespace perfmodel::detail
