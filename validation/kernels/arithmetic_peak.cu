// Arithmetic peaks: operations per second with operands in registers or shared memory.
//
// Measures: chains of FMAs in FP32 and FP64 on the CUDA cores; tensor cores by mma.sync in bf16 and
//   fp8 with operands in registers, by wgmma with operands in shared memory (Hopper), and through
//   cuBLASLt on large GEMMs. And common/intensity.cuh: one kernel on both sides of the ridge point.
// How: every thread or warp keeps several independent accumulators, so that no dependent chain
//   stalls; every SM is full. Tensor operands are random: a chip draws more power, and clocks
//   lower, than on zeros. From Hopper on, mma.sync reaches only part of the peak; the peak is that
//   of wgmma, which cuBLASLt uses; all are recorded. fp8 is measured only where the machine code
//   has it: on an architecture that emulates it the figure would be a rate of additions.
// Tests: peak = SMs x FLOP per clock x clock, per format; the share that a kernel reaches; the
//   power limit.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>

#include "algorithms/fragments.hpp"
#include "common/cublaslt.cuh"
#include "common/experiment.cuh"
#include "common/intensity.cuh"
#include "common/ptx.cuh"
#include "common/wgmma_peak.cuh"

namespace pv = perfmodel::validation;

namespace {

// --- CUDA cores ----------------------------------------------------------------------------------

constexpr int chains = 8;
constexpr int fma_threads = 256;

template <class Number>
__global__ void __launch_bounds__(fma_threads)
    fma_kernel(const Number* x, Number* y, int rounds, Number a, Number b) {
  const std::size_t me = static_cast<std::size_t>(blockIdx.x) * fma_threads + threadIdx.x;
  Number v[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) v[c] = x[(me * chains + static_cast<std::size_t>(c)) % 4096];
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int again = 0; again < 16; ++again) {
#pragma unroll
      for (int c = 0; c < chains; ++c) v[c] = v[c] * a + b;  // one FMA
    }
  }
  Number sum{};
#pragma unroll
  for (int c = 0; c < chains; ++c) sum += v[c];
  y[me] = sum;
}

template <class Number>
void measure_fma(const pv::session& s, pv::recording& r, const char* unit, const char* format,
                 double tolerance) {
  const auto grid = static_cast<unsigned>(s.sms() * 8);
  const std::size_t outputs = std::size_t{grid} * fma_threads;
  pv::device_buffer<Number> x(4096), y(outputs);
  std::vector<Number> start(4096);
  for (std::size_t i = 0; i < start.size(); ++i)
    start[i] = static_cast<Number>(pv::random_value(1, i));
  x.upload(start);
  y.poison();  // waits for the copy as well: the stream does not
  const Number a = static_cast<Number>(0.999), b = static_cast<Number>(0.001);
  const auto launch = [&](int rounds) {
    fma_kernel<Number><<<grid, fma_threads, 0, s.stream>>>(x.data(), y.data(), rounds, a, b);
    PERFMODEL_LAUNCHED("fma_kernel");
  };
  // n steps of v a + b are v a^n + b (1 - a^n) / (1 - a).
  constexpr int checked = 7;
  launch(s.breaks("drop_round") ? checked - 1 : checked);
  const std::vector<Number> result = y.download();
  const double ad = static_cast<double>(a), power = std::pow(ad, 16 * checked);
  double off = 0, norm = 0;
  for (std::size_t i = 0; i < outputs; ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < chains; ++c) {
      sum += static_cast<double>(start[(i * chains + c) % 4096]) * power +
             static_cast<double>(b) * (1.0 - power) / (1.0 - ad);
    }
    const double d = static_cast<double>(result[i]) - sum;
    off += d * d;
    norm += sum * sum;
  }
  r.check(std::string(unit) + " against its closed form", std::sqrt(off / norm), tolerance);
  const int rounds = s.reduced ? 2 : sizeof(Number) == 8 ? 200 : 2000;
  const auto samples = pv::time_in_graph(s.stream, s.plan, [&](int) { launch(rounds); });
  r.add({"arithmetic_time",
         "s",
         {{"unit", unit},
          {"format", format},
          {"flop", 2.0 * 16.0 * chains * rounds * static_cast<double>(outputs)}},
         samples});
}

// --- tensor cores, operands in registers ---------------------------------------------------------

constexpr int sums = 8;  ///< independent accumulator tiles per warp
constexpr int mma_threads = 256;

struct operands {
  std::uint32_t a[4];
  std::uint32_t b[2];
};

