// Points of a plan: their calibrations, intervals and results.
#pragma once

#include <perfmodel/serving/serving_estimate.hpp>
#include <vector>

#include "planning.hpp"

namespace napkin {

/// The calibration of an accelerator under an engine.
const plan_calibration& calibration_at(const std::vector<plan_calibration>& all,
                                       const perfmodel::label& accelerator, perfmodel::engine e);

/// Whether a point has one pool and no speculation.
inline bool is_plain_point(const perfmodel::plan_point& p) {
  return !p.speculation_index && !p.prefill;
}

/// Intervals and profile of a point's times, from the accelerators that decode. Those of a service
/// profile apply to the layout of its runs, with one pool and no speculation.
calibrated_note note_on(const perfmodel::plan_request& q, const perfmodel::plan_point& p,
                        const plan_calibration& of);
/// Intervals of the TTFT, from the accelerators of the prefill pool.
calibrated_note note_of_prefills(const perfmodel::plan_point& p, calibration c);

template <perfmodel::Scalar T>
outcome<T> outcome_of_point(const perfmodel::basic_serving_estimate<T>& s) {
  outcome<T> out;
  out.add("ttft_s", "", s.ttft);
  out.add("itl_s", "", s.itl);
  out.add("output_tokens_per_s", "", s.output_rate);
  out.terms = s.decode.terms;
  out.prefill_terms = s.prefill.terms;
  return out;
}

}  // namespace napkin
