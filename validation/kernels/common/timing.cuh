// Time by events: warm-up first, then samples, each over enough repetitions to be long against the
// events' own resolution (about half a microsecond).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

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

struct timing_plan {
  int warmups = 2;  ///< samples that are thrown away
  int samples = 9;
  double least_seconds = 500e-6;  ///< of one sample
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
std::vector<double> time_back_to_back(cudaStream_t stream, const timing_plan& plan, int repeats,
                                      Enqueue enqueue) {
  std::vector<event> ends(static_cast<std::size_t>(plan.samples) + 1);
  for (int w = 0; w < plan.warmups; ++w) enqueue();
  ends.front().record(stream);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    enqueue();
    ends[i].record(stream);
  }
  ends.back().wait();
  std::vector<double> out;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    out.push_back(seconds_between(ends[i - 1], ends[i]) / repeats);
  }
  return out;
}

/// Seconds of one repetition, launched one after the other into a stream. launch(i) enqueues
/// repetition i; let it rotate through its buffers by i where the data has to be cold.
template <class Launch>
std::vector<double> time_in_stream(cudaStream_t stream, const timing_plan& plan, Launch launch) {
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
    enqueue();
    cudaGraph_t graph = nullptr;
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

/// The same from a CUDA graph that holds the repetitions as a chain, which takes the host out of
/// the time. `multiple`: the repetitions of a graph are a multiple of it (the number of buffers).
template <class Launch>
std::vector<double> time_in_graph(cudaStream_t stream, const timing_plan& plan, Launch launch,
                                  int multiple = 1) {
  int repeats = repeats_for(stream, plan, launch);
  repeats = (repeats + multiple - 1) / multiple * multiple;
  const captured_graph graph(stream, [&] {
    for (int r = 0; r < repeats; ++r) launch(r);
  });
  return time_back_to_back(stream, plan, repeats, [&] { graph.launch(stream); });
}

inline double median_of(std::vector<double> x) {
  if (x.empty()) throw measurement_error("no samples");
  std::sort(x.begin(), x.end());
  return 0.5 * (x[(x.size() - 1) / 2] + x[x.size() / 2]);
}

}  // namespace perfmodel::validation
