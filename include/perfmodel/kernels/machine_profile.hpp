// What an accelerator reaches of its data sheet: few physical parameters, fitted to measurements.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/core/label.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/hardware/accelerator.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/named.hpp>

// How a call is made: what it finds in L2, and where tokens go.

namespace perfmodel {

/// Whether a call finds in L2 what the same call left there before. In a model it does not, for the
/// other layers pass in between; in a benchmark that replays one call it may.
enum class cache_state { warm, cold };

/// How tokens choose experts: at random; so that every expert has as many; or so, and every token the same
/// half of the experts, as a router by groups (DeepSeek's, 4 of 8) deals tokens that agree.
enum class expert_routing { random, balanced, grouped };

/// The default is a call inside a model, for every operator. A benchmark of one product reads
/// `weight_copies` copies of its weights in turn, so that a warm L2 holds what fits of all of them.
template <Scalar T = double>
struct basic_call_conditions {
  cache_state cache = cache_state::cold;
  T weight_copies = T(1.0);
  expert_routing routing = expert_routing::random;
  T imbalance =
      T(1.0);  ///< rows of the busiest rank over the mean of all, where experts are spread
  std::optional<T>
      capacity_factor{};  ///< no rank takes more than this many times the mean; the rest is dropped

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

/// Of a benchmark that reads `weight_copies` copies of the weights in turn. One that empties the L2
/// replays none: 0 is cold. Errors: weight_copies negative.
template <Scalar T>
constexpr basic_call_conditions<T> replaying(const T& weight_copies) {
  if (!(upper(detail::not_negative("weight_copies", weight_copies)) > 0.0)) return {};
  return {.cache = cache_state::warm, .weight_copies = weight_copies};
}

namespace detail {

/// Share of a working set that the run before left in L2: 1 / (1 + (bytes / room)^8), a step at
/// the room, 1.0 far below and (room / bytes)^8 above it. Test: a half at the room itself.
template <Scalar T>
constexpr T resident(const bytes<T>& working_set, const bytes<T>& room) {
  const T x = named("L2 filled", T(working_set / detail::positive("l2.capacity", room)));
  const T x2 = x * x;
  const T x4 = x2 * x2;
  return 1.0 / (1.0 + x4 * x4);
}

/// 1 where x is above 0, else 0, for counts.
template <Scalar T>
constexpr T any(const T& x) {
  using math::ceil;
  return scalar_max(T(0.0), scalar_min(T(1.0), T(ceil(x))));
}

}  // namespace detail

// Parameters fitted to measurements, and how far to trust what they predict.

/// Parameters fitted to measurements of one machine, each with its standard error (0: derived or
/// assumed, see `from`). `log_sigma` says how far measurements are from predictions: 80 % of
/// |ln(measured / predicted)| of rows held out are below z90 log_sigma, as of a normal error of that
/// standard deviation. Profiles of different parameters are different types.
template <class Parameters>
struct fitted_profile;

template <template <class> class Parameters, class T>
struct fitted_profile<Parameters<T>> {
  label name{};                ///< whose it is: an accelerator, or a kind of fabric
  const accelerator* donor{};  ///< the machine that was measured; null: see `from`
  Parameters<T> value{};
  Parameters<T> standard_error{};
  T log_sigma{};
  const source* from = &given_by_caller;

