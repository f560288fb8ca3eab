// Launches: what it costs to launch a kernel, one that does nothing and a small one.
//
// Measures: an empty kernel, many in a stream, each followed by a synchronisation, and as the nodes
//   of a CUDA graph of 1 to 1000; a small kernel that negates the output of the one before it
//   (scale: 32 KiB read and 32 KiB written, in the L2), in a stream and in a graph, 100 of them.
//   Device time (events around the chain) and host time (the CPU's clock around the calls that
//   enqueue) are two figures.
// How: device time per kernel is that of a chain long enough to hide its ends; a kernel that waits
//   until the whole chain is in the queue delays its start (queue_filled says whether it did). Host
//   time per kernel is what the launching thread spends before the call returns. With a
//   synchronisation after each kernel the two are one, measured on the CPU's clock.
// Tests: launch.hpp: a step of many short kernels takes the longer of device time and host time,
//   and a graph turns n launches of the host into one.
#include <chrono>
#include <cstdint>

#include "common/experiment.cuh"

namespace pv = perfmodel::validation;

namespace {

__global__ void empty_kernel() {}
__global__ void counting_kernel(unsigned* count) {
  atomicAdd(count, 1U);
}

constexpr int scaled = 8192;  ///< numbers
constexpr int scaled_threads = 256;

__global__ void __launch_bounds__(scaled_threads)
    scale_kernel(const float* __restrict__ x, float* __restrict__ y) {
  const unsigned i = blockIdx.x * scaled_threads + threadIdx.x;
  y[i] = -x[i];
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void enqueue_empty(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  PERFMODEL_LAUNCHED("empty_kernel");
}

/// Two arrays, each negated into the other in turn: a kernel depends on the output of the one
/// before it.
struct scale_arrays {
  pv::device_buffer<float> x{scaled}, y{scaled};
  bool back = false;
  void fill() {
    pv::random_fill(x, 1);
    back = false;
  }
  void enqueue(cudaStream_t stream) {
    const float* const from = back ? y.data() : x.data();
    scale_kernel<<<scaled / scaled_threads, scaled_threads, 0, stream>>>(
        from, back ? x.data() : y.data());
    PERFMODEL_LAUNCHED("scale_kernel");
    back = !back;
  }
};

/// A number that was negated three times is its negative, to the last bit.
void check_scale(const pv::session& s, pv::recording& r, scale_arrays& on) {
  on.y.poison();
  on.fill();
  for (int i = s.breaks("drop_scale") ? 3 : 0; i < 3; ++i) on.enqueue(s.stream);
  PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
  const std::vector<float> result = on.y.download();
  double wrong = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!(result[i] == -pv::random_value(1, i))) ++wrong;
  }
  r.check("numbers that three small kernels did not negate", wrong, 0.0);
}

/// Every kernel that is launched does run: each adds one.
void check_counts(const pv::session& s, pv::recording& r, int kernels) {
  const auto count_of = [&](auto&& enqueue_all) {
    pv::device_buffer<unsigned> count(1);
    const unsigned zero = 0;
    count.upload(std::span<const unsigned>(&zero, 1));
    PERFMODEL_CUDA(cudaDeviceSynchronize());  // the stream does not wait for the copy
    enqueue_all(count.data());
    PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
    return static_cast<double>(count.download()[0]);
  };
  const int launched = s.breaks("drop_launch") ? kernels - 1 : kernels;
  const auto chain = [&](unsigned* at) {
    for (int i = 0; i < launched; ++i) {
      counting_kernel<<<1, 1, 0, s.stream>>>(at);
      PERFMODEL_LAUNCHED("counting_kernel");
    }
  };
  r.check("kernels of a stream that ran", std::abs(count_of(chain) - kernels), 0.0);
  const double in_graph = count_of([&](unsigned* at) {
    const pv::captured_graph graph(s.stream, [&] { chain(at); });
    graph.launch(s.stream);
    graph.launch(s.stream);
    PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));  // the graph outlives its launches
  });
  r.check("kernels of a graph, launched twice, that ran", std::abs(in_graph - 2 * kernels), 0.0);
}

struct sides {
  double host, device;
  bool filled;  ///< all was in the queue before the device began
};

