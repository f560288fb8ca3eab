// A spec is passed to a template by reference: its quantities are no structural type.
// expect-gcc: not a valid type for a template non-type parameter because it is not structural
// expect-clang: of non-type template parameter is not a structural type
#include <perfmodel/hardware/accelerator.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
template <pm::accelerator A>
constexpr bool has_memory = A.dram.capacity.value() > 0.0;
#else
template <const pm::accelerator& A>
constexpr bool has_memory = A.dram.capacity.value() > 0.0;
#endif
