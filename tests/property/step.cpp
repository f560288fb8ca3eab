// A step against a second implementation, in plain numbers, for every model of the catalogue over
// random layouts and iterations; and what must hold for any of them.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <optional>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step.hpp>
#include <vector>

#include "support/layers.hpp"
#include "support/near.hpp"
#include "support/random.hpp"
#include "support/sanitized.hpp"

namespace property_step {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::random_numbers;
using perfmodel_test::routed_layers_of;

namespace {

struct sums {
  double weights = 0, cache = 0, flop = 0;  ///< of one rank
  double sums_sent = 0, logits_sent = 0, tokens_sent = 0, hops_sent = 0;
};

double distinct(double experts, double top_k, double tokens) {
  return experts * (1 - std::pow(1 - top_k / experts, tokens));
}

/// The layers of one mixer, in plain numbers: grouped queries, or a latent that all heads read.
struct mixer_by_hand {
  double layers = 0, heads = 0, kv_heads = 0, dk = 0, dv = 0, window = 1e18;
  std::optional<double> query_rank, kv_rank, rope;

  mixer_by_hand(const pm::basic_layer_kind<pm::mixer_shape, double>& kind) : layers(kind.layers) {
    if (kind.shape.index() == 0) {
      const auto& a = std::get<pm::attention_shape>(kind.shape);
      heads = a.query_heads, kv_heads = a.kv_heads;
      dk = a.head_dim, dv = a.value_dim ? *a.value_dim : a.head_dim;
      if (a.window) window = *a.window;
    } else {
      const auto& a = std::get<pm::latent_attention_shape>(kind.shape);
      heads = a.query_heads, dk = a.head_dim, dv = a.value_dim;
      query_rank = a.query_rank, kv_rank = a.kv_rank, rope = a.rope_dim;
    }
  }
  double weights(double hidden, double t) const {
    double n = heads / t * dv * hidden;
    if (kv_rank) {
      n += hidden * (query_rank.value_or(0.0) + *kv_rank + *rope);
      n += (query_rank ? *query_rank : hidden) * heads / t * dk;
      return n + *kv_rank * heads / t * (dk - *rope + dv);
    }
    return n + hidden * (heads / t * dk + cached(t));
  }
  double cached(double t) const {
    return kv_rank ? *kv_rank + *rope : std::max(1.0, kv_heads / t) * (dk + dv);
  }
  double absorbed() const { return kv_rank ? 2 * *kv_rank + *rope : dk + dv; }
};

/// Whether these plain numbers are all there is to a model; tests/property/layers.cpp has the
/// others.
bool known_by_hand(const pm::transformer& m) {
  for (const auto& kind : m.layers.mixers) {
    if (kind.shape.index() > 1) return false;
    if (const auto* a = std::get_if<pm::attention_shape>(&kind.shape)) {
      if (a->indexer || a->chunked || a->output_gate || a->value_is_key) return false;
    } else if (std::get<pm::latent_attention_shape>(kind.shape).indexer) {
      return false;
    }
  }
  return true;
}

/// What one group holds at one stage.
struct held_by_hand {
  double batch, all_batch, prompts, prefills_of_groups, each;
  held_by_hand(const pm::parallel_layout& l, const pm::iteration& i) {
    const double p = l.pipeline, g = l.data, floor = i.steady ? 0 : 1;
    const bool prefills = i.prefill_tokens > 0;
    batch = i.batch > 0 ? std::max(1.0, i.batch / (g * p)) : 0;
    all_batch = i.batch > 0 ? std::max(1.0, i.batch / p) : 0;
    prompts = prefills ? std::max(floor, i.prefill_sequences / (g * p)) : 0;
    prefills_of_groups = prefills ? std::max(floor, i.prefill_sequences / p) : 0;
    each = i.prefill_tokens / i.prefill_sequences;
  }
  double rows() const { return batch + prompts * each; }
};

void add_mixers(sums& s, const pm::deployment& d, const pm::iteration& i, const held_by_hand& h) {
  const double t = d.layout.tensor, kv = bytes_of(formats_of(d).kv).value();
  const double stored = bytes_of(d.weights.attention).value();
  for (const mixer_by_hand a : d.model.layers.mixers) {
    const double weights = a.weights(d.model.hidden, t);
    s.weights += a.layers * weights * stored;
    s.flop += a.layers * 2 * h.rows() * weights;
    const double seen = std::min(i.context, a.window);
    s.cache += a.layers * a.cached(t) * kv *
               (h.batch * (seen + 1) + h.prompts * (std::min(i.prefill_past, a.window) + h.each));
    s.flop += a.layers * h.batch * 2 * seen * a.heads / t * a.absorbed();
    double pairs = 0;
    if (i.prefill_tokens > 0) {
      for (double k = 1; k <= std::round(h.each); ++k) {
        pairs += std::min(i.prefill_past + k, a.window);
      }
    }
    s.flop += a.layers * h.prompts * 2 * pairs * a.heads / t * (a.dk + a.dv);
  }
}

void add_feed_forwards(sums& s, const pm::deployment& d, const held_by_hand& h) {
  const double t = d.layout.tensor, g = d.layout.data, e = d.layout.expert, n = t * g;
  const double hidden = d.model.hidden;
  const double linear = bytes_of(d.weights.linear).value(),
               other = bytes_of(d.weights.others).value(),
               routed = bytes_of(d.weights.experts).value();
  for (const auto& kind : d.model.layers.feed_forwards) {
    if (kind.shape.index() == 0) {
      const auto& x = std::get<pm::dense_shape>(kind.shape);
      const double weights = (x.gated ? 3 : 2) * hidden * x.intermediate / t;
      s.weights += kind.layers * weights * linear;
      s.flop += kind.layers * 2 * h.rows() * weights;
      continue;
    }
    const auto& x = std::get<pm::expert_shape>(kind.shape);
    const double matrices = x.gated ? 3 : 2, expert = matrices * hidden * x.intermediate;
    const double shared = matrices * hidden * x.shared_intermediate.value_or(0.0) / t;
    const double router = hidden * x.experts;
    s.weights += kind.layers * (shared * linear + router * other);
    s.flop += kind.layers * 2 * h.rows() * (shared + router);
    const double carrying =
        std::min(1.0, h.prefills_of_groups);  // share of the passes that have a prompt
    double touched = (1 - carrying) * distinct(x.experts, x.top_k, h.all_batch);
    if (carrying > 0) {
      touched += carrying * distinct(x.experts, x.top_k,
                                     h.all_batch + std::max(1.0, h.prefills_of_groups) * h.each);
    }
    s.weights += kind.layers * touched * expert * routed / n;  // e groups of n / e ranks
    s.flop +=
        2 * kind.layers * (h.all_batch + h.prefills_of_groups * h.each) * x.top_k * expert / n;
    if (g > 1) {
      const double others = (n - 1) * (e > 1 ? 1 - std::pow(1 - 1 / e, x.top_k) : 1);
      const double out =
          bytes_of(wider(formats_of(d).experts.format, d.weights.experts.format)).value();
      s.tokens_sent += kind.layers * h.rows() / t * others * hidden * (out + other);
    }
  }
}

/// Every sum of a step, written out from the architecture and not from the operators.
sums by_hand(const pm::deployment& d, const pm::iteration& i) {
  const pm::transformer& m = d.model;
  const held_by_hand h(d.layout, i);
  const double t = d.layout.tensor, p = d.layout.pipeline;
  const double other = bytes_of(d.weights.others).value(), row = m.hidden * other;
  const double head = m.vocabulary * m.hidden / t;
  const double logits = h.batch + h.prompts * std::min(1.0, h.each);
  sums s;
  add_mixers(s, d, i, h);
  add_feed_forwards(s, d, h);
  s.weights += head * other;
  s.flop += 2 * logits * head;
  if (t > 1) {
    const double exchanged = d.layout.data > 1 ? routed_layers_of(m) : 0;
    double parts = -exchanged;
    for (const auto& kind : m.layers.mixers) parts += kind.layers;
    for (const auto& kind : m.layers.feed_forwards) parts += kind.layers;
    s.sums_sent = parts * h.rows() * row;
    s.logits_sent = (t - 1) / t * logits * m.vocabulary * other;
  }
  if (p > 1) s.hops_sent = (p - 1) * h.rows() * row / t;
  return s;
}

/// A machine on which every all-reduce costs its message once, with enough memory.
pm::accelerator roomy() {
  pm::accelerator a = cat::b200_sxm;
  a.dram.capacity = 1e6 * pm::GB;
  a.fabric.ranks = 4096;
  a.fabric.in_network_reduction = true;
  return a;
}

pm::deployment random_deployment(random_numbers& random, const pm::transformer& m) {
  for (;;) {
    const auto power = [&](int most) { return 1 << static_cast<int>(random.uniform(0, most + 1)); };
    pm::deployment d{.device = roomy(), .model = m};
    d.layout = {.tensor = power(5), .pipeline = power(2), .data = power(3)};
    if (pm::experts_of(m)) d.layout.expert = power(5);
    const bool narrow = random.uniform() < 0.5;
    if (narrow) d.weights = pm::fp8, d.activations = pm::fp8;
    if (random.uniform() < 0.5) d.kv = pm::fp8;
    if (pm::layout_feasible(d.layout, sharded_dims_of(m)) && pm::fits(d, 1.0, 1.0)) return d;
  }
}
pm::iteration random_iteration(random_numbers& random) {
  pm::iteration i{.batch = std::floor(random.log_uniform(0.5, 512)),
                  .context = std::floor(random.log_uniform(1, 50000))};
  if (i.batch == 0 || random.uniform() < 0.6) {
    const double each = std::floor(random.log_uniform(1, 3000));
    i.prefill_sequences = std::floor(random.log_uniform(1, 40));
    i.steady = random.uniform() < 0.4;
    if (i.steady) i.prefill_sequences = random.log_uniform(0.01, 40);
    if (i.steady) i.batch = std::max(i.batch, 1.0);
    i.prefill_tokens = each * i.prefill_sequences;
    i.prefill_past = std::floor(random.log_uniform(0.5, 9000));
  }
  return i;
}

}  // namespace

TEST_CASE("step: equals a second implementation for every model, layout and iteration") {
  random_numbers random(11);
  int spread = 0, steady = 0;
  for (const auto& entry : cat::models) {
    if (!known_by_hand(*entry.model)) continue;
    for (int n = 0; n < 40; ++n) {
      const pm::deployment d = random_deployment(random, *entry.model);
      const pm::iteration i = random_iteration(random);
      const sums expected = by_hand(d, i);
      INFO(entry.key << " tensor " << d.layout.tensor << " pipeline " << d.layout.pipeline
                     << " data " << d.layout.data << " expert " << d.layout.expert << " batch "
                     << i.batch << " context " << i.context << " prefill " << i.prefill_tokens
                     << " in " << i.prefill_sequences << " past " << i.prefill_past);
      const pm::step_demand s = pm::demand_of_step(d, i);
      CHECK(near(s.weights.value(), expected.weights));
      CHECK(near(s.cache.value(), expected.cache));
      CHECK(near(s.matrix_flop.value(), expected.flop));
      const double sent =
          expected.sums_sent + expected.logits_sent + expected.tokens_sent + expected.hops_sent;
      const double rate = d.device.fabric.bandwidth.value();
      CHECK(near(pm::communication_time(d, i).value(), sent / rate));
      spread += expected.tokens_sent > 0;
      steady += i.steady;
    }
  }
  CHECK(spread > 50);
  CHECK(steady > 100);
}

TEST_CASE(
    "step: with every expert touched, weights read are those stored but for what is looked up or "
    "added") {
  random_numbers random(12);
  for (const auto& entry : cat::models) {
    const pm::transformer& m = *entry.model;
    for (int n = 0; n < 10; ++n) {
      pm::deployment d = random_deployment(random, m);
      d.layout.pipeline = 1;
      const auto p = parameters(m);
      const auto routed = pm::experts_of(m);
      const double router = routed ? routed_layers_of(m) * routed->experts * m.hidden : 0.0;
      const double other = bytes_of(d.weights.others).value();
      const double encoder = m.encoder ? m.encoder->parameters : 0.0;
      // A tied table is read as the head, so it is only the copy as an embedding that is left out.
      const double left_out = (m.tied_embeddings ? 0.0 : p.embedding / d.layout.tensor) +
                              (p.other - router) + encoder / d.layout.tensor +
                              p.expert_biases / (d.layout.tensor * d.layout.data);
      const double stored = weight_bytes_per_device(d).value();
      INFO(entry.key << " over " << d.layout.tensor << " x " << d.layout.data);
      CHECK(near(pm::demand_of_step(d, {.batch = 1e7, .context = 1}).weights.value(),
                 stored - left_out * other));
    }
  }
}

TEST_CASE(
    "step: FLOP over one device are those of a token, and what absorbing MLA's projections adds") {
  for (const auto& entry : cat::models) {
    const pm::transformer& m = *entry.model;
    if (!known_by_hand(m)) continue;
    const pm::deployment d{.device = roomy(), .model = m};
    for (const double context : {1.0, 5000.0}) {
      double expected = flop_per_token(m, context).value();
      for (const mixer_by_hand a : m.layers.mixers) {
        if (!a.kv_rank) continue;
        expected += 2 * context * a.layers * a.heads * (a.absorbed() - a.dk - a.dv);
      }
      INFO(entry.key << " at " << context);
      CHECK(near(pm::demand_of_step(d, {.batch = 1, .context = context}).matrix_flop.value(),
                 expected));
    }
  }
}

TEST_CASE(
    "step: more work is never quicker and more machine never slower, whatever the model and "
    "layout") {
  random_numbers random(13);
  const int samples = perfmodel_test::sanitized ? 2 : 12;  // of each model
  for (const auto& entry : cat::models) {
    for (int n = 0; n < samples; ++n) {
      const pm::deployment d = random_deployment(random, *entry.model);
      const pm::iteration i = random_iteration(random);
      const auto time = pm::step_bound(d, i).time;
      const double slack = 1 - 1e-12;
      INFO(entry.key << " tensor " << d.layout.tensor << " data " << d.layout.data);
      auto more = i;
      more.batch += 1 + 3 * i.batch;
      CHECK(pm::step_bound(d, more).time >= slack * time);
      more = i;
      more.context *= 1.7;
      CHECK(pm::step_bound(d, more).time >= slack * time);
      more = i;
      if (i.prefill_tokens > 0) more.prefill_tokens *= 3;  // longer prompts
      CHECK(pm::step_bound(d, more).time >= slack * time);
      more = i;
      if (i.prefill_tokens > 0) {  // more prompts
        more.prefill_tokens *= 2;
        more.prefill_sequences *= 2;
      }
      CHECK(pm::step_bound(d, more).time >= slack * time);
      auto better = d;
      better.device.dram.bandwidth = 2.0 * d.device.dram.bandwidth.quantity();
      CHECK(pm::step_bound(better, i).time <= time);
      better = d;
      better.device.fabric.bandwidth = 2.0 * d.device.fabric.bandwidth.quantity();
      CHECK(pm::step_bound(better, i).time <= time);
      better = d;
      better.device.matrix.peak.bf16 = 2.0 * d.device.matrix.peak.bf16.quantity();
      better.device.matrix.peak.fp8 = 2.0 * d.device.matrix.peak.fp8.quantity();
      CHECK(pm::step_bound(better, i).time <= time);
      CHECK(
          pm::step(d, i, pm::derated{.compute_efficiency = 0.99, .memory_efficiency = 0.99}).time >=
          time);
      CHECK(pm::step(d, i, pm::derated{}).time >= slack * time);
      const auto e = pm::step_bound(d, i);
      CHECK(e.mfu <= 1 + 1e-12);
      CHECK(e.mbu <= 1 + 1e-12);
    }
  }
}

TEST_CASE(
    "step: 70B decode reaches 104 FLOP/byte at 4096 tokens of context and 52 at 8192, attention "
    "aside") {
  const pm::deployment d{.device = roomy(), .model = cat::llama_3_70b};
  const double multiplied = 69.5e9;  // without the embedding table
  for (const double context : {4096.0, 8192.0}) {
    const auto s = pm::demand_of_step(d, {.batch = 1e9, .context = context});
    const double attention = 80 * 4.0 * context * 64 * 128 * 1e9;
    const double reached = (s.matrix_flop.value() - attention) / (s.weights + s.cache).value();
    CHECK(near(reached, 2 * multiplied / (context * 327680), 2e-3));
    CHECK(near(reached, context == 4096 ? 104 : 52, 0.01));
  }
}

TEST_CASE(
    "step: prefill turns from memory- to compute-bound at the ridge, 295 tokens on one H100") {
  // Weights once against 2 FLOP per weight and token: S = R b / (2 BW). Counting activations as
  // traffic moves it to 318; a bound keeps them on the chip.
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_70b};
  CHECK(pm::step_bound(d, {.prefill_tokens = 290}).limiter == pm::limiter::memory);
  CHECK(pm::step_bound(d, {.prefill_tokens = 300}).limiter == pm::limiter::compute);
}

TEST_CASE("step: the rate of one stream never exceeds bandwidth over weights") {
  for (const auto& entry : cat::accelerators) {
    const pm::deployment d{.device = *entry.spec, .model = cat::llama_3_8b};
    if (!supports(*entry.spec, pm::bf16)) continue;
    const double weights = 2 * (parameters(cat::llama_3_8b).total() - 128256.0 * 4096);
    const double rate = 1 / pm::step_bound(d, {.batch = 1, .context = 1}).time.value();
    CHECK(rate <= entry.spec->dram.bandwidth.value() / weights * (1 + 1e-4));
  }
}

}  // namespace property_step
