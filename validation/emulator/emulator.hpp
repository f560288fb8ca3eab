// A CPU that behaves as a CUDA device does, slowly: the programs of validation/kernels run on it,
// so that their kernels, checks and error paths are tested without a GPU. It measures no time. The
// threads of a block are fibers that run one after the other, each up to its next barrier; so a
// missing barrier shows, every time. Blocks run one after the other, streams at once.
//
// Included before everything else (-include), over the toolkit's own headers. What it leaves out:
// races between blocks, asynchrony of streams, textures, cooperative launches, clusters.
#pragma once

#define PERFMODEL_EMULATED 1
#define __shared__ static  // one block at a time: its shared memory is a static variable

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __global__
#define __global__
#undef __device__
#define __device__
#undef __host__
#define __host__
#undef __constant__
#define __constant__

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace emulator {

struct configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
  configuration(dim3 g, dim3 b, std::size_t s = 0, cudaStream_t st = nullptr)
      : grid(g), block(b), shared(s), stream(st) {}
};

struct thread {
  uint3 index{}, block{};
  dim3 block_size, grid_size;
  unsigned lane = 0;
};

thread& current();
void* dynamic_shared();
/// Waits for every thread of the block that has not returned.
void wait_for_block();
/// Waits for the lanes of `mask` in this warp that have not returned.
void wait_for_warp(unsigned mask);
/// Puts `bytes` where the other lanes of the warp see them; [lane] of the result are a lane's.
/// Between two exchanges lies a wait_for_warp.
struct slot {
  alignas(16) unsigned char bytes[256];
};
slot* warp_slots();
unsigned live_lanes();

/// A thread's cp.async transfers of 16 bytes: those not yet committed to a group, and the groups.
struct copy {
  void* to;
  const void* from;  ///< null: zeros
};
struct pending_copies {
  std::vector<copy> open;
  std::deque<std::vector<copy>> groups;
};
pending_copies& copies();

/// Does it now, or notes it for the graph that the stream captures.
void enqueue(cudaStream_t stream, std::function<void()> what);

void run(const void* kernel, const configuration& c, std::function<void()> thread_body);

template <class... Parameters, class... Arguments>
void launch(const void* kernel, const configuration& c, void (*f)(Parameters...),
            Arguments... arguments) {
  run(kernel, c, [=] { f(static_cast<Parameters>(arguments)...); });
}

/// Every lane's value, seen by all of `mask`: calls take(slots) between two barriers.
template <class T, class Take>
auto exchange(unsigned mask, const T& mine, Take take) {
  static_assert(sizeof(T) <= sizeof(slot));
  std::memcpy(warp_slots()[current().lane].bytes, &mine, sizeof(T));
  wait_for_warp(mask);
  const auto out = take([](unsigned lane) {
    T v;
    std::memcpy(&v, warp_slots()[lane].bytes, sizeof(T));
    return v;
  });
  wait_for_warp(mask);
  return out;
}

}  // namespace emulator

#define threadIdx (::emulator::current().index)
#define blockIdx (::emulator::current().block)
#define blockDim (::emulator::current().block_size)
#define gridDim (::emulator::current().grid_size)
inline constexpr int warpSize = 32;

inline void __syncthreads() {
  ::emulator::wait_for_block();
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU) {
  ::emulator::wait_for_warp(mask);
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) {}
inline unsigned __activemask() {
  return ::emulator::live_lanes();
}

