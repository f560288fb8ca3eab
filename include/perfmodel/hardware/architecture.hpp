// The generations of machines, and what every die of a generation has in common.
#pragma once

#include <initializer_list>
#include <iterator>
#include <perfmodel/core/error.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/hardware/number_format.hpp>

namespace perfmodel::inline v0_3 {

/// What was fitted to machines of one kind says nothing about another: their kernels differ.
enum class machine_kind {
  unknown,
  gpu_nvidia,
  gpu_amd,
  gpu_apple,
  tpu,
  trainium,
  gaudi,
  lpu,
  wafer,
  gpu_intel,
  npu  ///< Ascend, Cloud AI, Maia
};

/// Name of a kind of machine, as in messages.
constexpr const char* name_of(machine_kind k) {
  constexpr const char* names[] = {"unknown", "NVIDIA GPU", "AMD GPU", "Apple GPU",
                                   "TPU",     "Trainium",   "Gaudi",   "LPU",
                                   "wafer",   "Intel GPU",  "NPU"};
  return detail::entry_of(names, k, "machine_kind");
}

/// The order is that of `detail::architectures`.
enum class chip_architecture {
  unknown,
  volta,
  turing,
  ampere,       ///< GA100
  ampere_rtx,   ///< GA10x: A10, A40, RTX 30
  ampere_orin,  ///< the GPU of Jetson Orin
  ada,
  hopper,
  blackwell,        ///< B200, GB200
  blackwell_ultra,  ///< B300, GB300
  blackwell_rtx,    ///< RTX 50, RTX PRO, GB10
  blackwell_thor,   ///< the GPU of Jetson Thor
  rubin,
  rubin_ultra,
  cdna2,
  cdna3,
  cdna4,
  tpu_v5e,
  tpu_v5p,
  tpu_v6e,
  tpu7x,
  trainium2,
  trainium3,
  gaudi3,
  apple_m2,
  apple_m3,
  apple_m4,
  groq_tsp,
  wse3,
  rdna3,
  rdna4,
  cdna5,
  xe2,
  ascend,
  cloud_ai_100,
  maia
};

/// Number formats, of which a unit takes any.
class format_set {
 public:
  constexpr format_set(std::initializer_list<number_format> formats) {
    for (const number_format f : formats) bits_ |= 1U << static_cast<unsigned>(f);
  }
  constexpr bool contains(number_format f) const {
    return (bits_ >> static_cast<unsigned>(f) & 1U) != 0;
  }

