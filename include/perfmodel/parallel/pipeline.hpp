// Pipeline parallelism: layers of a stage, the bubble, and the transfer between stages.
#pragma once

#include <perfmodel/parallel/tensor.hpp>
#include <perfmodel/scalar/math.hpp>

#include <perfmodel/scalar/whole_numbers.hpp>  // last: defines a macro

namespace perfmodel::inline v0_3 {

/// Number of layers of the slowest stage: ceil(L / p). Test: 80 layers over 3 stages: 27.
template <Scalar T>
constexpr T layers_per_stage(const T& layers, const T& pipeline) {
  using math::ceil;
  return ceil(detail::count("layers", layers) / detail::count("pipeline", pipeline));
}
PERFMODEL_WHOLE_NUMBERS(layers_per_stage)

/// Bubble, the idle share of a stage in a pipelined step: (p-1) / (v m + p - 1). p stages, m
/// microbatches, v chunks of layers per stage.
/// Sources: Huang et al., "GPipe", 2019, section 2.3; Narayanan et al., "Efficient large-scale
/// language model training on GPU clusters", 2021, section 2.2 (their bubble over ideal time is
/// (p-1)/(v m)).
/// Leaves out: uneven stages and the transfers between them.
/// Tests: p = 4, m = 8: 3/11; one stage: 0.
template <Scalar T>
constexpr T pipeline_bubble(const T& stages, const T& microbatches, const T& chunks = T(1.0)) {
  const T wait = detail::count("stages", stages) - T(1.0);
  return named("bubble", wait / (detail::count("chunks", chunks) *
                                     detail::count("microbatches", microbatches) +
                                 wait));
}
PERFMODEL_WHOLE_NUMBERS(pipeline_bubble)
/// Time of m microbatches through p equal stages: (m + (p-1)/v) t, where t is a stage's time for
/// one.
/// Test: the bubble's share of it is (p-1)/v t.
template <Scalar T>
constexpr duration<T> pipeline_parallel_time(const duration<T>& stage,
                                             const std::type_identity_t<T>& stages,
                                             const std::type_identity_t<T>& microbatches,
                                             const std::type_identity_t<T>& chunks = T(1.0)) {
  const T wait = (detail::count("stages", stages) - T(1.0)) / detail::count("chunks", chunks);
  return named("pipeline time", (detail::count("microbatches", microbatches) + wait) *
                                    detail::not_negative("stage", stage));
}
/// Message from one stage to the next: batch tokens hidden b. With tensor parallelism each rank
/// sends a 1/N part of it.
/// Test: 1/280 of the bytes in the 160 all-reduces of a 70B model over 8 ranks.
template <Scalar T>
constexpr basic_collective<T> stage_transfer(const T& batch, const T& tokens_each, const T& hidden,
                                             number_format format) {
  basic_tensor_parallelism<T> x;
  x.ranks = 2;
  x.batch = batch;
  x.tokens = tokens_each;
  x.hidden = hidden;
  x.format = format;
  basic_collective<T> c = all_reduce_of(x);
  c.operation = collective_op::point_to_point;
  return c;
}
PERFMODEL_WHOLE_NUMBERS(stage_transfer)

}  // namespace perfmodel::inline v0_3

#undef PERFMODEL_WHOLE_NUMBERS
