// What is the ridge point of each generation? A kernel with fewer FLOP per byte is limited by
// memory, one with more by arithmetic.
#include <cstdio>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/units/text.hpp>

namespace pm = perfmodel;

int main() {
  const pm::accelerator* generations[] = {
      &pm::catalog::v100_sxm_32gb, &pm::catalog::a100_sxm_80gb, &pm::catalog::h100_sxm,
      &pm::catalog::h20,           &pm::catalog::h200_sxm,      &pm::catalog::b200_sxm,
  };
  const pm::number_format formats[] = {pm::fp16, pm::bf16, pm::fp8, pm::int8, pm::fp4};

  std::printf("Ridge points in FLOP/B: dense peak over DRAM bandwidth (-: no such units)\n\n");
  std::printf("%-14s %10s", "", "DRAM");
  for (const pm::number_format f : formats) std::printf(" %7s", pm::name_of(f));
  std::printf(" %12s   %s\n", "fp32 vector", "200 FLOP/B in fp16 are");

  for (const pm::accelerator* a : generations) {
    std::printf("%-14s %10s", a->name.c_str(), pm::to_string(a->dram.bandwidth).c_str());
    for (const pm::number_format f : formats) {
      if (pm::supports(*a, f)) {
        std::printf(" %7.1f", pm::ridge_point(*a, f).value());
      } else {
        std::printf(" %7s", "-");
      }
    }
    // A norm or an activation runs on vector units, which have a far lower ridge point.
    std::printf(" %12.1f", (pm::vector_peak(*a) / a->dram.bandwidth).value());
    const pm::regime r = pm::regime_of(*a, pm::fp16, 200.0 * pm::flop_per_byte);
    std::printf("   %s\n", r == pm::regime::memory_bound ? "memory-bound" : "compute-bound");
  }

  // A square product is past every ridge. Decoding multiplies each weight once, 2 FLOP for 2 bytes.
  const pm::gemm square{.m = 4096, .n = 4096, .k = 4096};
  const pm::gemm decode{.m = 1, .n = 4096, .k = 4096};
  std::printf("\n%-34s %12s %20s\n", "bf16 product on an H100", "intensity", "tensor cores in use");
  std::printf("%-34s %5.1f FLOP/B %18.2f %%\n", "4096 x 4096 x 4096",
              pm::demand_of(square).intensity().value(),
              100.0 * pm::roofline(pm::catalog::h100_sxm, square).mfu);
  std::printf("%-34s %5.1f FLOP/B %9s %6.2f %%\n", "1 x 4096 x 4096, as in decoding",
              pm::demand_of(decode).intensity().value(), "at most",
              100.0 * pm::roofline(pm::catalog::h100_sxm, decode).mfu);
}
