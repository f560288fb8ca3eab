// Bytes become a message only by name.
// expect-gcc: could not convert.*to.*convention::message
// expect-clang: no viable conversion from.*to.*convention::message
#include <perfmodel/collectives.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::collective c{.ranks = 8, .message = 1.0 * pm::GB};
#else
inline constexpr pm::collective c{.ranks = 8, .message = pm::message_bytes<>(1.0 * pm::GB)};
#endif
