// What a query answers, over any scalar: named results, and for a time what it is spent on.
#pragma once

#include <optional>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/explain/traced.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <string>
#include <vector>

#include "key.hpp"
#include "profiles.hpp"

namespace napkin {

/// `key` is the name in JSON, `label` the one in text.
template <perfmodel::Scalar T>
struct result {
  const char* key = "";
  const char* label = "";
  T value{};
  perfmodel::unit_exponents unit{};
};

/// Names a result, unless the law that computed it has.
template <perfmodel::Scalar T>
T named_result(const char* key, const T& x, perfmodel::unit_exponents unit) {
  if constexpr (requires { x.tape(); }) {
    if (x.tape() == nullptr) return x;
    if ((*x.tape())[x.node()].op == perfmodel::trace::operation::step) return x;
    return x.name_step(key, unit);
  } else {
    return x;
  }
}

/// An infeasibility in a sentence with its numbers; "" where feasible.
std::string sentence(const perfmodel::feasibility& f);

/// What a calibrated answer says beside its time: the bound, the profile, and between which times 80 %
/// of measurements are expected.
struct calibrated_note {
  std::vector<result<double>> bounds{};  ///< bound_time_s, and in a service bound_ttft_s
  perfmodel::time_range range{};         ///< of time_s, of itl_s in a service
  std::optional<perfmodel::time_range> first_token{};  ///< of ttft_s
  profile_note profile{};
};

template <perfmodel::Scalar T = double>
struct outcome {
  std::vector<result<T>> results{};
  bool is_time = false;          ///< then limiter and terms stand
  bool has_feasibility = false;  ///< then feasible and reason stand
  perfmodel::limiter limiter = perfmodel::limiter::none;
  perfmodel::basic_terms<T> terms{};
  perfmodel::basic_terms<T> prompt_terms{};  ///< of a service: of a prompt alone
  bool feasible = true;
  std::string reason{};
  double mfu = 0.0, mbu = 0.0;  ///< shares of the peaks; 0 where the query has none
  /// One GPU's work, as rates and shares of peak in 1 s; only with a measurement.
  std::optional<perfmodel::achieved_rates> work{};
  /// Least ITL of a service: the bound of a decode step of one sequence, in s.
  std::optional<double> least_itl{};
  std::string conclusion{};                     ///< sentences, a line each, in front of the text
  std::optional<calibrated_note> calibrated{};  ///< of a calibrated answer
  json facts = json::object();                  ///< what else it says, key by key
  table_rows notes{};                           ///< the same as text, below the results
  std::string page{};                           ///< text in place of the results
  std::optional<double> log_sigma{};            ///< of the interval of one operator
  perfmodel::collective_kind sums = perfmodel::collective_kind::library;  ///< whose kernels add up
  perfmodel::collective_kind prompt_sums =
      perfmodel::collective_kind::library;  ///< of a prompt alone
  bool dequantises = false;  ///< one product of weights narrower than its activations
  bool pools = false;  ///< of a service: prompts and answers are computed by different devices
  std::string hint{};  ///< of a bound that nobody asked for: how a prediction is had

  template <class U>
  void add(const char* key, const char* label, const perfmodel::bu::quantity<U, T>& q) {
    constexpr auto unit = perfmodel::exponents_of<perfmodel::bu::quantity<U, T>>();
    results.push_back({key, label, named_result(key, q.value(), unit), unit});
  }
  void add(const char* key, const char* label, const T& x) {
    results.push_back({key, label, named_result(key, x, {}), {}});
  }

  void set(const perfmodel::feasibility& f) {
    has_feasibility = true;
    feasible = f.feasible;
    reason = sentence(f);
  }
  /// The limiter, the terms and the feasibility of an estimate.
  template <class Estimate>
  void explain(const Estimate& e) {
    using perfmodel::mid;
    is_time = true;
    limiter = e.limiter;
    terms = e.terms;
    set(e.feasible);
    if constexpr (requires { e.mfu; }) mfu = mid(e.mfu);
    if constexpr (requires { e.mbu; }) mbu = mid(e.mbu);
  }
};

/// Adds to a calibrated answer what it says beside its time; `bound` is the same query's bound. The
/// intervals are of time_s, or in a service of itl_s and ttft_s.
void note_calibration(outcome<>& answer, const outcome<>& bound, const calibration& c,
                      profile_part part);

/// What a measurement may be held against in the answer of a law.
enum class held_as {
  at_least,  ///< a time that nothing beats
  at_most,   ///< a rate that nothing beats
  expected   ///< what it comes to: less and more can be
};
struct measurable_result {
  const char* result = "";       ///< its key
  const char* measurement = "";  ///< the key of a measurement of it
  held_as as = held_as::expected;
  perfmodel::unit_exponents unit{};
};
/// Adds what a measurement of a result is beside it. Throws missing_key where the request has no such result.
void note_measured(outcome<>& answer, const measurable_result& of, double measured);

/// Adds the ratios of a measurement of its time (in a service of itl_s) to the answer and its
/// bound. With the work of the bound, also the measurement's own FLOP/s and B/s = work /
/// measured_s, MFU and MBU. *Test*: 2 x 4096^3 FLOP in 310 us are 443 TFLOP/s, 44.8 % of 989.4.
void note_measured(outcome<>& answer, const outcome<>& bound, double measured_s);

}  // namespace napkin
