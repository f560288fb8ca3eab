// Weight-only quantisation: a vector times a matrix of 16-, 8- or 4-bit weights.
//
// Measures: y[m][n] = sum over k of x[m][k] w[n][k] for m = 1, 2, 4 with w in bf16, or in int8 or
//   int4 with a scale in fp16 for every 128 values along k; x and y in bf16, sums in fp32.
// How: a block of eight warps has 32 rows of w, a warp every eighth piece of 64 bytes per row.
//   Pieces come by cp.async into a ring of four stages, three of them in flight: 48 KB per block,
//   and three blocks per SM. Weights become pairs of bf16 by one or two logical operations (one
//   more mma subtracts the offset of the 4-bit ones), and the tensor cores multiply them with x,
//   eight columns at once, so that m up to 8 costs what m = 1 does. The weights rotate through
//   buffers larger than four L2s in all. What it should reach on an H200, by arithmetic: 75 to 88 %
//   of its bandwidth in every format, from some 30 MB of weights on. A warp takes 66 instructions
//   for 2 KB in bf16, 244 in int8, 274 in int4 (sm_90; one lane per weight with FFMA took 520,
//   1010, 1850); an SM can issue 400 to 450 in the time that 2 KB take to arrive. Tensor cores are
//   busy for 10 to 40 % of that time.
// Tests: quantised storage (operators/quantized.hpp): time goes with the bytes of the weights and
//   of their scales, as long as dequantisation is hidden.
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>

#include "algorithms/block_scale.hpp"
#include "common/bf16x8.cuh"
#include "common/experiment.cuh"
#include "common/ptx.cuh"

namespace pv = perfmodel::validation;

namespace {

using bf16 = __nv_bfloat16;
constexpr int warps = 8, tile_rows = 32, stages = 4;
constexpr int block = 128;  ///< values that share a scale
constexpr int columns = 8;  ///< columns of x; the first M are used
constexpr int piece_vectors = tile_rows * 4;
constexpr int ring_bytes = warps * stages * piece_vectors * 16;

/// Tile by weight width (16, 8 or 4 bits): 16 bytes hold 8, 16 or 32 values, and 64 bytes never
/// straddle a block of 128.
template <int Bits>
constexpr int each = 128 / Bits;

/// Eight neighbouring weights as four pairs in bf16, and eight of x as the same four pairs.
template <int Bits>
__device__ void pair_weights(const std::uint32_t* words, std::uint32_t (&pairs)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (Bits == 16) {
      pairs[i] = words[i];
    } else if constexpr (Bits == 8) {
      const std::uint32_t bits = words[i / 2] >> (8 * (i % 2));
      pairs[i] = pv::subtract2(pv::ptx::and_or(bits, pv::low_bits_mask, pv::two_of_128),
                               pv::ptx::and_or(bits, pv::sign_bits_mask, pv::two_of_128));
    } else {
      pairs[i] = pv::ptx::and_xor(words[0] >> (4 * i), pv::nibble_mask, pv::two_of_nibble_offset);
    }
  }
}
template <int Bits>
__device__ void pair_x(uint4 from, std::uint32_t (&pairs)[4]) {
  const std::uint32_t words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (Bits == 16) {
      pairs[i] = words[i];
    } else {  // values i and i + 2 of four, or i and i + 4 of eight
      const int one = Bits == 8 ? i / 2 * 2 : i / 2, other = Bits == 8 ? one + 1 : one + 2;
      pairs[i] = __byte_perm(words[one], words[other], i % 2 == 0 ? 0x5410 : 0x7632);
    }
  }
}

