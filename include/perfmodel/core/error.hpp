// What is wrong with an input: a code, the field, its value and what is allowed.
#pragma once

#include <cstdio>
#include <exception>
#include <optional>
#include <perfmodel/core/allowed_range.hpp>
#include <perfmodel/units/quantity.hpp>
#include <string>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error \
    "perfmodel refuses what is not a number, and -ffast-math takes that away: add -fno-finite-math-only"
#endif
#if !defined(__cpp_exceptions)
#error "perfmodel reports bad input by exceptions: compile without -fno-exceptions"
#endif

namespace perfmodel {

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

/// Not constexpr on purpose: reaching it in a constant expression is a compile error whose notes
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
[[noreturn]] inline void fail(error_code code, const char* message) {
  throw error(code, message);
}

/// x, all of which the range holds. Errors: out_of_range, by the name.
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
/// Above zero in every lane, neither NaN nor infinite. Returns x.
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

/// What an optional field holds. Errors: out_of_range where it holds nothing.
template <class X>
constexpr const X& required(const char* name, const std::optional<X>& x) {
  if (!x) missing(name);
  return *x;
}

}  // namespace detail

}  // namespace perfmodel
