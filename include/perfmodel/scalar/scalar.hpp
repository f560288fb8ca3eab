// Requirements of a law on a number: arithmetic, and minimum, maximum, roots and rounding found by
// ADL. double is a scalar; dual, interval and traced are the others.
#pragma once

#include <concepts>
#include <limits>
#include <perfmodel/core/version.hpp>
#include <type_traits>

namespace perfmodel::inline v0_3 {

/// A scalar is opened for the library by specialising this.
template <class T>
inline constexpr bool is_scalar = std::is_floating_point_v<T>;
template <class T>
concept Scalar = is_scalar<T>;

/// A number as a caller may write it: a scalar, or a whole number.
template <class N>
concept Number = Scalar<N> ||(std::integral<N> && !std::same_as<N, bool>);

namespace detail {
template <class A, class B>
using richer = std::conditional_t<std::integral<B> || (std::same_as<B, double> && Scalar<A>), A, B>;
template <class T, class... N>
struct promote {
  using type = std::conditional_t<std::integral<T>, double, T>;
};
template <class T, class N, class... More>
struct promote<T, N, More...> : promote<std::conditional_t<Number<N>, richer<T, N>, T>, More...> {};
}  // namespace detail

/// The one scalar of some numbers: double where all are whole; what is no number does not count.
template <class... N>
using promoted = typename detail::promote<int, N...>::type;

namespace detail {
template <class... N>
concept MixedNumbers = (Number<N> || ...) &&
                       !((!Number<N> || std::same_as<N, promoted<N...>>)&&...);
template <class T, class N>
constexpr auto as_scalar(const N& n) {
  if constexpr (Number<N>)
    return static_cast<T>(n);
  else
    return n;
}
}  // namespace detail

/// The number that decides a branch outside the arithmetic, such as which term is the largest.
constexpr double mid(double x) {
  return x;
}
/// The number that decides a branch, of a float.
constexpr double mid(float x) {
  return static_cast<double>(x);
}

/// The number that decides a label, a breakdown or a check, such as the algorithm of least cost. A
/// recording takes no guard of it.
template <class T>
constexpr double unrecorded_value(const T& x) {
  return mid(x);
}

/// Smaller number; the first where they are equal.
constexpr double scalar_min(double a, double b) {
  return b < a ? b : a;
}
/// Larger number; the first where they are equal.
constexpr double scalar_max(double a, double b) {
  return a < b ? b : a;
}
/// Smaller float; the first where they are equal.
constexpr float scalar_min(float a, float b) {
  return b < a ? b : a;
}
/// Larger float; the first where they are equal.
constexpr float scalar_max(float a, float b) {
  return a < b ? b : a;
}

namespace detail {
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
}  // namespace detail

/// Least and greatest value a scalar stands for; input checks look at both.
constexpr double lower(double x) {
  return x;
}
/// Greatest value that a number stands for: itself.
constexpr double upper(double x) {
  return x;
}
/// Least value that a float stands for: itself.
constexpr double lower(float x) {
  return static_cast<double>(x);
}
/// Greatest value that a float stands for: itself.
constexpr double upper(float x) {
  return static_cast<double>(x);
}

}  // namespace perfmodel::inline v0_3
