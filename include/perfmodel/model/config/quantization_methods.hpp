// Storage formats of the quantisation methods that a checkpoint's files name.
#pragma once

#include <algorithm>
#include <perfmodel/model/config/config_fields.hpp>
#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3::detail {

inline std::string lower_case(std::string text) {
  for (char& ch : text) {
    if (ch >= 'A' && ch <= 'Z') ch = static_cast<char>(ch - 'A' + 'a');
  }
  return text;
}
inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A format with values of other bits than its own.
inline storage_format with_value_bits(storage_format s, double bits) {
  s.value_bits = bits;
  return s;
}
/// Values of `bits` bits: int4 and int8, or int4 with value_bits below or between them.
inline storage_format integers_of(double bits) {
  if (bits == 8) return without_scales(int8);
  return bits == 4 ? without_scales(int4) : with_value_bits(int4, bits);
}

/// Integer weights in groups: a 16-bit scale per group, and a zero point of as many bits as a
/// weight. A group of -1 is a whole row; its scale weighs less than a hundredth of a bit.
template <class Json>
storage_format integer_groups(const config_fields<Json>& q, const char* bits_key,
                              const char* group_key, bool zero_points) {
  const double bits = q.whole(bits_key, 2, 8);
  if (bits > 4 && bits < 8) q.refuse(bits_key, "2, 3, 4 or 8");
  const double group = q.whole_or(group_key, -1, -1, 65536);
  storage_format s = integers_of(bits);
  if (group < 1) return s;
  s.group = group;
  s.scale_bits = 16;
  s.zero_bits = zero_points ? bits : 0;
  return s;
}

/// Format of a name in a recipe: fp8_e4m3, float8, mxfp4, nvfp4, uint4, int8, bfloat16.
inline std::optional<storage_format> format_called(const std::string& text) {
  const std::string name = lower_case(text);
  if (holds(name, "nvfp4")) return storage_format(fp4, 16, 8);
  if (holds(name, "mxfp4")) return storage_format(fp4, 32, 8);
  if (holds(name, "mxfp8")) return storage_format(fp8, 32, 8);
  if (holds(name, "mxfp6")) return with_value_bits({fp8, 32, 8}, 6);
  if (holds(name, "fp4") || holds(name, "float4")) return without_scales(fp4);
  if (holds(name, "fp6") || holds(name, "float6")) return with_value_bits(fp8, 6);
  if (holds(name, "fp8") || holds(name, "float8")) return storage_format(fp8);
  for (const double bits : {8.0, 6.0, 5.0, 4.0, 3.0, 2.0}) {
    if (holds(name, "int" + std::to_string(static_cast<int>(bits)))) return integers_of(bits);
  }
  if (holds(name, "bfloat16") || holds(name, "bf16")) return storage_format(bf16);
  return {};
}

/// GGUF: bits per weight of a type, by the size of its block of 256 (or 32) weights, and of the
/// mixtures that end in S, M, L, measured on Llama 3.1 8B with its tables.
/// Sources: llama.cpp, ggml-common.h (block structures) and tools/quantize/README.md.
inline std::optional<double> gguf_bits(const std::string& type) {
  struct known {
    const char* name;
    double bits;
  };
  constexpr known types[] = {
      {"q2_k_s", 2.9697}, {"q3_k_s", 3.6429}, {"q3_k_m", 3.9960},  {"q3_k_l", 4.2979},
      {"q4_k_s", 4.6672}, {"q4_k_m", 4.8944}, {"q5_k_s", 5.5704},  {"q5_k_m", 5.7036},
      {"iq1_s", 1.5625},  {"iq1_m", 1.75},    {"iq2_xxs", 2.0625}, {"iq2_xs", 2.3125},
      {"iq2_s", 2.5625},  {"iq2_m", 2.9294},  {"iq3_xxs", 3.0625}, {"iq3_xs", 3.4977},
      {"iq3_s", 3.4375},  {"iq3_m", 3.7628},  {"iq4_xs", 4.25},    {"iq4_nl", 4.5},
      {"q2_k", 2.625},    {"q3_k", 3.4375},   {"q4_k", 4.5},       {"q5_k", 5.5},
      {"q6_k", 6.5625},   {"q8_0", 8.5},      {"q4_0", 4.5},       {"q4_1", 5.0},
      {"q5_0", 5.5},      {"q5_1", 6.0},      {"mxfp4", 4.25}};
  const std::string name = lower_case(type);
  for (const known& k : types) {
    if (holds(name, k.name)) return k.bits;
  }
  return {};
}

