// KV-cache capacity in bytes, blocks and sequences, and savings of paging and prefix sharing.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// Weights of P parameters in a format over N ranks: P b / N.
/// Leaves out what is replicated: norms, and KV heads below the ranks.
/// Test: 70e9 in bf16 over 8 ranks are 17.5 GB; in int4 with a scale of 16 bits for 64, 37.2 GB on
/// one.
template <Number Parameters, Number N = double>
constexpr auto weight_bytes(const Parameters& parameters, const storage_format& format,
                            const N& ranks = N(1)) {
  using T = promoted<Parameters, N>;
  return named("weight bytes", detail::positive("parameters", T(parameters)) * bytes_of(format) /
                                   detail::count("ranks", T(ranks)));
}

/// Memory of one device and its uses before the KV cache. `utilization` is the share of the
/// capacity that an engine may use.
template <Scalar T = double>
struct basic_memory_budget {
  bytes<T> capacity{};
  T utilization = T(1.0);
  bytes<T> weights{};
  bytes<T> activations{};  ///< peak of one forward pass
  bytes<T> runtime{};      ///< context, communication buffers, captured graphs

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("capacity"), s.capacity...);
    f(field::fraction("utilization"), s.utilization...);
    f(field::not_negative("weights"), s.weights...);
    f(field::not_negative("activations"), s.activations...);
    f(field::not_negative("runtime"), s.runtime...);
  }
};
using memory_budget = basic_memory_budget<>;

/// free = utilization x capacity - weights - activations - runtime; negative where they do not fit.
/// Source: the identity vLLM prints at start-up (worker profile run); Kwon et al. 2023
/// (arXiv 2309.06180), section 4.2. Errors: utilization outside 0..1, capacity not positive.
/// Test: 8 x 80e9 bytes less 140e9 are 500e9.
template <Scalar T>
constexpr bytes<T> kv_bytes_available(const basic_memory_budget<T>& b) {
  require_valid(b);
  return named("KV bytes available",
               b.utilization * b.capacity - b.weights - b.activations - b.runtime);
}

template <Scalar T = double>
struct basic_kv_capacity {
  bytes<T> available{};  ///< per device; 0 where the weights do not fit
  T blocks{};
  perfmodel::tokens<T> tokens{};
  T sequences{};
  perfmodel::feasibility feasible{};
};
using kv_capacity_result = basic_kv_capacity<>;

/// blocks = floor(free / (block_size kv)), tokens = blocks x block_size,
/// sequences = floor(blocks / ceil(context / block_size)).
/// `per_token` is what one device stores of a token. Source: Kwon et al. 2023, section 4.
/// Leaves out fragmentation of the allocator itself. Errors: block_size or context below 1.
/// Infeasible where the weights leave nothing. Tests: 372 sequences of 4096 tokens on 8 x 80e9
/// bytes with 140e9 of weights and 327,680 B/token; 901 with 35e9 and half of it.
template <Scalar T>
constexpr basic_kv_capacity<T> kv_capacity(const basic_memory_budget<T>& budget,
                                           const bytes_per_token<T>& per_token,
                                           const std::type_identity_t<T>& context,
                                           const std::type_identity_t<T>& block_size = T(16.0)) {
  using math::ceil;
  using math::floor;
  detail::positive("per_token", per_token);
  detail::count("context", context);
  detail::count("block_size", block_size);
  basic_kv_capacity<T> c;
  const bytes<T> free = kv_bytes_available(budget);
  if (lower(free.value()) <= 0.0) {
    c.feasible = infeasible("weights, activations and runtime exceed the usable memory", "B",
                            upper((budget.weights + budget.activations + budget.runtime).value()),
                            lower((budget.utilization * budget.capacity).value()));
    return c;
  }
  c.available = free;
  const bytes<T> block = named("block bytes", block_size * token * per_token);
  c.blocks = named("blocks", floor(T(free / block)));
  c.tokens = named("tokens", c.blocks * block_size * token);
  const T blocks_per_sequence = named("blocks per sequence", ceil(context / block_size));
  c.sequences = named("sequences", floor(c.blocks / blocks_per_sequence));
  if (upper(c.sequences) < 1.0) {
    c.feasible = infeasible("the weights leave no memory for one sequence of this context", "B",
                            upper((blocks_per_sequence * block).value()), lower(free.value()));
  }
  return c;
}

