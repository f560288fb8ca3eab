// When does it pay to draft tokens and check them at once, and how many should be drafted?
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/roofline.hpp>

namespace pm = perfmodel;

int main() {
  const int lengths[] = {1, 2, 4, 6, 8, 10};

  // A draft token costs a share c of a target step; checking k + 1 tokens costs one whole step.
  const double cost = 0.08;
  std::printf("Speed-up by draft length k, a draft token costing %.2f of a target step\n", cost);
  std::printf("%12s", "acceptance");
  for (const int k : lengths) std::printf("   k = %2d", k);
  std::printf("%9s\n", "best k");
  for (const double a : {0.05, 0.3, 0.5, 0.7, 0.8, 0.9}) {
    std::printf("%12.2f", a);
    for (const int k : lengths) std::printf(" %8.2f", pm::speculative_speedup(a, k, cost));
    const int best = pm::best_draft_length(a, cost);
    if (pm::speculative_speedup(a, best, cost) > 1.0) {
      std::printf("%9d\n", best);
    } else {
      std::printf("%9s\n", "none");
    }
  }

  std::printf("\nWhat the draft may cost, k = 4\n");
  std::printf("%12s %12s %22s %22s\n", "draft token", "4 of them",
              "breaks even at a =", "speed-up at a = 0.8");
  for (const double c : {1.0 / 70, 0.05, 0.075, 0.1, 0.2}) {
    const pm::speculation_estimate e = pm::speculate(0.8, 4, c);
    std::printf("%12.3f %12.3f %22.3f %22.2f\n", c, 4 * c, e.break_even_acceptance, e.speedup);
  }

  // Checking is free while memory limits the step. With more sequences the extra tokens meet the
  // ridge point, and each of them costs time.
  const pm::intensity<> ridge = pm::ridge_point(pm::catalog::h100_sxm, pm::bf16);
  std::printf("\nSequences on an H100 up to which checking k + 1 tokens each is free\n");
  std::printf("%12s", "weights");
  for (const int k : lengths) std::printf("   k = %2d", k);
  std::printf("\n");
  for (const pm::number_format f : {pm::bf16, pm::int4}) {
    std::printf("%12s", pm::name_of(f));
    for (const int k : lengths) {
      std::printf(" %8.1f", pm::verification_batch_limit(ridge, pm::bytes_of(f), k));
    }
    std::printf("\n");
  }
}
