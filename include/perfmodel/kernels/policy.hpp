// Calibration of an accelerator model with an engine: a policy for every prediction function.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/memo.hpp>
#include <perfmodel/kernels/attention.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/elementwise.hpp>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/policy_times.hpp>
#include <perfmodel/kernels/service_posterior.hpp>
#include <perfmodel/laws/roofline.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <tuple>
#include <type_traits>

namespace perfmodel::inline v0_3::detail {

/// Rates of a GEMM shape, and its time at the last number of rows.
template <Scalar T>
struct gemm_entry {
  gemm_rates<T> rates{};
  T rows{};
  duration<T> time{};
};

/// Memo of operator times for one accelerator model, one policy and one thread.
template <Scalar T>
struct operator_memo {
  /// keys: n, k and the formats of activations, weights and output
  memo<std::tuple<T, T, number_format, storage_format, number_format>, gemm_entry<T>, 16> gemms{};
  T last_rows{};  ///< rows of the last GEMM; most of a step have the same
  gemm_rows<T> rows{};
  memo<basic_attention_decode<T>, duration<T>, 2> decodes{};
  memo<basic_attention_prefill<T>, duration<T>, 2> prefills{};
};

}  // namespace perfmodel::inline v0_3::detail

namespace perfmodel::inline v0_3 {

/// Largest number of decodes with a prefill chunk in the fit of the mixed kernel. Beyond it each
/// decode adds its time without a chunk; a held-out measurement of 256 decodes agrees
/// (docs/laws/calibrated_workstation.md).
inline constexpr double most_decodes_with_chunk = 128.0;

/// Accelerator model and engine that a calibration is for. With an empty name it applies to every
/// accelerator, with engine::none to every engine.
struct calibration_target {
  label accelerator{};
  chip_architecture architecture{};
  engine serving_engine = engine::none;
};

namespace detail {
[[noreturn]] inline void refuse_accelerator(const calibration_target& target, const label& device,
                                            chip_architecture architecture) {
  throw error(error_code::inconsistent,
              std::string("policy: calibrated for ") + target.accelerator.c_str() + " (" +
                  name_of(target.architecture) + "), and the deployment is on " + device.c_str() +
                  " (" + name_of(architecture) +
                  "); allowed: calibrated_for(deployment), or a policy without an accelerator");
}
[[noreturn]] inline void refuse_engine(const calibration_target& target, engine serving_engine) {
  throw error(error_code::inconsistent,
              std::string("policy: calibrated for ") + name_of(target.serving_engine) +
                  ", and the deployment's serving_engine is " + name_of(serving_engine) +
                  "; allowed: calibrated_for(deployment), or engine none in one of the two");
}
}  // namespace detail

/// Execution policy with a calibrated time for each operator that was measured. It also prices
/// collectives, on links inside a node and between nodes.
/// The format of the KV cache selects the attention kernels. The formats of weights and operands,
/// and expert parallelism, select the expert kernels.
/// calibrated_for(deployment) makes this policy; lift<T> converts it to another scalar type.
template <Scalar T = double>
struct basic_calibrated {
  using hooks =
      policy_hooks<basic_calibrated, policy_hook::estimate, policy_hook::time,
                   policy_hook::mixed_attention_time, policy_hook::elementwise_kernels,
                   policy_hook::cpu_time, policy_hook::rank_wait, policy_hook::step_time_factor,
                   policy_hook::engine, policy_hook::require_target>;

