// 450 GB is no bandwidth.
// expect: no matching function for call to 'bytes_in_flight
// expect: time_base.*information_base
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;
using namespace perfmodel::literals;

#ifdef MUST_FAIL
inline constexpr auto needed = pm::bytes_in_flight(5_us, 450_GB);
#else
inline constexpr auto needed = pm::bytes_in_flight(5_us, 450_GB_per_s);
#endif
