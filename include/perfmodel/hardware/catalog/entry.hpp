// What a list of accelerators holds of each.
#pragma once

#include <array>
#include <perfmodel/hardware/accelerator.hpp>

namespace perfmodel::catalog {

/// `key` is the spec's own name, in C++ and in requests. The header of each family ends with the
/// list of its entries.
struct accelerator_entry {
  const accelerator* spec = nullptr;
  const char* key = "";
  const char* title = "";

  constexpr accelerator_entry() = default;
  constexpr accelerator_entry(const accelerator& a, const char* full_name)
      : spec(&a), key(a.name.c_str()), title(full_name) {}
};

/// The lists of all families in one.
template <class Entry, std::size_t... Sizes>
constexpr auto joined(const std::array<Entry, Sizes>&... families) {
  std::array<Entry, (Sizes + ...)> all{};
  std::size_t n = 0;
  const auto append = [&](const auto& family) {
    for (const Entry& e : family) all[n++] = e;
  };
  (append(families), ...);
  return all;
}

}  // namespace perfmodel::catalog
