// A deployment checked once, for the many engine steps of a scheduler or a simulator.
#pragma once

// This header comes first: a wrong policy then gives a short compile error.
#include <perfmodel/laws/execution.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <perfmodel/scalar/recorded_program.hpp>
#include <perfmodel/step/step.hpp>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfmodel::inline v0_3 {

namespace detail {

/// A policy over recorded numbers; void where it is no spec that can be lifted.
template <class T, class Policy>
struct recorded_policy {
  using type = void;
};
template <class T, class Policy>
  requires Spec<const Policy>
struct recorded_policy<T, Policy> {
  using type = decltype(lift<recorded<T>>(std::declval<const Policy&>()));
};

/// Times of the steps of one deployment from records of a law, equal to the law to 1e-12. `Law`
/// gives recorded results for a deployment and an iteration. A kind of step (decode, prefill,
/// mixed) is recorded when `wait` steps had no record; where Law::by_size, a record holds for
/// batches and prompts between two powers of two, so that the law makes few choices there.
template <Scalar T, class Law>
class recorded_steps {
 public:
  using program = recorded_program<T>;
  using results = typename Law::results;

  explicit recorded_steps(const Law& law) : law_(law) {}

  /// Whether all fields are within the bounds of a record's inputs: none is refused then.
  static bool holds(const basic_iteration<T>& i) {
    const auto counts = [](double x) { return x >= 1.0 && x <= most; };
    const bool decodes = counts(i.batch), prefills = counts(i.prefill_tokens);
    return (decodes || i.batch == 0.0) && (prefills || i.prefill_tokens == 0.0) &&
           (decodes || prefills) && counts(i.context) && counts(i.prefill_sequences) &&
           (i.prefill_past == 0.0 || counts(i.prefill_past)) && counts(i.tokens_per_sequence);
  }
  /// Results of the step; false without a record.
  bool at(const basic_iteration<T>& i, results& into) {
    typename program::numbers x;
    const kind k = kind_of(i);
    fill(i, [&x](std::size_t n) -> double& { return x[n]; });
    for (std::size_t n = 0; n < records_.size(); ++n) {
      const record& r = records_[last_];
      if (r.of == k && r.law.run(x)) {
        for (std::size_t m = 0; m < into.size(); ++m) into[m] = r.law.result(x, m);
        return true;
      }
      last_ = last_ + 1 == records_.size() ? 0 : last_ + 1;
    }
    note_misses(i, k, 1);
    return false;
  }
  /// The first result of each step from `first` on that has the kind of the first: at most a block
  /// of them. Calls take(place, result, whether it is known) for each; returns how many.
  template <class Take>
  std::size_t block_at(std::span<const basic_iteration<T>> steps, const Take& take) {
    const kind k = kind_of(steps[0]);
    std::size_t n = 1;
    while (n < steps.size() && n < program::block && holds(steps[n]) && kind_of(steps[n]) == k) ++n;
    std::size_t known = 0;
    for (; known < records_.size() && !(records_[last_].of == k); ++known)
      last_ = last_ + 1 == records_.size() ? 0 : last_ + 1;
    if (known == records_.size()) {
      note_misses(steps[0], k, n);
      for (std::size_t m = 0; m < n; ++m) take(m, 0.0, false);
      return n;
    }
    columns_.resize(program::most_numbers);
    typename program::column guards;
    for (std::size_t m = 0; m < program::block; ++m)
      fill(steps[m < n ? m : 0], [&](std::size_t j) -> double& { return columns_[j][m]; });
    records_[last_].law.run(columns_, guards);
    const auto& found = records_[last_].law.result(columns_, 0);
    for (std::size_t m = 0; m < n; ++m) take(m, found[m], guards[m] >= 0.0);
    return n;
  }

