// A time with derivatives does not become a plain one unnoticed: its derivatives would be lost.
// expect-gcc: conversion from .*dual.* to
// expect-clang: no viable conversion from .*dual
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;

inline constexpr auto step = pm::lift<pm::dual<1>>(20.0 * pm::ms);

#ifdef MUST_FAIL
inline constexpr pm::duration<> taken = step;
#else
inline constexpr pm::duration<pm::dual<1>> taken = step;
#endif
