// The catalogue's numbers against each other: identities, order, ridge points, conventions.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/hardware/catalog/alternatives.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace catalog_accelerators {

namespace pm = perfmodel;
namespace catalog = perfmodel::catalog;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

namespace {

// Identities that do not give the printed value: by which factor they miss, and why.
using exceptions = std::map<std::string_view, double>;

double expected_ratio(const exceptions& known, std::string_view key) {
  const auto it = known.find(key);
  return it == known.end() ? 1.0 : it->second;
}

double ridge(const pm::accelerator& a, pm::number_format format) {
  return pm::peak(a, format).value() / a.dram.bandwidth.value();
}

const catalog::alternative& find_alternative(std::string_view accelerator, std::string_view field,
                                             double value) {
  for (const auto& other : catalog::alternatives) {
    if (other.accelerator == accelerator && other.field == field &&
        std::abs(other.value - value) <= 1e-6 * value) {
      return other;
    }
  }
  FAIL("no alternative " << accelerator << " " << field << " " << value);
  return catalog::alternatives[0];
}

}  // namespace

// The values of the library are constants, not numbers filled in at start-up.
static_assert(pm::peak(catalog::h100_sxm, pm::bf16).value() == 989.4e12);
static_assert(catalog::h200_sxm.dram.bandwidth.value() == 4.8e12);
static_assert(catalog::with_alternative(catalog::v100_sxm_32gb, catalog::alternatives[0])
                  .dram.capacity.value() == 32e9);

TEST_CASE("matrix peak = SMs x FLOP per clock x clock") {
  int compared = 0;
  for (const auto& [spec, key, title] : catalog::accelerators) {
    const auto& m = spec->matrix;
    if (!m.flop_per_clock.is_stated() || !m.clock.is_stated() || !spec->sms.is_stated()) continue;
    if (m.clock.from().how == pm::basis::derived)
      continue;  // the clock was worked out from the peak
    const double printed = m.peak.bf16.is_stated() ? m.peak.bf16.value() : m.peak.fp16.value();
    INFO(key);
    CHECK_THAT(spec->sms.value() * m.flop_per_clock.value() * m.clock.value(),
               WithinRel(printed, 0.005));
    ++compared;
  }
  CHECK(compared >= 14);
}

TEST_CASE("FLOP per clock of a matrix unit is a power of two") {
  for (const auto& [spec, key, title] : catalog::accelerators) {
    if (!spec->matrix.flop_per_clock.is_stated()) continue;
    INFO(key);
    const double power = std::log2(spec->matrix.flop_per_clock.value());
    CHECK(power == std::round(power));
  }
}

TEST_CASE("vector peak = SMs x FLOP per clock x clock") {
  const exceptions known = {
      {"b300_sxm", 1.0265},  // printed at 1.98 GHz, the driver's maximum is 2.03
      {"b200_sxm", 0.9927},  // and 1.965
      {"gb300", 1.0066},     // printed at GB200's clock
  };
  int compared = 0;
  for (const auto& [spec, key, title] : catalog::accelerators) {
    const auto& v = spec->vector;
    if (!v.flop_per_clock.is_stated() || !v.clock.is_stated() || !v.peak.fp32.is_stated()) continue;
    INFO(key);
    CHECK_THAT(spec->sms.value() * v.flop_per_clock.value() * v.clock.value() / v.peak.fp32.value(),
               WithinRel(expected_ratio(known, key), 0.005));
    ++compared;
  }
  CHECK(compared >= 22);
}

