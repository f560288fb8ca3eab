// An intensity does not compare with a number that has no unit.
// expect-gcc: use of deleted function .*operator>.*Right = int
// expect-clang: overload resolution selected deleted operator '>'
// expect: operation_base
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/roofline.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
static_assert(pm::ridge_point(pm::catalog::h100_sxm, pm::bf16) > 295);
#else
static_assert(pm::ridge_point(pm::catalog::h100_sxm, pm::bf16) > 295 * pm::flop_per_byte);
#endif
