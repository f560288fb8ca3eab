// Shared memory: bandwidth without bank conflicts, and what conflicts cost.
//
// Measures: reads of shared memory by all SMs at once. A warp's lanes read words with a stride of 1
//   to 32 (1- to 32-way conflicts), or a column of a 32 x 32 tile stored plainly, padded by a word,
//   or swizzled by XOR; the conflict-free rate also in 16-byte reads.
// How: each thread reads the same few addresses repeatedly, in a way that the compiler can neither
//   hoist nor drop; eight reads are in flight before a sum.
// Tests: shared memory as a memory level: 32 banks of 4 bytes, each once a clock; a conflict of w
//   ways takes w wavefronts.
#include <cmath>

#include "algorithms/bank_conflicts.hpp"
#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

constexpr int threads = 256;
constexpr int reads_at_once = 8;
constexpr int array_words = 8192;  // 32 KB a block
constexpr unsigned wrap = array_words - 1;

/// Words that a warp reads; none beyond array_words.
enum class pattern { strided, column_plain, column_padded, column_swizzled };

__device__ unsigned word_of(pattern p, int lane, int read, int stride) {
  switch (p) {
    case pattern::strided: return static_cast<unsigned>(lane * stride + read * 1024);
    case pattern::column_plain: return static_cast<unsigned>(lane * pv::banks + read);
    case pattern::column_padded: return static_cast<unsigned>(pv::padded(lane, read));
    case pattern::column_swizzled: return static_cast<unsigned>(pv::swizzled(lane, read));
  }
  return 0;
}

/// Reads `rounds` x reads_at_once words per thread. An SM has four issue slots for each wavefront
/// of its shared memory; addresses that move from round to round would take more than those. So the
/// addresses are fixed, and the words volatile, so that no read is merged or dropped.
template <pattern P>
__global__ void __launch_bounds__(threads)
    read_kernel(const float* fill, int rounds, int stride, float* sums) {
  __shared__ float words[array_words];
  for (int i = static_cast<int>(threadIdx.x); i < array_words; i += threads) words[i] = fill[i];
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const volatile float* const read = words;
  unsigned at[reads_at_once];
#pragma unroll
  for (int u = 0; u < reads_at_once; ++u) at[u] = word_of(P, lane, u, stride);
  float sum = 0.0F;
#pragma unroll 1  // the loop that is counted
  for (int round = 0; round < rounds; ++round) {
    float v[reads_at_once];
#pragma unroll
    for (int u = 0; u < reads_at_once; ++u) v[u] = read[at[u]];
#pragma unroll
    for (int u = 0; u < reads_at_once; ++u) sum += v[u];
  }
  sums[blockIdx.x * threads + threadIdx.x] = sum;
}

/// Words in reads of 16 bytes, side by side. Each takes four passes, so here the addresses may
/// move, by a number of words that the compiler does not know.
__global__ void __launch_bounds__(threads)
    wide_kernel(const float* fill, int rounds, unsigned move, float* sums) {
  __shared__ __align__(16) float words[array_words];
  for (int i = static_cast<int>(threadIdx.x); i < array_words; i += threads) words[i] = fill[i];
  __syncthreads();
  unsigned at[reads_at_once];
#pragma unroll
  for (int u = 0; u < reads_at_once; ++u) at[u] = ((threadIdx.x % 32) * 4 + u * 1024U) & wrap;
  float sum = 0.0F;
#pragma unroll 1  // the loop that is counted
  for (int round = 0; round < rounds; ++round) {
    float4 v[reads_at_once];
#pragma unroll
    for (int u = 0; u < reads_at_once; ++u) v[u] = *reinterpret_cast<const float4*>(words + at[u]);
#pragma unroll
    for (int u = 0; u < reads_at_once; ++u) {
      sum += v[u].x + v[u].y + v[u].z + v[u].w;
      at[u] = (at[u] + move) & wrap;
    }
  }
  sums[blockIdx.x * threads + threadIdx.x] = sum;
}

