// A deployment checked once, for the many engine steps of a scheduler or a simulator.
#pragma once

// This header comes first: a wrong policy then gives a short compile error.
#include <perfmodel/laws/execution.hpp>

#include <perfmodel/scalar/recorded_program.hpp>
#include <perfmodel/step/step.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

namespace detail {

/// Bounds of the steps of one deployment, from records of the law: sums of few products, equal to
/// the law to 1e-12. A kind of step (decode, prefill, mixed) is recorded when 32 bounds
/// had no record.
template <Scalar T>
class recorded_bounds {
  /// Fields of an iteration that are no inputs of its record.
  struct kind {
    double prefill_sequences = 1.0, tokens_per_sequence = 1.0;
    bool steady = false, decodes = false, prefills = false, past = false;
    friend bool operator==(const kind&, const kind&) = default;
  };
  struct record {
    kind of{};
    recorded_program<T> parts, time;
  };
  static constexpr double most = 1e12;

 public:
  /// Whether all fields are within the bounds of a record's inputs: none is refused then.
  static bool holds(const basic_iteration<T>& i) {
    const auto counts = [](double x) { return x >= 1.0 && x <= most; };
    const bool decodes = counts(i.batch), prefills = counts(i.prefill_tokens);
    return (decodes || i.batch == 0.0) && (prefills || i.prefill_tokens == 0.0) &&
           (decodes || prefills) && counts(i.context) && counts(i.prefill_sequences) &&
           (i.prefill_past == 0.0 || counts(i.prefill_past)) && counts(i.tokens_per_sequence);
  }
  /// Parts of the bound, and the KV cache that step_fits compares; false without a record.
  bool parts(const basic_deployment<T>& d, const basic_iteration<T>& i, bound_parts<T>& into,
             bytes<T>& cache) {
    return use(d, i, &record::parts, [&](const recorded_program<T>& p, const auto& x) {
      const auto part = [&](std::size_t k) { return duration<T>::from_value(p.result(x, k)); };
      into = {part(0), part(1), part(2), part(3), part(4), part(5), part(2)};
      cache = bytes<T>::from_value(p.result(x, 6));
    });
  }
  /// Time of the bound alone.
  bool time(const basic_deployment<T>& d, const basic_iteration<T>& i, duration<T>& into) {
    return use(d, i, &record::time, [&](const recorded_program<T>& p, const auto& x) {
      into = duration<T>::from_value(p.result(x, 0));
    });
  }

 private:
  template <class Take>
  bool use(const basic_deployment<T>& d, const basic_iteration<T>& i,
           recorded_program<T> record::*program, const Take& take) {
    constexpr std::size_t most_records = 16;
    const kind k{i.prefill_sequences, i.tokens_per_sequence,  i.steady,
                 i.batch > 0.0,       i.prefill_tokens > 0.0, i.prefill_past > 0.0};
    typename recorded_program<T>::numbers x;
    x[0] = i.batch;
    x[1] = i.context;
    x[2] = i.prefill_tokens;
    x[3] = i.prefill_past;
    for (std::size_t n = 0; n < records_.size(); ++n) {
      const record& r = records_[last_];
      if (r.of == k && (r.*program).run(x)) {
        take(r.*program, x);
        return true;
      }
      last_ = last_ + 1 == records_.size() ? 0 : last_ + 1;
    }
    if (records_.size() < most_records && ++misses_ >= wait_) {
      misses_ = 0;
      if (!make(d, i, k)) wait_ *= 8;
    }
    return false;
  }

  bool make(const basic_deployment<T>& d, const basic_iteration<T>& i, const kind& k) {
    recording<T> r;
    const auto input = [&r](double x, bool varies) {
      const recorded<T> made = recorded<T>::input(r, x, 1.0, most);
      return varies ? made : recorded<T>(x);
    };
    basic_iteration<recorded<T>> t;
    t.batch = input(i.batch, k.decodes);
    t.context = input(i.context, true);
    t.prefill_tokens = input(i.prefill_tokens, k.prefills);
    t.prefill_past = input(i.prefill_past, k.past);
    t.prefill_sequences = i.prefill_sequences;
    t.tokens_per_sequence = i.tokens_per_sequence;
    t.steady = i.steady;
    const auto lifted = lift<recorded<T>>(d);
    const engine_formats formats = formats_of(d);
    const full_link links;
    collective_memo<recorded<T>, full_link> memo(links);
    const auto unnamed = [](limiter, const char*, const duration<recorded<T>>& x) { return x; };
    const bound_parts<recorded<T>> b =
        bound_parts_of_step(rank_step<recorded<T>>{lifted, t, formats}, memo, unnamed);
    const recorded_program<T> time(r, {(b.on_chip() + b.communication).value()});
    const recorded_program<T> parts(
        r, {b.weights.value(), b.cache.value(), b.compute.value(), b.vector.value(),
            b.host_link.value(), b.communication.value(), cache_of_step(lifted, t).value()});
    if (!time.is_usable() || !parts.is_usable()) return false;
    records_.push_back({k, parts, time});
    return true;
  }

  std::vector<record> records_{};
  std::size_t last_ = 0, misses_ = 0, wait_ = 32;
};

/// Estimates of steps of any deployment under a policy, and their times alone. Steps of `target`
/// are memoised: use one object per thread.
template <Scalar T, class Policy>
class policy_steps {
 public:
  constexpr policy_steps(const basic_deployment<T>& target, const Policy& policy)
      : target_(target),
        policy_(policy),
        links_(links_of<T>(policy)),
        steps_(target, policy, links_) {}

  policy_steps(const policy_steps&) = delete;
  policy_steps& operator=(const policy_steps&) = delete;

