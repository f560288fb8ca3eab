// Can a 70B model write 50 tokens a second for one reader here, and if not, why not?
// Each answer is a bound: with data-sheet rates and no overhead, nothing is faster.
#include <cstdio>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/units/text.hpp>

namespace pm = perfmodel;

struct precision {
  const char* name;
  pm::weight_storage weights;
  pm::number_format activations;
};

int main() {
  const pm::accelerator* machines[] = {&pm::catalog::rtx_4090, &pm::catalog::m3_ultra,
                                       &pm::catalog::a100_sxm_80gb, &pm::catalog::h100_sxm,
                                       &pm::catalog::h200_sxm};
  const precision precisions[] = {
      {"bf16", pm::bf16, pm::bf16},
      {"fp8", pm::fp8, pm::fp8},
      // Weights only, with a 16-bit scale for each 64 of them: 4.25 bits a weight.
      {"int4", pm::storage_format{pm::int4, 64, 16}, pm::bf16},
  };

  std::printf("Llama 3 70B, one sequence of 4096 tokens, target 50 tok/s\n\n");
  std::printf("%-14s %2s %-5s %11s %10s %8s  %s\n", "machine", "TP", "store", "weights/dev", "step",
              "tok/s", "50 tok/s?");
  for (const pm::accelerator* a : machines) {
    for (const int tensor : {1, 8}) {
      if (tensor > 1 && a->fabric.ranks < tensor) continue;
      for (const precision& p : precisions) {
        const pm::deployment d = with_all_memory(pm::deployment{.device = *a,
                                                                .model = pm::catalog::llama_3_70b,
                                                                .layout = {.tensor = tensor},
                                                                .weights = p.weights,
                                                                .activations = p.activations});
        std::printf("%-14s %2d %-5s %11s ", a->name.c_str(), tensor, p.name,
                    pm::to_string(pm::weight_bytes_per_device(d)).c_str());
        if (!pm::supports(*a, p.activations)) {
          std::printf("%10s %8s  no: %s has no units for it\n", "-", "-", a->name.c_str());
          continue;
        }
        const pm::estimate e = pm::step_bound(d, {.batch = 1, .context = 4096});
        if (!e.feasible) {
          std::printf("%10s %8s  no: %.1f GB with the cache, %.1f GB there\n", "-", "-",
                      e.feasible.needed / 1e9, e.feasible.available / 1e9);
          continue;
        }
        const bool quick = e.time <= 20.0 * pm::ms;
        std::printf("%10s %8.1f  %s, limited by %s\n", pm::to_string(e.time).c_str(),
                    1.0 / e.time.value(), quick ? "not excluded" : "no", pm::name_of(e.limiter));
      }
    }
  }
}
