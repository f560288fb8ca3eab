// A duration is no amount of bytes.
// expect: no matching function for call to|no matching conversion for functional-style cast
// expect: second_unit|time_base
#include <perfmodel/collectives.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::message_bytes<> message(5.0 * pm::ms);
#else
inline constexpr pm::message_bytes<> message(5.0 * pm::MB);
#endif
