// Peak rate of a Hopper GPU's tensor cores by wgmma with both operands in shared memory: the peak
// of "SMs x FLOP per clock x clock".
//
// One block per SM, two warp groups: each keeps 64 x 256 accumulators and multiplies its own 64
// rows of 128 bytes with the 256 rows of 128 bytes that both share, four wgmma at a time; the next
// four are issued before the last are waited for. One m64n256k16 takes 128 cycles and reads 10 KB
// of shared memory, 80 of the 128 bytes per cycle. What it should reach on an H200, by arithmetic:
// at least 95 % of 4096 FLOP per clock and SM in bf16 and of 8192 in fp8, at the clock that the
// power limit leaves.
#pragma once

#include <cstdint>
#include <cstring>

#include "compare.hpp"
#include "experiment.cuh"
#include "random.cuh"
#include "wgmma.cuh"

namespace perfmodel::validation {

inline constexpr int wgmma_rows = 64, wgmma_columns = 256, wgmma_groups = 2;
/// Vectors of 16 bytes: eight a row, and a kilobyte to align with.
inline constexpr int wgmma_vectors = (wgmma_groups * wgmma_rows + wgmma_columns) * 8;
inline constexpr int wgmma_shared_bytes = wgmma_vectors * 16 + 1024;

/// `operands`: the rows of the first group, of the second, and those that both multiply with.
template <bool Fp8>
__global__ void __launch_bounds__(wgmma_groups * 128, 1)
    wgmma_kernel(const uint4* operands, float* out, int rounds) {
#if PERFMODEL_HAS_WGMMA
  extern __shared__ __align__(128) uint4 pool[];
  const std::uint32_t unaligned = ptx::shared_address(pool);
  uint4* const held = pool + ((unaligned + 1023U) / 1024U * 1024U - unaligned) / 16U;
  const int thread = static_cast<int>(threadIdx.x), group = thread / 128, lane = thread % 32;
  for (int i = thread; i < wgmma_vectors; i += wgmma_groups * 128) {
    held[swizzled_byte(i / 8, i % 8 * 16) / 16] = operands[i];
  }
  wgmma::publish_stores();
  __syncthreads();
  const std::uint32_t at = ptx::shared_address(held);
  const std::uint64_t a =
      operand_descriptor(at + static_cast<std::uint32_t>(group * wgmma_rows) * 128U, 0, 1024);
  const std::uint64_t b = operand_descriptor(
      at + static_cast<std::uint32_t>(wgmma_groups * wgmma_rows) * 128U, 0, 1024);
  float d[128] = {};
  wgmma::hold(d);
  wgmma::fence();
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (std::uint64_t k = 0; k < 4; ++k) {  // 32 bytes of a row each, in units of 16
      if constexpr (Fp8) {
        wgmma::fp8_256(d, a + 2 * k, b + 2 * k, true);
      } else {
        wgmma::bf16_256(d, a + 2 * k, b + 2 * k, true);
      }
    }
    wgmma::commit();
    wgmma::wait<1>();
  }
  wgmma::wait<0>();
  wgmma::hold(d);
  const std::size_t first =
      (static_cast<std::size_t>(blockIdx.x) * wgmma_groups + static_cast<std::size_t>(group)) *
      wgmma_rows;
#pragma unroll
  for (int i = 0; i < 128; ++i) {
    const place p = place_of_d(lane, i % 4);
    const auto row = static_cast<std::size_t>(thread % 128 / 32 * 16 + p.row);
    out[(first + row) * wgmma_columns + static_cast<std::size_t>(i / 4 * 8 + p.column)] = d[i];
  }
#endif
}

/// The operands of one block: whole numbers from -2 to 2, or random ones.
template <class T>
std::vector<T> wgmma_operands(bool whole) {
  std::vector<T> out(static_cast<std::size_t>(wgmma_vectors) * 16 / sizeof(T));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = whole ? stored<T>(static_cast<float>(random_bits(13, i) % 5) - 2.0F)
                   : stored<T>(random_value(14, i));
  }
  return out;
}

template <class T>
device_buffer<uint4> on_device(const std::vector<T>& operands) {
  std::vector<uint4> vectors(wgmma_vectors);
  std::memcpy(vectors.data(), operands.data(), vectors.size() * sizeof(uint4));
  return device_buffer<uint4>{std::span<const uint4>(vectors)};
}

/// Checks every accumulator of the last block against a GEMM of whole numbers, which fp32 holds
/// exactly; then measures the time on random operands.
template <class T>
void measure_wgmma(const session& s, recording& r, const char* format) {
  const std::string name = std::string("wgmma in ") + format;
  if (s.architecture() != 90 || !has_wgmma()) {
    r.skip(name, s.architecture() != 90 ? "Hopper alone has this instruction"
                                        : "not compiled for sm_90a");
    return;
  }
  constexpr int k = 128 / static_cast<int>(sizeof(T)), checked = 3;
  const auto blocks = static_cast<std::size_t>(s.sms());
  constexpr std::size_t each = std::size_t{wgmma_groups} * wgmma_rows * wgmma_columns;
  device_buffer<float> out(blocks * each);
  const auto kernel = wgmma_kernel<sizeof(T) == 1>;
  PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      wgmma_shared_bytes));
  const auto launch = [&](const device_buffer<uint4>& operands, int rounds) {
    kernel<<<static_cast<unsigned>(blocks), wgmma_groups * 128, wgmma_shared_bytes, s.stream>>>(
        operands.data(), out.data(), rounds);
    PERFMODEL_LAUNCHED("wgmma_kernel");
  };
  std::vector<T> whole = wgmma_operands<T>(true);
  const auto exact = on_device(whole);
  launch(exact, checked);
  if (s.breaks("swap_fragments")) std::swap(whole[0], whole[1]);
  const std::vector<float> result = out.download((blocks - 1) * each, each);
  std::vector<double> reference(each);
  const auto at = [&](std::size_t row, int i) {
    return static_cast<double>(static_cast<float>(whole[row * k + static_cast<std::size_t>(i)]));
  };
  for (std::size_t i = 0; i < each; ++i) {
    double sum = 0;
    for (int j = 0; j < k; ++j) {
      sum += at(i / wgmma_columns, j) * at(wgmma_groups * wgmma_rows + i % wgmma_columns, j);
    }
    reference[i] = checked * sum;
  }
  r.check(name + " against whole numbers", relative_error<float>(result, reference), 0.0);
  const auto random = on_device(wgmma_operands<T>(false));
  const int rounds = s.reduced ? 2 : 4000;
  const auto samples = time_in_graph(s.stream, s.plan, [&](int) { launch(random, rounds); });
  r.add({"arithmetic_time",
         "s",
         {{"unit", "wgmma"},
          {"format", format},
          {"flop", 2.0 * static_cast<double>(each) * k * rounds * static_cast<double>(blocks)}},
         samples});
}

}  // namespace perfmodel::validation
