// One technique applied to a service: its gain, its cost, and the cases where it is harmful.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <perfmodel/serving/bound_of_service.hpp>
#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/serving/largest_rate.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/serving/speculation.hpp>
#include <perfmodel/units/text.hpp>
#include <string>
#include <utility>

namespace perfmodel::inline v0_3 {

/// The service that is advised: replicas of a deployment that share the load, or two pools.
struct advised_service {
  perfmodel::deployment deployment{};
  service_load load{};
  double replicas = 1.0;
  std::optional<perfmodel::speculation> speculation{};
  std::optional<disaggregated> pools{};

  constexpr double devices() const {
    return pools ? pools->devices() : replicas * double(deployment.layout.ranks());
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("deployment", s.deployment...);
    f("load", s.load...);
    f(field::count("replicas"), s.replicas...);
    f("speculation", s.speculation...);
    f("pools", s.pools...);
  }
};

/// Estimate of one replica of a service: a prediction or a bound.
using service_evaluator = std::function<serving_estimate(const advised_service&)>;

/// Users of a technique: an operator by options of an engine or another checkpoint, the owner of
/// a model by training it, the author of a kernel by writing it.
enum class technique_user { deployment_operator, model_owner, kernel_author };

constexpr const char* name_of(technique_user u) {
  constexpr const char* names[] = {"operator", "model owner", "kernel author"};
  return detail::entry_of(names, u, "technique_user");
}

/// One technique and its effect on a service.
/// `gain`: mean end-to-end time of a request without the technique over the time with it. Below 1
/// it is a loss. An overloaded open loop has no steady latency: its gain is of the largest
/// sustainable rate. A technique `in_use` is compared with the service without it. For the others
/// `apply` changes a service, where a service has a field for it.
struct technique {
  const char* name = "";
  const char* family = "";
  bool applies = false;
  bool in_use = false;
  bool makes_feasible = false;  ///< infeasible without it, feasible with it
  bool has_ratio = true;        ///< false: infeasible without it, no time to compare
  double gain = 1.0;            ///< 1 without a ratio
  duration<> e2e{};             ///< mean request time with it, where it makes the service feasible
  double devices = 1.0;         ///< device count with it over the count without
  const char* cost = "";
  const char* harmful_when = "";
  bool harmful = false;
  std::string reason{};
  std::function<void(advised_service&)> apply{};
  const char* choice = name;  ///< techniques with the same choice exclude each other
  technique_user user = technique_user::deployment_operator;
  bool misses_target = false;  ///< a latency target is met without it, and missed with it
  bool infeasible = false;     ///< the service is infeasible with it, for this `reason`
};

/// Name and properties of a technique that hold for every service.
struct technique_description {
  const char* name = "";
  const char* family = "";
  const char* cost = "";
  const char* harmful_when = "";
  const char* choice = name;
};

namespace detail {

/// Whether `x` is better than `y`: feasibility first, then gain, then time.
inline bool outranks(const technique& x, const technique& y) {
  if (x.applies != y.applies) return x.applies;
  if (x.makes_feasible != y.makes_feasible) return x.makes_feasible;
  return x.gain != y.gain ? x.gain > y.gain : x.e2e < y.e2e;
}

inline technique named_technique(const technique_description& w) {
  technique t;
  t.name = w.name;
  t.family = w.family;
  t.cost = w.cost;
  t.harmful_when = w.harmful_when;
  t.choice = w.choice;
  return t;
}

inline void append_text(std::string& s, double x) {
  s += significant(x, 3);
}
inline void append_text(std::string& s, const char* x) {
  s += x;
}
inline void append_text(std::string& s, const std::string& x) {
  s += x;
}
inline void append_text(std::string& s, const duration<>& x) {
  s += to_string(x, 3);
}
inline void append_text(std::string& s, const request_rate<>& x) {
  s += to_string(x, 3);
}
inline void append_text(std::string& s, const bytes<>& x) {
  s += to_string(x, 3);
}
template <class... Parts>
std::string join_text(const Parts&... parts) {
  std::string s;
  (append_text(s, parts), ...);
  return s;
}

}  // namespace detail

/// A service, its estimate, and the evaluator of changed services. An overloaded service has no
/// steady latencies: its gains are ratios of the largest sustainable rates.
class adviser {
 public:
  adviser(advised_service service, service_evaluator evaluator, service_targets targets = {})
      : service_(std::move(service)),
        evaluator_(std::move(evaluator)),
        targets_(targets),
        current_(evaluator_(service_)) {
    if (is_overloaded(current_)) sustained_ = rate_of(service_);
  }
  /// The adviser of another service, with the same objective and without targets.
  adviser adviser_for(advised_service other) const {
    adviser a = *this;
    a.service_ = std::move(other);
    a.targets_ = {};
    a.current_ = a.evaluator_(a.service_);
    if (sustained_) a.sustained_ = a.rate_of(a.service_);
    return a;
  }

  const advised_service& service() const { return service_; }
  const deployment& deployed() const { return service_.deployment; }
  const service_load& load() const { return service_.load; }
  const serving_estimate& current() const { return current_; }
  const service_targets& targets() const { return targets_; }
  serving_estimate evaluate(const advised_service& s) const { return evaluator_(s); }

