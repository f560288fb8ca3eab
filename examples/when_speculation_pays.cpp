// When does drafting tokens and verifying them at once pay, and how many should be drafted?
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/speculative.hpp>

namespace pm = perfmodel;

int main() {
  std::printf("tokens emitted per pass of the target: 1 + a + a^2 + ... + a^k\n%6s", "a");
  for (const int k : {1, 2, 4, 8}) std::printf("%8s %d", "k =", k);
  std::printf("\n");
  for (const double a : {0.5, 0.7, 0.8, 0.9}) {
    std::printf("%6.1f", a);
    for (const int k : {1, 2, 4, 8}) std::printf("%10.4f", pm::emitted_tokens(a, k).quantity().value());
    std::printf("\n");
  }

  std::printf("\n%28s%14s%14s%24s\n", "a draft token costs", "best k, a=.8", "speed-up", "k = 4 breaks even at a");
  for (const double c : {0.0125, 0.025, 0.05, 0.08, 0.2}) {
    const int k = pm::best_draft_length(0.8, c);
    std::printf("%19.4f of a step%14d%14.2f%24.3f\n", c, k, pm::speculative_speedup(0.8, k, c),
                pm::break_even_acceptance(4, c));
  }

  std::printf("\nVerifying k + 1 tokens is free only while memory limits the step: with k = 5 on an H100 up to\n"
              "batch %.0f in bf16 and %.0f with 4-bit weights.\n",
              pm::verification_batch_limit(pm::ridge_point(pm::catalog::h100_sxm, pm::bf16), pm::bytes_of(pm::bf16), 5),
              pm::verification_batch_limit(pm::ridge_point(pm::catalog::h100_sxm, pm::bf16), pm::bytes_of(pm::int4), 5));
}
