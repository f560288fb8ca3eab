// Bytes and tokens do not add up.
// expect-gcc: use of deleted function
// expect-clang: overload resolution selected deleted operator
// expect: token_base
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto sum = pm::GB + pm::token;
#else
inline constexpr auto sum = pm::GB + pm::token * (327680.0 * pm::byte_per_token);
#endif
