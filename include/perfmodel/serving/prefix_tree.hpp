// Trees of shared prefixes: the hit rate of a prefix cache, and the number of sequences that fit
// when each shared prefix is stored once.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/serving/balance.hpp>

namespace perfmodel::inline v0_3 {

/// One level of a prefix tree: `prefixes` nodes in total (not per parent). Each node adds `tokens`
/// tokens to the prefix of its parent. A request passes through one node per level; all nodes of a
/// level are equally likely.
template <Scalar T = double>
struct basic_prefix_level {
  T tokens{};
  T prefixes = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("tokens"), s.tokens...);
    f(field::count("prefixes"), s.prefixes...);
  }
};
using prefix_level = basic_prefix_level<>;

/// Levels of a prefix tree, from the root to the leaves.
template <Scalar T = double>
using basic_prefix_levels = short_list<basic_prefix_level<T>, 6>;
using prefix_levels = basic_prefix_levels<>;

/// Shared-prefix tree of a load. The example {.levels = {{500, 1}, {2000, 40}, {3000, 600}},
/// .own_tokens = 200, .output_tokens = 300} has three levels: one system prompt, 40 tenants, and
/// 600 conversation histories. Each prompt ends with 200 unshared tokens (`own_tokens`). The 300
/// output tokens of a request stay in the cache after it.
template <Scalar T = double>
struct basic_prefix_tree {
  basic_prefix_levels<T> levels{};
  T own_tokens{};
  T output_tokens{};

  /// Tokens of a whole prompt: all levels and `own_tokens`.
  constexpr T tokens() const {
    T sum = own_tokens;
    for (const auto& level : levels) sum += level.tokens;
    return sum;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("levels", s.levels...);
    f(field::count("own_tokens"), s.own_tokens...);
    f(field::not_negative("output_tokens"), s.output_tokens...);
  }
};
using prefix_tree = basic_prefix_tree<>;

/// Result of prefix_hit_of.
template <Scalar T = double>
struct basic_prefix_hit_estimate {
  T hit_rate{};                 ///< cached share of all prompt tokens
  T requests_until_eviction{};  ///< requests after which an unused prefix is evicted
};
using prefix_hit_estimate = basic_prefix_hit_estimate<>;

namespace detail {

/// Tokens of a shared prefix over all levels.
template <Scalar T>
constexpr T tokens_of(const basic_prefix_levels<T>& levels) {
  T sum{};
  for (const auto& level : levels) sum += level.tokens;
  return sum;
}

/// Checks a prefix tree.
/// Errors: a field out of range; a level with fewer prefixes than the level before it.
template <Scalar T>
constexpr void check_tree(const basic_prefix_tree<T>& tree) {
  require_valid(tree);
  for (std::size_t i = 1; i < tree.levels.size(); ++i) {
    if (upper(tree.levels[i].prefixes) < lower(tree.levels[i - 1].prefixes))
      fail(error_code::inconsistent,
           "a level of a prefix tree has fewer prefixes than the one before");
  }
}

/// Checks that the shared prefix leaves at least one of the `tokens` tokens of a sequence unshared.
/// `allowed` is the range that the error message names.
/// Errors: a shared prefix that is not shorter than the sequence; a level with fewer prefixes than
/// the level before it.
template <Scalar T>
constexpr void check_shared(const basic_prefix_levels<T>& levels, const T& tokens,
                            const char* allowed) {
  if (levels.empty()) return;
  const T rest = tokens - tokens_of(levels);
  if (!(lower(rest) >= 1.0)) out_of_range("shared.tokens", upper(tokens_of(levels)), allowed);
  check_tree(basic_prefix_tree<T>{levels, rest, T(0.0)});
}

/// Probability that the last t requests used a particular one of n prefixes at least once:
/// 1 - exp(-t / n). Each request uses one of the n prefixes, all equally likely.
template <Scalar T>
constexpr T probability_seen_within(const T& n, const T& t) {
  using math::exp;
  return 1.0 - exp(T(-t / n));
}

/// Expected number of distinct prefixes that b requests use: n (1 - (1 - 1/n)^b). Each request uses
/// one of n prefixes, all equally likely.
template <Scalar T>
constexpr T distinct_prefixes(const T& n, const T& b) {
  using math::exp;
  using math::log;
  if (!(upper(n) > 1.0)) return scalar_min(b, T(1.0));
  return n * (1.0 - exp(T(b * log(T(1.0 - 1.0 / n)))));
}

}  // namespace detail

