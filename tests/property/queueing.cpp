// Queues against each other and against simulation.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <support/near.hpp>
#include <support/random.hpp>
#include <vector>

namespace property_queueing {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

namespace {

// Lindley's recursion: the wait of one customer from that of the one before.
template <class Gap, class Service>
double simulated_wait(Gap gap, Service service, int customers) {
  double wait = 0, sum = 0;
  for (int i = 0; i < customers; ++i) {
    sum += wait;
    wait = std::max(0.0, wait + service() - gap());
  }
  return sum / customers;
}

}  // namespace

TEST_CASE("the mean wait is that of a simulated queue") {
  random_numbers r(1);
  constexpr int n = 2000000;
  const auto poisson = [&] { return r.exponential(1 / 0.7); };
  const pm::request_rate<> arrivals = 0.7 * pm::request_per_s;
  const double mm1 = simulated_wait(
      poisson, [&] { return r.exponential(1.0); }, n);
  CHECK(near(pm::mm1(arrivals, pm::second).wait.value(), mm1, 0.02));
  const double md1 = simulated_wait(
      poisson, [] { return 1.0; }, n);
  CHECK(near(pm::md1(arrivals, pm::second).wait.value(), md1, 0.02));
  // uniform on (0, 2): squared coefficient of variation 1/3
  const double mg1 = simulated_wait(
      poisson, [&] { return r.uniform(0, 2); }, n);
  CHECK(near(pm::mg1(arrivals, pm::second, 1.0 / 3).wait.value(), mg1, 0.02));
  // Kingman: uniform gaps too, at rho = 0.95, where it is meant to be good
  const double gg1 =
      simulated_wait([&] { return r.uniform(0, 2 / 0.95); }, [&] { return r.uniform(0, 2); }, n);
  CHECK(near(pm::gg1(0.95 * pm::request_per_s, pm::second, 1.0 / 3, 1.0 / 3).wait.value(), gg1,
             0.12));
}

TEST_CASE("mean, probability and quantile of the wait are those of three simulated servers",
          "[long]") {
  random_numbers r(2);
  constexpr int n = 1000000;
  std::array<double, 3> free_at{};
  std::vector<double> waits;
  waits.reserve(n);
  double clock = 0;
  int waited = 0;
  for (int i = 0; i < n; ++i) {
    clock += r.exponential(1 / 2.4);
    double& server = *std::min_element(free_at.begin(), free_at.end());
    const double start = std::max(clock, server);
    waited += start > clock ? 1 : 0;
    waits.push_back(start - clock);
    server = start + r.exponential(1.0);
  }
  const pm::request_rate<> arrivals = 2.4 * pm::request_per_s;
  const pm::queue_estimate q = pm::mmc(arrivals, pm::second, 3);
  double sum = 0;
  for (const double w : waits) sum += w;
  CHECK(near(q.wait.value(), sum / n, 0.02));
  CHECK(near(*q.probability_of_waiting, static_cast<double>(waited) / n, 0.01));
}

TEST_CASE("the named queues are one law") {
  random_numbers r(3);
  for (int i = 0; i < 500; ++i) {
    const pm::duration<> service = r.log_uniform(1e-3, 10) * pm::second;
    const double rho = r.uniform(0.01, 0.99);
    const pm::request_rate<> arrivals = rho / service.value() * pm::request_per_s;
    const pm::queue_estimate one = pm::mm1(arrivals, service);
    CHECK(near(pm::md1(arrivals, service).wait * 2.0, one.wait));
    CHECK(near(pm::mg1(arrivals, service, 1).wait, one.wait));
    CHECK(near(pm::gg1(arrivals, service, 1, 1).wait, one.wait));
    CHECK(near(pm::mmc(arrivals, service, 1).wait, one.wait, 1e-10));
    CHECK(near(*pm::mmc(arrivals, service, 1).probability_of_waiting, rho, 1e-10));
    CHECK(near(one.time, service / (1.0 - rho), 1e-10));
    CHECK(near(pm::processor_sharing(arrivals, service).time, one.time));
    CHECK(pm::gg1(arrivals, service, 0, 0).wait == 0.0 * pm::second);
    // Little's law holds for the line and for the system
    CHECK(near(one.waiting, arrivals * one.wait));
    CHECK(near((one.in_system - one.waiting).value(), rho, 1e-9));
    // the Pollaczek-Khinchine form with the second moment
    const double variation = r.uniform(0, 5), s = service.value();
    const double second_moment = (1 + variation) * s * s;
    CHECK(near(pm::mg1(arrivals, service, variation).wait.value(),
               arrivals.value() * second_moment / (2 * (1 - rho)), 1e-10));
  }
}

TEST_CASE("Erlang's C is that of the sum over states") {
  for (const int c : {1, 2, 3, 5, 8, 20}) {
    for (const double rho : {0.1, 0.5, 0.9, 0.99}) {
      const double a = rho * c;
      double term = 1, sum = 0;
      for (int k = 0; k < c; ++k) {
        sum += term;
        term *= a / (k + 1);
      }
      const double expected = term / (1 - rho) / (sum + term / (1 - rho));
      CHECK(near(*pm::mmc(a * pm::request_per_s, pm::second, c).probability_of_waiting, expected,
                 1e-10));
    }
  }
}

TEST_CASE("waits grow with the load, fall with pooling, and explode towards utilisation 1") {
  double last = -1;
  for (double rho = 0.05; rho < 1; rho += 0.05) {
    const double wait = pm::mmc(4 * rho * pm::request_per_s, pm::second, 4).wait.value();
    CHECK(wait > last);
    last = wait;
    // four servers on one line beat four lines
    CHECK(wait < pm::mm1(rho * pm::request_per_s, pm::second).wait.value());
  }
  CHECK(pm::mm1(0.999999 * pm::request_per_s, pm::second).time > 9e5 * pm::second);
}

TEST_CASE("the decode batch is where iterating B = x (t(B) + t1) arrives") {
  random_numbers r(4);
  for (int i = 0; i < 500; ++i) {
    const double t0 = r.log_uniform(1e-3, 0.1), t1 = r.log_uniform(1e-6, 1e-3);
    const double x = r.uniform(0.01, 0.8) / t1;
    const pm::batch_equilibrium e =
        pm::decode_batch(x / 100 * pm::request_per_s, 100.0 * pm::token_per_request,
                         t0 * pm::second, t1 * pm::second, 1e12);
    double b = 0;
    for (int step = 0; step < 400; ++step) b = x * (t0 + t1 + b * t1);
    CHECK(near(e.batch, b, 1e-9));
    CHECK(near(e.batch / e.step.value(), x, 1e-9));  // tokens out = tokens asked for
    CHECK(e.demanded <= e.saturation);
    const pm::batch_equilibrium more =
        pm::decode_batch(1.1 * x / 100 * pm::request_per_s, 100.0 * pm::token_per_request,
                         t0 * pm::second, t1 * pm::second, 1e12);
    CHECK(more.batch > 1.1 * e.batch);  // faster than the load
  }
}

}  // namespace property_queueing
