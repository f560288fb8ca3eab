// Values that disagree with the catalogue's, with their status, and how to use one instead.
// docs/catalogue.md says how the larger conflicts were decided.
#pragma once

#include <array>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/hardware/catalog/ai_accelerators.hpp>
#include <perfmodel/hardware/catalog/entry.hpp>
#include <perfmodel/hardware/catalog/sources.hpp>
#include <string_view>
#include <type_traits>

namespace perfmodel::inline v0_3::catalog {

/// One published value that differs from the catalogue's. `value` is in s, bytes, FLOP, J, USD.
/// `status` is one of
///   alternative  another defensible figure, product variant or measurement
///   marketing    a capacity as sold, in decimal bytes or of the physical stacks
///   sparse       counts 2:4 sparsity         two_way    adds both directions of a link
///   refuted      contradicts other facts: kept so that a text which uses it can be recomputed
///   announced    said of a part before it shipped
struct alternative {
  const char* accelerator;
  const char* field;  ///< dotted path: matrix.peak.bf16, dram.capacity, fabric.ranks
  double value;
  const char* unit;
  const char* status;
  source from;
  const char* why;
};

namespace walk {

/// Sets the number at a dotted path; false where there is none.
template <class S>
constexpr bool set(S& spec, std::string_view path, double value, const source& from) {
  bool done = false;
  const std::size_t dot = path.find('.');
  const bool here = dot == path.npos;
  S::fields(
      [&](const field& about, auto& x) {
        using value_type = std::remove_reference_t<decltype(x)>;
        if (path.substr(0, dot) != about.name) return;
        if constexpr (detail::Spec<value_type>) {
          if (!here) done = set(x, path.substr(dot + 1), value, from);
        } else if constexpr (requires { typename value_type::quantity_type; }) {
          if (here) x = value_type(value_type::quantity_type::from_value(value), from);
          done = here;
        } else if constexpr (std::is_same_v<value_type, int>) {
          if (here) x = static_cast<int>(value);
          done = here;
        }
      },
      spec);
  return done;
}

}  // namespace walk

/// A copy of the accelerator with the alternative in place of its own value; the field then names
/// the alternative's source. Throws inconsistent where the alternative is of another accelerator,
/// unknown_name where the field is not a number of the spec.
/// Leaves out: values that followed from the one replaced (a peak from a clock) keep theirs.
/// Test: with_alternative(h200_sxm, the 4.0 TB/s row) has ridge 247.4 instead of 206.1.
constexpr accelerator with_alternative(accelerator a, const alternative& other) {
  if (a.name.view() != other.accelerator) {
    detail::fail(error_code::inconsistent, "the alternative belongs to another accelerator");
  }
  if (!walk::set(a, other.field, other.value, other.from)) {
    detail::fail(error_code::unknown_name,
                 "the accelerator has no number of the alternative's field name");
  }
  return a;
}
/// The copy refers to the alternative's source, which must outlive it.
accelerator with_alternative(accelerator a, alternative&& other) = delete;

// Values of NVIDIA's accelerators.

namespace claims {
inline constexpr source unsourced{basis::assumed, "published claim without a document behind it"};
inline constexpr source double_rate{basis::derived, "twice the dense rate: 2:4 sparsity"};
inline constexpr source both_directions{basis::derived, "twice the one-way rate: both directions"};
inline constexpr source as_sold{basis::vendor, "capacity in the product's name, decimal bytes"};
inline constexpr source horowitz{
    basis::assumed, "45 nm figures per 32 bit as quoted after Horowitz, ISSCC 2014; not read"};
inline constexpr source clock_and_pins{basis::derived,
                                       "bus width / 8 x 2 x the driver's memory clock"};
inline constexpr source cycles{basis::derived, "claimed cycles / 1.98 GHz"};
}  // namespace claims

// clang-format off
inline constexpr std::array alternatives_of_nvidia{
    // V100, A100
    alternative{"v100_sxm_32gb", "dram.capacity", 32e9, "B", "marketing", claims::as_sold, "the driver shows 34.06e9"},
    alternative{"v100_sxm_32gb", "fabric.bandwidth", 300e9, "B/s", "two_way", claims::both_directions, "six links of 50 GB/s in both directions"},
    alternative{"v100_sxm_32gb", "fabric.ranks", 16, "1", "alternative", claims::unsourced, "DGX-2 joins 16 with NVSwitch; DGX-1 joins 8"},
    alternative{"a100_sxm_80gb", "matrix.peak.bf16", 624e12, "FLOP/s", "sparse", sources::a100_table, "2:4 sparse"},
    alternative{"a100_sxm_80gb", "dram.bandwidth", 2.0e12, "B/s", "alternative", claims::unsourced, "rounded"},
    alternative{"a100_sxm_80gb", "dram.capacity", 80e9, "B", "marketing", claims::as_sold, "the driver shows 85.9e9"},
    alternative{"a100_sxm_80gb", "l2.bandwidth", 4.5e12, "B/s", "alternative", sources::gpu_benches, "plateau of the other of two benchmarks"},
    alternative{"a100_sxm_80gb", "fabric.bandwidth", 600e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"a100_sxm_80gb", "fabric.ranks", 16, "1", "alternative", claims::unsourced, "two baseboards of eight"},
    alternative{"a100_sxm_80gb", "price", 1.30 / 3600, "USD/s", "alternative", {basis::copied, "middle of 1.10 to 1.50 USD/h at specialised providers, May 2026, https://www.mercatus-ai.com/blog/cloud-gpu-pricing"}, "the market, not one provider"},
    alternative{"a100_sxm_80gb", "price", 1.39 / 3600, "USD/s", "alternative", sources::runpod_prices, "another provider"},
    alternative{"a100_pcie_40gb", "fabric.bandwidth", 300e9, "B/s", "alternative", sources::nvlink_page, "NVLink bridge; set fabric.ranks to 2 as well"},
    alternative{"a100_pcie_40gb", "fabric.ranks", 2, "1", "alternative", claims::unsourced, "an NVLink bridge joins two cards"},
    alternative{"a100_pcie_80gb", "fabric.bandwidth", 300e9, "B/s", "alternative", sources::nvlink_page, "NVLink bridge; set fabric.ranks to 2 as well"},
    alternative{"a100_pcie_80gb", "fabric.ranks", 2, "1", "alternative", claims::unsourced, "an NVLink bridge joins two cards"},
    alternative{"a40", "fabric.bandwidth", 56.25e9, "B/s", "alternative", sources::nvlink_page, "NVLink bridge; set fabric.ranks to 2 as well"},
    alternative{"a40", "fabric.ranks", 2, "1", "alternative", claims::unsourced, "an NVLink bridge joins two cards"},
    alternative{"rtx_a6000", "fabric.bandwidth", 56.25e9, "B/s", "alternative", sources::nvlink_page, "NVLink bridge; set fabric.ranks to 2 as well"},
    alternative{"rtx_a6000", "fabric.ranks", 2, "1", "alternative", claims::unsourced, "an NVLink bridge joins two cards"},
    alternative{"rtx_3090", "fabric.bandwidth", 56.25e9, "B/s", "alternative", sources::nvlink_page, "NVLink bridge; set fabric.ranks to 2 as well"},
    alternative{"rtx_3090", "fabric.ranks", 2, "1", "alternative", claims::unsourced, "an NVLink bridge joins two cards"},
    alternative{"t4", "dram.bandwidth", 300e9, "B/s", "alternative", claims::unsourced, "with ECC"},
    alternative{"t4", "dram.capacity", 16e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"a10", "dram.capacity", 24e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"a40", "dram.capacity", 48e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"rtx_a6000", "dram.capacity", 48e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"rtx_3090", "dram.capacity", 24e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"rtx_3090", "matrix.peak.fp16", 82.0 * 1024.0 * 1.695e9, "FLOP/s", "alternative", sources::ga102_ladder, "with FP16 accumulation"},
    // H100 SXM
    alternative{"h100_sxm", "matrix.peak.bf16", 494.7e12, "FLOP/s", "refuted", claims::unsourced, "that is dense TF32: halved twice, ridge 147.7"},
    alternative{"h100_sxm", "matrix.peak.bf16", 1978.9e12, "FLOP/s", "sparse", sources::h100_whitepaper, "2:4 sparse"},
    alternative{"h100_sxm", "matrix.peak.fp16", 1978.9e12, "FLOP/s", "sparse", sources::h100_whitepaper, "2:4 sparse"},
    alternative{"h100_sxm", "dram.capacity", 80e9, "B", "marketing", claims::as_sold, "the driver shows 85.5e9; a KV cache differs by 9 %"},
    alternative{"h100_sxm", "dram.bandwidth", 3.35232e12, "B/s", "alternative", claims::clock_and_pins, "5120 bit at 2619 MHz"},
    alternative{"h100_sxm", "dram.latency", 300e-9, "s", "alternative", claims::unsourced, "about 600 cycles at 1.98 GHz"},
    alternative{"h100_sxm", "dram.energy_per_byte", 56e-12, "J/B", "alternative", claims::unsourced, "7 pJ/bit, upper end of 4 to 7"},
    alternative{"h100_sxm", "dram.energy_per_byte", 160e-12, "J/B", "refuted", claims::horowitz, "640 pJ per 32 bit is DDR at 45 nm: 640 W at 4 TB/s"},
    alternative{"h100_sxm", "shared.energy_per_byte", 1.25e-12, "J/B", "alternative", claims::horowitz, "5 pJ per 32 bit at 45 nm"},
    alternative{"h100_sxm", "registers.energy_per_byte", 0.25e-12, "J/B", "alternative", claims::horowitz, "1 pJ per 32 bit at 45 nm"},
    alternative{"h100_sxm", "l2.latency", 130e-9, "s", "alternative", claims::unsourced, "200 cycles at 1.5 GHz"},
    alternative{"h100_sxm", "l2.latency", 150.0 / 1.98e9, "s", "refuted", claims::cycles, "150 cycles: half of what is measured"},
    alternative{"h100_sxm", "shared.latency", 20.0 / 1.98e9, "s", "alternative", claims::cycles, "20 cycles; shared memory is some cycles faster than an L1 hit"},
    alternative{"h100_sxm", "shared.latency", 20e-9, "s", "alternative", claims::unsourced, "20 to 30 cycles at 1.0 to 1.5 GHz"},
    alternative{"h100_sxm", "l2.bandwidth", 6.95e12, "B/s", "alternative", sources::h100_pcie_chase, "the PCIe card: 114 SMs at 1.755 GHz"},
    alternative{"h100_sxm", "l2.bandwidth", 5.5e12, "B/s", "alternative", sources::scaling_book, "Chips and Cheese on the PCIe card"},
    alternative{"h100_sxm", "l2.bandwidth", 12e12, "B/s", "refuted", claims::unsourced, "above the shared memory of the same table"},
    alternative{"h100_sxm", "shared.bandwidth", 132.0 * 128.0 * 1.83e9, "B/s", "alternative", sources::shared_banks, "at the tensor clock of 1.83 GHz"},
    alternative{"h100_sxm", "shared.bandwidth", 10e12, "B/s", "refuted", claims::unsourced, "128 B per clock and SM give three times as much"},
    alternative{"h100_sxm", "registers.bandwidth", 20e12, "B/s", "refuted", claims::unsourced, "\"more than 20 TB/s\" is true and says nothing"},
    alternative{"h100_sxm", "fabric.bandwidth", 900e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"h100_sxm", "fabric.bandwidth", 750e9, "B/s", "refuted", claims::unsourced, "\"effective\" rate that only fits a two-way sum"},
    alternative{"h100_sxm", "host.bandwidth", 64e9, "B/s", "alternative", claims::unsourced, "PCIe 5 x16 without the 128/130 encoding"},
    alternative{"h100_sxm", "host.bandwidth", 126.0308e9, "B/s", "two_way", claims::both_directions, "both directions; 128 GB/s before encoding"},
    alternative{"h100_sxm", "fabric.ranks", 256, "1", "announced", claims::unsourced, "NVLink switch systems of up to 256"},
    alternative{"h100_sxm", "price", 3.9492 / 3600, "USD/s", "alternative", sources::techbytes_prices, "billed by the second"},
    alternative{"h100_sxm", "price", 2.95 / 3600, "USD/s", "alternative", {basis::copied, "median of 37 providers, 2026-05-20, https://aimultiple.com/gpu-index"}, "the market, not one provider"},
    alternative{"h100_sxm", "price", 2.69 / 3600, "USD/s", "alternative", sources::runpod_prices, "another provider"},
    // H200, H100 PCIe, H20
    alternative{"h200_sxm", "matrix.peak.bf16", 1978.9e12, "FLOP/s", "sparse", sources::h100_same_die, "2:4 sparse"},
    alternative{"h200_sxm", "dram.bandwidth", 4.0e12, "B/s", "refuted", claims::unsourced, "that is H20"},
    alternative{"h200_sxm", "dram.bandwidth", 6144.0 / 8.0 * 2.0 * 3201e6, "B/s", "alternative", claims::clock_and_pins, "6144 bit at 3201 MHz, above the datasheet"},
    alternative{"h200_sxm", "l2.capacity", 50.0 * 1048576.0, "B", "alternative", sources::scaling_book, "H100's, which has a memory stack less"},
    alternative{"h200_sxm", "l2.bandwidth", 6.95e12, "B/s", "alternative", sources::h100_pcie_chase, "the H100 PCIe card: 114 SMs at 1.755 GHz"},
    alternative{"h200_sxm", "dram.capacity", 141e9, "B", "marketing", claims::as_sold, "the driver shows 150.8e9"},
    alternative{"h200_sxm", "dram.capacity", 151397597184.0, "B", "refuted", sources::system_specs, "141 GiB: more than the driver shows"},
    alternative{"h200_sxm", "fabric.bandwidth", 900e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"h200_sxm", "price", 4.0 / 3600, "USD/s", "alternative", {basis::copied, "middle of 3.50 to 4.50 USD/h at specialised providers, May 2026, https://www.mercatus-ai.com/blog/cloud-gpu-pricing"}, "the market, not one provider"},
    alternative{"h200_sxm", "price", 5.58 / 3600, "USD/s", "alternative", sources::runpod_prices, "billed by the second"},
    alternative{"h200_sxm", "price", 3.59 / 3600, "USD/s", "alternative", sources::runpod_prices, "another provider"},
    alternative{"h100_sxm", "dram.capacity", 81089.0 * 1048576.0, "B", "alternative", sources::cuda_total, "what CUDA shows: the driver keeps 0.6 %"},
    alternative{"h200_sxm", "dram.capacity", 143156.0 * 1048576.0, "B", "alternative", sources::cuda_total, "what CUDA shows: the driver keeps 0.4 %"},
    alternative{"h100_pcie", "matrix.peak.bf16", 1513e12, "FLOP/s", "sparse", sources::h100_table, "2:4 sparse"},
    alternative{"h100_pcie", "dram.bandwidth", 2.0e12, "B/s", "alternative", sources::h100_table, "rounded in the datasheet"},
    alternative{"h100_pcie", "dram.capacity", 80e9, "B", "marketing", claims::as_sold, "the driver shows 85.5e9"},
    alternative{"h100_pcie", "l2.bandwidth", 8.3e12, "B/s", "alternative", sources::gpu_benches, "plateau of the other of two benchmarks"},
    alternative{"h100_pcie", "l2.bandwidth", 5.5e12, "B/s", "alternative", sources::scaling_book, "Chips and Cheese"},
    alternative{"h100_pcie", "fabric.bandwidth", 300e9, "B/s", "alternative", sources::nvlink_page, "NVLink bridge; set fabric.ranks to 2 as well"},
    alternative{"h100_pcie", "fabric.ranks", 2, "1", "alternative", claims::unsourced, "an NVLink bridge joins two cards"},
    alternative{"h100_nvl", "fabric.bandwidth", 300e9, "B/s", "alternative", sources::nvlink_page, "NVLink bridge; set fabric.ranks to 2 as well"},
    alternative{"h100_nvl", "fabric.ranks", 2, "1", "alternative", claims::unsourced, "an NVLink bridge joins two cards"},
    alternative{"h200_nvl", "fabric.bandwidth", 450e9, "B/s", "alternative", sources::not_read, "NVLink bridge; set fabric.ranks to 2 or 4 as well"},
    alternative{"h200_nvl", "fabric.ranks", 4, "1", "alternative", claims::unsourced, "an NVLink bridge joins two or four cards"},
    alternative{"h20", "matrix.peak.bf16", 142.25e12, "FLOP/s", "alternative", {basis::measured, "best product measured, https://github.com/zzc0721/torch-performance-test-data/issues/77"}, "96 % of the peak"},
    alternative{"h20", "vector.peak.fp32", 44e12, "FLOP/s", "refuted", sources::h20_note, "78 SMs at 1.98 GHz give 39.5; the best product measured in fp32 is 32.0"},
    alternative{"h20", "dram.capacity", 97285.0 * 1048576.0, "B", "alternative", sources::cuda_total, "what CUDA shows: the driver keeps 0.6 %"},
    alternative{"h20", "tdp", 400, "W", "alternative", sources::h20_page, "slides of the launch"},
    alternative{"h20", "dram.capacity", 96e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"gh200_96gb", "dram.capacity", 96e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"gh200_96gb", "dram.bandwidth", 6144.0 / 8.0 * 2.0 * 2619e6, "B/s", "alternative", claims::clock_and_pins, "6144 bit at 2619 MHz, before rounding"},
    alternative{"gh200_96gb", "tdp", 1000.0, "W", "alternative", sources::gh200_page, "of the module, with its CPU"},
    // B200, B300, GB200, GB300
    alternative{"b200_sxm", "matrix.peak.fp64", 40e12, "FLOP/s", "announced", sources::b200_brief, "early brief"},
    alternative{"b200_sxm", "matrix.peak.bf16", 4500e12, "FLOP/s", "sparse", sources::b200_brief, "2:4 sparse"},
    alternative{"b200_sxm", "matrix.peak.fp4", 18000e12, "FLOP/s", "sparse", sources::b200_brief, "2:4 sparse"},
    alternative{"b200_sxm", "matrix.peak.fp4", 10000e12, "FLOP/s", "alternative", sources::b200_brief, "the power bin of GB200"},
    alternative{"b200_sxm", "vector.peak.fp32", 80e12, "FLOP/s", "announced", sources::b200_brief, "early brief"},
    alternative{"b200_sxm", "dram.bandwidth", 7680.0 / 8.0 * 2.0 * 3996e6, "B/s", "alternative", sources::b200_driver, "7680 bit at 3996 MHz, before rounding"},
    alternative{"b200_sxm", "dram.bandwidth", 8e12, "B/s", "alternative", sources::b200_brief, "printed for all 8192 bits; ridge 281"},
    alternative{"b200_sxm", "dram.capacity", 182630.0 * 1048576.0, "B", "alternative", sources::b200_driver, "what CUDA shows: the driver keeps 0.4 %"},
    alternative{"b200_sxm", "vector.clock", 1.98e9, "Hz", "alternative", sources::b200_compare, "what the printed 75 TFLOP/s need; the driver's maximum is 1.965"},
    alternative{"b200_sxm", "dram.capacity", 180e9, "B", "marketing", claims::as_sold, "192 x 15/16: 7680 of 8192 bits are enabled; the driver shows 192.3e9"},
    alternative{"b200_sxm", "dram.capacity", 186e9, "B", "marketing", claims::as_sold, "the GB200 product"},
    alternative{"b200_sxm", "dram.capacity", 192e9, "B", "announced", sources::b200_brief, "eight physical stacks of 24 GB"},
    alternative{"b200_sxm", "fabric.bandwidth", 1800e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"b200_sxm", "host.bandwidth", 128e9, "B/s", "alternative", sources::system_specs, "PCIe 6 x16"},
    alternative{"b200_sxm", "price", 8.64 / 3600, "USD/s", "alternative", sources::runpod_prices, "billed by the second"},
    alternative{"b300_sxm", "sms", 160, "SM", "alternative", sources::blackwell_ultra, "the full die"},
    alternative{"b300_sxm", "matrix.peak.fp4", 14000e12, "FLOP/s", "alternative", sources::blackwell_ultra_sheet, "rounded; the board of eight has 108000"},
    alternative{"b300_sxm", "matrix.peak.fp4", 13125e12, "FLOP/s", "alternative", sources::b300_table, "an earlier edition: 105000 of the board of eight"},
    alternative{"b300_sxm", "matrix.peak.fp4", 15000e12, "FLOP/s", "alternative", sources::blackwell_ultra, "the power bin of GB300"},
    alternative{"b300_sxm", "matrix.peak.fp4", 18000e12, "FLOP/s", "sparse", sources::b300_table, "sparse"},
    alternative{"b300_sxm", "matrix.peak.fp8", 7000e12, "FLOP/s", "refuted", claims::unsourced, "fits no convention"},
    alternative{"b300_sxm", "matrix.peak.fp8", 9000e12, "FLOP/s", "sparse", sources::b300_table, "2:4 sparse"},
    alternative{"b300_sxm", "matrix.peak.int8", 4500e12, "FLOP/s", "refuted", sources::b300_table, "two other tables show that INT8 was cut"},
    alternative{"b300_sxm", "dram.bandwidth", 7.75e12, "B/s", "alternative", sources::system_specs, "another table"},
    alternative{"b300_sxm", "dram.bandwidth", 8e12, "B/s", "alternative", sources::b300_table, "printed for all 8192 bits"},
    alternative{"b300_sxm", "dram.capacity", 270e9, "B", "marketing", sources::blackwell_ultra_sheet, "288 x 15/16, as sold"},
    alternative{"b300_sxm", "host.bandwidth", pcie_one_way(16, 64.0 * GHz).value(), "B/s", "alternative", sources::pcie, "PCIe 6, in a host that speaks it"},
    alternative{"b300_sxm", "dram.capacity", 288e9, "B", "marketing", sources::b300_table, "eight physical stacks of 36 GB"},
    alternative{"b300_sxm", "l2.bandwidth", 22e12, "B/s", "alternative", sources::b300_notes, "largest L1; the author could not repeat it"},
    alternative{"b300_sxm", "fabric.bandwidth", 1800e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"b300_sxm", "tdp", 1000, "W", "alternative", sources::ml_engineering, "maximum TGP on the DGX B300 power page"},
    alternative{"b300_sxm", "tdp", 1400, "W", "alternative", sources::b300_table, "the power bin of GB300"},
    alternative{"gb200", "sms", 148, "SM", "refuted", sources::b200_compare, "driver queries show 152"},
    alternative{"gb200", "matrix.peak.bf16", 2450e12, "FLOP/s", "alternative", sources::exemplar, "before rounding: 152 SMs at 1.968 GHz"},
    alternative{"gb200", "matrix.peak.fp8", 4900e12, "FLOP/s", "alternative", sources::exemplar, "before rounding"},
    alternative{"gb200", "matrix.peak.fp4", 9800e12, "FLOP/s", "alternative", sources::exemplar, "before rounding"},
    alternative{"gb200", "matrix.peak.fp4", 20000e12, "FLOP/s", "sparse", sources::b200_brief, "2:4 sparse"},
    alternative{"gb200", "matrix.peak.bf16", 5000e12, "FLOP/s", "sparse", sources::b200_brief, "2:4 sparse"},
    alternative{"gb200", "matrix.peak.fp64", 45e12, "FLOP/s", "announced", sources::b200_brief, "early brief"},
    alternative{"gb200", "vector.peak.fp32", 90e12, "FLOP/s", "announced", sources::b200_brief, "early brief"},
    alternative{"gb200", "matrix.peak.bf16", 152.0 * 8192.0 * 1.926e9, "FLOP/s", "alternative", sources::xla_specs, "at the tensor clock of the driver's table"},
    alternative{"gb200", "dram.bandwidth", 7936.0 / 8.0 * 2.0 * 3996e6, "B/s", "alternative", sources::xla_specs, "7936 bit at 3996 MHz"},
    alternative{"gb200", "dram.capacity", 197897748480.0, "B", "alternative", sources::xla_specs, "what CUDA shows"},
    alternative{"gb200", "dram.capacity", 186e9, "B", "marketing", claims::as_sold, "the driver shows 198.7e9"},
    alternative{"gb200", "dram.capacity", 192e9, "B", "marketing", sources::b200_brief, "eight physical stacks of 24 GB"},
    alternative{"gb200", "fabric.bandwidth", 1800e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"gb200", "host.bandwidth", 64e9, "B/s", "alternative", sources::gb_pcie, "PCIe instead of NVLink-C2C"},
    alternative{"gb200", "host.bandwidth", 225e9, "B/s", "alternative", sources::c2c_shared, "when both GPUs of a superchip use the link"},
    alternative{"gb200", "host.bandwidth", 900e9, "B/s", "two_way", claims::both_directions, "NVLink-C2C, both directions"},
    alternative{"gb300", "sms", 160, "SM", "alternative", sources::blackwell_ultra, "the full die"},
    alternative{"gb300", "matrix.peak.bf16", 2450e12, "FLOP/s", "alternative", sources::exemplar, "before rounding: 152 SMs at 1.968 GHz"},
    alternative{"gb300", "matrix.peak.fp8", 4900e12, "FLOP/s", "alternative", sources::exemplar, "before rounding"},
    alternative{"gb300", "matrix.peak.fp4", 14700e12, "FLOP/s", "alternative", sources::exemplar, "before rounding"},
    alternative{"gb300", "matrix.peak.fp4", 20000e12, "FLOP/s", "sparse", claims::double_rate, "sparse"},
    alternative{"gb300", "matrix.peak.bf16", 152.0 * 8192.0 * 1.933e9, "FLOP/s", "alternative", sources::xla_specs, "at the tensor clock of the driver's table"},
    alternative{"gb300", "dram.bandwidth", 7936.0 / 8.0 * 2.0 * 3996e6, "B/s", "alternative", sources::xla_specs, "7936 bit at 3996 MHz"},
    alternative{"gb300", "dram.capacity", 297021079552.0, "B", "alternative", sources::xla_specs, "what CUDA shows"},
    alternative{"gb300", "host.bandwidth", 359e9, "B/s", "alternative", sources::ml_engineering_network, "what LPDDR5X lets through, host to device, on a DGX Station"},
    alternative{"gb300", "dram.capacity", 288e9, "B", "marketing", sources::blackwell_ultra, "physical stacks"},
    alternative{"gb300", "dram.capacity", 279e9, "B", "marketing", sources::exemplar, "as sold"},
    alternative{"gb300", "dram.bandwidth", 7.1e12, "B/s", "alternative", claims::unsourced, "the workstation product with 252 GB"},
    alternative{"gb300", "host.bandwidth", 225e9, "B/s", "alternative", sources::c2c_shared, "when both GPUs of a superchip use the link"},
    alternative{"gb300", "host.bandwidth", 64e9, "B/s", "alternative", sources::gb_pcie, "PCIe instead of NVLink-C2C"},
    // Ada and RTX
    alternative{"l4", "sms", 60, "SM", "refuted", claims::unsourced, "the full die; 31.3 TFLOP/s would be above the printed 30.3"},
    alternative{"l4", "matrix.peak.bf16", 242e12, "FLOP/s", "sparse", sources::l4_sheet, "2:4 sparse"},
    alternative{"l4", "matrix.peak.bf16", 125.34e12, "FLOP/s", "refuted", claims::unsourced, "arithmetic with 60 SMs"},
    alternative{"l4", "dram.capacity", 24e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"l40s", "matrix.peak.bf16", 142.0 * 1024.0 * 2.52e9, "FLOP/s", "alternative", sources::sms_times_clock, "at its own boost clock of 2.52 GHz"},
    alternative{"l40s", "matrix.peak.bf16", 733e12, "FLOP/s", "sparse", sources::l40s_table, "2:4 sparse"},
    alternative{"l40s", "matrix.peak.int4", 733e12, "FLOP/s", "alternative", claims::unsourced, "L40 lists 724 dense"},
    alternative{"l40s", "l2.capacity", 48.0 * 1048576.0, "B", "refuted", claims::unsourced, "the pointer chase stays at L2 latency up to 81 MB"},
    alternative{"l40s", "dram.capacity", 45589.0 * 1048576.0, "B", "alternative", sources::cuda_total, "what CUDA shows: the driver keeps 1.0 %"},
    alternative{"l40s", "dram.capacity", 48e9, "B", "marketing", claims::as_sold, "decimal, without ECC"},
    alternative{"l40s", "price", 0.79 / 3600, "USD/s", "alternative", sources::runpod_prices, "another provider"},
    alternative{"rtx_4090", "matrix.peak.fp16", 330.4e12, "FLOP/s", "alternative", sources::rtx_4090_table, "with FP16 accumulation"},
    alternative{"rtx_4090", "matrix.peak.bf16", 330.4e12, "FLOP/s", "sparse", claims::double_rate, "2:4 sparse"},
    alternative{"rtx_4090", "dram.capacity", 24e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"rtx_5080", "matrix.peak.fp16", 225.2e12, "FLOP/s", "alternative", sources::rtx_ladder, "with FP16 accumulation"},
    alternative{"rtx_5080", "matrix.peak.bf16", 225.1e12, "FLOP/s", "sparse", claims::double_rate, "2:4 sparse, also printed as a peak"},
    alternative{"rtx_5080", "dram.capacity", 16e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"rtx_5090", "matrix.peak.fp16", 419e12, "FLOP/s", "alternative", sources::rtx_ladder, "with FP16 accumulation"},
    alternative{"rtx_5090", "matrix.peak.fp16", 838.4e12, "FLOP/s", "sparse", {basis::copied, "RTX 5090 table, https://www.spheron.network/blog/nvidia-rtx-5090-specs/"}, "FP16 accumulation and 2:4 sparse"},
    alternative{"rtx_5090", "matrix.peak.bf16", 419e12, "FLOP/s", "sparse", claims::double_rate, "2:4 sparse"},
    alternative{"rtx_5090", "dram.capacity", 32e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"rtx_pro_6000", "matrix.peak.bf16", 500e12, "FLOP/s", "alternative", sources::rtx_pro_news, "Workstation Edition: 4000 sparse FP4 TOPS / 8"},
    alternative{"rtx_pro_6000", "matrix.peak.fp8", 1000e12, "FLOP/s", "alternative", sources::rtx_pro_news, "Workstation Edition"},
    alternative{"rtx_pro_6000", "matrix.peak.fp4", 2000e12, "FLOP/s", "alternative", sources::rtx_pro_news, "Workstation Edition"},
    alternative{"rtx_pro_6000", "vector.peak.fp32", 125e12, "FLOP/s", "alternative", sources::rtx_pro_news, "Workstation Edition"},
    alternative{"rtx_pro_6000", "dram.bandwidth", 512.0 / 8.0 * 2.0 * 12481e6, "B/s", "alternative", sources::rtx_pro_query, "512 bit at 12481 MHz, before rounding"},
    alternative{"rtx_pro_6000", "dram.bandwidth", 1792e9, "B/s", "alternative", sources::rtx_pro_news, "Workstation Edition and Max-Q: 512 bit at 14001 MHz"},
    alternative{"rtx_pro_6000", "dram.capacity", 97249.0 * 1048576.0, "B", "alternative", sources::cuda_total, "what CUDA shows: the driver keeps 0.7 %"},
    alternative{"rtx_pro_6000", "price", 0.89 / 3600, "USD/s", "alternative", sources::runpod_prices, "March 2026, columns ambiguous"},
    alternative{"rtx_pro_6000", "matrix.peak.bf16", 250e12, "FLOP/s", "refuted", claims::unsourced, "as if FP32 accumulation ran at half rate, as on GeForce"},
    alternative{"rtx_pro_6000", "dram.capacity", 96e9, "B", "marketing", claims::as_sold, "decimal"},
    // Jetson, Rubin
    alternative{"jetson_orin_nano_8gb", "matrix.peak.fp16", 20e12, "FLOP/s", "refuted", claims::unsourced, "40 sparse INT8 TOPS / 2"},
    alternative{"jetson_orin_nano_8gb", "matrix.clock", 1.02e9, "Hz", "alternative", sources::orin_nano_page, "Super mode"},
    alternative{"jetson_orin_nano_8gb", "dram.bandwidth", 102.4e9, "B/s", "alternative", sources::orin_nano_page, "Super mode"},
    alternative{"jetson_orin_nano_8gb", "tdp", 25, "W", "alternative", sources::orin_nano_page, "Super mode"},
    alternative{"jetson_orin_nx_16gb", "matrix.peak.fp16", 50e12, "FLOP/s", "refuted", claims::unsourced, "100 sparse INT8 TOPS, with the DLA, / 2"},
    alternative{"jetson_orin_nx_16gb", "matrix.peak.int8", 100e12, "FLOP/s", "alternative", sources::jetson_modules, "the module's TOPS: sparse, with the DLA"},
    alternative{"jetson_agx_orin_64gb", "matrix.peak.int8", 275e12, "FLOP/s", "alternative", sources::orin_tops, "the module's TOPS: sparse, with the DLA"},
    alternative{"jetson_agx_orin_64gb", "matrix.peak.fp16", 138e12, "FLOP/s", "refuted", claims::unsourced, "275 sparse INT8 TOPS, with the DLA, / 2"},
    alternative{"jetson_thor", "matrix.peak.fp4", 2070e12, "FLOP/s", "sparse", {basis::copied, "2070 sparse TFLOPS, https://learnaivisually.com/ai-explained/jetson-thor-edge-blackwell"}, "2:4 sparse"},
    alternative{"jetson_thor", "matrix.peak.fp4", 700e12, "FLOP/s", "refuted", claims::unsourced, "fits no convention"},
    alternative{"jetson_thor", "l2.capacity", 50.0 * 1048576.0, "B", "refuted", claims::unsourced, "the driver shows 32 MiB"},
    alternative{"vera_rubin_nvl72", "matrix.peak.int8", 2500e12, "FLOP/s", "alternative", sources::rubin_sheet_copied, "another reading of the sheet"},
    alternative{"vera_rubin_nvl72", "sms", 212, "SM", "refuted", sources::rubin_early, "NVIDIA says 224"},
    alternative{"vera_rubin_nvl72", "matrix.peak.fp4", 50000e12, "FLOP/s", "sparse", sources::rubin_sheet, "inference, with what its engine skips"},
    alternative{"vera_rubin_nvl72", "matrix.peak.fp4", 17500e12, "FLOP/s", "alternative", {basis::derived, "half of a package of two dies"}, "per die"},
    alternative{"vera_rubin_nvl72", "matrix.peak.fp8", 1200000e12 / 72.0, "FLOP/s", "announced", sources::rubin_technews, "the rack first announced"},
    alternative{"vera_rubin_nvl72", "dram.bandwidth", 13e12, "B/s", "announced", sources::rubin_technews, "the rack first announced"},
    alternative{"vera_rubin_nvl72", "dram.bandwidth", 19.2e12, "B/s", "announced", sources::rubin_page, "the product page since September 2026"},
    alternative{"vera_rubin_nvl72", "fabric.bandwidth", 1.5e12, "B/s", "announced", sources::rubin_page, "half of the 3 TB/s of the product page since September 2026"},
    alternative{"rubin_ultra_nvl576", "matrix.peak.fp4", 100000e12, "FLOP/s", "announced", sources::rubin_ultra_gtc, "rounded per package"},
    alternative{"rubin_ultra_nvl576", "dram.bandwidth", 32e12, "B/s", "announced", {basis::announced, "8 TB/s per die x 4, https://achoenix.github.io/optical_io/nvidia_system.html"}, "rounded per die"},
};
// clang-format on

// clang-format off
inline constexpr std::array alternatives_of_others{
    // AMD, Google
    alternative{"mi210", "dram.bandwidth", 1.6384e12, "B/s", "alternative", {basis::derived, "4096 bit / 8 x 3.2 GT/s"}, "before rounding"},
    alternative{"mi210", "dram.capacity", 64e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"mi300x", "matrix.peak.bf16", 2614.9e12, "FLOP/s", "sparse", sources::mi300x_peaks, "2:4 sparse, printed as dense by some"},
    alternative{"mi300x", "dram.capacity", 192e9, "B", "marketing", sources::mi300x_power, "decimal"},
    alternative{"mi300x", "dram.capacity", 192.0 * 1073741824.0, "B", "alternative", sources::amd_gib, "before what the driver keeps"},
    alternative{"mi300x", "fabric.bandwidth", 896e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"mi325x", "fabric.bandwidth", 896e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"mi350x", "matrix.peak.bf16", 256.0 * 4096.0 * 2.2e9, "FLOP/s", "alternative", sources::cdna4_paper, "compute units x 4096 x 2.2 GHz do not give the printed 2309.6"},
    alternative{"mi350x", "dram.bandwidth", 7.782e12, "B/s", "alternative", sources::xla_specs, "8192 bit at the driver's 1.9 GHz"},
    alternative{"mi350x", "fabric.bandwidth", 1075.2e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"mi355x", "fabric.bandwidth", 1075.2e9, "B/s", "two_way", claims::both_directions, "both directions"},
    alternative{"tpu_v5e", "matrix.peak.int8", 394e12, "FLOP/s", "alternative", sources::tpu_book, "twice 197"},
    alternative{"tpu_v5e", "dram.bandwidth", 858993459200.0, "B/s", "alternative", sources::tpu_v5e_docs, "800 GiB/s in a later edition"},
    alternative{"tpu_v5e", "dram.bandwidth", 810e9, "B/s", "alternative", sources::tpu_book, "rounded"},
    alternative{"tpu_v5e", "dram.capacity", 16e9, "B", "marketing", sources::tpu_v5e_docs, "as printed"},
    alternative{"tpu_v5e", "fabric.bandwidth", 180e9, "B/s", "alternative", sources::tpu_book, "four links of 45 GB/s in its later editions"},
    alternative{"tpu_v5e", "fabric.bandwidth", 400e9, "B/s", "two_way", sources::tpu_v5e_docs, "both directions"},
    alternative{"tpu_v5p", "dram.capacity", 96e9, "B", "alternative", sources::tpu_book, "rounded"},
    alternative{"tpu_v5p", "dram.bandwidth", 2.8e12, "B/s", "alternative", sources::tpu_book, "rounded"},
    alternative{"tpu_v5p", "fabric.bandwidth", 540e9, "B/s", "alternative", sources::tpu_book, "six links of 90 GB/s in its later editions"},
    alternative{"tpu_v5p", "fabric.bandwidth", 1200e9, "B/s", "two_way", sources::tpu_v5p_docs, "both directions"},
    alternative{"tpu_v6e", "fabric.bandwidth", 360e9, "B/s", "alternative", sources::tpu_book, "four links of 90 GB/s"},
    alternative{"tpu_v6e", "fabric.bandwidth", 800e9, "B/s", "two_way", sources::tpu_v6e_docs, "both directions"},
    alternative{"tpu7x", "fabric.bandwidth", 1200e9, "B/s", "two_way", sources::tpu7x_docs, "both directions"},
    // AWS, Intel
    alternative{"trainium2", "dram.bandwidth", 3e12, "B/s", "alternative", sources::trainium2_guide, "rounded"},
    alternative{"trainium3", "dram.bandwidth", 4.7e12, "B/s", "alternative", sources::trainium3_guide, "another page of AWS"},
    alternative{"gaudi_3", "matrix.peak.bf16", 1835e12, "FLOP/s", "alternative", sources::gaudi3_talk, "Intel's figure, which needs 1.75 GHz; the device reports 1.6"},
    alternative{"gaudi_3", "matrix.peak.fp8", 1835e12, "FLOP/s", "alternative", sources::gaudi3_talk, "Intel's figure, which needs 1.75 GHz; the device reports 1.6"},
    alternative{"gaudi_3", "l2.bandwidth", 19.2e12, "B/s", "alternative", claims::unsourced, "other papers"},
    alternative{"gaudi_3", "fabric.bandwidth", 600e9, "B/s", "alternative", claims::unsourced, "all 24 ports, of which 3 leave the node"},
    alternative{"gaudi_3", "tdp", 1200, "W", "alternative", claims::unsourced, "with liquid cooling"},
    // Apple
    alternative{"m2_ultra", "dram.bandwidth", 800e9, "B/s", "alternative", claims::unsourced, "rounded"},
    alternative{"m2_ultra", "dram.capacity", 192e9, "B", "marketing", claims::as_sold, "decimal"},
    alternative{"m2_ultra", "tdp", 270, "W", "alternative", sources::apple_power, "the figure of M3 Ultra's machine"},
    alternative{"m3_ultra", "vector.clock", 1.398e9, "Hz", "alternative", sources::apple_m3_ultra_clock, "one table"},
    alternative{"m3_ultra", "dram.bandwidth", 800e9, "B/s", "alternative", claims::unsourced, "rounded"},
    alternative{"m3_ultra", "dram.capacity", 96.0 * 1073741824.0, "B", "alternative", sources::apple_table, "smallest configuration"},
    alternative{"m3_ultra", "dram.capacity", 256.0 * 1073741824.0, "B", "alternative", sources::apple_table, "middle configuration"},
    alternative{"m3_ultra", "dram.capacity", 192e9, "B", "refuted", claims::unsourced, "that is M2 Ultra"},
    alternative{"m4_max", "vector.clock", 1.8e9, "Hz", "alternative", sources::apple_m4_claim, "40 cores would give 18.4 TFLOP/s"},
    // Groq, Cerebras
    alternative{"groq_lpu", "matrix.peak.int8", 1000e12, "FLOP/s", "announced", sources::groq_card, "launch claim, at 1.25 GHz"},
    alternative{"groq_lpu", "fabric.bandwidth", 16.0 * 14e9, "B/s", "alternative", sources::groq_links, "14 GB/s per link when cabled"},
    alternative{"cerebras_wse3", "fabric.ranks", 2048, "1", "alternative", sources::wse3_toms, "a CS-3 cluster: scale-out over Ethernet, not this fabric"},
    alternative{"cerebras_wse3", "matrix.peak.fp16", 125000e12, "FLOP/s", "sparse", sources::wse3_toms, "counts 8:1 sparsity"},
};
// clang-format on

inline constexpr auto alternatives = joined(alternatives_of_nvidia, alternatives_of_others);

}  // namespace perfmodel::inline v0_3::catalog
