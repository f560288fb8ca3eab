// Transfers: between host and device, among devices, and concurrent with a GEMM.
//
// Measures: the time of transfers of 4 KB to 1 GB to and from the device, from page-locked and from
//   pageable host memory; of NCCL's all-reduce over 2 GPUs and more, where the machine has them;
//   and the bytes that a rank sends in ring, one-shot and two-shot all-reduces.
//   And common/overlap.cuh.
// How: transfers one after the other in a stream, without a wait between them, so small ones show
//   the longer of two costs: the host's call, or the start-up of the copy engine. The algorithms
//   are run by logical ranks that share one GPU's memory, transfer by transfer as
//   algorithms/collective_accounting.hpp lists them; the kernel that moves a chunk counts its bytes
//   for the rank that sends it.
// Tests: time = alpha + bytes / bandwidth; bytes sent = 2 (n - 1) / n, n - 1 and 2 (n - 1) / n
//   messages.
#include <cstdint>
#include <cstring>

#include "algorithms/collective_accounting.hpp"
#include "common/experiment.cuh"
#include "common/nccl.cuh"
#include "common/overlap.cuh"

namespace pv = perfmodel::validation;

namespace {

constexpr std::uint32_t byte_seed = 51, rank_seed = 60;
constexpr std::size_t kb = std::size_t{1} << 10U, mb = std::size_t{1} << 20U;

// --- host and device
// ------------------------------------------------------------------------------

void fill_host(unsigned char* to, std::size_t bytes) {
  const std::size_t some = (std::min)(bytes, 4 * mb);
  for (std::size_t i = 0; i + 4 <= some; i += 4) {
    const std::uint32_t bits = pv::random_bits(byte_seed, i);
    std::memcpy(to + i, &bits, 4);
  }
  for (std::size_t i = some / 4 * 4; i < some; ++i) to[i] = static_cast<unsigned char>(i);
  // Then again and again: the link does not look at the bytes.
  for (std::size_t i = some; i < bytes; i += some)
    std::memcpy(to + i, to, (std::min)(some, bytes - i));
}

void check_copy(const pv::session& s, pv::recording& r, unsigned char* host, unsigned char* device,
                std::size_t bytes, const std::string& name) {
  const std::vector<unsigned char> source(host, host + bytes);
  PERFMODEL_CUDA(cudaMemset(device, 0xFF, bytes));
  PERFMODEL_CUDA(cudaDeviceSynchronize());
  PERFMODEL_CUDA(cudaMemcpyAsync(device, host, bytes - (s.breaks("drop_tail") ? 1 : 0),
                                 cudaMemcpyHostToDevice, s.stream));
  PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
  std::memset(host, 0xFF, bytes);
  PERFMODEL_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, s.stream));
  PERFMODEL_CUDA(cudaStreamSynchronize(s.stream));
  if (s.breaks("swap_bytes")) std::swap(host[4096], host[4097]);
  r.check(name + " memory, there and back: bytes that differ",
          pv::differing_bytes<unsigned char>({host, bytes}, source), 0.0);
}

void measure_copies(const pv::session& s, pv::recording& r, unsigned char* host, bool pinned,
                    std::size_t largest, const pv::device_buffer<unsigned char>& device) {
  const char* memory = pinned ? "pinned" : "pageable";
  fill_host(host, largest);
  check_copy(s, r, host, device.data(), (std::min)(largest, mb + 13), memory);
  for (const bool to_device : {true, false}) {
    for (std::size_t bytes = 4 * kb; bytes <= largest; bytes *= 4) {
      pv::timing_plan plan = s.plan;
      // A pageable gigabyte takes a tenth of a second and more.
      if (!pinned && bytes >= 64 * mb) plan.samples = (std::min)(plan.samples, 5);
      const auto samples = pv::time_in_stream(s.stream, plan, [&](int) {
        if (to_device) {
          PERFMODEL_CUDA(
              cudaMemcpyAsync(device.data(), host, bytes, cudaMemcpyHostToDevice, s.stream));
        } else {
          PERFMODEL_CUDA(
              cudaMemcpyAsync(host, device.data(), bytes, cudaMemcpyDeviceToHost, s.stream));
        }
      });
      r.add({"transfer_time",
             "s",
             {{"direction", to_device ? "h2d" : "d2h"},
              {"memory", memory},
              {"bytes", static_cast<double>(bytes)}},
             samples});
    }
  }
}

// --- logical ranks in one memory
// ------------------------------------------------------------------

/// to += from or to = from, and sent += the bytes.
__global__ void transfer_kernel(const float* __restrict__ from, float* __restrict__ to,
                                std::size_t n, bool adds, unsigned long long* __restrict__ sent) {
  unsigned moved = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    to[i] = adds ? to[i] + from[i] : from[i];
    ++moved;
  }
  if (moved > 0) atomicAdd(sent, static_cast<unsigned long long>(moved) * sizeof(float));
}

struct logical_ranks {
  int ranks;
  std::size_t count;
  pv::device_buffer<float> input, result;
  pv::device_buffer<unsigned long long> sent;

