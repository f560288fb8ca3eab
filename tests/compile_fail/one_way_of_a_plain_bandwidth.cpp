// A bandwidth that does not say it is two-way cannot be halved.
// expect: no matching function for call to 'one_way
#include <perfmodel/units/convention.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto nvlink = pm::one_way(900.0 * pm::GB_per_s);
#else
inline constexpr auto nvlink = pm::one_way(pm::two_way_bandwidth<>(900.0 * pm::GB_per_s));
#endif
