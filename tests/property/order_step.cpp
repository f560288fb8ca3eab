// A pass of more sequences, longer contexts or more prompt tokens never takes less time, and no
// pass takes longer on a machine with more bandwidth or quicker links. $PERFMODEL_SAMPLES samples
// of each property.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step.hpp>
#include <sstream>
#include <vector>

#include "support/order.hpp"

namespace property_order_step {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::calibrated_machine;
using perfmodel_test::calibrated_machines;
using perfmodel_test::one_of;
using perfmodel_test::order;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::stops_scheduling;
using perfmodel_test::whole;
using perfmodel_test::without_parts;

namespace {

struct pass {
  pm::deployment d;
  pm::iteration i;
  pm::calibrated calibration;
};

std::string told(const pass& p) {
  std::ostringstream out;
  out << p.d.model.name.c_str() << " on " << p.d.device.name.c_str() << " t" << p.d.layout.tensor
      << " p" << p.d.layout.pipeline << " e" << p.d.layout.expert
      << (formats_of(p.d).kv.bits() < 16 ? " fp8 cache" : "") << " batch " << p.i.batch
      << " context " << p.i.context << " prefill " << p.i.prefill_tokens << " past "
      << p.i.prefill_past;
  return out.str();
}

/// A model of the catalogue as some machine can hold it, or cut; the pass is valid.
pass random_pass(random_numbers& x) {
  for (;;) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    pass p{
        .d = {.device = *m.device, .model = *one_of(x, cat::models).model, .serving_engine = m.by},
        .i = {},
        .calibration = m.calibration};
    p.d.layout.tensor = static_cast<int>(power_of_two(x, 0, 3));
    if (x.uniform() < 0.3) p.d.layout.pipeline = 2;
    if (x.uniform() < 0.3) p.d.kv = pm::fp8;
    const double kind = x.uniform();
    if (kind < 0.8) p.i.batch = whole(x, 1, 2048);
    p.i.context = whole(x, 1, 1e5);
    if (kind > 0.5) p.i.prefill_tokens = whole(x, 1, 16384);
    if (kind > 0.8) p.i.prefill_past = whole(x, 1, 1e4);
    try {
      pm::step_bound(p.d, p.i);
      pm::step(p.d, p.i, p.calibration);
      return p;
    } catch (const pm::error&) {
      continue;  // a layout that the model cannot have
    }
  }
}

double bound_of(const pass& p) {
  return pm::step_bound(p.d, p.i).time.value();
}
double predicted(const pass& p, const pm::calibrated& c) {
  return pm::step(p.d, p.i, c).time.value();
}

void add(pass& p, random_numbers& x) {
  const double what = x.uniform();
  if (p.i.batch > 0.0 && what < 0.3) {
    p.i.batch += whole(x, 1, 100);
  } else if (p.i.batch > 0.0 && what < 0.6) {
    p.i.context += whole(x, 1, 2000);
  } else if (p.i.prefill_tokens > 0.0 && what < 0.8) {
    p.i.prefill_past += whole(x, 1, 2000);
  } else {
    p.i.prefill_tokens += whole(x, 1, 500);
  }
}

/// A prompt that ends inside a chunk of attention which what is cached of it fills up: a token more
/// takes the place of a cached one, as its law says (prefills_of).
bool fills_its_chunk(const pass& p) {
  for (const auto& kind : p.d.model.layers.mixers) {
    const auto* a = std::get_if<pm::attention_shape>(&kind.shape);
    if (a == nullptr || !a->chunked || !a->window) continue;
    const double window = *a->window, tokens = p.i.prefill_tokens;
    return tokens > 0.0 && tokens < window && tokens + p.i.prefill_past > window;
  }
  return false;
}

/// Attention that schedules the decoding of `p` and no longer that of `more`.
bool unscheduled(const pass& p, const pass& more) {
  const auto sequences = [](const pass& q) {
    return pm::detail::step_share_of(q.d.layout, q.i).sequences;
  };
  const pm::calibrated& c = p.calibration;
  return stops_scheduling(
      formats_of(p.d).kv.bits() < 16.0 ? c.low_precision_attention_kernels : c.attention_kernels,
      sequences(p), sequences(more));
}

/// True if kernels of a step with one more sequence take longer than in proportion: a GEMM with one
/// more matrix instruction of rows, experts or attention with a tile or a wave more, a collective
/// by another algorithm.
bool steps_up(const pass& p, const pass& more, const pm::calibrated& c) {
  const auto times = [&](const pass& q) {
    std::vector<double> out;
    pm::detail::operator_times<double, pm::calibrated> each(q.d.device, c);
    pm::detail::visit_operators(q.d, q.i, [&](const pm::basic_operator<>& o, const auto& w) {
      out.push_back((o.times * each.time_of(w, [&] { return o.demand; })).value());
    });
    out.push_back(pm::detail::communication_of_step(q.d, q.i, c).value());
    return out;
  };
  const std::vector<double> before = times(p), after = times(more);
  const double in_proportion = more.i.batch / p.i.batch;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (after[i] > in_proportion * before[i]) return true;
  }
  return false;
}

}  // namespace