template <class T>
T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
  return ::emulator::exchange(mask, v, [&](auto of) {
    const unsigned lane = ::emulator::current().lane, w = static_cast<unsigned>(width);
    return of(lane / w * w + static_cast<unsigned>(from) % w);
  });
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int with, int width = 32) {
  return ::emulator::exchange(mask, v, [&](auto of) {
    const unsigned lane = ::emulator::current().lane, w = static_cast<unsigned>(width);
    const unsigned from = lane ^ static_cast<unsigned>(with);
    return from / w > lane / w ? v : of(from);
  });
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
  return ::emulator::exchange(mask, v, [&](auto of) {
    const unsigned lane = ::emulator::current().lane, w = static_cast<unsigned>(width);
    return lane % w + by < w ? of(lane + by) : v;
  });
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
  return ::emulator::exchange(mask, v, [&](auto of) {
    const unsigned lane = ::emulator::current().lane, w = static_cast<unsigned>(width);
    return lane % w >= by ? of(lane - by) : v;
  });
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const unsigned live = ::emulator::live_lanes() & mask;
  return ::emulator::exchange(mask, predicate, [&](auto of) {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((live >> lane & 1U) != 0 && of(lane) != 0) bits |= 1U << lane;
    }
    return bits;
  });
}
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}
template <class T>
T __reduce_add_sync(unsigned mask, T v) {
  return ::emulator::exchange(mask, v, [&](auto of) {
    T sum{};
    for (unsigned lane = 0; lane < 32; ++lane) sum += (mask >> lane & 1U) != 0 ? of(lane) : T{};
    return sum;
  });
}

inline int __syncthreads_or(int predicate) {
  static int any;
  __syncthreads();
  any = 0;
  __syncthreads();
  any |= predicate != 0;
  __syncthreads();
  return any;
}
inline int __syncthreads_count(int predicate) {
  static int count;
  __syncthreads();
  count = 0;
  __syncthreads();
  count += predicate != 0;
  __syncthreads();
  return count;
}

// One thread runs at a time, so these need no care.
template <class T, class U>
T atomicAdd(T* at, U by) {
  const T old = *at;
  *at = static_cast<T>(old + static_cast<T>(by));
  return old;
}
template <class T, class U>
T atomicMax(T* at, U with) {
  const T old = *at;
  *at = (std::max)(old, static_cast<T>(with));
  return old;
}
template <class T, class U>
T atomicMin(T* at, U with) {
  const T old = *at;
  *at = (std::min)(old, static_cast<T>(with));
  return old;
}
template <class T, class U>
T atomicExch(T* at, U with) {
  const T old = *at;
  *at = static_cast<T>(with);
  return old;
}
template <class T, class U>
T atomicOr(T* at, U with) {
  const T old = *at;
  *at = static_cast<T>(old | static_cast<T>(with));
  return old;
}
template <class T, class U, class V>
T atomicCAS(T* at, U expected, V with) {
  const T old = *at;
  if (old == static_cast<T>(expected)) *at = static_cast<T>(with);
  return old;
}

template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}
template <class T>
T __ldca(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
T __ldcv(const T* p) {
  return *p;
}
template <class T>
T __ldlu(const T* p) {
  return *p;
}
template <class T>
void __stcg(T* p, T v) {
  *p = v;
}
template <class T>
void __stcs(T* p, T v) {
  *p = v;
}
template <class T>
void __stwt(T* p, T v) {
  *p = v;
}

long long clock64();

inline float __expf(float x) {
  return std::exp(x);
}
inline float __exp2f(float x) {
  return std::exp2(x);
}
inline float __logf(float x) {
  return std::log(x);
}
inline float __log2f(float x) {
  return std::log2(x);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float __frcp_rn(float a) {
  return 1.0F / a;
}
inline float __fmaf_rn(float a, float b, float c) {
  return std::fma(a, b, c);
}
inline double __fma_rn(double a, double b, double c) {
  return std::fma(a, b, c);
}
inline float rsqrtf(float a) {
  return 1.0F / std::sqrt(a);
}
inline float __fsqrt_rn(float a) {
  return std::sqrt(a);
}
inline float __sinf(float a) {
  return std::sin(a);
}
inline float __cosf(float a) {
  return std::cos(a);
}
inline float __powf(float a, float b) {
  return std::pow(a, b);
}
inline void __sincosf(float a, float* s, float* c) {
  *s = std::sin(a);
  *c = std::cos(a);
}
inline float __saturatef(float a) {
  return a < 0.0F ? 0.0F : a > 1.0F ? 1.0F : a;
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(y) << 32U | x;
  unsigned out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    out |= static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7U)) & 0xFFU) << (8 * i);
  }
  return out;
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __popcll(unsigned long long x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32U);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline std::size_t __cvta_generic_to_shared(const void* p) {
  return reinterpret_cast<std::size_t>(p);
}
