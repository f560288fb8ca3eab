// Time by events: warm-up first, then samples, each over enough repetitions to be long against the
// events' own resolution (about half a microsecond). The SM clock during each sample comes with it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "buffer.cuh"
#include "checked.cuh"
#include "ptx.cuh"

namespace perfmodel::validation {

class event {
 public:
  event() { PERFMODEL_CUDA(cudaEventCreate(&event_)); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(event_); }

  void record(cudaStream_t stream) { PERFMODEL_CUDA(cudaEventRecord(event_, stream)); }
  void wait() { PERFMODEL_CUDA(cudaEventSynchronize(event_)); }
  /// Whether the work before it is done; true before it was first recorded.
  bool reached() const {
    const cudaError_t status = cudaEventQuery(event_);
    if (status != cudaErrorNotReady) {
      check_cuda(status, "cudaEventQuery", __FILE__, __LINE__);
      return true;
    }
    (void)cudaGetLastError();  // else the next launch would be taken to have failed
    return false;
  }
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// From one event to another that has been waited for.
inline double seconds_between(const event& first, const event& second) {
  float milliseconds = 0;
  PERFMODEL_CUDA(cudaEventElapsedTime(&milliseconds, first.get(), second.get()));
  return 1e-3 * static_cast<double>(milliseconds);
}

static __global__ void hold_kernel(std::uint64_t duration) {
  const std::uint64_t begin = ptx::nanoseconds();
  while (ptx::nanoseconds() - begin < duration) __nanosleep(200);
}

/// Holds a stream back for about `duration` nanoseconds, while the host fills it.
inline void hold(cudaStream_t stream, std::uint64_t duration) {
  hold_kernel<<<1, 1, 0, stream>>>(duration);
  PERFMODEL_LAUNCHED("hold_kernel");
}

inline double median_of(std::vector<double> x) {
  if (x.empty()) throw measurement_error("no samples");
  std::sort(x.begin(), x.end());
  return 0.5 * (x[(x.size() - 1) / 2] + x[x.size() / 2]);
}

/// Writes the count of cycles of each SM that a block of it runs on.
static __global__ void read_cycles_kernel(long long* cycles, unsigned most) {
  const unsigned sm = ptx::sm_id();
  if (sm < most) cycles[sm] = clock64();
}

/// The clock of the SMs from one mark in a stream to the next: cycles by their own counters over
/// time by events. A mark takes some microseconds of the stream.
class sm_clock {
 public:
  sm_clock(cudaStream_t stream, std::size_t marks)
      : stream_(stream), events_(marks), cycles_(marks * slots) {
    PERFMODEL_CUDA(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, 0));
  }

  void mark() {
    if (next_ == events_.size()) throw measurement_error("sm_clock: too many marks");
    read_cycles_kernel<<<static_cast<unsigned>(sms_), 1, 0, stream_>>>(
        cycles_.data() + next_ * slots, slots);
    PERFMODEL_LAUNCHED("read_cycles_kernel");
    events_[next_++].record(stream_);
  }
  const event& at(std::size_t mark) const { return events_[mark]; }

  /// SM clock in Hz, from each mark to the next; empty where it cannot be told. Waits for the
  /// marks.
  std::vector<double> between_marks() {
    PERFMODEL_CUDA(cudaStreamSynchronize(stream_));
    const std::vector<long long> cycles = cycles_.download();
    std::vector<double> out;
    for (std::size_t i = 1; i < next_; ++i) {
      const double seconds = seconds_between(events_[i - 1], events_[i]);
      std::vector<double> clocks;
      for (std::size_t sm = 0; sm < slots; ++sm) {
        const long long from = cycles[(i - 1) * slots + sm], to = cycles[i * slots + sm];
        // -1: no block of that mark ran there.
        if (from != -1 && to > from) clocks.push_back(static_cast<double>(to - from) / seconds);
      }
      if (clocks.empty() || seconds < 50e-6) return {};
      out.push_back(median_of(clocks));
    }
    return out;
  }

