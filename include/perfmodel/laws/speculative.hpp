// Speculative decoding: speed-up, best draft length, break-even acceptance and limits.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/laws/acceptance.hpp>
#include <perfmodel/scalar/math.hpp>

namespace perfmodel::inline v0_3 {

/// Speed-up over plain decoding: emitted / (k c + 1), c the time of a draft step over that of a
/// target step. Source: Leviathan et al. 2023, theorem 3.8. Assumes that checking k + 1 tokens
/// costs one step, true while the target is memory-bound; else use the overload with times. Draft
/// heads that guess all k at once have c = their time / k. Test: a = 0.78, k = 5, E = 3.522.
template <Scalar T>
constexpr T speculative_speedup(const emitted_tokens_per_round<T>& e, int draft_length,
                                const std::type_identity_t<T>& draft_cost_ratio) {
  const T cost = T(detail::draft_count(draft_length)) *
                     detail::not_negative("draft_cost_ratio", draft_cost_ratio) +
                 T(1.0);
  return named("speedup", e.quantity() / token / cost);
}
/// Speedup from an acceptance: emitted / (k c + 1).
template <Acceptance A, Number Ratio>
constexpr auto speculative_speedup(const A& acceptance, int draft_length,
                                   const Ratio& draft_cost_ratio) {
  using T = detail::acceptance_t<A, Ratio>;
  return speculative_speedup(emitted_tokens(basic_acceptance<T>(acceptance), draft_length),
                             draft_length, T(draft_cost_ratio));
}

/// Refused: accepted tokens lack the token that the target emits itself.
template <Scalar T, class Cost>
T speculative_speedup(const accepted_draft_tokens<T>& not_emitted, int, const Cost&) = delete;

/// The steps of one round at the batch at hand: the target decoding one token per sequence, one
/// draft step, and the target checking k + 1 tokens per sequence.
template <Scalar T = double>
struct basic_speculative_steps {
  duration<T> target{};
  duration<T> draft{};
  duration<T> verify{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("target"), s.target...);
    f(field::not_negative("draft"), s.draft...);
    f(field::positive("verify"), s.verify...);
  }
};
using speculative_steps = basic_speculative_steps<>;

/// Length of a round: k t_draft + t_verify. No token of a round comes sooner, so gaps between
/// tokens have this for their tail. Test: 5 drafts in 4 ms, 32 ms to verify: 36 ms.
template <Scalar T>
constexpr duration<T> round_time(int draft_length, const basic_speculative_steps<T>& s) {
  return named("round", static_cast<double>(detail::draft_count(draft_length)) *
                                detail::not_negative("draft", s.draft) +
                            detail::positive("verify", s.verify));
}
/// Mean time per token: round / emitted. Test: 36 ms and 3.522 tokens: 10.22 ms.
template <Scalar T>
constexpr duration_per_token<T> time_per_token(const emitted_tokens_per_round<T>& e,
                                               int draft_length,
                                               const basic_speculative_steps<T>& s) {
  return named("time per token",
               round_time(draft_length, s) / detail::positive("emitted", e.quantity()));
}
/// Speed-up with the step times of a batch: E t(B,1) / (k t_d(B) + t(B,k+1)). Equals the speed-up
/// above where verify = target. Test: 32, 0.8, 32 ms, a = 0.78, k = 5: 3.13.
template <Scalar T>
constexpr T speculative_speedup(const emitted_tokens_per_round<T>& e, int draft_length,
                                const basic_speculative_steps<T>& s) {
  return named("speedup",
               detail::positive("target", s.target) / (time_per_token(e, draft_length, s) * token));
}

/// Draft length of the greatest speed-up, the shortest of equals, among 1 .. 64, or by position
/// among as many as there are. It never answers 0: whether to speculate at all is speedup > 1.
/// Drafts that cost nothing (c = 0) gain with every token, so that no length is the best: the
/// longest is then answered. Test: a = 0.8: 10 at c = 0.025, 6 at c = 0.08.
template <Acceptance A, Number Ratio>
constexpr auto best_draft_length(const A& acceptance, const Ratio& draft_cost_ratio) {
  using T = detail::acceptance_t<A, Ratio>;
  const basic_acceptance<T> chance = basic_acceptance<T>(acceptance);
  const T cost = detail::not_negative("draft_cost_ratio", T(draft_cost_ratio));
  const double c = mid(cost);
  double reached = 1.0;  // the probability that all up to k are accepted
  double sum = 1.0;
  double best = 0.0;
  int best_k = 1;
  for (int k = 1; k <= chance.longest(); ++k) {
    reached *= mid(chance.at(k));
    sum += reached;
    const double gain = sum / (k * c + 1.0);
    if (gain > best) {
      best = gain;
      best_k = k;
    }
  }
  return best_k;
}

