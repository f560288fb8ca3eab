// Collectives, worked by hand.
#include <perfmodel/parallel/collectives.hpp>

namespace static_collectives {

namespace pm = perfmodel;

namespace {

constexpr bool near_to(double a, double b, double relative) {
  const double d = a < b ? b - a : a - b;
  return d <= relative * (b < 0 ? -b : b);
}

constexpr pm::interconnect ring_only{
    .kind = pm::link_kind::nvlink, .bandwidth = 450.0 * pm::GB_per_s, .ranks = 8};
constexpr pm::interconnect switched{.kind = pm::link_kind::nvlink,
                                    .bandwidth = 450.0 * pm::GB_per_s,
                                    .ranks = 8,
                                    .in_network_reduction = true};

constexpr pm::collective all_reduce(double size, int ranks) {
  return {.ranks = ranks, .message = pm::message_bytes<>(size * pm::byte)};
}

// 2(N-1)/N, (N-1)/N, 1
static_assert(pm::bus_factor(pm::collective_op::all_reduce, 8) == 1.75);
static_assert(pm::bus_factor(pm::collective_op::all_gather, 8) == 0.875);
static_assert(pm::bus_factor(pm::collective_op::reduce_scatter, 4) == 0.75);
static_assert(pm::bus_factor(pm::collective_op::all_to_all, 2) == 0.5);
static_assert(pm::bus_factor(pm::collective_op::broadcast, 8) == 1.0);
static_assert(pm::bus_factor(pm::collective_op::point_to_point, 8) == 1.0);
static_assert(pm::bus_factor(pm::collective_op::all_reduce, 1) == 0.0);
static_assert(pm::bus_factor(pm::collective_op::broadcast, 1) == 0.0);

// 200 GB/s algbw is 350 GB/s busbw, and back
constexpr pm::algorithm_bandwidth<> algbw(200.0 * pm::GB_per_s);
constexpr auto busbw = pm::to_bus_bandwidth(pm::collective_op::all_reduce, 8, algbw);
static_assert(busbw.quantity() == 350.0 * pm::GB_per_s);
static_assert(pm::to_algorithm_bandwidth(pm::collective_op::all_reduce, 8, busbw) == algbw);

// 16,384 bytes over 8 ranks: each sends 28,672, 63.7156 ns at 450 GB/s
constexpr auto small_message = pm::collective_time(ring_only, all_reduce(16384, 8));
static_assert(small_message.wire.quantity() == 28672.0 * pm::byte);
static_assert(near_to(small_message.time.value(), 63.7156e-9, 1e-5));
static_assert(small_message.limiter == pm::limiter::link);
static_assert(small_message.feasible);

// 32 x 2048 x 8192 bf16: message 1.074 GB, wire 1.879 GB
constexpr auto prefill = pm::collective_time(ring_only, all_reduce(32.0 * 2048 * 8192 * 2, 8));
static_assert(prefill.wire.quantity() == 1879048192.0 * pm::byte);
static_assert(near_to(prefill.busbw.quantity().value(), 450e9, 1e-12));
static_assert(near_to(prefill.algbw.quantity().value(), 450e9 / 1.75, 1e-12));

// Switches that add: S / beta, 1.75 times less.
constexpr auto in_network = pm::collective_time(switched, all_reduce(1e9, 8));
static_assert(in_network.algorithm == pm::collective_algorithm::in_network);
static_assert(in_network.wire.quantity() == 1e9 * pm::byte);
static_assert(near_to(in_network.time.value(), 1e9 / 450e9, 1e-12));

// One rank and no bytes cost exactly nothing.
constexpr auto alone = pm::collective_time(pm::interconnect{}, all_reduce(1e9, 1));
static_assert(alone.time == pm::duration<>{} && alone.wire == pm::wire_bytes<>{} && alone.feasible);
static_assert(alone.algbw == pm::algorithm_bandwidth<>{});
constexpr pm::alpha_beta slow{.alpha = 10.0 * pm::us, .bandwidth_share = 0.5};
constexpr auto nothing = pm::collective_time(switched, all_reduce(0, 8), slow);
static_assert(nothing.time == pm::duration<>{} && nothing.algbw == pm::algorithm_bandwidth<>{});
static_assert(pm::collective_time(switched, all_reduce(1e9, 1), slow).time == pm::duration<>{});

// The table: steps and shares for N = 8
constexpr bool is(pm::collective_op c, pm::collective_algorithm a, double steps, double share) {
  const pm::schedule_cost x = pm::steps_and_share(c, a, 8);
  return x.steps == steps && x.share == share;
}
using pm::collective_algorithm;
using pm::collective_op;
static_assert(is(collective_op::all_reduce, collective_algorithm::ring, 14, 1.75));
static_assert(is(collective_op::all_reduce, collective_algorithm::tree, 6, 2));
static_assert(is(collective_op::all_reduce, collective_algorithm::one_shot, 1, 7));
static_assert(is(collective_op::all_reduce, collective_algorithm::two_shot, 2, 1.75));
static_assert(is(collective_op::all_reduce, collective_algorithm::in_network, 2, 1));
static_assert(is(collective_op::all_gather, collective_algorithm::ring, 7, 0.875));
static_assert(is(collective_op::all_gather, collective_algorithm::tree, 3, 0.875));
static_assert(is(collective_op::reduce_scatter, collective_algorithm::one_shot, 1, 0.875));
static_assert(is(collective_op::reduce_scatter, collective_algorithm::in_network, 2, 0.875));
static_assert(is(collective_op::all_to_all, collective_algorithm::ring, 7, 0.875));
static_assert(is(collective_op::all_to_all, collective_algorithm::tree, 3, 1.5));
static_assert(is(collective_op::all_to_all, collective_algorithm::one_shot, 1, 0.875));
static_assert(is(collective_op::broadcast, collective_algorithm::ring, 7, 1));
static_assert(is(collective_op::broadcast, collective_algorithm::tree, 3, 1));
// Two ranks send each other all of it once. Bruck over 6: 3 + 2 + 2 of 6 blocks.
static_assert(pm::steps_and_share(collective_op::all_reduce, collective_algorithm::tree, 2).share ==
              1.0);
static_assert(pm::steps_and_share(collective_op::all_to_all, collective_algorithm::tree, 6).share ==
              7.0 / 6);
static_assert(is(collective_op::broadcast, collective_algorithm::one_shot, 1, 7));
static_assert(is(collective_op::broadcast, collective_algorithm::two_shot, 2, 1.75));
static_assert(is(collective_op::broadcast, collective_algorithm::in_network, 2, 1));
static_assert(is(collective_op::point_to_point, collective_algorithm::one_shot, 1, 1));
// Ranks that are no power of two: ceil(log2 6) = 3
static_assert(pm::steps_and_share(collective_op::all_reduce, collective_algorithm::tree, 6).steps ==
              6);

// NCCL's tree is a chain inside a node, 14 hops of 1 us there and back, and a tree between nodes.
constexpr pm::basic_collective<> ncclt{.operation = collective_op::all_reduce,
                                       .ranks = 8,
                                       .message = pm::message_bytes<>(16384.0 * pm::byte),
                                       .algorithm = collective_algorithm::tree,
                                       .implementation = pm::collective_implementation::nccl};
constexpr pm::interconnect adapters{
    .kind = pm::link_kind::infiniband, .bandwidth = 450.0 * pm::GB_per_s, .ranks = 8};
constexpr pm::alpha_beta hop{.alpha = 1.0 * pm::us};
static_assert(near_to(pm::collective_time(ring_only, ncclt, hop).time.value(),
                      14e-6 + 2 * 16384 / 450e9, 1e-12));
static_assert(near_to(pm::collective_time(adapters, ncclt, hop).time.value(),
                      6e-6 + 2 * 16384 / 450e9, 1e-12));

// alpha-beta, 1 us a step and half of 450 GB/s, 225,000 bytes: one-shot 1 + 7 = 8 us, two-shot
// 2 + 1.75 = 3.75 us, ring 14 + 1.75, tree 6 + 2.
constexpr pm::alpha_beta half{.alpha = 1.0 * pm::us, .bandwidth_share = 0.5};
constexpr auto with_latency = pm::collective_time(ring_only, all_reduce(225e3, 8), half);
static_assert(with_latency.algorithm == collective_algorithm::two_shot);
static_assert(near_to(with_latency.time.value(), 3.75e-6, 1e-12));
static_assert(with_latency.limiter == pm::limiter::latency);
static_assert(near_to(with_latency.terms["latency"].value(), 2e-6, 1e-12));
// 2,250 bytes: one-shot 1 + 0.07 us
constexpr auto tiny = pm::collective_time(ring_only, all_reduce(2250, 8), half);
static_assert(tiny.algorithm == collective_algorithm::one_shot &&
              near_to(tiny.time.value(), 1.07e-6, 1e-12));

// The link's stated latency: 2 x 2 us
constexpr pm::interconnect with_stated{.kind = pm::link_kind::nvlink,
                                       .bandwidth = 100.0 * pm::GB_per_s,
                                       .latency = 2.0 * pm::us,
                                       .ranks = 8};
constexpr pm::collective two_shot{.ranks = 8,
                                  .message = pm::message_bytes<>(8e5 * pm::byte),
                                  .algorithm = collective_algorithm::two_shot};
static_assert(near_to(pm::collective_time(with_stated, two_shot, pm::stated_latency{}).time.value(),
                      4e-6 + 14e-6, 1e-12));
static_assert(near_to(pm::collective_time(with_stated, two_shot).time.value(), 14e-6, 1e-12));

// Implementations
static_assert(pm::implements(pm::collective_implementation::nccl, collective_op::all_reduce,
                             collective_algorithm::ring));
static_assert(!pm::implements(pm::collective_implementation::nccl, collective_op::all_reduce,
                              collective_algorithm::one_shot));
static_assert(pm::implements(pm::collective_implementation::nccl, collective_op::all_to_all,
                             collective_algorithm::one_shot));
static_assert(pm::implements(pm::collective_implementation::custom, collective_op::all_reduce,
                             collective_algorithm::two_shot));
static_assert(!pm::implements(pm::collective_implementation::two_shot, collective_op::all_gather,
                              collective_algorithm::two_shot));

}  // namespace

}  // namespace static_collectives
