// Pointer chase: the latency of one load, by working set.
//
// Measures: the latency of a load in cycles of the SM and in seconds, over working sets of 4 KB to
//   1 GB: L1, L2 and DRAM show as steps, and so does the end of the TLBs' reach.
// How: one thread follows a random cycle through lines of 128 bytes. Each line holds the address of
//   the next, so that no two loads overlap and nothing but the load is timed. A kernel begins with
//   an empty L1: each timed kernel first walks one lap of the set, before its first clock (warm_up:
//   same_kernel). Sets that fit in an L1 are read through it (first_level: l1); all from 32 KB on
//   also bypass it (l2), so that each cache's edge shows. Beyond two L2s an earlier kernel visits
//   one part (warm_up: earlier_kernel) and the timed walk another, after writes to other memory
//   have filled the L2: those lines come from DRAM (cache: cold). The deviation of single loads
//   from DRAM: a walk on from there, which reads the clock after each load.
// Tests: the latencies of the catalogue's memory levels, and with them Little's law.
#include "algorithms/random_cycle.hpp"
#include "common/experiment.cuh"
#include "common/ptx.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pv = perfmodel::validation;

namespace {

constexpr std::size_t line_bytes = 128;
constexpr std::size_t words = line_bytes / sizeof(std::uint64_t);

struct walked {
  std::uint64_t at;
  long long cycles;
  long long nanoseconds;
};

template <bool ThroughL1>
__device__ std::uint64_t next_address(std::uint64_t at) {
  const auto* const line = reinterpret_cast<const std::uint64_t*>(at);
  return ThroughL1 ? pv::ptx::load_through_l1(line) : pv::ptx::load_past_l1(line);
}

/// Walks `lap` hops that warm the caches, then `hops` that are timed.
template <bool ThroughL1>
__global__ void chase_kernel(std::uint64_t at, long long lap, long long hops, walked* out) {
#pragma unroll 1
  for (long long i = 0; i < lap; ++i) at = next_address<ThroughL1>(at);
  if (at == 0) return;  // no line says so: the clock waits for the lap's last load
  const std::uint64_t began = pv::ptx::nanoseconds();
  const long long first = clock64();
#pragma unroll 16
  for (long long i = 0; i < hops; ++i) at = next_address<ThroughL1>(at);
  const long long last = clock64();
  const std::uint64_t ended = pv::ptx::nanoseconds();
  out->at = at;
  out->cycles = last - first;
  out->nanoseconds = static_cast<long long>(ended - began);
}

struct spread_walk {
  std::uint64_t at;
  unsigned long long sum, squares;  ///< sums over the cycles from one load to the next
};

/// The walk of chase_kernel past the L1, that looks at the clock whenever a load has come.
__global__ void spread_kernel(std::uint64_t at, long long hops, spread_walk* out) {
  unsigned long long sum = 0, squares = 0;
  long long last = clock64();
#pragma unroll 1
  for (long long i = 0; i < hops; ++i) {
    at = pv::ptx::load_past_l1(reinterpret_cast<const std::uint64_t*>(at));
    if (at == 0) break;  // no line says so: the clock waits for the load
    const long long now = clock64();
    const auto cycles = static_cast<unsigned long long>(now - last);
    sum += cycles;
    squares += cycles * cycles;
    last = now;
  }
  out->at = at;
  out->sum = sum;
  out->squares = squares;
}

void launch(bool through_l1, std::uint64_t from, long long lap, long long hops, walked* out,
            cudaStream_t stream) {
  if (through_l1) {
    chase_kernel<true><<<1, 1, 0, stream>>>(from, lap, hops, out);
  } else {
    chase_kernel<false><<<1, 1, 0, stream>>>(from, lap, hops, out);
  }
  PERFMODEL_LAUNCHED("chase_kernel");
}

/// A cycle as the device holds it: the first word of each line is the address of the next line.
class cycle {
 public:
  explicit cycle(std::size_t lines) : next_(pv::random_cycle(lines, 12345)), lines_(lines * words) {
    std::vector<std::uint64_t> out(next_.size() * words, 0);
    for (std::size_t i = 0; i < next_.size(); ++i) out[i * words] = address(next_[i]);
    lines_.upload(out);
  }
  std::size_t lines() const { return next_.size(); }
  std::size_t bytes() const { return lines() * line_bytes; }
  std::uint64_t address(std::uint32_t line) const {
    return reinterpret_cast<std::uint64_t>(lines_.data()) + line * line_bytes;
  }
  std::uint32_t after(std::uint32_t line, long long hops) const {
    for (long long i = 0; i < hops; ++i) line = next_[line];
    return line;
  }