 private:
  struct sizes {  ///< powers of two of the inputs
    std::uint64_t batch = 0, prompt = 0, before = 0;
    friend bool operator==(const sizes&, const sizes&) = default;
  };
  struct any_size {
    static constexpr std::uint64_t batch = 0, prompt = 0, before = 0;
    friend bool operator==(const any_size&, const any_size&) = default;
  };
  /// Fields of an iteration that are no inputs of its record.
  struct kind {
    double prefill_sequences = 1.0, tokens_per_sequence = 1.0;
    bool steady = false, decodes = false, prefills = false, past = false;
    std::conditional_t<Law::by_size, sizes, any_size> size{};
    friend bool operator==(const kind&, const kind&) = default;
  };
  struct record {
    kind of{};
    program law;
  };
  static constexpr double most = 1e12;

  /// Number of the power of two next below x; 0 of 0.
  static std::uint64_t power_below(double x) {
    return x > 0.0 ? (std::bit_cast<std::uint64_t>(x) - 1) >> 52 : 0;
  }
  static kind kind_of(const basic_iteration<T>& i) {
    kind k{i.prefill_sequences, i.tokens_per_sequence,  i.steady,
           i.batch > 0.0,       i.prefill_tokens > 0.0, i.prefill_past > 0.0};
    if constexpr (Law::by_size)
      k.size = {power_below(i.batch), power_below(i.prefill_tokens), power_below(i.prefill_past)};
    return k;
  }
  template <class Number>
  static void fill(const basic_iteration<T>& i, const Number& number) {
    number(0) = i.batch;
    number(1) = i.context;
    number(2) = i.prefill_tokens;
    number(3) = i.prefill_past;
  }
  void note_misses(const basic_iteration<T>& i, const kind& k, std::size_t n) {
    constexpr std::size_t most_records = Law::by_size ? 64 : 16;
    misses_ += n;
    if (records_.size() >= most_records || misses_ < wait_) return;
    misses_ = 0;
    if (!make(i, k)) wait_ *= 8;
  }
  bool make(const basic_iteration<T>& i, const kind& k) {
    recording<T> r;
    const auto input = [&r](double x, std::uint64_t power, bool varies) {
      const double least = power > 0 ? std::bit_cast<double>((power << 52) + 1) : 1.0;
      const double up = power > 0 ? std::bit_cast<double>((power + 1) << 52) : most;
      const recorded<T> made =
          recorded<T>::input(r, x, (std::max)(least, 1.0), (std::min)(up, most));
      return varies ? made : recorded<T>(x);
    };
    basic_iteration<recorded<T>> t;
    t.batch = input(i.batch, k.size.batch, k.decodes);
    t.context = input(i.context, 0, true);
    t.prefill_tokens = input(i.prefill_tokens, k.size.prompt, k.prefills);
    t.prefill_past = input(i.prefill_past, k.size.before, k.past);
    t.prefill_sequences = i.prefill_sequences;
    t.tokens_per_sequence = i.tokens_per_sequence;
    t.steady = i.steady;
    const program law(r, law_(t));
    if (!law.is_usable()) return false;
    records_.push_back({k, law});
    return true;
  }

  Law law_;
  std::vector<record> records_{};
  typename program::columns columns_{};
  std::size_t last_ = 0, misses_ = 0, wait_ = Law::misses;
};

/// In place of records, where the scalar or the policy cannot be recorded.
template <class Law>
struct no_records {
  constexpr explicit no_records(const Law&) {}
};

/// Law of the bound: its time, or its parts and the KV cache that step_fits compares.
template <Scalar T, bool Parts>
struct recorded_bound {
  using results = std::array<double, Parts ? 7 : 1>;
  static constexpr bool by_size = false;
  static constexpr std::size_t misses = 32;
  const basic_deployment<T>& d;

  std::vector<recorded<T>> operator()(const basic_iteration<recorded<T>>& i) const {
    const auto lifted = lift<recorded<T>>(d);
    const engine_formats formats = formats_of(d);
    const full_link links;
    collective_memo<recorded<T>, full_link> memo(links);
    const auto unnamed = [](limiter, const char*, const duration<recorded<T>>& x) { return x; };
    const bound_parts<recorded<T>> b =
        bound_parts_of_step(rank_step<recorded<T>>{lifted, i, formats}, memo, unnamed);
    if constexpr (!Parts) return {(b.on_chip() + b.communication).value()};
    return {b.weights.value(),
            b.cache.value(),
            b.compute.value(),
            b.vector.value(),
            b.host_link.value(),
            b.communication.value(),
            cache_of_step(lifted, i).value()};
  }
};
/// Law of the predicted time.
template <Scalar T, class Policy>
struct recorded_prediction {
  using results = std::array<double, 1>;
  static constexpr bool by_size = true;
  static constexpr std::size_t misses = 256;
  const basic_deployment<T>& d;
  const Policy& policy;

