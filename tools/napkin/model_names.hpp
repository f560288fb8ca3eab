// Names of models as people write them: Qwen/Qwen3-32B, meta-llama/Llama-3.1-70B-Instruct, qwen_3_32b.
#pragma once

#include <string>
#include <string_view>

namespace napkin {

/// The catalogue's name for one as a hub writes it: without its maker, in any case, with any of
/// '-', '.', '_' and ' ' between its parts, and without what changes no shape (Instruct, a date).
/// "" where the catalogue has none.
std::string catalogue_name(std::string_view name);

/// What to say of a name that the catalogue does not have: models of the same family, nearest in
/// size first.
std::string relatives_of(std::string_view name);

}  // namespace napkin