/// Share of a reservation that stays empty when every sequence reserves the longest length:
/// w = 1 - mean / longest. Source: Kwon et al. 2023, section 3. Test: 500 of 4096 wastes 87.8 %.
template <Scalar T>
constexpr T contiguous_waste(const T& mean_length, const T& longest) {
  detail::count("mean_length", mean_length);
  detail::within("mean_length", mean_length, 1.0, upper(longest), "1 to the longest length");
  return 1.0 - mean_length / longest;
}
PERFMODEL_WHOLE_NUMBERS(contiguous_waste)
/// Expected waste of paging: the last block is half empty, w = t / (mean + t), t = (block - 1) / 2.
/// Source: as above; lengths are taken as uniform over a block. Test: 16 at 500 wastes 1.5 %.
template <Scalar T>
constexpr T paged_waste(const T& mean_length, const T& block_size) {
  detail::count("mean_length", mean_length);
  detail::count("block_size", block_size);
  const T tail = (block_size - 1.0) / 2.0;
  return tail / (mean_length + tail);
}
PERFMODEL_WHOLE_NUMBERS(paged_waste)
/// Batch gain from not wasting a share w of the cache: 1 / (1 - w).
template <Scalar T>
constexpr T waste_free_gain(const T& waste) {
  detail::within("waste", waste, 0.0, 0.999999, "0 to 0.999999");
  return 1.0 / (1.0 - waste);
}
PERFMODEL_WHOLE_NUMBERS(waste_free_gain)

/// Tokens that sharing one prefix among n sequences saves: (n - 1) prefix.
/// Source: Zheng et al. 2024 (SGLang, arXiv 2312.07104), section 3. Test: 64 x 2000 saves 126,000.
template <Scalar T>
constexpr tokens<T> shared_prefix_saving(const T& sequences, const T& prefix) {
  detail::count("sequences", sequences);
  detail::not_negative("prefix", prefix);
  return (sequences - 1.0) * prefix * token;
}
PERFMODEL_WHOLE_NUMBERS(shared_prefix_saving)

/// Tokens in flight at which the cache weighs as much as the weights: W / kv. Below it weight
/// quantisation pays more, above it cache quantisation. Test: 140e9 / 327,680 = 427,246.
template <Scalar T>
constexpr tokens<T> weight_cache_crossover(const bytes<T>& weights,
                                           const bytes_per_token<T>& per_token) {
  detail::positive("per_token", per_token);
  return detail::positive("weights", weights) / per_token;
}

/// Relative cost of reading a cache through a block table when look-ups are not prefetched: two
/// dependent latencies per block over the time to stream the block.
/// tau = (table latency + gather latency) / (block_size kv_layer / bandwidth of one CTA).
/// Derivation: one table read and one gather start each block; an ideal kernel hides both (tau 0).
template <Scalar T>
constexpr T paging_tax(const duration<T>& table_latency, const duration<T>& gather_latency,
                       const std::type_identity_t<T>& block_size,
                       const bytes_per_token<T>& per_token_and_layer, const bandwidth<T>& per_cta) {
  detail::not_negative("table_latency", table_latency);
  detail::not_negative("gather_latency", gather_latency);
  detail::count("block_size", block_size);
  detail::positive("per_token_and_layer", per_token_and_layer);
  detail::positive("per_cta", per_cta);
  const duration<T> stream = block_size * token * per_token_and_layer / per_cta;
  return T((table_latency + gather_latency) / stream);
}

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
