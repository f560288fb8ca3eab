// A service: more load, longer prompts and answers never take less time; more memory never holds
// fewer sequences; more bandwidth is never slower. $PERFMODEL_SAMPLES samples of each property.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>

#include "support/order_service.hpp"

namespace property_order_serving {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::calibrated_machine;
using perfmodel_test::calibrated_machines;
using perfmodel_test::one_of;
using perfmodel_test::order;
using perfmodel_test::passes_of;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::service;
using perfmodel_test::told;
using perfmodel_test::whole;
using perfmodel_test::without_steps;

namespace {

service random_service(random_numbers& x, bool closed) {
  for (;;) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    service s{
        .d = {.device = *m.device, .model = *one_of(x, cat::models).model, .serving_engine = m.by},
        .l = {},
        .machine = &m};
    s.d.layout.tensor = static_cast<int>(power_of_two(x, 0, 3));
    if (x.uniform() < 0.2) s.d.layout.pipeline = 2;
    s.l.input_tokens = whole(x, 16, 8000);
    s.l.output_tokens = whole(x, 1, 2000);
    if (x.uniform() < 0.5) {
      constexpr pm::scheduling all[] = {pm::scheduling::mixed_chunks, pm::scheduling::prefill_first,
                                        pm::scheduling::static_batches};
      s.l.scheduler = one_of(x, all);
    }
    if (closed) {
      s.l.arrivals = pm::closed_loop{whole(x, 1, 300)};
    } else {
      s.l.arrivals = pm::open_loop{x.log_uniform(0.01, 100.0) * pm::request_per_s};
    }
    if (x.uniform() < 0.3) s.l.chunk_tokens = whole(x, 64, 4096);
    if (x.uniform() < 0.3) s.l.batch_limit = whole(x, 1, 100);
    try {
      if (pm::serving_bound(s.d, s.l).feasible.feasible) return s;
    } catch (const pm::error&) {
      continue;  // a layout that the model cannot have
    }
  }
}

service faster_than(const service& s, random_numbers& x) {
  service out = s;
  out.d.device.dram.bandwidth = x.uniform(1.0, 3.0) * s.d.device.dram.bandwidth.quantity();
  return out;
}

/// Whether an engine starts with a larger token budget or more sequences on the larger memory, and reserves memory for
/// them: vLLM from 70 GiB on, SGLang from 20, 35, 60 and 160.
bool larger_passes(const pm::deployment& d, const pm::accelerator& with_more) {
  const auto on = [&](const pm::accelerator& a) {
    return pm::engine_limits_on(d.serving_engine, d.limits, a.dram.capacity.quantity(),
                                d.layout.tensor, false);
  };
  const auto before = on(d.device), after = on(with_more);
  return *after.tokens > *before.tokens || *after.sequences > *before.sequences;
}

/// Where one prompt and a part of another fit into a pass, a further one may cost a tile or none,
/// and where decodes leave it less than a prompt, it takes a pass more: 99 % of gaps may then be
/// shorter (itl_of). So they may where the pass with one prompt comes past a step that full ones
/// are past, so that each further one adds less.
bool steps_between(const service& s, const service& t, const pm::calibrated& c) {
  const pm::prefill_steps p = passes_of(s, c), q = passes_of(t, c);
  const double groups = s.d.layout.pipeline * s.d.layout.data;
  const auto hardly_two = [&](double n) { return n > groups && n < 2.0 * groups; };
  return p.chunks != q.chunks || hardly_two(p.prefills_per_step) ||
         hardly_two(q.prefills_per_step) ||
         (q.decode_stall > p.decode_stall &&
          q.marginal_prefill_time < 0.9 * p.marginal_prefill_time);
}

/// Whether nine tenths of the room for prompts are taken: with more requests more decode in each
/// iteration, and the full ones, of which the longest gaps are, have fewer prompts.
bool nearly_full(const service& s, const pm::serving_estimate& answer, const pm::calibrated& c) {
  return s.l.rate().value() * answer.itl_distribution.mean().value() >
         0.9 * passes_of(s, c).prefills_per_step;
}

/// Whether a prefill step is quicker with two sequences that decode than with one: another kernel.
bool quicker_beside_two(const service& s, const service& t, const pm::calibrated& c) {
  const pm::prefill_steps p = passes_of(s, c), q = passes_of(t, c);
  return p.prefill_iteration.batch < 2.0 && q.prefill_time < p.prefill_time;
}

/// An open loop that prefills first. Near its largest rate an interval between two decode steps is
/// that of a service with all batch slots taken, which grows with their number.
bool fills_prefill_first(const service& s) {
  if (s.l.is_closed()) return false;
  return s.l.scheduler.value_or(scheduling_of(s.d.serving_engine)) == pm::scheduling::prefill_first;
}

/// Whether a full pass has more prompts, as fewer decode in it, and takes longer: a wave of
/// attention more.
bool full_budget_step(const service& s, const service& t, const pm::calibrated& c) {
  const pm::prefill_steps p = passes_of(s, c), q = passes_of(t, c);
  return q.prefills_per_step > p.prefills_per_step &&
         q.prefills_per_step * q.saturated_prefill_time >
             p.prefills_per_step * p.saturated_prefill_time;
}

/// Closed loops of mixed chunks whose CPU time lets steps pass: faster decoding completes more
/// requests a second, so that an arrival more often finds a step with prefill in progress. Devstral
/// 123B on MI300X with 1.5 times the memory bandwidth, simulated: TTFT 919 to 1,053 ms.
bool meets_longer_steps(const service& s, const pm::calibrated& c) {
  return s.l.is_closed() && c.engine.request_cpu_time.value() > 0.0 &&
         s.l.scheduler.value_or(scheduling_of(s.d.serving_engine)) == pm::scheduling::mixed_chunks;
}

/// Whether passes of more sequences take longer than in proportion, or one with a chunk of a prompt
/// than by its tokens: a tile or another kernel more for few more of them, so that each is slower
/// and all are no more throughput (closed_service).
bool steps_up(const service& s, const service& t, const pm::calibrated& c) {
  const pm::prefill_steps p = passes_of(s, c), q = passes_of(t, c);
  const auto tokens = [](const pm::prefill_steps& x) {
    return x.prefill_iteration.batch + x.prefill_iteration.prefill_tokens;
  };
  const double times = q.prefill_iteration.batch / p.prefill_iteration.batch;
  const double chunk = (q.prefill_time / q.chunks) / (p.prefill_time / p.chunks);
  return times > 1.0 &&
         (q.decode_time > times * p.decode_time || q.prefill_time > times * p.prefill_time ||
          q.saturated_prefill_time > times * p.saturated_prefill_time ||
          chunk > tokens(q) / tokens(p));
}

/// Whether a closed loop is limited by prefill: throughput is 1 / saturated prefill time, so that
/// what decoding gains in ITL is lost in TTFT, and the whole time stays.
bool limited_by_prefill(const service& s, const pm::serving_estimate& e, const pm::calibrated& c) {
  return s.l.is_closed() &&
         e.throughput.value() * passes_of(s, c).saturated_prefill_time.value() > 0.999;
}

/// Outputs of a few tokens, for which the closed forms are not exact: napkin simulates
/// services of outputs below 64 (docs/laws/research/closed_forms.md).
bool has_short_output(const service& s) {
  return s.l.output_tokens < 16.0;
}
/// Prefills that share a step share the host time of its layers, so that more requests can take less.
bool shares_host_time(const service& s, const pm::calibrated& c) {
  const auto& mixers = s.d.model.layers.mixers;
  const double latent = pm::detail::layers_with<pm::latent_attention_shape, double>(mixers);
  const double recurrent = pm::detail::layers_with<pm::recurrent_shape, double>(mixers);
  const double experts =
      pm::detail::layers_with<pm::expert_shape, double>(s.d.model.layers.feed_forwards);
  return latent * c.engine.prefill_latent_layer_time.value() +
             recurrent * c.engine.prefill_recurrent_layer_time.value() +
             experts * c.engine.prefill_expert_launch_time.value() >
         0.0;
}
/// Static batches wait for their longest prompt, and longer outputs for fewer of them.
bool is_static(const service& s) {
  return s.l.scheduler == pm::scheduling::static_batches;
}

/// Throughput of a service with all batch slots taken: the largest rate of an open loop. Near it
/// the admission delay is long (admission_queue_of). Discontinuous kernel times can lower it with
/// more slots (closed_service).
double full_throughput(service s, const pm::calibrated& c) {
  s.l.arrivals = pm::closed_loop{1e6};
  return pm::serving(s.d, s.l, c).throughput.value();
}

}  // namespace

