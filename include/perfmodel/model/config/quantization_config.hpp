// Weight storage of a Hugging Face checkpoint: "torch_dtype" and "quantization_config".
#pragma once

#include <cstddef>
#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/parameters.hpp>
#include <string>
#include <string_view>
#include <vector>

// Patterns of modules that a checkpoint leaves unquantised: globs, parts of names, simple
// expressions.

namespace perfmodel::inline v0_3::detail {

/// True where `text` matches `pattern`; * matches anything. Linear in both.
constexpr bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Globs of a regular expression: .* is *, \. a dot, (a|b) two globs; ends are open unless ^ or $
/// closes them. Other syntax matches anything.
inline std::vector<std::string> globs_of(std::string_view regex) {
  std::vector<std::string> out{regex.starts_with('^') ? "" : "*"};
  if (regex.starts_with('^')) regex.remove_prefix(1);
  const bool closed = regex.ends_with('$');
  if (closed) regex.remove_suffix(1);
  const auto append = [&](std::string_view text) {
    for (std::string& glob : out) glob += text;
  };
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const char ch = regex[i];
    if (ch == '\\' && i + 1 < regex.size()) {
      append(regex[i + 1] == 'd' ? std::string_view("*") : regex.substr(i + 1, 1));
      ++i;
    } else if (ch == '(') {
      const std::size_t end = regex.find(')', i);
      if (end == std::string_view::npos || out.size() > 64) return {"*"};
      std::vector<std::string> every;
      std::size_t from = i + 1;
      while (from <= end) {
        const std::size_t to = regex.find_first_of("|)", from);
        for (const std::string& glob : out)
          every.push_back(glob + std::string(regex.substr(from, to - from)));
        from = to + 1;
      }
      out = every;
      i = end;
    } else if (ch == '.' || ch == '[' || ch == '+' || ch == '?' || ch == '*') {
      if (ch == '[')
        i = regex.find(']', i) == std::string_view::npos ? regex.size() : regex.find(']', i);
      append("*");
    } else {
      append(regex.substr(i, 1));
    }
  }
  if (!closed) append("*");
  return out;
}

/// True where a list of patterns names a module. "re:..." is a regular expression, a * makes a
/// glob. Anything else is the module itself, a parent of it, or a part of its name between dots.
inline bool pattern_names(std::string_view pattern, std::string_view module) {
  if (pattern.starts_with("re:")) {
    for (const std::string& glob : globs_of(pattern.substr(3))) {
      if (glob_matches(glob, module)) return true;
    }
    return false;
  }
  if (pattern.find('*') != std::string_view::npos) return glob_matches(pattern, module);
  const std::size_t at = module.find(pattern);
  if (pattern.empty() || at == std::string_view::npos) return false;
  const bool starts = at == 0 || module[at - 1] == '.';
  const std::size_t end = at + pattern.size();
  return starts && (end == module.size() || module[end] == '.');
}

}  // namespace perfmodel::inline v0_3::detail

