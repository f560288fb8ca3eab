// Element-wise operators: activations, residual additions, casts, and chains of them in one kernel.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/operators/demand.hpp>

namespace perfmodel::inline v0_3 {

/// One kernel that reads `inputs` tensors of `elements`, writes `outputs` of them and does
/// `flop_per_element` on each element. A fused chain is one such kernel; an unfused one is several.
/// `rows` is the number of thread blocks where known: one per token.
template <Scalar T = double>
struct basic_elementwise {
  T elements{};
  T inputs = T(1.0), outputs = T(1.0);
  T flop_per_element = T(1.0);
  number_format format = number_format::bf16;
  std::optional<T> rows{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("elements"), s.elements...);
    f(field::not_negative("inputs"), s.inputs...);
    f(field::not_negative("outputs"), s.outputs...);
    f(field::not_negative("flop_per_element"), s.flop_per_element...);
    f("format", s.format...);
    f(field::count("rows"), s.rows...);
  }
};
using elementwise = basic_elementwise<>;

/// FLOP = f E on vector units; DRAM bytes = b n E read + b m E written, for n inputs, m outputs.
/// Source: each operand once; Williams, Waterman and Patterson, "Roofline", CACM 2009, section 3.
/// Leaves out: broadcast operands (a bias is smaller than E), random numbers, instruction mix.
/// Errors: elements below 1; inputs, outputs or flop_per_element negative; no tensor at all.
/// Tests: GELU at 5 FLOP in 16 bit is 1.25 FLOP/byte; fusing three operators removes 2/3 of the
/// bytes.
template <Scalar T>
constexpr basic_demand<T> demand_of(const basic_elementwise<T>& e) {
  require_valid(e, "elementwise");
  const T &elements = e.elements, &inputs = e.inputs, &outputs = e.outputs;
  detail::positive("elementwise.inputs + outputs", inputs + outputs);
  const bytes<T> tensor = named("tensor bytes", elements * bytes_of(e.format));
  basic_demand<T> d;
  d.name = "elementwise";
  d.format = e.format;
  d.vector_flop = named("vector flop", e.flop_per_element * elements * flop);
  d.dram.read = inputs * tensor;
  d.dram.written = outputs * tensor;
  d.l2 = d.dram;
  return d;
}

// Kinds of element-wise kernels in an engine step.

/// Kinds of element-wise kernels. `residual` is the cost of the addition inside a norm, without a
/// launch; a `sampler` is several kernels.
enum class elementwise_kernel { residual, rotary, head_norm, activation, cache_write, sampler };

constexpr const char* name_of(elementwise_kernel k) {
  constexpr const char* names[] = {"residual",   "rotary embedding", "norms of heads",
                                   "activation", "cache write",      "sampler"};
  return detail::entry_of(names, k, "small_kernel");
}

}  // namespace perfmodel::inline v0_3
