// Roofline: one kernel at rising FLOP per byte, across the ridge point.
//
// Measures: the time of y = f(f(... f(x))), f(v) = v a + b, over an array larger than the L2, with
//   1 to 2048 FMAs on every float that is loaded: 1/8 to 512 FLOP per byte (4 read and 4 written).
// How: 16 bytes a load, four loads in flight a thread, so that memory latency is hidden and the
//   FMAs of 16 independent values hide each other's latency.
// Tests: attainable = min(peak, intensity x bandwidth), in FP32 on the CUDA cores; the loss near
//   the ridge point, where a model of perfect overlap has its largest error.
#pragma once

#include <cmath>

#include "experiment.cuh"

namespace perfmodel::validation::intensity {

constexpr int threads = 256;
constexpr int unrolled = 4;
constexpr float a = 0.999F, b = 0.001F;

template <int Fmas>
__global__ void __launch_bounds__(threads)
    intensity_kernel(const float4* __restrict__ x, float4* __restrict__ y, std::size_t n) {
  const std::size_t tile = static_cast<std::size_t>(unrolled) * threads;
  for (std::size_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
    float4 v[unrolled] = {};
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * threads + threadIdx.x;
      if (i < n) v[u] = x[i];
    }
#pragma unroll 8
    for (int f = 0; f < Fmas; ++f) {
#pragma unroll
      for (int u = 0; u < unrolled; ++u) {
        v[u].x = fmaf(v[u].x, a, b);
        v[u].y = fmaf(v[u].y, a, b);
        v[u].z = fmaf(v[u].z, a, b);
        v[u].w = fmaf(v[u].w, a, b);
      }
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * threads + threadIdx.x;
      if (i < n) y[i] = v[u];
    }
  }
}

using kernel = void (*)(const float4*, float4*, std::size_t);
struct step {
  int fmas;
  kernel run;
};
constexpr step steps[] = {
    {1, intensity_kernel<1>},     {2, intensity_kernel<2>},       {4, intensity_kernel<4>},
    {8, intensity_kernel<8>},     {16, intensity_kernel<16>},     {24, intensity_kernel<24>},
    {32, intensity_kernel<32>},   {40, intensity_kernel<40>},     {48, intensity_kernel<48>},
    {64, intensity_kernel<64>},   {80, intensity_kernel<80>},     {96, intensity_kernel<96>},
    {128, intensity_kernel<128>}, {192, intensity_kernel<192>},   {256, intensity_kernel<256>},
    {512, intensity_kernel<512>}, {1024, intensity_kernel<1024>}, {2048, intensity_kernel<2048>}};

inline void launch(const step& which, const device_buffer<float>& x, device_buffer<float>& y,
                   std::size_t floats, const session& s) {
  const std::size_t n = floats / 4, tile = static_cast<std::size_t>(unrolled) * threads;
  const std::size_t tiles = (n + tile - 1) / tile;
  const auto grid =
      static_cast<unsigned>((std::min)(tiles, static_cast<std::size_t>(s.sms()) * 16));
  const auto run = which.run;
  run<<<grid, threads, 0, s.stream>>>(reinterpret_cast<const float4*>(x.data()),
                                      reinterpret_cast<float4*>(y.data()), n);
  PERFMODEL_LAUNCHED("intensity_kernel");
}

/// k steps of v a + b are v a^k + b (1 - a^k) / (1 - a), with a and b as fp32 holds them.
inline double closed_form(double v, int k) {
  const double power = std::pow(static_cast<double>(a), k);
  return v * power + static_cast<double>(b) * (1.0 - power) / (1.0 - static_cast<double>(a));
}

inline void measure(const session& s, recording& r) {
  // Two arrays, together at least eight L2s.
  const std::size_t wanted = (std::max)(std::size_t{8} * s.l2_bytes(), std::size_t{256} << 20U);
  const std::size_t floats = s.reduced ? 20000 : wanted / sizeof(float) / 4096 * 4096;
  device_buffer<float> x(floats), y(floats);
  random_fill(x, 7);
  const std::size_t checked = 4 * (unrolled * threads + 33);
  const auto check = [&](const step& which) {
    y.poison();
    launch(which, x, y, checked, s);
    const std::vector<float> result = y.download(0, checked);
    std::vector<double> reference(checked);
    for (std::size_t i = 0; i < checked; ++i) {
      reference[i] = closed_form(random_value(7, i), which.fmas - (s.breaks("drop_fma") ? 1 : 0));
    }
    r.check(std::to_string(which.fmas) + " multiply-adds against their closed form",
            relative_error<float>(result, reference), 2e-5);
  };
  const double bytes = static_cast<double>(floats) * sizeof(float);
  const auto measure_step = [&](const step& which) {
    const double flop = 2.0 * which.fmas * static_cast<double>(floats);
    const auto samples =
        time_in_graph(s.stream, s.plan, [&](int) { launch(which, x, y, floats, s); });
    r.add({"intensity_time",
           "s",
           {{"flop_per_byte", flop / (2.0 * bytes)},
            {"cache", "cold"},
            {"bytes_read", bytes},
            {"bytes_written", bytes},
            {"flop", flop},
            {"format", "fp32"}},
           samples});
  };
  for (const step& which : steps) {
    r.part(std::to_string(which.fmas) + " multiply-adds", [&] {
      check(which);
      measure_step(which);
    });
  }
}

}  // namespace perfmodel::validation::intensity
