// Overlap: a GEMM concurrent with a copy, on two streams.
//
// Measures: the time of a GEMM by cuBLASLt alone, of a copy alone, and of both from the same start
//   until the later of them is done: for a GEMM limited by tensor cores and one limited by memory,
//   and transfers of 4 MB to 2 GB. The transfer is by the copy engine from page-locked host memory,
//   or by a kernel on an eighth of the SMs within device memory, as a communication kernel does it.
// How: a kernel that waits delays both streams until everything is enqueued, so that no launch is
//   in the time; then the transfer starts a microsecond before the GEMM. The three arrangements
//   take turns, so that clock drift affects all of them. The transfer's stream has the higher
//   priority, as in the frameworks.
// Tests: concurrent = max(compute, copy) + the time lost to interference; exposed = concurrent -
//   compute.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "cublaslt.cuh"
#include "experiment.cuh"
#include "ptx.cuh"

namespace perfmodel::validation::overlap {

#if PERFMODEL_HAS_CUBLASLT

using bf16 = __nv_bfloat16;

constexpr int copy_threads = 512, unrolled = 4;
constexpr std::uint32_t x_seed = 41, weight_seed = 42, byte_seed = 43;

__global__ void __launch_bounds__(copy_threads)
    copy_kernel(const uint4* __restrict__ from, uint4* __restrict__ to, std::size_t n) {
  const std::size_t tile = static_cast<std::size_t>(unrolled) * copy_threads;
  for (std::size_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
    uint4 held[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * copy_threads + threadIdx.x;
      if (i < n) held[u] = from[i];
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * copy_threads + threadIdx.x;
      if (i < n) to[i] = held[u];
    }
  }
}

class side_stream {
 public:
  side_stream() {
    int least = 0, greatest = 0;
    PERFMODEL_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    PERFMODEL_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest));
  }
  side_stream(const side_stream&) = delete;
  side_stream& operator=(const side_stream&) = delete;
  ~side_stream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

enum class arrangement { compute_alone, other_alone, together };
// In this order a product comes before each copy, and leaves nothing of it in the L2.
constexpr arrangement arrangements[] = {arrangement::other_alone, arrangement::compute_alone,
                                        arrangement::together};
constexpr const char* arrangement_names[] = {"compute_alone", "other_alone", "together"};

/// Timed transfers: from page-locked memory to the device, or within the device.
struct copies {
  bool engine;
  const unsigned char* from;
  unsigned char* to;
  int blocks;

  void launch(std::size_t bytes, cudaStream_t stream) const {
    if (engine) {
      PERFMODEL_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
    } else {
      copy_kernel<<<static_cast<unsigned>(blocks), copy_threads, 0, stream>>>(
          reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(to), bytes / 16);
      PERFMODEL_LAUNCHED("copy_kernel");
    }
  }
};

struct operands {
  int m, n, k;
  device_buffer<bf16> x, w, y;
  matrix_product<bf16> product;

  operands(int m_, int n_, int k_)
      : m(m_),
        n(n_),
        k(k_),
        x(size(m_, k_)),
        w(size(n_, k_)),
        y(size(m_, n_)),
        product(m_, n_, k_) {
    random_fill(x, x_seed);
    random_fill(w, weight_seed, scale());
  }
  static std::size_t size(int a, int b) {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
  }
  float scale() const { return std::sqrt(3.0F / static_cast<float>(k)); }
  void launch(cudaStream_t stream) const { product.launch(x.data(), w.data(), y.data(), stream); }
};

/// One run of an arrangement, in seconds.
inline double run(const session& s, const side_stream& side, const operands& compute,
                  const copies& other, std::size_t bytes, arrangement which) {
  for (std::uint64_t hold = s.reduced ? 1000 : 60000;; hold *= 4) {
    event held, start, copied, stop;
    validation::hold(s.stream, hold);
    held.record(s.stream);
    PERFMODEL_CUDA(cudaStreamWaitEvent(side.get(), held.get(), 0));
    // The copy begins first, by the microsecond that an event takes from one stream to another: a
    // product that holds every SM until its end would leave it none.
    start.record(side.get());
    PERFMODEL_CUDA(cudaStreamWaitEvent(s.stream, start.get(), 0));
    if (which != arrangement::compute_alone) other.launch(bytes, side.get());
    if (which != arrangement::other_alone) compute.launch(s.stream);
    copied.record(side.get());
    PERFMODEL_CUDA(cudaStreamWaitEvent(s.stream, copied.get(), 0));
    stop.record(s.stream);
    const bool in_time = !held.reached();
    stop.wait();
    // Again, and held for longer, where the host was not done before the streams were let go.
    if (in_time || s.reduced || hold > 1000000) return seconds_between(start, stop);
  }
}

