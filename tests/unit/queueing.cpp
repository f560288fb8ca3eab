// What queues report when they cannot keep up, and refuse.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_queueing {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("an overloaded queue is a result with a reason") {
  const pm::queue_estimate q = pm::mmc(5_req_per_s, 1_s, 4);
  CHECK_FALSE(q.feasible);
  CHECK(q.utilisation == 1.25);
  CHECK(q.time == 0_s);
  CHECK(q.in_system == 0_req);
  CHECK(q.feasible.needed == 5.0);
  CHECK(q.feasible.available == 4.0);
  CHECK(std::string(q.feasible.unit) == "req/s");
  CHECK(std::string(q.feasible.reason) ==
        "requests arrive as fast as they can be served, or faster");
}

TEST_CASE("a queue that fills as fast as it is served is overloaded") {
  const pm::queue_estimate q = pm::gg1(2_req_per_s, 0.5_s, 1.0, 1.0);
  CHECK_FALSE(q.feasible);
  CHECK(q.feasible.needed == 2.0);
  CHECK(q.feasible.available == 2.0);
  const pm::queue_estimate four = pm::mmc(2_req_per_s, 2_s, 4);
  CHECK_FALSE(four.feasible);
  CHECK(four.feasible.available == 2.0);  // 4 servers / 2 s
  // Kingman by hand: 0.5 / (1 - 0.5) x (2 + 0.5) / 2 x 0.25 s.
  CHECK(near(pm::gg1(2_req_per_s, 0.25_s, 2.0, 0.5).wait, 0.3125_s));
}

TEST_CASE("the two ways for a decode batch to be impossible") {
  const auto output = 1000.0 * pm::token_per_request;
  const pm::batch_equilibrium slow = pm::decode_batch(3_req_per_s, output, 20_ms, 0.5_ms, 64);
  CHECK_FALSE(slow.feasible);
  CHECK(slow.feasible.needed == 3000.0);
  CHECK(near(slow.feasible.available, 2000.0));
  const pm::batch_equilibrium full = pm::decode_batch(1.9_req_per_s, output, 20_ms, 0.5_ms, 64);
  CHECK_FALSE(full.feasible);
  CHECK(std::string(full.feasible.unit) == "sequences");
  CHECK(near(full.feasible.needed, 779.0, 1e-9));  // 38.95 / (1 - 0.95)
  CHECK(full.feasible.available == 64.0);
  CHECK(full.batch == 0.0);
}

TEST_CASE("the mean of a decode batch is that of its birth-death chain") {
  // One request of 500 tokens a second, t0 = 10 ms, t1 = 1 ms: n requests leave at n / (500 t(n)).
  double weight = 1.0, all = 1.0, sum = 0.0;
  for (int n = 1; n < 2000; ++n) {
    weight *= 500.0 * (10e-3 + n * 1e-3) / n;
    all += weight;
    sum += n * weight;
  }
  const pm::batch_equilibrium b =
      pm::decode_batch(1_req_per_s, 500.0 * pm::token_per_request, 10_ms, 1_ms, 1e6);
  CHECK(near(b.batch, sum / all, 1e-9));
  CHECK(near(b.batch, 11.0, 1e-12));
  CHECK(near(b.step, 22_ms, 1e-12));
  // An almost idle engine steps for one sequence.
  const pm::batch_equilibrium idle =
      pm::decode_batch(1e-6 * pm::request_per_s, 500.0 * pm::token_per_request, 10_ms, 1_ms, 64);
  CHECK(near(idle.step, 11_ms, 1e-6));
}

TEST_CASE("a decode batch that grows as fast as it is served never settles") {
  const auto output = 1000.0 * pm::token_per_request;
  const pm::batch_equilibrium b = pm::decode_batch(2_req_per_s, output, 20_ms, 0.5_ms, 1e6);
  CHECK_FALSE(b.feasible);
  CHECK(std::string(b.feasible.unit) == "tok/s");
  CHECK(b.batch == 0.0);
}

TEST_CASE("a decode batch may be as large as the largest") {
  const pm::batch_equilibrium b =
      pm::decode_batch(1_req_per_s, 8.0 * pm::token_per_request, 1_s, 0_s, 8);
  CHECK(b.feasible);
  CHECK(b.batch == 8.0);
}

TEST_CASE("a queue without arrivals is empty") {
  CHECK(pm::mm1(0_req_per_s, 1_s).time == 1_s);
  CHECK(*pm::mmc(0_req_per_s, 1_s, 8).probability_of_waiting < 1e-90);
  CHECK_FALSE(pm::mg1(0.5_req_per_s, 1_s, 1.0).probability_of_waiting.has_value());
  CHECK(pm::mmc(0_req_per_s, 1_s, 8).in_system == 0_req);
}

TEST_CASE("a queue of ten thousand servers stays finite") {
  const pm::queue_estimate q = pm::mmc(9900_req_per_s, 1_s, 10000);
  CHECK(*q.probability_of_waiting > 0.0);
  CHECK(*q.probability_of_waiting < 1.0);
  CHECK(q.time > 1_s);
}

TEST_CASE("waits at a given utilisation are those of the queues") {
  const pm::queue_estimate q = pm::gg1(0.5_req_per_s, 1_s, 2.0, 0.5);
  CHECK(near(pm::single_server_wait(0.5, 1.25, 1_s), q.wait));
  CHECK(near(pm::multi_server_wait(0.5, 1.0, 1.25, 1_s), q.wait));
  // Four servers of 1 s complete a request every 250 ms.
  CHECK(near(pm::multi_server_wait(0.9, 4.0, 1.0, 0.25_s), pm::mmc(3.6_req_per_s, 1_s, 4).wait,
             0.02));
}

TEST_CASE("a random instant finds half of a constant and all of an exponential") {
  CHECK(near(pm::mean_residual_time(3_s, 0_s), 1.5_s));
  CHECK(near(pm::mean_residual_time(3_s, 3_s), 3_s));
}

TEST_CASE("a closed network queues for what its customers ask beyond the think time") {
  CHECK(near(pm::schweitzer_wait(1.0, 2.0, 5.0, 1.0), 0.0));      // no other customer
  CHECK(near(pm::schweitzer_wait(100.0, 2.0, 0.0, 1.0), 198.0));  // all the others
  // R = S (1 + (N - 1) R / (R + Z))
  const double r = 2.0 + pm::schweitzer_wait(8.0, 2.0, 5.0, 1.0);
  CHECK(near(r, 2.0 * (1.0 + 7.0 * r / (r + 5.0))));
}

TEST_CASE("queues refuse what has no meaning") {
  CHECK(refusal([] { (void)pm::mm1(1_req_per_s, 0_s); }) ==
        "PM-E010: service is 0; allowed: more than 0");
  CHECK(refusal([] { (void)pm::mg1(1_req_per_s, 1_s, -1); }) ==
        "PM-E010: service_variation is -1; allowed: 0 or more");
  CHECK(refusal([] { (void)pm::mmc(1_req_per_s, 1_s, 0); }) ==
        "PM-E010: servers is 0; allowed: 1 to 10000");
  CHECK(refusal([] {
          (void)pm::decode_batch(1_req_per_s, 1.0 * pm::token_per_request, 0_s, 0_s, 8);
        }) == "PM-E010: fixed + per_sequence is 0; allowed: more than 0");
}

}  // namespace unit_queueing
