// Prediction of a disaggregated service: flow through the prefill and decode pools, and latencies.
#pragma once

#include <array>
#include <numbers>
#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/serving/prediction_of_service.hpp>
#include <perfmodel/serving/prefill_steps.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/state.hpp>

// Both pools of a disaggregated service: capacity, and the period of each stage.

namespace perfmodel::inline v0_3::detail {

/// Flow of requests through both pools. prefill(iteration) and decode(iteration) return the
/// estimate of an engine step in each pool; where they have time(iteration), times come from it.
/// The bound and the prediction of a disaggregated service
/// derive from this class.
template <Scalar T, class Prefill, class Decode>
class pool_flow {
 protected:
  constexpr pool_flow(const basic_disaggregated<T>& d, const basic_service_load<T>& l,
                      const basic_service_terms<T>& engine, Prefill& prefill, Decode& decode)
      : d_(d), l_(l), engine_(engine), prefill_(prefill), decode_(decode) {
    check_load_of_pools(l);
    decode_steps_ =
        scalar_max(T(l.output_tokens - 1.0), T(1.0)) + T(d.first_token_from_decode ? 1.0 : 0.0);
    admit_prefills();
    admit_decodes();
    before_decode();
  }

  constexpr const basic_deployment<T>& prefill_pool() const { return d_.prefill.deployment; }
  constexpr const basic_deployment<T>& decode_pool() const { return d_.decode.deployment; }

  /// Sets the step times of the prefill pool. A step takes as many prompts as the token budget
  /// allows and as fit in memory.
  constexpr void admit_prefills() {
    const basic_deployment<T>& pool = prefill_pool();
    const basic_memory_budget<T> budget = budget_of(pool);
    s_.feasible = group_fits(pool);
    if (s_.feasible) {
      s_.feasible =
          memory_fits(budget, cache_on_device(pool, T(pool.layout.data), l_.input_tokens));
    }
    const T fit = sequences_of(pool, budget, l_, l_.input_tokens) / T(pool.layout.data);
    basic_service_load<T> load = l_;
    load.chunk_tokens =
        scalar_min(prefill_budget(pool, l_, scheduling::prefill_first, T(0.0)),
                   T(scalar_max(fit, T(1.0)) * (1.0 - l_.prefix_hit) * l_.input_tokens));
    const auto with_prefills = [&](const basic_iteration<T>& i) {
      return engine_.prefill_slowdown * step_time_of(prefill_, i);
    };
    prefill_steps_ = prefill_steps_of(pool, load, scheduling::prefill_first, T(0.0), duration<T>{},
                                      with_prefills);
    s_.prefill = prefill_(unloaded_prefill(l_));
    prefill_period_ = named("period of the prefill pool",
                            prefill_steps_.saturated_prefill_time / d_.prefill.replicas);
  }

  /// Sets the largest decode batch of a replica, and the period of the saturated decode pool.
  constexpr void admit_decodes() {
    const basic_deployment<T>& pool = decode_pool();
    const service_memory<T> memory =
        service_memory_of(pool, l_, T(l_.input_tokens + l_.output_tokens));
    if (s_.feasible) s_.feasible = memory.feasible;
    s_.capacity = memory.sequences * d_.decode.replicas;
    max_batch_ = admitted_sequences(pool, l_, scalar_max(memory.sequences, T(1.0)));
    decode_period_ = decode_steps_ * step_at(max_batch_) / (max_batch_ * d_.decode.replicas);
  }

  /// Sets the times of the transfer, and TTFT without queueing.
  constexpr void before_decode() {
    s_.transfer = transfer_time(d_, l_.input_tokens);
    s_.exposed_transfer = exposed_transfer(d_.link, s_.transfer, prefill_steps_.prefill_time,
                                           decode_pool().model.layers.count);
    const duration<T> fetch = prefix_fetch_of(prefill_pool(), l_).transfer_time;
    unloaded_ttft_ =
        engine_.request_cpu_time + fetch + prefill_steps_.prefill_time + s_.exposed_transfer;
    const duration<T> sent =
        sequence_on_device(prefill_pool(), l_.input_tokens) / d_.link.bandwidth_per_device;
    const duration<T> taken =
        sequence_on_device(decode_pool(), l_.input_tokens) / d_.link.bandwidth_per_device;
    transfer_period_ = max(sent / (d_.prefill.replicas * T(prefill_pool().layout.data)),
                           taken / (d_.decode.replicas * T(decode_pool().layout.data)));
  }

