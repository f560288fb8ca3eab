// 989 TFLOP/s and 3.35 TB/s have no order.
// expect-gcc: use of deleted function
// expect-clang: overload resolution selected deleted operator
// expect: operation_base
// expect: information_base
#include <perfmodel/units/constants.hpp>
using namespace perfmodel::literals;

#ifdef MUST_FAIL
static_assert(3.35_TB_per_s < 989_TFLOP_per_s);
#else
static_assert(3.35_TB_per_s < 989_TFLOP_per_s / 100_FLOP_per_B);
#endif