template <bool Fp8>
__global__ void __launch_bounds__(mma_threads)
    mma_kernel(const operands* of_lane, float* out, int rounds) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const operands o = of_lane[lane];
  float d[sums][4] = {};
#pragma unroll 4
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < sums; ++i) {
      if (Fp8) {
        pv::ptx::mma_fp8(d[i], o.a, o.b);
      } else {
        pv::ptx::mma_bf16(d[i], o.a, o.b);
      }
    }
  }
  // The warp's eight sums are equal; all are used, so that none can be left out.
  const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * mma_threads + threadIdx.x) / 32;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    float mean = 0.0F;
#pragma unroll
    for (int i = 0; i < sums; ++i) mean += d[i][j];
    out[warp * 128 + static_cast<std::size_t>(lane) * 4 + static_cast<std::size_t>(j)] =
        mean / sums;
  }
}

template <class T>
void measure_mma(const pv::session& s, pv::recording& r, const char* format) {
  constexpr bool fp8 = sizeof(T) == 1;
  constexpr int each = 4 / static_cast<int>(sizeof(T));
  constexpr int k = 8 * each;
  if (fp8 && !pv::ptx::has_fp8_mma(s.architecture())) {
    r.skip("mma in fp8", s.architecture() < 89
                             ? "this GPU has no fp8 tensor cores"
                             : "ptxas emulates it on this architecture with fp16 products");
    return;
  }
  // Operands as the lanes hold them, and the product that they stand for.
  std::vector<operands> held(32);
  std::vector<double> a(16 * k), b(k * 8), reference(128);
  for (int lane = 0; lane < 32; ++lane) {
    operands& o = held[static_cast<std::size_t>(lane)];
    for (int i = 0; i < 4 * each; ++i) {
      const pv::place p = pv::place_of_a<each>(lane, i);
      const auto at = static_cast<std::size_t>(p.row * k + p.column);
      const T v = pv::stored<T>(pv::random_value(11, at));
      a[at] = static_cast<double>(static_cast<float>(v));
      std::memcpy(reinterpret_cast<unsigned char*>(o.a) + static_cast<std::size_t>(i) * sizeof(T),
                  &v, sizeof(T));
    }
    for (int i = 0; i < 2 * each; ++i) {
      const pv::place p = pv::place_of_b<each>(lane, i);
      const auto at = static_cast<std::size_t>(p.row * 8 + p.column);
      const T v = pv::stored<T>(pv::random_value(12, at));
      b[at] = static_cast<double>(static_cast<float>(v));
      std::memcpy(reinterpret_cast<unsigned char*>(o.b) + static_cast<std::size_t>(i) * sizeof(T),
                  &v, sizeof(T));
    }
  }
  if (s.breaks("swap_fragments")) std::swap(held[0].a[1], held[0].a[2]);
  const pv::device_buffer<operands> on_device{std::span<const operands>(held)};
  const auto grid = static_cast<unsigned>(s.sms() * 4);
  const std::size_t warps = std::size_t{grid} * mma_threads / 32;
  pv::device_buffer<float> out(warps * 128);
  const auto launch = [&](int rounds) {
    mma_kernel<fp8><<<grid, mma_threads, 0, s.stream>>>(on_device.data(), out.data(), rounds);
    PERFMODEL_LAUNCHED("mma_kernel");
  };
  constexpr int checked = 3;
  launch(checked);
  const std::vector<float> result = out.download((warps - 1) * 128, 128);
  for (int lane = 0; lane < 32; ++lane) {
    for (int j = 0; j < 4; ++j) {
      const pv::place p = pv::place_of_d(lane, j);
      double sum = 0;
      for (int l = 0; l < k; ++l) {
        sum += a[static_cast<std::size_t>(p.row * k + l)] *
               b[static_cast<std::size_t>(l * 8 + p.column)];
      }
      reference[static_cast<std::size_t>(lane * 4 + j)] = checked * sum;
    }
  }
  // Tensor cores add up fp8 products with fewer bits than fp32.
  r.check(std::string("mma in ") + format + " against double precision",
          pv::relative_error<float>(result, reference), fp8 ? 2e-3 : 1e-5);
  const int rounds = s.reduced ? 2 : 20000;
  const auto samples = pv::time_in_graph(s.stream, s.plan, [&](int) { launch(rounds); });
  r.add({"arithmetic_time",
         "s",
         {{"unit", "mma"},
          {"format", format},
          {"flop", 2.0 * 16 * 8 * k * sums * rounds * static_cast<double>(warps)}},
         samples});
}

