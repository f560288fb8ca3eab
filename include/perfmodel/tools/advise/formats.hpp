// Tricks of number formats: fewer bits of weights, activations and cache, and weights left out.
#pragma once

#include <perfmodel/engine/formats.hpp>
#include <perfmodel/step/step.hpp>
#include <perfmodel/tools/advise/adviser.hpp>
#include <vector>

namespace perfmodel {

/// A step whose weights are cut to two of four: T = max(w x weights + cache, compute / 2), where a 16-bit
/// matrix keeps w = (2 x 16 + 2 x 2) / (4 x 16) = 9/16 of its bytes, its products run at twice the rate.
/// Source: Mishra et al., "Accelerating Sparse Deep Neural Networks", 2021, section 3. Leaves out accuracy.
/// `bits` of a weight. Returns without over with. Tests: 16-bit weights alone gain 16/9, compute alone 2, a
/// cache alone nothing.
template <Scalar T>
constexpr T structured_sparsity_gain(const duration<T>& weights, const duration<T>& cache,
                                     const duration<T>& compute, double bits = 16.0) {
  detail::not_negative("weights", weights);
  detail::not_negative("cache", cache);
  detail::positive("bits", bits);
  const double kept = (2.0 * bits + 4.0) / (4.0 * bits);
  const duration<T> before = max(duration<T>(weights + cache), compute);
  const duration<T> after = max(duration<T>(kept * weights + cache), duration<T>(0.5 * compute));
  return named("gain of sparsity", T(detail::positive("step", before) / after));
}

namespace detail {

/// Stores all weights of a deployment in a format, and leaves the operand formats to its engine.
inline void store_weights(deployment& d, number_format f) {
  d.weights = weight_storage(f, d.weights.others);
  d.activations.reset();
  d.expert_activations.reset();
}

/// fp8 or fp4 for weights and activations.
inline technique low_precision_formats(const adviser& a, const technique_words& words,
                                       number_format f) {
  technique t = named_technique(words);
  const deployment& d = a.runs();
  const bool there = supports(d.device, f);
  const bool lower_precision = bits_of(d.weights.linear.format) > bits_of(f);
  if (!there || !lower_precision) {
    t.harmful = !there;
    t.in_use = !lower_precision && d.weights.linear.format == f;
    t.why = there ? say("weights have ", bits_of(d.weights.linear.format), " bits already")
                  : say(d.device.name.c_str(), " has no unit for ", name_of(f),
                        ": products would run in 16 bits, and save bytes alone");
    return t;
  }
  return a.asked(words, [f](advised_service& s) { store_weights(s.runs, f); });
}

inline technique mixed_precision(const adviser& a) {
  technique t =
      named_technique({"mixed_precision", "formats", "norms, router and softmax stay in 32 bits",
                       "no unit multiplies in 16 bits"});
  deployment half = a.runs(), wide = a.runs();
  t.in_use = bits_of(formats_of(half).linear.format) <= 16.0;
  store_weights(half, number_format::bf16);
  const number_format sixteen_bit = formats_of(half).linear.format;
  half.kv = sixteen_bit;
  t.harmful = !supports(half.device, sixteen_bit);
  wide.weights = weight_storage(number_format::fp32, number_format::fp32);
  wide.activations = number_format::fp32;
  wide.expert_activations.reset();
  wide.kv = number_format::fp32;
  if (t.harmful || !supports(wide.device, number_format::fp32)) {
    t.why = "16 bits and 32 bits are not both multiplied here";
    return t;
  }
  const auto before = step_bound(wide, a.mean_step()), after = step_bound(half, a.mean_step());
  t.applies = true;
  t.gain = before.time / after.time;
  t.why = say("a step's bound is ", before.time, " in fp32, ", after.time, " in 16 bits");
  return t;
}

inline technique weight_only_int4(const adviser& a) {
  const technique_words words{"weight_only_int4", "formats",
                              "accuracy: outliers; products run in 16 bits after widening",
                              "compute is the limit: it saves bytes alone", "weights"};
  if (bits_of(a.runs().weights.linear.format) <= 4.5) {
    technique t = named_technique(words);
    t.in_use = true;
    t.why = "weights have 4 bits already";
    return t;
  }
  technique t =
      a.asked(words, [](advised_service& s) { store_weights(s.runs, number_format::int4); });
  const basic_estimate<> step = step_bound(a.runs(), a.mean_step());
  if (step.limiter == limiter::compute) {
    t.harmful = true;
    t.why += say("; products take ", step.terms.time_of("compute"), " of a step, weights ",
                 step.terms.time_of("weights"));
  }
  return t;
}

inline technique cache_in_fp8(const adviser& a) {
  const technique_words words{
      "kv_cache_quantization", "formats",
      "accuracy at long contexts; a scale for each head or block",
      "the cache is a small part of the bytes, or attention converts it slowly"};
  if (bits_of(formats_of(a.runs()).kv.format) <= 8.5) {
    technique t = named_technique(words);
    t.in_use = true;
    t.why = "the cache has 8 bits or fewer already";
    return t;
  }
  technique t = a.asked(words, [](advised_service& s) { s.runs.kv = number_format::fp8; });
  const auto step = step_bound(a.runs(), a.mean_step());
  if (!t.enables && t.gain < 1.005) t.harmful = true;
  t.why += say("; of a step's bytes the cache takes ", step.terms.time_of("kv_cache"), ", weights ",
               step.terms.time_of("weights"));
  return t;
}

/// Sources: NVIDIA, A100 whitepaper, "Sparse Tensor Core"; AMD, Instinct MI300X data sheet (rates with
/// sparsity). Of machines that say nothing of it: no.
constexpr bool skips_zeros(chip_architecture a) {
  const machine_kind kind = facts_of(a).kind;
  if (kind == machine_kind::gpu_nvidia) return a >= chip_architecture::ampere;
  return kind == machine_kind::gpu_amd && a >= chip_architecture::cdna3;
}

inline technique structured_sparsity(const adviser& a) {
  const technique_words words{
      "sparsity_2_4", "formats", "training for it; accuracy may drop",
      "the weights are neither read nor multiplied for most of a step, or no "
      "unit skips zeros"};
  technique t = named_technique(words);
  if (!skips_zeros(a.runs().device.architecture)) {
    t.harmful = true;
    t.why = say(a.runs().device.name.c_str(), " is not known to skip zeros of two in four");
    return t;
  }
  const auto e = step_bound(a.runs(), a.mean_step());
  const double gain =
      structured_sparsity_gain(e.terms.time_of("weights"), e.terms.time_of("kv_cache"),
                               e.terms.time_of("compute"), bits_of(a.runs().weights.linear.format));
  t = a.saving(words, a.now().itl * (1.0 - 1.0 / gain), duration<>{}, false);
  t.why = say("bound of a step: weights ", e.terms.time_of("weights"), ", cache ",
              e.terms.time_of("kv_cache"), ", products ", e.terms.time_of("compute"));
  t.harmful = gain < 1.02;
  return t;
}

}  // namespace detail

/// mixed precision, fp8, fp4, int4 weights alone, an fp8 cache, 2:4 sparsity.
inline std::vector<technique> format_techniques(const adviser& a) {
  const char* quality = "accuracy: outliers; scales to keep; calibration of a checkpoint";
  const char* unsupported = "no unit of the machine multiplies in it";
  return {detail::mixed_precision(a),
          detail::low_precision_formats(a, {"fp8", "formats", quality, unsupported, "weights"},
                                        number_format::fp8),
          detail::low_precision_formats(a, {"fp4", "formats", quality, unsupported, "weights"},
                                        number_format::fp4),
          detail::weight_only_int4(a),
          detail::cache_in_fp8(a),
          detail::structured_sparsity(a)};
}

}  // namespace perfmodel
