// Overlap of communication, transfers and compute: exposed time, and mutual slowdown.
#pragma once

#include <perfmodel/core/error.hpp>
#include <perfmodel/core/estimate.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/units/constants.hpp>

namespace perfmodel::inline v0_3 {

/// Communication that no window hides: max(0, communication - window). `window` is the time of work
/// that does not depend on it. Test: 60 ms behind a window of 40 ms leave 20 ms.
template <Scalar T>
constexpr duration<T> exposed_time(const duration<T>& communication, const duration<T>& window) {
  return named("exposed", max(duration<T>(detail::not_negative("communication", communication) -
                                          detail::not_negative("window", window)),
                              duration<T>{}));
}

/// Share of the communication that is hidden: 1 - exposed / communication. Errors: exposed above
/// it.
/// Test: 400 ms exposed of 487.8 are 18 %.
template <Scalar T>
constexpr T overlap_efficiency(const duration<T>& communication, const duration<T>& exposed) {
  const T share =
      detail::not_negative("exposed", exposed) / detail::positive("communication", communication);
  return named("overlap efficiency",
               T(1.0 - detail::within("exposed / communication", share, 0.0, 1.0, "0 to 1")));
}

/// Compute time while other work occupies `taken` of the SMs: compute sms / (sms - taken).
/// Leaves out contention for memory and L2. Errors: taken >= sms.
/// Test: 4 and 8 of 132 SMs cost 3.1 % and 6.5 %.
template <Scalar T>
constexpr duration<T> sm_interference(const duration<T>& compute,
                                      const std::type_identity_t<T>& sms,
                                      const std::type_identity_t<T>& taken) {
  detail::not_negative("compute", compute);
  detail::count("sms", sms);
  detail::not_negative("taken", taken);
  detail::within("taken", taken, 0.0, lower(sms) * (1.0 - 1e-9), "fewer than sms");
  return named("compute during copy", compute / (1.0 - taken / sms));
}

/// Mover of a transfer that is concurrent with compute.
enum class copy_mechanism { copy_engine, sms };

/// Name of a copy mechanism.
constexpr const char* name_of(copy_mechanism m) {
  return m == copy_mechanism::copy_engine ? "copy engine" : "SMs";
}

/// Both by a DMA engine that takes no SM: T = max(compute, copy).
/// Test: never longer than the same copy by SMs.
template <Scalar T>
constexpr duration<T> overlap_with_dma(const duration<T>& compute, const duration<T>& copy) {
  return named("time",
               max(detail::not_negative("compute", compute), detail::not_negative("copy", copy)));
}

/// The copy is a kernel that holds `taken` SMs until it is done: T = max(copy, compute + copy taken
/// / sms), since the SMs it took come back when it ends. `copy` is its own time on those SMs.
/// Tests: with taken = 0 it is the copy engine; a copy as long as the result gives sm_interference.
template <Scalar T>
constexpr duration<T> overlap_with_sm_copy(const duration<T>& compute, const duration<T>& copy,
                                           const std::type_identity_t<T>& sms,
                                           const std::type_identity_t<T>& taken) {
  detail::not_negative("compute", compute);
  detail::not_negative("copy", copy);
  detail::count("sms", sms);
  detail::not_negative("taken", taken);
  detail::within("taken", taken, 0.0, lower(sms) * (1.0 - 1e-9), "fewer than sms");
  return named("time", max(copy, duration<T>(compute + copy * (taken / sms))));
}

/// Finish time of n equal gradient buckets that become ready evenly through the backward pass: T =
/// max(backward + a / n, backward / n + a), with a the time of all communication.
/// Errors: n below 1. Tests: n = 1 is backward + a; n -> infinity is max(backward, a); equals
/// the recurrence over the n buckets.
template <Scalar T>
constexpr duration<T> bucketed_backward(const duration<T>& backward,
                                        const duration<T>& communication,
                                        const std::type_identity_t<T>& buckets) {
  detail::not_negative("backward", backward);
  detail::not_negative("communication", communication);
  detail::count("buckets", buckets);
  return named("backward and communication", max(duration<T>(backward + communication / buckets),
                                                 duration<T>(backward / buckets + communication)));
}

/// One data-parallel training step: forward, then backward with its gradient all-reduce in buckets.
/// Terms: forward, backward, exposed communication; they add up to the time. Leaves out the
/// optimiser and the SMs that communication takes (see sm_interference).
/// Tests: 83.1 + 166.3 ms and a 62.5 ms all-reduce are 311.9 ms in one bucket, 249.4 ms in many.
template <Scalar T>
constexpr basic_estimate<T> training_step(const duration<T>& forward, const duration<T>& backward,
                                          const duration<T>& communication,
                                          const std::type_identity_t<T>& buckets) {
  basic_estimate<T> e;
  const duration<T> tail = bucketed_backward(backward, communication, buckets);
  e.terms.add(limiter::compute, "forward", detail::not_negative("forward", forward));
  e.terms.add(limiter::compute, "backward", backward);
  e.terms.add(limiter::link, "exposed communication", tail - backward);
  e.limiter = e.terms.limiting();
  e.time = named("step", forward + tail);
  return e;
}

/// n tiles through load and compute with the next load under the present compute:
/// T = load + (n - 1) max(load, compute) + compute. Errors: n below 1.
/// Tests: n = 1 is serial; at most 2 times faster than n (load + compute).
template <Scalar T>
constexpr duration<T> double_buffered_time(const duration<T>& loading, const duration<T>& compute,
                                           const std::type_identity_t<T>& tiles) {
  detail::not_negative("loading", loading);
  detail::not_negative("compute", compute);
  detail::count("tiles", tiles);
  return named("pipeline", loading + (tiles - 1.0) * max(loading, compute) + compute);
}

/// Pipeline stages that cover a load's latency: the least s with (s - 1) compute >= latency, which
/// is ceil(latency / compute) + 1. Test: 600 ns behind tiles of 250 ns need 4 stages.
template <Scalar T>
constexpr T stages_needed(const duration<T>& latency, const duration<T>& compute) {
  using math::ceil;
  return named("stages", ceil(T(detail::not_negative("latency", latency) /
                                detail::positive("compute", compute))) +
                             1.0);
}

/// Pipeline stages that a memory holds: floor(capacity / tile).
/// Test: 227 KiB hold 2 tiles of 98,304 bytes.
template <Scalar T>
constexpr T stages_that_fit(const bytes<T>& capacity, const bytes<T>& tile) {
  using math::floor;
  return floor(T(detail::not_negative("capacity", capacity) / detail::positive("tile", tile)));
}

}  // namespace perfmodel::inline v0_3
