// A duration is no amount of bytes.
// expect-gcc: no known conversion for argument 1 from .*time_base.* to .*information_base
// expect-clang: no known conversion from .*time_base.* to .*information_base
#include <perfmodel/collectives.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::message_bytes<> message(5.0 * pm::ms);
#else
inline constexpr pm::message_bytes<> message(5.0 * pm::MB);
#endif
