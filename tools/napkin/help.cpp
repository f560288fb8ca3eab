#include "help.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "io/text_style.hpp"
#include "key.hpp"

namespace napkin {

namespace {

struct help_group {
  const char* heading;
  std::vector<std::string_view> commands;
};

const help_group help_groups[] = {
    {"Services",
     {"serving", "simulate", "plan", "advise", "diagnose", "trust", "step", "speculation",
      "speculative_round", "static_batch", "batch_scaling", "throughput", "cost"}},
    {"Models and memory",
     {"model", "kv_capacity", "kv_cache", "kv_room", "paging", "mixed_kv", "memory_plan",
      "shared_prefix", "storage", "model_flop"}},
    {"Operators",
     {"gemm", "elementwise", "norm", "softmax", "moe_ffn", "attention_prefill", "attention_decode",
      "collective", "tensor_parallel", "fusion", "attention_fusion", "tiles", "gemm_tile",
      "padded_gemm", "gemv", "selection", "special_functions"}},
    {"Machines",
     {"roofline", "ridge", "ridge_batch", "decode_intensity", "fact", "peak", "clock_peak", "bus",
      "cores", "cycles", "memory_access", "divergence", "memory_power", "mig_slice", "l2_window",
      "host_copy", "gpu_util"}},
    {"Laws",
     {"iron_law", "littles_law", "amdahl", "share_of_speedup", "scaling", "launch", "overlap",
      "double_buffer", "persistent_kernel", "streams", "dependent_launch", "graph_breaks",
      "profiler", "training_step", "achieved", "utilisation", "mfu_from_mbu"}},
    {"Tools",
     {"sweep", "explain", "sensitivity", "thresholds", "require", "audit", "batch", "calibrate",
      "gpus", "models"}}};

std::string line_of(const help_line& c) {
  constexpr std::size_t width = 20;
  const std::size_t blanks = c.name.size() < width ? width - c.name.size() : 1;
  return cat("  ", c.name, std::string(blanks, ' '), first_clause(c.help), "\n");
}

}  // namespace

std::string with_bold_headings(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const bool heading = line.ends_with(':') && !line.starts_with(' ');
    out += (heading ? styled(text_style::bold, line) : line) + "\n";
  }
  return out;
}

std::string first_clause(const std::string& help) {
  constexpr std::size_t longest = 80;
  if (help.size() <= longest) return help;
  return help.substr(0, std::min(help.find(": "), help.find(". ")));
}

std::string grouped(const std::vector<help_line>& commands) {
  std::string s, more;
  std::vector<std::string_view> known;
  for (const help_group& g : help_groups) {
    s += cat("\n", with_bold_headings(cat(g.heading, ":\n")));
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
  return s + (more.empty() ? "" : with_bold_headings("\nMore:\n") + more);
}

std::string first_page() {
  constexpr std::pair<const char*, const char*> commands[] = {
      {"plan", "GPUs, layout and engine for a load and latency targets, cheapest first"},
      {"serving", "TTFT, ITL and throughput of one deployment under load"},
      {"simulate", "the same, simulated request by request: a trace, or random arrivals"},
      {"model", "parameters, weights and KV cache of a model, and where it fits"},
      {"step", "time of one forward pass: decode, prefill, or both"},
      {"gemm", "time of a GEMM, its roofline, and a measured time against both"},
      {"diagnose", "bottleneck of a measured step or service, and what to check first"},
      {"sweep", "any query over a grid of keys and chip facts, as a table or CSV"},
      {"require", "bandwidth, capacity or FLOP rate that would meet a target"},
      {"explain", "derivation of any result, with its numbers filled in"}};
  std::string s = styled(text_style::bold,
                         "napkin: how fast a large model runs on a machine, and what limits it\n") +
                  "\nUsage: napkin COMMAND --key value ... [--json]\n\n";
  for (const auto& [name, help] : commands) s += line_of({name, help});
  return s + with_bold_headings("\nExample:\n") +
         "  napkin plan --model llama-3.1-70b --gpu h100,h200 --isl 2048 --osl 512 --users 64 "
         "--itl 50ms\n\n"
         "All commands: napkin help. Options of one: napkin help plan. Names: napkin gpus, napkin "
         "models.\n";
}

}  // namespace napkin
