// Events of a simulated service: arrivals, routing, scaling, and transfers between pools.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <perfmodel/serving/disaggregated.hpp>
#include <perfmodel/serving/prefix_cache.hpp>
#include <perfmodel/serving/simulation/options.hpp>
#include <perfmodel/serving/simulation/replica.hpp>

namespace perfmodel::inline v0_3::detail {

/// Replicas of one deployment behind a router.
template <class Policy>
class replica_set {
 public:
  replica_set(const replica_settings& settings, const deployment& d, const Policy& policy,
              const simulation_options& o, simulation_statistics& statistics)
      : settings_(settings),
        options_(o),
        statistics_(statistics),
        prices_(d, policy, o.speculate, settings.stages > 1),
        random_(o.seed * 7 + 5) {
    const int n = o.scaling ? (std::max)(o.scaling->least, 1) : o.replicas;
    for (int i = 0; i < n; ++i) add(0.0);
  }

  void enqueue(const simulated_request& r, double at) {
    if (options_.scaling) scale(at);
    const std::size_t to = route(r, at);
    replicas_[to].replica->enqueue(r, at);
    mark(to);
    ++in_flight_;
  }
  /// Starts the next engine step of each replica that had an event (an arrival or an end of a
  /// step).
  void start(double now) {
    for (const std::size_t i : pending_) {
      replicas_[i].is_pending = false;
      replicas_[i].replica->start_ready(now);
    }
    pending_.clear();
  }
  bool is_pending() const { return !pending_.empty(); }
  double next_event() const {
    double at = request_source::never;
    for (const entry& e : replicas_) at = (std::min)(at, e.replica->next_event());
    return at;
  }
  template <class Done>
  void advance(const Done& done) {
    std::size_t first = 0;
    double at = request_source::never;
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      const double next = replicas_[i].replica->next_event();
      if (next < at) {
        at = next;
        first = i;
      }
    }
    mark(first);
    replicas_[first].replica->advance([&](const request_record& r, double when) {
      --in_flight_;
      done(r, when);
    });
  }
  void close(double at) {
    for (entry& e : replicas_) {
      e.replica->close(at);
      if (e.ends < 0.0) replica_seconds_ += (std::max)(0.0, at - e.begins);
    }
  }
  std::int64_t steps() const {
    std::int64_t n = 0;
    for (const entry& e : replicas_) n += e.replica->steps();
    return n;
  }
  std::int64_t preemptions() const {
    std::int64_t n = 0;
    for (const entry& e : replicas_) n += e.replica->preemptions();
    return n;
  }
  std::int64_t priced() const { return prices_.priced(); }
  double replica_seconds() const { return replica_seconds_; }
  int most_replicas() const { return most_; }

 private:
  struct entry {
    std::unique_ptr<simulated_replica<Policy>> replica{};
    double ready = 0.0, begins = 0.0;
    double ends = -1.0;  ///< begin of draining (no new requests); -1 before it
    bool drains = false, is_pending = false;
  };
  void mark(std::size_t i) {
    if (replicas_[i].is_pending) return;
    replicas_[i].is_pending = true;
    pending_.push_back(i);
  }

  void add(double ready) {
    entry e;
    e.replica = std::make_unique<simulated_replica<Policy>>(
        settings_, prices_, statistics_, static_cast<int>(replicas_.size()), options_.seed);
    e.ready = ready;
    e.begins = ready;
    replicas_.push_back(std::move(e));
    most_ = (std::max)(most_, serving());
  }
  int serving() const {
    int n = 0;
    for (const entry& e : replicas_) n += e.drains ? 0 : 1;
    return n;
  }
  bool accepts(const entry& e, double at) const { return !e.drains && e.ready <= at; }

