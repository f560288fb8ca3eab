// 450 GB is no bandwidth.
// expect: no matching function for call to 'knee_message
// expect: time_base.*information_base
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;
using namespace perfmodel::literals;

#ifdef MUST_FAIL
inline constexpr auto knee = pm::knee_message(8, 5_us, 450_GB);
#else
inline constexpr auto knee = pm::knee_message(8, 5_us, 450_GB_per_s);
#endif