  basic_machine_parameters<T> machine{};
  basic_engine_profile<T> engine{};
  basic_attention_parameters<T> attention{};
  basic_attention_kernels<T> attention_kernels{};  ///< attention kernels with a 16-bit KV cache
  /// attention kernels with a KV cache of fewer than 16 bits
  basic_attention_kernels<T> low_precision_attention_kernels{};
  /// expert kernels with 16-bit weights and operands, or with 4-bit weights and 8- or 4-bit
  /// operands
  basic_moe_kernels<T> moe_kernels{};
  /// expert kernels with 16-bit weights, for shapes without tuned tiles
  std::optional<basic_moe_kernels<T>> untuned_moe_kernels{};
  /// CUTLASS's expert kernels with 4-bit weights and operands (NVFP4), for moe_backend::cutlass
  std::optional<basic_moe_kernels<T>> nvfp4_moe_kernels{};
  /// expert kernels with 4-bit weights and 8- or 4-bit operands; absent: moe_kernels
  std::optional<basic_moe_kernels<T>> four_bit_moe_kernels{};
  /// expert kernels with weights of fewer than 16 bits and 16-bit operands
  basic_moe_kernels<T> dequantised_moe_kernels{};
  /// expert kernels with 8-bit weights and operands, without expert parallelism
  basic_moe_kernels<T> low_precision_moe_kernels{};
  /// expert kernels with 8-bit weights and operands, with expert parallelism
  basic_moe_kernels<T> expert_parallel_moe_kernels{};
  basic_calibrated_collectives<T> links{};    ///< links inside a node
  basic_calibrated_collectives<T> network{};  ///< links between nodes: InfiniBand, Ethernet
  /// attention kernel of prefills with decodes; absent: not measured
  std::optional<basic_mixed_attention_parameters<T>> mixed_attention{};
  /// element-wise kernels of a step that were measured separately
  basic_elementwise_kernels<T> elementwise_kernels{};
  duration<T> kernel_time = lift<T>(graph_kernel_time);  ///< launch of a kernel in a captured graph
  basic_call_conditions<T> conditions{};  ///< L2 state and routing of operators, as inside a model
  std::array<profile_note, 6> notes{};    ///< source and log_sigma of each profile_part
  calibration_target target{};
  service_uncertainty services{};  ///< uncertainty of service times beyond that of kernels

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("engine", s.engine...);
    f("attention", s.attention...);
    f("attention_kernels", s.attention_kernels...);
    f("low_precision_attention_kernels", s.low_precision_attention_kernels...);
    f("moe_kernels", s.moe_kernels...);
    f("untuned_moe_kernels", s.untuned_moe_kernels...);
    f("nvfp4_moe_kernels", s.nvfp4_moe_kernels...);
    f("four_bit_moe_kernels", s.four_bit_moe_kernels...);
    f("dequantised_moe_kernels", s.dequantised_moe_kernels...);
    f("low_precision_moe_kernels", s.low_precision_moe_kernels...);
    f("expert_parallel_moe_kernels", s.expert_parallel_moe_kernels...);
    f("links", s.links...);
    f("network", s.network...);
    f("mixed_attention", s.mixed_attention...);
    f("elementwise_kernels", s.elementwise_kernels...);
    f(field::not_negative("kernel_time"), s.kernel_time...);
    f("conditions", s.conditions...);
    f("notes", s.notes...);
    f("target", s.target...);
    f("services", s.services...);
  }

  /// Throws error_code::inconsistent for a deployment on another accelerator model (name or
  /// architecture) or with another engine. A modified accelerator that keeps the name is accepted.
  constexpr void require_target(const basic_accelerator<T>& device,
                                perfmodel::engine serving_engine) const {
    const bool is_named = !target.accelerator.view().empty();
    if (is_named &&
        !(target.accelerator == device.name && target.architecture == device.architecture)) {
      detail::refuse_accelerator(target, device.name, device.architecture);
    }
    if (target.serving_engine != perfmodel::engine::none &&
        serving_engine != perfmodel::engine::none && target.serving_engine != serving_engine) {
      detail::refuse_engine(target, serving_engine);
    }
  }

  constexpr flop_rate<T> matrix_rate(const basic_accelerator<T>& a,
                                     const basic_demand<T>& d) const {
    return machine.matrix_share * peak(a, d.format);
  }
  /// Peak vector rate of the data sheet: no measured kernel was limited by it.
  constexpr flop_rate<T> vector_rate(const basic_accelerator<T>& a, const basic_demand<T>&) const {
    return vector_peak(a);
  }
  /// DRAM bandwidth that an operator reaches: that of GEMMs, or the higher one of element-wise
  /// kernels for operators without matrix FLOP.
  constexpr perfmodel::bandwidth<T> dram_bandwidth(const basic_accelerator<T>& a,
                                                   const basic_demand<T>& d) const {
    const T share = upper(d.matrix_flop.value()) > 0.0
                        ? machine.dram_share
                        : scalar_max(machine.dram_share, T(elementwise_dram_share));
    return share * a.dram.bandwidth.quantity();
  }
  constexpr duration<T> launch_time(const basic_accelerator<T>&, const basic_demand<T>& d) const {
    return d.launches * kernel_time;
  }

  /// CPU time of an engine step with `sequences` sequences in a data-parallel group.
  constexpr duration<T> cpu_time(const T& sequences) const {
    return engine.step_cpu_time + sequences * engine.sequence_cpu_time;
  }
  /// Time per collective that ranks wait for the last one.
  constexpr const duration<T>& rank_wait() const { return engine.rank_wait; }
  /// Factor: step time / (kernel + link time), measured on a running service; absent: not
  /// calibrated.
  constexpr const std::optional<T>& step_time_factor() const { return engine.step_time_factor; }

  /// The next three functions price a collective, as those of basic_calibrated_collectives do. They
  /// use the parameters of `links` or of `network`, whichever the interconnect `l` is.
  constexpr bool selects(const basic_interconnect<T>& l, const basic_schedule<T>& s) const {
    return link_cost_of(l).selects(l, s);
  }
  constexpr basic_collective_price<T> price(const basic_interconnect<T>& l,
                                            const basic_schedule<T>& s) const {
    return link_cost_of(l).price(l, s);
  }
  template <class Add>
  constexpr bool visit_cost_pieces(const basic_interconnect<T>& l, const basic_schedule<T>& s,
                                   const Add& add) const {
    return link_cost_of(l).visit_cost_pieces(l, s, add);
  }