/// Seconds of enqueue() on the host, and of its work on the device, which a kernel that waits holds
/// back until all is in the queue: else the device's time would be the host's.
template <class Enqueue>
sides time_sides(cudaStream_t stream, Enqueue enqueue) {
  for (std::uint64_t hold = 400000;; hold *= 4) {
    PERFMODEL_CUDA(cudaStreamSynchronize(stream));
    pv::event start, stop;
    pv::hold(stream, hold);
    start.record(stream);
    const double began = now();
    enqueue();
    const double host = now() - began;
    stop.record(stream);
    const bool filled = !start.reached();
    stop.wait();
    // A queue that is full lets the host wait for the device: then no hold is long enough.
    if (filled || hold > 20000000) return {host, pv::seconds_between(start, stop), filled};
  }
}

/// `kernels` launches by enqueue(), `times` over: what the host spends on each, and the device.
template <class Enqueue>
void measure_sides(const pv::session& s, pv::recording& r, const char* mode, const char* work,
                   int kernels, int times, Enqueue enqueue) {
  std::vector<double> host, device;
  bool filled = true;
  for (int sample = -s.plan.warmups; sample < s.plan.samples; ++sample) {
    const sides t = time_sides(s.stream, [&] {
      for (int i = 0; i < times; ++i) enqueue();
    });
    if (sample < 0) continue;
    host.push_back(t.host / kernels / times);
    device.push_back(t.device / kernels / times);
    filled = filled && t.filled;
  }
  const auto add = [&](const char* side, const std::vector<double>& seconds) {
    r.add({"launch_time",
           "s",
           {{"mode", mode},
            {"kernels", kernels},
            {"side", side},
            {"work", work},
            {"queue_filled", filled}},
           seconds});
  };
  add("host", host);
  add("device", device);
}

void measure_waits(const pv::session& s, pv::recording& r, int kernels) {
  std::vector<double> host;
  for (int sample = -s.plan.warmups; sample < s.plan.samples; ++sample) {
    const double began = now();
    for (int i = 0; i < kernels; ++i) {
      enqueue_empty(s.stream);
      PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
    }
    if (sample >= 0) host.push_back((now() - began) / kernels);
  }
  r.add({"launch_time",
         "s",
         {{"mode", "stream_sync"}, {"kernels", kernels}, {"side", "host"}, {"work", "empty"}},
         host});
}

/// Several replays in a row, so that the start of the first is spread; per node.
template <class Enqueue>
void measure_graph(const pv::session& s, pv::recording& r, const char* work, int nodes, int times,
                   Enqueue enqueue) {
  const pv::captured_graph graph(s.stream, [&] {
    for (int i = 0; i < nodes; ++i) enqueue();
  });
  measure_sides(s, r, "graph", work, nodes, times, [&] { graph.launch(s.stream); });
}

void measure(const pv::session& s, pv::recording& r) {
  check_counts(s, r, s.reduced ? 20 : 200);
  // Not more than a driver queues: beyond that (assumed: 1000 or so) the host waits for the device.
  const int chain = s.reduced ? 20 : 500;
  scale_arrays small;
  const auto empty = [&] { enqueue_empty(s.stream); };
  const auto scale = [&] { small.enqueue(s.stream); };
  const auto stream = [&](const char* work, int kernels, auto enqueue) {
    measure_sides(s, r, "stream", work, kernels, 1, [&] {
      for (int i = 0; i < kernels; ++i) enqueue();
    });
  };
  r.part("stream", [&] { stream("empty", chain, empty); });
  r.part("waits", [&] { measure_waits(s, r, s.reduced ? 5 : 200); });
  for (const int nodes : {1, 3, 10, 30, 100, 300, 1000}) {
    if (s.reduced && nodes > 10) break;
    r.part("graph of " + std::to_string(nodes),
           [&] { measure_graph(s, r, "empty", nodes, 10, empty); });
  }
  r.part("small kernels", [&] {
    check_scale(s, r, small);
    small.fill();
    const int kernels = s.reduced ? 20 : 100;
    stream("scale", kernels, scale);
    measure_graph(s, r, "scale", kernels, 1, scale);
  });
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(
      argc, argv,
      {.name = "launch",
       .law = "launch.hpp: step = max(device time, host time) of its launches",
       .program = "validation/kernels/launch.cu",
       .faults = {"drop_launch", "drop_scale"}},
      measure);
}