/// modelopt: by the name of its recipe. Source: TensorRT-LLM, quantization/mode.py.
template <class Json>
storage_format modelopt(const config_fields<Json>& q, const char* key) {
  const bool nested = !q.has(key) && q.has("quantization");
  const std::string algorithm = (nested ? q.object("quantization") : q).text_or(key, "");
  const auto is = [&algorithm](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return algorithm == name; });
  };
  if (is({"FP8", "FP8_PER_CHANNEL_PER_TOKEN"})) return fp8;
  if (is({"FP8_PB_WO", "FP8_BLOCK_SCALES"})) return {fp8, 128 * 128, 32};
  if (is({"NVFP4", "W4A16_NVFP4", "NVFP4_AWQ", "NVFP4_ARC", "W4A8_NVFP4_FP8"})) return {fp4, 16, 8};
  if (algorithm == "MXFP8") return {fp8, 32, 8};
  if (is({"MXFP4", "W4A16_MXFP4", "W4A8_MXFP4_FP8", "W4A8_MXFP4_MXFP8"})) return {fp4, 32, 8};
  if (algorithm.starts_with("W8A8_SQ") || is({"W8A16", "INT8"})) return without_scales(int8);
  if (algorithm == "W4A16") return without_scales(int4);
  if (is({"W4A16_AWQ", "W4A8_AWQ", "W4A16_GPTQ"}))  // GPTQ's have zero points
    return {int4, q.whole_or("group_size", 128, 1, 65536), 16, is({"W4A16_GPTQ"}) ? 4.0 : 0.0};
  q.refuse(key,
           "FP8, FP8_PB_WO, NVFP4, W4A8_NVFP4_FP8, MXFP4, MXFP8, W4A16_AWQ, W4A8_AWQ, "
           "W8A8_SQ_PER_CHANNEL, MIXED_PRECISION");
}

/// compressed-tensors: what one group of settings stores.
template <class Json>
storage_format compressed_group(const config_fields<Json>& group) {
  if (!group.has("weights")) group.refuse("weights", "an object with num_bits and type");
  const auto w = group.object("weights");
  if (w.text_or("type", "int") != "float")
    return integer_groups(w, "num_bits", "group_size", !w.flag_or("symmetric", true));
  const double bits = w.whole("num_bits", 4, 8);
  if (bits != 4 && bits != 8) w.refuse("num_bits", "4 or 8");
  const double size = w.whole_or("group_size", -1, -1, 65536);
  if (w.has_list("block_structure") && w.list("block_structure").size() == 2) {
    const double block = w.whole_entry("block_structure", 0, 1, 65536) *
                         w.whole_entry("block_structure", 1, 1, 65536);
    return {fp8, block, 32};
  }
  const number_format format = bits == 4 ? fp4 : fp8;
  return size < 1 ? without_scales(format) : storage_format(format, size, 8);
}
template <class Json>
storage_format compressed_tensors(const config_fields<Json>& q) {
  if (!q.has("config_groups")) q.refuse("config_groups", "an object with group_0");
  const auto groups = q.object("config_groups");
  if (groups.all().empty()) q.refuse("config_groups", "an object with group_0");
  const std::string first =
      groups.has("group_0") ? std::string("group_0") : groups.all().items().begin().key();
  return compressed_group(groups.object(first.c_str()));
}

/// quark (AMD): dtype and group_size of the weights; a list of two stores the second (int4 under
/// fp8). Scales of e8m0 have 8 bits.
template <class Json>
storage_format quark(const config_fields<Json>& q) {
  const config_fields<Json> all =
      q.has("global_quant_config") ? q.object("global_quant_config") : q;
  if (!all.has("weight")) all.refuse("weight", "an object with dtype");
  const Json& listed = all.at("weight");
  if (listed.is_array() && listed.empty()) all.refuse("weight", "an object with dtype");
  const config_fields<Json> w(listed.is_array() ? listed.at(listed.size() - 1) : listed,
                              all.field("weight"), all.log());
  const auto named = format_called(w.text_or("dtype", ""));
  if (!named) w.refuse("dtype", "fp8_e4m3, fp4, fp6, mx6, int4, uint4, int8");
  storage_format s = *named;
  const double group = w.whole_or("group_size", -1, -1, 65536);
  if (group >= 1) {
    s.group = group;
    s.scale_bits = holds(w.text_or("scale_format", ""), "e8m0") || s.format == fp4 ? 8 : 16;
    s.zero_bits = w.flag_or("symmetric", true) ? 0 : 4;
  }
  return s;
}

