// Calibration of an accelerator model and of a serving engine: physical parameters, fitted to
// measurements.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/laws/data_paths.hpp>
#include <perfmodel/operators/demand.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>

// Conditions under which a kernel runs: L2 state, routing of tokens to experts.

namespace perfmodel::inline v0_3 {

/// State of L2 at the start of a kernel: `warm` if it still has data of the kernel's previous run.
/// In a model it is cold, since other layers run in between. In a benchmark that replays one kernel
/// it may be warm.
enum class cache_state { warm, cold };

/// How tokens choose experts. `random`: each token chooses independently. `balanced`: every expert
/// has the same number of tokens. `grouped`: balanced, but all tokens choose from the same half of
/// the experts. A router with expert groups (DeepSeek: 4 of 8) does so for similar tokens.
/// `power_law`: some experts are more popular than others, see popular_experts.
enum class expert_routing { random, balanced, grouped, power_law };

/// Conditions under which a kernel runs; the defaults are those inside a model. A benchmark of one
/// GEMM reads `weight_copies` weight buffers in turn, so a warm L2 has a part of each.
template <Scalar T = double>
struct basic_call_conditions {
  cache_state cache = cache_state::cold;
  T weight_copies = T(1.0);  ///< number of weight buffers that a benchmark reads in turn
  expert_routing routing = expert_routing::random;
  T popularity_exponent = T(1.2);  ///< exponent of expert_routing::power_law
  T imbalance = T(1.0);  ///< rows of the busiest rank / mean rows, with expert parallelism
  /// limit on the rows of a rank / mean rows of a rank; rows beyond it are dropped
  std::optional<T> capacity_factor{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("cache", s.cache...);
    f(field::positive("weight_copies"), s.weight_copies...);
    f("routing", s.routing...);
    f(field::positive("popularity_exponent"), s.popularity_exponent...);
    f(field::count("imbalance"), s.imbalance...);
    f(field::count("capacity_factor"), s.capacity_factor...);
  }
};
using call_conditions = basic_call_conditions<>;

/// Conditions of a benchmark that reads `weight_copies` weight buffers in turn. 0 stands for a
/// benchmark that empties L2 before each run: cold. Errors: weight_copies negative.
template <Scalar T>
constexpr basic_call_conditions<T> replay_conditions(const T& weight_copies) {
  if (!(upper(detail::not_negative("weight_copies", weight_copies)) > 0.0)) return {};
  return {.cache = cache_state::warm, .weight_copies = weight_copies};
}

namespace detail {

/// 1 if the count x is above 0, else 0.
template <Scalar T>
constexpr T indicator(const T& x) {
  using math::ceil;
  return scalar_max(T(0.0), scalar_min(T(1.0), T(ceil(x))));
}

}  // namespace detail

// Parameters fitted to measurements, and their accuracy.

/// Parameters fitted to measurements of one machine, each with its standard error. A standard error
/// of 0 marks a derived or assumed value, see `from`.
/// `log_sigma` is the standard deviation of ln(measured / predicted). It is set so that 80 % of
/// held-out measurements lie within z90 x log_sigma, as for a normal error.
/// Profiles of different parameters are different types.
template <class Parameters>
struct fitted_profile;

template <template <class> class Parameters, class T>
struct fitted_profile<Parameters<T>> {
  label name{};                ///< name of an accelerator model or of a kind of fabric
  const accelerator* donor{};  ///< accelerator model that was measured; null: see `from`
  Parameters<T> value{};
  Parameters<T> standard_error{};
  T log_sigma{};
  const source* from = &given_by_caller;
  const measured_releases* releases = nullptr;  ///< null: not measured, or by the caller

