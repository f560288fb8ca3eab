// Memory stream: bandwidth of read, write, copy and triad kernels, by working set.
//
// Measures: the time of read, write, copy and triad (d = a + s b) over working sets of 64 KB to 8
//   GB. Cold: the kernels rotate through buffers that exceed five L2s in all. Warm: they repeat on
//   one buffer, which stays in the L2 as long as it fits. And the L2's own bandwidth (method:
//   one_kernel): one long kernel reads a set of a sixteenth of an L2 to three L2s repeatedly, past
//   the L1; the step where it no longer fits is the L2 knee. And the copy of the CUDA runtime,
//   cudaMemcpyAsync within the device (kernel: copy, method: memcpy), cold.
// How: every thread moves 16 bytes at a time, four of them in flight before the first is used; a
//   chain of launches in a CUDA graph, so that no CPU time is in the measurement. At small sizes
//   the time is that of a launch, which a model has to predict as well; the long kernel shows none
//   of it.
// Tests: roofline, time >= bytes / bandwidth of the level that holds them; launch floor.
#include <cmath>

#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

constexpr int threads = 512;
constexpr int unrolled = 4;

enum class kind { read, write, copy, triad };

struct shape {
  kind what;
  const char* name;
  int arrays_read, arrays_written;
};
constexpr shape shapes[] = {{kind::read, "read", 1, 0},
                            {kind::write, "write", 0, 1},
                            {kind::copy, "copy", 1, 1},
                            {kind::triad, "triad", 2, 1}};

__device__ float4 combine(float4 a, float4 b, float s) {
  return {a.x + s * b.x, a.y + s * b.y, a.z + s * b.z, a.w + s * b.w};
}

/// The blocks take turns at tiles of `unrolled * threads` vectors.
template <kind What>
__global__ void __launch_bounds__(threads, 1)
    stream_kernel(const float4* __restrict__ a, const float4* __restrict__ b,
                  float4* __restrict__ d, std::size_t n, float s) {
  const std::size_t tile = static_cast<std::size_t>(unrolled) * threads;
  float4 sum{0.0F, 0.0F, 0.0F, 0.0F};
  for (std::size_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
    float4 x[unrolled];
    float4 y[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * threads + threadIdx.x;
      x[u] = {s, s, s, s};
      if (What != kind::write && i < n) x[u] = a[i];
      if (What == kind::triad && i < n) y[u] = b[i];
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * threads + threadIdx.x;
      if (i >= n) continue;
      if (What == kind::read) sum = combine(sum, x[u], 1.0F);
      if (What == kind::triad) x[u] = combine(x[u], y[u], s);
      if (What != kind::read) d[i] = x[u];
    }
  }
  // False in every timed launch (`unreached`), yet no compiler can know: the loads have to happen.
  if (What == kind::read && sum.x + sum.y + sum.z + sum.w == s) d[0] = sum;
}

/// Reads the set of `tiles` tiles `passes` times: each block takes the next tile, cyclically.
/// Bypasses the L1, which would hold a block's share of a small set.
__global__ void __launch_bounds__(threads, 2)
    again_kernel(const float4* __restrict__ a, unsigned tiles, unsigned passes, float* sums) {
  constexpr unsigned tile = unrolled * threads;
  float4 sum{0.0F, 0.0F, 0.0F, 0.0F};
#pragma unroll 1
  for (unsigned t = blockIdx.x; t < tiles * passes; t += gridDim.x) {
    const float4* const from = a + static_cast<std::size_t>(t % tiles) * tile + threadIdx.x;
    float4 x[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) x[u] = __ldcg(from + u * threads);
#pragma unroll
    for (int u = 0; u < unrolled; ++u) sum = combine(sum, x[u], 1.0F);
  }
  sums[blockIdx.x * threads + threadIdx.x] = sum.x + sum.y + sum.z + sum.w;
}

/// More than any sum of what is read: with it a read stores nothing.
constexpr float unreached = 1e30F;

/// A block for each tile, and no more than `blocks`.
unsigned grid_of(std::size_t floats, int blocks) {
  const std::size_t tile = static_cast<std::size_t>(4 * unrolled) * threads;
  const std::size_t tiles = (floats + tile - 1) / tile;
  return static_cast<unsigned>((std::min)(tiles, static_cast<std::size_t>(blocks)));
}

