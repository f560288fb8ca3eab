// A policy that lacks one of the four functions is told which.
// expect: this policy has no dram_bandwidth.*docs/troubleshooting.md#an-execution-policy
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
namespace pm = perfmodel;

struct mine {
  using hooks = pm::policy_hooks<mine>;

  template <class T>
  constexpr pm::flop_rate<T> matrix_rate(const pm::basic_accelerator<T>& a,
                                         const pm::basic_demand<T>& d) const {
    return peak(a, d.format);
  }
  template <class T>
  constexpr pm::flop_rate<T> vector_rate(const pm::basic_accelerator<T>& a,
                                         const pm::basic_demand<T>&) const {
    return vector_peak(a);
  }
#ifndef MUST_FAIL
  template <class T>
  constexpr pm::bandwidth<T> dram_bandwidth(const pm::basic_accelerator<T>& a,
                                            const pm::basic_demand<T>&) const {
    return a.dram.bandwidth;
  }
#endif
  template <class T>
  constexpr pm::duration<T> launch_time(const pm::basic_accelerator<T>&,
                                        const pm::basic_demand<T>&) const {
    return {};
  }
};
inline constexpr pm::gemm product{.m = 1, .n = 8192, .k = 8192};

// The twin has the function.
#ifdef MUST_FAIL
inline constexpr auto e = pm::roofline(pm::catalog::h100_sxm, product, mine{});
#else
inline constexpr auto e = pm::roofline(pm::catalog::h100_sxm, product, mine{});
#endif
