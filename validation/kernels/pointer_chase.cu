// Pointer chase: how long one load takes, by working set.
//
// Measures: the latency of a load in cycles of the SM and in seconds, over working sets of 4 KB to
//   1 GB: L1, L2 and DRAM show as steps, and so does the end of what the TLBs reach.
// How: one thread follows a random cycle through lines of 128 bytes, each load's address being the
//   last one's value, so that none can overlap. It walks once to warm up, then on. Sets that fit an
//   L1 are loaded through it; larger ones past it, so that their first level is the L2.
// Tests: the latencies of the catalogue's memory levels, and with them Little's law.
#include "algorithms/random_cycle.hpp"
#include "common/experiment.cuh"
#include "common/ptx.cuh"

namespace pv = perfmodel::validation;

namespace {

constexpr std::size_t line_bytes = 128;
constexpr std::size_t words = line_bytes / sizeof(std::uint32_t);

struct walked {
  std::uint32_t at;
  std::uint32_t padding;
  long long cycles;
  long long nanoseconds;
};

template <bool ThroughL1>
__global__ void chase_kernel(const std::uint32_t* next, std::uint32_t from, long long hops,
                             walked* out) {
  std::uint32_t at = from;
  const std::uint64_t began = pv::ptx::nanoseconds();
  const long long first = clock64();
#pragma unroll 16
  for (long long i = 0; i < hops; ++i) {
    at = ThroughL1 ? pv::ptx::load_through_l1(next + at) : pv::ptx::load_past_l1(next + at);
  }
  const long long last = clock64();
  const std::uint64_t ended = pv::ptx::nanoseconds();
  out->at = at;
  out->cycles = last - first;
  out->nanoseconds = static_cast<long long>(ended - began);
}

void launch(bool through_l1, const std::uint32_t* next, std::uint32_t from, long long hops,
            walked* out, cudaStream_t stream) {
  if (through_l1) {
    chase_kernel<true><<<1, 1, 0, stream>>>(next, from, hops, out);
  } else {
    chase_kernel<false><<<1, 1, 0, stream>>>(next, from, hops, out);
  }
  PERFMODEL_LAUNCHED("chase_kernel");
}

/// The cycle as the device holds it: word i * `words` is the word to go to.
std::vector<std::uint32_t> laid_out(const std::vector<std::uint32_t>& next) {
  std::vector<std::uint32_t> out(next.size() * words, 0xFFFFFFFFU);
  for (std::size_t i = 0; i < next.size(); ++i) {
    out[i * words] = next[i] * static_cast<std::uint32_t>(words);
  }
  return out;
}

void measure_set(const pv::session& s, pv::recording& r, std::size_t bytes) {
  const std::size_t lines = bytes / line_bytes;
  const auto next = pv::random_cycle(lines, 12345);
  const pv::device_buffer<std::uint32_t> on_device{std::span<const std::uint32_t>(laid_out(next))};
  pv::device_buffer<walked> result(1);
  const bool through_l1 = bytes <= (std::size_t{64} << 10U);
  // Long enough against the timer's step; a walk of a large set need not visit all of it.
  const long long hops = s.reduced ? 200 : 20000;
  // The warm-up visits every line that an L2 may keep; beyond two L2s hardly any is kept.
  const std::size_t most = s.reduced ? 200 : bytes > 2 * s.l2_bytes() ? 20000 : 2000000;
  const auto warm = static_cast<long long>((std::min)(lines, most));
  launch(through_l1, on_device.data(), 0, warm, result.data(), s.stream);
  PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
  std::vector<double> seconds, cycles;
  std::uint32_t from = result.download()[0].at;
  std::uint32_t expected = pv::walk(next, static_cast<std::size_t>(warm));
  double wrong = 0;
  for (int sample = 0; sample < s.plan.samples; ++sample) {
    result.poison();
    pv::event start, stop;
    start.record(s.stream);
    launch(through_l1, on_device.data(), from, s.breaks("drop_hop") ? hops - 1 : hops,
           result.data(), s.stream);
    stop.record(s.stream);
    stop.wait();
    const walked w = result.download()[0];
    for (long long i = 0; i < hops; ++i) expected = next[expected];
    if (w.at != expected * words) ++wrong;
    from = w.at;
    // The device's timer where it has moved often enough, else the events, kernel start and all.
    const bool fine = w.nanoseconds > 200000;
    const double elapsed =
        fine ? 1e-9 * static_cast<double>(w.nanoseconds) : pv::seconds_between(start, stop);
    seconds.push_back(elapsed / static_cast<double>(hops));
    cycles.push_back(static_cast<double>(w.cycles) / static_cast<double>(hops));
  }
  r.check("where the walk through " + std::to_string(bytes) + " bytes ends", wrong, 0.0);
  const pv::parameters p{{"working_set_bytes", static_cast<double>(bytes)},
                         {"stride_bytes", static_cast<double>(line_bytes)},
                         {"hops", static_cast<double>(hops)},
                         {"cache", "warm"}};
  r.add({"load_latency", "s", p, seconds});
  r.add({"load_latency_cycles", "cycle", p, cycles});
}

void measure(const pv::session& s, pv::recording& r) {
  const std::size_t largest =
      (std::min)(s.free_bytes() / 2, std::size_t{s.reduced ? 1U : 1024U} << 20U);
  for (std::size_t bytes = std::size_t{4} << 10U; bytes <= largest; bytes *= 2) {
    measure_set(s, r, bytes);
    // Between powers of two, where the caches end.
    if (bytes >= (std::size_t{8} << 20U) && bytes * 3 / 2 <= largest)
      measure_set(s, r, bytes * 3 / 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(argc, argv,
                            {.name = "pointer_chase",
                             .law = "latency of each memory level; littles_law.hpp stands on it",
                             .program = "validation/kernels/pointer_chase.cu",
                             .faults = {"drop_hop"}},
                            measure);
}
