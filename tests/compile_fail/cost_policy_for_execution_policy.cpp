// The cost of a collective is no policy of a machine.
// expect: this is no execution policy, which has .*docs/troubleshooting.md#an-execution-policy
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/parallel/link_cost.hpp>
#include <perfmodel/roofline.hpp>
namespace pm = perfmodel;
inline constexpr pm::gemm product{.m = 1, .n = 8192, .k = 8192};

#ifdef MUST_FAIL
inline constexpr auto e = pm::roofline(pm::catalog::h100_sxm, product, pm::alpha_beta{});
#else
inline constexpr auto e = pm::roofline(pm::catalog::h100_sxm, product, pm::derated{});
#endif
