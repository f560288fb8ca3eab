// Capacity and what fits over every scalar.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/step/memory.hpp>
#include <support/layers.hpp>
#include <support/scalars.hpp>

namespace property_scalars_kv_cache {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::check_scalars;

TEST_CASE("scalars: kv_capacity without the floors") {
  check_scalars(
      [](const auto& x) {
        using T = std::remove_cvref_t<decltype(x[0])>;
        return pm::kv_bytes_available(pm::basic_memory_budget<T>{pm::bytes<T>::from_value(x[0]),
                                                                 x[1],
                                                                 pm::bytes<T>::from_value(x[2]),
                                                                 pm::bytes<T>::from_value(x[3]),
                                                                 {}})
            .value();
      },
      80e9, 0.9, 17.5e9, 2e9);
  check_scalars([](const auto& x) { return pm::contiguous_waste(x[0], x[1]); }, 500.0, 4096.0);
  check_scalars([](const auto& x) { return pm::waste_free_gain(pm::paged_waste(x[0], x[1])); },
                500.0, 16.0);
}

TEST_CASE("kv_cache: prefix sharing, crossover and the paging tax agree over all scalars") {
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::shared_prefix_saving(x[0], x[1]).value();
      },
      64.0, 2000.0);
  check_scalars(
      []<class T>(const std::array<T, 2>& x) {
        return pm::weight_cache_crossover(pm::bytes<T>::from_value(x[0]),
                                          pm::bytes_per_token<T>::from_value(x[1]))
            .value();
      },
      140e9, 327680.0);
  check_scalars(
      []<class T>(const std::array<T, 5>& x) {
        return pm::paging_tax(pm::duration<T>::from_value(x[0]), pm::duration<T>::from_value(x[1]),
                              x[2], pm::bytes_per_token<T>::from_value(x[3]),
                              pm::bandwidth<T>::from_value(x[4]));
      },
      600e-9, 500e-9, 16.0, 4096.0, 30e9);
}

TEST_CASE("deployment: weights and cache of a device agree over all scalars") {
  for (const auto* m : {&cat::llama_3_70b, &cat::deepseek_v3, &cat::gemma_3_27b}) {
    const auto with = [m]<class T>(const T& layers, const T& hidden) {
      auto d = pm::lift<T>(
          pm::deployment{.device = cat::h100_sxm, .model = *m, .layout = {.tensor = 16}});
      perfmodel_test::scale_layers(d.model, T(layers / m->layers.count));
      d.model.hidden = hidden;
      return d;
    };
    check_scalars(
        [&]<class T>(const std::array<T, 2>& x) {
          return weight_bytes_per_device(with(x[0], x[1])).value();
        },
        m->layers.count * 1.5, m->hidden);
    check_scalars(
        [&]<class T>(const std::array<T, 2>& x) {
          return kv_bytes_per_token_and_device(with(x[0], x[1])).value();
        },
        m->layers.count * 1.5, m->hidden);
  }
}

TEST_CASE("kv_cache: sequences, which round down, agree at a point") {
  const auto sequences = []<class T>(const T& capacity, const T& context) {
    return pm::kv_capacity(pm::basic_memory_budget<T>{pm::bytes<T>::from_value(capacity),
                                                      T(0.9),
                                                      pm::bytes<T>::from_value(T(20e9)),
                                                      {},
                                                      {}},
                           pm::bytes_per_token<T>::from_value(T(131072.0)), context)
        .sequences;
  };
  const std::array<double, 4> capacity{80e9, 85e9, 141e9, 22.5e9}, context{100, 4096, 8192, 100000};
  for (std::size_t i = 0; i < 4; ++i) {
    const double one = sequences(capacity[i], context[i]);
    CHECK(sequences(pm::dual<1>(capacity[i]), pm::dual<1>(context[i])).value() == one);
    const auto range = sequences(pm::interval::around(capacity[i], 0.01), pm::interval(context[i]));
    CHECK(range.contains(one));
    CHECK(range.lo() <= sequences(capacity[i] * 0.991, context[i]));
    CHECK(range.hi() >= sequences(capacity[i] * 1.009, context[i]));
  }
}

}  // namespace property_scalars_kv_cache
