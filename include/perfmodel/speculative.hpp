// Speculative decoding: speed-up, best draft length, break-even acceptance, and where it stops.
#pragma once

#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/choose.hpp>
#include <perfmodel/workload/acceptance.hpp>

namespace perfmodel {

/// Longest draft that best_draft_length looks at.
inline constexpr int longest_draft = 64;

/// Speed-up over plain decoding: emitted / (k c + 1), c the time of a draft step over that of a
/// target step. Source: Leviathan et al. 2023, theorem 3.8. Assumes that checking k + 1 tokens
/// costs one step, true while the target is memory-bound; else use the overload with times. Draft
/// heads that guess all k at once have c = their time / k. Test: a = 0.78, k = 5, E = 3.522.
template <Scalar T>
constexpr T speculative_speedup(const emitted_tokens_per_pass<T>& e, int draft_length,
                                const T& draft_cost_ratio) {
  const T cost = T(detail::draft_count(draft_length)) *
                     detail::not_negative("draft_cost_ratio", draft_cost_ratio) +
                 T(1.0);
  return named("speedup", e.quantity() / token / cost);
}
template <Scalar T>
constexpr T speculative_speedup(const T& acceptance, int draft_length, const T& draft_cost_ratio) {
  return speculative_speedup(emitted_tokens(acceptance, draft_length), draft_length,
                             draft_cost_ratio);
}

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
constexpr duration_per_token<T> time_per_token(const emitted_tokens_per_pass<T>& e,
                                               int draft_length,
                                               const basic_speculative_steps<T>& s) {
  return named("time per token",
               round_time(draft_length, s) / detail::positive("emitted", e.quantity()));
}
/// Speed-up with the step times of a batch: E t(B,1) / (k t_d(B) + t(B,k+1)). Equals the speed-up
/// above where verify = target. Test: 32, 0.8, 32 ms, a = 0.78, k = 5: 3.13.
template <Scalar T>
constexpr T speculative_speedup(const emitted_tokens_per_pass<T>& e, int draft_length,
                                const basic_speculative_steps<T>& s) {
  return named("speedup",
               detail::positive("target", s.target) / (time_per_token(e, draft_length, s) * token));
}

namespace detail {
/// The k in 1 .. longest of the greatest (1 + sum of reach(1 .. k)) / (k c + 1), the shortest of
/// equals. reach(lane, k) is the probability that the kth token is accepted, given those before.
template <Scalar T, class Reach>
constexpr per_lane<T, int> best_length(const T& cost_ratio, int longest, Reach&& next) {
  per_lane<T, int> out{};
  for (std::size_t lane = 0; lane < lanes_of<T>::count; ++lane) {
    const double c = lanes_of<T>::lane(cost_ratio, lane);
    double reached = 1.0;
    double sum = 1.0;
    double best = 0.0;
    int best_k = 1;
    for (int k = 1; k <= longest; ++k) {
      reached *= next(lane, k);
      sum += reached;
      const double gain = sum / (k * c + 1.0);
      if (gain > best) {
        best = gain;
        best_k = k;
      }
    }
    if constexpr (lanes_of<T>::count == 1)
      out = best_k;
    else
      out[lane] = best_k;
  }
  return out;
}
}  // namespace detail

/// Draft length of the greatest speed-up among 1 .. 64; the shorter of two equals. By position:
/// among as many as there are. It never answers 0: whether to speculate at all is speedup > 1.
/// Test: a = 0.8: 10 at c = 0.025, 6 at c = 0.08.
template <Scalar T>
constexpr per_lane<T, int> best_draft_length(const T& acceptance, const T& draft_cost_ratio) {
  detail::fraction("acceptance", acceptance);
  detail::not_negative("draft_cost_ratio", draft_cost_ratio);
  return detail::best_length(draft_cost_ratio, longest_draft, [&](std::size_t lane, int) {
    return lanes_of<T>::lane(acceptance, lane);
  });
}
template <Scalar T>
constexpr per_lane<T, int> best_draft_length(std::span<const T> acceptance,
                                             const T& draft_cost_ratio) {
  const int n = detail::draft_count(static_cast<int>(acceptance.size()));
  for (const T& a : acceptance) detail::fraction("acceptance", a);
  detail::not_negative("draft_cost_ratio", draft_cost_ratio);
  return detail::best_length(draft_cost_ratio, n, [&](std::size_t lane, int k) {
    return lanes_of<T>::lane(acceptance[static_cast<std::size_t>(k - 1)], lane);
  });
}

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

/// All of it at once. Where a draft step is slower than a target step, nothing breaks even:
/// infeasible with a reason, and break_even is then 1.
template <Scalar T = double>
struct basic_speculation_estimate {
  accepted_draft_tokens<T> accepted{};
  emitted_tokens_per_pass<T> emitted{};
  T speedup{};
  T break_even_acceptance{};
  per_lane<T, int> best_draft_length{};
  perfmodel::feasibility feasible{};
};
using speculation_estimate = basic_speculation_estimate<>;

namespace detail {
template <Scalar T>
constexpr basic_speculation_estimate<T> speculation(const accepted_draft_tokens<T>& kept, int k,
                                                    const T& c) {
  basic_speculation_estimate<T> e;
  e.accepted = kept;
  e.emitted = emitted_tokens(kept);
  e.speedup = speculative_speedup(e.emitted, k, c);
  if (upper(c) > 1.0) {
    e.feasible = infeasible("a draft step slower than a target step pays at no acceptance", "",
                            upper(c), 1.0);
    e.break_even_acceptance = T(1.0);
  } else {
    e.break_even_acceptance = perfmodel::break_even_acceptance(k, c);
  }
  return e;
}
}  // namespace detail

/// Test: a = 0.8, k = 4, c = 0.05: 3.3616 emitted, 2.80 times, break-even at 0.167.
template <Scalar T>
constexpr basic_speculation_estimate<T> speculate(const T& acceptance, int draft_length,
                                                  const T& draft_cost_ratio) {
  auto e = detail::speculation(accepted_tokens(acceptance, draft_length), draft_length,
                               draft_cost_ratio);
  e.best_draft_length = best_draft_length(acceptance, draft_cost_ratio);
  return e;
}
/// The same with one acceptance per position, the draft as long as there are positions.
template <Scalar T>
constexpr basic_speculation_estimate<T> speculate(std::span<const T> acceptance,
                                                  const T& draft_cost_ratio) {
  auto e = detail::speculation(accepted_tokens(acceptance), static_cast<int>(acceptance.size()),
                               draft_cost_ratio);
  e.best_draft_length = best_draft_length(acceptance, draft_cost_ratio);
  return e;
}

/// What a round computes over what plain decoding would for the same tokens: (k c_flop + k + 1) /
/// E, c_flop the draft's FLOP per token over the target's. Source: Leviathan et al. 2023,
/// theorem 3.11. Test: a = 0: k + 1 with a free draft.
template <Scalar T>
constexpr T flop_overhead(const emitted_tokens_per_pass<T>& e, int draft_length,
                          const T& draft_flop_ratio) {
  const T k(detail::draft_count(draft_length));
  const T done = k * detail::not_negative("draft_flop_ratio", draft_flop_ratio) + k + T(1.0);
  return named("operations", done / (detail::positive("emitted", e.quantity()) / token));
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

}  // namespace perfmodel