TEST_CASE("DRAM bandwidth = bus width / 8 x transfer rate") {
  struct interface {
    const char* key;
    double bits;
    double transfers;
  };
  const std::array interfaces{
      interface{"v100_sxm_32gb", 4096, 2 * 877e6},
      interface{"a100_sxm_80gb", 5120, 2 * 1593e6},
      interface{"a100_sxm_40gb", 5120, 2 * 1215e6},
      interface{"h100_sxm", 5120, 2 * 2619e6},
      interface{"h100_pcie", 5120, 2 * 1593e6},
      interface{"h200_sxm", 6144, 2 * 3201e6},
      interface{"gh200_96gb", 6144, 2 * 2619e6},
      interface{"b200_sxm", 7680, 2 * 3996e6},
      interface{"b300_sxm", 7680, 2 * 3996e6},
      interface{"t4", 256, 10e9},
      interface{"a100_pcie_80gb", 5120, 2 * 1512e6},
      interface{"a100_pcie_40gb", 5120, 2 * 1215e6},
      interface{"a10", 384, 12.5e9},
      interface{"a40", 384, 14.5e9},
      interface{"rtx_a6000", 384, 16e9},
      interface{"rtx_3090", 384, 19.5e9},
      interface{"h800_sxm", 5120, 2 * 2619e6},
      interface{"h100_nvl", 6016, 2 * 2619e6},
      interface{"l4", 192, 12.5e9},
      interface{"l40s", 384, 18e9},
      interface{"rtx_4090", 384, 21e9},
      interface{"rtx_5080", 256, 30e9},
      interface{"rtx_5090", 512, 28e9},
      interface{"rtx_pro_6000", 512, 2 * 12481e6},
      interface{"rtx_4080", 256, 22.4e9},
      interface{"rtx_4070", 192, 21e9},
      interface{"rtx_3080", 320, 19e9},
      interface{"rtx_5070_ti", 256, 28e9},
      interface{"rtx_5070", 192, 28e9},
      interface{"rtx_6000_ada", 384, 20e9},
      interface{"l20", 384, 18e9},
      interface{"rtx_pro_4500", 256, 28e9},
      interface{"rtx_pro_5000", 384, 28e9},
      interface{"rx_7900_xtx", 384, 20e9},
      interface{"rx_9070_xt", 256, 20e9},
      interface{"radeon_ai_pro_r9700", 256, 20e9},
      interface{"ryzen_ai_max_395", 256, 8e9},
      interface{"arc_pro_b60", 192, 19e9},
      interface{"arc_pro_b70", 256, 19e9},
      interface{"mi210", 4096, 3.2e9},
      interface{"rtx_pro_6000_workstation", 512, 28e9},
      interface{"rtx_pro_6000_max_q", 512, 28e9},
      interface{"gb10", 256, 8.533e9},
      interface{"mi300x", 8192, 5.2e9},
      interface{"mi325x", 8192, 6e9},
      interface{"b100_sxm", 7680, 2 * 3996e6},
      interface{"mi350p", 4096, 8e9},
      interface{"mi350x", 8192, 8e9},
      interface{"mi355x", 8192, 8e9},
      interface{"m2_ultra", 1024, 6.4e9},
      interface{"m3_ultra", 1024, 6.4e9},
      interface{"m4_pro", 256, 8.533e9},
      interface{"m4_max_32core", 384, 8.533e9},
      interface{"m4_max", 512, 8.533e9},
      interface{"jetson_orin_nano_8gb", 128, 4.266e9},
      interface{"jetson_orin_nx_16gb", 128, 6.4e9},
      interface{"jetson_agx_orin_64gb", 256, 6.4e9},
      interface{"jetson_thor", 256, 8.533e9},
  };
  const exceptions known = {
      {"h200_sxm", 1.0243},    // the driver's memory clock lies above the datasheet
      {"gh200_96gb", 1.0057},  // 4 is rounded from 4.023
      {"mi210", 1.0240},       // 1.6 is rounded from 1.638
      {"mi325x", 1.0240},      // and 6 from 6.144
      {"mi350p", 1.0240},      // 4 from 4.096
      {"mi350x", 1.0240},      // and 8 from 8.192
      {"mi355x", 1.0240},
  };
  for (const interface& i : interfaces) {
    INFO(i.key);
    const pm::accelerator* a = catalog::find_accelerator(i.key);
    REQUIRE(a != nullptr);
    CHECK_THAT(i.bits / 8.0 * i.transfers / a->dram.bandwidth.value(),
               WithinRel(expected_ratio(known, i.key), 0.005));
  }
}

