// Speculation where a model runs: who drafts, what a round takes at a batch and a context, what it needs.
#pragma once

#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/serving/bound_of_service.hpp>
#include <perfmodel/serving/prediction_of_service.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/step/step.hpp>

namespace perfmodel {

/// Who drafts. `model`: one of its own. `layer`: a layer before the model's own head, as in its
/// multi-token-prediction module or EAGLE; a model without `mtp` takes one like its first. `heads`: one
/// for each position, all in one pass (Medusa). `part`: a share of the model's own layers. `lookup`:
/// n-grams of the text so far, without the device.
enum class drafter { model, layer, heads, part, lookup };

/// {.by = drafter::lookup, .length = 4, .acceptance = {0.6}}: `length` positions are drafted, `width`
/// tokens for each (1: a chain, more: a tree), and all are checked in one pass. `acceptance` is the
/// probability that a position is kept, given those before; the last one holds for those beyond too.
template <Scalar T = double>
struct basic_speculation {
  static constexpr std::size_t most_positions = 8;

  drafter by = drafter::lookup;
  int length = 4;
  T width = T(1.0);
  short_list<T, most_positions> acceptance{};
  T share = T(0.25);                           ///< of the layers, where a part of the model drafts
  std::optional<basic_deployment<T>> draft{};  ///< on the same devices, where a model drafts

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("by", s.by...);
    f(field::within("length", 1.0, double(longest_draft), "1 to 64"), s.length...);
    f(field::count("width"), s.width...);
    f(field::fraction("acceptance"), s.acceptance...);
    f(field::share("share"), s.share...);
    f("draft", s.draft...);
  }
};
using speculation = basic_speculation<>;

/// One round at a batch and a context. `emitted` tokens of each sequence come together at its end.
template <Scalar T = double>
struct basic_speculation_round {
  duration<T> draft{};   ///< of all positions
  duration<T> verify{};  ///< one pass of the model over all that was drafted
  duration<T> plain{};   ///< a step without speculation
  T emitted{};

  constexpr duration<T> time() const { return draft + verify; }
  constexpr duration<T> per_token() const { return time() / emitted; }
  /// Over a step without speculation; below 1 it is better switched off.
  constexpr T speedup() const { return T(plain / per_token()); }
};
using speculation_round = basic_speculation_round<>;

namespace detail {

template <Scalar T>
constexpr void check_speculation(const basic_speculation<T>& s) {
  require_valid(s, "speculation");
  if (s.acceptance.empty())
    fail(error_code::inconsistent, "speculation.acceptance has no position");
  if (s.by != drafter::model) return;
  if (!s.draft) fail(error_code::inconsistent, "speculation.draft: a model that drafts is missing");
  check_deployment(*s.draft);
}

/// 1 + a_1 + a_1 a_2 + ..., as emitted_tokens.
template <Scalar T>
constexpr T emitted_by(const basic_speculation<T>& s, int length) {
  T sum(0.0);
  for (int k = length; k >= 1; --k) {
    const std::size_t at = static_cast<std::size_t>(k), known = s.acceptance.size();
    sum = s.acceptance[(at < known ? at : known) - 1] * (T(1.0) + sum);
  }
  return named("emitted", sum + 1.0);
}

/// What a pass of the drafter is a pass of. The projection of an extra layer and the narrow layer of a
/// Medusa head count as so much more vocabulary.
template <Scalar T>
constexpr basic_deployment<T> drafting_deployment(const basic_deployment<T>& d,
                                                  const basic_speculation<T>& s) {
  if (s.by == drafter::model) return *s.draft;
  basic_deployment<T> own = d;
  basic_transformer<T>& m = own.model;
  m.encoder.reset();
  if (s.by == drafter::part) {
    m.layers.count = s.share * m.layers.count;
    for (auto& kind : m.layers.mixers) kind.layers = s.share * kind.layers;
    for (auto& kind : m.layers.feed_forwards) kind.layers = s.share * kind.layers;
    return own;
  }
  basic_layer_shape<T> layer{T(1.0), d.model.layers.mixers[0].shape,
                             d.model.layers.feed_forwards[0].shape};
  if (d.model.mtp) layer = *d.model.mtp;
  layer.times = T(1.0);
  m.layers = {};
  if (s.by == drafter::layer) {
    m.layers.add(layer);
    m.vocabulary += 2.0 * m.hidden;
  } else {
    m.vocabulary = T(s.length) * (m.vocabulary + m.hidden);
  }
  return own;
}

/// What the drafter takes of a device's memory: weights beside the model's, and cache of a sequence.
template <Scalar T>
struct drafter_memory {
  bytes<T> weights{};
  bytes<T> sequence{};
};
template <Scalar T>
constexpr drafter_memory<T> memory_of_drafter(const basic_deployment<T>& d,
                                              const basic_speculation<T>& s, const T& context) {
  if (s.by == drafter::lookup || s.by == drafter::part) return {};
  basic_deployment<T> own = drafting_deployment(d, s);
  own.model.tied_embeddings = own.model.tied_embeddings || s.by == drafter::heads;
  if (s.by == drafter::layer) own.model.vocabulary = d.model.hidden;  // the tables are the model's
  return {weights_on_device(own), sequence_on_device(own, context)};
}

/// Sequences of this context that fit beside both; what they share is held once, by both.
template <Scalar T>
constexpr basic_kv_capacity<T> speculative_capacity(const basic_deployment<T>& d,
                                                    const basic_speculation<T>& s, const T& context,
                                                    const basic_prefix_levels<T>& shared = {}) {
  using math::floor;
  const drafter_memory<T> m = memory_of_drafter(d, s, context);
  const basic_memory_budget<T> budget =
      budget_with_weights(d, bytes<T>(weights_on_device(d) + m.weights));
  basic_kv_capacity<T> c = capacity_sharing(d, budget, shared, context, T(16.0));
  const bytes<T> own = sequence_on_device(d, context);
  c.sequences = floor(T(c.sequences * (own / (own + m.sequence))));
  return c;
}

/// The drafts of a round: a pass for each position, or one of all heads.
template <Scalar T, class Pass>
constexpr duration<T> drafting_time(const basic_deployment<T>& d, const basic_speculation<T>& s,
                                    const T& batch, const T& context, const Pass& pass) {
  if (s.by == drafter::lookup) return {};
  const bool once = s.by == drafter::heads;
  basic_iteration<T> i{batch, context};
  if (!once) i.tokens_per_sequence = s.width;
  return (once ? 1.0 : double(s.length)) * pass(drafting_deployment(d, s), i).time;
}

/// A round by pass(deployment, iteration) -> estimate.
template <Scalar T, class Pass>
constexpr basic_speculation_round<T> round_of(const basic_deployment<T>& d,
                                              const basic_speculation<T>& s, const T& batch,
                                              const T& context, const Pass& pass) {
  basic_iteration<T> i{batch, context};
  basic_speculation_round<T> r;
  r.plain = pass(d, i).time;
  i.tokens_per_sequence = s.width * T(s.length) + 1.0;
  r.verify = pass(d, i).time;
  r.draft = drafting_time(d, s, batch, context, pass);
  r.emitted = emitted_by(s, s.length);
  return r;
}

template <Scalar T, class Policy>
constexpr auto steps_under(const Policy& policy) {
  return [&policy](const basic_deployment<T>& d, const basic_iteration<T>& i) {
    return prediction_of_step(d, i, policy, links_of<T>(policy));
  };
}

}  // namespace detail

