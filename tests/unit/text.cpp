// Quantities as text.
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <perfmodel/units/constants.hpp>
#include <perfmodel/units/text.hpp>

namespace unit_text {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel::to_string;

TEST_CASE("quantities print with engineering prefixes") {
  CHECK(to_string(3.35_TB_per_s) == "3.35 TB/s");
  CHECK(to_string(989.4_TFLOP_per_s) == "989 TFLOP/s");
  CHECK(to_string(989.4_TFLOP_per_s, 4) == "989.4 TFLOP/s");
  CHECK(to_string(295.3_FLOP_per_B) == "295.3 FLOP/B");
  CHECK(to_string(41.79_ms) == "41.8 ms");
  CHECK(to_string(5_us) == "5 us");
  CHECK(to_string(0.3_us) == "300 ns");
  CHECK(to_string(80_GB) == "80 GB");
  CHECK(to_string(1_GiB) == "1.07 GB");
  CHECK(to_string(700_W) == "700 W");
  CHECK(to_string(104.52_W) == "105 W");
  CHECK(to_string(31.2 * pm::pJ_per_byte) == "31.2 pJ/B");
}

TEST_CASE("money prints per hour and per million tokens") {
  CHECK(to_string(2.7_USD_per_h) == "2.7 USD/h");
  CHECK(to_string(5.625 * pm::usd_per_million_tokens) == "5.62 USD/Mtok");
  CHECK(to_string(5.625_USD, 4) == "5.625 USD");
}

TEST_CASE("tokens and requests keep their unit") {
  CHECK(to_string(533.3_tok_per_s) == "533.3 tok/s");
  CHECK(to_string(12_req) == "12 req");
  CHECK(to_string(2.5_req_per_s) == "2.5 req/s");
  CHECK(to_string(327680.0 * pm::byte_per_token) == "328 kB/tok");
}

TEST_CASE("a value that rounds up to 1000 takes the next prefix") {
  CHECK(to_string(999.4_GB) == "999 GB");
  CHECK(to_string(999.7_GB) == "1 TB");
  CHECK(to_string(999.96_us, 4) == "1 ms");
  CHECK(to_string(0.9996_ms) == "1 ms");
}

TEST_CASE("zero, negative, tiny and huge values print") {
  CHECK(to_string(0_s) == "0 s");
  CHECK(to_string(-1.5_ms) == "-1.5 ms");
  CHECK(to_string(1e-15 * pm::second) == "0.001 ps");
  CHECK(to_string(5e23 * pm::byte) == "500 ZB");
  CHECK(to_string(pm::number<>(0.5)) == "0.5");
  CHECK(to_string(pm::number<>(1234.0)) == "1234");
}

TEST_CASE("between a thousandth and a million no exponent is printed") {
  const auto text = [](double x, int digits = 3) { return to_string(pm::number<>(x), digits); };
  CHECK(text(999'999.0, 6) == "999999");
  CHECK(text(1e6) == "1e+06");
  CHECK(text(0.001) == "0.001");
  CHECK(text(0.0009) == "0.0009");  // as the shortest form has it
  CHECK(text(0.00001234) == "1.23e-05");
  CHECK(text(0.01234) == "0.0123");
  CHECK(text(0.1) == "0.1");
  CHECK(text(0.1234) == "0.123");
  CHECK(text(1.0) == "1");
  CHECK(text(9.996) == "10");
  CHECK(text(10.04) == "10");
  CHECK(text(1234.5) == "1234");  // whole numbers keep their digits
  CHECK(text(-0.05) == "-0.05");
}

TEST_CASE("prefixes end at pico and zetta") {
  CHECK(to_string(1e-12 * pm::second) == "1 ps");
  CHECK(to_string(1e21 * pm::byte) == "1 ZB");
  CHECK(to_string(1e24 * pm::byte) == "1000 ZB");
  CHECK(to_string(1000.0 * pm::byte) == "1 kB");
  CHECK(to_string(1.0 * pm::byte) == "1 B");
  CHECK(to_string(-2e3 * pm::byte) == "-2 kB");
  CHECK(to_string(std::numeric_limits<double>::infinity() * pm::byte) == "inf B");
}

TEST_CASE("long times print in seconds and hours, and never in ks or Ms") {
  CHECK(to_string(999.0 * pm::second) == "999 s");
  CHECK(to_string(1234.0 * pm::second, 4) == "1234 s");
  CHECK(to_string(9999.0 * pm::second, 4) == "9999 s");
  CHECK(to_string(10800.0 * pm::second) == "3 h");
  CHECK(to_string(-36000.0 * pm::second) == "-10 h");
  CHECK(to_string(1.228e6 * pm::second, 4) == "341.1 h");  // 1.228e6 / 3600 = 341.11
  CHECK(to_string(std::numeric_limits<double>::infinity() * pm::second) == "inf s");
  CHECK(to_string(2000.0 * pm::byte / pm::second) == "2 kB/s");
}

TEST_CASE("multiplied units print their symbols") {
  CHECK(to_string(1_s * 1_s) == "1 s*s");
  CHECK(to_string(1.0 / (2_ms)) == "500/s");
  CHECK(to_string(6e9 * pm::flop / pm::token) == "6 GFLOP/tok");
}

TEST_CASE("rates of events have no hertz, and clocks have") {
  constexpr auto per_second = pm::exponents_of<pm::frequency<>>();
  const auto text = [&](double x, int digits = 3) { return to_string(x, per_second, digits); };
  CHECK(text(104.6875e9, 4) == "104.7e9/s");
  CHECK(text(26.17e9, 4) == "26.17e9/s");
  CHECK(text(999.7e9) == "1e12/s");  // rounds up to 1000
  CHECK(text(1e6) == "1e6/s");
  CHECK(text(123456.0, 6) == "123456/s");
  CHECK(text(0.25) == "0.25/s");
  CHECK(text(0.002) == "0.002/s");
  CHECK(text(25e-6) == "25e-6/s");
  CHECK(text(-2e9) == "-2e9/s");
  CHECK(text(0.0) == "0/s");
  CHECK(text(std::numeric_limits<double>::infinity()) == "inf/s");
  CHECK(to_string(2e9 / 1_s) == "2e9/s");

  CHECK(pm::clock_text(1.98_GHz) == "1.98 GHz");
  CHECK(pm::clock_text(32_MHz, 4) == "32 MHz");
  CHECK(to_string(1.98e9, per_second, 4, "h100_sxm.vector.clock") == "1.98 GHz");
  CHECK(to_string(1e9, per_second, 3, "clock_hz") == "1 GHz");
  CHECK(to_string(1e9, per_second, 3, "transfers_per_s") == "1e9/s");
  CHECK(to_string(5e-3, pm::exponents_of<pm::duration<>>(), 3, "clock") == "5 ms");
}

TEST_CASE("a quantity under a convention prints like the quantity") {
  CHECK(pm::to_string(pm::message_bytes<>(16_KiB)) == pm::to_string(16_KiB));
  CHECK(pm::to_string(pm::wire_bytes<>(3_GB), 2) == "3 GB");
}

}  // namespace unit_text
