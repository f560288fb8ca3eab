// The arithmetic that serving engines run with the formats a checkpoint is stored in.
#pragma once

#include <perfmodel/calibrated/engine.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/workload/model/weight_storage.hpp>

namespace perfmodel {

/// The format of the operands beside some weights, and why an engine takes it.
struct operand_format {
  number_format format = number_format::bf16;
  const char* why = "";
};

/// What an engine runs with a checkpoint: `linear` beside the weights of mixers, dense and shared
/// feed-forwards (the narrowest that any of them takes; products run in the wider of the two),
/// `experts` beside those of routed experts, `kv` what keys and values are stored in.
struct engine_formats {
  operand_format linear{};
  operand_format experts{};
  storage_format kv{};
};

namespace detail {

/// What decides the arithmetic beside weights that are narrower than 16 bits.
template <Scalar T>
struct operand_choice {
  const basic_accelerator<T>& on;
  engine by = engine::none;
  number_format wide = number_format::bf16;  ///< the 16-bit format in use

  constexpr const architecture_facts& chip() const { return facts_of(on.architecture); }

  constexpr operand_format beside(const storage_format& w) const {
    if (bits_of(w.format) >= 16.0) return {wide, "16-bit weights"};
    if (w.format == number_format::int4 || (w.format == number_format::int8 && w.group)) {
      return {wide, "integer weights in groups: engines widen them in front of a product"};
    }
    if (w.format == number_format::fp4) return w.group == 32.0 ? mxfp4() : nvfp4();
    if (supports(on, w.format)) return {w.format, "8-bit weights beside 8-bit activations"};
    return {wide, "8-bit weights, widened in front of a product: no unit here multiplies them"};
  }

 private:
  constexpr operand_format nvfp4() const {
    if (supports(on, number_format::fp4) && chip().kind != machine_kind::gpu_amd) {
      return {number_format::fp4, "NVFP4 weights beside fp4 activations"};
    }
    return {wide, "NVFP4 weights, widened in front of a product: no unit here takes them"};
  }
  constexpr operand_format mxfp4() const {
    const operand_format widened{wide, "MXFP4 weights, widened to 16 bits in front of a product"};
    const operand_format mixed{number_format::fp8, "MXFP4 weights beside MXFP8 activations"};
    if (!supports(on, number_format::fp4)) return widened;
    const bool marlin = chip().kind == machine_kind::gpu_nvidia && !chip().scales_blocks;
    if (marlin && by != engine::trtllm) return widened;  // RTX cards
    return mixed;
  }
};

}  // namespace detail

/// What an engine runs with a checkpoint on an accelerator. `cache` is the checkpoint's scheme for
/// keys and values, where it has one; engines keep them in 16 bits else. A machine without bf16
/// (Volta, Turing) runs 16-bit checkpoints in fp16. `engine::none` stands for the fastest of them.
/// Sources: vLLM, docs/features/quantization/README.md (supported hardware), quantized_kvcache.md, and
/// vllm/model_executor/layers/fused_moe/oracle/{fp8,nvfp4,mxfp4}.py; SGLang,
/// python/sglang/srt/layers/quantization/mxfp4.py; TensorRT-LLM,
/// tensorrt_llm/_torch/model_config.py (get_mxfp4_quant_algo) and docs/source/features/quantization.md.
/// Assumed for machines that none of these serves. vLLM runs MXFP4 experts on data-centre Blackwell with
/// 16-bit operands unless VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8 is set, as public launch scripts for gpt-oss
/// on B200 set it: that is what is meant here.
/// Leaves out: weight-only NVFP4 and fp8 checkpoints (W4A16_NVFP4, FP8_PB_WO), whose bits look alike.
/// Test: MXFP4, NVFP4, fp8, int8 and int4 on V100, A100, H100, B200, RTX 5090 and MI300X.
template <Scalar T>
constexpr engine_formats engine_formats_of(const weight_storage& stored,
                                           const std::optional<storage_format>& cache,
                                           const basic_accelerator<T>& on,
                                           engine by = engine::none) {
  using enum number_format;
  detail::operand_choice<T> choice{on, by};
  const bool half = stored.others == fp16 || (!supports(on, bf16) && supports(on, fp16));
  choice.wide = half ? fp16 : bf16;
  engine_formats out{choice.beside(stored.linear), choice.beside(stored.experts),
                     cache.value_or(choice.wide)};
  const operand_format mixers = choice.beside(stored.attention);
  if (bits_of(mixers.format) < bits_of(out.linear.format)) out.linear = mixers;
  return out;
}

}  // namespace perfmodel
