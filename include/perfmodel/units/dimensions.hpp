// The base dimensions and base units of this field, and the one system built from them.
#pragma once

#include <boost/units/base_dimension.hpp>
#include <boost/units/base_unit.hpp>
#include <boost/units/make_system.hpp>
#include <boost/units/quantity.hpp>
#include <boost/units/unit.hpp>

namespace perfmodel {

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

}  // namespace perfmodel
