// A service: more load, longer prompts and answers never take less time; more memory never holds fewer sequences;
// more bandwidth is never slower. $PERFMODEL_SAMPLES samples of each property.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/kv_cache.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/workload/catalog/all.hpp>
#include <sstream>

#include "support/order.hpp"

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::calibrated_machine;
using perfmodel_test::calibrated_machines;
using perfmodel_test::one_of;
using perfmodel_test::order;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::whole;

namespace {

struct service {
  pm::deployment d;
  pm::service_load l;
  const calibrated_machine* machine;
};

std::string told(const service& s) {
  std::ostringstream out;
  out << s.d.model.name.c_str() << " on " << s.d.device.name.c_str() << " t" << s.d.layout.tensor
      << " p" << s.d.layout.pipeline << " in " << s.l.input_tokens << " out " << s.l.output_tokens
      << " chunk " << s.l.chunk_tokens.value_or(0.0) << " limit " << s.l.batch_limit.value_or(0.0)
      << (s.l.is_closed() ? " concurrency " : " rate ")
      << (s.l.is_closed() ? s.l.concurrency() : s.l.rate().value());
  return out.str();
}

service random_service(random_numbers& x, bool closed) {
  for (;;) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    service s{
        .d = {.device = *m.device, .model = *one_of(x, cat::models).model}, .l = {}, .machine = &m};
    s.d.layout.tensor = static_cast<int>(power_of_two(x, 0, 3));
    if (x.uniform() < 0.2) s.d.layout.pipeline = 2;
    s.l.input_tokens = whole(x, 16, 8000);
    s.l.output_tokens = whole(x, 32, 2000);
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

/// Whether prompts and decodes of so many in service ask for all that a pass may take, or nearly: there the two
/// rounds of a prediction are no fixed point, as its law says.
bool fills_passes(const service& s, double in_service) {
  const double asked = in_service * (1.0 + s.l.input_tokens / s.l.output_tokens);
  return asked > 0.5 * pm::detail::prompt_budget(s.d, s.l, pm::scheduling::mixed_chunks, 0.0);
}

}  // namespace

TEST_CASE("memory: more of it never holds fewer sequences", "[order]") {
  random_numbers x(91);
  order capacity("sequences that fit");
  const long n = samples();
  for (long i = 0; i < n; ++i) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    pm::deployment d{.device = *m.device, .model = *one_of(x, cat::models).model};
    d.layout.tensor = static_cast<int>(power_of_two(x, 0, 3));
    const double context = whole(x, 1, 1e5);
    try {
      const double before = pm::kv_capacity(d, context).sequences;
      const double size = d.device.dram.capacity.value();
      d.device.dram.capacity = x.uniform(1.0, 3.0) * size * pm::byte;
      // From 70 GiB on vLLM lets four times the sequences into a pass, and keeps memory for them.
      constexpr double large = 70.0 * 1024 * 1024 * 1024;
      const bool larger_passes = size < large && d.device.dram.capacity.value() >= large;
      capacity.rises(
          before, pm::kv_capacity(d, context).sequences,
          [&] { return std::string(d.model.name.c_str()) + " on " + d.device.name.c_str(); },
          [&] { return larger_passes; });
    } catch (const pm::error&) {
      continue;
    }
  }
}

TEST_CASE("a closed loop: more of a load never takes less time", "[calibrated][order]") {
  random_numbers x(92);
  order itl("bound, ITL"), e2e("bound, whole time"),
      through("bound, throughput of more requests, by less than 2 %"),
      bandwidth("bound, bandwidth"), silicon("calibrated, by less than a fifth");
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
    e2e.rises(a.e2e.value(), b.e2e.value(), where);
    if (what < 0.4) {
      itl.rises(a.itl.value(), b.itl.value(), where);
      through.rises(0.98 * a.throughput.value(), b.throughput.value(), where);
    }
    const service faster = faster_than(s, x);
    bandwidth.rises(pm::serving_bound(faster.d, faster.l).e2e.value(), a.e2e.value(), where);
    const auto predicted = [&](const service& v) {
      return pm::serving(v.d, v.l, v.machine->silicon).e2e.value();
    };
    const double t = predicted(s);
    const auto full = [&] {
      return fills_passes(s, s.l.concurrency()) || fills_passes(more, more.l.concurrency());
    };
    silicon.rises(0.8 * t, predicted(more), where, full);
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
    ttft.rises(a.ttft.value(), b.ttft.value(), where);
    batch.rises(a.batch, b.batch, where);
  }
}
