// How a Hugging Face checkpoint stores its weights: "torch_dtype" and "quantization_config".
#pragma once

#include <perfmodel/workload/config/config_fields.hpp>
#include <perfmodel/workload/model/parameters.hpp>

namespace perfmodel {

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
/// weight. A group of -1 is a whole row, whose scale weighs less than a hundredth of a bit.
template <class Json>
storage_format integer_groups(const config_fields<Json>& q, const char* bits_key,
                              const char* group_key, bool zero_points) {
  const double bits = q.whole(bits_key, 4, 8);
  if (bits != 4 && bits != 8) q.refuse(bits_key, "4 or 8");
  const double group = q.whole_or(group_key, -1, -1, 65536);
  const number_format format = bits == 4 ? int4 : int8;
  if (group < 1) return format;
  return {format, group, 16, zero_points ? bits : 0};
}

/// compressed-tensors: one group of settings, as vLLM's llm-compressor writes it.
template <class Json>
storage_format compressed_tensors(const config_fields<Json>& q) {
  if (!q.has("config_groups")) q.refuse("config_groups", "an object with group_0");
  const auto groups = q.object("config_groups");
  if (!groups.has("group_0") || groups.has("group_1"))
    q.refuse("config_groups", "one group, group_0");
  const auto group = groups.object("group_0");
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
  return size < 1 ? storage_format(format) : storage_format(format, size, 8);
}

}  // namespace detail

/// Storage from the quantization_config of a config.json:
///   fp8                 8 bits; with weight_block_size [a, b] a 32-bit scale per a x b block
///   mxfp4               the experts alone: 4 bits and an 8-bit scale per 32 (OCP MX 1.0, section
///   5) gptq, awq           int4 or int8, a 16-bit scale and a zero point per group_size
///   bitsandbytes        8 bits, or 4 bits and a scale per 64: 32 bits, or 8 + 32/256 when
///   quantised
///                       twice (QLoRA, arXiv 2305.14314, section 3)
///   compressed-tensors  one group of settings;  modelopt  FP8, or NVFP4 with an 8-bit scale per 16
/// Embeddings, head, norms, biases and routers stay in the dtype. Leaves out:
/// modules_to_not_convert beyond those, per-tensor scales, GPTQ's column order (g_idx), outliers
/// kept at 16 bits. Errors: invalid_config. Tests: bits per weight of each method;
/// DeepSeek-V3 8.001953125, gpt-oss 4.25 in experts and 16 elsewhere.
template <class Json>
weight_storage storage_from_config(const config_fields<Json>& own, const config_fields<Json>& root,
                                   bool has_experts) {
  const number_format dtype = detail::config_dtype(own, root);
  const auto* where = own.has("quantization_config") ? &own : &root;
  if (!where->has("quantization_config")) return {storage_format(dtype), dtype};
  const config_fields<Json> q = where->object("quantization_config");
  const char* const methods = "fp8, mxfp4, gptq, awq, bitsandbytes, compressed-tensors, modelopt";
  const number_format others = dtype == fp8 ? bf16 : dtype;
  const std::string method = q.text_or("quant_method", "");
  if (method == "fp8") {
    if (!q.has("weight_block_size")) return {storage_format(fp8), others};
    if (q.list("weight_block_size").size() != 2) q.refuse("weight_block_size", "a list of two");
    const double block = q.whole_entry("weight_block_size", 0, 1, 65536) *
                         q.whole_entry("weight_block_size", 1, 1, 65536);
    return {storage_format(fp8, block, 32), others};
  }
  if (method == "mxfp4") {
    if (!has_experts) q.refuse("quant_method", "mxfp4 only where there are experts to store in it");
    return {storage_format(others), storage_format(fp4, 32, 8), others};
  }
  if (method == "gptq") return {detail::integer_groups(q, "bits", "group_size", true), others};
  if (method == "awq") {
    const char* const bits = q.has("w_bit") ? "w_bit" : "bits";
    const char* const group = q.has("q_group_size") ? "q_group_size" : "group_size";
    return {detail::integer_groups(q, bits, group, q.flag_or("zero_point", true)), others};
  }
  if (method == "bitsandbytes") {
    const bool four = q.flag_or("load_in_4bit", false);
    if (four == q.flag_or("load_in_8bit", false))
      q.refuse("load_in_4bit", "either it or load_in_8bit");
    if (!four) return {storage_format(int8), others};
    const bool twice = q.flag_or("bnb_4bit_use_double_quant", false);
    return {storage_format(int4, 64, twice ? 8.0 + 32.0 / 256.0 : 32.0), others};
  }
  if (method == "compressed-tensors") return {detail::compressed_tensors(q), others};
  if (method == "modelopt") {
    const std::string algorithm = q.text_or("quant_algo", "");
    if (algorithm == "FP8") return {storage_format(fp8), others};
    if (algorithm == "NVFP4") return {storage_format(fp4, 16, 8), others};
    q.refuse("quant_algo", "FP8, NVFP4");
  }
  q.refuse("quant_method", methods);
}

}  // namespace perfmodel
