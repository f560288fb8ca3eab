// Overload of an open loop: the largest sustainable rate, and advice that compares it.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/serving/largest_rate.hpp>
#include <perfmodel/tools/advise/advise.hpp>

#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_overload {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;
using perfmodel_test::refusal;

namespace {

pm::request_rate<> per_second(double x) {
  return x * pm::request / pm::second;
}
pm::service_load arriving(double rate) {
  return {.input_tokens = 1024,
          .output_tokens = 128,
          .arrivals = pm::open_loop{.rate = per_second(rate)}};
}
/// What is left of an estimate at a use of nearly 1: its waiting time stands for no steady state.
pm::serving_estimate overloaded(double rate, double most) {
  pm::serving_estimate s;
  s.e2e = 1e5 * pm::second;
  s.itl = 10.0 * pm::ms;
  s.prefill.time = 0.1 * pm::second;
  s.decode.time = s.itl;
  s.feasible =
      pm::infeasible("requests arrive faster than they are completed", "req/s", rate, most);
  return s;
}

/// A service that completes 2 requests per second with 16-bit weights, 3 with fp8 and none with
/// fp4; a request takes a second where it keeps up.
double completed(const pm::advised_service& s) {
  const double bits = pm::bits_of(s.deployment.weights.linear.format);
  return bits > 10.0 ? 2.0 : bits > 6.0 ? 3.0 : 0.0;
}
pm::serving_estimate by_hand(const pm::advised_service& s) {
  const double most = completed(s), rate = s.load.rate().value();
  pm::serving_estimate e;
  e.e2e = 1.0 * pm::second;
  e.itl = 10.0 * pm::ms;
  e.prefill.time = 0.1 * pm::second;
  e.decode.time = e.itl;
  if (most == 0.0) e.feasible = pm::infeasible("weights exceed memory", "B", 2.0, 1.0);
  return most > 0.0 && rate >= most ? overloaded(rate, most) : e;
}
pm::advised_service service(double rate) {
  pm::advised_service s;
  s.deployment = pm::with_all_memory(
      pm::deployment{.device = cat::h100_sxm, .model = cat::llama_3_8b, .layout = {}});
  s.load = arriving(rate);
  return s;
}
void store(pm::advised_service& s, pm::number_format f) {
  s.deployment.weights = pm::weight_storage(f, f);
}

}  // namespace

TEST_CASE("overload: the sustainable rate of a service that completes 3 requests per second") {
  const auto serve = [](const pm::service_load& l) {
    const double rate = l.rate().value();
    return rate < 3.0 ? pm::serving_estimate{} : overloaded(rate, 3.0);
  };
  CHECK(near(pm::sustainable_rate(arriving(100.0), serve).value(), 3.0, 2e-6));
  CHECK_FALSE(pm::is_overloaded(serve(arriving(2.0))));
  CHECK(pm::is_overloaded(serve(arriving(4.0))));
  pm::serving_estimate large;
  large.feasible = pm::infeasible("weights and KV cache exceed the memory", "B", 2.0, 1.0);
  CHECK_FALSE(pm::is_overloaded(large));
  CHECK(pm::sustainable_rate(arriving(1.0), [&](const auto&) { return large; }).value() == 0.0);
}

TEST_CASE("overload: a sustainable rate parts what is feasible from what is not") {
  const pm::deployment d = service(1.0).deployment;
  const pm::disaggregated pools{{d, 1.0}, {d, 1.0}, {.bandwidth_per_device = 50.0 * pm::GB_per_s}};
  constexpr pm::derated usual{.compute_efficiency = 0.7, .memory_efficiency = 0.8};
  const auto parts = [](const char* what, const auto& serve) {
    INFO(what);
    const double most = pm::sustainable_rate(arriving(1.0), serve).value();
    CHECK(most > 0.0);
    CHECK(bool(serve(arriving(0.999 * most)).feasible));
    CHECK(pm::is_overloaded(serve(arriving(1.001 * most))));
  };
  parts("a bound", [&](const pm::service_load& l) { return pm::serving_bound(d, l); });
  parts("a prediction", [&](const pm::service_load& l) { return pm::serving(d, l, usual); });
  parts("pools", [&](const pm::service_load& l) -> pm::serving_estimate {
    return pm::serving(pools, l, usual);
  });
}

TEST_CASE("overload: replicas by hand") {
  CHECK(pm::replicas_to_sustain(per_second(4.0), per_second(2.97)) == 2.0);
  CHECK(pm::replicas_to_sustain(per_second(9.0), per_second(3.0)) == 3.0);
  CHECK(pm::replicas_to_sustain(per_second(9.1), per_second(3.0)) == 4.0);
  CHECK(refusal([] {
          (void)pm::replicas_to_sustain(per_second(1.0), per_second(0.0));
        }).find("sustainable") != std::string::npos);
}

TEST_CASE("overload: advice compares sustainable rates, by hand") {
  const pm::technique_description words{"narrow", "formats", "", "", "weights"};
  const auto with = [&](double rate, pm::number_format f) {
    return pm::adviser(service(rate), by_hand).try_change(words, [f](pm::advised_service& s) {
      store(s, f);
    });
  };
  // 2 are completed and 2.5 offered: 3 with fp8 are enough, and half as many again.
  const pm::technique enough = with(2.5, pm::number_format::fp8);
  CHECK(near(enough.gain, 1.5, 1e-5));
  CHECK(enough.makes_feasible);
  CHECK(enough.has_ratio);
  CHECK_FALSE(enough.harmful);
  // With 4 offered they are not.
  const pm::technique more = with(4.0, pm::number_format::fp8);
  CHECK(near(more.gain, 1.5, 1e-5));
  CHECK_FALSE(more.makes_feasible);
  CHECK(more.reason.find("sustains 3 req/s with it, 2 req/s without; 4 req/s are offered") == 0);
  CHECK_FALSE(with(4.0, pm::number_format::fp4).applies);
  // In use, and the service without it: 3 against 2.
  pm::advised_service narrow = service(4.0);
  store(narrow, pm::number_format::fp8);
  const auto wide = [](pm::advised_service& s) { store(s, pm::number_format::bf16); };
  CHECK(near(pm::adviser(narrow, by_hand).try_change(words, wide, true).gain, 1.5, 1e-5));
  // If the service keeps up only with it, there is no time without it to compare with.
  pm::advised_service kept = narrow;
  kept.load = arriving(2.5);
  const pm::technique needed = pm::adviser(kept, by_hand).try_change(words, wide, true);
  CHECK(needed.makes_feasible);
  CHECK_FALSE(needed.has_ratio);
  CHECK(needed.gain == 1.0);
  // What a kernel saves is of a request in service: 0.1 s and 127 steps of 10 ms, less a ms of
  // each.
  const pm::technique saved =
      pm::adviser(service(4.0), by_hand).saving(words, 1.0 * pm::ms, pm::duration<>{}, false);
  CHECK(near(saved.gain, 1.37 / (1.37 - 0.127)));
}

TEST_CASE("overload: the best combination of changes, by hand") {
  const pm::advice a = pm::advise(service(2.5), by_hand);
  REQUIRE(a.current_rate);
  CHECK(near(a.current_rate->value(), 2.0, 2e-6));
  CHECK(near(a.best_rate->value(), 3.0, 2e-6));
  CHECK(near(a.combined, 1.5, 1e-5));
  CHECK(a.best.feasible);
  for (const pm::technique& t : a.techniques) {
    INFO(t.name << " x" << t.gain);
    CHECK(t.gain < 100.0);
  }
}

}  // namespace unit_overload
