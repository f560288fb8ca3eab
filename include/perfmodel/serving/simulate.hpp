// Simulation of a service, event by event: the second method, in addition to `serving`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <perfmodel/serving/simulation/driver.hpp>
#include <perfmodel/serving/simulation/workload.hpp>

namespace perfmodel::inline v0_3 {

/// Simulates a service with the requests of a source: runs with an end, traces, conversations.
/// Each engine step has the policy's time. Between two events (an arrival, a prefill chunk, a
/// completion, a preemption) the batch does not change, and the decode steps are one segment.
/// The result is the same for the same seed.
/// Source: the schedulers of vLLM, SGLang and TensorRT-LLM (serving/simulation/scheduler.hpp).
/// Leaves out: beam search, LoRA, requests with priorities; variation of kernel times.
/// Not feasible: a model that does not fit the devices.
/// Errors: a request longer than the KV cache; scheduler settings out of range; data-parallel
/// groups with pipeline stages.
/// Test: equal to one step at a time; the worked schedules; conservation over random workloads.
template <class Policy>
simulation_result simulate(const deployment& d, request_source& source, const Policy& policy,
                           const simulation_options& o = {}) {
  detail::check_deployment(d);
  detail::require_target_of(policy, d.device, d.serving_engine);
  simulation_result result;
  const detail::replica_settings settings = detail::replica_settings_of(d, policy, o);
  result.feasible = detail::group_fits(d);
  if (result.feasible && settings.cache_tokens <= 0) {
    result.feasible = fits(d, double(d.layout.data), o.typical_tokens);
    if (result.feasible) result.feasible = infeasible("the KV cache is empty", "tokens", 1.0, 0.0);
  }
  if (!result.feasible) return result;
  detail::replica_set<Policy> replicas(settings, d, policy, o, result.statistics);
  detail::simulation_clock clock(o, source, result);
  const double cpu_time = detail::request_cpu_time_of(o, policy);
  simulated_request r;
  for (double now = 0.0;;) {
    const double arrival = source.next_arrival() + cpu_time;
    const double event = replicas.next_event();
    const double next = std::min(arrival, event);
    if (replicas.is_pending() && next > now) {
      replicas.start(now);
      continue;
    }
    if (next == request_source::never) break;
    now = next;
    if (arrival <= event) {
      source.take(r);
      clock.arrived(r);
      replicas.enqueue(r, arrival);
    } else {
      replicas.advance([&](const request_record& done, double at) { clock.completed(done, at); });
    }
  }
  replicas.close(clock.last());
  clock.close();
  result.steps = replicas.steps();
  result.priced_steps = replicas.priced();
  result.preemptions = replicas.preemptions();
  result.replica_seconds = replicas.replica_seconds();
  result.most_replicas = replicas.most_replicas();
  return result;
}

/// Simulates a service under a generated workload.
template <class Policy>
simulation_result simulate(const deployment& d, const workload& w, const Policy& policy,
                           simulation_options o = {}) {
  workload_source source(w, o.seed);
  o.typical_tokens = w.input.mean + w.output.mean;
  return simulate(d, static_cast<request_source&>(source), policy, o);
}

namespace detail {

/// Cache transfers from the replicas of a prefill pool. Each replica sends one prompt after the
/// other.
class transfer_queue {
 public:
  struct transfer {
    double ready = 0.0;
    std::int64_t order = 0;
    request_record prefill{};
    bool operator<(const transfer& t) const {
      return ready > t.ready || (ready == t.ready && order > t.order);
    }
  };
  void send(const request_record& r, double at, double time) {
    const auto from = static_cast<std::size_t>(r.replica);
    if (free_.size() <= from) free_.resize(from + 1, 0.0);
    free_[from] = std::max(free_[from], at) + time;
    waiting_.push({free_[from], sent_++, r});
  }
  double next() const { return waiting_.empty() ? request_source::never : waiting_.top().ready; }
  transfer take() {
    const transfer t = waiting_.top();
    waiting_.pop();
    return t;
  }