template <int Bits, int M>
__global__ void __launch_bounds__(warps * 32, Bits == 4 ? 2 : 3)
    gemv_kernel(const bf16* __restrict__ x, const uint4* __restrict__ weights,
                const __half* __restrict__ scales, bf16* __restrict__ y, int n, int k,
                bool scaled) {
  constexpr int piece_values = 4 * each<Bits>;        // of a row
  constexpr std::uint32_t less_offset = 0xC308C308U;  // -nibble_offset, twice
  extern __shared__ __align__(128) uint4 pool[];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int row0 = static_cast<int>(blockIdx.x) * tile_rows;
  const int pieces = k / piece_values;
  uint4* const ring = pool + warp * stages * piece_vectors + lane;

  // This lane's rows are lane / 4 and 8, 16, 24 further; rows beyond the last repeat the last.
  // Columns of x beyond M repeat the first ones, and are not written.
  unsigned from[4], scale_of[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const auto row = static_cast<unsigned>((std::min)(row0 + lane / 4 + 8 * j, n - 1));
    from[j] = row * static_cast<unsigned>(k / each<Bits>) + static_cast<unsigned>(lane % 4);
    scale_of[j] = row * static_cast<unsigned>(k / block);
  }
  const bf16* const my_x = x + lane / 4 % M * k + lane % 4 * each<Bits>;
  const auto fetch = [&](int piece, int stage) {
    if (piece < pieces) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        pv::ptx::copy_async(ring + stage * piece_vectors + j * 32,
                            weights + (from[j] + static_cast<unsigned>(piece) * 4));
      }
    }
    pv::ptx::commit_copies();
  };
  const auto load_scales = [&](int piece, float(&to)[4]) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      to[j] = 1.0F;
      if (scaled && piece < pieces)
        to[j] =
            __half2float(scales[scale_of[j] + static_cast<unsigned>(piece) * piece_values / block]);
    }
  };
#pragma unroll
  for (int s = 0; s < stages - 1; ++s) fetch(warp + s * warps, s);
  float scale[4], scale_next[4];
  if (Bits < 16) {
    load_scales(warp, scale);
    load_scales(warp + warps, scale_next);
  }

  float sums[2][4] = {};  // rows 16 t + lane / 4 and 8 further, columns 2 (lane % 4) and the next
  int stage = 0;
  for (int piece = warp; piece < pieces; piece += warps) {
    pv::ptx::wait_copies<stages - 2>();  // a lane reads what it copied itself: no barrier
    fetch(piece + (stages - 1) * warps, stage == 0 ? stages - 1 : stage - 1);
    float scale_after[4];
    if (Bits < 16) load_scales(piece + 2 * warps, scale_after);
    std::uint32_t held[4][4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const uint4 v = ring[stage * piece_vectors + j * 32];
      held[j][0] = v.x, held[j][1] = v.y, held[j][2] = v.z, held[j][3] = v.w;
    }
    float part[2][4] = {}, offset[4] = {};
#pragma unroll
    for (int g = 0; g < each<Bits> / 8; ++g) {  // eight values of x at a time
      const uint4 v = pv::load8(my_x + piece * piece_values + 8 * g);
      std::uint32_t right[4], left[4][4];
      pair_x<Bits>(v, right);
#pragma unroll
      for (int j = 0; j < 4; ++j) pair_weights<Bits>(held[j] + g * Bits / 4, left[j]);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const std::uint32_t b[2] = {right[2 * h], right[2 * h + 1]};
#pragma unroll
        for (int t = 0; t < 2; ++t) {
          const std::uint32_t a[4] = {left[2 * t][2 * h], left[2 * t + 1][2 * h],
                                      left[2 * t][2 * h + 1], left[2 * t + 1][2 * h + 1]};
          pv::ptx::mma_bf16(Bits == 16 ? sums[t] : part[t], a, b);
        }
        if (Bits == 4) {
          const std::uint32_t a[4] = {less_offset, less_offset, less_offset, less_offset};
          pv::ptx::mma_bf16(offset, a, b);
        }
      }
    }
    if (Bits < 16) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        sums[i / 4][i % 4] =
            fmaf(scale[i / 2], part[i / 4][i % 4] + offset[i % 2], sums[i / 4][i % 4]);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scale[j] = scale_next[j];
        scale_next[j] = scale_after[j];
      }
    }
    stage = stage == stages - 1 ? 0 : stage + 1;
  }

  // The eight warps' parts, each at the beginning of its ring.
  pv::ptx::wait_copies<0>();
  __syncwarp();
  float* const all = reinterpret_cast<float*>(pool);
  constexpr int apart = stages * piece_vectors * 4;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    all[warp * apart + row * columns + column] = sums[i / 4][i % 4];
  }
  __syncthreads();
  const int row = row0 + thread / columns, column = thread % columns;
  if (row < n && column < M) {
    float sum = 0.0F;
#pragma unroll
    for (int w = 0; w < warps; ++w) sum += all[w * apart + thread];
    y[static_cast<std::size_t>(column) * static_cast<std::size_t>(n) +
      static_cast<std::size_t>(row)] = __float2bfloat16(sum);
  }
}

