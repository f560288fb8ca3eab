// Request lengths of published workloads, by name.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace napkin {

/// Means and coefficients of variation of the prompt and output lengths of one workload, in tokens.
struct published_workload {
  const char* name;
  double input_tokens, input_cv, output_tokens, output_cv;
  const char* source;
};

/// `random` leaves the means to the request. Lengths of traces are those of all their requests.
/// InferenceX draws uniformly from 80 to 100 % of its nominal lengths: mean 0.9 L, coefficient of
/// variation (0.2 / sqrt(12)) / 0.9.
inline constexpr double inferencex_cv = 0.0641500299;
inline constexpr published_workload published_workloads[] = {
    {"random", 0.0, 0.0, 0.0, 0.0, "vllm bench serve, --random-range-ratio 0: fixed lengths"},
    {"sglang_random", 0.0, 0.57735027, 0.0, 0.57735027,
     "SGLang's bench_serving, range ratio 0: uniform from 1 to L; state the means, L/2"},
    {"sharegpt", 331.8, 1.595, 213.4, 1.103,
     "200 prompts of ShareGPT_V3 by vllm bench serve (grantwilkins/powertrace-sim)"},
    {"inferencex_1k1k", 921.6, inferencex_cv, 921.6, inferencex_cv, "InferenceX, 1024 and 1024"},
    {"inferencex_1k8k", 921.6, inferencex_cv, 7372.8, inferencex_cv, "InferenceX, 1024 and 8192"},
    {"inferencex_8k1k", 7372.8, inferencex_cv, 921.6, inferencex_cv, "InferenceX, 8192 and 1024"},
    {"azure_code", 2047.8, 0.964, 27.9, 2.147, "Azure LLM inference trace 2023, code"},
    {"azure_conversation", 1154.7, 0.960, 211.1, 0.771,
     "Azure LLM inference trace 2023, conversation"},
    {"mooncake_conversation", 12035.1, 1.313, 342.6, 0.729, "Mooncake FAST25, conversation"},
    {"mooncake_synthetic", 15325.5, 1.199, 149.1, 1.195, "Mooncake FAST25, synthetic"},
    {"arxiv_summarization", 2565.3, 0.374, 305.3, 1.866,
     "Vidur's arXiv summarization trace, first 5000"}};

/// The workload of a name in names_of_workloads().
inline const published_workload& find_workload(std::string_view name) {
  return *std::ranges::find(published_workloads, name, &published_workload::name);
}
inline std::vector<std::string_view> names_of_workloads() {
  std::vector<std::string_view> names;
  for (const published_workload& w : published_workloads) names.emplace_back(w.name);
  return names;
}

}  // namespace napkin
