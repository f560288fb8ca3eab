// Disaggregated prefill and decode: two pools of replicas and the link between them.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/step/memory.hpp>

namespace perfmodel::inline v0_3 {

/// Replicas of one deployment.
template <Scalar T = double>
struct basic_replica_pool {
  basic_deployment<T> deployment{};
  T replicas = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("deployment", s.deployment...);
    f(field::within("replicas", 1.0, 1e6, "1 to 1000000"), s.replicas...);
  }
};
using replica_pool = basic_replica_pool<>;

/// Link that transfers KV caches from the prefill pool to the decode pool. `bandwidth_per_device`
/// is the bandwidth of each device, in each direction. With `streamed`, the cache of each layer is
/// sent while the next layer is computed; otherwise all of it is sent after prefill.
template <Scalar T = double>
struct basic_cache_link {
  bandwidth<T> bandwidth_per_device{};
  duration<T> latency{};
  bool streamed = true;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("bandwidth_per_device"), s.bandwidth_per_device...);
    f(field::not_negative("latency"), s.latency...);
    f("streamed", s.streamed...);
  }
};
using cache_link = basic_cache_link<>;

/// Link between two pools if the user states none.
template <Scalar T = double>
struct basic_default_link {
  basic_cache_link<T> link{};
  bool over_fabric = false;  ///< true: the fabric (NVLink); false: host links (PCIe)
};
using default_link = basic_default_link<>;

/// Default link between two pools with `devices` devices in total. If both pools use the same
/// accelerator model and its fabric (NVLink) connects at least `devices` devices, the link is the
/// fabric; in a mesh or a torus a device uses its links to half of the devices. Otherwise it is the
/// host link (PCIe) of each device. Between two different accelerator
/// models it has the lower bandwidth and the higher latency of both. The result is empty if an
/// accelerator states no such link.
/// Leaves out: a network that is slower than the host link.
/// Test: two pools of 4 H100 have the 450 GB/s of NVLink 4; pools of 4 and 8 H100 have the 63 GB/s
/// of PCIe 5.
template <Scalar T>
constexpr std::optional<basic_default_link<T>> default_cache_link(
    const basic_accelerator<T>& prefill, const basic_accelerator<T>& decode, double devices) {
  const int peers = static_cast<int>(devices / 2.0);  // in the other pool
  const auto over = [&](const basic_interconnect<T>& i) -> std::optional<basic_cache_link<T>> {
    if (!i.exists() || !i.bandwidth.is_stated()) return std::nullopt;
    basic_cache_link<T> link{.bandwidth_per_device = usable_bandwidth(i, peers + 1)};
    if (i.latency.is_stated()) link.latency = i.latency.quantity();
    return link;
  };
  const bool same_accelerator = prefill.name == decode.name;
  if (same_accelerator && decode.fabric.exists() && decode.fabric.ranks >= devices) {
    const auto fabric = over(decode.fabric);
    if (!fabric) return std::nullopt;
    return basic_default_link<T>{*fabric, true};
  }
  const auto from = over(prefill.host), to = over(decode.host);
  if (!from || !to) return std::nullopt;
  if (same_accelerator) return basic_default_link<T>{*to, false};
  return basic_default_link<T>{
      {.bandwidth_per_device = min(from->bandwidth_per_device, to->bandwidth_per_device),
       .latency = max(from->latency, to->latency)},
      false};
}

/// Disaggregated service: a prefill pool and a decode pool that serve the same model. Each pool has
/// its own layout, formats and accelerator: {.prefill = {h100, 3}, .decode = {h200, 2}, .link = {50
/// * GB_per_s}}. By default the prefill pool computes the first output token, and the client
/// receives it when the KV cache has arrived at the decode pool. With `first_token_from_decode` the
/// decode pool computes it in one more step, after a prefix hit on the transferred cache. If the
/// load's `stream_interval` is n, the first n tokens reach the client together. The decode pool
/// computes n - 1 of them before that.
template <Scalar T = double>
struct basic_disaggregated {
  basic_replica_pool<T> prefill{};
  basic_replica_pool<T> decode{};
  basic_cache_link<T> link{};
  bool first_token_from_decode = false;

  /// Number of devices in both pools.
  constexpr T devices() const {
    return prefill.replicas * T(prefill.deployment.layout.ranks()) +
           decode.replicas * T(decode.deployment.layout.ranks());
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("prefill", s.prefill...);
    f("decode", s.decode...);
    f("link", s.link...);
    f("decode_starts", s.first_token_from_decode...);
  }
};
using disaggregated = basic_disaggregated<>;

