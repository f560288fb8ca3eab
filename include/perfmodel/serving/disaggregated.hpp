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

/// Link that moves KV caches from the prefill pool to the decode pool. `per_device` is the
/// bandwidth of each device, in either direction. With `streamed` transfer each layer's cache is
/// sent while the next layer is computed.
template <Scalar T = double>
struct basic_cache_link {
  bandwidth<T> per_device{};
  duration<T> latency{};
  bool streamed = true;

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("per_device"), s.per_device...);
    f(field::not_negative("latency"), s.latency...);
    f("streamed", s.streamed...);
  }
};
using cache_link = basic_cache_link<>;

/// Default link of two pools.
template <Scalar T = double>
struct basic_default_link {
  basic_cache_link<T> link{};
  bool over_fabric = false;  ///< otherwise over the host links
};
using default_link = basic_default_link<>;

/// Default link of pools of `devices` GPUs in total: the fabric, where both pools have one
/// accelerator and its fabric joins all of them; else the host link, behind which the network is.
/// Two accelerators have the lower bandwidth and the longer latency. None where an accelerator
/// states no such link.
/// Leaves out: a network slower than the host link.
/// Test: two pools of 4 H100, 450 GB/s of NVLink 4; of 4 and 8, the 63 GB/s of PCIe 5.
template <Scalar T>
constexpr std::optional<basic_default_link<T>> default_cache_link(
    const basic_accelerator<T>& prefill, const basic_accelerator<T>& decode, double devices) {
  const auto over = [](const basic_interconnect<T>& i) -> std::optional<basic_cache_link<T>> {
    if (!i.exists() || !i.bandwidth.is_stated()) return std::nullopt;
    basic_cache_link<T> link{.per_device = i.bandwidth.quantity()};
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
  return basic_default_link<T>{{.per_device = min(from->per_device, to->per_device),
                                .latency = max(from->latency, to->latency)},
                               false};
}

/// A prefill pool and a decode pool of one model, each with its own layout, formats and
/// accelerator: {.prefill = {h100, 3}, .decode = {h200, 2}, .link = {50 * GB_per_s}}.
/// The first token arrives with the cache. With `first_token_from_decode` the decode pool computes
/// it in one more step, after a prefix hit on the transferred cache. The decode pool computes the
/// other tokens of the load's `stream_interval` before any is sent.
template <Scalar T = double>
struct basic_disaggregated {
  basic_replica_pool<T> prefill{};
  basic_replica_pool<T> decode{};
  basic_cache_link<T> link{};
  bool first_token_from_decode = false;

  /// Devices of both pools.
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

enum class service_stage { prefill, transfer, decode };

constexpr const char* name_of(service_stage s) {
  constexpr const char* names[] = {"prefill", "transfer", "decode"};
  return detail::entry_of(names, s, "service_stage");
}

/// Latencies and throughput of the whole service (`batch` and `capacity` are of the decode pool),
/// and the utilisation of each stage: throughput over the throughput of the saturated stage.
/// `balanced_ratio` is the number of prefill replicas that saturates one decode replica at its
/// largest batch.
template <Scalar T = double>
struct basic_disaggregated_estimate : basic_serving_estimate<T> {
  per_lane<T, service_stage> binding{};  ///< stage of the highest utilisation
  T prefill_utilisation{};
  T transfer_utilisation{};
  T decode_utilisation{};
  T balanced_ratio{};
  duration<T> transfer{};          ///< transfer of the cache of one prompt
  duration<T> exposed_transfer{};  ///< part of it after the end of prefill
};
using disaggregated_estimate = basic_disaggregated_estimate<>;

namespace detail {

template <Scalar T>
constexpr void check_pools(const basic_disaggregated<T>& d) {
  require_valid(d);
  check_deployment(d.prefill.deployment);
  check_deployment(d.decode.deployment);
}

/// Checks a load of disaggregated pools, where prefill and decode share no step.
/// Errors: a scheduler; a preemption_mode; batching_wait_iterations. TensorRT-LLM holds prefill
/// back only while sequences decode (_torch/pyexecutor/py_executor.py, should_check_waiting).
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

/// Time to transfer the cache of one prompt: latency + bytes / bandwidth of one device, of the pool
/// with more of it per device.
/// Source: bytes over bandwidth.
/// Leaves out: concurrent transfers; different cuts of the cache by the two layouts.
/// Errors: none beyond those of the specs.
/// Test: 70B: 80 layers x 4 KiB x 2048 tokens = 671 MB, over 8 ranks 84 MB, 1.68 ms at 50 GB/s.
template <Scalar T>
constexpr duration<T> transfer_time(const basic_disaggregated<T>& d,
                                    const std::type_identity_t<T>& prompt_tokens) {
  const bytes<T> sent = detail::sequence_on_device(d.prefill.deployment, prompt_tokens);
  const bytes<T> received = detail::sequence_on_device(d.decode.deployment, prompt_tokens);
  return named("transfer", d.link.latency + max(sent, received) / d.link.per_device);
}

/// Part of a streamed transfer of L layers after the end of prefill: latency + t + max(0, (L - 1)
/// (t - c)), with t and c the transfer and compute time of a layer. The last layer always stays,
/// and a slower link leaves a backlog. Without streaming, the whole transfer.
/// Source: two stages in sequence; Patel et al., "Splitwise", ISCA 2024, section IV-C (transfer by
/// layers).
/// Test: the schedule of layers, one by one; the whole transfer where it is not streamed.
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
