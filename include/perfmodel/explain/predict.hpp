// Calibrated prediction of an engine step or a service, with its bound and its 80 % interval.
#pragma once

#include <perfmodel/kernels/operator_prediction.hpp>
#include <perfmodel/serving/serving.hpp>

namespace perfmodel::inline v0_3 {

/// Prediction of a service: `low` and `high` are the interval of the inter-token latency, `ttft`
/// that of the time to first token.
template <Scalar T = double>
struct basic_service_prediction {
  basic_serving_estimate<T> estimate{};
  basic_serving_estimate<T> bound{};
  duration<T> low{}, high{};
  basic_time_range<T> ttft{};
  evidence stands_on{};
};
using service_prediction = basic_service_prediction<>;

/// Kernels of the all-reduces of an engine step, which are most of its communication: the engine's
/// custom all-reduce if it connects all ranks and its buffer holds the message (8 MiB are 512
/// tokens of 8,192 hidden units in 16 bits), else NCCL, or NCCL between nodes.
/// Test: 70B over 8 H100: custom for a batch of 64, NCCL for a chunk of 8,192, and between nodes
/// over 16 ranks.
template <Scalar T>
constexpr collective_kind all_reduce_kind_of(const basic_deployment<T>& d,
                                             const basic_iteration<T>& i,
                                             const basic_calibrated<T>& calibration) {
  if (d.network && d.layout.stage_ranks() > d.device.fabric.reach())
    return collective_kind::between_nodes;
  basic_schedule<T> s;
  s.algorithm = collective_algorithm::one_shot;
  s.ranks = d.layout.tensor;
  s.is_one_of_several = true;
  const double message = mid(detail::step_share_of(d.layout, i).rows) * mid(d.model.hidden) *
                         bytes_of(residual_format(d)).value();
  const bool own = d.layout.tensor > 1 && calibration.selects(d.device.fabric, s) &&
                   message <= mid(calibration.links.kernels.largest.value());
  return own ? collective_kind::own_kernels : collective_kind::library;
}
/// Kernels of the all-reduces of an unloaded prefill.
template <Scalar T>
constexpr collective_kind prefill_all_reduce_kind_of(const basic_deployment<T>& d,
                                                     const basic_service_load<T>& l,
                                                     const basic_calibrated<T>& calibration) {
  return all_reduce_kind_of(d, detail::unloaded_prefill(l), calibration);
}

namespace detail {

/// Time of an engine step by the profile behind it. Element-wise kernels (norms, embeddings) have
/// the DRAM share of the machine, which is in the GEMM profile.
template <Scalar T>
constexpr basic_time_by_profile<T> profile_times_of_step(const basic_deployment<T>& d,
                                                         const basic_estimate<T>& e,
                                                         collective_kind kind_of_all_reduces,
                                                         bool is_prefill = false) {
  basic_time_by_profile<T> by;
  by.kind_of_all_reduces = kind_of_all_reduces;
  for (const auto& t : e.terms) {
    const std::string_view name = t.name;
    duration<T>& time = name == name_of(operator_class::attention) ? by.attention
                        : name == name_of(operator_class::experts) ? by.experts
                        : name == "communication"                  ? by.links
                        : name == "launches"                       ? by.launches
                                                                   : by.gemms;
    time += t.time;
  }
  const engine_formats f = formats_of(d);
  by.kind_of_gemms = gemm_kind_of(f.linear.format, f.weights.linear);
  by.kind_of_attention = attention_kind_of(f.kv, is_prefill);
  by.kind_of_experts = expert_kind_of(f.experts.format, f.weights.experts, d.layout.expert > 1);
  return by;
}
template <Scalar T>
constexpr evidence evidence_of_step(const basic_deployment<T>& d, const basic_estimate<T>& e,
                                    const basic_calibrated<T>& calibration,
                                    collective_kind kind_of_all_reduces, bool is_prefill = false) {
  return evidence_of(calibration, profile_times_of_step(d, e, kind_of_all_reduces, is_prefill));
}

/// Time of the mean engine step of a service by profile.
template <Scalar T>
constexpr basic_time_by_profile<T> profile_times_of_decode(const basic_deployment<T>& d,
                                                           const basic_serving_estimate<T>& s,
                                                           const basic_calibrated<T>& calibration) {
  const basic_iteration<T> mean{.batch = s.batch, .steady = true};
  return profile_times_of_step(d, s.decode, all_reduce_kind_of(d, mean, calibration));
}
/// Evidence of an unloaded prefill.
template <Scalar T>
constexpr evidence evidence_of_prefill(const basic_deployment<T>& d, const basic_service_load<T>& l,
                                       const basic_serving_estimate<T>& s,
                                       const basic_calibrated<T>& calibration) {
  return evidence_of_step(d, s.prefill, calibration, prefill_all_reduce_kind_of(d, l, calibration),
                          true);
}

}  // namespace detail

/// Prediction of an engine step: its time, its lower bound and the interval that holds 80 % of
/// measurements. Use: predict(d, i, calibrated_for(d.device, engine::vllm)).
/// Errors: as step. Test: estimate and bound are those of step and step_bound; low x high = time^2.
template <Scalar T>
constexpr prediction<basic_estimate<T>> predict(const basic_deployment<T>& d,
                                                const basic_iteration<T>& i,
                                                const basic_calibrated<T>& calibration) {
  const basic_estimate<T> e = step(d, i, calibration);
  return prediction_of(
      e, step_bound(d, i),
      detail::evidence_of_step(d, e, calibration, all_reduce_kind_of(d, i, calibration)));
}

/// Prediction of a service, with the intervals of its inter-token latency and its time to first
/// token. Errors: as serving. Test: as for a step, with the inter-token latency.
template <Scalar T>
constexpr basic_service_prediction<T> predict(const basic_deployment<T>& d,
                                              const basic_service_load<T>& l,
                                              const basic_calibrated<T>& calibration) {
  const basic_serving_estimate<T> s = serving(d, l, calibration);
  const auto times = detail::profile_times_of_decode(d, s, calibration);
  const evidence stands_on = evidence_of(calibration, times);
  const double log_sigma = token_log_sigma(stands_on.log_sigma(), calibration.services,
                                           dequantises_experts(times), is_launch_bound(times));
  const auto range = range_of(s.itl, log_sigma);
  const double prefill_log_sigma = detail::evidence_of_prefill(d, l, s, calibration).log_sigma();
  const auto ttft =
      range_of(s.ttft, first_token_log_sigma(prefill_log_sigma, calibration.services));
  return {s, serving_bound(d, l), range.low, range.high, ttft, stands_on};
}

}  // namespace perfmodel::inline v0_3