TEST_CASE("shared memory serves 128 B per clock and SM, registers three operands per lane") {
  int compared = 0;
  for (const auto& [spec, key, title] : catalog::accelerators) {
    if (!spec->shared.bandwidth.is_stated() || std::string_view(key) == "tpu_v5e") continue;
    INFO(key);
    const double bytes = spec->architecture == pm::chip_architecture::cdna4 ? 256.0 : 128.0;
    CHECK_THAT(spec->sms.value() * bytes * spec->vector.clock.value(),
               WithinRel(spec->shared.bandwidth.value(), 0.005));
    if (spec->registers.bandwidth.is_stated()) {
      const double lanes = spec->vector.flop_per_clock.value() / 2.0;
      CHECK_THAT(spec->sms.value() * lanes * 12.0 * spec->vector.clock.value(),
                 WithinRel(spec->registers.bandwidth.value(), 0.005));
    }
    ++compared;
  }
  CHECK(compared >= 16);
}

TEST_CASE("a nearer memory is faster, and the DRAM is the largest") {
  for (const auto& [spec, key, title] : catalog::accelerators) {
    INFO(key);
    const std::array levels{&spec->registers, &spec->shared, &spec->l2, &spec->dram};
    const pm::memory_level* nearer_bandwidth = nullptr;
    const pm::memory_level* nearer_latency = nullptr;
    for (const pm::memory_level* level : levels) {
      if (level->bandwidth.is_stated()) {
        if (nearer_bandwidth != nullptr)
          CHECK(nearer_bandwidth->bandwidth.value() > level->bandwidth.value());
        nearer_bandwidth = level;
      }
      if (level->latency.is_stated()) {
        if (nearer_latency != nullptr)
          CHECK(nearer_latency->latency.value() < level->latency.value());
        nearer_latency = level;
      }
      if (level != &spec->dram) CHECK(level->capacity.value() < spec->dram.capacity.value());
    }
    CHECK(spec->dram.bandwidth.is_stated());
    CHECK(spec->dram.capacity.is_stated());
    // Whoever leaves the chip is slower than its memory.
    if (spec->fabric.ranks > 1)
      CHECK(spec->fabric.bandwidth.value() < spec->dram.bandwidth.value());
    if (spec->host.exists()) CHECK(spec->host.bandwidth.value() < spec->dram.bandwidth.value());
  }
}

