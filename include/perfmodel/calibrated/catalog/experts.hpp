// Libraries of expert kernels.
#pragma once

#include <perfmodel/calibrated/moe_kernels.hpp>
#include <perfmodel/hardware/fact.hpp>

namespace perfmodel::catalog {

namespace sources {
inline constexpr source aic_moe{basis::measured,
                                "fitted to the balanced expert latencies that "
                                "ai-dynamo/aiconfigurator 095f58a5 collected (vllm)"};
}  // namespace sources

/// Triton's grouped GEMM in vllm, in bf16: tiles by the tokens of an expert. The four numbers of
/// each library are fitted to H100's and H200's rows together (fit_moe.cpp); standard errors 1 to 8
/// %.
inline constexpr moe_kernels triton_experts{.name = "triton_experts",
                                            .all_rows_buffered = true,
                                            .floor = 29.57 * us,
                                            .buffer_share = 0.5982,
                                            .matrix_ratio = 0.8169,
                                            .dram_saturation = 2.221};
/// The same with weights in fp8 blocks of 128 x 128: tiles of 64 rows, whatever the tokens.
inline constexpr moe_kernels triton_fp8_experts{.name = "triton_fp8_experts",
                                                .least_tile_rows = 64.0,
                                                .most_tile_rows = 64.0,
                                                .all_rows_buffered = true,
                                                .floor = 24.28 * us,
                                                .buffer_share = 0.4873,
                                                .matrix_ratio = 0.4721,
                                                .dram_saturation = 1.285};
/// CUTLASS grouped GEMM through FlashInfer, fp8: between the GEMMs only the rank's own rows.
inline constexpr moe_kernels cutlass_experts{.name = "cutlass_experts",
                                             .floor = 27.91 * us,
                                             .buffer_share = 0.6799,
                                             .matrix_ratio = 0.7279,
                                             .dram_saturation = 2.562};

}  // namespace perfmodel::catalog
