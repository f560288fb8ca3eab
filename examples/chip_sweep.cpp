// A chip on paper: 1.2 PFLOP/s of bf16 and 128 GB. What does each TB/s of DRAM bandwidth buy, and
// from which batch on does it buy nothing?
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>

namespace pm = perfmodel;
namespace catalog = pm::catalog;

pm::accelerator chip(double tb_per_s) {
  pm::accelerator a = catalog::h100_sxm;
  static const pm::source ours{pm::basis::assumed, "a chip on paper"};
  a.name = "paper";
  a.matrix.peak.bf16 = {1.2e15 * pm::flop / pm::second, ours};
  a.dram.bandwidth = {tb_per_s * 1e12 * pm::byte / pm::second, ours};
  a.dram.capacity = {128.0 * pm::GB, ours};
  return a;
}

int main() {
  std::printf("Llama 3 70B in bf16 on two of them, 4096 tokens of context: bounds of a step\n\n");
  std::printf("  %5s %10s %16s %16s %20s\n", "TB/s", "FLOP/byte", "1 sequence", "64 sequences",
              "prefill of 2048");
  for (const double bandwidth : {4.0, 5.0, 6.0, 8.0, 10.0}) {
    pm::deployment d;
    d.device = chip(bandwidth);
    d.model = catalog::llama_3_70b;
    d.layout.tensor = 2;
    const auto print = [&](const pm::iteration& i) {
      const pm::estimate e = pm::step_bound(d, i);
      std::printf(" %7.2f ms %-7s", e.time.value() * 1e3, pm::name_of(e.limiter));
    };
    std::printf("  %5.0f %10.0f", bandwidth, pm::ridge_point(d.device, pm::bf16).value());
    print({.batch = 1, .context = 4096});
    print({.batch = 64, .context = 4096});
    print({.prefill_tokens = 2048});
    std::printf("\n");
  }
}
