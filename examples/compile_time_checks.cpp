// Can a compiler check assumptions about hardware and deployments? Change a number that violates
// one, and the build stops with the message in the comment.
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/perfmodel.hpp>

namespace pm = perfmodel;
using namespace perfmodel::literals;
using namespace perfmodel::catalog;

// Hardware. An H100 needs 295 FLOP for each byte before bf16 arithmetic limits it.
static_assert(pm::ridge_point(h100_sxm, pm::bf16) > 295_FLOP_per_B);
static_assert(pm::regime_of(h100_sxm, pm::bf16, 200_FLOP_per_B) == pm::regime::memory_bound);
//   constexpr auto r = pm::ridge_point(a100_sxm_80gb, pm::fp8);
//     -> call to a function that is not constexpr: detail::unsupported

// A model. 70.55e9 parameters, and 327,680 bytes of cache for each token.
static_assert(pm::parameters(llama_3_70b).total() == 70553706496.0);
static_assert(pm::kv_bytes_per_token(llama_3_70b) == 327680.0 * pm::byte_per_token);

// A deployment. 64 sequences of 8192 tokens fit 8 devices; the weights alone fit 2.
static_assert(pm::require_fits<h100_sxm, llama_3_70b, 8, pm::bf16, pm::bf16, 64, 8192>);
static_assert(pm::require_fits<h100_sxm, llama_3_70b, 2>);
//   static_assert(pm::require_fits<h100_sxm, llama_3_70b>);
//     -> perfmodel: this deployment needs more memory per device than there is: ...
//        does_fit<141107740672, 85520809984>: bytes needed, bytes there

// A promise. 64 users each get a token every 10 ms, were there nothing but physics in the way.
constexpr pm::deployment service{.device = h100_sxm, .model = llama_3_70b, .layout = {.tensor = 8}};
constexpr pm::estimate decode = pm::step_bound(service, {.batch = 64, .context = 4096});
static_assert(decode.feasible);
static_assert(decode.time < 10_ms);
static_assert(decode.limiter == pm::limiter::memory);
//   constexpr auto e = pm::step_bound(service, {.batch = -1, .context = 4096});
//     -> call to a function that is not constexpr: detail::out_of_range, for the field "batch"

// Units. 80_GB / 3.35_TB_per_s is a time; none of these is anything:
//   pm::duration<> t = 80_GB;                       -> no conversion from bytes
//   auto sum = 989_TFLOP_per_s + 3.35_TB_per_s;     -> deleted operator+
//   pm::one_way(900_GB_per_s);                      -> no matching function: who says two-way?
static_assert(80_GB / 3.35_TB_per_s < 24_ms);

int main() {
  std::printf("Checked when this was built, for Llama 3 70B in bf16\n\n");
  std::printf("  %-34s %s\n", "ridge point of an H100",
              pm::to_string(pm::ridge_point(h100_sxm, pm::bf16)).c_str());
  std::printf("  %-34s %s\n", "parameters on each of 8 devices",
              pm::to_string(pm::weight_bytes_per_device(service)).c_str());
  std::printf("  %-34s %s\n", "step of 64 x 4096 tokens", pm::to_string(decode.time).c_str());
  std::printf("  %-34s %s\n", "which is limited by", pm::name_of(decode.limiter));
}
