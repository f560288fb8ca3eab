// AMD's profiles: a GEMM by hand, transferred profiles and their sources, and refusals.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/kernels/catalog/calibrated_for.hpp>

namespace unit_calibrated_amd {

namespace pm = perfmodel;
namespace catalog = pm::catalog;
using Catch::Matchers::WithinRel;

TEST_CASE("a GEMM on MI300X by hand, in one tile wave of few columns", "[calibrated]") {
  // One row, 304 tiles of 64 columns on 304 compute units: 16 rows of a matrix instruction are
  // worked off.
  const double n = 304.0 * 64.0, k = 1000.0, units = 304.0;
  const pm::machine_parameters& p = catalog::profile_mi300x.value;
  const double multiply = 2.0 * 16.0 * 64.0 / (p.matrix_share * 1307.4e12 / units);
  const double fetch = (1.0 + 64.0) * 2.0 / (p.operand_bandwidth.value() / units);
  const double compute = k * std::max(multiply, fetch) + p.tile_fill.value();
  const double memory = 2.0 * (k + n * k + n) / (p.dram_share * 5.3e12);
  const double longer = std::max(compute, memory), shorter = std::min(compute, memory);
  const double by_hand = p.matrix_floor.value() + longer + shorter * shorter / (3.0 * longer);
  const auto e = calibrated_estimate(catalog::mi300x, pm::gemm{.m = 1, .n = n, .k = k}, {p});
  CHECK_THAT(e.time.value(), WithinRel(by_hand, 1e-9));
}

TEST_CASE("scales of fp8 blocks cost matrix rate on CDNA 3 and 4", "[calibrated]") {
  for (const pm::accelerator* a : {&catalog::mi300x, &catalog::mi355x}) {
    INFO(a->name.c_str());
    const pm::calibrated calibration = pm::calibrated_for(*a, pm::engine::none);
    pm::gemm g{.m = 65536, .n = 8192, .k = 8192, .format = pm::fp8, .output = pm::bf16};
    g.weights = pm::storage_format(pm::fp8, 128 * 128, 32);
    const double blocks = calibrated_estimate(*a, g, calibration).time.value();
    // So large that it is bound by its multiplications, but for the fill of each tile.
    const double flop = 2.0 * 65536.0 * 8192.0 * 8192.0;
    const double rate = catalog::block_scale_share_of(*a) * calibration.machine.matrix_share *
                        a->matrix.peak.fp8.value();
    CHECK(blocks > flop / rate);
    CHECK(blocks < 1.35 * flop / rate);
  }
}

TEST_CASE("siblings take the measured chip's profile, and MI210 has none", "[calibrated]") {
  CHECK(&catalog::gemm_donor_of(catalog::mi325x) == &catalog::measured_mi300x);
  CHECK(&catalog::gemm_donor_of(catalog::mi350x) == &catalog::measured_mi355x);
  CHECK(&catalog::gemm_donor_of(catalog::mi300x) == &catalog::measured_mi355x);
  const pm::machine_profile p = catalog::machine_profile_of(catalog::mi325x);
  CHECK(p.transferred());
  CHECK(p.value.dram_share == catalog::profile_mi300x.value.dram_share);
  // Best bf16 GEMMs found: 785 and 668.4 TFLOP/s (stas00/ml-engineering), by the same die.
  CHECK_THAT(p.value.matrix_share / catalog::profile_mi300x.value.matrix_share,
             WithinRel(785.0 / 668.4, 1e-3));
  CHECK(p.log_sigma == 0.21);
  CHECK(!catalog::can_be_calibrated(catalog::mi210));
  CHECK_THROWS_AS(pm::calibrated_for(catalog::mi210), pm::error);
}

TEST_CASE("a compute unit dequantises half as many weights a cycle as an SM", "[calibrated]") {
  const auto cycles = [](const pm::accelerator& a) {
    return pm::calibrated_for(a, pm::engine::vllm).engine.dequantisation_cycles;
  };
  CHECK(cycles(catalog::mi300x) == 2.0 * cycles(catalog::h100_sxm));
}

TEST_CASE("attention and links of AMD are transferred, and say so", "[calibrated]") {
  for (const pm::accelerator* a :
       {&catalog::mi300x, &catalog::mi325x, &catalog::mi350x, &catalog::mi355x}) {
    INFO(a->name.c_str());
    const pm::calibrated calibration = pm::calibrated_for(*a, pm::engine::sglang);
    CHECK(calibration.note(pm::profile_part::attention).from->how == pm::basis::assumed);
    CHECK(calibration.note(pm::profile_part::attention).log_sigma >= 0.5);
    CHECK(calibration.note(pm::profile_part::links).from->how == pm::basis::assumed);
    CHECK(calibration.note(pm::profile_part::links).log_sigma >= 0.5);
    CHECK(!calibration.links.profile.value.in_network_share);
    CHECK(calibration.moe_kernels.name.view().starts_with("aiter"));
    CHECK(calibration.low_precision_moe_kernels.name.view().starts_with("aiter"));
    const pm::attention_decode w{
        .batch = 8, .context = 4096, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
    const auto e = calibrated_estimate(*a, w, calibration);
    CHECK(e.time > roofline(*a, w).time);
  }
}

TEST_CASE("an AMD product, block of experts and prefill are never below their bounds",
          "[calibrated]") {
  for (const pm::accelerator* a :
       {&catalog::mi300x, &catalog::mi325x, &catalog::mi350x, &catalog::mi355x}) {
    const pm::calibrated calibration = pm::calibrated_for(*a);
    for (const double m : {1.0, 33.0, 1000.0, 20000.0}) {
      INFO(a->name.c_str() << " " << m);
      const pm::gemm g{.m = m, .n = 4096, .k = 7168};
      CHECK(calibrated_estimate(*a, g, calibration).time > roofline(*a, g).time);
      pm::moe_ffn x{.tokens = m, .hidden = 4096, .intermediate = 1536, .experts = 128, .top_k = 8};
      CHECK(calibrated_estimate(*a, x, calibration).time > roofline(*a, x).time);
      x.format = pm::fp8;
      x.weights = pm::storage_format(pm::fp8, 128 * 128, 32);
      CHECK(calibrated_estimate(*a, x, calibration).time > roofline(*a, x).time);
      const pm::attention_prefill w{
          .batch = 1, .tokens = m, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
      CHECK(calibrated_estimate(*a, w, calibration).time > roofline(*a, w).time);
    }
  }
}

}  // namespace unit_calibrated_amd
