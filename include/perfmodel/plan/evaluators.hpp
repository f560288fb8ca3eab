// Evaluators of a plan: how a deployment is served, at its bound or predicted under a policy.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <perfmodel/plan/candidates.hpp>
#include <perfmodel/serving/serving.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3::detail {

/// Engine steps of one deployment for loads that differ in their arrivals and batch limits only,
/// such as those of a plan: what follows from the other inputs is computed once. A load above the
/// largest rate is not solved further, nor is an open loop with an ITL above `itl_to_beat`. Use one
/// object per thread.
/// Test: tests/unit/shared_loads.cpp; tests/unit/plan_incumbents.cpp.
template <class Steps>
struct steps_of_loads : Steps {
  using Steps::Steps;
  std::optional<service_memory<double>> memory{};
  std::optional<double> growing_capacity{};
  std::optional<full_service<double>> full{};
  /// An open loop with a higher ITL is not solved; 0: each is.
  duration<> itl_to_beat{};
  bool is_dominated = false;  ///< whether the last open loop was not solved for its ITL

  /// Forgets all but the times of engine steps, for a deployment that differs in its limits only.
  void change_limits() {
    memory.reset();
    growing_capacity.reset();
    full.reset();
    by_batch_.clear();
    times_.clear();
    closed_batch_ = 0.0;
  }

  /// Time of an engine step. Steps without prefill are those of all token budgets.
  duration<> time(const iteration& i) {
    const bool is_shared = i.batch > 0.0 && i == iteration{i.batch, i.context} &&
                           (decode_times_.empty() || i.context == context_);
    if (!is_shared) return Steps::time(i);
    context_ = i.context;
    const auto at = std::lower_bound(
        decode_times_.begin(), decode_times_.end(), i.batch,
        [](const decode_step& known, double batch) { return known.batch < batch; });
    if (at != decode_times_.end() && at->batch == i.batch) return at->time;
    const decode_step one{i.batch, Steps::time(i)};
    decode_times_.insert(at, one);
    return one.time;
  }

  /// Step times at a decode batch. Open loops are solved on the same grid of batches at every rate;
  /// closed loops of other sizes share no batch, but both evaluations of one may.
  template <class Make>
  prefill_steps at_batch(const service_load& l, double batch, const Make& make) {
    if (l.is_closed()) {
      if (batch != closed_batch_) {
        closed_times_ = make();
        closed_batch_ = batch;
      }
      return closed_times_;
    }
    const auto at = std::lower_bound(
        by_batch_.begin(), by_batch_.end(), batch,
        [](const batch_index& known, double asked) { return known.batch < asked; });
    if (at != by_batch_.end() && at->batch == batch) return times_[at->index];
    by_batch_.insert(at, {batch, times_.size()});
    times_.push_back(make());
    return times_.back();
  }

  /// Whether the ITL of an open loop exceeds `itl_to_beat`, from the ITL of Little's law at a batch
  /// below the solution. The ITL of the solution is at least that, less a jump: where the ITL falls
  /// at a batch, the solution is the batch behind it (6 % in 400 random plans at most).
  bool dominates(const duration<>& itl_below) {
    constexpr double largest_jump = 0.15;
    is_dominated = itl_to_beat.value() > 0.0 && (1.0 - largest_jump) * itl_below > itl_to_beat;
    return is_dominated;
  }

 private:
  struct batch_index {
    double batch;
    std::size_t index;  ///< in `times_`
  };
  std::vector<batch_index> by_batch_{};  ///< sorted by batch
  std::vector<prefill_steps> times_{};
  struct decode_step {
    double batch;
    duration<> time;
  };
  std::vector<decode_step> decode_times_{};  ///< sorted by batch, all of one context
  double context_ = 0.0;
  double closed_batch_ = 0.0;  ///< last batch of a closed loop; 0: none
  prefill_steps closed_times_{};
};

/// Evaluator with every engine step at its bound, for one pool without speculation.
struct bound_evaluator {
  static constexpr bool predicts = false;

  struct no_steps {};
  using steps_type = no_steps;
  constexpr no_steps steps_of(const deployment&) const { return {}; }

  template <Scalar T>
  constexpr basic_serving_estimate<T> serve(const basic_deployment<T>& d,
                                            const basic_service_load<T>& l,
                                            const no_steps& = {}) const {
    return bound_of_service(d, fill_prefix_hit(d, l), full_link{});
  }
  template <Scalar T>
  constexpr basic_estimate<T> step(const basic_deployment<T>& d,
                                   const basic_iteration<T>& i) const {
    return step_bound(d, i);
  }
};

/// Evaluator with every engine step predicted under a policy and its links. It computes what
/// `serving` does, without the checks of its arguments.
template <class Policy>
class prediction_evaluator {
 public:
  static constexpr bool predicts = true;
  using links_type = std::remove_cvref_t<decltype(links_of<double>(std::declval<Policy&>()))>;
  using step_type = predicted_step<double, Policy, links_type>;
  using steps_type = steps_of_loads<step_type>;

