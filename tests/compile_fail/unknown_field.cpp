// A misspelt field is no field.
// expect-gcc: no non-static data member named|has no .*designated
// expect-clang: does not refer to any field
#include <perfmodel/hardware/accelerator.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::memory_level hbm{.capacitie = 80.0 * pm::GB};
#else
inline constexpr pm::memory_level hbm{.capacity = 80.0 * pm::GB};
#endif
