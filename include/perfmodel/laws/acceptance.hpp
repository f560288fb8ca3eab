// Acceptance of draft tokens, and tokens accepted and emitted per target step.
#pragma once

#include <array>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/convention.hpp>
#include <perfmodel/units/named.hpp>
#include <span>

namespace perfmodel::inline v0_3 {

namespace convention {
struct accepted;  // draft tokens that the target model keeps
struct emitted;   // those, and the one that the target model adds itself
}  // namespace convention

template <class T = double>
using accepted_draft_tokens = qualified<convention::accepted, tokens<T>>;
template <class T = double>
using emitted_tokens_per_round = qualified<convention::emitted, tokens<T>>;

namespace detail {
inline constexpr int largest_draft = 4096;
constexpr int draft_count(int draft_length) {
  within("draft_length", static_cast<double>(draft_length), 1.0, double(largest_draft),
         "1 to 4096");
  return draft_length;
}
}  // namespace detail

/// Longest draft considered where every position has one acceptance.
inline constexpr int longest_draft = 64;

/// Probability that the target model accepts a draft token, given that it accepted those before:
/// one for every position; one for the first and one for all later ones, which is as close as
/// traces tell apart (docs/laws/speculative.md); or one per position, in a span or an array that
/// outlives this view.
/// Errors: a probability outside 0 .. 1; no position, or more than 4096.
/// Test: 0.2, then 0.6: a draft of 3 yields 0.2 (1 + 0.6 + 0.36) = 0.392.
template <Scalar T = double>
class basic_acceptance {
 public:
  constexpr basic_acceptance(const T& every) : basic_acceptance(every, every) {}
  constexpr basic_acceptance(const T& first, const T& later)
      : first_(detail::fraction("acceptance", first)),
        later_(detail::fraction("later_acceptance", later)) {}
  constexpr basic_acceptance(std::span<const T> each) : each_(each) {
    detail::draft_count(static_cast<int>(each.size()));
    for (const T& a : each) detail::fraction("acceptance", a);
  }

  /// Longest draft with known acceptances.
  constexpr int longest() const {
    return each_.empty() ? longest_draft : static_cast<int>(each_.size());
  }
  /// Acceptance of token k (from 1), given those before.
  constexpr const T& at(int k) const {
    if (each_.empty()) return k == 1 ? first_ : later_;
    return each_[static_cast<std::size_t>(k - 1)];
  }
  /// a_1 + a_1 a_2 + ... + a_1 ... a_k: by Horner's rule, exact at 1, without a division.
  constexpr T accepted(int k) const {
    detail::draft_count(k);
    if (!each_.empty() && k > longest()) {
      detail::fail(error_code::inconsistent, "draft_length is above the positions of acceptance");
    }
    T sum = at(k);
    for (int i = k - 1; i >= 1; --i) sum = at(i) * (T(1.0) + sum);
    return sum;
  }

