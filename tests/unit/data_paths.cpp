// Tiles, spills, accumulators, hot tables, short loads, TMA transfers, selections, special
// functions, host transfers, slices of a machine.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/catalog/nvidia_ampere.hpp>
#include <perfmodel/hardware/catalog/nvidia_hopper.hpp>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/laws/warp.hpp>
#include <perfmodel/roofline.hpp>
#include <perfmodel/units/constants.hpp>
#include <string_view>

namespace unit_data_paths {

using namespace perfmodel;
using namespace perfmodel::literals;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

TEST_CASE("a tile of shared memory sets the traffic and the intensity", "[data_paths]") {
  // 4096^3 x 2 B x 2 / 128 = 2147 MB, and C, 33.6 MB: 21.7 times the 100.7 MB that are read once.
  const double moved = tile_traffic(4096.0, 4096.0, 4096.0, 128.0, 128.0, 2_B).value();
  CHECK_THAT(moved, WithinRel(2147483648.0 + 33554432.0, 1e-12));
  CHECK_THAT(moved / 100663296.0, WithinRel(21.67, 1e-3));
  CHECK_THAT(tile_intensity(128.0, 128.0, 2_B).value(), WithinRel(64.0, 1e-12));
  CHECK_THAT(tile_intensity(256.0, 128.0, 2_B).value(), WithinRel(85.33, 1e-3));
  // A taller tile always reads less.
  CHECK(tile_traffic(4096.0, 4096.0, 4096.0, 256.0, 128.0, 2_B) <
        tile_traffic(4096.0, 4096.0, 4096.0, 128.0, 128.0, 2_B));
  CHECK_THROWS_AS(tile_intensity(0.0, 128.0, 2_B), error);
  // Below a tile: A once for each of 32 columns of tiles, B once, C once.
  CHECK_THAT(tile_traffic(1.0, 4096.0, 4096.0, 128.0, 128.0, 2_B).value(),
             WithinRel(2.0 * (32.0 * 4096.0 + 4096.0 * 4096.0 + 4096.0), 1e-12));
  CHECK_THAT(tile_traffic(16.0, 4096.0, 4096.0, 128.0, 128.0, 2_B).value(),
             WithinRel(37.88e6, 1e-3));
}

TEST_CASE("what no register holds goes to memory and back", "[data_paths]") {
  CHECK_THAT(spilled_bytes(300.0, 255.0, 1e6).value(), WithinRel(45.0 * 8.0 * 1e6, 1e-12));
  CHECK(spilled_bytes(255.0, 255.0, 1e6).value() == 0.0);
  CHECK(spilled_bytes(64.0, 255.0, 1e6).value() == 0.0);
  CHECK_THROWS_AS(spilled_bytes(-1.0, 255.0, 1e6), error);
}

TEST_CASE("a window of the L2 serves what of the hot table fits it", "[data_paths]") {
  CHECK_THAT(persistent_hits(40_MB, 20_MB), WithinRel(0.5, 1e-12));
  CHECK_THAT(persistent_hits(40_MB, 20_MB, 0.6), WithinRel(0.3, 1e-12));
  CHECK(persistent_hits(10_MB, 20_MB) == 1.0);
  CHECK(persistent_hits(10_MB, 0_MB) == 0.0);
  CHECK_THROWS_AS(persistent_hits(10_MB, 20_MB, 1.5), error);
  // Half of 2 GB at 5 TB/s is 200 us, the other half at 2.5 TB/s 400 us.
  CHECK_THAT(time_with_hits(2_GB, 0.5, 5 * TB_per_s, 2.5 * TB_per_s).value(),
             WithinRel(600e-6, 1e-12));
  CHECK_THAT(time_with_hits(2_GB, 0.0, 5 * TB_per_s, 2.5 * TB_per_s).value(),
             WithinRel(800e-6, 1e-12));
}

TEST_CASE("short loads take more instructions, and odd rows allow no vector loads",
          "[data_paths]") {
  CHECK(load_instructions(1_MiB, 16) == 2048.0);
  CHECK(load_instructions(1_MiB, 2) == 16384.0);
  CHECK_THROWS_AS(load_instructions(1_MiB, 3), error);
  CHECK(aligned_width(4096, 2) == 16);
  CHECK(aligned_width(4097, 2) == 2);
  CHECK(aligned_width(4100, 2) == 8);
  CHECK(aligned_width(4097, 4) == 4);
  CHECK(aligned_width(7, 1) == 1);
}

TEST_CASE("a bulk copy stands for the loads of a tile", "[data_paths]") {
  CHECK(bulk_copies(128.0, 128_B) == 1.0);
  CHECK(load_instructions(128.0 * 128_B, 16) == 32.0);
  CHECK(bulk_copies(256.0, 256_B) == 2.0);
  CHECK(bulk_copies(257.0, 256_B) == 4.0);
  CHECK(bulk_copies(128.0, 128_B, 32) == 4.0);
  CHECK_THAT(issue_time(4.0, 8.0, frequency<>::from_value(1.6e9)).value(), WithinRel(20e-9, 1e-12));
  CHECK_THROWS_AS(bulk_copies(128.0, 128_B, 16), error);
  CHECK_THROWS_AS(bulk_copies(128.0, 8_B), error);
  CHECK_THROWS_AS(bulk_copies(128.0, 24_B), error);  // cuTensorMapEncodeTiled: multiples of 16
  CHECK(bulk_copies(128.0, 48_B) == 1.0);
  CHECK_THROWS_AS(bulk_copies(0.0, 128_B), error);
}

TEST_CASE("accumulators are registers, or columns of tensor memory", "[data_paths]") {
  CHECK(accumulator_registers(64.0, 256.0, 128.0) == 128.0);
  CHECK(accumulator_registers(128.0, 256.0, 128.0) == 256.0);
  CHECK(spilled_bytes(accumulator_registers(128.0, 256.0, 128.0), 255.0, 128.0) == 1024_B);
  STATIC_CHECK(tensor_memory_columns(128, 256) == 256);
  STATIC_CHECK(tensor_memory_columns(128, 96) == 128);
  STATIC_CHECK(tensor_memory_columns(64, 8) == 32);
  STATIC_CHECK(tensor_memory_columns(256, 256) == 512);
  CHECK(128 * tensor_memory_columns(256, 256) * 4 == 256 * 1024);
  CHECK_THROWS_AS(tensor_memory_columns(256, 257), error);
  CHECK_THROWS_AS(tensor_memory_columns(257, 8), error);
  CHECK_THROWS_AS(tensor_memory_columns(128, 0), error);
  CHECK_THROWS_AS(accumulator_registers(64.0, 256.0, 0.0), error);
}

TEST_CASE("a selection by digits reads little more than all once", "[data_paths]") {
  // 513,024 B x (1 + 1/256 + 1/256^2 + 1/256^3).
  const double read = selection_traffic(128256.0, 4_B).value();
  CHECK_THAT(read, WithinRel(513024.0 * (1.0 + 1.0 / 256 + 1.0 / 65536 + 1.0 / 16777216), 1e-12));
  CHECK_THAT(2.0 * 4.0 * 513024.0 / read, WithinRel(7.97, 1e-3));
  CHECK_THAT(selection_traffic(128256.0, 4_B, 32).value(), WithinRel(513024.0, 1e-9));
  // Halves by 11 bits: two passes.
  CHECK_THAT(selection_traffic(2048.0, 2_B, 11).value(), WithinRel(4096.0 + 2.0, 1e-12));
  CHECK(selection_traffic(0.0, 4_B) == 0_B);
  CHECK_THROWS_AS(selection_traffic(128256.0, 4_B, 0), error);
  CHECK_THROWS_AS(selection_traffic(-1.0, 4_B), error);
}

TEST_CASE("exponentials have units of their own", "[data_paths]") {
  const accelerator h = catalog::h100_sxm;
  const double per_s = 132.0 * 16.0 * h.vector.clock.value();
  CHECK_THAT(special_function_time(h, 1e9).value(), WithinRel(1e9 / per_s, 1e-12));
  CHECK_THAT(special_function_time(h, 1e9).value(), WithinRel(239e-6, 0.01));
}

TEST_CASE("a pageable copy is copied twice", "[data_paths]") {
  CHECK_THAT(host_copy_time(63_GB, 63 * GB_per_s).value(), WithinRel(1.0, 1e-12));
  CHECK_THAT(host_copy_time(0_GB, 63 * GB_per_s, 2_us).value(), WithinRel(2e-6, 1e-12));
  CHECK_THAT(pageable_copy_time(63_GB, 63 * GB_per_s, 10 * GB_per_s).value(),
             WithinRel(7.3, 1e-12));
}

TEST_CASE("a slice of a machine is a machine", "[data_paths]") {
  const accelerator part = slice_of(catalog::h100_sxm, 3.0 / 7.0, 0.5);
  CHECK_THAT(peak(part, bf16).value(), WithinRel(424.03e12, 1e-4));
  CHECK_THAT(part.dram.bandwidth.value(), WithinRel(1.675e12, 1e-12));
  CHECK_THAT(part.sms.value(), WithinRel(132.0 * 3.0 / 7.0, 1e-12));
  CHECK(part.fabric.bandwidth.value() == catalog::h100_sxm.fabric.bandwidth.value());
  // Less compute for its bandwidth: the ridge moves down by 6/7.
  CHECK_THAT(ridge_point(part, bf16).value(),
             WithinRel(ridge_point(catalog::h100_sxm, bf16).value() * 6.0 / 7.0, 1e-12));
  CHECK_THROWS_AS(slice_of(catalog::h100_sxm, 0.0, 0.5), error);
  CHECK_THROWS_AS(slice_of(catalog::h100_sxm, 1.5, 0.5), error);
}

TEST_CASE("a node is the sum of its devices", "[data_paths]") {
  // 8 x 81,559 MiB, 8 x 3.35 TB/s, 8 x 989.4 TFLOP/s.
  const node eight{catalog::h100_sxm, 8, {}};
  CHECK_THAT(capacity(eight).value(), WithinRel(8.0 * 81559.0 * 1048576.0, 1e-12));
  CHECK_THAT(dram_bandwidth(eight).value(), WithinRel(26.8e12, 1e-12));
  CHECK_THAT(peak(eight, bf16).value(), WithinRel(7915.2e12, 1e-12));
}

TEST_CASE("a chain of loads takes the latency of the level that has its set", "[data_paths]") {
  accelerator a = catalog::h200_sxm;
  a.shared.capacity = {132.0 * 200.0 * KiB, given_by_caller};
  a.shared.latency = {16_ns, given_by_caller};
  a.l2.capacity = {50.0 * MiB, given_by_caller};
  a.l2.latency = {140_ns, given_by_caller};
  a.far_l2_latency = {};
  a.dram.latency = {340_ns, given_by_caller};
  // L1 is flat nearly to its end: at 96 % of it, 0.96^64 / (1 + 0.96^64) = 6.8 % of loads miss.
  CHECK_THAT(chase(a, 100.0 * KiB).latency.value(), WithinRel(16e-9, 1e-9));
  CHECK_THAT(chase(a, 192.0 * KiB).latency.value(), WithinRel(16e-9 + 0.0683 * 124e-9, 0.01));
  CHECK_THAT(chase(a, 220.0 * KiB).latency.value(), WithinRel(140e-9, 3e-3));
  CHECK(std::string_view(chase(a, 100.0 * KiB).level) == "L1");
  CHECK_THAT(chase(a, 100.0 * KiB, false).latency.value(), WithinRel(140e-9, 1e-9));
  // Half of a set as large as the L2 is found there.
  CHECK_THAT(chase(a, 50.0 * MiB).latency.value(), WithinRel(0.5 * (140e-9 + 340e-9), 1e-9));
  CHECK(std::string_view(chase(a, 50.0 * MiB).level) == "between");
  CHECK_THAT(chase(a, 1000.0 * MiB).latency.value(), WithinRel(340e-9, 1e-6));
  // A level that serves loads and states no latency: no answer.
  a.dram.latency = {};
  CHECK(chase(a, 1000.0 * MiB).latency.value() == 0.0);
  CHECK_THROWS_AS(chase(a, bytes<>::from_value(-1.0)), error);
}

TEST_CASE("short matrix instructions reach a part of the peak", "[data_paths]") {
  CHECK(matrix_instruction_share(catalog::a100_sxm_80gb, 16.0) == 1.0);
  CHECK(matrix_instruction_share(catalog::h100_sxm, 64.0) == 1.0);
  CHECK(matrix_instruction_share(catalog::h100_sxm, 16.0) == 0.665);
}

}  // namespace unit_data_paths
