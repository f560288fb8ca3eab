// An accelerator as a plain value: copy a catalogue entry, change a field, pass it on.
#pragma once

#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/architecture.hpp>
#include <perfmodel/hardware/compute.hpp>
#include <perfmodel/hardware/interconnect.hpp>
#include <perfmodel/hardware/memory.hpp>

namespace perfmodel {

/// One device as a program sees it: one GPU, one TPU chip, one wafer, one SoC.
template <Scalar T = double>
struct basic_accelerator {
  label name{};
  label vendor{};
  chip_architecture architecture{};
  fact<number<T>> sms{};  ///< SMs, compute units or cores
  basic_compute_unit<T> matrix{};
  basic_compute_unit<T> vector{};
  basic_memory_level<T> registers{};
  basic_memory_level<T> shared{};
  basic_memory_level<T> l2{};
  basic_memory_level<T> dram{};    ///< the memory that holds the model, even where that is SRAM
  basic_interconnect<T> fabric{};  ///< to its peers
  basic_interconnect<T> host{};    ///< to the machine it is plugged into
  fact<power<T>> tdp{};
  fact<perfmodel::price<T>> price{};
  // Of the die. Left out: those of its architecture.
  fact<number<T>> instruction_rows{};  ///< of one matrix instruction
  fact<number<T>> l2_partitions{};
  fact<duration<T>> far_l2_latency{};   ///< of a load from another partition of the L2
  fact<number<T>> special_functions{};  ///< exponentials per clock and SM

  template <class F, class... A>
  static constexpr void fields(F&& f, A&... a) {
    f("name", a.name...);
    f("vendor", a.vendor...);
    f("architecture", a.architecture...);
    f("sms", a.sms...);
    f("matrix", a.matrix...);
    f("vector", a.vector...);
    f("registers", a.registers...);
    f("shared", a.shared...);
    f("l2", a.l2...);
    f("dram", a.dram...);
    f("fabric", a.fabric...);
    f("host", a.host...);
    f("tdp", a.tdp...);
    f("price", a.price...);
    f("instruction_rows", a.instruction_rows...);
    f("l2_partitions", a.l2_partitions...);
    f(field::positive("far_l2_latency"), a.far_l2_latency...);
    f("special_functions", a.special_functions...);
  }
};
using accelerator = basic_accelerator<>;

namespace detail {
/// What the accelerator states, else its architecture's; refused where nobody states it.
template <Scalar T>
constexpr T die_fact(const char* name, const fact<number<T>>& own, const fact<number<>>& common) {
  return detail::count(name, own.is_stated() ? T(own.value()) : T(common.value()));
}
}  // namespace detail

/// Errors: an architecture whose fact nobody states: a TPU has no such instruction.
/// Test: 64 of H100, 16 of A100; what a copy states itself counts.
template <Scalar T>
constexpr T instruction_rows_of(const basic_accelerator<T>& a) {
  return detail::die_fact("instruction_rows", a.instruction_rows,
                          facts_of(a.architecture).instruction_rows);
}
template <Scalar T>
constexpr T l2_partitions_of(const basic_accelerator<T>& a) {
  return detail::die_fact("l2_partitions", a.l2_partitions, facts_of(a.architecture).l2_partitions);
}
template <Scalar T>
constexpr T special_functions_of(const basic_accelerator<T>& a) {
  return detail::die_fact("special_functions", a.special_functions,
                          facts_of(a.architecture).special_functions);
}

/// A copy that states the facts of its architecture itself, so that a derivation names their sources.
constexpr accelerator with_die_facts(accelerator a) {
  const architecture_facts& common = facts_of(a.architecture);
  if (!a.instruction_rows.is_stated()) a.instruction_rows = common.instruction_rows;
  if (!a.l2_partitions.is_stated()) a.l2_partitions = common.l2_partitions;
  if (!a.special_functions.is_stated()) a.special_functions = common.special_functions;
  return a;
}

/// Whether the accelerator computes in this format at all.
template <Scalar T>
constexpr bool supports(const basic_accelerator<T>& a, number_format format) {
  return a.matrix.peak[format].is_stated() || a.vector.peak[format].is_stated();
}

/// The dense peak an operator can use in a format: the matrix unit's where it has the format, else
/// the vector unit's. Throws unsupported_format where neither has it.
/// Test: peak(h100_sxm, bf16) == 989.4 TFLOP/s; peak(v100_sxm_32gb, fp8) throws.
template <Scalar T>
constexpr flop_rate<T> peak(const basic_accelerator<T>& a, number_format format) {
  detail::computes_in(supports(a, format), a.name.c_str(), name_of(format));
  const bool matrix = a.matrix.peak[format].is_stated();
  return detail::positive("peak", (matrix ? a.matrix : a.vector).peak[format].quantity());
}

/// Whether anybody states how fast the vector units are. Where nobody does, they set no bound.
template <Scalar T>
constexpr bool states_vector_peak(const basic_accelerator<T>& a) {
  return a.vector.peak.fp32.is_stated();
}

/// Rate of the vector units (CUDA cores) in a format; fp32 where the format has no rate of its own,
/// since narrower operands are widened first. Throws where no rate is stated.
template <Scalar T>
constexpr flop_rate<T> vector_peak(const basic_accelerator<T>& a, number_format format = fp32) {
  const bool own = a.vector.peak[format].is_stated();
  detail::computes_in(own || states_vector_peak(a), a.name.c_str(), "fp32 on vector units");
  return detail::positive("vector.peak",
                          a.vector.peak[own ? format : number_format::fp32].quantity());
}

}  // namespace perfmodel
