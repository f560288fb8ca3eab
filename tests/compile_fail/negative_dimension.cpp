// A GEMM of minus one row stops the build, at the field.
// expect-gcc: in .constexpr. expansion of .*"m"
// expect: out_of_range
// expect: "m"
#include <perfmodel/operators/gemm.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto d = pm::demand_of(pm::gemm{.m = -1, .n = 8192, .k = 8192});
#else
inline constexpr auto d = pm::demand_of(pm::gemm{.m = 1, .n = 8192, .k = 8192});
#endif