 private:
  T first_{};
  T later_{};
  std::span<const T> each_{};
};

namespace detail {
template <class A>
concept Positions = requires(const A& a) {
  std::span(a);
}
&&!Number<A>;
template <class A>
struct acceptance_scalar {
  using type = A;
};
template <Positions A>
struct acceptance_scalar<A> {
  using type = typename decltype(std::span(std::declval<const A&>()))::value_type;
};
template <Scalar T>
struct acceptance_scalar<basic_acceptance<T>> {
  using type = T;
};
/// Common scalar of an acceptance and its other arguments.
template <class A, class... N>
using acceptance_t = promoted<typename acceptance_scalar<A>::type, N...>;

template <class A>
inline constexpr bool is_acceptance = Number<A> || Positions<A>;
template <Scalar T>
inline constexpr bool is_acceptance<basic_acceptance<T>> = true;
}  // namespace detail

/// Arguments that a law takes for an acceptance: a number, a span or array of them, or a
/// basic_acceptance.
template <class A>
concept Acceptance = detail::is_acceptance<A>;

/// Draft tokens accepted per target step, where the first rejection ends the draft: a_1 + a_1 a_2 +
/// ... + a_1 ... a_k, which is a (1 - a^k) / (1 - a) where all are equal. The default draft_length
/// is the number of positions.
/// Source: Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative
/// Decoding", ICML 2023, equation (1), less the bonus token.
/// Errors: draft_length outside 1 .. 4096, or above the positions. Tests: a = 0.8, k = 4: 2.3616;
/// equal positions give the geometric sum.
template <Acceptance A>
constexpr auto accepted_tokens(const A& acceptance, int draft_length) {
  using T = detail::acceptance_t<A>;
  const T sum = basic_acceptance<T>(acceptance).accepted(draft_length);
  return accepted_draft_tokens<T>(named("accepted tokens", sum * token));
}
/// Accepted draft tokens with one acceptance per position: a_1 + a_1 a_2 + ...
template <detail::Positions A>
constexpr auto accepted_tokens(const A& acceptance) {
  return accepted_tokens(acceptance, static_cast<int>(std::span(acceptance).size()));
}

/// emitted = accepted + 1: the step that rejects a token, or accepts all, yields one of its own.
template <Scalar T>
constexpr emitted_tokens_per_round<T> emitted_tokens(const accepted_draft_tokens<T>& accepted) {
  return emitted_tokens_per_round<T>(named("emitted tokens", accepted.quantity() + lift<T>(token)));
}
/// accepted = emitted - 1.
template <Scalar T>
constexpr accepted_draft_tokens<T> accepted_tokens(const emitted_tokens_per_round<T>& tokens_out) {
  return accepted_draft_tokens<T>(tokens_out.quantity() - lift<T>(token));
}

/// Tokens emitted per target step: (1 - a^(k+1)) / (1 - a), or 1 + the sum of products by position.
/// Source: Leviathan et al. 2023, equation (1). Tests: a = 0.8, k = 4: 3.3616; between 1 and k + 1.
template <Acceptance A>
constexpr auto emitted_tokens(const A& acceptance, int draft_length) {
  using T = detail::acceptance_t<A>;
  const T sum = basic_acceptance<T>(acceptance).accepted(draft_length);
  return emitted_tokens(accepted_draft_tokens<T>(named("accepted tokens", sum * token)));
}
/// Emitted tokens with one acceptance per position: accepted + 1.
template <detail::Positions A>
constexpr auto emitted_tokens(const A& acceptance) {
  return emitted_tokens(accepted_tokens(acceptance));
}

// Draft trees: several candidates for a position, of which the target model accepts at most one.

/// Node of a draft tree: its parent's index, -1 for a first token, and the probability that the
/// target model accepts it, given that it accepted the parent. Parents stand before children.
template <Scalar T = double>
struct basic_tree_node {
  int parent = -1;
  T acceptance{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("parent", s.parent...);
    f(field::fraction("acceptance"), s.acceptance...);
  }
};
using tree_node = basic_tree_node<>;

/// Draft tokens accepted per target step from a tree: the sum over nodes of all
/// acceptances from the root, multiplied. Siblings exclude each other, so those of one parent add
/// up to at most 1. A chain gives a_1 + a_1 a_2 + ...
/// Source: Cai et al., "Medusa", 2024, section 2.3.3; Miao et al., "SpecInfer", ASPLOS 2024
/// (trees).
/// Leaves out: the cost of verifying all nodes in one step (speculate takes the number of them).
/// Errors: a parent that does not stand before its child, an acceptance outside 0 to 1, siblings
/// that add up to more than 1. Tests: a chain; 0.6 and 0.2 below 0.6: 0.6 + 0.36 + 0.12 = 1.08.
template <Scalar T>
constexpr accepted_draft_tokens<T> accepted_tokens_of_tree(
    std::span<const basic_tree_node<T>> tree) {
  T sum(0.0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    detail::within("parent", static_cast<double>(tree[i].parent), -1.0,
                   static_cast<double>(i) - 1.0, "-1, or a node before this one");
    T siblings(0.0);
    for (std::size_t j = 0; j <= i; ++j) {
      if (tree[j].parent == tree[i].parent) siblings += tree[j].acceptance;
    }
    detail::within("acceptance of siblings", siblings, 0.0, 1.0 + 1e-9, "0 to 1 in all");
    T path(1.0);
    for (int at = static_cast<int>(i); at >= 0; at = tree[static_cast<std::size_t>(at)].parent) {
      path *= detail::fraction("acceptance", tree[static_cast<std::size_t>(at)].acceptance);
    }
    sum += path;
  }
  return accepted_draft_tokens<T>(named("accepted tokens", sum * token));
}

/// Draft tokens accepted from the best tree of `nodes` nodes, if the draft's k-th candidate is
/// accepted with probability by_rank[k] at every position: the nodes of the largest products,
/// chosen greedily.
/// Source: Cai et al. 2024, section 2.3.3. Errors: nodes outside 1 to 256, no candidate, a
/// candidate above the one before it.
/// Tests: 0.6 and 0.2, 4 nodes: 0.6 + 0.36 + 0.216 + 0.2 = 1.376; one candidate: a chain.
template <Scalar T>
constexpr accepted_draft_tokens<T> accepted_tokens_of_best_tree(std::span<const T> by_rank,
                                                                int nodes) {
  detail::within("nodes", static_cast<double>(nodes), 1.0, 256.0, "1 to 256");
  detail::positive("candidates", static_cast<double>(by_rank.size()));
  T in_all(0.0);
  for (std::size_t k = 0; k < by_rank.size(); ++k) {
    in_all += detail::fraction("acceptance", by_rank[k]);
    if (k > 0)
      detail::within("acceptance", by_rank[k], 0.0, upper(by_rank[k - 1]), "falling ranks");
  }
  detail::within("acceptance of siblings", in_all, 0.0, 1.0 + 1e-9, "0 to 1 in all");
  std::array<T, 257> product{};             // of each node, the root first
  std::array<std::size_t, 257> children{};  // candidates of a node that are in the tree
  product[0] = T(1.0);
  T sum(0.0);
  for (std::size_t count = 1; count <= static_cast<std::size_t>(nodes); ++count) {
    std::size_t best = 0;
    T largest(-1.0);
    for (std::size_t i = 0; i < count; ++i) {
      if (children[i] == by_rank.size()) continue;
      const T next = product[i] * by_rank[children[i]];
      if (upper(next) > upper(largest)) {
        largest = next;
        best = i;
      }
    }
    ++children[best];
    product[count] = largest;
    sum += largest;
  }
  return accepted_draft_tokens<T>(named("accepted tokens", sum * token));
}

// Drafts from earlier text: accepted tokens come in runs, so a round's first position matters.

/// Tokens per step of an n-gram or prompt-lookup drafter, from its accepted lengths at every
/// position of a text: counts[l] positions accept l tokens; the last counts that many or more. A
/// match of l tokens matches l - 1 one token on, so positions form runs:
///   runs        N = counts[0]                 every run ends where nothing is accepted
///   runs of m+  S(m) = counts[m] / N
///   tokens      sum of counts                 a run of m gives m + 1
///   rounds      N (1 + S(k+1) + S(2(k+1)) + ...)
/// Tokens per step are tokens / rounds. The mean over positions, 1 + P(1+) + ... + P(k+), is above
/// any engine's: a long run fills many positions and few rounds, and a round begins where the one
/// before failed.
/// Source: derived here, as the length bias of renewal theory (Feller, volume II, section XI.4);
/// compared with traces in tests/property/speculation_measured.cpp.
/// A last count c above the one before, p, shows that the histogram is cut. Runs beyond it are
/// taken to be geometric: S(l + 1) = (1 - p / c) S(l), assumed. No step yields more than k + 1
/// tokens.
/// Leaves out a drafter that finds another match within a run, and one that learns from the text
/// (EAGLE): its next draft does not continue the last one. For those it is an upper limit, by up to
/// a fifth.
/// Errors: a negative count, no position that accepts nothing, draft_length outside 1 .. 4096.
/// Tests: one run of 5 by drafts of 2: 6 tokens in 2 rounds; no run: 1 token per step; {1, 1, 4} by
/// drafts of 2: 6 tokens in 1 + 0.75 + 0.75^4 + ... = 2.297 rounds.
template <Scalar T>
constexpr emitted_tokens_per_round<T> emitted_tokens_of_runs(std::span<const T> counts,
                                                             int draft_length) {
  const auto round = static_cast<std::size_t>(detail::draft_count(draft_length)) + 1;
  if (counts.empty())
    detail::fail(error_code::inconsistent, "counts has no entry; allowed: one or more");
  T emitted(0.0);
  T rounds(0.0);
  const std::size_t last = counts.size() - 1;
  const T before = last > 0 ? counts[last - 1] : counts[last];
  for (std::size_t l = 0; l <= last; ++l) {
    emitted += detail::not_negative("counts", counts[l]);
    if (l % round == 0) rounds += l < last ? counts[l] : scalar_min(counts[l], before);
  }
  detail::positive("counts[0]", counts[0]);
  // Rounds that begin beyond a cut, at the next multiple of k + 1 and each k + 1 further.
  const T floor(1e-300);
  const T stays = T(1.0) - before / scalar_max(scalar_max(counts[last], before), floor);
  T reach(1.0), each(1.0);
  for (std::size_t l = 0; l < round; ++l) each *= stays;
  for (std::size_t l = last; l % round != 0 || l == last; ++l) reach *= stays;
  rounds += before * reach / scalar_max(T(T(1.0) - each), floor);
  const double most = static_cast<double>(round);
  return emitted_tokens_per_round<T>(
      named("emitted tokens", scalar_min(T(emitted / rounds), T(most)) * token));
}

}  // namespace perfmodel::inline v0_3