 private:
  static constexpr unsigned slots = 512;
  cudaStream_t stream_;
  int sms_ = 0;
  std::vector<event> events_;
  device_buffer<long long> cycles_;
  std::size_t next_ = 0;
};

static __global__ void spin_kernel(float* out, int steps) {
  float x = static_cast<float>(threadIdx.x);
  for (int i = 0; i < steps; ++i) x = fmaf(x, 0.999F, 0.5F);
  if (x < 0.0F) *out = x;  // never: x stays between 0 and 1023
}

/// Multiply-adds on every SM for so long: a GPU that idles runs at a fraction of its clock, and
/// takes some tenths of a second of work to come up.
inline void spin(cudaStream_t stream, int sms, double seconds) {
  const device_buffer<float> out(1);
  const auto begin = std::chrono::steady_clock::now();
  const auto age = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  while (age() < seconds) {
    spin_kernel<<<static_cast<unsigned>(4 * sms), 256, 0, stream>>>(out.data(), 1 << 20);
    PERFMODEL_LAUNCHED("spin_kernel");
    PERFMODEL_CUDA(cudaStreamSynchronize(stream));
  }
}

struct timing_plan {
  int warmups = 2;  ///< samples that are thrown away
  int samples = 9;
  double least_seconds = 500e-6;  ///< shortest sample
  int most_repeats = 400;         ///< in one sample
};

/// How many repetitions make a sample of plan.least_seconds. Runs repetitions 0, 1 and 2.
template <class Launch>
int repeats_for(cudaStream_t stream, const timing_plan& plan, Launch& launch) {
  launch(0);
  PERFMODEL_CUDA(cudaStreamSynchronize(stream));
  event start, stop;
  start.record(stream);
  launch(1);
  launch(2);
  stop.record(stream);
  stop.wait();
  const double one = (std::max)(seconds_between(start, stop) / 2.0, 1e-7);
  const double wanted = plan.least_seconds / one;
  return static_cast<int>((std::clamp)(wanted, 1.0, static_cast<double>(plan.most_repeats)));
}

/// Seconds of one of the `repeats` repetitions that each call of enqueue() puts into the stream. No
/// sample is waited for before the next: the stream would be empty then, and the time from the
/// first event to the first kernel, some microseconds, would be the host's. The warm-ups give the
/// host its lead; where it cannot keep one, the time is that of its launches.
template <class Enqueue>
repetitions time_back_to_back(cudaStream_t stream, const timing_plan& plan, int repeats,
                              Enqueue enqueue) {
  std::vector<event> ends(static_cast<std::size_t>(plan.samples));
  sm_clock clock(stream, ends.size() + 1);
  for (int w = 0; w < plan.warmups; ++w) enqueue();
  clock.mark();
  for (event& end : ends) {
    enqueue();
    end.record(stream);
    clock.mark();
  }
  repetitions out;
  out.sm_clock_hz = clock.between_marks();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    out.push_back(seconds_between(clock.at(i), ends[i]) / repeats);
  }
  return out;
}

/// Seconds of one repetition, launched one after the other into a stream. launch(i) enqueues
/// repetition i; let it rotate through its buffers by i where the data has to be cold.
template <class Launch>
repetitions time_in_stream(cudaStream_t stream, const timing_plan& plan, Launch launch) {
  const int repeats = repeats_for(stream, plan, launch);
  int i = 0;
  return time_back_to_back(stream, plan, repeats, [&] {
    for (int r = 0; r < repeats; ++r) launch(i++);
  });
}

/// A captured graph that destroys itself.
class captured_graph {
 public:
  template <class Enqueue>
  captured_graph(cudaStream_t stream, Enqueue&& enqueue) {
    PERFMODEL_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cudaGraph_t graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);  // else the stream would be of no more use
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    PERFMODEL_CUDA(cudaStreamEndCapture(stream, &graph));
    const cudaError_t status = cudaGraphInstantiate(&exec_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "cudaGraphInstantiate", __FILE__, __LINE__);
  }
  captured_graph(const captured_graph&) = delete;
  captured_graph& operator=(const captured_graph&) = delete;
  ~captured_graph() { cudaGraphExecDestroy(exec_); }

  void launch(cudaStream_t stream) const { PERFMODEL_CUDA(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// Times from a CUDA graph that holds the repetitions as a chain, which takes the host out of
/// the time. `multiple`: the repetitions of a graph are a multiple of it (the number of buffers).
template <class Launch>
repetitions time_in_graph(cudaStream_t stream, const timing_plan& plan, Launch launch,
                          int multiple = 1) {
  int repeats = repeats_for(stream, plan, launch);
  repeats = (repeats + multiple - 1) / multiple * multiple;
  const captured_graph graph(stream, [&] {
    for (int r = 0; r < repeats; ++r) launch(r);
  });
  return time_back_to_back(stream, plan, repeats, [&] { graph.launch(stream); });
}

}  // namespace perfmodel::validation
