// The search of a plan: each deployment judged once, those that another beats for sure passed over.
#pragma once

#include <algorithm>
#include <cmath>
#include <perfmodel/deployment/plan_choices.hpp>
#include <perfmodel/deployment/plan_front.hpp>
#include <perfmodel/deployment/plan_pools.hpp>
#include <perfmodel/deployment/plan_targets.hpp>
#include <vector>

namespace perfmodel::detail {

/// The next batch limit below: powers of two.
inline double next_limit(double limit) {
  const double power = std::exp2(std::floor(std::log2(limit)));
  return power < limit ? power : 0.5 * limit;
}

/// A search over the deployments of a request: serve(deployment, load) says what one replica does,
/// serve(deployment, load, drafts) with speculation, serve.apart(pools, load) what pools do.
template <class Progress>
class plan_search {
 public:
  plan_search(const plan_request& q, Progress& progress) : q_(q), progress_(progress) {
    for (const accelerator& a : q.accelerators) r_.all_priced &= a.price.is_stated();
  }

  template <class Serve>
  void on(const accelerator& a, engine e, const Serve& serve) {
    for (const plan_precision& f : q_.precisions) {
      if (f.run_by.value_or(e) != e) continue;
      if (computes(a, f)) {
        with(a, f, e, serve);
      } else {
        note_rejection(r_, a.name, f, {},
                       infeasible("the accelerator does not compute in this format", "", 1, 0));
      }
    }
  }

  plan_result ranked() {
    if (!met_.points.empty()) {
      r_.best = 0;
      r_.nearest.reset();
      r_.miss = 1.0;
    }
    r_.frontier = std::move(r_.best ? met_.points : missed_.points);
    std::sort(r_.frontier.begin(), r_.frontier.end(),
              [&](const plan_point& x, const plan_point& y) {
                return expense(x, r_.all_priced) < expense(y, r_.all_priced);
              });
    return std::move(r_);
  }

 private:
  /// What is tried beside replicas and batch limits.
  struct candidate {
    const deployment& on;
    const plan_precision& precision;
    std::optional<double> chunk_tokens{};
    std::optional<std::size_t> drafts{};
    const speculation* speculates = nullptr;
    double room = 1.0;  ///< sequences that fit one replica
  };
  /// So many copies, and how they serve.
  struct served {
    int replicas = 1;
    int gpus = 1;
    double limit = 0.0;
    double output_rate = 0.0;  ///< of the whole service
    std::optional<plan_pool> prefill{};
  };

  template <class Serve>
  void with(const accelerator& a, const plan_precision& f, engine e, const Serve& serve) {
    std::vector<deployment> able;
    for (const parallel_layout& l : layouts_of(q_.model, a, q_.gpus)) {
      const auto budgets = Serve::predicts ? budgets_of(q_, a, e, l.tensor)
                                           : std::vector<std::optional<double>>{std::nullopt};
      for (const std::optional<double>& budget : budgets) {
        const deployment d = deployment_of(q_, a, f, l, e, budget);
        const double longest = q_.load.input_tokens + q_.load.output_tokens;
        if (const feasibility in = fits(d, 1.0, longest); !in) {
          note_rejection(r_, a.name, f, l, in);
          continue;
        }
        check_deployment(d);
        scaled<Serve>({d, f, budget}, serve);
        if (q_.pools && !budget) able.push_back(d);
      }
    }
    if constexpr (Serve::predicts) {
      if (q_.pools) apart(a, f, able, serve);
    }
  }

  /// One layout with one budget: without drafts, and with each.
  template <class Serve>
  void scaled(candidate c, const Serve& serve) {
    const double longest = q_.load.input_tokens + q_.load.output_tokens;
    const bool grows = Serve::predicts && grows_into_memory(c.on.served_by);
    const double context = grows ? mean_context(q_.load) : longest;
    c.room = kv_capacity(c.on, context).sequences;
    copied(c, serve);
    if constexpr (Serve::predicts) {
      for (std::size_t i = 0; i < q_.drafts.size(); ++i) {
        const speculation s = drafts_on(q_.drafts[i], c.on);
        c.drafts = i;
        c.speculates = &s;
        c.room = speculative_capacity(c.on, s, context).sequences;
        copied(c, serve);
      }
    }
  }

  template <class Serve>
  void copied(const candidate& c, const Serve& serve) {
    const std::vector<int> counts = counts_up_to(q_.gpus / c.on.layout.ranks());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool closed = q_.load.is_closed();
      if (closed && counts[i] > q_.load.concurrency()) break;  // some would idle
      // The batch that the next number of copies fills too, for which nobody waits as long.
      const bool last = i + 1 == counts.size();
      const double filled = last || !closed ? 0.0 : q_.load.concurrency() / counts[i + 1];
      limited(c, counts[i], filled >= 1.0 ? filled : 0.0, serve);
    }
  }

