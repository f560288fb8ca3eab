// Techniques of number formats: fewer bits for weights, activations and KV cache; sparsity.
#pragma once

#include <perfmodel/engine/formats.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <vector>

namespace perfmodel::inline v0_3 {

/// Gain of 2:4 structured sparsity: max(weights + cache, compute) / max(w weights + cache,
/// compute/2), w = (2 bits + 4) / (4 bits), 9/16 for 16-bit weights. Sparse GEMMs run at twice the
/// dense rate.
/// *Source:* Mishra et al., "Accelerating Sparse Deep Neural Networks", 2021, section 3.
/// *Leaves out:* accuracy.
/// *Tests:* a step of 16-bit weights gains 16/9, of compute 2, of KV cache nothing.
template <Scalar T>
constexpr T structured_sparsity_gain(const duration<T>& weights, const duration<T>& cache,
                                     const duration<T>& compute, double bits = 16.0) {
  detail::not_negative("weights", weights);
  detail::not_negative("cache", cache);
  detail::positive("bits", bits);
  const double weight_share = (2.0 * bits + 4.0) / (4.0 * bits);
  const duration<T> before = max(duration<T>(weights + cache), compute);
  const duration<T> after =
      max(duration<T>(weight_share * weights + cache), duration<T>(0.5 * compute));
  return named("gain of sparsity", T(detail::positive("step", before) / after));
}

namespace detail {

/// Stores all weights of a deployment in a format, and leaves the operand formats to its engine.
inline void store_weights(deployment& d, number_format f) {
  d.weights = weight_storage(f, d.weights.others);
  d.activations.reset();
  d.expert_activations.reset();
}

/// Stores weights and activations in fp8 or fp4.
inline technique low_precision_formats(const adviser& a, const technique_description& words,
                                       number_format f) {
  technique t = named_technique(words);
  const deployment& d = a.deployed();
  const bool supported = supports(d.device, f);
  const bool lower_precision = bits_of(d.weights.linear.format) > bits_of(f);
  if (!supported || !lower_precision) {
    t.harmful = !supported;
    t.in_use = !lower_precision && d.weights.linear.format == f;
    t.reason = supported
                   ? join_text("weights have ", bits_of(d.weights.linear.format), " bits already")
                   : join_text(d.device.name.c_str(), " has no unit for ", name_of(f),
                               ": GEMMs would run in 16 bits, only bytes are saved");
    return t;
  }
  return a.try_change(words, [f](advised_service& s) { store_weights(s.deployment, f); });
}

inline technique mixed_precision(const adviser& a) {
  technique t =
      named_technique({"mixed_precision", "formats", "norms, router and softmax stay in 32 bits",
                       "no unit multiplies in 16 bits"});
  deployment half = a.deployed(), full = a.deployed();
  t.in_use = bits_of(formats_of(half).linear.format) <= 16.0;
  store_weights(half, number_format::bf16);
  const number_format sixteen_bit = formats_of(half).linear.format;
  half.kv = sixteen_bit;
  t.harmful = !supports(half.device, sixteen_bit);
  full.weights = weight_storage(number_format::fp32, number_format::fp32);
  full.activations = number_format::fp32;
  full.expert_activations.reset();
  full.kv = number_format::fp32;
  if (t.harmful || !supports(full.device, number_format::fp32)) {
    t.reason = "the machine does not multiply in both 16 and 32 bits";
    return t;
  }
  const auto before = step_bound(full, a.mean_step()), after = step_bound(half, a.mean_step());
  t.applies = true;
  t.gain = before.time / after.time;
  t.reason = join_text("a step's bound is ", before.time, " in fp32, ", after.time, " in 16 bits");
  return t;
}

inline technique weight_only_int4(const adviser& a) {
  const technique_description words{"weight_only_int4", "formats",
                                    "accuracy: outliers; GEMMs run in 16 bits after dequantisation",
                                    "a step is limited by compute: only bytes are saved",
                                    "weights"};
  if (bits_of(a.deployed().weights.linear.format) <= 4.5) {
    technique t = named_technique(words);
    t.in_use = true;
    t.reason = "weights have 4 bits already";
    return t;
  }
  technique t = a.try_change(
      words, [](advised_service& s) { store_weights(s.deployment, number_format::int4); });
  const basic_estimate<> step = step_bound(a.deployed(), a.mean_step());
  if (step.limiter == limiter::compute) {
    t.harmful = true;
    t.reason += join_text("; GEMMs take ", step.terms.time_of("compute"), " of a step, weights ",
                          step.terms.time_of("weights"));
  }
  return t;
}

inline technique kv_cache_quantization(const adviser& a) {
  const technique_description words{
      "kv_cache_quantization", "formats",
      "accuracy at long contexts; a scale for each head or block",
      "the KV cache is a small part of the bytes, or attention converts it slowly"};
  if (bits_of(formats_of(a.deployed()).kv.format) <= 8.5) {
    technique t = named_technique(words);
    t.in_use = true;
    t.reason = "the KV cache has 8 bits or fewer already";
    return t;
  }
  technique t =
      a.try_change(words, [](advised_service& s) { s.deployment.kv = number_format::fp8; });
  const auto step = step_bound(a.deployed(), a.mean_step());
  if (!t.makes_feasible && t.gain < 1.005) t.harmful = true;
  t.reason += join_text("; reading the KV cache takes ", step.terms.time_of("kv_cache"),
                        ", weights ", step.terms.time_of("weights"));
  return t;
}

/// Whether matrix units run 2:4 sparse GEMMs; false where a machine's documents do not say so.
/// *Sources:* NVIDIA, A100 whitepaper, "Sparse Tensor Core"; AMD, Instinct MI300X data sheet.
constexpr bool has_structured_sparsity(chip_architecture a) {
  const machine_kind kind = facts_of(a).kind;
  if (kind == machine_kind::gpu_nvidia) return a >= chip_architecture::ampere;
  return a == chip_architecture::cdna3 || a == chip_architecture::cdna4;
}

/// Saving of 2:4 sparsity over the saving of half the bits: weights keep (2 bits + 4) / (4 bits) of
/// their bytes, 9/16 of 16 bits and 5/8 of 8 bits. 16-bit weights: 7/8.
constexpr double sparse_saving_share(double bits) {
  return 2.0 * (1.0 - (2.0 * bits + 4.0) / (4.0 * bits));
}

/// Predicted from the service with half the bits in a weight, which a sparse matrix unit equals in
/// FLOP and cannot reach in bytes: a request saves sparse_saving_share of what that saves.
inline technique structured_sparsity(const adviser& a) {
  const technique_description words{
      "sparsity_2_4", "formats", "retraining or pruning with fine-tuning; accuracy may drop",
      "weights are a small part of a step, or no unit supports 2:4 sparsity"};
  technique t = named_technique(words);
  t.user = technique_user::model_owner;
  const deployment& d = a.deployed();
  if (!has_structured_sparsity(d.device.architecture)) {
    t.harmful = true;
    t.reason = join_text(d.device.name.c_str(), " is not known to support 2:4 sparsity");
    return t;
  }
  const double bits = bits_of(d.weights.linear.format);
  if (bits < 8.0 || bits > 16.0) {
    t.reason = join_text("2:4 units take weights of 8 or 16 bits, these have ", bits);
    return t;
  }
  number_format half = number_format::fp8;
  if (!supports(d.device, half)) half = number_format::int8;
  if (bits < 16.0)
    half = supports(d.device, number_format::fp4) ? number_format::fp4 : number_format::int4;
  const technique halved =
      a.try_change(words, [half](advised_service& s) { store_weights(s.deployment, half); });
  if (!halved.applies || !halved.has_ratio) {
    t.reason = halved.reason;
    return t;
  }
  const double share = sparse_saving_share(bits);
  t.applies = true;
  t.gain = 1.0 / (1.0 - share * (1.0 - 1.0 / halved.gain));
  t.harmful = t.gain < 1.02;
  t.reason =
      join_text("weights keep ", 100.0 * (1.0 - 0.5 * share), " % of their bytes: ", 100.0 * share,
                " % of the saving of ", name_of(half), ", which gains x", halved.gain);
  return t;
}

}  // namespace detail

/// Mixed precision, fp8, fp4, weight-only int4, an fp8 KV cache, 2:4 sparsity.
inline std::vector<technique> format_techniques(const adviser& a) {
  const char* quality = "accuracy: outliers; storage of scales; calibration of a checkpoint";
  const char* unsupported = "no unit of the machine multiplies in it";
  return {detail::mixed_precision(a),
          detail::low_precision_formats(a, {"fp8", "formats", quality, unsupported, "weights"},
                                        number_format::fp8),
          detail::low_precision_formats(a, {"fp4", "formats", quality, unsupported, "weights"},
                                        number_format::fp4),
          detail::weight_only_int4(a),
          detail::kv_cache_quantization(a),
          detail::structured_sparsity(a)};
}

}  // namespace perfmodel::inline v0_3
