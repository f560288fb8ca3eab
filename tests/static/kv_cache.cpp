// Capacity of a cache, at compile time: counts worked out by hand.
#include <perfmodel/laws/kv_cache.hpp>
#include <support/near.hpp>

namespace static_kv_cache {

namespace pm = perfmodel;
using perfmodel_test::near;

namespace {

constexpr pm::kv_capacity_result on_8_of_80e9(double weights, double per_token, double context) {
  return pm::kv_capacity(
      pm::memory_budget{.capacity = 640.0 * pm::GB, .weights = weights * pm::byte},
      per_token * pm::byte_per_token, context);
}

// 640e9 - 140e9 = 500e9 bytes; 500e9 / (4096 x 327,680) = 372.5
static_assert(pm::kv_bytes_available(pm::memory_budget{
                  .capacity = 640.0 * pm::GB, .weights = 140.0 * pm::GB}) == 500.0 * pm::GB);
static_assert(on_8_of_80e9(140e9, 327680, 4096).sequences == 372);
static_assert(on_8_of_80e9(35e9, 163840, 4096).sequences == 901);
static_assert(on_8_of_80e9(140e9, 327680, 8192).sequences == 186);
static_assert(pm::kv_capacity(pm::memory_budget{.capacity = 80.0 * pm::GB},
                              327680.0 * pm::byte_per_token, 8192.0)
                  .sequences == 29);

// Weights that leave nothing, and a context that does not fit once.
static_assert(!on_8_of_80e9(640e9, 327680, 1).feasible);
static_assert(on_8_of_80e9(640e9, 327680, 1).tokens.value() == 0);
static_assert(on_8_of_80e9(639e9, 327680, 4096).feasible.needed == 4096 * 327680.0);
static_assert(!on_8_of_80e9(639e9, 327680, 4096).feasible);

static_assert(pm::contiguous_waste(4096.0, 4096.0) == 0.0);
static_assert(near(pm::contiguous_waste(500.0, 4096.0), 0.878, 1e-3));
static_assert(near(pm::paged_waste(500.0, 16.0), 0.0148, 2e-3));
static_assert(pm::paged_waste(500.0, 1.0) == 0.0);
static_assert(near(pm::waste_free_gain(0.75), 4.0));
static_assert(pm::shared_prefix_saving(64.0, 2000.0).value() == 126000);
static_assert(pm::shared_prefix_saving(1.0, 2000.0).value() == 0);
static_assert(
    near(pm::weight_cache_crossover(140.0 * pm::GB, 327680.0 * pm::byte_per_token).value(),
         427246.09375));

// 600 ns twice for each block of 16 x 4096 bytes that streams at 32.768 GB/s, which takes 2 us
static_assert(near(pm::paging_tax(600.0 * pm::ns, 600.0 * pm::ns, 16.0, 4096.0 * pm::byte_per_token,
                                  32.768 * pm::GB_per_s),
                   0.6));

}  // namespace

}  // namespace static_kv_cache