  /// True if the parameters were fitted to another accelerator model than `name`.
  constexpr bool transferred() const { return donor != nullptr && !(donor->name == name); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("donor", s.donor...);
    f("value", s.value...);
    f("standard_error", s.standard_error...);
    f(field::within("log_sigma", 0.0, 100.0, "0 to 100"), s.log_sigma...);
    f("from", s.from...);
    f("releases", s.releases...);
  }
};

namespace detail {
template <class To, template <class> class Parameters, class From>
struct rebind<To, fitted_profile<Parameters<From>>> {
  using type = fitted_profile<Parameters<To>>;
};
}  // namespace detail

/// Half-width of the 80 % interval of a normal distribution, in standard deviations (its 90 %
/// quantile).
inline constexpr double z90 = 1.2816;

/// Interval that contains 80 % of measurements: prediction x exp(-+z90 log_sigma).
template <Scalar T = double>
struct basic_time_range {
  duration<T> low{}, high{};
};
using time_range = basic_time_range<>;

/// 80 % interval of a predicted time: predicted x exp(-+z90 log_sigma).
/// Errors: predicted negative, log_sigma outside 0 to 100. Test: within a few %, 80 % of the
/// measurements left out of the fit lie inside.
template <Scalar T>
constexpr basic_time_range<T> range_of(const duration<T>& predicted,
                                       const std::type_identity_t<T>& log_sigma) {
  using math::exp;
  detail::not_negative("predicted", predicted);
  detail::not_negative("log_sigma", log_sigma);
  const T factor = exp(z90 * detail::within("log_sigma", log_sigma, 0.0, 100.0, "0 to 100"));
  return {predicted / factor, predicted * factor};
}

/// Fitted parameters of one accelerator model, shared by GEMMs, attention, experts and element-wise
/// kernels. They are eight, and a ninth if element-wise kernels were measured separately.
template <Scalar T = double>
struct basic_machine_parameters {
  duration<T> matrix_floor{};  ///< launch, start and end of a GEMM kernel in a captured graph
  T matrix_share = T(1.0);     ///< share of the dense matrix peak that a short kernel reaches
  T dram_share = T(1.0);       ///< share of DRAM bandwidth that a GEMM reaches
  /// rate at which all SMs receive the operands of GEMM tiles, from L2 and multicast
  perfmodel::bandwidth<T> operand_bandwidth{};
  duration<T> tile_fill{};   ///< pipeline fill and epilogue of one output tile, see tiled_time
  duration<T> split_cost{};  ///< reduction of a split-K GEMM: second kernel or barrier
  T power_slowdown{};        ///< relative slowdown of dense kernels above 1 ms, by the power limit
  /// L2 bandwidth of streaming reads, all SMs; absent: not known
  std::optional<perfmodel::bandwidth<T>> l2_bandwidth{};
  /// L2 bandwidth of element-wise kernels; absent: l2_bandwidth
  std::optional<perfmodel::bandwidth<T>> elementwise_l2_bandwidth{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::not_negative("matrix_floor"), s.matrix_floor...);
    f(field::positive("matrix_share"), s.matrix_share...);
    f(field::positive("dram_share"), s.dram_share...);
    f(field::positive("operand_bandwidth"), s.operand_bandwidth...);
    f(field::not_negative("tile_fill"), s.tile_fill...);
    f(field::not_negative("split_cost"), s.split_cost...);
    f(field::not_negative("power_slowdown"), s.power_slowdown...);
    f(field::positive("l2_bandwidth"), s.l2_bandwidth...);
    f(field::positive("elementwise_l2_bandwidth"), s.elementwise_l2_bandwidth...);
  }
};
using machine_parameters = basic_machine_parameters<>;

template <Scalar T = double>
using basic_machine_profile = fitted_profile<basic_machine_parameters<T>>;
using machine_profile = basic_machine_profile<>;