namespace detail {
/// a + a^2 + ... + a^k, and its derivative, by Horner's rule: exact at a = 1, no division.
template <Scalar T>
constexpr T geometric(const T& a, int k) {
  T sum = a;
  for (int i = 1; i < k; ++i) sum = a * (T(1.0) + sum);
  return sum;
}
constexpr double geometric_slope(double a, int k) {
  double slope = 0.0;
  for (int i = k; i >= 1; --i) slope = slope * a + i;
  return slope;
}
}  // namespace detail

/// The acceptance at which speculation neither gains nor loses: a + ... + a^k = k c, the root of
/// speed-up = 1 in Leviathan et al. 2023, theorem 3.8. It exists for c in 0 .. 1: a draft step
/// slower than a target step never gains. Errors: draft_cost_ratio above 1. Tests: k = 4: 0.054,
/// 0.167, 0.231, 0.287 at k c = 0.057, 0.2, 0.3, 0.4; speed-up 1 there.
template <Scalar T>
constexpr T break_even_acceptance(int draft_length, const T& draft_cost_ratio) {
  const int k = detail::draft_count(draft_length);
  detail::within("draft_cost_ratio", draft_cost_ratio, 0.0, 1.0,
                 "0 to 1: beyond, no acceptance pays");
  const auto root = [k](double c) {
    double lo = 0.0;
    double hi = 1.0;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (lo + hi);
      (detail::geometric(middle, k) < k * c ? lo : hi) = middle;
    }
    return c > 0.0 ? hi : 0.0;
  };
  const auto slope = [k](double a) { return detail::geometric_slope(a, k); };
  const auto residual = [k](const T& a, const T& c) {
    return detail::geometric(a, k) - T(double(k)) * c;
  };
  return named("break-even", detail::solved(draft_cost_ratio, root, slope, residual));
}
/// Break-even acceptance for a whole ratio, such as 0.
template <std::integral Ratio>
constexpr double break_even_acceptance(int draft_length, Ratio draft_cost_ratio) {
  return break_even_acceptance(draft_length, static_cast<double>(draft_cost_ratio));
}

/// All of it at once. Where a draft step is slower than a target step, nothing breaks even:
/// infeasible with a reason, and break_even is then 1.
template <Scalar T = double>
struct basic_speculation_estimate {
  accepted_draft_tokens<T> accepted{};
  emitted_tokens_per_round<T> emitted{};
  T speedup{};
  T break_even_acceptance{};
  int best_draft_length = 0;
  perfmodel::feasibility feasible{};
};
using speculation_estimate = basic_speculation_estimate<>;

/// Test: a = 0.8, k = 4, c = 0.05: 3.3616 emitted, 2.80 times, break-even at 0.167.
template <Acceptance A, Number Ratio>
constexpr auto speculate(const A& acceptance, int draft_length, const Ratio& draft_cost_ratio) {
  using T = detail::acceptance_t<A, Ratio>;
  const T c(draft_cost_ratio);
  const basic_acceptance<T> chance = basic_acceptance<T>(acceptance);
  basic_speculation_estimate<T> e;
  e.accepted = accepted_tokens(chance, draft_length);
  e.emitted = emitted_tokens(e.accepted);
  e.speedup = speculative_speedup(e.emitted, draft_length, c);
  e.best_draft_length = best_draft_length(chance, c);
  if (upper(c) > 1.0) {
    e.feasible = infeasible("a draft step slower than a target step pays at no acceptance", "",
                            upper(c), 1.0);
    e.break_even_acceptance = T(1.0);
  } else {
    e.break_even_acceptance = perfmodel::break_even_acceptance(draft_length, c);
  }
  return e;
}
/// Speculation with a draft as long as there are positions.
template <detail::Positions A, Number Ratio>
constexpr auto speculate(const A& acceptance, const Ratio& draft_cost_ratio) {
  return speculate(acceptance, static_cast<int>(std::span(acceptance).size()), draft_cost_ratio);
}

/// Sequences at which checking k + 1 tokens each meets the ridge point, so that drafts stop being
/// free: B = I* b_w / (2 (k + 1)), with 2 B (k + 1) FLOP for every b_w bytes of weights. Leaves out
/// the KV cache, which delays it. Test: I* = 295.2, k = 5: 49 in bf16, 12.3 in int4.
template <Scalar T>
constexpr T verification_batch_limit(const intensity<T>& ridge, const bytes<T>& bytes_per_weight,
                                     int draft_length) {
  const T work = T(2.0) * (T(detail::draft_count(draft_length)) + T(1.0));
  return named("batch limit", detail::positive("ridge", ridge) *
                                  detail::positive("bytes_per_weight", bytes_per_weight) / flop) /
         work;
}

}  // namespace perfmodel::inline v0_3
