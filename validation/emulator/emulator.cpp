#include "emulator.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

// --- blocks, warps and threads -------------------------------------------------------------------

namespace emulator {
namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10U;
constexpr std::size_t most_shared = std::size_t{227} << 10U;

enum class wait { none, block, warp, finished };

struct fiber {
  ucontext_t context{};  ///< context at its start
  jmp_buf place{};       ///< point at which it resumes; a jump costs no system call, unlike a swap
  bool begun = false;
  std::unique_ptr<unsigned char[]> stack;
  thread is{};
  wait waits = wait::none;
  unsigned mask = 0;
  pending_copies copies;
};

struct warp {
  slot slots[32];
  unsigned live = 0;
};

std::vector<std::unique_ptr<fiber>> fibers;
std::vector<warp> warps;
std::vector<unsigned char> shared_memory;
jmp_buf scheduler;
fiber* running = nullptr;
const std::function<void()>* body = nullptr;
std::map<const void*, std::size_t> shared_allowed;
cudaError_t last_error = cudaSuccess;

std::size_t warp_of(const thread& t) {
  return (t.index.x + t.block_size.x * (t.index.y + t.block_size.y * t.index.z)) / 32;
}

[[noreturn]] void die(const char* why) {
  std::fprintf(stderr, "emulator: %s (block %u %u %u, thread %u %u %u)\n", why, running->is.block.x,
               running->is.block.y, running->is.block.z, running->is.index.x, running->is.index.y,
               running->is.index.z);
  std::exit(1);
}

void give_way(wait w) {
  running->waits = w;
  fiber* self = running;
  if (_setjmp(self->place) == 0) _longjmp(scheduler, 1);
}

/// Lets a fiber run until it gives way.
void resume(fiber& f) {
  running = &f;
  if (_setjmp(scheduler) != 0) return;
  if (f.begun) _longjmp(f.place, 1);
  f.begun = true;
  setcontext(&f.context);
}

void enter() {
  (*body)();
  warps[warp_of(running->is)].live &= ~(1U << running->is.lane);
  running->waits = wait::finished;
  _longjmp(scheduler, 1);
}

/// Releases the threads that wait at a complete barrier; returns whether there was one.
bool release(std::size_t n) {
  bool any = false;
  for (std::size_t w = 0; w * 32 < n; ++w) {
    for (std::size_t i = w * 32; i < (std::min)(n, (w + 1) * 32); ++i) {
      if (fibers[i]->waits != wait::warp) continue;
      const unsigned wanted = fibers[i]->mask & warps[w].live;
      unsigned there = 0;
      for (std::size_t j = w * 32; j < (std::min)(n, (w + 1) * 32); ++j) {
        if (fibers[j]->waits == wait::warp && fibers[j]->mask == fibers[i]->mask) {
          there |= 1U << (j % 32);
        }
      }
      if ((there & wanted) != wanted) continue;
      const unsigned mask = fibers[i]->mask;
      for (std::size_t j = w * 32; j < (std::min)(n, (w + 1) * 32); ++j) {
        if (fibers[j]->waits == wait::warp && fibers[j]->mask == mask) {
          fibers[j]->waits = wait::none;
        }
      }
      any = true;
    }
  }
  if (any) return true;
  for (std::size_t i = 0; i < n; ++i) {
    if (fibers[i]->waits != wait::block && fibers[i]->waits != wait::finished) return false;
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (fibers[i]->waits == wait::block) {
      fibers[i]->waits = wait::none;
      any = true;
    }
  }
  return any;
}

void run_block(const configuration& c, uint3 block) {
  const std::size_t n = static_cast<std::size_t>(c.block.x) * c.block.y * c.block.z;
  while (fibers.size() < n) {
    fibers.push_back(std::make_unique<fiber>());
    fibers.back()->stack.reset(new unsigned char[stack_bytes]);
    getcontext(&fibers.back()->context);
  }
  warps.resize((n + 31) / 32);
  for (warp& w : warps) w.live = 0;
  shared_memory.assign(c.shared + 1024, 0xFF);  // NaN until it is written
  std::size_t i = 0;
  for (unsigned z = 0; z < c.block.z; ++z) {
    for (unsigned y = 0; y < c.block.y; ++y) {
      for (unsigned x = 0; x < c.block.x; ++x, ++i) {
        fiber& f = *fibers[i];
        f.is = {{x, y, z}, block, c.block, c.grid, static_cast<unsigned>(i % 32)};
        f.waits = wait::none;
        f.begun = false;
        f.copies = {};
        warps[i / 32].live |= 1U << (i % 32);
        f.context.uc_stack.ss_sp = f.stack.get();
        f.context.uc_stack.ss_size = stack_bytes;
        f.context.uc_link = nullptr;
        makecontext(&f.context, enter, 0);
      }
    }
  }
  for (;;) {
    bool all = true;
    for (std::size_t j = 0; j < n; ++j) {
      if (fibers[j]->waits == wait::none) {
        resume(*fibers[j]);
      }
      all = all && fibers[j]->waits == wait::finished;
    }
    if (all) return;
    if (!release(n)) {
      bool ready = false;
      for (std::size_t j = 0; j < n; ++j) ready = ready || fibers[j]->waits == wait::none;
      if (!ready) die("a barrier that not every thread reaches");
    }
  }
}

void run_grid(const configuration& c, const std::function<void()>& thread_body) {
  body = &thread_body;
  for (unsigned z = 0; z < c.grid.z; ++z) {
    for (unsigned y = 0; y < c.grid.y; ++y) {
      for (unsigned x = 0; x < c.grid.x; ++x) run_block(c, {x, y, z});
    }
  }
}

}  // namespace

