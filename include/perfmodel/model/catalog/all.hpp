// Models of the catalogue by name, with the sources of their shapes and published sizes.
#pragma once

#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/model/catalog/deepseek.hpp>
#include <perfmodel/model/catalog/gemma_mistral_phi.hpp>
#include <perfmodel/model/catalog/glm.hpp>
#include <perfmodel/model/catalog/gpt_oss.hpp>
#include <perfmodel/model/catalog/kimi.hpp>
#include <perfmodel/model/catalog/llama.hpp>
#include <perfmodel/model/catalog/minimax.hpp>
#include <perfmodel/model/catalog/nemotron.hpp>
#include <perfmodel/model/catalog/qwen.hpp>

namespace perfmodel::inline v0_3::catalog {

/// Row of `models`. `published_parameters` is a published count of the language model's parameters.
/// `how` is the basis of the shapes: vendor where the maker's own config.json (or a copy of it) was
/// read, derived where several sources were combined.
struct model_entry {
  const transformer* model;
  const char* key;
  const char* source;
  double published_parameters;
  basis how;
};

// clang-format off
inline constexpr model_entry models[] = {
    {&llama_2_7b, "llama_2_7b", "shapes: copy of meta-llama/Llama-2-7b-hf config.json; parameters: KerasHub preset metadata", 6738415616, basis::vendor},
    {&llama_2_70b, "llama_2_70b", "shapes: copy of meta-llama/Llama-2-70b-hf config.json; parameters: public training logs of the same model", 68976648192, basis::vendor},
    {&llama_3_8b, "llama_3_8b", "shapes: copy of meta-llama/Meta-Llama-3-8B config.json; parameters: KerasHub preset metadata", 8030261248, basis::vendor},
    {&llama_3_70b, "llama_3_70b", "shapes: copy of meta-llama/Meta-Llama-3-70B config.json; parameters: Hugging Face, safetensors total of Llama-3.1-70B, which has the same shapes", 70553706496, basis::vendor},
    {&llama_3_1_8b, "llama_3_1_8b", "shapes: copy of meta-llama/Llama-3.1-8B config.json; parameters: Hugging Face, safetensors total", 8030261248, basis::vendor},
    {&llama_3_1_70b, "llama_3_1_70b", "shapes: copy of meta-llama/Llama-3.1-70B-Instruct config.json; parameters: Hugging Face, safetensors total", 70553706496, basis::vendor},
    {&llama_3_1_405b, "llama_3_1_405b", "shapes: litgpt config.py, which cites the maker's config.json; parameters: Hugging Face, safetensors total", 405853388800, basis::derived},
    {&llama_3_2_1b, "llama_3_2_1b", "shapes: copy of meta-llama/Llama-3.2-1B-Instruct config.json; parameters: Hugging Face, safetensors total", 1235814400, basis::vendor},
    {&qwen_2_5_3b, "qwen_2_5_3b", "shapes: copy of Qwen/Qwen2.5-3B config.json; parameters: Hugging Face, safetensors total", 3085938688, basis::vendor},
    {&qwen_2_5_7b, "qwen_2_5_7b", "shapes: copy of Qwen/Qwen2.5-7B config.json; parameters: Hugging Face, safetensors total", 7615616512, basis::vendor},
    {&qwen_2_5_32b, "qwen_2_5_32b", "shapes: copy of Qwen/Qwen2.5-32B config.json; parameters: KerasHub preset metadata", 32763876352, basis::vendor},
    {&qwen_3_8b, "qwen_3_8b", "shapes: copy of Qwen/Qwen3-8B config.json; parameters: Hugging Face, safetensors total", 8190735360, basis::vendor},
    {&qwen_3_32b, "qwen_3_32b", "shapes: copy of Qwen/Qwen3-32B config.json; parameters: Hugging Face, safetensors total", 32762123264, basis::vendor},
    {&qwen_3_30b_a3b, "qwen_3_30b_a3b", "shapes: copy of Qwen/Qwen3-30B-A3B config.json; parameters: Hugging Face, safetensors total", 30532122624, basis::vendor},
    {&qwen_3_235b_a22b, "qwen_3_235b_a22b", "shapes: copy of Qwen/Qwen3-235B-A22B config.json; parameters: Hugging Face, safetensors total", 235093634560, basis::vendor},
    {&mistral_7b, "mistral_7b", "shapes: copy of mistralai/Mistral-7B-Instruct-v0.3 config.json; parameters: Hugging Face, safetensors total of v0.3", 7248023552, basis::vendor},
    {&mistral_7b_v0_1, "mistral_7b_v0_1", "shapes: copy of mistralai/Mistral-7B-v0.1 config.json; parameters: Hugging Face, safetensors total", 7241732096, basis::vendor},
    {&mistral_small_3_24b, "mistral_small_3_24b", "shapes: litgpt config.py for mistralai/Mistral-Small-24B-Base-2501; parameters: KerasHub preset metadata of the same shapes", 23572403200, basis::derived},
    {&mixtral_8x7b, "mixtral_8x7b", "shapes: copy of mistralai/Mixtral-8x7B-v0.1 config.json; parameters: Hugging Face, safetensors total", 46702792704, basis::vendor},
    {&gemma_3_1b, "gemma_3_1b", "shapes: litgpt config.py and a public test's copy of google/gemma-3-1b config.json; parameters: Hugging Face, safetensors total", 999885952, basis::derived},
    {&gemma_3_4b, "gemma_3_4b", "shapes: copy of google/gemma-3-4b config.json, defaults of transformers' Gemma3TextConfig; parameters: KerasHub preset metadata, text part, 64 rows of vocabulary fewer", 3880099328, basis::vendor},
    {&gemma_3_12b, "gemma_3_12b", "shapes: copy of google/gemma-3-12b config.json, defaults of transformers' Gemma3TextConfig; parameters: KerasHub preset metadata, text part, 64 rows of vocabulary fewer", 11765788416, basis::vendor},
    {&gemma_3_27b, "gemma_3_27b", "shapes: partial copy of google/gemma-3-27b config.json; parameters: KerasHub preset metadata, text part, 64 rows of vocabulary fewer", 27009002240, basis::derived},
    {&gpt_oss_20b, "gpt_oss_20b", "shapes: copy of openai/gpt-oss-20b config.json; parameters: Hugging Face, safetensors total (model card: 20.9e9, 3.6e9 active)", 20914757184, basis::vendor},
    {&gpt_oss_120b, "gpt_oss_120b", "shapes: a public test's copy of openai/gpt-oss-120b config.json; parameters: Hugging Face, safetensors total (model card: 116.8e9, 5.1e9 active)", 116829156672, basis::vendor},
    {&deepseek_v3, "deepseek_v3", "shapes: copy of deepseek-ai/DeepSeek-V3 config.json; parameters: public audit of the checkpoint's headers, main model (README_WEIGHTS: 671e9, 36.6e9 active)", 671026419200, basis::vendor},
    {&deepseek_r1, "deepseek_r1", "shapes: those of DeepSeek-V3; its checkpoint has the same totals by type; parameters: as DeepSeek-V3", 671026419200, basis::derived},
    {&deepseek_v2_lite, "deepseek_v2_lite", "shapes: copy of deepseek-ai/DeepSeek-V2-Lite config.json; parameters: Hugging Face, safetensors total", 15706484224, basis::vendor},
    {&phi_3_mini, "phi_3_mini", "shapes: copy of microsoft/Phi-3-mini-4k-instruct config.json; parameters: Hugging Face, safetensors total", 3821079552, basis::vendor},
    {&phi_4, "phi_4", "shapes: copy of microsoft/phi-4 config.json; parameters: Hugging Face, safetensors total", 14659507200, basis::vendor},
    {&phi_3_5_moe, "phi_3_5_moe", "shapes: public article listing microsoft/Phi-3.5-MoE-instruct config.json; parameters: the same article, three digits", 41.9e9, basis::vendor},
    {&mixtral_8x22b, "mixtral_8x22b", "shapes: mistralai/Mixtral-8x22B-v0.1 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: Mistral AI, 141e9 in all, 39e9 active", 141e9, basis::vendor},
    {&deepseek_v3_2, "deepseek_v3_2", "shapes: deepseek-ai/DeepSeek-V3.2 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 671e9 and 37e9 active, without the indexers", 671e9, basis::vendor},
    {&deepseek_v4_flash, "deepseek_v4_flash", "shapes: deepseek-ai/DeepSeek-V4-Flash config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 284e9 and 13e9 active", 284e9, basis::vendor},
    {&kimi_k2, "kimi_k2", "shapes: moonshotai/Kimi-K2-Instruct config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 1.03e12 and 32e9 active", 1.03e12, basis::vendor},
    {&kimi_k2_5, "kimi_k2_5", "shapes: moonshotai/Kimi-K2.5 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: those of Kimi-K2", 1.03e12, basis::vendor},
    {&kimi_k3, "kimi_k3", "shapes: moonshotai/Kimi-K3 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: its name in the press, 2.8e12", 2.8e12, basis::vendor},
    {&glm_5, "glm_5", "shapes: zai-org/GLM-5 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 744e9 and 40e9 active", 744e9, basis::vendor},
    {&glm_5_2, "glm_5_2", "shapes: zai-org/GLM-5.2-FP8 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: those of GLM-5", 744e9, basis::vendor},
    {&minimax_m2_5, "minimax_m2_5", "shapes: MiniMaxAI/MiniMax-M2.5 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 230e9 and 10e9 active", 230e9, basis::vendor},
    {&minimax_m3, "minimax_m3", "shapes: MiniMaxAI/MiniMax-M3 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: half of the 854 GB that a third party notes for the bf16 checkpoint", 427e9, basis::vendor},
    {&mimo_v2_flash, "mimo_v2_flash", "shapes: XiaomiMiMo/MiMo-V2-Flash config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 309e9 and 15e9 active", 309e9, basis::vendor},
    {&llama_4_scout, "llama_4_scout", "shapes: meta-llama/Llama-4-Scout-17B-16E-Instruct config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 109e9 and 17e9 active, the vision tower included", 109e9, basis::vendor},
    {&gemma_4_26b_a4b, "gemma_4_26b_a4b", "shapes: google/gemma-4-26B-A4B config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 25.2e9 and 3.8e9 active", 25.2e9, basis::vendor},
    {&nemotron_3_nano_30b_a3b, "nemotron_3_nano_30b_a3b", "shapes: nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 31.6e9 and 3.6e9 active", 31.6e9, basis::vendor},
    {&nemotron_3_super_120b_a12b, "nemotron_3_super_120b_a12b", "shapes: nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 120.6e9 and 12.7e9 active", 120.6e9, basis::vendor},
    {&nemotron_h_56b, "nemotron_h_56b", "shapes: nvidia/Nemotron-H-56B-Base-8K config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: its name", 56e9, basis::vendor},
    {&llama_3_3_nemotron_super_49b, "llama_3_3_nemotron_super_49b", "shapes: nvidia/Llama-3_3-Nemotron-Super-49B-v1 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: model card, 49.9e9", 49.9e9, basis::vendor},
    {&qwen_3_5_27b, "qwen_3_5_27b", "shapes: Qwen/Qwen3.5-27B config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: its name", 27e9, basis::vendor},
    {&qwen_3_5_397b_a17b, "qwen_3_5_397b_a17b", "shapes: Qwen/Qwen3.5-397B-A17B config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: its name, 397e9 and 17e9 active", 397e9, basis::vendor},
    {&qwen_3_vl_8b, "qwen_3_vl_8b", "shapes: Qwen/Qwen3-VL-8B-Instruct config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: those of Qwen3-8B", 8190735360, basis::vendor},
    {&qwen_3_vl_30b_a3b, "qwen_3_vl_30b_a3b", "shapes: Qwen/Qwen3-VL-30B-A3B-Instruct config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: those of Qwen3-30B-A3B", 30532122624, basis::vendor},
    {&llama_3_2_3b, "llama_3_2_3b", "shapes: fields of meta-llama/Llama-3.2-3B config.json; parameters: Hugging Face, safetensors total", 3212749824, basis::derived},
    {&llama_3_3_70b, "llama_3_3_70b", "shapes: meta-llama/Llama-3.3-70B-Instruct config.json as kept in ai-dynamo/aiconfigurator; parameters: Hugging Face, safetensors total", 70553706496, basis::vendor},
    {&qwen_2_5_72b, "qwen_2_5_72b", "shapes: fields of Qwen/Qwen2.5-72B config.json in public code; parameters: model card, 72.7e9", 72.7e9, basis::derived},
    {&qwen_3_1_7b, "qwen_3_1_7b", "shapes: fields of Qwen/Qwen3-1.7B config.json in public code; parameters: model card, 1.7e9, 1.4e9 without the embedding", 1.72e9, basis::derived},
    {&qwen_3_4b, "qwen_3_4b", "shapes: fields of Qwen/Qwen3-4B config.json in public code; parameters: Hugging Face, safetensors total", 4022468096, basis::derived},
    {&qwen_3_14b, "qwen_3_14b", "shapes: fields of Qwen/Qwen3-14B config.json; parameters: model card, 14.8e9", 14.8e9, basis::derived},
    {&qwen_3_30b_a3b_2507, "qwen_3_30b_a3b_2507", "shapes: those of Qwen3-30B-A3B, context of vllm-project/recipes; parameters: those of Qwen3-30B-A3B", 30532122624, basis::derived},
    {&qwen_3_235b_a22b_2507, "qwen_3_235b_a22b_2507", "shapes: those of Qwen3-235B-A22B, context of vllm-project/recipes; parameters: those of Qwen3-235B-A22B", 235093634560, basis::derived},
    {&qwen_3_coder_480b_a35b, "qwen_3_coder_480b_a35b", "shapes: fields of Qwen/Qwen3-Coder-480B-A35B-Instruct config.json in public code; parameters: its name, 480e9 and 35e9 active", 480e9, basis::derived},
    {&qwen_3_next_80b_a3b, "qwen_3_next_80b_a3b", "shapes: copy of Qwen/Qwen3-Next-80B-A3B-Instruct config.json; parameters: tensors of the checkpoint without its prediction layer", 79674391296, basis::vendor},
    {&qwen_3_6_35b_a3b, "qwen_3_6_35b_a3b", "shapes: nvidia/Qwen3.6-35B-A3B-NVFP4 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: its name, 35e9 with the tower of 0.45e9", 34.55e9, basis::vendor},
    {&deepseek_v3_1, "deepseek_v3_1", "shapes: nvidia/DeepSeek-V3.1-NVFP4 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: those of DeepSeek-V3", 671026419200, basis::vendor},
    {&kimi_k2_thinking, "kimi_k2_thinking", "shapes: moonshotai/Kimi-K2-Thinking config.json as kept in ai-dynamo/aiconfigurator; parameters: those of Kimi-K2", 1.03e12, basis::vendor},
    {&kimi_k2_6, "kimi_k2_6", "shapes: nvidia/Kimi-K2.6-NVFP4 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: those of Kimi-K2", 1.03e12, basis::vendor},
    {&kimi_linear_48b_a3b, "kimi_linear_48b_a3b", "shapes: copy of moonshotai/Kimi-Linear-48B-A3B-Instruct config.json; parameters: tensors of the checkpoint", 49122681728, basis::vendor},
    {&glm_5_1, "glm_5_1", "shapes: copy of zai-org/GLM-5.1 config.json in a quantised copy; parameters: those of GLM-5", 744e9, basis::vendor},
    {&glm_4_7, "glm_4_7", "shapes: zai-org/GLM-4.7-FP8 config.json as kept in ai-dynamo/aiconfigurator, bias and norms of GLM-4.5's; parameters: 358e9 of the checkpoint less a prediction layer", 353e9, basis::derived},
    {&glm_4_6, "glm_4_6", "shapes: those of GLM-4.7, the same class and sizes; parameters: card, 355e9 and 32e9 active, with a part of the prediction layer", 353e9, basis::derived},
    {&minimax_m2_7, "minimax_m2_7", "shapes: those of MiniMax-M2.5, as MaxText's conversion has them; parameters: card of M2, 230e9 and 10e9 active", 230e9, basis::derived},
    {&glm_4_7_flash, "glm_4_7_flash", "shapes: copy of zai-org/GLM-4.7-Flash config.json; parameters: 31221488576 of the checkpoint less its prediction layer", 29943393920, basis::vendor},
    {&devstral_2_123b, "devstral_2_123b", "shapes: copy of mistralai/Devstral-2-123B-Instruct-2512 config.json; parameters: tensors of the checkpoint", 125025988608, basis::vendor},
    {&command_a, "command_a", "shapes: fields of CohereLabs/c4ai-command-a-03-2025 config.json; parameters: Hugging Face, safetensors total", 111057580032, basis::vendor},
    {&exaone_4_32b, "exaone_4_32b", "shapes: copy of LGAI-EXAONE/EXAONE-4.0-32B config.json; parameters: tensors of the checkpoint", 32003216384, basis::vendor},
    {&hunyuan_a13b, "hunyuan_a13b", "shapes: fields of tencent/Hunyuan-A13B-Instruct config.json; parameters: Hugging Face, safetensors total (card: 80e9, 13e9 active)", 80393183232, basis::vendor},
    {&mimo_v2_5_pro, "mimo_v2_5_pro", "shapes: copy of XiaomiMiMo/MiMo-V2.5-Pro config.json; parameters: card, 1.02e12 and 42e9 active", 1021.2e9, basis::vendor},
    {&step_3_7_flash, "step_3_7_flash", "shapes: stepfun-ai/Step-3.7-Flash-FP8 config.json as kept in ai-dynamo/aiconfigurator 095f58a5; parameters: vllm-project/recipes, 198e9 with its tower of 2e9, and 11e9 active", 196e9, basis::vendor},
    {&longcat_flash, "longcat_flash", "shapes: meituan-longcat/LongCat-Flash-Chat config.json; parameters: arXiv 2509.01322, 560e9 and 27e9 active on average", 560e9, basis::vendor},
    {&granite_4_h_small, "granite_4_h_small", "shapes: fields of ibm-granite/granite-4.0-h-small config.json; parameters: Hugging Face, safetensors total (card: 32e9, 9e9 active)", 32207337984, basis::vendor},
};
// clang-format on

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

}  // namespace perfmodel::inline v0_3::catalog