  constexpr basic_iteration<T> decode_step(const T& batch) const {
    return {scalar_max(batch, T(1.0)), mean_context(l_)};
  }
  constexpr duration<T> step_at(const T& batch) const {
    return step_time_of(decode_, decode_step(batch));
  }
  constexpr basic_estimate<T> decode_at(const T& batch) const {
    return decode_(decode_step(batch));
  }

  /// Marks the estimate infeasible if a stage is slower than the arrivals. The reason names the
  /// slowest stage.
  constexpr void check_stability(const request_rate<T>& rate) {
    const std::array periods{prefill_period_, transfer_period_, decode_period_};
    constexpr std::array reasons{
        "prompts arrive faster than the prefill pool computes them",
        "prompts arrive faster than the link moves their cache",
        "requests arrive faster than the largest batch of the decode pool serves them"};
    std::size_t slowest = 0;
    for (std::size_t i = 1; i < periods.size(); ++i) {
      if (upper(periods[i].value()) > upper(periods[slowest].value())) slowest = i;
    }
    const duration<T>& period = periods[slowest];
    if (s_.feasible && !(upper(T(rate * period / request)) < 1.0)) {
      s_.feasible =
          infeasible(reasons[slowest], "req/s", upper(rate.value()), 1.0 / upper(period.value()));
    }
  }

  /// Decode batch of one replica at an arrival rate, by Little's law.
  constexpr T batch_at(const request_rate<T>& rate) const {
    const T in_system = T(rate * decode_steps_ * duration<T>::from_value(T(1.0)) / request);
    const auto in_flight = [&](const T& batch) -> T {
      return in_system * step_at(batch).value() / d_.decode.replicas;
    };
    return named("batch", balanced_batch(max_batch_, in_flight));
  }

  /// Mean queueing for one of the prefill replicas in an open loop: an M/G/c queue by Sakasegawa's
  /// approximation.
  constexpr duration<T> prefill_queueing(const basic_open_loop<T>& loop) const {
    const T busy = scalar_min(T(loop.rate * prefill_period_ / request), T(1.0 - 1e-6));
    const T variation = (loop.cv * loop.cv + l_.input_cv * l_.input_cv) / 2.0;
    return multi_server_wait(busy, d_.prefill.replicas, variation, prefill_period_);
  }

  /// Sets the utilisation of each stage, the stage with the highest utilisation, and the balanced
  /// ratio.
  constexpr void add_stages() {
    s_.prefill_utilisation = T(s_.throughput * prefill_period_ / request);
    s_.transfer_utilisation = T(s_.throughput * transfer_period_ / request);
    s_.decode_utilisation = T(s_.throughput * decode_period_ / request);
    s_.balanced_ratio = named("balanced ratio", T(prefill_steps_.saturated_prefill_time /
                                                  (decode_period_ * d_.decode.replicas)));
    const std::array<T, 3> idle{-s_.prefill_utilisation, -s_.transfer_utilisation,
                                -s_.decode_utilisation};
    s_.binding = static_cast<service_stage>(index_of_least(idle, idle.size()));
  }

  const basic_disaggregated<T>& d_;
  const basic_service_load<T>& l_;
  const basic_service_terms<T>& engine_;
  Prefill& prefill_;
  Decode& decode_;
  basic_prefill_steps<T> prefill_steps_{};
  basic_disaggregated_estimate<T> s_{};
  T decode_steps_{};               ///< decode steps of one request
  T max_batch_{}, batch_{};        ///< largest and mean decode batch of one replica
  duration<T> prefill_period_{};   ///< time per prompt of the saturated prefill pool
  duration<T> transfer_period_{};  ///< time per prompt of the saturated links
  duration<T> decode_period_{};    ///< time per request of the saturated decode pool
  duration<T> unloaded_ttft_{};    ///< TTFT without queueing
};

/// Policy of a decode pool. It drops the CPU time per step and per sequence, and the uncounted
/// kernels of a layer, for SGLang. This time
/// was fitted to services that mix prefill and decode. Without prefills between its steps, SGLang
/// prepares each step while the previous one runs.
/// Source: "SGLang v0.4: Zero-Overhead Batch Scheduler", lmsys.org, December 2024.
/// Test: published disaggregated services, 14 % error without that CPU time and 26 % with it.
template <class Policy>
constexpr Policy decode_pool_policy(Policy policy, engine serving_engine) {
  if constexpr (requires { policy.engine.step_cpu_time; }) {
    if (serving_engine == engine::sglang) {
      policy.engine.step_cpu_time *= 0.0;
      policy.engine.sequence_cpu_time *= 0.0;
      policy.engine.layer_time *= 0.0;
      policy.engine.expert_layer_time *= 0.0;
    }
  }
  return policy;
}

/// Prediction of a disaggregated service. prefill(iteration) and decode(iteration) return the
/// estimate of an engine step in each pool.
template <Scalar T, class Prefill, class Decode>
class disaggregated_prediction : pool_flow<T, Prefill, Decode> {
  using flow = pool_flow<T, Prefill, Decode>;