  constexpr basic_estimate<T> operator()(const basic_deployment<T>& d,
                                         const basic_iteration<T>& i) const {
    return &d == &target_ ? steps_(i) : prediction_of_step(d, i, policy_, links_);
  }
  constexpr duration<T> time(const basic_deployment<T>& d, const basic_iteration<T>& i) const {
    return &d == &target_ ? steps_.time(i) : time_of_step(d, i, policy_, links_);
  }

 private:
  using links = decltype(links_of<T>(std::declval<const Policy&>()));  // a reference, or a value

  const basic_deployment<T>& target_;
  const Policy& policy_;
  links links_;
  mutable predicted_step<T, Policy, std::remove_cvref_t<links>> steps_;
};

/// Time of a step: estimate_step.time(deployment, iteration), else that of its estimate.
template <Scalar T, class EstimateStep>
constexpr duration<T> time_by(const EstimateStep& estimate_step, const basic_deployment<T>& d,
                              const basic_iteration<T>& i) {
  if constexpr (requires { estimate_step.time(d, i); }) {
    return estimate_step.time(d, i);
  } else {
    return estimate_step(d, i).time;
  }
}

}  // namespace detail

/// Engine steps of one deployment under one policy. It owns both, checks them once, and keeps the
/// times of operators and collectives that a later step needs again: 2 to 3 times as fast as
/// step(). Use one object per thread.
template <Scalar T, class Policy>
class prepared_deployment {
 public:
  /// Errors: those of step() that concern the deployment and the policy.
  constexpr prepared_deployment(const basic_deployment<T>& d, const Policy& policy)
      : deployment_(checked(d, policy)),
        policy_(policy),
        links_(detail::links_of<T>(policy)),
        predict_(deployment_, policy_, links_) {}
  prepared_deployment(const prepared_deployment&) = delete;
  prepared_deployment& operator=(const prepared_deployment&) = delete;

  constexpr const basic_deployment<T>& deployment() const { return deployment_; }
  constexpr const Policy& policy() const { return policy_; }

  /// step(deployment(), i, policy()).
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> step(const basic_iteration<T>& i) {
    detail::check_iteration(i);
    basic_estimate<T> e = predict_(i);
    e.feasible = detail::step_fits(deployment_, i);
    return e;
  }
  /// Time of step(i), without its breakdown and without the check of the memory.
  /// Errors: an empty iteration.
  constexpr duration<T> step_time(const basic_iteration<T>& i) {
    detail::check_iteration(i);
    return predict_.time(i);
  }
  /// step_bound(deployment(), i).
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> bound(const basic_iteration<T>& i) {
    if constexpr (std::same_as<T, double>) {
      detail::bound_parts<T> b;
      bytes<T> cache;
      if (bounds_.holds(i) && bounds_.parts(deployment_, i, b, cache)) {
        basic_estimate<T> e = estimate_of(b);
        e.feasible = group_ ? detail::memory_fits(budget_, cache) : group_;
        return e;
      }
    }
    detail::check_iteration(i);
    basic_estimate<T> e = detail::bound_of_step(deployment_, i, full_link{});
    e.feasible = detail::step_fits(deployment_, i);
    return e;
  }
  /// Time of bound(i), without its breakdown and without the check of the memory.
  /// Errors: an empty iteration.
  constexpr duration<T> bound_time(const basic_iteration<T>& i) {
    if constexpr (std::same_as<T, double>) {
      duration<T> t;
      if (bounds_.holds(i) && bounds_.time(deployment_, i, t)) return t;
    }
    detail::check_iteration(i);
    return detail::bound_of_step(deployment_, i, full_link{}).time;
  }

 private:
  using links_type = std::remove_cvref_t<decltype(detail::links_of<T>(std::declval<Policy&>()))>;

  static constexpr const basic_deployment<T>& checked(const basic_deployment<T>& d,
                                                      const Policy& policy) {
    detail::check_deployment(d);
    detail::require_target_of(policy, d.device, d.serving_engine);
    return d;
  }

  static constexpr basic_estimate<T> estimate_of(const detail::bound_parts<T>& b) {
    basic_estimate<T> e;
    e.terms.add(limiter::memory, "weights", b.weights);
    e.terms.add(limiter::memory, "kv_cache", b.cache);
    e.terms.add(limiter::compute, "compute", b.compute);
    if (upper(b.vector.value()) > 0.0) e.terms.add(limiter::vector_compute, "vector", b.vector);
    if (upper(b.host_link.value()) > 0.0) e.terms.add(limiter::link, "host_link", b.host_link);
    detail::add_bound(e, b);
    return e;
  }

  basic_deployment<T> deployment_;
  Policy policy_;
  links_type links_;
  detail::predicted_step<T, Policy, links_type> predict_;
  feasibility group_ = detail::group_fits(deployment_);
  basic_memory_budget<T> budget_ = detail::budget_of(deployment_);
  [[no_unique_address]] std::conditional_t<std::same_as<T, double>, detail::recorded_bounds<T>,
                                           detail::no_memo>
      bounds_{};
};

/// The deployment, checked once, for many steps: `auto p = prepare(d, policy); p.step_time(i);`.
/// Errors: those of step() that concern the deployment and the policy.
/// Tests: equal to step() and step_bound() at random steps of every kind of model and layout.
template <Scalar T, class Policy>
  requires(require_execution_policy<Policy, T>())
constexpr prepared_deployment<T, Policy> prepare(const basic_deployment<T>& d,
                                                 const Policy& policy) {
  return prepared_deployment<T, Policy>(d, policy);
}

}  // namespace perfmodel::inline v0_3
