// A deployment: a model on accelerators, its layout over ranks, its formats and its engine.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/engine/formats.hpp>
#include <perfmodel/engine/moe_backend.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/model/parameters.hpp>
#include <perfmodel/parallel/layout.hpp>
#include <perfmodel/step/lora.hpp>
#include <perfmodel/step/sharding.hpp>

namespace perfmodel::inline v0_3 {

/// One replica of a model: its accelerator, the model, the layout over equal ranks, and the
/// formats.
/// `activations` is the operand format of GEMMs. A GEMM multiplies in the wider of it and the
/// format of the weights: bf16 activations make quantised weights weight-only.
/// `expert_activations` is the operand format of routed experts; absent: `activations`. `kv` is the
/// format of the KV cache. Absent formats are chosen by the engine, see formats_of.
/// `layout.data` is the number of data-parallel attention groups inside this replica. The number of
/// replicas is an input of `serving` and a result of `plan`.
/// `cpu_offload_bytes` is vLLM's --cpu-offload-gb: weights that each step reads over the host link.
/// `network` is the link of each device to other nodes (its network adapter), for stages of more
/// ranks than the fabric joins. Without it such a stage is infeasible.
/// Without `cuda_graphs` (--enforce-eager) the CPU launches each kernel of a step.
/// Absent memory settings (`utilization`, `activation_bytes`, `runtime_bytes`) are the defaults of
/// `serving_engine`.
template <Scalar T = double>
struct basic_deployment {
  basic_accelerator<T> device{};
  basic_transformer<T> model{};
  parallel_layout layout{};
  weight_storage weights = model.stored;
  std::optional<number_format> activations{};
  std::optional<number_format> expert_activations{};
  std::optional<storage_format> kv{};
  std::optional<T> utilization{};  ///< fraction of a device's memory that the engine may use
  std::optional<bytes<T>> activation_bytes{};  ///< memory reserved for activations, per device
  /// memory of the runtime and its libraries, per device
  std::optional<bytes<T>> runtime_bytes{};
  engine serving_engine = engine::none;
  engine_release release = engine_release::latest;  ///< release with the engine's defaults
  /// library of expert kernels; automatic: default_moe_backend
  perfmodel::moe_backend moe_backend = perfmodel::moe_backend::automatic;
  /// step limits with which the engine measures its activation memory
  basic_engine_limits<T> limits{};
  /// recurrent states of a sequence: 1, and one more for each draft token of a speculation round
  T states_per_sequence = T(1.0);
  bool prefix_caching = false;  ///< prefixes are cached, and recurrent states with them
  std::optional<basic_lora<T>> lora{};
  std::optional<basic_interconnect<T>> network{};  ///< link of a device to other nodes, one way
  bytes<T> cpu_offload_bytes{};                    ///< weights in host memory, per device
  bool cuda_graphs = true;
  std::optional<duration<T>> step_cpu_time{};      ///< CPU time per engine step; absent: engine's
  std::optional<duration<T>> sequence_cpu_time{};  ///< more of it per decoding sequence
  T encoder_rows{};  ///< image patches that the encoder computes per prefill token
  T image_tokens{};  ///< image tokens that cross-attention layers cache per sequence

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
    f("serving_engine", s.serving_engine...);
    f("release", s.release...);
    f("moe_backend", s.moe_backend...);
    f("limits", s.limits...);
    f(field::count("states_per_sequence"), s.states_per_sequence...);
    f("prefix_caching", s.prefix_caching...);
    f("lora", s.lora...);
    f("network", s.network...);
    f(field::not_negative("cpu_offload_bytes"), s.cpu_offload_bytes...);
    f("cuda_graphs", s.cuda_graphs...);
    f(field::not_negative("step_cpu_time"), s.step_cpu_time...);
    f(field::not_negative("sequence_cpu_time"), s.sequence_cpu_time...);
    f(field::not_negative("encoder_rows"), s.encoder_rows...);
    f(field::not_negative("image_tokens"), s.image_tokens...);
  }
};
using deployment = basic_deployment<>;

/// The layer with its state in the format that an engine keeps: SGLang fp32
/// (SGLANG_MAMBA_SSM_DTYPE); vLLM bf16 for Mamba and lightning attention (mamba_cache_dtype auto),
/// else the model's.
/// Sources: sglang, configs/mamba_utils.py; vLLM, mamba_utils.py.
template <Scalar T>
constexpr basic_recurrent_shape<T> stored_by(engine e, basic_recurrent_shape<T> a) {
  const bool short_state = a.kind == recurrence::short_convolution;
  if (e == engine::sglang && !short_state) a.state_format = number_format::fp32;
  const bool plain = a.kind == recurrence::mamba || a.kind == recurrence::lightning;
  if (e == engine::vllm && plain) a.state_format = number_format::bf16;
  return a;
}

/// Formats that a deployment computes in: those it states, else the choice of `serving_engine` on
/// its accelerator. Every prediction function takes its formats from here.
/// Test: DeepSeek-V3 on H200 multiplies in fp8, and fp4 weights on MI355X in MXFP4. A deployment
/// that states bf16 activations keeps them.
template <Scalar T>
constexpr engine_formats formats_of(const basic_deployment<T>& d) {
  engine_formats f = engine_formats_of(d.weights, d.kv, d.device, d.serving_engine);
  if (d.activations) f.linear = f.experts = {*d.activations, "given"};
  if (d.expert_activations) f.experts = {*d.expert_activations, "given"};
  return f;
}

