// A model on machines: what is stored in which format, and how it is cut.
#pragma once

#include <perfmodel/calibrated/engine_memory.hpp>
#include <perfmodel/deployment/engine_formats.hpp>
#include <perfmodel/deployment/sharding.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/workload/model/parameters.hpp>

namespace perfmodel {

/// One replica of a model: an accelerator (all are alike), the model, the layout and the formats.
/// `activations` is the operand format of its GEMMs, which run in the wider of it and the weights',
/// so bf16 activations make a weight format weight-only. `expert_activations` is that of routed
/// experts, `activations` where that alone is stated; `kv` is the format of the KV cache. Formats
/// that are not stated are the engine's own: formats_of(d). `layout.data` counts data-parallel
/// attention groups of this replica; whole copies of the replica are counted by serving and plan.
/// Of a device's memory, what is not stated is as the engine `served_by` keeps it.
template <Scalar T = double>
struct basic_deployment {
  basic_accelerator<T> device{};
  basic_transformer<T> model{};
  parallel_layout layout{};
  weight_storage weights = model.stored;
  std::optional<number_format> activations{};
  std::optional<number_format> expert_activations{};
  std::optional<storage_format> kv{};
  std::optional<T> utilization{};              ///< share of a device's memory that may be used
  std::optional<bytes<T>> activation_bytes{};  ///< per device, beside weights and cache
  std::optional<bytes<T>> runtime_bytes{};     ///< per device
  engine served_by = engine::none;
  basic_engine_limits<T> limits{};  ///< of a pass, for which the engine keeps memory

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("device", s.device...);
    f("model", s.model...);
    f("layout", s.layout...);
    f("weights", s.weights...);
    f("activations", s.activations...);
    f("expert_activations", s.expert_activations...);
    f("kv", s.kv...);
    f(field::fraction("utilization"), s.utilization...);
    f(field::not_negative("activation_bytes"), s.activation_bytes...);
    f(field::not_negative("runtime_bytes"), s.runtime_bytes...);
    f("served_by", s.served_by...);
    f("limits", s.limits...);
  }
};
using deployment = basic_deployment<>;

/// The formats that a deployment runs in: those it states, else those of the engine `served_by` on
/// its accelerator. Each law takes the formats of a deployment from here.
/// Test: DeepSeek-V3 on H200 multiplies in fp8, fp4 on MI355X in MXFP4; a stated bf16 stays.
template <Scalar T>
constexpr engine_formats formats_of(const basic_deployment<T>& d) {
  engine_formats f = engine_formats_of(d.weights, d.kv, d.device, d.served_by);
  if (d.activations) f.linear = f.experts = {*d.activations, "given"};
  if (d.expert_activations) f.experts = {*d.expert_activations, "given"};
  return f;
}

/// A copy that keeps nothing of a device's memory beside weights and cache, as textbooks count.
template <Scalar T>
constexpr basic_deployment<T> with_all_memory(basic_deployment<T> d) {
  d.utilization = T(1.0);
  d.activation_bytes = bytes<T>{};
  d.runtime_bytes = bytes<T>{};
  return d;
}

/// What of the model the layout has to divide.
template <Scalar T>
constexpr sharded_dims sharded_dims_of(const basic_transformer<T>& m) {
  sharded_dims dims;
  for (const auto& kind : m.layers.mixers) {
    std::visit([&](const auto& a) { detail::add_dims(a, dims); }, kind.shape);
  }
  dims.layers = math::floor(lower(m.layers.count));
  if (const auto e = experts_of(m)) dims.experts = math::floor(lower(e->experts));
  return dims;
}

namespace detail {
constexpr number_format at_least_16_bits(number_format f) {
  return bits_of(f) >= 16.0 ? f : number_format::bf16;
}
/// formats_of(d).kv, without the rest.
template <Scalar T>
constexpr storage_format kv_format_of(const basic_deployment<T>& d) {
  if (d.kv) return with_block_scales(*d.kv, facts_of(d.device.architecture).kind);
  return kv_format_of(operand_choice<T>(d.weights, d.device, d.served_by), d.kv);
}
}  // namespace detail

/// The format of what passes from layer to layer and over the links: that of the activations, and
/// never below 16 bits, since engines that multiply in fp8 or fp4 quantise in front of each product.
template <Scalar T>
constexpr number_format residual_format(const basic_deployment<T>& d) {
  if (d.activations) return detail::at_least_16_bits(*d.activations);
  const detail::operand_choice<T> choice(d.weights, d.device, d.served_by);
  return detail::at_least_16_bits(choice.linear().format);
}

namespace detail {

template <Scalar T>
constexpr void check_memory(const basic_deployment<T>& d) {
  checked(d.model);
  require_valid(d.weights, "weights");
  if (d.kv) require_valid(*d.kv, "kv");
  positive("device.dram.capacity", d.device.dram.capacity.quantity());
  if (d.utilization) fraction("utilization", *d.utilization);
  if (d.activation_bytes) not_negative("activation_bytes", *d.activation_bytes);
  if (d.runtime_bytes) not_negative("runtime_bytes", *d.runtime_bytes);
  require_valid(d.limits, "limits");
}

/// All that a pass asks of a deployment. What it calls afterwards holds valid values.
template <Scalar T>
constexpr void check_deployment(const basic_deployment<T>& d) {
  check_memory(d);
  require_layout(d.layout, sharded_dims_of(d.model));
  positive("device.dram.bandwidth", d.device.dram.bandwidth.quantity());
  if (d.layout.context != 1) {
    out_of_range("layout.context", d.layout.context,
                 "1 in a pass; parallel/context.hpp has the law");
  }
}

}  // namespace detail

}  // namespace perfmodel
