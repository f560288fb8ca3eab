// Collectives over every scalar.
#include <perfmodel/parallel/collectives.hpp>
#include <support/scalars.hpp>

namespace property_scalars_collectives {

namespace pm = perfmodel;
using perfmodel_test::check_scalars;

namespace {

template <class T>
auto estimate(pm::collective_op op, int ranks, bool adds, const T& size, const T& rate,
              const T& alpha, const T& share) {
  pm::basic_interconnect<T> l;
  l.kind = pm::link_kind::nvlink;
  l.bandwidth = pm::bandwidth<T>::from_value(rate);
  l.ranks = 8;
  l.in_network_reduction = adds;
  pm::basic_collective<T> c;
  c.operation = op;
  c.ranks = ranks;
  c.message = pm::message_bytes<T>(pm::bytes<T>::from_value(size));
  pm::basic_alpha_beta<T> cost;
  cost.alpha = pm::duration<T>::from_value(alpha);
  cost.bandwidth_share = share;
  return pm::collective_time(l, c, cost);
}

}  // namespace

TEST_CASE("the time of a collective agrees over all scalars") {
  for (const auto op :
       {pm::collective_op::all_reduce, pm::collective_op::all_gather, pm::collective_op::all_to_all,
        pm::collective_op::broadcast, pm::collective_op::point_to_point}) {
    for (const bool adds : {false, true}) {
      const auto time = [=]<class T>(const std::array<T, 4>& x) {
        return estimate<T>(op, 8, adds, x[0], x[1], x[2], x[3]).time.value();
      };
      check_scalars(time, 1e9, 450e9, 1e-6, 0.8);
      check_scalars(time, 1e3, 450e9, 1e-6, 0.8);
    }
  }
}

TEST_CASE("the rates and bytes of a collective agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return estimate<T>(pm::collective_op::all_reduce, 8, false, x[0], x[1], x[2], x[3])
            .busbw.quantity()
            .value();
      },
      1e9, 450e9, 1e-6, 0.8);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return estimate<T>(pm::collective_op::all_reduce, 8, false, x[0], x[1], T(1e-6), T(0.5))
            .wire.quantity()
            .value();
      },
      1e9, 450e9);
}

TEST_CASE("the bound of no bytes is zero over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return estimate<T>(pm::collective_op::all_reduce, 8, true, x[0], x[1], T(0.0), T(1.0))
            .time.value();
      },
      0.0, 450e9);
}

}  // namespace property_scalars_collectives