/// torchao: by the name of its recipe, at any depth; none where it is not known. Int4 has a bf16
/// scale and zero per group.
template <class Json>
std::optional<storage_format> torchao_named(const Json& recipe) {
  const std::string whole = recipe.dump(), text = lower_case(whole);
  if (holds(text, "nvfp4")) return storage_format(fp4, 16, 8);
  if (holds(text, "mxfp4") || holds(text, "float4")) return storage_format(fp4, 32, 8);
  if (holds(text, "int4")) {
    double group = 128;
    const std::size_t at = whole.find("\"group_size\":");
    if (at != std::string::npos) {
      group = 0;
      for (const char ch : whole.substr(at + 13, 12)) {
        if (ch < '0' || ch > '9') break;
        group = 10 * group + (ch - '0');
      }
    }
    return group < 1 ? without_scales(int4) : storage_format(int4, group, 16, 16);
  }
  if (holds(text, "float8") || holds(text, "fp8")) return storage_format(fp8);
  if (holds(text, "int8")) return without_scales(int8);
  return {};
}
/// torchao's recipes by module (FqnToConfig, ModuleFqnToConfig); null where there are none.
template <class Json>
Json torchao_modules(const Json& q) {
  const Json* at = &q;
  for (const char* key : {"quant_type", "default", "_data"}) {
    if (!at->is_object() || !at->contains(key)) return Json::object();
    at = &at->at(key);
  }
  for (const char* key : {"fqn_to_config", "module_fqn_to_config"}) {
    if (at->is_object() && at->contains(key) && at->at(key).is_object()) return at->at(key);
  }
  return Json::object();
}
template <class Json>
storage_format torchao(const config_fields<Json>& q) {
  const Json modules = torchao_modules(q.all());
  if (!modules.empty() && !modules.contains("_default")) return bf16;
  Json recipe = !modules.empty()      ? modules.at("_default")
                : q.has("quant_type") ? q.at("quant_type")
                                      : Json();
  if (q.has("quant_type_kwargs") && recipe.is_string())  // of older files
    recipe = Json::object({{"name", recipe}, {"data", q.at("quant_type_kwargs")}});
  if (const auto named = torchao_named(recipe)) return *named;
  q.refuse("quant_type", "a recipe of int4, int8, float8, mxfp4 or nvfp4");
}

/// MLX: `bits` with a 16-bit scale and a 16-bit bias per group, or a mode of float formats.
template <class Json>
storage_format mlx(const config_fields<Json>& q) {
  const std::string mode = q.text_or("mode", "affine");
  if (mode != "affine") {
    const auto named = format_called(mode);
    if (!named) q.refuse("mode", "affine, mxfp4, mxfp8, nvfp4");
    return *named;
  }
  const double bits = q.whole("bits", 2, 8);
  storage_format s = integers_of(bits);
  s.group = q.whole_or("group_size", 64, 1, 65536);
  s.scale_bits = s.zero_bits = 16;
  return s;
}

/// A method that is not known by name: `bits` and the size of a group, by any of their names.
template <class Json>
std::optional<storage_format> by_bits(const config_fields<Json>& q) {
  const char* const bits = q.either({"bits", "nbits", "w_bit", "weight_bits", "wbits", "num_bits"});
  if (!q.has(bits) || !q.at(bits).is_number()) return {};
  const double value = q.positive(bits, 16);
  storage_format s = value == 16 ? storage_format(bf16) : integers_of(value);
  const char* const group = q.either({"group_size", "q_group_size", "groupsize", "group"});
  if (q.has(group) && q.at(group).is_number_integer() && q.whole(group, -1, 65536) >= 1) {
    s.group = q.whole(group, -1, 65536);
    s.scale_bits = 16;
  }
  return s;
}