namespace perfmodel::inline v0_3 {

namespace detail {

/// The format of an unquantised checkpoint; bf16 where the file does not say (gpt-oss).
template <class Json>
number_format config_dtype(const config_fields<Json>& own, const config_fields<Json>& root) {
  for (const config_fields<Json>* fields : {&own, &root}) {
    for (const char* key : {"torch_dtype", "dtype"}) {
      const std::string name = fields->text_or(key, "");
      if (name == "bfloat16" || name == "auto") return bf16;
      if (name == "float16") return fp16;
      if (name == "float32") return fp32;
      if (name == "float8_e4m3fn") return fp8;
      if (!name.empty()) fields->refuse(key, "bfloat16, float16, float32, float8_e4m3fn, auto");
    }
  }
  return bf16;
}

/// Integer weights in groups: a 16-bit scale per group, and a zero point of as many bits as a
/// weight. A group of -1 is a whole row; its scale weighs less than a hundredth of a bit.
template <class Json>
storage_format integer_groups(const config_fields<Json>& q, const char* bits_key,
                              const char* group_key, bool zero_points) {
  const double bits = q.whole(bits_key, 4, 8);
  if (bits != 4 && bits != 8) q.refuse(bits_key, "4 or 8");
  const double group = q.whole_or(group_key, -1, -1, 65536);
  const number_format format = bits == 4 ? int4 : int8;
  if (group < 1) return without_scales(format);
  return {format, group, 16, zero_points ? bits : 0};
}

/// compressed-tensors: what one group of settings stores.
template <class Json>
storage_format compressed_group(const config_fields<Json>& group) {
  if (!group.has("weights")) group.refuse("weights", "an object with num_bits and type");
  const auto w = group.object("weights");
  const bool is_float = w.text_or("type", "int") == "float";
  if (!is_float) {
    return integer_groups(w, "num_bits", "group_size", !w.flag_or("symmetric", true));
  }
  const double bits = w.whole("num_bits", 4, 8);
  if (bits != 4 && bits != 8) w.refuse("num_bits", "4 or 8");
  const double size = w.whole_or("group_size", -1, -1, 65536);
  const number_format format = bits == 4 ? fp4 : fp8;
  return size < 1 ? without_scales(format) : storage_format(format, size, 8);
}
template <class Json>
storage_format compressed_tensors(const config_fields<Json>& q) {
  if (!q.has("config_groups")) q.refuse("config_groups", "an object with group_0");
  const auto groups = q.object("config_groups");
  if (!groups.has("group_0")) q.refuse("config_groups", "an object with group_0");
  return compressed_group(groups.object("group_0"));
}

/// modelopt: by the name of its recipe.
template <class Json>
storage_format modelopt(const config_fields<Json>& q, const char* key) {
  const std::string algorithm = q.text_or(key, "");
  if (algorithm == "FP8" || algorithm == "FP8_PER_CHANNEL_PER_TOKEN") return fp8;
  if (algorithm == "FP8_PB_WO") return {fp8, 128 * 128, 32};
  if (algorithm == "NVFP4" || algorithm == "W4A16_NVFP4" || algorithm == "NVFP4_AWQ")
    return {fp4, 16, 8};
  if (algorithm == "MXFP8") return {fp8, 32, 8};
  if (algorithm == "W4A16_AWQ") return {int4, 128, 16};
  q.refuse(key, "FP8, FP8_PB_WO, NVFP4, W4A16_NVFP4, MXFP8, W4A16_AWQ, MIXED_PRECISION");
}

/// Modules that represent each part of a model; for attention its output projection, which has most
/// weights in MLA.
inline constexpr const char* attention_modules[] = {"self_attn.o_proj", "linear_attn.out_proj",
                                                    "mixer.o_proj", "mixer.out_proj"};
inline constexpr const char* linear_modules[] = {"mlp.gate_proj",
                                                 "mlp.down_proj",
                                                 "mlp.shared_experts.gate_proj",
                                                 "mlp.shared_experts.down_proj",
                                                 "mlp.shared_expert.gate_proj",
                                                 "mixer.shared_experts.up_proj",
                                                 "feed_forward.w1"};
inline constexpr const char* expert_modules[] = {
    "mlp.experts", "mlp.experts.0.gate_proj", "mlp.experts.0.down_proj", "mixer.experts.0.up_proj",
    "block_sparse_moe.experts.0.w1"};

/// The patterns of a list of names. Errors: another type.
template <class Json>
std::vector<std::string> patterns_of(const config_fields<Json>& q, const char* key) {
  std::vector<std::string> out;
  for (const Json& entry : q.list(key)) {
    if (!entry.is_string()) q.refuse_entry(key, entry, "names of modules");
    out.push_back(entry.template get<std::string>());
  }
  return out;
}

/// True where most layers leave a module of this part unquantised. The first of its names that any
/// pattern matches decides, in a middle layer and in the last but one.
template <std::size_t N>
bool leaves_out(const std::vector<std::string>& patterns, const char* const (&modules)[N],
                double layers) {
  const auto named = [&](const std::string& module) {
    for (const std::string& p : patterns) {
      if (pattern_names(p, module)) return true;
    }
    return false;
  };
  for (const char* module : modules) {
    int left_out = 0;
    for (const double at : {math::floor(layers / 2), layers - 2, math::floor(layers / 3)}) {
      const std::string in_layer =
          "layers." + number_text(scalar_max(at, 0.0)) + "." + std::string(module);
      for (const char* prefix :
           {"model.", "backbone.", "language_model.model.", "model.language_model."}) {
        if (named(prefix + in_layer)) {
          ++left_out;
          break;
        }
      }
    }
    if (left_out >= 2) return true;
  }
  return false;
}

/// MIXED_PRECISION: a list of the quantised modules, each with its recipe.
template <class Json>
weight_storage mixed_precision(const config_fields<Json>& q, number_format wide) {
  if (!q.has("quantized_layers")) q.refuse("quantized_layers", "an object of modules");
  const config_fields<Json> modules = q.object("quantized_layers");
  weight_storage stored(wide, wide);
  for (const auto& item : q.at("quantized_layers").items()) {
    const std::string name = item.key();
    const config_fields<Json> recipe(item.value(), modules.field(name.c_str()));
    const auto holds = [&](const char* part) { return name.find(part) != std::string::npos; };
    const storage_format format = modelopt(recipe, "quant_algo");
    if (holds("shared_expert")) {
      stored.linear = format;
    } else if (holds("experts")) {
      stored.experts = format;
    } else if (holds("mlp")) {
      stored.linear = format;
    } else if (holds("attn") || holds("mixer")) {
      stored.attention = format;
    }
  }
  return stored;
}

}  // namespace detail

/// Storage of a checkpoint: its weights, and its KV cache where it has a scheme for that.
struct checkpoint_storage {
  weight_storage weights{};
  std::optional<storage_format> kv{};
};

namespace detail {

template <class Json>
storage_format storage_by_method(const config_fields<Json>& q, const std::string& method) {
  if (method == "fp8") {
    if (!q.has("weight_block_size")) return fp8;
    if (q.list("weight_block_size").size() != 2) q.refuse("weight_block_size", "a list of two");
    const double block = q.whole_entry("weight_block_size", 0, 1, 65536) *
                         q.whole_entry("weight_block_size", 1, 1, 65536);
    return {fp8, block, 32};
  }
  if (method == "mxfp4") return {fp4, 32, 8};
  if (method == "gptq") return integer_groups(q, "bits", "group_size", true);
  if (method == "awq") {
    const char* const bits = q.has("w_bit") ? "w_bit" : "bits";
    const char* const group = q.has("q_group_size") ? "q_group_size" : "group_size";
    return integer_groups(q, bits, group, q.flag_or("zero_point", true));
  }
  if (method == "bitsandbytes") {
    const bool four = q.flag_or("load_in_4bit", false);
    if (four == q.flag_or("load_in_8bit", false))
      q.refuse("load_in_4bit", "either it or load_in_8bit");
    if (!four) return int8;
    const bool twice = q.flag_or("bnb_4bit_use_double_quant", false);
    return {int4, 64, twice ? 8.0 + 32.0 / 256.0 : 32.0};
  }
  if (method == "compressed-tensors") return compressed_tensors(q);
  if (method == "modelopt") return modelopt(q, "quant_algo");
  q.refuse("quant_method", "fp8, mxfp4, gptq, awq, bitsandbytes, compressed-tensors, modelopt");
}

/// Reads one quantisation section of either file.
template <class Json>
void read_quantization(const config_fields<Json>& q, const std::string& method, bool has_experts,
                       double layers, checkpoint_storage& out) {
  weight_storage& w = out.weights;
  const number_format wide = w.others;
  if (method == "mxfp4" && !has_experts)
    q.refuse("quant_method", "mxfp4 only where there are experts to store in it");
  const bool mixed = method == "modelopt" && q.text_or("quant_algo", "") == "MIXED_PRECISION";
  w = mixed ? mixed_precision(q, wide) : weight_storage(storage_by_method(q, method), wide);
  if (method == "mxfp4") w.linear = w.attention = wide;
  const char* const left_out = q.either({"ignore", "exclude_modules", "modules_to_not_convert"});
  if (method != "mxfp4" && method != "bitsandbytes" && q.has(left_out)) {
    const std::vector<std::string> patterns = patterns_of(q, left_out);
    if (leaves_out(patterns, attention_modules, layers)) w.attention = wide;
    if (leaves_out(patterns, linear_modules, layers)) w.linear = wide;
    if (leaves_out(patterns, expert_modules, layers)) w.experts = wide;
  }
  const std::string kv = q.text_or("kv_cache_quant_algo", "");
  if (kv == "FP8") out.kv = fp8;
  if (kv == "NVFP4") out.kv = storage_format(fp4, 16, 8);
  if (q.has("kv_cache_scheme")) {
    const auto scheme = q.object("kv_cache_scheme");
    const double bits = scheme.whole("num_bits", 4, 16);
    if (bits == 8) out.kv = scheme.text_or("type", "float") == "int" ? int8 : fp8;
    if (bits == 4) out.kv = storage_format(fp4, 16, 8);
  }
}

}  // namespace detail

/// Storage from the quantization_config of a config.json:
///   fp8                 8 bits; with weight_block_size [a, b] a 32-bit scale per a x b block
///   mxfp4               experts only: 4 bits, an 8-bit scale per 32 (OCP MX 1.0, section 5)
///   gptq, awq           int4 or int8, a 16-bit scale and a zero point per group_size
///   bitsandbytes        8 bits, or 4 bits and a scale per 64: 32 bits, or 8 + 32/256 when it is
///                       quantised too (QLoRA, arXiv 2305.14314, section 3)
///   compressed-tensors  its first group of settings, and the modules to ignore
///   modelopt            FP8, NVFP4 with an 8-bit scale per 16, or MIXED_PRECISION by module; also
///                       from hf_quant_config.json (`other`) of the checkpoint
/// expert_dtype fp4 (DeepSeek-V4) is MXFP4 experts. Embeddings, head, norms, biases and routers
/// stay in the dtype. A part (attention, feed-forwards, experts) is unquantised where most of its
/// layers are.
/// Leaves out: per-tensor scales, GPTQ's column order (g_idx), outliers in 16 bits, a quantised
/// head.
/// Errors: invalid_config. Tests: bits per weight of each method; DeepSeek-V3 8.001953125, gpt-oss
/// 4.25 in experts and 16 elsewhere; Kimi-K2.6-NVFP4's experts alone.
template <class Json>
checkpoint_storage storage_from_config(const config_fields<Json>& own,
                                       const config_fields<Json>& root, bool has_experts,
                                       double layers, const Json* other = nullptr) {
  checkpoint_storage out;
  const number_format dtype = detail::config_dtype(own, root);
  const number_format wide = dtype == fp8 ? bf16 : dtype;
  out.weights = weight_storage(storage_format(dtype), wide);
  const auto* where = own.has("quantization_config") ? &own : &root;
  if (where->has("quantization_config")) {
    const config_fields<Json> q = where->object("quantization_config");
    const std::string method = q.text_or("quant_method", "");
    detail::read_quantization(q, method, has_experts, layers, out);
  }
  if (other != nullptr) {
    const config_fields<Json> file(*other, "hf_quant_config");
    const config_fields<Json> q = file.has("quantization") ? file.object("quantization") : file;
    detail::read_quantization(q, "modelopt", has_experts, layers, out);
  }
  if (has_experts && own.text_or("expert_dtype", "") == "fp4")
    out.weights.experts = storage_format(fp4, 32, 8);
  return out;
}

}  // namespace perfmodel::inline v0_3
