// What a device of a deployment stores, and what fits it, at compile time.
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step/memory.hpp>
#include <support/near.hpp>

namespace static_deployment {

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;
using perfmodel_test::near;

namespace {

constexpr pm::deployment on_h100(const pm::transformer& m, int tensor, int data = 1) {
  pm::deployment d;
  d.device = cat::h100_sxm;
  d.model = m;
  d.layout.tensor = tensor;
  d.layout.data = data;
  return with_all_memory(d);
}

// Llama 3 70B: 80 layers of width 8192, 8 KV heads of 128, 161 norms, 128,256 words.
constexpr double matrices =
    80 * (8192.0 * (8192 + 2 * 1024) + 8192.0 * 8192 + 3 * 8192.0 * 28672) + 2 * 128256.0 * 8192;
constexpr double norms = 161 * 8192.0;
static_assert(near(weight_bytes_per_device(on_h100(cat::llama_3_70b, 8)).value(),
                   2 * (matrices / 8 + norms)));
// 16 ranks share 8 KV heads: each has one whole, half of which is beyond its sixteenth.
static_assert(near(weight_bytes_per_device(on_h100(cat::llama_3_70b, 16)).value(),
                   2 * (matrices / 16 + norms + 80 * 8192.0 * 2 * 128 * 0.5)));

static_assert(kv_share(cat::llama_3_70b, 4) == 0.25);
static_assert(kv_share(cat::llama_3_70b, 8) == 0.125);
static_assert(kv_share(cat::llama_3_70b, 16) == 0.125);
static_assert(kv_share(cat::deepseek_v3, 8) == 1.0);
static_assert(kv_bytes_per_token_and_device(on_h100(cat::llama_3_70b, 8)).value() == 40960);
static_assert(kv_bytes_per_token_and_device(on_h100(cat::deepseek_v3, 8)).value() == 70272);

static_assert(!fits(on_h100(cat::llama_3_70b, 1), 1.0, 1.0));
static_assert(near(fits(on_h100(cat::llama_3_70b, 1), 1.0, 1.0).needed, 141.1e9, 1e-3));
static_assert(near(fits(on_h100(cat::llama_3_70b, 1), 1.0, 1.0).available, 85.5e9, 1e-3));
static_assert(fits(on_h100(cat::llama_3_70b, 2), 1.0, 1.0));

// A sequence is not divided: over 8 groups a device still takes one, or none.
static_assert(fits(on_h100(cat::llama_3_8b, 1, 8), 1.0, 5e5));
static_assert(!fits(on_h100(cat::llama_3_8b, 1, 8), 1.0, 1e6));
static_assert(!fits(on_h100(cat::llama_3_8b, 1, 8), 16.0, 5e5));
static_assert(fits(on_h100(cat::llama_3_8b, 1, 8), 0.0, 1e6));

static_assert(pm::require_fits<cat::h200_sxm, cat::llama_3_70b, 2>);
static_assert(pm::require_fits<cat::h100_sxm, cat::llama_3_70b, 8, pm::fp8, pm::fp8, 64, 8192>);
static_assert(pm::require_fits<cat::h100_sxm, cat::llama_3_8b, 1, pm::bf16, pm::bf16, 32, 8192>);

}  // namespace

}  // namespace static_deployment
