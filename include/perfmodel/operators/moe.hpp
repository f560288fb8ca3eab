// Mixture of experts: each token goes through a few of many feed-forward blocks.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/operators/gemm.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/scalar/scalar.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// Distinct experts that `tokens` tokens touch: E (1 - (1 - k / E)^T), when every token picks k of
/// E experts at random and by itself. Source: expectation of the union of independent k-subsets; an
/// expert escapes one token with probability 1 - k / E.
/// Leaves out: experts more popular than others, and tokens that agree: both touch fewer.
/// Errors: experts or top_k below 1, tokens negative; inconsistent where top_k exceeds experts.
/// Tests: 256 experts, top 8: 8 for one token, 163.31 for 32, 255.92 for 256; k = E touches E.
template <Scalar T>
constexpr T expected_experts(const T& experts, const T& top_k, const T& token_count) {
  using math::pow;
  detail::count("experts", experts);
  detail::count("top_k", top_k);
  detail::not_negative("token_count", token_count);
  if (lower(T(experts - top_k)) < 0.0) {
    detail::fail(error_code::inconsistent, "top_k exceeds experts: a token cannot pick one twice");
  }
  return experts * (1.0 - pow(T(1.0 - top_k / experts), token_count));
}
PERFMODEL_WHOLE_NUMBERS(expected_experts)

/// Library of the grouped GEMMs of routed experts, TensorRT-LLM's moe_config.backend: CUTLASS, or
/// the generated kernels that it calls TRTLLM. `automatic`: not stated.
enum class moe_backend { automatic, cutlass, trtllm };

/// Name of a backend, as napkin spells it.
constexpr const char* name_of(moe_backend b) {
  constexpr const char* names[] = {"auto", "cutlass", "trtllm"};
  return detail::entry_of(names, b, "moe_backend");
}

/// A mixture-of-experts block as one rank of its group sees it. `tokens` are all tokens of the
/// group. Expert parallelism gives each rank experts / expert_parallel whole experts, tensor
/// parallelism 1 / tensor_parallel of each; shared experts are on every expert-parallel rank, each
/// serving its share of the tokens. `intermediate` is the width of one expert, routed or shared.
template <Scalar T = double>
struct basic_moe_ffn {
  T tokens{}, hidden{}, intermediate{}, experts{}, top_k{};
  T shared_experts = T(0.0);
  T tensor_parallel = T(1.0), expert_parallel = T(1.0);
  number_format format = number_format::bf16;
  storage_format weights = format;
  bool gated = true;
  bool fused = true;
  moe_backend backend = moe_backend::automatic;

  constexpr const char* name() const { return "moe_ffn"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("intermediate"), s.intermediate...);
    f(field::count("experts"), s.experts...);
    f(field::count("top_k"), s.top_k...);
    f(field::not_negative("shared_experts"), s.shared_experts...);
    f(field::count("tensor_parallel"), s.tensor_parallel...);
    f(field::count("expert_parallel"), s.expert_parallel...);
    f("format", s.format...);
    f("weights", s.weights...);
    f("gated", s.gated...);
    f("fused", s.fused...);
    f("backend", s.backend...);
  }
};
using moe_ffn = basic_moe_ffn<>;

namespace detail {
/// experts_touched, of valid fields.
template <Scalar T>
constexpr T touched_experts(const basic_moe_ffn<T>& x) {
  divides(error_code::impossible_layout, "expert_parallel", x.expert_parallel, "experts",
          x.experts);
  return expected_experts(x.experts, x.top_k, x.tokens) / x.expert_parallel;
}
}  // namespace detail

/// Distinct routed experts that one rank reads: its share 1 / expert_parallel of the expected ones.
/// Errors: as demand_of. Test: 256 experts, top 8, 32 tokens over 8 ranks: 20.41 a rank.
template <Scalar T>
constexpr T experts_touched(const basic_moe_ffn<T>& x) {
  require_valid(x, "moe_ffn");
  return detail::touched_experts(x);
}