  /// Whether the parameters were fitted to another machine than they are for.
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

/// Of a standard normal error, 80 % lie within this many standard deviations.
inline constexpr double z90 = 1.2816;

/// An interval that holds 80 % of measurements: prediction x exp(-+z90 log_sigma).
template <Scalar T = double>
struct basic_time_range {
  duration<T> low{}, high{};
};
using time_range = basic_time_range<>;

/// Errors: predicted negative, log_sigma outside 0 to 100. Test: of rows held out of the fit, 80 %
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

/// Fitted parameters of one machine, which matrix products, attention, experts and streaming operators share:
/// eight, and a ninth where streaming kernels were measured apart.
template <Scalar T = double>
struct basic_machine_parameters {
  duration<T> matrix_floor{};  ///< launch, start and drain of a matrix kernel replayed from a graph
  T matrix_share = T(1.0);     ///< of the dense matrix peak, that a short kernel reaches
  T dram_share = T(1.0);       ///< of DRAM bandwidth
  perfmodel::bandwidth<T> operand_bandwidth{};  ///< of the chip: tiles get operands, L2 + multicast
  duration<T> tile_fill{};  ///< pipeline fill and epilogue of one output tile, as tiled_time has it
  duration<T> split_cost{};  ///< a second kernel or a barrier, where k is split over SMs
  T power_slowdown{};        ///< a long dense kernel tends to (1 + power_slowdown) times its time
  std::optional<perfmodel::bandwidth<T>> l2_bandwidth{};  ///< of the chip, streaming; where known
  std::optional<perfmodel::bandwidth<T>>
      elementwise_l2_bandwidth{};  ///< where kernels that only stream
                                   ///< get another

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

/// What a serving engine adds. Around a low-precision matrix product: kernels that quantise the
/// activations while it runs. In a product of narrow weights and wider activations: widening them, which
/// plain libraries do too. Around a pass: time of the host that the device waits for. Around a request:
/// reading it and answering. The defaults have none of it.
template <Scalar T = double>
struct basic_engine_profile {
  label name{"none"};
  duration<T> tensor_scale_floor{};  ///< launches, where a scale is per tensor or row (fp8)
  duration<T> quantise_floor{};      ///< launches, where every scale is per block (nvfp4 too)
  T quantise_bytes{};                ///< of the L2, per activation, without block scales
  T quantise_row_cycles{};           ///< SM cycles of a row's thread block, without block scales
  duration<T>
      lone_row{};  ///< more of a single row replayed alone, by matrix units that scale blocks (Blackwell)
  T block_scale_share = T(1.0);  ///< of the matrix rate that products with block scales keep
  T mma_block_scale_share =
      T(1.0);  ///< the same by instructions of fewer than 64 rows (Ada, Ampere)
  duration<T> low_precision_step{};  ///< least time of a k, 8 bits, by instructions of 64 rows
  duration<T> four_bit_step{};       ///< the same of 4 bits
  duration<T>
      untuned_four_bit_step{};  ///< of kernels that a benchmark replays and a service would have tuned
  duration<T>
      dequantisation_floor{};  ///< more than matrix_floor, where weights are narrower than activations
  T dequantisation_cycles{};        ///< SM cycles that widening such a weight takes, in each tile
  T tensor_scale_share = T(1.0);    ///< of that time left in a model, where a scale is per tensor
  T quantise_share = T(1.0);        ///< the same elsewhere: the rest is fused away
  duration<T> step_cpu_time{};      ///< of a pass: scheduling, sampling, starting the graph
  duration<T> sequence_cpu_time{};  ///< of a sequence and pass
  duration<T> rank_wait{};         ///< of a collective in a model, whose ranks do not come together
  duration<T> request_cpu_time{};  ///< of a request: HTTP, tokens of the prompt and back
  T request_iterations{};        ///< that run, or are scheduled, before one that a request can join
  T prompt_time = T(1.0);        ///< of an iteration with prompts, times that of its kernels
  duration<T> run_start{};       ///< that the first wave of a run waits for beside its prompts
  std::optional<T> step_time{};  ///< of a pass, times its kernels and links: of one's own service
  T log_sigma{};                 ///< as of a machine profile, over the products
  const source* from = &given_by_caller;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("name", s.name...);
    f(field::not_negative("tensor_scale_floor"), s.tensor_scale_floor...);
    f(field::not_negative("quantise_floor"), s.quantise_floor...);
    f(field::not_negative("quantise_bytes"), s.quantise_bytes...);
    f(field::not_negative("quantise_row_cycles"), s.quantise_row_cycles...);
    f(field::not_negative("lone_row"), s.lone_row...);
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

}  // namespace perfmodel
