// Kernels with known machine code, because inline PTX says it: against them check_machine_code
// tries what it takes for true of the encoding. has_<OPCODE>_<N>: N of them, on every architecture.
// The check has to accept accepted_<what>, and refuse refused_<what>.
#include <cuda_runtime.h>

#include <cstdint>

#include "../kernels/common/wgmma.cuh"

namespace pv = perfmodel::validation;
namespace ptx = pv::ptx;

extern "C" {

__global__ void has_FADD_5(float* x) {
  float v = *x;
#pragma unroll
  for (int i = 0; i < 5; ++i) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(v));
  *x = v;
}

__global__ void has_FFMA_10(float* x, float a, float b) {
  float v = *x;
#pragma unroll
  for (int i = 0; i < 10; ++i)
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(a), "f"(b));
  *x = v;
}

__global__ void has_DFMA_6(double* x, double a, double b) {
  double v = *x;
#pragma unroll
  for (int i = 0; i < 6; ++i) asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(v) : "d"(a), "d"(b));
  *x = v;
}

__global__ void has_LDG_3(const float* x, float* y) {
  float v = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    float u;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(u) : "l"(x + 100 * i));
    v += u;
  }
  *y = v;
}

/// cp.async into shared memory.
__global__ void has_LDGSTS_3(const uint4* x, uint4* y) {
  __shared__ uint4 s[96];
#pragma unroll
  for (int i = 0; i < 3; ++i) ptx::copy_async(s + 32 * i + threadIdx.x, x + 32 * i + threadIdx.x);
  ptx::commit_copies();
  ptx::wait_copies<0>();
  __syncthreads();
  *y = s[95 - threadIdx.x];
}

__global__ void has_STG_4(float* y, float v) {
#pragma unroll
  for (int i = 0; i < 4; ++i) asm volatile("st.global.f32 [%0], %1;" ::"l"(y + 100 * i), "f"(v));
}

__global__ void has_LDS_7(float* y) {
  __shared__ float s[1024];
  s[threadIdx.x] = *y;
  __syncthreads();
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(s));
  float v = 0;
#pragma unroll
  for (int i = 0; i < 7; ++i) {
    float u;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(u) : "r"(at + 256U * i + threadIdx.x * 4U));
    v += u;
  }
  *y = v;
}

/// Loads of 16 bytes, from both memories.
__global__ void has_wide_2(const float4* x, float4* y) {
  __shared__ float4 s[64];
  float4 u;
  asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(u.x), "=f"(u.y), "=f"(u.z), "=f"(u.w)
               : "l"(x));
  s[threadIdx.x] = u;
  __syncthreads();
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(u.x), "=f"(u.y), "=f"(u.z), "=f"(u.w)
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(s + threadIdx.x % 32))));
  *y = u;
}

struct operands {
  std::uint32_t a[4], b[2];
};

__global__ void has_HMMA_9(const operands* of_lane, float* y) {
  const operands o = of_lane[threadIdx.x];
  float d[4] = {};
#pragma unroll
  for (int i = 0; i < 9; ++i) ptx::mma_bf16(d, o.a, o.b);
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = d[i];
}

/// Present with has_fp8_mma; elsewhere there is none, whatever replaces it.
__global__ void has_QMMA_9(const operands* of_lane, float* y) {
  [[maybe_unused]] const operands o = of_lane[threadIdx.x];
  float d[4] = {};
#if __CUDA_ARCH__ >= 890
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(o.a[0]), "r"(o.a[1]), "r"(o.a[2]), "r"(o.a[3]), "r"(o.b[0]), "r"(o.b[1]));
  }
#endif
  for (int i = 0; i < 4; ++i) y[4 * threadIdx.x + i] = d[i];
}

/// On sm_90a; elsewhere none.
__global__ void has_HGMMA_3(std::uint64_t a, std::uint64_t b, float* y) {
#if PERFMODEL_HAS_WGMMA
  float d[64] = {};
  pv::wgmma::fence();
#pragma unroll
  for (int i = 0; i < 3; ++i) pv::wgmma::bf16_128(d, a, b, true);
  pv::wgmma::commit();
  pv::wgmma::wait<0>();
#pragma unroll
  for (int i = 0; i < 64; ++i) y[64 * threadIdx.x + i] = d[i];
#endif
}
__global__ void has_QGMMA_3(std::uint64_t a, std::uint64_t b, float* y) {
#if PERFMODEL_HAS_WGMMA
  float d[128] = {};
  pv::wgmma::fence();
#pragma unroll
  for (int i = 0; i < 3; ++i) pv::wgmma::fp8_256(d, a, b, true);
  pv::wgmma::commit();
  pv::wgmma::wait<0>();
#pragma unroll
  for (int i = 0; i < 128; ++i) y[128 * threadIdx.x + i] = d[i];
#endif
}

__global__ void has_local(float* x, int n) {
  float held[64];
  for (int i = 0; i < 64; ++i) held[i] = x[i];
  for (int i = 0; i < n; ++i) held[i * 7 % 64] += held[i % 64];
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += held[i];
  *x = sum;
}

/// A loop of three multiply-adds behind twelve others.
__global__ void has_loop(float* x, float a, float b, int n) {
  float v = *x;
#pragma unroll
  for (int i = 0; i < 12; ++i)
    asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(a), "f"(b));
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 3; ++j)
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v) : "f"(a), "f"(b));
  }
  *x = v;
}

__global__ void accepted_chase(std::uint64_t at, int n, std::uint64_t* out) {
#pragma unroll 4
  for (int i = 0; i < n; ++i) at = ptx::load_past_l1(reinterpret_cast<const std::uint64_t*>(at));
  *out = at;
}
/// By index: the address is computed between two loads.
__global__ void refused_chase(const std::uint64_t* base, std::uint64_t at, int n,
                              std::uint64_t* out) {
#pragma unroll 4
  for (int i = 0; i < n; ++i) at = ptx::load_past_l1(base + at);
  *out = at;
}

/// A clock that a branch on the loaded value goes before; and one that does not wait for the load.
__global__ void accepted_clock(std::uint64_t at, int n, long long* out) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    at = ptx::load_past_l1(reinterpret_cast<const std::uint64_t*>(at));
    if (at == 0) break;
    out[i] = clock64();
  }
}
__global__ void refused_clock(std::uint64_t at, int n, long long* out) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    at = ptx::load_past_l1(reinterpret_cast<const std::uint64_t*>(at));
    out[i] = clock64();
  }
  out[n] = static_cast<long long>(at);
}

/// Four loads ahead of four additions; and loads that wait for the addition before.
__global__ void accepted_flight(const float* x, int n, float* y) {
  float v = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    float u[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(u[j]) : "l"(x + 4 * i + j));
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(u[j]));
  }
  *y = v;
}
__global__ void refused_flight(const float* x, int n, float* y) {
  float v = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float u;
      asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(u) : "l"(x + 4 * i + static_cast<int>(v)));
      asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(u));
    }
  }
  *y = v;
}

}  // extern "C"
