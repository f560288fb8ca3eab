// What an operator asks of a machine: FLOP, bytes per memory level, bytes on the wire, launches.
// Laws know demands and no transformer, so they serve any kernel.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/units/convention.hpp>
#include <perfmodel/units/named.hpp>

namespace perfmodel::inline v0_3 {

/// Bytes moved at one memory level. Reads and writes count separately, since they cost different
/// time.
template <Scalar T = double>
struct basic_traffic {
  bytes<T> read{};
  bytes<T> written{};

  constexpr bytes<T> total() const { return read + written; }
  friend constexpr basic_traffic operator+(const basic_traffic& a, const basic_traffic& b) {
    return {a.read + b.read, a.written + b.written};
  }
  friend constexpr basic_traffic operator*(const T& n, const basic_traffic& a) {
    return {n * a.read, n * a.written};
  }
  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("read"), s.read...);
    f(field::not_negative("written"), s.written...);
  }
};
using traffic = basic_traffic<>;

/// The demand of one operator, or of n equal ones. DRAM bytes are compulsory ones: each operand
/// once. Bytes of a level the operator does not state are 0, and that level then sets no bound.
template <Scalar T = double>
struct basic_demand {
  label name{};
  number_format format = number_format::bf16;  ///< format of the matrix FLOP
  flops<T> matrix_flop{};                      ///< FLOP on matrix units (tensor cores)
  flops<T> vector_flop{};                      ///< fp32 FLOP on vector units (CUDA cores)
  basic_traffic<T> dram{};
  basic_traffic<T> l2{};
  basic_traffic<T> shared{};
  bytes<T> sent{};  ///< wire bytes this rank sends
  T launches = T(1.0);

  constexpr flops<T> flop() const { return matrix_flop + vector_flop; }
  /// FLOP per DRAM byte. Test: GEMM 4096^3 in bf16 is 1365.3 FLOP/byte.
  constexpr perfmodel::intensity<T> intensity() const { return flop() / dram.total(); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("format", s.format...);
    f(field::not_negative("matrix_flop"), s.matrix_flop...);
    f(field::not_negative("vector_flop"), s.vector_flop...);
    f("dram", s.dram...);
    f("l2", s.l2...);
    f("shared", s.shared...);
    f(field::not_negative("sent"), s.sent...);
    f(field::not_negative("launches"), s.launches...);
  }

  /// n operators of this demand, one after the other.
  friend constexpr basic_demand operator*(const T& n, basic_demand d) {
    d.matrix_flop = n * d.matrix_flop;
    d.vector_flop = n * d.vector_flop;
    d.dram = n * d.dram;
    d.l2 = n * d.l2;
    d.shared = n * d.shared;
    d.sent = n * d.sent;
    d.launches = n * d.launches;
    return d;
  }
};
using demand = basic_demand<>;

/// Anything a law can take in place of a demand: an operator with demand_of(op) found by ADL.
template <Scalar T>
constexpr const basic_demand<T>& demand_of(const basic_demand<T>& d) {
  return d;
}

/// An operator with valid fields. Its demand_of(valid_operator) is the law.
template <class W>
struct valid_operator {
  const W& fields;
};
/// Deduces the operator's type.
template <class W>
valid_operator(const W&) -> valid_operator<W>;
template <class W>
inline constexpr bool is_valid_operator = false;
template <class W>
inline constexpr bool is_valid_operator<valid_operator<W>> = true;

/// Checks the fields of an operator, then computes its demand.
template <class W>
  requires(!is_valid_operator<W>)
&&requires(const valid_operator<W>& x) {
  demand_of(x).matrix_flop;
}
constexpr auto demand_of(const W& w) {
  require_valid(w, w.name());
  return demand_of(valid_operator<W>{w});
}

template <class W>
concept Workload = requires(const W& w) {
  demand_of(w).matrix_flop;
};

namespace detail {
template <class W>
using scalar_of_workload =
    typename decltype(demand_of(std::declval<const W&>()).matrix_flop)::value_type;

/// The scalar of a machine over A and an operator over B: the same, or the one that is no double.
template <class A, class B>
using joint_scalar = std::conditional_t<std::same_as<A, double>, B, A>;

/// A spec over T: itself, or lifted.
template <Scalar T, template <class> class S, class From>
constexpr decltype(auto) over(const S<From>& spec) {
  if constexpr (std::same_as<From, T>)
    return (spec);
  else
    return lift<T>(spec);
}
}  // namespace detail

}  // namespace perfmodel::inline v0_3
