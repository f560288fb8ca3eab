// Sizes of the CUDA graphs that serving engines capture, and the padding of a step to them.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Padding of engine steps to captured CUDA graphs. No price uses these functions: the profiles
/// were fitted to measured steps, in which the padding is contained. A step without a graph is
/// eager and has no padding.
/// Source: shared sizes of vLLM config/vllm.py, _set_cudagraph_sizes, at commit 017e9f444; SGLang
/// server_args.py at commit 8905cbd42; TensorRT-LLM llm_args.py, CudaGraphConfig, at commit
/// 0004396.
/// Test: the worked schedule of padding, in tests/unit/simulate_schedules.cpp.
namespace cuda_graphs {

/// Largest captured sizes by default on an 80 GB GPU: tokens of vLLM, and sequences of SGLang and
/// TensorRT-LLM.
struct capture_limits {
  int vllm = 512;
  int sglang = 256;  ///< with tensor parallelism below 4
  int trtllm = 128;
};

namespace detail {

/// Multiple of `step`, counted from `from`, that is at least `n`.
constexpr int rounded_up(int n, int from, int step) {
  return from + (n - from + step - 1) / step * step;
}
constexpr std::optional<int> at_most(int size, int largest) {
  return size <= largest ? std::optional<int>(size) : std::nullopt;
}
constexpr int power_of_two_from(int n) {
  int size = 1;
  while (size < n) size *= 2;
  return size;
}

}  // namespace detail

/// Largest graph of vLLM in tokens: min(2 max_num_seqs (1 + k), limit, token budget) with k drafted
/// tokens. The limit is 512, and 1024 on compute capability 10.x since 2026-08-07.
constexpr int vllm_largest_graph(int max_sequences, int drafted_tokens, int token_budget,
                                 bool is_blackwell) {
  return (std::min)(
      {2 * max_sequences * (1 + drafted_tokens), is_blackwell ? 1024 : 512, token_budget});
}

/// Graph of a vLLM step in tokens: 1, 2, 4, multiples of 8 to 248, then multiples of 16. Steps with
/// prefill use it too (piecewise graphs).
/// Leaves out: the performance mode `interactivity`, with every size from 1 to 32.
constexpr std::optional<int> vllm_graph(int tokens, int largest = 512) {
  const int size = tokens <= 4     ? detail::power_of_two_from(tokens)
                   : tokens <= 248 ? detail::rounded_up(tokens, 0, 8)
                                   : detail::rounded_up(tokens, 0, 16);
  return detail::at_most(size, largest);
}

/// Graph of a SGLang decode step in sequences: 1, 2, 4, 8, 12, multiples of 8 from 16 to 256, of 16
/// to 496, then of 32.
constexpr std::optional<int> sglang_graph(int sequences, int largest) {
  const int size = sequences <= 4     ? detail::power_of_two_from(sequences)
                   : sequences <= 16  ? detail::rounded_up(sequences, 0, 4)
                   : sequences <= 256 ? detail::rounded_up(sequences, 0, 8)
                   : sequences <= 496 ? detail::rounded_up(sequences, 0, 16)
                                      : detail::rounded_up(sequences, 0, 32);
  return detail::at_most(size, largest);
}

/// Graph of a SGLang step with speculation, in sequences: each size to 8, multiples of 2 to 32, of
/// 4 from 40 to 64, of 8 to 256, then of 16.
constexpr std::optional<int> sglang_speculative_graph(int sequences, int largest) {
  const int size = sequences <= 8     ? sequences
                   : sequences <= 32  ? detail::rounded_up(sequences, 0, 2)
                   : sequences <= 64  ? (std::max)(40, detail::rounded_up(sequences, 0, 4))
                   : sequences <= 256 ? detail::rounded_up(sequences, 0, 8)
                                      : detail::rounded_up(sequences, 0, 16);
  return detail::at_most(size, largest);
}

/// Graph of a TensorRT-LLM step of decodes without padding: sizes 1 to 31, and powers of two from
/// 32 on. Other batches are eager.
constexpr std::optional<int> trtllm_graph(int sequences, int largest = 128) {
  const bool is_captured = sequences < 32 || detail::power_of_two_from(sequences) == sequences;
  return is_captured ? detail::at_most(sequences, largest) : std::nullopt;
}

/// Graph of a TensorRT-LLM step of decodes with `enable_padding`: 1, 2, 4, multiples of 8 to 128,
/// then multiples of 64.
constexpr std::optional<int> trtllm_padded_graph(int sequences, int largest = 128) {
  const int size = sequences <= 4     ? detail::power_of_two_from(sequences)
                   : sequences <= 128 ? detail::rounded_up(sequences, 0, 8)
                                      : detail::rounded_up(sequences, 0, 64);
  return detail::at_most(size, largest);
}

/// Tokens that each data-parallel rank of vLLM runs in one step. An idle rank runs a dummy token.
/// If every rank has a graph, all are padded to the largest; otherwise all are eager and unpadded.
/// Source: vLLM v1/worker/dp_utils.py.
inline std::vector<int> vllm_lockstep(std::span<const int> tokens, int largest = 512) {
  std::vector<int> eager, padded;
  for (const int n : tokens) {
    eager.push_back((std::max)(1, n));
    if (const auto size = vllm_graph(eager.back(), largest)) padded.push_back(*size);
  }
  if (padded.size() < eager.size()) return eager;
  std::fill(padded.begin(), padded.end(), *std::max_element(padded.begin(), padded.end()));
  return padded;
}

/// Graph of a step of SGLang's data-parallel ranks, in sequences per rank: that of the largest
/// rank. A prefill on any rank turns the graphs of all ranks off.
/// Source: SGLang managers/scheduler_dp_attn_mixin.py.
inline std::optional<int> sglang_lockstep(std::span<const int> sequences, int largest,
                                          bool has_prefill = false) {
  if (has_prefill || sequences.empty()) return std::nullopt;
  return sglang_graph((std::max)(1, *std::max_element(sequences.begin(), sequences.end())),
                      largest);
}

}  // namespace cuda_graphs
}  // namespace perfmodel::inline v0_3
