// A model is no operator of the roofline.
// expect: a law takes an operator or a demand.*docs/troubleshooting.md#an-operator
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto e = pm::roofline(pm::catalog::h100_sxm, pm::catalog::llama_3_70b);
#else
inline constexpr auto e = pm::roofline(pm::catalog::h100_sxm, pm::gemm{.m = 1, .n = 8, .k = 8});
#endif
