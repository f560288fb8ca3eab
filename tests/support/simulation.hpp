// Simulations with prices that are linear in the work, and with every engine step recorded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <perfmodel/hardware/catalog/all.hpp>
#include <perfmodel/model/catalog/all.hpp>
#include <perfmodel/serving/simulate.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace perfmodel_test {

namespace pm = perfmodel;

/// Policy with step times linear in the tokens of a step. A step of B decodes at context c with p
/// prefill tokens after h cached ones takes step + B sequence + B c context + p token + p h past.
struct linear_policy {
  double step = 1e-3;
  double sequence = 1e-5;
  double context = 1e-8;
  double token = 2e-5;
  double past = 1e-9;
  /// Steps after which a simulation counts as one that never ends; 0: no limit.
  std::int64_t most_steps = 0;

  double time(double decodes, double mean_context, double prefill_tokens,
              double prefill_past) const {
    return step + decodes * (sequence + mean_context * context) +
           prefill_tokens * (token + prefill_past * past);
  }
};

/// Tokens of each request in one engine step, or in a segment of equal decode steps.
struct recorded_step {
  double begin = 0.0;
  double end = 0.0;
  std::int64_t steps = 1;
  std::map<std::int64_t, int> tokens{};  ///< by the request's index

  int total() const {
    int sum = 0;
    for (const auto& [index, n] : tokens) sum += n;
    return sum;
  }
};

/// Linear policy that records the steps of a simulation.
struct recording_policy : linear_policy {
  std::vector<recorded_step>* record = nullptr;
};

}  // namespace perfmodel_test

namespace perfmodel::inline v0_3 {

template <>
class step_prices<perfmodel_test::linear_policy> {
 public:
  step_prices(const deployment& d, const perfmodel_test::linear_policy& policy,
              const std::optional<speculation>& = {}, bool = false)
      : deployment_(d), policy_(policy) {}

  struct segment {
    std::int64_t steps = 0;
    double first = 0.0, slope = 0.0;

    double time(double n) const { return n * first + 0.5 * slope * n * (n - 1.0); }
    double last() const { return first + slope * static_cast<double>(steps - 1); }
  };
  double step(const simulated_step& s) {
    count();
    return policy_.time(s.decodes, s.context, s.prefill_tokens, s.prefill_past);
  }
  segment decode_segment(int batch, double context, double growth, std::int64_t most) {
    count();
    return {most, policy_.time(batch, context, 0.0, 0.0), batch * growth * policy_.context};
  }
  std::int64_t priced() const { return priced_; }
  const deployment& of() const { return deployment_; }

 private:
  void count() {
    if (++priced_ == policy_.most_steps) throw std::runtime_error("a simulation never ends");
  }
  deployment deployment_;
  perfmodel_test::linear_policy policy_;
  std::int64_t priced_ = 0;
};

template <>
class step_prices<perfmodel_test::recording_policy>
    : public step_prices<perfmodel_test::linear_policy> {
 public:
  step_prices(const deployment& d, const perfmodel_test::recording_policy& policy,
              const std::optional<speculation>& = {}, bool = false)
      : step_prices<perfmodel_test::linear_policy>(d, policy), record(policy.record) {}
  std::vector<perfmodel_test::recorded_step>* record;
};

namespace detail {

template <>
struct step_flight<perfmodel_test::recording_policy> : step_flight<perfmodel_test::linear_policy> {
  using base = step_flight<perfmodel_test::linear_policy>;

  template <class Sequences>
  void price(const lanes& all, bool has_chunks, const replica_settings& settings,
             const Sequences& sequences, step_prices<perfmodel_test::recording_policy>& prices,
             double stall, std::vector<double>& stage_free) {
    base::price(all, has_chunks, settings, sequences, prices, stall, stage_free);
    record_ = prices.record;
    at_ = record_->size();
    perfmodel_test::recorded_step s{.begin = begin, .end = end, .steps = steps};
    for (std::size_t i = first_lane; i < last_lane; ++i)
      for (const prefill_chunk& c : all[i]->chunks)
        s.tokens[sequences[std::size_t(c.entry)].request.index] += c.tokens;
    for (const simulated_sequence& q : sequences)
      if (has_decodes && q.is_decoding) s.tokens[q.request.index] += 1 + settings.drafted_tokens;
    record_->push_back(s);
  }
  void cut(double at) {
    base::cut(at);
    if (!is_active) return;
    (*record_)[at_].steps = steps;
    (*record_)[at_].end = end;
  }

 private:
  std::vector<perfmodel_test::recorded_step>* record_ = nullptr;
  std::size_t at_ = 0;
};

}  // namespace detail
}  // namespace perfmodel::inline v0_3

namespace perfmodel_test {

/// Source of given requests, in the order of their arrivals.
class request_list : public pm::request_source {
 public:
  explicit request_list(std::vector<pm::simulated_request> all) : all_(std::move(all)) {
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].index = static_cast<std::int64_t>(i);
  }
  double next_arrival() override { return taken_ < all_.size() ? all_[taken_].arrival : never; }
  void take(pm::simulated_request& r) override { r = all_[taken_++]; }

 private:
  std::vector<pm::simulated_request> all_;
  std::size_t taken_ = 0;
};

inline pm::deployment small_deployment(int data = 1, int pipeline = 1) {
  pm::deployment d{.device = pm::catalog::h100_sxm, .model = pm::catalog::llama_3_1_8b};
  d.layout = {.pipeline = pipeline, .data = data};
  d.serving_engine = pm::engine::vllm;
  return d;
}

/// Steps and results of given requests under a scheduler.
struct recorded_run {
  std::vector<recorded_step> steps{};
  std::vector<pm::request_record> requests{};  ///< by index
  pm::simulation_result result{};
};
inline recorded_run record(const pm::scheduler_settings& scheduler,
                           std::vector<pm::simulated_request> requests,
                           pm::simulation_options options = {},
                           const pm::deployment& d = small_deployment()) {
  recorded_run run;
  run.requests.resize(requests.size());
  request_list source(std::move(requests));
  options.scheduler = scheduler;
  if (!options.cache_tokens) options.cache_tokens = std::int64_t{1} << 20;
  if (!options.frontend) options.frontend = pm::frontend_time{};
  options.on_request = [&](const pm::request_record& r) { run.requests[std::size_t(r.index)] = r; };
  recording_policy policy;
  policy.record = &run.steps;
  run.result = pm::simulate(d, source, policy, options);
  return run;
}

}  // namespace perfmodel_test
