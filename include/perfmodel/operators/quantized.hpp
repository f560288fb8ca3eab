// What quantisation and 2:4 sparsity change in a demand: conversions, dequantisation, outliers.
#pragma once

#include <perfmodel/operators/gemm.hpp>

namespace perfmodel::inline v0_3 {

/// Rewrites `elements` from one storage format to another: quantising activations or a cache,
/// or dequantising weights in a kernel of its own. 2 FLOP per element is a scale and a zero point.
template <Scalar T = double>
struct basic_conversion {
  T elements{};
  storage_format from = number_format::bf16;
  storage_format to = number_format::fp8;
  T flop_per_element = T(2.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("elements"), s.elements...);
    f("from", s.from...);
    f("to", s.to...);
    f(field::not_negative("flop_per_element"), s.flop_per_element...);
  }
};
using conversion = basic_conversion<>;

/// Vector FLOP = f E; DRAM bytes = b_from E read + b_to E written, scales and zero points included.
/// Source: Dettmers and Zettlemoyer, "The case for 4-bit precision", 2023, section 2.
/// Leaves out: a second pass over groups larger than the chip holds. Errors: elements below 1;
/// flop_per_element negative. Test: 64 bf16 values become 34 bytes of int4 with an fp16 scale.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_conversion<T>& c) {
  require_valid(c, "conversion");
  const T& elements = c.elements;
  basic_demand<T> d;
  d.name = "conversion";
  d.format = wider(c.from.format, c.to.format);
  d.vector_flop = named("vector flop", c.flop_per_element * elements * flop);
  d.dram.read = elements * bytes_of(c.from);
  d.dram.written = elements * bytes_of(c.to);
  d.l2 = d.dram;
  return d;
}

/// An operator that dequantises `weight_elements` inside its kernel, on vector units: (q - zero) x
/// scale is 2 FLOP, `repeats` times where row panels repeat it.
/// Source: the inverse of block-wise quantisation, Dettmers and Zettlemoyer, 2023, section 2.
/// Leaves out: bit manipulation, which needs fewer instructions; unpacking, which needs more.
/// Errors: weight_elements or repeats below 1. Test: adds 2 FLOP per weight and no byte.
template <Scalar T>
constexpr basic_demand<T> with_dequantisation(basic_demand<T> d,
                                              const std::type_identity_t<T>& weight_elements,
                                              const std::type_identity_t<T>& repeats = T(1.0)) {
  d.vector_flop +=
      named("dequantisation flop", 2.0 * detail::count("weight_elements", weight_elements) *
                                       detail::count("repeats", repeats) * flop);
  return d;
}

/// A GEMM split along k: outlier features in 16 bit, the others in int8.
template <Scalar T = double>
struct basic_outlier_split {
  basic_demand<T> regular{};
  basic_demand<T> outliers{};
};
using outlier_split = basic_outlier_split<>;

/// Splits a GEMM: a share f of the k features, with their weights, runs in `outlier_format`, 1 - f
/// in `regular_format`. FLOP and operand bytes of each part go with its share; the regular part
/// writes the sum once, in g.output.
/// T = f T_16 + (1 - f) T_8 + finding the outliers, which is left out.
/// Source: Dettmers et al., "LLM.int8()", 2022, section 3.2, equation 8.
/// Errors: share outside 0..1. Tests: share 0 is the 8-bit GEMM, share 1 the 16-bit one but for its
/// output; FLOP do not depend on the share.
template <Scalar T>
constexpr basic_outlier_split<T> split_outliers(
    const basic_gemm<T>& g, const std::type_identity_t<T>& share,
    number_format regular_format = number_format::int8,
    number_format outlier_format = number_format::fp16) {
  const T& f = detail::fraction("share", share);
  const auto part = [&](const T& s, number_format in, const char* name) {
    basic_gemm<T> whole = g;
    whole.format = in;
    whole.weights = in;
    basic_demand<T> d = demand_of(whole);
    d.name = name;
    d.matrix_flop = s * d.matrix_flop;
    d.dram.read = s * d.dram.read;
    return d;
  };
  basic_outlier_split<T> out{part(T(1.0 - f), regular_format, "regular"),
                             part(f, outlier_format, "outliers")};
  out.regular.l2 = out.regular.dram;
  out.outliers.dram.written = {};
  out.outliers.l2 = out.outliers.dram;
  return out;
}

/// Bytes of a 2:4 sparse matrix over those of the dense one: half the values and a 2-bit position
/// for each of them, (b / 2 + 1) / b for b bits. Source: Mishra et al., "Accelerating Sparse Deep
/// Neural Networks", 2021. Tests: 0.5625 at 16 bit, 0.625 at 8, 0.75 at 4.
constexpr double sparse_2_4_byte_share(number_format format) {
  return (bits_of(format) / 2.0 + 1.0) / bits_of(format);
}

/// GEMM with two zeros in every four weights. FLOP = m n k, the executed ones: a sparse matrix unit
/// has twice the dense rate because it skips the others, so divide them by the dense rate. Weight
/// bytes fall to sparse_2_4_byte_share of their values; scales stay.
/// Source: Mishra et al., 2021. Leaves out: units without 2:4, which must not use this.
/// Errors: as demand_of. Test: half the FLOP and 0.5625 of the weight bytes of the bf16 GEMM.
template <Scalar T>
constexpr basic_demand<T> sparse_2_4(const basic_gemm<T>& g) {
  basic_demand<T> d = demand_of(g);
  d.name = "sparse_gemm";
  d.matrix_flop = 0.5 * d.matrix_flop;
  const bytes<T> values = g.k * g.n * bytes_of(g.weights.format);
  d.dram.read -=
      named("weight bytes skipped", (1.0 - sparse_2_4_byte_share(g.weights.format)) * values);
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3
