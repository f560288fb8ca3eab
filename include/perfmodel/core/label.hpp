// A short name stored by value, so that each spec owns its name.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <perfmodel/core/error.hpp>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// Up to 47 characters of text. Errors: out_of_range for more: cut, two names might become equal.
class label {
 public:
  constexpr label() = default;
  constexpr label(const char* s) : label(std::string_view(s)) {}
  constexpr label(std::string_view s) {
    if (s.size() >= text_.size()) detail::fail(error_code::out_of_range, too_long);
    std::copy(s.begin(), s.end(), text_.begin());
  }
  /// First 47 characters of a longer name.
  static constexpr label shortened(std::string_view s) { return label(s.substr(0, 47)); }
  constexpr std::string_view view() const { return std::string_view(text_.data()); }
  constexpr const char* c_str() const { return text_.data(); }
  friend constexpr bool operator==(const label& a, const label& b) { return a.view() == b.view(); }

 private:
  static constexpr const char* too_long = "a name has more than 47 characters";
  std::array<char, 48> text_{};
};

}  // namespace perfmodel::inline v0_3
