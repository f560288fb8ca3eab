// A model on machines: what is stored in which format, and how it is cut.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/model/parameters.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/step/sharding.hpp>

namespace perfmodel::inline v0_3 {

/// One replica of a model: equal accelerators, the model, the layout and the formats.
/// `activations` is the operand format of its GEMMs. They run in the wider of it and the weights'
/// format, so bf16 activations make a weight format weight-only.
/// `expert_activations` is that of routed experts, `activations` where only that is stated; `kv` is
/// the format of the KV cache. formats_of(d) fills in the engine's own formats.
/// `layout.data` counts data-parallel attention groups of this replica; serving and plan count
/// replicas.
/// Memory shares and reserves that are not stated are those of `serving_engine`.
template <Scalar T = double>
struct basic_deployment {
  basic_accelerator<T> device{};
  basic_transformer<T> model{};
  parallel_layout layout{};
  weight_storage weights = model.stored;
  std::optional<number_format> activations{};
  std::optional<number_format> expert_activations{};
  std::optional<storage_format> kv{};
  std::optional<T> utilization{};              ///< usable share of a device's memory
  std::optional<bytes<T>> activation_bytes{};  ///< per device, reserved for activations
  std::optional<bytes<T>> runtime_bytes{};     ///< per device
  engine serving_engine = engine::none;
  basic_engine_limits<T> limits{};  ///< engine step limits that size its memory profile

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
    f("served_by", s.serving_engine...);
    f("limits", s.limits...);
  }
};
using deployment = basic_deployment<>;

/// Formats that a deployment runs in: those it states, else those of `serving_engine` on its
/// accelerator. Each law takes the formats of a deployment from here.
/// Test: DeepSeek-V3 on H200 multiplies in fp8, fp4 on MI355X in MXFP4; a stated bf16 stays.
template <Scalar T>
constexpr engine_formats formats_of(const basic_deployment<T>& d) {
  engine_formats f = engine_formats_of(d.weights, d.kv, d.device, d.serving_engine);
  if (d.activations) f.linear = f.experts = {*d.activations, "given"};
  if (d.expert_activations) f.experts = {*d.expert_activations, "given"};
  return f;
}

/// The deployment with all of a device's memory for weights and KV cache, as textbooks count.
template <Scalar T>
constexpr basic_deployment<T> with_all_memory(basic_deployment<T> d) {
  d.utilization = T(1.0);
  d.activation_bytes = bytes<T>{};
  d.runtime_bytes = bytes<T>{};
  return d;
}

/// Dimensions of the model that the layout has to divide.
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
/// KV-cache format of formats_of(d), computed alone.
template <Scalar T>
constexpr storage_format kv_format_of(const basic_deployment<T>& d) {
  if (d.kv) return with_block_scales(*d.kv, facts_of(d.device.architecture).kind);
  return kv_format_of(operand_choice<T>(d.weights, d.device, d.serving_engine), d.kv);
}
}  // namespace detail

/// Format of the residual stream and of messages between ranks: that of the activations, and at
/// least 16 bits. Engines that multiply in fp8 or fp4 quantise in front of each GEMM.
template <Scalar T>
constexpr number_format residual_format(const basic_deployment<T>& d) {
  if (d.activations) return detail::at_least_16_bits(*d.activations);
  const detail::operand_choice<T> choice(d.weights, d.device, d.serving_engine);
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

/// Checks everything that an engine step needs of a deployment; callees then hold valid values.
template <Scalar T>
constexpr void check_deployment(const basic_deployment<T>& d) {
  check_memory(d);
  require_layout(d.layout, sharded_dims_of(d.model));
  positive("device.dram.bandwidth", d.device.dram.bandwidth.quantity());
  if (d.layout.context != 1) {
    out_of_range("layout.context", d.layout.context,
                 "1 in a step; parallel/context.hpp has the law");
  }
}

}  // namespace detail

// Iteration: the sequences that decode in one engine step and the prefills that join them.

/// Work of one engine step: `batch` sequences decode over `context` cached tokens each, and
/// `prefill_tokens` prompt tokens join them. These belong to `prefill_sequences` equal prompts with
/// `prefill_past` cached tokens each. Without a batch the step is prefill only.
/// `tokens_per_sequence` is 1, or k + 1 in a step that verifies k drafted tokens. Each of them is a
/// row with logits of its own, and they share one read of their sequence's cache.
/// Sequences are divided among data-parallel groups and pipeline stages, whole ones, and the
/// busiest group counts.
/// A `steady` iteration is the mean of many: prefill_sequences may be below 1, and every group and
/// stage has its fraction of it.
template <Scalar T = double>
struct basic_iteration {
  T batch{};
  T context = T(1.0);
  T prefill_tokens{};
  T prefill_past{};
  T prefill_sequences = T(1.0);
  bool steady = false;
  T tokens_per_sequence = T(1.0);

  friend bool operator==(const basic_iteration&, const basic_iteration&) = default;
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("batch"), s.batch...);
    f(field::not_negative("context"), s.context...);
    f(field::not_negative("prefill_tokens"), s.prefill_tokens...);
    f(field::not_negative("prefill_past"), s.prefill_past...);
    f(field::positive("prefill_sequences"), s.prefill_sequences...);
    f("steady", s.steady...);
    f(field::count("tokens_per_sequence"), s.tokens_per_sequence...);
  }
};
using iteration = basic_iteration<>;

namespace detail {

template <Scalar T>
constexpr void check_iteration(const basic_iteration<T>& i) {
  require_valid(i);
  if (!i.steady) count("prefill_sequences", i.prefill_sequences);
  if (upper(i.batch) > 0.0) count("context", i.context);
  count("batch + prefill_tokens", T(i.batch + i.prefill_tokens));
}

/// Work of one rank of the busiest data-parallel group in an engine step, at one pipeline stage.
/// Routed experts see the tokens of all groups.
template <Scalar T>
struct step_share {
  T sequences{};                 ///< decoding sequences
  T prefills{};                  ///< prompts that join the step
  T prefill_length{};            ///< new tokens per prompt
  T rows{};                      ///< tokens of decode and prefill
  T logits{};                    ///< tokens that reach the LM head
  T decoded_tokens_of_groups{};  ///< decoded tokens of all groups
  T prefills_of_groups{};        ///< prompts of all groups
};

/// Divides an iteration among groups and stages: rounds up to one sequence per data-parallel group,
/// except for steady-state averages.
template <Scalar T>
constexpr step_share<T> step_share_of(const parallel_layout& l, const basic_iteration<T>& i) {
  const T stages = T(l.pipeline);
  const T parts = T(l.pipeline * l.data);
  const T least = T(i.steady ? 0.0 : 1.0);
  step_share<T> s;
  if (upper(i.batch) > 0.0) {
    s.sequences = scalar_max(T(1.0), i.batch / parts);
    s.decoded_tokens_of_groups = scalar_max(T(1.0), i.batch / stages) * i.tokens_per_sequence;
  }
  s.rows = s.logits = s.sequences * i.tokens_per_sequence;
  if (upper(i.prefill_tokens) > 0.0) {
    s.prefills = scalar_max(least, i.prefill_sequences / parts);
    s.prefill_length = i.prefill_tokens / i.prefill_sequences;
    s.rows += s.prefills * s.prefill_length;
    s.logits += s.prefills * scalar_min(s.prefill_length, T(1.0));
    s.prefills_of_groups = scalar_max(least, i.prefill_sequences / stages);
  }
  return s;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
