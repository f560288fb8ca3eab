// FLOP/s and bytes/s do not add.
// expect-gcc: use of deleted function
// expect-clang: overload resolution selected deleted operator '\+'
// expect: operation_base
// expect: information_base
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto sum = 3.35 * pm::TB_per_s + 989.4 * pm::TFLOP_per_s;
#else
inline constexpr auto sum = 3.35 * pm::TB_per_s + 450.0 * pm::GB_per_s;
#endif