/// Distinct tokens that reach one of `ranks` expert-parallel ranks: T (1 - (1 - 1/ranks)^k). Picks
/// without repetition spread a little wider, so this is a lower bound.
/// Test: one rank sees every token once; of 1 token with k = 1 each of 8 ranks sees 1/8.
template <Scalar T>
constexpr T tokens_on_rank(const T& token_count, const T& top_k, const T& ranks) {
  using math::pow;
  detail::count("top_k", top_k);
  detail::count("ranks", ranks);
  return detail::count("token_count", token_count) * (1.0 - pow(T(1.0 - 1.0 / ranks), top_k));
}
PERFMODEL_WHOLE_NUMBERS(tokens_on_rank)

/// Per rank, with n = 3 (gated) or 2 matrices, h hidden, w = intermediate / tensor_parallel:
/// FLOP = 2 n h w (T top_k + T shared) / expert_parallel; DRAM bytes = b_w n h w (experts touched
/// + shared) read + b h read and written for every token on the rank. Unfused adds what lies
/// between the projections, as in swiglu. Balanced routing: the mean rank, not the fullest.
/// Source: expected_experts; Shazeer et al., "Outrageously Large Neural Networks", 2017, section 2;
/// DeepSeek-AI, "DeepSeekMoE", 2024, section 3 (shared experts).
/// Leaves out: the router (moe_router), dispatch and combine between ranks (collectives), padding
/// of small groups, imbalance.
/// Errors: a dimension or degree below 1; inconsistent where top_k exceeds experts;
/// impossible_layout where a degree does not divide its dimension.
/// Tests: Mixtral (8 experts, top 2) doubles a dense block's FLOP; weight bytes grow with tokens
/// from top_k to all experts; one expert, top 1, is swiglu.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_moe_ffn<T>>& valid) {
  const basic_moe_ffn<T>& x = valid.fields;
  const T touched = named("experts touched", detail::touched_experts(x));
  detail::divides(error_code::impossible_layout, "tensor_parallel", x.tensor_parallel,
                  "intermediate", x.intermediate);
  const T &tokens = x.tokens, &hidden = x.hidden, &shared = x.shared_experts;
  const T width = named("intermediate per rank", x.intermediate / x.tensor_parallel);
  const T rows = named("expert rows per rank", tokens * (x.top_k + shared) / x.expert_parallel);
  const T matrix = ffn_matrices(x.gated) * hidden * width;
  basic_demand<T> d;
  d.name = "moe_ffn";
  d.format = wider(x.format, x.weights.format);
  d.matrix_flop = named("flop", 2.0 * rows * matrix * flop);
  const bytes<T> weights = named("weight bytes", (touched + shared) * matrix * bytes_of(x.weights));
  const T seen = tokens_on_rank(tokens, x.top_k, x.expert_parallel);
  const bytes<T> activations = named("activation bytes", seen * hidden * bytes_of(x.format));
  d.dram.read = weights + activations;
  d.dram.written = activations;
  if (!x.fused) {
    d.dram = d.dram + detail::ffn_intermediates(T(rows * width), x.gated, x.format);
    d.launches = T(3.0);
  }
  d.l2 = d.dram;
  return d;
}

/// Scores every token against every expert, usually in a format of more bits than the experts'.
template <Scalar T = double>
struct basic_moe_router {
  T tokens{}, hidden{}, experts{};
  number_format format = number_format::bf16;
  storage_format weights = format;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f(field::count("experts"), s.experts...);
    f("format", s.format...);
    f("weights", s.weights...);
  }
};
using moe_router = basic_moe_router<>;

/// The GEMM tokens x experts x hidden. Leaves out the choice of the k best, which is on the scores
/// while they are on the chip. Errors: a dimension below 1. Test: equals that gemm.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_moe_router<T>& r) {
  require_valid(r, "moe_router");
  basic_demand<T> d = demand_of(basic_gemm<T>{.m = r.tokens,
                                              .n = r.experts,
                                              .k = r.hidden,
                                              .format = r.format,
                                              .weights = r.weights,
                                              .output = r.format});
  d.name = "moe_router";
  return d;
}

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
