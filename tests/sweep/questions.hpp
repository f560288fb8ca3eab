// The questions of the sweep: what is asked, in words and numbers of its own, without the library.
// Every run makes an equal list. Changing anything here changes the questions, and the recorded
// answers have to be recorded again.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sweep/random.hpp"

namespace perfmodel_sweep {

/// Scalar type over which the library is called.
enum class scalar { number, dual, interval };

/// One number of a question. Over an interval a number that `varies` is known to 5 %, and over dual
/// numbers the seed is one that varies.
struct number {
  std::string name;
  double value = 0;
  bool varies = false;
};

struct question {
  int index = 0;
  std::string kind{};
  scalar over = scalar::number;
  std::string seed{};  ///< of dual numbers: the input whose derivative is asked for
  std::vector<std::pair<std::string, std::string>> words{};
  std::vector<number> numbers{};

  /// One line that a reader understands and that tells two questions apart.
  std::string text() const {
    static constexpr std::array<const char*, 3> names = {"", "dual", "interval"};
    std::string out = names[static_cast<std::size_t>(over)];
    if (over == scalar::dual) out += " by " + seed;
    const auto add = [&out](const std::string& more) {
      if (!out.empty()) out += ' ';
      out += more;
    };
    for (const auto& [name, word] : words) add(name + "=" + word);
    for (const number& n : numbers) {
      std::array<char, 40> digits{};
      std::snprintf(digits.data(), digits.size(), "%.12g", n.value);
      add(n.name + "=" + digits.data());
    }
    return out;
  }
};

/// A question while it is being made up.
class draft {
 public:
  explicit draft(std::uint64_t seed) : r(seed) {}
  void word(std::string name, std::string value) {
    q.words.emplace_back(std::move(name), std::move(value));
  }
  void flag(std::string name, bool value) {
    q.numbers.push_back({std::move(name), value ? 1.0 : 0.0, false});
  }
  void fixed(std::string name, double value) {
    q.numbers.push_back({std::move(name), value, false});
  }
  void vary(std::string name, double value) { q.numbers.push_back({std::move(name), value, true}); }

