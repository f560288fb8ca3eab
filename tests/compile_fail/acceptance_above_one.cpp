// A probability of 1.5 stops the build, at the field.
// expect-gcc: in .constexpr. expansion of .*"acceptance"
// expect: out_of_range
// expect: "acceptance"
// expect-clang: 1\.5
#include <perfmodel/laws/speculative.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto e = pm::emitted_tokens(1.5, 4);
#else
inline constexpr auto e = pm::emitted_tokens(0.5, 4);
#endif
