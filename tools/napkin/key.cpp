#include "key.hpp"

#include <algorithm>
#include <cctype>
#include <perfmodel/hardware/number_format.hpp>

#include "engine_settings.hpp"
#include "io/amount.hpp"
#include "published_workloads.hpp"

namespace napkin {

std::string key::allowed() const {
  switch (kind) {
    case key_kind::number: return range.allowed();
    case key_kind::numbers: return range.allowed() + ", or an array of them";
    case key_kind::flag: return "true or false";
    case key_kind::text: return "text";
    case key_kind::word: break;
  }
  return gguf ? cat(listed(words), ", or a GGUF type such as q4_k_m") : listed(words);
}

std::string key::allowed_unit() const {
  namespace pm = perfmodel;
  if (is_time()) {
    return cat("; with its unit (", latency_units, "), such as 20ms",
               names_seconds(name) ? ", or in s" : "");
  }
  if (unit == pm::exponents_of<pm::bytes<>>()) return "; with its unit, or in bytes: 80GB";
  if (unit == pm::exponents_of<pm::bandwidth<>>()) return "; with its unit, or in B/s: 50GB/s";
  return {};
}

bool key::is_time() const {
  return unit == perfmodel::exponents_of<perfmodel::duration<>>();
}

bool names_seconds(std::string_view spelled) {
  return spelled.ends_with("_s") || spelled.ends_with("-s");
}

std::string_view without_unit(std::string_view name) {
  for (const std::string_view unit : {"_bytes_per_s", "_flop_per_s", "_s", "_bytes", "_flop"}) {
    const bool is_rate = unit == "_s" && name.ends_with("_per_s");
    if (name.size() > unit.size() && name.ends_with(unit) && !is_rate)
      return name.substr(0, name.size() - unit.size());
  }
  return {};
}

key accelerator_key() {
  key k = text("accelerator", "accelerator name listed by `napkin gpus`, or an accelerator file");
  k.alias = "gpu";
  return k;
}
key model_key() {
  return text("model",
              "model name listed by `napkin models` or used on Hugging Face; or a directory, a "
              "config.json, or an exported model file");
}
key format_key(const char* name, const char* help) {
  std::vector<std::string_view> names;
  for (const auto f : perfmodel::all_formats) names.push_back(perfmodel::name_of(f));
  return word(name, help, std::move(names));
}
key weight_format_key() {
  key k = format_key("weight_format",
                     "weight format of the linear layers, or a GGUF type such as q4_k_m; default: "
                     "the checkpoint's");
  k.gguf = true;
  return k.optional();
}
key engine_key() {
  return word("engine",
              "inference engine: sets kernels and memory reservation; roofline bounds of times do "
              "not depend on it",
              {"none", "vllm", "sglang", "trtllm"})
      .otherwise("none");
}

key weight_copies_key(const char* help) {
  return count("weight_copies", help, 0.0, 1e6).optional();
}

std::vector<key> reservation_keys() {
  return {
      positive("utilization",
               "gpu_memory_utilization: usable share of GPU memory; default: the engine's (vLLM: "
               "0.92), 0.9 without an engine",
               1.0)
          .optional(),
      amount_of_bytes(
          "activation_bytes",
          "activation memory of the largest engine step, per GPU; default: the engine's")
          .optional(),
      amount_of_bytes("runtime_bytes",
                      "CUDA context and runtime buffers, per GPU; default: the engine's")
          .optional(),
      count("max_sequences",
            "maximum running requests (max_num_seqs), which also sizes the memory reservation; "
            "SGLang "
            "admits more; default: the engine's reservation, and no limit on running requests",
            1.0, 1e9)
          .optional()};
}

key measured_key(const char* name, const perfmodel::unit_exponents& unit) {
  key k = number(name, "measured value of the result, compared with the prediction and the bound",
                 0.0, 1e30)
              .above_zero();
  k.unit = unit;
  k.alias = "measured";
  return k.optional();
}

key measured_key() {
  key k = time_limit(
      "measured_s",
      "measured time, compared with the prediction and the bound; for serving: mean ITL");
  k.alias = "measured";
  return k.optional();
}

key redundant_experts_key(const char* name) {
  return count(name, "replicas of experts in addition to the model's (num_redundant_experts)", 0.0,
               1e6)
      .otherwise("0");
}

std::vector<key> degree_keys() {
  return {degree("tensor_parallel", "tensor-parallel size").otherwise("1"),
          degree("pipeline_parallel", "pipeline-parallel size").otherwise("1"),
          degree("expert_parallel", "expert-parallel size").otherwise("1"),
          redundant_experts_key("redundant_experts")};
}

std::vector<key> replica_keys(const char* replicas_help) {
  std::vector<key> k = degree_keys();
  k.push_back(
      degree("data_parallel",
             "data-parallel size: attention groups inside a replica if expert_parallel exceeds "
             "tensor_parallel, otherwise independent replicas")
          .otherwise("1"));
  k.push_back(degree("replicas", replicas_help).otherwise("1"));
  return k;
}

std::vector<key> storage_keys() {
  return {
      weight_format_key(),
      format_key("activation_format",
                 "activation format of the linear layers; a GEMM runs in the wider of weight and "
                 "activation format; default: the engines' choice for these weights on this "
                 "accelerator")
          .optional(),
      format_key("kv_format", "KV-cache format; default: the checkpoint's, else 16 bits")
          .optional()};
}

key engine_version_key() {
  return word(
             "engine_version",
             "engine's release, or its number, such as 0.11.2 of vLLM or sglang-0.5.6. Of vLLM it "
             "sets the defaults of gpu_memory_utilization (0.92; before 0.21: 0.9), of "
             "max_num_batched_tokens (GPUs of 160 GiB or more: 16384; up to 0.24: 8192) and of the "
             "scheduler; of SGLang those of mem_fraction_static and chunked_prefill_size (before "
             "0.5.3) and the all-reduce kernels (before 0.5.14); of TensorRT-LLM nothing yet",
             {"vllm-0.10", "vllm-0.14", "vllm-0.24", latest_of_vllm, "sglang-0.5.2",
              "sglang-0.5.10", latest_of_sglang, "trtllm-1.0", "latest"})
      .otherwise("latest");
}

std::vector<key> memory_option_keys() {
  return {
      count("lora_rank",
            "largest rank of the LoRA adapters (max_lora_rank); they adapt attention and "
            "feed-forward layers, and routed experts with lora_experts",
            1.0, 65536.0)
          .optional(),
      flag("lora_experts",
           "LoRA adapters have matrices for each routed expert; default: as the engine reserves "
           "(vLLM from 0.14 on: true, others: false)")
          .optional(),
      count("lora_adapters", "adapter slots in GPU memory (max_loras)", 1.0, 1e6).otherwise("1"),
      amount_of_bytes("cpu_offload_bytes",
                      "weights in host memory, per GPU (vLLM's --cpu-offload-gb, in GiB); each "
                      "engine step reads them over the host link")
          .optional()};
}

key prefix_caching_key() {
  return flag("prefix_caching",
              "prefixes are cached: recurrent states take a checkpoint per sequence, SGLang's two; "
              "default: with shared_tokens or prefix_hit")
      .optional();
}

key cuda_graphs_key() {
  return flag("cuda_graphs",
              "false: no CUDA graphs (--enforce-eager), so the CPU launches every kernel")
      .otherwise("true");
}

key cuda_graph_tokens_key() {
  return count("cuda_graph_tokens",
               "vLLM: largest captured CUDA graph, in tokens (max_cudagraph_capture_size), for "
               "which memory is reserved; default: 512, at most twice max_sequences",
               1.0, 1e6)
      .optional();
}

key moe_backend_key() {
  return word("moe_backend",
              "TensorRT-LLM: library of NVFP4 experts on data-centre Blackwell "
              "(moe_config.backend); auto: TRTLLM with tensor-parallel attention, else CUTLASS, as "
              "its configuration files state",
              {"auto", "cutlass", "trtllm"})
      .otherwise("auto");
}

std::vector<key> engine_option_keys() {
  std::vector<key> k = memory_option_keys();
  key step_time = time_limit("step_cpu_s",
                             "CPU time per engine step (scheduling, sampling, launch); default: "
                             "the engine's, in calibrated mode");
  key sequence_time = time_limit("sequence_cpu_s",
                                 "CPU time per engine step for each decoding sequence; default: "
                                 "the engine's, in calibrated mode");
  step_time.range.above_least = sequence_time.range.above_least = false;
  k.push_back(count("lora_active",
                    "different adapters in one batch; 0: all tokens use the base model; default: "
                    "lora_adapters",
                    0.0, 1e6)
                  .optional());
  k.push_back(cuda_graphs_key());
  k.push_back(moe_backend_key());
  k.push_back(step_time.optional());
  k.push_back(sequence_time.optional());
  k.push_back(positive("network_bytes_per_s",
                       "one-way network bandwidth of each GPU, for a replica on several nodes; "
                       "default: the network adapters of the GPU's usual node",
                       1e18)
                  .optional());
  k.back().unit = perfmodel::exponents_of<perfmodel::bandwidth<>>();
  return k;
}

std::vector<key> image_keys() {
  return {
      number("images", "images per request, in addition to input_tokens", 0.0, 1e6).otherwise("0"),
      count("image_tokens",
            "prompt tokens of one image; default: the model's, where its size is fixed")
          .optional(),
      positive("image_patches",
               "patches of one image in the encoder; default: the model's, else 4 x image_tokens "
               "(assumed: 2 x 2 patches become a token), image_tokens with cross-attention")
          .optional()};
}

std::vector<key> cached_image_keys() {
  return {number("images",
                 "images of each sequence in cross-attention layers (Llama 3.2 Vision); other "
                 "models count an image's tokens as context",
                 0.0, 1e6)
              .otherwise("0"),
          count("image_tokens", "tokens of one image; default: the model's").optional()};
}

namespace {
key host_memory_key() {
  key k =
      positive("host_memory_bytes",
               "host memory for offloaded KV cache, of each data-parallel group; shared prefixes "
               "evicted from GPU memory are loaded from it")
          .optional();
  k.unit = perfmodel::exponents_of<perfmodel::bytes<>>();
  return k;
}
key host_link_key() {
  key k = positive("host_link_bytes_per_s",
                   "bandwidth from host memory to each GPU; default: the accelerator's host link")
              .optional();
  k.unit = perfmodel::exponents_of<perfmodel::bandwidth<>>();
  return k;
}
/// Key of a coefficient of variation.
key variation(const char* name, const char* help) {
  return number(name, help, 0.0, 100.0);
}
}  // namespace

std::vector<key> shared_keys() {
  key tokens =
      count("shared_tokens",
            "tokens of a prefix that all prompts share, such as a system prompt, cached once; "
            "a list has the levels of a prefix tree: 500,2000")
          .optional();
  key prefixes =
      count("shared_prefixes",
            "number of different shared prefixes, equally frequent; a list has one value "
            "per level of shared_tokens: 1,40; default: one")
          .optional();
  tokens.kind = prefixes.kind = key_kind::numbers;
  return {tokens, prefixes};
}

std::vector<key> load_keys() {
  return {
      number("input_tokens", "mean prompt length in tokens", 1.0, 1e9),
      number("output_tokens", "mean output length in tokens", 1.0, 1e9),
      number("concurrency",
             "requests in flight at all times (closed loop); alternative: requests_per_s", 1.0, 1e9)
          .optional(),
      positive("requests_per_s", "arrival rate (open loop); alternative: concurrency", 1e9)
          .optional(),
      count("requests",
            "number of requests in a finite benchmark run, which starts with a burst of "
            "concurrency requests; 0: steady state",
            0.0, 1e9)
          .otherwise("0"),
      variation("arrival_cv", "coefficient of variation of interarrival times; 1: Poisson")
          .otherwise("1"),
      variation("input_cv", "coefficient of variation of prompt lengths").otherwise("0"),
      variation("output_cv", "coefficient of variation of output lengths").otherwise("0"),
      word("workload", "published workload; lengths that are not given are its lengths",
           names_of_workloads())
          .optional(),
      number("prefix_hit", "share of prompt tokens found in the prefix cache", 0.0, 0.999)
          .otherwise("0"),
      shared_keys()[0],
      shared_keys()[1],
      number("host_hit",
             "share of prompt tokens with KV cache loaded from host memory; part of prefix_hit",
             0.0, 0.999)
          .optional(),
      host_memory_key(),
      host_link_key(),
      word("preemption",
           "how a request resumes after a preemption (KV cache full): its cache is recomputed, or "
           "swapped in from the host; needs a concurrency; default: no preemption",
           {"recompute", "swap"})
          .optional(),
      count("chunk_tokens",
            "token budget of an engine step (max_num_batched_tokens, chunked prefill); default: "
            "the engine's; roofline bounds: unchunked prompts",
            1.0, 1e9)
          .optional(),
      word("scheduler",
           "scheduling policy; default: the engine's (SGLang: prefill_first, others: mixed_chunks)",
           {"mixed_chunks", "prefill_first", "static_batches"})
          .optional()};
}

namespace {

/// Lower case, with one separator for all names.
std::string plain(std::string_view name) {
  std::string s(name.substr(0, 64));
  for (char& c : s) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == '-' || c == ' ' || c == '.') c = '_';
  }
  return s;
}