  random r;
  question q{};
};

// --- what there is to ask about ------------------------------------------------------------------

/// An accelerator of the catalogue: its key, how many its fabric joins, formats it multiplies in.
struct known_accelerator {
  const char* key;
  int fabric;
  std::array<const char*, 4> formats;
};
inline constexpr std::array<known_accelerator, 30> known_accelerators = {{
    {"v100_sxm_32gb", 8, {"fp16", "fp16", "fp16", "fp32"}},
    {"a100_sxm_80gb", 8, {"bf16", "fp16", "int8", "int4"}},
    {"h100_sxm", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"h100_pcie", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"h200_sxm", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"h20", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"b200_sxm", 8, {"bf16", "fp16", "fp8", "fp4"}},
    {"b300_sxm", 8, {"bf16", "fp16", "fp8", "fp4"}},
    {"gb200", 72, {"bf16", "fp16", "fp8", "fp4"}},
    {"gb300", 72, {"bf16", "fp16", "fp8", "fp4"}},
    {"l4", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"l40s", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"rtx_4090", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"rtx_5080", 8, {"bf16", "fp16", "fp8", "fp4"}},
    {"rtx_5090", 8, {"bf16", "fp16", "fp8", "fp4"}},
    {"rtx_pro_6000", 8, {"bf16", "fp16", "fp8", "fp4"}},
    {"mi210", 4, {"bf16", "fp16", "int8", "bf16"}},
    {"mi300x", 8, {"bf16", "fp16", "fp8", "int8"}},
    {"tpu_v5e", 256, {"bf16", "int8", "bf16", "int8"}},
    {"tpu_v5p", 8960, {"bf16", "fp8", "int8", "bf16"}},
    {"m2_ultra", 1, {"bf16", "fp16", "bf16", "fp16"}},
    {"m3_ultra", 1, {"bf16", "fp16", "bf16", "fp16"}},
    {"jetson_orin_nano_8gb", 1, {"bf16", "fp16", "int8", "bf16"}},
    {"jetson_orin_nx_16gb", 1, {"bf16", "fp16", "int8", "bf16"}},
    {"jetson_agx_orin_64gb", 1, {"bf16", "fp16", "int8", "bf16"}},
    {"jetson_thor", 1, {"bf16", "fp16", "fp8", "fp4"}},
    {"groq_lpu", 264, {"fp16", "int8", "fp16", "int8"}},
    {"cerebras_wse3", 1, {"fp16", "fp16", "fp16", "fp16"}},
    {"vera_rubin_nvl144", 72, {"fp8", "fp4", "fp8", "fp4"}},
    {"rubin_ultra_nvl576", 144, {"fp8", "fp4", "fp8", "fp4"}},
}};
/// Those that models are usually served on: a deployment on them often fits.
inline constexpr std::array<int, 12> serving_accelerators = {1, 2, 4,  5,  6,  7,
                                                             8, 9, 15, 17, 12, 14};

struct known_model {
  const char* key;
  int experts;
};
inline constexpr std::array<known_model, 22> dense_models = {{
    {"llama_2_7b", 0},   {"llama_2_70b", 0},   {"llama_3_8b", 0},      {"llama_3_70b", 0},
    {"llama_3_1_8b", 0}, {"llama_3_1_70b", 0}, {"llama_3_1_405b", 0},  {"llama_3_2_1b", 0},
    {"qwen_2_5_3b", 0},  {"qwen_2_5_7b", 0},   {"qwen_2_5_32b", 0},    {"qwen_3_8b", 0},
    {"qwen_3_32b", 0},   {"mistral_7b", 0},    {"mistral_7b_v0_1", 0}, {"mistral_small_3_24b", 0},
    {"gemma_3_1b", 0},   {"gemma_3_4b", 0},    {"gemma_3_12b", 0},     {"gemma_3_27b", 0},
    {"phi_3_mini", 0},   {"phi_4", 0},
}};
inline constexpr std::array<known_model, 9> expert_models = {{
    {"qwen_3_30b_a3b", 128},
    {"qwen_3_235b_a22b", 128},
    {"mixtral_8x7b", 8},
    {"gpt_oss_20b", 32},
    {"gpt_oss_120b", 128},
    {"deepseek_v3", 256},
    {"deepseek_r1", 256},
    {"deepseek_v2_lite", 64},
    {"phi_3_5_moe", 16},
}};

// --- parts that several kinds of question share --------------------------------------------------

inline const known_accelerator& any_accelerator(draft& d) {
  const known_accelerator& a = d.r.one_of(known_accelerators);
  d.word("accelerator", a.key);
  return a;
}
/// A format the accelerator has; one time in forty any, so that refusals are asked for too.
inline std::string any_format(draft& d, const known_accelerator& a) {
  static constexpr std::array<const char*, 6> all = {"bf16", "fp16", "fp8", "int8", "fp4", "fp32"};
  const std::string format = d.r.one_in(40) ? d.r.one_of(all) : d.r.one_of(a.formats);
  d.word("format", format);
  return format;
}
/// Storage of a tensor: in `format`, or in fewer bits and groups with a scale.
inline void any_storage(draft& d, const char* name, const std::string& format) {
  static constexpr std::array<const char*, 5> narrow = {"fp8", "int8", "int4_128_16", "fp4_16_8",
                                                        "int4_64_32"};
  const bool wide = format == "bf16" || format == "fp16";
  d.word(name, wide && d.r.one_in(3) ? std::string(d.r.one_of(narrow)) : format);
}

enum class models { dense, experts, any };

/// A model on devices: layout, formats, memory. The KV cache has the format of
/// the activations, and every stage of a pipeline is on one fabric.
inline void any_deployment(draft& d, models which) {
  static constexpr std::array<int, 6> degrees = {1, 1, 2, 4, 8, 3};
  const known_accelerator& a =
      d.r.one_in(3)
          ? d.r.one_of(known_accelerators)
          : known_accelerators[static_cast<std::size_t>(d.r.one_of(serving_accelerators))];
  const bool dense = which == models::dense || (which == models::any && !d.r.one_in(3));
  const known_model& m = dense ? d.r.one_of(dense_models) : d.r.one_of(expert_models);
  d.word("accelerator", a.key);
  d.word("model", m.key);
  const std::string format = any_format(d, a);
  any_storage(d, "weights", format);
  any_storage(d, "kv", format);

  const int most = a.fabric < 16 ? a.fabric : 16;
  int tensor = d.r.one_of(degrees), pipeline = 1, data = 1, expert = 1;
  if (tensor == 3 && !d.r.one_in(8)) tensor = 8;  // 3 divides few models: some, not many
  if (tensor > most) tensor = most;
  if (d.r.one_in(4) && tensor * 2 <= most) pipeline = 2;
  if (d.r.one_in(8) && tensor * 4 <= most) pipeline = 4;
  if (pipeline == 1 && d.r.one_in(dense ? 8 : 3) && tensor * 2 <= most) data = 2;
  if (!dense && tensor * data > 1 && d.r.one_in(2)) expert = tensor * data;
  d.fixed("tensor", tensor);
  d.fixed("pipeline", pipeline);
  d.fixed("data", data);
  d.fixed("expert", expert);
  d.fixed("utilization", d.r.uniform(80, 100) / 100.0);
}

/// A link between accelerators, written out.
inline void any_link(draft& d, int ranks) {
  static constexpr std::array<int, 4> more = {1, 1, 2, 4};
  d.vary("link.bandwidth", d.r.log_uniform(8, 2000) * 1e9);
  d.vary("link.latency", d.r.log_uniform(100, 20000) * 1e-9);
  d.fixed("link.ranks", d.r.one_in(25) ? ranks - 1 : ranks * d.r.one_of(more));
  d.flag("link.adds", d.r.one_in(2));
}

// --- the kinds -----------------------------------------------------------------------------------

inline void ask_gemm(draft& d) {
  const known_accelerator& a = any_accelerator(d);
  any_storage(d, "weights", any_format(d, a));
  d.vary("m", d.r.log_uniform(1, 65536));
  d.vary("n", d.r.log_uniform(16, 65536));
  d.vary("k", d.r.log_uniform(16, 65536));
}
inline void ask_heads(draft& d) {
  static constexpr std::array<double, 4> dims = {64, 128, 192, 256};
  static constexpr std::array<double, 5> groups = {1, 2, 4, 8, 16};
  const double kv = d.r.log_uniform(1, 16);
  d.fixed("query_heads", kv * d.r.one_of(groups));
  d.fixed("kv_heads", kv);
  d.fixed("head_dim", d.r.one_of(dims));
}
inline void ask_attention_decode(draft& d) {
  const known_accelerator& a = any_accelerator(d);
  any_storage(d, "kv", any_format(d, a));
  ask_heads(d);
  d.vary("batch", d.r.log_uniform(1, 512));
  d.vary("context", d.r.log_uniform(1, 131072));
  d.fixed("block_size", d.r.one_in(2) ? 0.0 : d.r.log_uniform(8, 64));
  d.fixed("window", d.r.one_in(4) ? d.r.log_uniform(128, 8192) : 0.0);
  d.fixed("splits", d.r.one_in(4) ? d.r.log_uniform(2, 16) : 1.0);
}
inline void ask_attention_prefill(draft& d) {
  const known_accelerator& a = any_accelerator(d);
  any_storage(d, "kv", any_format(d, a));
  ask_heads(d);
  const bool causal = !d.r.one_in(5);
  d.vary("batch", d.r.log_uniform(1, 32));
  d.vary("tokens", d.r.log_uniform(1, 32768));
  d.vary("past", causal && d.r.one_in(3) ? d.r.log_uniform(1, 65536) : 0.0);
  d.fixed("window", causal && d.r.one_in(4) ? d.r.log_uniform(128, 8192) : 0.0);
  d.fixed("softmax_flop", d.r.one_in(3) ? 5.0 : 0.0);
  d.flag("causal", causal);
  d.flag("fused", !d.r.one_in(4));
}
inline void ask_moe_ffn(draft& d) {
  static constexpr std::array<double, 4> degrees = {1, 2, 4, 8};
  static constexpr std::array<double, 6> experts = {8, 16, 32, 64, 128, 256};
  const known_accelerator& a = any_accelerator(d);
  any_storage(d, "weights", any_format(d, a));
  d.vary("tokens", d.r.log_uniform(1, 16384));
  d.fixed("hidden", d.r.log_uniform(512, 16384));
  d.fixed("intermediate", 64.0 * d.r.log_uniform(8, 256));
  d.fixed("experts", d.r.one_of(experts));
  d.fixed("top_k", d.r.uniform(1, d.r.one_in(30) ? 16 : 8));
  d.fixed("shared_experts", d.r.one_in(3) ? d.r.uniform(1, 2) : 0.0);
  d.fixed("tensor", d.r.one_of(degrees));
  d.fixed("expert", d.r.one_of(degrees));
  d.flag("gated", !d.r.one_in(4));
  d.flag("fused", !d.r.one_in(4));
}
inline void ask_norm(draft& d) {
  const known_accelerator& a = any_accelerator(d);
  any_format(d, a);
  d.vary("rows", d.r.log_uniform(1, 65536));
  d.vary("width", d.r.log_uniform(64, 16384));
  d.fixed("passes", d.r.uniform(1, 2));
  d.flag("layer", d.r.one_in(3));
  d.flag("residual", d.r.one_in(2));
}
inline void ask_elementwise(draft& d) {
  const known_accelerator& a = any_accelerator(d);
  any_format(d, a);
  d.vary("elements", d.r.log_uniform(256, 1U << 30U));
  d.fixed("inputs", d.r.uniform(1, 4));
  d.fixed("outputs", d.r.uniform(0, 2));
  d.vary("flop_per_element", d.r.uniform(0, 40));
}
inline void ask_swiglu(draft& d) {
  const known_accelerator& a = any_accelerator(d);
  any_storage(d, "weights", any_format(d, a));
  d.vary("tokens", d.r.log_uniform(1, 16384));
  d.vary("hidden", d.r.log_uniform(512, 16384));
  d.vary("intermediate", d.r.log_uniform(512, 65536));
  d.fixed("activation_flop", d.r.one_in(3) ? 8.0 : 0.0);
  d.flag("gated", !d.r.one_in(4));
  d.flag("fused", !d.r.one_in(4));
}
inline void ask_attainable(draft& d) {
  d.vary("peak", d.r.log_uniform(1, 20000) * 1e12);
  d.vary("bandwidth", d.r.log_uniform(50, 25000) * 1e9);
  d.vary("intensity", d.r.log_uniform(1, 65536) / 16.0);
}
inline void ask_ridge_point(draft& d) {
  any_format(d, any_accelerator(d));
}

inline void ask_model(draft& d) {
  d.word("model", d.r.one_in(3) ? d.r.one_of(expert_models).key : d.r.one_of(dense_models).key);
}
inline void ask_kv_bytes(draft& d) {
  ask_model(d);
  any_storage(d, "kv", "bf16");
  d.vary("context", d.r.log_uniform(1, 1U << 20U));
}
inline void ask_parameters(draft& d) {
  ask_model(d);
  any_storage(d, "weights", "bf16");
  d.vary("context", d.r.log_uniform(1, 1U << 20U));
}
inline void ask_kv_capacity(draft& d) {
  any_deployment(d, models::any);
  d.vary("context", d.r.log_uniform(128, 131072));
  d.fixed("block_size", d.r.log_uniform(1, 64));
}
inline void ask_kv_budget(draft& d) {
  const double capacity = d.r.log_uniform(16, 1536);
  d.vary("capacity", capacity * 1e9);
  d.vary("utilization", d.r.uniform(50, 100) / 100.0);
  d.vary("weights", capacity * d.r.uniform(1, 100) / 110.0 * 1e9);
  d.vary("activations", d.r.log_uniform(1, 4000) * 1e6);
  d.vary("runtime", d.r.log_uniform(1, 2000) * 1e6);
  d.vary("per_token", d.r.log_uniform(8, 2048) * 1024.0);
  d.vary("context", d.r.log_uniform(128, 131072));
  d.fixed("block_size", d.r.log_uniform(1, 64));
}
inline void ask_kv_waste(draft& d) {
  const double longest = d.r.log_uniform(64, 131072);
  d.vary("longest", longest * 2.0);
  d.vary("mean", longest * d.r.uniform(10, 100) / 100.0);
  d.vary("block_size", d.r.log_uniform(2, 256));
  d.vary("sequences", d.r.log_uniform(2, 4096));
  d.vary("prefix", d.r.log_uniform(1, 32768));
  d.vary("weights", d.r.log_uniform(1, 1500) * 1e9);
  d.vary("per_token", d.r.log_uniform(8, 2048) * 1024.0);
  d.vary("latency", d.r.log_uniform(100, 2000) * 1e-9);
  d.vary("bandwidth", d.r.log_uniform(5, 100) * 1e9);
}
inline void ask_deployment(draft& d) {
  any_deployment(d, models::any);
}
inline void ask_fits(draft& d) {
  any_deployment(d, models::any);
  d.vary("batch", d.r.log_uniform(1, 512));
  d.vary("context", d.r.log_uniform(128, 131072));
}
inline void ask_layout(draft& d) {
  static constexpr std::array<double, 7> degrees = {1, 1, 2, 4, 8, 3, 16};
  d.fixed("tensor", d.r.one_of(degrees));
  d.fixed("pipeline", d.r.one_of(degrees));
  d.fixed("data", d.r.one_of(degrees));
  d.fixed("context", d.r.one_of(degrees));
  d.fixed("expert", d.r.one_of(degrees));
  d.fixed("query_heads", d.r.one_in(5) ? 0.0 : 8.0 * d.r.uniform(1, 16));
  d.fixed("kv_heads", d.r.one_in(5) ? 0.0 : d.r.log_uniform(1, 16));
  d.fixed("layers", d.r.one_in(5) ? 0.0 : d.r.uniform(2, 120));
  d.fixed("experts", d.r.one_in(3) ? 0.0 : 8.0 * d.r.log_uniform(1, 32));
  d.fixed("accelerators", d.r.one_in(3) ? 0.0 : d.r.log_uniform(1, 4096));
}

inline constexpr std::array<const char*, 6> operations = {
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "point_to_point"};
inline constexpr std::array<const char*, 8> algorithms = {
    "best", "best", "best", "ring", "tree", "one_shot", "in_network", "two_shot"};

/// An operation and an algorithm; one time in six any pair, so that refusals are asked for too.
inline void any_operation(draft& d) {
  static constexpr std::array<std::size_t, 6> offered = {8, 7, 7, 6, 8, 3};
  const std::size_t i = d.r.below(operations.size());
  d.word("operation", operations[i]);
  const bool any = d.r.one_in(6);
  d.word("algorithm", algorithms[d.r.below(any ? algorithms.size() : offered[i])]);
}
inline void ask_collective(draft& d) {
  any_operation(d);
  const int ranks = d.r.one_in(20) ? 1 : static_cast<int>(d.r.log_uniform(2, 128));
  d.fixed("ranks", ranks);
  d.vary("message", d.r.log_uniform(1, std::uint64_t{1} << 34U));
  any_link(d, ranks);
}
inline void ask_fabric_collective(draft& d) {
  const known_accelerator& a = any_accelerator(d);
  any_operation(d);
  const int most = a.fabric > 64 ? 64 : a.fabric;
  d.fixed("ranks", d.r.uniform(1, static_cast<std::uint64_t>(most)));
  d.vary("message", d.r.log_uniform(1, std::uint64_t{1} << 34U));
}
inline void ask_hierarchical(draft& d) {
  static constexpr std::array<double, 5> inside = {1, 2, 4, 8, 8};
  static constexpr std::array<double, 5> nodes = {1, 2, 3, 4, 16};
  d.word("operation", d.r.one_of(operations));
  const double in = d.r.one_of(inside), out = d.r.one_of(nodes);
  d.fixed("ranks", in * out);
  d.fixed("ranks_inside", in);
  d.vary("message", d.r.log_uniform(1, std::uint64_t{1} << 34U));
  d.vary("inside", d.r.log_uniform(50, 2000) * 1e9);
  d.vary("between", d.r.log_uniform(5, 100) * 1e9);
}

inline void ask_decode(draft& d, models which) {
  any_deployment(d, which);
  d.vary("batch", d.r.log_uniform(1, 512));
  d.vary("context", d.r.log_uniform(16, 65536));
}
inline void ask_prefill(draft& d, models which) {
  any_deployment(d, which);
  d.vary("prefill_tokens", d.r.log_uniform(1, 32768));
  d.vary("prefill_past", d.r.one_in(3) ? d.r.log_uniform(1, 32768) : 0.0);
}
inline void ask_decode_dense(draft& d) {
  ask_decode(d, models::dense);
}
inline void ask_decode_moe(draft& d) {
  ask_decode(d, models::experts);
}
inline void ask_prefill_dense(draft& d) {
  ask_prefill(d, models::dense);
}
inline void ask_prefill_moe(draft& d) {
  ask_prefill(d, models::experts);
}

inline void ask_tokens(draft& d) {
  d.vary("input_tokens", d.r.log_uniform(16, 16384));
  d.vary("output_tokens", d.r.log_uniform(2, 2048));
}
inline void ask_closed(draft& d, models which) {
  any_deployment(d, which);
  ask_tokens(d);
  d.vary("concurrency", d.r.log_uniform(1, 256));
  d.fixed("chunk_tokens", 0.0);
  d.fixed("batch_limit", d.r.one_in(4) ? d.r.log_uniform(1, 256) : 0.0);
}
inline void ask_closed_dense(draft& d) {
  ask_closed(d, models::dense);
}
inline void ask_closed_moe(draft& d) {
  ask_closed(d, models::experts);
}
inline void ask_closed_chunked(draft& d) {
  any_deployment(d, models::any);
  ask_tokens(d);
  d.vary("concurrency", d.r.log_uniform(2, 256));
  d.fixed("chunk_tokens", d.r.log_uniform(128, 8192));
  d.fixed("batch_limit", 0.0);
}
inline void ask_open_dense(draft& d) {
  any_deployment(d, models::dense);
  d.vary("input_tokens", d.r.log_uniform(16, 2048));
  d.vary("output_tokens", d.r.log_uniform(2, 256));
  d.vary("requests_per_s", d.r.log_uniform(1, 32) / 16.0);
}

inline void ask_iron_law(draft& d) {
  d.vary("moved", d.r.log_uniform(1, 1U << 30U) * 1024.0);
  d.vary("bandwidth", d.r.log_uniform(50, 25000) * 1e9);
  d.vary("work", d.r.log_uniform(1, 1U << 30U) * 1e6);
  d.vary("rate", d.r.log_uniform(1, 20000) * 1e12);
  d.vary("overhead", d.r.log_uniform(1, 100000) * 1e-7);
  d.vary("p", d.r.log_uniform(16, 512) / 16.0);
}
inline void ask_littles_law(draft& d) {
  d.vary("latency", d.r.log_uniform(20, 2000) * 1e-9);
  d.vary("bandwidth", d.r.log_uniform(50, 25000) * 1e9);
  d.vary("sms", d.r.log_uniform(8, 256));
  d.vary("warps", d.r.log_uniform(1, 64));
  d.vary("loads", d.r.log_uniform(1, 16));
  d.vary("bytes_per_load", d.r.log_uniform(32, 2048));
  d.vary("arrivals", d.r.log_uniform(1, 65536) / 64.0);
  d.vary("time", d.r.log_uniform(1, 65536) / 1000.0);
  d.vary("streams", d.r.log_uniform(1, 1024));
}
inline void ask_occupancy(draft& d) {
  d.fixed("warps", d.r.log_uniform(1, 32));
  d.fixed("registers", 8.0 * d.r.uniform(2, 32));
  d.fixed("shared", 1024.0 * d.r.uniform(0, 240));
}
inline void ask_launch(draft& d) {
  d.vary("cpu", d.r.log_uniform(5, 500) * 1e-7);
  d.vary("gap", d.r.log_uniform(1, 50) * 1e-7);
  d.vary("replay", d.r.log_uniform(10, 1000) * 1e-7);
  d.vary("node", d.r.log_uniform(1, 50) * 1e-7);
  d.vary("synchronise", d.r.log_uniform(10, 1000) * 1e-7);
  d.vary("launches", d.r.log_uniform(1, 5000));
  d.vary("kernels", d.r.log_uniform(1, 1U << 20U) * 1e-7);
  d.vary("once", d.r.log_uniform(1, 1U << 20U) * 1e-5);
}
inline void ask_overlap(draft& d) {
  d.vary("compute", d.r.log_uniform(1, 1U << 20U) * 1e-6);
  d.vary("communication", d.r.log_uniform(1, 1U << 20U) * 1e-6);
  d.vary("sms", d.r.uniform(64, 192));
  d.vary("taken", d.r.uniform(2, 40));
  d.vary("pieces", d.r.log_uniform(1, 256));
  d.vary("capacity", d.r.log_uniform(32, 512) * 1024.0);
  d.vary("tile", d.r.log_uniform(1024, 131072));
}
inline void ask_fusion(draft& d) {
  d.vary("m", d.r.log_uniform(1, 16384));
  d.vary("n", d.r.log_uniform(16, 16384));
  d.vary("k", d.r.log_uniform(16, 16384));
  d.vary("tensor", d.r.log_uniform(1024, 1U << 30U));
  d.vary("intermediates", d.r.uniform(1, 8));
  d.vary("readers", d.r.uniform(1, 4));
  d.vary("sequence", d.r.log_uniform(16, 131072));
  ask_heads(d);
}
inline void ask_energy(draft& d) {
  d.vary("matrix", d.r.log_uniform(1, 100) * 1e-14);
  d.vary("vector", d.r.log_uniform(1, 100) * 1e-13);
  d.vary("dram", d.r.log_uniform(10, 1000) * 1e-13);
  d.vary("l2", d.r.log_uniform(1, 100) * 1e-13);
  d.vary("shared", d.r.log_uniform(1, 100) * 1e-13);
  d.vary("link", d.r.log_uniform(10, 1000) * 1e-13);
  d.vary("idle", d.r.log_uniform(5, 200));
  d.vary("matrix_flop", d.r.log_uniform(1, 1U << 20U) * 1e9);
  d.vary("vector_flop", d.r.log_uniform(1, 1U << 20U) * 1e7);
  d.vary("dram_bytes", d.r.log_uniform(1, 1U << 20U) * 1e5);
  d.vary("l2_bytes", d.r.log_uniform(1, 1U << 20U) * 1e5);
  d.vary("shared_bytes", d.r.log_uniform(1, 1U << 20U) * 1e5);
  d.vary("sent_bytes", d.r.log_uniform(1, 1U << 20U) * 1e4);
  d.vary("time", d.r.log_uniform(1, 1U << 20U) * 1e-6);
  d.vary("throughput", d.r.log_uniform(1, 1U << 17U));
}
inline void ask_power_cap(draft& d) {
  d.vary("cap", d.r.uniform(100, 1000));
  d.vary("idle", d.r.uniform(20, 150));
  d.vary("dynamic", d.r.uniform(100, 1200));
  d.fixed("exponent", d.r.uniform(4, 12) / 4.0);
}
inline void ask_cost(draft& d) {
  d.vary("gpus", d.r.log_uniform(1, 1024));
  d.vary("price", d.r.log_uniform(10, 1200) / 100.0);
  d.vary("throughput", d.r.log_uniform(1, 1U << 17U));
  d.vary("utilisation", d.r.uniform(1, 100) / 100.0);
  d.vary("cost", d.r.log_uniform(1, 10000) / 100.0);
}
inline void ask_queueing(draft& d) {
  const double servers = d.r.log_uniform(1, 64);
  const double service = d.r.log_uniform(1, 20000) / 1000.0;
  d.fixed("servers", servers);
  d.vary("service", service);
  d.vary("arrivals", d.r.uniform(1, 68) / 64.0 / service);  // of one server
  d.vary("arrival_variation", d.r.uniform(0, 64) / 16.0);
  d.vary("service_variation", d.r.uniform(0, 64) / 16.0);
  d.fixed("quantile", d.r.uniform(0, 99) / 100.0);
}
inline void ask_decode_batch(draft& d) {
  d.vary("arrivals", d.r.log_uniform(1, 1024) / 32.0);
  d.vary("output", d.r.log_uniform(8, 2048));
  d.vary("fixed", d.r.log_uniform(10, 1000) * 1e-4);
  d.vary("per_sequence", d.r.log_uniform(1, 200) * 1e-6);
  d.vary("largest_batch", d.r.log_uniform(8, 1024));
}
inline void ask_metrics(draft& d) {
  const double time = d.r.log_uniform(1, 1U << 20U) * 1e-6;
  const double peak = d.r.log_uniform(10, 20000) * 1e12;
  const double bandwidth = d.r.log_uniform(50, 25000) * 1e9;
  d.vary("time", time);
  d.vary("peak", peak);
  d.vary("bandwidth", bandwidth);
  d.vary("work", d.r.uniform(1, 80) / 100.0 * peak * time);
  d.vary("moved", d.r.uniform(1, 80) / 100.0 * bandwidth * time);
  d.vary("use", d.r.uniform(1, 100) / 100.0);
  d.vary("intensity", d.r.log_uniform(1, 4096) / 16.0);
  d.vary("ridge", d.r.uniform(300, 600));
  d.vary("parameters", d.r.log_uniform(100, 1000000) * 1e6);
  d.vary("recomputed", d.r.uniform(0, 100) / 100.0);
  d.vary("ranks", d.r.log_uniform(1, 8192));
  d.vary("model_use", d.r.uniform(10, 65) / 100.0);
  d.vary("slowdown", d.r.uniform(0, 100) / 100.0);
  d.vary("tax", d.r.uniform(0, 80) / 100.0);
  d.vary("deviation", d.r.log_uniform(1, 1000) * 1e-6);
  d.vary("count", d.r.log_uniform(1, 8192));
  d.vary("tokens", d.r.log_uniform(1, 8192));
}
inline void ask_amdahl(draft& d) {
  d.vary("share_a", d.r.uniform(1, 45) / 100.0);
  d.vary("share_b", d.r.uniform(1, 30) / 100.0);
  d.vary("share_c", d.r.uniform(1, 20) / 100.0);
  d.vary("factor_a", d.r.uniform(1, 100) / 100.0);
  d.vary("factor_b", d.r.uniform(1, 300) / 100.0);
  d.vary("factor_c", d.r.uniform(1, 100) / 100.0);
}
inline void ask_batching(draft& d) {
  for (const char* name : {"length_1", "length_2", "length_3", "length_4", "length_5"}) {
    d.vary(name, d.r.log_uniform(1, 8192));
  }
}
inline void ask_speculative(draft& d) {
  d.vary("acceptance", d.r.uniform(1, 99) / 100.0);
  d.fixed("draft_length", d.r.uniform(1, 12));
  d.vary("cost_ratio", d.r.log_uniform(1, 1100) / 1000.0);
  d.vary("target", d.r.log_uniform(10, 1000) * 1e-4);
  d.vary("draft", d.r.log_uniform(1, 100) * 1e-4);
  d.vary("verify", d.r.log_uniform(10, 1200) * 1e-4);
  d.vary("flop_ratio", d.r.uniform(1, 50) / 100.0);
  d.vary("ridge", d.r.uniform(50, 600));
  d.vary("bytes_per_weight", d.r.uniform(1, 4) / 2.0);
}
inline void ask_speculative_positions(draft& d) {
  for (const char* name : {"position_1", "position_2", "position_3", "position_4"}) {
    d.vary(name, d.r.uniform(1, 99) / 100.0);
  }
  d.vary("cost_ratio", d.r.log_uniform(1, 900) / 1000.0);
}
inline void ask_tensor_parallel(draft& d) {
  const int ranks = static_cast<int>(d.r.log_uniform(1, 64));
  d.word("format", d.r.one_in(3) ? "fp8" : "bf16");
  d.fixed("ranks", ranks);
  d.vary("layers", d.r.uniform(8, 128));
  d.vary("batch", d.r.log_uniform(1, 256));
  d.vary("tokens", d.r.log_uniform(1, 8192));
  d.vary("hidden", d.r.log_uniform(512, 16384));
  any_link(d, ranks);
}
inline void ask_pipeline(draft& d) {
  d.vary("stages", d.r.uniform(2, 32));
  d.vary("microbatches", d.r.log_uniform(2, 256));
  d.vary("chunks", d.r.log_uniform(1, 8));
  d.vary("stage", d.r.log_uniform(1, 1U << 16U) * 1e-5);
  d.vary("transfer", d.r.log_uniform(1, 1U << 14U) * 1e-6);
  d.vary("layers", d.r.uniform(32, 128));
  d.vary("batch", d.r.log_uniform(1, 256));
  d.vary("tokens", d.r.log_uniform(1, 8192));
  d.vary("hidden", d.r.log_uniform(512, 16384));
  d.vary("kv_heads", d.r.log_uniform(1, 16));
  d.vary("tensor", d.r.log_uniform(1, 64));
}
inline void ask_expert_parallel(draft& d) {
  const int ranks = static_cast<int>(d.r.log_uniform(1, 64));
  d.word("dispatch", d.r.one_in(2) ? "fp8" : "bf16");
  d.word("combine", "bf16");
  d.fixed("ranks", ranks);
  d.vary("tokens", d.r.log_uniform(1, 8192));
  d.vary("hidden", d.r.log_uniform(512, 16384));
  d.vary("top_k", d.r.uniform(1, 8));
  d.vary("imbalance", d.r.uniform(100, 200) / 100.0);
  any_link(d, ranks);
}
inline void ask_zero(draft& d) {
  const int ranks = static_cast<int>(d.r.log_uniform(1, 64));
  d.fixed("stage", d.r.uniform(0, 3));
  d.fixed("ranks", ranks);
  d.vary("parameters", d.r.log_uniform(100, 1000000) * 1e6);
  d.vary("parameter_bytes", d.r.uniform(1, 4));
  d.vary("gradient_bytes", d.r.uniform(1, 4));
  d.vary("optimizer_bytes", d.r.uniform(4, 16));
  d.vary("forward", d.r.log_uniform(1, 1U << 16U) * 1e-4);
  d.vary("backward", d.r.log_uniform(1, 1U << 16U) * 1e-4);
  d.vary("pieces", d.r.log_uniform(1, 128));
  d.vary("sms", d.r.uniform(64, 192));
  d.vary("taken", d.r.uniform(2, 40));
  any_link(d, ranks);
}
inline void ask_context_parallel(draft& d) {
  const int ranks = static_cast<int>(d.r.log_uniform(1, 64));
  d.word("format", d.r.one_in(3) ? "fp8" : "bf16");
  d.fixed("ranks", ranks);
  d.vary("rate", d.r.log_uniform(10, 5000) * 1e12);
  d.vary("batch", d.r.log_uniform(1, 16));
  d.vary("tokens", d.r.log_uniform(128, 1U << 20U));
  ask_heads(d);
  d.vary("hidden", d.r.log_uniform(512, 16384));
  d.fixed("tensor", d.r.log_uniform(1, 16));
  d.flag("sequence", d.r.one_in(2));
  d.flag("scores", d.r.one_in(2));
  any_link(d, ranks);
}

/// A kind of question, and how many of it are asked.
struct kind {
  const char* name;
  int count;
  void (*ask)(draft&);
  bool over_intervals = true;
};
inline constexpr std::array<kind, 50> kinds = {{
    {"roofline of gemm", 160, ask_gemm},
    {"roofline of attention_decode", 160, ask_attention_decode},
    {"roofline of attention_prefill", 160, ask_attention_prefill},
    {"roofline of moe_ffn", 160, ask_moe_ffn},
    {"roofline of norm", 120, ask_norm},
    {"roofline of elementwise", 120, ask_elementwise},
    {"roofline of swiglu", 120, ask_swiglu},
    {"attainable", 64, ask_attainable},
    {"ridge_point", 120, ask_ridge_point},
    {"kv_bytes", 120, ask_kv_bytes},
    {"kv_capacity", 160, ask_kv_capacity},
    {"kv_capacity of a budget", 96, ask_kv_budget},
    {"kv cache waste", 80, ask_kv_waste},
    {"parameters", 120, ask_parameters},
    {"weight_bytes_per_device", 160, ask_deployment},
    {"fits", 200, ask_fits},
    {"layout_feasible", 120, ask_layout},
    {"collective_time", 320, ask_collective},
    {"collective_time on a fabric", 160, ask_fabric_collective},
    {"collective_time with stated latency", 160, ask_collective},
    {"hierarchical_time", 96, ask_hierarchical},
    {"step, decode, dense", 240, ask_decode_dense},
    {"step, decode, experts", 200, ask_decode_moe},
    {"step, prefill, dense", 200, ask_prefill_dense},
    {"step, prefill, experts", 160, ask_prefill_moe},
    {"serving, closed loop, dense", 160, ask_closed_dense},
    {"serving, closed loop, experts", 120, ask_closed_moe},
    {"serving, closed loop, chunked prompts", 96, ask_closed_chunked},
    {"serving, open loop, dense", 120, ask_open_dense, false},
    {"iron law", 96, ask_iron_law},
    {"Little's law", 96, ask_littles_law},
    {"occupancy", 64, ask_occupancy},
    {"launch", 96, ask_launch},
    {"overlap", 120, ask_overlap},
    {"fusion", 80, ask_fusion},
    {"energy", 80, ask_energy},
    {"power cap", 64, ask_power_cap},
    {"cost", 64, ask_cost},
    {"queueing", 160, ask_queueing},
    {"decode_batch", 80, ask_decode_batch},
    {"metrics", 96, ask_metrics},
    {"Amdahl", 64, ask_amdahl},
    {"static batching", 40, ask_batching},
    {"speculative", 120, ask_speculative},
    {"speculative, by position", 64, ask_speculative_positions},
    {"tensor parallel", 80, ask_tensor_parallel},
    {"pipeline", 80, ask_pipeline},
    {"expert parallel", 80, ask_expert_parallel},
    {"zero and data parallel", 96, ask_zero},
    {"context parallel", 96, ask_context_parallel},
}};

/// Every question, in the order of `kinds`. Of eight of a kind six are asked over double, and one
/// each over dual and interval.
inline std::vector<question> all_questions() {
  static constexpr std::array<scalar, 8> over = {scalar::number, scalar::number, scalar::dual,
                                                 scalar::number, scalar::number, scalar::interval,
                                                 scalar::number, scalar::number};
  static constexpr std::array<const char*, 3> of_machine = {"dram.bandwidth", "matrix.peak",
                                                            "fabric.bandwidth"};
  std::vector<question> out;
  std::uint64_t seed = 0;
  for (const kind& k : kinds) {
    ++seed;
    for (int i = 0; i < k.count; ++i) {
      draft d(seed * 1000003U + static_cast<std::uint64_t>(i));
      k.ask(d);
      question& q = d.q;
      q.index = static_cast<int>(out.size());
      q.kind = k.name;
      q.over = over[static_cast<std::size_t>(i) % over.size()];
      if (q.over == scalar::interval && !k.over_intervals) q.over = scalar::number;
      if (q.over == scalar::dual) {
        std::vector<std::string> seeds;
        for (const number& n : q.numbers) {
          if (n.varies) seeds.push_back(n.name);
        }
        if (!q.words.empty() && q.words.front().first == "accelerator") {
          seeds.insert(seeds.end(), of_machine.begin(), of_machine.end());
        }
        if (seeds.empty()) {
          q.over = scalar::number;
        } else {
          q.seed = seeds[static_cast<std::size_t>(d.r.below(seeds.size()))];
        }
      }
      out.push_back(q);
    }
  }
  return out;
}

}  // namespace perfmodel_sweep
