#include "engine_settings.hpp"

#include <algorithm>
#include <charconv>
#include <perfmodel/core/error.hpp>
#include <perfmodel/model/config/quantization_methods.hpp>
#include <utility>

#include "io/text.hpp"

namespace napkin {

namespace {

struct option_without_key {
  std::string_view name;
  std::string_view reason;
};
constexpr std::string_view no_context_parallel =
    "the cache of one sequence divided among ranks is not modelled; tensor_parallel divides it by "
    "KV heads, data_parallel by sequences";
constexpr std::string_view no_attention_dp =
    "give data_parallel, the number of attention groups, with tensor_parallel of a group";
constexpr std::string_view no_kernel_choice =
    "kernels are those of the engine's profile; activation_format bf16 stands for weight-only "
    "ones, such as Marlin";
constexpr std::string_view no_micro_batches =
    "micro-batches that hide communication are not modelled in a service; napkin overlap has the "
    "law";
constexpr std::string_view no_multi_step =
    "several decode steps without scheduling are not modelled; step_cpu_s is the CPU time per step";
constexpr std::string_view no_cache_switch = "without prefix_hit no prompt is found in the cache";
constexpr std::string_view no_length_limit =
    "it reserves no memory; context, or input_tokens and output_tokens, are the lengths";
constexpr std::string_view no_api_servers =
    "one API server is modelled; sequence_cpu_s is the CPU time per output token";
constexpr std::string_view no_graph_memory =
    "it sets the memory of CUDA graphs, a key of kv_capacity, serving and simulate; elsewhere "
    "state "
    "runtime_bytes";

constexpr std::string_view no_overlap_switch =
    "the profiles are of schedulers that overlap with the GPU; step_cpu_s states the CPU time that "
    "a step without overlap adds";
constexpr std::string_view no_draft_options =
    "give draft_length with acceptance, and drafter or draft_model; or mtp";
constexpr std::string_view no_chunk_switch =
    "chunk_tokens is the token budget of a step; scheduler prefill_first runs prompts on their own";
constexpr std::string_view no_free_share =
    "it is a share of the memory that weights and activations leave; utilization is a share of the "
    "GPU's memory";
constexpr std::string_view no_expert_switch =
    "give expert_parallel, the number of ranks that share the experts";
constexpr std::string_view no_block_size = "blocks and pages are those of the engine";
constexpr std::string_view no_swap_space =
    "host_memory_bytes is the host memory for KV cache of prefixes; preemption swap moves "
    "sequences";
constexpr std::string_view no_offload_in_gib = "give cpu_offload_bytes, with a unit: 10GiB";

constexpr option_without_key options_without_key[] = {
    {"disable_overlap_schedule", no_overlap_switch},
    {"disable_overlap_scheduler", no_overlap_switch},
    {"async_scheduling", no_overlap_switch},
    {"no_async_scheduling", no_overlap_switch},
    {"speculative_config", no_draft_options},
    {"speculative_algorithm", no_draft_options},
    {"speculative_num_steps", no_draft_options},
    {"speculative_num_draft_tokens", no_draft_options},
    {"speculative_eagle_topk", no_draft_options},
    {"speculative_draft_model_path", no_draft_options},
    {"enable_chunked_prefill", no_chunk_switch},
    {"no_enable_chunked_prefill", no_chunk_switch},
    {"enable_mixed_chunk", no_chunk_switch},
    {"kv_cache_free_gpu_mem_fraction", no_free_share},
    {"kv_cache_free_gpu_memory_fraction", no_free_share},
    {"free_gpu_memory_fraction", no_free_share},
    {"enable_expert_parallel", no_expert_switch},
    {"enable_ep_moe", no_expert_switch},
    {"block_size", no_block_size},
    {"page_size", no_block_size},
    {"tokens_per_block", no_block_size},
    {"swap_space", no_swap_space},
    {"cpu_offload_gb", no_offload_in_gib},
    {"max_cudagraph_capture_size", no_graph_memory},
    {"cuda_graph_tokens", no_graph_memory},
    {"context_parallel", no_context_parallel},
    {"context_parallel_size", no_context_parallel},
    {"decode_context_parallel_size", no_context_parallel},
    {"prefill_context_parallel_size", no_context_parallel},
    {"dcp_size", no_context_parallel},
    {"attn_cp_size", no_context_parallel},
    {"cp_size", no_context_parallel},
    {"dcp", no_context_parallel},
    {"cp", no_context_parallel},
    {"enable_dp_attention", no_attention_dp},
    {"enable_attention_dp", no_attention_dp},
    {"attention_backend", no_kernel_choice},
    {"moe_backend", no_kernel_choice},
    {"moe_runner_backend", no_kernel_choice},
    {"enable_dbo", no_micro_batches},
    {"enable_two_batch_overlap", no_micro_batches},
    {"num_scheduler_steps", no_multi_step},
    {"no_enable_prefix_caching", no_cache_switch},
    {"disable_radix_cache", no_cache_switch},
    {"max_model_len", no_length_limit},
    {"context_length", no_length_limit},
    {"max_seq_len", no_length_limit},
    {"api_server_count", no_api_servers}};

using perfmodel::release_number;

/// Numbers of "0.11.2"; nothing for other texts.
std::optional<release_number> release_numbers(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  if (text.empty() || text.front() < '0' || text.front() > '9') return {};
  release_number r;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, r.major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return {};
  const auto second = std::from_chars(first.ptr + 1, end, r.minor);
  if (second.ec != std::errc()) return {};
  if (second.ptr == end) return r;
  if (std::string_view(".r+").find(*second.ptr) == std::string_view::npos) return {};
  if (*second.ptr == '.') std::from_chars(second.ptr + 1, end, r.patch);
  return r;
}

[[noreturn]] void refuse_release(std::string_view text, std::string_view why) {
  throw perfmodel::error(perfmodel::error_code::unknown_name,
                         common::cat("engine_version is \"", text, "\", ", why));
}

std::string_view version_of_sglang(std::string_view text, const release_number& r) {
  if (r.major > 0 || r.minor > 5 || (r.minor == 5 && r.patch >= 14)) return latest_of_sglang;
  if (r.minor == 5 && r.patch >= 3) return "sglang-0.5.10";
  if (r.minor == 5 || (r.minor == 4 && r.patch >= 7)) return "sglang-0.5.2";
  refuse_release(text,
                 "a release of SGLang: before 0.4.7 its memory share and its default attention "
                 "kernels were others, which no profile has; allowed: from 0.4.7 on");
}

std::string_view version_of_trtllm(std::string_view text, const release_number& r) {
  if (r.major > 0) return "trtllm-1.0";
  refuse_release(text,
                 "a release of TensorRT-LLM: before 1.0 it ran compiled engines, of which no "
                 "profile has the time; allowed: from 1.0 on");
}

}  // namespace

std::optional<std::string_view> version_of_release(std::string_view text) {
  const auto without = [text](std::string_view prefix) -> std::optional<release_number> {
    if (!text.starts_with(prefix)) return {};
    return release_numbers(text.substr(prefix.size()));
  };
  for (const std::string_view name : {"sglang-", "sglang "}) {
    if (const auto r = without(name)) return version_of_sglang(text, *r);
  }
  for (const std::string_view name : {"trtllm-", "trtllm ", "tensorrt-llm-", "tensorrt-llm "}) {
    if (const auto r = without(name)) return version_of_trtllm(text, *r);
  }
  auto numbers = release_numbers(text);
  for (const std::string_view name : {"vllm-", "vllm "}) {
    if (!numbers) numbers = without(name);
  }
  if (!numbers) return {};
  const auto [major, minor, patch] = *numbers;
  // Without a name, 0.4 and 0.5 are SGLang's: vLLM's were of 2024.
  if (major == 0 && (minor == 4 || minor == 5) && !text.starts_with("vllm"))
    return version_of_sglang(text, *numbers);
  // Without a name, 1.0 and later may be of any engine.
  if (major > 0 && !text.starts_with("vllm")) return "latest";
  if (major > 0 || minor >= 28) return latest_of_vllm;
  if (minor >= 21) return "vllm-0.24";
  if (minor >= 14) return "vllm-0.14";
  if (minor >= 8) return "vllm-0.10";
  refuse_release(text,
                 "a release of vLLM: before 0.8 it ran its first engine (V0); no profile has its "
                 "Python time per step and sequence; allowed: from 0.8 on, or step_cpu_s and "
                 "sequence_cpu_s of your own");
}

std::optional<perfmodel::release_number> release_number_of(std::string_view text) {
  for (const std::string_view name : {"sglang", "trtllm", "tensorrt-llm", "vllm"}) {
    if (text.starts_with(name) && text.size() > name.size()) text.remove_prefix(name.size() + 1);
  }
  return release_numbers(text);
}

perfmodel::engine_release release_of(std::string_view version) {
  if (version == latest_of_vllm || version == latest_of_sglang)
    return perfmodel::engine_release::latest;
  return *perfmodel::find_release(version);
}

std::optional<perfmodel::engine> engine_of_version(std::string_view version) {
  if (version == latest_of_vllm) return perfmodel::engine::vllm;
  if (version == latest_of_sglang) return perfmodel::engine::sglang;
  return perfmodel::engine_of(release_of(version));
}

std::optional<perfmodel::storage_format> gguf_storage(std::string_view text) {
  const std::string small = common::lower_case(text);
  if (!small.starts_with('q') && !small.starts_with("iq")) return {};
  const auto bits = perfmodel::detail::gguf_bits(small);
  if (!bits) return {};
  const perfmodel::number_format stored = *bits > 6.0 ? perfmodel::int8 : perfmodel::int4;
  return perfmodel::detail::with_value_bits(stored, *bits);
}

std::optional<perfmodel::weight_storage> gguf_weights(std::string_view text, bool tied_embeddings) {
  const auto mean = gguf_storage(text);
  if (!mean) return {};
  // The mixtures were measured on Llama 3.1 8B: layers, and each of its two vocabulary tables.
  constexpr double layers = 6.9799, table = 0.5253, bits_of_head = 6.5625;
  const std::string small = common::lower_case(text);
  const auto with_bits = [](double bits) {
    return perfmodel::detail::with_value_bits(bits > 6.0 ? perfmodel::int8 : perfmodel::int4, bits);
  };
  const double bits = mean->bits();
  const bool is_mixture = small.ends_with("_s") || small.ends_with("_m") || small.ends_with("_l");
  const std::string pure = is_mixture ? small.substr(0, small.size() - 2) : small;
  const auto own = perfmodel::detail::gguf_bits(pure);
  const double embedding = own && *own < bits ? *own : bits;
  const double head = std::max(bits, bits_of_head);
  const bool is_blended = is_mixture && small.starts_with('q');
  const double of_layers =
      is_blended ? (bits * (layers + 2.0 * table) - (embedding + head) * table) / layers : bits;
  perfmodel::weight_storage w(with_bits(of_layers));
  w.tables = with_bits(tied_embeddings ? head : 0.5 * (embedding + head));
  return w;
}

std::string_view reason_without_key(std::string_view option) {
  for (const option_without_key& o : options_without_key) {
    if (o.name == option) return o.reason;
  }
  return {};
}

}  // namespace napkin
