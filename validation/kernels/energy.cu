// Energy: joules, watts and the SM clock of a device under six loads: idle, a memory copy, memory
// reads, FMAs on its CUDA cores, GEMMs in bf16 and in fp8 on its tensor cores.
//
// Measures: for each of the six loads, after a warm-up of 0.4 s, over 1.5 s: NVML's energy counter
//   and its power, the SM clock from cycle counters (method: counted) and from NVML (method: nvml),
//   and the throttle reasons. No setting is changed.
// How: two batches of launches are always in flight while the host reads NVML every few
//   milliseconds. The counter moves in steps, so energy is taken from step to step; `flop`,
//   `bytes_read` and `bytes_written` are the load's rates times those seconds. NVML's power is an
//   average over the last second on most GPUs, so it is read once the load has run longer than
//   that. A kernel of some microseconds after each batch reads every SM's cycle counter; the clock
//   of a batch is the cycles between two of these reads over the time between their events.
// Tests: energy = static power x time + bytes x J/byte + flop x J/flop; the clock under load.
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "algorithms/energy_windows.hpp"
#include "common/cublaslt.cuh"
#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

using bf16 = __nv_bfloat16;

constexpr int threads = 256, chains = 8, unrolled = 4;
constexpr float factor = 0.999F, addend = 0.001F;
constexpr std::uint32_t stream_seed = 71, chain_seed = 72, read_seed = 75;

__global__ void __launch_bounds__(threads)
    stream_kernel(const uint4* __restrict__ from, uint4* __restrict__ to, std::size_t n) {
  const std::size_t tile = static_cast<std::size_t>(unrolled) * threads;
  for (std::size_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
    uint4 held[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * threads + threadIdx.x;
      if (i < n) held[u] = from[i];
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * threads + threadIdx.x;
      if (i < n) to[i] = held[u];
    }
  }
}

__device__ void add_bits(uint4& sum, const uint4& v) {
  sum = {sum.x ^ v.x, sum.y ^ v.y, sum.z ^ v.z, sum.w ^ v.w};
}

