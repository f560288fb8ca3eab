// The keys of a query: each declared once, for checking, for --help and for the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/json.hpp"

namespace napkin {

using namespace common;  // text, JSON and files: shared by the programs of this project

enum class key_kind {
  number,   ///< number in its range
  numbers,  ///< number, or an array of numbers
  flag,
  word,  ///< one of `words`
  text,  ///< name of a catalogue entry, or a path
};

struct key {
  const char* name = "";
  key_kind kind = key_kind::number;
  const char* help = "";
  number_range range{};
  perfmodel::unit_exponents unit{};  ///< unit accepted on the command line: 40ms, 80 GB
  bool required = true;
  std::string fallback{};  ///< default of an optional key; "" where omission has its own meaning
  std::vector<std::string_view> words{};
  const char* alias = "";  ///< second name on the command line
  bool several = false;    ///< text with a comma-separated list
  bool gguf = false;       ///< word that may also be a GGUF type, such as Q4_K_M

  /// Optional key with a default value.
  key otherwise(std::string value) const {
    key k = *this;
    k.required = false;
    k.fallback = std::move(value);
    return k;
  }
  key optional() const { return otherwise(""); }
  key above_zero() const {
    key k = *this;
    k.range.least = 0.0;
    k.range.above_least = true;
    return k;
  }

