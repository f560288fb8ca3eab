// Every law of one machine over double, dual and interval.
#include <perfmodel/laws/energy.hpp>
#include <perfmodel/laws/fusion.hpp>
#include <perfmodel/laws/iron_law.hpp>
#include <perfmodel/laws/launch.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/overlap.hpp>
#include <perfmodel/laws/queueing.hpp>
#include <support/scalars.hpp>
#include <support/short_quantities.hpp>

namespace property_scalars_machine_laws {

namespace pm = perfmodel;
using perfmodel_test::b;
using perfmodel_test::bps;
using perfmodel_test::check_scalars;
using perfmodel_test::rps;
using perfmodel_test::s;
using perfmodel_test::tps;

TEST_CASE("the iron law agrees over all scalars") {
  const auto law = []<class T>(const std::array<T, 6>& x) {
    return pm::iron_law(b(x[0]), bps(x[1]), pm::flops<T>::from_value(x[2]),
                        pm::flop_rate<T>::from_value(x[3]), s(x[4]), pm::basic_overlap<T>{x[5]})
        .time.value();
  };
  check_scalars(law, 17.5e9, 3.35e12, 2e12, 989e12, 1e-4, 1.5);
  check_scalars(law, 1e9, 3.35e12, 2e12, 989e12, 1e-4, 4.0);
}

TEST_CASE("Little's law agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::bytes_in_flight(s(x[0]), bps(x[1])).value();
      },
      300e-9, 3.35e12);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::attainable_bandwidth(bps(x[0]), b(x[1]), s(x[2])).value();
      },
      3.35e12, 0.5e6, 300e-9);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::slowest_load(s(x[0]), s(x[1]), x[2]).value();
      },
      300e-9, 60e-9, 4.0);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::concurrent_sequences(tps(x[0]), s(x[1]));
      },
      280.0, 0.085);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) { return pm::throughput_of(x[0], s(x[1])).value(); },
      64.0, 0.12);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        pm::basic_thread_block<T> block;
        block.warps = x[0];
        block.registers_per_thread = x[1];
        return pm::occupancy(pm::basic_sm_limits<T>{}, block);
      },
      7.5, 65.0);
}

TEST_CASE("launches agree over all scalars, host-bound and not") {
  const auto stream = []<class T>(const std::array<T, 4>& x) {
    pm::basic_launch_costs<T> c;
    c.cpu = s(x[0]);
    c.gap = s(x[1]);
    return pm::stream_launch_time(c, x[2], s(x[3])).time.value();
  };
  check_scalars(stream, 7.5e-6, 1e-6, 2100.0, 1e-2);
  check_scalars(stream, 7.5e-6, 1e-6, 100.0, 1e-2);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        pm::basic_launch_costs<T> c;
        c.replay = s(x[0]);
        c.node = s(x[1]);
        return pm::graph_time(c, x[2], s(x[3])).time.value();
      },
      7.5e-6, 1e-6, 2100.0, 1e-2);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::calls_to_earn_back(s(x[0]), s(x[1]), s(x[2])).calls;
      },
      1.0, 15.75e-3, 12.1e-3);
}

TEST_CASE("overlap agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::training_step(s(x[0]), s(x[1]), s(x[2]), x[3]).time.value();
      },
      0.083, 0.166, 0.0625, 20.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::sm_interference(s(x[0]), x[1], x[2]).value();
      },
      0.01, 132.0, 8.0);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::overlap_with_sm_copy(s(x[0]), s(x[1]), x[2], x[3]).value();
      },
      0.01, 0.004, 132.0, 8.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::double_buffered_time(s(x[0]), s(x[1]), x[2]).value();
      },
      2e-6, 3e-6, 40.0);
}

TEST_CASE("fusion agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::attention_fusion_ratio(x[0], x[1], x[2], x[3]);
      },
      8192.0, 128.0, 64.0, 8.0);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        pm::basic_demand<T> first, second;
        first.dram.written = b(x[0]);
        second.dram.read = b(x[1]);
        return pm::fuse(first, second, b(x[2])).dram.total().value();
      },
      3e6, 2e6, 1e6);
}

TEST_CASE("energy and cost agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 5>& x) {
        pm::basic_energy_costs<T> c;
        c.matrix = pm::energy_per_flop<T>::from_value(x[0]);
        c.dram = pm::energy_per_byte<T>::from_value(x[1]);
        c.idle = pm::power<T>::from_value(x[2]);
        pm::basic_demand<T> d;
        d.matrix_flop = pm::flops<T>::from_value(x[3]);
        d.dram.read = b(x[4]);
        return pm::energy_of(c, d, s(T(0.5))).mean_power.value();
      },
      0.5e-12, 31.2e-12, 80.0, 1e14, 1e12);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        using watts = pm::power<T>;
        return pm::clock_under_cap(watts::from_value(x[0]), watts::from_value(x[1]),
                                   watts::from_value(x[2]), x[3])
            .clock_share;
      },
      350.0, 100.0, 500.0, 2.5);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::cost_per_token(x[0], pm::price<T>::from_value(x[1]), tps(x[2]), x[3]).value();
      },
      4.0, 2.7 / 3600, 533.3, 0.6);
}

TEST_CASE("queues agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::gg1(rps(x[0]), s(x[1]), x[2], x[3]).time.value();
      },
      0.7, 1.0, 0.8, 1.7);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::mmc(rps(x[0]), s(x[1]), 8).wait.value();
      },
      6.0, 1.0);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::mmc(rps(x[0]), s(x[1]), 64).wait.value();
      },
      50.0, 1.0);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::decode_batch(rps(x[0]), pm::tokens_per_request<T>::from_value(x[1]), s(x[2]),
                                s(x[3]), T(256.0))
            .batch;
      },
      2.0, 250.0, 0.02, 0.5e-3);
}

TEST_CASE("metrics agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::training_mfu(tps(x[0]), x[1], x[2], pm::flop_rate<T>::from_value(x[3]));
      },
      65000.0, 8.03e9, 8.0, 989.4e12);
  check_scalars(
      []<class T>(const std::array<T, 3>& x) {
        return pm::mfu_from_mbu(x[0], pm::intensity<T>::from_value(x[1]),
                                pm::intensity<T>::from_value(x[2]));
      },
      0.85, 1.0, 295.0);
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::amdahl(std::array<pm::basic_amdahl_part<T>, 2>{{{x[0], x[1]}, {x[2], x[3]}}})
            .speedup;
      },
      0.5, 0.8, 0.3, 0.2);
  check_scalars([]<class T>(const std::array<T, 2>& x) { return pm::scaling_tax(x[0], x[1]); },
                0.65, 0.48);
  check_scalars([]<class T>(const std::array<T, 1>& x) { return pm::straggler_tax(x[0]); }, 0.1);
  check_scalars([]<class T>(const std::array<T, 3>& x) { return pm::static_batch_efficiency(x); },
                20.0, 50.0, 200.0);
}

}  // namespace property_scalars_machine_laws
