// Collectives: refused and infeasible inputs, and published numbers.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/catalog/ai_accelerators.hpp>
#include <perfmodel/hardware/catalog/amd.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/scalar/interval.hpp>

namespace unit_collectives {

namespace pm = perfmodel;
using Catch::Matchers::WithinRel;

namespace {

pm::interconnect nvlink(double gb_per_s, bool adds) {
  return {.kind = pm::link_kind::nvlink,
          .bandwidth = gb_per_s * pm::GB_per_s,
          .ranks = 8,
          .in_network_reduction = adds};
}

pm::error_code code_of(const pm::interconnect& l, const pm::collective& c) {
  try {
    (void)pm::collective_time(l, c);
  } catch (const pm::error& e) {
    return e.code();
  }
  return pm::error_code{};
}

double bus_rate(const pm::accelerator& a, pm::collective_op op, int ranks) {
  return pm::collective_time(
             a.fabric,
             {.operation = op, .ranks = ranks, .message = pm::message_bytes<>(4.0 * pm::GiB)})
      .busbw.quantity()
      .value();
}

}  // namespace

// By hand: seven links of 64 GB/s; a group of n uses n-1 of them. Measured busbw of an all-reduce
// of 4 GiB: 47.7 GB/s on 2, 312.9 on 8 (stas00/ml-engineering, network/README.md).
TEST_CASE("a group in a mesh uses its links to the others of the group") {
  using pm::collective_op;
  const pm::accelerator& mi300x = pm::catalog::mi300x;
  for (const collective_op op : {collective_op::all_reduce, collective_op::all_gather,
                                 collective_op::reduce_scatter, collective_op::all_to_all}) {
    CHECK_THAT(bus_rate(mi300x, op, 2), WithinRel(64e9, 1e-12));
    CHECK_THAT(bus_rate(mi300x, op, 4), WithinRel(192e9, 1e-12));
    CHECK_THAT(bus_rate(mi300x, op, 8), WithinRel(448e9, 1e-12));
  }
  CHECK(bus_rate(mi300x, collective_op::all_reduce, 2) > 47.7e9);
  CHECK(bus_rate(mi300x, collective_op::all_reduce, 8) > 312.9e9);
  CHECK_THAT(bus_rate(mi300x, collective_op::point_to_point, 2), WithinRel(64e9, 1e-12));
  CHECK_THAT(bus_rate(pm::catalog::mi355x, collective_op::all_reduce, 2), WithinRel(76.8e9, 1e-12));
  CHECK_THAT(bus_rate(pm::catalog::gaudi_3, collective_op::all_reduce, 2), WithinRel(75e9, 1e-12));
  CHECK(bus_rate(pm::catalog::h100_sxm, collective_op::all_gather, 2) == 450e9);
}

// By hand: 50 GB/s a link of v5e, four of them; 100 GB/s of TPU7x, six. Two chips use one link,
// 2 x 2 chips two, 2 x 4 (which wraps around on one side) three, 4 x 4 four; 4 x 4 x 4 six.
TEST_CASE("a slice of a torus uses the links to its neighbours") {
  const auto links_used = [](const pm::accelerator& a, double link, int ranks) {
    return bus_rate(a, pm::collective_op::all_gather, ranks) / link;
  };
  for (const auto& [ranks, links] :
       {std::pair{2, 1.0}, {3, 1.0}, {4, 2.0}, {8, 3.0}, {16, 4.0}, {256, 4.0}}) {
    CHECK_THAT(links_used(pm::catalog::tpu_v5e, 50e9, ranks), WithinRel(links, 1e-12));
  }
  for (const auto& [ranks, links] :
       {std::pair{2, 1.0}, {8, 3.0}, {32, 5.0}, {64, 6.0}, {9216, 6.0}})
    CHECK_THAT(links_used(pm::catalog::tpu7x, 100e9, ranks), WithinRel(links, 1e-12));
}

TEST_CASE("a larger group of a mesh or a torus has no less bandwidth") {
  for (const auto t : {pm::link_topology::switched, pm::link_topology::mesh,
                       pm::link_topology::torus_2d, pm::link_topology::torus_3d}) {
    pm::interconnect l = nvlink(450, false);
    l.ranks = 512;
    l.topology = t;
    double last = 0.0;
    for (int n = 1; n <= 600; ++n) {
      const double share = pm::usable_share(l, n);
      CHECK((share >= last && share > 0.0 && share <= 1.0));
      last = share;
    }
    CHECK(last == 1.0);
  }
  pm::interconnect pair = nvlink(450, false);
  pair.topology = pm::link_topology::mesh;
  pair.ranks = 1;  // not stated: the division stays defined
  CHECK(pm::usable_share(pair, 2) == 1.0);
}

TEST_CASE("a host link carries a transfer between its two ends") {
  pm::collective c{.operation = pm::collective_op::point_to_point,
                   .ranks = 2,
                   .message = pm::message_bytes<>(64.0 * pm::MB)};
  const pm::interconnect& host = pm::catalog::h100_sxm.host;  // PCIe 5.0 x16
  const auto e = pm::collective_time(host, c);
  CHECK(e.feasible.feasible);
  CHECK(e.time.value() == 64e6 / host.bandwidth.value());
  c.ranks = 3;
  CHECK(std::string(pm::collective_time(host, c).feasible.reason) ==
        "more ranks than the fabric joins");
  c = {.ranks = 2, .message = pm::message_bytes<>(64.0 * pm::MB)};
  CHECK_FALSE(pm::collective_time(host, c).feasible);
}

TEST_CASE("ranks that were not given are refused") {
  CHECK_THROWS_WITH(
      pm::collective_time(pm::catalog::h100_sxm.fabric,
                          pm::collective{.message = pm::message_bytes<>(1.0 * pm::MB)}),
      Catch::Matchers::ContainsSubstring("ranks is 0; allowed: 1 to 1000000"));
}

TEST_CASE("an all-reduce that spans too many ranks is infeasible and says so") {
  const auto e = pm::collective_time(nvlink(450, true),
                                     {.ranks = 16, .message = pm::message_bytes<>(1.0 * pm::MB)});
  CHECK_FALSE(e.feasible);
  CHECK(std::string(e.feasible.reason) == "more ranks than the fabric joins");
  CHECK(e.feasible.needed == 16.0);
  CHECK(e.feasible.available == 8.0);
  CHECK(e.time > 0.0 * pm::second);
}

TEST_CASE("without a link two ranks cannot communicate and one rank need not") {
  const pm::interconnect none{};
  const pm::message_bytes<> message(1.0 * pm::MB);
  CHECK_FALSE(pm::collective_time(none, {.ranks = 2, .message = message}).feasible);
  CHECK(pm::collective_time(none, {.ranks = 2, .message = message}).time == pm::duration<>{});
  CHECK(pm::collective_time(none, {.ranks = 1, .message = message}).feasible);
}

TEST_CASE("in-network reduction needs switches that add") {
  const pm::collective c{.ranks = 8,
                         .message = pm::message_bytes<>(1.0 * pm::MB),
                         .algorithm = pm::collective_algorithm::in_network};
  CHECK(pm::collective_time(nvlink(450, true), c).feasible);
  CHECK_FALSE(pm::collective_time(nvlink(450, false), c).feasible);
}

TEST_CASE("inputs out of range name their field") {
  using enum pm::error_code;
  const pm::message_bytes<> message(1.0 * pm::MB);
  CHECK(code_of(nvlink(450, true), {.ranks = 0, .message = message}) == out_of_range);
  CHECK(code_of(nvlink(450, true), {.ranks = -8, .message = message}) == out_of_range);
  CHECK(code_of(nvlink(450, true), {.ranks = 8, .message = pm::message_bytes<>(-1.0 * pm::MB)}) ==
        out_of_range);
  CHECK(code_of(nvlink(-1, true), {.ranks = 8, .message = message}) == out_of_range);
  CHECK_THROWS_WITH(pm::collective_time(nvlink(450, true), {.ranks = 0, .message = message}),
                    Catch::Matchers::ContainsSubstring("ranks is 0"));
  CHECK_THROWS_AS(
      pm::to_algorithm_bandwidth(pm::collective_op::all_reduce, 1, pm::bus_bandwidth<>{}),
      pm::error);
  CHECK_THROWS_AS(pm::collective_time(nvlink(450, true), {.ranks = 8, .message = message},
                                      pm::alpha_beta{.bandwidth_share = 1.5}),
                  pm::error);
  CHECK_THROWS_AS(pm::collective_time(nvlink(450, true), {.ranks = 8, .message = message},
                                      pm::alpha_beta{.alpha = -1.0 * pm::us}),
                  pm::error);
}

TEST_CASE("an operation without the algorithm is refused") {
  const pm::message_bytes<> message(1.0 * pm::MB);
  CHECK(code_of(nvlink(450, true), {.operation = pm::collective_op::point_to_point,
                                    .ranks = 2,
                                    .message = message,
                                    .algorithm = pm::collective_algorithm::ring}) ==
        pm::error_code::inconsistent);
  CHECK(code_of(nvlink(450, true), {.ranks = 8,
                                    .message = message,
                                    .algorithm = pm::collective_algorithm::ring,
                                    .implementation = pm::collective_implementation::one_shot}) ==
        pm::error_code::inconsistent);
  CHECK_THROWS_AS(
      pm::steps_and_share(pm::collective_op::all_to_all, pm::collective_algorithm::in_network, 8),
      pm::error);
}

TEST_CASE("160 all-reduces of a 70B prefill: 812 ms at 370 GB/s, 668 at 450") {
  const pm::collective c{.ranks = 8, .message = pm::message_bytes<>(1073741824.0 * pm::byte)};
  const auto achieved = pm::repeated_collective(160.0, pm::collective_time(nvlink(370, false), c));
  CHECK_THAT(achieved.time.value(), WithinRel(812.56e-3, 1e-5));
  CHECK_THAT(achieved.wire.quantity().value(), WithinRel(300.6477e9, 1e-6));
  CHECK_THAT(achieved.terms["transfer"].value(), WithinRel(812.56e-3, 1e-5));
  // The rates do not change by repeating: busbw is the link's.
  CHECK_THAT(achieved.busbw.quantity().value(), WithinRel(370e9, 1e-12));
  CHECK_THAT(
      pm::repeated_collective(160.0, pm::collective_time(nvlink(450, false), c)).time.value(),
      WithinRel(668.1e-3, 1e-3));
}

TEST_CASE("the knee message of a ring waits as long as it transfers") {
  const pm::message_bytes<> knee(8.0 * (5.0 * pm::us) * (450.0 * pm::GB_per_s));
  const auto e = pm::collective_time(
      nvlink(450, false),
      {.ranks = 8, .message = knee, .algorithm = pm::collective_algorithm::ring},
      pm::alpha_beta{.alpha = 5.0 * pm::us});
  CHECK_THAT(e.terms["latency"].value(), WithinRel(70e-6, 1e-12));
  CHECK_THAT(e.terms["transfer"].value(), WithinRel(70e-6, 1e-12));
}

TEST_CASE("implementation and launch reach the cost policy") {
  struct launch_cost : pm::full_link {
    pm::duration<> latency(const pm::interconnect&, const pm::basic_schedule<>& s) const {
      return s.launch == pm::launch_mode::graph ? 1.0 * pm::us : 10.0 * pm::us;
    }
  };
  pm::collective c{.ranks = 8, .message = pm::message_bytes<>(8.0 * pm::byte)};
  const auto graph = pm::collective_time(nvlink(450, false), c, launch_cost{});
  c.launch = pm::launch_mode::stream;
  const auto stream = pm::collective_time(nvlink(450, false), c, launch_cost{});
  CHECK_THAT((stream.time - graph.time).value(), WithinRel(9e-6, 1e-9));

  c.implementation = pm::collective_implementation::nccl;
  CHECK(pm::collective_time(nvlink(450, true), c).algorithm ==
        pm::collective_algorithm::in_network);
  CHECK(pm::collective_time(nvlink(450, false), c).algorithm == pm::collective_algorithm::ring);
  c.implementation = pm::collective_implementation::custom;
  CHECK(pm::collective_time(nvlink(450, true), c).algorithm == pm::collective_algorithm::two_shot);
}

TEST_CASE("the message size chooses the algorithm") {
  pm::interconnect l;
  l.kind = pm::link_kind::nvlink;
  l.bandwidth = pm::bandwidth<>::from_value(225e9);
  l.ranks = 8;
  pm::alpha_beta cost;
  cost.alpha = pm::duration<>::from_value(1e-6);
  const auto of = [&](double size) {
    return pm::collective_time(l, {.ranks = 8, .message = pm::message_bytes<>(size * pm::byte)},
                               cost);
  };
  const auto small = of(2250), large = of(225e3);
  CHECK(small.algorithm == pm::collective_algorithm::one_shot);
  CHECK(large.algorithm == pm::collective_algorithm::two_shot);
  CHECK_THAT(small.wire.quantity().value(), WithinRel(7.0 * 2250, 1e-12));
  CHECK_THAT(large.wire.quantity().value(), WithinRel(1.75 * 225e3, 1e-12));
  CHECK_THAT(small.time.value(), WithinRel(1.07e-6, 1e-9));
  CHECK_THAT(large.time.value(), WithinRel(3.75e-6, 1e-9));
}

TEST_CASE("a range over the switch of algorithms covers both") {
  pm::basic_interconnect<pm::interval> l;
  l.bandwidth = pm::bandwidth<pm::interval>::from_value(225e9);
  l.ranks = 8;
  pm::basic_collective<pm::interval> c;
  c.ranks = 8;
  c.message = pm::message_bytes<pm::interval>(pm::bytes<pm::interval>::from_value({2250, 225e3}));
  pm::basic_alpha_beta<pm::interval> cost;
  cost.alpha = pm::duration<pm::interval>::from_value(1e-6);
  const auto e = pm::collective_time(l, c, cost);
  for (const double size : {2250.0, 42857.0, 225e3}) {
    const auto at =
        pm::collective_time(pm::interconnect{.bandwidth = 225.0 * pm::GB_per_s, .ranks = 8},
                            {.ranks = 8, .message = pm::message_bytes<>(size * pm::byte)},
                            pm::alpha_beta{.alpha = 1.0 * pm::us});
    CHECK(e.time.value().contains(at.time.value()));
    CHECK(e.wire.quantity().value().contains(at.wire.quantity().value()));
    CHECK(e.algbw.quantity().value().contains(at.algbw.quantity().value()));
  }
}

TEST_CASE("a range that lies on one side of the switch has that side's bytes") {
  pm::basic_interconnect<pm::interval> l;
  l.bandwidth = pm::bandwidth<pm::interval>::from_value(225e9);
  l.ranks = 8;
  pm::basic_alpha_beta<pm::interval> cost;
  cost.alpha = pm::duration<pm::interval>::from_value(1e-6);
  pm::basic_collective<pm::interval> c;
  c.ranks = 8;
  c.message = pm::message_bytes<pm::interval>(pm::bytes<pm::interval>::from_value(2000.0));
  CHECK(pm::collective_time(l, c, cost).wire.quantity().value() == pm::interval(14e3));  // one-shot
  c.message = pm::message_bytes<pm::interval>(pm::bytes<pm::interval>::from_value(200e3));
  CHECK(pm::collective_time(l, c, cost).wire.quantity().value() == pm::interval(350e3));
}

TEST_CASE("a collective is a spec: it changes its scalar with all its fields") {
  const auto c =
      pm::lift<pm::interval>(pm::collective{.operation = pm::collective_op::all_gather,
                                            .ranks = 4,
                                            .message = pm::message_bytes<>(3.0 * pm::MB),
                                            .implementation = pm::collective_implementation::nccl});
  CHECK(c.operation == pm::collective_op::all_gather);
  CHECK(c.ranks == 4);
  CHECK(c.implementation == pm::collective_implementation::nccl);
  CHECK(c.message.quantity().value() == pm::interval(3e6));
}

TEST_CASE("names of the enumerators") {
  CHECK(std::string(pm::name_of(pm::collective_op::reduce_scatter)) == "reduce_scatter");
  CHECK(std::string(pm::name_of(pm::collective_op::point_to_point)) == "point_to_point");
  CHECK(std::string(pm::name_of(pm::collective_algorithm::in_network)) == "in_network");
  CHECK(std::string(pm::name_of(pm::collective_algorithm::best)) == "best");
  CHECK(std::string(pm::name_of(pm::collective_implementation::custom)) == "custom");
  CHECK(std::string(pm::name_of(pm::launch_mode::graph)) == "graph");
  CHECK(std::string(pm::name_of(pm::launch_mode::stream)) == "stream");
}

TEST_CASE("a message too small for a rate is refused", "[collectives]") {
  pm::collective c{.ranks = 4, .message = pm::message_bytes<>(1e-300 * pm::byte)};
  CHECK_THROWS_WITH(
      pm::collective_time(pm::catalog::h100_sxm.fabric, c),
      Catch::Matchers::ContainsSubstring("message is 1e-300; allowed: 0, or from 1e-12 B on"));
  // The smallest one: its rate times its time is the message.
  c.message = pm::message_bytes<>(1e-12 * pm::byte);
  const auto e = pm::collective_time(pm::catalog::h100_sxm.fabric, c);
  CHECK(std::abs(e.algbw.quantity() * e.time / (1e-12 * pm::byte) - 1.0) < 1e-12);
  c.message = pm::message_bytes<>(0.0 * pm::byte);
  CHECK(pm::collective_time(pm::catalog::h100_sxm.fabric, c).time == 0.0 * pm::second);
}

}  // namespace unit_collectives
