// A published case study improves a 70B model on 8 H100 from 85 ms a token to 10 ms in three steps.
// Can all of its numbers be true at once? Each is compared with the law that bounds it.
#include <array>
#include <cstdio>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/laws/littles_law.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/step/memory.hpp>

namespace pm = perfmodel;

void claim(const char* what, double claimed, const char* unit, const char* sign, double limit,
           const char* law) {
  const bool holds = sign[0] == '<' ? claimed <= limit : claimed >= limit;
  std::printf("  %-31s %8.2f %-7s %-3s %7.2f   %-38s %s\n", what, claimed, unit, sign, limit, law,
              holds ? "can be" : "CANNOT BE");
}
double in_ms(const pm::duration<>& t) {
  return t / pm::ms;
}

int main() {
  pm::deployment node = with_all_memory(pm::deployment{
      .device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_70b, .layout = {.tensor = 8}});
  const pm::iteration one_user{.batch = 1, .context = 4096};
  const double bf16_bound = in_ms(pm::step_bound(node, one_user).time);
  const double bf16_users = pm::kv_capacity(node, 4096.0).sequences;
  node.weights = pm::storage_format{pm::int4, 64, 16};
  node.kv = pm::int8;
  const double int4_bound = in_ms(pm::step_bound(node, one_user).time);

  std::printf("R0  bf16. Shares: GEMM 38 %%, attention 24 %%, elementwise 14 %%, launches 12 %%\n");
  const pm::duration<> r0 = 85.0 * pm::ms;
  claim("a token takes", 85, "ms", ">=", bf16_bound, "weights and cache over bandwidth");
  claim("4 users get", 280, "tok/s", "<=", pm::throughput_of(4.0, r0).value(),
        "Little: users / inter-token latency");
  claim("GEMM kernels read at", 2700, "GB/s", "<=", 17.5 * pm::GB / (0.38 * r0) / pm::GB_per_s,
        "17.5 GB of weights in 38 % of a step");
  claim("memory limits the users to", 4, "users", ">=", bf16_users,
        "free memory over 4096 tokens each");

  std::printf("\nR1  int4 weights, int8 cache. GEMM takes 45 %% less time, the rest as before\n");
  const auto round_1 = pm::amdahl(std::array{pm::amdahl_part{.share = 0.38, .factor = 0.55}});
  claim("a token takes", 48, "ms", ">=", int4_bound, "weights and cache over bandwidth");
  claim("a token takes", 48, "ms", ">=", in_ms(r0 * round_1.time_ratio), "Amdahl: 1 - 0.38 x 0.45");
  claim("a token takes", 48, "ms", ">=", in_ms(pm::amdahl_floor(r0, 0.38)),
        "Amdahl's floor: no GEMM at all");
  claim("32 users get", 720, "tok/s", "<=", pm::throughput_of(32.0, 48.0 * pm::ms).value(),
        "a step of 32 is no shorter than of 1");

  std::printf("\nR2  fusion. Elementwise 14 to 4 %%, attention 30 %% less, no launches\n");
  const pm::amdahl_part attention{.share = 0.24, .factor = 0.7};
  const pm::amdahl_part elementwise{.share = 0.14, .factor = 4.0 / 14.0};
  const pm::amdahl_part launches{.share = 0.12, .factor = 0.0};
  const auto round_2 = pm::amdahl(std::array{attention, elementwise, launches});
  const auto both = pm::amdahl(
      std::array{pm::amdahl_part{.share = 0.38, .factor = 0.55}, attention, elementwise, launches});
  claim("a token takes", 32, "ms", ">=", 48 * round_2.time_ratio, "Amdahl, from the claimed 48 ms");
  claim("a token takes", 32, "ms", ">=", in_ms(r0 * both.time_ratio),
        "Amdahl, from the measured 85 ms");
  claim("32 users get", 1050, "tok/s", "<=", pm::throughput_of(32.0, 32.0 * pm::ms).value(),
        "a step of 32 is no shorter than of 1");

  std::printf("\nR3  speculation. 5 drafts of 0.75 GB in 4 ms, checked in 32 ms, 78 %% accepted\n");
  const auto emitted = pm::emitted_tokens(0.78, 5);
  const pm::speculative_steps steps{
      .target = 32 * pm::ms, .draft = 0.8 * pm::ms, .verify = 32 * pm::ms};
  const pm::duration<> per_token = pm::time_per_token(emitted, 5, steps) * pm::token;
  claim("a round emits", 3.5, "tokens", "<=", emitted.quantity().value(), "(1 - a^6) / (1 - a)");
  claim("5 drafts take", 4, "ms", ">=", in_ms(5.0 * 0.75 * pm::GB / node.device.dram.bandwidth),
        "the draft's weights over bandwidth");
  claim("a token takes, in the mean", 10.3, "ms", ">=", in_ms(per_token), "(4 + 32 ms) / emitted");
  claim("speed-up over R2", 3.1, "times", "<=", pm::speculative_speedup(emitted, 5, steps),
        "emitted x 32 / (4 + 32)");

  const double chained = in_ms(r0 * both.time_ratio);
  std::printf("\nFrom 85 ms and its shares: %.1f ms after R1, %.1f after R2, %.1f after R3.\n",
              in_ms(r0 * round_1.time_ratio), chained, (4 + chained) / emitted.quantity().value());
}
