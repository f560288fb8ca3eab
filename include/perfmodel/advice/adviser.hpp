// Asks a service again with a trick applied, and compares.
#pragma once

#include <cmath>
#include <functional>
#include <perfmodel/advice/trick.hpp>
#include <perfmodel/service/bound_of_service.hpp>
#include <perfmodel/service/targets.hpp>
#include <utility>

namespace perfmodel {

/// A service as it is, and what asks again.
class adviser {
 public:
  adviser(advised_service is, service_answer ask, service_targets targets = {})
      : is_(std::move(is)), ask_(std::move(ask)), targets_(targets), now_(ask_(is_)) {}

  const advised_service& service() const { return is_; }
  const deployment& runs() const { return is_.runs; }
  const service_load& load() const { return is_.load; }
  const serving_estimate& now() const { return now_; }
  const service_targets& targets() const { return targets_; }
  serving_estimate answer(const advised_service& s) const { return ask_(s); }

  /// Sequences of one copy that decode at once, and what each has cached.
  double batch() const { return now_.batch > 1.0 ? now_.batch : 1.0; }
  double context() const { return perfmodel::detail::mean_context(is_.load); }
  /// A step of answers alone, and the mean iteration, with the prompts that join it.
  iteration decode_step() const { return {.batch = std::ceil(batch()), .context = context()}; }
  iteration mean_pass() const {
    return perfmodel::detail::mean_iteration(is_.load, batch(), batch() - 1.0);
  }

  /// The trick where `apply` puts it to the service; `in_use` where it is without it that `apply` makes.
  /// Harms where the request is slower by more than a thousandth, does not fit, or a target is missed.
  trick asked(const trick_words& words, const std::function<void(advised_service&)>& apply,
              bool in_use = false) const {
    trick t = perfmodel::detail::named_trick(words);
    t.in_use = in_use;
    advised_service other = is_;
    apply(other);
    try {
      const serving_estimate e = ask_(other);
      const double devices = other.devices() / is_.devices();
      t.devices = in_use ? 1.0 / devices : devices;
      t.applies = true;
      const serving_estimate& before = in_use ? e : now_;
      const serving_estimate& after = in_use ? now_ : e;
      compare(t, before, after);
      if (!in_use) t.apply = apply;
    } catch (const error& refused) {
      t.applies = false;
      t.why = refused.what();
    }
    return t;
  }

  /// A trick that a service cannot be asked with: it takes so much from each of its steps and from a
  /// prompt (below 0: adds).
  trick saving(const trick_words& words, const duration<>& per_step, const duration<>& per_prompt,
               bool in_use) const {
    trick t = perfmodel::detail::named_trick(words);
    t.applies = true;
    t.in_use = in_use;
    const double steps = std::fmax(is_.load.output_tokens - 1.0, 0.0);
    const double saved = steps * per_step.value() + per_prompt.value();
    const double e2e = now_.e2e.value();
    if (!(e2e > 0.0) || !std::isfinite(e2e)) return t;
    t.gain = in_use ? (e2e + saved) / e2e : e2e / std::fmax(e2e - saved, 1e-3 * e2e);
    if (!(t.gain > 1e-6)) t.gain = 1e-6;
    t.harmful = t.gain < 1.0 - 1e-3;
    return t;
  }

 private:
  void compare(trick& t, const serving_estimate& before, const serving_estimate& after) const {
    using perfmodel::detail::say;
    const bool fitted = bool(before.feasible), fits = bool(after.feasible);
    t.enables = fits && !fitted;
    const double b = before.e2e.value(), a = after.e2e.value();
    if (fits && b > 0.0 && a > 0.0 && std::isfinite(b) && std::isfinite(a)) t.gain = b / a;
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
    if (t.enables) t.why = say("without it: ", before.feasible.reason, "; ", t.why);
    if (missed) t.why += "; a target is missed that is met without";
  }

  advised_service is_;
  service_answer ask_;
  service_targets targets_;
  serving_estimate now_;
};

}  // namespace perfmodel
