// What launching promises, and a simulated stream.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/launch.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_launch {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

namespace {

// The host issues a launch every `cpu`; the device starts a kernel when it is issued and the last
// one is over, `gap` later.
double simulate_stream(double cpu, double gap, const std::vector<double>& kernels) {
  double issued = 0, done = 0;
  for (const double k : kernels) {
    issued += cpu;
    done = std::max(issued, done) + k + gap;
  }
  return done;
}

}  // namespace

TEST_CASE("a simulated stream takes stream_launch_time, up to one launch and one kernel") {
  random_numbers r(1);
  for (int i = 0; i < 200; ++i) {
    const double cpu = r.log_uniform(1e-6, 1e-5), gap = r.uniform(0, 1e-6),
                 kernel = r.log_uniform(1e-7, 1e-4);
    const std::vector<double> kernels(500, kernel);
    const pm::launch_costs c{.cpu = cpu * pm::second, .gap = gap * pm::second};
    const double law = pm::stream_launch_time(c, 500, 500 * kernel * pm::second).time.value();
    const double simulated = simulate_stream(cpu, gap, kernels);
    CHECK(simulated >= law * (1 - 1e-12));
    CHECK(simulated <= law + cpu + kernel + gap + 1e-12);
  }
}

TEST_CASE("stream time is kernels plus exposed launch, and never beats the kernels") {
  random_numbers r(2);
  for (int i = 0; i < 500; ++i) {
    const pm::launch_costs c{.cpu = r.log_uniform(1e-6, 1e-5) * pm::second,
                             .gap = r.uniform(0, 2e-6) * pm::second,
                             .replay = r.log_uniform(1e-6, 1e-5) * pm::second,
                             .node = r.uniform(0, 2e-6) * pm::second};
    const double n = std::ceil(r.log_uniform(1, 1e4));
    const pm::duration<> kernels = r.log_uniform(1e-6, 1) * pm::second;
    const pm::duration<> t = pm::stream_launch_time(c, n, kernels).time;
    CHECK(near(t, kernels + pm::exposed_launch(c, n, kernels)));
    CHECK(t >= kernels);
    CHECK(pm::synchronised_time(c, n, kernels).time >=
          pm::graph_time({.replay = c.replay}, 0, kernels).time - c.replay);
    CHECK(pm::graph_time(c, n + 1, kernels).time >= pm::graph_time(c, n, kernels).time);
    if (c.cpu > c.gap) {  // kernels just as long as the host needs: both limits meet
      const pm::estimate e = pm::stream_launch_time(c, n, n * (c.cpu - c.gap));
      CHECK(near(e.terms["host"], e.terms["device"]));
    }
  }
}

TEST_CASE("after the break-even number of calls both ways have taken the same time") {
  random_numbers r(3);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> once = r.log_uniform(1e-3, 1e3) * pm::second;
    const pm::duration<> after = r.log_uniform(1e-4, 1) * pm::second;
    const pm::duration<> before = after * r.uniform(1.01, 5);
    const double calls = pm::calls_to_earn_back(once, before, after).calls;
    CHECK(near(calls * before, once + calls * after, 1e-9));
  }
}

}  // namespace property_launch
