// Prompts on some replicas, answers on others: the flow through both pools, and latencies.
#pragma once

#include <array>
#include <perfmodel/serving/balance.hpp>
#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/serving/prediction_of_service.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/prompt_passes.hpp>
#include <perfmodel/serving/state.hpp>

// What passes through the pools of a disaggregated service: what fits, and how long each stage is busy.

namespace perfmodel::detail {

/// The chance that an arrival waits for one of `servers`, rho^(sqrt(2 (c + 1)) - 1). Over c (1 - rho)
/// it is the mean wait in services of M/M/c. Source: Sakasegawa, Annals of the Institute of
/// Statistical Mathematics 29, 1977. Test: one server is M/M/1; within 0.05 of Erlang's C, 2 to 16
/// servers 0.5 to 0.95 busy.
template <Scalar T>
constexpr T chance_of_waiting(const T& busy, const T& servers) {
  using math::exp;
  using math::log;
  using math::sqrt;
  return exp(T((sqrt(T(2.0 * (servers + 1.0))) - 1.0) * log(busy)));
}

/// Both pools by prefill(iteration) -> estimate and decode(iteration) -> estimate; what a load makes of
/// them, bound or prediction, adds the rest.
template <Scalar T, class Prefill, class Decode>
class pool_flow {
 protected:
  constexpr pool_flow(const basic_disaggregated<T>& d, const basic_service_load<T>& l,
                      const basic_service_terms<T>& engine, const Prefill& prefill,
                      const Decode& decode)
      : d_(d), l_(l), engine_(engine), prefill_(prefill), decode_(decode) {
    check_load_of_pools(l);
    steps_ = scalar_max(T(l.output_tokens - 1.0), T(1.0)) + T(d.decode_starts ? 1.0 : 0.0);
    admit_prefills();
    admit_decodes();
    before_decode();
  }

  constexpr const basic_deployment<T>& prefills_on() const { return d_.prefill.deployment; }
  constexpr const basic_deployment<T>& decodes_on() const { return d_.decode.deployment; }

  /// Prompts run alone, as many together as the budget takes and as fit beside the weights.
  constexpr void admit_prefills() {
    const basic_deployment<T>& on = prefills_on();
    const basic_memory_budget<T> budget = budget_of(on);
    s_.feasible = group_fits(on);
    if (s_.feasible) {
      s_.feasible = memory_fits(budget, cache_on_device(on, T(on.layout.data), l_.input_tokens));
    }
    const T fit = sequences_of(on, budget, l_, l_.input_tokens) / T(on.layout.data);
    basic_service_load<T> load = l_;
    load.chunk_tokens =
        scalar_min(prefill_budget(on, l_, scheduling::prefill_first, T(0.0)),
                   T(scalar_max(fit, T(1.0)) * (1.0 - l_.prefix_hit) * l_.input_tokens));
    const auto with_prefills = [&](const basic_iteration<T>& i) {
      return engine_.prompt_time * prefill_(i).time;
    };
    p_ =
        prefill_steps_of(on, load, scheduling::prefill_first, T(0.0), duration<T>{}, with_prefills);
    s_.prefill = prefill_(unloaded_prefill(l_));
    slot_ = named("time of the prefill pool for a prompt", p_.packed / d_.prefill.replicas);
  }

  constexpr void admit_decodes() {
    const basic_deployment<T>& on = decodes_on();
    const service_memory<T> memory =
        service_memory_of(on, l_, T(l_.input_tokens + l_.output_tokens));
    if (s_.feasible) s_.feasible = memory.feasible;
    s_.capacity = memory.sequences * d_.decode.replicas;
    capacity_ = admitted_sequences(on, l_, scalar_max(memory.sequences, T(1.0)));
    at_capacity_ = steps_ * step_at(capacity_) / (capacity_ * d_.decode.replicas);
  }

