// Seven KV heads cannot be shared by 64 query heads.
// expect-clang: does_not_divide
// expect: kv_heads
#include <perfmodel/operators/attention_decode.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto d = pm::demand_of(pm::attention_decode{
    .batch = 1, .context = 10, .query_heads = 64, .kv_heads = 7, .head_dim = 128});
#else
inline constexpr auto d = pm::demand_of(pm::attention_decode{
    .batch = 1, .context = 10, .query_heads = 64, .kv_heads = 8, .head_dim = 128});
#endif