TEST_CASE("memory: more of it never holds fewer sequences", "[order]") {
  random_numbers x(91);
  order capacity("sequences that fit");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    pm::deployment d{
        .device = *m.device, .model = *one_of(x, cat::models).model, .serving_engine = m.by};
    d.layout.tensor = static_cast<int>(power_of_two(x, 0, 3));
    const double context = whole(x, 1, 1e5);
    try {
      const pm::deployment before_it = d;
      const double before = pm::kv_capacity(d, context).sequences;
      d.device.dram.capacity = x.uniform(1.0, 3.0) * m.device->dram.capacity.quantity();
      capacity.rises(
          before, pm::kv_capacity(d, context).sequences,
          [&] { return std::string(d.model.name.c_str()) + " on " + d.device.name.c_str(); },
          [&] { return larger_passes(before_it, d.device); });
    } catch (const pm::error&) {
      continue;
    }
  }
}

TEST_CASE("a closed loop: more of a load never takes less time", "[calibrated][order]") {
  random_numbers x(92);
  order itl("bound, ITL"), e2e("bound, whole time"),
      through("bound, throughput of more requests, by less than 1 %"),
      bandwidth("bound, bandwidth"), calibration("calibrated, by less than a fifth");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const service s = random_service(x, true);
    service more = s;
    const double what = x.uniform();
    if (what < 0.4) {
      more.l.arrivals = pm::closed_loop{s.l.concurrency() + whole(x, 1, 50)};
    } else if (what < 0.7) {
      more.l.input_tokens += whole(x, 1, 500);
    } else {
      more.l.output_tokens += whole(x, 1, 200);
    }
    const auto where = [&] { return told(s) + "; " + told(more); };
    const auto a = pm::serving_bound(s.d, s.l), b = pm::serving_bound(more.d, more.l);
    if (!b.feasible.feasible) continue;
    // In more chunks, a prompt fills the stages of a pipeline sooner, and fewer sequences decode in
    // its steps.
    const bool cut = pm::detail::chunks_of(more.l) != pm::detail::chunks_of(s.l);
    e2e.rises(a.e2e.value(), b.e2e.value(), where,
              [&] { return cut || has_short_output(s) || is_static(s); });
    if (what < 0.4) {
      itl.rises(a.itl.value(), b.itl.value(), where);
      // If chunks are not full of one prompt, the steps of this one have room that others do not
      // fill.
      through.rises(0.99 * a.throughput.value(), b.throughput.value(), where,
                    [&] { return has_short_output(s) || is_static(s); });
    }
    const service faster = faster_than(s, x);
    bandwidth.rises(pm::serving_bound(faster.d, faster.l).e2e.value(), a.e2e.value(), where);
    const auto predicted = [&](const service& v) {
      return pm::serving(v.d, v.l, v.machine->calibration).e2e.value();
    };
    // Longer prompts leave fewer sequences decoding in their steps, which may have a tile less: in
    // static batches on average over their steps.
    calibration.rises(0.8 * predicted(s), predicted(more), where, [&] {
      return has_short_output(s) || is_static(s) || steps_up(more, s, s.machine->calibration);
    });
  }
}

