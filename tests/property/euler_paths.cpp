// Euler's theorem, and partials against central differences, for the laws of data paths, schedules
// and cycles. Laws of whole numbers only have no slope: sectors, bank conflicts, shuffles, tensor
// memory, TMA transfers.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/schedules.hpp>
#include <perfmodel/laws/warp.hpp>
#include <support/euler.hpp>
#include <support/short_quantities.hpp>

namespace property_euler_paths {

namespace pm = perfmodel;
using perfmodel_test::b;
using perfmodel_test::bps;
using perfmodel_test::check_law;
using perfmodel_test::in2;
using perfmodel_test::in3;
using perfmodel_test::in4;
using perfmodel_test::s;

namespace {
template <class T>
pm::frequency<T> hz(const T& x) {
  return pm::frequency<T>::from_value(x);
}
template <class T, std::size_t N>
std::array<pm::duration<T>, N> all_s(const std::array<T, N>& x) {
  std::array<pm::duration<T>, N> y{};
  for (std::size_t i = 0; i < N; ++i) y[i] = s(x[i]);
  return y;
}
}  // namespace

TEST_CASE("elasticities of tiles and registers have the sum that Euler's theorem says") {
  check_law<6>("traffic of tiles: twice of all sizes", {4100, 4097, 4098, 128, 96, 2},
               {1, 1, 1, 1, 1, 0}, 2, []<class T>(const std::array<T, 6>& x) {
                 return pm::tile_traffic(x[0], x[1], x[2], x[3], x[4], b(x[5])).value();
               });
  check_law<3>("intensity of tiles", {128, 96, 2}, {1, 1, 0}, 1, []<class T>(const in3<T>& x) {
    return pm::tile_intensity(x[0], x[1], b(x[2])).value();
  });
  check_law<4>(
      "spilled bytes", {300, 255, 1e6, 1.5}, {1, 1, 0, 0}, 1,
      []<class T>(const in4<T>& x) { return pm::spilled_bytes(x[0], x[1], x[2], x[3]).value(); });
  check_law<3>(
      "registers of accumulators", {64, 256, 128}, {1, 0, 1}, 0,
      []<class T>(const in3<T>& x) { return pm::accumulator_registers(x[0], x[1], x[2]); });
  check_law<3>("time of issue", {4, 8, 1.6e9}, {1, 0, 1}, 0, []<class T>(const in3<T>& x) {
    return pm::issue_time(x[0], x[1], hz(x[2])).value();
  });
  check_law<1>("loads", {1e6}, {1}, 1, []<class T>(const std::array<T, 1>& x) {
    return pm::load_instructions(b(x[0]), 8);
  });
  check_law<1>("a selection", {128256}, {1}, 1, []<class T>(const std::array<T, 1>& x) {
    return pm::selection_traffic(x[0], b(T(4.0)), 11).value();
  });
  check_law<2>("time of cycles", {1e6, 1.7e9}, {1, 1}, 0,
               []<class T>(const in2<T>& x) { return pm::time_of_cycles(x[0], hz(x[1])).value(); });
  check_law<2>("padding, of what is used", {100.0, 128.0}, {1, 1}, 0,
               []<class T>(const in2<T>& x) { return T(1.0 - pm::padding_waste(x[0], x[1])); });
  check_law<1>("exponentials", {1e9}, {1}, 1, []<class T>(const std::array<T, 1>& x) {
    return pm::special_function_time(pm::lift<T>(pm::accelerator(pm::catalog::h100_sxm)), x[0])
        .value();
  });
}

TEST_CASE("elasticities of cache hits and speculation have the sum that Euler's theorem says") {
  check_law<3>("hits of a window", {40e6, 20e6, 0.6}, {1, 1, 0}, 0, []<class T>(const in3<T>& x) {
    return pm::persistent_hits(b(x[0]), b(x[1]), x[2]);
  });
  check_law<4>("time with hits", {2e9, 0.4, 5e12, 2.5e12}, {1, 0, 1, 1}, 0,
               []<class T>(const in4<T>& x) {
                 return pm::time_with_hits(b(x[0]), x[1], bps(x[2]), bps(x[3])).value();
               });
  check_law<3>("a pinned copy: twice the bytes and the latency", {1e6, 63e9, 5e-6}, {1, 0, 1}, 1,
               []<class T>(const in3<T>& x) {
                 return pm::host_copy_time(b(x[0]), bps(x[1]), s(x[2])).value();
               });
  check_law<4>("a pageable copy: twice the rates, half the latency", {1e6, 63e9, 10e9, 5e-6},
               {0, 1, 1, -1}, -1, []<class T>(const in4<T>& x) {
                 return pm::pageable_copy_time(b(x[0]), bps(x[1]), bps(x[2]), s(x[3])).value();
               });
  check_law<4>("a cache of two widths", {5000, 1000, 1024, 512}, {1, 1, 0, 0}, 1,
               []<class T>(const in4<T>& x) {
                 return pm::mixed_cache_bytes(x[0], x[1], b(x[2]), b(x[3])).value();
               });
  check_law<2>("bytes of weights", {70e9, 8.0}, {1, 1}, 0, []<class T>(const in2<T>& x) {
    return pm::weight_bytes(x[0], pm::bf16, x[1]).value();
  });
}

TEST_CASE("elasticities of schedules have the sum that Euler's theorem says") {
  const std::array<double, 4> lists{2e-3, 3e-3, 1e-3, 5e-6}, times{1, 1, 1, 1};
  check_law<4>("a persistent kernel", lists, times, 1, []<class T>(const in4<T>& x) {
    const auto all = all_s(in3<T>{x[0], x[1], x[2]});
    return pm::persistent_time(std::span<const pm::duration<T>>(all), s(x[3])).value();
  });
  check_law<4>("imbalance", lists, times, 0, []<class T>(const in4<T>& x) {
    const auto all = all_s(x);
    return pm::work_imbalance(std::span<const pm::duration<T>>(all));
  });
  check_law<4>("paths of a warp", lists, times, 1, []<class T>(const in4<T>& x) {
    const auto all = all_s(x);
    return pm::divergent_time(std::span<const pm::duration<T>>(all)).value();
  });
  check_law<4>(
      "streams side by side", {2e-3, 0.9, 3e-3, 0.8}, {1, 0, 1, 0}, 1,
      []<class T>(const in4<T>& x) {
        const std::array<pm::basic_stream_chain<T>, 2> two{
            {{.solo_time = s(x[0]), .filled = x[1]}, {.solo_time = s(x[2]), .filled = x[3]}}};
        return pm::side_by_side(std::span<const pm::basic_stream_chain<T>>(two)).value();
      });
  check_law<2>(
      "the gap of a dependent launch", {5e-6, 2e-6}, {1, 1}, 1,
      []<class T>(const in2<T>& x) { return pm::dependent_gap(s(x[0]), s(x[1])).value(); });
  check_law<2>("GPU-Util", {0.7, 1.0}, {1, 1}, 0,
               []<class T>(const in2<T>& x) { return pm::resident_share(s(x[0]), s(x[1])); });
  check_law<2>("without the profiler", {2e-3, 0.3}, {1, 0}, 1, []<class T>(const in2<T>& x) {
    return pm::without_profiler(s(x[0]), x[1]).value();
  });
  check_law<3>("live memory", {1e6, 2e6, 3e6}, {1, 1, 1}, 1, []<class T>(const in3<T>& x) {
    const std::array<pm::basic_live_tensor<T>, 3> all{
        {{b(x[0]), 0, 1}, {b(x[1]), 1, 2}, {b(x[2]), 2, 3}}};
    return pm::peak_live_bytes(std::span<const pm::basic_live_tensor<T>>(all)).value();
  });
}

}  // namespace property_euler_paths