  /// Batch limits from what one replica has of the load and of memory down in powers of two, until
  /// requests wait too long. Up to `filled` more copies are as cheap and as quick, and sooner.
  template <class Serve>
  void limited(const candidate& c, int replicas, double filled, const Serve& serve) {
    service_load share = shared_out(q_.load, replicas);
    if (c.chunk_tokens) share.chunk_tokens = c.chunk_tokens;
    const double wanted = share.is_closed() ? share.concurrency() : c.room;
    const double largest =
        (std::max)(1.0, (std::min)({wanted, c.room, q_.load.batch_limit.value_or(wanted)}));
    for (double limit = largest; limit >= 1.0; limit = next_limit(limit)) {
      if (limit <= filled) {
        ++r_.passed_over;
      } else {
        share.batch_limit = limit;
        if (!note(c, {replicas, replicas * c.on.layout.ranks(), limit}, serve_one(c, share, serve)))
          break;
      }
      if (!share.is_closed()) break;
    }
  }

  template <class Serve>
  serving_estimate serve_one(const candidate& c, const service_load& l, const Serve& serve) {
    if constexpr (Serve::predicts) {
      if (c.speculates != nullptr) return serve(c.on, l, *c.speculates);
    }
    return serve(c.on, l);
  }

  template <class Serve>
  void apart(const accelerator& a, const plan_precision& f, const std::vector<deployment>& able,
             const Serve& serve) {
    each_pools(q_, a, able, serve,
               [&](const disaggregated& pools, double limit, const serving_estimate& s) {
                 const deployment& d = pools.decode.deployment;
                 const plan_pool prefill{pools.prefill.deployment.layout,
                                         static_cast<int>(pools.prefill.replicas)};
                 note({d, f},
                      {static_cast<int>(pools.decode.replicas), static_cast<int>(pools.devices()),
                       limit, s.output_rate.value(), prefill},
                      s);
               });
  }

  /// Whether smaller batch limits are worth a try.
  bool note(const candidate& c, served n, const serving_estimate& s) {
    if (++r_.evaluated % 256 == 0) progress_(r_.evaluated);
    if (!s.feasible) {
      note_rejection(r_, c.on.device.name, c.precision, c.on.layout, s.feasible);
      return true;
    }
    if (!n.prefill) n.output_rate = n.replicas * s.output_rate.value();
    const plan_misses miss = misses_of(q_, s);
    const bool met = miss.worst() <= 1.0;
    if (!met && met_.points.empty() && (!r_.nearest || miss.worst() < r_.miss)) {
      r_.nearest = point_of(c, n, s, false);
      r_.miss = miss.worst();
    }
    if (miss.wait > 1.0) {
      note_rejection(r_, c.on.device.name, c.precision, c.on.layout,
                     infeasible("requests wait longer for a place than the longest wait", "s",
                                s.wait.value(), q_.longest_wait.value()));
      return false;
    }
    ++r_.feasible;
    if (met && met_.points.empty()) missed_.clear();
    if (met || met_.points.empty()) {
      const double time = n.gpus * million_tokens.value() / n.output_rate;
      const plan_merit merit{r_.all_priced ? time * c.on.device.price.value() : time, s.itl.value(),
                             s.ttft.value(), n.gpus};
      pareto_front& front = met ? met_ : missed_;
      if (front.takes(merit)) front.add(merit, point_of(c, n, s, met));
    }
    return met || met_.points.empty() || !q_.ttft || q_.ttft_percentile || s.wait <= *q_.ttft;
  }

  plan_point point_of(const candidate& c, const served& n, const serving_estimate& s,
                      bool met) const {
    plan_point p{.accelerator = c.on.device.name,
                 .precision = c.precision,
                 .served_by = c.on.served_by,
                 .layout = c.on.layout,
                 .chunk_tokens = c.chunk_tokens,
                 .drafts = c.drafts,
                 .prefill = n.prefill,
                 .replicas = n.replicas,
                 .gpus = n.gpus,
                 .batch_limit = n.limit,
                 .serving = s};
    p.output_rate = token_rate<>::from_value(n.output_rate);
    p.gpu_time_per_million = p.gpus * million_tokens / p.output_rate;
    if (c.on.device.price.is_stated()) {
      p.cost_per_million = p.gpu_time_per_million * c.on.device.price;
    }
    p.meets_targets = met;
    return p;
  }

  const plan_request& q_;
  Progress& progress_;
  plan_result r_{};
  pareto_front met_{}, missed_{};
};

}  // namespace perfmodel::detail