TEST_CASE("better drafts never make a service slower", "[calibrated][order]") {
  random_numbers x(96);
  order bound("bound, acceptance, whole time"), itl("acceptance, ITL"),
      e2e("acceptance, whole time, by less than 0.5 %"),
      through("acceptance, throughput, by less than 0.5 %");
  const long n = samples() / 4;
  for (long i = 0; i < n; ++i) {
    const service s = random_service(x, x.uniform() < 0.5);
    pm::speculation drafts{.by = x.uniform() < 0.5 ? pm::drafter::lookup : pm::drafter::part,
                           .length = static_cast<int>(whole(x, 1, 8))};
    drafts.acceptance = {x.uniform(0.0, 0.95)};
    pm::speculation better = drafts;
    better.acceptance = {x.uniform(drafts.acceptance[0], 1.0)};
    const auto where = [&] {
      return told(s) + "; " + std::to_string(drafts.length) + " drafts, " +
             std::to_string(drafts.acceptance[0]) + " to " + std::to_string(better.acceptance[0]);
    };
    const pm::calibrated c = without_steps(s.machine->calibration);
    try {
      const auto a = pm::serving(s.d, s.l, drafts, c), b = pm::serving(s.d, s.l, better, c);
      if (!a.feasible.feasible) continue;
      // With few speculation rounds an output is as short as one of as few tokens.
      const auto excused = [&] {
        return has_short_output(s) || is_static(s) ||
               s.l.output_tokens < 48.0 * (drafts.length + 1);
      };
      bound.rises(pm::serving_bound(s.d, s.l, better).e2e.value(),
                  pm::serving_bound(s.d, s.l, drafts).e2e.value(), where, excused);
      itl.rises(b.itl.value(), a.itl.value(), where, excused);
      e2e.rises(0.995 * b.e2e.value(), a.e2e.value(), where, excused);
      through.rises(0.995 * a.throughput.value(), b.throughput.value(), where, excused);
    } catch (const pm::error&) {
      continue;  // a drafter that the service cannot have
    }
  }
}

