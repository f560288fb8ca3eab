// What must hold of a step for models with every kind of mixer.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/derivation.hpp>
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step.hpp>

#include "support/layers.hpp"
#include "support/mixed_models.hpp"
#include "support/near.hpp"
#include "support/random.hpp"
#include "support/scalars.hpp"

namespace property_layers {

namespace pm = perfmodel;
using namespace perfmodel_test;

namespace {

pm::accelerator roomy() {
  pm::accelerator a = pm::catalog::b200_sxm;
  a.dram.capacity = 1e6 * pm::GB;
  a.fabric.ranks = 4096;
  return a;
}

pm::deployment random_deployment(random_numbers& random, const pm::transformer& m) {
  for (;;) {
    const auto power = [&](int most) { return 1 << static_cast<int>(random.uniform(0, most + 1)); };
    pm::deployment d{.device = roomy(), .model = m};
    d.layout = {.tensor = power(4), .pipeline = power(1), .expert = power(4), .data = power(2)};
    if (random.uniform() < 0.5) d.weights = pm::fp8, d.activations = pm::fp8;
    if (random.uniform() < 0.5) d.kv = pm::fp8;
    if (pm::layout_feasible(d.layout, sharded_dims_of(m)) && pm::fits(d, 1.0, 1.0)) return d;
  }
}
pm::iteration random_iteration(random_numbers& random) {
  pm::iteration i{.batch = std::floor(random.log_uniform(1, 512)),
                  .context = std::floor(random.log_uniform(1, 500000))};
  if (random.uniform() < 0.6) {
    i.prefill_tokens = std::floor(random.log_uniform(1, 20000));
    i.prefill_past = std::floor(random.log_uniform(0.5, 100000));
  }
  return i;
}

/// FLOP of an operator of one kind over one device.
double flop_of(const pm::transformer& m, const pm::iteration& i, std::string_view name) {
  double sum = 0;
  pm::for_each_operator(pm::deployment{.device = roomy(), .model = m}, i,
                        [&](const pm::basic_operator<double>& o) {
                          if (o.name == name) sum += o.times * o.demand.matrix_flop.value();
                        });
  return sum;
}

}  // namespace

TEST_CASE(
    "layers: with every expert touched, weights read are those stored but for what is added") {
  random_numbers random(31);
  for (const pm::transformer* m : mixed_models) {
    for (int n = 0; n < 10; ++n) {
      pm::deployment d = random_deployment(random, *m);
      d.layout.pipeline = 1;
      const auto p = pm::parameters(*m);
      const double router = routed_layers_of(*m) * pm::experts_of(*m)->experts * m->hidden;
      const double left_out =
          (p.embedding / d.layout.tensor + p.other - router) * bytes_of(d.weights.others).value();
      INFO(m->name.view() << " over " << d.layout.tensor << " x " << d.layout.data);
      CHECK(near(pm::demand_of_step(d, {.batch = 1e7, .context = 1}).weights.value(),
                 pm::weight_bytes_per_device(d).value() - left_out));
    }
  }
}

TEST_CASE(
    "layers: a token decoded on one device costs flop_per_token, less decays, plus a latent's") {
  for (const pm::transformer* m : mixed_models) {
    for (const double context : {1.0, 1000.0, 200000.0}) {
      double expected = pm::flop_per_token(*m, context).value();
      const auto e = *pm::experts_of(*m);
      if (e.shared_gate) expected -= 2 * routed_layers_of(*m) * m->hidden;
      for (const auto& kind : m->layers.mixers) {
        if (kind.shape.index() == 1) {  // multiplies with the latent in place of keys and values
          const auto& a = std::get<pm::latent_attention_shape>(kind.shape);
          const double absorbed = 2 * a.kv_rank + a.rope_dim - a.head_dim - a.value_dim;
          expected += kind.layers * 2 * a.query_heads * absorbed * a.seen_tokens(context);
        } else if (kind.shape.index() == 2) {  // one for each element, and the token with itself
          const auto& a = std::get<pm::recurrent_shape>(kind.shape);
          const double own =
              a.corrects() ? 3 * a.key_dim + 2 * a.value_dim : a.key_dim + a.value_dim;
          expected += kind.layers * a.value_heads * (own - a.key_dim * a.value_dim);
        }
      }
      INFO(m->name.view() << " at " << context);
      const pm::deployment d{.device = roomy(), .model = *m};
      CHECK(near(pm::demand_of_step(d, {.batch = 1, .context = context}).matrix_flop.value(),
                 expected));
    }
  }
}

TEST_CASE("layers: the cache and states that decoding moves are those that a sequence keeps") {
  // Over one device, at a context below every choice: all that is kept is read, and a token
  // written; states are read and written.
  for (const pm::transformer* m : mixed_models) {
    for (const double context : {100.0, 400.0}) {
      const double kept = pm::kv_bytes(*m, context).value();
      const double more = pm::kv_bytes(*m, context + 1).value();
      const double moved = pm::demand_of_step(pm::deployment{.device = roomy(), .model = *m},
                                              {.batch = 1, .context = context})
                               .cache.value();
      INFO(m->name.view() << " at " << context);
      const double states = 2 * pm::state_bytes(*m).value();
      CHECK(moved >= 0.98 * kept + states);
      // Chunks are seen by half; what is written once may be an entry more.
      CHECK(moved <= 1.02 * more + 44 * 1024 + states);
    }
  }
}

TEST_CASE("layers: a prompt costs what its tokens cost one by one, but for recurrences in chunks") {
  for (const pm::transformer* m : mixed_models) {
    for (const double past : {0.0, 700.0, 9000.0}) {
      for (const char* name : {"attention", "index scores"}) {
        double one_by_one = 0;
        for (int k = 0; k < 300; ++k) {
          one_by_one += flop_of(*m, {.prefill_tokens = 1, .prefill_past = past + k}, name);
        }
        const double whole = flop_of(*m, {.prefill_tokens = 300, .prefill_past = past}, name);
        INFO(m->name.view() << ": " << name << " behind " << past);
        CHECK(near(whole, one_by_one));
      }
    }
  }
}

TEST_CASE("layers: decoding several tokens at once is no dearer than one after the other") {
  for (const pm::transformer* m : mixed_models) {
    const pm::deployment d{.device = roomy(), .model = *m};
    const auto one = pm::step_bound(d, {.batch = 8, .context = 3000}).time;
    const auto three =
        pm::step_bound(d, {.batch = 8, .context = 3000, .tokens_per_sequence = 3}).time;
    INFO(m->name.view());
    CHECK(three >= one);
    CHECK(three <= 3.0 * one);
  }
}

TEST_CASE("layers: more work is never quicker, and a prediction never beats the bound") {
  random_numbers random(32);
  for (const pm::transformer* m : mixed_models) {
    for (int n = 0; n < 12; ++n) {
      const pm::deployment d = random_deployment(random, *m);
      const pm::iteration i = random_iteration(random);
      const auto time = pm::step_bound(d, i).time;
      const double slack = 1 - 1e-12;
      INFO(m->name.view() << " tensor " << d.layout.tensor << " data " << d.layout.data << " batch "
                          << i.batch << " context " << i.context << " prefill " << i.prefill_tokens
                          << " past " << i.prefill_past);
      auto more = i;
      more.batch *= 1.7;
      CHECK(pm::step_bound(d, more).time >= slack * time);
      more = i;
      more.context *= 1.7;
      CHECK(pm::step_bound(d, more).time >= slack * time);
      more = i;
      more.prefill_tokens *= 3;
      CHECK(pm::step_bound(d, more).time >= slack * time);
      more = i;
      more.prefill_past *= 2;
      CHECK(pm::step_bound(d, more).time >= slack * time);
      CHECK(pm::step(d, i, pm::derated{}).time >= slack * time);
      const auto e = pm::step_bound(d, i);
      CHECK(e.mfu <= 1 + 1e-12);
      CHECK(e.mbu <= 1 + 1e-12);
    }
  }
}

TEST_CASE("layers: a step with every kind of mixer agrees over all scalars") {
  for (const pm::transformer* m : mixed_models) {
    INFO(m->name.view());
    const auto time = [m]<class T>(const std::array<T, 5>& x) {
      auto d = pm::lift<T>(
          pm::deployment{.device = roomy(), .model = *m, .layout = {.tensor = 2}, .kv = pm::fp8});
      d.device.dram.bandwidth = pm::bandwidth<T>::from_value(x[0]);
      d.device.fabric.bandwidth = pm::bandwidth<T>::from_value(x[1]);
      return pm::step_bound(d, pm::basic_iteration<T>{.batch = x[2],
                                                      .context = x[3],
                                                      .prefill_tokens = x[4],
                                                      .prefill_past = T(500.0)})
          .time.value();
    };
    check_scalars(time, 8e12, 900e9, 64.0, 40000.0, 1500.0);
    pm::trace t;
    const auto d =
        pm::trace_inputs(pm::deployment{.device = roomy(), .model = *m}, t, "deployment");
    pm::basic_iteration<pm::traced> i{.batch = pm::traced(4.0), .context = pm::traced(9000.0)};
    CHECK(pm::step_bound(d, i).time.value().value() ==
          pm::step_bound(pm::deployment{.device = roomy(), .model = *m},
                         {.batch = 4, .context = 9000})
              .time.value());
  }
}

}  // namespace property_layers