  std::string allowed() const;
  /// Units accepted on the command line: "; with its unit, or in B/s: 50GB/s".
  std::string allowed_unit() const;
  bool is_time() const;
};

/// Whether the spelling of a key names its unit: itl_limit_s, itl-limit-s.
bool names_seconds(std::string_view spelled);

inline key number(const char* name, const char* help, const number_range& range) {
  return {.name = name, .help = help, .range = range};
}
inline key number(const char* name, const char* help, double least, double most) {
  return number(name, help, {.least = least, .most = most});
}
inline key count(const char* name, const char* help, double least = 1.0, double most = 1e15) {
  return number(name, help, {.least = least, .most = most, .whole = true});
}
/// Parallel degree or number of ranks.
inline key degree(const char* name, const char* help) {
  return count(name, help, 1.0, 1e6);
}
inline key positive(const char* name, const char* help, double most = 1e15) {
  return number(name, help, 0.0, most).above_zero();
}
inline key amount_of_bytes(const char* name, const char* help) {
  key k = number(name, help, 0.0, 1e24);
  k.unit = perfmodel::exponents_of<perfmodel::bytes<>>();
  return k;
}
inline key time_limit(const char* name, const char* help) {
  key k = positive(name, help, 1e12);
  k.unit = perfmodel::exponents_of<perfmodel::duration<>>();
  return k;
}
inline key flag(const char* name, const char* help) {
  return {.name = name, .kind = key_kind::flag, .help = help};
}
inline key text(const char* name, const char* help) {
  return {.name = name, .kind = key_kind::text, .help = help};
}
inline key word(const char* name, const char* help, std::vector<std::string_view> words) {
  return {.name = name, .kind = key_kind::word, .help = help, .words = std::move(words)};
}

// Keys shared by several queries.
key accelerator_key();
key redundant_experts_key(const char* name);
std::vector<key> degree_keys();
/// Keys of the layout, and of the replicas with it.
std::vector<key> replica_keys(const char* replicas_help);
std::vector<key> storage_keys();
key engine_version_key();
key prefix_caching_key();
key cuda_graphs_key();
key cuda_graph_tokens_key();
key moe_backend_key();
/// LoRA adapters and weights in host memory.
std::vector<key> memory_option_keys();
/// memory_option_keys(), active adapters, CUDA graphs, and CPU times of an engine step.
std::vector<key> engine_option_keys();
/// Images of a request.
std::vector<key> image_keys();
std::vector<key> cached_image_keys();
/// shared_tokens and shared_prefixes: the common prefixes of prompts.
std::vector<key> shared_keys();
/// Request lengths and their variation, arrivals, and scheduler settings.
std::vector<key> load_keys();
key model_key();
key format_key(const char* name, const char* help);
/// weight_format of a model: a number format, or a GGUF type.
key weight_format_key();
key engine_key();
/// Measured value of the time that a query returns.
key measured_key();
/// Measured value of a law's result, in its unit.
key measured_key(const char* name, const perfmodel::unit_exponents& unit);
/// Memory reservation of a GPU; default: the engine's.
std::vector<key> reservation_keys();
/// Default: the weight buffers of the engine's published benchmark, see benchmark_weight_copies.
key weight_copies_key(const char* help);

/// Second spellings of keys: tp, isl, qps.
struct key_alias {
  std::string_view spelled;
  const char* name;
};
inline constexpr key_alias key_aliases[] = {{"tp", "tensor_parallel"},
                                            {"pp", "pipeline_parallel"},
                                            {"ep", "expert_parallel"},
                                            {"dp", "data_parallel"},
                                            {"isl", "input_tokens"},
                                            {"osl", "output_tokens"},
                                            {"users", "concurrency"},
                                            {"qps", "requests_per_s"},
                                            {"rate", "requests_per_s"},
                                            {"ttft", "ttft_limit_s"},
                                            {"tpot", "itl"},
                                            {"tpot", "itl_limit_s"},
                                            {"itl", "itl_limit_s"},
                                            {"dtype", "format"},
                                            {"dtype", "weight_format"},
                                            {"precision", "format"},
                                            {"precision", "weight_format"},
                                            {"max_num_seqs", "max_sequences"},
                                            {"max_num_batched_tokens", "chunk_tokens"},
                                            {"gpu_memory_utilization", "utilization"}};

/// Options of vLLM, SGLang, TensorRT-LLM and AIConfigurator, accepted as spellings. The help does
/// not list them.
inline constexpr key_alias engine_aliases[] = {{"tensor_parallel_size", "tensor_parallel"},
                                               {"tp_size", "tensor_parallel"},
                                               {"pipeline_parallel_size", "pipeline_parallel"},
                                               {"pp_size", "pipeline_parallel"},
                                               {"data_parallel_size", "data_parallel"},
                                               {"dp_size", "data_parallel"},
                                               {"ep_size", "expert_parallel"},
                                               {"quantization", "weight_format"},
                                               {"kv_cache_dtype", "kv_format"},
                                               {"max_running_requests", "max_sequences"},
                                               {"max_batch_size", "max_sequences"},
                                               {"mem_fraction_static", "utilization"},
                                               {"batch_size", "batch"},
                                               {"chunked_prefill_size", "chunk_tokens"},
                                               {"max_num_tokens", "chunk_tokens"},
                                               {"num_speculative_tokens", "draft_length"},
                                               {"max_lora_rank", "lora_rank"},
                                               {"max_loras", "lora_adapters"},
                                               {"enable_prefix_caching", "prefix_caching"},
                                               {"max_cudagraph_capture_size", "cuda_graph_tokens"},
                                               {"request_rate", "requests_per_s"},
                                               {"max_concurrency", "concurrency"},
                                               {"num_prompts", "requests"},
                                               {"random_input_len", "input_tokens"},
                                               {"random_output_len", "output_tokens"},
                                               {"random_input", "input_tokens"},
                                               {"random_output", "output_tokens"},
                                               {"model_path", "model"},
                                               {"total_gpus", "gpus"},
                                               {"system", "accelerator"}};

/// Name of a key without its unit: latency of latency_s; "" where it has none.
std::string_view without_unit(std::string_view name);

/// Keys that every query accepts in addition to its own.
inline constexpr std::string_view common_keys[] = {"query", "id", "mode"};

/// Edit distance: letters to insert, remove or replace.
std::size_t edits(std::string_view a, std::string_view b);
/// The candidate most similar to `name`, for "did you mean".
std::string nearest(std::string_view name, std::span<const std::string_view> names);
/// The nearest candidate that contains `name` or differs in at most a third of its letters; else
/// "".
std::string suggested(std::string_view name, std::span<const std::string_view> names);

}  // namespace napkin
