// Services over every scalar.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving.hpp>
#include <support/scalars.hpp>

namespace property_scalars_serving {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::check_scalars;

namespace {

template <class T>
pm::basic_deployment<T> on_h200(const pm::transformer& m, const pm::parallel_layout& l,
                                const T& memory) {
  auto d = pm::lift<T>(pm::deployment{.device = cat::h200_sxm, .model = m, .layout = l});
  d.device.dram.bandwidth = pm::bandwidth<T>::from_value(memory);
  return d;
}
template <class T>
pm::basic_deployment<T> on_h100(const pm::transformer& m, const T& memory, const T& peak) {
  auto d =
      pm::lift<T>(pm::deployment{.device = cat::h100_sxm, .model = m, .layout = {.tensor = 8}});
  d.device.dram.bandwidth = pm::bandwidth<T>::from_value(memory);
  d.device.matrix.peak.bf16 = pm::flop_rate<T>::from_value(peak);
  return d;
}

}  // namespace

TEST_CASE("scalars: serving, closed and open") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        return pm::serving_bound(
                   on_h100<T>(cat::llama_3_70b, x[0], x[1]),
                   pm::basic_service_load<T>{.input_tokens = x[2],
                                             .output_tokens = x[3],
                                             .arrivals = pm::basic_closed_loop<T>{x[4]}})
            .e2e.value();
      },
      3.35e12, 989.4e12, 2048.0, 512.0, 40.0);
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        return pm::serving_bound(on_h100<T>(cat::llama_3_70b, x[0], x[1]),
                                 pm::basic_service_load<T>{
                                     .input_tokens = x[2],
                                     .output_tokens = x[3],
                                     .arrivals = pm::basic_open_loop<T>{x[4] * pm::request_per_s}})
            .batch;
      },
      3.35e12, 989.4e12, 1024.0, 512.0, 5.0);
}

TEST_CASE("serving: latencies of a mixture of experts agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::serving_bound(
                   on_h200<T>(cat::mixtral_8x7b, {.tensor = 2, .expert = 2}, x[0]),
                   pm::basic_service_load<T>{.input_tokens = x[1],
                                             .output_tokens = x[2],
                                             .arrivals = pm::basic_closed_loop<T>{x[3]}})
            .itl.value();
      },
      4.8e12, 1000.0, 300.0, 24.0);
}

TEST_CASE("serving: a wait under a batch limit agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 5>& x) {
        return pm::serving_bound(
                   on_h200<T>(cat::llama_3_8b, {.pipeline = 2, .data = 2}, x[0]),
                   pm::basic_service_load<T>{.input_tokens = x[1],
                                             .output_tokens = x[2],
                                             .arrivals = pm::basic_closed_loop<T>{x[3]},
                                             .batch_limit = x[4]})
            .ttft.value();
      },
      4.8e12, 1000.0, 300.0, 40.0, 16.0);
}

TEST_CASE("serving: chunks agree over all scalars where their number does not change") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::serving_bound(
                   on_h200<T>(cat::llama_3_8b, {}, x[0]),
                   pm::basic_service_load<T>{.input_tokens = x[1],
                                             .output_tokens = x[2],
                                             .arrivals = pm::basic_closed_loop<T>{x[3]},
                                             .chunk_tokens = T(600.0)})
            .e2e.value();
      },
      4.8e12, 1500.0, 300.0, 8.0);
}

TEST_CASE("serving: an open loop's latencies agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::serving_bound(on_h200<T>(cat::llama_3_8b, {}, x[0]),
                                 pm::basic_service_load<T>{
                                     .input_tokens = x[1],
                                     .output_tokens = x[2],
                                     .arrivals = pm::basic_open_loop<T>{x[3] * pm::request_per_s}})
            .e2e.value();
      },
      4.8e12, 600.0, 400.0, 5.0);
}

TEST_CASE("serving: a range of concurrency from one encloses what it holds") {
  const auto of = []<class T>(const T& concurrency) {
    return pm::serving_bound(
        on_h200<T>(cat::mixtral_8x7b, {.tensor = 2}, T(4.8e12)),
        pm::basic_service_load<T>{.input_tokens = T(1000.0),
                                  .output_tokens = T(300.0),
                                  .arrivals = pm::basic_closed_loop<T>{concurrency}});
  };
  const auto range = of(pm::interval(1, 20));
  for (const double x : {1.0, 1.01, 1.5, 2.0, 3.0, 9.0, 20.0}) {
    const auto s = of(x);
    CHECK(range.itl.value().lo() <= s.itl.value() * (1 + 1e-12));
    CHECK(range.itl.value().hi() >= s.itl.value() * (1 - 1e-12));
    CHECK(range.e2e.value().lo() <= s.e2e.value() * (1 + 1e-12));
    CHECK(range.e2e.value().hi() >= s.e2e.value() * (1 - 1e-12));
  }
}

TEST_CASE("scalars: a pipeline that prefills first, over a range of requests") {
  // Neither throughput nor ITL of a range of loads may leave out what one of them has.
  const auto served = [](const auto& requests) {
    using T = std::remove_cvref_t<decltype(requests)>;
    auto d = pm::lift<T>(pm::deployment{
        .device = cat::h100_sxm, .model = cat::llama_3_1_8b, .layout = {.pipeline = 2}});
    const pm::basic_service_load<T> l{.input_tokens = T(2000.0),
                                      .output_tokens = T(100.0),
                                      .arrivals = pm::basic_closed_loop<T>{requests},
                                      .scheduler = pm::scheduling::prefill_first};
    const pm::basic_derated<T> policy{.compute_efficiency = T(0.7), .memory_efficiency = T(0.8)};
    return pm::serving(d, l, policy);
  };
  const auto all = served(pm::interval(1.0, 64.0));
  CHECK(lower(all.throughput.value()) > 0.0);
  CHECK(lower(all.itl.value()) > 0.0);
  for (const double n : {1.0, 2.0, 7.0, 31.0, 64.0}) {
    const auto one = served(n);
    CAPTURE(n);
    CHECK(lower(all.throughput.value()) <= one.throughput.value());
    CHECK(upper(all.throughput.value()) >= one.throughput.value());
    CHECK(lower(all.itl.value()) <= one.itl.value());
    CHECK(upper(all.itl.value()) >= one.itl.value());
  }
}

}  // namespace property_scalars_serving
