// algbw and busbw are two conventions: they do not add.
// expect-gcc: use of deleted function .*operator\+.*convention::algorithm.*convention::bus
// expect-clang: overload resolution selected deleted operator '\+'
// expect: convention::algorithm
#include <perfmodel/parallel/collectives.hpp>
namespace pm = perfmodel;

inline constexpr pm::algorithm_bandwidth<> algbw(200.0 * pm::GB_per_s);
inline constexpr pm::bus_bandwidth<> busbw(350.0 * pm::GB_per_s);

#ifdef MUST_FAIL
inline constexpr auto sum = algbw + busbw;
#else
inline constexpr auto sum = pm::to_bus_bandwidth(pm::collective_op::all_reduce, 8, algbw) + busbw;
#endif
