// Places in memory, a cache line each, that lead from one to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "large_pages.hpp"

namespace perfmodel::validation {

inline constexpr std::size_t line_bytes = 64;
struct alignas(line_bytes) chain_place {
  const chain_place* next;
};
using chain_of_places = std::vector<chain_place, large_page_allocator<chain_place>>;

/// Place i leads to place next[i].
inline std::shared_ptr<const chain_of_places> lay_out(const std::vector<std::uint32_t>& next) {
  const auto out = std::make_shared<chain_of_places>(next.size());
  for (std::size_t i = 0; i < next.size(); ++i) (*out)[i].next = &(*out)[next[i]];
  return out;
}

}  // namespace perfmodel::validation
