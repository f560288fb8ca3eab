// Errors of inputs: a code, the field, its value and the allowed range.
#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <optional>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/quantity.hpp>
#include <string>

// Allowed ranges of numbers, and the words for a number outside.

namespace perfmodel::inline v0_3 {

namespace detail {
// Divisors are no smaller and no number is larger, so no quotient of checked inputs overflows.
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
  /// True if all of lower .. upper is inside; false where one of them is NaN.
  constexpr bool holds(double lower, double upper) const {
    return (static_cast<int>(lower >= least) & static_cast<int>(upper <= most)) != 0;
  }
  /// `lower` and `upper` may be numbers that record their comparisons.
  template <class Number>
  constexpr bool holds(const Number& lower, const Number& upper) const {
    return lower >= least && upper <= most;
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

}  // namespace perfmodel::inline v0_3

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error \
    "perfmodel refuses what is not a number, and -ffast-math takes that away: add -fno-finite-math-only"
#endif
#if !defined(__cpp_exceptions)
#error "perfmodel reports bad input by exceptions: compile without -fno-exceptions"
#endif

namespace perfmodel::inline v0_3 {

/// Stable codes; code_text() prints them as PM-E and three digits. 1 to 9 are left to programs.
enum class error_code : int {
  out_of_range = 10,  ///< a number outside what its field allows
  unknown_accelerator = 11,
  unknown_model = 12,
  unsupported_format = 13,    ///< the accelerator has no unit for this number format
  unknown_name = 14,          ///< any other word that is not one of those allowed
  unknown_architecture = 20,  ///< a config.json of a model family the reader does not know
  invalid_config = 21,        ///< a config.json that contradicts itself or lacks a field
  impossible_layout = 30,     ///< parallel degrees that the model or the fabric cannot have
  inconsistent = 31,          ///< inputs that contradict each other
  infeasible = 32,            ///< the value of a deployment or load that cannot run
  unreadable_file = 40,
  unidentifiable = 50,  ///< measurements that cannot determine a parameter
};

class error : public std::exception {
 public:
  error(error_code code, std::string message) : code_(code), message_(std::move(message)) {}
  error_code code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  error_code code_;
  std::string message_;
};

/// Text of an error code: "PM-E010" of out_of_range.
inline std::string code_text(error_code code) {
  const std::string n = std::to_string(static_cast<int>(code));
  return std::string("PM-E").append(3 - n.size(), '0') + n;
}

namespace detail {

inline std::string number_text(double x) {
  if (x != x) return "not a number";
  if (x == static_cast<double>(static_cast<long long>(scalar_max(scalar_min(x, 1e15), -1e15)))) {
    return std::to_string(static_cast<long long>(x));
  }
  char buffer[40];
  const int n = std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return {buffer, static_cast<std::size_t>(n)};
}

/// Not constexpr on purpose: a constant expression that reaches it fails to compile, and the notes
/// show the field and the value.
[[noreturn]] inline void out_of_range(const char* name, double value, const char* allowed) {
  throw error(error_code::out_of_range,
              std::string(name) + " is " + number_text(value) + "; allowed: " + allowed);
}
[[noreturn]] inline void missing(const char* name) {
  throw error(error_code::out_of_range, std::string(name) + " is missing");
}
[[noreturn]] inline void unsupported(const char* accelerator, const char* format) {
  throw error(error_code::unsupported_format,
              std::string(accelerator) + " does not compute in " + format);
}
[[noreturn]] inline void no_calibration(const char* accelerator, const char* kind) {
  throw error(error_code::inconsistent, std::string("nothing was fitted to a machine like ") +
                                            accelerator + " (" + kind +
                                            "): it has a bound and no calibrated prediction");
}
/// constexpr, so that a compiler prints its arguments when it fails in a constant expression.
constexpr void computes_in(bool supported, const char* accelerator, const char* format) {
  if (!supported) unsupported(accelerator, format);
}
[[noreturn]] inline void infeasible_result(const char* reason, const char* unit, double needed,
                                           double available) {
  std::string numbers;
  if (available > 0.0) {
    numbers = ": " + number_text(needed) + " " + unit + " of " + number_text(available);
  }
  throw error(error_code::infeasible, "infeasible: " + std::string(reason) + numbers);
}
[[noreturn]] inline void fail(error_code code, const char* message) {
  throw error(code, message);
}

/// Returns x if the range holds all of it. Errors: out_of_range, by the name.
template <Scalar T>
constexpr const T& inside(const allowed_range& r, const char* name, const T& x) {
  if (!(lower(x) >= r.least)) out_of_range(name, lower(x), r.below_in_words(lower(x)));
  if (!(upper(x) <= r.most)) out_of_range(name, upper(x), r.above);
  return x;
}
template <class U, Scalar T>
constexpr const bu::quantity<U, T>& inside(const allowed_range& r, const char* name,
                                           const bu::quantity<U, T>& q) {
  inside(r, name, q.value());
  return q;
}

// Checks of the arguments of a law; the fields of a spec have their ranges in its fields().
/// Above zero, neither NaN nor infinite. Returns x.
template <class X>
constexpr const auto& positive(const char* name, const X& x) {
  return inside(positive_range, name, x);
}
template <class X>
constexpr const auto& not_negative(const char* name, const X& x) {
  return inside(not_negative_range, name, x);
}
/// A count of things: 1 .. 1e15. Fractions are allowed, since averages are counts too.
template <class X>
constexpr const auto& count(const char* name, const X& x) {
  return inside(count_range, name, x);
}
/// A share of something: 0 .. 1.
template <class X>
constexpr const auto& fraction(const char* name, const X& x) {
  return inside(fraction_range, name, x);
}
/// lo <= x <= hi; `allowed` says so in words.
template <class X>
constexpr const auto& within(const char* name, const X& x, double lo, double hi,
                             const char* allowed) {
  return inside({lo, hi, allowed, allowed}, name, x);
}

/// Value of an optional field. Errors: out_of_range where it is empty.
template <class X>
constexpr const X& required(const char* name, const std::optional<X>& x) {
  if (!x) missing(name);
  return *x;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3

// Checks that two counts fit each other: heads that share a cache, degrees that split a model.

namespace perfmodel::inline v0_3::detail {

/// Not constexpr on purpose: see out_of_range.
[[noreturn]] inline void does_not_divide(error_code code, const char* part, double part_value,
                                         const char* whole, double whole_value) {
  throw error(code, std::string(part) + " is " + number_text(part_value) + " and " + whole +
                        " is " + number_text(whole_value) + "; " + part + " must divide " + whole);
}

/// `part` divides `whole`. An uncertain count (an interval) is not judged.
template <Scalar T>
constexpr void divides(error_code code, const char* part, const T& part_value, const char* whole,
                       const T& whole_value) {
  if (lower(part_value) < upper(part_value) || lower(whole_value) < upper(whole_value)) return;
  const double p = unrecorded_value(part_value);
  const double w = unrecorded_value(whole_value);
  const double quotient = w / p;
  if (math::ceil(quotient) != quotient) does_not_divide(code, part, p, whole, w);
}

// A table with an entry for each value of an enumeration.

/// Table entry of an enumeration value. Errors: out_of_range for a value outside the enumeration,
/// from a cast or uninitialised memory.
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

}  // namespace perfmodel::inline v0_3::detail
