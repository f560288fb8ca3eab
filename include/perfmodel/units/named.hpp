// Names steps of a formula where it computes them, for derivations.
#pragma once

#include <array>
#include <cstddef>
#include <perfmodel/units/quantity.hpp>

namespace perfmodel::inline v0_3 {

/// Powers of second, byte, FLOP, token, request, joule and US dollar in a unit.
struct unit_exponents {
  std::array<signed char, 7> power{};
  friend constexpr bool operator==(const unit_exponents&, const unit_exponents&) = default;
};

namespace detail {
template <class Tag>
inline constexpr std::size_t base_index = 7;
template <>
inline constexpr std::size_t base_index<dimension::time_base> = 0;
template <>
inline constexpr std::size_t base_index<dimension::information_base> = 1;
template <>
inline constexpr std::size_t base_index<dimension::operation_base> = 2;
template <>
inline constexpr std::size_t base_index<dimension::token_base> = 3;
template <>
inline constexpr std::size_t base_index<dimension::request_base> = 4;
template <>
inline constexpr std::size_t base_index<dimension::energy_base> = 5;
template <>
inline constexpr std::size_t base_index<dimension::money_base> = 6;

template <class Dimensions>
constexpr void add_exponents(unit_exponents& e) {
  if constexpr (!std::same_as<Dimensions, bu::dimensionless_type>) {
    using item = typename Dimensions::item;
    e.power[base_index<typename item::tag_type>] =
        static_cast<signed char>(item::value_type::Numerator);
    add_exponents<typename Dimensions::next>(e);
  }
}
}  // namespace detail

/// The exponents of a quantity's unit: exponents_of<bandwidth<>>() has byte 1 and second -1.
template <Quantity Q>
constexpr unit_exponents exponents_of() {
  unit_exponents e;
  detail::add_exponents<typename Q::unit_type::dimension_type>(e);
  return e;
}

/// Names a step of a derivation and returns it. `symbol` is a string literal.
template <class U, Scalar T>
constexpr bu::quantity<U, T> named(const char* symbol, const bu::quantity<U, T>& q) {
  if constexpr (requires { q.value().name_step(symbol, unit_exponents{}); }) {
    return bu::quantity<U, T>::from_value(
        q.value().name_step(symbol, exponents_of<bu::quantity<U, T>>()));
  } else {
    return q;
  }
}
/// Names a step by its part too: "attention of prefill". Without a part it is the plain name.
template <class U, Scalar T>
constexpr bu::quantity<U, T> named(const char* symbol, const char* part,
                                   const bu::quantity<U, T>& q) {
  if constexpr (requires { q.value().name_step(symbol, part, unit_exponents{}); }) {
    return bu::quantity<U, T>::from_value(
        q.value().name_step(symbol, part, exponents_of<bu::quantity<U, T>>()));
  } else {
    return q;
  }
}
/// Names a step of a number without a unit by its part too.
template <Scalar T>
constexpr T named(const char* symbol, const char* part, const T& x) {
  if constexpr (requires { x.name_step(symbol, part, unit_exponents{}); }) {
    return x.name_step(symbol, part, unit_exponents{});
  } else {
    return x;
  }
}
/// Names a step of a number without a unit.
template <Scalar T>
constexpr T named(const char* symbol, const T& x) {
  if constexpr (requires { x.name_step(symbol, unit_exponents{}); }) {
    return x.name_step(symbol, unit_exponents{});
  } else {
    return x;
  }
}

}  // namespace perfmodel::inline v0_3
