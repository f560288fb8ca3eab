// Calibrated collectives over every scalar, and what holds of them at any size.
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/collectives.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/parallel/hierarchy.hpp>

#include "support/scalars.hpp"

namespace property_scalars_calibrated_collectives {

namespace pm = perfmodel;
using pm::collective_implementation;
using pm::collective_op;
using pm::launch_mode;

namespace {

struct setting {
  const pm::accelerator* device;
  collective_op operation;
  int ranks;
  collective_implementation kernels;
  launch_mode launch;
};

template <class F>
void for_each_setting(F&& f) {
  for (const pm::accelerator* a :
       {&pm::catalog::a100_sxm_80gb, &pm::catalog::h100_sxm, &pm::catalog::b200_sxm,
        &pm::catalog::gb200, &pm::catalog::l40s, &pm::catalog::rtx_pro_6000}) {
    for (const collective_op op :
         {collective_op::all_reduce, collective_op::all_gather, collective_op::reduce_scatter,
          collective_op::all_to_all, collective_op::broadcast, collective_op::point_to_point}) {
      for (const int ranks : {2, 3, 4, 8}) {
        for (const collective_implementation i :
             {collective_implementation::any, collective_implementation::nccl,
              collective_implementation::custom}) {
          if (i == collective_implementation::custom && op == collective_op::point_to_point)
            continue;
          for (const launch_mode l : {launch_mode::graph, launch_mode::stream})
            f(setting{a, op, ranks, i, l});
        }
      }
    }
  }
}

pm::collective_estimate at(const setting& s, double bytes) {
  const auto cost =
      pm::calibrated_collectives_on(*s.device, pm::catalog::collective_profile_of(*s.device));
  return pm::collective_time(s.device->fabric,
                             pm::collective{.operation = s.operation,
                                            .ranks = s.ranks,
                                            .message = pm::message_bytes<>(bytes * pm::byte),
                                            .implementation = s.kernels,
                                            .launch = s.launch},
                             cost);
}

}  // namespace

TEST_CASE("a calibrated collective over every scalar", "[scalars][calibrated]") {
  for (const double bytes : {3e3, 3e5, 3e7}) {
    for (const collective_implementation i :
         {collective_implementation::nccl, collective_implementation::custom}) {
      for (const launch_mode l : {launch_mode::graph, launch_mode::stream}) {
        perfmodel_test::check_scalars(
            [&]<class T>(const std::array<T, 4>& x) {
              auto cost = pm::lift<T>(pm::calibrated_collectives_on(
                  pm::catalog::h200_sxm, pm::catalog::collectives_h200_sxm));
              cost.profile.value.launch = x[1] * pm::us;
              cost.profile.value.hop = x[2] * pm::us;
              cost.profile.value.link_share = x[3];
              pm::basic_collective<T> c;
              c.ranks = 4;
              c.message = pm::message_bytes<T>(pm::bytes<T>::from_value(x[0]));
              c.implementation = i;
              c.launch = l;
              return pm::collective_time(pm::lift<T>(pm::catalog::h200_sxm.fabric), c, cost)
                  .time.value();
            },
            bytes, 4.5, 0.85, 0.78);
      }
    }
  }
}

TEST_CASE("over two fabrics and every scalar", "[scalars][calibrated]") {
  perfmodel_test::check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        pm::basic_hierarchy<T> h;
        h.inside = pm::lift<T>(pm::catalog::h100_sxm.fabric);
        h.between.kind = pm::link_kind::infiniband;
        h.between.bandwidth = pm::bandwidth<T>::from_value(x[1]);
        h.between.ranks = 16;
        h.ranks_inside = 8;
        pm::basic_collective<T> c;
        c.ranks = 32;
        c.message = pm::message_bytes<T>(pm::bytes<T>::from_value(x[0]));
        return pm::hierarchical_time(h, c).time.value();
      },
      1e9, 50e9);
}

TEST_CASE("never below the wire, monotone in bytes, parts add up", "[calibrated]") {
  for_each_setting([](const setting& s) {
    INFO(s.device->name.c_str() << ' ' << name_of(s.operation) << ", " << s.ranks << " ranks, "
                                << name_of(s.kernels) << ", " << name_of(s.launch));
    double before = 0.0;
    bool wire = true, monotone = true, sums = true;
    for (double bytes = 1.0; bytes < 2e9; bytes *= 1.37) {
      const auto e = at(s, bytes);
      const double t = e.time.value();
      wire = wire && t >= e.wire.quantity().value() / s.device->fabric.bandwidth.value();
      monotone = monotone && t >= before;
      sums = sums && perfmodel_test::close(e.terms.sum().value(), t, 1e-9);
      before = t;
    }
    CHECK(wire);
    CHECK(monotone);
    CHECK(sums);
    CHECK(at(s, 0.0).time.value() == 0.0);
  });
}

TEST_CASE("reduce-scatter and all-gather send what a ring all-reduce sends", "[calibrated]") {
  const setting s{&pm::catalog::h100_sxm, collective_op::all_reduce, 4,
                  collective_implementation::nccl, launch_mode::stream};
  for (double bytes = 1e3; bytes < 1e9; bytes *= 3.0) {
    auto half = s, other = s;
    half.operation = collective_op::reduce_scatter;
    other.operation = collective_op::all_gather;
    CHECK(perfmodel_test::close((at(half, bytes).wire + at(other, bytes).wire).quantity().value(),
                                at(s, bytes).wire.quantity().value(), 1e-12));
    // Two launches cost more than one.
    CHECK(at(half, bytes).time + at(other, bytes).time > at(s, bytes).time);
  }
}

}  // namespace property_scalars_calibrated_collectives
