// A hook that a policy has but does not state is an error; the twin states it.
// expect: this policy has a hook that its policy_hooks do not state.*docs/troubleshooting.md#an-execution-policy
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
namespace pm = perfmodel;

struct mine : pm::datasheet {
#ifdef MUST_FAIL
  using hooks = pm::policy_hooks<mine>;
  constexpr pm::estimate estimate(const pm::accelerator&, const pm::gemm&) const {
#else
  using hooks = pm::policy_hooks<mine, pm::policy_hook::estimate>;
  constexpr pm::estimate estimate(const pm::accelerator&, const pm::gemm&) const {
#endif
    return {.time = 5.0 * pm::us};
  }
};
inline constexpr pm::gemm gemm{.m = 1, .n = 8192, .k = 8192};
inline constexpr auto e = pm::roofline(pm::catalog::h100_sxm, gemm, mine{});