/// Reads all and writes one exclusive or a thread.
__global__ void __launch_bounds__(threads)
    read_kernel(const uint4* __restrict__ from, uint4* __restrict__ sums, std::size_t n) {
  const std::size_t tile = static_cast<std::size_t>(unrolled) * threads;
  uint4 sum{0, 0, 0, 0};
  for (std::size_t base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
    uint4 held[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u) {
      const std::size_t i = base + static_cast<std::size_t>(u) * threads + threadIdx.x;
      held[u] = i < n ? from[i] : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (int u = 0; u < unrolled; ++u) add_bits(sum, held[u]);
  }
  sums[static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x] = sum;
}

/// Every thread runs `chains` values through `steps` multiply-adds that depend on each other.
__global__ void __launch_bounds__(threads) chain_kernel(float* __restrict__ out, int steps) {
  const std::size_t first = (static_cast<std::size_t>(blockIdx.x) * threads + threadIdx.x) * chains;
  float v[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c)
    v[c] = pv::random_value(chain_seed, first + static_cast<std::size_t>(c));
#pragma unroll 8
  for (int i = 0; i < steps; ++i) {
#pragma unroll
    for (int c = 0; c < chains; ++c) v[c] = fmaf(v[c], factor, addend);
  }
#pragma unroll
  for (int c = 0; c < chains; ++c) out[first + static_cast<std::size_t>(c)] = v[c];
}

/// One launch of a load, and what it does.
struct work {
  const char* name = "";
  std::function<void()> launch{};
  double flop = 0, bytes_read = 0, bytes_written = 0;
};

class stream_work {
 public:
  stream_work(const pv::session& s, std::size_t vectors)
      : s_(s), from_(vectors * 4), to_(vectors * 4) {
    pv::random_fill(from_, stream_seed);
  }
  work load() {
    const double bytes = static_cast<double>(from_.bytes());
    return {"memory_stream", [this] { launch(from_.size() / 4); }, 0.0, bytes, bytes};
  }
  void check(pv::recording& r) {
    const std::size_t n = (std::min)(from_.size() / 4, std::size_t{5000}) - 3;
    launch(n);
    std::vector<float> got = to_.download(0, n * 4), wanted(n * 4);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = pv::random_value(stream_seed, i);
    if (s_.breaks("swap_bytes")) {
      auto* bytes = reinterpret_cast<unsigned char*>(got.data());
      std::swap(bytes[100], bytes[101]);
    }
    r.check("memory stream: bytes that differ", pv::differing_bytes<float>(got, wanted), 0.0);
  }

 private:
  void launch(std::size_t n) {
    const std::size_t tiles = (n + unrolled * threads - 1) / (unrolled * threads);
    const auto grid =
        static_cast<unsigned>((std::min)(tiles, static_cast<std::size_t>(s_.sms()) * 16));
    stream_kernel<<<grid, threads, 0, s_.stream>>>(reinterpret_cast<const uint4*>(from_.data()),
                                                   reinterpret_cast<uint4*>(to_.data()), n);
    PERFMODEL_LAUNCHED("stream_kernel");
  }

  const pv::session& s_;
  pv::device_buffer<float> from_, to_;
};

class read_work {
 public:
  read_work(const pv::session& s, std::size_t vectors)
      : s_(s),
        blocks_(s.sms() * 16),
        from_(vectors * 4),
        sums_(static_cast<std::size_t>(blocks_) * threads * 4) {
    pv::random_fill(from_, read_seed);
  }
  work load() {
    return {"memory_read", [this] { launch(from_.size() / 4); }, 0.0,
            static_cast<double>(from_.bytes()), static_cast<double>(sums_.bytes())};
  }
  void check(pv::recording& r) {
    const std::size_t n = (std::min)(from_.size() / 4, std::size_t{5000}) - 3;
    launch(n - (s_.breaks("drop_vector") ? 1 : 0));
    std::uint32_t got = 0, wanted = 0;
    for (const float v : sums_.download()) got ^= std::bit_cast<std::uint32_t>(v);
    for (std::size_t i = 0; i < n * 4; ++i) {
      wanted ^= std::bit_cast<std::uint32_t>(pv::random_value(read_seed, i));
    }
    r.check("memory read: bits of the exclusive or that differ", std::popcount(got ^ wanted), 0.0);
  }

 private:
  void launch(std::size_t n) {
    read_kernel<<<static_cast<unsigned>(blocks_), threads, 0, s_.stream>>>(
        reinterpret_cast<const uint4*>(from_.data()), reinterpret_cast<uint4*>(sums_.data()), n);
    PERFMODEL_LAUNCHED("read_kernel");
  }

  const pv::session& s_;
  int blocks_;
  pv::device_buffer<float> from_, sums_;
};

class chain_work {
 public:
  chain_work(const pv::session& s, int blocks, int steps)
      : s_(s),
        blocks_(blocks),
        steps_(steps),
        out_(static_cast<std::size_t>(blocks) * threads * chains) {}
  work load() {
    return {"arithmetic_peak", [this] { launch(steps_); },
            2.0 * steps_ * static_cast<double>(out_.size()), 0.0,
            static_cast<double>(out_.bytes())};
  }
  void check(pv::recording& r) {
    const int steps = 100;
    launch(steps - (s_.breaks("drop_fma") ? 1 : 0));
    const std::vector<float> got = out_.download(0, threads * chains);
    std::vector<double> wanted;
    const double a = factor, power = std::pow(a, steps);
    for (std::size_t i = 0; i < got.size(); ++i) {
      wanted.push_back(pv::random_value(chain_seed, i) * power +
                       addend * (1.0 - power) / (1.0 - a));
    }
    r.check("multiply-adds against their closed form", pv::relative_error<float>(got, wanted),
            2e-5);
  }

 private:
  void launch(int steps) {
    chain_kernel<<<static_cast<unsigned>(blocks_), threads, 0, s_.stream>>>(out_.data(), steps);
    PERFMODEL_LAUNCHED("chain_kernel");
  }

  const pv::session& s_;
  int blocks_, steps_;
  pv::device_buffer<float> out_;
};

#if PERFMODEL_HAS_CUBLASLT

constexpr std::uint32_t x_seed = 73, weight_seed = 74;

/// A square product. fp8 values are drawn from [-1, 1): its scale is 1, as gemm_sweep's is.
template <class T>
class product_work {
 public:
  product_work(const pv::session& s, const char* name, int size)
      : s_(s),
        name_(name),
        size_(size),
        scale_(sizeof(T) == 1 ? 1.0F : std::sqrt(3.0F / static_cast<float>(size))),
        x_(values()),
        w_(values()),
        y_(values()),
        product_(size, size, size) {
    pv::random_fill(x_, x_seed);
    pv::random_fill(w_, weight_seed, scale_);
  }
  work load() {
    return {name_, [this] { launch(); }, product_.flop(), product_.bytes_read(),
            product_.bytes_written()};
  }
  void check(pv::recording& r) {
    launch();
    std::vector<float> result;
    std::vector<double> reference;
    const auto n = static_cast<std::size_t>(size_);
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t row = i * (n - 1) / 7, from = s_.breaks("wrong_row") ? (row + 1) % n : row;
      const auto got = y_.download(row * n, n);
      for (std::size_t column = 0; column < n; column += (n - 1) / 7) {
        double sum = 0;
        for (std::size_t c = 0; c < n; ++c) {
          sum += static_cast<double>(pv::random_stored<T>(x_seed, from * n + c)) *
                 pv::random_stored<T>(weight_seed, column * n + c, scale_);
        }
        reference.push_back(sum);
        result.push_back(static_cast<float>(got[column]));
      }
    }
    r.check(std::string(name_) + " against double precision",
            pv::relative_error<float>(result, reference), sizeof(T) == 1 ? 1e-2 : 6e-3);
  }

 private:
  std::size_t values() const {
    return static_cast<std::size_t>(size_) * static_cast<std::size_t>(size_);
  }
  void launch() { product_.launch(x_.data(), w_.data(), y_.data(), s_.stream); }

  const pv::session& s_;
  const char* name_;
  int size_;
  float scale_;
  pv::device_buffer<T> x_, w_;
  pv::device_buffer<bf16> y_;
  pv::matrix_product<T> product_;
};

