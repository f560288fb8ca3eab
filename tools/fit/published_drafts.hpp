// Traces of drafts: what they would yield at every position of a text, and what rounds of them did.
#pragma once

#include <algorithm>
#include <array>
#include <perfmodel/laws/acceptance.hpp>
#include <string>
#include <vector>

#include "tables.hpp"

namespace published {

/// Draft lengths with measured speculation rounds.
inline constexpr std::array<int, 6> traced_lengths{1, 2, 3, 4, 5, 7};

/// Requests of one text by one drafter.
struct traced_speculation {
  struct request {
    double tokens = 0.0;
    std::array<double, traced_lengths.size()> per_pass{};
  };
  std::string text, proposer;
  std::vector<double> accepted_at;  ///< positions of the text that keep 0, 1, ... tokens
  std::vector<request> requests;

  /// Tokens over steps of all requests, or of every second one.
  double tokens_per_step(int length, int half = -1) const {
    const auto which = static_cast<std::size_t>(
        std::find(traced_lengths.begin(), traced_lengths.end(), length) - traced_lengths.begin());
    double tokens = 0.0, passes = 0.0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (half >= 0 && static_cast<int>(i % 2) != half) continue;
      tokens += requests[i].tokens;
      passes += requests[i].tokens / requests[i].per_pass[which];
    }
    return tokens / passes;
  }
  /// Acceptance of the first five positions: tokens that one more draft token adds, over those that
  /// the draft token before it added.
  std::vector<double> by_position(int half = -1) const {
    std::vector<double> out;
    double before = 1.0, added = 1.0;
    for (int k = 1; k <= 5; ++k) {
      const double e = tokens_per_step(k, half);
      out.push_back((e - before) / added);
      added = e - before;
      before = e;
    }
    return out;
  }
  /// One acceptance of all positions but the first: least squares of the relative errors.
  double later_acceptance() const {
    const double first = by_position()[0];
    double best = 0.0, least = 1e300;
    for (int i = 0; i <= 1000; ++i) {
      const pm::basic_acceptance<double> a(first, 1e-3 * i);
      double sum = 0.0;
      for (const int k : traced_lengths) {
        const double r = pm::emitted_tokens(a, k).quantity().value() / tokens_per_step(k) - 1.0;
        sum += r * r;
      }
      if (sum < least) {
        least = sum;
        best = 1e-3 * i;
      }
    }
    return best;
  }
  /// 1 + P(1 or more kept) + ...: over positions, not over rounds.
  double mean_over_positions(int length) const {
    double all = 0.0, sum = 0.0;
    for (std::size_t l = 0; l < accepted_at.size(); ++l) {
      all += accepted_at[l];
      sum += accepted_at[l] * static_cast<double>(std::min(l, static_cast<std::size_t>(length)));
    }
    return 1.0 + sum / all;
  }
};

inline std::vector<traced_speculation> traces_of_speculation(const std::string& folder) {
  std::vector<traced_speculation> out;
  const auto of = [&out](const common::table_row& r) -> traced_speculation& {
    const std::string &text = r.text("dataset"), &proposer = r.text("proposer");
    for (traced_speculation& t : out) {
      if (t.text == text && t.proposer == proposer) return t;
    }
    out.push_back({text, proposer, {}, {}});
    return out.back();
  };
  for (const auto& r : rows_of(folder, "specdecbench_llama8b_acclen_hist_public.csv")) {
    of(r).accepted_at.push_back(r.number("count"));
  }
  for (const auto& r : rows_of(folder, "specdecbench_llama8b_per_request_public.csv")) {
    traced_speculation::request q{r.number("output_tokens"), {}};
    for (std::size_t i = 0; i < traced_lengths.size(); ++i) {
      q.per_pass[i] = r.number(common::cat("tokens_per_step_k", traced_lengths[i]).c_str());
    }
    of(r).requests.push_back(q);
  }
  return out;
}

/// One drafter on another text.
inline const traced_speculation& same_drafter_elsewhere(const std::vector<traced_speculation>& all,
                                                        const traced_speculation& t) {
  for (const traced_speculation& o : all) {
    if (o.proposer == t.proposer && o.text != t.text) return o;
  }
  return t;
}

}  // namespace published
