// A duration is no amount of bytes.
// expect-gcc: use of deleted function .*WithoutConvention = .*time_base.*convention::message
// expect-clang: call to deleted constructor of .*message_bytes
#include <perfmodel/parallel/collectives.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::message_bytes<> message(5.0 * pm::ms);
#else
inline constexpr pm::message_bytes<> message(5.0 * pm::MB);
#endif
