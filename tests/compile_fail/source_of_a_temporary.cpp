// A fact keeps the address of its source, which must outlive it.
// expect: (use of|selected) deleted (function|constructor)|call to deleted
// expect: temporary|source&&|source &&
#include <perfmodel/hardware/accelerator.hpp>
namespace pm = perfmodel;

inline constexpr pm::source my_run{pm::basis::measured, "my run"};
#ifdef MUST_FAIL
inline const pm::fact<pm::bandwidth<>> rate{3.0 * pm::TB_per_s,
                                            pm::source{pm::basis::measured, "my run"}};
#else
inline const pm::fact<pm::bandwidth<>> rate{3.0 * pm::TB_per_s, my_run};
#endif
