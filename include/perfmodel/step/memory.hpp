// Memory of one device: weights, KV cache, the budget, and whether a deployment fits.
#pragma once

#include <perfmodel/laws/kv_cache.hpp>
#include <perfmodel/model/kv_cache_shape.hpp>
#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/step/deployment.hpp>
#include <perfmodel/step/recurrent_memory.hpp>
#include <perfmodel/step/stored_experts.hpp>

namespace perfmodel::inline v0_3 {

namespace detail {
/// Weights that a device needs, in its own or in host memory, without adapters.
template <Scalar T>
constexpr bytes<T> weights_of_device(const basic_deployment<T>& d) {
  basic_parameter_count<T> p = count_parameters(d.model);
  if (const auto e = experts_of(d.model); e && d.layout.redundant_experts > 0) {
    const T copies = 1.0 + d.layout.redundant_experts / e->experts;
    p.experts = copies * p.experts;
    p.expert_biases = copies * p.expert_biases;
  }
  const T tensor = T(d.layout.tensor);
  const T pipeline = T(d.layout.pipeline);
  const T expert_ranks = T(d.layout.expert * d.layout.expert_tensor());
  const machine_kind kind = facts_of(d.device.architecture).kind;
  const auto stored = [&](const storage_format& f) { return bytes_of(with_block_scales(f, kind)); };
  const bytes<> other = bytes_of(d.weights.others);
  const T replicated = over_layers(d.model.layers.mixers, [&](const auto& a) {
    return replicated_weights(a, d.model.hidden, tensor);
  });
  const T latents = over_layers(d.model.layers.feed_forwards,  // projections to and from experts
                                [&](const auto& x) { return x.latent_weights(d.model.hidden); });
  const T vocabulary = p.embedding + p.head;
  const T encoder = d.model.encoder ? d.model.encoder->parameters : T(0.0);
  return named(
      "weight bytes per device",
      (p.attention / tensor + replicated) / pipeline * stored(d.weights.attention) +
          (p.linear / tensor + latents * (1.0 - 1.0 / tensor)) / pipeline *
              stored(d.weights.linear) +
          padding_of_experts(d) * p.experts / expert_ranks / pipeline * stored(d.weights.experts) +
          (p.expert_biases / expert_ranks + p.other) / pipeline * other + encoder / tensor * other +
          vocabulary / tensor * stored(d.weights.of_tables()));
}
/// weight_bytes_per_device(d) without the check of the model.
template <Scalar T>
constexpr bytes<T> weights_on_device(const basic_deployment<T>& d) {
  bytes<T> all = weights_of_device(d);
  if (upper(d.cpu_offload_bytes.value()) > 0.0) {
    if (lower(d.cpu_offload_bytes.value()) > upper(all.value())) {
      out_of_range("cpu_offload_bytes", lower(d.cpu_offload_bytes.value()),
                   "at most the weights of a device");
    }
    all -= d.cpu_offload_bytes;
  }
  if (d.lora) all += adapter_bytes(*d.lora, d.model, d.layout);
  return all;
}
/// Share of the weights of a device that is in host memory.
template <Scalar T>
constexpr T host_weight_share(const basic_deployment<T>& d) {
  return upper(d.cpu_offload_bytes.value()) > 0.0 ? T(d.cpu_offload_bytes / weights_of_device(d))
                                                  : T(0.0);
}
/// Time to read the host's part of the `weights` of a step over the host link; 0 without one.
/// Leaves out: prefetching into a buffer on the device. Errors: an accelerator without a host link.
template <Scalar T>
constexpr duration<T> host_link_time(const basic_deployment<T>& d, const bytes<T>& weights) {
  if (!(upper(d.cpu_offload_bytes.value()) > 0.0)) return {};
  if (!d.device.host.exists()) {
    fail(error_code::inconsistent,
         "cpu_offload_bytes: the accelerator states no host link; state device.host");
  }
  return named("weights from host memory",
               host_weight_share(d) * weights /
                   positive("device.host.bandwidth", d.device.host.bandwidth.quantity()));
}
}  // namespace detail

/// Bytes of weights that one device stores. Linear layers are divided among tensor-parallel ranks
/// and pipeline stages. Routed and redundant experts are divided among all ranks of a stage.
/// The vocabulary tables and an encoder are divided among tensor-parallel ranks, not among stages.
/// LoRA slots are included, weights in host memory are not.
/// Every rank of a stage stores whole: projections to latents (MLA, latent experts), replicated KV
/// heads, norms and routers.
/// Leaves out: stages of unequal length. Both vocabulary tables count on every stage, though only
/// the first has the embedding and only the last the LM head.
/// Tests: each of 8 ranks stores 1/8 of the matrices of Llama 3 70B in bf16. Each of 16 ranks
/// stores 1/16, plus half of the K and V projections of one KV head.
template <Scalar T>
constexpr bytes<T> weight_bytes_per_device(const basic_deployment<T>& d) {
  checked(d.model);
  return detail::weights_on_device(d);
}

/// Share of a token's KV cache that one of N tensor-parallel ranks stores. It is 1 / N, or 1 / H_kv
/// with fewer KV heads (H_kv) than ranks. For MLA it is 1, since every head reads the whole latent.
/// Test: for 8 KV heads the share is 1/4 on 4 ranks, 1/8 on 8 ranks, and 1/8 on 16 ranks.
template <Scalar T>
constexpr T kv_share(const basic_transformer<T>& m, int tensor) {
  const storage_format format{};
  const bytes<T> all = detail::over_layers(
      m.layers.mixers, [&](const auto& a) { return bytes<T>(detail::token_cache(a, format)); });
  const bytes<T> own = detail::over_layers(m.layers.mixers, [&](const auto& a) {
    return bytes<T>(detail::token_cache(a, format, detail::cache_share(a, T(tensor))));
  });
  return upper(all.value()) > 0.0 ? T(own / all) : T(1.0);
}

namespace detail {
/// kv_bytes_per_token_and_device(d) without the check of the deployment.
template <Scalar T>
constexpr bytes_per_token<T> cache_per_token_and_device(const basic_deployment<T>& d) {
  return named("KV bytes per token and device", cache_per_token(d.model, kv_format_of(d)) *
                                                    kv_share(d.model, d.layout.tensor) /
                                                    T(d.layout.pipeline));
}
}  // namespace detail

/// KV-cache bytes that one device stores per token: bytes of all layers x kv_share / pipeline
/// stages.
template <Scalar T>
constexpr bytes_per_token<T> kv_bytes_per_token_and_device(const basic_deployment<T>& d) {
  if (d.kv) require_valid(*d.kv, "kv");
  checked(d.model);
  return detail::cache_per_token_and_device(d);
}

namespace detail {

// Activation elements per token that a feed-forward needs on one rank: outputs of gate and up, and
// the activated values. For routed experts they count top_k times, once for each chosen expert.
// There, one buffer serves for the gate and up outputs and then for the final outputs.
template <Scalar T>
constexpr T buffered_elements(const basic_dense_shape<T>& x, const basic_deployment<T>& d) {
  return x.matrices() * x.intermediate / T(d.layout.tensor);
}
template <Scalar T>
constexpr T buffered_elements(const basic_expert_shape<T>& x, const basic_deployment<T>& d) {
  const T expert = x.intermediate / T(d.layout.expert_tensor());
  const T copies =
      x.top_k *
      (scalar_max(T((x.matrices() - 1.0) * expert), x.expert_hidden(d.model.hidden)) + expert);
  const T beside = x.shared_intermediate.value_or(T(0.0));
  return copies + x.matrices() * beside / T(d.layout.tensor);
}
/// Dimensions from which an engine estimates its activation memory; the feed-forward with the
/// largest buffers counts.
template <Scalar T>
constexpr basic_step_dimensions<T> step_dimensions_of(const basic_deployment<T>& d) {
  T widest{};
  for (const auto& kind : d.model.layers.feed_forwards) {
    const T width = std::visit([&](const auto& x) { return buffered_elements(x, d); }, kind.shape);
    widest = scalar_max(widest, width);
  }
  return {d.model.hidden, widest, d.model.vocabulary, bytes_of(residual_format(d))};
}

/// Memory budget of a device with `weights` bytes of weights. Settings that the deployment does not
/// state are the engine's.
template <Scalar T>
constexpr basic_memory_budget<T> budget_with_weights(const basic_deployment<T>& d,
                                                     const bytes<T>& weights) {
  const bytes<T> capacity = d.device.dram.capacity.quantity();
  if (d.utilization && d.activation_bytes && d.runtime_bytes) {
    return {capacity, *d.utilization, weights, *d.activation_bytes, *d.runtime_bytes};
  }
  const auto memory = lift<T>(engine_memory_of(d.serving_engine, d.release));
  const int ranks = d.layout.ranks();
  const basic_engine_limits<T> limits =
      engine_limits_on(d.serving_engine, d.limits, capacity, d.layout.tensor,
                       d.device.architecture == chip_architecture::ampere, d.release);
  const bytes<T> activations =
      d.activation_bytes
          ? *d.activation_bytes
          : profiled_activations(d.serving_engine, memory, limits, step_dimensions_of(d));
  bytes<T> runtime = d.runtime_bytes ? *d.runtime_bytes : engine_runtime(memory, ranks);
  if (!d.runtime_bytes && d.cuda_graphs) runtime += graph_bytes(memory, limits);
  const bytes<T> reserved = weights + activations + runtime;
  const T utilization = d.utilization ? *d.utilization
                                      : engine_utilization(d.serving_engine, memory, limits,
                                                           capacity, reserved, ranks, d.release);
  return {capacity, utilization, weights, activations, runtime};
}
template <Scalar T>
constexpr basic_memory_budget<T> budget_of(const basic_deployment<T>& d) {
  return budget_with_weights(d, weights_on_device(d));
}

}  // namespace detail

/// Memory budget of a device: capacity, usable fraction, weights, and memory for activations and
/// the runtime. Settings absent from the deployment are the defaults of `serving_engine`.
/// `weights`, if given, replaces weight_bytes_per_device(d). kv_capacity, fits, step, serving and
/// plan all use this budget.
/// Test: these functions find the same number of sequences, for every engine.
template <Scalar T>
constexpr basic_memory_budget<T> memory_budget_of(const basic_deployment<T>& d) {
  detail::check_memory(d);
  return detail::budget_of(d);
}
/// Memory budget with the given weights of a device in place of the model's.
template <Scalar T>
constexpr basic_memory_budget<T> memory_budget_of(const basic_deployment<T>& d,
                                                  const bytes<T>& weights) {
  detail::check_memory(d);
  return detail::budget_with_weights(d, detail::not_negative("weights", weights));
}

namespace detail {

/// Bytes of KV cache, recurrent states and image keys that one device stores for one sequence.
template <Scalar T>
constexpr bytes<T> sequence_on_device(const basic_deployment<T>& d, const T& context) {
  const storage_format kv = kv_format_of(d);
  const bytes<T> all = over_layers(d.model.layers.mixers, [&](const auto& a) {
    const T share = cache_share(a, T(d.layout.tensor));
    return bytes<T>(sequence_cache(a, context, kv, share) + share * fixed_bytes_of(d, a, kv));
  });
  return named("sequence bytes per device", all) / T(d.layout.pipeline);
}

/// Bytes of KV cache and states on one device. It stores the mean number of sequences per
/// data-parallel group, at least one (or `sequences`, if that is less).
template <Scalar T>
constexpr bytes<T> cache_on_device(const basic_deployment<T>& d, const T& sequences,
                                   const T& context) {
  const T in_group = scalar_max(T(sequences / T(d.layout.data)), scalar_min(sequences, T(1.0)));
  return in_group * sequence_on_device(d, context);
}

/// True if each token adds the same number of cached bytes: no sliding window, no compressed
/// attention, no recurrence, no images in a cache of their own.
template <Scalar T>
constexpr bool grows_by_token(const basic_deployment<T>& d) {
  if (upper(d.image_tokens) > 0.0) return false;
  for (const auto& kind : d.model.layers.mixers) {
    if (std::holds_alternative<basic_attention_shape<T>>(kind.shape)) {
      if (std::get<basic_attention_shape<T>>(kind.shape).window) return false;
    } else if (!std::holds_alternative<basic_latent_attention_shape<T>>(kind.shape)) {
      return false;
    }
  }
  return true;
}

/// Checks that `cache` bytes fit the budget. The result states the bytes needed in total and the
/// usable bytes; its reason says whether weights, reserved memory or cache is too large.
template <Scalar T>
constexpr feasibility memory_fits(const basic_memory_budget<T>& b, const bytes<T>& cache) {
  const double usable = lower((b.utilization * b.capacity).value());
  const double without_cache = upper((b.weights + b.activations + b.runtime).value());
  const double all = upper((b.weights + b.activations + b.runtime + cache).value());
  if (without_cache < usable && all <= usable) return {};
  const char* reason = "weights and KV cache exceed the usable memory of a device";
  if (upper(b.weights.value()) >= usable) {
    reason =
        "weights and KV cache exceed the usable memory of a device, and so do the weights alone";
  } else if (without_cache >= usable) {
    reason = "weights, activations and runtime leave no usable memory for a KV cache";
  }
  return infeasible(reason, "B", all, usable);
}

/// KV cache of an engine step on one device: that of the decoding sequences with their context, and
/// of the prefills with their past and new tokens.
template <Scalar T>
constexpr bytes<T> cache_of_step(const basic_deployment<T>& d, const basic_iteration<T>& i) {
  bytes<T> cache = cache_on_device(d, i.batch, i.context);
  if (upper(i.prefill_tokens) > 0.0) {
    cache += cache_on_device(d, i.prefill_sequences,
                             T(i.prefill_tokens / i.prefill_sequences + i.prefill_past));
  }
  return cache;
}
/// Checks that the KV cache of an engine step fits.
template <Scalar T>
constexpr feasibility step_fits(const basic_deployment<T>& d, const basic_iteration<T>& i) {
  if (const feasibility group = group_fits(d); !group) return group;
  return memory_fits(budget_of(d), cache_of_step(d, i));
}

/// kv_capacity(d, context, block_size) for a checked deployment and a given budget.
template <Scalar T>
constexpr basic_kv_capacity<T> capacity_of(const basic_deployment<T>& d,
                                           const basic_memory_budget<T>& budget, const T& context,
                                           const T& block_size) {
  const bytes_per_token<T> per_token = cache_per_token_and_device(d);
  basic_kv_capacity<T> c;
  if (upper(per_token.value()) > 0.0) {
    c = kv_capacity(budget, per_token, context, block_size);
  } else {
    c.available = kv_bytes_available(budget);  // states alone: no blocks
  }
  if (!grows_by_token(d) && lower(c.available.value()) > 0.0) {
    using math::floor;
    const bytes<T> sequence = cache_on_device(d, T(d.layout.data), context);
    c.sequences = floor(T(c.available / sequence_of_pools(d, sequence)));
    c.feasible = upper(c.sequences) < 1.0
                     ? infeasible("the weights leave no memory for one sequence of this context",
                                  "B", upper(sequence.value()), lower(c.available.value()))
                     : feasibility{};
  }
  c.sequences = c.sequences * T(d.layout.data);
  return c;
}

}  // namespace detail

/// Checks that weights, activations, runtime and the KV cache of `batch` sequences of `context`
/// tokens fit the budget of each device (memory_budget_of: utilization x capacity). If not, the
/// result has the bytes needed and the bytes usable. A sequence is stored in one data-parallel
/// group.
/// Tests: Llama 3 70B in bf16 needs 141 GB and does not fit one H100 of 85.5 GB capacity. On 8
/// data-parallel groups, a single sequence needs as much cache per device as in one group.
template <Scalar T>
constexpr feasibility fits(const basic_deployment<T>& d, const std::type_identity_t<T>& batch,
                           const std::type_identity_t<T>& context) {
  detail::check_memory(d);
  detail::not_negative("batch", batch);
  if (const feasibility cut = layout_feasible(d.layout, sharded_dims_of(d.model)); !cut) return cut;
  if (const feasibility group = detail::group_fits(d); !group) return group;
  return detail::memory_fits(detail::budget_of(d), detail::cache_on_device(d, batch, context));
}

/// KV-cache capacity of the replica, in sequences of `context` tokens; the cache is allocated in
/// blocks of `block_size` tokens. A layer with a sliding window caches min(context, window) tokens.
/// `available` is in bytes per device. `blocks` and `tokens` are per data-parallel group, as if
/// every layer cached all tokens.
/// Tests: on 8 H100, Llama 3 70B has floor((memory - weights) / bytes per sequence) sequences. Two
/// data-parallel groups have twice as many as one. A model with sliding windows has more than one
/// without.
template <Scalar T>
constexpr basic_kv_capacity<T> kv_capacity(const basic_deployment<T>& d,
                                           const std::type_identity_t<T>& context,
                                           const std::type_identity_t<T>& block_size = T(16.0)) {
  detail::check_memory(d);
  return detail::capacity_of(d, detail::budget_of(d), detail::count("context", context),
                             block_size);
}

// Compile-time check: the build fails if a deployment does not fit, and the error shows the bytes.

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

template <Scalar T>
constexpr basic_deployment<T> tensor_parallel_deployment(const basic_accelerator<T>& a,
                                                         const basic_transformer<T>& m, int tensor,
                                                         number_format weights, number_format kv) {
  basic_deployment<T> d;
  d.device = a;
  d.model = m;
  d.layout.tensor = tensor;
  d.weights = weights;
  d.kv = kv;
  return d;
}
template <Scalar T>
constexpr bytes<T> bytes_needed(const basic_deployment<T>& d, const T& batch, const T& context) {
  sharded_dims parts = sharded_dims_of(d.model);
  parts.accelerators = d.device.fabric.reach();
  require_layout(d.layout, parts);
  return weight_bytes_per_device(d) + batch * kv_bytes(d.model, context, formats_of(d).kv) *
                                          kv_share(d.model, d.layout.tensor) / d.layout.pipeline;
}

}  // namespace detail

/// True if the weights and the KV cache of `Batch` sequences of `Context` tokens fit one device of
/// a tensor-parallel group. Otherwise a compile error shows the bytes needed and the bytes
/// available:
///     static_assert(require_fits<h100_sxm, llama_3_70b, 8, bf16, bf16, 64, 4096>);
/// Leaves out: memory for activations and the runtime. Errors: a layout that the model or the
/// fabric does not allow.
/// Tests: Llama 3 70B in bf16 fits two H200 and does not fit one H100. A layout with 3 ranks is
/// rejected.
template <const auto& Accelerator, const auto& Model, int TensorParallel = 1,
          number_format Weights = number_format::bf16, number_format Kv = number_format::bf16,
          int Batch = 1, int Context = 1>
inline constexpr bool require_fits =
    detail::does_fit<detail::whole_bytes(
                         detail::bytes_needed(detail::tensor_parallel_deployment(
                                                  Accelerator, Model, TensorParallel, Weights, Kv),
                                              double{Batch}, double{Context})),
                     detail::whole_bytes(Accelerator.dram.capacity)>::value;

}  // namespace perfmodel::inline v0_3
