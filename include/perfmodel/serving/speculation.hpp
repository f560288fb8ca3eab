// Speculative decoding of a deployment: drafters, speculation rounds, memory, and services.
#pragma once

#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/serving/bound_of_service.hpp>
#include <perfmodel/serving/prediction_of_service.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/step/prepared.hpp>
#include <type_traits>

namespace perfmodel::inline v0_3 {

/// Source of the draft tokens.
/// - `model`: a separate, smaller model.
/// - `layer`: an extra layer before the model's own head (multi-token prediction, EAGLE). Without
/// `mtp` in the model, this layer is like the model's first.
/// - `heads`: one extra head per position, all in one step (Medusa).
/// - `part`: a share of the model's own layers.
/// - `lookup`: n-grams of the text so far, without work on the device.
enum class drafter { model, layer, heads, part, lookup };

/// Speculative decoding of a service: {.by = drafter::lookup, .length = 4, .acceptance = {0.6}}. In
/// each round `length` positions are drafted with `width` candidate tokens each (1: a chain, more:
/// a tree). One step of the model verifies all of them. `acceptance` is the probability that a
/// position is accepted, given that all before it are. Its last value holds for all further
/// positions.
template <Scalar T = double>
struct basic_speculation {
  static constexpr std::size_t most_positions = 8;

  drafter by = drafter::lookup;
  int length = 4;
  T width = T(1.0);
  short_list<T, most_positions> acceptance{};
  T share = T(0.25);  ///< share of the model's layers, for drafter::part
  std::optional<basic_deployment<T>>
      draft{};  ///< drafter::model: the draft model, on the same devices

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

/// One speculation round at a batch and a context: draft, then verify.
template <Scalar T = double>
struct basic_speculation_round {
  duration<T> draft{};   ///< time to draft all positions
  duration<T> verify{};  ///< step of the model that verifies all draft tokens
  duration<T> plain{};   ///< decode step without speculation
  T emitted{};           ///< output tokens per sequence and round

