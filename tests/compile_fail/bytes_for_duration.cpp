// 80 GB is no time.
// expect-gcc: conversion from .*information_base
// expect-clang: no viable conversion from .*information_base
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;
using namespace perfmodel::literals;

#ifdef MUST_FAIL
inline constexpr pm::duration<> t = 80_GB;
#else
inline constexpr pm::duration<> t = 80_GB / 3.35_TB_per_s;
#endif
