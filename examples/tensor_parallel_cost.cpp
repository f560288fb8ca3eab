// What does tensor parallelism cost? Every layer adds up its activations over all devices twice.
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/parallelism.hpp>
#include <perfmodel/units/text.hpp>

namespace pm = perfmodel;

// A 70B model: 80 layers of width 8192, bf16, over 8 devices.
constexpr pm::tensor_parallelism over_eight(double batch, double tokens) {
  return {.ranks = 8, .layers = 80, .batch = batch, .tokens = tokens, .hidden = 8192};
}

void row(const char* what, const pm::interconnect& link, const pm::tensor_parallelism& x) {
  // A bound on a ring: the whole link and no latency. Then 5 us for each of the 160 sums, as one
  // kernel launch and a handshake take: assumed, since it is the machine that decides.
  pm::collective_call ring = pm::all_reduce_of(x);
  ring.algorithm = pm::algorithm::ring;
  const pm::collective_estimate one = pm::collective_time(link, ring);
  const pm::collective_estimate step = pm::repeated(2.0 * x.layers, one);
  const pm::duration<> launched = step.time + 2.0 * x.layers * 5.0 * pm::us;
  std::printf("  %-21s %-7s %9s %9s %10s %10s %10s %12s\n", what, pm::name_of(link.kind),
              pm::to_string(ring.message.quantity()).c_str(),
              pm::to_string(one.wire.quantity()).c_str(), pm::to_string(one.time).c_str(),
              pm::to_string(step.wire.quantity()).c_str(), pm::to_string(step.time).c_str(),
              pm::to_string(launched).c_str());
}

int main() {
  const pm::interconnect nvlink = pm::catalog::h100_sxm.fabric;
  const pm::interconnect pcie = pm::catalog::h100_pcie.fabric;
  std::printf("Tensor parallelism of a 70B model over 8 H100, 160 ring all-reduces a step\n\n");
  std::printf("  %-21s %-7s %9s %9s %10s %10s %10s %12s\n", "step", "link", "message", "sent",
              "one sum", "sent, all", "all sums", "+ 5 us each");
  for (const pm::interconnect& link : {nvlink, pcie}) {
    row("decode, batch 1", link, over_eight(1, 1));
    row("decode, batch 64", link, over_eight(64, 1));
    row("prefill, 32 x 2048", link, over_eight(32, 2048));
  }

  // The same prefill at the bandwidths that NCCL was seen to reach, and the figure often quoted.
  const pm::tensor_parallelism prefill = over_eight(32, 2048);
  pm::interconnect measured = nvlink;
  measured.bandwidth = 370.0 * pm::GB_per_s;  // busbw of NCCL's ring on 8 x H100
  pm::collective_call ring = pm::all_reduce_of(prefill);
  ring.algorithm = pm::algorithm::ring;
  const auto right = pm::repeated(160.0, pm::collective_time(measured, ring));

  // Quoted as 460 ms: twice the message, over 750 GB/s. But a rank sends 1.75 messages, and 750
  // is of both directions added up, of which a message can use one.
  const pm::two_way_bandwidth<> both_directions(750.0 * pm::GB_per_s);
  const pm::duration<> quoted =
      160.0 * 2.0 * ring.message.quantity() / both_directions.quantity();
  std::printf("\nThe prefill's sums, %s on the wire:\n",
              pm::to_string(right.wire.quantity()).c_str());
  std::printf("  %-52s %s\n", "ring at 370 GB/s one way, as measured",
              pm::to_string(right.time).c_str());
  std::printf("  %-52s %s\n", "quoted: twice the message over 750 GB/s, two-way",
              pm::to_string(quoted).c_str());
  std::printf("  %-52s %s\n", "least time of a ring at NVLink's 450 GB/s",
              pm::to_string(pm::repeated(160.0, pm::collective_time(nvlink, ring)).time).c_str());
}