/// A tile is written by rows and read by columns: the transpose, through either way of storing it.
template <bool Swizzle, bool Barrier>
__global__ void transpose_kernel(const float* in, float* out) {
  __shared__ float tile[32 * 33];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  if (y >= 16) __nanosleep(2000);  // half of the warps are late, so that a missing barrier shows
  tile[Swizzle ? pv::swizzled(y, x) : pv::padded(y, x)] = in[y * 32 + x];
  if (Barrier) __syncthreads();
  out[y * 32 + x] = tile[Swizzle ? pv::swizzled(x, y) : pv::padded(x, y)];
}

void check_transposes(const pv::session& s, pv::recording& r) {
  constexpr std::size_t n = 1024;
  pv::device_buffer<float> in(n), out(n);
  pv::random_fill(in, 5);
  std::vector<float> wanted(n);
  for (std::size_t row = 0; row < 32; ++row) {
    for (std::size_t column = 0; column < 32; ++column) {
      wanted[row * 32 + column] = pv::random_value(5, column * 32 + row);
    }
  }
  for (const bool swizzle : {true, false}) {
    out.poison();
    const dim3 block(32, 32);
    if (s.breaks("skip_barrier")) {
      transpose_kernel<true, false><<<1, block, 0, s.stream>>>(in.data(), out.data());
    } else if (swizzle) {
      transpose_kernel<true, true><<<1, block, 0, s.stream>>>(in.data(), out.data());
    } else {
      transpose_kernel<false, true><<<1, block, 0, s.stream>>>(in.data(), out.data());
    }
    PERFMODEL_LAUNCHED("transpose_kernel");
    const std::vector<float> result = out.download();
    r.check(swizzle ? "a tile transposed through XOR: bytes that differ"
                    : "a tile transposed through padding: bytes that differ",
            pv::differing_bytes<float>(result, wanted), 0.0);
  }
}

struct reading {
  const char* name;
  pattern where;
  int stride;
  int ways;
};

constexpr int ways_of_stride(int stride) {
  return pv::conflict_ways([stride](int lane) { return lane * stride; });
}
constexpr reading readings[] = {{"conflict_free", pattern::strided, 1, ways_of_stride(1)},
                                {"stride", pattern::strided, 2, ways_of_stride(2)},
                                {"stride", pattern::strided, 4, ways_of_stride(4)},
                                {"stride", pattern::strided, 8, ways_of_stride(8)},
                                {"stride", pattern::strided, 16, ways_of_stride(16)},
                                {"stride", pattern::column_plain, 32, ways_of_stride(32)},
                                {"padded", pattern::column_padded, 33, 1},
                                {"xor_swizzle", pattern::column_swizzled, 32, 1}};

class reader {
 public:
  reader(const pv::session& s, int blocks)
      : session_(s),
        blocks_(blocks),
        fill_(array_words),
        sums_(static_cast<std::size_t>(blocks) * threads) {
    pv::random_fill(fill_, 9);
    take_shared_memory(read_kernel<pattern::strided>);
    take_shared_memory(read_kernel<pattern::column_plain>);
    take_shared_memory(read_kernel<pattern::column_padded>);
    take_shared_memory(read_kernel<pattern::column_swizzled>);
    take_shared_memory(wide_kernel);
  }

  void launch(const reading& what, int rounds) const {
    const auto grid = static_cast<unsigned>(blocks_);
    switch (what.where) {
      case pattern::strided: run<pattern::strided>(what, rounds, grid); break;
      case pattern::column_plain: run<pattern::column_plain>(what, rounds, grid); break;
      case pattern::column_padded: run<pattern::column_padded>(what, rounds, grid); break;
      case pattern::column_swizzled: run<pattern::column_swizzled>(what, rounds, grid); break;
    }
    PERFMODEL_LAUNCHED("read_kernel");
  }
  void launch_wide(int rounds) const {
    wide_kernel<<<static_cast<unsigned>(blocks_), threads, 0, session_.stream>>>(
        fill_.data(), rounds, move, sums_.data());
    PERFMODEL_LAUNCHED("wide_kernel");
  }

