// CPU time that an engine adds to a step, from the time per output token of its services.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/tools/fit/calibration.hpp>
#include <utility>

#include "published_services.hpp"

namespace published {

/// A service on a calibrated accelerator; runs of the same service by the same version are one row.
struct engine_row {
  std::string model{}, gpu{}, version{};
  pm::deployment deployment{};
  pm::service_load load{};
  double seconds = 0.0, first = 0.0;
  bool started_cold = false;
  double first_p50 = 0.0;  ///< 0: the table has none
  bool median = false;     ///< the row has the median TTFT, not the mean
  std::string precision{};
};

/// Those that keep(service, accelerator) says.
template <class Keep>
std::vector<engine_row> service_rows(const std::string& folder, const Keep& keep) {
  std::map<std::string, std::pair<engine_row, double>> rows;
  for (const service& s : services(folder)) {
    const published_model* m = model_of(s.model);
    const pm::accelerator* a = pm::catalog::find_accelerator(s.gpu);
    if (m == nullptr || a == nullptr || !keep(s, *a)) continue;
    const std::string model = m->called;
    const pm::deployment d = deployment_of(s, *m, *a);
    if (!layout_feasible(d.layout, sharded_dims_of(d.model))) continue;
    std::string key = model + s.gpu + s.version + s.precision;
    for (const double x :
         {s.load.input_tokens, s.load.output_tokens, s.load.concurrency(), 1.0 * d.layout.tensor,
          1.0 * d.layout.expert, 1.0 * d.layout.data, 1.0 * d.layout.pipeline}) {
      key += ' ' + std::to_string(std::lround(x));
    }
    auto& [row, runs] = rows[key];
    row = {model,
           a->name.c_str(),
           s.version,
           d,
           s.load,
           row.seconds + std::log(s.seconds),
           row.first + std::log(s.first),
           s.started_cold,
           row.first_p50 + (s.first_p50 > 0.0 ? std::log(s.first_p50) : 0.0),
           false,
           s.precision};
    runs += 1.0;
  }
  std::vector<engine_row> out;
  for (auto& [key, entry] : rows) {
    auto& [row, runs] = entry;
    row.seconds = std::exp(row.seconds / runs);
    row.first = std::exp(row.first / runs);
    if (row.first_p50 != 0.0) row.first_p50 = std::exp(row.first_p50 / runs);
    out.push_back(std::move(row));
  }
  return out;
}

inline bool on_nvidia(const pm::accelerator& a) {
  return pm::facts_of(a.architecture).kind == pm::machine_kind::gpu_nvidia;
}
/// Services that engines are fitted to: those on NVIDIA. Services on AMD are predicted without a
/// fit.
inline std::vector<engine_row> engine_rows(const std::string& folder, pm::engine by) {
  return service_rows(folder, [by](const service& s, const pm::accelerator& a) {
    return on_nvidia(a) && tells_of_engine(s, by);
  });
}

/// The numbers of an engine profile that services tell.
enum class engine_number {
  tensor_scale_share,
  quantise_share,
  step_cpu_time,
  sequence_cpu_time,
  rank_wait,
  expert_layer_time
};

constexpr pm::fitted_parameter fitted(engine_number n) {
  constexpr pm::fitted_parameter all[] = {
      {"tensor_scale_share", 0.5, 0.0, 2.0},       {"quantise_share", 0.5, 0.0, 2.0},
      {"step_cpu_time [us]", 300.0, 0.0, 10000.0}, {"sequence_cpu_time [us]", 10.0, 0.0, 100.0},
      {"rank_wait [us]", 3.0, 0.0, 30.0},          {"expert_layer_time [us]", 20.0, 0.0, 500.0}};
  return all[static_cast<std::size_t>(n)];
}

template <pm::Scalar T>
constexpr void set(pm::basic_engine_profile<T>& e, engine_number n, const T& value) {
  switch (n) {
    case engine_number::tensor_scale_share: e.tensor_scale_share = value; break;
    case engine_number::quantise_share: e.quantise_share = value; break;
    case engine_number::step_cpu_time: e.step_cpu_time = value * pm::us; break;
    case engine_number::sequence_cpu_time: e.sequence_cpu_time = value * pm::us; break;
    case engine_number::rank_wait: e.rank_wait = value * pm::us; break;
    case engine_number::expert_layer_time: e.expert_layer_time = value * pm::us; break;
  }
}

/// Those that are fitted of one engine; the others stay as its profile has them.
template <engine_number... Numbers>
struct engine_model {
  static constexpr std::size_t count = sizeof...(Numbers);
  static constexpr std::array<pm::fitted_parameter, count> parameters{fitted(Numbers)...};

