// CPU times of the questions that a service asks most, as one JSON object: of each the least of
// several rounds. Inputs vary from call to call. `./run bench --summary` prints it.
// With any argument each is asked once, as a test does.
#include <array>
#include <cstdio>
#include <ctime>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/plan.hpp>
#include <perfmodel/serving.hpp>
#include <perfmodel/step.hpp>
#include <vector>

namespace pm = perfmodel;

namespace {

double seconds_of_cpu() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

volatile double kept = 0.0;  // no call is removed
bool quick = false;          // one short round: the times mean nothing

/// Least time of a call in ns: rounds of `calls`, each call with another whole number from 0 on.
template <class Call>
double least_ns(int rounds, int calls, Call&& call) {
  if (quick) {
    rounds = 1;
    calls = calls > 10 ? 10 : calls;
  }
  double least = 1e300;
  for (int r = 0; r < rounds; ++r) {
    double sum = 0.0;
    const double start = seconds_of_cpu();
    for (int i = 0; i < calls; ++i) sum += call(static_cast<double>(i % 251));
    const double took = seconds_of_cpu() - start;
    kept = kept + sum;
    least = took < least ? took : least;
  }
  return 1e9 * least / calls;
}

double with_percentiles(const pm::serving_estimate& s) {
  double sum = s.itl.value();
  for (const double share : {0.5, 0.9, 0.99})
    sum += s.ttft_distribution.quantile(share).value() + s.itl_distribution.quantile(share).value();
  return sum;
}

/// Time of a plan for each 10,000 candidates, on one thread: those of an open loop that it evaluates
/// or leaves out, and the 3,815 of the closed loop that no larger replica count dominates.
double plan_of_10000(const pm::plan_request& q, const pm::calibrated& policy) {
  double evaluated = 0.0;
  const double one = least_ns(3, 1, [&](double) {
    const pm::plan_result r = pm::plan(q, policy);
    evaluated = q.load.is_closed() ? 3815.0 : static_cast<double>(r.evaluated + r.pruned);
    return evaluated;
  });
  return one * 1e4 / evaluated;
}

}  // namespace

int main(int argc, char**) {
  quick = argc > 1;
  const pm::accelerator device = pm::catalog::h100_sxm;
  const pm::deployment d{.device = device,
                         .model = pm::catalog::llama_3_70b,
                         .layout = {.tensor = 8},
                         .serving_engine = pm::engine::vllm};
  const pm::calibrated policy = pm::calibrated_for(device, pm::engine::vllm);
  auto prepared = pm::prepare(d, policy);

  const double gemm = least_ns(9, 20000, [&](double i) {
    return pm::roofline(device, pm::gemm{.m = 1.0 + i, .n = 8192.0, .k = 8192.0}).time.value();
  });
  const auto iteration = [](double i) {
    return pm::iteration{.batch = 1.0 + i, .context = 4096.0};
  };
  const double bound =
      least_ns(9, 4000, [&](double i) { return pm::step_bound(d, iteration(i)).time.value(); });
  const double bound_prepared =
      least_ns(9, 4000, [&](double i) { return prepared.bound_time(iteration(i)).value(); });
  const double step =
      least_ns(9, 2000, [&](double i) { return pm::step(d, iteration(i), policy).time.value(); });
  const double step_prepared =
      least_ns(9, 4000, [&](double i) { return prepared.step_time(iteration(i)).value(); });
  // A sweep asks every batch at many contexts, in blocks; a point includes the writing of its step.
  std::vector<pm::iteration> points(25600);
  std::vector<pm::duration<>> times(points.size());
  const double sweep =
      least_ns(9, 1,
               [&](double) {
                 for (std::size_t k = 0; k < points.size(); ++k)
                   points[k] = {.batch = static_cast<double>(k / 100 + 1),
                                .context = 100.0 * static_cast<double>(k % 100 + 1)};
                 prepared.step_times(points, times);
                 return times.back().value();
               }) /
      static_cast<double>(points.size());
  pm::service_load closed{
      .input_tokens = 2048.0, .output_tokens = 256.0, .arrivals = pm::closed_loop{64.0}};
  pm::service_load open{.input_tokens = 2048.0,
                        .output_tokens = 256.0,
                        .arrivals = pm::open_loop{.rate = 4.0 * pm::request / pm::second}};
  const auto service_ns = [&](pm::service_load& l, int calls) {
    return least_ns(9, calls, [&](double i) {
      l.input_tokens = 2048.0 + i;
      return with_percentiles(pm::serving(d, l, policy));
    });
  };
  const double serving_closed = service_ns(closed, 400), serving_open = service_ns(open, 60);

  pm::plan_request q{
      .accelerators = {device},
      .model = pm::catalog::llama_3_70b,
      .gpus = 64,
      .load = {.input_tokens = 2048.0, .output_tokens = 512.0, .arrivals = pm::closed_loop{512.0}},
      .engines = {pm::engine::vllm}};
  const double plan_closed = plan_of_10000(q, policy);
  q.load.arrivals = pm::open_loop{.rate = 40.0 * pm::request / pm::second};
  const double plan_open = plan_of_10000(q, policy);

  const std::array<std::pair<const char*, double>, 10> all = {
      {{"gemm_roofline_ns", gemm},
       {"bound_step_ns", bound},
       {"bound_step_prepared_ns", bound_prepared},
       {"calibrated_step_ns", step},
       {"calibrated_step_prepared_ns", step_prepared},
       {"serving_closed_ns", serving_closed},
       {"serving_open_ns", serving_open},
       {"plan_10000_closed_ns", plan_closed},
       {"plan_10000_open_ns", plan_open},
       {"sweep_calibrated_step_ns", sweep}}};
  const char* before = "{";
  for (const auto& [name, ns] : all) {
    std::printf("%s\"%s\":%.6g", before, name, ns);
    before = ",";
  }
  std::puts("}");
}
