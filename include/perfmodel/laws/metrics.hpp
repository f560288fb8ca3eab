// Metrics of a run: utilisation, achieved rates, training FLOP, latency of a request.
#pragma once

#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/laws/scaling.hpp>
#include <perfmodel/operators/demand.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// MFU = useful FLOP / (time x peak). Source: Chowdhery et al., "PaLM", 2022, appendix B. Useful
/// FLOP are those of the model, recomputation left out. Errors: above 1. Test: 6 P tokens per step.
template <Scalar T>
constexpr T mfu(const flops<T>& work, const duration<T>& time, const flop_rate<T>& peak_rate) {
  const T share = detail::not_negative("work", work) / detail::positive("time", time) /
                  detail::positive("peak_rate", peak_rate);
  return named("MFU", detail::utilisation("mfu", share));
}

/// MBU = bytes moved / (time x bandwidth). Errors: above 1. Test: 140 GB in 41.79 ms at 3.35 TB/s
/// is 1.
template <Scalar T>
constexpr T mbu(const bytes<T>& moved, const duration<T>& time,
                const perfmodel::bandwidth<T>& bandwidth) {
  const T share = detail::not_negative("moved", moved) / detail::positive("time", time) /
                  detail::positive("bandwidth", bandwidth);
  return named("MBU", detail::utilisation("mbu", share));
}

/// Achieved rates of a kernel in a measured time, and their shares of an accelerator's peaks.
template <Scalar T = double>
struct basic_achieved {
  flop_rate<T> flop{};
  perfmodel::bandwidth<T> dram{};
  T mfu{};
  T mbu{};
};
using achieved_rates = basic_achieved<>;

/// FLOP/s = FLOP / time, B/s = DRAM bytes / time, MFU and MBU those over the peaks. The bytes are
/// the compulsory ones of the demand, so a warm cache may show an MBU above 1: that is the finding.
/// Errors: a time of 0; a format the accelerator lacks. Test: a GEMM of 1 x 5000 x 4508 bf16 in
/// 68.7 us is 0.656 TFLOP/s.
template <Scalar T>
constexpr basic_achieved<T> achieved(const basic_accelerator<T>& a, const basic_demand<T>& d,
                                     const duration<T>& measured) {
  detail::positive("measured", measured);
  basic_achieved<T> r;
  r.flop = named("FLOP/s", d.flop() / measured);
  r.dram = named("B/s", d.dram.total() / measured);
  if (upper(d.matrix_flop.value()) > 0.0)
    r.mfu = named("MFU", d.matrix_flop / measured / peak(a, d.format));
  r.mbu = named("MBU", r.dram / detail::positive("dram.bandwidth", a.dram.bandwidth.quantity()));
  return r;
}
/// Achieved rates of an operator from its demand and a measured time.
template <Scalar T, Workload W>
constexpr basic_achieved<T> achieved(const basic_accelerator<T>& a, const W& w,
                                     const std::type_identity_t<duration<T>>& measured) {
  return achieved(a, detail::over<T>(demand_of(w)), measured);
}

/// MFU = MBU x I / I*: what a memory-bound kernel of intensity I makes of a machine with ridge I*.
/// Errors: a result above 1. Test: batch 1 (1 FLOP/byte) on an H100 at MBU 0.85 is 0.29 %, not 2 %.
template <Scalar T>
constexpr T mfu_from_mbu(const std::type_identity_t<T>& bandwidth_use,
                         const perfmodel::intensity<T>& intensity,
                         const perfmodel::intensity<T>& ridge) {
  detail::utilisation("mbu", bandwidth_use);
  const T share = bandwidth_use * T(detail::not_negative("intensity", intensity) /
                                    detail::positive("ridge", ridge));
  return named("MFU", detail::utilisation("mfu", share));
}

/// Training FLOP per token = 6 P, or (6 + 2 r) P when a share r of the forward pass is recomputed:
/// 2 P forward, 4 P backward. Source: Kaplan et al., "Scaling Laws for Neural Language Models",
/// 2020, section 2.1. Leaves out attention's S^2 term. Test: full recomputation is 8 P.
template <Scalar T>
constexpr flops_per_token<T> training_flop_per_token(const T& parameters,
                                                     const T& recomputed = T(0.0)) {
  detail::positive("parameters", parameters);
  detail::fraction("recomputed", recomputed);
  return named("FLOP per token", (6.0 + 2.0 * recomputed) * parameters * flop / token);
}
PERFMODEL_WHOLE_NUMBERS(training_flop_per_token)