  logical_ranks(int n, std::size_t each)
      : ranks(n),
        count(each),
        input(each * static_cast<std::size_t>(n)),
        result(each * static_cast<std::size_t>(n)),
        sent(static_cast<std::size_t>(n)) {
    pv::random_fill(input, rank_seed);
  }
  float* of(const pv::device_buffer<float>& b, int rank, std::size_t at) const {
    return b.data() + static_cast<std::size_t>(rank) * count + at;
  }

  /// The bytes that each rank sent. `dropped`: the transfer that is left out, -1 for none.
  std::vector<double> run(pv::all_reduce how, int dropped, cudaStream_t stream) {
    PERFMODEL_CUDA(cudaMemcpyAsync(result.data(), input.data(), input.bytes(),
                                   cudaMemcpyDeviceToDevice, stream));
    PERFMODEL_CUDA(cudaMemsetAsync(sent.data(), 0, sent.bytes(), stream));
    int at = 0;
    pv::for_each_transfer(how, ranks, [&](const pv::chunk_transfer& t) {
      if (at++ == dropped) return;
      const std::size_t begin = t.chunk < 0 ? 0 : pv::chunk_begin(count, ranks, t.chunk);
      const std::size_t end = t.chunk < 0 ? count : pv::chunk_begin(count, ranks, t.chunk + 1);
      if (begin == end) return;
      const auto blocks =
          static_cast<unsigned>((std::min)((end - begin + 255) / 256, std::size_t{256}));
      transfer_kernel<<<blocks, 256, 0, stream>>>(of(t.input ? input : result, t.from, begin),
                                                  of(result, t.to, begin), end - begin, t.adds,
                                                  sent.data() + t.from);
      PERFMODEL_LAUNCHED("transfer_kernel");
    });
    std::vector<double> out;
    for (const unsigned long long b : sent.download()) out.push_back(static_cast<double>(b));
    return out;
  }

  double worst_error() const {
    std::vector<double> reference(count, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      for (int rank = 0; rank < ranks; ++rank) {
        reference[i] += pv::random_value(rank_seed, static_cast<std::size_t>(rank) * count + i);
      }
    }
    double worst = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const auto got = result.download(static_cast<std::size_t>(rank) * count, count);
      const double e = pv::relative_error<float>(got, reference);
      if (!(e <= worst)) worst = e;
    }
    return worst;
  }
};

void account(const pv::session& s, pv::recording& r) {
  constexpr std::pair<pv::all_reduce, const char*> algorithms[] = {
      {pv::all_reduce::ring, "ring"},
      {pv::all_reduce::one_shot, "one_shot"},
      {pv::all_reduce::two_shot, "two_shot"}};
  const std::vector<int> sizes = s.reduced ? std::vector<int>{2, 4} : std::vector<int>{2, 3, 4, 8};
  for (const auto& [how, name] : algorithms) {
    for (const int ranks : sizes) {
      const std::string text =
          std::string(name) + " over " + std::to_string(ranks) + " logical ranks";
      // No number of ranks here divides the first; all of them divide the second.
      for (const bool even : {false, true}) {
        const std::size_t count =
            even ? std::size_t{840} * (s.reduced ? 1 : 256) : (s.reduced ? 853 : 100003);
        logical_ranks ranked(ranks, count);
        const auto sent = ranked.run(how, s.breaks("drop_chunk") ? ranks - 1 : -1, s.stream);
        r.check(text + ": sums against double precision", ranked.worst_error(), 1e-6);
        double all = 0;
        for (const double b : sent) all += b;
        if (s.breaks("miscount")) all -= sizeof(float);
        const double message = static_cast<double>(count * sizeof(float));
        r.check(text + ": bytes sent by all",
                std::abs(all - pv::messages_sent(how, ranks) * message), 0.0);
        if (even) {
          r.add({"wire_bytes",
                 "B",
                 {{"algorithm", name}, {"ranks", ranks}, {"message_bytes", message}},
                 sent});
        }
      }
    }
  }
}

// --- several GPUs
// ---------------------------------------------------------------------------------

#if PERFMODEL_HAS_NCCL

/// A stream and two buffers on each of the first `ranks` GPUs.
struct gpu_ranks {
  std::vector<cudaStream_t> streams;
  std::vector<float*> from, to;