/// Whether linear layers multiply in fp8 with a scale per block of weights.
template <Scalar T>
constexpr bool multiplies_fp8_blocks(const basic_deployment<T>& d) {
  const auto in_blocks = [](const storage_format& s) {
    return s.format == number_format::fp8 && s.group.has_value();
  };
  return (in_blocks(d.weights.linear) || in_blocks(d.weights.experts)) &&
         formats_of(d).linear.format == number_format::fp8;
}

/// The deployment with `utilization` 1 and no memory reserved for activations or the runtime:
/// weights and KV cache share all memory, as in textbook formulas.
template <Scalar T>
constexpr basic_deployment<T> with_all_memory(basic_deployment<T> d) {
  d.utilization = T(1.0);
  d.activation_bytes = bytes<T>{};
  d.runtime_bytes = bytes<T>{};
  return d;
}

/// Numbers of heads, layers and experts of a model, which the ranks of a layout must divide.
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
/// The format itself if it has 16 bits or more, else bf16.
constexpr number_format at_least_16_bits(number_format f) {
  return bits_of(f) >= 16.0 ? f : number_format::bf16;
}
/// KV-cache format of formats_of(d), without computing the other formats.
template <Scalar T>
constexpr storage_format kv_format_of(const basic_deployment<T>& d) {
  if (d.kv) return with_block_scales(*d.kv, facts_of(d.device.architecture).kind);
  return kv_format_of(operand_choice<T>(d.weights, d.device, d.serving_engine), d.kv);
}
}  // namespace detail

/// Format of the residual stream and of messages between ranks: the activations' format, or bf16 if
/// that has fewer than 16 bits. Engines with fp8 or fp4 GEMMs quantise directly before each GEMM.
template <Scalar T>
constexpr number_format residual_format(const basic_deployment<T>& d) {
  if (d.activations) return detail::at_least_16_bits(*d.activations);
  const detail::operand_choice<T> choice(d.weights, d.device, d.serving_engine);
  return detail::at_least_16_bits(choice.linear().format);
}

namespace detail {

/// Checks the model, the stored formats and the memory settings of a deployment.
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
  if (d.lora) require_valid(*d.lora, "lora");
  if (d.network) positive("network.bandwidth", d.network->bandwidth.quantity());
  not_negative("cpu_offload_bytes", d.cpu_offload_bytes);
  not_negative("encoder_rows", d.encoder_rows);
  not_negative("image_tokens", d.image_tokens);
}

/// Checks all inputs of an engine step except the iteration. The functions in `detail` that follow
/// rely on it.
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

/// Checks that the fabric connects all ranks of a stage, or that they fill nodes which a network
/// connects, and that the ranks that share an expert divide its intermediate size.
template <Scalar T>
constexpr feasibility group_fits(const basic_deployment<T>& d) {
  const int reach = d.device.fabric.reach();
  if (d.layout.stage_ranks() > reach && d.network && d.layout.stage_ranks() % reach != 0) {
    return infeasible("the parallel group does not fill whole nodes", "accelerators",
                      d.layout.stage_ranks(), reach);
  }
  if (d.layout.stage_ranks() > reach && !d.network) {
    return infeasible("the parallel group has more ranks than the fabric joins", "accelerators",
                      d.layout.stage_ranks(), reach);
  }
  const int slices = d.layout.expert_tensor();
  const auto experts = experts_of(d.model);
  if (experts && !divides_evenly(slices, upper(experts->intermediate))) {
    return infeasible("the ranks that share an expert do not divide its width", "ranks", slices,
                      upper(experts->intermediate));
  }
  return {};
}

}  // namespace detail

// Iteration: the sequences that decode in one engine step, and the prefills in the same step.

/// Work of one engine step. `batch` sequences decode, each with `context` cached tokens.
/// In the same step, `prefill_sequences` equal prompts have `prefill_tokens` new tokens in total,
/// after `prefill_past` cached tokens each. With `batch` 0 the step is prefill only.
/// `tokens_per_sequence` is 1, or k + 1 in a step that verifies k drafted tokens (speculative
/// decoding). Each of these tokens is a row with its own logits; the cache of their sequence is
/// read once.
/// Whole sequences are divided among data-parallel groups and pipeline stages. The results are
/// those of the group with the most work.
/// A `steady` iteration is the mean of many steps: prefill_sequences may be below 1, and is divided
/// among groups and stages without rounding.
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

/// Work of one rank in an engine step, at one pipeline stage: the rank is in the data-parallel
/// group with the most sequences. Routed experts also process the tokens of the other groups.
template <Scalar T>
struct step_share {
  T sequences{};                 ///< decoding sequences
  T prefills{};                  ///< prompts with new tokens in this step
  T prefill_length{};            ///< new tokens per prompt
  T rows{};                      ///< decoded and prefilled tokens: the rows of each GEMM
  T logits{};                    ///< tokens that reach the LM head
  T decoded_tokens_of_groups{};  ///< decoded tokens of all data-parallel groups
  T prefills_of_groups{};        ///< prompts of all data-parallel groups
};

/// Divides an iteration among data-parallel groups and pipeline stages. A share below one sequence
/// counts as one, except for the prefills of a steady iteration.
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