/// Training FLOP of T tokens through P parameters, forward and backward: 6 P T. Source and gaps: as
/// above. Test: 70e9 parameters and one token are 420 GFLOP.
template <Number Parameters, Number N>
constexpr auto training_flop(const Parameters& parameters, const N& tokens) {
  using T = promoted<Parameters, N>;
  return named("FLOP", 6.0 * detail::positive("parameters", T(parameters)) *
                           detail::not_negative("tokens", T(tokens)) * flop);
}

/// Training FLOP per token by PaLM's convention, which published MFU uses: 6 P + 12 L H Q T, for L
/// layers, H heads of size Q and sequences of T tokens. The attention term counts the whole square;
/// a causal kernel computes half of it.
/// Source: Chowdhery et al., "PaLM", 2022, appendix B. Errors: a count below 1.
/// Tests: PaLM 540B at 238.3e3 tok/s on 6144 TPU v4 is 46.2 %, 45.7 % without attention; attention
/// adds 26.7 % to Llama 3 8B at 8192 tokens.
template <Scalar T>
constexpr flops_per_token<T> palm_flop_per_token(const T& parameters,
                                                 const std::type_identity_t<T>& layers,
                                                 const std::type_identity_t<T>& heads,
                                                 const std::type_identity_t<T>& head_dim,
                                                 const std::type_identity_t<T>& sequence) {
  const T attention = 12.0 * detail::count("layers", layers) * detail::count("heads", heads) *
                      detail::count("head_dim", head_dim) * detail::count("sequence", sequence);
  return named("FLOP per token",
               training_flop_per_token(parameters) + attention * lift<T>(flop) / lift<T>(token));
}

/// Training MFU = tokens per second x FLOP per token / (ranks x peak). Errors: above 1.
template <Scalar T>
constexpr T training_mfu(const token_rate<T>& throughput, const flops_per_token<T>& each,
                         const std::type_identity_t<T>& ranks, const flop_rate<T>& peak_rate) {
  detail::not_negative("throughput", throughput);
  const T share = throughput * detail::positive("flop_per_token", each) /
                  (detail::count("ranks", ranks) * detail::positive("peak_rate", peak_rate));
  return named("MFU", detail::utilisation("mfu", share));
}
/// With 6 P FLOP per token, attention left out: lower than PaLM's by its share.
/// Test: 8.03e9 parameters at 8,214 tok/s on one 989.4 TFLOP/s rank is 40 %.
template <Scalar T>
constexpr T training_mfu(const token_rate<T>& throughput, const std::type_identity_t<T>& parameters,
                         const std::type_identity_t<T>& ranks, const flop_rate<T>& peak_rate) {
  return training_mfu(throughput, training_flop_per_token(parameters), ranks, peak_rate);
}

/// HFU counts recomputed FLOP too: HFU = MFU (6 + 2 r) / 6. Source: Korthikanti et al., "Reducing
/// Activation Recomputation in Large Transformer Models", 2022. Errors: above 1.
/// Test: full recomputation makes HFU / MFU = 4/3.
template <Scalar T>
constexpr T hfu(const T& model_utilisation, const T& recomputed) {
  detail::utilisation("mfu", model_utilisation);
  detail::fraction("recomputed", recomputed);
  return named("HFU", detail::utilisation("hfu", T(model_utilisation * (1.0 + recomputed / 3.0))));
}
PERFMODEL_WHOLE_NUMBERS(hfu)

/// End-to-end latency = time to first token + (output tokens - 1) x inter-token latency.
/// Errors: fewer than 1 token. Test: 500 ms and 200 tokens at 40 ms take 8.46 s.
template <Scalar T>
constexpr duration<T> end_to_end(const duration<T>& first_token,
                                 const duration<T>& inter_token_latency,
                                 const std::type_identity_t<T>& output_tokens) {
  detail::not_negative("first_token", first_token);
  detail::not_negative("inter_token_latency", inter_token_latency);
  detail::count("output_tokens", output_tokens);
  return named("end to end", first_token + (output_tokens - 1.0) * inter_token_latency);
}

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