 public:
  constexpr disaggregated_prediction(const basic_disaggregated<T>& d,
                                     const basic_service_load<T>& l,
                                     const basic_service_terms<T>& engine, Prefill& prefill,
                                     Decode& decode)
      : flow(d, l, engine, prefill, decode) {}

  constexpr basic_disaggregated_estimate<T> estimate() {
    if (l_.is_closed()) {
      closed(std::get<basic_closed_loop<T>>(l_.arrivals));
    } else {
      open(std::get<basic_open_loop<T>>(l_.arrivals));
    }
    return sum_up();
  }

 private:
  using flow::batch_;
  using flow::d_;
  using flow::decode_period_;
  using flow::decode_steps_;
  using flow::engine_;
  using flow::l_;
  using flow::max_batch_;
  using flow::prefill_period_;
  using flow::prefill_steps_;
  using flow::s_;
  using flow::step_at;
  using flow::transfer_period_;
  using flow::unloaded_ttft_;

  /// Mean time from the arrival of a request until it joins the decode batch, averaged over a run.
  /// Prompts of the initial burst all arrive at the start, later prompts as outputs complete. All
  /// wait pool_iterations steps of the decode pool after the transfer.
  constexpr duration<T> before_decoding(const T& in_system, const duration<T>& decoding) const {
    const duration<T> later = unloaded_ttft_ + prefill_wait(in_system, decoding);
    const duration<T> first =
        engine_.request_cpu_time + s_.exposed_transfer + 0.5 * (burst_start_ + burst_end_);
    return initial_burst_ * first + (1.0 - initial_burst_) * later +
           engine_.pool_iterations / decode_steps_ * decoding;
  }
  /// Mean queueing for the prefill pool in a closed loop (Schweitzer's approximation).
  constexpr duration<T> prefill_wait(const T& in_system, const duration<T>& decoding) const {
    return duration<T>::from_value(schweitzer_wait(in_system, prefill_period_.value(),
                                                   think_time(decoding).value(), l_.input_cv));
  }
  /// Time of a request outside the prefill pool, per cycle of the closed loop.
  constexpr duration<T> think_time(const duration<T>& decoding) const {
    return max(unloaded_ttft_ + decoding - prefill_period_, prefill_period_);
  }

  constexpr void closed(const basic_closed_loop<T>& loop) {
    const T& all = loop.concurrency;
    if (loop.requests) initial_burst_ = scalar_min(T(1.0), T(all / *loop.requests));
    const T per_replica = scalar_max(T(all / d_.prefill.replicas), T(1.0));
    burst_start_ =
        max(prefill_steps_.prefill_time, scalar_min(per_replica, prefill_steps_.prefills_per_step) *
                                             prefill_steps_.saturated_prefill_time);
    burst_end_ = max(burst_start_, all * prefill_period_);
    const auto in_flight = [&](const T& batch) -> T {
      const duration<T> decoding = decode_steps_ * step_at(batch);
      // The initial burst waits less than later requests. The cycle is at least what the prefill
      // pool and the links take for all prompts.
      const duration<T> cycle =
          max(max(decoding + before_decoding(all, decoding), all * prefill_period_),
              duration<T>(all * transfer_period_));
      return all / d_.decode.replicas * T(decoding / cycle);
    };
    batch_ = named("batch", balanced_batch(max_batch_, in_flight));
    const duration<T> decoding = decode_steps_ * step_at(batch_);
    s_.throughput = d_.decode.replicas * batch_ * request / decoding;
    const duration<T> queue = prefill_wait(all, decoding);
    // Queueing that every request has at a saturated pool; the rest varies between requests.
    const duration<T> certain =
        max(all * prefill_period_ - think_time(decoding) - prefill_period_, duration<T>{});
    admission_delay_ = max(
        all * request / s_.throughput - decoding - before_decoding(all, decoding), duration<T>{});
    const bool batch_full = !(upper(T(batch_ / max_batch_)) < 1.0 - 1e-9);
    const bool link_saturated =
        !(upper(T(s_.throughput * transfer_period_ / request)) < 1.0 - 1e-9);
    if (!batch_full && !link_saturated)
      admission_delay_ = {};  // the balance is exact but for rounding
    s_.admission_delay = admission_delay_;
    add_queue_in_loop(s_, l_);
    distribute(certain, max(queue - certain, duration<T>{}));
  }