namespace {

/// Sparse attention of latents: a prompt with more keys than the indexer selects computes on the
/// latents, with a constant number of keys.
bool selects_keys(const pass& p, const pass& more) {
  for (const auto& layers : p.d.model.layers.mixers) {
    const auto* a = std::get_if<pm::latent_attention_shape>(&layers.shape);
    if (a == nullptr || !a->indexer) continue;
    const double most = a->indexer->top_k;
    if (p.i.prefill_past + p.i.prefill_tokens <= most &&
        more.i.prefill_past + more.i.prefill_tokens > most)
      return true;
  }
  return false;
}
/// Chips without fp8 convert an 8-bit cache by parts of keys.
bool converts_cache(const pass& p) {
  const pm::chip_architecture a = p.d.device.architecture;
  return formats_of(p.d).kv.bits() < 16 &&
         (a == pm::chip_architecture::ampere || a == pm::chip_architecture::volta);
}

}  // namespace

TEST_CASE("an engine step: more work takes longer, except in the parts of attention",
          "[calibrated][order]") {
  random_numbers x(81);
  order bound("bound"), whole_keys("calibrated, keys in one part"),
      parts("calibrated, by less than 21 %");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const pass p = random_pass(x);
    pass more = p;
    add(more, x);
    const auto where = [&] { return told(p) + "; " + told(more); };
    bound.rises(bound_of(p), bound_of(more), where);
    const pm::calibrated c = without_parts(p.calibration);
    // Prompts bring decodes another kernel where that was measured.
    const bool other_kernel = c.mixed_attention && p.i.batch > 0.0 && p.i.prefill_tokens == 0.0 &&
                              more.i.prefill_tokens > 0.0;
    whole_keys.rises(predicted(p, c), predicted(more, c), where, [&] {
      return other_kernel || fills_its_chunk(more) || unscheduled(p, more) || converts_cache(p) ||
             selects_keys(p, more);
    });
    parts.rises(0.79 * predicted(p, p.calibration), predicted(more, p.calibration), where);
  }
}

TEST_CASE("an engine step: more bandwidth and faster links never take longer",
          "[calibrated][order]") {
  random_numbers x(82);
  order bound("bound"), calibrated("calibrated");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const pass p = random_pass(x);
    pass faster = p;
    faster.d.device.dram.bandwidth = x.uniform(1.0, 3.0) * p.d.device.dram.bandwidth.quantity();
    if (p.d.device.fabric.bandwidth.is_stated() && x.uniform() < 0.5) {
      faster.d.device.fabric.bandwidth =
          x.uniform(1.0, 3.0) * p.d.device.fabric.bandwidth.quantity();
    }
    const auto where = [&] { return told(p); };
    bound.rises(bound_of(faster), bound_of(p), where);
    calibrated.rises(predicted(faster, p.calibration), predicted(p, p.calibration), where);
  }
}

TEST_CASE("an engine step: one more sequence is never less throughput", "[order]") {
  random_numbers x(83);
  order bound("bound"), one("calibrated, but where a kernel steps up"),
      twice("calibrated, twice the sequences, by tiles alone, by less than 3 %");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    pass p = random_pass(x);
    if (p.i.batch < 1.0) p.i.batch = whole(x, 1, 512);
    p.i.prefill_tokens = p.i.prefill_past = 0.0;
    pass more = p;
    more.i.batch += 1.0;
    const auto where = [&] { return told(p); };
    bound.rises(p.i.batch / bound_of(p), more.i.batch / bound_of(more), where);
    one.rises(p.i.batch / predicted(p, p.calibration),
              more.i.batch / predicted(more, p.calibration), where,
              [&] { return steps_up(p, more, p.calibration); });
    more.i.batch = 2.0 * p.i.batch;
    // Tiles hardly lose by twice the rows: two of 256 multiply all rows where one left some out.
    // What can lose more: fewer parts of keys and of k, where tiles fill SMs; power, that long
    // GEMMs meet; collectives, which change their kernels with the message; data that leave the L2,
    // in which measured element-wise kernels find it.
    pm::calibrated c = without_parts(p.calibration);
    c.machine.split_cost = 1.0 * pm::second;
    c.machine.power_slowdown = 0.0;
    const auto seconds = [&](const pass& q) {
      return pm::step(q.d, q.i, c, pm::full_link{}).time.value();
    };
    twice.rises(0.97 * p.i.batch / seconds(p), more.i.batch / seconds(more), where, [&] {
      // Activations of A100's untuned experts outgrow the L2. On few SMs a wave more is a large share.
      const bool few = p.d.device.sms.is_stated() && p.d.device.sms.value() < 100.0;
      return c.elementwise_kernels.has_any() ||
             ((c.untuned_moe_kernels || few) && steps_up(p, more, c));
    });
  }
}

}  // namespace property_order_step
