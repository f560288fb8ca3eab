// How many requests fit in memory at once? What the weights leave is divided among KV caches.
#include <cstdio>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/step/memory.hpp>
#include <perfmodel/units/text.hpp>

namespace pm = perfmodel;

// The textbook case: eight "80 GB" devices, 70e9 parameters, nothing reserved.
void textbook() {
  const auto requests = [](double weights, const pm::bytes_per_token<>& kv) {
    const pm::memory_budget node{.capacity = 8 * 80.0 * pm::GB, .weights = weights * pm::GB};
    return pm::kv_capacity(node, kv, 4096.0).sequences;
  };
  const pm::bytes_per_token<> kv = pm::kv_bytes_per_token(pm::catalog::llama_3_70b);
  std::printf("70B on 8 x 80 GB, 4096 tokens each, %.0f B of cache a token in bf16\n", kv.value());
  std::printf("  %-38s %4.0f requests\n", "bf16 weights (140 GB), bf16 cache", requests(140, kv));
  std::printf("  %-38s %4.0f requests\n", "int4 weights (35 GB), bf16 cache", requests(35, kv));
  std::printf("  %-38s %4.0f requests\n", "int4 weights (35 GB), int8 cache",
              requests(35, kv / 2.0));
}

// Real devices, with the memory that a driver reports, and the model's real number of parameters.
void machines() {
  std::printf("\nLlama 3 70B in bf16 over 8 devices, 4096 tokens each\n");
  std::printf("  %-14s %10s %10s %14s %14s\n", "", "memory", "free", "requests", "as vLLM keeps");
  for (const pm::accelerator* a :
       {&pm::catalog::a100_sxm_80gb, &pm::catalog::h100_sxm, &pm::catalog::h200_sxm,
        &pm::catalog::mi300x, &pm::catalog::b200_sxm}) {
    const pm::deployment d{
        .device = *a, .model = pm::catalog::llama_3_70b, .layout = {.tensor = 8}};
    const pm::kv_capacity_result all = pm::kv_capacity(with_all_memory(d), 4096.0);
    std::printf("  %-14s %10s %10s %14.0f %14.0f\n", a->name.c_str(),
                pm::to_string(a->dram.capacity).c_str(), pm::to_string(all.available).c_str(),
                all.sequences, pm::kv_capacity(d, 4096.0).sequences);
  }
}

// Grouped-query attention caches 8 heads of keys and values a layer, MLA one latent vector.
void attention_kinds() {
  pm::transformer multi_head = pm::catalog::llama_3_70b;  // had every query head its own keys
  auto& attention = std::get<pm::attention_shape>(multi_head.layers.mixers[0].shape);
  attention.kv_heads = attention.query_heads;
  const struct {
    const char* name;
    const pm::transformer* model;
  } rows[] = {{"70B, if multi-head", &multi_head},
              {"70B, grouped-query", &pm::catalog::llama_3_70b},
              {"671B, MLA", &pm::catalog::deepseek_v3}};
  std::printf("\nCache of one sequence in bf16\n");
  std::printf("  %-20s %9s %10s %10s %10s\n", "", "B/token", "4k", "32k", "128k");
  for (const auto& r : rows) {
    std::printf("  %-20s %9.0f", r.name, pm::kv_bytes_per_token(*r.model).value());
    for (const double context : {4096.0, 32768.0, 131072.0}) {
      std::printf(" %10s", pm::to_string(pm::kv_bytes(*r.model, context)).c_str());
    }
    std::printf("\n");
  }
}

int main() {
  textbook();
  machines();
  attention_kinds();
}