  constexpr prediction_evaluator(const Policy& policy, engine e)
      : policy_(policy),
        steady_(decode_pool_policy(policy, e)),
        terms_(engine_terms<double>(policy)) {}

  /// Memoised engine steps of a deployment, shared by the loads of a plan that one thread evaluates
  /// on it.
  steps_type steps_of(const deployment& d) const { return {d, policy_, links()}; }

  /// Latencies and throughput, without the breakdown of an engine step.
  serving_estimate serve(const deployment& d, const service_load& l, steps_type& steps) const {
    return flow_of_service(d, fill_prefix_hit(d, l), terms_, steps);
  }
  serving_estimate serve(const deployment& d, const service_load& l) const {
    steps_type steps = steps_of(d);
    return serve(d, l, steps);
  }
  constexpr serving_estimate serve_with_terms(const deployment& d, const service_load& l) const {
    return prediction_of_service(d, fill_prefix_hit(d, l), policy_, links());
  }
  constexpr serving_estimate serve_speculation(const deployment& d, const service_load& l,
                                               const speculation& s) const {
    return serving(d, l, s, policy_);
  }
  /// Estimate of a disaggregated service with this evaluator for the decode pool and `prefills` for
  /// the prefill pool.
  constexpr disaggregated_estimate serve_pools(const disaggregated& d, const service_load& l,
                                               const prediction_evaluator& prefills) const {
    step_type prefill{d.prefill.deployment, prefills.policy_, prefills.links()};
    step_type decode{d.decode.deployment, steady_, links()};
    return disaggregated_prediction<double, decltype(prefill), decltype(decode)>(
               d, fill_prefix_hit(d.prefill.deployment, l), prefills.terms_, prefill, decode)
        .estimate();
  }
  constexpr estimate step(const deployment& d, const iteration& i) const {
    return prediction_of_step(d, i, policy_, links());
  }

 private:
  static constexpr full_link whole_links{};
  constexpr const links_type& links() const {
    if constexpr (std::same_as<links_type, full_link>) {
      return whole_links;
    } else {
      return policy_;
    }
  }

  Policy policy_;
  Policy steady_;
  service_terms terms_;
};

/// Engine steps that the candidates of one deployment share, which differ in their token budgets
/// only: no time of a step depends on the budget. Use one object per thread.
/// Test: tests/unit/shared_loads.cpp.
template <class Evaluator>
class steps_of_variants {
 public:
  using steps_type = typename Evaluator::steps_type;

  /// Steps of a deployment, which equals those before in all but its limits.
  steps_type& of(const Evaluator& evaluator, const deployment& d) {
    if (!first_) {
      first_ = std::make_unique<first_variant>(evaluator, d);
    } else if constexpr (Evaluator::predicts) {
      if (d.limits.tokens != tokens_) first_->steps.change_limits();
    }
    tokens_ = d.limits.tokens;
    return first_->steps;
  }

 private:
  struct first_variant {
    first_variant(const Evaluator& evaluator, const deployment& d)
        : runs(d), steps(evaluator.steps_of(runs)) {}
    deployment runs;  ///< the steps refer to it
    steps_type steps;
  };
  std::unique_ptr<first_variant> first_{};
  std::optional<double> tokens_{};  ///< token budget of the last deployment
};

/// Policy of an accelerator and an engine. `policy` is a single policy, a function of an
/// accelerator, or a function of an accelerator and an engine.
template <class Policy>
constexpr decltype(auto) policy_for(const Policy& policy, const accelerator& a, engine e) {
  if constexpr (std::invocable<const Policy&, const accelerator&, engine>) {
    return policy(a, e);
  } else if constexpr (std::invocable<const Policy&, const accelerator&>) {
    return policy(a);
  } else {
    return (policy);
  }
}

/// Evaluators of a plan, one for each accelerator and engine of its candidates.
template <class Evaluator>
class evaluator_list {
 public:
  using evaluator = Evaluator;

  template <class Make>
  evaluator_list(const std::vector<plan_candidate>& candidates, const Make& make) {
    for (const plan_candidate& c : candidates) {
      if (c.kind == candidate_kind::infeasible) continue;
      add(*c.device, c.serving_engine, make);
      if (c.kind == candidate_kind::pools) add(*c.prefill_device, c.serving_engine, make);
    }
  }
  const Evaluator& at(const accelerator& a, engine e) const { return *find(a, e); }

 private:
  struct entry {
    const accelerator* device;
    engine serving_engine;
    Evaluator evaluator;
  };

  const Evaluator* find(const accelerator& a, engine e) const {
    for (const entry& x : entries_) {
      if (x.device->name == a.name && x.serving_engine == e) return &x.evaluator;
    }
    return nullptr;
  }
  template <class Make>
  void add(const accelerator& a, engine e, const Make& make) {
    if (find(a, e) == nullptr) entries_.push_back({&a, e, make(a, e)});
  }

  std::vector<entry> entries_{};
};

}  // namespace perfmodel::inline v0_3::detail
