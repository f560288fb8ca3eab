// LayerNorm and RMSNorm, with or without the residual addition in front of them.
#pragma once

#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

enum class norm_kind { rms, layer };

/// Name of a normalisation.
constexpr const char* name_of(norm_kind k) {
  return k == norm_kind::rms ? "rms" : "layer";
}

/// `rows` vectors of `width`, each normalised by itself. `passes` is how often the input comes from
/// DRAM: 1 while a row stays on the chip between its statistics and its scaling, else 2.
/// With `residual` the kernel first adds a second tensor and writes the sum as well.
template <Scalar T = double>
struct basic_norm {
  T rows{}, width{};
  norm_kind kind = norm_kind::rms;
  number_format format = number_format::bf16;
  T passes = T(1.0);
  bool residual = false;

  constexpr const char* name() const { return "norm"; }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("rows"), s.rows...);
    f(field::count("width"), s.width...);
    f("kind", s.kind...);
    f("format", s.format...);
    f(field::count("passes"), s.passes...);
    f("residual", s.residual...);
  }
};
using norm = basic_norm<>;

/// Vector FLOP per element, by the definition of each: RMSNorm squares, adds, multiplies by the
/// reciprocal root and by gamma: 4. LayerNorm adds; subtracts the mean, squares, adds; subtracts
/// the mean again, multiplies by the reciprocal deviation, by gamma, adds beta: 8.
/// Sources: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019, equation 4;
/// Ba, Kiros and Hinton, "Layer Normalization", 2016, equation 4.
constexpr double norm_flop_per_element(norm_kind kind) {
  return kind == norm_kind::rms ? 4.0 : 8.0;
}

/// With E = rows x width elements: FLOP = 4 E (RMSNorm) or 8 E (LayerNorm), + E with a residual;
/// DRAM bytes = passes b E read + b E written + b width (gamma) or 2 b width (gamma and beta),
/// + b E read and b E written with a residual.
/// Leaves out: the few operations per row (division, root) and the reduction's synchronisation.
/// Errors: rows, width or passes below 1.
/// Tests: LayerNorm in 16 bit tends to 2 FLOP/byte, RMSNorm to 1; a residual doubles the traffic.
template <Scalar T>
constexpr basic_demand<T> demand_of(const valid_operator<basic_norm<T>>& valid) {
  const basic_norm<T>& x = valid.fields;
  const T elements = named("elements", x.rows * x.width);
  const bytes<T> tensor = named("tensor bytes", elements * bytes_of(x.format));
  const double vectors = x.kind == norm_kind::rms ? 1.0 : 2.0;
  const bytes<T> weights = vectors * x.width * bytes_of(x.format);
  basic_demand<T> d;
  d.name = x.kind == norm_kind::rms ? "rms_norm" : "layer_norm";
  d.format = x.format;
  const double flop_per_element = norm_flop_per_element(x.kind) + (x.residual ? 1.0 : 0.0);
  d.vector_flop = named("vector flop", flop_per_element * elements * flop);
  d.dram.read = x.passes * tensor + weights;
  d.dram.written = tensor;
  if (x.residual) {
    d.dram.read += tensor;
    d.dram.written += tensor;
  }
  d.l2 = d.dram;
  return d;
}

// Softmax over rows, and the choice of the next token from a row of logits.

/// A softmax over each of `rows` vectors of `width`, in a kernel of its own. `passes` is how often
/// the input comes from DRAM: 1 while a row fits on the chip, 2 with the online recurrence, else 3.
template <Scalar T = double>
struct basic_softmax {
  T rows{}, width{};
  number_format format = number_format::bf16;
  T passes = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("rows"), s.rows...);
    f(field::count("width"), s.width...);
    f("format", s.format...);
    f(field::count("passes"), s.passes...);
  }
};
using softmax = basic_softmax<>;

/// FLOP per element of a safe softmax: maximum, subtraction, exponential, sum, scaling.
/// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018, algorithm 2.
inline constexpr double softmax_flop_per_element = 5.0;

/// Vector FLOP = 5 rows width; DRAM bytes = passes b rows width read + b rows width written.
/// Leaves out: that an exponential takes the special-function units, slower than an addition.
/// Errors: rows, width or passes below 1. Test: 16-bit softmax is 1.25 FLOP/byte; reading the row
/// three times, as the safe softmax does without a cache, doubles the bytes.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_softmax<T>& s) {
  require_valid(s, "softmax");
  const T elements = named("elements", s.rows * s.width);
  const bytes<T> tensor = named("tensor bytes", elements * bytes_of(s.format));
  basic_demand<T> d;
  d.name = "softmax";
  d.format = s.format;
  d.vector_flop = named("vector flop", softmax_flop_per_element * elements * flop);
  d.dram.read = s.passes * tensor;
  d.dram.written = tensor;
  d.l2 = d.dram;
  return d;
}

/// How the next token is chosen: the largest logit, or a draw from their softmax.
enum class sampling_kind { greedy, multinomial };

/// Name of a sampling method.
constexpr const char* name_of(sampling_kind k) {
  return k == sampling_kind::greedy ? "greedy" : "multinomial";
}

/// One token for each of `rows` sequences from `vocabulary` logits.
template <Scalar T = double>
struct basic_sampling {
  T rows{}, vocabulary{};
  sampling_kind kind = sampling_kind::greedy;
  number_format format = number_format::fp32;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("rows"), s.rows...);
    f(field::count("vocabulary"), s.vocabulary...);
    f("kind", s.kind...);
    f("format", s.format...);
  }
};
using sampling = basic_sampling<>;

/// Vector FLOP per logit = 1 (greedy: a comparison) or 7 (temperature, the softmax's 5, running
/// sum); DRAM bytes = b rows vocabulary read + 4 rows written, one 32-bit token each.
/// Leaves out: sorting for top-k and top-p, penalties, the random number.
/// Errors: rows or vocabulary below 1. Test: one row of 128,256 fp32 logits is 513,028 bytes.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_sampling<T>& s) {
  require_valid(s, "sampling");
  const T logits = named("logits", s.rows * s.vocabulary);
  const double flop_per_logit =
      s.kind == sampling_kind::greedy ? 1.0 : softmax_flop_per_element + 2.0;
  basic_demand<T> d;
  d.name = "sampling";
  d.format = s.format;
  d.vector_flop = named("vector flop", flop_per_logit * logits * flop);
  d.dram.read = logits * bytes_of(s.format);
  d.dram.written = 4.0 * s.rows * byte;
  d.l2 = d.dram;
  return d;
}

}  // namespace perfmodel::inline v0_3
