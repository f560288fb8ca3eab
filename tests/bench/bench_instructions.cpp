// What callgrind counts: the same roofline over quantities and over raw doubles; services, and a
// plan. usage: bench_instructions quantity | raw | quantity_by_reference | raw_by_reference | empty
//        bench_instructions closed | open | pools | drafts | bound | step | steps | passes | plan | open_plan | no_service
//            100 services, 10,000 prepared bounds, 100,000 prepared steps (steps: in blocks), 100 passes, one plan
//        bench_instructions prepared_closed | prepared_open
//            1,000 services of a prepared deployment
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/step.hpp>
#include <vector>

namespace pm = perfmodel;
namespace catalog = pm::catalog;

namespace {

// perfmodel::attainable with the units taken off: the same checks of the same inputs, one product,
// one minimum.
double attainable_raw(const double& peak_rate, const double& memory,
                      const double& operations_per_byte) {
  pm::detail::positive("peak_rate", peak_rate);
  pm::detail::positive("memory", memory);
  pm::detail::not_negative("operations_per_byte", operations_per_byte);
  const double from_memory = operations_per_byte * memory;
  return from_memory < peak_rate ? from_memory : peak_rate;
}

constexpr std::size_t points = 4096;
constexpr int rounds = 200;

// Rates received by reference: GCC checks them again at every point, whatever their type.
[[gnu::noinline]] double sweep_raw_by_reference(const std::vector<double>& intensity,
                                                const double& peak_rate, const double& memory) {
  double sum = 0;
  for (int r = 0; r < rounds; ++r) {
    for (const double& i : intensity) sum += attainable_raw(peak_rate, memory, i);
  }
  return sum;
}
[[gnu::noinline]] double sweep_quantity_by_reference(const std::vector<pm::intensity<>>& intensity,
                                                     const pm::flop_rate<>& peak_rate,
                                                     const pm::bandwidth<>& memory) {
  pm::flop_rate<> sum{};
  for (int r = 0; r < rounds; ++r) {
    for (const pm::intensity<>& i : intensity) sum += pm::attainable(peak_rate, memory, i);
  }
  return sum.value();
}

// Rates that are the function's own: it checks them once. Both sweeps receive doubles, because a
// quantity has a user-defined copy constructor, so it is passed in memory even by value.
[[gnu::noinline]] double sweep_raw(const std::vector<double>& intensity, double peak_rate,
                                   double memory) {
  double sum = 0;
  for (int r = 0; r < rounds; ++r) {
    for (const double& i : intensity) sum += attainable_raw(peak_rate, memory, i);
  }
  return sum;
}
[[gnu::noinline]] double sweep_quantity(const std::vector<pm::intensity<>>& intensity, double peak,
                                        double bandwidth) {
  const pm::flop_rate<> peak_rate = peak * pm::flop_per_s;
  const pm::bandwidth<> memory = bandwidth * pm::byte_per_s;
  pm::flop_rate<> sum{};
  for (int r = 0; r < rounds; ++r) {
    for (const pm::intensity<>& i : intensity) sum += pm::attainable(peak_rate, memory, i);
  }
  return sum.value();
}

constexpr int answers = 100;

double sum_of_percentiles(const pm::serving_estimate& s) {
  double sum = 0;
  for (const double share : {0.5, 0.9, 0.99}) {
    sum += s.ttft_distribution.quantile(share).value() + s.itl_distribution.quantile(share).value();
  }
  return sum;
}
/// A service with its percentiles, each call with another prompt length.
[[gnu::noinline]] double serve(const pm::deployment& d, pm::service_load l,
                               const pm::calibrated& calibration) {
  double sum = 0;
  for (int i = 0; i < answers; ++i) {
    l.input_tokens = 2049.0 + i % 50;
    sum += sum_of_percentiles(pm::serving(d, l, calibration));
  }
  return sum;
}
/// The same of a prepared deployment.
[[gnu::noinline]] double serve_prepared(const pm::deployment& d, pm::service_load l,
                                        const pm::calibrated& calibration) {
  auto prepared = pm::prepare(d, calibration);
  double sum = 0;
  for (int i = 0; i < 10 * answers; ++i) {
    l.input_tokens = 2049.0 + i % 50;
    sum += sum_of_percentiles(pm::serving(prepared, l));
  }
  return sum;
}
/// The same of pools of prefill and decode replicas.
[[gnu::noinline]] double serve_pools(const pm::deployment& d, pm::service_load l,
                                     const pm::calibrated& calibration) {
  pm::disaggregated pools{{d, 1.0}, {d, 1.0}};
  pools.link.bandwidth_per_device = 50e9 * pm::byte_per_s;
  double sum = 0;
  for (int i = 0; i < answers; ++i) {
    l.input_tokens = 2049.0 + i % 50;
    sum += pm::serving(pools, l, calibration).itl.value();
  }
  return sum;
}
[[gnu::noinline]] double serve_drafts(const pm::deployment& d, pm::service_load l,
                                      const pm::calibrated& calibration) {
  pm::speculation drafts{.length = 3};
  drafts.acceptance.push_back(0.7);
  double sum = 0;
  for (int i = 0; i < answers; ++i) {
    l.input_tokens = 2049.0 + i % 50;
    sum += pm::serving(d, l, drafts, calibration).itl.value();
  }
  return sum;
}
/// Prepared decode steps, each of another batch: bounds, or predicted times.
[[gnu::noinline]] double prepared(const pm::deployment& d, const pm::calibrated& calibration,
                                  bool bounds) {
  auto p = pm::prepare(d, calibration);
  double sum = 0;
  const int asked = (bounds ? 100 : 1000) * answers;
  for (int i = 0; i < asked; ++i) {
    const pm::iteration one{.batch = 1.0 + i % 251, .context = 4096.0};
    sum += bounds ? p.bound_time(one).value() : p.step_time(one).value();
  }
  return sum;
}
/// Blocks of prepared decode steps: 1,000 contexts of each batch.
[[gnu::noinline]] double prepared_blocks(const pm::deployment& d,
                                         const pm::calibrated& calibration) {
  auto p = pm::prepare(d, calibration);
  std::vector<pm::iteration> steps(1000);
  std::vector<pm::duration<>> times(steps.size());
  double sum = 0;
  for (int i = 0; i < answers; ++i) {
    for (std::size_t k = 0; k < steps.size(); ++k)
      steps[k] = {.batch = 1.0 + i, .context = 100.0 * static_cast<double>(k + 1)};
    p.step_times(steps, times);
    for (const pm::duration<>& t : times) sum += t.value();
  }
  return sum;
}
/// Decode passes of one deployment, each of another batch and context.
[[gnu::noinline]] double pass(const pm::deployment& d, const pm::calibrated& calibration) {
  pm::detail::predicted_step<double, pm::calibrated, pm::calibrated> passes(d, calibration,
                                                                            calibration);
  double sum = 0;
  for (int i = 0; i < answers; ++i) {
    sum += passes.time({.batch = 1.0 + i, .context = 4096.0 + i}).value();
  }
  return sum;
}
/// Plan on up to 64 devices. Returns the number of candidates evaluated.
[[gnu::noinline]] double plan(const pm::calibrated& calibration, bool is_open) {
  pm::plan_request q{
      .accelerators = {catalog::h100_sxm},
      .model = catalog::llama_3_70b,
      .gpus = 64,
      .load = {.input_tokens = 2048.0, .output_tokens = 512.0, .arrivals = pm::closed_loop{512.0}},
      .engines = {pm::engine::vllm}};
  if (is_open) q.load.arrivals = pm::open_loop{.rate = 20.0 * pm::request / pm::second};
  return static_cast<double>(pm::plan(q, calibration).evaluated);
}

/// The result of a mode about services; none for another mode.
std::optional<double> of_services(const char* mode) {
  const auto is = [mode](const char* name) { return std::strcmp(mode, name) == 0; };
  constexpr const char* modes[] = {
      "closed", "open", "pools",     "drafts",          "bound",         "step",      "steps",
      "passes", "plan", "open_plan", "prepared_closed", "prepared_open", "no_service"};
  if (!std::any_of(std::begin(modes), std::end(modes), is)) return {};
  const pm::deployment d{.device = catalog::h100_sxm,
                         .model = catalog::llama_3_70b,
                         .layout = {.tensor = 8},
                         .serving_engine = pm::engine::vllm};
  const pm::calibrated calibration = pm::calibrated_for(catalog::h100_sxm, pm::engine::vllm);
  pm::service_load l{
      .input_tokens = 2048.0, .output_tokens = 256.0, .arrivals = pm::closed_loop{64.0}};
  if (is("closed")) return serve(d, l, calibration);
  if (is("prepared_closed")) return serve_prepared(d, l, calibration);
  if (is("pools")) return serve_pools(d, l, calibration);
  if (is("drafts")) return serve_drafts(d, l, calibration);
  if (is("bound") || is("step")) return prepared(d, calibration, is("bound"));
  if (is("steps")) return prepared_blocks(d, calibration);
  l.arrivals = pm::open_loop{.rate = 4.0 * pm::request / pm::second};
  if (is("open")) return serve(d, l, calibration);
  if (is("prepared_open")) return serve_prepared(d, l, calibration);
  if (is("passes")) return pass(d, calibration);
  return is("plan") || is("open_plan") ? plan(calibration, is("open_plan")) : 0.0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  if (const std::optional<double> answer = of_services(mode)) {
    std::printf("%.17g\n", *answer);
    return 0;
  }
  std::vector<double> raw(points);
  std::vector<pm::intensity<>> quantities(points);
  for (std::size_t i = 0; i < points; ++i) {
    raw[i] = 0.25 * static_cast<double>(i);
    quantities[i] = raw[i] * pm::flop_per_byte;
  }
  // Read at run time: of a constant, GCC would make the checks itself and leave none to count.
  volatile double peak_rate = 989.4e12;
  volatile double memory = 3.35e12;
  double result = 0;
  if (std::strcmp(mode, "quantity") == 0) {
    result = sweep_quantity(quantities, peak_rate, memory);
  } else if (std::strcmp(mode, "quantity_by_reference") == 0) {
    const pm::flop_rate<> p = peak_rate * pm::flop_per_s;
    const pm::bandwidth<> m = memory * pm::byte_per_s;
    result = sweep_quantity_by_reference(quantities, p, m);
  } else if (std::strcmp(mode, "raw") == 0) {
    result = sweep_raw(raw, peak_rate, memory);
  } else if (std::strcmp(mode, "raw_by_reference") == 0) {
    const double p = peak_rate;
    const double m = memory;
    result = sweep_raw_by_reference(raw, p, m);
  } else if (std::strcmp(mode, "empty") != 0) {
    std::fputs(
        "usage: bench_instructions quantity | raw | quantity_by_reference | raw_by_reference | "
        "empty | closed | open | pools | drafts | bound | step | steps | passes | plan | "
        "open_plan | prepared_closed | prepared_open | no_service\n",
        stderr);
    return 2;
  }
  std::printf("%.17g\n", result);
}
