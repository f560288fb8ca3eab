// Drafts copied from the text so far: they are kept in runs, so that where a round begins matters.
#pragma once

#include <perfmodel/workload/acceptance.hpp>

namespace perfmodel {

/// Tokens per pass of a drafter that copies (n-grams, prompt lookup), from what its drafts would yield at
/// every position of a text: counts[l] is how many positions would keep l tokens, the last of them that
/// many or more. A copy that holds for l tokens holds for l - 1 one token on, so positions make runs:
///   runs        N = counts[0]                 every run ends where nothing is kept
///   runs of m+  S(m) = counts[m] / N
///   tokens      sum of counts                 a run of m gives m + 1
///   rounds      N (1 + S(k+1) + S(2(k+1)) + ...)
/// and tokens per pass are tokens / rounds. The mean over positions, 1 + P(1+) + ... + P(k+), is more than
/// any engine sees: a long run fills many positions and takes few rounds, and a round begins where the one
/// before failed, not anywhere.
/// Source: derived here, as the length bias of renewal theory (Feller, volume II, section XI.4); held
/// against traces in tests/property/speculation_measured.cpp. Leaves out a drafter that finds another copy
/// within a run, and the one that learns from the text (EAGLE), whose next draft does not go on where the
/// last one stopped: for those it is an upper limit, by up to a fifth. Errors: a negative count, no position
/// that keeps nothing, draft_length outside 1 .. 4096.
/// Test: one run of 5 by drafts of 2: 6 tokens in 2 rounds; no run: 1 token per pass.
template <Scalar T>
constexpr emitted_tokens_per_pass<T> emitted_tokens_of_runs(std::span<const T> counts,
                                                            int draft_length) {
  const auto round = static_cast<std::size_t>(detail::draft_count(draft_length)) + 1;
  if (counts.empty())
    detail::fail(error_code::inconsistent, "counts has no entry; allowed: one or more");
  T emitted(0.0);
  T rounds(0.0);
  for (std::size_t l = 0; l < counts.size(); ++l) {
    emitted += detail::not_negative("counts", counts[l]);
    if (l % round == 0) rounds += counts[l];
  }
  detail::positive("counts[0]", counts[0]);
  return emitted_tokens_per_pass<T>(named("emitted tokens", emitted / rounds * token));
}

}  // namespace perfmodel
