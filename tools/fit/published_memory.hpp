// The memory splits that engines logged at their start: what each of them was started for.
#pragma once

#include <perfmodel/engine/engine.hpp>
#include <string>
#include <vector>

#include "tables.hpp"

namespace published {

struct memory_row {
  std::string model{};
  std::string gpu{};
  std::string version{};  ///< engine version: "0.7", "0.6."
  pm::step_dimensions widths{};
  pm::engine_limits started{};  ///< limits in the log, or the defaults of that version
  double seconds = 0;           ///< what the fit compares, here activations in bytes
  double total = 0, utilization = 0, weights = 0, runtime = 0, activations = 0, cache = 0;
  double kv_bytes = 0, blocks = 0;  ///< 0 blocks: not in the log

  /// Before 0.7 the context was part of what lies outside the allocator.
  bool counts_context() const { return version.starts_with("0.6"); }
  bool is_a100() const { return gpu.find("A100") != std::string::npos; }
};

/// Hidden size, feed-forward size, vocabulary; the longest context, where a log states no limit;
/// the sequences, where they are not the 256 of those versions (Unsloth starts vLLM for 320 and
/// 192); KV-cache bytes of a token, 4 layers kv_heads head_dim.
struct logged_model {
  const char* name;
  double hidden, intermediate, vocabulary, longest, sequences, kv_bytes;
};

/// Rows of vLLM on GPUs that state the whole split. vLLM before version 1 of its engine profiles
/// max(max_model_len, 2048) tokens, where prompts are not chunked.
inline std::vector<memory_row> memory_rows(const std::string& folder) {
  static constexpr logged_model models[] = {
      {"Llama-3.1-8B", 4096, 14336, 128256, 131072, 256, 131072},
      {"Meta-Llama-3-8B", 4096, 14336, 128256, 8192, 256, 131072},
      {"Qwen2.5-Math-1.5B", 1536, 8960, 151936, 4096, 256, 28672},
      {"Llama-3.2-3B", 3072, 8192, 128256, 131072, 256, 114688},
      {"Phi-4 (14B)", 5120, 17920, 100352, 16384, 320, 204800},
      {"Phi-4-mini", 3072, 8192, 200064, 131072, 256, 131072},
      {"Qwen2.5-0.5B", 896, 4864, 151936, 32768, 192, 12288},
      {"rho-1b", 2048, 5632, 32000, 2048, 256, 22528},
      {"Llama-3.1-70B", 8192, 28672, 128256, 131072, 4096, 327680}};
  std::vector<memory_row> out;
  for (const auto& r : rows_of(folder, "kv_capacity_logs_public.csv")) {
    if (!r.has("activation_peak_gib") || !r.text("engine").starts_with("vLLM 0")) continue;
    for (const logged_model& m : models) {
      if (!r.text("model").starts_with(m.name)) continue;
      memory_row row;
      row.model = m.name;
      row.gpu = r.text("gpu");
      row.version = r.text("engine").substr(5, r.text("engine").find_first_of(" x", 5) - 5);
      row.widths = {.hidden = m.hidden, .widest = 3 * m.intermediate, .vocabulary = m.vocabulary};
      const double longest = r.has("max_model_len") ? r.number("max_model_len") : m.longest;
      const bool chunks = row.model == "Phi-4 (14B)";  // its log: of 512 tokens
      row.started = {chunks || longest > 2048.0 ? longest : 2048.0, m.sequences};
      row.total = r.number("total_gpu_mem_gib");
      row.utilization = r.number("gpu_memory_utilization");
      row.weights = r.number("weights_gib");
      row.runtime = r.number("non_torch_gib");
      row.activations = r.number("activation_peak_gib");
      row.cache = r.number("kv_cache_gib_per_gpu");
      row.kv_bytes = m.kv_bytes;
      if (r.has("num_gpu_blocks")) row.blocks = r.number("num_gpu_blocks");
      row.seconds = row.activations * pm::GiB.value();
      out.push_back(std::move(row));
      break;
    }
  }
  return out;
}

}  // namespace published
