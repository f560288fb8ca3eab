// An A100 does not compute in fp8.
// expect-gcc: in .constexpr. expansion of .*computes_in
// expect: unsupported
// expect-clang: "fp8"
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/roofline.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto ridge = pm::ridge_point(pm::catalog::a100_sxm_80gb, pm::fp8);
#else
inline constexpr auto ridge = pm::ridge_point(pm::catalog::a100_sxm_80gb, pm::int8);
#endif
