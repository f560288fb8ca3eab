// Prices of the engine steps of a simulation: predictions of a policy, tabulated where they repeat.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <perfmodel/serving/speculation.hpp>
#include <perfmodel/step/step.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Work of one simulated engine step.
struct simulated_step {
  double decodes = 0.0;         ///< sequences that decode
  double context = 1.0;         ///< their mean context
  double prefill_tokens = 0.0;  ///< new tokens of all prefills
  double prefill_past = 0.0;    ///< cached tokens before them, mean over the tokens
  double prefills = 0.0;        ///< requests that prefill
};

/// Prices engine steps of a deployment under a policy, in seconds. It owns its deployment and
/// policy. Decode steps are tabulated: exact at whole batches, linear between 32 contexts per
/// octave.
/// Test: within 0.1 % of `step` over batches and contexts.
template <class Policy>
class step_prices {
 public:
  step_prices(const deployment& d, const Policy& policy,
              const std::optional<speculation>& speculate = {}, bool per_stage = false)
      : deployment_(d),
        policy_(policy),
        speculation_(speculate),
        predict_(deployment_, policy_, detail::links_of<double>(policy_)),
        stages_(per_stage ? d.layout.pipeline : 1) {}
  step_prices(const step_prices&) = delete;
  step_prices& operator=(const step_prices&) = delete;

  /// Time of a step with prefill.
  double step(const simulated_step& s) {
    ++priced_;
    return time_of(s);
  }
  /// Time of a decode step of `batch` sequences with a mean context.
  double decode(int batch, double context) {
    const double at = knot_of(context);
    const auto i = static_cast<std::size_t>(at);
    const double low = value(batch, i), high = value(batch, i + 1);
    return low + (at - static_cast<double>(i)) * (high - low);
  }
  /// Decode steps with linearly rising times: from `first`, by `slope` per step.
  struct segment {
    std::int64_t steps = 0;
    double first = 0.0, slope = 0.0;

    double time(double n) const { return n * first + 0.5 * slope * n * (n - 1.0); }
    double last() const { return first + slope * static_cast<double>(steps - 1); }
  };
  /// The first segment of at most `most` decode steps; contexts grow by `growth` per step.
  segment decode_segment(int batch, double context, double growth, std::int64_t most) {
    const double at = knot_of(context);
    const auto i = static_cast<std::size_t>(at);
    const double low = value(batch, i), high = value(batch, i + 1);
    const double left = context_of(i), right = context_of(i + 1);
    const double per_token = (high - low) / (right - left);
    segment s;
    s.first = low + (context - left) * per_token;
    s.slope = growth * per_token;
    const double fits = std::ceil((right - context) / growth);
    s.steps = (std::min)(most, static_cast<std::int64_t>((std::max)(1.0, fits)));
    return s;
  }
  /// Number of engine steps that the policy was asked for.
  std::int64_t priced() const { return priced_; }

 private:
  static constexpr int knots_per_octave = 32, octaves = 24;
  static constexpr std::size_t knots = std::size_t{knots_per_octave} * octaves + 1;

  /// Contexts at the knots: 32 equal parts of each octave, from 1 token on.
  static double context_of(std::size_t i) {
    const double part = static_cast<double>(i % knots_per_octave) / knots_per_octave;
    return std::ldexp(1.0 + part, static_cast<int>(i / knots_per_octave));
  }
  static double knot_of(double context) {
    const double x = (std::max)(1.0, context);
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    const int exponent = static_cast<int>(bits >> 52) - 1023;
    const double mantissa =
        std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFu) | 0x3FF0000000000000u);
    return (std::min)((exponent + mantissa - 1.0) * knots_per_octave,
                      static_cast<double>(knots) - 1.001);
  }
  std::vector<double>& row_of(int batch) {
    const auto at = static_cast<std::size_t>(batch);
    if (rows_.size() <= at) rows_.resize((std::max)(at + 1, 2 * rows_.size()));
    if (rows_[at].empty()) rows_[at].assign(knots + 1, -1.0);
    return rows_[at];
  }
  double value(int batch, std::size_t i) {
    double& known = row_of(batch)[i];
    if (known < 0.0) {
      ++priced_;
      known = time_of({.decodes = double(batch), .context = context_of(i)});
    }
    return known;
  }
  double time_of(const simulated_step& s) {
    iteration i{.batch = stages_ * s.decodes,
                .context = (std::max)(1.0, s.context),
                .prefill_tokens = stages_ * s.prefill_tokens,
                .prefill_past = s.prefill_past,
                .prefill_sequences = stages_ * (std::max)(1.0, s.prefills)};
    double draft = 0.0;
    if (speculation_) draft = draft_time(i);
    return predict_.time(i).value() + draft;
  }
  /// Time of the drafter in a step; sets the tokens that the step verifies.
  double draft_time(iteration& i) {
    const speculation& s = *speculation_;
    const auto predict = [&](const deployment& d, const iteration& of) {
      return detail::prediction_of_step(d, of, policy_, detail::links_of<double>(policy_));
    };
    double time = 0.0;
    if (i.prefill_tokens > 0.0 && (s.by == drafter::model || s.by == drafter::layer)) {
      iteration prefill = i;
      prefill.batch = 0.0;
      time += predict(detail::drafter_deployment(deployment_, s), prefill).time.value();
    }
    if (i.batch > 0.0) {
      time += detail::draft_time(deployment_, s, i.batch, i.context, predict).value();
      i.tokens_per_sequence = s.width * s.length + 1.0;
    }
    return time;
  }

  deployment deployment_;
  Policy policy_;
  std::optional<speculation> speculation_;
  detail::predicted_step<
      double, Policy,
      std::remove_cvref_t<decltype(detail::links_of<double>(std::declval<const Policy&>()))>>
      predict_;
  double stages_;
  std::vector<std::vector<double>> rows_{};
  std::int64_t priced_ = 0;
};

}  // namespace perfmodel::inline v0_3