// A service whose iterations are rounds of speculation.

/// What a service with speculation does. `decode` is its mean round, whose time is E x itl; the gaps
/// between tokens are 0 but for the first of each round.
template <Scalar T = double>
struct basic_speculative_serving_estimate : basic_serving_estimate<T> {
  T emitted{};  ///< E, tokens of a sequence in a round
};
using speculative_serving_estimate = basic_speculative_serving_estimate<>;

namespace detail {

/// Of the gaps between tokens one in E is that of rounds, and the others 0. A bound has none.
template <Scalar T>
constexpr basic_latency_distribution<T> itl_of_rounds(const basic_latency_distribution<T>& rounds,
                                                      const T& emitted) {
  basic_latency_distribution<T> gap;
  if (rounds.size() == 0) return gap;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    basic_latency_part<T> part = rounds[i];
    part.weight = part.weight / emitted;
    gap.add(part);
  }
  gap.add({1.0 - 1.0 / emitted, {}});
  return gap;
}

/// The service of rounds: an answer of O tokens is 1 + (O - 1) / E of them, and so many come before its first
/// tokens are sent; serve(load, round) says what a service makes of a load whose passes are round(iteration).
/// Errors: a load that says how it `evicts`, as nothing is known of both.
template <Scalar T, class Pass, class Serve>
constexpr basic_speculative_serving_estimate<T> speculative_service(const basic_deployment<T>& d,
                                                                    const basic_service_load<T>& l,
                                                                    const basic_speculation<T>& s,
                                                                    const Pass& pass,
                                                                    const Serve& serve) {
  check_no_preemption(l, "beside drafts");
  const T emitted = emitted_by(s, s.length);
  const T longest = l.input_tokens + l.output_tokens;
  const basic_kv_capacity<T> memory = speculative_capacity(d, s, longest, l.shared);
  const basic_kv_capacity<T> growing = speculative_capacity(d, s, T(mean_context(l)), l.shared);
  const T room = grows_into_memory(d.serving_engine) ? growing.sequences : memory.sequences;

  basic_service_load<T> rounds = l;
  rounds.output_tokens = 1.0 + scalar_max(T(l.output_tokens - 1.0), T(0.0)) / emitted;
  rounds.first_tokens = 1.0 + (l.first_tokens - 1.0) / emitted;
  const T limit = scalar_max(room, T(1.0));
  rounds.batch_limit = l.batch_limit ? scalar_min(*l.batch_limit, limit) : limit;
  const T cached = mean_context(l) - mean_context(rounds);

  const bool prefills = s.by == drafter::model || s.by == drafter::layer;
  const auto round = [&](basic_iteration<T> i) {
    basic_iteration<T> prompts = i;
    prompts.batch = T(0.0);
    duration<T> draft{};
    if (upper(i.prefill_tokens) > 0.0 && prefills) {
      // A mean iteration has a part of a prompt's pass; any other has whole prompts.
      const T part = scalar_min(prompts.prefill_sequences, T(1.0));
      prompts.prefill_tokens /= part;
      prompts.prefill_sequences /= part;
      draft += part * pass(drafting_deployment(d, s), prompts).time;
    }
    if (upper(i.batch) > 0.0) {
      i.context += cached;
      draft += drafting_time(d, s, i.batch, i.context, pass);
      i.tokens_per_sequence = s.width * T(s.length) + 1.0;
    }
    basic_estimate<T> e = pass(d, i);
    e.time += e.terms.add(limiter::none, "draft", draft);
    return e;
  };
  basic_speculative_serving_estimate<T> out{serve(rounds, round)};
  out.emitted = emitted;
  out.capacity = memory.sequences;
  if (out.feasible && !memory.feasible) out.feasible = memory.feasible;
  if (out.feasible && upper(memory.sequences) < 1.0) {
    out.feasible =
        infeasible("not one sequence fits beside the weights of model and drafter", "B",
                   upper(sequence_on_device(d, longest).value()), lower(memory.available.value()));
  }
  out.gap = itl_of_rounds(out.gap, emitted);
  out.itl = named("inter-token latency", out.itl / emitted);
  out.output_rate = output_rate_of(l, out.throughput);
  return out;
}

}  // namespace detail

