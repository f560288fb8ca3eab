// Throughput of a service against the time that prefill takes at least: each request's prompt has
// to be computed, so that no scheduler, pipeline or group of data-parallel ranks serves more than 1
// / saturated prefill time.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <simulator/cases.hpp>
#include <sstream>

#include "support/near.hpp"
#include "support/order.hpp"

namespace property_saturated_prefill {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
namespace sim = perfmodel_test::simulator;
using perfmodel_test::calibrated_machine;
using perfmodel_test::calibrated_machines;
using perfmodel_test::near;
using perfmodel_test::one_of;
using perfmodel_test::power_of_two;
using perfmodel_test::random_numbers;
using perfmodel_test::samples;
using perfmodel_test::whole;

namespace {

struct service {
  pm::deployment d;
  pm::service_load l;
};

std::string told(const service& s) {
  std::ostringstream out;
  out << s.d.model.name.c_str() << " on " << s.d.device.name.c_str() << " t" << s.d.layout.tensor
      << " p" << s.d.layout.pipeline << " d" << s.d.layout.data << " e" << s.d.layout.expert << " "
      << pm::name_of(s.d.serving_engine) << " " << pm::name_of(*s.l.scheduler) << " in "
      << s.l.input_tokens << " out " << s.l.output_tokens << " chunk "
      << s.l.chunk_tokens.value_or(0.0) << (s.l.is_closed() ? " concurrency " : " rate ")
      << (s.l.is_closed() ? s.l.concurrency() : s.l.rate().value());
  if (s.l.is_closed()) {
    const auto requests = std::get<pm::closed_loop>(s.l.arrivals).requests;
    if (requests) out << " of " << *requests;
  }
  return out.str();
}

pm::parallel_layout random_layout(random_numbers& x, const pm::transformer& m) {
  pm::parallel_layout l{.tensor = static_cast<int>(power_of_two(x, 0, 2)),
                        .pipeline = static_cast<int>(power_of_two(x, 0, 2))};
  if (!pm::experts_of(m) || x.uniform() < 0.5) return l;
  return {.tensor = 1, .expert = 8, .data = 8};
}

pm::service_load random_load(random_numbers& x) {
  pm::service_load l{.input_tokens = whole(x, 16, 30000), .output_tokens = whole(x, 1, 1000)};
  constexpr std::array schedulers{pm::scheduling::mixed_chunks, pm::scheduling::prefill_first,
                                  pm::scheduling::static_batches};
  l.scheduler = one_of(x, schedulers);
  l.arrivals = pm::closed_loop{whole(x, 1, 500)};
  if (x.uniform() < 0.2)
    std::get<pm::closed_loop>(l.arrivals).requests = l.concurrency() * whole(x, 1, 10);
  if (x.uniform() < 0.4) l.chunk_tokens = whole(x, 64, 16384);
  if (x.uniform() < 0.3) l.output_cv = l.input_cv = x.uniform();
  if (x.uniform() < 0.2) l.prefix_hit = x.uniform(0.0, 0.9);
  return l;
}

service random_service(random_numbers& x) {
  constexpr std::array engines{pm::engine::none, pm::engine::vllm, pm::engine::sglang,
                               pm::engine::trtllm};
  for (;;) {
    const calibrated_machine& m = one_of(x, calibrated_machines());
    service s{.d = {.device = *m.device, .model = *one_of(x, cat::models).model},
              .l = random_load(x)};
    s.d.serving_engine = one_of(x, engines);
    s.d.layout = random_layout(x, s.d.model);
    try {
      if (pm::serving_bound(s.d, s.l).feasible.feasible) return s;
    } catch (const pm::error&) {
      continue;  // a layout that the model cannot have
    }
  }
}

/// Time per prompt of a step with a token budget full of prefill, in every stage and group,
/// without decoding.
template <class Policy>
double seconds_of_a_prompt(const service& s, const Policy& policy) {
  const double computed = (1.0 - s.l.prefix_hit) * s.l.input_tokens;
  const double budget = s.l.chunk_tokens.value_or(pm::detail::step_token_budget(s.d));
  const double chunk = std::min(budget, computed);
  const double steps = computed / chunk;
  const double prompts = std::max(1.0, budget / computed) * s.d.layout.pipeline * s.d.layout.data;
  const pm::iteration full{
      .prefill_tokens = (1.0 - 1e-12) * (prompts * chunk),
      .prefill_past = s.l.prefix_hit * s.l.input_tokens + (computed - chunk) / 2.0,
      .prefill_sequences = prompts,
      .steady = true};
  return steps / prompts * pm::step(s.d, full, policy).time.value();
}

}  // namespace

namespace {

/// Counts services that serve more than prefill allows: the share of its time that prefill would
/// need. Where prompts share the token budget with decoding, other tiles run than in a step that is
/// full of prompts: up to 3 % are excused there. The step of the check is full of a broken number of
/// prompts, those of a service have whole ones: 0.5 % are.
class prefill_shares {
 public:
  void add(const service& s, double share) {
    ++asked_;
    if (share <= 1.0 + 1e-9) return;
    if (share < (s.l.scheduler == pm::scheduling::mixed_chunks ? 1.03 : 1.005)) {
      ++excused_;
      return;
    }
    ++beyond_;
    if (share <= worst_) return;
    worst_ = share;
    where_ = told(s);
  }
  void check(long least) const {
    INFO(beyond_ << " of " << asked_ << " beyond it, the worst by a factor of " << worst_ << ": "
                 << where_ << "; excused " << excused_);
    CHECK(asked_ > least);
    CHECK(excused_ * 1000 <= asked_);  // 4 of 40,000 closed loops
    CHECK(beyond_ == 0);
  }

