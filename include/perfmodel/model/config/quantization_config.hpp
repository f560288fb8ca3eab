// Weight storage of a Hugging Face checkpoint: "torch_dtype" and "quantization_config".
#pragma once

#include <perfmodel/model/config/quantization_exceptions.hpp>
#include <perfmodel/model/config/quantization_methods.hpp>

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

}  // namespace detail

/// Storage of a checkpoint: its weights, and its KV cache where it has a scheme for that.
struct checkpoint_storage {
  weight_storage weights{};
  std::optional<storage_format> kv{};
};

namespace detail {

/// What a file says of one module: null, false or 16 bits leave it out; an object has settings of
/// the method's kind (bits and group_size, a recipe's name, quark's weight).
template <class Json>
void read_module(const config_fields<Json>& q, const std::string& method, const std::string& name,
                 const Json& settings, module_formats& out) {
  if (settings.is_null() || settings == false) return out.left_out.add(name);
  if (!settings.is_object() || settings.empty()) return;
  const config_fields<Json> s(settings, q.field(name.c_str()));
  if (s.has("quant_algo")) return out.add(name, modelopt(s, "quant_algo"));
  if (method == "quark" && s.has("weight")) return out.add(name, quark(s));
  if (s.has("_type")) {
    if (const auto named = torchao_named(s.all())) out.add(name, *named);
    return;
  }
  if (!s.has("bits") || !s.at("bits").is_number()) return;
  if (s.at("bits").template get<double>() >= 16) return out.left_out.add(name);
  const auto group = [&](double unsaid) {
    if (s.has("group_size")) return s.whole("group_size", -1, 65536);
    return q.has("group_size") ? q.whole("group_size", -1, 65536) : unsaid;
  };
  storage_format format = integers_of(s.whole("bits", 2, 8));
  if (const double size = group(method == "mlx" ? 64 : -1); size >= 1) {
    format.group = size;
    format.scale_bits = 16;
    format.zero_bits = method == "mlx" ? 16 : s.whole("bits", 2, 8);
  }
  out.add(name, format);
}

/// The modules that a quantisation section leaves in 16 bits, and those with formats of their own.
/// Lists of names stand under many keys (ignore, exclude_modules, ignored_layers,
/// modules_to_not_convert ...): any list of texts counts under a name with ignore, exclude, skip or
/// not_. GPTQModel's `dynamic` has "-:expression" and "+:expression"; compressed-tensors has groups
/// with targets; auto-round's extra_config, quark's layer_quant_config, modelopt's
/// quantized_layers, torchao's fqn_to_config and MLX name modules of their own.
template <class Json>
module_formats modules_of(const config_fields<Json>& q, const std::string& method) {
  module_formats out;
  for (const auto& item : q.all().items()) {
    const std::string key = lower_case(item.key());
    const Json& value = item.value();
    const bool named =
        holds(key, "ignore") || holds(key, "exclude") || holds(key, "skip") || holds(key, "not_");
    if (value.is_array() && named) {
      for (const std::string& p : patterns_of(q, item.key().c_str())) out.left_out.add(p);
    } else if (key == "dynamic" && value.is_object()) {
      for (const auto& rule : value.items()) {
        const bool off = rule.key().starts_with("-:");
        const std::string at = rule.key().substr(off || rule.key().starts_with("+:") ? 2 : 0);
        read_module(q, method, "re:" + at, off ? Json() : rule.value(), out);
      }
    } else if ((key == "extra_config" || key == "layer_quant_config" ||
                key == "quantized_layers") &&
               value.is_object()) {
      for (const auto& rule : value.items()) read_module(q, method, rule.key(), rule.value(), out);
    } else if (holds(key, ".") || key == "lm_head") {
      std::string name = item.key();  // MLX's switch_mlp are the experts
      if (const std::size_t at = name.find("switch_mlp."); at != std::string::npos)
        name.replace(at, 11, "experts.");
      const bool no_rule = value == true || (key == "lm_head" && value == false);
      if (!no_rule) read_module(q, method, name, value, out);
    }
  }
  if (method == "torchao") {
    const Json named = torchao_modules(q.all());
    for (const auto& rule : named.items()) {
      if (rule.key() != "_default") read_module(q, method, rule.key(), rule.value(), out);
    }
  }
  return out;
}

/// True for a target that is a class of modules (Linear), and no name of one.
inline bool is_class_name(const std::string& target) {
  return !target.empty() && target[0] >= 'A' && target[0] <= 'Z';
}

/// Groups of compressed-tensors, each for the modules that its targets name. Where no group is for
/// a class of modules, those that no group names stay in 16 bits.
template <class Json>
void read_target_groups(const config_fields<Json>& q, weight_storage& w, module_formats& modules) {
  if (!q.has("config_groups")) return;
  const auto groups = q.object("config_groups");
  std::optional<storage_format> of_class;
  for (const auto& item : groups.all().items()) {
    const auto group = groups.object(item.key().c_str());
    if (!group.has_list("targets") || !group.has("weights")) return;
    const storage_format format = compressed_group(group);
    for (const std::string& t : patterns_of(group, "targets")) {
      if (is_class_name(t)) {
        of_class = format;
      } else {
        modules.add(t, format);
      }
    }
  }
  w = weight_storage(of_class.value_or(w.others), w.others);
}

/// True where a file quantises its head: said, or Linear is quantised and the head not left out.
template <class Json>
bool quantises_head(const config_fields<Json>& q, const std::string& method,
                    const module_formats& modules) {
  for (const char* key : {"lm_head", "quant_lm_head"}) {
    if (q.has(key) && q.at(key) == true) return true;
  }
  if (method != "compressed-tensors" || !q.has("ignore") || !q.has("config_groups")) return false;
  if (modules.left_out.name("lm_head") || modules.left_out.name("language_model.lm_head"))
    return false;
  return q.at("config_groups").dump().find("\"Linear\"") != std::string::npos;
}

/// Reads one quantisation section of either file.
template <class Json>
void read_quantization(const config_fields<Json>& q, const std::string& method, bool has_experts,
                       const ordered_layers& layers, checkpoint_storage& out) {
  weight_storage& w = out.weights;
  const number_format wide = w.others;
  if (method == "mxfp4" && !has_experts)
    q.refuse("quant_method", "mxfp4 only where there are experts to store in it");
  const bool mixed =
      method.starts_with("modelopt") && q.text_or("quant_algo", "") == "MIXED_PRECISION";
  if (mixed && !q.has("quantized_layers")) q.refuse("quantized_layers", "an object of modules");
  w = weight_storage(mixed ? storage_format(wide) : storage_by_method(q, method), wide);
  if (method == "mxfp4" || method == "experts_int8") w.linear = w.attention = wide;
  if (method == "mlx" || method == "gguf") w.tables = w.linear;
  module_formats modules = modules_of(q, method);
  if (method == "compressed-tensors") read_target_groups(q, w, modules);
  if (quantises_head(q, method, modules) && !layers.tied)
    w.tables = with_wide_share(w.linear, 0.5, wide);
  if (q.has("head_bits") && !layers.tied)  // ExLlama's; the embedding has 16
    w.tables = with_wide_share(integers_of(q.positive("head_bits", 16)), 0.5, wide);
  if (modules.left_out.name("model.embed_tokens") || modules.left_out.name("lm_head"))
    w.tables.reset();
  if (method != "mxfp4") read_modules(modules, layers, w);
  const std::string kv = q.text_or("kv_cache_quant_algo", "");
  if (kv == "FP8") out.kv = fp8;
  if (kv == "NVFP4") out.kv = storage_format(fp4, 16, 8);
  const config_fields<Json> exported = q.has("export") ? q.object("export") : q;  // of quark
  if (exported.has_list("kv_cache_group") && !exported.list("kv_cache_group").empty()) out.kv = fp8;
  if (q.has("kv_cache_scheme") && q.at("kv_cache_scheme").is_string()) {  // static, dynamic: FP8
    out.kv = fp8;
  } else if (q.has("kv_cache_scheme")) {
    const auto scheme = q.object("kv_cache_scheme");
    const double bits = scheme.whole("num_bits", 4, 16);
    if (bits == 8) out.kv = scheme.text_or("type", "float") == "int" ? int8 : fp8;
    if (bits == 4) out.kv = storage_format(fp4, 16, 8);
  }
}

/// The section of a file about its quantisation, and its method: quantization_config, an older
/// compression_config, or the `quantization` of MLX and of Mistral's params.json.
template <class Json>
std::optional<config_fields<Json>> quantization_section(const config_fields<Json>& own,
                                                        const config_fields<Json>& root,
                                                        std::string& method) {
  for (const char* key : {"quantization_config", "compression_config", "quantization"}) {
    for (const config_fields<Json>* fields : {&own, &root}) {
      if (!fields->has(key)) continue;
      const bool may_be_text = std::string_view(key) == "quantization";
      if (may_be_text && !fields->all().at(key).is_object()) continue;
      const config_fields<Json> q = fields->object(key);
      method = lower_case(q.text_or("quant_method", ""));
      if (method.empty() && q.has("config_groups")) method = "compressed-tensors";
      if (method.empty() && q.has("quant_algo")) method = "modelopt";
      if (method.empty() && q.has("bits")) method = "mlx";
      return q;
    }
  }
  return {};
}

}  // namespace detail

