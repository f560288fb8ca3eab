// The formats that a checkpoint's weights are stored in.
#pragma once

#include <perfmodel/hardware/architecture.hpp>

namespace perfmodel {

/// Storage that the name of a format stands for, in weights and in a KV cache. A name of 4 bits
/// stands for values with block scales, since published checkpoints have these:
///   fp4   NVFP4, an 8-bit scale per 16 values; MXFP4, an 8-bit scale per 32, on chips of other
///         makers than NVIDIA
///   int4  a 16-bit scale per 128 values, as in GPTQ and AWQ checkpoints
/// Other names stand for the values alone. Sources: NVIDIA, "Introducing NVFP4 for Efficient and
/// Accurate Low-Precision Inference", 2025; OCP Microscaling Formats (MX) 1.0, section 5; the card
/// of amd/Llama-3.3-70B-Instruct-MXFP4-Preview (MI350, MI355); quantize_config.json of GPTQ and AWQ
/// checkpoints (group_size 128, scale_dtype fp16).
/// Leaves out: the zero points of asymmetric AWQ, 0.03 bits.
/// Test: 4.5 bits on B200, 4.25 on MI355X, 4.125 in int4, 8 in fp8.
constexpr storage_format storage_of(number_format f, machine_kind on = machine_kind::gpu_nvidia) {
  if (f == number_format::int4) return {f, 128, 16};
  if (f != number_format::fp4) return f;
  const bool nvfp4 = on == machine_kind::gpu_nvidia || on == machine_kind::unknown;
  return nvfp4 ? storage_format(f, 16, 8) : storage_format(f, 32, 8);
}

/// Values of a format alone: one scale for a whole row or tensor, which weighs nothing.
constexpr storage_format without_scales(number_format f) {
  return bits_of(f) < 8.0 ? storage_format(f, 1, 0) : storage_format(f);
}

/// A storage format with the block scales of its name, where no group of its own is stated.
constexpr storage_format with_block_scales(const storage_format& s,
                                           machine_kind on = machine_kind::gpu_nvidia) {
  return s.group ? s : storage_of(s.format, on);
}

/// How a checkpoint stores its weights. One format for all matrices of the layers in the usual case;
/// gpt-oss compresses its experts alone, NVIDIA's NVFP4 files leave `attention` (every mixer) as it
/// was. `linear` is dense and shared feed-forwards, `others` everything else. A format without a
/// group is a name: what it stands for is with_block_scales() of it, on the accelerator in use.
struct weight_storage {
  storage_format linear{};
  storage_format experts{};
  number_format others = number_format::bf16;
  storage_format attention = linear;

  constexpr weight_storage() = default;
  constexpr weight_storage(const storage_format& all, number_format rest = number_format::bf16)
      : linear(all), experts(all), others(rest) {}
  constexpr weight_storage(number_format all) : weight_storage(storage_format(all)) {}
  constexpr weight_storage(const storage_format& of_linear, const storage_format& of_experts,
                           number_format rest)
      : linear(of_linear), experts(of_experts), others(rest) {}

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("linear", s.linear...);
    f("experts", s.experts...);
    f("others", s.others...);
    f("attention", s.attention...);
  }
};

/// The weights of a checkpoint, each part with the block scales that its format's name stands for.
constexpr weight_storage with_block_scales(weight_storage w,
                                           machine_kind on = machine_kind::gpu_nvidia) {
  w.linear = with_block_scales(w.linear, on);
  w.experts = with_block_scales(w.experts, on);
  w.attention = with_block_scales(w.attention, on);
  return w;
}

}  // namespace perfmodel
