// Deployments that a build checks. Change a number here and the build says what it breaks.
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/perfmodel.hpp>
#include <perfmodel/workload/catalog/llama.hpp>

namespace pm = perfmodel;
using namespace perfmodel::literals;
using namespace perfmodel::catalog;

// Hardware: an H100 needs 295 FLOP for every byte before bf16 arithmetic is its limit.
static_assert(pm::ridge_point(h100_sxm, pm::bf16) > 295_FLOP_per_B);
static_assert(pm::regime_of(h100_sxm, pm::bf16, 200_FLOP_per_B) == pm::regime::memory_bound);

// A model: 327,680 bytes of cache a token, 70.6e9 parameters.
static_assert(pm::kv_bytes_per_token(llama_3_70b) == 327680 * pm::byte_per_token);
static_assert(pm::parameters(llama_3_70b).total() == 70553706496.0);

// A deployment: it fits, with 64 users of 8192 tokens. On one device less, or with a longer context,
// the message ends in does_fit<needed, there>, two numbers of bytes per device.
static_assert(pm::require_fits<h100_sxm, llama_3_70b, 8, pm::bf16, pm::bf16, 64, 8192>);
//   static_assert(pm::require_fits<h100_sxm, llama_3_70b>);
//     ... this deployment needs more memory per device than there is: does_fit<bytes needed, bytes there>
//     ... does_fit<141107740672, 85520809984>

// A promise: 64 users each get a token within 10 ms, if nothing but physics were in the way.
constexpr pm::deployment service{.device = h100_sxm, .model = llama_3_70b, .layout = {.tensor = 8}};
constexpr pm::estimate promised = pm::step(service, {.batch = 64, .context = 4096});
static_assert(promised.feasible && promised.time < 10_ms);
static_assert(promised.limiter == pm::limiter::memory);

// Units: none of these compiles.
//   pm::duration<> t = 80_GB;
//   auto sum = 989_TFLOP_per_s + 3.35_TB_per_s;
//   pm::one_way(900 * pm::GB_per_s);   // not said to be two-way

int main() { std::printf("checked by the compiler: %s a token\n", pm::to_string(promised.time).c_str()); }