/// Storage from the quantization_config of a config.json:
///   fp8, fbgemm_fp8     8 bits; with weight_block_size [a, b] a 32-bit scale per a x b block
///   mxfp8               8 bits, an 8-bit scale per 32 (OCP MX 1.0, section 5)
///   mxfp4               experts only: 4 bits, an 8-bit scale per 32
///   gptq, awq           2 to 8 bits, a 16-bit scale and a zero point per group_size; auto-round
///   bitsandbytes        8 bits, or 4 bits and a scale per 64: 32 bits, or 8 + 32/256 when it is
///                       quantised too (QLoRA, arXiv 2305.14314, section 3)
///   compressed-tensors  its groups of settings
///   modelopt            FP8, NVFP4 with an 8-bit scale per 16, or MIXED_PRECISION by module; also
///                       from hf_quant_config.json (`other`) of the checkpoint
///   quark, torchao, MLX, GGUF, exl3, hqq and methods with `bits`: see quantization_methods.hpp
/// expert_dtype fp4 (DeepSeek-V4) is MXFP4 experts. Embeddings, head, norms, biases and routers
/// stay in the dtype, except with MLX and GGUF. Projections that a file leaves out by any of its
/// keys stay in it too, as a share of their part's weights. A head is quantised where the file says
/// so, or where compressed-tensors has Linear and does not ignore it.
/// A part with modules of several formats has the mean of their bits.
/// Leaves out: per-tensor scales, GPTQ's column order (g_idx), outliers in 16 bits.
/// Errors: invalid_config. Tests: bits per weight of each method; DeepSeek-V3 8.001953125, gpt-oss
/// 4.25 in experts and 16 elsewhere; Kimi-K2.6-NVFP4's experts alone; MiMo-V2.5-Pro's o_proj.
template <class Json>
checkpoint_storage storage_from_config(const config_fields<Json>& own,
                                       const config_fields<Json>& root, bool has_experts,
                                       const detail::ordered_layers& layers,
                                       const Json* other = nullptr) {
  checkpoint_storage out;
  const number_format dtype = detail::config_dtype(own, root);
  const number_format wide = dtype == fp8 ? bf16 : dtype;
  out.weights = weight_storage(storage_format(dtype), wide);
  std::string method;
  if (const auto q = detail::quantization_section(own, root, method))
    detail::read_quantization(*q, method, has_experts, layers, out);
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