  constexpr void before_decode() {
    s_.transfer = transfer_time(d_, l_.input_tokens);
    s_.exposed = exposed_transfer(d_.link, s_.transfer, p_.alone, decodes_on().model.layers.count);
    const duration<T> fetch = prefix_fetch_of(prefills_on(), l_).each;
    own_ = engine_.request_cpu_time + fetch + p_.alone + s_.exposed;
    const duration<T> sent =
        sequence_on_device(prefills_on(), l_.input_tokens) / d_.link.per_device;
    const duration<T> taken =
        sequence_on_device(decodes_on(), l_.input_tokens) / d_.link.per_device;
    link_slot_ = max(sent / (d_.prefill.replicas * T(prefills_on().layout.data)),
                     taken / (d_.decode.replicas * T(decodes_on().layout.data)));
  }

  constexpr duration<T> step_at(const T& batch) const { return decode_at(batch).time; }
  constexpr basic_estimate<T> decode_at(const T& batch) const {
    return decode_(basic_iteration<T>{scalar_max(batch, T(1.0)), mean_context(l_)});
  }

  /// Arrivals that a stage does not keep up with: the one that keeps up with the fewest.
  constexpr void keep_up_with(const request_rate<T>& rate) {
    const std::array paces{slot_, link_slot_, at_capacity_};
    constexpr std::array reasons{
        "prompts arrive faster than the prefill pool computes them",
        "prompts arrive faster than the link moves their cache",
        "requests arrive faster than the largest batch of the decode pool serves them"};
    std::size_t tightest = 0;
    for (std::size_t i = 1; i < paces.size(); ++i) {
      if (upper(paces[i].value()) > upper(paces[tightest].value())) tightest = i;
    }
    const duration<T>& slot = paces[tightest];
    if (s_.feasible && !(upper(T(rate * slot / request)) < 1.0)) {
      s_.feasible =
          infeasible(reasons[tightest], "req/s", upper(rate.value()), 1.0 / upper(slot.value()));
    }
  }

  /// Sequences that one replica decodes where requests arrive at a rate.
  constexpr T batch_at(const request_rate<T>& rate) const {
    const T in_system = T(rate * steps_ * duration<T>::from_value(T(1.0)) / request);
    const auto arriving = [&](const T& batch) -> T {
      return in_system * step_at(batch).value() / d_.decode.replicas;
    };
    return named("batch", balanced_batch(capacity_, arriving));
  }

  /// The mean wait for one of the replicas that prefill, of arrivals one by one.
  constexpr duration<T> queue_of(const basic_open_loop<T>& loop) const {
    const T busy = scalar_min(T(loop.rate * slot_ / request), T(1.0 - 1e-6));
    const T variation = (loop.cv * loop.cv + l_.input_cv * l_.input_cv) / 2.0;
    return variation * chance_of_waiting(busy, d_.prefill.replicas) / (1.0 - busy) * slot_;
  }

  constexpr void add_stages() {
    s_.prefill_busy = T(s_.throughput * slot_ / request);
    s_.transfer_busy = T(s_.throughput * link_slot_ / request);
    s_.decode_busy = T(s_.throughput * at_capacity_ / request);
    s_.balanced_ratio = named("balanced ratio", T(p_.packed / (at_capacity_ * d_.decode.replicas)));
    const std::array<T, 3> idle{-s_.prefill_busy, -s_.transfer_busy, -s_.decode_busy};
    s_.binding = on_each_lane<T>([&](std::size_t lane) {
      return static_cast<service_stage>(index_of_least(idle, idle.size(), lane));
    });
  }

