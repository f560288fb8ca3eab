// Command line and configuration file that start one server of an engine.
#pragma once

#include <algorithm>
#include <optional>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <string>
#include <utility>
#include <vector>

namespace napkin {

/// Draft tokens of a server: n-grams of the text, or the model's own MTP heads.
struct server_speculation {
  bool own_heads = false;
  int length = 1;
};

/// Part of a disaggregated service that a server has.
enum class server_role { whole, prefill, decode };

/// One server, in the words of the plan.
struct server_settings {
  perfmodel::engine by = perfmodel::engine::vllm;
  perfmodel::parallel_layout layout{};
  double running_requests = 1.0;        ///< maximum of the server, over all data-parallel groups
  std::optional<double> step_tokens{};  ///< token budget of an engine step; empty: the engine's
  double memory_share = 0.9;            ///< in the engine's own meaning
  double context = 0.0;                 ///< tokens of the longest request
  double prompt = 0.0;                  ///< tokens of the longest prompt
  perfmodel::number_format kv = perfmodel::number_format::bf16;
  /// Format to which the engine quantises a 16-bit checkpoint when it loads it.
  std::optional<perfmodel::number_format> quantise{};
  std::optional<server_speculation> speculation{};
  bool cuda_graphs = true;
  server_role role = server_role::whole;
};

/// A command: program words, then flags with their values ("" for a flag without one), and the
/// configuration file that --config names.
struct server_command {
  std::vector<std::string> program{};
  std::vector<std::pair<std::string, std::string>> flags{};
  std::string yaml{};                ///< empty: no file
  std::vector<std::string> notes{};  ///< settings of the row that no flag sets
};

/// Engine and version of the flags: "vLLM after 0.24".
std::string version_of(perfmodel::engine e);

/// Command of a server. A flag is absent where the engine's default is the value of the row.
/// *Source*: the command-line references of vLLM at 017e9f444, SGLang at 8905cbd42 and TensorRT-LLM
/// at 0004396. *Leaves out*: adapters, image limits, several nodes per server.
/// *Test*: tests/cli/plan_save.sh: each flag against the row, and against a list of all flags.
server_command command_of(const server_settings& s);

/// Tokens that hardly a prompt exceeds: five standard deviations above the mean.
inline double longest_prompt(double mean, double variation) {
  return mean * (1.0 + 5.0 * std::max(variation, 0.05));
}
/// Whether TensorRT-LLM must divide prompts over steps: `prompt` tokens and one of each of
/// `running` decodes exceed the token budget. A whole prompt would wait for decodes to end, or be
/// refused.
inline bool divides_prompts(double prompt, double running, double budget) {
  return prompt + running > budget;
}

}  // namespace napkin
