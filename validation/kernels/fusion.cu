// Fusion: chains of element-wise operations, one kernel per operation against one fused kernel.
//
// Measures: bias + GELU (y = gelu(x + b)) as two kernels with an array between them, and as one;
//   and LayerNorm as four kernels (mean, variance, normalise, scale and shift) and as one that
//   keeps its row in registers. bf16 in memory, fp32 in registers.
// How: 16-byte loads and stores; the arrays rotate through buffers larger than five L2s in all, so
//   that x comes from DRAM. The later kernels of an unfused chain may read from the L2, unless an
//   array is larger than four L2s: then cache is warm, and `compulsory_bytes`, x read and y written
//   once, is the traffic that surely reaches DRAM. `bytes_read` and `bytes_written` are the bytes
//   that the kernels request, `lane_instructions` the instructions that all their threads execute.
// Tests: fusion.hpp: traffic and launches that fusing removes.
#include <cmath>
#include <cstdint>

#include "algorithms/chain_instructions.hpp"
#include "common/bf16x8.cuh"
#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

using bf16 = __nv_bfloat16;
constexpr int threads = 256;
constexpr float epsilon = 1e-5F;

__host__ __device__ inline float gelu(float v) {
  // The exact form, 0.5 v (1 + erf(v / sqrt 2)).
  return 0.5F * v * (1.0F + erff(v * 0.70710678F));
}

/// Column of this thread's eight values. The grid has a row for each row of the array (65,535 at
/// most), so that no thread divides to find its column.
__device__ inline int column_of_thread() {
  return (static_cast<int>(blockIdx.x) * threads + static_cast<int>(threadIdx.x)) * 8;
}
__device__ inline std::size_t row_start(int columns) {
  return static_cast<std::size_t>(blockIdx.y) * static_cast<std::size_t>(columns);
}

// --- bias and GELU -------------------------------------------------------------------------------

enum class part { bias, gelu, both };

template <part P>
__global__ void __launch_bounds__(threads)
    bias_gelu_kernel(const bf16* __restrict__ x, const bf16* __restrict__ bias,
                     bf16* __restrict__ y, int columns) {
  const int column = column_of_thread();
  if (column >= columns) return;
  const std::size_t i = row_start(columns) + static_cast<std::size_t>(column);
  float v[8], b[8];
  pv::widen8(pv::load8(x + i), v);
  if (P != part::gelu) pv::widen8(pv::load8(bias + column), b);
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    if (P != part::gelu) v[u] += b[u];
    if (P != part::bias) v[u] = gelu(v[u]);
  }
  pv::store8(y + i, pv::narrow8(v));
}

// --- LayerNorm -----------------------------------------------------------------------------------

/// The sum over a block, in every thread. Ends with the barrier that lets `partial` be used again.
template <bool Barrier>
__device__ float block_sum(float v, float* partial) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(0xFFFFFFFFU, v, by);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  if (Barrier) __syncthreads();
  float sum = 0.0F;
#pragma unroll
  for (int w = 0; w < threads / 32; ++w) sum += partial[w];
  __syncthreads();
  return sum;
}

/// One block per row: sum over the row of (x - shift)^power, times `share`, one over the columns.
template <int Power>
__global__ void __launch_bounds__(threads)
    moment_kernel(const bf16* __restrict__ x, const float* __restrict__ shift,
                  float* __restrict__ out, int columns, float share) {
  __shared__ float partial[threads / 32];
  const std::size_t row = blockIdx.x;
  const float from = Power == 2 ? shift[row] : 0.0F;
  float sum = 0.0F;
  for (int c = static_cast<int>(threadIdx.x) * 8; c < columns; c += threads * 8) {
    float v[8];
    pv::widen8(pv::load8(x + row * static_cast<std::size_t>(columns) + static_cast<std::size_t>(c)),
               v);
#pragma unroll
    for (int u = 0; u < 8; ++u) sum += Power == 2 ? (v[u] - from) * (v[u] - from) : v[u];
  }
  sum = block_sum<true>(sum, partial);
  if (threadIdx.x == 0) out[row] = sum * share;
}

/// y = (x - mean) / sqrt(variance + epsilon).
__global__ void __launch_bounds__(threads)
    normalise_kernel(const bf16* __restrict__ x, const float* __restrict__ mean,
                     const float* __restrict__ variance, bf16* __restrict__ y, int columns) {
  const int column = column_of_thread();
  if (column >= columns) return;
  const std::size_t i = row_start(columns) + static_cast<std::size_t>(column);
  const float m = mean[blockIdx.y], scale = rsqrtf(variance[blockIdx.y] + epsilon);
  float v[8];
  pv::widen8(pv::load8(x + i), v);
#pragma unroll
  for (int u = 0; u < 8; ++u) v[u] = (v[u] - m) * scale;
  pv::store8(y + i, pv::narrow8(v));
}