TEST_CASE("halving the operand doubles the rate") {
  // Rates over each other where both are stated; 1.2 % leaves room for the rounding of datasheets.
  const exceptions fp8_over_bf16 = {
      {"tpu_v5p", 0.5},  // no gain over BF16
      {"gaudi_3", 0.5},
      {"tpu_v6e", 0.5},
      {"ascend_950dt", 919.0 / 972.0},
      {"maia_200", 2.0},
      {"trainium2", 1299.0 / 1334.0},
      {"trainium3", 2517.0 / 1342.0},
      {"vera_rubin_nvl72", 17.5 / 8.0},  // FP8 was raised
      {"l40s", 1.0123},                  // printed at different clocks
  };
  const exceptions int8_over_fp8 = {
      {"rtx_4070", 2.0},
      {"rtx_4080", 2.0},
      {"rtx_4090", 2.0},
      {"rtx_5070", 2.0},
      {"rtx_5070_ti", 2.0},
      {"rtx_5080", 2.0},
      {"rtx_5090", 2.0},  // GeForce halves FP32 accumulation only
      {"b300_sxm", 153.5 / 4500.0},
      {"gb300", 165.0 / 5000.0},  // INT8 was cut
      {"tpu_v5p", 2.0},
      {"tpu_v6e", 2.0},
      {"mi455x", 0.5},
      {"vera_rubin_nvl72", 250.0 / 17500.0},
  };
  const exceptions fp4_over_fp8 = {
      {"ascend_950dt", 1783.0 / 1838.0},
      {"trainium3", 0.5},  // MXFP4 runs at the rate of MXFP8
      {"rtx_5070", 2.0},
      {"rtx_5070_ti", 2.0},
      {"rtx_5080", 2.0},
      {"rtx_5090", 2.0},  // GeForce halves FP8 with FP32 accumulation, not FP4
      {"b300_sxm", 1.5},
      {"gb300", 1.5},  // FP4 was raised
      {"rubin_ultra_nvl576", 1.5},
  };
  const exceptions int8_over_fp16 = {
      {"rtx_3080", 2.0},
      {"rtx_3090", 2.0},
      {"mi210", 0.5},  // no gain over FP16
      {"mi250x", 0.5},
      {"mi455x", 0.5},
      {"rx_7900_xtx", 0.5},
      {"ryzen_ai_max_395", 0.5},
      {"cloud_ai_100_ultra", 1.5},
      {"h20", 1.0},
      {"rtx_4070", 2.0},
      {"rtx_4080", 2.0},
      {"rtx_4090", 2.0},
      {"rtx_5070", 2.0},
      {"rtx_5070_ti", 2.0},
      {"rtx_5080", 2.0},
      {"rtx_5090", 2.0},
      {"b300_sxm", 153.5 / 4500.0},
      {"gb300", 165.0 / 5000.0},
      {"vera_rubin_nvl72", 250.0 / 8000.0},
      {"groq_lpu", 750.0 / 376.0},
      {"l40s", 1.0123},
  };
  const exceptions bf16_over_tf32 = {
      {"trainium2", 0.5}, {"trainium3", 0.5}, {"gaudi_3", 2.0}};  // no gain; a quarter
  const exceptions fp16_over_bf16 = {{"gaudi_3", 0.25}};
  const auto check = [](std::string_view key, const char* pair, double rate, double twice,
                        double unit, const exceptions& known) {
    if (rate <= 0.0 || unit <= 0.0) return;
    INFO(key << " " << pair);
    CHECK_THAT(rate / (twice * unit), WithinRel(expected_ratio(known, key), 0.012));
  };
  for (const auto& [spec, key, title] : catalog::accelerators) {
    const auto& p = spec->matrix.peak;
    check(key, "fp16 / bf16", p.fp16.value(), 1.0, p.bf16.value(), fp16_over_bf16);
    check(key, "bf16 / tf32", p.bf16.value(), 2.0, p.tf32.value(), bf16_over_tf32);
    check(key, "fp8 / bf16", p.fp8.value(), 2.0, p.bf16.value(), fp8_over_bf16);
    check(key, "int8 / fp8", p.int8.value(), 1.0, p.fp8.value(), int8_over_fp8);
    check(key, "fp4 / fp8", p.fp4.value(), 2.0, p.fp8.value(), fp4_over_fp8);
    check(key, "int4 / int8", p.int4.value(), 2.0, p.int8.value(), {});
    check(key, "int8 / fp16", p.int8.value(), 2.0, p.fp16.value(), int8_over_fp16);
  }
}

TEST_CASE("sparse is twice dense, two-way is twice one-way, as sold is less than there is") {
  const exceptions sparse_known = {
      {"b300_sxm matrix.peak.fp4", 2.0 / 3.0},  // sparsity does not double Blackwell Ultra's FP4
      {"gb300 matrix.peak.fp4", 2.0 / 3.0},    {"vera_rubin_nvl72 matrix.peak.fp4", 5.0 / 7.0},
      {"rtx_5090 matrix.peak.fp16", 2.0},       // and accumulates in FP16
      {"cerebras_wse3 matrix.peak.fp16", 4.0},  // seven of eight products are left out
  };
  for (const auto& other : catalog::alternatives) {
    const pm::accelerator* a = catalog::find_accelerator(other.accelerator);
    REQUIRE(a != nullptr);
    const std::string key = std::string(other.accelerator) + " " + other.field;
    const std::string_view field = other.field;
    const std::string_view status = other.status;
    INFO(key << " " << other.value);
    if (status == "sparse") {
      double own = 0.0;
      if (field == "matrix.peak.bf16") own = a->matrix.peak.bf16.value();
      if (field == "matrix.peak.fp16") own = a->matrix.peak.fp16.value();
      if (field == "matrix.peak.fp8") own = a->matrix.peak.fp8.value();
      if (field == "matrix.peak.fp4") own = a->matrix.peak.fp4.value();
      REQUIRE(own > 0.0);
      CHECK_THAT(other.value / 2.0 / own, WithinRel(expected_ratio(sparse_known, key), 0.013));
    } else if (status == "two_way") {
      const double own =
          field == "host.bandwidth" ? a->host.bandwidth.value() : a->fabric.bandwidth.value();
      CHECK_THAT(other.value, WithinRel(2.0 * own, 1e-3));
    } else if (status == "marketing") {
      CHECK(field == "dram.capacity");
      CHECK(other.value < a->dram.capacity.value());
      CHECK(other.value > 0.92 * a->dram.capacity.value());
    }
  }
}

