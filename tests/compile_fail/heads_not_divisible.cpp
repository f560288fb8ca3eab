// A deployment that a model cannot have stops the build.
// expect: impossible_layout
// expect-gcc: require_layout
// expect-clang: require_layout\({.tensor = 3}
#include <perfmodel/parallel/layout.hpp>
namespace pm = perfmodel;

inline constexpr pm::sharded_dims model{.query_heads = 64, .kv_heads = 8, .layers = 80};

#ifdef MUST_FAIL
inline constexpr pm::parallel_layout l = pm::require_layout({.tensor = 3}, model);
#else
inline constexpr pm::parallel_layout l = pm::require_layout({.tensor = 4}, model);
#endif
