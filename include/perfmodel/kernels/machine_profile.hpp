// Calibration of an accelerator: few physical parameters, fitted to measurements.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>

// Conditions of a call: L2 state, and routing of tokens to experts.

namespace perfmodel::inline v0_3 {

/// Whether a call finds in L2 the data of its previous run. In a model it does not, for the other
/// layers run in between; in a benchmark that replays one call it may.
enum class cache_state { warm, cold };

/// Choice of experts by tokens. `random`: independent choices. `balanced`: every expert has equally
/// many tokens. `grouped`: balanced, and every token takes the same half of the experts, as a
/// grouped router (DeepSeek's, 4 of 8) does for similar tokens.
enum class expert_routing { random, balanced, grouped };

/// Conditions of a call; the default is a call inside a model. A benchmark of one GEMM reads
/// `weight_copies` weight buffers in turn, so that a warm L2 has a part of each.
template <Scalar T = double>
struct basic_call_conditions {
  cache_state cache = cache_state::cold;
  T weight_copies = T(1.0);
  expert_routing routing = expert_routing::random;
  T imbalance = T(1.0);  ///< rows of the busiest rank over the mean, with expert parallelism
  std::optional<T> capacity_factor{};  ///< most rows of a rank over the mean; the rest is dropped

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("cache", s.cache...);
    f(field::positive("weight_copies"), s.weight_copies...);
    f("routing", s.routing...);
    f(field::count("imbalance"), s.imbalance...);
    f(field::count("capacity_factor"), s.capacity_factor...);
  }
};
using call_conditions = basic_call_conditions<>;

/// Conditions of a benchmark that reads `weight_copies` weight buffers in turn. A benchmark that
/// empties the L2 has none: 0 is cold. Errors: weight_copies negative.
template <Scalar T>
constexpr basic_call_conditions<T> replay_conditions(const T& weight_copies) {
  if (!(upper(detail::not_negative("weight_copies", weight_copies)) > 0.0)) return {};
  return {.cache = cache_state::warm, .weight_copies = weight_copies};
}

namespace detail {

/// Share of a working set still resident in L2: 1 / (1 + (bytes / capacity)^8), a smooth step at
/// `capacity`. It is 1.0 far below, (capacity / bytes)^8 above. Test: 1/2 at `capacity`.
template <Scalar T>
constexpr T l2_resident_share(const bytes<T>& working_set, const bytes<T>& capacity) {
  const T x = named("L2 filled", T(working_set / detail::positive("l2.capacity", capacity)));
  const T x2 = x * x;
  const T x4 = x2 * x2;
  return 1.0 / (1.0 + x4 * x4);
}

/// Indicator of a count: 1 where x is above 0, else 0.
template <Scalar T>
constexpr T indicator(const T& x) {
  using math::ceil;
  return scalar_max(T(0.0), scalar_min(T(1.0), T(ceil(x))));
}

}  // namespace detail

// Parameters fitted to measurements, and their accuracy.

/// Parameters fitted to measurements of one machine, each with its standard error (0: derived or
/// assumed, see `from`).
/// 80 % of |ln(measured / predicted)| of held-out rows are below z90 log_sigma, as for a normal
/// error with that standard deviation. Profiles of different parameters are different types.
template <class Parameters>
struct fitted_profile;

template <template <class> class Parameters, class T>
struct fitted_profile<Parameters<T>> {
  label name{};                ///< an accelerator, or a kind of fabric
  const accelerator* donor{};  ///< machine that was measured; null: see `from`
  Parameters<T> value{};
  Parameters<T> standard_error{};
  T log_sigma{};
  const source* from = &given_by_caller;

  /// Whether the parameters were fitted to another machine.
  constexpr bool transferred() const { return donor != nullptr && !(donor->name == name); }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f("donor", s.donor...);
    f("value", s.value...);
    f("standard_error", s.standard_error...);
    f(field::within("log_sigma", 0.0, 100.0, "0 to 100"), s.log_sigma...);
    f("from", s.from...);
  }
};

namespace detail {
template <class To, template <class> class Parameters, class From>
struct rebind<To, fitted_profile<Parameters<From>>> {
  using type = fitted_profile<Parameters<To>>;
};
}  // namespace detail

/// 80 % of a standard normal error lie within this many standard deviations.
inline constexpr double z90 = 1.2816;

/// An interval that holds 80 % of measurements: prediction x exp(-+z90 log_sigma).
template <Scalar T = double>
struct basic_time_range {
  duration<T> low{}, high{};
};
using time_range = basic_time_range<>;

/// Interval of a prediction: prediction x exp(-+z90 log_sigma).
/// Errors: predicted negative, log_sigma outside 0 to 100. Test: 80 % of rows held out of the fit
/// lie inside, within a few %.
template <Scalar T>
constexpr basic_time_range<T> range_of(const duration<T>& predicted,
                                       const std::type_identity_t<T>& log_sigma) {
  using math::exp;
  detail::not_negative("predicted", predicted);
  detail::not_negative("log_sigma", log_sigma);
  const T factor = exp(z90 * detail::within("log_sigma", log_sigma, 0.0, 100.0, "0 to 100"));
  return {predicted / factor, predicted * factor};
}

