// A memory level has a capacity in bytes, not in bytes per second.
// expect-gcc: could not convert|cannot convert|no matching
// expect-clang: no viable conversion|no matching
// expect: capacity
#include <perfmodel/hardware/accelerator.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::memory_level hbm{.capacity = 3.35 * pm::TB_per_s};
#else
inline constexpr pm::memory_level hbm{.capacity = 80.0 * pm::GB, .bandwidth = 3.35 * pm::TB_per_s};
#endif