  template <pm::Scalar T>
  static constexpr void put(pm::basic_engine_profile<T>& e, const std::array<T, count>& v) {
    constexpr std::array<engine_number, count> numbers{Numbers...};
    for (std::size_t i = 0; i < count; ++i) set(e, numbers[i], v[i]);
  }
  template <pm::Scalar T>
  static constexpr T answer(const pm::basic_serving_estimate<T>& s, bool /*median*/) {
    return s.itl.value();
  }
  static double measured(const engine_row& r) { return r.seconds; }
};
using enum engine_number;
using vllm_model = engine_model<step_cpu_time>;
using sglang_model = engine_model<expert_layer_time, sequence_cpu_time>;
using trtllm_model = engine_model<tensor_scale_share, quantise_share, rank_wait>;

/// Predictions of a model for rows, with given parameters.
template <class Model>
class engine_prediction {
 public:
  using point = pm::dual<Model::count>;

  explicit engine_prediction(const std::vector<engine_row>& rows,
                             const pm::elementwise_kernels& counted = {}) {
    for (const engine_row& r : rows) {
      auto calibration = pm::calibrated_for(r.deployment);
      if (counted.has_any()) calibration.elementwise_kernels = counted;
      rows_.push_back({pm::lift<point>(r.deployment), pm::lift<point>(r.load),
                       pm::lift<point>(calibration), r.median});
    }
  }
  point operator()(const std::array<point, Model::count>& v, std::size_t i) const {
    const lifted& r = rows_[i];
    auto calibration = r.calibration;
    Model::put(calibration.engine, v);
    return Model::answer(serving(r.deployment, r.load, calibration), r.median);
  }

 private:
  struct lifted {
    pm::basic_deployment<point> deployment;
    pm::basic_service_load<point> load;
    pm::basic_calibrated<point> calibration;
    bool median;
  };
  std::vector<lifted> rows_;
};

/// Engine overhead from TTFT: CPU time per request, admission delay in steps, overhead of a step
/// with prefills over its kernels; and the wait of the initial burst besides its prefills, which
/// the mean and the median separate.
template <std::size_t Numbers>
struct request_numbers {
  static constexpr std::size_t count = Numbers;
  static constexpr std::array<pm::fitted_parameter, count> parameters = [] {
    constexpr pm::fitted_parameter all[] = {{"request_cpu_time [ms]", 20.0, 0.0, 1000.0},
                                            {"request_iterations", 2.0, 0.0, 30.0},
                                            {"prefill_step_factor", 1.2, 0.5, 5.0},
                                            {"run_start [ms]", 300.0, 0.0, 10000.0}};
    std::array<pm::fitted_parameter, count> some{};
    for (std::size_t i = 0; i < count; ++i) some[i] = all[i];
    return some;
  }();

  template <pm::Scalar T>
  static constexpr void put(pm::basic_engine_profile<T>& e, const std::array<T, count>& v) {
    e.request_cpu_time = v[0] * pm::ms;
    e.request_iterations = v[1];
    e.prefill_step_factor = v[2];
    if constexpr (count > 3) e.run_start = v[3] * pm::ms;
  }
  template <pm::Scalar T>
  static constexpr T answer(const pm::basic_serving_estimate<T>& s, bool median) {
    return median ? s.ttft_distribution.quantile(0.5).value() : s.ttft.value();
  }
  static double measured(const engine_row& r) { return r.median ? r.first_p50 : r.first; }
};
using request_model = request_numbers<3>;
using starting_request_model = request_numbers<4>;

/// Services without queueing for a batch slot: the mean, and the median where there is one.
/// Excluded: services that started cold.
inline std::vector<engine_row> rows_of_requests(const std::vector<engine_row>& rows) {
  std::vector<engine_row> out;
  for (const engine_row& r : rows) {
    if (r.started_cold) continue;
    const auto calibration = pm::calibrated_for(r.deployment);
    if (serving(r.deployment, r.load, calibration).capacity < r.load.concurrency()) continue;
    out.push_back(r);
    if (!(r.first_p50 > 0.0)) continue;
    out.push_back(r);
    out.back().median = true;
  }
  return out;
}

/// The engine fitted to rows. Without `all`, parameters that a part of the rows leaves open are not
/// refused.
template <class Model>
pm::fit_result<Model::count> fit_engine(const std::vector<engine_row>& rows,
                                        const pm::elementwise_kernels& counted = {},
                                        bool all = true) {
  pm::fit_options options;
  options.refuse = all;
  options.largest_error = std::numeric_limits<double>::infinity();
  std::vector<double> measured;
  for (const engine_row& r : rows) measured.push_back(Model::measured(r));
  return pm::fit_log_ratios(Model::parameters, std::span<const double>(measured),
                            engine_prediction<Model>(rows, counted), options);
}

}  // namespace published