TEST_CASE("ridge points in FLOP per byte") {
  CHECK_THAT(ridge(catalog::v100_sxm_32gb, pm::fp16), WithinAbs(138.9, 0.05));
  CHECK_THAT(ridge(catalog::a100_sxm_80gb, pm::bf16), WithinAbs(153.0, 0.1));
  CHECK_THAT(ridge(catalog::h100_sxm, pm::bf16), WithinAbs(295.2, 0.2));
  CHECK_THAT(ridge(catalog::h100_sxm, pm::fp8), WithinAbs(590.7, 0.05));
  CHECK_THAT(ridge(catalog::h200_sxm, pm::bf16), WithinAbs(206.1, 0.05));
  CHECK_THAT(ridge(catalog::h200_sxm, pm::fp8), WithinAbs(412.3, 0.05));
  CHECK_THAT(ridge(catalog::b200_sxm, pm::bf16), WithinAbs(292.2, 0.05));
  CHECK_THAT(ridge(catalog::h20, pm::bf16), WithinAbs(37.0, 1e-9));
  CHECK_THAT(ridge(catalog::rtx_5080, pm::bf16), WithinAbs(117.3, 0.05));
  // CUDA cores.
  CHECK_THAT(pm::vector_peak(catalog::h100_sxm).value() / 3.35e12, WithinAbs(20.0, 0.05));
  CHECK_THAT(pm::vector_peak(catalog::h200_sxm).value() / 4.8e12, WithinAbs(13.9, 0.05));
}

TEST_CASE("a published mistake can be recomputed and is not the default") {
  const auto halved_twice = catalog::with_alternative(
      catalog::h100_sxm, find_alternative("h100_sxm", "matrix.peak.bf16", 494.7e12));
  CHECK_THAT(ridge(halved_twice, pm::bf16), WithinAbs(147.7, 0.05));
  const auto slow_h200 = catalog::with_alternative(
      catalog::h200_sxm, find_alternative("h200_sxm", "dram.bandwidth", 4.0e12));
  CHECK_THAT(ridge(slow_h200, pm::bf16), WithinAbs(247.4, 0.05));
  const auto whole_bus = catalog::with_alternative(
      catalog::b200_sxm, find_alternative("b200_sxm", "dram.bandwidth", 8e12));
  CHECK_THAT(ridge(whole_bus, pm::bf16), WithinAbs(281.25, 1e-9));

  // The values that a comparison of published figures settled.
  CHECK(find_alternative("b300_sxm", "matrix.peak.fp8", 7e15).status ==
        std::string_view("refuted"));
  CHECK(catalog::b300_sxm.matrix.peak.fp8.value() == 4.5e15);
  CHECK(find_alternative("h100_sxm", "shared.bandwidth", 10e12).status ==
        std::string_view("refuted"));
  CHECK(find_alternative("h100_sxm", "l2.bandwidth", 12e12).status == std::string_view("refuted"));
  CHECK(find_alternative("h100_sxm", "fabric.bandwidth", 900e9).status ==
        std::string_view("two_way"));
  CHECK(catalog::h100_sxm.fabric.bandwidth.value() == 450e9);
  CHECK_THAT(catalog::h100_sxm.host.bandwidth.value(), WithinAbs(63.0e9, 0.05e9));
  CHECK_THAT(catalog::gb200.host.bandwidth.value() / catalog::h100_sxm.host.bandwidth.value(),
             WithinAbs(7.1, 0.05));
  CHECK(find_alternative("jetson_thor", "matrix.peak.fp4", 700e12).status ==
        std::string_view("refuted"));
  CHECK(catalog::jetson_thor.matrix.peak.fp4.value() == 1035e12);
  CHECK_THAT(catalog::jetson_agx_orin_64gb.matrix.peak.fp16.value(), WithinAbs(42.6e12, 0.05e12));
  CHECK_THAT(catalog::jetson_orin_nx_16gb.matrix.peak.fp16.value(), WithinAbs(15.0e12, 0.05e12));
  CHECK_THAT(catalog::jetson_orin_nano_8gb.matrix.peak.fp16.value(), WithinAbs(10.2e12, 0.05e12));
  CHECK_THAT(989.4e12 / catalog::jetson_agx_orin_64gb.matrix.peak.fp16.value(),
             WithinAbs(23.2, 0.05));
  CHECK_THAT(catalog::m3_ultra.dram.bandwidth.value() / 140e9,
             WithinAbs(5.85, 0.005));  // 70B in BF16
  CHECK_THAT(catalog::h100_sxm.shared.bandwidth.value(), WithinAbs(33.5e12, 0.05e12));
  CHECK_THAT(catalog::h100_sxm.registers.bandwidth.value(), WithinAbs(401e12, 0.5e12));
  CHECK_THAT(catalog::h100_sxm.dram.capacity.value(), WithinAbs(85.5e9, 0.05e9));
  CHECK_THAT(catalog::h200_sxm.dram.capacity.value(), WithinAbs(150.8e9, 0.06e9));
}

