// What holds for every collective.
#include <catch2/catch_test_macros.hpp>
#include <perfmodel/parallel/collectives.hpp>

#include "support/shared.hpp"

namespace property_collectives {

namespace pm = perfmodel;
using pm::collective_algorithm;
using pm::collective_op;

namespace {

constexpr collective_op operations[] = {
    collective_op::all_reduce, collective_op::all_gather, collective_op::reduce_scatter,
    collective_op::all_to_all, collective_op::broadcast,  collective_op::point_to_point};
constexpr collective_algorithm algorithms[] = {
    collective_algorithm::ring, collective_algorithm::tree, collective_algorithm::one_shot,
    collective_algorithm::two_shot, collective_algorithm::in_network};

pm::interconnect fabric(bool adds) {
  return {.kind = pm::link_kind::nvlink,
          .bandwidth = 450.0 * pm::GB_per_s,
          .ranks = 1024,
          .in_network_reduction = adds};
}
pm::duration<> time_of(bool adds, collective_op op, int ranks, double size, collective_algorithm a,
                       const pm::alpha_beta& cost) {
  return pm::collective_time(fabric(adds),
                             {.operation = op,
                              .ranks = ranks,
                              .message = pm::message_bytes<>(size * pm::byte),
                              .algorithm = a},
                             cost)
      .time;
}

}  // namespace

TEST_CASE("reduce-scatter and all-gather make a ring all-reduce, in bytes, steps and time") {
  for (int n = 1; n <= 64; ++n) {
    const auto whole =
        pm::steps_and_share(collective_op::all_reduce, collective_algorithm::ring, n);
    const auto first =
        pm::steps_and_share(collective_op::reduce_scatter, collective_algorithm::ring, n);
    const auto second =
        pm::steps_and_share(collective_op::all_gather, collective_algorithm::ring, n);
    CHECK(whole.steps == first.steps + second.steps);
    CHECK(whole.share == first.share + second.share);
  }
}

TEST_CASE("no algorithm beats what its operation must move through a rank's link") {
  // Every rank receives what it lacks: all of a broadcast, N-1 shards of a gather or an exchange.
  for (const collective_op op : operations) {
    for (const collective_algorithm a : algorithms) {
      if (!pm::has_algorithm(op, a)) continue;
      for (int n = 2; n <= 64; ++n) {
        const double least = op == collective_op::all_reduce
                                 ? (a == collective_algorithm::in_network ? 1.0 : 2.0 * (n - 1) / n)
                             : op == collective_op::broadcast || op == collective_op::point_to_point
                                 ? 1.0
                                 : (n - 1.0) / n;
        CHECK(pm::steps_and_share(op, a, n).share >= least * (1 - 1e-15));
      }
    }
  }
}

TEST_CASE("time never falls below wire bytes over the link, and grows with bytes") {
  for (const bool adds : {false, true}) {
    for (const pm::alpha_beta& cost :
         {pm::alpha_beta{}, pm::alpha_beta{.alpha = 3.0 * pm::us, .bandwidth_share = 0.8}}) {
      for (const collective_op op : operations) {
        for (const int n : {1, 2, 3, 4, 6, 8, 16, 72}) {
          pm::duration<> before{};
          for (double size = 0.0; size < 1e11; size = size * 3 + 0.5) {
            const auto e = pm::collective_time(
                fabric(adds),
                {.operation = op, .ranks = n, .message = pm::message_bytes<>(size * pm::byte)},
                cost);
            CHECK(e.time >= before);
            CHECK(e.time * (1 + 1e-14) >= e.wire.quantity() / (450.0 * pm::GB_per_s));
            const double parts = e.terms.sum().value();
            CHECK(std::abs(parts - e.time.value()) <= 1e-14 * parts);
            CHECK(e.feasible);
            before = e.time;
          }
        }
      }
    }
  }
}

TEST_CASE("the wire share and the steps of an algorithm grow with the ranks") {
  for (const collective_op op : operations) {
    for (const collective_algorithm a : algorithms) {
      if (!pm::has_algorithm(op, a)) continue;
      pm::schedule_cost before{};
      for (int n = 1; n <= 200; ++n) {
        const pm::schedule_cost x = pm::steps_and_share(op, a, n);
        // Bruck's blocks are the bits set below N, over N: 80 / 32 of 32 ranks, 81 / 33 of 33.
        const bool bruck = op == collective_op::all_to_all && a == collective_algorithm::tree;
        CHECK((bruck || x.share >= before.share));
        CHECK(x.steps >= before.steps);
        before = x;
      }
    }
  }
}

TEST_CASE("best is the least of the algorithms the fabric has") {
  for (const bool adds : {false, true}) {
    for (const pm::alpha_beta& cost : {pm::alpha_beta{}, pm::alpha_beta{.alpha = 2.0 * pm::us}}) {
      for (const collective_op op : operations) {
        for (const int n : {2, 3, 8, 16}) {
          for (double size = 1; size < 1e10; size *= 7) {
            const auto best = time_of(adds, op, n, size, collective_algorithm::best, cost);
            bool reached = false;
            for (const collective_algorithm a : algorithms) {
              if (!pm::has_algorithm(op, a) || (a == collective_algorithm::in_network && !adds))
                continue;
              const auto t = time_of(adds, op, n, size, a, cost);
              CHECK(best <= t);
              reached = reached || best == t;
            }
            CHECK(reached);
          }
        }
      }
    }
  }
}

TEST_CASE("a bound never exceeds what in-network reduction gives, nor doubles it") {
  for (const int n : {2, 4, 8, 72}) {
    for (double size = 1; size < 1e10; size *= 10) {
      const auto with =
          time_of(true, collective_op::all_reduce, n, size, collective_algorithm::best, {});
      const auto without =
          time_of(false, collective_op::all_reduce, n, size, collective_algorithm::best, {});
      CHECK(with.value() <= size / 450e9 * (1 + 1e-15));
      CHECK(with <= without);
      CHECK(without < 2.0 * with);
    }
  }
}

TEST_CASE("busbw of a ring at full rate is the link's, whatever the ranks") {
  for (const collective_op op : {collective_op::all_reduce, collective_op::all_gather,
                                 collective_op::reduce_scatter, collective_op::all_to_all}) {
    for (int n = 2; n <= 64; ++n) {
      const auto e =
          pm::collective_time(fabric(false), {.operation = op,
                                              .ranks = n,
                                              .message = pm::message_bytes<>(1.0 * pm::GB),
                                              .algorithm = collective_algorithm::ring});
      CHECK(std::abs(e.busbw.quantity() / (450.0 * pm::GB_per_s) - 1.0) < 1e-14);
    }
  }
}

// NVLink one way, and whether the switches add, from the makers' data sheets: A100 300 GB/s, H100
// and H200 450 GB/s with NVLink SHARP.
TEST_CASE("no published measurement is faster than the bound", "[shared]") {
  const auto compare = [](const common::table_row& r, collective_op op) {
    const std::string& gpu = r.text("gpu");
    const bool hopper = gpu.starts_with("h");
    const pm::interconnect l{.kind = pm::link_kind::nvlink,
                             .bandwidth = (hopper ? 450.0 : 300.0) * pm::GB_per_s,
                             .ranks = 8,
                             .in_network_reduction = hopper};
    const auto bound =
        pm::collective_time(l, {.operation = op,
                                .ranks = r.whole("num_gpus"),
                                .message = pm::message_bytes<>(r.number("bytes") * pm::byte)});
    INFO(gpu << ' ' << r.text("impl") << ", " << r.text("num_gpus") << " ranks, " << r.text("bytes")
             << " bytes");
    CHECK(bound.time.value() <= r.seconds());
  };
  const auto nccl = perfmodel_test::measured_table("aic_nccl_collectives_public.csv");
  const auto custom = perfmodel_test::measured_table("aic_custom_allreduce_public.csv");
  for (const auto& r : nccl) {
    const bool gather = r.text("op") == "all_gather";
    compare(r, gather ? collective_op::all_gather : collective_op::all_reduce);
  }
  for (const auto& r : custom) compare(r, collective_op::all_reduce);
  CHECK(nccl.rows.size() + custom.rows.size() > 1000);
}

}  // namespace property_collectives
