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
/// Order of forward and backward work in a training pipeline. 1F1B alternates one forward and one
/// backward pass; zero-bubble schedules also delay the gradients of the weights.
enum class pipeline_schedule { gpipe, one_f_one_b, zero_bubble_h1, zero_bubble_h2 };

/// Name of a pipeline schedule.
constexpr const char* name_of(pipeline_schedule s) {
  constexpr const char* names[] = {"gpipe", "one_f_one_b", "zero_bubble_h1", "zero_bubble_h2"};
  return detail::entry_of(names, s, "pipeline_schedule");
}

/// A training step of m microbatches through p equal stages. Times of one microbatch in one stage:
/// forward, backward to the inputs, backward to the weights.
template <Scalar T = double>
struct basic_training_pipeline {
  pipeline_schedule schedule = pipeline_schedule::one_f_one_b;
  T stages{}, microbatches{};
  duration<T> forward{}, backward_input{}, backward_weight{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("schedule", s.schedule...);
    f(field::count("stages"), s.stages...);
    f(field::count("microbatches"), s.microbatches...);
    f(field::not_negative("forward"), s.forward...);
    f(field::not_negative("backward_input"), s.backward_input...);
    f(field::not_negative("backward_weight"), s.backward_weight...);
  }
};
using training_pipeline = basic_training_pipeline<>;

template <Scalar T = double>
struct basic_training_pipeline_estimate {
  duration<T> time{};
  duration<T> bubble{};  ///< idle time of a stage
  T in_flight{};         ///< microbatches with stored activations in the first stage
};

/// time = m (F + B + W) + bubble, for F, B and W the three times of a microbatch:
///
///     GPipe             bubble (p-1) (F + B + W)       activations of m microbatches
///     1F1B              bubble (p-1) (F + B + W)       min(m, p)
///     zero bubble, H1   bubble (p-1) (F + B - W)       min(m, p)
///     zero bubble, H2   bubble (p-1) (F + B - 2 W)     min(m, 2 p - 1)
///
/// A bubble is at least 0. Sources: Huang et al., "GPipe", 2019; Narayanan et al., 2021, section
/// 2.2 (1F1B); Qi et al., "Zero Bubble Pipeline Parallelism", 2024 (arXiv 2401.10241), section 2.
/// Leaves out: transfers between stages, uneven stages, the synchronisation of the optimizer; zero
/// bubble needs m of 2 p - 1 or more. Errors: p or m below 1, negative times.
/// Tests: 4 stages, 8 microbatches, F = B = W: 33, 33, 27 and 24 F; the bubble is (p-1) / m of
/// 1F1B's work, a third of it with H1.
template <Scalar T>
constexpr basic_training_pipeline_estimate<T> training_pipeline_time(
    const basic_training_pipeline<T>& x) {
  require_valid(x);
  const bool h1 = x.schedule == pipeline_schedule::zero_bubble_h1;
  const bool h2 = x.schedule == pipeline_schedule::zero_bubble_h2;
  const duration<T> work = x.forward + x.backward_input + x.backward_weight;
  const duration<T> idle = work - (h2 ? 3.0 : h1 ? 2.0 : 0.0) * x.backward_weight;
  basic_training_pipeline_estimate<T> e;
  e.bubble = named("bubble", (x.stages - 1.0) * max(idle, duration<T>{}));
  e.time = named("pipeline time", x.microbatches * work + e.bubble);
  const T warm = h2 ? T(2.0 * x.stages - 1.0) : x.stages;
  const bool all = x.schedule == pipeline_schedule::gpipe;
  e.in_flight = all ? x.microbatches : scalar_min(x.microbatches, warm);
  return e;
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
