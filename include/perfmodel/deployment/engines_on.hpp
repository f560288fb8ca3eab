// Which serving engines run on an accelerator.
#pragma once

#include <perfmodel/calibrated/engine.hpp>
#include <perfmodel/core/short_list.hpp>
#include <perfmodel/hardware/accelerator.hpp>

namespace perfmodel {

using engine_list = short_list<engine, 4>;

/// The engines with a profile that run on an accelerator; empty where none does. NVIDIA's GPUs from
/// Ampere on have vLLM, SGLang and TensorRT-LLM, Volta and Turing vLLM alone; AMD's vLLM and SGLang.
/// Sources: vLLM 0.14, docs/getting_started/installation/gpu (compute capability 7.0; MI200 and later);
/// TensorRT-LLM, supported-hardware (A100, L20 and L40, Hopper, Blackwell; others by the community);
/// SGLang, docs/hardware-platforms/amd_gpu. Assumed: SGLang on every NVIDIA GPU from Ampere on.
/// Leaves out: which models an engine runs there; engines of other machines, which have no profile.
/// Test: three on H100, one on V100, two on MI300X, none on a TPU.
constexpr engine_list engines_on(const accelerator& a) {
  switch (facts_of(a.architecture).kind) {
    case machine_kind::gpu_nvidia:
      if (a.architecture == chip_architecture::volta ||
          a.architecture == chip_architecture::turing) {
        return {engine::vllm};
      }
      return {engine::vllm, engine::sglang, engine::trtllm};
    case machine_kind::gpu_amd: return {engine::vllm, engine::sglang};
    default: return {};
  }
}

}  // namespace perfmodel
