// Services at compile time: bounds, and predictions under a calibrated policy.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/serving.hpp>
#include <support/near.hpp>

namespace static_serving {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;

namespace {

constexpr pm::deployment llama() {
  pm::deployment d;
  d.device = cat::h100_sxm;
  d.model = cat::llama_3_8b;
  return d;
}
constexpr pm::serving_estimate alone = serving_bound(
    llama(), {.input_tokens = 1000, .output_tokens = 100, .arrivals = pm::closed_loop{1}});
static_assert(near(alone.e2e.value(), alone.ttft.value() + 99 * alone.itl.value()));
static_assert(near(alone.throughput.value() * alone.e2e.value(), 1.0));
static_assert(alone.wait == pm::duration<>{});
static_assert(alone.feasible.feasible);

constexpr pm::serving_estimate limited = serving_bound(llama(), {.input_tokens = 1000,
                                                                 .output_tokens = 100,
                                                                 .arrivals = pm::closed_loop{30},
                                                                 .batch_limit = 10});
static_assert(limited.batch == 10);
static_assert(near(limited.throughput.value() * limited.e2e.value(), 30.0));
// Two thirds wait for one third: two rounds of the service time.
static_assert(near(limited.wait.value(), 2 * (limited.e2e - limited.wait).value()));

// Predictions under a calibration are constants too, memoised steps included.
constexpr pm::calibrated calibration = pm::calibrated_for(cat::h100_sxm, pm::engine::vllm);
constexpr pm::deployment on_vllm() {
  pm::deployment d = llama();
  d.serving_engine = pm::engine::vllm;
  return d;
}
constexpr pm::service_load load{
    .input_tokens = 1000, .output_tokens = 100, .arrivals = pm::closed_loop{16}};
constexpr pm::serving_estimate predicted = serving(on_vllm(), load, calibration);
static_assert(near(predicted.throughput.value() * predicted.e2e.value(), 16.0));
static_assert(predicted.itl > serving_bound(on_vllm(), load).itl);
static_assert(predicted.itl_distribution.size() == 2);

constexpr pm::serving_estimate arriving =
    serving(on_vllm(),
            {.input_tokens = 1000,
             .output_tokens = 100,
             .arrivals = pm::open_loop{2.0 * pm::request_per_s}},
            calibration);
static_assert(arriving.feasible.feasible);
static_assert(arriving.ttft > predicted.prefill.time);

// Two replicas are two services of half the load.
constexpr pm::replica_pool pair{.deployment = on_vllm(), .replicas = 2};
constexpr pm::serving_estimate both = serving(pair, load, calibration);
constexpr pm::serving_estimate half = serving(on_vllm(), per_replica(load, 2), calibration);
static_assert(near(both.throughput.value(), 2 * half.throughput.value()));
static_assert(near(both.output_rate.value(), 2 * half.output_rate.value()));
static_assert(near(both.batch, 2 * half.batch) && near(both.capacity, 2 * half.capacity));
static_assert(both.itl == half.itl && both.ttft == half.ttft);
static_assert(near(serving_bound(pair, load).throughput.value(),
                   2 * serving_bound(on_vllm(), per_replica(load, 2)).throughput.value()));

}  // namespace

}  // namespace static_serving
