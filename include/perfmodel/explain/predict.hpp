// A calibrated prediction of a pass or of a service, with its bound and its 80 % interval.
#pragma once

#include <perfmodel/kernels/operator_prediction.hpp>
#include <perfmodel/serving/serving.hpp>

namespace perfmodel {

/// As prediction, of a service: `low` and `high` are around the inter-token latency, `first_token`
/// around the time to first token.
template <Scalar T = double>
struct basic_service_prediction {
  basic_serving_estimate<T> estimate{};
  basic_serving_estimate<T> bound{};
  duration<T> low{}, high{};
  basic_time_range<T> first_token{};
  evidence stands_on{};
};
using service_prediction = basic_service_prediction<>;

/// Whose kernels sum the activations of a pass, which is most of what its links take: the engine's own where they
/// reach all ranks and hold the message (in 16 bits of 8,192 wide ones 512 rows are 8 MiB), else NCCL.
/// Test: 70B over 8 H100: own for a batch of 64, the library's for a chunk of 8,192; over 16 ranks the library's.
template <Scalar T>
constexpr collective_kind kind_of_sums(const basic_deployment<T>& d, const basic_iteration<T>& i,
                                       const basic_calibrated<T>& calibration) {
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
/// The same of a prompt on its own.
template <Scalar T>
constexpr collective_kind kind_of_prompt_sums(const basic_deployment<T>& d,
                                              const basic_service_load<T>& l,
                                              const basic_calibrated<T>& calibration) {
  return kind_of_sums(d, detail::unloaded_prefill(l), calibration);
}

namespace detail {

/// Which profiles the terms of a predicted pass stand on. What is no product (norms, embeddings)
/// runs at the machine's share of DRAM bandwidth, which is of the same profile as its products.
template <Scalar T>
constexpr basic_time_by_profile<T> times_of_pass(const basic_deployment<T>& d,
                                                 const basic_estimate<T>& e,
                                                 collective_kind kind_of_all_reduces,
                                                 bool of_prefills = false) {
  basic_time_by_profile<T> by;
  by.kind_of_all_reduces = kind_of_all_reduces;
  for (const auto& t : e.terms) {
    const std::string_view name = t.name;
    duration<T>& of = name == name_of(operator_class::attention) ? by.attention
                      : name == name_of(operator_class::experts) ? by.experts
                      : name == "communication"                  ? by.links
                                                                 : by.gemms;
    of += t.time;
  }
  const engine_formats f = formats_of(d);
  by.kind_of_gemms = gemm_kind_of(f.linear.format, f.weights.linear);
  by.kind_of_attention = attention_kind_of(f.kv, of_prefills);
  by.kind_of_experts = expert_kind_of(f.experts.format, f.weights.experts, d.layout.expert > 1);
  return by;
}
template <Scalar T>
constexpr evidence evidence_of_pass(const basic_deployment<T>& d, const basic_estimate<T>& e,
                                    const basic_calibrated<T>& calibration,
                                    collective_kind kind_of_all_reduces, bool of_prefills = false) {
  return evidence_of(calibration, times_of_pass(d, e, kind_of_all_reduces, of_prefills));
}

/// Of a service: of its mean pass, and of a prompt on its own.
template <Scalar T>
constexpr basic_time_by_profile<T> times_of_decode(const basic_deployment<T>& d,
                                                   const basic_serving_estimate<T>& s,
                                                   const basic_calibrated<T>& calibration) {
  const basic_iteration<T> mean{.batch = s.batch, .steady = true};
  return times_of_pass(d, s.decode, kind_of_sums(d, mean, calibration));
}
template <Scalar T>
constexpr evidence evidence_of_prompt(const basic_deployment<T>& d, const basic_service_load<T>& l,
                                      const basic_serving_estimate<T>& s,
                                      const basic_calibrated<T>& calibration) {
  return evidence_of_pass(d, s.prefill, calibration, kind_of_prompt_sums(d, l, calibration), true);
}

}  // namespace detail

/// predict(d, i, calibrated_for(d.device, engine::vllm)): an engine step, its lower bound and
/// the interval that holds 80 % of measurements, from one call.
/// Errors: as step. Test: estimate and bound are those of step and step_bound; low x high = time^2.
template <Scalar T>
constexpr prediction<basic_estimate<T>> predict(const basic_deployment<T>& d,
                                                const basic_iteration<T>& i,
                                                const basic_calibrated<T>& calibration) {
  const basic_estimate<T> e = step(d, i, calibration);
  return prediction_of(
      e, step_bound(d, i),
      detail::evidence_of_pass(d, e, calibration, kind_of_sums(d, i, calibration)));
}

/// The same of a service; the intervals are those of its mean iteration and of its first tokens.
/// Errors: as serving. Test: as above, of the inter-token latency.
template <Scalar T>
constexpr basic_service_prediction<T> predict(const basic_deployment<T>& d,
                                              const basic_service_load<T>& l,
                                              const basic_calibrated<T>& calibration) {
  const basic_serving_estimate<T> s = serving(d, l, calibration);
  const auto times = detail::times_of_decode(d, s, calibration);
  const evidence stands_on = evidence_of(calibration, times);
  const double width =
      token_log_sigma(stands_on.log_sigma(), calibration.services, dequantises_experts(times));
  const auto range = range_of(s.itl, width);
  const double prompt = detail::evidence_of_prompt(d, l, s, calibration).log_sigma();
  const auto first = range_of(s.ttft, first_token_log_sigma(prompt, calibration.services));
  return {s, serving_bound(d, l), range.low, range.high, first, stands_on};
}

}  // namespace perfmodel
