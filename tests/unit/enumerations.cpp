// What is no value of an enumeration is refused by name, before a table is read beyond its end.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/kernels/catalog/machines.hpp>
#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/policy.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/parallel/collectives.hpp>
#include <perfmodel/roofline.hpp>

namespace unit_enumerations {

namespace pm = perfmodel;
using Catch::Matchers::ContainsSubstring;

namespace {

template <class Enum>
constexpr Enum beyond = static_cast<Enum>(99);

}  // namespace

TEST_CASE("a value that is not in its enumeration is out of range", "[errors]") {
  CHECK_THROWS_WITH(pm::bits_of(beyond<pm::number_format>),
                    ContainsSubstring("number_format is 99; allowed: one of its named values"));
  CHECK_THROWS_WITH(pm::bits_of(static_cast<pm::number_format>(-1)),
                    ContainsSubstring("number_format is -1"));
  CHECK_THROWS_WITH(pm::name_of(beyond<pm::limiter>), ContainsSubstring("limiter is 99"));
  CHECK_THROWS_WITH(pm::name_of(beyond<pm::collective_op>), ContainsSubstring("collective_op"));
  CHECK_THROWS_WITH(pm::name_of(beyond<pm::link_kind>), ContainsSubstring("link_kind"));
  CHECK_THROWS_WITH(pm::facts_of(beyond<pm::chip_architecture>),
                    ContainsSubstring("chip_architecture is 99"));
  CHECK_THROWS_WITH(pm::name_of(beyond<pm::launch_mode>), ContainsSubstring("launch_mode is 99"));
  CHECK_THROWS_WITH(pm::profile_note{}.log_sigma_of(beyond<pm::gemm_kind>),
                    ContainsSubstring("is 99"));
  CHECK_THROWS_WITH(pm::calibrated{}.note(beyond<pm::profile_part>),
                    ContainsSubstring("profile_part is 99"));
  CHECK_THROWS_WITH(pm::catalog::engine_profile_of(beyond<pm::engine>),
                    ContainsSubstring("engine is 99"));
}

TEST_CASE("a law of a format that does not exist is an error", "[errors]") {
  const pm::gemm product{.m = 64, .n = 64, .k = 64, .weights = beyond<pm::number_format>};
  CHECK_THROWS_AS(pm::roofline(pm::catalog::h100_sxm, product), pm::error);
}

}  // namespace unit_enumerations
