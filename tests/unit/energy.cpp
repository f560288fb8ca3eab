// What energy reports and refuses.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/model/catalog/qwen.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/units/constants.hpp>
#include <support/near.hpp>
#include <support/refusal.hpp>

namespace unit_energy {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

TEST_CASE("every level of the demand is charged at its own price") {
  pm::demand d;
  d.matrix_flop = 1e12 * pm::flop;
  d.vector_flop = 2e12 * pm::flop;
  d.dram = {1_GB, 1_GB};
  d.l2 = {3_GB, 1_GB};
  d.shared = {5_GB, 3_GB};
  d.sent = 7_GB;
  pm::energy_costs c;
  c.matrix = 1.0 * pm::pJ_per_flop;
  c.vector = 2.0 * pm::pJ_per_flop;
  c.dram = 100.0 * pm::pJ_per_byte;
  c.l2 = 10.0 * pm::pJ_per_byte;
  c.shared = 1.0 * pm::pJ_per_byte;
  c.link = 50.0 * pm::pJ_per_byte;
  c.idle = 10_W;
  const pm::energy_estimate e = pm::energy_of(c, d, 2_s);
  CHECK(near(e.compute, 5_J));
  CHECK(near(e.dram, 0.2_J));
  CHECK(near(e.l2, 0.04_J));
  CHECK(near(e.shared, 0.008_J));
  CHECK(near(e.link, 0.35_J));
  CHECK(near(e.idle, 20_J));
  CHECK(near(e.total, 25.598_J));
  CHECK(near(e.mean_power, 12.799_W));
}

TEST_CASE("an accelerator hands over the energies that its memories state") {
  pm::accelerator a;
  a.dram.energy_per_byte = 5.0 * pm::pJ_per_bit;
  const pm::energy_costs c = pm::stated_energy_costs(a);
  CHECK(near(c.dram, 40.0 * pm::pJ_per_byte));
  CHECK(c.l2 == 0.0 * pm::pJ_per_byte);
}

TEST_CASE("a cap below idle power is a result with a reason") {
  const pm::power_cap r = pm::clock_under_cap(50_W, 100_W, 500_W, 3);
  CHECK_FALSE(r.feasible);
  CHECK(r.clock_share == 0.0);
  CHECK(r.feasible.needed == 100.0);
  CHECK(r.feasible.available == 50.0);
  CHECK(refusal([] { (void)pm::clock_under_cap(500_W, 100_W, 500_W, 4); }) ==
        "PM-E010: exponent is 4; allowed: 1 to 3");
  CHECK(refusal([] { (void)pm::energy_of(pm::energy_costs{}, pm::demand{}, 0_s); }) ==
        "PM-E010: time is 0; allowed: more than 0");
}

TEST_CASE("a cap of what is drawn at idle leaves no clock") {
  const pm::power_cap c = pm::clock_under_cap(100_W, 100_W, 600_W, 3.0);
  CHECK_FALSE(c.feasible);
  CHECK(c.clock_share == 0.0);
}

TEST_CASE("the power of a board is a share of its limit, by hand") {
  const pm::accelerator& h100 = pm::catalog::h100_sxm;
  // half of 3.35 TB/s, a quarter of the matrix rate: 700 (0.62 + 0.075 + 0.2425) W
  CHECK(near(pm::board_power_of(h100, 1.675_TB_per_s, 0.25).value(), 656.25, 1e-6));
  CHECK(near(pm::board_power_of(h100, 3.35_TB_per_s, 0.9).value(), 700.0, 1e-6));  // the limit
  CHECK(pm::has_board_power(h100));
  CHECK_FALSE(pm::has_board_power(pm::catalog::mi300x));
}

// ml-energy/leaderboard 0cd52da: tokens/s, watts of a GPU and joules per token at a mean batch. The
// law has the measured rate here, so that only power is held to the measurement.
TEST_CASE("watts and joules per token of measured services") {
  struct run {
    const pm::transformer& model;
    const pm::accelerator& device;
    int gpus;
    double input, output, batch, tokens_per_s, watts, joules;
  };
  namespace cat = pm::catalog;
  const run runs[] = {{cat::llama_3_1_8b, cat::h100_sxm, 1, 120, 389, 8.0, 1070, 486, 0.455},
                      {cat::llama_3_1_8b, cat::h100_sxm, 1, 120, 404, 255.2, 9010, 691, 0.077},
                      {cat::llama_3_1_70b, cat::h100_sxm, 4, 120, 350, 8.0, 470, 441, 3.759},
                      {cat::llama_3_1_70b, cat::h100_sxm, 4, 120, 350, 510.5, 5921, 623, 0.421},
                      {cat::llama_3_1_70b, cat::b200_sxm, 2, 120, 361, 255.3, 5372, 971, 0.361},
                      {cat::qwen_3_32b, cat::h100_sxm, 2, 120, 635, 95.8, 3356, 511, 0.305},
                      {cat::qwen_3_32b, cat::b200_sxm, 1, 300, 7035, 110.9, 2483, 774, 0.312}};
  for (const run& r : runs) {
    pm::deployment d;
    d.model = r.model;
    d.device = r.device;
    d.layout.tensor = r.gpus;
    const pm::service_load l{
        .input_tokens = r.input, .output_tokens = r.output, .arrivals = pm::closed_loop{r.batch}};
    pm::serving_estimate s;
    s.batch = r.batch;
    s.output_rate = r.tokens_per_s * pm::token / pm::second;
    INFO(r.model.name.c_str() << " on " << r.gpus << " " << r.device.name.c_str());
    const pm::power<> each = pm::power_of_service(d, l, s);
    CHECK(std::fabs(each.value() / r.watts - 1.0) < 0.25);
    CHECK(std::fabs(pm::joules_per_output_token(d, s, each) / r.joules - 1.0) < 0.25);
  }
}

TEST_CASE("a GPU of a pipeline does the work of its own layers, for each micro-batch") {
  pm::deployment one, two;
  one.model = two.model = pm::catalog::llama_3_1_8b;
  one.device = two.device = pm::catalog::h100_sxm;
  two.layout.pipeline = 2;
  const pm::duration<> t = 10.0 * pm::ms;
  // Above what the board draws without work, 0.62 of 700 W.
  const auto above_idle = [&t](const pm::deployment& d, double batch, double context = 1000) {
    return pm::power_of_step(d, {.batch = batch, .context = context}, t).value() - 0.62 * 700;
  };
  CHECK(above_idle(one, 32) > 50);
  // Half of the layers, twice: a step of 64 sequences in two micro-batches of 32.
  CHECK(std::fabs(above_idle(two, 64) / above_idle(one, 32) - 1) < 0.08);
  // One sequence is in one stage at a time: half of the layers, once.
  CHECK(std::fabs(above_idle(two, 1) / above_idle(one, 1) - 0.5) < 0.04);
  CHECK(std::fabs(above_idle(two, 1, 131072) / above_idle(one, 1, 131072) - 0.5) < 0.04);
}

TEST_CASE("a replica without a request for half of the time draws idle power for half of it") {
  pm::deployment d;
  d.model = pm::catalog::llama_3_1_8b;
  d.device = pm::catalog::h100_sxm;
  const pm::service_load l{
      .input_tokens = 100, .output_tokens = 100, .arrivals = pm::closed_loop{1}};
  pm::serving_estimate s;
  s.batch = 1.0;
  s.output_rate = 100.0 * pm::token / pm::second;
  const double busy = pm::power_of_service(d, l, s).value();
  s.batch = 0.5;
  s.output_rate = 50.0 * pm::token / pm::second;
  CHECK(near(pm::power_of_service(d, l, s).value(), 0.5 * busy + 0.5 * 126.0, 1e-6));
}

}  // namespace unit_energy
