// Little's law: bandwidth by how many bytes are in flight.
//
// Measures: the time to read an array larger than the L2 with a chosen number of blocks per SM,
//   threads per block, independent loads per thread and bytes per load.
// How: each thread issues its loads back to back and waits for all before the next round, so that
//   at most loads x bytes x threads are in flight on the device; no more blocks than are resident
//   at once. The array is read once, cold.
// Tests: littles_law.hpp, bandwidth = bytes in flight / latency, until DRAM is saturated.
#include <cmath>

#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

constexpr int most_threads = 256;  ///< threads of a block

__device__ double sum_of(float v) {
  return v;
}
__device__ double sum_of(float2 v) {
  return static_cast<double>(v.x) + v.y;
}
__device__ double sum_of(float4 v) {
  return static_cast<double>(v.x) + v.y + v.z + v.w;
}
__device__ float folded(float v) {
  return v;
}
__device__ float folded(float2 v) {
  return v.x + v.y;
}
__device__ float folded(float4 v) {
  return v.x + v.y + v.z + v.w;
}

/// Rounds of `Loads` coalesced loads per thread; each thread stores its sum. `Exact` sums in double
/// precision, for the check; the timed form in single precision, which costs nothing. With fewer
/// registers than the launch bounds allow, the compiler would add some values before it issues the
/// other loads.
template <class Vector, int Loads, bool Exact>
__global__ void __launch_bounds__(most_threads, 1)
    flight_kernel(const Vector* __restrict__ x, std::size_t n, double* sums) {
  const std::size_t all = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t me = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  double exact = 0.0;
  float quick = 0.0F;
  // Unrolled, the loads of several rounds would be in flight at once.
#pragma unroll 1
  for (std::size_t base = me; base < n; base += all * Loads) {
    Vector v[Loads] = {};
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * all;
      if (i < n) v[u] = x[i];
    }
#pragma unroll
    for (int u = 0; u < Loads; ++u) {
      if (Exact) exact += sum_of(v[u]);
      if (!Exact) quick += folded(v[u]);
    }
  }
  sums[me] = Exact ? exact : static_cast<double>(quick);
}

struct flight {
  int load_bytes, loads;
  int (*resident)(unsigned threads);  ///< blocks of the timed form that an SM holds at once
  void (*timed)(const void*, std::size_t, double*, unsigned, unsigned, cudaStream_t);
  void (*exact)(const void*, std::size_t, double*, unsigned, unsigned, cudaStream_t);
};

template <class Vector, int Loads, bool Exact>
void launch(const void* x, std::size_t n, double* sums, unsigned grid, unsigned threads,
            cudaStream_t stream) {
  flight_kernel<Vector, Loads, Exact>
      <<<grid, threads, 0, stream>>>(static_cast<const Vector*>(x), n, sums);
  PERFMODEL_LAUNCHED("flight_kernel");
}

template <class Vector, int Loads>
int resident(unsigned threads) {
  int blocks = 0;
  PERFMODEL_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, reinterpret_cast<const void*>(flight_kernel<Vector, Loads, false>),
      static_cast<int>(threads), 0));
  return blocks;
}

template <class Vector, int Loads>
constexpr flight flight_of() {
  return {static_cast<int>(sizeof(Vector)), Loads, resident<Vector, Loads>,
          launch<Vector, Loads, false>, launch<Vector, Loads, true>};
}

constexpr flight flights[] = {
    flight_of<float, 1>(),  flight_of<float, 2>(),  flight_of<float, 4>(),  flight_of<float, 8>(),
    flight_of<float2, 1>(), flight_of<float2, 2>(), flight_of<float2, 4>(), flight_of<float2, 8>(),
    flight_of<float4, 1>(), flight_of<float4, 2>(), flight_of<float4, 4>(), flight_of<float4, 8>()};

