// Queues in constant expressions, against textbook values.
#include <perfmodel/laws/queueing.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>

namespace static_queueing {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// M/M/1 at rho = 0.8: time = s / (1 - rho) = 5 s, L = rho / (1 - rho) = 4.
static_assert(near(pm::mm1(0.8_req_per_s, 1_s).time, 5_s));
static_assert(near(pm::mm1(0.8_req_per_s, 1_s).in_system, 4_req));
static_assert(near(pm::mm1(0.8_req_per_s, 1_s).waiting, 3.2_req));
static_assert(near(pm::md1(0.8_req_per_s, 1_s).wait, 2_s));
static_assert(near(pm::mg1(0.8_req_per_s, 1_s, 4).wait, 10_s));
// Kingman's 2 s, and exp(-2 x 0.2 x 0.25 / (3 x 0.8)) for arrivals more regular than Poisson.
static_assert(near(pm::gg1(0.8_req_per_s, 1_s, 0.5, 0.5).wait, 1.918378907_s, 1e-8));
static_assert(near(pm::processor_sharing(0.8_req_per_s, 1_s).time, 5_s));

// Erlang C by hand: C(2, 1) = 1/3; C(3, 2) = (8/6)(3) / (1 + 2 + 2 + 4) = 4/9.
static_assert(near(*pm::mmc(1_req_per_s, 1_s, 2).probability_of_waiting, 1.0 / 3));
static_assert(near(pm::mmc(1_req_per_s, 1_s, 2).wait, 1_s / 3));
static_assert(near(*pm::mmc(2_req_per_s, 1_s, 3).probability_of_waiting, 4.0 / 9));
// M/M/1 at 0.9: P(W > w) = 0.9 exp(-0.1 w), so w = 10 ln 90 = 44.998.

// Overload is a result.
static_assert(!pm::mm1(1_req_per_s, 1_s).feasible);
static_assert(pm::mm1(2_req_per_s, 1_s).utilisation == 2.0);
static_assert(pm::mm1(2_req_per_s, 1_s).time == 0_s);

// 2 req/s of 250 tokens, t0 = 20 ms, t1 = 0.5 ms: x = 500 tok/s, B = 10.25 / 0.75 = 13.67.
constexpr pm::batch_equilibrium steady =
    pm::decode_batch(2_req_per_s, 250.0 * pm::token_per_request, 20_ms, 0.5_ms, 64);
static_assert(near(steady.batch, 41.0 / 3));
static_assert(near(steady.step, 82_ms / 3));
static_assert(near(steady.saturation, 64 / 0.052 * pm::token_per_s));
static_assert(steady.feasible.feasible);
static_assert(
    !pm::decode_batch(8_req_per_s, 250.0 * pm::token_per_request, 20_ms, 0.5_ms, 64).feasible);
static_assert(
    !pm::decode_batch(2_req_per_s, 250.0 * pm::token_per_request, 20_ms, 0.5_ms, 13).feasible);

}  // namespace

}  // namespace static_queueing
