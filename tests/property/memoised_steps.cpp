// The memos that a service's steps share give the values that each step computes by itself.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <vector>

#include "support/order.hpp"

namespace property_memoised_steps {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::calibrated_machine;
using perfmodel_test::calibrated_machines;
using perfmodel_test::one_of;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::whole;

namespace {

/// A calibration without a memo, with links that are asked for their price.
struct forgetful : private pm::calibrated {
  using hooks = pm::policy_hooks<forgetful, pm::policy_hook::estimate, pm::policy_hook::time,
                                 pm::policy_hook::mixed_attention_time,
                                 pm::policy_hook::elementwise_kernels, pm::policy_hook::cpu_time,
                                 pm::policy_hook::rank_wait, pm::policy_hook::step_time_factor,
                                 pm::policy_hook::engine, pm::policy_hook::require_target>;

  explicit forgetful(const pm::calibrated& c) : pm::calibrated(c) {}
  using pm::calibrated::cpu_time;
  using pm::calibrated::dram_bandwidth;
  using pm::calibrated::elementwise_kernel_time;
  using pm::calibrated::elementwise_kernels;
  using pm::calibrated::engine;
  using pm::calibrated::estimate;
  using pm::calibrated::launch_time;
  using pm::calibrated::matrix_rate;
  using pm::calibrated::mixed_attention_time;
  using pm::calibrated::price;
  using pm::calibrated::rank_wait;
  using pm::calibrated::selects;
  using pm::calibrated::step_time_factor;
  using pm::calibrated::time;
  using pm::calibrated::vector_rate;
};
static_assert(pm::HasCostPieces<pm::calibrated, double> && !pm::HasCostPieces<forgetful, double>);
static_assert(std::same_as<pm::detail::memo_of<forgetful>::type, pm::detail::no_memo>);
static_assert(!std::same_as<pm::detail::memo_of<pm::calibrated>::type, pm::detail::no_memo>);

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::abs(b);
}

pm::deployment random_deployment(random_numbers& x, const pm::accelerator& device) {
  pm::deployment d{.device = device, .model = *one_of(x, cat::models).model};
  d.layout.tensor = static_cast<int>(power_of_two(x, 0, 3));
  if (x.uniform() < 0.3) d.layout.pipeline = 2;
  if (x.uniform() < 0.3) d.kv = pm::fp8;
  if (x.uniform() < 0.3) d.weights = pm::weight_storage(pm::fp8);
  if (x.uniform() < 0.3) d.activations = pm::fp8;
  if (pm::experts_of(d.model) && x.uniform() < 0.3) {
    d.layout.data = d.layout.tensor;
    d.layout.expert = d.layout.tensor;
    d.layout.tensor = 1;
  }
  return d;
}

/// Whether a pass can be at all: its formats on the chip, its layout on the model.
bool can_be(const pm::deployment& d, const pm::calibrated& c) {
  try {
    (void)pm::step(d, {.batch = 1.0, .context = 100.0, .prefill_tokens = 10.0}, c);
    return true;
  } catch (const pm::error&) {
    return false;
  }
}

pm::iteration random_iteration(random_numbers& x) {
  pm::iteration i{.batch = x.uniform() < 0.8 ? whole(x, 1, 512) : 0.0, .context = whole(x, 1, 1e5)};
  if (!(i.batch > 0.0) || x.uniform() < 0.5) {
    i.prefill_tokens = whole(x, 1, 16384);
    i.prefill_past = x.uniform() < 0.5 ? whole(x, 1, 1e4) : 0.0;
  }
  return i;
}

/// Number of steps, among a few that are repeated, with a different time.
long differing(random_numbers& x, const pm::deployment& d, const pm::calibrated& c) {
  const forgetful plain(c);
  pm::detail::predicted_step<double, pm::calibrated, pm::calibrated> kept{d, c, c};
  std::vector<pm::iteration> some(3);
  long differ = 0;
  for (int k = 0; k < 12; ++k) {
    pm::iteration& i = some[static_cast<std::size_t>(x.uniform(0.0, 3.0))];
    if (k < 3 || x.uniform() < 0.5) i = random_iteration(x);
    if (!(i.batch + i.prefill_tokens > 0.0)) continue;
    const pm::estimate by_itself = pm::detail::prediction_of_step(d, i, plain, plain);
    if (!near(kept.time(i).value(), by_itself.time.value())) ++differ;
    const pm::estimate e = kept(i);
    if (!near(e.time.value(), by_itself.time.value())) ++differ;
    if (!near(e.mfu, by_itself.mfu) || !near(e.mbu, by_itself.mbu)) ++differ;
  }
  return differ;
}

}  // namespace