/// Random bytes, which every width reads in its own way: 16 bits as small bf16 values.
__global__ void fill_kernel(std::uint32_t* words, std::size_t n, std::uint32_t seed, int bits) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    words[i] = bits == 16
                   ? pv::narrow2(pv::random_value(seed, 2 * i), pv::random_value(seed, 2 * i + 1))
                   : pv::random_bits(seed, i);
  }
}
__global__ void scale_kernel(__half* scales, std::size_t n, std::uint32_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    scales[i] = __float2half(0.01F + 0.01F * fabsf(pv::random_value(seed, i)));
  }
}

template <int Bits>
class quantised_product {
 public:
  quantised_product(int n, int k, int most_m, std::size_t copies)
      : n_(n),
        k_(k),
        copies_(copies),
        words_(copies * words_each()),
        scales_(copies * scales_each()),
        x_(static_cast<std::size_t>(most_m) * static_cast<std::size_t>(k)),
        y_(static_cast<std::size_t>(most_m) * static_cast<std::size_t>(n)) {
    pv::random_fill(x_, 31);
    fill_kernel<<<1024, 256>>>(words_.data(), words_.size(), 32, Bits);
    PERFMODEL_LAUNCHED("fill_kernel");
    scale_kernel<<<1024, 256>>>(scales_.data(), scales_.size(), 33);
    PERFMODEL_LAUNCHED("scale_kernel");
    PERFMODEL_CUDA(cudaDeviceSynchronize());
  }

  double weight_bytes() const {
    return 4.0 * static_cast<double>(words_each()) +
           (Bits < 16 ? 2.0 * static_cast<double>(scales_each()) : 0.0);
  }

  void launch(int m, int repetition, bool scaled, cudaStream_t stream) {
    switch (m) {
      case 1: run<1>(repetition, scaled, stream); break;
      case 2: run<2>(repetition, scaled, stream); break;
      default: run<4>(repetition, scaled, stream); break;
    }
    PERFMODEL_LAUNCHED("gemv_kernel");
  }