  /// Time of an operator with its breakdown, under the conditions of this policy.
  template <class Operator>
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const Operator& x) const requires
      requires(const basic_calibrated& c) {
    calibrated_estimate(a, x, c, c.conditions);
  }
  { return calibrated_estimate(a, x, *this, conditions_of(x)); }

  /// Time of a prefill chunk and decodes in one attention kernel. Empty if that was not measured:
  /// head_dim other than 128, a KV cache of fewer than 16 bits, or a sliding window.
  constexpr std::optional<duration<T>> mixed_attention_time(
      const basic_accelerator<T>& a, const basic_attention_prefill<T>& prefills,
      const basic_attention_decode<T>& decodes) const {
    const bool is_measured = mixed_attention && !prefills.window && !decodes.window &&
                             lower(prefills.head_dim) == 128.0 &&
                             upper(prefills.head_dim) == 128.0 && prefills.kv_format.bits() >= 16.0;
    if (!is_measured) return std::nullopt;
    basic_attention_decode<T> measured_decodes = decodes;
    measured_decodes.batch = scalar_min(measured_decodes.batch, T(most_decodes_with_chunk));
    const duration<T> mixed_time =
        calibrated_estimate(a, prefills, measured_decodes, {machine, *mixed_attention}).time;
    if (!(upper(decodes.batch) > most_decodes_with_chunk)) return mixed_time;
    return mixed_time + (estimate(a, decodes).time - estimate(a, measured_decodes).time);
  }
  template <class Streamed>
  constexpr duration<T> elementwise_kernel_time(const basic_accelerator<T>& a, elementwise_kernel k,
                                                const Streamed& x) const {
    return perfmodel::elementwise_kernel_time(a, k, x, machine, elementwise_kernels);
  }

  /// Time of a valid operator, without its breakdown and shares of the peaks.
  template <class Operator>
  constexpr duration<T> time(const basic_accelerator<T>& a, const Operator& x) const requires
      requires(const basic_calibrated& c) {
    calibrated_estimate(a, x, c, c.conditions);
  }
  {
    return detail::operator_time(a, x, *this, conditions_of(x), [&](const basic_gemm<T>& g) {
      return time_of_kernel(a, g, demand_of(valid_operator{g}), detail::view_for(g, *this),
                            conditions, detail::no_terms{})
          .time;
    });
  }
  /// Time of an operator, from the memo if an earlier step of the service had the same operator.
  /// Plain floating-point scalars only.
  using memo_type = detail::operator_memo<T>;
  template <class Operator>
  constexpr duration<T> time(const basic_accelerator<T>& a, const Operator& x,
                             memo_type& memo) const requires std::is_floating_point_v<T> &&
      requires(const basic_calibrated& c) {
    calibrated_estimate(a, x, c, c.conditions);
  }
  {
    if constexpr (std::same_as<Operator, basic_attention_decode<T>>) {
      return memo.decodes.value_of(x, [&] { return time(a, x); });
    } else if constexpr (std::same_as<Operator, basic_attention_prefill<T>>) {
      return memo.prefills.value_of(x, [&] { return time(a, x); });
    } else {
      return detail::operator_time(a, x, *this, conditions_of(x), [&](const basic_gemm<T>& g) {
        detail::gemm_entry<T>& known = memo.gemms.value_of(
            std::tie(g.n, g.k, g.format, g.weights, g.output),
            [&] { return detail::gemm_entry<T>{detail::rates_of_gemm(a, g, machine, engine)}; });
        if (known.rows != g.m) {
          known.rows = g.m;
          if (memo.last_rows != g.m) {
            memo.last_rows = g.m;
            memo.rows = detail::gemm_rows<T>(g.m, known.rates.instruction_rows);
          }
          const detail::gemm_call<T> call{a,       g,      known.rates, memo.rows,
                                          machine, engine, conditions};
          known.time = call.time(call.needs(), detail::no_terms{});
        }
        return known.time;
      });
    }
  }

  /// Source and log_sigma of one profile.
  constexpr const profile_note& note(profile_part p) const {
    return perfmodel::detail::entry_of(notes, p, "profile_part");
  }

 private:
  /// If element-wise kernels are counted separately, norms find their inputs in L2.
  constexpr basic_call_conditions<T> conditions_of(const basic_norm<T>&) const {
    basic_call_conditions<T> found = conditions;
    if (elementwise_kernels.has_any()) found.cache = cache_state::warm;
    return found;
  }
  template <class Operator>
  constexpr const basic_call_conditions<T>& conditions_of(const Operator&) const {
    return conditions;
  }
  constexpr const basic_calibrated_collectives<T>& link_cost_of(
      const basic_interconnect<T>& l) const {
    return l.kind == link_kind::infiniband || l.kind == link_kind::ethernet ? network : links;
  }
};
using calibrated = basic_calibrated<>;

}  // namespace perfmodel::inline v0_3
