// An accelerator as a plain value: copy a catalogue entry, change a field, pass it on.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/hardware/architecture.hpp>
#include <perfmodel/hardware/fact.hpp>
#include <perfmodel/hardware/interconnect.hpp>
#include <perfmodel/hardware/number_format.hpp>

// Arithmetic units: matrix units (tensor cores) and vector units (CUDA cores).

namespace perfmodel::inline v0_3 {

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

/// Matrix or vector units: their peaks, the clock of these peaks, and FLOP per clock and SM of the
/// reference format. That is bf16 (else fp16) for matrix units and fp32 for vector units.
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

/// peak = SMs x FLOP per clock and SM x clock. Source: NVIDIA H100 whitepaper, table 1: its peaks
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

// One level of a memory hierarchy.

/// Capacity and bandwidth are of the whole chip, not of one SM.
template <Scalar T = double>
struct basic_memory_level {
  fact<bytes<T>> capacity{};
  fact<perfmodel::bandwidth<T>> bandwidth{};
  fact<duration<T>> latency{};
  fact<perfmodel::energy_per_byte<T>> energy_per_byte{};

  template <class F, class... Levels>
  static constexpr void fields(F&& f, Levels&... level) {
    f(field::positive("capacity"), level.capacity...);
    f(field::positive("bandwidth"), level.bandwidth...);
    f(field::positive("latency"), level.latency...);
    f(field::positive("energy_per_byte"), level.energy_per_byte...);
  }
};
using memory_level = basic_memory_level<>;

/// Bandwidth of a DRAM interface = bus width / 8 x transfers per second and pin.
/// Source: JEDEC data-rate convention. Test: 5120 bit at 5.2 Gb/s is 3.33 TB/s.
template <Scalar T>
constexpr bandwidth<T> bandwidth_from_bus(const std::type_identity_t<T>& bus_bits,
                                          const frequency<T>& transfers) {
  detail::positive("bus_bits", bus_bits);
  detail::positive("transfers", transfers);
  return bus_bits / 8.0 * bytes<T>::from_value(T(1.0)) * transfers;
}

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
  // Die facts; unstated ones are those of the architecture.
  fact<number<T>> instruction_rows{};  ///< rows of one matrix instruction
  fact<number<T>> l2_partitions{};
  fact<duration<T>> far_l2_latency{};   ///< load latency from another L2 partition
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
/// Die fact of the accelerator, else of its architecture; refused where neither states it.
template <Scalar T>
constexpr T die_fact(const char* name, const fact<number<T>>& own, const fact<number<>>& common) {
  return detail::count(name, own.is_stated() ? T(own.value()) : T(common.value()));
}
}  // namespace detail

/// Die facts in use. Errors: a fact without a source: a TPU has no such instruction.
/// Test: 64 of H100, 16 of A100; a copy's own statement counts.
template <Scalar T>
constexpr T instruction_rows_of(const basic_accelerator<T>& a) {
  return detail::die_fact("instruction_rows", a.instruction_rows,
                          facts_of(a.architecture).instruction_rows);
}
/// Number of L2 partitions: the accelerator's own fact, else its architecture's.
template <Scalar T>
constexpr T l2_partitions_of(const basic_accelerator<T>& a) {
  return detail::die_fact("l2_partitions", a.l2_partitions, facts_of(a.architecture).l2_partitions);
}
/// Exponentials per clock and SM: its own fact, else its architecture's.
template <Scalar T>
constexpr T special_functions_of(const basic_accelerator<T>& a) {
  return detail::die_fact("special_functions", a.special_functions,
                          facts_of(a.architecture).special_functions);
}

/// A copy that states the facts of its architecture, so that a derivation names their sources.
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

/// True where the vector units have a stated peak. Without one they set no bound.
template <Scalar T>
constexpr bool has_vector_peak(const basic_accelerator<T>& a) {
  return a.vector.peak.fp32.is_stated();
}

/// Rate of the vector units (CUDA cores) in a format; fp32 where the format has no rate of its own,
/// since smaller operands are converted first. Throws where no rate is stated.
template <Scalar T>
constexpr flop_rate<T> vector_peak(const basic_accelerator<T>& a, number_format format = fp32) {
  const bool own = a.vector.peak[format].is_stated();
  detail::computes_in(own || has_vector_peak(a), a.name.c_str(), "fp32 on vector units");
  return detail::positive("vector.peak",
                          a.vector.peak[own ? format : number_format::fp32].quantity());
}

// Several accelerators in one box, and what leaves the box.

template <Scalar T = double>
struct basic_node {
  basic_accelerator<T> device{};
  int count = 8;
  basic_interconnect<T> network{};  ///< per accelerator, one way

  template <class F, class... N>
  static constexpr void fields(F&& f, N&... n) {
    f("device", n.device...);
    f(field::count("count"), n.count...);
    f("network", n.network...);
  }
};
using node = basic_node<>;

/// Aggregate capacity, bandwidth and peak of a node: count x device.
template <Scalar T>
constexpr bytes<T> capacity(const basic_node<T>& n) {
  return T(n.count) * n.device.dram.capacity;
}
/// Aggregate DRAM bandwidth of a node: count x the device's.
template <Scalar T>
constexpr bandwidth<T> dram_bandwidth(const basic_node<T>& n) {
  return T(n.count) * n.device.dram.bandwidth;
}
/// Aggregate peak FLOP rate of a node in a format: count x the device's.
template <Scalar T>
constexpr flop_rate<T> peak(const basic_node<T>& n, number_format format) {
  return T(n.count) * peak(n.device, format);
}

}  // namespace perfmodel::inline v0_3
