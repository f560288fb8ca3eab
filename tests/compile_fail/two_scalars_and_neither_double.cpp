// An operator over one scalar does not go with a machine over another, unless one is double.
// expect: two different scalars.*docs/troubleshooting.md#one-scalar
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
namespace pm = perfmodel;
inline const auto machine = pm::lift<pm::interval>(pm::catalog::h100_sxm);

#ifdef MUST_FAIL
inline const auto e =
    pm::roofline(machine, pm::lift<pm::dual<1>>(pm::gemm{.m = 1, .n = 8, .k = 8}));
#else
inline const auto e = pm::roofline(machine, pm::gemm{.m = 1, .n = 8, .k = 8});
#endif
