// Euler's theorem, and partials against central differences, for the gain of a technique (a
// quotient of times: all times or rates scaled alike change nothing) and for element-wise kernels
// in addition to GEMMs.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/elementwise.hpp>
#include <perfmodel/tools/advise/formats.hpp>
#include <perfmodel/tools/advise/kernel_laws.hpp>
#include <perfmodel/tools/advise/parallelism.hpp>
#include <support/euler.hpp>
#include <support/short_quantities.hpp>

namespace property_euler_gains {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::b;
using perfmodel_test::bps;
using perfmodel_test::check_law;
using perfmodel_test::fps;
using perfmodel_test::in2;
using perfmodel_test::in3;
using perfmodel_test::in4;
using perfmodel_test::in5;
using perfmodel_test::s;

namespace {

template <class T>
pm::basic_launch_costs<T> costs(const T& cpu, const T& node, const T& synchronise) {
  return {.cpu = s(cpu),
          .gap = {},
          .replay = s(T(cpu * 2.0)),
          .node = s(node),
          .synchronise = s(synchronise)};
}

}  // namespace

TEST_CASE("Euler: gains between kernels are quotients of times") {
  check_law<5>("graph_gain", {7.5e-6, 1e-6, 1e-5, 1e-2, 0.5}, {1, 1, 1, 1, 1}, 0,
               []<class T>(const in5<T>& x) {
                 return pm::graph_gain(costs<T>(x[0], x[1], x[2]), T(2100.0), s(x[3]), s(x[4]),
                                       T(40.0));
               });
  check_law<4>("unsynchronised_gain", {7.5e-6, 1e-6, 1e-5, 2e-3}, {1, 1, 1, 1}, 0,
               []<class T>(const in4<T>& x) {
                 return pm::unsynchronised_gain(costs<T>(x[0], x[1], x[2]), T(50.0), s(x[3]));
               });
  check_law<2>("persistent_kernel_gain", {1e-4, 2e-6}, {1, 1}, 0, []<class T>(const in2<T>& x) {
    return pm::persistent_kernel_gain(s(x[0]), T(10.0), s(x[1]), T(1.3));
  });
  check_law<2>("streams_gain", {1e-4, 2e-6}, {1, 1}, 0, []<class T>(const in2<T>& x) {
    return pm::streams_gain(T(4.0), s(x[0]), T(0.4), s(x[1]));
  });
  check_law<2>("overlap_gain", {4e-4, 6e-4}, {1, 1}, 0, []<class T>(const in2<T>& x) {
    return pm::overlap_gain(s(x[0]), s(x[1]), T(132.0), T(8.0), T(0.7));
  });
  // Work and buffers against rates: bytes and rates scale alike.
  check_law<5>("pinned_copy_gain", {3e-2, 1e9, 5e10, 1e10, 1e-3}, {1, 1, 0, 0, 1}, 0,
               []<class T>(const in5<T>& x) {
                 return pm::pinned_copy_gain(s(x[0]), b(x[1]), bps(x[2]), bps(x[3]), s(x[4]));
               });
  check_law<5>("pinned_copy_gain, bytes", {3e-2, 1e9, 5e10, 1e10, 1e-3}, {0, 1, 1, 1, 0}, 0,
               []<class T>(const in5<T>& x) {
                 return pm::pinned_copy_gain(s(x[0]), b(x[1]), bps(x[2]), bps(x[3]), s(x[4]));
               });
}

TEST_CASE("Euler: gains inside kernels are quotients of times, bytes, cycles or rates") {
  check_law<4>("fusion_gain", {1e8, 4e7, 2.7e7, 3e6}, {1, 1, 1, 1}, 0,
               []<class T>(const in4<T>& x) {
                 pm::basic_fusion_saving<T> saved;
                 saved.dram.read = b(T(x[1] + x[2]));
                 return pm::fusion_gain(b(x[0]), saved, b(x[3]));
               });
  check_law<2>("async_copy_gain", {6e-7, 2.5e-7}, {1, 1}, 0, []<class T>(const in2<T>& x) {
    return pm::async_copy_gain(s(x[0]), s(x[1]), T(3.0));
  });
  check_law<2>("double_buffering_gain", {6e-7, 2.5e-7}, {1, 1}, 0, []<class T>(const in2<T>& x) {
    return pm::double_buffering_gain(s(x[0]), s(x[1]), T(12.0), T(0.8));
  });
  check_law<2>("shuffle_gain", {80.0, 6.0}, {1, 1}, 0,
               []<class T>(const in2<T>& x) { return pm::shuffle_gain(1024, x[0], x[1]); });
  check_law<3>(
      "matrix_instruction_gain", {1e15, 3.3e13, 2.0}, {1, 1, 0}, 0, []<class T>(const in3<T>& x) {
        return pm::matrix_instruction_gain(fps(x[0]), bps(x[1]), b(x[2]), T(16.0), T(128.0));
      });
  check_law<3>("structured_sparsity_gain", {4e-3, 1e-3, 2e-3}, {1, 1, 1}, 0,
               []<class T>(const in3<T>& x) {
                 return pm::structured_sparsity_gain(s(x[0]), s(x[1]), s(x[2]));
               });
}

TEST_CASE("Euler: a small kernel scales with its floors and rates, and with what it moves") {
  // The sampler: its floor, and passes over logits, so few that all of them stayed in L2.
  const auto sampler = []<class T>(const in3<T>& x) {
    auto m = pm::lift<T>(pm::machine_parameters{});
    m.l2_bandwidth = bps(x[1]);
    pm::basic_elementwise_kernels<T> kernels;
    kernels.sampler_floor = s(x[0]);
    kernels.sampler_passes = T(3.0);
    return pm::elementwise_kernel_time(pm::lift<T>(pm::accelerator(cat::h100_sxm)),
                                       pm::elementwise_kernel::sampler,
                                       pm::basic_elementwise<T>{.elements = x[2]}, m, kernels)
        .value();
  };
  check_law<3>("sampler, rates", {2e-5, 5e12, 3e4}, {1, -1, 0}, 1, sampler);
  check_law<3>("sampler, bytes", {2e-5, 5e12, 3e4}, {1, 0, 1}, 1, sampler);
}

}  // namespace property_euler_gains