/// y = x gain + bias, by column.
__global__ void __launch_bounds__(threads)
    affine_kernel(const bf16* __restrict__ x, const bf16* __restrict__ gain,
                  const bf16* __restrict__ bias, bf16* __restrict__ y, int columns) {
  const int column = column_of_thread();
  if (column >= columns) return;
  const std::size_t i = row_start(columns) + static_cast<std::size_t>(column);
  float v[8], g[8], b[8];
  pv::widen8(pv::load8(x + i), v);
  pv::widen8(pv::load8(gain + column), g);
  pv::widen8(pv::load8(bias + column), b);
#pragma unroll
  for (int u = 0; u < 8; ++u) v[u] = v[u] * g[u] + b[u];
  pv::store8(y + i, pv::narrow8(v));
}

/// All of LayerNorm, one block a row. A thread holds `Held` pieces of eight values.
template <int Held, bool Barrier>
__global__ void __launch_bounds__(threads)
    layer_norm_kernel(const bf16* __restrict__ x, const bf16* __restrict__ gain,
                      const bf16* __restrict__ bias, bf16* __restrict__ y, int columns,
                      float share) {
  __shared__ float partial[threads / 32];
  const std::size_t start = blockIdx.x * static_cast<std::size_t>(columns);
  float v[Held][8];
  float sum = 0.0F;
#pragma unroll
  for (int h = 0; h < Held; ++h) {
    const int c = (h * threads + static_cast<int>(threadIdx.x)) * 8;
    if (c < columns) {
      pv::widen8(pv::load8(x + start + static_cast<std::size_t>(c)), v[h]);
#pragma unroll
      for (int u = 0; u < 8; ++u) sum += v[h][u];
    }
  }
  const float mean = block_sum<Barrier>(sum, partial) * share;
  float squares = 0.0F;
#pragma unroll
  for (int h = 0; h < Held; ++h) {
    const int c = (h * threads + static_cast<int>(threadIdx.x)) * 8;
    if (c < columns) {
#pragma unroll
      for (int u = 0; u < 8; ++u) squares += (v[h][u] - mean) * (v[h][u] - mean);
    }
  }
  const float scale = rsqrtf(block_sum<Barrier>(squares, partial) * share + epsilon);
#pragma unroll
  for (int h = 0; h < Held; ++h) {
    const int c = (h * threads + static_cast<int>(threadIdx.x)) * 8;
    if (c < columns) {
      float g[8], b[8];
      pv::widen8(pv::load8(gain + c), g);
      pv::widen8(pv::load8(bias + c), b);
#pragma unroll
      for (int u = 0; u < 8; ++u) v[h][u] = (v[h][u] - mean) * scale * g[u] + b[u];
      pv::store8(y + start + static_cast<std::size_t>(c), pv::narrow8(v[h]));
    }
  }
}

// --- the chains ----------------------------------------------------------------------------------

struct chain {
  int rows, columns;
  std::size_t values() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  dim3 grid() const {
    const int wide = (columns / 8 + threads - 1) / threads;
    return dim3(static_cast<unsigned>(wide), static_cast<unsigned>(rows));
  }
  /// Pieces of eight values of a row that a thread of one block holds.
  int held() const {
    const int pieces = (columns + threads * 8 - 1) / (threads * 8);
    return pieces <= 2 ? pieces : 4;
  }
  float share() const { return 1.0F / static_cast<float>(columns); }
  std::string text() const { return std::to_string(rows) + " x " + std::to_string(columns); }
};

enum class chain_kind { bias_gelu, layer_norm };

constexpr int largest_columns = threads * 8 * 4;  // what four pieces a thread hold

struct arrays {
  pv::device_buffer<bf16> x, between, y, gain, bias;
  pv::device_buffer<float> mean, variance;
  arrays(std::size_t values, std::size_t rows, std::size_t columns)
      : x(values),
        between(values),
        y(values),
        gain(columns),
        bias(columns),
        mean(rows),
        variance(rows) {
    pv::random_fill(x, 1);
    pv::random_fill(gain, 2);
    pv::random_fill(bias, 3);
  }
};

