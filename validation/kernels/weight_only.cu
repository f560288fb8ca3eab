// Weight-only quantisation: a vector times a matrix whose weights have 16, 8 or 4 bits.
//
// Measures: y[m][n] = sum over k of x[m][k] w[n][k] for m = 1, 2, 4 with w in bf16, or in int8 or int4
//   with a scale in fp16 for every 128 values along k; x and y in bf16, sums in fp32.
// How: a warp has a row of w, reads it 16 bytes a lane, four such loads in flight, widens in
//   registers and multiplies with x from the L1; the weights rotate through copies beyond four L2s.
// Tests: quantised storage (workload/operators/quantized.hpp): time goes with the bytes of the weights and of
//   their scales, as long as widening them is hidden.
#include <cuda_fp16.h>

#include <cmath>

#include "algorithms/block_scale.hpp"
#include "common/bf16x8.cuh"
#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

using bf16 = __nv_bfloat16;
constexpr int warps = 8;
constexpr int block = 128;  ///< values that share a scale

/// bits: 16, 8 or 4. Values that 16 bytes hold: 8, 16 or 32; they never straddle a block of 128.
template <int Bits>
constexpr int each = 128 / Bits;

template <int Bits>
__device__ void widen(uint4 from, float scale, float (&to)[each<Bits>]) {
  const std::uint32_t words[4] = {from.x, from.y, from.z, from.w};
  if constexpr (Bits == 16) {
    pv::widen8(from, to);
  } else {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
#pragma unroll
      for (int i = 0; i < 32 / Bits; ++i) {
        const int v = Bits == 8 ? pv::byte_of(words[w], i) : pv::nibble_of(words[w], i);
        to[w * (32 / Bits) + i] = pv::dequantised(v, scale);
      }
    }
  }
}

template <int Bits, int M>
__global__ void __launch_bounds__(warps * 32)
    gemv_kernel(const bf16* __restrict__ x, const uint4* __restrict__ weights,
                const __half* __restrict__ scales, bf16* __restrict__ y, int n, int k,
                bool scaled) {
  constexpr int values = each<Bits>, unrolled = 4;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int row = static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32;
  if (row >= n) return;  // whole warps
  const int pieces = k / values;
  const uint4* mine = weights + static_cast<std::size_t>(row) * static_cast<std::size_t>(pieces);
  float sums[M] = {};
  for (int base = lane; base < pieces; base += 32 * unrolled) {
    uint4 piece[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      piece[u] = {0, 0, 0, 0};
      if (base + 32 * u < pieces) piece[u] = mine[base + 32 * u];
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const int first = (base + 32 * u) * values;
      if (first >= k) continue;
      float scale = 1.0F;
      if (Bits < 16 && scaled) {
        scale = __half2float(
            scales[pv::scale_index(static_cast<std::size_t>(row), static_cast<std::size_t>(first),
                                   static_cast<std::size_t>(k), block)]);
      }
      float w[values];
      widen<Bits>(piece[u], scale, w);
#pragma unroll
      for (int m = 0; m < M; ++m) {
#pragma unroll
        for (int i = 0; i < values; i += 8) {
          float v[8];
          pv::widen8(pv::load8(x + static_cast<std::size_t>(m) * static_cast<std::size_t>(k) +
                               static_cast<std::size_t>(first + i)),
                     v);
#pragma unroll
          for (int j = 0; j < 8; ++j) sums[m] = fmaf(w[i + j], v[j], sums[m]);
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < M; ++m) {
#pragma unroll
    for (int by = 16; by > 0; by /= 2) sums[m] += __shfl_xor_sync(0xFFFFFFFFU, sums[m], by);
    if (lane == 0) {
      y[static_cast<std::size_t>(m) * static_cast<std::size_t>(n) + static_cast<std::size_t>(row)] =
          __float2bfloat16(sums[m]);
    }
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
    const auto grid = static_cast<unsigned>((n_ + warps - 1) / warps);
    gemv_kernel<Bits, M><<<grid, warps * 32, 0, stream>>>(
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
  measure_bits<16>(s, r, "bf16");
  measure_bits<8>(s, r, "int8");
  measure_bits<4>(s, r, "int4");
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "weight_only",
       .law = "workload/operators/quantized.hpp: bytes of the weights and of their scales",
       .program = "validation/kernels/weight_only.cu",
       .faults = {"drop_scale", "swap_nibbles"}},
      measure);
}