  /// Rows spread over the matrix, each against double precision on the values as they are stored.
  void check(const pv::session& s, pv::recording& r, int m) {
    y_.poison();
    launch(m, 0, !s.breaks("drop_scale"), s.stream);
    const std::vector<bf16> y =
        y_.download(0, static_cast<std::size_t>(m) * static_cast<std::size_t>(n_));
    const std::vector<std::uint32_t> words = words_.download(0, words_each());
    const std::vector<__half> scales = scales_.download(0, scales_each());
    const auto k = static_cast<std::size_t>(k_);
    std::vector<float> result;
    std::vector<double> reference;
    for (int row = 0; row < n_; row += 1 + n_ / 37) {
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (std::size_t c = 0; c < k; ++c) {
          sum +=
              weight(s, words, scales, static_cast<std::size_t>(row), c) *
              static_cast<double>(pv::random_stored<bf16>(31, static_cast<std::size_t>(i) * k + c));
        }
        reference.push_back(sum);
        result.push_back(
            static_cast<float>(y[static_cast<std::size_t>(i) * static_cast<std::size_t>(n_) +
                                 static_cast<std::size_t>(row)]));
      }
    }
    std::string name = std::to_string(Bits);
    name.append(" bits, ").append(std::to_string(m)).append(" x ").append(std::to_string(n_));
    name.append(" x ").append(std::to_string(k_));
    r.check(name, pv::relative_error<float>(result, reference), 6e-3);
  }

 private:
  std::size_t words_each() const {
    return static_cast<std::size_t>(n_) * static_cast<std::size_t>(k_) * Bits / 32;
  }
  std::size_t scales_each() const {
    return static_cast<std::size_t>(n_) * static_cast<std::size_t>(k_ / block);
  }

  double weight(const pv::session& s, const std::vector<std::uint32_t>& words,
                const std::vector<__half>& scales, std::size_t row, std::size_t column) const {
    const auto k = static_cast<std::size_t>(k_);
    const std::size_t at = row * k + column;
    if (Bits == 16) return static_cast<double>(pv::random_stored<bf16>(32, at));
    const auto scale =
        static_cast<double>(__half2float(scales[pv::scale_index(row, column, k, block)]));
    if (Bits == 8) return pv::byte_of(words[at / 4], static_cast<int>(at % 4)) * scale;
    const std::size_t nibble = s.breaks("swap_nibbles") ? at ^ 1U : at;
    return pv::nibble_of(words[nibble / 8], static_cast<int>(nibble % 8)) * scale;
  }

  template <int M>
  void run(int repetition, bool scaled, cudaStream_t stream) {
    const std::size_t copy = static_cast<std::size_t>(repetition) % copies_;
    const auto grid = static_cast<unsigned>((n_ + tile_rows - 1) / tile_rows);
    const auto kernel = gemv_kernel<Bits, M>;
    PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, ring_bytes));
    kernel<<<grid, warps * 32, ring_bytes, stream>>>(
        x_.data(), reinterpret_cast<const uint4*>(words_.data() + copy * words_each()),
        scales_.data() + copy * scales_each(), y_.data(), n_, k_, scaled);
  }

  int n_, k_;
  std::size_t copies_;
  pv::device_buffer<std::uint32_t> words_;
  pv::device_buffer<__half> scales_;
  pv::device_buffer<bf16> x_, y_;
};

template <int Bits>
void measure_bits(const pv::session& s, pv::recording& r, const char* name) {
  quantised_product<Bits>(19, 384, 4, 1).check(s, r, 1);
  quantised_product<Bits>(19, 384, 4, 1).check(s, r, 2);
  if (!s.reduced) quantised_product<Bits>(1000, 8192, 4, 1).check(s, r, 4);
  struct shape {
    int n, k;
  };
  const std::vector<shape> shapes =
      s.reduced ? std::vector<shape>{{16, 256}}
                : std::vector<shape>{{4096, 4096}, {14336, 4096}, {4096, 14336},
                                     {8192, 8192}, {28672, 8192}, {11008, 2048}};
  for (const shape& nk : shapes) {
    const double bytes = static_cast<double>(nk.n) * nk.k * Bits / 8.0;
    const auto copies = static_cast<std::size_t>(std::ceil(4.0 * s.device.l2_bytes / bytes)) + 1;
    const int rotated = s.reduced ? 2 : static_cast<int>(copies);
    quantised_product<Bits> product(nk.n, nk.k, 4, static_cast<std::size_t>(rotated));
    for (const int m : {1, 2, 4}) {
      const auto samples = pv::time_in_graph(
          s.stream, s.plan, [&](int i) { product.launch(m, i, true, s.stream); }, rotated);
      r.add({"gemv_time",
             "s",
             {{"m", m},
              {"n", nk.n},
              {"k", nk.k},
              {"weights", name},
              {"scale_block", block},
              {"cache", "cold"},
              {"bytes_read", product.weight_bytes() + 2.0 * m * nk.k},
              {"bytes_written", 2.0 * m * nk.n},
              {"flop", 2.0 * m * nk.n * nk.k}},
             samples});
    }
  }
}

void measure(const pv::session& s, pv::recording& r) {
  r.part("bf16", [&] { measure_bits<16>(s, r, "bf16"); });
  r.part("int8", [&] { measure_bits<8>(s, r, "int8"); });
  r.part("int4", [&] { measure_bits<4>(s, r, "int4"); });
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "weight_only",
       .law = "operators/quantized.hpp: bytes of the weights and of their scales",
       .program = "validation/kernels/weight_only.cu",
       .faults = {"drop_scale", "swap_nibbles"}},
      measure);
}