pending_copies& copies() {
  return running->copies;
}
thread& current() {
  return running->is;
}
void* dynamic_shared() {
  const auto at = reinterpret_cast<std::uintptr_t>(shared_memory.data());
  return reinterpret_cast<void*>((at + 1023) / 1024 * 1024);
}
void wait_for_block() {
  give_way(wait::block);
}
void wait_for_warp(unsigned mask) {
  if ((mask >> running->is.lane & 1U) == 0) die("a lane waits with a mask that leaves it out");
  running->mask = mask;
  give_way(wait::warp);
}
slot* warp_slots() {
  return warps[warp_of(running->is)].slots;
}
unsigned live_lanes() {
  return warps[warp_of(running->is)].live;
}

}  // namespace emulator

using namespace emulator;

long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// --- the runtime's functions that the programs call ----------------------------------------------

namespace {

struct graph {
  std::vector<std::function<void()>> nodes;
};

std::map<cudaStream_t, std::unique_ptr<graph>> capturing;
std::map<const void*, std::size_t> allocations;
std::size_t allocated = 0;
std::size_t device_bytes() {
  static const char* given = std::getenv("PERFMODEL_EMULATED_BYTES");
  static const std::size_t bytes =
      given == nullptr ? std::size_t{4} << 30U : std::strtoull(given, nullptr, 10);
  return bytes;
}

struct emulated_event {
  long long ns = 0;
  bool asked = false;  ///< since it was recorded
};

cudaError_t report(cudaError_t e) {
  if (e != cudaSuccess) last_error = e;
  return e;
}

}  // namespace

void emulator::enqueue(cudaStream_t stream, std::function<void()> what) {
  const auto at = capturing.find(stream);
  if (at == capturing.end()) {
    what();
  } else {
    at->second->nodes.push_back(std::move(what));
  }
}

void emulator::run(const void* kernel, const configuration& c, std::function<void()> thread_body) {
  const std::size_t threads = static_cast<std::size_t>(c.block.x) * c.block.y * c.block.z;
  const auto allowed = shared_allowed.find(kernel);
  const std::size_t shared =
      allowed == shared_allowed.end() ? std::size_t{48} << 10U : allowed->second;
  if (threads == 0 || threads > 1024 || c.block.z > 64 || c.grid.x == 0 || c.grid.y == 0 ||
      c.grid.z == 0 || c.grid.x > 0x7FFFFFFFU || c.grid.y > 65535 || c.grid.z > 65535) {
    report(cudaErrorInvalidConfiguration);
    return;
  }
  if (c.shared > shared) {
    report(cudaErrorInvalidValue);
    return;
  }
  enqueue(c.stream, [c, f = std::move(thread_body)] { run_grid(c, f); });
}