 private:
  long asked_ = 0, beyond_ = 0, excused_ = 0;
  double worst_ = 1.0;
  std::string where_{};
};

/// Under the kernels of its engine, where the accelerator has that engine.
std::optional<pm::calibrated> policy_of(const service& s) {
  try {
    return pm::calibrated_for(s.d.device, s.d.serving_engine);
  } catch (const pm::error&) {
    return std::nullopt;
  }
}

/// ask(random numbers, service, policy, seconds of a prompt, shares) of n random services that run.
template <class Ask>
prefill_shares asked_of(std::uint64_t seed, long n, const Ask& ask) {
  random_numbers x(seed);
  prefill_shares shares;
  for (long i = 0; i < n; ++i) {
    const service s = random_service(x);
    const auto policy = policy_of(s);
    if (!policy) continue;
    ask(x, s, *policy, policy->engine.prefill_step_factor * seconds_of_a_prompt(s, *policy),
        shares);
  }
  return shares;
}

}  // namespace

TEST_CASE("saturated prefill: no closed loop serves more than it allows", "[order]") {
  const long n = samples() / 10;
  asked_of(301, n, [](auto&, const service& s, const auto& policy, double seconds, auto& shares) {
    shares.add(s, pm::serving(s.d, s.l, policy).throughput.value() * seconds);
  }).check(n / 2);
}

TEST_CASE("saturated prefill: no open loop beyond it is feasible", "[order]") {
  const long n = samples() / 50;
  asked_of(302, n, [](auto& x, service s, const auto& policy, double seconds, auto& shares) {
    const double rate = x.log_uniform(0.3, 3.0) / seconds;
    s.l.arrivals = pm::open_loop{rate * pm::request_per_s};
    if (pm::serving(s.d, s.l, policy).feasible) shares.add(s, rate * seconds);
  }).check(n / 20);
}

TEST_CASE("saturated prefill: pools serve no more than the prefill pool allows", "[order]") {
  const long n = samples() / 50;
  asked_of(303, n, [](auto& x, service s, const auto& policy, double seconds, auto& shares) {
    s.l.scheduler.reset();
    const double replicas = whole(x, 1, 4);
    const pm::disaggregated pools{
        .prefill = {s.d, replicas},
        .decode = {s.d, whole(x, 1, 4)},
        .link = {.bandwidth_per_device = x.log_uniform(1.0, 1000.0) * pm::GB_per_s}};
    const double served = pm::serving(pools, s.l, policy).throughput.value();
    s.l.scheduler = pm::scheduling::prefill_first;
    shares.add(s, served * seconds / replicas);
  }).check(n / 2);
}

namespace {

/// A closed loop of a pipeline with every place taken, and what a simulation serves of it.
struct pipelined {
  int stages, input, output, budget, concurrency;
};

pm::deployment deployment_of(const pipelined& x) {
  pm::deployment d{.device = cat::h100_sxm, .model = cat::llama_3_1_8b};
  d.layout.pipeline = x.stages;
  return d;
}
pm::serving_estimate law_of(const pipelined& x, pm::scheduling kind, double spread) {
  pm::service_load l{.input_tokens = static_cast<double>(x.input),
                     .output_tokens = static_cast<double>(x.output),
                     .arrivals = pm::closed_loop{static_cast<double>(x.concurrency)}};
  l.chunk_tokens = x.budget;
  l.scheduler = kind;
  l.input_cv = l.output_cv = spread;
  return pm::serving(deployment_of(x), l, sim::measured_like);
}
sim::outcome simulated(const pipelined& x, sim::scheduling kind, double spread) {
  const sim::scheduler engine{
      .kind = kind, .token_budget = x.budget, .max_sequences = x.concurrency, .stages = x.stages};
  const int n = 6 * x.concurrency + 200;
  random_numbers r(17);
  const sim::load load{.jobs = sim::draw_jobs(r, n, sim::lognormal(x.input, spread),
                                              sim::lognormal(x.output, spread)),
                       .concurrency = x.concurrency,
                       .endless = true,
                       .warm_up = 2 * x.concurrency};
  return sim::simulate(load, engine, sim::predicted_step(deployment_of(x), sim::measured_like));
}

}  // namespace

// Lengths with a coefficient of variation of 0.3, from prompts of half a step to prompts of four,
// outputs of 32 to 256. The last, with the engine's default budget, is the farthest: 13.1 %. Of
// prefill first the prompts of two steps are: 11.0 and 12.2 %.
TEST_CASE("pipelines: throughput and ITL of the law against a simulation") {
  for (const pipelined& x :
       {pipelined{1, 4096, 32, 1024, 64}, pipelined{2, 4096, 32, 1024, 64},
        pipelined{4, 4096, 32, 1024, 64}, pipelined{2, 16384, 32, 8192, 48},
        pipelined{4, 16384, 64, 8192, 64}, pipelined{2, 1024, 256, 8192, 64},
        pipelined{4, 1024, 256, 8192, 128}, pipelined{2, 1024, 64, 8192, 256}}) {
    CAPTURE(x.stages, x.input, x.output, x.budget, x.concurrency);
    const pm::serving_estimate first = law_of(x, pm::scheduling::prefill_first, 0.3);
    const sim::outcome first_simulated = simulated(x, sim::scheduling::prefill_first, 0.3);
    CHECK(near(first.throughput.value(), first_simulated.throughput(), 0.115));
    CHECK(near(first.itl.value(), first_simulated.gaps.mean(), 0.125));
    const pm::serving_estimate mixed = law_of(x, pm::scheduling::mixed_chunks, 0.3);
    const sim::outcome mixed_simulated = simulated(x, sim::scheduling::mixed, 0.3);
    CHECK(near(mixed.throughput.value(), mixed_simulated.throughput(), 0.15));
    CHECK(near(mixed.itl.value(), mixed_simulated.gaps.mean(), 0.135));
  }
}

}  // namespace property_saturated_prefill
