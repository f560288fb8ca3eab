// Simulation of disaggregated pools: prefill, transfer of the cache, decode.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <perfmodel/serving/prediction_of_disaggregated.hpp>
#include <perfmodel/serving/simulation/driver.hpp>
#include <perfmodel/step/prepared.hpp>
#include <queue>
#include <unordered_map>
#include <vector>

namespace perfmodel::inline v0_3::detail {

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
  /// `joining` is the time after the transfer, in which the replica sends other caches.
  void send(const request_record& r, double at, double time, double joining) {
    const auto from = static_cast<std::size_t>(r.replica);
    if (free_.size() <= from) free_.resize(from + 1, 0.0);
    free_[from] = (std::max)(free_[from], at) + time;
    waiting_.push({free_[from] + joining, sent_++, r});
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

/// Events of two pools and the transfers between them.
template <class Prefill, class Decode>
class simulated_pools {
 public:
  simulated_pools(const disaggregated& d, request_source& source, const Prefill& prefill_policy,
                  const Decode& decode_policy, const simulation_options& o,
                  simulation_result& result)
      : service_(d),
        source_(source),
        result_(result),
        at_prefill_(prefill_options(o, d)),
        at_decode_(options_of(o, d.decode.replicas)),
        prefill_(prefill_settings(d, prefill_policy, at_prefill_), d.prefill.deployment,
                 prefill_policy, at_prefill_, of_prefill_),
        decode_(decode_settings(d, decode_policy, at_decode_), d.decode.deployment, decode_policy,
                at_decode_, result.statistics),
        decode_step_(d.decode.deployment, decode_policy),
        clock_(o, source, result) {}

  void run() {
    simulated_request r;
    for (double now = 0.0;;) {
      const double arrival = source_.next_arrival();
      const double next =
          (std::min)({arrival, prefill_.next_event(), decode_.next_event(), transfers_.next()});
      if ((prefill_.is_pending() || decode_.is_pending()) && next > now) {
        prefill_.start(now);
        decode_.start(now);
        continue;
      }
      if (next == request_source::never) break;
      now = next;
      if (arrival <= now) {
        source_.take(r);
        clock_.arrived(r);
        prefill_.enqueue(r, arrival);
      } else if (transfers_.next() <= now) {
        receive(transfers_.take());
      } else if (prefill_.next_event() <= now) {
        prefill_.advance([&](const request_record& done, double at) { send(done, at); });
      } else {
        decode_.advance([&](const request_record& done, double at) { complete(done, at); });
      }
    }
    close();
  }

 private:
  static simulation_options options_of(simulation_options o, double replicas) {
    o.replicas = static_cast<int>(replicas);
    return o;
  }
  static simulation_options prefill_options(simulation_options o, const disaggregated& d) {
    o.speculate.reset();
    return options_of(o, d.prefill.replicas);
  }
  static replica_settings prefill_settings(const disaggregated& d, const Prefill& policy,
                                           const simulation_options& o) {
    replica_settings s = replica_settings_of(d.prefill.deployment, policy, o);
    s.ends_at_first_token = true;
    return s;
  }
  static replica_settings decode_settings(const disaggregated& d, const Decode& policy,
                                          const simulation_options& o) {
    replica_settings s = replica_settings_of(d.decode.deployment, policy, o);
    s.starts_after_prefill = true;
    s.frontend = {};  // the prefill pool's front end has read the prompt
    s.scheduler.mixed_chunk = true;
    s.scheduler.prefix_caching = false;
    return s;
  }
  void send(const request_record& r, double at) {
    const duration<> whole = transfer_time(service_, r.input_tokens);
    const duration<> prefill = (std::max)(0.0, at - r.scheduled) * second;
    const double layers = service_.prefill.deployment.model.layers.count;
    transfers_.send(r, at, exposed_transfer(service_.link, whole, prefill, layers).value(),
                    joining_time(r));
  }
  /// Time from the transfer until a request decodes: pool_iterations steps at the present batch.
  double joining_time(const request_record& r) {
    if constexpr (requires(const Decode& policy) { policy.engine.pool_iterations; }) {
      const double steps = decode_step_.policy().engine.pool_iterations;
      const double batch =
          std::floor(static_cast<double>(prefilled_.size()) / service_.decode.replicas);
      if (steps > 0.0) {
        return steps * decode_step_
                           .step_time({.batch = (std::max)(1.0, batch),
                                       .context = static_cast<double>(r.input_tokens)})
                           .value();
      }
    }
    return 0.0;
  }
  void receive(const transfer_queue::transfer& t) {
    if (t.prefill.output_tokens > 1) {
      decode_.enqueue(decode_request_of(t, service_.first_token_from_decode), t.ready);
      prefilled_.emplace(t.prefill.index, t.prefill);
      return;
    }
    request_record whole = t.prefill;
    whole.ttft = whole.e2e = t.ready - whole.arrival;
    clock_.completed(whole, t.ready);
  }
  /// Queueing and cached tokens of a request are those of its prefill.
  void complete(request_record r, double at) {
    const auto at_prefill = prefilled_.extract(r.index);
    r.queueing = at_prefill.mapped().queueing;
    r.cached_tokens = at_prefill.mapped().cached_tokens;
    r.preemptions += at_prefill.mapped().preemptions;
    clock_.completed(r, at);
  }
  void close() {
    prefill_.close(clock_.last());
    decode_.close(clock_.last());
    clock_.close();
    result_.steps = prefill_.steps() + decode_.steps();
    result_.priced_steps = prefill_.priced() + decode_.priced();
    result_.preemptions = prefill_.preemptions() + decode_.preemptions();
    result_.replica_seconds = prefill_.replica_seconds() + decode_.replica_seconds();
  }

  const disaggregated& service_;
  request_source& source_;
  simulation_result& result_;
  simulation_options at_prefill_, at_decode_;
  simulation_statistics of_prefill_{};
  replica_set<Prefill> prefill_;
  replica_set<Decode> decode_;
  prepared_deployment<double, Decode> decode_step_;
  simulation_clock clock_;
  transfer_queue transfers_{};
  std::unordered_map<std::int64_t, request_record> prefilled_{};  ///< prefills of decoding requests
};

}  // namespace perfmodel::inline v0_3::detail
