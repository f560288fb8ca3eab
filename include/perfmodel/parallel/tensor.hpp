// Tensor parallelism: KV heads of a rank, and the all-reduces of a layer.
#pragma once

#include <perfmodel/core/fields.hpp>
#include <perfmodel/hardware/number_format.hpp>
#include <perfmodel/parallel/collectives.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// Number of KV heads of one rank: max(1, H_kv / N). Test: 8 heads over 4, 8 and 16 ranks: 2, 1, 1.
template <Scalar T>
constexpr T kv_heads_per_rank(const T& kv_heads, const T& tensor) {
  return scalar_max(T(1.0),
                    detail::count("kv_heads", kv_heads) / detail::count("layout.tensor", tensor));
}
PERFMODEL_WHOLE_NUMBERS(kv_heads_per_rank)
/// Replicas of each KV head: max(1, N / H_kv). Test: 8 heads over 16 ranks: 2; times heads per rank
/// and divided by N gives all heads back.
template <Scalar T>
constexpr T kv_replication(const T& kv_heads, const T& tensor) {
  return scalar_max(T(1.0),
                    detail::count("layout.tensor", tensor) / detail::count("kv_heads", kv_heads));
}
PERFMODEL_WHOLE_NUMBERS(kv_replication)
/// Tensor parallelism of `layers` layers: each all-reduces its activations twice, after attention
/// and after the FFN. Source: Shoeybi et al., "Megatron-LM", 2019, section 3.
template <Scalar T = double>
struct basic_tensor_parallelism {
  int ranks = 0;
  T layers = T(1.0), batch = T(1.0), tokens = T(1.0), hidden{};
  number_format format = number_format::bf16;
  T all_reduces_per_layer = T(2.0);  ///< 1 where attention and FFN run in parallel

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::ranks("ranks"), s.ranks...);
    f(field::count("layers"), s.layers...);
    f(field::count("batch"), s.batch...);
    f(field::count("tokens"), s.tokens...);
    f(field::count("hidden"), s.hidden...);
    f("format", s.format...);
    f(field::count("all_reduces_per_layer"), s.all_reduces_per_layer...);
  }
};
using tensor_parallelism = basic_tensor_parallelism<>;

namespace detail {
/// all_reduce_of without a check of the fields.
template <Scalar T>
constexpr basic_collective<T> summed_activations(const basic_tensor_parallelism<T>& x) {
  basic_collective<T> c;
  c.ranks = x.ranks;
  c.message =
      message_bytes<T>(named("message", x.batch * x.tokens * x.hidden * bytes_of(x.format)));
  return c;
}
}  // namespace detail

/// One of the all-reduces: message = batch tokens hidden b. Sequence parallelism splits it into a
/// reduce-scatter and an all-gather of equal bytes. Test: 32 x 2048 x 8192 bf16 is 1.074 GB.
template <Scalar T>
constexpr basic_collective<T> all_reduce_of(const basic_tensor_parallelism<T>& x) {
  require_valid(x);
  return detail::summed_activations(x);
}
/// Time of the all-reduces: T = layers x all-reduces per layer x T_all-reduce, in sequence and not
/// hidden. Test: 160 of 1.074 GB over 8 ranks at 370 GB/s take 812 ms.
template <Scalar T, class Cost = full_link>
constexpr basic_collective_estimate<T> communication_time(const basic_interconnect<T>& fabric,
                                                          const basic_tensor_parallelism<T>& x,
                                                          const Cost& cost = {}) {
  const T n = x.layers * x.all_reduces_per_layer;
  return repeated_collective(n, collective_time(fabric, all_reduce_of(x), cost));
}

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