  constexpr void open(const basic_open_loop<T>& loop) {
    batch_ = flow::batch_at(loop.rate);
    s_.throughput = loop.rate;
    flow::check_stability(loop.rate);
    const duration<T> queue = flow::prefill_queueing(loop);
    basic_service_terms<T> terms = engine_;
    terms.max_running = d_.decode.replicas * max_batch_;
    terms.output_cv = l_.output_cv;
    const admission_queue<T> taken = admission_queue_of(terms, loop, T(d_.decode.replicas * batch_),
                                                        request_rate<T>(request / decode_period_));
    admission_delay_ = taken.share * taken.wait;
    s_.admission_delay = admission_delay_;
    s_.queued = taken.share;
    distribute(0.5 * (loop.arrivals_per_burst - 1.0) * prefill_period_, queue);
  }

  /// Sets the latency distributions. `certain` is the queueing that every request has, `queue` the
  /// mean queueing that varies between requests (those that find the prefill pool busy).
  constexpr void distribute(const duration<T>& certain, const duration<T>& queue) {
    const duration<T> step = step_at(batch_);
    const duration<T> start =
        admission_delay_ + (engine_.pool_iterations + T(d_.first_token_from_decode ? 1.0 : 0.0) +
                            (tokens_at_ttft() - 1.0)) *
                               step;
    const T later = 1.0 - initial_burst_;
    s_.wait = admission_delay_ +
              (later * (certain + queue) +
               initial_burst_ * (0.5 * (burst_start_ + burst_end_) - prefill_steps_.prefill_time));
    if (upper(initial_burst_) > 0.0) {
      s_.ttft_distribution.add(
          {initial_burst_, engine_.request_cpu_time + s_.exposed_transfer + start + burst_start_,
           burst_end_ - burst_start_});
    }
    const T busy = scalar_min(T(s_.throughput * prefill_period_ / request), T(1.0 - 1e-6));
    const T waits = scalar_max(sakasegawa_waiting_probability(busy, d_.prefill.replicas), T(1e-9));
    const duration<T> unqueued = unloaded_ttft_ + start + certain;
    // Prefill and transfer of the request's own prompt vary with its length.
    const duration<T> own = prefill_steps_.prefill_time + s_.exposed_transfer;
    s_.ttft_distribution.add(
        with_length(T(later * (1.0 - waits)), unqueued, own, duration<T>{}, l_.input_cv));
    // The tail of the queue is exponential in an open loop, bounded by all others in a closed one.
    // A part has one random term, in a closed loop that of the larger deviation.
    const duration<T> queueing = queue / waits;
    const bool varies = upper(T(scalar_min(l_.input_cv, T(1.0)) * own.value())) >
                        lower(queueing.value()) / std::numbers::sqrt3;
    if (!l_.is_closed()) {
      s_.ttft_distribution.add(with_length(T(later * waits), unqueued, own, queueing, l_.input_cv));
    } else if (varies) {
      s_.ttft_distribution.add(with_length(T(later * waits), duration<T>(unqueued + queueing), own,
                                           duration<T>{}, l_.input_cv));
    } else {
      s_.ttft_distribution.add({later * waits, unqueued, 2.0 * queueing});
    }
    s_.itl_distribution.add({T(1.0), step});
  }

  constexpr basic_disaggregated_estimate<T> sum_up() {
    s_.batch = d_.decode.replicas * batch_;
    s_.decode = flow::decode_at(batch_);
    s_.itl = named("inter-token latency", s_.decode.time);
    s_.ttft = named("time to first token", s_.ttft_distribution.mean());
    add_whole_requests(s_, l_, tokens_at_ttft());
    flow::add_stages();
    return s_;
  }

  /// Number of output tokens in the first streamed message. The prefill pool computes one of them.
  constexpr T tokens_at_ttft() const { return scalar_min(l_.stream_interval, l_.output_tokens); }

  duration<T> admission_delay_{};
  /// First and last prefill of the initial burst.
  duration<T> burst_start_{}, burst_end_{};
  T initial_burst_{};  ///< share of all requests in the initial burst
};

}  // namespace perfmodel::inline v0_3::detail