/// A round where the model runs: length x (a pass of the drafter) + a pass of the model over width x
/// length + 1 tokens of each sequence, against a plain step. At small batches both passes of the model
/// read the same weights; at large ones checking costs FLOP; at long contexts the cache is most of both
/// again, and is read once for all the tokens.
/// Sources: Leviathan et al. 2023, theorem 3.8, with the times of the batch; Cai et al., "Medusa", 2024;
/// Li et al., "EAGLE", 2024; Sadhukhan et al., "MagicDec", 2024 (long contexts).
/// Leaves out: rejection sampling; masks of a tree; the drafter's cache of tokens that were rejected.
/// Tests: its times are those of `step`; at a large batch the speed-up falls, and rises with the context.
template <Scalar T, class Policy>
constexpr basic_speculation_round<T> speculative_round(const basic_deployment<T>& d,
                                                       const basic_speculation<T>& s,
                                                       const std::type_identity_t<T>& batch,
                                                       const std::type_identity_t<T>& context,
                                                       const Policy& policy) {
  detail::check_deployment(d);
  detail::check_speculation(s);
  return detail::round_of(d, s, detail::count("batch", batch), detail::count("context", context),
                          detail::steps_under<T>(policy));
}

/// The draft length that is quickest at a batch and a context, up to `s.length`; 0 where none is
/// quicker than plain steps. Test: falls with the batch; 0 where compute binds.
template <Scalar T, class Policy>
constexpr per_lane<T, int> best_draft_length(const basic_deployment<T>& d, basic_speculation<T> s,
                                             const std::type_identity_t<T>& batch,
                                             const std::type_identity_t<T>& context,
                                             const Policy& policy) {
  std::array<T, std::size_t(longest_draft) + 1> slower{T(-1.0)};
  const int longest = s.length;
  for (s.length = 1; s.length <= longest; ++s.length) {
    slower[std::size_t(s.length)] = -speculative_round(d, s, batch, context, policy).speedup();
  }
  return detail::on_each_lane<T>([&](std::size_t lane) {
    return static_cast<int>(detail::index_of_least(slower, std::size_t(longest) + 1, lane));
  });
}

/// The largest batch of up to `most` at which the speculation still pays in every lane, by doubling and
/// bisection from 1; 0 where it never does. Test: pays there, and not a sequence above.
template <Scalar T, class Policy>
constexpr int last_batch_that_pays(const basic_deployment<T>& d, const basic_speculation<T>& s,
                                   const std::type_identity_t<T>& context, int most,
                                   const Policy& policy) {
  const auto pays = [&](int batch) {
    return lower(speculative_round(d, s, T(batch), context, policy).speedup()) > 1.0;
  };
  if (!pays(1)) return 0;
  int paying = 1, missing = most + 1;
  for (int batch = 2; batch <= most && missing > most; batch *= 2) {
    (pays(batch) ? paying : missing) = batch;
  }
  while (missing - paying > 1) {
    const int middle = paying + (missing - paying) / 2;
    (pays(middle) ? paying : missing) = middle;
  }
  return paying;
}

}  // namespace perfmodel
