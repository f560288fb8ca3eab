// A step at compile time, and how its answer changes with what it depends on.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>
#include <support/near.hpp>

namespace static_step {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;

namespace {

constexpr pm::deployment llama(int tensor) {
  pm::deployment d;
  d.device = cat::h100_sxm;
  d.model = cat::llama_3_70b;
  d.layout.tensor = tensor;
  return d;
}
constexpr pm::estimate one = step_bound(llama(1), {.batch = 1, .context = 1});
constexpr pm::estimate two = step_bound(llama(2), {.batch = 1, .context = 1});

// 69.5e9 weights less the embedding table, 2 bytes each, at 3.35 TB/s
static_assert(near(one.time.value(), 41.5e-3, 2e-3));
static_assert(one.limiter == pm::limiter::memory);
static_assert(near(2.0 * (two.time - two.terms["communication"]).value(), one.time.value()));
static_assert(two.terms["communication"] > pm::duration<>{});

constexpr pm::duration<> at(double batch, double context, double prefill) {
  return step_bound(llama(8), {.batch = batch, .context = context, .prefill_tokens = prefill}).time;
}
static_assert(at(2, 1000, 0) > at(1, 1000, 0));
static_assert(at(1, 2000, 0) > at(1, 1000, 0));
static_assert(at(1, 1000, 900) > at(1, 1000, 800));

// 128,000 tokens of cache, 41.94 GB, are 23.1 % of a step with 140 GB of weights, as often quoted.
constexpr pm::estimate long_context = step_bound(llama(1), {.batch = 1, .context = 128000});
static_assert(near(long_context.terms["kv_cache"].value(), 41.94e9 / 3.35e12, 1e-3));
static_assert(near(long_context.terms["kv_cache"] / long_context.time, 0.231, 0.01));

static_assert(name_of(pm::operator_class::experts)[0] == 'e');

}  // namespace

}  // namespace static_step