struct arrays {
  pv::device_buffer<float> a, b, d;
  explicit arrays(std::size_t floats) : a(floats), b(floats), d(floats) {
    pv::random_fill(a, 1);
    pv::random_fill(b, 2);
  }
};

const float4* vectors(const pv::device_buffer<float>& x, std::size_t first) {
  return reinterpret_cast<const float4*>(x.data() + first);
}

/// The runtime's own copy from `a` to `d`.
void launch_memcpy(const arrays& on, std::size_t first, std::size_t floats, cudaStream_t stream) {
  PERFMODEL_CUDA(cudaMemcpyAsync(on.d.data() + first, on.a.data() + first, floats * sizeof(float),
                                 cudaMemcpyDeviceToDevice, stream));
}

void launch(const shape& what, const arrays& on, std::size_t first, std::size_t floats, float s,
            int blocks, cudaStream_t stream) {
  const float4* a = vectors(on.a, first);
  const float4* b = vectors(on.b, first);
  auto* d = reinterpret_cast<float4*>(on.d.data() + first);
  const std::size_t n = floats / 4;
  const unsigned grid = grid_of(floats, blocks);
  switch (what.what) {
    case kind::read: stream_kernel<kind::read><<<grid, threads, 0, stream>>>(a, b, d, n, s); break;
    case kind::write:
      stream_kernel<kind::write><<<grid, threads, 0, stream>>>(a, b, d, n, s);
      break;
    case kind::copy: stream_kernel<kind::copy><<<grid, threads, 0, stream>>>(a, b, d, n, s); break;
    case kind::triad:
      stream_kernel<kind::triad><<<grid, threads, 0, stream>>>(a, b, d, n, s);
      break;
  }
  PERFMODEL_LAUNCHED("stream_kernel");
}

/// Every element of copy, write and triad, on a length that fills no tile, against the host.
constexpr std::size_t checked_floats = 4 * (3 * unrolled * threads + 77);

void check_writing(const pv::session& s, pv::recording& r, arrays& on, int blocks,
                   const shape& what) {
  const std::size_t n = checked_floats;
  constexpr float scale = 1.5F;
  on.d.poison();
  launch(what, on, 0, n, scale, blocks, s.stream);
  std::vector<float> result = on.d.download(0, n);
  if (s.breaks("swap_bytes")) {
    auto* bytes = reinterpret_cast<unsigned char*>(result.data());
    std::swap(bytes[4096], bytes[4097]);
  }
  std::vector<float> wanted(n);
  std::vector<double> reference(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double a = pv::random_value(1, i), b = pv::random_value(2, i);
    reference[i] = what.what == kind::triad ? a + scale * b : what.what == kind::copy ? a : scale;
    wanted[i] = static_cast<float>(reference[i]);
  }
  const std::string name = what.name;
  if (what.what == kind::triad) {
    r.check("triad against double precision", pv::relative_error<float>(result, reference), 1e-6);
  } else {
    r.check(name + ": bytes that differ", pv::differing_bytes<float>(result, wanted), 0.0);
  }
}

void check_memcpy(const pv::session& s, pv::recording& r, arrays& on) {
  const std::size_t n = checked_floats;
  on.d.poison();
  launch_memcpy(on, 0, s.breaks("drop_bytes") ? n - 1 : n, s.stream);
  std::vector<float> wanted(n);
  for (std::size_t i = 0; i < n; ++i) wanted[i] = pv::random_value(1, i);
  r.check("memcpy: bytes that differ", pv::differing_bytes<float>(on.d.download(0, n), wanted),
          0.0);
}

