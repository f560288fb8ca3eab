// Profiles have one frame, and those of other parameters are another type.
// expect-gcc: conversion from .*attention_parameters.* to non-scalar type .*machine_parameters
// expect-clang: no viable conversion from .*attention_parameters.* to .*machine_parameters
#include <perfmodel/kernels/catalog/transfer.hpp>
namespace pm = perfmodel;

#ifdef MUST_FAIL
inline constexpr pm::machine_profile fitted = pm::catalog::attention_h100_sxm;
#else
inline constexpr pm::attention_profile fitted = pm::catalog::attention_h100_sxm;
#endif
