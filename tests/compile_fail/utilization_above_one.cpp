// More than the whole memory cannot be used.
// expect-gcc: in .constexpr. expansion of .*"utilization"
// expect: out_of_range
// expect: "utilization"
#include <perfmodel/laws/kv_cache.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto b =
    pm::kv_bytes_available(pm::memory_budget{.capacity = 80.0 * pm::GB, .utilization = 1.5});
#else
inline constexpr auto b =
    pm::kv_bytes_available(pm::memory_budget{.capacity = 80.0 * pm::GB, .utilization = 0.9});
#endif