class reader {
 public:
  explicit reader(const pv::session& s)
      : s_(s),
        // A copy to read while the other is in the L2 would be warm: one array, of eight L2s.
        x_(s.reduced ? 50000
                     : (std::max)(std::size_t{8} * s.l2_bytes(), std::size_t{512} << 20U) /
                           sizeof(float) / 4096 * 4096),
        sums_(static_cast<std::size_t>(s.sms()) * 8 * most_threads) {
    pv::random_fill(x_, 3);
    for (std::size_t i = 0; i < checked - (s.breaks("drop_load") ? 1 : 0); ++i) {
      reference_ += static_cast<double>(pv::random_value(3, i));
      magnitude_ += std::abs(static_cast<double>(pv::random_value(3, i)));
    }
  }

  /// The sum of a prefix that no round fills.
  void check(pv::recording& r, const flight& f) {
    const std::string name =
        std::to_string(f.loads) + " loads of " + std::to_string(f.load_bytes) + " bytes: the sum";
    r.check(name, std::abs(sum_of(f, f.exact) - reference_) / magnitude_, 1e-12);
    const double left_out = s_.breaks("drop_load_timed") ? x_.download(checked - 1, 1)[0] : 0.0;
    r.check(name + " as it is timed",
            std::abs(sum_of(f, f.timed) - left_out - reference_) / magnitude_, 1e-6);
  }

  void measure(pv::recording& r, const flight& f, unsigned threads, unsigned per_sm) {
    const unsigned grid = static_cast<unsigned>(s_.sms()) * per_sm;
    const std::size_t n = x_.bytes() / static_cast<std::size_t>(f.load_bytes);
    // Few bytes in flight are slow: read as much as takes a while, and still beyond the L2.
    const auto samples = pv::time_in_graph(s_.stream, s_.plan, [&](int) {
      f.timed(x_.data(), n, sums_.data(), grid, threads, s_.stream);
    });
    r.add({"bytes_in_flight_time",
           "s",
           {{"bytes_in_flight", static_cast<double>(f.loads) * f.load_bytes * threads * grid},
            {"blocks_per_sm", per_sm},
            {"threads_per_block", threads},
            {"loads_per_thread", f.loads},
            {"load_bytes", f.load_bytes},
            {"cache", "cold"},
            {"bytes_read", static_cast<double>(x_.bytes())},
            {"bytes_written", 8.0 * threads * grid},
            {"flop", 0.0}},
           samples});
  }

 private:
  static constexpr std::size_t checked = 40004;

  template <class Launch>
  double sum_of(const flight& f, Launch launch) {
    sums_.poison();
    const auto grid = static_cast<unsigned>(s_.sms());
    const unsigned threads = 64;
    launch(x_.data(), checked * sizeof(float) / static_cast<std::size_t>(f.load_bytes),
           sums_.data(), grid, threads, s_.stream);
    double sum = 0;
    for (const double v : sums_.download(0, std::size_t{grid} * threads)) sum += v;
    return sum;
  }

  const pv::session& s_;
  pv::device_buffer<float> x_;
  pv::device_buffer<double> sums_;
  double reference_ = 0, magnitude_ = 0;
};

void measure(const pv::session& s, pv::recording& r) {
  reader all(s);
  for (const flight& f : flights) {
    r.part(std::to_string(f.loads) + " loads of " + std::to_string(f.load_bytes) + " bytes", [&] {
      all.check(r, f);
      for (const unsigned threads : {32U, 128U, unsigned{most_threads}}) {
        for (const unsigned per_sm : {1U, 2U, 4U, 8U}) {
          if (s.reduced && (threads > 32 || per_sm > 1)) continue;
          // What waits for its turn has nothing in flight.
          if (f.resident(threads) < static_cast<int>(per_sm)) continue;
          all.measure(r, f, threads, per_sm);
        }
      }
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(argc, argv,
                            {.name = "littles_law",
                             .law = "littles_law.hpp: bandwidth = bytes in flight / latency",
                             .program = "validation/kernels/littles_law.cu",
                             .faults = {"drop_load", "drop_load_timed"}},
                            measure);
}
