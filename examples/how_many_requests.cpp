// How many requests fit at once? Memory, less weights, over the cache of a request.
#include <cstdio>
#include <perfmodel/deployment.hpp>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/units/text.hpp>
#include <perfmodel/workload/catalog/all.hpp>

namespace pm = perfmodel;
namespace cat = perfmodel::catalog;

int main() {
  // The textbook case: 8 devices of 80e9 bytes, 140e9 bytes of weights, 4096 tokens a request.
  const auto textbook = [](double weights, pm::number_format kv) {
    const pm::memory_budget each{.capacity = 80.0 * pm::GB, .weights = weights / 8 * pm::byte};
    return pm::kv_capacity(each, pm::kv_bytes_per_token(cat::llama_3_70b, kv) / 8.0, 4096.0).sequences;
  };
  std::printf("8 x 80e9 bytes, 70B, 4096 tokens each: %.0f requests in 16 bits, %.0f with int4 weights and int8 cache\n\n",
              textbook(140e9, pm::bf16), textbook(35e9, pm::int8));

  std::printf("90 %% of eight H200s, bf16 cache, fp8 weights; requests that fit at once\n");
  std::printf("%-18s%14s%10s%10s%10s\n", "", "KV a token", "4k", "32k", "128k");
  for (const pm::transformer* m : {&cat::llama_2_7b, &cat::llama_3_8b, &cat::llama_3_70b, &cat::qwen_3_235b_a22b,
                                   &cat::gemma_3_27b, &cat::deepseek_v3}) {
    // MLA's latent is copied to every rank; gemma's sliding layers keep their window only.
    const int ranks = 4;
    pm::deployment d{.device = cat::h200_sxm, .model = *m, .layout = {.tensor = ranks, .pipeline = 2},
                     .weights = pm::fp8, .utilization = 0.9};
    if (m->layers < 2) continue;
    std::printf("%-18s%14s", m->name.c_str(), pm::to_string(pm::kv_bytes_per_token(*m)).c_str());
    for (const double context : {4096.0, 32768.0, 131072.0}) {
      std::printf("%10.0f", pm::kv_capacity(d, context).sequences);
    }
    std::printf("\n");
  }
  std::printf("\nA cache of %s tokens weighs as much as 70B in 16 bits: below that, quantise weights first.\n",
              pm::to_string(pm::weight_cache_crossover(140.0 * pm::GB, pm::kv_bytes_per_token(cat::llama_3_70b))).c_str());
}