  std::vector<recorded<T>> operator()(const basic_iteration<recorded<T>>& i) const {
    const auto lifted = lift<recorded<T>>(d);
    const typename recorded_policy<T, Policy>::type over = lift<recorded<T>>(policy);
    decltype(auto) links = links_of<recorded<T>>(over);
    return {time_of_step(lifted, i, over, links).value()};
  }
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

/// Engine steps of one deployment under one policy. It owns both, checks them once, and records
/// the law of kinds of steps that are asked often: a time is then 6 times as fast as that of
/// step(), and 20 times in a block. Use one object per thread.
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
    if constexpr (records_steps) {
      std::array<double, 1> time;
      if (step_times_.holds(i) && step_times_.at(i, time)) return duration<T>::from_value(time[0]);
    }
    detail::check_iteration(i);
    return predict_.time(i);
  }
  /// step_time() of each step. Neighbours of one kind (of a batch between two powers of two) are
  /// evaluated side by side, with vector instructions.
  /// Errors: those of step_time; other numbers of times than of steps.
  constexpr void step_times(std::span<const basic_iteration<T>> steps,
                            std::span<duration<T>> times) {
    if (steps.size() != times.size())
      detail::fail(error_code::inconsistent, "step_times: other numbers of times than of steps");
    for (std::size_t i = 0; i < steps.size();) {
      if constexpr (records_steps) {
        if (step_times_.holds(steps[i])) {
          i += step_times_.block_at(steps.subspan(i), [&](std::size_t m, double t, bool known) {
            times[i + m] = known ? duration<T>::from_value(t) : predict_.time(steps[i + m]);
          });
          continue;
        }
      }
      times[i] = step_time(steps[i]);
      ++i;
    }
  }
  /// step_bound(deployment(), i).
  /// Errors: an empty iteration.
  constexpr basic_estimate<T> bound(const basic_iteration<T>& i) {
    if constexpr (records_bounds) {
      std::array<double, 7> b;
      if (bounds_.holds(i) && bounds_.at(i, b)) {
        const auto part = [&b](std::size_t n) { return duration<T>::from_value(b[n]); };
        basic_estimate<T> e =
            estimate_of({part(0), part(1), part(2), part(3), part(4), part(5), part(2)});
        e.feasible = group_ ? detail::memory_fits(budget_, bytes<T>::from_value(b[6])) : group_;
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
    if constexpr (records_bounds) {
      std::array<double, 1> time;
      if (bound_times_.holds(i) && bound_times_.at(i, time))
        return duration<T>::from_value(time[0]);
    }
    detail::check_iteration(i);
    return detail::bound_of_step(deployment_, i, full_link{}).time;
  }

 private:
  using links_type = std::remove_cvref_t<decltype(detail::links_of<T>(std::declval<Policy&>()))>;
  static constexpr bool records_bounds = std::same_as<T, double>;
  static constexpr bool records_steps =
      records_bounds && !std::is_void_v<typename detail::recorded_policy<T, Policy>::type>;
  template <bool Has, class Law>
  using records =
      std::conditional_t<Has, detail::recorded_steps<double, Law>, detail::no_records<Law>>;

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
  records<records_bounds, detail::recorded_bound<T, true>> bounds_{
      detail::recorded_bound<T, true>{deployment_}};
  records<records_bounds, detail::recorded_bound<T, false>> bound_times_{
      detail::recorded_bound<T, false>{deployment_}};
  records<records_steps, detail::recorded_prediction<T, Policy>> step_times_{
      detail::recorded_prediction<T, Policy>{deployment_, policy_}};
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