  /// Check of the reads of 16 bytes.
  void check_wide(pv::recording& r) {
    sums_.poison();
    launch_wide(3);
    const std::vector<float> result = sums_.download(0, 32);
    std::vector<double> reference(32, 0.0);
    for (unsigned lane = 0; lane < 32; ++lane) {
      for (unsigned round = 0; round < (session_.breaks("drop_wide_round") ? 2U : 3U); ++round) {
        for (unsigned u = 0; u < reads_at_once; ++u) {
          const unsigned at = (lane * 4 + u * 1024 + round * move) & wrap;
          for (unsigned i = 0; i < 4; ++i) {
            reference[lane] += static_cast<double>(pv::random_value(9, at + i));
          }
        }
      }
    }
    r.check("reads of 16 bytes: what the lanes read", pv::relative_error<float>(result, reference),
            1e-5);
  }

  /// The first warp's sums over a few rounds, against the host's.
  void check(const reading& what, pv::recording& r) {
    sums_.poison();
    launch(what, 3);
    const std::vector<float> result = sums_.download(0, 32);
    std::vector<double> reference(32, 0.0);
    for (int lane = 0; lane < 32; ++lane) {
      for (int round = 0; round < (session_.breaks("drop_round") ? 2 : 3); ++round) {
        for (int u = 0; u < reads_at_once; ++u) {
          unsigned word = 0;
          switch (what.where) {
            case pattern::strided:
              word = static_cast<unsigned>(lane * what.stride + u * 1024);
              break;
            case pattern::column_plain: word = static_cast<unsigned>(lane * 32 + u); break;
            case pattern::column_padded: word = static_cast<unsigned>(lane * 33 + u); break;
            case pattern::column_swizzled:
              word = static_cast<unsigned>(lane * 32 + (u ^ lane));
              break;
          }
          reference[static_cast<std::size_t>(lane)] +=
              static_cast<double>(pv::random_value(9, word));
        }
      }
    }
    std::string name = what.name;
    name.append(" ").append(std::to_string(what.stride)).append(": what the lanes read");
    r.check(name, pv::relative_error<float>(result, reference), 1e-5);
  }

 private:
  static constexpr unsigned move = 32 * 5;

  /// The L1 leaves all that it can, so that every block is resident.
  template <class... Parameters>
  static void take_shared_memory(void (*kernel)(Parameters...)) {
    PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                        cudaFuncAttributePreferredSharedMemoryCarveout,
                                        cudaSharedmemCarveoutMaxShared));
  }

  template <pattern P>
  void run(const reading& what, int rounds, unsigned grid) const {
    read_kernel<P>
        <<<grid, threads, 0, session_.stream>>>(fill_.data(), rounds, what.stride, sums_.data());
  }

  const pv::session& session_;
  int blocks_;
  pv::device_buffer<float> fill_, sums_;
};

void measure(const pv::session& s, pv::recording& r) {
  r.part("transposes", [&] { check_transposes(s, r); });
  // Up to four blocks of 32 KB and 8 warps an SM, all of them resident: fewer where an SM has less
  // shared memory, of which each block takes another KB for the system.
  const double fit = s.device.shared_memory_per_sm_bytes / (33.0 * 1024.0);
  const int blocks = s.sms() * static_cast<int>((std::clamp)(fit, 1.0, 4.0));
  reader all(s, blocks);
  const int rounds = s.reduced ? 4 : 4096;
  const double words = static_cast<double>(blocks) * threads * rounds * reads_at_once;
  const auto add = [&](const char* name, int stride, int ways, double bytes,
                       pv::repetitions samples) {
    r.add({"shared_memory_time",
           "s",
           {{"pattern", name}, {"stride_words", stride}, {"conflict_ways", ways}, {"bytes", bytes}},
           std::move(samples)});
  };
  for (const reading& what : readings) {
    r.part(std::string(what.name) + ", stride " + std::to_string(what.stride), [&] {
      all.check(what, r);
      add(what.name, what.stride, what.ways, 4.0 * words,
          pv::time_in_graph(s.stream, s.plan, [&](int) { all.launch(what, rounds); }));
    });
  }
  r.part("reads of 16 bytes", [&] {
    all.check_wide(r);
    add("conflict_free", 4, 1, 16.0 * words,
        pv::time_in_graph(s.stream, s.plan, [&](int) { all.launch_wide(rounds); }));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "shared_memory",
       .law = "shared memory: 32 banks of 4 bytes a clock; w ways of conflict, w passes",
       .program = "validation/kernels/shared_memory.cu",
       .faults = {"skip_barrier", "drop_round", "drop_wide_round"}},
      measure);
}