/// Hit rate of a prefix cache of `capacity` tokens that evicts the least recently used leaves
/// first. Che's approximation: a prefix is cached if one of the last t requests used it. The cache
/// is full at that t:
///   sum over levels i of n_i tokens_i (1 - exp(-t / n_i)) + t (own + output) = capacity
/// n_i is `prefixes` of level i, tokens_i its `tokens`; own and output are `own_tokens` and
/// `output_tokens`. The hit rate is sum of tokens_i (1 - exp(-t / n_i)) / tokens of a prompt.
/// Source: Che, Tung and Wang, "Hierarchical Web Caching Systems", IEEE JSAC 20(7), 2002; Zheng et
/// al., "SGLang", 2024, section 3 (radix tree, least recently used leaves).
/// Leaves out: unequal popularity of prefixes; storage in whole blocks; the regular order of the
/// turns of one conversation.
/// Errors: `own_tokens` or `capacity` below 1; a level with fewer prefixes than the level before
/// it.
/// Test: a tree computed by hand; a request-by-request replay of the cache, within 0.01; a cache
/// that holds everything hits all shared tokens; the hit rate rises with the capacity.
template <Scalar T>
constexpr basic_prefix_hit_estimate<T> prefix_hit_of(const basic_prefix_tree<T>& tree,
                                                     const std::type_identity_t<T>& capacity) {
  detail::check_tree(tree);
  detail::count("capacity", capacity);
  const auto filled = [&](const T& t) -> T {
    T sum = t * (tree.own_tokens + tree.output_tokens);
    for (const auto& level : tree.levels) {
      sum += level.prefixes * level.tokens * detail::probability_seen_within(level.prefixes, t);
    }
    return sum;
  };
  basic_prefix_hit_estimate<T> e;
  e.requests_until_eviction = named("reach", detail::balanced_batch(T(1e15), [&](const T& t) -> T {
                                      return t * (capacity / filled(t));
                                    }));
  T found{};
  for (const auto& level : tree.levels) {
    found +=
        level.tokens * detail::probability_seen_within(level.prefixes, e.requests_until_eviction);
  }
  e.hit_rate = named("prefix hit", found / tree.tokens());
  return e;
}

/// Number of sequences that fit in `capacity` tokens when each shared prefix is stored once. It is
/// the B that solves
///   B (own + output) + sum over levels i of tokens_i n_i (1 - (1 - 1/n_i)^B) = capacity
/// n_i is `prefixes` of level i, tokens_i its `tokens`; own and output are `own_tokens` and
/// `output_tokens`.
/// Source: expected number of distinct prefixes among B random requests (by definition).
/// Errors: as prefix_hit_of.
/// Test: one shared prefix gives (capacity - prefix) / (own + output); without shared prefixes the
/// result is capacity / (own + output).
template <Scalar T>
constexpr T sequences_sharing(const basic_prefix_tree<T>& tree,
                              const std::type_identity_t<T>& capacity) {
  detail::check_tree(tree);
  detail::count("capacity", capacity);
  const auto filled = [&](const T& b) -> T {
    T sum = b * (tree.own_tokens + tree.output_tokens);
    for (const auto& level : tree.levels) {
      sum += level.tokens * detail::distinct_prefixes(level.prefixes, b);
    }
    return sum;
  };
  return named("sequences", detail::balanced_batch(T(1e15), [&](const T& b) -> T {
                 return b * (capacity / filled(b));
               }));
}

/// Conversation of `turns` turns. Each turn has a question of `question` tokens and an output of
/// `output` tokens. The prompt of turn j begins with a history of (j - 1) (question + output)
/// tokens.
template <Scalar T = double>
struct basic_conversation {
  T turns = T(1.0);
  T question{};
  T output{};

  /// Mean length of the history over all turns: (turns - 1) / 2 x (question + output).
  constexpr T history() const { return 0.5 * (turns - 1.0) * (question + output); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("turns"), s.turns...);
    f(field::count("question"), s.question...);
    f(field::count("output"), s.output...);
  }
};
using conversation = basic_conversation<>;

/// Prefix tree of `conversations` concurrent conversations with a common system prompt of
/// `system_prompt` tokens. Every turn is counted with the mean length of the history.
/// Test: three turns with questions of 100 and outputs of 200 tokens have histories of 0, 300 and
/// 600, 300 on average.
template <Scalar T>
constexpr basic_prefix_tree<T> prefix_tree_of(const basic_conversation<T>& c,
                                              const std::type_identity_t<T>& system_prompt,
                                              const std::type_identity_t<T>& conversations) {
  require_valid(c);
  basic_prefix_tree<T> tree;
  tree.levels.push_back({system_prompt, T(1.0)});
  tree.levels.push_back({c.history(), conversations});
  tree.own_tokens = c.question;
  tree.output_tokens = c.output;
  return tree;
}

}  // namespace perfmodel::inline v0_3