/// Fitted parameters of one machine, shared by GEMMs, attention, experts and element-wise
/// operators: eight, and a ninth where element-wise kernels were measured separately.
template <Scalar T = double>
struct basic_machine_parameters {
  duration<T> matrix_floor{};  ///< launch, start and drain of a matrix kernel replayed from a graph
  T matrix_share = T(1.0);     ///< share of the dense matrix peak that a short kernel reaches
  T dram_share = T(1.0);       ///< share of DRAM bandwidth that a GEMM reaches
  perfmodel::bandwidth<T> operand_bandwidth{};  ///< operand feed of all tiles: L2 and multicast
  duration<T> tile_fill{};   ///< pipeline fill and epilogue of one output tile, see tiled_time
  duration<T> split_cost{};  ///< second kernel or barrier, where k is split over SMs
  T power_slowdown{};        ///< a long dense kernel tends to (1 + power_slowdown) times its time
  /// rate of the chip in streaming reads; absent where not known
  std::optional<perfmodel::bandwidth<T>> l2_bandwidth{};
  std::optional<perfmodel::bandwidth<T>>
      elementwise_l2_bandwidth{};  ///< rate of element-wise kernels, where it differs

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
    f(field::positive("streaming_l2_bandwidth"), s.elementwise_l2_bandwidth...);
  }
};
using machine_parameters = basic_machine_parameters<>;

template <Scalar T = double>
using basic_machine_profile = fitted_profile<basic_machine_parameters<T>>;
using machine_profile = basic_machine_profile<>;

/// Additional costs of a serving engine. Low-precision GEMMs: kernels that quantise the activations
/// at run time. GEMMs with weights below the activations' precision: dequantisation, in plain
/// libraries too.
/// Engine steps: CPU time that the device waits for. Requests: CPU time of parsing and responding.
/// The defaults have none of it.
template <Scalar T = double>
struct basic_engine_profile {
  label name{"none"};
  duration<T> tensor_scale_floor{};  ///< launches with a scale per tensor or row (fp8)
  duration<T> quantise_floor{};      ///< launches where every scale is per block (nvfp4 too)
  T quantise_bytes{};                ///< L2 bytes per activation, without block scales
  T quantise_row_cycles{};           ///< SM cycles of a row's thread block, without block scales
  /// additional time of a single row in a benchmark, with matrix units that scale blocks
  duration<T>  /// (Blackwell)
      single_row_time{};
  T block_scale_share = T(1.0);  ///< share of the matrix rate left with block scales
  /// share left with block scales, with instructions of fewer than 64 rows (Ada, Ampere)
  T mma_block_scale_share = T(1.0);
  /// least time of one k in 8 bits, with instructions of 64 rows
  duration<T> low_precision_step{};
  duration<T> four_bit_step{};  ///< least time of one k in 4 bits
  /// least time of one k in 4 bits by untuned kernels, as a benchmark replays them
  duration<T> untuned_four_bit_step{};
  /// added to matrix_floor where weights have fewer bits than activations
  duration<T> dequantisation_floor{};
  T dequantisation_cycles{};  ///< SM cycles to dequantise one weight, in each tile
  /// share of the quantisation time left in a model, with a scale per tensor
  T tensor_scale_share = T(1.0);
  T quantise_share = T(1.0);        ///< share left in a model with other scales; the rest is fused
  duration<T> step_cpu_time{};      ///< CPU time of a step: scheduling, sampling, graph launch
  duration<T> sequence_cpu_time{};  ///< CPU time of a sequence in a step
  duration<T> rank_wait{};          ///< wait of a collective for its last rank
  duration<T> request_cpu_time{};   ///< CPU time of a request: HTTP, tokenisation, detokenisation
  /// engine steps in progress or scheduled before one that a request can join
  T request_iterations{};
  T prompt_time = T(1.0);  ///< time of a step with prefills over that of its kernels
  /// start-up delay of a run's initial burst, in addition to its prefills
  duration<T> run_start{};
  /// time of a step over that of its kernels and links, calibrated to a service
  std::optional<T> step_time{};
  T log_sigma{};  ///< uncertainty of quantised GEMMs, as in a machine profile
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::not_negative("tensor_scale_floor"), s.tensor_scale_floor...);
    f(field::not_negative("quantise_floor"), s.quantise_floor...);
    f(field::not_negative("quantise_bytes"), s.quantise_bytes...);
    f(field::not_negative("quantise_row_cycles"), s.quantise_row_cycles...);
    f(field::not_negative("lone_row"), s.single_row_time...);
    f(field::positive("block_scale_share"), s.block_scale_share...);
    f(field::positive("mma_block_scale_share"), s.mma_block_scale_share...);
    f(field::not_negative("narrow_step"), s.low_precision_step...);
    f(field::not_negative("four_bit_step"), s.four_bit_step...);
    f(field::not_negative("untuned_four_bit_step"), s.untuned_four_bit_step...);
    f(field::not_negative("widening_floor"), s.dequantisation_floor...);
    f(field::not_negative("widening_cycles"), s.dequantisation_cycles...);
    f(field::not_negative("tensor_scale_share"), s.tensor_scale_share...);
    f(field::not_negative("quantise_share"), s.quantise_share...);
    f(field::not_negative("step_host"), s.step_cpu_time...);
    f(field::not_negative("sequence_host"), s.sequence_cpu_time...);
    f(field::not_negative("rank_wait"), s.rank_wait...);
    f(field::not_negative("request_host"), s.request_cpu_time...);
    f(field::not_negative("request_iterations"), s.request_iterations...);
    f(field::positive("prompt_time"), s.prompt_time...);
    f(field::not_negative("run_start"), s.run_start...);
    f(field::positive("pass_time"), s.step_time...);
    f(field::not_negative("log_sigma"), s.log_sigma...);
    f("from", s.from...);
  }
};
using engine_profile = basic_engine_profile<>;

}  // namespace perfmodel::inline v0_3
