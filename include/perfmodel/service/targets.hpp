// Targets on a service's latencies: the one place that says what meets them, and by how much it misses.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/service/serving_estimate.hpp>

namespace perfmodel {

/// A latency that the mean stays within, or that a `share` of all requests (of gaps: of tokens) does:
/// {0.2 * second, 0.99}.
template <Scalar T = double>
struct basic_latency_target {
  duration<T> limit{};
  std::optional<double> share{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("limit"), s.limit...);
    f(field::fraction("share"), s.share...);
  }
};
using latency_target = basic_latency_target<>;

/// What a service has to meet; without any, to keep up.
template <Scalar T = double>
struct basic_service_targets {
  std::optional<basic_latency_target<T>> ttft{};
  std::optional<basic_latency_target<T>> itl{};
  std::optional<basic_latency_target<T>> e2e{};

  /// Whether one of them is of a share of requests, which only predictions have.
  constexpr bool of_shares() const {
    return (ttft && ttft->share) || (itl && itl->share) || (e2e && e2e->share);
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("ttft", s.ttft...);
    f("itl", s.itl...);
    f("e2e", s.e2e...);
  }
};
using service_targets = basic_service_targets<>;

/// Each latency over its limit; 0 where it has none. Above 1 it misses.
struct target_misses {
  double ttft = 0.0;
  double itl = 0.0;
  double e2e = 0.0;

  constexpr double worst() const { return (std::max)({ttft, itl, e2e}); }
};

/// How far a service is from its targets, in its worst lane or at the worse end of a range. A bound has no
/// distribution: of it, the means.
/// Test: by hand, of means and of shares.
template <Scalar T>
constexpr target_misses misses_of(const basic_serving_estimate<T>& s,
                                  const basic_service_targets<T>& t) {
  const bool spread = s.first_token.size() > 0;
  const auto over = [&](const std::optional<basic_latency_target<T>>& target,
                        const duration<T>& mean, const auto& quantile) {
    if (!target) return 0.0;
    const duration<T> judged = target->share && spread ? quantile(*target->share) : mean;
    return upper(judged.value()) / lower(target->limit.value());
  };
  return {over(t.ttft, s.ttft, [&](double share) { return s.first_token.quantile(share); }),
          over(t.itl, s.itl, [&](double share) { return s.gap.quantile(share); }),
          over(t.e2e, s.e2e, [&](double share) { return s.e2e_quantile(share); })};
}

/// Whether a service is feasible and within them.
template <Scalar T>
constexpr bool meets(const basic_serving_estimate<T>& s, const basic_service_targets<T>& t) {
  return s.feasible && misses_of(s, t).worst() <= 1.0;
}

}  // namespace perfmodel