// --- tensor cores through cuBLASLt ---------------------------------------------------------------

#if PERFMODEL_HAS_CUBLASLT
template <class T>
void measure_product(const pv::session& s, pv::recording& r, const char* format, int edge) {
  const auto n = static_cast<std::size_t>(edge);
  pv::device_buffer<T> x(n * n), w(n * n);
  pv::device_buffer<__nv_bfloat16> y(n * n);
  pv::random_fill(x, 21);
  pv::random_fill(w, 22);
  std::unique_ptr<pv::matrix_product<T>> product;
  try {
    product = std::make_unique<pv::matrix_product<T>>(edge, edge, edge);
  } catch (const pv::no_algorithm& none) {
    r.skip(std::string("cuBLASLt in ") + format + ", n = " + std::to_string(edge), none.what());
    return;
  }
  product->launch(x.data(), w.data(), y.data(), s.stream);
  // A few rows of eight columns, spread over the result.
  std::vector<float> result;
  std::vector<double> reference;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t row = i * (n - 1) / 7, first = (7 - i) * (n - 8) / 7;
    for (const __nv_bfloat16 v : y.download(row * n + first, 8))
      result.push_back(static_cast<float>(v));
    for (std::size_t column = first; column < first + 8; ++column) {
      double sum = 0;
      for (std::size_t l = 0; l < n - (s.breaks("drop_term") ? n / 8 : 0); ++l) {
        sum += static_cast<double>(pv::random_stored<T>(21, row * n + l)) *
               static_cast<double>(pv::random_stored<T>(22, column * n + l));
      }
      reference.push_back(sum);
    }
  }
  r.check(std::string("cuBLASLt in ") + format + ", n = " + std::to_string(edge),
          pv::relative_error<float>(result, reference), 1e-2);
  const auto samples = pv::time_in_graph(
      s.stream, s.plan, [&](int) { product->launch(x.data(), w.data(), y.data(), s.stream); });
  r.add({"arithmetic_time",
         "s",
         {{"unit", "cublaslt"},
          {"format", format},
          {"m", edge},
          {"n", edge},
          {"k", edge},
          {"bytes_read", product->bytes_read()},
          {"bytes_written", product->bytes_written()},
          {"flop", product->flop()}},
         samples});
}
#endif

void measure_products(const pv::session& s, pv::recording& r) {
#if PERFMODEL_HAS_CUBLASLT
  const std::vector<int> edges =
      s.reduced ? std::vector<int>{64} : std::vector<int>{2048, 4096, 8192};
  for (const int edge : edges) {
    const std::string n = ", n = " + std::to_string(edge);
    r.part("cuBLASLt in bf16" + n, [&] { measure_product<__nv_bfloat16>(s, r, "bf16", edge); });
    if (s.architecture() < 89) continue;
    r.part("cuBLASLt in fp8" + n, [&] { measure_product<__nv_fp8_e4m3>(s, r, "fp8", edge); });
  }
  if (s.architecture() < 89) r.skip("cuBLASLt in fp8", "this GPU has no fp8 tensor cores");
#else
  r.skip("cuBLASLt", pv::no_cublaslt);
  if (s.breaks("drop_term")) throw pv::measurement_error("check failed: not compiled in");
#endif
}

void measure(const pv::session& s, pv::recording& r) {
  r.part("fp32_fma", [&] { measure_fma<float>(s, r, "fp32_fma", "fp32", 2e-5); });
  r.part("fp64_fma", [&] { measure_fma<double>(s, r, "fp64_fma", "fp64", 1e-13); });
  r.part("mma in bf16", [&] { measure_mma<__nv_bfloat16>(s, r, "bf16"); });
  r.part("mma in fp8", [&] { measure_mma<__nv_fp8_e4m3>(s, r, "fp8"); });
  r.part("wgmma in bf16", [&] { pv::measure_wgmma<__nv_bfloat16>(s, r, "bf16"); });
  r.part("wgmma in fp8", [&] { pv::measure_wgmma<__nv_fp8_e4m3>(s, r, "fp8"); });
  measure_products(s, r);
  pv::intensity::measure(s, r);
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "arithmetic_peak",
       .law = "peak = SMs x FLOP per clock x clock, per format; roofline.hpp: min(peak, "
              "intensity x bandwidth)",
       .program = "validation/kernels/arithmetic_peak.cu",
       .faults = {"drop_round", "swap_fragments", "drop_term", "drop_fma"}},
      measure);
}