  const basic_disaggregated<T>& d_;
  const basic_service_load<T>& l_;
  const basic_service_terms<T>& engine_;
  const Prefill& prefill_;
  const Decode& decode_;
  basic_prefill_steps<T> p_{};
  basic_disaggregated_estimate<T> s_{};
  T steps_{};                  ///< of decoding, of one request
  T capacity_{}, batch_{};     ///< of one replica that decodes
  duration<T> slot_{};         ///< in which the prefill pool completes one prompt, when it is full
  duration<T> link_slot_{};    ///< the same of the links
  duration<T> at_capacity_{};  ///< the same of the decode pool
  duration<T> own_{};          ///< of a prompt that waits for nothing, to its place among answers
};

/// The policy of replicas that only decode. SGLang prepares a step while the one before it runs ("SGLang
/// v0.4: Zero-Overhead Batch Scheduler", lmsys.org, December 2024), and no prompt comes between them:
/// the host time that is fitted to its services, where prompts do, is not taken.
/// Test: published services, 14 % off without that time and 26 % with it.
template <class Policy>
constexpr Policy uninterrupted(Policy policy, engine serving_engine) {
  if constexpr (requires { policy.engine.step_cpu_time; }) {
    if (serving_engine == engine::sglang) {
      policy.engine.step_cpu_time *= 0.0;
      policy.engine.sequence_cpu_time *= 0.0;
    }
  }
  return policy;
}

/// A disaggregated service by prefill(iteration) -> estimate and decode(iteration) -> estimate.
template <Scalar T, class Prefill, class Decode>
class disaggregated_prediction : pool_flow<T, Prefill, Decode> {
  using flow = pool_flow<T, Prefill, Decode>;

 public:
  constexpr disaggregated_prediction(const basic_disaggregated<T>& d,
                                     const basic_service_load<T>& l,
                                     const basic_service_terms<T>& engine, const Prefill& prefill,
                                     const Decode& decode)
      : flow(d, l, engine, prefill, decode) {}

  constexpr basic_disaggregated_estimate<T> estimate() {
    if (l_.is_closed()) {
      closed(std::get<basic_closed_loop<T>>(l_.arrivals));
    } else {
      open(std::get<basic_open_loop<T>>(l_.arrivals));
    }
    return summed_up();
  }

 private:
  using flow::at_capacity_;
  using flow::batch_;
  using flow::capacity_;
  using flow::d_;
  using flow::engine_;
  using flow::l_;
  using flow::link_slot_;
  using flow::own_;
  using flow::p_;
  using flow::s_;
  using flow::slot_;
  using flow::step_at;
  using flow::steps_;

  /// From a request to its place in a decoding batch, over a run: the first wave's prompts all come at
  /// once, later ones as answers end.
  constexpr duration<T> before_answer(const T& in_system, const duration<T>& answer) const {
    const duration<T> later = own_ + prompt_wait(in_system, answer);
    const duration<T> first =
        engine_.request_cpu_time + s_.exposed + 0.5 * (burst_from_ + burst_to_);
    return initial_burst_ * first + (1.0 - initial_burst_) * later;
  }
  constexpr duration<T> prompt_wait(const T& in_system, const duration<T>& answer) const {
    return duration<T>::from_value(
        wait_in_loop(in_system, slot_.value(), away(answer).value(), l_.input_cv));
  }
  constexpr duration<T> away(const duration<T>& answer) const {
    return max(own_ + answer - slot_, slot_);
  }

