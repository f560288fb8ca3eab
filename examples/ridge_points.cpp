// How many FLOP per byte does a kernel need before memory stops limiting it, and how has that moved?
#include <cstdio>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/roofline.hpp>

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

int main() {
  const std::array chips = {&cat::v100_sxm_32gb, &cat::a100_sxm_80gb, &cat::h100_sxm, &cat::h20,
                            &cat::h200_sxm, &cat::b200_sxm};
  std::printf("ridge point, FLOP/byte of DRAM traffic\n%-16s", "");
  for (const pm::number_format f : {pm::fp16, pm::fp8, pm::fp4}) std::printf("%10s", pm::name_of(f));
  std::printf("%12s\n", "fp32 vector");
  for (const pm::accelerator* chip : chips) {
    std::printf("%-16s", chip->name.c_str());
    for (const pm::number_format f : {pm::fp16, pm::fp8, pm::fp4}) {
      if (pm::supports(*chip, f)) {
        std::printf("%10.1f", pm::ridge_point(*chip, f).value());
      } else {
        std::printf("%10s", "-");
      }
    }
    const pm::intensity<> vector = pm::ridge_point(pm::vector_peak(*chip), chip->dram.bandwidth.quantity());
    std::printf("%12.1f\n", vector.value());
  }

  // A square product is past every ridge; a matrix-vector product is short of all of them.
  const pm::gemm square{.m = 4096, .n = 4096, .k = 4096}, decode{.m = 1, .n = 4096, .k = 4096};
  std::printf("\nGEMM 4096^3 has %.1f FLOP/byte, GEMV 4096^2 has %.2f; 200 FLOP/byte is ",
              pm::demand_of(square).intensity().value(), pm::demand_of(decode).intensity().value());
  for (const pm::accelerator* chip : chips) {
    const bool memory = pm::regime_of(*chip, pm::fp16, 200.0 * pm::flop_per_byte) == pm::regime::memory_bound;
    std::printf("%s on %s%s", memory ? "memory-bound" : "compute-bound", chip->name.c_str(),
                chip == chips.back() ? ".\n" : ", ");
  }
}
