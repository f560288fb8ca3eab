// Longer contexts, larger batches and more tokens never take less time, but where a law says so.
// $PERFMODEL_SAMPLES samples of each property.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <perfmodel/roofline.hpp>
#include <sstream>

#include "support/order.hpp"

namespace property_order_attention {

namespace pm = perfmodel;
using perfmodel_test::calibrated_machine;
using perfmodel_test::calibrated_machines;
using perfmodel_test::one_of;
using perfmodel_test::order;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::whole;

namespace {

template <class Attention>
void random_heads(Attention& w, random_numbers& x) {
  w.kv_heads = power_of_two(x, 0, 5);
  w.query_heads = w.kv_heads * power_of_two(x, 0, 4);
  w.head_dim = 64.0 * power_of_two(x, 0, 2);
  if (x.uniform() < 0.3) w.kv_format = pm::fp8;
  if (x.uniform() < 0.3) w.window = whole(x, 16, 8192);
}
pm::attention_decode random_decode(random_numbers& x) {
  pm::attention_decode w{.batch = whole(x, 1, 2048), .context = whole(x, 1, 2e5)};
  random_heads(w, x);
  return w;
}
pm::attention_prefill random_prefill(random_numbers& x) {
  pm::attention_prefill w{.batch = whole(x, 1, 32), .tokens = whole(x, 1, 2e4)};
  random_heads(w, x);
  if (x.uniform() < 0.3) w.past = whole(x, 1, 1e5);
  if (!w.window && w.past == 0.0 && x.uniform() < 0.1) w.causal = false;
  return w;
}

template <class Attention>
std::string told(const calibrated_machine& m, const Attention& w) {
  std::ostringstream out;
  out << perfmodel_test::fields_of(w) << (w.kv_format.bits() < 16.0 ? "fp8 cache " : "")
      << "window " << w.window.value_or(0.0) << " on " << m.device->name.c_str();
  return out.str();
}

/// The kernels that run it: those of a narrow cache, or the others.
template <class Attention>
const pm::attention_kernels& kernels_of(const calibrated_machine& m, const Attention& w) {
  return w.kv_format.bits() < 16.0 ? m.calibration.low_precision_attention_kernels
                                   : m.calibration.attention_kernels;
}

/// The parts that a kernel cuts keys into.
double parts(const calibrated_machine& m, const pm::attention_decode& w) {
  return pm::detail::splits_of(w, kernels_of(m, w), m.device->sms.value()).count;
}
double parts(const calibrated_machine& m, const pm::attention_prefill& w) {
  return pm::detail::prefill_splits(w, kernels_of(m, w), m.device->sms.value());
}

/// Whether more sequences are no longer scheduled.
bool unscheduled(const calibrated_machine& m, const pm::attention_decode& w,
                 const pm::attention_decode& more) {
  return perfmodel_test::stops_scheduling(kernels_of(m, w), w.batch, more.batch);
}

/// Whether an SM holds fewer blocks than contexts are cut for, so that parts run in turns.
bool in_turns(const calibrated_machine& m, const pm::attention_decode& w) {
  const auto& k = kernels_of(m, w);
  return pm::detail::blocks_per_sm_of(*m.device, k, m.device->sms.value()) < k.blocks_per_sm;
}

/// What combining parts takes: a term of its own, a kernel that decode shares with reordering.
double combining(const pm::estimate& e) {
  double seconds = 0.0;
  for (const char* term : {"splits", "further kernels"}) {
    if (const auto* t = e.terms.find(term)) seconds += t->time.value();
  }
  return seconds;
}

pm::call_conditions random_conditions(random_numbers& x) {
  return {.cache = x.uniform() < 0.5 ? pm::cache_state::cold : pm::cache_state::warm};
}

using pm::attention_decode;
using pm::attention_prefill;
struct decode_change {
  const char* name;
  std::function<void(attention_decode&, random_numbers&)> more;
};
const decode_change decode_changes[] = {
    {"batch", [](attention_decode& w, random_numbers& x) { w.batch += whole(x, 1, 100); }},
    {"context", [](attention_decode& w, random_numbers& x) { w.context += whole(x, 1, 2000); }},
    {"window", [](attention_decode& w, random_numbers& x) {
       w.window = w.window.value_or(64.0);
       *w.window += whole(x, 1, 1000);
     }}};
struct prefill_change {
  const char* name;
  std::function<void(attention_prefill&, random_numbers&)> more;
};
const prefill_change prefill_changes[] = {
    {"batch", [](attention_prefill& w, random_numbers& x) { w.batch += whole(x, 1, 10); }},
    {"tokens", [](attention_prefill& w, random_numbers& x) { w.tokens += whole(x, 1, 500); }},
    {"past", [](attention_prefill& w, random_numbers& x) { w.past += whole(x, 1, 2000); }},
    {"window", [](attention_prefill& w, random_numbers& x) {
       w.window = w.window.value_or(64.0);
       *w.window += whole(x, 1, 1000);
     }}};

}  // namespace

TEST_CASE("calibrated decode attention: more takes longer, but where its law says so",
          "[calibrated][order]") {
  random_numbers x(61);
  order but_for_combining("but for combining"), fewer_parts("unless there are fewer parts"),
      by_half("by less than half");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    attention_decode w = random_decode(x);
    const auto& change = one_of(x, decode_changes);
    if (std::string(change.name) == "window" && !w.window) w.window = 64.0;
    attention_decode more = w;
    change.more(more, x);
    const auto conditions = random_conditions(x);
    const auto before = calibrated_estimate(*m.device, w, m.calibration, conditions);
    const auto after = calibrated_estimate(*m.device, more, m.calibration, conditions);
    const auto where = [&] {
      return std::string(change.name) + " of " + told(m, w) + "; " + told(m, more);
    };
    const double t = before.time.value(), u = after.time.value();
    const auto fewer = [&] { return parts(m, more) < parts(m, w); };
    but_for_combining.rises(t - combining(before), u - combining(after), where,
                            [&] { return (in_turns(m, w) && fewer()) || unscheduled(m, w, more); });
    fewer_parts.rises(t, u, where, [&] { return fewer() || unscheduled(m, w, more); });
    by_half.rises(t / 2.0, u, where);
  }
}

