// Arithmetic units: matrix units (tensor cores) and vector units (CUDA cores).
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/hardware/number_format.hpp>

namespace perfmodel {

/// Dense peak per number format; multiplications and additions count as two FLOP.
/// A format the unit does not have is left out. Integer formats count operations as FLOP.
template <Scalar T = double>
struct basic_peak_rates {
  fact<flop_rate<T>> fp64{}, fp32{}, tf32{}, bf16{}, fp16{}, fp8{}, int8{}, fp4{}, int4{};

  template <class F, class... Rates>
  static constexpr void fields(F&& f, Rates&... r) {
    f(field::positive("fp64"), r.fp64...);
    f(field::positive("fp32"), r.fp32...);
    f(field::positive("tf32"), r.tf32...);
    f(field::positive("bf16"), r.bf16...);
    f(field::positive("fp16"), r.fp16...);
    f(field::positive("fp8"), r.fp8...);
    f(field::positive("int8"), r.int8...);
    f(field::positive("fp4"), r.fp4...);
    f(field::positive("int4"), r.int4...);
  }

  constexpr const fact<flop_rate<T>>& operator[](number_format format) const {
    switch (format) {
      case number_format::fp64: return fp64;
      case number_format::fp32: return fp32;
      case number_format::tf32: return tf32;
      case number_format::bf16: return bf16;
      case number_format::fp16: return fp16;
      case number_format::fp8: return fp8;
      case number_format::int8: return int8;
      case number_format::fp4: return fp4;
      case number_format::int4: return int4;
    }
    return fp64;
  }
};
using peak_rates = basic_peak_rates<>;

/// One kind of unit: its peaks, the clock they are stated at, and FLOP per clock and SM of its
/// reference format (bf16, or fp16 where there is no bf16, for matrix units; fp32 for vector units).
template <Scalar T = double>
struct basic_compute_unit {
  basic_peak_rates<T> peak{};
  fact<frequency<T>> clock{};
  fact<flops<T>> flop_per_clock{};

  template <class F, class... Units>
  static constexpr void fields(F&& f, Units&... u) {
    f("peak", u.peak...);
    f(field::positive("clock"), u.clock...);
    f(field::positive("flop_per_clock"), u.flop_per_clock...);
  }
};
using compute_unit = basic_compute_unit<>;

/// peak = SMs x FLOP per clock and SM x clock. Source: NVIDIA H100 whitepaper, table 1, whose peaks
/// follow from its own SM counts and clocks. Leaves out power and thermal throttling.
/// Test: 132 x 4096 x 1.83 GHz = 989.4 TFLOP/s.
template <Scalar T>
constexpr flop_rate<T> peak_from_clock(const std::type_identity_t<T>& sms,
                                       const flops<T>& flop_per_clock, const frequency<T>& clock) {
  detail::positive("sms", sms);
  detail::positive("flop_per_clock", flop_per_clock);
  detail::positive("clock", clock);
  return sms * flop_per_clock * clock;
}

}  // namespace perfmodel