  gpu_ranks(int ranks, std::size_t count) {
    for (int rank = 0; rank < ranks; ++rank) {
      PERFMODEL_CUDA(cudaSetDevice(rank));
      streams.push_back(nullptr);
      PERFMODEL_CUDA(cudaStreamCreateWithFlags(&streams.back(), cudaStreamNonBlocking));
      for (std::vector<float*>* b : {&from, &to}) {
        b->push_back(nullptr);
        PERFMODEL_CUDA(cudaMalloc(&b->back(), count * sizeof(float)));
        PERFMODEL_CUDA(cudaMemset(b->back(), 0xFF, count * sizeof(float)));
      }
      pv::random_fill_kernel<float>
          <<<1024, 256>>>(from.back(), count, rank_seed + static_cast<std::uint32_t>(rank), 1.0F);
      PERFMODEL_LAUNCHED("random_fill");
      PERFMODEL_CUDA(cudaDeviceSynchronize());
    }
    PERFMODEL_CUDA(cudaSetDevice(0));
  }
  gpu_ranks(const gpu_ranks&) = delete;
  gpu_ranks& operator=(const gpu_ranks&) = delete;
  ~gpu_ranks() {
    for (std::size_t rank = 0; rank < streams.size(); ++rank) {
      cudaSetDevice(static_cast<int>(rank));
      if (rank < from.size()) cudaFree(from[rank]);
      if (rank < to.size()) cudaFree(to[rank]);
      cudaStreamDestroy(streams[rank]);
    }
    cudaSetDevice(0);
  }
  void wait() const {
    for (const cudaStream_t stream : streams) PERFMODEL_CUDA(cudaStreamSynchronize(stream));
  }
};

void measure_all_reduce(const pv::session& s, pv::recording& r) {
  const std::string part = "all-reduce over NCCL";
  if (s.device.gpus < 2) {
    r.skip(part, std::to_string(s.device.gpus) + " GPU");
    return;
  }
  const pv::nccl library;
  if (!library.available()) {
    r.skip(part, "no libnccl.so.2");
    return;
  }
  r.skip("all-reduce in a CUDA graph", "one process drives all GPUs; launched into streams alone");
  const std::size_t largest = (s.reduced ? mb : 256 * mb) / sizeof(float);
  for (int ranks = 2; ranks <= s.device.gpus; ranks *= 2) {
    gpu_ranks on(ranks, largest);
    const auto communicators = library.communicators(ranks);
    // Each repetition begins where the last one ended, so that small messages come from no cache.
    const auto once = [&](std::size_t count, int repetition) {
      const std::size_t places = (largest - count) / count + 1;
      library.all_reduce(communicators, on.from, on.to,
                         static_cast<std::size_t>(repetition) % places * count, count, on.streams);
    };
    const std::size_t checked = 10007;
    once(checked, 0);
    on.wait();
    std::vector<double> reference(checked, 0.0);
    for (std::size_t i = 0; i < checked; ++i) {
      for (int rank = 0; rank < ranks; ++rank) {
        reference[i] += pv::random_value(rank_seed + static_cast<std::uint32_t>(rank), i);
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<float> got(checked);
      PERFMODEL_CUDA(cudaSetDevice(rank));
      PERFMODEL_CUDA(cudaMemcpy(got.data(), on.to[static_cast<std::size_t>(rank)],
                                checked * sizeof(float), cudaMemcpyDeviceToHost));
      r.check("NCCL over " + std::to_string(ranks) + " GPUs, rank " + std::to_string(rank),
              pv::relative_error<float>(got, reference), 1e-6);
    }
    PERFMODEL_CUDA(cudaSetDevice(0));
    for (std::size_t count = 256; count <= largest; count *= 4) {
      const auto samples =
          pv::time_in_stream(on.streams[0], s.plan, [&](int i) { once(count, i); });
      on.wait();
      r.add({"all_reduce_time",
             "s",
             {{"ranks", ranks},
              {"bytes", static_cast<double>(count * sizeof(float))},
              {"implementation", "nccl"},
              {"launch", "stream"},
              {"format", "fp32"}},
             samples});
    }
    for (const ncclComm_t c : communicators) library.destroy(c);
  }
}

#else

void measure_all_reduce(const pv::session& s, pv::recording& r) {
  r.skip("all-reduce over NCCL", s.device.gpus < 2 ? std::to_string(s.device.gpus) + " GPU"
                                                   : std::string("the toolkit has no nccl.h"));
}

#endif

void measure(const pv::session& s, pv::recording& r) {
  r.part("logical ranks", [&] { account(s, r); });
  std::size_t largest = s.reduced ? 64 * kb : 1024 * mb;
  while (largest > s.free_bytes() && largest > 64 * kb) largest /= 4;
  const pv::device_buffer<unsigned char> device(largest);
  r.part("pinned memory", [&] {
    pv::pinned_buffer<unsigned char> host(largest);
    measure_copies(s, r, host.data(), true, largest, device);
  });
  r.part("pageable memory", [&] {
    std::vector<unsigned char> host(largest);
    measure_copies(s, r, host.data(), false, largest, device);
  });
  r.part("all-reduce over NCCL", [&] { measure_all_reduce(s, r); });
  pv::overlap::measure(s, r);
}

}  // namespace

int main(int argc, char** argv) {
  return pv::run_experiment(argc, argv,
                            {.name = "transfer",
                             .law = "interconnect.hpp: time = alpha + bytes / bandwidth; "
                                    "collectives.hpp: bytes a rank sends; overlap.hpp",
                             .program = "validation/kernels/transfer.cu",
                             .faults = {"drop_chunk", "miscount", "swap_bytes", "drop_tail",
                                        "swap_copied_bytes", "drop_copied_tail", "wrong_row"}},
                            measure);
}
