// A short name held by value, so that specs can be copied, changed and returned without care.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace perfmodel {

/// Up to 47 characters of text; longer names are cut.
class label {
 public:
  constexpr label() = default;
  constexpr label(const char* s) : label(std::string_view(s)) {}
  constexpr label(std::string_view s) {
    for (std::size_t i = 0; i < s.size() && i + 1 < text_.size(); ++i) text_[i] = s[i];
  }
  constexpr std::string_view view() const { return std::string_view(text_.data()); }
  constexpr const char* c_str() const { return text_.data(); }
  friend constexpr bool operator==(const label& a, const label& b) { return a.view() == b.view(); }

 private:
  std::array<char, 48> text_{};
};

}  // namespace perfmodel
