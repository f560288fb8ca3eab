// A closed loop at compile time.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
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

}  // namespace

}  // namespace static_serving
