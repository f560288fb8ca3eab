// Model names as people write them: Qwen/Qwen3-32B, meta-llama/Llama-3.1-70B-Instruct, qwen_3_32b.
#pragma once

#include <optional>
#include <perfmodel/hardware/number_format.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

/// Catalogue names that begin with the parts of a name: qwen_3_5_397b_a17b of Qwen3.5-397B. A
/// following version is another model: minimax_m2_5 is not MiniMax-M2.
std::vector<std::string_view> names_with_prefix(std::string_view name);

/// The catalogue name of a hub name: without its organization, in any case, with any of '-', '.',
/// '_' and ' ' between its parts, and without parts that change no shape (Instruct, a date). ""
/// where the catalogue has none.
std::string catalogue_name(std::string_view name);

/// The catalogue name of a quantised checkpoint, without its suffix (-FP8, -FP8-dynamic, -AWQ,
/// -GPTQ-Int4, -NVFP4, -INT8), and the format that the suffix names.
struct quantised_name {
  std::string name{};
  perfmodel::number_format format = perfmodel::fp8;
};
/// None for a name without such a suffix, or of an unknown model.
std::optional<quantised_name> without_format(std::string_view name);

/// Suggestions for an unknown name: models of the same family, nearest in size first.
std::string relatives_of(std::string_view name);

}  // namespace napkin