#define EMULATED extern "C" cudaError_t CUDARTAPI

EMULATED cudaMalloc(void** out, std::size_t bytes) {
  if (bytes > device_bytes() - (std::min)(device_bytes(), allocated))
    return report(cudaErrorMemoryAllocation);
  *out = nullptr;
  if (bytes == 0) return cudaSuccess;
  *out = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*out == nullptr) return report(cudaErrorMemoryAllocation);
  allocations[*out] = bytes;
  allocated += bytes;
  return cudaSuccess;
}
EMULATED cudaFree(void* p) {
  const auto at = allocations.find(p);
  if (p != nullptr && at == allocations.end()) return report(cudaErrorInvalidValue);
  if (p != nullptr) {
    allocated -= at->second;
    allocations.erase(at);
  }
  std::free(p);
  return cudaSuccess;
}
EMULATED cudaHostAlloc(void** out, std::size_t bytes, unsigned) {
  *out = std::malloc(bytes);
  return cudaSuccess;
}
EMULATED cudaMallocHost(void** out, std::size_t bytes) {
  return cudaHostAlloc(out, bytes, 0);
}
EMULATED cudaFreeHost(void* p) {
  std::free(p);
  return cudaSuccess;
}
EMULATED cudaMemcpy(void* to, const void* from, std::size_t n, cudaMemcpyKind) {
  std::memcpy(to, from, n);
  return cudaSuccess;
}
EMULATED cudaMemcpyAsync(void* to, const void* from, std::size_t n, cudaMemcpyKind,
                         cudaStream_t s) {
  enqueue(s, [=] { std::memcpy(to, from, n); });
  return cudaSuccess;
}
EMULATED cudaMemset(void* to, int v, std::size_t n) {
  std::memset(to, v, n);
  return cudaSuccess;
}
EMULATED cudaMemsetAsync(void* to, int v, std::size_t n, cudaStream_t s) {
  enqueue(s, [=] { std::memset(to, v, n); });
  return cudaSuccess;
}
EMULATED cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = device_bytes();
  *free = *total - (std::min)(*total, allocated);
  return cudaSuccess;
}

