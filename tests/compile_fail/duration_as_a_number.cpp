// A time is no number of seconds until one divides by a second.
// expect-gcc: cannot convert .*time_base.* to '(const )?double'
// expect-clang: no viable conversion from .*time_base.* to '(const )?double'
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;
using namespace perfmodel::literals;

#ifdef MUST_FAIL
inline constexpr double s = 17.5_GB / 3.35_TB_per_s;
#else
inline constexpr double s = 17.5_GB / 3.35_TB_per_s / pm::second;
#endif
