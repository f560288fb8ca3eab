// A service whose prompts are computed by some replicas and whose answers by others.
#pragma once

#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/serving/serving_estimate.hpp>
#include <perfmodel/step/memory.hpp>

namespace perfmodel {

/// So many replicas of one deployment.
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

/// The way of a prompt's cache from those that computed it. `per_device` is what each device sends or
/// takes. `streamed`: each layer's cache leaves while the next layer is computed.
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

/// The link that pools have by default, and which of the accelerator's links it is.
template <Scalar T = double>
struct basic_default_link {
  basic_cache_link<T> link{};
  bool over_fabric = false;  ///< else over the links to the hosts
};
using default_link = basic_default_link<>;

/// The link of pools of `devices` GPUs in all, where none is given: the fabric, where both pools
/// have one accelerator and its fabric joins all of them; else the link to the host, behind which
/// the network is. Of two accelerators the lower bandwidth and the longer latency count. None
/// where an accelerator states no such link. *Leaves out*: a network slower than the link to the
/// host. *Test*: two pools of 4 H100, 450 GB/s of NVLink 4; of 4 and 8, the 63 GB/s of PCIe 5.
template <Scalar T>
constexpr std::optional<basic_default_link<T>> default_cache_link(
    const basic_accelerator<T>& prefill, const basic_accelerator<T>& decode, double devices) {
  const auto over = [](const basic_interconnect<T>& way) -> std::optional<basic_cache_link<T>> {
    if (!way.exists() || !way.bandwidth.is_stated()) return std::nullopt;
    basic_cache_link<T> link{.per_device = way.bandwidth.quantity()};
    if (way.latency.is_stated()) link.latency = way.latency.quantity();
    return link;
  };
  const bool one_kind = prefill.name == decode.name;
  if (one_kind && decode.fabric.exists() && decode.fabric.ranks >= devices) {
    const auto fabric = over(decode.fabric);
    if (!fabric) return std::nullopt;
    return basic_default_link<T>{*fabric, true};
  }
  const auto from = over(prefill.host), to = over(decode.host);
  if (!from || !to) return std::nullopt;
  if (one_kind) return basic_default_link<T>{*to, false};
  return basic_default_link<T>{{.per_device = min(from->per_device, to->per_device),
                                .latency = max(from->latency, to->latency)},
                               false};
}

/// A pool that computes prompts and one that decodes, of the same model, each with its own layout,
/// formats and even accelerator: {.prefill = {h100, 3}, .decode = {h200, 2}, .link = {50 * GB_per_s}}.
/// A prompt's token comes with its cache, or, where `decode_starts` (the decoder is sent the prompt
/// and finds its cache), after one step of decoding more. Of `first_tokens` that a load's answers send
/// together, the decode pool computes the others, in a step each, before any is sent.
template <Scalar T = double>
struct basic_disaggregated {
  basic_replica_pool<T> prefill{};
  basic_replica_pool<T> decode{};
  basic_cache_link<T> link{};
  bool decode_starts = false;

  /// Of both pools.
  constexpr T devices() const {
    return prefill.replicas * T(prefill.deployment.layout.ranks()) +
           decode.replicas * T(decode.deployment.layout.ranks());
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("prefill", s.prefill...);
    f("decode", s.decode...);
    f("link", s.link...);
    f("decode_starts", s.decode_starts...);
  }
};
using disaggregated = basic_disaggregated<>;

enum class service_stage { prefill, transfer, decode };

constexpr const char* name_of(service_stage s) {
  constexpr const char* names[] = {"prefill", "transfer", "decode"};
  return detail::entry_of(names, s, "service_stage");
}

/// The whole service (batch and capacity are of all that decode), and what of it is how busy: the
/// throughput over the most that each stage could have. `balanced_ratio` is how many replicas that
/// prefill one that decodes keeps busy, at the largest batch that is admitted.
template <Scalar T = double>
struct basic_disaggregated_estimate : basic_serving_estimate<T> {
  per_lane<T, service_stage> binding{};  ///< the busiest stage
  T prefill_busy{};
  T transfer_busy{};
  T decode_busy{};
  T balanced_ratio{};
  duration<T> transfer{};  ///< of a prompt's cache
  duration<T> exposed{};   ///< the part of it after the prompt is computed
};
using disaggregated_estimate = basic_disaggregated_estimate<>;

namespace detail {

template <Scalar T>
constexpr void check_pools(const basic_disaggregated<T>& d) {
  require_valid(d);
  check_deployment(d.prefill.deployment);
  check_deployment(d.decode.deployment);
}

/// Errors: what a scheduler does with prompts beside answers, which pools have apart. Engines hold prompts back
/// only while answers decode. Source: TensorRT-LLM, _torch/pyexecutor/py_executor.py (should_check_waiting).
template <Scalar T>
constexpr void check_load_of_pools(const basic_service_load<T>& l) {
  check_no_preemption(l, "of pools");
  if (!(upper(l.batching_wait_iterations) <= 0.0)) {
    out_of_range("held_iterations", upper(l.batching_wait_iterations),
                 "0 of pools: prompts are held while answers decode beside them");
  }
  if (!l.scheduler) return;
  throw error(error_code::inconsistent, std::string("scheduler is ") + name_of(*l.scheduler) +
                                            "; allowed: none of pools: prompts run alone");
}

}  // namespace detail

/// The transfer of a prompt's cache: the bytes of one device, of the pool where it has more of them,
/// over the link.
/// Leaves out: other transfers at the same time, and that layouts which differ cut the cache apart.
/// Test: 70B: 80 layers x 4 KiB x 2048 tokens = 671 MB, over 8 ranks 84 MB, 1.68 ms at 50 GB/s.
template <Scalar T>
constexpr duration<T> transfer_time(const basic_disaggregated<T>& d,
                                    const std::type_identity_t<T>& prompt_tokens) {
  const bytes<T> sent = detail::sequence_on_device(d.prefill.deployment, prompt_tokens);
  const bytes<T> taken = detail::sequence_on_device(d.decode.deployment, prompt_tokens);
  return named("transfer", d.link.latency + max(sent, taken) / d.link.per_device);
}

/// What of a transfer of L layers is left when a prompt that takes so long is computed: the last
/// layer's, and where the link is the slower of the two, what piled up before it:
/// t + max(0, (L - 1) (t - c)) with t and c the times of a layer. Source: two stages in a row; Patel
/// et al., "Splitwise", ISCA 2024, section IV-C (transfer by layers).
/// Test: the schedule of layers, one by one; all of it where it is not streamed.
template <Scalar T>
constexpr duration<T> exposed_transfer(const basic_cache_link<T>& link, const duration<T>& transfer,
                                       const duration<T>& prompt,
                                       const std::type_identity_t<T>& layers) {
  if (!link.streamed) return transfer;
  const duration<T> sent = (transfer - link.latency) / layers;
  const duration<T> behind = max(sent - prompt / layers, duration<T>{});
  return named("exposed transfer", link.latency + sent + (layers - 1.0) * behind);
}

}  // namespace perfmodel