/// 8 bits, or 4 with a scale per 64: 32 bits, or 8 + 32/256 where it is quantised too.
template <class Json>
storage_format bitsandbytes(const config_fields<Json>& q) {
  const bool four = q.flag_or("load_in_4bit", false);
  if (four == q.flag_or("load_in_8bit", false))
    q.refuse("load_in_4bit", "either it or load_in_8bit");
  if (!four) return int8;
  const bool twice = q.flag_or("bnb_4bit_use_double_quant", false);
  return {int4, 64, twice ? 8.0 + 32.0 / 256.0 : 32.0};
}

/// HQQ's zero points are 16-bit floats.
template <class Json>
storage_format hqq(const config_fields<Json>& weights) {
  storage_format s = integer_groups(weights, "nbits", "group_size", true);
  if (s.group) s.zero_bits = 16;
  return s;
}
/// AQLM: codebooks x bits of a code, for a group of weights.
template <class Json>
storage_format aqlm(const config_fields<Json>& q) {
  return integers_of(q.whole("num_codebooks", 1, 64) * q.whole("nbits_per_codebook", 1, 64) /
                     (q.whole("in_group_size", 1, 1024) * q.whole_or("out_group_size", 1, 1, 64)));
}

template <class Json>
storage_format storage_by_method(const config_fields<Json>& q, const std::string& method) {
  if (method == "fp8" || method == "fbgemm_fp8" || method == "ptpc_fp8") {
    if (!q.has("weight_block_size")) return fp8;
    if (q.list("weight_block_size").size() != 2) q.refuse("weight_block_size", "a list of two");
    const double block = q.whole_entry("weight_block_size", 0, 1, 65536) *
                         q.whole_entry("weight_block_size", 1, 1, 65536);
    return {fp8, block, block == 32 ? 8.0 : 32.0};
  }
  if (method == "mxfp8" || method == "mxfp4" || method == "nvfp4" || method == "mxfp6")
    return *format_called(method);
  if (method == "gptq" || method == "gptq_marlin" || method == "auto-gptq" ||
      method == "auto-round" || method == "intel/auto-round" || method == "auto_round") {
    const auto named = format_called(q.text_or("data_type", ""));
    if (named && bits_of(named->format) < 16.0 && named->format != int4 && named->format != int8)
      return *named;
    return integer_groups(q, "bits", "group_size", true);
  }
  if (method == "awq" || method == "awq_marlin") {
    const char* const bits = q.has("w_bit") ? "w_bit" : "bits";
    const char* const group = q.has("q_group_size") ? "q_group_size" : "group_size";
    return integer_groups(q, bits, group, q.flag_or("zero_point", true));
  }
  if (method == "bitsandbytes") return bitsandbytes(q);
  if (method == "compressed-tensors") return compressed_tensors(q);
  if (method.starts_with("modelopt")) return modelopt(q, "quant_algo");
  if (method == "quark") return quark(q);
  if (method == "torchao") return torchao(q);
  if (method == "mlx") return mlx(q);
  if (method == "eetq" || method == "experts_int8") return without_scales(int8);
  if (method == "bitnet") return integers_of(2);
  if (method == "aqlm") return aqlm(q);
  if (method == "quanto" || method == "fp_quant") {
    const char* const key = q.either({"weights", "weights_dtype", "forward_dtype"});
    if (const auto named = format_called(q.text_or(key, ""))) return *named;
  }
  if (method == "gguf") {
    const char* const key = q.either({"quant_type", "gguf_type", "file_type", "type", "format"});
    if (const auto bits = gguf_bits(q.text_or(key, "")))
      return with_value_bits(*bits > 6.0 ? int8 : int4, *bits);
    if (!by_bits(q)) q.refuse(key, "a type such as Q4_K_M, Q6_K, Q8_0, IQ4_XS");
  }
  if (method == "hqq" && q.has("quant_config")) {
    const auto settings = q.object("quant_config");
    if (settings.has("weight_quant_params")) return hqq(settings.object("weight_quant_params"));
  }
  if (q.has("qformat_weight")) {  // params.json of Mistral
    if (const auto named = format_called(q.text_or("qformat_weight", ""))) return *named;
  }
  if (const auto named = by_bits(q)) return *named;
  if (q.has("quant_algo")) return modelopt(q, "quant_algo");
  q.refuse("quant_method",
           "fp8, mxfp4, mxfp8, gptq, awq, bitsandbytes, compressed-tensors, modelopt, quark, "
           "torchao, auto-round, fbgemm_fp8, exl3, gguf, or a method with bits; or give "
           "weight_format");
}

}  // namespace perfmodel::inline v0_3::detail
