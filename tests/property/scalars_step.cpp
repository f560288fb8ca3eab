// Steps of mixed, steady, expert-parallel and pipelined passes over every scalar.
#include <perfmodel/hardware/catalog/nvidia_blackwell.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step.hpp>
#include <support/scalars.hpp>

namespace property_scalars_step {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::check_scalars;

namespace {

template <class T>
pm::basic_deployment<T> on_b200(const pm::transformer& m, const pm::parallel_layout& l,
                                const T& memory, const T& link) {
  auto d = pm::lift<T>(pm::deployment{
      .device = cat::gb200, .model = m, .layout = l, .weights = pm::fp8, .activations = pm::fp8});
  d.device.dram.bandwidth = pm::bandwidth<T>::from_value(memory);
  d.device.fabric.bandwidth = pm::bandwidth<T>::from_value(link);
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

TEST_CASE("scalars: a decode step") {
  for (const auto* m : {&cat::llama_3_70b, &cat::mixtral_8x7b, &cat::gemma_3_27b}) {
    check_scalars(
        [m](const auto& x) {
          using T = std::remove_cvref_t<decltype(x[0])>;
          return pm::step_bound(on_h100<T>(*m, x[0], x[1]),
                                pm::basic_iteration<T>{.batch = x[2], .context = x[3]})
              .time.value();
        },
        3.35e12, 989.4e12, 32.0, 4096.0);
  }
}

TEST_CASE("scalars: a prefill and a mixed step") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        return pm::step_bound(
                   on_h100<T>(cat::llama_3_70b, x[0], x[1]),
                   pm::basic_iteration<T>{.batch = x[2], .context = x[3], .prefill_tokens = x[4]})
            .time.value();
      },
      3.35e12, 989.4e12, 32.0, 4096.0, 2048.0);
}

TEST_CASE("step: expert- and data-parallel decoding agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 4>& x) {
        return pm::step_bound(
                   on_b200<T>(cat::deepseek_v3, {.tensor = 2, .expert = 8, .data = 4}, x[0], x[1]),
                   pm::basic_iteration<T>{.batch = x[2], .context = x[3]})
            .time.value();
      },
      8e12, 900e9, 256.0, 4000.0);
}

TEST_CASE("step: a pipelined mixed step agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 6>& x) {
        return pm::step_bound(
                   on_b200<T>(cat::gpt_oss_120b, {.tensor = 2, .pipeline = 2}, x[0], x[1]),
                   pm::basic_iteration<T>{.batch = x[2],
                                          .context = x[3],
                                          .prefill_tokens = x[4],
                                          .prefill_past = x[5]})
            .time.value();
      },
      8e12, 900e9, 64.0, 4000.0, 1500.0, 700.0);
}

TEST_CASE("step: a steady step agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 6>& x) {
        return pm::step_bound(on_b200<T>(cat::mixtral_8x7b, {.tensor = 2, .expert = 2}, x[0], x[1]),
                              pm::basic_iteration<T>{.batch = x[2],
                                                     .context = x[3],
                                                     .prefill_tokens = x[4],
                                                     .prefill_sequences = x[5],
                                                     .steady = true})
            .time.value();
      },
      8e12, 900e9, 64.0, 4000.0, 90.0, 0.06);
}

TEST_CASE("step: an efficient policy agrees over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 5>& x) {
        const pm::basic_derated<T> policy{x[0], x[1], pm::duration<T>::from_value(x[2])};
        return pm::step(on_b200<T>(cat::llama_3_70b, {.tensor = 4}, T(8e12), T(900e9)),
                        pm::basic_iteration<T>{.batch = x[3], .context = x[4]}, policy)
            .time.value();
      },
      0.7, 0.8, 2e-6, 48.0, 3000.0);
}

}  // namespace property_scalars_step