/// Edit distance; where one name contains the other, half of the remaining share of letters.
double distance(const std::string& a, const std::string& b) {
  if (!a.empty() && !b.empty() && (a.find(b) != a.npos || b.find(a) != b.npos)) {
    const auto longer = std::max(a.size(), b.size()), shorter = std::min(a.size(), b.size());
    return 0.5 * static_cast<double>(longer - shorter) / static_cast<double>(longer);
  }
  return static_cast<double>(edits(a, b));
}

}  // namespace

std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string_view> names) {
  const std::string wanted = plain(name);
  std::string best;
  double least = 1e9;
  for (const auto candidate : names) {
    const double d = distance(wanted, plain(candidate));
    if (d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

std::string suggested(std::string_view name, std::span<const std::string_view> names) {
  const std::string wanted = plain(name);
  std::string best;
  double least = 1e9;
  for (const auto candidate : names) {
    const std::string known = plain(candidate);
    const bool letters = std::min(wanted.size(), known.size()) < 3;  // m is a part of any word
    const double d = letters ? static_cast<double>(edits(wanted, known)) : distance(wanted, known);
    const double letters_of = static_cast<double>(known.size());
    if (d >= least || d >= letters_of || d > std::max(1.0, letters_of / 3.0)) continue;
    least = d;
    best = candidate;
  }
  return best;
}

}  // namespace napkin