/// first: where in the arrays this repetition's copy begins.
void bias_gelu(const chain& c, arrays& on, std::size_t first, bool fused, bool drop,
               cudaStream_t stream) {
  const bf16* x = on.x.data() + first;
  bf16* between = on.between.data() + first;
  bf16* y = on.y.data() + first;
  if (fused && !drop) {
    bias_gelu_kernel<part::both><<<c.grid(), threads, 0, stream>>>(x, on.bias.data(), y, c.columns);
  } else if (fused) {
    bias_gelu_kernel<part::gelu><<<c.grid(), threads, 0, stream>>>(x, on.bias.data(), y, c.columns);
  } else {
    bias_gelu_kernel<part::bias>
        <<<c.grid(), threads, 0, stream>>>(x, on.bias.data(), between, c.columns);
    PERFMODEL_LAUNCHED("bias_kernel");
    bias_gelu_kernel<part::gelu>
        <<<c.grid(), threads, 0, stream>>>(between, on.bias.data(), y, c.columns);
  }
  PERFMODEL_LAUNCHED("bias_gelu_kernel");
}

template <bool Barrier>
void layer_norm_fused(const chain& c, const bf16* x, bf16* y, arrays& on, cudaStream_t stream) {
  const auto grid = static_cast<unsigned>(c.rows);
  if (c.held() == 1) {
    layer_norm_kernel<1, Barrier>
        <<<grid, threads, 0, stream>>>(x, on.gain.data(), on.bias.data(), y, c.columns, c.share());
  } else if (c.held() == 2) {
    layer_norm_kernel<2, Barrier>
        <<<grid, threads, 0, stream>>>(x, on.gain.data(), on.bias.data(), y, c.columns, c.share());
  } else {
    layer_norm_kernel<4, Barrier>
        <<<grid, threads, 0, stream>>>(x, on.gain.data(), on.bias.data(), y, c.columns, c.share());
  }
  PERFMODEL_LAUNCHED("layer_norm_kernel");
}

void layer_norm(const chain& c, arrays& on, std::size_t first, bool fused, bool skip_barrier,
                cudaStream_t stream) {
  const bf16* x = on.x.data() + first;
  bf16* between = on.between.data() + first;
  bf16* y = on.y.data() + first;
  if (fused) {
    if (skip_barrier) {
      layer_norm_fused<false>(c, x, y, on, stream);
    } else {
      layer_norm_fused<true>(c, x, y, on, stream);
    }
    return;
  }
  const auto grid = static_cast<unsigned>(c.rows);
  moment_kernel<1>
      <<<grid, threads, 0, stream>>>(x, on.mean.data(), on.mean.data(), c.columns, c.share());
  PERFMODEL_LAUNCHED("mean_kernel");
  moment_kernel<2>
      <<<grid, threads, 0, stream>>>(x, on.mean.data(), on.variance.data(), c.columns, c.share());
  PERFMODEL_LAUNCHED("variance_kernel");
  normalise_kernel<<<c.grid(), threads, 0, stream>>>(x, on.mean.data(), on.variance.data(), between,
                                                     c.columns);
  PERFMODEL_LAUNCHED("normalise_kernel");
  affine_kernel<<<c.grid(), threads, 0, stream>>>(between, on.gain.data(), on.bias.data(), y,
                                                  c.columns);
  PERFMODEL_LAUNCHED("affine_kernel");
}

/// Runs one repetition of either chain, on the copy that begins at `first`.
void run(chain_kind kind, const chain& c, arrays& on, std::size_t first, bool fused,
         const pv::session& s) {
  if (kind == chain_kind::layer_norm) {
    layer_norm(c, on, first, fused, s.breaks("skip_barrier"), s.stream);
  } else {
    bias_gelu(c, on, first, fused, s.breaks("drop_bias"), s.stream);
  }
}

/// What a row of the chain's result is, in double precision.
std::vector<double> reference_row(chain_kind kind, std::size_t row, std::size_t n) {
  const auto stored = [](std::uint32_t seed, std::size_t at) {
    return static_cast<double>(pv::random_stored<bf16>(seed, at));
  };
  std::vector<double> x(n), out(n);
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < n; ++i) x[i] = stored(1, row * n + i);
  for (const double v : x) mean += v / static_cast<double>(n);
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double b = stored(3, i), v = x[i] + b;
    out[i] =
        kind == chain_kind::bias_gelu
            ? 0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0)))
            : (x[i] - mean) / std::sqrt(variance + static_cast<double>(epsilon)) * stored(2, i) + b;
  }
  return out;
}

