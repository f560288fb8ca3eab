// The serving engines whose kernels were measured.
#pragma once

#include <perfmodel/core/entry_of.hpp>

#include <optional>
#include <string_view>

namespace perfmodel {

/// Whose kernels run: `none` is a plain library, which quantises nothing.
enum class engine { none, vllm, sglang, trtllm };

constexpr const char* name_of(engine e) {
  constexpr const char* names[] = {"none", "vllm", "sglang", "trtllm"};
  return detail::entry_of(names, e, "engine");
}

/// The engine of a name; tensorrt_llm is another name of trtllm.
constexpr std::optional<engine> find_engine(std::string_view name) {
  for (const engine e : {engine::none, engine::vllm, engine::sglang, engine::trtllm}) {
    if (name == name_of(e)) return e;
  }
  if (name == "tensorrt_llm") return engine::trtllm;
  return std::nullopt;
}

}  // namespace perfmodel