TEST_CASE(
    "calibrated decode attention: one more sequence lowers throughput only past a tile wave or a "
    "split",
    "[calibrated][order]") {
  random_numbers x(63);
  order throughput("sequences per second");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    const attention_decode w = random_decode(x);
    attention_decode more = w;
    more.batch += 1.0;
    // Cold: more sequences leave less of a replayed kernel in L2.
    const pm::call_conditions conditions{.cache = pm::cache_state::cold};
    const auto rate = [&](const attention_decode& v) {
      return v.batch / calibrated_estimate(*m.device, v, m.calibration, conditions).time.value();
    };
    const auto schedule = [&](const attention_decode& v) {
      const auto& k = kernels_of(m, v);
      const double sms = m.device->sms.value();
      const auto cut = pm::detail::splits_of(v, k, sms);
      const double places = sms * pm::detail::blocks_per_sm_of(*m.device, k, sms);
      return std::array{cut.count, cut.chunk, std::ceil(cut.tiles * cut.count / places)};
    };
    // From two sequences on some kernels' heads are reordered.
    throughput.rises(
        rate(w), rate(more), [&] { return told(m, w); },
        [&] { return w.batch == 1.0 || schedule(w) != schedule(more); });
  }
}

TEST_CASE("calibrated prefill attention: more takes longer, but where its law says so",
          "[calibrated][order]") {
  random_numbers x(62);
  order same_parts("with as many parts"), by_three_quarters("by no more than three quarters");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    attention_prefill w = random_prefill(x);
    const auto& change = one_of(x, prefill_changes);
    const std::string what = change.name;
    if (what == "window" && !w.window) w.window = 64.0;
    if (what == "window" || what == "past") w.causal = true;
    attention_prefill more = w;
    change.more(more, x);
    const auto conditions = random_conditions(x);
    const double t = calibrated_estimate(*m.device, w, m.calibration, conditions).time.value();
    const double u = calibrated_estimate(*m.device, more, m.calibration, conditions).time.value();
    const auto where = [&] {
      return std::string(change.name) + " of " + told(m, w) + "; " + told(m, more);
    };
    // With splits over keys a second row of tiles ends the count of the first one as a wave of its
    // own.
    const auto second_row = [&] {
      const double rows = kernels_of(m, w).tile_rows;
      return parts(m, w) > 1.0 && w.tokens <= rows && more.tokens > rows;
    };
    same_parts.rises(t, u, where, [&] { return parts(m, more) != parts(m, w) || second_row(); });
    by_three_quarters.rises(t / 4.0, u, where);
  }
}

}  // namespace property_order_attention
