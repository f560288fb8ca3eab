// What a service is asked to do: lengths, and requests that always wait or that arrive at a rate.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/units/constants.hpp>
#include <variant>

namespace perfmodel {

/// So many requests are in the system at all times: each that leaves is replaced at once.
template <Scalar T = double>
struct basic_closed_loop {
  T concurrency{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("concurrency"), s.concurrency...);
  }
};
using closed_loop = basic_closed_loop<>;

/// Requests arrive at random, at this mean rate, whatever the service does.
template <Scalar T = double>
struct basic_open_loop {
  request_rate<T> rate{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("rate"), s.rate...);
  }
};
using open_loop = basic_open_loop<>;

/// What one replica is asked to do: {.input_tokens = 2048, .output_tokens = 512, .arrivals =
/// closed_loop{64}}, or open_loop{4.0 * request_per_s}. `chunk_tokens` bounds the prompt tokens of one
/// iteration; without it a prompt is taken whole. `batch_limit` is how many sequences the scheduler
/// admits at once; without it as many as fit in memory. Lengths are counts, as everywhere, and means.
template <Scalar T = double>
struct basic_service_load {
  T input_tokens{};
  T output_tokens{};
  std::variant<basic_closed_loop<T>, basic_open_loop<T>> arrivals{};
  std::optional<T> chunk_tokens{};
  std::optional<T> batch_limit{};

  constexpr bool is_closed() const {
    return std::holds_alternative<basic_closed_loop<T>>(arrivals);
  }
  /// Of a closed loop.
  constexpr const T& concurrency() const {
    return std::get<basic_closed_loop<T>>(arrivals).concurrency;
  }
  /// Of an open loop.
  constexpr const request_rate<T>& rate() const {
    return std::get<basic_open_loop<T>>(arrivals).rate;
  }

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("input_tokens"), s.input_tokens...);
    f(field::count("output_tokens"), s.output_tokens...);
    f("arrivals", s.arrivals...);
    f(field::count("chunk_tokens"), s.chunk_tokens...);
    f(field::count("batch_limit"), s.batch_limit...);
  }
};
using service_load = basic_service_load<>;

/// The load that each of several replicas has; some idle where there are fewer requests.
template <Scalar T>
constexpr basic_service_load<T> shared_out(basic_service_load<T> l,
                                           const std::type_identity_t<T>& replicas) {
  if (l.is_closed()) {
    l.arrivals = basic_closed_loop<T>{scalar_max(T(1.0), l.concurrency() / replicas)};
  } else {
    l.arrivals = basic_open_loop<T>{l.rate() / replicas};
  }
  return l;
}

namespace detail {

/// Prompt tokens that one iteration takes of a prompt.
template <Scalar T>
constexpr T chunk_of(const basic_service_load<T>& l) {
  return l.chunk_tokens ? scalar_min(*l.chunk_tokens, l.input_tokens) : l.input_tokens;
}

}  // namespace detail

}  // namespace perfmodel
