// What passes through the pools of a disaggregated service: what fits, and how long each stage is busy.
#pragma once

#include <array>
#include <perfmodel/deployment/balance.hpp>
#include <perfmodel/service/disaggregated.hpp>
#include <perfmodel/service/prefix_fetch.hpp>
#include <perfmodel/service/prompt_passes.hpp>
#include <perfmodel/service/service_memory.hpp>
#include <perfmodel/service/state.hpp>

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
    admit_prompts();
    admit_answers();
    before_decode();
  }

  constexpr const basic_deployment<T>& prompts_on() const { return d_.prefill.deployment; }
  constexpr const basic_deployment<T>& answers_on() const { return d_.decode.deployment; }

  /// Prompts run alone, as many together as the budget takes and as fit beside the weights.
  constexpr void admit_prompts() {
    const basic_deployment<T>& on = prompts_on();
    const basic_memory_budget<T> budget = budget_of(on);
    s_.feasible = group_fits(on);
    if (s_.feasible) {
      s_.feasible = memory_holds(budget, cache_on_device(on, T(on.layout.data), l_.input_tokens));
    }
    const T fit = sequences_of(on, budget, l_, l_.input_tokens) / T(on.layout.data);
    basic_service_load<T> load = l_;
    load.chunk_tokens =
        scalar_min(prompt_budget(on, l_, scheduling::prefill_first, T(0.0)),
                   T(scalar_max(fit, T(1.0)) * (1.0 - l_.prefix_hit) * l_.input_tokens));
    const auto with_prompts = [&](const basic_iteration<T>& i) {
      return engine_.prompt_time * prefill_(i).time;
    };
    p_ = prompt_passes_of(on, load, scheduling::prefill_first, T(0.0), duration<T>{}, with_prompts);
    s_.prefill = prefill_(prompt_alone(l_));
    slot_ = named("time of the prefill pool for a prompt", p_.packed / d_.prefill.replicas);
  }

  constexpr void admit_answers() {
    const basic_deployment<T>& on = answers_on();
    const service_memory<T> memory =
        service_memory_of(on, l_, T(l_.input_tokens + l_.output_tokens));
    if (s_.feasible) s_.feasible = memory.feasible;
    s_.capacity = memory.sequences * d_.decode.replicas;
    room_ = let_in(on, l_, scalar_max(memory.sequences, T(1.0)));
    at_room_ = steps_ * step_at(room_) / (room_ * d_.decode.replicas);
  }

  constexpr void before_decode() {
    s_.transfer = transfer_time(d_, l_.input_tokens);
    s_.exposed = exposed_transfer(d_.link, s_.transfer, p_.alone, answers_on().model.layers.count);
    const duration<T> fetch = prefix_fetch_of(prompts_on(), l_).each;
    own_ = engine_.request_host + fetch + p_.alone + s_.exposed;
    const duration<T> sent = sequence_on_device(prompts_on(), l_.input_tokens) / d_.link.per_device;
    const duration<T> taken =
        sequence_on_device(answers_on(), l_.input_tokens) / d_.link.per_device;
    link_slot_ = max(sent / (d_.prefill.replicas * T(prompts_on().layout.data)),
                     taken / (d_.decode.replicas * T(answers_on().layout.data)));
  }

  constexpr duration<T> step_at(const T& batch) const { return decode_at(batch).time; }
  constexpr basic_estimate<T> decode_at(const T& batch) const {
    return decode_(basic_iteration<T>{scalar_max(batch, T(1.0)), mean_context(l_)});
  }

  /// Arrivals that a stage does not keep up with: the one that keeps up with the fewest.
  constexpr void keep_up_with(const request_rate<T>& rate) {
    const std::array paces{slot_, link_slot_, at_room_};
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
    return named("batch", balanced_batch(room_, arriving));
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
    s_.decode_busy = T(s_.throughput * at_room_ / request);
    s_.balanced_ratio = named("balanced ratio", T(p_.packed / (at_room_ * d_.decode.replicas)));
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
  basic_prompt_passes<T> p_{};
  basic_disaggregated_estimate<T> s_{};
  T steps_{};                ///< of decoding, of one request
  T room_{}, batch_{};       ///< of one replica that decodes
  duration<T> slot_{};       ///< in which the prefill pool completes one prompt, when it is full
  duration<T> link_slot_{};  ///< the same of the links
  duration<T> at_room_{};    ///< the same of the decode pool
  duration<T> own_{};        ///< of a prompt that waits for nothing, to its place among answers
};

}  // namespace perfmodel::detail
