// The operand and KV-cache formats in which serving engines run a stored checkpoint.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/model/transformer.hpp>

namespace perfmodel::inline v0_3 {

/// Format of the activations for some weights, and the reason for it.
struct operand_format {
  number_format format = number_format::bf16;
  const char* why = "";
};

/// Formats in which an engine runs a checkpoint. `weights` has the block scales of each part.
/// `linear` is the operand format of mixers, dense and shared feed-forwards: the lowest precision
/// of any of them, since GEMMs run in the wider of operand and weights. `experts` is that of routed
/// experts, `kv` the format of keys and values.
struct engine_formats {
  weight_storage weights{};
  operand_format linear{};
  operand_format experts{};
  storage_format kv{};
  const char* kv_why = "";
};

namespace detail {

/// Choice of the operand format for weights below 16 bits.
template <Scalar T>
struct operand_choice {
  const basic_accelerator<T>& on;
  const weight_storage& stored;
  engine by = engine::none;
  number_format sixteen_bit = number_format::bf16;  ///< 16-bit format in use

  constexpr operand_choice(const weight_storage& weights, const basic_accelerator<T>& accelerator,
                           engine serving_engine)
      : on(accelerator), stored(weights), by(serving_engine) {
    using enum number_format;
    if (stored.others == fp16 || (!supports(on, bf16) && supports(on, fp16))) sixteen_bit = fp16;
  }
  constexpr const architecture_facts& chip() const { return facts_of(on.architecture); }
  /// Lowest precision among mixers, dense and shared feed-forwards.
  constexpr operand_format linear() const {
    const operand_format layers = operands_for(stored.linear),
                         mixers = operands_for(stored.attention);
    return bits_of(mixers.format) < bits_of(layers.format) ? mixers : layers;
  }

  constexpr operand_format operands_for(const storage_format& w) const {
    if (bits_of(w.format) >= 16.0) return {sixteen_bit, "16-bit weights"};
    if (w.format == number_format::int4 || (w.format == number_format::int8 && w.group)) {
      return {sixteen_bit, "integer weights in groups: engines dequantise them before a GEMM"};
    }
    if (w.format == number_format::fp4) {
      return with_block_scales(w, chip().kind).group == 32.0 ? mxfp4() : nvfp4();
    }
    if (supports(on, w.format)) return {w.format, "8-bit weights with 8-bit activations"};
    return {sixteen_bit, "8-bit weights, dequantised before a GEMM: no unit here multiplies them"};
  }

