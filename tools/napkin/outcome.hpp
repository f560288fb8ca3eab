// Results of a query over any scalar: named numbers, and the terms of a time.
#pragma once

#include <memory>
#include <optional>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/explain/traced.hpp>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/serving/load.hpp>
#include <perfmodel/step/deployment.hpp>
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

/// A message of the library with the keys of a request in place of its fields: `layout.tensor` is
/// `tensor_parallel`.
std::string with_request_keys(std::string_view text);
/// An infeasibility in a sentence with its numbers; "" where feasible.
std::string sentence(const perfmodel::feasibility& f);
/// Whether a reason compares bytes with the usable memory of a device: utilization x capacity.
bool is_usable_memory(std::string_view reason);

/// Bound, profile and 80 % interval of a calibrated time.
struct calibrated_note {
  std::vector<result<double>> bounds{};  ///< bound_time_s, and in a service bound_ttft_s
  perfmodel::time_range range{};         ///< interval of time_s, or of itl_s in a service
  std::optional<perfmodel::time_range> first_token{};  ///< interval of ttft_s
  std::shared_ptr<const profile_note> profile{};       ///< null: not asked for
};

template <perfmodel::Scalar T = double>
struct outcome {
  std::vector<result<T>> results{};
  bool is_time = false;          ///< whether limiter and terms are set
  bool has_feasibility = false;  ///< whether feasible and reason are set
  perfmodel::limiter limiter = perfmodel::limiter::none;
  perfmodel::basic_terms<T> terms{};
  perfmodel::basic_terms<T> prefill_terms{};  ///< terms of an unloaded prefill in a service
  bool feasible = true;
  std::string reason{};
  double mfu = 0.0, mbu = 0.0;  ///< shares of the peaks; 0 where the query has none
  /// One GPU's work, as rates and shares of peak in 1 s; only with a measurement.
  std::optional<perfmodel::achieved_rates> work{};
  /// Least ITL of a service: the bound of a decode step of one sequence, in s.
  std::optional<double> least_itl{};
  /// Least TTFT of a service: the bound of the prefill of one prompt; and of a whole request.
  std::optional<double> least_ttft{}, least_e2e{};
  std::string conclusion{};                     ///< sentences in front of the text, a line each
  std::optional<calibrated_note> calibrated{};  ///< note of a calibrated result
  json facts = json::object();                  ///< further JSON facts, by key
  table_rows notes{};                           ///< text of the facts, below the results
  std::string page{};                           ///< text in place of the results
  std::optional<double> log_sigma{};            ///< log_sigma of one operator's interval
  perfmodel::collective_kind sums =
      perfmodel::collective_kind::library;  ///< implementation of the collectives in the terms
  perfmodel::collective_kind prefill_collectives =
      perfmodel::collective_kind::library;  ///< implementation of the collectives in prefill
  bool dequantises = false;                 ///< whether weights have fewer bits than activations
  bool has_itl = true;                      ///< false: a service with one output token
  bool pools = false;                       ///< whether prefill and decode run on different devices
  std::string hint{};                       ///< advice on predictions, below a bound by default

  template <class U>
  void add(const char* key, const char* label, const perfmodel::bu::quantity<U, T>& q) {
    if (results.empty()) results.reserve(24);
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
  /// Sets the limiter, the terms and the feasibility of an estimate.
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

/// Texts, the deployment and the calibration that requests share which differ in the numbers of
/// their load.
struct shared_texts {
  std::optional<json> network{}, formats{};  ///< facts of these keys; null: none
  std::optional<perfmodel::deployment> deployment{};
  std::optional<perfmodel::calibrated> policy{};
  /// Whether the requests are known to have no prefill and decode pools, no speculative decoding.
  bool has_one_pool = false, has_no_drafts = false;
  std::optional<perfmodel::service_load>
      load{};  ///< load of one request, for its bound and its prediction
  struct profile {
    std::vector<std::pair<const perfmodel::source*, const perfmodel::accelerator*>> of{};
    std::shared_ptr<const profile_note> note{};
  };
  std::vector<profile> profiles{};
};

/// A profile as a member of a result.
json profile_json(const profile_note& p);

/// Adds bound, profile and intervals to a calibrated result; `bound` is the same query's bound. The
/// intervals belong to time_s, or in a service to itl_s and ttft_s. Without `with_texts` the texts
/// of the profile are left out; they are taken from `shared` where it has them.
void note_calibration(outcome<>& answer, const outcome<>& bound, const calibration& c,
                      profile_part part, bool with_texts = true, shared_texts* shared = nullptr);

/// Relation of a measurement to a law's result.
enum class comparison_kind {
  at_least,  ///< a hard lower bound of a time
  at_most,   ///< a hard upper bound of a rate
  expected   ///< an estimate: less and more are possible
};
struct measurable_result {
  const char* result = "";       ///< key of the result
  const char* measurement = "";  ///< key of its measurement
  comparison_kind as = comparison_kind::expected;
  perfmodel::unit_exponents unit{};
};
/// Adds the ratio of a measurement to its result. Throws missing_key where the request has no such
/// result.
void note_measured(outcome<>& answer, const measurable_result& of, double measured);

/// Adds the ratios of a measured time (in a service of itl_s) to the result and its bound. With the
/// work of the bound, also the measurement's own FLOP/s and B/s = work / measured_s, MFU and MBU.
/// *Test*: 2 x 4096^3 FLOP in 310 us are 443 TFLOP/s, 44.8 % of 989.4.
void note_measured(outcome<>& answer, const outcome<>& bound, double measured_s);

}  // namespace napkin
