// A rate that does not say it is sparse cannot be made dense.
// expect: no matching function for call to 'dense
#include <perfmodel/units/convention.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr auto peak = pm::dense(1978.9 * pm::TFLOP_per_s);
#else
inline constexpr auto peak = pm::dense(pm::sparse_flop_rate<>(1978.9 * pm::TFLOP_per_s));
#endif