 private:
  std::priority_queue<transfer> waiting_{};
  std::vector<double> free_{};
  std::int64_t sent_ = 0;
};

/// Request as the decode pool receives it, after the transfer of its cache.
inline simulated_request decode_request_of(const transfer_queue::transfer& t,
                                           bool first_token_from_decode) {
  const request_record& p = t.prefill;
  simulated_request r{.index = p.index,
                      .arrival = p.arrival,
                      .input_tokens = p.input_tokens,
                      .output_tokens = p.output_tokens,
                      .session = p.session};
  if (!first_token_from_decode) r.first_token_at = t.ready;
  return r;
}

}  // namespace detail

/// Simulates disaggregated pools: each request is prefilled in one pool, its cache is transferred,
/// and it decodes in the other. The client receives the first token when the cache has arrived, or
/// after one step of the decode pool (`first_token_from_decode`). Options of replicas and scheduler
/// apply to both pools; the numbers of replicas are those of `d`.
/// Leaves out: the prefill pool's cache during a transfer; back pressure of the decode pool; a
/// prefix cache in the decode pool.
/// Errors: as for one deployment.
/// Test: a single request is a prefill, a transfer and its decode steps.
template <class Prefill, class Decode>
simulation_result simulate(const disaggregated& d, request_source& source,
                           const Prefill& prefill_policy, const Decode& decode_policy,
                           const simulation_options& o = {}) {
  detail::check_pools(d);
  simulation_result result;
  const deployment& prefills = d.prefill.deployment;
  const deployment& decodes = d.decode.deployment;
  detail::require_target_of(prefill_policy, prefills.device, prefills.serving_engine);
  detail::require_target_of(decode_policy, decodes.device, decodes.serving_engine);
  for (const deployment* of : {&prefills, &decodes}) {
    result.feasible = fits(*of, double(of->layout.data), o.typical_tokens);
    if (!result.feasible) return result;
  }
  simulation_options at_prefill = o, at_decode = o;
  at_prefill.speculate.reset();
  at_prefill.replicas = static_cast<int>(d.prefill.replicas);
  at_decode.replicas = static_cast<int>(d.decode.replicas);
  detail::replica_settings first =
      detail::replica_settings_of(prefills, prefill_policy, at_prefill);
  detail::replica_settings later = detail::replica_settings_of(decodes, decode_policy, at_decode);
  first.ends_at_first_token = true;
  later.starts_after_prefill = true;
  later.scheduler.mixed_chunk = true;
  later.scheduler.prefix_caching = false;
  const Decode steady = detail::decode_pool_policy(decode_policy, decodes.serving_engine);
  simulation_statistics of_prefill;
  detail::replica_set<Prefill> prefill_pool(first, prefills, prefill_policy, at_prefill,
                                            of_prefill);
  detail::replica_set<Decode> decode_pool(later, decodes, steady, at_decode, result.statistics);
  detail::simulation_clock clock(o, source, result);
  detail::transfer_queue transfers;
  const double cpu_time = detail::request_cpu_time_of(o, prefill_policy);
  const auto prefilled = [&](const request_record& r, double at) {
    const duration<> whole = transfer_time(d, r.input_tokens);
    const duration<> exposed = exposed_transfer(
        d.link, whole, (r.ttft - r.queueing) * perfmodel::second, prefills.model.layers.count);
    transfers.send(r, at, exposed.value());
  };
  const auto finished = [&](const request_record& r, double at) { clock.completed(r, at); };
  simulated_request r;
  for (double now = 0.0;;) {
    const double arrival = source.next_arrival() + cpu_time;
    const double next =
        std::min({arrival, prefill_pool.next_event(), decode_pool.next_event(), transfers.next()});
    if ((prefill_pool.is_pending() || decode_pool.is_pending()) && next > now) {
      prefill_pool.start(now);
      decode_pool.start(now);
      continue;
    }
    if (next == request_source::never) break;
    now = next;
    if (arrival <= now) {
      source.take(r);
      clock.arrived(r);
      prefill_pool.enqueue(r, arrival);
    } else if (transfers.next() <= now) {
      const auto t = transfers.take();
      if (t.prefill.output_tokens > 1) {
        decode_pool.enqueue(detail::decode_request_of(t, d.first_token_from_decode), t.ready);
      } else {
        request_record whole = t.prefill;
        whole.ttft = whole.e2e = t.ready - whole.arrival;
        clock.completed(whole, t.ready);
      }
    } else if (prefill_pool.next_event() <= now) {
      prefill_pool.advance(prefilled);
    } else {
      decode_pool.advance(finished);
    }
  }
  prefill_pool.close(clock.last());
  decode_pool.close(clock.last());
  clock.close();
  result.steps = prefill_pool.steps() + decode_pool.steps();
  result.priced_steps = prefill_pool.priced() + decode_pool.priced();
  result.preemptions = prefill_pool.preemptions() + decode_pool.preemptions();
  result.replica_seconds = prefill_pool.replica_seconds() + decode_pool.replica_seconds();
  return result;
}

}  // namespace perfmodel::inline v0_3
