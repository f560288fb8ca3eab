// The library's quantities, and arithmetic that Boost.Units lacks: plain numbers with any scalar,
// min and max by value, short errors for mixed units.
#pragma once

#include <boost/units/base_dimension.hpp>
#include <boost/units/base_unit.hpp>
#include <boost/units/make_system.hpp>
#include <boost/units/quantity.hpp>
#include <boost/units/unit.hpp>
#include <perfmodel/scalar/scalar.hpp>

// The base dimensions and base units of this field, and the one system built from them.

namespace perfmodel::inline v0_3 {

namespace bu = boost::units;

/// Base dimensions. A compiler names them when two units do not fit together.
namespace dimension {
struct time_base : bu::base_dimension<time_base, 8101> {};
struct information_base : bu::base_dimension<information_base, 8102> {};
struct operation_base : bu::base_dimension<operation_base, 8103> {};
struct token_base : bu::base_dimension<token_base, 8104> {};
struct request_base : bu::base_dimension<request_base, 8105> {};
struct energy_base : bu::base_dimension<energy_base, 8106> {};
struct money_base : bu::base_dimension<money_base, 8107> {};
}  // namespace dimension

/// Base units: second, byte, FLOP, token, request, joule, US dollar.
namespace base_unit {
struct second : bu::base_unit<second, dimension::time_base::dimension_type, 8201> {};
struct byte : bu::base_unit<byte, dimension::information_base::dimension_type, 8202> {};
struct flop : bu::base_unit<flop, dimension::operation_base::dimension_type, 8203> {};
struct token : bu::base_unit<token, dimension::token_base::dimension_type, 8204> {};
struct request : bu::base_unit<request, dimension::request_base::dimension_type, 8205> {};
struct joule : bu::base_unit<joule, dimension::energy_base::dimension_type, 8206> {};
struct us_dollar : bu::base_unit<us_dollar, dimension::money_base::dimension_type, 8207> {};
}  // namespace base_unit

/// The coherent system of perfmodel. Deriving from Boost's list halves every type name.
struct pm_system
    : bu::make_system<base_unit::second, base_unit::byte, base_unit::flop, base_unit::token,
                      base_unit::request, base_unit::joule, base_unit::us_dollar>::type::type {};

using unit_system = bu::homogeneous_system<pm_system>;

namespace detail {
template <class Dimension>
using unit_of = bu::unit<Dimension, unit_system>;
template <class A, class B>
using per = typename bu::divide_typeof_helper<A, B>::type;
template <class A, class B>
using times = typename bu::multiply_typeof_helper<A, B>::type;

using second_unit = unit_of<dimension::time_base::dimension_type>;
using byte_unit = unit_of<dimension::information_base::dimension_type>;
using flop_unit = unit_of<dimension::operation_base::dimension_type>;
using token_unit = unit_of<dimension::token_base::dimension_type>;
using request_unit = unit_of<dimension::request_base::dimension_type>;
using joule_unit = unit_of<dimension::energy_base::dimension_type>;
using usd_unit = unit_of<dimension::money_base::dimension_type>;
using one_unit = unit_of<bu::dimensionless_type>;
}  // namespace detail

template <class T = double>
using duration = bu::quantity<detail::second_unit, T>;
template <class T = double>
using bytes = bu::quantity<detail::byte_unit, T>;
template <class T = double>
using flops = bu::quantity<detail::flop_unit, T>;
template <class T = double>
using tokens = bu::quantity<detail::token_unit, T>;
template <class T = double>
using requests = bu::quantity<detail::request_unit, T>;
template <class T = double>
using energy = bu::quantity<detail::joule_unit, T>;
template <class T = double>
using money = bu::quantity<detail::usd_unit, T>;
/// A pure number that takes part in unit arithmetic; converts to its scalar implicitly.
template <class T = double>
using number = bu::quantity<detail::one_unit, T>;

namespace detail {
template <class Numerator, class Denominator, class T>
using ratio = bu::quantity<per<typename Numerator::unit_type, typename Denominator::unit_type>, T>;
}  // namespace detail

template <class T = double>
using frequency = detail::ratio<number<>, duration<>, T>;
template <class T = double>
using bandwidth = detail::ratio<bytes<>, duration<>, T>;
template <class T = double>
using flop_rate = detail::ratio<flops<>, duration<>, T>;
template <class T = double>
using intensity = detail::ratio<flops<>, bytes<>, T>;
template <class T = double>
using token_rate = detail::ratio<tokens<>, duration<>, T>;
template <class T = double>
using request_rate = detail::ratio<requests<>, duration<>, T>;
template <class T = double>
using bytes_per_token = detail::ratio<bytes<>, tokens<>, T>;
template <class T = double>
using flops_per_token = detail::ratio<flops<>, tokens<>, T>;
template <class T = double>
using tokens_per_request = detail::ratio<tokens<>, requests<>, T>;
template <class T = double>
using duration_per_token = detail::ratio<duration<>, tokens<>, T>;
template <class T = double>
using power = detail::ratio<energy<>, duration<>, T>;
template <class T = double>
using energy_per_byte = detail::ratio<energy<>, bytes<>, T>;
template <class T = double>
using energy_per_flop = detail::ratio<energy<>, flops<>, T>;
template <class T = double>
using energy_per_token = detail::ratio<energy<>, tokens<>, T>;
template <class T = double>
using price = detail::ratio<money<>, duration<>, T>;
template <class T = double>
using money_per_token = detail::ratio<money<>, tokens<>, T>;

/// True for every quantity of perfmodel's system.
template <class Q>
inline constexpr bool is_quantity = false;
template <class D, class T>
inline constexpr bool is_quantity<bu::quantity<bu::unit<D, unit_system>, T>> = true;
template <class Q>
concept Quantity = is_quantity<Q>;

/// A number of another type than the quantity's scalar: `80 * GB`, `double * duration<dual<2>>`.
template <class N, class T>
concept Scales = !std::same_as<N, T> && !std::same_as<N, bool> && !is_quantity<N> &&
                 ((std::is_arithmetic_v<N> && std::constructible_from<T, N>) ||
                  (Scalar<N> && std::constructible_from<N, T>));

namespace detail {
template <class N, class T>
using scaled = std::conditional_t<std::is_arithmetic_v<N>, T, N>;  // the richer of the two scalars

/// A value in a unit: a quantity, or the plain number itself where the unit is 1.
template <class Unit, class T>
constexpr auto in_unit(const T& x) {
  if constexpr (std::same_as<Unit, one_unit>)
    return x;
  else
    return bu::quantity<Unit, T>::from_value(x);
}
}  // namespace detail

/// A quantity of one scalar as the same quantity of another: `lift<dual<3>>(3.35 * TB_per_s)`.
template <Scalar To, class U, class T>
constexpr bu::quantity<U, To> lift(const bu::quantity<U, T>& q) {
  return bu::quantity<U, To>::from_value(To(q.value()));
}

// Products and quotients. What has no unit left is a plain number: `capacity / GB` is a double.
/// Multiplies two quantities, and their units.
template <class D1, class A, class D2, class B>
constexpr auto operator*(const bu::quantity<bu::unit<D1, unit_system>, A>& a,
                         const bu::quantity<bu::unit<D2, unit_system>, B>& b) {
  return detail::in_unit<detail::times<detail::unit_of<D1>, detail::unit_of<D2>>>(a.value() *
                                                                                  b.value());
}
/// Divides two quantities, and their units.
template <class D1, class A, class D2, class B>
constexpr auto operator/(const bu::quantity<bu::unit<D1, unit_system>, A>& a,
                         const bu::quantity<bu::unit<D2, unit_system>, B>& b) {
  return detail::in_unit<detail::per<detail::unit_of<D1>, detail::unit_of<D2>>>(a.value() /
                                                                                b.value());
}
/// A number times a quantity.
template <class N, class D, class T>
  requires Scales<N, T>
constexpr auto operator*(const N& n, const bu::quantity<bu::unit<D, unit_system>, T>& q) {
  using S = detail::scaled<N, T>;
  return detail::in_unit<detail::unit_of<D>>(S(static_cast<S>(n) * static_cast<S>(q.value())));
}
/// A quantity times a number.
template <class N, class D, class T>
  requires Scales<N, T>
constexpr auto operator*(const bu::quantity<bu::unit<D, unit_system>, T>& q, const N& n) {
  return n * q;
}
/// A quantity over a number.
template <class N, class D, class T>
  requires Scales<N, T>
constexpr auto operator/(const bu::quantity<bu::unit<D, unit_system>, T>& q, const N& n) {
  using S = detail::scaled<N, T>;
  return detail::in_unit<detail::unit_of<D>>(S(static_cast<S>(q.value()) / static_cast<S>(n)));
}
/// A number over a quantity: the inverse unit.
template <class N, class D, class T>
  requires Scales<N, T>
constexpr auto operator/(const N& n, const bu::quantity<bu::unit<D, unit_system>, T>& q) {
  using S = detail::scaled<N, T>;
  return detail::in_unit<detail::per<detail::one_unit, detail::unit_of<D>>>(
      S(static_cast<S>(n) / static_cast<S>(q.value())));
}

// A dimensionless number with its own scalar: `sms / 2.0`.
/// A scalar times a dimensionless number.
template <class T>
constexpr T operator*(const T& x, const number<T>& n) {
  return x * n.value();
}
/// A dimensionless number times a scalar.
template <class T>
constexpr T operator*(const number<T>& n, const T& x) {
  return n.value() * x;
}
/// A scalar over a dimensionless number.
template <class T>
constexpr T operator/(const T& x, const number<T>& n) {
  return x / n.value();
}
/// A dimensionless number over a scalar.
template <class T>
constexpr T operator/(const number<T>& n, const T& x) {
  return n.value() / x;
}

/// Smaller and larger of two quantities, by value: an object and not a reference, so it vectorises.
template <class U, class T>
constexpr bu::quantity<U, T>(min)(const bu::quantity<U, T>& a, const bu::quantity<U, T>& b) {
  return bu::quantity<U, T>::from_value(scalar_min(a.value(), b.value()));
}
/// Larger of two quantities, by value.
template <class U, class T>
constexpr bu::quantity<U, T>(max)(const bu::quantity<U, T>& a, const bu::quantity<U, T>& b) {
  return bu::quantity<U, T>::from_value(scalar_max(a.value(), b.value()));
}

namespace detail {
/// The dimension of a quantity, a fact or a number; void of anything else.
template <class D, class T>
D dimension_of(const bu::quantity<bu::unit<D, unit_system>, T>*);
void dimension_of(const void*);
template <class X>
using dimension_t = std::conditional_t<std::is_arithmetic_v<X>, bu::dimensionless_type,
                                       decltype(dimension_of(static_cast<const X*>(nullptr)))>;

template <class A, class B>
concept MixedUnits =
    !std::same_as<A, B> && !std::is_void_v<dimension_t<A>> && !std::is_void_v<dimension_t<B>> &&
    !std::same_as<dimension_t<A>, dimension_t<B>>;
}  // namespace detail

// Adding or comparing different units, or a quantity and a plain number, selects a deleted
// function. A compiler then prints two named quantities instead of Boost's candidate list.
/// Refused: a sum of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator+(const Left& left, const Right& right) = delete;
/// Refused: a difference of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator-(const Left& left, const Right& right) = delete;
/// Refused: a comparison of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator<(const Left& left, const Right& right) = delete;
/// Refused: a comparison of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator>(const Left& left, const Right& right) = delete;
/// Refused: a comparison of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator<=(const Left& left, const Right& right) = delete;
/// Refused: a comparison of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator>=(const Left& left, const Right& right) = delete;
/// Refused: a comparison of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator==(const Left& left, const Right& right) = delete;
/// Refused: a comparison of different units.
template <class Left, class Right>
  requires detail::MixedUnits<Left, Right>
void operator!=(const Left& left, const Right& right) = delete;

}  // namespace perfmodel::inline v0_3
