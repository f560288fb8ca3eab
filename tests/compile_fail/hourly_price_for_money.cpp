// Two dollars an hour are not two dollars.
// expect-gcc: conversion from .*money_base
// expect-clang: no viable conversion from .*money_base
#include <perfmodel/units/constants.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::money<> bill = 2.0 * pm::usd_per_hour;
#else
inline constexpr pm::money<> bill = 2.0 * pm::usd_per_hour * (24.0 * pm::hour);
#endif
