// Kernel launches: host-bound streams, CUDA graphs, synchronisation, and when capture pays.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// Launch costs. None has a default: they depend on driver, framework and device, so measure them.
/// `cpu` is CPU time per kernel, framework included; `gap` is the device's idle time between two
/// kernels of a stream.
/// `replay` is CPU time per graph, `node` the device's time per graph node; `synchronise` is the
/// round trip of a wait for the device.
template <Scalar T = double>
struct basic_launch_costs {
  duration<T> cpu{};
  duration<T> gap{};
  duration<T> replay{};
  duration<T> node{};
  duration<T> synchronise{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("cpu", s.cpu...);
    f("gap", s.gap...);
    f("replay", s.replay...);
    f("node", s.node...);
    f("synchronise", s.synchronise...);
  }
};
using launch_costs = basic_launch_costs<>;

/// Kernels of one step: layers x those of a layer, and those outside the layers (embedding, last
/// norm, head, sampling). Test: 70 layers of 30 are 2,100.
template <Number Layers, Number Kernels, Number O = double>
constexpr auto kernels_per_step(const Layers& layers, const Kernels& per_layer,
                                const O& others = O(0)) {
  using T = promoted<Layers, Kernels, O>;
  return named("kernels", T(detail::count("layers", T(layers)) *
                                detail::not_negative("per_layer", T(per_layer)) +
                            detail::not_negative("others", T(others))));
}

/// n asynchronous launches of kernels that take `kernels` in total: T = max(n cpu, kernels + n
/// gap). The CPU runs ahead, so launches cost nothing while kernels outlast them.
/// Terms: host, device; the larger is the limit. Leaves out the first launch's latency and a full
/// launch queue. Errors: a cost or n below 0.
/// Tests: 50 x 10 us and 2 ms of kernels take 2 ms, not 2.5 ms; 2100 x 7.5 us and 10 ms take 15.75
/// ms.
template <Scalar T>
constexpr basic_estimate<T> stream_launch_time(const basic_launch_costs<T>& c,
                                               const std::type_identity_t<T>& n,
                                               const duration<T>& kernels) {
  detail::not_negative("launches", n);
  detail::not_negative("kernels", kernels);
  basic_estimate<T> e;
  e.terms.add(limiter::compute, "device", kernels + n * detail::not_negative("gap", c.gap));
  e.terms.add(limiter::launch, "host", n * detail::not_negative("cpu", c.cpu));
  e.limiter = e.terms.limiting();
  e.time = named("stream time", e.terms.largest());
  return e;
}

/// n launches with a wait for the device after each: T = n (cpu + synchronise) + kernels. Nothing
/// overlaps. Test: with synchronise = 0, 50 x 10 us and 2 ms of kernels take 2.5 ms, 20 % of it
/// launches.
template <Scalar T>
constexpr basic_estimate<T> synchronised_time(const basic_launch_costs<T>& c,
                                              const std::type_identity_t<T>& n,
                                              const duration<T>& kernels) {
  detail::not_negative("launches", n);
  basic_estimate<T> e;
  e.terms.add(limiter::compute, "device", detail::not_negative("kernels", kernels));
  e.terms.add(limiter::launch, "host",
              n * (detail::not_negative("cpu", c.cpu) +
                   detail::not_negative("synchronise", c.synchronise)));
  e.limiter = e.terms.limiting();
  e.time = named("synchronised time", e.terms.sum());
  return e;
}

/// Kernels captured in a graph of n nodes: T = replay + kernels + n node. The CPU pays once, the
/// device for every node, so a graph's cost is not constant in n.
/// Test: 2,100 nodes of 1 us and a replay of 7.5 us cost 2.1075 ms.
template <Scalar T>
constexpr basic_estimate<T> graph_time(const basic_launch_costs<T>& c,
                                       const std::type_identity_t<T>& n,
                                       const duration<T>& kernels) {
  detail::not_negative("launches", n);
  basic_estimate<T> e;
  e.terms.add(limiter::compute, "device", detail::not_negative("kernels", kernels));
  e.terms.add(limiter::launch, "replay", detail::not_negative("replay", c.replay));
  e.terms.add(limiter::latency, "nodes", n * detail::not_negative("node", c.node));
  e.limiter = e.terms.limiting();
  e.time = named("graph time", e.terms.sum());
  return e;
}

/// Launch time exposed in a stream, beyond the kernels' own time: max(n cpu - kernels, n gap).
/// Test: stream_launch_time = kernels + exposed_launch.
template <Scalar T>
constexpr duration<T> exposed_launch(const basic_launch_costs<T>& c,
                                     const std::type_identity_t<T>& n, const duration<T>& kernels) {
  detail::not_negative("launches", n);
  detail::not_negative("kernels", kernels);
  return named("exposed launch", max(duration<T>(n * detail::not_negative("cpu", c.cpu) - kernels),
                                     duration<T>(n * detail::not_negative("gap", c.gap))));
}

/// Calls after which a one-time cost (graph capture, compilation) is earned back.
template <Scalar T = double>
struct basic_break_even {
  T calls{};
  duration<T> saved_per_call{};
  perfmodel::feasibility feasible{};
};
using break_even = basic_break_even<>;

/// calls = once / (before - after). Not feasible, with calls = 0, where a call saves nothing (of a
/// scalar that stands for several values: where any of them saves nothing).
/// Test: a capture of 1 s that turns 15.75 ms into 12.1 ms is earned back in 273.97 calls.
template <Scalar T>
constexpr basic_break_even<T> calls_to_earn_back(const duration<T>& once, const duration<T>& before,
                                                 const duration<T>& after) {
  detail::not_negative("once", once);
  detail::not_negative("before", before);
  detail::not_negative("after", after);
  basic_break_even<T> r;
  r.saved_per_call = named("saved per call", duration<T>(before - after));
  if (!(lower(r.saved_per_call.value()) > 0.0)) {
    r.feasible = infeasible("a call takes as long as before", "s", upper(after.value()),
                            lower(before.value()));
    return r;
  }
  r.calls = named("calls", T(once / r.saved_per_call));
  return r;
}

}  // namespace perfmodel::inline v0_3
