// Work dealt out: persistent kernels, streams, dependent launches, graph breaks, live memory.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/laws/schedules.hpp>
#include <perfmodel/units/constants.hpp>

namespace unit_schedules {

using namespace perfmodel;
using namespace perfmodel::literals;
using Catch::Matchers::WithinRel;

TEST_CASE("a persistent kernel is as long as its longest list", "[schedules]") {
  const std::array<duration<>, 4> uneven = {3_ms, 1_ms, 1_ms, 1_ms},
                                  even = {2_ms, 2_ms, 2_ms, 2_ms};
  CHECK_THAT(persistent_time(std::span<const duration<>>(uneven), 5_us).value(),
             WithinRel(3.005e-3, 1e-12));
  CHECK_THAT(work_imbalance(std::span<const duration<>>(uneven)), WithinRel(2.0, 1e-12));
  CHECK_THAT(work_imbalance(std::span<const duration<>>(even)), WithinRel(1.0, 1e-12));
  CHECK_THROWS_AS(work_imbalance(std::span<const duration<>>()), error);
  // Harms: 100 launches of 5 us are 0.5 ms, less than the 1.5 ms that the imbalance costs.
  CHECK(persistent_time(std::span<const duration<>>(uneven), 5_us) > 1.5_ms + 100.0 * 5_us);
  CHECK(persistent_time(std::span<const duration<>>(even), 5_us) < 2_ms + 100.0 * 5_us);
}

TEST_CASE("streams help where a chain leaves SMs idle", "[schedules]") {
  const std::array<stream_chain, 2> full = {stream_chain{1_ms, 1.0}, stream_chain{1_ms, 1.0}};
  const std::array<stream_chain, 2> third = {stream_chain{1_ms, 1.0 / 3},
                                             stream_chain{1_ms, 1.0 / 3}};
  CHECK_THAT(side_by_side(std::span<const stream_chain>(full)).value(), WithinRel(2e-3, 1e-12));
  CHECK_THAT(side_by_side(std::span<const stream_chain>(third)).value(), WithinRel(1e-3, 1e-12));
  const std::array<stream_chain, 1> bad = {stream_chain{1_ms, 1.5}};
  CHECK_THROWS_AS(side_by_side(std::span<const stream_chain>(bad)), error);
}

TEST_CASE("idle time, regions, profilers and residence", "[schedules]") {
  CHECK_THAT(dependent_gap(1.2_us, 0.5_us).value(), WithinRel(0.7e-6, 1e-9));
  CHECK(dependent_gap(1.2_us, 2_us).value() == 0.0);
  CHECK(regions_of(50.0) == 51.0);
  CHECK_THAT(without_profiler(10_ms, 0.15).value(), WithinRel(8.6957e-3, 1e-4));
  CHECK_THAT(resident_share(0.89_s, 1_s), WithinRel(0.89, 1e-12));
  CHECK_THROWS_AS(resident_share(2_s, 1_s), error);
}

TEST_CASE("tensors that are dead give their memory away", "[schedules]") {
  const std::array<live_tensor, 3> chain = {live_tensor{1_MB, 0, 1}, live_tensor{1_MB, 1, 2},
                                            live_tensor{1_MB, 2, 3}};
  CHECK_THAT(peak_live_bytes(std::span<const live_tensor>(chain)).value(), WithinRel(2e6, 1e-12));
  const std::array<live_tensor, 1> unborn = {live_tensor{1_MB, 3, 1}};
  CHECK_THROWS_AS(peak_live_bytes(std::span<const live_tensor>(unborn)), error);
}

TEST_CASE("recent tokens in 16 bits, old ones in fewer", "[schedules]") {
  CHECK_THAT(mixed_cache_bytes(1000.0, 100.0, 2_B, 1_B).value(), WithinRel(1100.0, 1e-12));
  CHECK_THAT(mixed_cache_bytes(50.0, 100.0, 2_B, 1_B).value(), WithinRel(100.0, 1e-12));
}

}  // namespace unit_schedules