TEST_CASE("predicted_step: steps of one service, in any order and repeated, equal each by itself") {
  random_numbers x(13);
  long differ = 0, tried = 0;
  while (tried < (perfmodel_test::sanitized ? 300 : 1500)) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    const pm::deployment d = random_deployment(x, *m.device);
    if (!can_be(d, m.calibration)) continue;
    ++tried;
    differ += differing(x, d, m.calibration);
  }
  CHECK(differ == 0);
}

TEST_CASE("gemm_memo: more GEMMs than it holds, and rows that repeat") {
  random_numbers x(14);
  const pm::calibrated c = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  std::vector<pm::gemm> shapes;
  for (int k = 0; k < 24; ++k) {
    pm::gemm g{.m = 1.0, .n = whole(x, 1, 20000), .k = whole(x, 1, 20000)};
    if (k % 3 == 1) g.format = pm::fp8;
    if (k % 3 != 0)
      g.weights = k % 2 == 0 ? pm::storage_format(pm::fp8) : pm::storage_format(pm::int4, 128, 16);
    shapes.push_back(g);
  }
  pm::calibrated::memo_type kept;
  long differ = 0;
  for (int k = 0; k < 4000; ++k) {
    pm::gemm& g = shapes[static_cast<std::size_t>(x.uniform(0.0, 24.0))];
    if (x.uniform() < 0.7) g.m = whole(x, 1, x.uniform() < 0.5 ? 300 : 20000);
    const double fresh = c.time(cat::h100_sxm, g).value();
    if (!near(c.time(cat::h100_sxm, g, kept).value(), fresh)) ++differ;
  }
  CHECK(differ == 0);
}

TEST_CASE("collective_memo: a collective's cost pieces give its time, for no byte and for many") {
  random_numbers x(15);
  using pm::collective_op;
  constexpr std::array operations = {collective_op::all_reduce,     collective_op::all_gather,
                                     collective_op::reduce_scatter, collective_op::all_to_all,
                                     collective_op::broadcast,      collective_op::point_to_point};
  constexpr std::array kernels = {
      pm::collective_implementation::any, pm::collective_implementation::nccl,
      pm::collective_implementation::one_shot, pm::collective_implementation::two_shot,
      pm::collective_implementation::custom};
  long differ = 0, tried = 0;
  while (tried < 3000) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    pm::collective c{
        .operation = one_of(x, operations),
        .ranks = static_cast<int>(whole(x, 1, 10)),
        .implementation = one_of(x, kernels),
        .launch = x.uniform() < 0.8 ? pm::launch_mode::graph : pm::launch_mode::stream};
    if (c.operation == collective_op::point_to_point) c.ranks = 2;
    const auto& link = x.uniform() < 0.8 ? m.device->fabric : m.device->host;
    pm::detail::collective_memo<double, pm::calibrated> kept(m.calibration);
    const pm::full_link full;
    pm::detail::collective_memo<double, pm::full_link> at_full_link(full);
    try {
      for (const double bytes : {1.0, 0.0, 0.25, 1e3, 1e6, 8.0 * 1024 * 1024, 3e7, 1e9, 1e12}) {
        c.message = pm::message_bytes<>(bytes * pm::byte);
        const double once = pm::collective_time(link, c, m.calibration).time.value();
        if (!near(kept.time(link, c).value(), once)) ++differ;
        const double least = pm::collective_time(link, c, full).time.value();
        if (!near(at_full_link.time(link, c).value(), least)) ++differ;
      }
      ++tried;
    } catch (const pm::error&) {
    }
  }
  CHECK(differ == 0);
}

TEST_CASE("collective_memo: more collectives than it holds have the same times") {
  const pm::calibrated c = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
  pm::detail::collective_memo<double, pm::calibrated> kept(c);
  for (int again = 0; again < 2; ++again) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
      const pm::collective x{.ranks = ranks, .message = pm::message_bytes<>(1e6 * pm::byte)};
      CHECK(near(kept.time(cat::h100_sxm.fabric, x).value(),
                 pm::collective_time(cat::h100_sxm.fabric, x, c).time.value()));
    }
  }
}

}  // namespace property_memoised_steps