/// Stages of a disaggregated service. `transfer` is the transfer of the KV cache.
enum class service_stage { prefill, transfer, decode };

/// Name of a stage of a disaggregated service.
constexpr const char* name_of(service_stage s) {
  constexpr const char* names[] = {"prefill", "transfer", "decode"};
  return detail::entry_of(names, s, "service_stage");
}

/// Latencies and throughput of a disaggregated service. `batch` and `capacity` refer to the decode
/// pool. The utilisation of a stage is the service throughput / the throughput of that stage when
/// saturated.
template <Scalar T = double>
struct basic_disaggregated_estimate : basic_serving_estimate<T> {
  service_stage binding{};  ///< stage with the highest utilisation
  T prefill_utilisation{};
  T transfer_utilisation{};
  T decode_utilisation{};
  /// Prefill replicas that keep one decode replica at its largest batch.
  T balanced_ratio{};
  duration<T> transfer{};          ///< transfer time of the KV cache of one prompt
  duration<T> exposed_transfer{};  ///< part of `transfer` after the end of prefill
};
using disaggregated_estimate = basic_disaggregated_estimate<>;

namespace detail {

template <Scalar T>
constexpr void check_pools(const basic_disaggregated<T>& d) {
  require_valid(d);
  check_deployment(d.prefill.deployment);
  check_deployment(d.decode.deployment);
}

/// Checks the load of a disaggregated service, in which prefill and decode share no step.
/// Errors: a scheduler; a preemption_mode; batching_wait_iterations above 0, since TensorRT-LLM
/// delays prefill only while sequences decode (_torch/pyexecutor/py_executor.py,
/// should_check_waiting).
template <Scalar T>
constexpr void check_load_of_pools(const basic_service_load<T>& l) {
  check_no_preemption(l, "with disaggregated pools");
  if (!(upper(l.batching_wait_iterations) <= 0.0)) {
    out_of_range("batching_wait_iterations", upper(l.batching_wait_iterations),
                 "0 with disaggregated pools, where prefill never waits for decoding");
  }
  if (!l.scheduler) return;
  throw error(error_code::inconsistent,
              std::string("scheduler is ") + name_of(*l.scheduler) +
                  "; allowed: none with disaggregated pools, where prefill and decode "
                  "do not share steps");
}

}  // namespace detail

/// Time to transfer the KV cache of one prompt: latency + bytes / bandwidth_per_device. The bytes
/// are those of one device, in the pool in which a device stores more of the cache.
/// Source: by definition.
/// Leaves out: concurrent transfers; the extra messages between layouts that shard the cache
/// differently.
/// Errors: none; the deployments are not checked here.
/// Test: 70B: 80 layers x 4 KiB x 2048 tokens = 671 MB; with 8 ranks 84 MB per device, 1.68 ms at
/// 50 GB/s.
template <Scalar T>
constexpr duration<T> transfer_time(const basic_disaggregated<T>& d,
                                    const std::type_identity_t<T>& prompt_tokens) {
  const bytes<T> sent = detail::sequence_on_device(d.prefill.deployment, prompt_tokens);
  const bytes<T> received = detail::sequence_on_device(d.decode.deployment, prompt_tokens);
  return named("transfer", d.link.latency + max(sent, received) / d.link.bandwidth_per_device);
}

/// Part of a streamed transfer that remains after the end of prefill, for a model of L layers:
///   latency + t + (L - 1) max(0, t - c)
/// t is the transfer time of one layer and c the compute time of one layer. The last layer is sent
/// after prefill in any case. If t > c, every earlier layer adds t - c to the backlog. Without
/// streaming the result is the whole transfer.
/// Source: two stages in sequence; Patel et al., "Splitwise", ISCA 2024, section IV-C (transfer by
/// layers).
/// Test: the schedule of layers, one by one; the whole transfer if it is not streamed.
template <Scalar T>
constexpr duration<T> exposed_transfer(const basic_cache_link<T>& link, const duration<T>& transfer,
                                       const duration<T>& prefill,
                                       const std::type_identity_t<T>& layers) {
  if (!link.streamed) return transfer;
  const duration<T> sent = (transfer - link.latency) / layers;
  const duration<T> backlog = max(sent - prefill / layers, duration<T>{});
  return named("exposed transfer", link.latency + sent + (layers - 1.0) * backlog);
}

}  // namespace perfmodel::inline v0_3