#endif

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Launches that make a batch of about 50 ms, longer than NVML takes between two looks at it.
int batch_of(const pv::session& s, const work& load) {
  pv::event start, stop;
  load.launch();
  start.record(s.stream);
  for (int i = 0; i < 3; ++i) load.launch();
  stop.record(s.stream);
  stop.wait();
  const double one = (std::max)(pv::seconds_between(start, stop) / 3.0, 1e-6);
  return static_cast<int>((std::clamp)(50e-3 / one, 1.0, 1000.0));
}

void measure_load(const pv::session& s, pv::recording& r, const work& load) {
  const bool idle = !load.launch;
  const double settle = s.reduced ? 0.05 : 0.4, length = s.reduced ? 0.2 : 1.5;
  const double averaged = s.reduced ? settle : 1.1;  // from here on, power is of this load alone
  const std::size_t parts = s.reduced ? 1 : 3;
  const int batch = idle ? 0 : batch_of(s, load);
  // A mark ends each batch. Batches of 50 ms need some forty.
  constexpr std::size_t most_marks = 1000;
  pv::sm_clock marks(s.stream, most_marks);
  std::size_t enqueued = 0, oldest = 0, first_counted = 0;
  double batches = 0, first_end = 0, last_end = 0;
  const auto enqueue = [&] {
    for (int i = 0; i < batch; ++i) load.launch();
    marks.mark();
    ++enqueued;
  };
  std::vector<pv::energy_reading> readings;
  std::vector<double> power, nvml_clock;
  std::set<std::string> reasons;
  const double begin = now();
  if (!idle) {
    enqueue();
    enqueue();
  }
  while (now() - begin < settle + length) {
    if (!idle && marks.at(oldest).reached() && enqueued < most_marks) {
      last_end = now();
      if (first_end == 0 || last_end - begin < settle) {
        first_end = last_end;
        first_counted = oldest;
      } else {
        batches += 1;
      }
      enqueue();
      ++oldest;
    }
    const double age = now() - begin;
    if (age >= settle) {
      if (const auto e = s.sensors->energy_j()) readings.push_back({now(), *e});
      if (const auto c = s.sensors->sm_clock_hz()) nvml_clock.push_back(*c);
      for (const std::string& reason : s.sensors->slowdown()) reasons.insert(reason);
    }
    if (age >= averaged) {
      if (const auto p = s.sensors->power_w()) power.push_back(*p);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
  // Clock i is that of the batch between marks i and i + 1.
  std::vector<double> counted_clock = marks.between_marks();
  counted_clock.erase(counted_clock.begin(),
                      counted_clock.begin() + static_cast<std::ptrdiff_t>(
                                                  (std::min)(first_counted, counted_clock.size())));
  const double rate = batches > 0 ? batches * batch / (last_end - first_end) : 0.0;
  std::string slowdown;
  for (const std::string& reason : reasons)
    slowdown.append(slowdown.empty() ? "" : ", ").append(reason);

  const std::string name = load.name;
  const auto windows = pv::energy_windows(readings, parts);
  if (windows.empty())
    r.skip("energy, " + name, "NVML's energy counter does not move, or is not there");
  // The clock that the SMs counted, where they did: no clock of NVML's stands for it.
  const auto with_clock = [&](pv::parameters p) {
    p.emplace_back("slowdown", slowdown);
    if (!counted_clock.empty()) p.emplace_back("sm_clock_hz", pv::median_of(counted_clock));
    return p;
  };
  for (const pv::energy_window& w : windows) {
    r.add({"energy",
           "J",
           with_clock({{"load", name},
                       {"seconds", w.seconds},
                       {"flop", load.flop * rate * w.seconds},
                       {"bytes_read", load.bytes_read * rate * w.seconds},
                       {"bytes_written", load.bytes_written * rate * w.seconds}}),
           {w.joules}});
  }
  if (power.empty()) {
    r.skip("power, " + name, "NVML does not say");
  } else {
    r.add({"power", "W", with_clock({{"load", name}}), power});
  }
  const auto add_clock = [&](const char* method, const std::vector<double>& samples) {
    if (!samples.empty()) {
      r.add({"sm_clock",
             "Hz",
             {{"load", name}, {"method", method}, {"slowdown", slowdown}},
             samples});
    }
  };
  add_clock("counted", counted_clock);
  add_clock("nvml", nvml_clock);
  if (counted_clock.empty()) r.skip("counted sm_clock, " + name, "no batch ended");
}

void measure(const pv::session& s, pv::recording& r) {
  // Buffers larger than eight L2s, threads for every SM, a GEMM of 1.1 TFLOP.
  const std::size_t bytes =
      s.reduced ? 100000 : (std::max)(8 * s.l2_bytes(), std::size_t{256} << 20U);
  stream_work stream(s, bytes / 16);
  read_work read(s, bytes / 16);
  chain_work chain(s, s.reduced ? 2 : 8 * s.sms(), s.reduced ? 64 : 4096);
  std::vector<work> loads{{.name = "idle"}};
  const auto check = [&](auto& work) {
    r.part(work.load().name, [&] {
      work.check(r);
      loads.push_back(work.load());
    });
  };
  check(stream);
  check(read);
  check(chain);
#if PERFMODEL_HAS_CUBLASLT
  const int size = s.reduced ? 64 : 8192;
  product_work<bf16> product(s, "gemm", size);
  check(product);
  std::optional<product_work<__nv_fp8_e4m3>> product_fp8;
  if (s.architecture() >= 89) {
    product_fp8.emplace(s, "gemm_fp8", size);
    check(*product_fp8);
  } else {
    r.skip("gemm_fp8", "this GPU has no fp8 tensor cores");
  }
#else
  r.skip("gemm", pv::no_cublaslt);
#endif
  if (!s.sensors->available()) return;  // run_experiment has noted it
  PERFMODEL_CUDA(cudaDeviceSynchronize());
  if (!s.reduced) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  for (const work& load : loads) {
    r.part(load.name, [&] { measure_load(s, r, load); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> faults{"swap_bytes", "drop_vector", "drop_fma"};
  if (pv::has_cublaslt) faults.emplace_back("wrong_row");
  return pv::run_experiment(
      argc, argv,
      {.name = "energy",
       .law = "energy.hpp: energy = static power x time + bytes x J/byte + flop x J/flop",
       .program = "validation/kernels/energy.cu",
       .faults = faults},
      measure);
}
