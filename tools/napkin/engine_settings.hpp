// Settings of engines that are no key of napkin, or stand for one: releases, GGUF types, options.
#pragma once

#include <optional>
#include <perfmodel/hardware/number_format.hpp>
#include <string>
#include <string_view>

namespace napkin {

/// The engine_version with the defaults of a release: vllm-0.10 for 0.11.2 and v0.11, sglang-0.5.10
/// for sglang-0.5.6. Nothing for a text that is no release. Throws unknown_name for releases before
/// vLLM 0.8, SGLang 0.4.7 and TensorRT-LLM 1.0.
std::optional<std::string_view> version_of_release(std::string_view text);

/// Storage of a GGUF type: Q4_K_M has 4.89 bits. Nothing for any other text.
std::optional<perfmodel::storage_format> gguf_storage(std::string_view text);

/// Why an option of an engine is no key, and what to give instead; "" for an unknown option.
std::string_view reason_without_key(std::string_view option);

}  // namespace napkin
