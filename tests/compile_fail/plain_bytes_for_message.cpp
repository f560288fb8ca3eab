// Bytes become a message only by name.
// expect-gcc: use of deleted function .*WithoutConvention = .*information_base.*convention::message
// expect-clang: invokes a deleted function|conversion function from .* invokes a deleted function
// expect-clang: WithoutConvention
#include <perfmodel/parallel/collectives.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::collective c{.ranks = 8, .message = 1.0 * pm::GB};
#else
inline constexpr pm::collective c{.ranks = 8, .message = pm::message_bytes<>(1.0 * pm::GB)};
#endif