TEST_CASE("an open loop: more requests never take less time", "[order]") {
  random_numbers x(93);
  order itl("bound, ITL"), ttft("bound, time to first token"), batch("bound, batch"),
      bandwidth("bound, bandwidth");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const service s = random_service(x, false);
    service more = s;
    more.l.arrivals = pm::open_loop{x.uniform(1.0, 1.5) * s.l.rate()};
    const auto where = [&] { return told(s) + "; " + told(more); };
    const auto a = pm::serving_bound(s.d, s.l), b = pm::serving_bound(more.d, more.l);
    const service faster = faster_than(s, x);
    const auto c = pm::serving_bound(faster.d, faster.l);
    bandwidth.rises(c.itl.value(), a.itl.value(), where);
    if (!b.feasible.feasible) continue;
    itl.rises(a.itl.value(), b.itl.value(), where);
    ttft.rises(a.ttft.value(), b.ttft.value(), where, [&] { return has_short_output(s); });
    batch.rises(a.batch, b.batch, where);
  }
}

TEST_CASE("a calibrated open loop: more requests never take less time", "[calibrated][order]") {
  random_numbers x(94);
  order itl("ITL, by less than 0.2 %"), ttft("time to first token, by less than 0.1 %"),
      e2e("whole time, by less than 0.01 %"), gaps("99 % of gaps, by less than 1 %");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const service s = random_service(x, false);
    service more = s;
    more.l.arrivals = pm::open_loop{x.uniform(1.0, 1.5) * s.l.rate()};
    const pm::calibrated c = without_steps(s.machine->calibration);
    const auto a = pm::serving(s.d, s.l, c), b = pm::serving(more.d, more.l, c);
    if (!b.feasible.feasible) continue;
    const auto where = [&] { return told(s) + "; " + told(more); };
    const bool shared = shares_host_time(s, c);
    itl.rises(0.998 * a.itl.value(), b.itl.value(), where,
              [&] { return shared || has_short_output(s) || steps_between(s, more, c); });
    ttft.rises(0.999 * a.ttft.value(), b.ttft.value(), where,
               [&] { return shared || has_short_output(s) || quicker_beside_two(s, more, c); });
    e2e.rises(0.9999 * a.e2e.value(), b.e2e.value(), where,
              [&] { return shared || has_short_output(s); });
    gaps.rises(0.99 * a.itl_distribution.quantile(0.99).value(),
               b.itl_distribution.quantile(0.99).value(), where, [&] {
                 return has_short_output(s) || fills_prefill_first(s) ||
                        steps_between(s, more, c) || nearly_full(more, b, c);
               });
  }
}

