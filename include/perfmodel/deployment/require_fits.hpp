// Fails a build when a deployment no longer fits, with the bytes in the message.
#pragma once

#include <perfmodel/deployment/memory.hpp>

namespace perfmodel {

namespace detail {

constexpr long long whole_bytes(const bytes<>& b) {
  return static_cast<long long>(b.value());
}

/// A compiler prints these two numbers when the assertion below fails.
template <long long BytesNeeded, long long BytesThere>
struct does_fit {
  static_assert(BytesNeeded <= BytesThere,
                "perfmodel: this deployment needs more memory per device than there is: "
                "does_fit<bytes needed, bytes there>; see docs/how-to/require_fits.md");
  static constexpr bool value = BytesNeeded <= BytesThere;
};

constexpr deployment cut_over(const accelerator& a, const transformer& m, int tensor,
                              number_format weights, number_format kv) {
  deployment d;
  d.device = a;
  d.model = m;
  d.layout.tensor = tensor;
  d.weights = weights;
  d.kv = kv;
  return d;
}
constexpr bytes<> bytes_needed(const deployment& d, double batch, double context) {
  sharded_dims parts = sharded_dims_of(d.model);
  parts.accelerators = d.device.fabric.exists() ? d.device.fabric.ranks : 1;
  require_layout(d.layout, parts);
  return weight_bytes_per_device(d) + batch * kv_bytes(d.model, context, formats_of(d).kv) *
                                          kv_share(d.model, d.layout.tensor) / d.layout.pipeline;
}

}  // namespace detail

/// true where the weights and the KV cache of `Batch` sequences of `Context` tokens fit one device of
/// a tensor-parallel group; else a compile error whose text holds the bytes needed and the bytes
/// there: static_assert(require_fits<h100_sxm, llama_3_70b, 8, bf16, bf16, 64, 4096>).
/// Leaves out activations and the runtime's own memory. Errors: a layout that the model or the fabric
/// cannot have. Tests: 70B in bf16 fits two H200, not one H100; it cannot be cut over 3 ranks.
template <const auto& Accelerator, const auto& Model, int TensorParallel = 1,
          number_format Weights = number_format::bf16, number_format Kv = number_format::bf16,
          int Batch = 1, int Context = 1>
inline constexpr bool require_fits =
    detail::does_fit<detail::whole_bytes(detail::bytes_needed(
                         detail::cut_over(Accelerator, Model, TensorParallel, Weights, Kv), Batch,
                         Context)),
                     detail::whole_bytes(Accelerator.dram.capacity)>::value;

}  // namespace perfmodel