 private:
  std::vector<std::uint32_t> next_;
  pv::device_buffer<std::uint64_t> lines_;
};

/// Whether a set is so large that a walk of a part of it finds its lines in DRAM.
bool is_cold(const pv::session& s, std::size_t bytes) {
  return bytes > 2 * s.l2_bytes();
}

/// Last place of a walk, and the cycles of a load in it.
struct walk_end {
  std::uint32_t at;
  double cycles;
};

walk_end measure_set(const pv::session& s, pv::recording& r, const cycle& c, bool through_l1) {
  const std::size_t bytes = c.bytes();
  const bool cold = is_cold(s, bytes);
  pv::device_buffer<walked> result(1);
  // Long enough against the timer's step; a walk of a large set need not visit all of it.
  const long long hops = s.reduced ? 200 : 20000;
  // One hop more than a lap: a lap that is left out shows in where the walk ends.
  const long long lap = cold ? 0 : static_cast<long long>(c.lines()) + 1;
  pv::repetitions seconds, cycles;
  std::uint32_t at = 0;
  double wrong = 0;
  if (cold) {
    const long long visited =
        (std::min)(static_cast<long long>(c.lines()), s.reduced ? 200LL : 20000LL);
    launch(through_l1, c.address(at), 0, visited, result.data(), s.stream);
    at = c.after(at, visited);
    if (result.download()[0].at != c.address(at)) ++wrong;
  }
  for (int sample = 0; sample < s.plan.samples; ++sample) {
    result.poison();
    pv::event start, stop;
    start.record(s.stream);
    launch(through_l1, c.address(at), s.breaks("drop_lap") ? 0 : lap,
           s.breaks("drop_hop") ? hops - 1 : hops, result.data(), s.stream);
    stop.record(s.stream);
    stop.wait();
    const walked w = result.download()[0];
    at = c.after(at, lap + hops);
    if (w.at != c.address(at)) ++wrong;
    // The device's timer where its resolution allows, else the events, with kernel start and lap.
    const bool fine = w.nanoseconds > 200000;
    const double elapsed =
        fine ? 1e-9 * static_cast<double>(w.nanoseconds) : pv::seconds_between(start, stop);
    seconds.push_back(elapsed / static_cast<double>(fine ? hops : lap + hops));
    cycles.push_back(static_cast<double>(w.cycles) / static_cast<double>(hops));
    if (fine) seconds.sm_clock_hz.push_back(static_cast<double>(w.cycles) / elapsed);
  }
  if (seconds.sm_clock_hz.size() < seconds.size()) seconds.sm_clock_hz.clear();
  cycles.sm_clock_hz = seconds.sm_clock_hz;
  const char* level = through_l1 ? "l1" : "l2";
  std::string name = "where the walk through ";
  name.append(std::to_string(bytes)).append(" bytes ends, from ").append(level);
  r.check(name, wrong, 0.0);
  const pv::parameters p{{"working_set_bytes", static_cast<double>(bytes)},
                         {"stride_bytes", static_cast<double>(line_bytes)},
                         {"hops", static_cast<double>(hops)},
                         {"first_level", level},
                         {"warm_up", cold ? "earlier_kernel" : "same_kernel"},
                         {"cache", cold ? "cold" : "warm"}};
  r.add({"load_latency", "s", p, seconds});
  r.add({"load_latency_cycles", "cycle", p, cycles});
  std::sort(cycles.begin(), cycles.end());
  return {at, cycles[cycles.size() / 2]};
}

/// Measures the standard deviation of single loads from line `at` on, in cycles over the highest
/// clock. These lines were not read since the L2 was filled with other data. `chased`: cycles of a
/// load in the walk without a clock; the mean here should be near it, else these loads were served
/// by another level.
void measure_spread(const pv::session& s, pv::recording& r, const cycle& c, std::uint32_t at,
                    double chased) {
  pv::device_buffer<spread_walk> result(1);
  const long long hops = s.reduced ? 200 : 20000;
  double wrong = 0, mean_of_all = 0;
  std::vector<double> seconds;
  for (int sample = 0; sample < s.plan.samples; ++sample) {
    result.poison();
    spread_kernel<<<1, 1, 0, s.stream>>>(
        c.address(at), s.breaks("drop_timed_hop") ? hops - 1 : hops, result.data());
    PERFMODEL_LAUNCHED("spread_kernel");
    PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
    const spread_walk w = result.download()[0];
    at = c.after(at, hops);
    if (w.at != c.address(at)) ++wrong;
    const double n = static_cast<double>(hops), mean = static_cast<double>(w.sum) / n;
    // A clock of whole cycles cannot tell less than a uniform error of one.
    const double variance =
        (std::max)(1.0 / 12.0, static_cast<double>(w.squares) / n - mean * mean);
    seconds.push_back(std::sqrt(variance) / s.device.sm_clock_hz);
    mean_of_all += mean / s.plan.samples;
  }
  const std::string set = std::to_string(c.bytes()) + " bytes";
  r.check("where the walk with a clock through " + set + " ends", wrong, 0.0);
  if (!s.reduced) {
    r.check("cycles of a load with a clock and without, " + set,
            std::abs(mean_of_all / chased - 1.0), 0.3);
  }
  r.add({"load_latency_spread",
         "s",
         {{"working_set_bytes", static_cast<double>(c.bytes())},
          {"stride_bytes", static_cast<double>(line_bytes)},
          {"hops", static_cast<double>(hops)},
          {"first_level", "l2"},
          {"mean_latency", mean_of_all / s.device.sm_clock_hz},
          {"cache", is_cold(s, c.bytes()) ? "cold" : "warm"}},
         seconds});
}

void measure(const pv::session& s, pv::recording& r) {
  // Prefers the largest L1. It then exceeds the shared memory that the SM could have instead.
  PERFMODEL_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(chase_kernel<true>),
                                      cudaFuncAttributePreferredSharedMemoryCarveout,
                                      cudaSharedmemCarveoutMaxL1));
  const auto l1_bytes = static_cast<std::size_t>(s.device.shared_memory_per_sm_bytes);
  const std::size_t largest =
      (std::min)(s.free_bytes() / 2, std::size_t{s.reduced ? 1U : 1024U} << 20U);
  // Written before a walk over DRAM lines: they were just copied there, through the L2.
  pv::device_buffer<unsigned char> other(s.reduced ? 1 : 3 * s.l2_bytes());
  const auto measure_both = [&](std::size_t bytes) {
    if (bytes > largest) return;
    const std::string name = std::to_string(bytes) + " bytes";
    r.part(name, [&] {
      const cycle c(bytes / line_bytes);
      const bool cold = is_cold(s, bytes);
      if (bytes <= l1_bytes) measure_set(s, r, c, true);
      if (bytes < std::size_t{32} << 10U) return;
      if (cold) other.poison();
      const walk_end end = measure_set(s, r, c, false);
      if (!cold && !s.reduced) return;
      r.part("single loads of " + name, [&] {
        other.poison();
        measure_spread(s, r, c, end.at, end.cycles);
      });
    });
  };
  for (std::size_t bytes = std::size_t{4} << 10U; bytes <= largest; bytes *= 2) {
    measure_both(bytes);
    // Between powers of two, where the caches end.
    const bool l1_ends = bytes >= std::size_t{64} << 10U && bytes <= std::size_t{128} << 10U;
    if (l1_ends || bytes >= std::size_t{8} << 20U) measure_both(bytes * 3 / 2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(argc, argv,
                            {.name = "pointer_chase",
                             .law = "latency of each memory level; littles_law.hpp stands on it",
                             .program = "validation/kernels/pointer_chase.cu",
                             .faults = {"drop_hop", "drop_lap", "drop_timed_hop"}},
                            measure);
}
