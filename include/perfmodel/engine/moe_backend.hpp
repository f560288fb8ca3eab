// Libraries of expert kernels that an engine can be told to run, and its own choice.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/architecture.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <string_view>

namespace perfmodel::inline v0_3 {

/// Library of the grouped GEMMs of routed experts, TensorRT-LLM's moe_config.backend: CUTLASS, or
/// the generated kernels that it calls TRTLLM. `automatic` is the engine's own choice.
enum class moe_backend { automatic, cutlass, trtllm };

/// Name of a backend, as napkin spells it.
constexpr const char* name_of(moe_backend b) {
  constexpr const char* names[] = {"auto", "cutlass", "trtllm"};
  return detail::entry_of(names, b, "moe_backend");
}

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

/// TensorRT-LLM's own choice with `operands` of its experts: CUTLASS; on data-centre Blackwell
/// TRTLLM for MXFP4 (gpt-oss, DeepSeek-V4), and for fp8 blocks, whose operands have 8 bits.
/// Published InferenceX runs state it: TRTLLM, and CUTLASS with data-parallel attention.
/// Sources: NVIDIA/TensorRT-LLM, _torch/model_config.py, resolve_moe_backend, and
/// _torch/modules/fused_moe/create_moe.py; SemiAnalysisAI/InferenceX, dsr1_fp4_b200_trt.sh.
/// Leaves out: TRITON for gpt-oss on Hopper. Before 1.1 gpt-oss had CUTLASS too.
/// Test: NVFP4 and MXFP4 on B200, H200 (tests/unit/moe_backend.cpp).
constexpr moe_backend default_moe_backend(engine e, chip_architecture a, number_format operands) {
  if (e != engine::trtllm) return moe_backend::automatic;
  const bool generated = has_two_moe_backends(e, a) && bits_of(operands) == 8.0;
  return generated ? moe_backend::trtllm : moe_backend::cutlass;
}

}  // namespace perfmodel::inline v0_3
