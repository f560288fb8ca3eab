// A change of one part in a million of any fact of a machine moves its calibrated times by about as
// much: a changed copy keeps its original's profile. By finite differences, without the law's own.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/explain/sensitivity.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <string>
#include <vector>

#include "support/order.hpp"

namespace property_continuity {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::one_of;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::whole;

namespace {

/// Times that a machine and its calibration give to one random load.
struct load {
  pm::gemm linear;
  pm::attention_prefill prefill;
  pm::attention_decode decode;
  pm::collective sum;
  pm::iteration pass;
  const pm::transformer* model;
  int tensor;
  pm::engine by;
};
load random_load(random_numbers& x) {
  load l;
  l.linear = {.m = whole(x, 1, 8192), .n = whole(x, 64, 16384), .k = whole(x, 64, 16384)};
  l.prefill = {.batch = whole(x, 1, 16),
               .tokens = whole(x, 1, 8192),
               .query_heads = 32.0,
               .kv_heads = 8.0,
               .head_dim = 128.0};
  l.decode = {.batch = whole(x, 1, 256),
              .context = whole(x, 1, 32768),
              .query_heads = 32.0,
              .kv_heads = 8.0,
              .head_dim = 128.0};
  l.sum = {.operation = pm::collective_op::all_reduce,
           .ranks = static_cast<int>(power_of_two(x, 1, 3)),
           .message = pm::message_bytes<>(whole(x, 512, 1e9) * pm::byte)};
  l.pass = {.batch = whole(x, 1, 256), .context = whole(x, 1, 8192)};
  l.model = x.uniform() < 0.5 ? &cat::llama_3_1_8b : &cat::qwen_3_30b_a3b;
  l.tensor = static_cast<int>(power_of_two(x, 0, 3));
  constexpr pm::engine engines[] = {pm::engine::none, pm::engine::vllm, pm::engine::sglang,
                                    pm::engine::trtllm};
  l.by = one_of(x, engines);
  return l;
}
struct times {
  std::vector<double> of, log_sigma;
};
times times_of(const load& l, const pm::accelerator& a) {
  const pm::calibrated c = calibrated_for(a, l.by);
  times t;
  t.of = {calibrated_estimate(a, l.linear, c).time.value(),
          calibrated_estimate(a, l.prefill, c).time.value(),
          calibrated_estimate(a, l.decode, c).time.value()};
  pm::deployment d{.device = a, .model = *l.model, .serving_engine = l.by};
  if (a.fabric.exists()) {
    t.of.push_back(pm::collective_time(a.fabric, l.sum, c.links).time.value());
    d.layout.tensor = l.tensor;
  }
  t.of.push_back(pm::step(d, l.pass, c).time.value());
  for (const pm::profile_note& n : c.notes) {
    t.log_sigma.push_back(n.log_sigma);
    for (const double w : n.by_kind) t.log_sigma.push_back(w);
  }
  return t;
}
/// The accelerator with one number, its n-th, `factor` times as large; its name is as before.
pm::accelerator changed(const pm::accelerator& a, int n, double factor, std::string& name) {
  int i = 0;
  return pm::map_scalars<double>(a, [&](const pm::field_path& path, double x) {
    if (i++ != n) return x;
    name = path.name;
    return factor * x;
  });
}
int numbers_of(const pm::accelerator& a) {
  int n = 0;
  pm::map_scalars<double>(a, [&](const pm::field_path&, double x) {
    ++n;
    return x;
  });
  return n;
}

}  // namespace

TEST_CASE("one part in a million of a fact moves a time by as much", "[calibrated][order]") {
  random_numbers x(34);
  const long n = samples() / 20;
  long jumps = 0, asked = 0;
  double worst = 0.0, widest = 0.0;
  std::string where;
  std::vector<const pm::accelerator*> machines;
  for (const cat::measured_machine* m : cat::machines_with_profiles)
    machines.push_back(&m->device());
  for (const pm::accelerator* a : {&cat::h20, &cat::gb200, &cat::rtx_4090, &cat::a100_sxm_40gb})
    machines.push_back(a);
  for (long i = 0; i < n; ++i) {
    const pm::accelerator& a = *one_of(x, machines);
    const load l = random_load(x);
    std::string fact;
    const pm::accelerator b =
        changed(a, static_cast<int>(x.uniform(0.0, numbers_of(a))), 1.0 + 1e-6, fact);
    // Counts of parts are whole: between two of them a time may step.
    if (fact == "sms" || fact == "ranks" || fact == "instruction_rows" || fact == "l2_partitions")
      continue;
    const times before = times_of(l, a), after = times_of(l, b);
    REQUIRE(before.of.size() == after.of.size());
    for (std::size_t k = 0; k < before.of.size(); ++k) {
      ++asked;
      const double moved = std::fabs(after.of[k] / before.of[k] - 1.0);
      if (moved > 2e-5) ++jumps;
      if (moved > worst) {
        worst = moved;
        where = std::string(a.name.c_str()) + " " + fact + ", time " + std::to_string(k);
      }
    }
    for (std::size_t k = 0; k < before.log_sigma.size(); ++k)
      widest = (std::max)(widest, std::fabs(after.log_sigma[k] - before.log_sigma[k]));
  }
  INFO(jumps << " of " << asked << ", the worst " << worst << ": " << where);
  CHECK(jumps == 0);
  CHECK(asked > 100);
  CHECK(widest < 2e-6);
}

TEST_CASE("a slower link is never quicker, and a faster one always is", "[calibrated][order]") {
  random_numbers x(35);
  perfmodel_test::order slower("communication over a slower link");
  long nothing = 0, asked = 0;
  std::string where;
  for (const cat::accelerator_entry& e : cat::accelerators) {
    const pm::accelerator& a = *e.spec;
    if (!cat::can_be_calibrated(a) || !a.fabric.exists()) continue;
    for (long i = 0; i < (std::max)(5L, samples() / 2000); ++i) {
      const load l = random_load(x);
      pm::accelerator b = a;
      b.fabric.bandwidth = x.log_uniform(0.1, 0.99) * a.fabric.bandwidth.quantity();
      const auto time_on = [&](const pm::accelerator& on) {
        return pm::collective_time(on.fabric, l.sum, calibrated_for(on, l.by).links).time.value();
      };
      const double fast = time_on(a), slow = time_on(b);
      const auto at = [&] { return e.key + std::string(", ") + std::to_string(l.sum.ranks); };
      slower.rises(fast, slow, at);
      asked += l.sum.message.quantity() > 16.0 * pm::MiB ? 1 : 0;
      // Small messages wait for latencies, and for the loads that a kernel has in flight.
      if (!(slow > fast) && l.sum.message.quantity() > 16.0 * pm::MiB) {
        ++nothing;
        where = at() + " ranks, " + std::to_string(l.sum.message.quantity().value()) + " bytes";
      }
    }
  }
  CHECK(asked > 0);
  INFO(nothing << " of " << asked << " gain nothing: " << where);
  CHECK(nothing == 0);
}

}  // namespace property_continuity
