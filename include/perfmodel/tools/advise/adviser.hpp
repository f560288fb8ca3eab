// Asks a service again with a trick applied, and compares.
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

// One trick beside a service as it is: what it brings there, what it costs, and whether it harms.

namespace perfmodel {

/// A service that is asked about: `copies` of a deployment share the load, or two pools have it.
struct advised_service {
  deployment runs{};
  service_load load{};
  double copies = 1.0;
  std::optional<speculation> drafts{};
  std::optional<disaggregated> pools{};

  constexpr double devices() const {
    return pools ? pools->devices() : copies * double(runs.layout.ranks());
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("runs", s.runs...);
    f("load", s.load...);
    f(field::count("copies"), s.copies...);
    f("drafts", s.drafts...);
    f("pools", s.pools...);
  }
};

/// What a service does, of one copy where it has several; a prediction or a bound.
using service_answer = std::function<serving_estimate(const advised_service&)>;

/// `gain`: the mean time of a whole request without the trick over that with it; 1 is nothing, below 1
/// a loss. An overloaded open loop has no such time: its gain is of the largest sustainable rate.
/// One that is `in_use` has its gain over doing without; of one that is not, `apply` puts it to a
/// service, where the service can express it.
struct technique {
  const char* name = "";
  const char* family = "";
  bool applies = false;
  bool in_use = false;
  bool enables = false;   ///< infeasible without it, feasible with it
  bool has_ratio = true;  ///< false: infeasible without it, so that there is no time to compare
  double gain = 1.0;      ///< 1 where there is no ratio
  duration<> e2e{};       ///< mean time of a whole request with it, where it enables
  double devices = 1.0;   ///< with it, over those without
  const char* costs = "";
  const char* harmful_when = "";
  bool harmful = false;
  std::string why{};
  std::function<void(advised_service&)> apply{};
  const char* sets = name;  ///< what it decides: of tricks that decide the same, one is taken
};

/// What a trick is called and what holds of it anywhere.
struct technique_words {
  const char* name = "";
  const char* family = "";
  const char* costs = "";
  const char* harmful_when = "";
  const char* sets = name;
};

namespace detail {

/// Whether `x` is the better choice of two: by feasibility, then by gain, then by time.
inline bool outranks(const technique& x, const technique& y) {
  if (x.applies != y.applies) return x.applies;
  if (x.enables != y.enables) return x.enables;
  return x.gain != y.gain ? x.gain > y.gain : x.e2e < y.e2e;
}

inline technique named_technique(const technique_words& w) {
  technique t;
  t.name = w.name;
  t.family = w.family;
  t.costs = w.costs;
  t.harmful_when = w.harmful_when;
  t.sets = w.sets;
  return t;
}

inline void say_to(std::string& s, double x) {
  s += significant(x, 3);
}
inline void say_to(std::string& s, const char* x) {
  s += x;
}
inline void say_to(std::string& s, const std::string& x) {
  s += x;
}
inline void say_to(std::string& s, const duration<>& x) {
  s += to_string(x, 3);
}
inline void say_to(std::string& s, const request_rate<>& x) {
  s += to_string(x, 3);
}
inline void say_to(std::string& s, const bytes<>& x) {
  s += to_string(x, 3);
}
template <class... Parts>
std::string say(const Parts&... parts) {
  std::string s;
  (say_to(s, parts), ...);
  return s;
}

}  // namespace detail

/// A service as it is, and what asks again. An overloaded service has no latencies of a steady
/// state: its gains are ratios of the largest rates that it sustains.
class adviser {
 public:
  adviser(advised_service is, service_answer ask, service_targets targets = {})
      : is_(std::move(is)), ask_(std::move(ask)), targets_(targets), now_(ask_(is_)) {
    if (is_overloaded(now_)) sustained_ = rate_of(is_);
  }
  /// The adviser of another service, with the same objective and without targets.
  adviser adviser_of(advised_service other) const {
    adviser a = *this;
    a.is_ = std::move(other);
    a.targets_ = {};
    a.now_ = a.ask_(a.is_);
    if (sustained_) a.sustained_ = a.rate_of(a.is_);
    return a;
  }

  const advised_service& service() const { return is_; }
  const deployment& runs() const { return is_.runs; }
  const service_load& load() const { return is_.load; }
  const serving_estimate& now() const { return now_; }
  const service_targets& targets() const { return targets_; }
  serving_estimate answer(const advised_service& s) const { return ask_(s); }

  /// The largest rate that the service sustains; none where it is not overloaded.
  const std::optional<request_rate<>>& sustained() const { return sustained_; }
  /// The largest rate that another service sustains with these requests.
  request_rate<> rate_of(const advised_service& s) const {
    advised_service at = s;
    return sustainable_rate(s.load, [&](const service_load& load) {
      at.load = load;
      return ask_(at);
    });
  }
  /// Whether another service beats the gain of `t`: by its rate where this one is overloaded.
  bool outdoes(const advised_service& s, const serving_estimate& e, const technique& t) const {
    if (sustained_) return rate_of(s) > t.gain * *sustained_;
    if (!e.feasible) return false;
    return t.has_ratio ? now_.e2e / e.e2e > t.gain : e.e2e < t.e2e;
  }