  void scale(double at) {
    const autoscaling& s = *options_.scaling;
    const int wanted = std::clamp(
        static_cast<int>(std::ceil((in_flight_ + 1.0) / s.requests_per_replica)), s.least, s.most);
    int n = serving();
    if (wanted >= n) low_since_ = at;
    for (; n < wanted; ++n) {
      const auto idle =
          std::find_if(replicas_.begin(), replicas_.end(), [](const entry& e) { return e.drains; });
      if (idle == replicas_.end()) {
        add(at + s.start_up);
        replicas_.back().begins = at;
      } else {
        idle->drains = false;
        idle->ready = at + s.start_up;
        idle->begins = at;
        idle->ends = -1.0;
        most_ = (std::max)(most_, serving());
      }
    }
    const auto accepting = std::count_if(replicas_.begin(), replicas_.end(),
                                         [&](const entry& e) { return accepts(e, at); });
    if (wanted < n && accepting > 1 && at - low_since_ >= s.cool_down) {
      for (std::size_t i = replicas_.size(); i-- > 0;) {
        entry& e = replicas_[i];
        if (!accepts(e, at)) continue;
        e.drains = true;
        e.ends = at;
        replica_seconds_ += at - e.begins;
        break;
      }
      low_since_ = at;
    }
  }
  template <class Cost>
  std::size_t least(double at, const Cost& cost) const {
    std::size_t best = 0;
    double lowest = request_source::never;
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      if (!accepts(replicas_[i], at)) continue;
      const double c = cost(*replicas_[i].replica);
      if (c < lowest) {
        lowest = c;
        best = i;
      }
    }
    return best;
  }
  std::size_t any(double at) {
    for (;;) {
      const auto i = static_cast<std::size_t>(random_.uniform() * double(replicas_.size()));
      if (accepts(replicas_[i], at)) return i;
    }
  }
  std::size_t route(const simulated_request& r, double at) {
    if (replicas_.size() == 1) return 0;
    const auto load = [](const simulated_replica<Policy>& x) { return double(x.in_flight()); };
    switch (options_.router) {
      case routing::round_robin:
        do turn_ = (turn_ + 1) % replicas_.size();
        while (!accepts(replicas_[turn_], at));
        return turn_;
      case routing::least_loaded: return least(at, load);
      case routing::power_of_two: {
        const std::size_t a = any(at), b = any(at);
        return load(*replicas_[b].replica) < load(*replicas_[a].replica) ? b : a;
      }
      case routing::prefix_aware: break;
    }
    return with_prefix(r, at, load);
  }
  /// The least loaded of the replicas with the longest cached prefix, if that is half of the prompt
  /// and no replica is overloaded; else the least loaded.
  template <class Load>
  std::size_t with_prefix(const simulated_request& r, double at, const Load& load) const {
    double fewest = request_source::never, most = 0.0;
    std::int64_t longest = 0;
    for (const entry& e : replicas_) {
      if (!accepts(e, at)) continue;
      fewest = (std::min)(fewest, load(*e.replica));
      most = (std::max)(most, load(*e.replica));
      longest = (std::max)(longest, e.replica->cached_tokens_of(r));
    }
    const bool is_balanced = most - fewest <= 32.0 || most <= 1.5 * fewest;
    if (!is_balanced || 2 * longest < r.input_tokens) return least(at, load);
    return least(at, [&](const simulated_replica<Policy>& x) {
      return load(x) + (x.cached_tokens_of(r) < longest ? 1e9 : 0.0);
    });
  }

  replica_settings settings_;
  const simulation_options& options_;
  simulation_statistics& statistics_;
  step_prices<Policy> prices_;
  random_generator random_;
  std::vector<entry> replicas_{};
  std::vector<std::size_t> pending_{};
  std::size_t turn_ = static_cast<std::size_t>(-1);
  int in_flight_ = 0, most_ = 1;
  double low_since_ = 0.0, replica_seconds_ = 0.0;
};

/// KV-cache capacity of a data-parallel group in tokens. With sliding windows or recurrent states
/// the bytes per token depend on the length: they are taken at `typical` tokens.
inline std::int64_t cache_tokens_of(const deployment& d, double typical, int block_tokens) {
  const kv_capacity_result c = capacity_of(d, budget_of(d), typical, double(block_tokens));
  if (!c.feasible) return 0;
  const double tokens =
      grows_by_token(d) ? c.tokens.value() : c.sequences / d.layout.data * typical;
  return static_cast<std::int64_t>(tokens) / block_tokens * block_tokens;
}

/// Throws inconsistent if a token budget is below the unit of its chunks.
inline void require_chunks(const scheduler_settings& s) {
  int unit = 1;
  if (s.kind == scheduler_kind::sglang) unit = s.block_tokens;
  if (s.kind == scheduler_kind::trtllm) unit = s.chunk_unit;
  if (s.chunked_prefill && s.token_budget < unit)
    throw error(error_code::inconsistent,
                "simulate: scheduler.token_budget is " + std::to_string(s.token_budget) +
                    "; allowed: at least one chunk of " + std::to_string(unit) + " tokens");
}