/// Runs both together and compares both results.
inline void check(const session& s, recording& r, const side_stream& side, operands& compute,
                  const copies& other, std::span<const unsigned char> source,
                  std::span<unsigned char> landed, const std::string& name) {
  PERFMODEL_CUDA(cudaMemset(other.to, 0xFF, source.size()));
  compute.y.poison();
  run(s, side, compute, other, source.size() - (s.breaks("drop_copied_tail") ? 16 : 0),
      arrangement::together);
  PERFMODEL_CUDA(cudaDeviceSynchronize());
  PERFMODEL_CUDA(cudaMemcpy(landed.data(), other.to, source.size(), cudaMemcpyDeviceToHost));
  if (s.breaks("swap_copied_bytes")) std::swap(landed[1000], landed[1001]);
  r.check(name + ": bytes that differ",
          differing_bytes<unsigned char>(landed.first(source.size()), source), 0.0);
  std::vector<float> result;
  std::vector<double> reference;
  for (int i = 0; i < 8; ++i) {
    const auto row = static_cast<std::size_t>(i) * static_cast<std::size_t>(compute.m - 1) / 7;
    const auto got = compute.y.download(row * static_cast<std::size_t>(compute.n),
                                        static_cast<std::size_t>(compute.n));
    for (int j = 0; j < 8; ++j) {
      const auto column = static_cast<std::size_t>(j) * static_cast<std::size_t>(compute.n - 1) / 7;
      const std::size_t from =
          s.breaks("wrong_row") ? (row + 1) % static_cast<std::size_t>(compute.m) : row;
      double sum = 0;
      for (std::size_t c = 0; c < static_cast<std::size_t>(compute.k); ++c) {
        sum += static_cast<double>(
                   random_stored<bf16>(x_seed, from * static_cast<std::size_t>(compute.k) + c)) *
               random_stored<bf16>(weight_seed, column * static_cast<std::size_t>(compute.k) + c,
                                   compute.scale());
      }
      reference.push_back(sum);
      result.push_back(static_cast<float>(got[column]));
    }
  }
  r.check(name + ": product", relative_error<float>(result, reference), 6e-3);
}

inline void measure(const session& s, recording& r) {
  const std::size_t mb = std::size_t{1} << 20U;
  const std::size_t largest_pinned = s.reduced ? 8192 : 256 * mb;
  const std::size_t largest_device =
      s.reduced ? 8192 : (std::min)(2048 * mb, s.free_bytes() / 8 / mb * mb);
  pinned_buffer<unsigned char> host(largest_pinned);
  for (std::size_t i = 0; i < largest_pinned; i += 4) {
    // Random once, then repeated: the link does not look at the bytes.
    const std::uint32_t bits = i < 4 * mb ? random_bits(byte_seed, i) : 0;
    std::memcpy(
        host.data() + i,
        i < 4 * mb ? reinterpret_cast<const unsigned char*>(&bits) : host.data() + i - 4 * mb, 4);
  }
  device_buffer<unsigned char> source(largest_device),
      target((std::max)(largest_device, largest_pinned));
  for (std::size_t at = 0; at < largest_device; at += largest_pinned) {
    PERFMODEL_CUDA(cudaMemcpy(source.data() + at, host.data(),
                              (std::min)(largest_pinned, largest_device - at),
                              cudaMemcpyHostToDevice));
  }
  const copies by_engine{true, host.data(), target.data(), 0};
  const copies by_sms{false, source.data(), target.data(), (std::max)(1, s.sms() / 8)};
  const side_stream side;

  struct size {
    int m, n, k;
  };
  const std::vector<size> sizes = s.reduced
                                      ? std::vector<size>{{24, 48, 32}}
                                      : std::vector<size>{{8192, 8192, 8192}, {64, 28672, 8192}};
  const auto measure_with = [&](const size& of, operands& compute, const copies& other,
                                const std::string& name) {
    const auto& [m, n, k] = of;
    const std::size_t some = s.reduced ? 4096 + 48 : mb + 48;
    std::vector<unsigned char> landed(some);
    check(s, r, side, compute, other, {host.data(), some}, landed,
          name + " beside " + std::to_string(m) + " x " + std::to_string(n) + " x " +
              std::to_string(k));
    const std::vector<std::size_t> bytes =
        s.reduced      ? std::vector<std::size_t>{8192}
        : other.engine ? std::vector<std::size_t>{4 * mb, 16 * mb, 64 * mb, 256 * mb}
                       : std::vector<std::size_t>{32 * mb, 128 * mb, 512 * mb, 2048 * mb};
    for (const std::size_t copied : bytes) {
      if (!other.engine && copied > largest_device) {
        r.skip(name + " of " + std::to_string(copied / mb) + " MB", "device memory");
        continue;
      }
      std::vector<double> times[3];
      for (int i = -s.plan.warmups; i < s.plan.samples; ++i) {
        for (const arrangement a : arrangements) {
          const double t = run(s, side, compute, other, copied, a);
          if (i >= 0) times[static_cast<int>(a)].push_back(t);
        }
      }
      for (const arrangement a : arrangements) {
        r.add({"overlap_time",
               "s",
               {{"other", name},
                {"arrangement", arrangement_names[static_cast<int>(a)]},
                {"m", m},
                {"n", n},
                {"k", k},
                {"bytes", static_cast<double>(copied)},
                {"format", "bf16"},
                {"blocks", other.engine ? 0 : other.blocks},
                {"flop", a == arrangement::other_alone ? 0.0 : compute.product.flop()},
                {"cache", "cold"}},
               times[static_cast<int>(a)]});
      }
    }
  };
  for (const size& of : sizes) {
    operands compute(of.m, of.n, of.k);
    for (const copies& other : {by_engine, by_sms}) {
      const std::string name = other.engine ? "copy_engine" : "sm_copy";
      r.part(name + ", m = " + std::to_string(of.m),
             [&] { measure_with(of, compute, other, name); });
    }
  }
}

#else

inline void measure(const session&, recording& r) {
  r.skip("overlap_time", no_cublaslt);
}

#endif

}  // namespace perfmodel::validation::overlap