  constexpr duration<T> time() const { return draft + verify; }
  constexpr duration<T> per_token() const { return time() / emitted; }
  /// Speed-up compared with decode steps without speculation; below 1 speculation is slower.
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

/// Acceptance at draft position k, from 1; positions beyond the stated ones have the last of them.
template <Scalar T>
constexpr const T& acceptance_at(const basic_speculation<T>& s, int k) {
  const std::size_t at = static_cast<std::size_t>(k), known = s.acceptance.size();
  return s.acceptance[(at < known ? at : known) - 1];
}

/// Mean number of tokens that a round emits: 1 + a_1 + a_1 a_2 + ..., where a_i is the acceptance
/// of position i. It is emitted_tokens with one acceptance for each position.
template <Scalar T>
constexpr T emitted_by(const basic_speculation<T>& s, int length) {
  T sum(0.0);
  for (int k = length; k >= 1; --k) {
    sum = acceptance_at(s, k) * (T(1.0) + sum);
  }
  return named("emitted", sum + 1.0);
}

/// Mean of the tokens that the last round of a long output emits in vain: (E[X^2] / E[X] - 1) / 2,
/// the mean excess of a renewal process, with X the tokens of a round and E[X] = `emitted`.
/// Source: Feller, "An Introduction to Probability Theory and Its Applications" II, 1971, XI.4.
/// Test: tests/unit/speculation.cpp, rounds by hand.
template <Scalar T>
constexpr T tokens_in_vain(const basic_speculation<T>& s, const T& emitted) {
  T square(1.0), reached(1.0);
  for (int k = 1; k <= s.length; ++k) {
    reached = reached * acceptance_at(s, k);
    square += (2.0 * k + 1.0) * reached;
  }
  return 0.5 * (square / emitted - 1.0);
}

/// Rounds that emit the n tokens after the first: (n + tokens in vain) / E, at least one, none for
/// no token. A bound counts no tokens in vain.
template <Scalar T>
constexpr T rounds_of(const basic_speculation<T>& s, const T& n, const T& emitted, bool is_bound) {
  if (is_bound) return n / emitted;
  const T any = scalar_min(n, T(1.0));
  return scalar_max(T((n + any * tokens_in_vain(s, emitted)) / emitted), any);
}

/// Deployment of the drafter. Some parts are counted as additional vocabulary of its head: the
/// input projection of an extra layer, and the small layer of a Medusa head.
template <Scalar T>
constexpr basic_deployment<T> drafter_deployment(const basic_deployment<T>& d,
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

/// Device memory of the drafter.
template <Scalar T>
struct drafter_memory {
  bytes<T> weights{};   ///< weights on one device
  bytes<T> sequence{};  ///< KV cache of one sequence on one device
};
template <Scalar T>
constexpr drafter_memory<T> memory_of_drafter(const basic_deployment<T>& d,
                                              const basic_speculation<T>& s, const T& context) {
  if (s.by == drafter::lookup || s.by == drafter::part) return {};
  basic_deployment<T> own = drafter_deployment(d, s);
  own.model.tied_embeddings = own.model.tied_embeddings || s.by == drafter::heads;
  if (s.by == drafter::layer) own.model.vocabulary = d.model.hidden;  // the tables are the model's
  return {weights_on_device(own), sequence_on_device(own, context)};
}

/// KV-cache capacity that remains with the drafter's weights and cache in memory. Both models store
/// a shared prefix once. A sequence keeps a copy of its recurrent states per draft token.
template <Scalar T>
constexpr basic_kv_capacity<T> speculative_capacity(const basic_deployment<T>& given,
                                                    const basic_speculation<T>& s, const T& context,
                                                    const basic_prefix_levels<T>& shared = {}) {
  const drafter_memory<T> m = memory_of_drafter(given, s, context);
  basic_deployment<T> d = given;
  d.states_per_sequence = 1.0 + s.width * T(s.length);
  const basic_memory_budget<T> budget =
      budget_with_weights(d, bytes<T>(weights_on_device(d) + m.weights));
  basic_kv_capacity<T> c = shared_prefix_capacity(d, budget, shared, context, T(16.0));
  share_with_drafter(c, d, sequence_on_device(d, context), m.sequence);
  return c;
}

/// Time to draft one round: one step of the drafter per position, or one step for all Medusa heads
/// and for a DFlash model, which drafts a block at a time.
template <Scalar T, class EstimateStep>
constexpr duration<T> draft_time(const basic_deployment<T>& d, const basic_speculation<T>& s,
                                 const T& batch, const T& context,
                                 const EstimateStep& estimate_step) {
  if (s.by == drafter::lookup) return {};
  const bool block = s.by == drafter::model && s.draft->model.predicts_block;
  const bool once = s.by == drafter::heads || block;
  basic_iteration<T> i{batch, context};
  if (!once) i.tokens_per_sequence = s.width;
  if (block) i.tokens_per_sequence = T(s.length);
  return (once ? 1.0 : double(s.length)) * time_by(estimate_step, drafter_deployment(d, s), i);
}

/// Computes a speculation round; estimate_step(deployment, iteration) returns the estimate of a
/// step.
template <Scalar T, class EstimateStep>
constexpr basic_speculation_round<T> round_of(const basic_deployment<T>& d,
                                              const basic_speculation<T>& s, const T& batch,
                                              const T& context, const EstimateStep& estimate_step) {
  basic_iteration<T> i{batch, context};
  basic_speculation_round<T> r;
  r.plain = time_by(estimate_step, d, i);
  i.tokens_per_sequence = s.width * T(s.length) + 1.0;
  r.verify = time_by(estimate_step, d, i);
  r.draft = draft_time(d, s, batch, context, estimate_step);
  r.emitted = emitted_by(s, s.length);
  return r;
}

}  // namespace detail

// Services with speculative decoding.

/// Estimate of a service with speculative decoding, which emits E tokens per sequence and round.
/// `decode` is the mean round; its time is E x itl. The inter-token latency is the time of a round
/// for its first token, and 0 for its other tokens.
template <Scalar T = double>
struct basic_speculative_serving_estimate : basic_serving_estimate<T> {
  T emitted{};  ///< E, mean output tokens per sequence and round
};
using speculative_serving_estimate = basic_speculative_serving_estimate<>;

namespace detail {

/// Inter-token latency from the times of rounds that emit E tokens. A share 1 / E of the tokens
/// waits for a round, and the others have a latency of 0. A bound has no distribution; the result
/// is then empty.
template <Scalar T>
constexpr basic_latency_distribution<T> itl_of_rounds(const basic_latency_distribution<T>& rounds,
                                                      const T& emitted) {
  basic_latency_distribution<T> itl;
  if (rounds.size() == 0) return itl;
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    basic_latency_part<T> part = rounds[i];
    part.weight = part.weight / emitted;
    itl.add(part);
  }
  itl.add({1.0 - 1.0 / emitted, {}});
  return itl;
}

/// The mean round in place of an engine step, and its time alone. `cached` is the mean number of
/// tokens that a sequence has in its cache beyond those that its rounds count.
template <Scalar T, class EstimateStep>
struct mean_round {
  const basic_deployment<T>& d;
  const basic_speculation<T>& s;
  const EstimateStep& estimate_step;
  T cached{};

