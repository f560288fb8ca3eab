// PTX instructions without a C++ equivalent, each as a function: tensor-core mma, matrix loads from
// shared memory (ldmatrix), cp.async, loads that bypass the L1, the nanosecond timer. Source:
// NVIDIA, PTX ISA. This is the one header with inline assembly; on the emulated device
// (validation/emulator) the same functions compute in C++ what the PTX ISA specifies.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace perfmodel::validation::ptx {

#ifdef PERFMODEL_EMULATED
}  // namespace perfmodel::validation::ptx
#include "../../emulator/ptx_emulated.hpp"
namespace perfmodel::validation::ptx {
#else

/// d += a b, of one warp: a 16 x 16, b 16 x 8 in bf16, d 16 x 8 in fp32 (mma.m16n8k16). Each lane
/// holds fragments as the PTX ISA lays them out; register r of `a` and `b` holds two values, the
/// lower column (or row, of b) in the low half.
__device__ inline void mma_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/// Whether an SM of this compute capability (in tens) has mma.sync in fp8. ptxas accepts the
/// instruction from sm_89 on, but on sm_90 to sm_110 it emits fp16 multiplications and additions: a
/// correct result, and no peak. Test: machine_code counts QMMA.
constexpr bool has_fp8_mma(int architecture) {
  return architecture == 89 || architecture >= 120;
}

/// mma.m16n8k32 in fp8 e4m3, where has_fp8_mma; elsewhere d becomes NaN.
__device__ inline void mma_fp8(float (&d)[4], const std::uint32_t (&a)[4],
                               const std::uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200)
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  for (int i = 0; i < 4; ++i) d[i] = __int_as_float(static_cast<int>(0x7FFFFFFF | a[0] | b[0]));
#endif
}

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// ldmatrix.x4: four 8 x 8 matrices of 16-bit values from shared memory. Lanes 8 i .. 8 i + 7 hold
/// the addresses of the rows (16 bytes each, aligned) of matrix i. Register i of a lane gets two of
/// its values: row lane / 4, columns 2 (lane % 4) and the next.
__device__ inline void load_matrices(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
/// The load above, each matrix transposed.
__device__ inline void load_matrices_transposed(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

/// An 8 x 8 matrix of 16-bit values, held as load_matrices gives it, transposed.
__device__ inline std::uint32_t transpose_matrix(std::uint32_t matrix) {
  std::uint32_t r = 0;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;\n" : "=r"(r) : "r"(matrix));
  return r;
}

/// (a & b) ^ c and (a & b) | c, each in one instruction.
__device__ inline std::uint32_t and_xor(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t r = 0;
  asm("lop3.b32 %0, %1, %2, %3, 0x6A;\n" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
__device__ inline std::uint32_t and_or(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  std::uint32_t r = 0;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;\n" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}

/// 2^x to within 2^-22, results below 2^-126 as 0.
__device__ inline float power_of_two(float x) {
  float r = 0;
  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(r) : "f"(x));
  return r;
}

/// 16 bytes from global to shared memory, past the L1, while the thread goes on; zeros where
/// `there` is false. Both addresses are multiples of 16.
__device__ inline void copy_async(void* shared, const void* global, bool there = true) {
  const int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n"
               :
               : "r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}
/// cp.async.commit_group: closes this thread's group of loads.
__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}
/// cp.async.wait_group: waits until at most the `Still` newest groups of this thread are in flight.
/// Other threads see the data after a barrier.
template <int Still>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(Still) : "memory");
}

/// Cached in the L2 alone.
__device__ inline std::uint64_t load_past_l1(const std::uint64_t* p) {
  std::uint64_t v = 0;
  asm volatile("ld.global.cg.u64 %0, [%1];\n" : "=l"(v) : "l"(p) : "memory");
  return v;
}
/// Cached in L1 and L2.
__device__ inline std::uint64_t load_through_l1(const std::uint64_t* p) {
  std::uint64_t v = 0;
  asm volatile("ld.global.ca.u64 %0, [%1];\n" : "=l"(v) : "l"(p) : "memory");
  return v;
}

/// Nanoseconds of the device's wall clock, which moves in coarse steps.
__device__ inline std::uint64_t nanoseconds() {
  std::uint64_t t = 0;
  asm volatile("mov.u64 %0, %%globaltimer;\n" : "=l"(t) : : "memory");
  return t;
}

/// Number of the SM that this block runs on, from 0; below some hundreds.
__device__ inline unsigned sm_id() {
  unsigned id = 0;
  asm volatile("mov.u32 %0, %%smid;\n" : "=r"(id));
  return id;
}

#endif

}  // namespace perfmodel::validation::ptx