TEST_CASE("a calibrated service: more bandwidth, links and memory never make it slower",
          "[calibrated][order]") {
  random_numbers x(95);
  order itl("ITL, by less than 0.5 %"), ttft("time to first token"),
      any_ttft("time to first token, past a wave of prompts, by less than 0.5 %"),
      e2e("whole time"), through("throughput"),
      more_ttft("time to first token, of more memory, by less than a tenth"),
      more_e2e("whole time, of more memory, by less than a tenth"),
      more_through("throughput, of more memory, by less than a tenth");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const service s = random_service(x, x.uniform() < 0.5);
    service better = s;
    const double what = x.uniform(), times = x.uniform(1.0, 3.0);
    const bool memory = what < 0.33;
    pm::accelerator& device = better.d.device;
    if (memory) {
      device.dram.capacity = times * s.d.device.dram.capacity.quantity();
    } else if (what < 0.66 && device.fabric.bandwidth.is_stated()) {
      device.fabric.bandwidth = times * s.d.device.fabric.bandwidth.quantity();
    } else {
      device.dram.bandwidth = times * s.d.device.dram.bandwidth.quantity();
    }
    const pm::calibrated c = without_steps(s.machine->calibration);
    const auto a = pm::serving(s.d, s.l, c), b = pm::serving(better.d, better.l, c);
    if (!a.feasible.feasible || !b.feasible.feasible) continue;
    const auto where = [&] {
      return told(s) +
             (memory        ? "; memory"
              : what < 0.66 ? "; links"
                            : "; bandwidth") +
             " times " + std::to_string(times);
    };
    const auto excused = [&] {
      return larger_passes(s.d, device) || has_short_output(s) || steps_up(s, better, c) ||
             steps_between(s, better, c);
    };
    if (memory) {
      // More of it lets more in at once, each of which is slower; passes of more may be beyond a
      // step.
      const auto saturated = [&] {
        return excused() || fills_prefill_first(s) ||
               full_throughput(better, c) < full_throughput(s, c);
      };
      more_ttft.rises(0.9 * b.ttft.value(), a.ttft.value(), where, saturated);
      more_e2e.rises(0.9 * b.e2e.value(), a.e2e.value(), where, saturated);
      more_through.rises(0.9 * a.throughput.value(), b.throughput.value(), where, excused);
      continue;
    }
    // Prompts that are through sooner leave more decoding at once, or more of them a pass.
    itl.rises(0.995 * b.itl.value(), a.itl.value(), where, [&] { return has_short_output(s); });
    ttft.rises(b.ttft.value(), a.ttft.value(), where, [&] {
      return has_short_output(s) || full_budget_step(s, better, c) ||
             limited_by_prefill(better, b, c) || meets_longer_steps(s, c);
    });
    any_ttft.rises(0.995 * b.ttft.value(), a.ttft.value(), where, [&] {
      return has_short_output(s) || limited_by_prefill(better, b, c) || meets_longer_steps(s, c);
    });
    // Of one token, the whole request is the time to it.
    const auto one_token = [&] { return s.l.output_tokens == 1.0 && meets_longer_steps(s, c); };
    e2e.rises(0.995 * b.e2e.value(), a.e2e.value(), where, one_token);
    through.rises(a.throughput.value(), b.throughput.value(), where, one_token);
  }
}

}  // namespace property_order_serving