  constexpr void closed(const basic_closed_loop<T>& loop) {
    const T& all = loop.concurrency;
    if (loop.requests) initial_burst_ = scalar_min(T(1.0), T(all / *loop.requests));
    const T of_each = scalar_max(T(all / d_.prefill.replicas), T(1.0));
    burst_from_ = max(p_.alone, scalar_min(of_each, p_.together) * p_.packed);
    burst_to_ = max(burst_from_, all * slot_);
    const auto arriving = [&](const T& batch) -> T {
      const duration<T> answer = steps_ * step_at(batch);
      // Over a run the first wave waits less than the rest, and no prompt is computed in less time,
      // nor is its cache sent.
      const duration<T> cycle =
          max(max(answer + before_answer(all, answer), all * slot_), duration<T>(all * link_slot_));
      return all / d_.decode.replicas * T(answer / cycle);
    };
    batch_ = named("batch", balanced_batch(capacity_, arriving));
    const duration<T> answer = steps_ * step_at(batch_);
    s_.throughput = d_.decode.replicas * batch_ * request / answer;
    const duration<T> queue = prompt_wait(all, answer);
    // What a full pool makes everybody wait; the rest of the wait differs from request to request.
    const duration<T> certain = max(all * slot_ - away(answer) - slot_, duration<T>{});
    place_ =
        max(all * request / s_.throughput - answer - before_answer(all, answer), duration<T>{});
    const bool full = !(upper(T(batch_ / capacity_)) < 1.0 - 1e-9);
    const bool sends = !(upper(T(s_.throughput * link_slot_ / request)) < 1.0 - 1e-9);
    if (!full && !sends) place_ = {};  // the balance is exact but for rounding
    s_.admission_delay = place_;
    add_queue_in_loop(s_, l_);
    distribute(certain, max(queue - certain, duration<T>{}));
  }

  constexpr void open(const basic_open_loop<T>& loop) {
    batch_ = flow::batch_at(loop.rate);
    s_.throughput = loop.rate;
    flow::keep_up_with(loop.rate);
    const duration<T> queue = flow::queue_of(loop);
    basic_service_terms<T> places = engine_;
    places.room = d_.decode.replicas * capacity_;
    places.output_cv = l_.output_cv;
    const admission_wait<T> taken = admission_wait_time(
        places, loop, T(d_.decode.replicas * batch_), request_rate<T>(request / at_capacity_));
    place_ = taken.share * taken.each;
    s_.admission_delay = place_;
    s_.queued = taken.share;
    distribute(0.5 * (loop.together - 1.0) * slot_, queue);
  }

  /// A wait of all requests, and one of those that find the prefill pool busy.
  constexpr void distribute(const duration<T>& certain, const duration<T>& queue) {
    const duration<T> step = step_at(batch_);
    const duration<T> start =
        place_ + (T(d_.decode_starts ? 1.0 : 0.0) + (sent_first() - 1.0)) * step;
    const T later = 1.0 - initial_burst_;
    s_.wait = place_ + (later * (certain + queue) +
                        initial_burst_ * (0.5 * (burst_from_ + burst_to_) - p_.alone));
    if (upper(initial_burst_) > 0.0) {
      s_.first_token.add({initial_burst_,
                          engine_.request_cpu_time + s_.exposed + start + burst_from_,
                          burst_to_ - burst_from_});
    }
    const T busy = scalar_min(T(s_.throughput * slot_ / request), T(1.0 - 1e-6));
    const T waits = scalar_max(chance_of_waiting(busy, d_.prefill.replicas), T(1e-9));
    const duration<T> own = own_ + start + certain;
    s_.first_token.add({later * (1.0 - waits), own});
    // In an open loop a queue's tail is exponential; one of a closed loop has no more than all others.
    if (l_.is_closed()) {
      s_.first_token.add({later * waits, own, 2.0 / waits * queue});
    } else {
      s_.first_token.add({later * waits, own, {}, queue / waits});
    }
    s_.gap.add({T(1.0), step});
  }

  constexpr basic_disaggregated_estimate<T> summed_up() {
    s_.batch = d_.decode.replicas * batch_;
    s_.decode = flow::decode_at(batch_);
    s_.itl = named("inter-token latency", s_.decode.time);
    s_.ttft = named("time to first token", s_.first_token.mean());
    add_whole_requests(s_, l_, sent_first());
    flow::add_stages();
    return s_;
  }

  /// Tokens of an answer that come together, of which the prefill pool computes one.
  constexpr T sent_first() const { return scalar_min(l_.first_tokens, l_.output_tokens); }

  duration<T> place_{};
  duration<T> burst_from_{}, burst_to_{};  ///< the first and last prompts of the first wave
  T initial_burst_{};                      ///< the share of requests that it is
};

}  // namespace perfmodel::detail
