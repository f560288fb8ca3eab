// Draft tokens accepted are one less than tokens emitted, so a speed-up takes the latter only.
// expect-gcc: use of deleted function .*speculative_speedup.*not_emitted|use of deleted function .*accepted_draft_tokens
// expect-clang: call to deleted function 'speculative_speedup'
// expect: not_emitted
// lines: 31
#include <perfmodel/laws/speculative.hpp>
namespace pm = perfmodel;

inline constexpr auto accepted = pm::accepted_tokens(0.8, 4);

#ifdef MUST_FAIL
inline constexpr double gain = pm::speculative_speedup(accepted, 4, 0.05);
#else
inline constexpr double gain = pm::speculative_speedup(pm::emitted_tokens(accepted), 4, 0.05);
#endif