void check_reading(const pv::session& s, pv::recording& r, arrays& on, int blocks) {
  const std::size_t n = checked_floats;
  // A read stores its sum where that equals the scale: so one 2 among zeros shows whether its place
  // was read. Places at the ends of vectors, of a thread's loads, of tiles and of the array.
  const std::size_t tile = static_cast<std::size_t>(4 * unrolled) * threads;
  for (const std::size_t place : {std::size_t{0}, std::size_t{5}, std::size_t{4 * threads - 1},
                                  std::size_t{4 * threads}, tile - 1, tile, 3 * tile, n - 1}) {
    std::vector<float> all(n, 0.0F);
    all[place] = s.breaks("drop_read") ? 0.0F : 2.0F;
    PERFMODEL_CUDA(cudaMemcpy(on.a.data(), all.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    on.d.poison();  // waits for the copy as well
    launch(shapes[0], on, 0, n, 2.0F, blocks, s.stream);
    const std::vector<float> seen = on.d.download(0, 4);
    const double sum = static_cast<double>(seen[0]) + seen[1] + seen[2] + seen[3];
    r.check("read: the value at place " + std::to_string(place), std::abs(sum - 2.0), 0.0);
  }
  pv::random_fill(on.a, 1);
}

/// The L2's bandwidth, by a kernel long enough that neither its start nor its end is seen.
class cached_reads {
 public:
  cached_reads(const pv::session& s, const pv::device_buffer<float>& a)
      : s_(s),
        a_(a),
        blocks_(s.sms() * 2),  // all of them resident, with 64 KB in flight on each SM
        sums_(static_cast<std::size_t>(blocks_) * threads) {}

  /// What all threads add up, against the sum over the set, as often as it was read.
  void check(pv::recording& r) {
    constexpr unsigned tiles = 7, passes = 3;
    launch(tiles, s_.breaks("drop_pass") ? passes - 1 : passes);
    double sum = 0, wanted = 0, magnitude = 0;
    for (const float v : sums_.download()) sum += static_cast<double>(v);
    for (std::size_t i = 0; i < tiles * tile_floats; ++i) {
      const double v = passes * static_cast<double>(pv::random_value(1, i));
      wanted += v;
      magnitude += std::abs(v);
    }
    r.check("reads in one kernel: their sum", std::abs(sum - wanted) / magnitude, 1e-6);
  }

  void measure(pv::recording& r) {
    for (const int share : {1, 2, 4, 6, 8, 10, 12, 13, 14, 15, 16, 18, 20, 24, 32, 48}) {
      const std::size_t wanted = s_.l2_bytes() / 16 * static_cast<std::size_t>(share);
      const std::size_t tiles = (std::min)(wanted, a_.bytes()) / tile_bytes;
      if (tiles == 0) continue;
      const std::size_t together = s_.reduced ? 2 * wanted : std::size_t{4} << 30U;
      const std::size_t passes = (std::max)(std::size_t{2}, together / (tiles * tile_bytes));
      const auto samples = pv::time_in_graph(s_.stream, s_.plan, [&](int) {
        launch(static_cast<unsigned>(tiles), static_cast<unsigned>(passes));
      });
      r.add({"stream_time",
             "s",
             {{"kernel", "read"},
              {"method", "one_kernel"},
              {"working_set_bytes", static_cast<double>(tiles * tile_bytes)},
              {"passes", static_cast<double>(passes)},
              {"cache", "warm"},
              {"bytes_read", static_cast<double>(tiles * tile_bytes * passes)},
              {"bytes_written", static_cast<double>(sums_.bytes())},
              {"flop", 0.0},
              {"threads", static_cast<double>(sums_.size())}},
             samples});
    }
  }

 private:
  static constexpr std::size_t tile_floats = static_cast<std::size_t>(4 * unrolled) * threads;
  static constexpr std::size_t tile_bytes = tile_floats * sizeof(float);

  void launch(unsigned tiles, unsigned passes) {
    again_kernel<<<static_cast<unsigned>(blocks_), threads, 0, s_.stream>>>(vectors(a_, 0), tiles,
                                                                            passes, sums_.data());
    PERFMODEL_LAUNCHED("again_kernel");
  }

  const pv::session& s_;
  const pv::device_buffer<float>& a_;
  int blocks_;
  pv::device_buffer<float> sums_;
};

void measure_shape(const pv::session& s, pv::recording& r, const arrays& on, int blocks,
                   const shape& what) {
  const std::size_t floats = on.a.size(), largest = on.a.bytes();
  const int touched = what.arrays_read + what.arrays_written;
  for (std::size_t set = std::size_t{64} << 10U; set <= largest * touched; set *= 2) {
    if (set > std::size_t{8} << 30U) break;
    // `set` is what one repetition touches over all its arrays.
    const std::size_t each = set / static_cast<std::size_t>(touched) / 16384 * 4096;
    if (each == 0 || each > floats) continue;
    const double bytes = static_cast<double>(each * sizeof(float));
    for (const bool cold : {true, false}) {
      // Enough buffers to exceed five L2s; with fewer than two there is no rotation, and it is
      // warm.
      const std::size_t apart = floats / each;
      const std::size_t wanted = 5 * s.l2_bytes() / (each * sizeof(float) * touched) + 2;
      const std::size_t copies = cold ? (std::min)(apart, wanted) : 1;
      const bool beyond = each * sizeof(float) * touched > 5 * s.l2_bytes();
      if (cold && copies < wanted && !beyond) continue;
      if (!cold && beyond) continue;
      pv::timing_plan plan = s.plan;
      plan.most_repeats = (std::max)(plan.most_repeats, static_cast<int>(copies));
      const auto samples = pv::time_in_graph(
          s.stream, plan,
          [&](int i) {
            const std::size_t first = (static_cast<std::size_t>(i) % copies) * each;
            const float scale = what.what == kind::read ? unreached : 1.5F;
            launch(what, on, first, each, scale, blocks, s.stream);
          },
          static_cast<int>((std::min)(copies, std::size_t{4096})));
      r.add({"stream_time",
             "s",
             {{"kernel", what.name},
              {"method", "chain"},
              {"working_set_bytes", bytes * touched},
              {"cache", cold ? "cold" : "warm"},
              {"bytes_read", bytes * what.arrays_read},
              {"bytes_written", bytes * what.arrays_written},
              {"flop", what.what == kind::triad ? bytes / 2.0 : 0.0},
              {"threads", static_cast<double>(grid_of(each, blocks)) * threads}},
             samples});
    }
  }
}

/// Sets from 1 MB on: below, a copy is its launch.
void measure_memcpy(const pv::session& s, pv::recording& r, const arrays& on) {
  const std::size_t smallest = std::size_t{s.reduced ? 64U : 1024U} << 10U;
  for (std::size_t set = smallest; set <= (std::min)(2 * on.a.bytes(), std::size_t{8} << 30U);
       set *= 2) {
    const std::size_t floats = set / 2 / sizeof(float) / 4096 * 4096;
    if (floats == 0) continue;
    const double bytes = static_cast<double>(floats * sizeof(float));
    // Enough buffers to exceed five L2s.
    const std::size_t fit = on.a.size() / floats;
    const std::size_t wanted = set > 5 * s.l2_bytes() ? 1 : 5 * s.l2_bytes() / set + 2;
    if (fit < wanted) continue;
    pv::timing_plan plan = s.plan;
    plan.most_repeats = (std::max)(plan.most_repeats, static_cast<int>(wanted));
    const auto samples = pv::time_in_graph(
        s.stream, plan,
        [&](int i) {
          launch_memcpy(on, static_cast<std::size_t>(i) % wanted * floats, floats, s.stream);
        },
        static_cast<int>(wanted));
    r.add({"stream_time",
           "s",
           {{"kernel", "copy"},
            {"method", "memcpy"},
            {"working_set_bytes", 2.0 * bytes},
            {"cache", "cold"},
            {"bytes_read", bytes},
            {"bytes_written", bytes},
            {"flop", 0.0},
            {"threads", 0.0}},
           samples});
  }
}

void measure(const pv::session& s, pv::recording& r) {
  const std::size_t largest =
      (std::min)(s.free_bytes() / 4, std::size_t{s.reduced ? 64U : 8192U} << 20U);
  arrays on(largest / sizeof(float) / 4096 * 4096);
  const int blocks = s.sms() * 8;
  r.part("reads in one kernel", [&] {
    cached_reads cached(s, on.a);
    cached.check(r);
    cached.measure(r);
  });
  for (const shape& what : shapes) {
    r.part(what.name, [&] {
      if (what.what == kind::read) {
        check_reading(s, r, on, blocks);
      } else {
        check_writing(s, r, on, blocks, what);
      }
      measure_shape(s, r, on, blocks, what);
    });
  }
  r.part("cudaMemcpyAsync", [&] {
    check_memcpy(s, r, on);
    measure_memcpy(s, r, on);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "memory_stream",
       .law = "roofline: time >= bytes / bandwidth of the level that holds them",
       .program = "validation/kernels/memory_stream.cu",
       .faults = {"swap_bytes", "drop_read", "drop_pass", "drop_bytes"}},
      measure);
}
