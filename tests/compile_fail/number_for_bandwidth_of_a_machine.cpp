// A number without a unit is no bandwidth.
// expect-gcc: no match for 'operator='.*fact<.*double
// expect-clang: no viable overloaded '='
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline void set(pm::accelerator& a) {
  a.dram.bandwidth = 4.0e12;
}
#else
inline void set(pm::accelerator& a) {
  a.dram.bandwidth = 4.0e12 * pm::byte_per_s;
}
#endif