TEST_CASE("what an accelerator cannot compute is an error that names it") {
  CHECK_THROWS_AS(pm::peak(catalog::v100_sxm_32gb, pm::fp8), pm::error);
  CHECK_THROWS_AS(pm::peak(catalog::v100_sxm_32gb, pm::bf16), pm::error);
  CHECK_THROWS_AS(pm::peak(catalog::h100_sxm, pm::fp4), pm::error);
  CHECK_THROWS_AS(pm::peak(catalog::groq_lpu, pm::bf16), pm::error);
  CHECK(pm::supports(catalog::b200_sxm, pm::fp4));
  CHECK_FALSE(pm::supports(catalog::a100_sxm_80gb, pm::fp8));
}

TEST_CASE("the identities that catalogue values follow from") {
  CHECK_THAT(catalog::per_clock(132, 128, 1.98 * pm::GHz).value(), WithinRel(33.45e12, 1e-3));
  CHECK_THAT(catalog::operand_reads(132, 128, 1.98 * pm::GHz).value(), WithinRel(401.4e12, 1e-3));
  CHECK_THAT(catalog::clock_of(2250.0 * pm::TFLOP_per_s, 148, 8192).value(),
             WithinRel(1.8558e9, 1e-4));
  CHECK_THAT(catalog::pcie_one_way(16, 32.0 * pm::GHz).value(), WithinRel(63.0e9, 1e-3));
}

TEST_CASE("matrix units take the formats of their architecture, and no others") {
  for (const auto& [spec, key, title] : catalog::accelerators) {
    for (const pm::number_format f : pm::all_formats) {
      INFO(key << " " << pm::name_of(f));
      if (spec->matrix.peak[f].is_stated()) {
        CHECK(pm::facts_of(spec->architecture).matrix_formats.contains(f));
      }
    }
  }
}

TEST_CASE("facts of a die are its architecture's, unless the accelerator states its own") {
  CHECK(pm::instruction_rows_of(catalog::h100_sxm) == 64.0);
  CHECK(pm::instruction_rows_of(catalog::rtx_pro_6000) == 16.0);
  CHECK(pm::l2_partitions_of(catalog::a100_sxm_40gb) == 2.0);
  CHECK(pm::l2_partitions_of(catalog::l40s) == 1.0);
  pm::accelerator own = catalog::h100_sxm;
  own.l2_partitions = {1.0};
  CHECK(pm::l2_partitions_of(own) == 1.0);
  CHECK_THROWS_AS(pm::instruction_rows_of(catalog::tpu_v5e), pm::error);
}

}  // namespace catalog_accelerators