EMULATED cudaGetDeviceCount(int* n) {
  *n = 1;
  return cudaSuccess;
}
EMULATED cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : report(cudaErrorInvalidDevice);
}
EMULATED cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
EMULATED cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  std::memset(p, 0, sizeof *p);
  std::strcpy(p->name, "emulated");
  p->totalGlobalMem = device_bytes();
  p->major = 9;
  p->minor = 0;
  p->multiProcessorCount = 2;
  p->l2CacheSize = 64 << 10;
  p->sharedMemPerMultiprocessor = 228 << 10;
  p->sharedMemPerBlockOptin = most_shared;
  p->sharedMemPerBlock = 48 << 10;
  p->maxThreadsPerMultiProcessor = 2048;
  p->maxThreadsPerBlock = 1024;
  p->warpSize = 32;
  p->memoryBusWidth = 1024;
  return cudaSuccess;
}
EMULATED cudaDeviceGetAttribute(int* v, cudaDeviceAttr which, int) {
  switch (which) {
    case cudaDevAttrComputeCapabilityMajor: *v = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *v = 0; break;
    case cudaDevAttrClockRate: *v = 1000000; break;
    case cudaDevAttrMemoryClockRate: *v = 1000000; break;
    case cudaDevAttrMultiProcessorCount: *v = 2; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = static_cast<int>(most_shared); break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *v = 2048; break;
    default:
      std::fprintf(stderr, "emulator: attribute %d\n", which);
      return report(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}
EMULATED cudaDeviceGetPCIBusId(char* out, int n, int) {
  std::snprintf(out, static_cast<std::size_t>(n), "0000:00:00.0");
  return cudaSuccess;
}
EMULATED cudaDriverGetVersion(int* v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
EMULATED cudaRuntimeGetVersion(int* v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
EMULATED cudaDeviceSynchronize() {
  return cudaSuccess;
}
EMULATED cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}
EMULATED cudaPeekAtLastError() {
  return last_error;
}
extern "C" const char* CUDARTAPI cudaGetErrorString(cudaError_t e) {
  static std::string text;
  text = "CUDA error " + std::to_string(static_cast<int>(e));
  return text.c_str();
}

EMULATED cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) {
  *s = reinterpret_cast<cudaStream_t>(new int);
  return cudaSuccess;
}
EMULATED cudaStreamCreate(cudaStream_t* s) {
  return cudaStreamCreateWithFlags(s, 0);
}
EMULATED cudaStreamCreateWithPriority(cudaStream_t* s, unsigned f, int) {
  return cudaStreamCreateWithFlags(s, f);
}
EMULATED cudaStreamDestroy(cudaStream_t s) {
  delete reinterpret_cast<int*>(s);
  return cudaSuccess;
}
EMULATED cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
EMULATED cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  return cudaSuccess;
}

EMULATED cudaEventCreate(cudaEvent_t* e) {
  *e = reinterpret_cast<cudaEvent_t>(new emulated_event);
  return cudaSuccess;
}
EMULATED cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) {
  *e = reinterpret_cast<cudaEvent_t>(new emulated_event);
  return cudaSuccess;
}
EMULATED cudaEventDestroy(cudaEvent_t e) {
  delete reinterpret_cast<emulated_event*>(e);
  return cudaSuccess;
}
EMULATED cudaEventRecord(cudaEvent_t e, cudaStream_t) {
  *reinterpret_cast<emulated_event*>(e) = {clock64(), false};
  return cudaSuccess;
}
EMULATED cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
EMULATED cudaEventQuery(cudaEvent_t e) {
  // Not ready at first, and remembered as an error, as on a device.
  if (std::exchange(reinterpret_cast<emulated_event*>(e)->asked, true)) return cudaSuccess;
  return last_error = cudaErrorNotReady;
}
EMULATED cudaEventElapsedTime(float* ms, cudaEvent_t a, cudaEvent_t b) {
  const long long ns =
      reinterpret_cast<emulated_event*>(b)->ns - reinterpret_cast<emulated_event*>(a)->ns;
  *ms = 1e-6F * static_cast<float>(ns < 1000 ? 1000 : ns);
  return cudaSuccess;
}

EMULATED cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode) {
  if (s == nullptr || capturing.count(s) != 0) return report(cudaErrorStreamCaptureUnsupported);
  capturing[s] = std::make_unique<graph>();
  return cudaSuccess;
}
EMULATED cudaStreamEndCapture(cudaStream_t s, cudaGraph_t* out) {
  const auto at = capturing.find(s);
  if (at == capturing.end()) return report(cudaErrorIllegalState);
  *out = reinterpret_cast<cudaGraph_t>(at->second.release());
  capturing.erase(at);
  return cudaSuccess;
}
EMULATED cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t g, unsigned long long) {
  *out = reinterpret_cast<cudaGraphExec_t>(new graph(*reinterpret_cast<graph*>(g)));
  return cudaSuccess;
}
EMULATED cudaGraphDestroy(cudaGraph_t g) {
  delete reinterpret_cast<graph*>(g);
  return cudaSuccess;
}
EMULATED cudaGraphExecDestroy(cudaGraphExec_t g) {
  delete reinterpret_cast<graph*>(g);
  return cudaSuccess;
}
EMULATED cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t) {
  for (const auto& node : reinterpret_cast<graph*>(g)->nodes) node();
  return cudaSuccess;
}

EMULATED cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute which, int v) {
  if (which == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (v < 0 || static_cast<std::size_t>(v) > most_shared) return report(cudaErrorInvalidValue);
    shared_allowed[kernel] = static_cast<std::size_t>(v);
  }
  return cudaSuccess;
}
EMULATED cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void*, int threads,
                                                       std::size_t shared) {
  const std::size_t by_shared = shared == 0 ? 32 : (std::size_t{228} << 10U) / (shared + 1024);
  *n = static_cast<int>((std::min)(by_shared, static_cast<std::size_t>(2048 / threads)));
  return cudaSuccess;
}
EMULATED cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* f, int threads,
                                                                std::size_t shared, unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, f, threads, shared);
}
EMULATED cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -1;
  return cudaSuccess;
}
