// Fusion: the traffic and launches saved when a result never leaves the chip.
#pragma once

#include <perfmodel/operators/demand.hpp>
#include <perfmodel/units/constants.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// Savings of a fusion.
template <Scalar T = double>
struct basic_fusion_saving {
  basic_traffic<T> dram{};
  T launches{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("dram", s.dram...);
    f("launches", s.launches...);
  }
};
using fusion_saving = basic_fusion_saving<>;

/// Keeping `intermediates` tensors of one size on chip saves one write and `readers` reads of each,
/// and as many launches. Source: counting; each removed tensor costs (1 + readers) x its bytes.
/// Leaves out what fusing costs: registers, occupancy, work done twice.
/// Test: bias, GELU and dropout on 4096 x 2048 in 2 bytes save 67.1 MB and 2 launches.
template <Scalar T>
constexpr basic_fusion_saving<T> chain_saving(const bytes<T>& tensor,
                                              const std::type_identity_t<T>& intermediates,
                                              const std::type_identity_t<T>& readers = T(1.0)) {
  detail::not_negative("tensor", tensor);
  detail::not_negative("intermediates", intermediates);
  detail::count("readers", readers);
  basic_fusion_saving<T> s;
  s.dram.written = named("bytes not written", intermediates * tensor);
  s.dram.read = named("bytes not read", readers * s.dram.written);
  s.launches = intermediates;
  return s;
}

namespace detail {
template <Scalar T>
constexpr basic_traffic<T> without(const basic_traffic<T>& a, const basic_traffic<T>& removed) {
  return {max(bytes<T>(a.read - removed.read), bytes<T>{}),
          max(bytes<T>(a.written - removed.written), bytes<T>{})};
}
}  // namespace detail

/// The demand of two operators as one kernel, when `intermediate` bytes that the producer writes
/// and the consumer reads stay on chip: FLOP add up, DRAM and L2 lose the intermediate once each
/// way, one launch goes. Matrix FLOP run in the wider format of the two. Leaves out recomputation
/// at tile borders and lost occupancy. Errors: the intermediate is more than the producer writes or
/// the consumer reads. Tests: FLOP are kept; bytes fall by 2 x intermediate; intensity never falls.
template <Scalar T>
constexpr basic_demand<T> fuse(const basic_demand<T>& producer, const basic_demand<T>& consumer,
                               const bytes<T>& intermediate) {
  detail::not_negative("intermediate", intermediate);
  constexpr double rounding = 1.0 + 1e-12;
  if (lower(intermediate.value()) > upper(producer.dram.written.value()) * rounding ||
      lower(intermediate.value()) > upper(consumer.dram.read.value()) * rounding) {
    detail::fail(error_code::inconsistent,
                 "intermediate is more than the producer writes or the consumer reads");
  }
  basic_demand<T> d;
  d.name = "fused";
  const bool producer_multiplies = upper(producer.matrix_flop.value()) > 0.0;
  const bool consumer_multiplies = upper(consumer.matrix_flop.value()) > 0.0;
  d.format = producer_multiplies == consumer_multiplies ? wider(producer.format, consumer.format)
             : producer_multiplies                      ? producer.format
                                                        : consumer.format;
  d.matrix_flop = producer.matrix_flop + consumer.matrix_flop;
  d.vector_flop = producer.vector_flop + consumer.vector_flop;
  const basic_traffic<T> removed{intermediate, intermediate};
  d.dram = detail::without(producer.dram + consumer.dram, removed);
  d.l2 = detail::without(producer.l2 + consumer.l2, removed);
  d.shared = producer.shared + consumer.shared;
  d.sent = producer.sent + consumer.sent;
  d.launches = scalar_max(T(producer.launches + consumer.launches - 1.0), T(1.0));
  return d;
}

/// DRAM bytes before fusing over those after. A memory-bound chain gains at most this.
/// Test: X, W, two intermediates and Y against X, W and Y is 2.0, not 3.
template <Scalar T>
constexpr T traffic_ratio(const basic_traffic<T>& before, const basic_traffic<T>& after) {
  detail::not_negative("before", before.total());
  return named("traffic ratio", T(before.total() / detail::positive("after", after.total())));
}

/// DRAM bytes of attention with its score matrix written out, over those with it kept on chip and
/// every operand moved once: 1 + 2 H_q S / ((H_q + H_kv) d_h), which is 1 + S / d_h for H_q = H_kv.
/// Unfused: 2 (H_q + H_kv) S d_h b for Q, K, V, O and 4 H_q S^2 b for scores and probabilities,
/// each written and read. Source: Dao et al., "FlashAttention", NeurIPS 2022, section 3.2, with K
/// and V read once. Leaves out re-reads of K and V when one head's do not fit L2, and wider scores.
/// Errors: a size below 1. Tests: 65 at 8192 / 128; 114.8 with 64 query and 8 KV heads.
template <Scalar T>
constexpr T attention_fusion_ratio(const T& sequence, const T& head_dim, const T& query_heads,
                                   const T& kv_heads) {
  detail::count("sequence", sequence);
  detail::count("head_dim", head_dim);
  detail::count("query_heads", query_heads);
  detail::count("kv_heads", kv_heads);
  return named("unfused / fused bytes",
               1.0 + 2.0 * sequence / ((1.0 + kv_heads / query_heads) * head_dim));
}
/// Ratio of multi-head attention, with as many KV heads as query heads: 1 + sequence / head_dim.
template <Scalar T>
constexpr T attention_fusion_ratio(const T& sequence, const T& head_dim) {
  return attention_fusion_ratio(sequence, head_dim, T(1.0), T(1.0));
}
PERFMODEL_WHOLE_NUMBERS(attention_fusion_ratio)

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
