// std::max takes two of one type, and a fact is not its quantity; max found by its arguments takes both.
// expect-gcc: no matching function for call to 'max\(const perfmodel::v[0-9_]+::fact<
// expect-clang: deduced conflicting types for parameter '_Tp' \('fact<
// lines: 50
#include <algorithm>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;
using namespace perfmodel::literals;

#ifdef MUST_FAIL
inline const auto b = std::max(pm::catalog::h100_sxm.dram.bandwidth, 3.0_TB_per_s);
#else
inline const auto b = max(pm::catalog::h100_sxm.dram.bandwidth, 3.0_TB_per_s);
#endif
