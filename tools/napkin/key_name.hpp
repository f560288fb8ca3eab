// Names of keys as they are looked up.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace napkin {

/// Name of a key with its place in the hash tables of the queries. The compiler computes both of a
/// name in the source, with a hash that tells it from all other names.
struct key_name {
  static constexpr std::size_t slots = 512;

  std::string_view text{};
  std::size_t slot = 0;
  std::uint64_t hash = 0;  ///< 0: of a text that is not in the source

  template <std::size_t n>
  consteval key_name(const char (&name)[n])
      : text(name, n - 1), slot(slot_of(text)), hash(hash_of(text)) {}
  constexpr key_name(std::string_view name) : text(name), slot(slot_of(name)) {}
  key_name(const std::string& name) : key_name(std::string_view(name)) {}
  template <std::same_as<const char*> Pointer>
  constexpr key_name(const Pointer& name) : key_name(std::string_view(name)) {}

  /// Slot of a name: by its length and three of its characters.
  static constexpr std::size_t slot_of(std::string_view name) {
    if (name.empty()) return 0;
    const auto letter = [&name](std::size_t i) {
      return static_cast<std::size_t>(static_cast<unsigned char>(name[i]));
    };
    const std::size_t n = name.size();
    return (n * 37 + letter(0) * 5 + letter(n / 2) * 59 + letter(n - 1) * 11) % slots;
  }
  /// FNV-1a, in 64 bits.
  static constexpr std::uint64_t hash_of(std::string_view name) {
    std::uint64_t h = 14695981039346656037U;
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return h == 0 ? 1 : h;
  }
};

}  // namespace napkin
