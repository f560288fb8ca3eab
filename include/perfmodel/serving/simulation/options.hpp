// Options and results of a simulation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/serving/simulation/request_source.hpp>
#include <perfmodel/serving/simulation/scheduler.hpp>
#include <perfmodel/serving/simulation/statistics.hpp>
#include <perfmodel/serving/speculation.hpp>
#include <perfmodel/units/quantity.hpp>

namespace perfmodel::inline v0_3 {

/// Choice of the replica that receives a request.
///   round_robin    each in turn
///   least_loaded   the fewest requests in the replica
///   power_of_two   the less loaded of two random replicas (Mitzenmacher 2001)
///   prefix_aware   the longest cached prefix from half of the prompt on, while no replica has 32
///                  requests and 1.5 times more than another; else least_loaded (SGLang's router)
enum class routing { round_robin, least_loaded, power_of_two, prefix_aware };

/// Name of a routing policy.
constexpr const char* name_of(routing r) {
  constexpr const char* names[] = {"round_robin", "least_loaded", "power_of_two", "prefix_aware"};
  return detail::entry_of(names, r, "router");
}
/// Routing policy of a name; none where it is unknown.
constexpr std::optional<routing> find_routing(std::string_view name) {
  for (const routing r :
       {routing::round_robin, routing::least_loaded, routing::power_of_two, routing::prefix_aware})
    if (name == name_of(r)) return r;
  return std::nullopt;
}

/// Autoscaling: the number of replicas follows requests in the service / `requests_per_replica`. A
/// new replica serves after `start_up` seconds. After `cool_down` seconds with too many, one
/// drains.
struct autoscaling {
  int least = 1, most = 1;
  double requests_per_replica = 64.0;
  double start_up = 60.0;
  double cool_down = 300.0;
};

/// Prefix cache outside the device, of one replica.
struct cache_tiers {
  bytes<> host = 0.0 * byte;
  bytes<> disk = 0.0 * byte;
  std::optional<bandwidth<>> host_bandwidth{};  ///< per device; absent: the host link
  bandwidth<> disk_bandwidth = 6.0 * GB_per_s;  ///< per replica
  bool overlaps = true;                         ///< other requests run while a prefix is fetched
};

/// Options of a simulation. The scheduler is that of the deployment's engine unless stated.
struct simulation_options {
  std::optional<scheduler_settings> scheduler{};
  int replicas = 1;
  routing router = routing::round_robin;
  std::optional<autoscaling> scaling{};
  std::optional<speculation> speculate{};
  cache_tiers tiers{};
  std::optional<duration<>> ttft_limit{}, itl_limit{};  ///< latency targets, for goodput
  std::uint64_t seed = 1;
  std::int64_t warm_up = 0;                    ///< first requests that are not counted
  std::optional<std::int64_t> count{};         ///< requests counted after them; absent: all
  std::optional<std::int64_t> cache_tokens{};  ///< KV-cache capacity of a data-parallel group
  double typical_tokens = 2048.0;  ///< length at which a windowed or recurrent cache is measured
  std::optional<frontend_time> frontend{};  ///< absent: that of the engine
  duration<> idle_start{};                  ///< CPU time before the first step of an idle engine
  std::function<void(const request_record&)> on_request{};
};

/// Result of a simulation. Latencies are those of the counted requests.
struct simulation_result {
  simulation_statistics statistics{};
  perfmodel::feasibility feasible{};
  std::int64_t simulated_requests = 0;  ///< all requests, counted or not
  std::int64_t completed_requests = 0;
  double makespan = 0.0;   ///< time from the first arrival to the last completion, in seconds
  double window = 0.0;     ///< time over which throughput is counted, in seconds
  std::int64_t steps = 0;  ///< engine steps simulated
  std::int64_t priced_steps = 0;  ///< engine steps for which the policy was asked
  std::int64_t preemptions = 0;
  double replica_seconds = 0.0;
  int most_replicas = 1;

  double requests_per_s() const {
    return window > 0.0 ? static_cast<double>(statistics.requests) / window : 0.0;
  }
  double output_tokens_per_s() const {
    return window > 0.0 ? statistics.output_tokens / window : 0.0;
  }
  double goodput_requests_per_s() const {
    return window > 0.0 ? static_cast<double>(statistics.good_requests) / window : 0.0;
  }
  /// Share of the prompt tokens found in the prefix cache.
  double cache_hit() const {
    return statistics.input_tokens > 0.0 ? statistics.cached_tokens / statistics.input_tokens : 0.0;
  }
};

}  // namespace perfmodel::inline v0_3
