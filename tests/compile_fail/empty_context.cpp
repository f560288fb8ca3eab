// A cache of sequences without tokens holds any number of them.
// expect-gcc: in .constexpr. expansion of .*"context"
// expect: out_of_range
// expect: "context"
#include <perfmodel/laws/kv_cache.hpp>
namespace pm = perfmodel;
inline constexpr pm::memory_budget budget{.capacity = 80.0 * pm::GB};

#ifdef MUST_FAIL
inline constexpr auto c = pm::kv_capacity(budget, 327680.0 * pm::byte_per_token, 0.0);
#else
inline constexpr auto c = pm::kv_capacity(budget, 327680.0 * pm::byte_per_token, 4096.0);
#endif
