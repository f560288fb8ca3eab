// wgmma, Hopper's tensor-core instructions for a warp group: four warps multiply operands in shared
// memory, asynchronously. Source: NVIDIA PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions". They exist on sm_90a alone: a kernel that uses them is empty
// elsewhere, and the host checks has_wgmma() first. The emulated device has none of them.
#pragma once

#include <cstdint>

#include "../algorithms/fragments.hpp"
#include "buffer.cuh"
#include "ptx.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) && !defined(PERFMODEL_EMULATED)
#define PERFMODEL_HAS_WGMMA 1
#else
#define PERFMODEL_HAS_WGMMA 0
#endif

namespace perfmodel::validation {

#if PERFMODEL_HAS_WGMMA
namespace wgmma {

/// Before the first product, and after registers of operands or sums were written.
__device__ inline void fence() {
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
}
/// Ends a group of products.
__device__ inline void commit() {
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
}
/// Waits until at most the `Still` newest groups are under way.
template <int Still>
__device__ inline void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(Still) : "memory");
}
/// Keeps the compiler from moving what it does with d across this place.
template <int N>
__device__ inline void hold(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
/// Shared memory written by ordinary stores is there for the tensor cores, after a barrier.
__device__ inline void publish_stores() {
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
}

/// setmaxnreg of a warp group, in a kernel with launch bounds of one block per SM: reduces its
/// registers per thread, or raises them once the other warp groups have released theirs.
template <int Registers>
__device__ inline void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(Registers));
}
template <int Registers>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(Registers));
}

#define PERFMODEL_D4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define PERFMODEL_D16(d, i) \
  PERFMODEL_D4(d, i), PERFMODEL_D4(d, (i) + 4), PERFMODEL_D4(d, (i) + 8), PERFMODEL_D4(d, (i) + 12)
#define PERFMODEL_D32(d, i) PERFMODEL_D16(d, i), PERFMODEL_D16(d, (i) + 16)

// Each: d = a b, or d += a b where `onto`. d holds 64 rows, 16 a warp: d[4 j + i] is element
// place_of_d(lane, i) of columns 8 j to 8 j + 7. a and b: operand_descriptor.

/// 64 x 256, k = 16, both operands with rows along k.
__device__ inline void bf16_256(float (&d)[128], std::uint64_t a, std::uint64_t b, bool onto) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127"
      "}, %128, %129, p, 1, 1, 0, 0;\n}\n"
      : PERFMODEL_D32(d, 0), PERFMODEL_D32(d, 32), PERFMODEL_D32(d, 64), PERFMODEL_D32(d, 96)
      : "l"(a), "l"(b), "r"(static_cast<int>(onto)));
}
/// 64 x 256 in e4m3, k = 32.
__device__ inline void fp8_256(float (&d)[128], std::uint64_t a, std::uint64_t b, bool onto) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127"
      "}, %128, %129, p, 1, 1;\n}\n"
      : PERFMODEL_D32(d, 0), PERFMODEL_D32(d, 32), PERFMODEL_D32(d, 64), PERFMODEL_D32(d, 96)
      : "l"(a), "l"(b), "r"(static_cast<int>(onto)));
}
/// 64 x 128, k = 16, both operands with rows along k.
__device__ inline void bf16_128(float (&d)[64], std::uint64_t a, std::uint64_t b, bool onto) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, 1, 1, 0, 0;\n}\n"
      : PERFMODEL_D32(d, 0), PERFMODEL_D32(d, 32)
      : "l"(a), "l"(b), "r"(static_cast<int>(onto)));
}
/// 64 x 128, k = 16, with a in registers (place_of_a<2>) and the rows of b along n.
__device__ inline void bf16_128_held(float (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b,
                                     bool onto) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"
      : PERFMODEL_D32(d, 0), PERFMODEL_D32(d, 32)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(onto)));
}

#undef PERFMODEL_D4
#undef PERFMODEL_D16
#undef PERFMODEL_D32

}  // namespace wgmma
#endif

template <class Number>
__global__ void has_wgmma_kernel(Number* out) {
  *out = PERFMODEL_HAS_WGMMA;
}

/// Whether this device runs code that was compiled for sm_90a.
inline bool has_wgmma() {
  const device_buffer<int> is(1);
  has_wgmma_kernel<int><<<1, 1>>>(is.data());
  PERFMODEL_LAUNCHED("has_wgmma_kernel");
  return is.download().front() == 1;
}

}  // namespace perfmodel::validation
