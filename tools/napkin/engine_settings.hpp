// Settings of engines that are no key of napkin, or stand for one: releases, GGUF types, options.
#pragma once

#include <optional>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/model/transformer.hpp>
#include <string>
#include <string_view>

namespace napkin {

/// The engine_version with the defaults of a release: vllm-0.10 for 0.11.2 and v0.11, sglang-0.5.10
/// for sglang-0.5.6. Nothing for a text that is no release. Throws unknown_name for releases before
/// vLLM 0.8, SGLang 0.4.7 and TensorRT-LLM 1.0.
std::optional<std::string_view> version_of_release(std::string_view text);

/// Number of a release: 0.5.6 of sglang-0.5.6 and v0.5.6; nothing for a text without one.
std::optional<perfmodel::release_number> release_number_of(std::string_view text);

/// Names of the latest releases, by engine.
inline constexpr const char* latest_of_vllm = "vllm-0.28";
inline constexpr const char* latest_of_sglang = "sglang-0.5.14";

/// Release with the defaults of a value of engine_version.
perfmodel::engine_release release_of(std::string_view version);
/// Engine of a value of engine_version; nothing for `latest`, which each has.
std::optional<perfmodel::engine> engine_of_version(std::string_view version);

/// Storage of a GGUF type: Q4_K_M has 4.89 bits. Nothing for any other text.
std::optional<perfmodel::storage_format> gguf_storage(std::string_view text);

/// Weights in a GGUF type. The head has 6 bits (Q6_K) in files of fewer, the embedding the type's
/// own; a table that is both is a head. The layers have the rest of a mixture's bits.
/// Source: llama.cpp, src/llama-quant.cpp, llama_tensor_get_type. Nothing for any other text.
std::optional<perfmodel::weight_storage> gguf_weights(std::string_view text, bool tied_embeddings);

/// Why an option of an engine is no key, and what to give instead; "" for an unknown option.
std::string_view reason_without_key(std::string_view option);

}  // namespace napkin
