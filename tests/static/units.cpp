// Units, constants and scalars in constant expressions.
#include <perfmodel/core/label.hpp>
#include <perfmodel/scalar/dual.hpp>
#include <perfmodel/scalar/interval.hpp>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/convention.hpp>
#include <perfmodel/units/named.hpp>
#include <support/near.hpp>

namespace static_units {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;

namespace {

// Prefixes: GB is 1e9 and GiB is 2^30.
static_assert(1_GB == 1e9 * pm::byte && 1_GiB == 1073741824.0 * pm::byte);
static_assert(1_kB == 1000_B && 1_KiB == 1024_B && 1_MB == 1e6 * pm::byte && 1_MiB == 1048576_B);
static_assert(80 * pm::GB == 80_GB && pm::GB * 80 == 80_GB && 2.5f * pm::GB == 2.5_GB);
static_assert(near(1_h, 3600_s) && near(1_ms, 1000_us) && near(1_us, 1000_ns));
static_assert(near(3600_USD_per_h * 1_s, 1_USD));
static_assert(near(2.0 * pm::usd_per_hour * 1_h, 2_USD));
static_assert(near(1.0 * pm::pJ_per_bit, 8.0 * pm::pJ_per_byte));
static_assert(near(1_PFLOP_per_s, 1000_TFLOP_per_s) && near(1_TFLOP_per_s, 1000_GFLOP_per_s));
static_assert(near(1_GHz, 1000_MHz));

// Dimensions come out as the named quantities.
static_assert(std::same_as<decltype(80_GB / 3.35_TB_per_s), pm::duration<>>);
static_assert(std::same_as<decltype(989_TFLOP_per_s / 3.35_TB_per_s), pm::intensity<>>);
static_assert(std::same_as<decltype(pm::price<>{} / pm::token_rate<>{}), pm::money_per_token<>>);
static_assert(std::same_as<decltype(pm::power<>{} / pm::token_rate<>{}), pm::energy_per_token<>>);
static_assert(
    std::same_as<decltype(pm::request_rate<>{} * pm::tokens_per_request<>{}), pm::token_rate<>>);
static_assert(std::same_as<decltype(pm::energy_per_byte<>{} * pm::bandwidth<>{}), pm::power<>>);
static_assert(80_GB / 40_GB == 2.0);
static_assert(2.0 * pm::number<>(3.0) == 6.0 && pm::number<>(3.0) * 2.0 == 6.0);
static_assert(6.0 / pm::number<>(3.0) == 2.0 && pm::number<>(3.0) / 6.0 == 0.5);
static_assert(near(2 / 1_ms, 2000.0 * pm::Hz));
static_assert(min(1_s, 2_s) == 1_s && max(1_s, 2_s) == 2_s);

template <class A, class B>
concept adds = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept compares = requires(A a, B b) {
  a < b;
};
static_assert(adds<pm::bytes<>, pm::bytes<>> && !adds<pm::bytes<>, pm::flops<>>);
static_assert(!adds<pm::bandwidth<>, pm::bytes<>> && !adds<pm::bytes<>, double>);
static_assert(compares<pm::duration<>, pm::duration<>> && !compares<pm::duration<>, pm::bytes<>>);
static_assert(!std::convertible_to<double, pm::bytes<>> &&
              !std::convertible_to<pm::bytes<>, double>);
static_assert(std::convertible_to<pm::number<>, double>);

// Exponents of second, byte, FLOP, token, request, joule, US dollar.
static_assert(pm::exponents_of<pm::bandwidth<>>().power ==
              std::array<signed char, 7>{-1, 1, 0, 0, 0, 0, 0});
static_assert(pm::exponents_of<pm::intensity<>>().power ==
              std::array<signed char, 7>{0, -1, 1, 0, 0, 0, 0});
static_assert(pm::exponents_of<pm::money_per_token<>>().power ==
              std::array<signed char, 7>{0, 0, 0, -1, 0, 0, 1});
static_assert(pm::exponents_of<pm::number<>>() == pm::unit_exponents{});
static_assert(pm::named("x", 3_s) == 3_s && pm::named("x", 3.0) == 3.0);

// Conventions: two ways to state one thing.
static_assert(near(pm::dense(pm::sparse_flop_rate<>(1978.9_TFLOP_per_s)), 989.45_TFLOP_per_s));
static_assert(pm::one_way(pm::two_way_bandwidth<>(900_GB_per_s)) == 450_GB_per_s);
static_assert(!adds<pm::message_bytes<>, pm::wire_bytes<>> &&
              adds<pm::wire_bytes<>, pm::wire_bytes<>>);
static_assert(!compares<pm::algorithm_bandwidth<>, pm::bus_bandwidth<>>);
static_assert(!std::convertible_to<pm::wire_bytes<>, pm::bytes<>> &&
              !std::convertible_to<pm::bytes<>, pm::wire_bytes<>>);

// Scalars: derivative of x^2 / y at (3, 2), range of x - y.
constexpr auto x = pm::dual<2>::variable(3, 0);
constexpr auto y = pm::dual<2>::variable(2, 1);
static_assert((x * x / y).value() == 4.5 && (x * x / y).partial(0) == 3.0 &&
              (x * x / y).partial(1) == -2.25);
static_assert((pm::interval(1, 2) - pm::interval(0, 5)) == pm::interval(-4, 2));
static_assert(pm::interval::around(10, 0.1) == pm::interval(9, 11));
static_assert(pm::Scalar<double> && pm::Scalar<float> && pm::Scalar<pm::dual<3>> &&
              pm::Scalar<pm::interval>);
static_assert(!pm::Scalar<int>);
static_assert(2.0 * pm::duration<pm::dual<2>>::from_value(x) ==
              pm::duration<pm::dual<2>>::from_value(2.0 * x));
static_assert(pm::math::ceil(2.1) == 3 && pm::math::ceil(-2.1) == -2 &&
              pm::math::floor(-2.1) == -3);
static_assert(near(pm::math::exp(1.0), 2.718281828459045) &&
              near(pm::math::log(10.0), 2.302585092994046));
static_assert(near(pm::math::pow(2.0, 0.5), 1.4142135623730951));

static_assert(pm::label("H100") == pm::label("H100") && !(pm::label("H100") == pm::label("H200")));
static_assert(pm::label("01234567890123456789012345678901234567890123456").view().size() == 47);

}  // namespace

}  // namespace static_units
