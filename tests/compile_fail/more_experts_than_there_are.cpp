// A token cannot visit nine of eight experts.
// expect: top_k exceeds experts
#include <perfmodel/operators/moe.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr double touched = pm::expected_experts(8.0, 9.0, 1.0);
#else
inline constexpr double touched = pm::expected_experts(8.0, 2.0, 1.0);
#endif
