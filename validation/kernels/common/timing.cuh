// Time by events: warm-up first, then samples, each over enough repetitions to be long against the
// events' own resolution (about half a microsecond).
#pragma once

#include <algorithm>
#include <vector>

#include "checked.cuh"

namespace perfmodel::validation {

class event {
 public:
  event() { PERFMODEL_CUDA(cudaEventCreate(&event_)); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { cudaEventDestroy(event_); }

  void record(cudaStream_t stream) { PERFMODEL_CUDA(cudaEventRecord(event_, stream)); }
  void wait() { PERFMODEL_CUDA(cudaEventSynchronize(event_)); }
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

struct timing_plan {
  int warmups = 2;               ///< samples that are thrown away
  int samples = 9;
  double least_seconds = 500e-6; ///< of one sample
  int most_repeats = 400;        ///< in one sample
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

/// Seconds of one repetition, launched one after the other into a stream. launch(i) enqueues
/// repetition i; let it rotate through its buffers by i where the data has to be cold.
template <class Launch>
std::vector<double> time_in_stream(cudaStream_t stream, const timing_plan& plan, Launch launch) {
  const int repeats = repeats_for(stream, plan, launch);
  event start, stop;
  std::vector<double> out;
  int i = 0;
  for (int sample = -plan.warmups; sample < plan.samples; ++sample) {
    start.record(stream);
    for (int r = 0; r < repeats; ++r) launch(i++);
    stop.record(stream);
    stop.wait();
    if (sample >= 0) out.push_back(seconds_between(start, stop) / repeats);
  }
  return out;
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
  // Enqueued without a wait in between: with one, the time from the event to the start of the graph
  // would be the host's. The warm-ups give it its lead.
  std::vector<event> ends(static_cast<std::size_t>(plan.samples) + 1);
  for (int w = 0; w < plan.warmups; ++w) graph.launch(stream);
  ends.front().record(stream);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    graph.launch(stream);
    ends[i].record(stream);
  }
  ends.back().wait();
  std::vector<double> out;
  for (std::size_t i = 1; i < ends.size(); ++i) {
    out.push_back(seconds_between(ends[i - 1], ends[i]) / repeats);
  }
  return out;
}

/// Empties the L2 by writing twice its size.
class l2_flusher {
 public:
  explicit l2_flusher(std::size_t l2_bytes) : bytes_(2 * l2_bytes) {
    PERFMODEL_CUDA(cudaMalloc(&data_, bytes_));
  }
  l2_flusher(const l2_flusher&) = delete;
  l2_flusher& operator=(const l2_flusher&) = delete;
  ~l2_flusher() { cudaFree(data_); }

  void flush(cudaStream_t stream) const { PERFMODEL_CUDA(cudaMemsetAsync(data_, 0, bytes_, stream)); }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Seconds of one repetition that finds the L2 empty: each is timed by itself, so the start of a
/// kernel (about 2 us) is part of it.
template <class Launch>
std::vector<double> time_cold(cudaStream_t stream, const timing_plan& plan,
                              const l2_flusher& flusher, Launch launch) {
  event start, stop;
  std::vector<double> out;
  for (int sample = -plan.warmups; sample < plan.samples; ++sample) {
    flusher.flush(stream);
    start.record(stream);
    launch(sample + plan.warmups);
    stop.record(stream);
    stop.wait();
    if (sample >= 0) out.push_back(seconds_between(start, stop));
  }
  return out;
}

inline double median_of(std::vector<double> x) {
  if (x.empty()) throw measurement_error("no samples");
  std::sort(x.begin(), x.end());
  return 0.5 * (x[(x.size() - 1) / 2] + x[x.size() / 2]);
}

}  // namespace perfmodel::validation
