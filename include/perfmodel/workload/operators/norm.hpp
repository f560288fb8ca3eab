// LayerNorm and RMSNorm, alone or with the residual addition in front of them.
#pragma once

#include <perfmodel/workload/demand.hpp>

namespace perfmodel {

enum class norm_kind { rms, layer };

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

namespace detail {
/// demand_of, of valid fields.
template <Scalar T>
constexpr basic_demand<T> demand_of_valid(const basic_norm<T>& x) {
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
}  // namespace detail

/// With E = rows x width elements: FLOP = 4 E (RMSNorm) or 8 E (LayerNorm), + E with a residual;
/// DRAM bytes = passes b E read + b E written + b width (gamma) or 2 b width (gamma and beta),
/// + b E read and b E written with a residual.
/// Leaves out: the few operations per row (division, root) and the reduction's synchronisation.
/// Errors: rows, width or passes below 1.
/// Tests: LayerNorm in 16 bit tends to 2 FLOP/byte, RMSNorm to 1; a residual doubles the traffic.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_norm<T>& x) {
  require_valid(x, "norm");
  return detail::demand_of_valid(x);
}

}  // namespace perfmodel
