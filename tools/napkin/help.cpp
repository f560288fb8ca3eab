#include "help.hpp"

#include <algorithm>
#include <string_view>

#include "key.hpp"

namespace napkin {

namespace {

struct help_group {
  const char* heading;
  std::vector<std::string_view> commands;
};

const help_group help_groups[] = {
    {"Services",
     {"serving", "simulate", "plan", "advise", "diagnose", "step", "speculation",
      "speculative_round", "static_batch", "batch_scaling", "throughput", "cost"}},
    {"Models and memory",
     {"model", "kv_capacity", "kv_cache", "kv_room", "paging", "mixed_kv", "memory_plan",
      "shared_prefix", "storage", "model_flop"}},
    {"Operators",
     {"gemm", "elementwise", "norm", "softmax", "moe_ffn", "attention_prefill", "attention_decode",
      "collective", "tensor_parallel", "fusion", "attention_fusion", "tiles", "gemm_tile",
      "padded_gemm", "gemv", "selection", "special_functions"}},
    {"Machines",
     {"ridge", "ridge_batch", "decode_intensity", "fact", "peak", "clock_peak", "bus", "cores",
      "cycles", "memory_access", "divergence", "memory_power", "mig_slice", "l2_window",
      "host_copy", "gpu_util"}},
    {"Laws",
     {"iron_law", "littles_law", "amdahl", "share_of_speedup", "scaling", "launch", "overlap",
      "double_buffer", "persistent_kernel", "streams", "dependent_launch", "graph_breaks",
      "profiler", "training_step", "achieved", "utilisation", "mfu_from_mbu"}},
    {"Tools",
     {"sweep", "explain", "sensitivity", "audit", "batch", "calibrate", "gpus", "models"}}};

/// The whole help text, or its first clause where it is long.
std::string first_clause(const std::string& help) {
  constexpr std::size_t longest = 80;
  if (help.size() <= longest) return help;
  return help.substr(0, std::min(help.find(": "), help.find(". ")));
}
std::string line_of(const help_line& c) {
  constexpr std::size_t width = 20;
  const std::size_t blanks = c.name.size() < width ? width - c.name.size() : 1;
  return cat("  ", c.name, std::string(blanks, ' '), first_clause(c.help), "\n");
}

}  // namespace

std::string grouped(const std::vector<help_line>& commands) {
  std::string s, more;
  std::vector<std::string_view> known;
  for (const help_group& g : help_groups) {
    s += cat("\n", g.heading, ":\n");
    for (const std::string_view name : g.commands) {
      const auto at = std::find_if(commands.begin(), commands.end(),
                                   [&](const help_line& c) { return c.name == name; });
      if (at == commands.end()) continue;
      s += line_of(*at);
      known.push_back(name);
    }
  }
  for (const help_line& c : commands) {
    if (std::find(known.begin(), known.end(), c.name) == known.end()) more += line_of(c);
  }
  return s + (more.empty() ? "" : "\nMore:\n" + more);
}

}  // namespace napkin
