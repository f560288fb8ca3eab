// Prefixes that a service brings back from its hosts: the time at the links, and what it does to the flow.
#pragma once

#include <perfmodel/deployment/balance.hpp>
#include <perfmodel/deployment/memory.hpp>
#include <perfmodel/service/load.hpp>

namespace perfmodel {

/// The transfer of a prompt's prefix from the host. All devices of a data-parallel group bring their parts at
/// once, one prompt after the other: `links` such queues.
template <Scalar T = double>
struct basic_prefix_fetch {
  duration<T> each{};
  T links = T(1.0);
  T variation{};  ///< of the transfers, as of the prompts

  constexpr bool exists() const { return upper(each.value()) > 0.0; }
  /// Share of the time that a link is busy at this rate of all prompts.
  constexpr T busy(const request_rate<T>& rate) const { return T(rate * each / request / links); }
  /// A transfer and the wait before it, by Pollaczek and Khinchine.
  constexpr duration<T> time_at(const T& busy) const {
    const T u = scalar_min(busy, T(1.0 - 1e-9));
    return (1.0 + 0.5 * (1.0 + variation * variation) * u / (1.0 - u)) * each;
  }
};
using prefix_fetch = basic_prefix_fetch<>;

namespace detail {

/// As the load has it, else the accelerator's. Errors: neither.
template <Scalar T>
constexpr bandwidth<T> host_link_of(const basic_deployment<T>& d, const basic_service_load<T>& l) {
  if (l.host && l.host->per_device) return *l.host->per_device;
  if (!(d.device.host.exists() && d.device.host.bandwidth.is_stated()))
    missing("host_link_bytes_per_s, as the accelerator states no link to its host,");
  return d.device.host.bandwidth.quantity();
}

}  // namespace detail

/// latency + bytes of a device / link, of the `hit` of a load's host; none without one. Layers that are
/// computed as others arrive are left out.
/// Errors: an accelerator that states no link to its host, where the load gives none.
/// Test: fetch_time of a host_tier.
template <Scalar T>
constexpr basic_prefix_fetch<T> prefix_fetch_of(const basic_deployment<T>& d,
                                                const basic_service_load<T>& l) {
  if (!l.host || !(upper(l.host->hit) > 0.0)) return {};
  const bandwidth<T> link = detail::host_link_of(d, l);
  const bytes<T> found = detail::sequence_on_device(d, T(l.host->hit * l.input_tokens));
  return {named("fetch", l.host->latency + found / link), T(d.layout.data), l.input_cv};
}

namespace detail {

/// A transfer as one request of a closed loop waits for it: the others leave its link so busy.
template <Scalar T>
constexpr duration<T> fetch_in_loop(const basic_prefix_fetch<T>& fetch, const T& loop,
                                    const request_rate<T>& throughput) {
  const T others = scalar_max(T(1.0 - fetch.links / loop), T(0.0));
  return fetch.time_at(others * fetch.busy(throughput));
}

}  // namespace detail

/// Requests of a closed loop of N that are not at the links: n with n + X(n) R = N, of which away_of(n) gives
/// X(n) R, a throughput times the time of a transfer, which one of N finds as the N - 1 others leave the
/// link (mean value analysis, Schweitzer's approximation). Transfers go on beside the engine's iterations.
/// Leaves out: that the first wave of a run fetches all at once; blocks that are held meanwhile.
/// Tests: all of them where nothing is fetched; a link that binds has one transfer after the other; the
/// simulator of tests/simulator.
template <Scalar T, class Away>
constexpr T requests_beside_links(const T& loop, const Away& away_of) {
  return named("requests beside the links", detail::balanced_batch(loop, [&](const T& n) -> T {
                 return n * (loop / (n + away_of(n)));
               }));
}

}  // namespace perfmodel