/// Costs that a serving engine adds to its kernels; with the default values they are all zero.
/// GEMMs with 8-bit or 4-bit operands: kernels that quantise the activations at run time. GEMMs
/// with weights of fewer bits than the activations: dequantisation inside the kernel, which the
/// calibrated profile of engine `none` has too.
/// Engine steps: CPU time during which the device waits. Requests: CPU time of parsing and of
/// responding.
template <Scalar T = double>
struct basic_engine_profile {
  label name{"none"};
  duration<T> tensor_scale_floor{};  ///< launch of quantisation, one scale per tensor or row (fp8)
  duration<T> quantise_floor{};  ///< launch of quantisation in other formats: block scales, nvfp4
  T quantise_bytes{};       ///< L2 bytes of quantisation per activation, scales per tensor or row
  T quantise_row_cycles{};  ///< SM cycles of quantisation per row, scales per tensor or row
  /// additional time in a benchmark of a GEMM with one row, on chips that apply block scales in
  /// hardware (Blackwell)
  duration<T> single_row_time{};
  /// share of the matrix rate that GEMMs with block scales reach, with matrix instructions of 64
  /// rows or more
  T block_scale_share = T(1.0);
  /// share of the matrix rate that GEMMs with block scales reach, with matrix instructions of fewer
  /// than 64 rows (Ada, Ampere)
  T mma_block_scale_share = T(1.0);
  /// least time per element of K of a GEMM tile with 8-bit operands, on chips with matrix
  /// instructions of 64 rows or more
  duration<T> low_precision_step{};
  duration<T> four_bit_step{};  ///< least time per element of K of a tile with 4-bit operands
  /// least time per element of K with 4-bit operands, in a benchmark of kernels without tuning
  duration<T> untuned_four_bit_step{};
  duration<T> dequantisation_floor{};  ///< added to matrix_floor if weights are dequantised
  T dequantisation_cycles{};  ///< SM cycles to dequantise a weight, in every tile that reads it
  /// fraction of the benchmarked quantisation time that remains inside a model, with scales per
  /// tensor or row
  T tensor_scale_share = T(1.0);
  /// fraction of the benchmarked quantisation time that remains inside a model, with other scales;
  /// the rest is fused
  T quantise_share = T(1.0);
  duration<T> step_cpu_time{};      ///< CPU time per engine step: scheduling, sampling, launch
  duration<T> sequence_cpu_time{};  ///< CPU time per engine step for each sequence
  /// time per layer of kernels that no operator counts: rotary embedding, cache write, activation,
  /// quantisation, gaps between kernels
  duration<T> layer_time{};
  /// additional time per layer with routed experts: routing, sorting, their quantisation
  duration<T> expert_layer_time{};
  /// additional time per layer with latent attention in fp8 blocks: its absorbed projections
  duration<T> latent_layer_time{};
  /// additional time per layer with latent attention, in steps with prefill: Python launches its
  /// kernels one by one, and waits for their results
  duration<T> prefill_latent_layer_time{};
  /// additional time per layer with a recurrence, in steps with prefill
  duration<T> prefill_recurrent_layer_time{};
  /// CPU time per layer with 4-bit experts and 16-bit operands in steps with prefill: its launches,
  /// hidden where kernels and links take longer
  duration<T> prefill_expert_launch_time{};
  duration<T> rank_wait{};         ///< time per collective that ranks wait for the last one
  duration<T> request_cpu_time{};  ///< CPU time per request: HTTP, tokenisation, detokenisation
  T request_iterations{};          ///< engine steps that a request waits before it can join one
  /// factor: time of a step with prefills / predicted time, fitted to closed forms of running
  /// services with what those leave out; a single step has about 1.0 (docs/laws/engines.md)
  T prefill_step_factor = T(1.0);
  /// decode steps between the transfer of a KV cache and the first token, in disaggregated pools
  T pool_iterations{};
  duration<T> run_start{};  ///< delay of the initial burst of a run, in addition to its prefills
  /// delay of the initial burst with weights in fp8 blocks, in addition to run_start
  duration<T> compile_time{};
  /// factor: step time / (kernel + link time), measured on a running service; absent: not
  /// calibrated
  std::optional<T> step_time_factor{};
  T log_sigma{};  ///< uncertainty of GEMMs with quantised operands, see fitted_profile
  const source* from = &given_by_caller;
  const measured_releases* releases = nullptr;  ///< releases of the services behind its times

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::not_negative("tensor_scale_floor"), s.tensor_scale_floor...);
    f(field::not_negative("quantise_floor"), s.quantise_floor...);
    f(field::not_negative("quantise_bytes"), s.quantise_bytes...);
    f(field::not_negative("quantise_row_cycles"), s.quantise_row_cycles...);
    f(field::not_negative("single_row_time"), s.single_row_time...);
    f(field::positive("block_scale_share"), s.block_scale_share...);
    f(field::positive("mma_block_scale_share"), s.mma_block_scale_share...);
    f(field::not_negative("low_precision_step"), s.low_precision_step...);
    f(field::not_negative("four_bit_step"), s.four_bit_step...);
    f(field::not_negative("untuned_four_bit_step"), s.untuned_four_bit_step...);
    f(field::not_negative("dequantisation_floor"), s.dequantisation_floor...);
    f(field::not_negative("dequantisation_cycles"), s.dequantisation_cycles...);
    f(field::not_negative("tensor_scale_share"), s.tensor_scale_share...);
    f(field::not_negative("quantise_share"), s.quantise_share...);
    f(field::not_negative("step_cpu_time"), s.step_cpu_time...);
    f(field::not_negative("sequence_cpu_time"), s.sequence_cpu_time...);
    f(field::not_negative("layer_time"), s.layer_time...);
    f(field::not_negative("expert_layer_time"), s.expert_layer_time...);
    f(field::not_negative("latent_layer_time"), s.latent_layer_time...);
    f(field::not_negative("prefill_latent_layer_time"), s.prefill_latent_layer_time...);
    f(field::not_negative("prefill_recurrent_layer_time"), s.prefill_recurrent_layer_time...);
    f(field::not_negative("prefill_expert_launch_time"), s.prefill_expert_launch_time...);
    f(field::not_negative("rank_wait"), s.rank_wait...);
    f(field::not_negative("request_cpu_time"), s.request_cpu_time...);
    f(field::not_negative("request_iterations"), s.request_iterations...);
    f(field::positive("prefill_step_factor"), s.prefill_step_factor...);
    f(field::not_negative("pool_iterations"), s.pool_iterations...);
    f(field::not_negative("run_start"), s.run_start...);
    f(field::not_negative("compile_time"), s.compile_time...);
    f(field::positive("step_time_factor"), s.step_time_factor...);
    f(field::not_negative("log_sigma"), s.log_sigma...);
    f("from", s.from...);
    f("releases", s.releases...);
  }
};
using engine_profile = basic_engine_profile<>;

