// A message is not what a rank puts on the wire.
// expect-gcc: could not convert.*convention::message.*to.*convention::wire
// expect-clang: no known conversion from .*convention::message.* to .*convention::wire
#include <perfmodel/parallel/collectives.hpp>
namespace pm = perfmodel;

inline constexpr pm::duration<> transfer(pm::wire_bytes<> sent) {
  return sent.quantity() / (450.0 * pm::GB_per_s);
}
inline constexpr pm::message_bytes<> message(1.0 * pm::GB);

#ifdef MUST_FAIL
inline constexpr auto t = transfer(message);
#else
inline constexpr auto t = transfer(
    pm::wire_bytes<>(message.quantity() * pm::bus_factor(pm::collective_op::all_reduce, 8)));
#endif