  constexpr basic_estimate<T> operator()(basic_iteration<T> i) const {
    const duration<T> draft = add_drafts(i);
    basic_estimate<T> e = estimate_step(d, i);
    e.time += e.terms.add(limiter::none, "draft", draft);
    return e;
  }
  constexpr duration<T> time(basic_iteration<T> i) const {
    if constexpr (std::is_floating_point_v<T>) {
      const duration<T> draft = add_drafts(i);
      return time_by(estimate_step, d, i) + draft;
    } else {
      return (*this)(i).time;
    }
  }

 private:
  /// Time to draft, and the drafted tokens as queries of the step.
  constexpr duration<T> add_drafts(basic_iteration<T>& i) const {
    basic_iteration<T> prompts = i;
    prompts.batch = T(0.0);
    duration<T> draft{};
    if (upper(i.prefill_tokens) > 0.0 && (s.by == drafter::model || s.by == drafter::layer)) {
      // A mean iteration has a fraction of a prompt; any other has whole prompts.
      const T part = scalar_min(prompts.prefill_sequences, T(1.0));
      prompts.prefill_tokens /= part;
      prompts.prefill_sequences /= part;
      draft += part * time_by(estimate_step, drafter_deployment(d, s), prompts);
    }
    if (upper(i.batch) > 0.0) {
      i.context += cached;
      draft += draft_time(d, s, i.batch, i.context, estimate_step);
      i.tokens_per_sequence = s.width * T(s.length) + 1.0;
    }
    return draft;
  }
};

/// Service with speculation rounds, of E tokens each, in place of decode steps. An output of O
/// tokens takes 1 + rounds_of(O - 1) rounds. A stream interval of n tokens takes 1 + (n - 1) / E
/// rounds.
/// serve(load, round) returns the estimate of a service with the engine steps round(iteration).
/// Errors: a preemption_mode, since preemption is not modelled with speculation.
template <Scalar T, class EstimateStep, class Serve>
constexpr basic_speculative_serving_estimate<T> speculative_service(
    const basic_deployment<T>& d, const basic_service_load<T>& l, const basic_speculation<T>& s,
    const EstimateStep& estimate_step, const Serve& serve, bool is_bound) {
  check_no_preemption(l, "with speculation");
  const T emitted = emitted_by(s, s.length);
  const T decoded = scalar_max(T(l.output_tokens - 1.0), T(0.0));
  const T longest = l.input_tokens + l.output_tokens;
  const basic_kv_capacity<T> memory = speculative_capacity(d, s, longest, l.shared);
  const basic_kv_capacity<T> growing = speculative_capacity(d, s, T(mean_context(l)), l.shared);
  const T capacity = grows_into_memory(d.serving_engine) ? growing.sequences : memory.sequences;

  basic_service_load<T> rounds = l;
  rounds.output_tokens = 1.0 + rounds_of(s, decoded, emitted, is_bound);
  rounds.stream_interval = 1.0 + (l.stream_interval - 1.0) / emitted;
  const T limit = scalar_max(capacity, T(1.0));
  rounds.batch_limit = l.batch_limit ? scalar_min(*l.batch_limit, limit) : limit;
  const T cached = mean_context(l) - mean_context(rounds);

  const mean_round<T, EstimateStep> round{d, s, estimate_step, cached};
  basic_speculative_serving_estimate<T> out{serve(rounds, round)};
  out.emitted = emitted;
  out.capacity = memory.sequences;
  if (out.feasible && !memory.feasible) out.feasible = memory.feasible;
  if (out.feasible && upper(memory.sequences) < 1.0) {
    out.feasible =
        infeasible("no sequence fits in addition to the weights of model and drafter", "B",
                   upper(sequence_on_device(d, longest).value()), lower(memory.available.value()));
  }
  const T used = upper(decoded) > 0.0 ? T(decoded / (rounds.output_tokens - 1.0)) : emitted;
  out.itl_distribution = itl_of_rounds(out.itl_distribution, used);
  out.itl = named("inter-token latency", out.itl / used);
  out.output_rate = output_rate_of(l, out.throughput);
  return out;
}

}  // namespace detail

/// Speculation round of a deployment, compared with a decode step.
///   round = length x (step of the drafter) + verification
/// Verification is a step of the model with width x length + 1 tokens per sequence. At small
/// batches it reads the same weights as a decode step and takes about as long. At large batches the
/// extra tokens cost compute time. At long contexts a step mostly reads the KV cache, once for all
/// tokens.
/// Source: Leviathan et al. 2023, theorem 3.8, with the times of the batch; Cai et al., "Medusa",
/// 2024; Li et al., "EAGLE", 2024; Sadhukhan et al., "MagicDec", 2024 (long contexts).
/// Leaves out: rejection sampling; tree masks; the drafter's cache of rejected tokens.
/// Errors: batch or context below 1; a speculation out of range.
/// Test: its times are those of `step`; the speed-up falls with a large batch and rises with the
/// context.
template <Scalar T, class Policy>
constexpr basic_speculation_round<T> speculative_round(const basic_deployment<T>& d,
                                                       const basic_speculation<T>& s,
                                                       const std::type_identity_t<T>& batch,
                                                       const std::type_identity_t<T>& context,
                                                       const Policy& policy) {
  detail::check_deployment(d);
  detail::check_speculation(s);
  return detail::round_of(d, s, detail::count("batch", batch), detail::count("context", context),
                          detail::policy_steps<T, Policy>(d, policy));
}

/// Draft length with the largest speed-up at a batch and a context, up to `s.length`; 0 if no
/// length is faster than decode steps.
/// Test: the length falls with the batch; it is 0 where compute limits the step.
template <Scalar T, class Policy>
constexpr int best_draft_length(const basic_deployment<T>& d, basic_speculation<T> s,
                                const std::type_identity_t<T>& batch,
                                const std::type_identity_t<T>& context, const Policy& policy) {
  std::array<T, std::size_t(longest_draft) + 1> slower{T(-1.0)};
  const int longest = s.length;
  for (s.length = 1; s.length <= longest; ++s.length) {
    slower[std::size_t(s.length)] = -speculative_round(d, s, batch, context, policy).speedup();
  }
  return static_cast<int>(detail::index_of_least(slower, std::size_t(longest) + 1));
}

/// Largest batch, up to `most`, with a speed-up above 1; 0 if there is none. The
/// search doubles the batch from 1, then bisects.
/// Test: a speed-up above 1 at the result, and none with one more sequence.
template <Scalar T, class Policy>
constexpr int largest_batch_with_speedup(const basic_deployment<T>& d,
                                         const basic_speculation<T>& s,
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

}  // namespace perfmodel::inline v0_3
