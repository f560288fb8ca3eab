// A token is not a request.
// expect: token_base
// expect: request_base
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;

inline constexpr pm::requests<> in_system(pm::request_rate<> arrivals, pm::duration<> stay) {
  return arrivals * stay;
}

#ifdef MUST_FAIL
inline constexpr auto waiting = in_system(2000.0 * pm::token_per_s, 1.0 * pm::second);
#else
inline constexpr auto waiting = in_system(2000.0 * pm::request_per_s, 1.0 * pm::second);
#endif
