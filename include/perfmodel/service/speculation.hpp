// Speculation where a model runs: who drafts, what a round takes at a batch and a context, what it needs.
#pragma once

#include <perfmodel/service/shared_prefix.hpp>
#include <perfmodel/speculative.hpp>
#include <perfmodel/step.hpp>

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
struct basic_round_estimate {
  duration<T> draft{};   ///< of all positions
  duration<T> verify{};  ///< one pass of the model over all that was drafted
  duration<T> plain{};   ///< a step without speculation
  T emitted{};

  constexpr duration<T> time() const { return draft + verify; }
  constexpr duration<T> per_token() const { return time() / emitted; }
  /// Over a step without speculation; below 1 it is better switched off.
  constexpr T speedup() const { return T(plain / per_token()); }
};
using round_estimate = basic_round_estimate<>;

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
      budget_beside(d, bytes<T>(weights_on_device(d) + m.weights));
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
constexpr basic_round_estimate<T> round_of(const basic_deployment<T>& d,
                                           const basic_speculation<T>& s, const T& batch,
                                           const T& context, const Pass& pass) {
  basic_iteration<T> i{batch, context};
  basic_round_estimate<T> r;
  r.plain = pass(d, i).time;
  i.tokens_per_sequence = s.width * T(s.length) + 1.0;
  r.verify = pass(d, i).time;
  r.draft = drafting_time(d, s, batch, context, pass);
  r.emitted = emitted_by(s, s.length);
  return r;
}

template <Scalar T, class Policy>
constexpr auto passes_under(const Policy& policy) {
  return [&policy](const basic_deployment<T>& d, const basic_iteration<T>& i) {
    return prediction_of_pass(d, i, policy, links_of<T>(policy));
  };
}

}  // namespace detail

}  // namespace perfmodel
