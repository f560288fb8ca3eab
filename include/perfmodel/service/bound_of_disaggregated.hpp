// The best that prompts on some replicas and answers on others can do.
#pragma once

#include <perfmodel/service/pool_flow.hpp>
#include <perfmodel/step.hpp>

namespace perfmodel::detail {

/// A bound holds for each answer by itself. Who is slower at prompts has fewer sequences to decode, and
/// who is slower at decoding sends fewer prompts at once: so in a closed loop the time to first token is
/// that of a prompt which waits for nothing, the time between tokens that of one sequence, and only
/// throughput, and with it whole requests, is that of the flow. In an open loop the rate says how many
/// decode, and prompts wait no less than at this.
template <Scalar T, class Prefill, class Decode>
class disaggregated_bound : pool_flow<T, Prefill, Decode> {
  using flow = pool_flow<T, Prefill, Decode>;

 public:
  constexpr disaggregated_bound(const basic_disaggregated<T>& d, const basic_service_load<T>& l,
                                const basic_service_terms<T>& none, const Prefill& prefill,
                                const Decode& decode)
      : flow(d, l, none, prefill, decode) {}

  constexpr basic_disaggregated_estimate<T> estimate() {
    if (l_.is_closed()) {
      closed(l_.concurrency());
    } else {
      open(std::get<basic_open_loop<T>>(l_.arrivals));
    }
    s_.batch = d_.decode.replicas * batch_;
    s_.output_rate = output_rate_of(l_, s_.throughput);
    flow::add_stages();
    return s_;
  }

 private:
  using flow::batch_;
  using flow::d_;
  using flow::l_;
  using flow::link_slot_;
  using flow::own_;
  using flow::room_;
  using flow::s_;
  using flow::slot_;
  using flow::step_at;
  using flow::steps_;

  constexpr void closed(const T& all) {
    const auto arriving = [&](const T& batch) -> T {
      const duration<T> answer = steps_ * step_at(batch);
      const duration<T> cycle =
          max(max(duration<T>(answer + own_), all * slot_), duration<T>(all * link_slot_));
      return all / d_.decode.replicas * T(answer / cycle);
    };
    batch_ = named("batch", balanced_batch(room_, arriving));
    s_.throughput = d_.decode.replicas * batch_ * request / (steps_ * step_at(batch_));
    latencies(T(1.0), own_);
    s_.e2e = named("end to end", max(s_.e2e, duration<T>(all * request / s_.throughput)));
  }

  constexpr void open(const basic_open_loop<T>& loop) {
    batch_ = flow::batch_at(loop.rate);
    s_.throughput = loop.rate;
    flow::keep_up_with(loop.rate);
    s_.wait = named("wait", flow::queue_of(loop) + 0.5 * (loop.together - 1.0) * slot_);
    latencies(batch_, own_ + s_.wait);
  }

  constexpr void latencies(const T& batch, const duration<T>& before) {
    s_.decode = flow::decode_at(batch);
    s_.itl = named("inter-token latency", s_.decode.time);
    s_.ttft = named("time to first token", before + T(d_.decode_starts ? 1.0 : 0.0) * s_.itl);
    s_.e2e = named("end to end", s_.ttft + scalar_max(T(l_.output_tokens - 1.0), T(0.0)) * s_.itl);
  }
};

template <Scalar T, class Cost>
constexpr basic_disaggregated_estimate<T> bound_of_disaggregated(const basic_disaggregated<T>& d,
                                                                 const basic_service_load<T>& l,
                                                                 const Cost& links) {
  const auto prefill = [&](const basic_iteration<T>& i) {
    return bound_of_pass(d.prefill.deployment, i, links);
  };
  const auto decode = [&](const basic_iteration<T>& i) {
    return bound_of_pass(d.decode.deployment, i, links);
  };
  const basic_service_terms<T> none{};
  return disaggregated_bound<T, decltype(prefill), decltype(decode)>(d, l, none, prefill, decode)
      .estimate();
}

}  // namespace perfmodel::detail
