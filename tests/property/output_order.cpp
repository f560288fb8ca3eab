// More output of a service never makes a whole request quicker, nor an infeasible rate feasible, and
// an idle service is the same in a closed loop of one as in an open loop with a rate near 0.
// $PERFMODEL_SAMPLES samples of each property.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>

#include "support/order_service.hpp"

namespace property_output_order {

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

namespace {

/// Tensor-parallel devices, pipelines of 2 and 4 stages, or 2 and 4 data-parallel groups.
void draw_layout(random_numbers& x, pm::deployment& d) {
  d.layout.tensor = static_cast<int>(power_of_two(x, 0, 3));
  const double kind = x.uniform();
  if (kind < 0.25) {
    d.layout.pipeline = static_cast<int>(power_of_two(x, 1, 2));
  } else if (kind < 0.35) {
    d.layout.data = static_cast<int>(power_of_two(x, 1, 2));
  }
}

service random_service(random_numbers& x, bool closed) {
  constexpr pm::scheduling schedulers[] = {
      pm::scheduling::mixed_chunks, pm::scheduling::prefill_first, pm::scheduling::static_batches};
  constexpr double variations[] = {0.0, 0.3, 0.3, 1.0};
  for (;;) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    service s{
        .d = {.device = *m.device, .model = *one_of(x, cat::models).model, .serving_engine = m.by},
        .l = {},
        .machine = &m};
    draw_layout(x, s.d);
    s.l.input_tokens = whole(x, 16, 8000);
    s.l.output_tokens = whole(x, 1, 1000);
    s.l.input_cv = s.l.output_cv = one_of(x, variations);
    if (x.uniform() < 0.5) s.l.scheduler = one_of(x, schedulers);
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

pm::scheduling scheduler_of(const service& s) {
  return s.l.scheduler.value_or(pm::scheduling_of(s.d.serving_engine));
}

pm::prefill_steps steps_of(const service& s) {
  return passes_of(s, s.machine->calibration);
}

/// Closed loops of mixed chunks that prefill for four fifths of their time, whose queue is that of a
/// mean value analysis: it has a wait beyond that of full steps, which longer outputs lack.
bool fills_budget(const service& s, const pm::serving_estimate& e) {
  return scheduler_of(s) == pm::scheduling::mixed_chunks &&
         e.throughput.value() * steps_of(s).saturated_prefill_time.value() > 0.8;
}

/// Open loops near the largest rate, the throughput of a closed loop with all batch slots taken: of
/// mixed chunks one that fills the budget. Prefill first, an interval between two decode steps is
/// that of the closed loop; longer outputs leave it fewer slots.
bool is_near_full(service s) {
  const double rate = s.l.rate().value();
  s.l.arrivals = pm::closed_loop{1e6};
  const auto full = pm::serving(s.d, s.l, s.machine->calibration);
  if (scheduler_of(s) == pm::scheduling::prefill_first) return rate > 0.8 * full.throughput.value();
  return rate > 0.95 * full.throughput.value() && fills_budget(s, full);
}

/// Open loops that prefill first, for half of their time. There several numbers of sequences
/// may balance, and the search for the first, in steps of an eighth of an octave, finds one of the
/// next two (balance_search).
bool has_several_balances(const service& s, const pm::serving_estimate& a,
                          const pm::serving_estimate& b) {
  constexpr double two_steps = 1.1893;  // 2^(2/8)
  return scheduler_of(s) == pm::scheduling::prefill_first &&
         two_steps * b.e2e.value() > a.e2e.value() &&
         a.itl.value() > 2.0 * steps_of(s).decode_time.value();
}

}  // namespace

TEST_CASE("more output never makes a whole request quicker", "[calibrated][order]") {
  random_numbers x(97);
  order closed("whole time over output, closed loops"), open("whole time over output, open loops"),
      feasible("infeasible rates over output");
  const long n = samples() / 2;
  for (long i = 0; i < n; ++i) {
    const service s = random_service(x, x.uniform() < 0.5);
    service more = s;
    const double kind = x.uniform();
    more.l.output_tokens += kind < 0.4   ? whole(x, 1, 8)
                            : kind < 0.7 ? s.l.output_tokens
                                         : whole(x, 1, 200);
    const pm::calibrated& c = s.machine->calibration;
    const auto a = pm::serving(s.d, s.l, c), b = pm::serving(more.d, more.l, c);
    const auto where = [&] { return told(s) + "; " + told(more); };
    if (!s.l.is_closed())
      feasible.rises(a.feasible.feasible ? 0.0 : 1.0, b.feasible.feasible ? 0.0 : 1.0, where);
    if (!a.feasible.feasible || !b.feasible.feasible) continue;
    order& whole_time = s.l.is_closed() ? closed : open;
    whole_time.rises(a.e2e.value(), b.e2e.value(), where, [&] {
      return s.l.is_closed() ? fills_budget(s, a) || fills_budget(more, b)
                             : is_near_full(s) || has_several_balances(s, a, b);
    });
  }
}

TEST_CASE("a closed loop of one is an open loop with a rate near 0", "[calibrated][order]") {
  random_numbers x(98);
  order ttft("time to first token of an idle service, within 2 %"),
      itl("ITL of an idle service, within 2 %"), e2e("whole time of an idle service, within 2 %"),
      feasible("feasible idle services");
  const long n = samples() / 2;
  for (long i = 0; i < n; ++i) {
    service one = random_service(x, true);
    one.l.arrivals = pm::closed_loop{1.0};
    service rare = one;
    const pm::calibrated& c = one.machine->calibration;
    const auto a = pm::serving(one.d, one.l, c);
    rare.l.arrivals = pm::open_loop{1e-6 * a.throughput};
    const auto b = pm::serving(rare.d, rare.l, c);
    const auto where = [&] { return told(one); };
    feasible.rises(a.feasible.feasible, b.feasible.feasible, where);
    const auto agree = [&](order& what, double p, double q) {
      what.rises(0.98 * (std::max)(p, q), (std::min)(p, q), where);
    };
    agree(ttft, a.ttft.value(), b.ttft.value());
    agree(itl, a.itl.value(), b.itl.value());
    agree(e2e, a.e2e.value(), b.e2e.value());
  }
}

}  // namespace property_output_order
