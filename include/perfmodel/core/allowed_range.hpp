// What a number may be: least and most, and the words for what is outside.
#pragma once

namespace perfmodel {

namespace detail {
// What is divided by is no smaller and nothing is larger, so no quotient of checked inputs overflows.
inline constexpr double smallest_quantity = 1e-30;
inline constexpr double largest_quantity = 1e30;
inline constexpr double largest_count = 1e15;
}  // namespace detail

/// The numbers from `least` to `most`. A default range allows every number, NaN too.
struct allowed_range {
  double least = 0.0;
  double most = 0.0;
  const char* below = nullptr;  ///< said of a number below `least`: "more than 0"
  const char* above = nullptr;  ///< said of a number above `most`: "at most 1e30"

  constexpr bool refuses_some() const { return below != nullptr; }
  /// Whether all of lower .. upper is inside; never where one of them is NaN.
  constexpr bool holds(double lower, double upper) const {
    return (static_cast<int>(lower >= least) & static_cast<int>(upper <= most)) != 0;
  }
  /// The words for a number that is below `least`.
  constexpr const char* below_in_words(double x) const {
    return x > 0.0 && least == detail::smallest_quantity ? "at least 1e-30" : below;
  }
};

namespace detail {
inline constexpr allowed_range positive_range{smallest_quantity, largest_quantity, "more than 0",
                                              "at most 1e30"};
inline constexpr allowed_range not_negative_range{0.0, largest_quantity, "0 or more",
                                                  "at most 1e30"};
inline constexpr allowed_range count_range{1.0, largest_count, "1 or more", "at most 1e15"};
inline constexpr allowed_range share_range{smallest_quantity, 1.0, "more than 0", "0 to 1"};
inline constexpr allowed_range ranks_range{1.0, 1e6, "1 to 1000000", "1 to 1000000"};
inline constexpr allowed_range fraction_range{0.0, 1.0, "0 to 1", "0 to 1"};
}  // namespace detail

}  // namespace perfmodel
