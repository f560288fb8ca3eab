// What is wrong with an input: a code, the field, its value and what is allowed.
#pragma once

#include <cstdio>
#include <exception>
#include <perfmodel/units/quantity.hpp>
#include <string>

namespace perfmodel {

/// Stable codes; code_text() prints them as PM-E and three digits.
enum class error_code : int {
  malformed_request = 1,  ///< not JSON, or not an object
  unknown_query = 2,
  unknown_key = 3,
  missing_key = 4,
  wrong_type = 5,
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
[[noreturn]] inline void out_of_range(const char* field, double value, const char* allowed) {
  throw error(error_code::out_of_range,
              std::string(field) + " is " + number_text(value) + "; allowed: " + allowed);
}
[[noreturn]] inline void unsupported(const char* accelerator, const char* format) {
  throw error(error_code::unsupported_format, std::string(accelerator) + " does not compute in " +
                                                  format + "; napkin gpus lists what it does");
}
/// constexpr, so that a compiler prints its arguments when it fails in a constant expression.
constexpr void computes_in(bool supported, const char* accelerator, const char* format) {
  if (!supported) unsupported(accelerator, format);
}
[[noreturn]] inline void fail(error_code code, const char* message) {
  throw error(code, message);
}

// What is divided by is no smaller and nothing is larger, so no quotient of checked inputs overflows.
inline constexpr double smallest_quantity = 1e-30;
inline constexpr double largest_quantity = 1e30;
inline constexpr double largest_count = 1e15;

/// Every lane above zero. Rejects NaN and infinity. Returns x.
template <Scalar T>
constexpr const T& positive(const char* field, const T& x) {
  if (!(lower(x) > 0.0)) out_of_range(field, lower(x), "more than 0");
  if (!(lower(x) >= smallest_quantity)) out_of_range(field, lower(x), "at least 1e-30");
  if (!(upper(x) <= largest_quantity)) out_of_range(field, upper(x), "at most 1e30");
  return x;
}
template <class U, Scalar T>
constexpr const bu::quantity<U, T>& positive(const char* field, const bu::quantity<U, T>& q) {
  positive(field, q.value());
  return q;
}
template <Scalar T>
constexpr const T& not_negative(const char* field, const T& x) {
  if (!(lower(x) >= 0.0)) out_of_range(field, lower(x), "0 or more");
  if (!(upper(x) <= largest_quantity)) out_of_range(field, upper(x), "at most 1e30");
  return x;
}
template <class U, Scalar T>
constexpr const bu::quantity<U, T>& not_negative(const char* field, const bu::quantity<U, T>& q) {
  not_negative(field, q.value());
  return q;
}
/// A count of things: 1 .. 1e15. Fractions are allowed, since averages are counts too.
template <Scalar T>
constexpr const T& count(const char* field, const T& x) {
  if (!(lower(x) >= 1.0)) out_of_range(field, lower(x), "1 or more");
  if (!(upper(x) <= largest_count)) out_of_range(field, upper(x), "at most 1e15");
  return x;
}
/// A share of something: 0 .. 1.
template <Scalar T>
constexpr const T& fraction(const char* field, const T& x) {
  if (!(lower(x) >= 0.0)) out_of_range(field, lower(x), "0 to 1");
  if (!(upper(x) <= 1.0)) out_of_range(field, upper(x), "0 to 1");
  return x;
}
/// lo <= x <= hi; `allowed` says so in words.
template <Scalar T>
constexpr const T& within(const char* field, const T& x, double lo, double hi,
                          const char* allowed) {
  if (!(lower(x) >= lo)) out_of_range(field, lower(x), allowed);
  if (!(upper(x) <= hi)) out_of_range(field, upper(x), allowed);
  return x;
}

}  // namespace detail

}  // namespace perfmodel
