// Bus and algorithm bandwidth are not of one scale.
// expect-gcc: use of deleted function .*operator<
// expect-clang: overload resolution selected deleted operator '<'
// expect: convention::algorithm
#include <perfmodel/parallel/collectives.hpp>
namespace pm = perfmodel;
inline constexpr pm::bus_bandwidth<> bus(480.0 * pm::GB_per_s);
inline constexpr pm::algorithm_bandwidth<> algorithm(275.0 * pm::GB_per_s);

#ifdef MUST_FAIL
static_assert(algorithm < bus);
#else
static_assert(pm::to_algorithm_bandwidth(pm::collective_op::all_reduce, 8, bus) < algorithm);
#endif
