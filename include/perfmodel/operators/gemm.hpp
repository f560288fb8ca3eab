// GEMM: C[m,n] = A[m,k] B[k,n]. A linear layer has its tokens in m and its weights in B.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

/// One dense GEMM. `weights` is how B is stored (weight-only quantisation and block scales),
/// `format` how A and C are stored; it multiplies in the wider of the two.
template <Scalar T = double>
struct basic_gemm {
  T m{}, n{}, k{};
  number_format format = number_format::bf16;
  storage_format weights = format;
  number_format output = format;

  constexpr const char* name() const { return "gemm"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("m"), s.m...);
    f(field::count("n"), s.n...);
    f(field::count("k"), s.k...);
    f("format", s.format...);
    f("weights", s.weights...);
    f("output", s.output...);
  }
};
using gemm = basic_gemm<>;

namespace detail {
/// FLOP and DRAM bytes of a GEMM.
template <Scalar T>
struct gemm_needs {
  flops<T> matrix_flop{};
  basic_traffic<T> dram{};
};
/// FLOP and bytes of m rows, n columns and depth k, all valid, with bytes per element of each
/// operand.
template <Scalar T>
constexpr gemm_needs<T> needs_of_gemm(const T& m, const T& n, const T& k, const bytes<>& activation,
                                      const bytes<T>& weights, const bytes<>& output) {
  const flops<T> work = named("flop", 2.0 * m * n * k * flop);
  const bytes<T> activations = named("activation bytes", m * k * activation);
  return {work, {activations + weights, named("output bytes", m * n * output)}};
}
template <Scalar T>
constexpr bytes<T> weight_bytes_of(const basic_gemm<T>& g) {
  return named("weight bytes", g.k * g.n * bytes_of(g.weights));
}

}  // namespace detail

/// FLOP = 2 m n k; DRAM bytes = b_a m k + b_w k n read + b_c m n written, each operand once.
/// Source: NVIDIA, "Matrix Multiplication Background User's Guide", section 2.
/// Leaves out: re-reads when a panel does not fit in L2, tile padding, split-K partial sums.
/// Errors: m, n or k below 1. Tests: 4096^3 bf16 is 137.4 GFLOP and 1365.3 FLOP/byte; the twelve
/// intensities of an FFN gate GEMM (k = 2048, n = 11008) at m = 1 .. 2048.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_gemm<T>>& valid) {
  const basic_gemm<T>& g = valid.fields;
  const detail::gemm_needs<T> needs = detail::needs_of_gemm(
      g.m, g.n, g.k, bytes_of(g.format), detail::weight_bytes_of(g), bytes_of(g.output));
  basic_demand<T> d;
  d.name = "gemm";
  d.format = wider(g.format, g.weights.format);
  d.matrix_flop = needs.matrix_flop;
  d.dram = needs.dram;
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3
