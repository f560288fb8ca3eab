// Trees of shared prefixes: hit rate of a cache, and sequences that fit with shared storage.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/serving/balance.hpp>

namespace perfmodel::inline v0_3 {

/// One level of a prefix tree: `prefixes` distinct prefixes of `tokens` tokens each. A request has
/// one of them, all equally likely.
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

/// Levels of a prefix tree, root first.
template <Scalar T = double>
using basic_prefix_levels = short_list<basic_prefix_level<T>, 6>;
using prefix_levels = basic_prefix_levels<>;

/// Shared-prefix tree of a load. {.levels = {{500, 1}, {2000, 40}, {3000, 600}}, .own = 200,
/// .output = 300} is a system prompt, 40 tenants and 600 conversations with their history. A prompt
/// has 200 tokens of its own, and its output of 300 tokens stays cached too.
template <Scalar T = double>
struct basic_prefix_tree {
  basic_prefix_levels<T> levels{};
  T own{};
  T output{};

  /// Tokens of a prompt.
  constexpr T tokens() const {
    T sum = own;
    for (const auto& level : levels) sum += level.tokens;
    return sum;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("levels", s.levels...);
    f(field::count("own"), s.own...);
    f(field::not_negative("output"), s.output...);
  }
};
using prefix_tree = basic_prefix_tree<>;

/// Hit rate of a prefix cache.
template <Scalar T = double>
struct basic_prefix_hit_estimate {
  T hit{};    ///< share of prompt tokens that hit
  T reach{};  ///< requests after which an unused prefix is evicted
};
using prefix_hit_estimate = basic_prefix_hit_estimate<>;

namespace detail {

template <Scalar T>
constexpr T tokens_of(const basic_prefix_levels<T>& levels) {
  T sum{};
  for (const auto& level : levels) sum += level.tokens;
  return sum;
}

template <Scalar T>
constexpr void check_tree(const basic_prefix_tree<T>& tree) {
  require_valid(tree);
  for (std::size_t i = 1; i < tree.levels.size(); ++i) {
    if (upper(tree.levels[i].prefixes) < lower(tree.levels[i - 1].prefixes))
      fail(error_code::inconsistent,
           "a level of a prefix tree has fewer prefixes than the one before");
  }
}

/// Checks the prefixes of sequences of `tokens` tokens.
/// Errors: prefixes as long as the sequences; fewer on a level than on the one before.
template <Scalar T>
constexpr void check_shared(const basic_prefix_levels<T>& levels, const T& tokens,
                            const char* allowed) {
  if (levels.empty()) return;
  const T rest = tokens - tokens_of(levels);
  if (!(lower(rest) >= 1.0)) out_of_range("shared.tokens", upper(tokens_of(levels)), allowed);
  check_tree(basic_prefix_tree<T>{levels, rest, T(0.0)});
}

/// Probability that one of n equally likely prefixes is among the last t requests: 1 - exp(-t / n).
template <Scalar T>
constexpr T probability_seen_within(const T& n, const T& t) {
  using math::exp;
  return 1.0 - exp(T(-t / n));
}

/// Expected distinct prefixes, of n equally likely, among B requests: n (1 - (1 - 1/n)^B).
template <Scalar T>
constexpr T distinct_prefixes(const T& n, const T& b) {
  using math::exp;
  using math::log;
  if (!(upper(n) > 1.0)) return scalar_min(b, T(1.0));
  return n * (1.0 - exp(T(b * log(T(1.0 - 1.0 / n)))));
}

}  // namespace detail

/// Hit rate of a prefix cache with least-recently-used eviction, leaves first. A prefix is cached
/// if it was used within the last t requests (Che's approximation), with t from
///   sum of n_i tokens_i (1 - exp(-t / n_i)) + t (own + output) = capacity.
/// Source: Che, Tung and Wang, "Hierarchical Web Caching Systems", IEEE JSAC 20(7), 2002; Zheng et
/// al., "SGLang", 2024, section 3 (radix tree, least recently used leaves).
/// Leaves out: unequal popularity; blocks; turns of one conversation in regular order.
/// Errors: own or capacity below 1; a level with fewer prefixes than the one before.
/// Test: a tree by hand; replayed request by request within 0.01; all shared tokens where all fit;
/// rises with the capacity.
template <Scalar T>
constexpr basic_prefix_hit_estimate<T> prefix_hit_of(const basic_prefix_tree<T>& tree,
                                                     const std::type_identity_t<T>& capacity) {
  detail::check_tree(tree);
  detail::count("capacity", capacity);
  const auto filled = [&](const T& t) -> T {
    T sum = t * (tree.own + tree.output);
    for (const auto& level : tree.levels) {
      sum += level.prefixes * level.tokens * detail::probability_seen_within(level.prefixes, t);
    }
    return sum;
  };
  basic_prefix_hit_estimate<T> e;
  e.reach = named("reach", detail::balanced_batch(T(1e15), [&](const T& t) -> T {
                    return t * (capacity / filled(t));
                  }));
  T found{};
  for (const auto& level : tree.levels) {
    found += level.tokens * detail::probability_seen_within(level.prefixes, e.reach);
  }
  e.hit = named("prefix hit", found / tree.tokens());
  return e;
}

/// Sequences that fit into `capacity` tokens with shared storage: the B with
///   B (own + output) + sum of tokens_i n_i (1 - (1 - 1/n_i)^B) = capacity.
/// Source: expected number of distinct prefixes among B random requests.
/// Errors: as prefix_hit_of.
/// Test: one shared prefix by hand: (capacity - prefix) / (own + output); without sharing, a
/// division.
template <Scalar T>
constexpr T sequences_sharing(const basic_prefix_tree<T>& tree,
                              const std::type_identity_t<T>& capacity) {
  detail::check_tree(tree);
  detail::count("capacity", capacity);
  const auto filled = [&](const T& b) -> T {
    T sum = b * (tree.own + tree.output);
    for (const auto& level : tree.levels) {
      sum += level.tokens * detail::distinct_prefixes(level.prefixes, b);
    }
    return sum;
  };
  return named("sequences", detail::balanced_batch(T(1e15), [&](const T& b) -> T {
                 return b * (capacity / filled(b));
               }));
}

/// Conversation of `turns` turns with questions of `question` tokens and outputs of `output`
/// tokens. Turn j has a history of (j - 1) (question + output).
template <Scalar T = double>
struct basic_conversation {
  T turns = T(1.0);
  T question{};
  T output{};

  /// Mean history before a question: (turns - 1) / 2 x (question + output).
  constexpr T history() const { return 0.5 * (turns - 1.0) * (question + output); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("turns"), s.turns...);
    f(field::count("question"), s.question...);
    f(field::count("output"), s.output...);
  }
};
using conversation = basic_conversation<>;

/// Prefix tree of a common system prompt and concurrent conversations, each with its mean history.
/// Test: three turns of 100 and 200: histories of 0, 300 and 600.
template <Scalar T>
constexpr basic_prefix_tree<T> tree_of(const basic_conversation<T>& c,
                                       const std::type_identity_t<T>& system_prompt,
                                       const std::type_identity_t<T>& conversations) {
  require_valid(c);
  basic_prefix_tree<T> tree;
  tree.levels.push_back({system_prompt, T(1.0)});
  tree.levels.push_back({c.history(), conversations});
  tree.own = c.question;
  tree.output = c.output;
  return tree;
}

}  // namespace perfmodel::inline v0_3