  /// The largest sustainable rate of an overloaded service, else none.
  const std::optional<request_rate<>>& sustained() const { return sustained_; }
  /// The largest rate of these requests that another service sustains.
  request_rate<> rate_of(const advised_service& s) const {
    advised_service at = s;
    return sustainable_rate(s.load, [&](const service_load& load) {
      at.load = load;
      return evaluator_(at);
    });
  }
  /// Whether another service gains more than `t`; an overloaded service is compared by its rate.
  bool beats(const advised_service& s, const serving_estimate& e, const technique& t) const {
    if (sustained_) return rate_of(s) > t.gain * *sustained_;
    if (!e.feasible) return false;
    return t.has_ratio ? current_.e2e / e.e2e > t.gain : e.e2e < t.e2e;
  }

  /// Running sequences of one replica, and the mean cached tokens of each.
  double batch() const { return current_.batch > 1.0 ? current_.batch : 1.0; }
  double context() const { return perfmodel::detail::mean_context(service_.load); }
  /// A decode step without prefill, and the mean engine step with its prefill tokens.
  iteration decode_step() const { return {.batch = std::ceil(batch()), .context = context()}; }
  iteration mean_step() const {
    return perfmodel::detail::mean_iteration(service_.load, batch(), batch() - 1.0);
  }

  /// The effect of a technique that `apply` adds to the service; with `in_use`, `apply` removes it.
  /// It is harmful where a request is slower by more than 0.1 %, does not fit, or misses a target.
  technique try_change(const technique_description& words,
                       const std::function<void(advised_service&)>& apply,
                       bool in_use = false) const {
    technique t = perfmodel::detail::named_technique(words);
    t.in_use = in_use;
    advised_service other = service_;
    apply(other);
    try {
      const serving_estimate e = evaluator_(other);
      const double devices = other.devices() / service_.devices();
      t.devices = in_use ? 1.0 / devices : devices;
      t.applies = true;
      if (sustained_) {
        compare_rates(t, e, rate_of(other));
      } else {
        compare(t, in_use ? e : current_, in_use ? current_ : e);
      }
      if (!in_use) t.apply = apply;
    } catch (const error& refused) {
      t.applies = false;
      t.reason = refused.what();
    }
    return t;
  }

  /// The effect of a technique that no field of a service expresses: it saves `per_step` of each
  /// decode step and `per_prompt` of a prefill (below 0: it adds). An infeasible service is taken
  /// at the time of a request without queueing: its prefill and the steps of a full batch.
  technique saving(const technique_description& words, const duration<>& per_step,
                   const duration<>& per_prompt, bool in_use) const {
    technique t = perfmodel::detail::named_technique(words);
    t.applies = true;
    t.in_use = in_use;
    const double steps = std::fmax(service_.load.output_tokens - 1.0, 0.0);
    const double saved = steps * per_step.value() + per_prompt.value();
    const double e2e = current_.feasible
                           ? current_.e2e.value()
                           : current_.prefill.time.value() + steps * current_.itl.value();
    if (!(e2e > 0.0) || !std::isfinite(e2e)) return t;
    t.gain = in_use ? (e2e + saved) / e2e : e2e / std::fmax(e2e - saved, 1e-3 * e2e);
    if (!(t.gain > 1e-6)) t.gain = 1e-6;
    t.harmful = t.gain < 1.0 - 1e-3;
    return t;
  }

 private:
  void compare(technique& t, const serving_estimate& before, const serving_estimate& after) const {
    using perfmodel::detail::join_text;
    const bool fitted = bool(before.feasible), fits = bool(after.feasible);
    t.makes_feasible = fits && !fitted;
    t.has_ratio = fitted;
    if (t.makes_feasible) t.e2e = after.e2e;
    const double b = before.e2e.value(), a = after.e2e.value();
    if (fits && fitted && b > 0.0 && a > 0.0 && std::isfinite(b) && std::isfinite(a))
      t.gain = b / a;
    if (!fits) {
      t.harmful = fitted;
      t.applies = false;
      t.infeasible = true;
      t.reason = after.feasible.reason;
      return;
    }
    const bool missed = meets(before, targets_) && !meets(after, targets_);
    t.misses_target = missed;
    t.harmful = !t.makes_feasible && (t.gain < 1.0 - 1e-3 || missed);
    t.reason = join_text("a request takes ", after.e2e, " with it, ", before.e2e,
                         " without; a token ", after.itl, " and ", before.itl);
    if (t.makes_feasible) {
      t.reason = join_text("infeasible without it: ", before.feasible.reason,
                           "; with it a request takes ", after.e2e, ", a token ", after.itl);
    }
    if (missed) t.reason += "; a target is missed that is met without";
  }

  /// Compares rates; `e` and `rate` belong to the changed service.
  void compare_rates(technique& t, const serving_estimate& e, const request_rate<>& rate) const {
    using perfmodel::detail::join_text;
    const request_rate<> with = t.in_use ? *sustained_ : rate;
    const request_rate<> without = t.in_use ? rate : *sustained_;
    if (!(with.value() > 0.0)) {
      t.harmful = true;
      t.applies = false;
      t.infeasible = true;
      t.reason = e.feasible.reason;
      return;
    }
    t.has_ratio = without.value() > 0.0;
    t.makes_feasible = t.in_use ? !t.has_ratio : bool(e.feasible);
    if (t.has_ratio) t.gain = with / without;
    t.harmful = t.gain < 1.0 - 1e-3;
    t.reason = t.has_ratio ? join_text("sustains ", with, " with it, ", without, " without; ",
                                       service_.load.rate(), " are offered")
                           : join_text("infeasible without it: ", e.feasible.reason);
  }

  advised_service service_;
  service_evaluator evaluator_;
  service_targets targets_;
  serving_estimate current_;
  std::optional<request_rate<>> sustained_{};
};

}  // namespace perfmodel::inline v0_3