void check(const pv::session& s, pv::recording& r, chain_kind kind, const chain& c) {
  arrays on(c.values(), static_cast<std::size_t>(c.rows), static_cast<std::size_t>(c.columns));
  std::vector<double> reference;
  for (std::size_t row = 0; row < static_cast<std::size_t>(c.rows); ++row) {
    const auto one = reference_row(kind, row, static_cast<std::size_t>(c.columns));
    reference.insert(reference.end(), one.begin(), one.end());
  }
  for (const bool fused : {false, true}) {
    on.between.poison();
    on.y.poison();
    on.mean.poison();
    on.variance.poison();
    run(kind, c, on, 0, fused, s);
    const std::vector<bf16> result = on.y.download();
    std::string name = kind == chain_kind::bias_gelu ? "bias and GELU" : "LayerNorm";
    name.append(fused ? ", fused, " : ", unfused, ").append(c.text());
    r.check(name, pv::relative_error<bf16>(result, reference),
            kind == chain_kind::bias_gelu ? 6e-3 : 8e-3);
  }
}

/// Machine instructions per value, summed over the kernels of a chain. For the moments no test
/// checks the figures: they have loops, and their threads end with a sum over the block (some 60).
double instructions_a_value(chain_kind kind, bool fused, const chain& c) {
  namespace of = pv::chain_instructions;
  if (kind == chain_kind::bias_gelu) return fused ? of::bias_gelu : of::bias + of::gelu;
  if (fused) return of::layer_norm(c.held());
  const double sum_over_block = 60.0 * threads / c.columns;
  const double mean = 2.6 + sum_over_block, variance = 3.6 + sum_over_block;
  return mean + variance + of::normalise + of::affine;
}

void measure_chain(const pv::session& s, pv::recording& r, chain_kind kind, const chain& c) {
  const double bytes = 2.0 * static_cast<double>(c.values());
  // Buffers that exceed five L2s in all, each as large as an array of the chain; few when nothing
  // is timed.
  const double wanted = s.reduced ? 2.0 : std::ceil(5.0 * s.device.l2_bytes / bytes);
  const auto copies = static_cast<std::size_t>(wanted) + 1;
  arrays on(copies * c.values(), static_cast<std::size_t>(c.rows),
            static_cast<std::size_t>(c.columns));
  const bool gelu = kind == chain_kind::bias_gelu;
  for (const bool fused : {false, true}) {
    const auto samples = pv::time_in_graph(
        s.stream, s.plan,
        [&](int i) {
          run(kind, c, on, static_cast<std::size_t>(i) % copies * c.values(), fused, s);
        },
        static_cast<int>(copies));
    const int launches = fused ? 1 : gelu ? 2 : 4;  // each reads an array
    r.add({"chain_time",
           "s",
           {{"chain", gelu ? "bias_gelu" : "layer_norm"},
            {"fused", fused},
            {"rows", c.rows},
            {"columns", c.columns},
            {"format", "bf16"},
            {"launches", launches},
            {"cache", fused || bytes > 4.0 * s.device.l2_bytes ? "cold" : "warm"},
            {"bytes_read", launches * bytes},
            {"bytes_written", (fused ? 1 : 2) * bytes},
            {"compulsory_bytes", 2.0 * bytes},
            {"lane_instructions",
             instructions_a_value(kind, fused, c) * static_cast<double>(c.values())},
            {"flop", (gelu ? 6.0 : 8.0) * static_cast<double>(c.values())}},
           samples});
  }
}

void measure(const pv::session& s, pv::recording& r) {
  const std::vector<chain> chains =
      s.reduced ? std::vector<chain>{{4, 512}}
                : std::vector<chain>{
                      {256, 4096}, {1024, 4096}, {4096, 4096}, {8192, 8192}, {16384, 8192}};
  for (const chain_kind kind : {chain_kind::bias_gelu, chain_kind::layer_norm}) {
    r.part(kind == chain_kind::bias_gelu ? "bias and GELU" : "LayerNorm", [&] {
      check(s, r, kind, {3, 2056});
      check(s, r, kind, {5, 264});
      if (!s.reduced) check(s, r, kind, {7, largest_columns});
      for (const chain& c : chains) r.part(c.text(), [&] { measure_chain(s, r, kind, c); });
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(argc, argv,
                            {.name = "fusion",
                             .law = "fusion.hpp: traffic and launches that fusing removes",
                             .program = "validation/kernels/fusion.cu",
                             .faults = {"drop_bias", "skip_barrier"}},
                            measure);
}