/// Settings of the replicas of a deployment.
template <class Policy>
replica_settings replica_settings_of(const deployment& d, const Policy& policy,
                                     const simulation_options& o) {
  replica_settings s;
  s.scheduler = o.scheduler ? *o.scheduler : scheduler_of(d);
  require_valid(s.scheduler, "scheduler");
  require_chunks(s.scheduler);
  s.groups = d.layout.data;
  s.stages = d.layout.pipeline;
  if (s.groups > 1 && s.stages > 1)
    throw error(error_code::inconsistent, "simulate: layout.data is " + std::to_string(s.groups) +
                                              " and layout.pipeline is " +
                                              std::to_string(s.stages) +
                                              "; allowed: one of the two above 1");
  deployment cached = d;
  if (o.speculate) cached.states_per_sequence = 1.0 + o.speculate->width * o.speculate->length;
  s.cache_tokens = o.cache_tokens
                       ? *o.cache_tokens
                       : cache_tokens_of(cached, o.typical_tokens, s.scheduler.block_tokens);
  s.frontend = o.frontend.value_or(frontend_of(d.serving_engine));
  s.idle_start = o.idle_start.value();
  s.has_identifiers = s.scheduler.prefix_caching;
  if (o.speculate) {
    const speculation& spec = *o.speculate;
    for (int i = 0; i < spec.length; ++i)
      s.acceptance.push_back(
          spec.acceptance[(std::min<std::size_t>)(std::size_t(i), spec.acceptance.size() - 1)]);
    s.drafted_tokens = static_cast<int>(spec.width) * spec.length;
  }
  if (o.tiers.host.value() > 0.0) {
    const double per_token = sequence_on_device(d, o.typical_tokens).value() / o.typical_tokens;
    const double ranks = d.layout.ranks();
    s.host_tokens = static_cast<std::int64_t>(o.tiers.host.value() / (per_token * ranks));
    s.disk_tokens = static_cast<std::int64_t>(o.tiers.disk.value() / (per_token * ranks));
    const double link = o.tiers.host_bandwidth ? o.tiers.host_bandwidth->value()
                                               : d.device.host.bandwidth.quantity().value();
    s.host_s_per_token = per_token / link;
    s.disk_s_per_token = per_token * ranks / o.tiers.disk_bandwidth.value();
    s.fetch_overlaps = o.tiers.overlaps;
  }
  if constexpr (requires { policy.engine.run_start; }) {
    s.start_up = policy.engine.run_start.value();
    if (multiplies_fp8_blocks(d)) s.start_up += policy.engine.compile_time.value();
  }
  return s;
}

/// Runs the events of a service in time order, and counts its requests.
class simulation_clock {
 public:
  simulation_clock(const simulation_options& o, request_source& source, simulation_result& result)
      : options_(o), source_(source), result_(result) {
    simulation_statistics& s = result.statistics;
    s.is_counting = o.warm_up == 0;
    if (o.ttft_limit) s.ttft_limit = o.ttft_limit->value();
    if (o.itl_limit) s.itl_limit = o.itl_limit->value();
  }
  void arrived(const simulated_request& r) {
    if (result_.simulated_requests++ == 0) first_arrival_ = r.arrival;
    if (r.index == options_.warm_up) {
      begins_ = r.arrival;
      result_.statistics.is_counting = true;
    }
    if (options_.count && r.index == options_.warm_up + *options_.count) {
      ends_ = r.arrival;
      result_.statistics.is_counting = false;
    }
  }
  void completed(const request_record& r, double at) {
    ++result_.completed_requests;
    last_ = (std::max)(last_, at);
    const bool counts = r.index >= options_.warm_up &&
                        (!options_.count || r.index < options_.warm_up + *options_.count);
    if (counts) result_.statistics.add_request(r);
    if (options_.on_request) options_.on_request(r);
    source_.completed(r, at);
  }
  double last() const { return last_; }
  void close() {
    result_.makespan = last_ - first_arrival_;
    result_.window = (ends_ > 0.0 ? ends_ : last_) - begins_;
  }

 private:
  const simulation_options& options_;
  request_source& source_;
  simulation_result& result_;
  double first_arrival_ = 0.0, begins_ = 0.0, ends_ = -1.0, last_ = 0.0;
};

}  // namespace perfmodel::inline v0_3::detail