  /// Sequences of one copy that decode at once, and what each has cached.
  double batch() const { return now_.batch > 1.0 ? now_.batch : 1.0; }
  double context() const { return perfmodel::detail::mean_context(is_.load); }
  /// A step of answers alone, and the mean iteration, with the prompts that join it.
  iteration decode_step() const { return {.batch = std::ceil(batch()), .context = context()}; }
  iteration mean_step() const {
    return perfmodel::detail::mean_iteration(is_.load, batch(), batch() - 1.0);
  }

  /// The trick where `apply` puts it to the service; `in_use` where it is without it that `apply` makes.
  /// Harms where the request is slower by more than a thousandth, does not fit, or a target is missed.
  technique asked(const technique_words& words, const std::function<void(advised_service&)>& apply,
                  bool in_use = false) const {
    technique t = perfmodel::detail::named_technique(words);
    t.in_use = in_use;
    advised_service other = is_;
    apply(other);
    try {
      const serving_estimate e = ask_(other);
      const double devices = other.devices() / is_.devices();
      t.devices = in_use ? 1.0 / devices : devices;
      t.applies = true;
      if (sustained_) {
        compare_rates(t, e, rate_of(other));
      } else {
        compare(t, in_use ? e : now_, in_use ? now_ : e);
      }
      if (!in_use) t.apply = apply;
    } catch (const error& refused) {
      t.applies = false;
      t.why = refused.what();
    }
    return t;
  }

  /// A trick that a service cannot be asked with: it takes so much from each of its steps and from a
  /// prompt (below 0: adds). The time of an infeasible service is that of a request that waits for
  /// nothing: its prompt and the steps of a full batch.
  technique saving(const technique_words& words, const duration<>& per_step,
                   const duration<>& per_prompt, bool in_use) const {
    technique t = perfmodel::detail::named_technique(words);
    t.applies = true;
    t.in_use = in_use;
    const double steps = std::fmax(is_.load.output_tokens - 1.0, 0.0);
    const double saved = steps * per_step.value() + per_prompt.value();
    const double e2e =
        now_.feasible ? now_.e2e.value() : now_.prefill.time.value() + steps * now_.itl.value();
    if (!(e2e > 0.0) || !std::isfinite(e2e)) return t;
    t.gain = in_use ? (e2e + saved) / e2e : e2e / std::fmax(e2e - saved, 1e-3 * e2e);
    if (!(t.gain > 1e-6)) t.gain = 1e-6;
    t.harmful = t.gain < 1.0 - 1e-3;
    return t;
  }

 private:
  void compare(technique& t, const serving_estimate& before, const serving_estimate& after) const {
    using perfmodel::detail::say;
    const bool fitted = bool(before.feasible), fits = bool(after.feasible);
    t.enables = fits && !fitted;
    t.has_ratio = fitted;
    if (t.enables) t.e2e = after.e2e;
    const double b = before.e2e.value(), a = after.e2e.value();
    if (fits && fitted && b > 0.0 && a > 0.0 && std::isfinite(b) && std::isfinite(a))
      t.gain = b / a;
    if (!fits) {
      t.harmful = fitted;
      t.applies = false;
      t.why = say("it would not run: ", after.feasible.reason);
      return;
    }
    const bool missed = meets(before, targets_) && !meets(after, targets_);
    t.harmful = !t.enables && (t.gain < 1.0 - 1e-3 || missed);
    t.why = say("a request takes ", after.e2e, " with it, ", before.e2e, " without; a token ",
                after.itl, " and ", before.itl);
    if (t.enables) {
      t.why = say("infeasible without it: ", before.feasible.reason, "; with it a request takes ",
                  after.e2e, ", a token ", after.itl);
    }
    if (missed) t.why += "; a target is missed that is met without";
  }

  /// `e` and `rate` are of the other service: with `t`, or without it where it is in use.
  void compare_rates(technique& t, const serving_estimate& e, const request_rate<>& rate) const {
    using perfmodel::detail::say;
    const request_rate<> with = t.in_use ? *sustained_ : rate;
    const request_rate<> without = t.in_use ? rate : *sustained_;
    if (!(with.value() > 0.0)) {
      t.harmful = true;
      t.applies = false;
      t.why = say("it would not run: ", e.feasible.reason);
      return;
    }
    t.has_ratio = without.value() > 0.0;
    t.enables = t.in_use ? !t.has_ratio : bool(e.feasible);
    if (t.has_ratio) t.gain = with / without;
    t.harmful = t.gain < 1.0 - 1e-3;
    t.why = t.has_ratio ? say("sustains ", with, " with it, ", without, " without; ",
                              is_.load.rate(), " are offered")
                        : say("infeasible without it: ", e.feasible.reason);
  }

  advised_service is_;
  service_answer ask_;
  service_targets targets_;
  serving_estimate now_;
  std::optional<request_rate<>> sustained_{};
};

}  // namespace perfmodel
