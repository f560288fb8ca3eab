// What the roofline promises for every machine and demand.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <support/near.hpp>
#include <support/random.hpp>

namespace property_roofline {

namespace pm = perfmodel;
using perfmodel_test::near;
using perfmodel_test::random_numbers;

namespace {

struct random_case {
  pm::accelerator machine;
  pm::demand work;
};
random_case draw(random_numbers& r) {
  random_case c;
  c.machine.matrix.peak.bf16 = r.log_uniform(1e12, 1e16) * pm::flop_per_s;
  c.machine.vector.peak.fp32 = r.log_uniform(1e11, 1e14) * pm::flop_per_s;
  c.machine.dram.bandwidth = r.log_uniform(1e11, 1e13) * pm::byte_per_s;
  c.machine.l2.bandwidth = r.log_uniform(1e12, 1e14) * pm::byte_per_s;
  c.work.matrix_flop = r.log_uniform(1e6, 1e15) * pm::flop;
  c.work.vector_flop = r.log_uniform(1e6, 1e13) * pm::flop;
  c.work.dram = {r.log_uniform(1e3, 1e12) * pm::byte, r.log_uniform(1e3, 1e12) * pm::byte};
  c.work.l2 = {r.log_uniform(1e3, 1e12) * pm::byte, r.log_uniform(1e3, 1e12) * pm::byte};
  return c;
}

}  // namespace

TEST_CASE("the roofline's time is its largest term, and utilisation stays at or below 1") {
  random_numbers r(1);
  for (int i = 0; i < 1000; ++i) {
    const auto [machine, work] = draw(r);
    const pm::estimate e = pm::roofline(machine, work);
    double largest = 0;
    for (const pm::term& t : e.terms) largest = std::max(largest, t.time.value());
    CHECK(e.time.value() == largest);
    for (const pm::term& t : e.terms) {
      if (t.time.value() == largest) CHECK(t.kind == e.limiter);
    }
    CHECK(e.mfu <= 1.0 + 1e-12);
    CHECK(e.mbu <= 1.0 + 1e-12);
    CHECK((e.mfu > 0.0 && e.mbu > 0.0));
  }
}

TEST_CASE("MFU = MBU x intensity / ridge point") {
  random_numbers r(2);
  for (int i = 0; i < 1000; ++i) {
    auto [machine, work] = draw(r);
    work.vector_flop = {};
    const pm::estimate e = pm::roofline(machine, work);
    const double expected = e.mbu * (work.intensity() / pm::ridge_point(machine, pm::bf16));
    CHECK(near(e.mfu, expected));
  }
}

TEST_CASE("a faster machine is never slower, and more work never faster") {
  random_numbers r(3);
  for (int i = 0; i < 1000; ++i) {
    const auto [machine, work] = draw(r);
    const pm::duration<> before = pm::roofline(machine, work).time;
    pm::accelerator faster = machine;
    faster.dram.bandwidth = 1.5 * machine.dram.bandwidth;
    CHECK(pm::roofline(faster, work).time <= before);
    faster.matrix.peak.bf16 = 1.5 * machine.matrix.peak.bf16;
    CHECK(pm::roofline(faster, work).time <= before);
    pm::demand more = work;
    more.dram.read = 2.0 * work.dram.read;
    CHECK(pm::roofline(machine, more).time >= before);
    CHECK(near(pm::roofline(machine, 3.0 * work).time, 3.0 * before));
  }
}

TEST_CASE("the attainable rate is work over the roofline's time") {
  random_numbers r(4);
  for (int i = 0; i < 1000; ++i) {
    auto [machine, work] = draw(r);
    work.vector_flop = {};
    work.l2 = {};
    const pm::flop_rate<> rate = work.matrix_flop / pm::roofline(machine, work).time;
    CHECK(near(rate, pm::attainable(pm::peak(machine, pm::bf16), machine.dram.bandwidth.quantity(),
                                    work.intensity())));
  }
}

TEST_CASE("a matrix product moves each operand once and is symmetric in m and n") {
  random_numbers r(5);
  for (int i = 0; i < 200; ++i) {
    const double m = std::ceil(r.log_uniform(1, 1e5)), n = std::ceil(r.log_uniform(1, 1e5)),
                 k = std::ceil(r.log_uniform(1, 1e5));
    const pm::demand d = demand_of(pm::gemm{.m = m, .n = n, .k = k});
    const pm::demand t = demand_of(pm::gemm{.m = n, .n = m, .k = k});
    CHECK(d.matrix_flop == t.matrix_flop);
    CHECK(near(d.dram.total(), t.dram.total()));
    CHECK(near(d.dram.total().value(), 2.0 * (m * k + k * n + m * n)));
    CHECK(d.intensity().value() <=
          std::min({m, n, k}) * (1 + 1e-12));  // I -> 2 min / b as the others grow
  }
}

TEST_CASE("the intensities of an FFN gate product over the batch") {
  // k = 2048, n = 11008 in 2 bytes: 2 m k n / (2 (m k + k n + m n)), by hand for three batches.
  const auto intensity = [](double m) {
    return demand_of(pm::gemm{.m = m, .n = 11008, .k = 2048}).intensity().value();
  };
  CHECK(near(intensity(1), 22544384.0 / (2048 + 22544384 + 11008)));
  CHECK(near(intensity(64), 64 * 22544384.0 / (131072 + 22544384 + 704512)));
  CHECK(near(intensity(2048), 2048 * 22544384.0 / (4194304 + 22544384 + 22544384)));
  double last = 0;
  for (double m = 1; m <= 2048; m *= 2) {
    CHECK(intensity(m) > last);
    last = intensity(m);
  }
}

}  // namespace property_roofline
