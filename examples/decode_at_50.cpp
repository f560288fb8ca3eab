// Can a 70B model decode at 50 tokens a second for one user here? If not, what is in the way?
#include <cstdio>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/units/text.hpp>
#include <perfmodel/workload/catalog/llama.hpp>
#include <string>

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

int main() {
  struct option {
    const char* name;
    pm::storage_format weights;
    pm::number_format activations;
  };
  const option options[] = {{"bf16", pm::bf16, pm::bf16},
                            {"fp8", pm::fp8, pm::fp8},
                            {"int4 weights", {pm::int4, 128, 16}, pm::bf16}};
  const double context = 4096;
  std::printf("Llama 3 70B, one user, %.0f tokens of context: at most so many tokens a second\n\n", context);
  std::printf("%-16s%4s", "", "TP");
  for (const option& o : options) std::printf("%14s", o.name);
  std::printf("\n");
  std::string reasons;
  for (const pm::accelerator* chip : {&cat::a100_sxm_80gb, &cat::h100_sxm, &cat::h200_sxm, &cat::b200_sxm,
                                      &cat::rtx_4090, &cat::m3_ultra}) {
    for (const int ranks : {1, 2, 4}) {
      if (ranks > chip->fabric.ranks) continue;
      std::printf("%-16s%4d", ranks == 1 ? chip->name.c_str() : "", ranks);
      for (const option& o : options) {
        const pm::deployment d{.device = *chip, .model = cat::llama_3_70b, .layout = {.tensor = ranks},
                               .weights = o.weights, .activations = o.activations};
        if (!pm::supports(*chip, pm::wider(o.activations, o.weights.format))) {
          std::printf("%14s", "no such unit");
          continue;
        }
        const pm::estimate e = pm::step(d, {.batch = 1, .context = context});
        if (e.feasible) {
          std::printf("%12.0f %c", 1.0 / e.time.value(), e.time <= 20.0 * pm::ms ? '*' : ' ');
        } else {
          std::printf("%14s", "does not fit");
          if (ranks == 1 && o.activations == pm::bf16 && o.weights.format == pm::bf16) {
            reasons += std::string(chip->name.view()) + ": " + e.feasible.reason + ", " +
                       pm::to_string(e.feasible.needed * pm::byte) + " of " +
                       pm::to_string(e.feasible.available * pm::byte) + "\n";
          }
        }
      }
      std::printf("\n");
    }
  }
  std::printf("\n* 50 or more. These are bounds: nothing is faster.\n%s", reasons.c_str());
}
