// Every model of the catalogue, by name, with where its shapes and its published size were read.
#pragma once

#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/workload/catalog/deepseek.hpp>
#include <perfmodel/workload/catalog/gemma.hpp>
#include <perfmodel/workload/catalog/gpt_oss.hpp>
#include <perfmodel/workload/catalog/llama.hpp>
#include <perfmodel/workload/catalog/mistral.hpp>
#include <perfmodel/workload/catalog/phi.hpp>
#include <perfmodel/workload/catalog/qwen.hpp>

namespace perfmodel::catalog {

/// One row of `models`. `published_parameters` is somebody else's count of the language model's
/// parameters; `how` is the basis of the shapes: vendor where the maker's own config.json was read
/// (or a copy of it), derived where it was put together from sources that the text names.
struct model_entry {
  const transformer* model;
  const char* key;
  const char* source;
  double published_parameters;
  basis how;
};

inline constexpr model_entry models[] = {
    {&llama_2_7b, "llama_2_7b",
     "shapes: copy of meta-llama/Llama-2-7b-hf config.json; parameters: KerasHub preset metadata",
     6738415616, basis::vendor},
    {&llama_2_70b, "llama_2_70b",
     "shapes: copy of meta-llama/Llama-2-70b-hf config.json; parameters: public training logs of "
     "the same model",
     68976648192, basis::vendor},
    {&llama_3_8b, "llama_3_8b",
     "shapes: copy of meta-llama/Meta-Llama-3-8B config.json; parameters: KerasHub preset metadata",
     8030261248, basis::vendor},
    {&llama_3_70b, "llama_3_70b",
     "shapes: copy of meta-llama/Meta-Llama-3-70B config.json; parameters: Hugging Face, "
     "safetensors total of "
     "Llama-3.1-70B, which has the same shapes",
     70553706496, basis::vendor},
    {&llama_3_1_8b, "llama_3_1_8b",
     "shapes: copy of meta-llama/Llama-3.1-8B config.json; parameters: Hugging Face, safetensors "
     "total",
     8030261248, basis::vendor},
    {&llama_3_1_70b, "llama_3_1_70b",
     "shapes: copy of meta-llama/Llama-3.1-70B-Instruct config.json; parameters: Hugging Face, "
     "safetensors total",
     70553706496, basis::vendor},
    {&llama_3_1_405b, "llama_3_1_405b",
     "shapes: litgpt config.py, which cites the maker's config.json; parameters: Hugging Face, "
     "safetensors total",
     405853388800, basis::derived},
    {&llama_3_2_1b, "llama_3_2_1b",
     "shapes: copy of meta-llama/Llama-3.2-1B-Instruct config.json; parameters: Hugging Face, "
     "safetensors total",
     1235814400, basis::vendor},
    {&qwen_2_5_3b, "qwen_2_5_3b",
     "shapes: copy of Qwen/Qwen2.5-3B config.json; parameters: Hugging Face, safetensors total",
     3085938688, basis::vendor},
    {&qwen_2_5_7b, "qwen_2_5_7b",
     "shapes: copy of Qwen/Qwen2.5-7B config.json; parameters: Hugging Face, safetensors total",
     7615616512, basis::vendor},
    {&qwen_2_5_32b, "qwen_2_5_32b",
     "shapes: copy of Qwen/Qwen2.5-32B config.json; parameters: KerasHub preset metadata",
     32763876352, basis::vendor},
    {&qwen_3_8b, "qwen_3_8b",
     "shapes: copy of Qwen/Qwen3-8B config.json; parameters: Hugging Face, safetensors total",
     8190735360, basis::vendor},
    {&qwen_3_32b, "qwen_3_32b",
     "shapes: copy of Qwen/Qwen3-32B config.json; parameters: Hugging Face, safetensors total",
     32762123264, basis::vendor},
    {&qwen_3_30b_a3b, "qwen_3_30b_a3b",
     "shapes: copy of Qwen/Qwen3-30B-A3B config.json; parameters: Hugging Face, safetensors total",
     30532122624, basis::vendor},
    {&qwen_3_235b_a22b, "qwen_3_235b_a22b",
     "shapes: copy of Qwen/Qwen3-235B-A22B config.json; parameters: Hugging Face, safetensors "
     "total",
     235093634560, basis::vendor},
    {&mistral_7b, "mistral_7b",
     "shapes: copy of mistralai/Mistral-7B-Instruct-v0.3 config.json; parameters: Hugging Face, "
     "safetensors total of "
     "v0.3",
     7248023552, basis::vendor},
    {&mistral_7b_v0_1, "mistral_7b_v0_1",
     "shapes: copies of mistralai/Mistral-7B-v0.1 config.json; parameters: Hugging Face, "
     "safetensors total",
     7241732096, basis::vendor},
    {&mistral_small_3_24b, "mistral_small_3_24b",
     "shapes: litgpt config.py for mistralai/Mistral-Small-24B-Base-2501; parameters: KerasHub "
     "preset metadata of the "
     "same shapes",
     23572403200, basis::derived},
    {&mixtral_8x7b, "mixtral_8x7b",
     "shapes: copy of mistralai/Mixtral-8x7B-v0.1 config.json; parameters: Hugging Face, "
     "safetensors total",
     46702792704, basis::vendor},
    {&gemma_3_1b, "gemma_3_1b",
     "shapes: litgpt config.py and a public test's copy of google/gemma-3-1b config.json; "
     "parameters: Hugging Face, "
     "safetensors total",
     999885952, basis::derived},
    {&gemma_3_4b, "gemma_3_4b",
     "shapes: copy of google/gemma-3-4b config.json, defaults of transformers' Gemma3TextConfig; "
     "parameters: KerasHub "
     "preset metadata, text part, 64 rows of vocabulary fewer",
     3880099328, basis::vendor},
    {&gemma_3_12b, "gemma_3_12b",
     "shapes: copy of google/gemma-3-12b config.json, defaults of transformers' Gemma3TextConfig; "
     "parameters: KerasHub "
     "preset metadata, text part, 64 rows of vocabulary fewer",
     11765788416, basis::vendor},
    {&gemma_3_27b, "gemma_3_27b",
     "shapes: two partial copies of google/gemma-3-27b config.json; parameters: KerasHub preset "
     "metadata, text part, 64 "
     "rows of vocabulary fewer",
     27009002240, basis::derived},
    {&gpt_oss_20b, "gpt_oss_20b",
     "shapes: copy of openai/gpt-oss-20b config.json; parameters: Hugging Face, safetensors total "
     "(model card: 20.9e9, "
     "3.6e9 active)",
     20914757184, basis::vendor},
    {&gpt_oss_120b, "gpt_oss_120b",
     "shapes: a public test's copy of openai/gpt-oss-120b config.json; parameters: Hugging Face, "
     "safetensors total "
     "(model card: 116.8e9, 5.1e9 active)",
     116829156672, basis::vendor},
    {&deepseek_v3, "deepseek_v3",
     "shapes: copy of deepseek-ai/DeepSeek-V3 config.json; parameters: public audit of the "
     "checkpoint's headers, main "
     "model (README_WEIGHTS: 671e9, 36.6e9 active)",
     671026419200, basis::vendor},
    {&deepseek_r1, "deepseek_r1",
     "shapes: those of DeepSeek-V3, whose checkpoint has the same totals by type; parameters: as "
     "DeepSeek-V3",
     671026419200, basis::derived},
    {&deepseek_v2_lite, "deepseek_v2_lite",
     "shapes: two public copies of deepseek-ai/DeepSeek-V2-Lite config.json; parameters: Hugging "
     "Face, safetensors "
     "total",
     15706484224, basis::vendor},
    {&phi_3_mini, "phi_3_mini",
     "shapes: copies of microsoft/Phi-3-mini-4k-instruct config.json; parameters: Hugging Face, "
     "safetensors total",
     3821079552, basis::vendor},
    {&phi_4, "phi_4",
     "shapes: copy of microsoft/phi-4 config.json; parameters: Hugging Face, safetensors total",
     14659507200, basis::vendor},
    {&phi_3_5_moe, "phi_3_5_moe",
     "shapes: public article listing microsoft/Phi-3.5-MoE-instruct config.json; parameters: the "
     "same article, three "
     "digits",
     41.9e9, basis::vendor},
};

/// The row of that name, or null. Test: every name of the tool's interface is found, "" is not.
constexpr const model_entry* find_model_entry(std::string_view key) {
  for (const model_entry& entry : models) {
    if (key == entry.key) return &entry;
  }
  return nullptr;
}

/// The model of that name, or null.
constexpr const transformer* find_model(std::string_view key) {
  const model_entry* entry = find_model_entry(key);
  return entry == nullptr ? nullptr : entry->model;
}

}  // namespace perfmodel::catalog
