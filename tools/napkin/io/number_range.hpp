// Allowed range of an input number, with one wording for JSON, tables and the command line.
#pragma once

#include "text.hpp"

#include <cmath>

namespace common {

struct number_range {
  double least = 0.0;
  double most = 1e15;
  bool above_least = false;  ///< whether least itself is excluded
  bool whole = false;

  bool holds(double x) const {
    return (above_least ? x > least : x >= least) && x <= most && (!whole || x == std::floor(x));
  }
  /// "a whole number, 1 to 1e15".
  std::string allowed() const {
    const std::string upper_end = end_text(most);
    return cat(whole ? "a whole number, " : "a number, ", above_least ? "more than " : "",
               end_text(least), above_least ? ", at most " : " to ", upper_end);
  }

 private:
  /// 1e15 and not 1000000000000000.
  static std::string end_text(double x) {
    std::string s = std::abs(x) < 1e7 ? perfmodel::detail::number_text(x)
                                      : perfmodel::detail::significant(x, 3);
    std::erase(s, '+');
    const std::size_t e = s.find("e0");  // 1e9 and not 1e09
    return e == s.npos ? s : s.erase(e + 1, 1);
  }
};

inline constexpr number_range any_count{.least = 1.0};
inline constexpr number_range whole_count{.least = 1.0, .whole = true};
/// Allowed range of a measured duration in seconds.
inline constexpr number_range measured_seconds{.least = 1e-12, .most = 1e9};

}  // namespace common