 private:
  unsigned bits_ = 0;
};

/// Facts of an architecture. Those of the die may be stated for one accelerator, which counts then.
struct architecture_facts {
  const char* name = "";
  machine_kind kind = machine_kind::unknown;
  fact<number<>> instruction_rows{};   ///< rows of one matrix instruction; smaller tiles are padded
  fact<number<>> l2_partitions{};      ///< each keeps its own copy of what its SMs read
  fact<number<>> special_functions{};  ///< exponentials per clock and SM
  bool scales_blocks = false;          ///< whether the matrix units apply the scales of fp8 blocks;
                                       ///< CDNA 4's apply those of 32 values, not of 128
  format_set matrix_formats{};
};

namespace sources {
// clang-format off
inline constexpr source ptx_mma{basis::vendor, "NVIDIA PTX ISA, mma: 16 rows"};
inline constexpr source ptx_wgmma{basis::vendor, "NVIDIA PTX ISA, wgmma and tcgen05.mma: at least 64 rows"};
inline constexpr source like_blackwell{basis::assumed, "as on data-centre Blackwell"};
inline constexpr source a100_l2{basis::vendor, "NVIDIA A100 whitepaper, \"A100 L2 Cache\": two partitions, as in later dies"};
inline constexpr source one_l2{basis::assumed, "no maker speaks of partitions of this L2"};
inline constexpr source exponentials{basis::vendor, "NVIDIA CUDA programming guide, throughput of native arithmetic instructions"};
inline constexpr source cdna_mfma{basis::vendor, "AMD Instinct MI300 and CDNA 4 ISA, V_MFMA: 16 or 32 rows and columns"};
inline constexpr source cdna_l2{basis::vendor, "AMD GPU specifications, rocm.docs.amd.com: an L2 in each of eight dies"};
inline constexpr source cdna_exponentials{basis::assumed, "a quarter of the 64 lanes of a compute unit, as on GCN; twice that on CDNA 4"};
inline constexpr source exponentials_assumed{basis::assumed, "16, as on Hopper: Shah et al., FlashAttention-3, 2024, section 3.1"};
// clang-format on
}  // namespace sources

namespace detail {

inline constexpr fact<number<>> rows_of_mma{16.0, sources::ptx_mma};
inline constexpr fact<number<>> rows_of_wgmma{64.0, sources::ptx_wgmma};
inline constexpr fact<number<>> rows_like_blackwell{64.0, sources::like_blackwell};
inline constexpr fact<number<>> whole_l2{1.0, sources::one_l2};
inline constexpr fact<number<>> split_l2{2.0, sources::a100_l2};
inline constexpr fact<number<>> sixteen{16.0, sources::exponentials};
inline constexpr fact<number<>> sixteen_assumed{16.0, sources::exponentials_assumed};
inline constexpr fact<number<>> rows_of_mfma{16.0, sources::cdna_mfma};
inline constexpr fact<number<>> l2_of_each_die{8.0, sources::cdna_l2};
inline constexpr fact<number<>> quarter_rate{16.0, sources::cdna_exponentials};
inline constexpr fact<number<>> half_rate{32.0, sources::cdna_exponentials};

inline constexpr format_set turing_formats{fp16, int8, int4};
inline constexpr format_set ampere_formats{fp64, tf32, bf16, fp16, int8, int4};
inline constexpr format_set ada_formats{tf32, bf16, fp16, fp8, int8, int4};
inline constexpr format_set hopper_formats{fp64, tf32, bf16, fp16, fp8, int8};
inline constexpr format_set blackwell_formats{fp64, tf32, bf16, fp16, fp8, int8, fp4};

// Columns: name, kind, instruction rows, L2 partitions, special functions, block scales, formats.
// clang-format off
inline constexpr machine_kind nvidia = machine_kind::gpu_nvidia, amd = machine_kind::gpu_amd,
                              apple = machine_kind::gpu_apple;
inline constexpr architecture_facts architectures[] = {
    {"unknown"},
    {"Volta", nvidia, rows_of_mma, whole_l2, sixteen, false, {fp16}},
    {"Turing", nvidia, rows_of_mma, whole_l2, sixteen, false, turing_formats},
    {"Ampere", nvidia, rows_of_mma, split_l2, sixteen, false, ampere_formats},
    {"Ampere (RTX)", nvidia, rows_of_mma, whole_l2, sixteen, false, ampere_formats},
    {"Ampere (Orin)", nvidia, rows_of_mma, whole_l2, sixteen, false, ampere_formats},
    {"Ada Lovelace", nvidia, rows_of_mma, whole_l2, sixteen, false, ada_formats},
    {"Hopper", nvidia, rows_of_wgmma, split_l2, sixteen, false, hopper_formats},
    {"Blackwell", nvidia, rows_of_wgmma, split_l2, sixteen, true, blackwell_formats},
    {"Blackwell Ultra", nvidia, rows_of_wgmma, split_l2, sixteen_assumed, true, blackwell_formats},
    {"Blackwell (RTX)", nvidia, rows_of_mma, whole_l2, sixteen, false, blackwell_formats},
    {"Blackwell (Thor)", nvidia, rows_of_wgmma, whole_l2, sixteen_assumed, true, blackwell_formats},
    {"Rubin", nvidia, rows_like_blackwell, split_l2, sixteen_assumed, true, blackwell_formats},
    {"Rubin Ultra", nvidia, rows_like_blackwell, split_l2, sixteen_assumed, true,
     blackwell_formats},
    {"CDNA 2", amd, {}, {}, {}, false, {fp64, fp32, bf16, fp16, int8}},
    {"CDNA 3", amd, rows_of_mfma, l2_of_each_die, quarter_rate, false,
     {fp64, fp32, tf32, bf16, fp16, fp8, int8}},
    {"CDNA 4", amd, rows_of_mfma, l2_of_each_die, half_rate, false,
     {fp64, fp32, bf16, fp16, fp8, int8, fp4}},
    {"TPU v5e", machine_kind::tpu, {}, {}, {}, false, {bf16, int8}},
    {"TPU v5p", machine_kind::tpu, {}, {}, {}, false, {bf16, fp8, int8}},
    {"TPU v6e", machine_kind::tpu, {}, {}, {}, false, {bf16, fp8, int8}},
    {"TPU7x", machine_kind::tpu, {}, {}, {}, false, {bf16, fp8}},
    {"NeuronCore v3", machine_kind::trainium, {}, {}, {}, false, {fp32, tf32, bf16, fp16, fp8}},
    {"NeuronCore v4", machine_kind::trainium, {}, {}, {}, true, {fp32, tf32, bf16, fp16, fp8, fp4}},
    {"Gaudi 3", machine_kind::gaudi, {}, {}, {}, false, {tf32, bf16, fp16, fp8}},
    {"Apple M2 GPU", apple, {}, {}, {}, false, {fp32, bf16, fp16}},
    {"Apple M3 GPU", apple, {}, {}, {}, false, {fp32, bf16, fp16}},
    {"Apple M4 GPU", apple, {}, {}, {}, false, {fp32, bf16, fp16}},
    {"Tensor Streaming Processor", machine_kind::lpu, {}, {}, {}, false, {fp16, int8}},
    {"WSE-3", machine_kind::wafer, {}, {}, {}, false, {fp16}},
    {"RDNA 3", amd, {}, {}, {}, false, {bf16, fp16, int8, int4}},
    {"RDNA 4", amd, {}, {}, {}, false, {bf16, fp16, fp8, int8, int4}},
    {"CDNA 5", amd, {}, {}, {}, false, {bf16, fp16, fp8, int8, fp4}},
    {"Xe2", machine_kind::gpu_intel, {}, {}, {}, false, {bf16, fp16, int8}},
    {"Ascend", machine_kind::npu, {}, {}, {}, false, {bf16, fp16, fp8, int8, fp4}},
    {"Cloud AI 100", machine_kind::npu, {}, {}, {}, false, {fp16, int8}},
    {"Maia", machine_kind::npu, {}, {}, {}, false, {bf16, fp8, fp4}},
};
// clang-format on
static_assert(std::size(architectures) == static_cast<std::size_t>(chip_architecture::maia) + 1);

}  // namespace detail

/// Test: the rows above, and every peak of the catalogue is in a format its architecture takes.
constexpr const architecture_facts& facts_of(chip_architecture a) {
  return detail::entry_of(detail::architectures, a, "chip_architecture");
}
/// Name of an architecture.
constexpr const char* name_of(chip_architecture a) {
  return facts_of(a).name;
}

}  // namespace perfmodel::inline v0_3
