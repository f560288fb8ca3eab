// A peak that counts skipped products is no dense peak.
// expect-gcc: conversion from.*convention::sparse_2_4.*to non-scalar type.*requested
// expect-clang: no viable conversion from.*sparse_flop_rate.*to.*flop_rate
#include <perfmodel/units/convention.hpp>
namespace pm = perfmodel;

inline constexpr pm::sparse_flop_rate<> sheet(1978.9 * pm::TFLOP_per_s);

#ifdef MUST_FAIL
inline constexpr pm::flop_rate<> peak = sheet;
#else
inline constexpr pm::flop_rate<> peak = pm::dense(sheet);
#endif
