// Libraries of expert kernels that TensorRT-LLM runs, and its choice.
#pragma once

#include <optional>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/architecture.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/operators/moe.hpp>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// Backend of a name.
constexpr std::optional<moe_backend> find_moe_backend(std::string_view name) {
  for (const moe_backend b : {moe_backend::automatic, moe_backend::cutlass, moe_backend::trtllm}) {
    if (name == name_of(b)) return b;
  }
  return std::nullopt;
}

/// Whether kernels of both libraries are known for experts in NVFP4: on data-centre Blackwell.
constexpr bool has_two_moe_backends(engine e, chip_architecture a) {
  return e == engine::trtllm &&
         (a == chip_architecture::blackwell || a == chip_architecture::blackwell_ultra);
}

/// Backend of TensorRT-LLM where none is stated, with `operands` of its experts and attention over
/// `tensor` ranks. Its own choice is CUTLASS; on data-centre Blackwell TRTLLM for MXFP4 (gpt-oss,
/// DeepSeek-V4) and for fp8 blocks, whose operands have 8 bits. The configuration files that come
/// with it state TRTLLM for NVFP4 with tensor-parallel attention, and CUTLASS or nothing with
/// data-parallel attention and on one GPU; InferenceX's launch scripts do the same.
/// Sources: NVIDIA/TensorRT-LLM, _torch/model_config.py (resolve_moe_backend), examples/configs;
/// SemiAnalysisAI/InferenceX, dsr1_fp4_b200_trt.sh; ishandhanani/srt-slurm, gb200/1k1k/stp.
/// Leaves out: TRITON for gpt-oss on Hopper. Before 1.1 gpt-oss had CUTLASS too.
/// Test: NVFP4 and MXFP4 on B200, H200 (tests/unit/moe_backend.cpp).
constexpr moe_backend default_moe_backend(engine e, chip_architecture a, number_format operands,
                                          int tensor) {
  if (e != engine::trtllm) return moe_backend::automatic;
  const bool generated =
      has_two_moe_backends(e, a) &&
      (bits_of(operands) == 8.0 || (operands == number_format::fp4 && tensor > 1));
  return generated ? moe_backend::trtllm : moe_backend::cutlass;
}

}  // namespace perfmodel::inline v0_3
