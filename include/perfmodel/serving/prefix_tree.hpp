// Prompts that begin alike: what a cache finds of them, and how many sequences fit that hold them once.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/serving/balance.hpp>

namespace perfmodel {

/// `tokens` that each of so many different `prefixes` adds to what stands before it. A request has one of
/// them, each as often.
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

/// Levels from the root on.
template <Scalar T = double>
using basic_prefix_levels = short_list<basic_prefix_level<T>, 6>;
using prefix_levels = basic_prefix_levels<>;

/// Levels from the root on, then what a prompt has of its `own`, and the tokens of its `answer`, which
/// stay in the cache too: {.levels = {{500, 1}, {2000, 40}, {3000, 600}}, .own = 200, .answer = 300} is a
/// system prompt, 40 tenants and 600 conversations with their histories.
template <Scalar T = double>
struct basic_prefix_tree {
  basic_prefix_levels<T> levels{};
  T own{};
  T answer{};

  /// Of a prompt.
  constexpr T tokens() const {
    T sum = own;
    for (const auto& level : levels) sum += level.tokens;
    return sum;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("levels", s.levels...);
    f(field::count("own"), s.own...);
    f(field::not_negative("answer"), s.answer...);
  }
};
using prefix_tree = basic_prefix_tree<>;

/// What a cache of the tree's prompts does.
template <Scalar T = double>
struct basic_prefix_hit_estimate {
  T hit{};    ///< share of the tokens of prompts that are found
  T reach{};  ///< requests back to which the cache remembers
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

/// Prefixes of sequences of so many tokens. Errors: as long as they are; fewer on a level than before it.
template <Scalar T>
constexpr void check_shared(const basic_prefix_levels<T>& levels, const T& tokens,
                            const char* allowed) {
  if (levels.empty()) return;
  const T rest = tokens - tokens_of(levels);
  if (!(lower(rest) >= 1.0)) out_of_range("shared_tokens", upper(tokens_of(levels)), allowed);
  check_tree(basic_prefix_tree<T>{levels, rest, T(0.0)});
}

/// That one of n, each as likely, is among the last t requests.
template <Scalar T>
constexpr T seen_within(const T& n, const T& t) {
  using math::exp;
  return 1.0 - exp(T(-t / n));
}

/// Different ones of n that B requests have: n (1 - (1 - 1/n)^B).
template <Scalar T>
constexpr T different_of(const T& n, const T& b) {
  using math::exp;
  using math::log;
  if (!(upper(n) > 1.0)) return scalar_min(b, T(1.0));
  return n * (1.0 - exp(T(b * log(T(1.0 - 1.0 / n)))));
}

}  // namespace detail

/// The share of prompts' tokens that a cache of so many tokens finds, which forgets what was used longest
/// ago, leaves first. A prefix is there if it was used within the last t requests (Che's
/// approximation), where what was used within t just fills the cache:
/// sum of n_i tokens_i (1 - exp(-t / n_i)) + t (own + answer) = capacity.
/// Sources: Che, Tung and Wang, "Hierarchical Web Caching Systems", IEEE JSAC 20(7), 2002; Zheng et al.,
/// "SGLang", 2024, section 3 (radix tree, least recently used leaves). Leaves out: popular prefixes and
/// idle ones; blocks; requests of one conversation that come in turn rather than by chance.
/// Errors: own or capacity below 1; a level with fewer prefixes than the one before it.
/// Tests: a tree by hand; replayed request by request within 0.01; all that is shared where all fits; rises
/// with the capacity.
template <Scalar T>
constexpr basic_prefix_hit_estimate<T> prefix_hit_of(const basic_prefix_tree<T>& tree,
                                                     const std::type_identity_t<T>& capacity) {
  detail::check_tree(tree);
  detail::count("capacity", capacity);
  const auto filled = [&](const T& t) -> T {
    T sum = t * (tree.own + tree.answer);
    for (const auto& level : tree.levels) {
      sum += level.prefixes * level.tokens * detail::seen_within(level.prefixes, t);
    }
    return sum;
  };
  basic_prefix_hit_estimate<T> e;
  e.reach = named("reach", detail::balanced_batch(T(1e15), [&](const T& t) -> T {
                    return t * (capacity / filled(t));
                  }));
  T found{};
  for (const auto& level : tree.levels) {
    found += level.tokens * detail::seen_within(level.prefixes, e.reach);
  }
  e.hit = named("prefix hit", found / tree.tokens());
  return e;
}

/// Sequences that fit into so many tokens where what they share is held once: B with
/// B (own + answer) + sum of tokens_i x (different ones among B) = capacity, n (1 - (1 - 1/n)^B) of n.
/// Test: one shared prefix by hand: (capacity - prefix) / (own + answer); nothing shared is a division.
template <Scalar T>
constexpr T sequences_sharing(const basic_prefix_tree<T>& tree,
                              const std::type_identity_t<T>& capacity) {
  detail::check_tree(tree);
  detail::count("capacity", capacity);
  const auto filled = [&](const T& b) -> T {
    T sum = b * (tree.own + tree.answer);
    for (const auto& level : tree.levels) {
      sum += level.tokens * detail::different_of(level.prefixes, b);
    }
    return sum;
  };
  return named("sequences", detail::balanced_batch(T(1e15), [&](const T& b) -> T {
                 return b * (capacity / filled(b));
               }));
}

/// What a prompt of a conversation of `turns` has of its history, on average over all turns, questions of
/// `question` tokens and answers of `answer`: turn j finds (j - 1)(question + answer).
template <Scalar T = double>
struct basic_conversation {
  T turns = T(1.0);
  T question{};
  T answer{};

  /// Before a question, mean: (turns - 1) / 2 x (question + answer).
  constexpr T history() const { return 0.5 * (turns - 1.0) * (question + answer); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("turns"), s.turns...);
    f(field::count("question"), s.question...);
    f(field::count("answer"), s.answer...);
  }
};
using conversation = basic_conversation<>;

/// A tree of a prefix that all share and so many conversations at once, each with its mean history.
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
  tree.answer = c.answer;
  return tree;
}

}  // namespace perfmodel
