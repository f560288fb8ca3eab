// One pass of a model: the sequences that decode and the prompts that join them.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/parallel/layout.hpp>

namespace perfmodel {

/// One pass of the model: `batch` sequences decode over `context` cached tokens each, and
/// `prefill_tokens` prompt tokens join them, spread evenly over `prefill_sequences` prompts that have
/// `prefill_past` tokens cached each. Without a batch it is a pass of prompts alone.
/// `tokens_per_sequence` is 1, or k + 1 in a pass that verifies k drafted tokens: each is a row with
/// logits of its own, and they share one reading of their sequence's cache.
/// Sequences are shared out to data-parallel groups and to the stages of a pipeline, whole ones, and
/// the busiest group counts. A `steady` iteration is the mean of many: then prefill_sequences may be
/// below 1, and every group and stage has its share of it.
template <Scalar T = double>
struct basic_iteration {
  T batch{};
  T context = T(1.0);
  T prefill_tokens{};
  T prefill_past{};
  T prefill_sequences = T(1.0);
  bool steady = false;
  T tokens_per_sequence = T(1.0);

  friend bool operator==(const basic_iteration&, const basic_iteration&) = default;
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("batch"), s.batch...);
    f(field::not_negative("context"), s.context...);
    f(field::not_negative("prefill_tokens"), s.prefill_tokens...);
    f(field::not_negative("prefill_past"), s.prefill_past...);
    f(field::positive("prefill_sequences"), s.prefill_sequences...);
    f("steady", s.steady...);
    f(field::count("tokens_per_sequence"), s.tokens_per_sequence...);
  }
};
using iteration = basic_iteration<>;

namespace detail {

template <Scalar T>
constexpr void check_iteration(const basic_iteration<T>& i) {
  require_valid(i);
  if (!i.steady) count("prefill_sequences", i.prefill_sequences);
  if (upper(i.batch) > 0.0) count("context", i.context);
  count("batch + prefill_tokens", T(i.batch + i.prefill_tokens));
}

/// What one rank of the busiest data-parallel group has of a pass, at one stage of the pipeline at
/// a time. Routed experts see the tokens of all groups together.
template <Scalar T>
struct pass_share {
  T sequences{};      ///< that decode
  T prompts{};        ///< that join
  T prompt_tokens{};  ///< of each of them
  T rows{};           ///< tokens of both kinds
  T logits{};         ///< tokens that the head sees
  T all_decoded{};    ///< tokens that are decoded in all groups
  T all_prompts{};    ///< prompts in all groups
};

/// A sequence is not divided, so a group that has any has one whole one, unless `steady` averages.
template <Scalar T>
constexpr pass_share<T> share_of(const parallel_layout& l, const basic_iteration<T>& i) {
  const T stages = T(l.pipeline);
  const T parts = T(l.pipeline * l.data);
  const T least = T(i.steady ? 0.0 : 1.0);
  pass_share<T> s;
  if (upper(i.batch) > 0.0) {
    s.sequences = scalar_max(T(1.0), i.batch / parts);
    s.all_decoded = scalar_max(T(1.0), i.batch / stages) * i.tokens_per_sequence;
  }
  s.rows = s.logits = s.sequences * i.tokens_per_sequence;
  if (upper(i.prefill_tokens) > 0.0) {
    s.prompts = scalar_max(least, i.prefill_sequences / parts);
    s.prompt_tokens = i.prefill_tokens / i.prefill_sequences;
    s.rows += s.prompts * s.prompt_tokens;
    s.logits += s.prompts * scalar_min(s.prompt_tokens, T(1.0));
    s.all_prompts = scalar_max(least, i.prefill_sequences / stages);
  }
  return s;
}

}  // namespace detail

}  // namespace perfmodel