/// Machine parameters of one accelerator model, and the parameters of one kind of kernel on it:
/// experts, element-wise kernels, or mixed attention.
template <class Kernels>
struct kernel_calibration;
template <template <class> class Kernels, class T>
struct kernel_calibration<Kernels<T>> {
  basic_machine_parameters<T> machine{};
  Kernels<T> kernels{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("kernels", s.kernels...);
  }
};

namespace detail {
template <class To, template <class> class Kernels, class From>
struct rebind<To, kernel_calibration<Kernels<From>>> {
  using type = kernel_calibration<Kernels<To>>;
};

/// SM clock of an accelerator that states it.
template <Scalar T>
constexpr frequency<T> clock_of(const basic_accelerator<T>& a) {
  return positive("vector.clock", a.vector.clock.quantity());
}

/// References to the parts of a calibration, so that frequent calls copy nothing.
template <Scalar T, class Kernels>
struct calibration_view {
  const basic_machine_parameters<T>& machine;
  const Kernels& kernels;
};

/// Time of a kernel, and its bytes from DRAM. The longest of its first `limiting` terms limits it.
template <Scalar T>
struct kernel_time {
  duration<T> time{};
  bytes<T> from_dram{};
  std::size_t limiting = 0;
};

/// Estimate of an operator from its law, time_of_kernel(a, x, demand, calibration, conditions,
/// terms): the time with its breakdown, its limiter, and its shares of the peaks.
template <Scalar T, class Operator, class Calibration>
constexpr basic_estimate<T> estimate_of_kernel(const basic_accelerator<T>& a, const Operator& x,
                                               const Calibration& c,
                                               const basic_call_conditions<T>& conditions) {
  const basic_demand<T> needs = demand_of(x);
  basic_estimate<T> e;
  const kernel_time<T> t = time_of_kernel(a, x, needs, c, conditions, e.terms);
  e.time = t.time;
  e.limiter = e.terms.limiting(t.limiting);
  if (upper(needs.matrix_flop.value()) > 0.0) {
    e.mfu = needs.matrix_flop / peak(a, needs.format) / e.time;
  }
  e.mbu = t.from_dram / a.dram.bandwidth.quantity() / e.time;
  return e;
}
}  // namespace detail

}  // namespace perfmodel::inline v0_3
