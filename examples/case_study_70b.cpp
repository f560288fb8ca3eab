// A published case study takes a 70B service on 8 H100s from 85 to 10 ms a token in three rounds.
// Which of its numbers can be true together?
#include <array>
#include <cstdio>
#include <perfmodel/deployment.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/littles_law.hpp>
#include <perfmodel/metrics.hpp>
#include <perfmodel/speculative.hpp>
#include <perfmodel/step.hpp>
#include <perfmodel/units/text.hpp>
#include <perfmodel/workload/catalog/llama.hpp>

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

namespace {

void line(const char* claim, const char* law, double claimed, double possible, const char* unit, bool holds) {
  std::printf("  %-46s %8.1f %-6s %-34s %8.1f %-6s %s\n", claim, claimed, unit, law, possible, unit,
              holds ? "can be" : "CANNOT BE");
}
void at_most(const char* claim, const char* law, double claimed, double possible, const char* unit) {
  line(claim, law, claimed, possible, unit, claimed <= possible * 1.02);
}
void at_least(const char* claim, const char* law, double claimed, double possible, const char* unit) {
  line(claim, law, claimed, possible, unit, claimed >= possible * 0.98);
}

}  // namespace

int main() {
  const pm::deployment bf16{.device = cat::h100_sxm, .model = cat::llama_3_70b, .layout = {.tensor = 8}};
  pm::deployment int4 = bf16;
  int4.weights = pm::storage_format(pm::int4, 64, 16);
  int4.kv = pm::int8;
  const auto ms_of = [](const pm::deployment& d, double batch) {
    return pm::step(d, {.batch = batch, .context = 4096}).time.value() * 1e3;
  };

  std::printf("Round 0, bf16, 85 ms a token: GEMM 38 %%, attention 24, elementwise 14, launches 12, all-reduce 12\n");
  at_least("a step takes", "bound: weights and cache", 85, ms_of(bf16, 1), "ms");
  at_most("4 users get", "Little: streams / ITL", 280, pm::throughput_of(4.0, 85.0 * pm::ms).value(), "tok/s");
  const pm::bandwidth<> moved = pm::demand_of_step(bf16, {.batch = 1}).weights / (85.0 * pm::ms);
  at_most("effective bandwidth a GPU", "weights / step", 2.7, moved.value() / 1e12, "TB/s");
  at_most("most users at once", "KV capacity at 4096 tokens", 4, pm::kv_capacity(bf16, 4096.0).sequences, "users");

  std::printf("\nRound 1, int4 weights and int8 cache: GEMM takes 45 %% less, nothing else changes\n");
  const auto round_1 = pm::amdahl(std::array<pm::amdahl_part, 1>{{{0.38, 0.55}}});
  at_least("85 ms become", "Amdahl: 1 - 0.38 x 0.45", 48, 85 * round_1.time_ratio, "ms");
  at_least("", "Amdahl floor: GEMM in no time", 48, pm::amdahl_floor(85.0 * pm::ms, 0.38).value() * 1e3, "ms");
  at_most("32 users get", "a step grows with its batch", 720, 32 / 0.048, "tok/s");
  at_least("a step takes", "bound: weights and cache", 48, ms_of(int4, 1), "ms");

  std::printf("\nRound 2, fusion: elementwise 14 to 4 %%, attention 30 %% less, no launches; from round 0's shares\n");
  const auto rounds = pm::amdahl(std::array<pm::amdahl_part, 4>{{{0.38, 0.55}, {0.24, 0.7}, {0.14, 4.0 / 14}, {0.12, 1e-9}}});
  at_least("85 ms become", "Amdahl over both rounds", 32, 85 * rounds.time_ratio, "ms");
  at_most("32 users get", "a step grows with its batch", 1050, 32 / 0.032, "tok/s");

  std::printf("\nRound 3, speculation: 5 drafts in 4 ms, verified in 32 ms, acceptance 0.78\n");
  const double emitted = pm::emitted_tokens(0.78, 5).quantity().value();
  at_most("tokens a round", "geometric: (1 - a^6) / (1 - a)", 3.5, emitted, "tok");
  at_least("a token takes", "(4 + 32) ms / tokens a round", 10.2, 36 / emitted, "ms");
  at_least("a user can wait, at worst", "one whole round", 36, 36, "ms");

  const double fused = 85 * rounds.time_ratio;
  std::printf("\nEach round is sound, their chain is not: 85 ms, then %.1f, %.1f and %.1f are what its own shares give.\n",
              85 * round_1.time_ratio, fused, (4 + fused) / emitted);
  std::printf("The machine would allow %.1f ms in bf16 and %.1f in int4, before any speculation.\n", ms_of(bf16, 1), ms_of(int4, 1));
}
