// What does tensor parallelism cost? Every layer adds up its activations over all devices twice.
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/units/text.hpp>

namespace pm = perfmodel;

// A 70B model: 80 layers of width 8192 in bf16, so 160 sums over 8 devices.
constexpr double sums = 160;
constexpr pm::collective sum_of(double batch, double tokens) {
  pm::collective c = pm::all_reduce_of(pm::tensor_parallelism{
      .ranks = 8, .layers = 80, .batch = batch, .tokens = tokens, .hidden = 8192});
  c.algorithm = pm::collective_algorithm::ring;
  return c;
}

void row(const char* step, const pm::interconnect& link, const pm::collective& c) {
  // What kernels and handshakes add is the machine's: 5 us a sum are assumed here.
  const pm::duration<> latency = 5.0 * pm::us;
  const pm::collective_estimate one = pm::collective_time(link, c);
  const pm::collective_estimate all = pm::repeated_collective(sums, one);
  std::printf("  %-7s %-19s %9s %9s %9s %9s %9s %11s\n", pm::name_of(link.kind), step,
              pm::to_string(c.message.quantity()).c_str(),
              pm::to_string(one.wire.quantity()).c_str(), pm::to_string(one.time).c_str(),
              pm::to_string(all.wire.quantity()).c_str(), pm::to_string(all.time).c_str(),
              pm::to_string(all.time + sums * latency).c_str());
}

int main() {
  const pm::interconnect nvlink = pm::catalog::h100_sxm.fabric;
  const pm::interconnect pcie = pm::catalog::h100_pcie.fabric;
  const pm::collective prefill = sum_of(32, 2048);

  std::printf("70B over 8 H100: 160 ring all-reduces a step, bytes sent by each device\n\n");
  std::printf("  %-7s %-19s %9s %9s %9s %9s %9s %11s\n", "link", "step", "message", "sent",
              "one sum", "sent, all", "all sums", "+ 5 us each");
  for (const pm::interconnect& link : {nvlink, pcie}) {
    row("decode, batch 1", link, sum_of(1, 1));
    row("decode, batch 64", link, sum_of(64, 1));
    row("prefill, 32 x 2048", link, prefill);
  }

  // The prefill's sums are quoted as 460 ms: twice the message over 750 GB/s. But 750 GB/s is of
  // both directions, and a message travels one way. A link's bandwidth cannot be set to a
  // two_way_bandwidth; the wrong figure needs .quantity().
  const pm::two_way_bandwidth<> quoted(750.0 * pm::GB_per_s);
  const pm::duration<> wrong = sums * 2.0 * prefill.message.quantity() / quoted.quantity();
  pm::interconnect measured = nvlink;
  measured.bandwidth = 370.0 * pm::GB_per_s;  // bus bandwidth of NCCL's ring on 8 H100

  std::printf("\nThe prefill's sums\n");
  std::printf("  %-50s %7s\n", "quoted: twice the message over 750 GB/s two-way",
              pm::to_string(wrong).c_str());
  std::printf("  %-50s %7s\n", "bound of a ring: 1.75 messages over 450 GB/s",
              pm::to_string(sums * pm::collective_time(nvlink, prefill).time).c_str());
  std::printf("  %-50s %7s\n", "as NCCL's ring runs: 1.75 messages over 370 GB/s",
              pm::to_string(sums * pm::collective_time(measured, prefill).time).c_str());
}
