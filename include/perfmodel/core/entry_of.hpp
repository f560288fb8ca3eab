// A table with an entry for each value of an enumeration.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/core/error.hpp>

namespace perfmodel::detail {

/// The entry of a value. Errors: out_of_range for what is no value of the enumeration, which a cast or
/// memory that was never written can make.
template <class Entry, std::size_t Count, class Enum>
constexpr const Entry& entry_of(const Entry (&table)[Count], Enum value, const char* enumeration) {
  const auto at = static_cast<std::size_t>(value);
  if (at >= Count) out_of_range(enumeration, static_cast<double>(value), "one of its named values");
  return table[at];
}
template <class Entry, std::size_t Count, class Enum>
constexpr const Entry& entry_of(const std::array<Entry, Count>& table, Enum value,
                                const char* enumeration) {
  const auto at = static_cast<std::size_t>(value);
  if (at >= Count) out_of_range(enumeration, static_cast<double>(value), "one of its named values");
  return table[at];
}

}  // namespace perfmodel::detail