 private:
  constexpr operand_format nvfp4() const {
    if (supports(on, number_format::fp4) && chip().kind != machine_kind::gpu_amd) {
      return {number_format::fp4, "NVFP4 weights with fp4 activations"};
    }
    return {sixteen_bit, "NVFP4 weights, dequantised before a GEMM: no unit here takes them"};
  }
  constexpr operand_format mxfp4() const {
    const operand_format dequantised{sixteen_bit,
                                     "MXFP4 weights, dequantised to 16 bits before a GEMM"};
    const operand_format mixed{number_format::fp8, "MXFP4 weights with MXFP8 activations"};
    if (!supports(on, number_format::fp4)) return dequantised;
    const bool in_all_layers = stored.linear.format == number_format::fp4;
    if (in_all_layers && chip().kind != machine_kind::gpu_nvidia) {
      return {number_format::fp4, "MXFP4 weights and MXFP4 activations"};
    }
    const bool marlin = chip().kind == machine_kind::gpu_nvidia && !chip().scales_blocks;
    if (marlin && by != engine::trtllm) return dequantised;  // RTX cards
    return mixed;
  }
};

/// Whether a checkpoint without a KV-cache scheme is taken to have an fp8 cache: in TensorRT-LLM,
/// with fp8 weights that have a scale per tensor, or NVFP4 weights. NVIDIA's Model Optimizer makes
/// these, and its hf_ptq.py quantises the cache to fp8 unless told otherwise. DeepSeek's fp8
/// weights have scales per block and another maker, and a 16-bit cache.
template <Scalar T>
constexpr bool has_fp8_cache(const weight_storage& stored, const basic_accelerator<T>& on,
                             engine by) {
  if (by != engine::trtllm || !supports(on, number_format::fp8)) return false;
  const machine_kind kind = facts_of(on.architecture).kind;
  const auto by_model_optimizer = [&](const storage_format& w) {
    const storage_format scaled = with_block_scales(w, kind);
    return w == storage_format(number_format::fp8) || scaled == storage_of(number_format::fp4);
  };
  return by_model_optimizer(stored.linear) || by_model_optimizer(stored.experts);
}

/// Storage format of keys and values.
template <Scalar T>
constexpr storage_format kv_format_of(const operand_choice<T>& choice,
                                      const std::optional<storage_format>& cache) {
  if (cache) return with_block_scales(*cache, choice.chip().kind);
  if (has_fp8_cache(choice.stored, choice.on, choice.by)) return number_format::fp8;
  return choice.sixteen_bit;
}

}  // namespace detail

/// Formats in which an engine runs a checkpoint on an accelerator. `cache` is the checkpoint's own
/// scheme for keys and values. Without one the cache has 16 bits, or fp8 in TensorRT-LLM with
/// weights as NVIDIA's Model Optimizer stores them.
/// A machine without bf16 (Volta, Turing) runs 16-bit checkpoints in fp16. `engine::none` stands
/// for the fastest engine. A 4-bit format gets its block scales (storage_of). On CDNA 4, MXFP4 in
/// all layers multiplies in MXFP4.
/// Sources: vLLM, docs/features/quantization/README.md (supported hardware), quantized_kvcache.md,
/// quark.md (MXFP4 where the chip has it, simulated on MI300), and
/// vllm/model_executor/layers/fused_moe/oracle/{fp8,nvfp4,mxfp4}.py; SGLang,
/// python/sglang/srt/layers/quantization/mxfp4.py; TensorRT-LLM,
/// tensorrt_llm/_torch/model_config.py (get_mxfp4_quant_algo),
/// docs/source/features/quantization.md; NVIDIA Model Optimizer, examples/llm_ptq/hf_ptq.py
/// (--kv_cache_qformat, default fp8); the card of amd/Llama-3.3-70B-Instruct-MXFP4-Preview (weights
/// and activations in MXFP4 on MI350 and MI355).
/// Assumed: machines that none of these serves follow the same rules; MXFP4 experts on data-centre
/// Blackwell run with 8-bit operands in vLLM. Its default there is 16-bit operands unless
/// VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8 is set, as public launch scripts for gpt-oss on B200 do.
/// Leaves out: weight-only NVFP4 and fp8 checkpoints (W4A16_NVFP4, FP8_PB_WO), which look alike;
/// fp8 checkpoints of other tools that TensorRT-LLM runs with a 16-bit cache.
/// Test: MXFP4, NVFP4, fp8, int8 and int4 on V100, A100, H100, B200, RTX 5090, MI300X and MI355X.
template <Scalar T>
constexpr engine_formats engine_formats_of(const weight_storage& stored,
                                           const std::optional<storage_format>& cache,
                                           const basic_accelerator<T>& on,
                                           engine by = engine::none) {
  const detail::operand_choice<T> choice(stored, on, by);
  engine_formats out{.weights = with_block_scales(stored, choice.chip().kind),
                     .linear = choice.linear(),
                     .experts = choice.operands_for(stored.experts),
                     .kv = detail::kv_format_of(choice, cache)};
  out.kv_why = cache ? "the checkpoint's KV-cache quantisation"
               : bits_of(out.kv.format) < 16.0
                   ? "fp8 and NVFP4 checkpoints of Model Optimizer have an fp8 cache"
                   : "the checkpoint does not quantise it";
  return out;
}

// Serving engines that run on an accelerator.

using engine_list = short_list<engine, 4>;

/// The engines with a profile that run on an accelerator; empty where there is none. NVIDIA's GPUs
/// from Ampere on have vLLM, SGLang and TensorRT-LLM, Volta and Turing only vLLM; AMD's vLLM and
/// SGLang.
/// Sources: vLLM 0.14, docs/getting_started/installation/gpu (compute capability 7.0; MI200 and
/// later); TensorRT-LLM, supported-hardware (A100, L20 and L40, Hopper, Blackwell; others by the
/// community); SGLang, docs/hardware-platforms/amd_gpu.
/// Assumed: SGLang on every NVIDIA GPU from Ampere on.
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

/// Whether an engine may run on an accelerator: false for TensorRT-LLM where a machine is known not
/// to be an NVIDIA GPU.
/// Source: TensorRT-LLM, supported-hardware.
/// Test: a plan for MI300X leaves TensorRT-LLM out, with this reason.
constexpr bool engine_runs_on(engine e, const accelerator& a) {
  const machine_kind kind = facts_of(a.architecture).kind;
  return e != engine::trtllm || kind == machine_kind::gpu_nvidia || kind == machine_kind::unknown;
}

}  // namespace perfmodel::inline v0_3
