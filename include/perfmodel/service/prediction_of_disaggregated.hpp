// Prompts on some replicas, answers on others: the flow through both pools, and latencies.
#pragma once

#include <perfmodel/service/pool_flow.hpp>
#include <perfmodel/service/prediction_of_service.hpp>

namespace perfmodel::detail {

/// The policy of replicas that only decode. SGLang prepares a step while the one before it runs ("SGLang
/// v0.4: Zero-Overhead Batch Scheduler", lmsys.org, December 2024), and no prompt comes between them:
/// the host time that is fitted to its services, where prompts do, is not taken.
/// Test: published services, 14 % off without that time and 26 % with it.
template <class Policy>
constexpr Policy uninterrupted(Policy policy, engine served_by) {
  if constexpr (requires { policy.engine.step_host; }) {
    if (served_by == engine::sglang) {
      policy.engine.step_host *= 0.0;
      policy.engine.sequence_host *= 0.0;
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
  using flow::at_room_;
  using flow::batch_;
  using flow::d_;
  using flow::engine_;
  using flow::l_;
  using flow::link_slot_;
  using flow::own_;
  using flow::p_;
  using flow::room_;
  using flow::s_;
  using flow::slot_;
  using flow::step_at;
  using flow::steps_;

  /// From a request to its place in a decoding batch, over a run: the first wave's prompts all come at
  /// once, later ones as answers end.
  constexpr duration<T> before_answer(const T& in_system, const duration<T>& answer) const {
    const duration<T> later = own_ + prompt_wait(in_system, answer);
    const duration<T> first = engine_.request_host + s_.exposed + 0.5 * (wave_from_ + wave_to_);
    return first_wave_ * first + (1.0 - first_wave_) * later;
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
    if (loop.requests) first_wave_ = scalar_min(T(1.0), T(all / *loop.requests));
    const T of_each = scalar_max(T(all / d_.prefill.replicas), T(1.0));
    wave_from_ = max(p_.alone, scalar_min(of_each, p_.together) * p_.packed);
    wave_to_ = max(wave_from_, all * slot_);
    const auto arriving = [&](const T& batch) -> T {
      const duration<T> answer = steps_ * step_at(batch);
      // Over a run the first wave waits less than the rest, and no prompt is computed in less time,
      // nor is its cache sent.
      const duration<T> cycle =
          max(max(answer + before_answer(all, answer), all * slot_), duration<T>(all * link_slot_));
      return all / d_.decode.replicas * T(answer / cycle);
    };
    batch_ = named("batch", balanced_batch(room_, arriving));
    const duration<T> answer = steps_ * step_at(batch_);
    s_.throughput = d_.decode.replicas * batch_ * request / answer;
    const duration<T> queue = prompt_wait(all, answer);
    // What a full pool makes everybody wait; the rest of the wait differs from request to request.
    const duration<T> certain = max(all * slot_ - away(answer) - slot_, duration<T>{});
    place_ =
        max(all * request / s_.throughput - answer - before_answer(all, answer), duration<T>{});
    const bool full = !(upper(T(batch_ / room_)) < 1.0 - 1e-9);
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
    places.room = d_.decode.replicas * room_;
    places.output_cv = l_.output_cv;
    const place_wait<T> taken = wait_for_place(places, loop, T(d_.decode.replicas * batch_),
                                               request_rate<T>(request / at_room_));
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
    const T later = 1.0 - first_wave_;
    s_.wait = place_ + (later * (certain + queue) +
                        first_wave_ * (0.5 * (wave_from_ + wave_to_) - p_.alone));
    if (upper(first_wave_) > 0.0) {
      s_.first_token.add({first_wave_, engine_.request_host + s_.exposed + start + wave_from_,
                          wave_to_ - wave_from_});
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
  duration<T> wave_from_{}, wave_to_{};  ///< the first and last prompts of the first wave
  T first_wave_{};                       ///< the share of requests that it is
};

}  // namespace perfmodel::detail
