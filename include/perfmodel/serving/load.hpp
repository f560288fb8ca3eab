// What a service is asked to do: lengths, and requests that always wait or that arrive at a rate.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/engine/scheduler.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/serving/kv_offload.hpp>
#include <perfmodel/serving/prefix_tree.hpp>
#include <perfmodel/units/constants.hpp>
#include <span>
#include <variant>

namespace perfmodel {

/// So many requests are in the system: each that leaves is replaced at once. A run of so many
/// `requests` starts `concurrency` of them together, as benchmarks do; without a number it never ends,
/// and nobody remembers its start.
template <Scalar T = double>
struct basic_closed_loop {
  T concurrency{};
  std::optional<T> requests{};

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::count("concurrency"), s.concurrency...);
    f(field::count("requests"), s.requests...);
  }
};
using closed_loop = basic_closed_loop<>;

/// Requests arrive at this mean rate, whatever the service does. `cv` is the coefficient of variation
/// of the gaps between arrivals (1: Poisson, 0: a clock), `together` how many arrive at once.
template <Scalar T = double>
struct basic_open_loop {
  request_rate<T> rate{};
  T cv = T(1.0);
  T together = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("rate"), s.rate...);
    f(field::within("cv", 0.0, 100.0, "0 to 100"), s.cv...);
    f(field::count("together"), s.together...);
  }
};
using open_loop = basic_open_loop<>;

/// What one replica is asked to do: {.input_tokens = 2048, .output_tokens = 512, .arrivals =
/// closed_loop{64}}, or open_loop{4.0 * request_per_s}. Lengths are means, with a coefficient of
/// variation; lengths_of makes both of a list. `prefix_hit` is the share of a prompt that is found in
/// the cache. `shared` has what prompts begin with, {{500, 1}, {2000, 40}}: 500 tokens of all, then 2000 of
/// one of 40. Sequences hold that once, and where no prefix_hit is given, prompts find what the cache
/// remembers of it (found_of). `evicts` says how sequences come back that are evicted where a closed loop has
/// more requests than fit and answers grow; without it none are. It is of a closed loop whose requests join as
/// others end, in one pool and without drafts; any other refuses it. `chunk_tokens` bounds the prompt tokens of
/// one iteration and `batch_limit` the sequences that are admitted at once; without them, and without a
/// `scheduler`, they are as the engine has them.
template <Scalar T = double>
struct basic_service_load {
  T input_tokens{};
  T output_tokens{};
  std::variant<basic_closed_loop<T>, basic_open_loop<T>> arrivals{};
  std::optional<T> chunk_tokens{};
  std::optional<T> batch_limit{};
  T input_cv{};
  T output_cv{};
  T prefix_hit{};
  std::optional<scheduling> scheduler{};
  T first_tokens = T(1.0);       ///< of an answer that are sent first, together
  T batching_wait_iterations{};  ///< that the scheduler lets a request wait, on purpose
  basic_prefix_levels<T> shared{};
  std::optional<basic_host_cache<T>> host{};  ///< behind the cache of the devices
  std::optional<preemption>
      preempts{};  ///< where answers outgrow the cache; not counted, where not given

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
    f(field::within("input_cv", 0.0, 100.0, "0 to 100"), s.input_cv...);
    f(field::within("output_cv", 0.0, 100.0, "0 to 100"), s.output_cv...);
    f(field::within("prefix_hit", 0.0, 0.999, "0 to 0.999: the last token is always computed"),
      s.prefix_hit...);
    f("scheduler", s.scheduler...);
    f(field::count("first_tokens"), s.first_tokens...);
    f(field::not_negative("held_iterations"), s.batching_wait_iterations...);
    f("shared", s.shared...);
    f("host", s.host...);
    f("evicts", s.preempts...);
  }
};
using service_load = basic_service_load<>;

/// Mean and coefficient of variation of a list of lengths.
struct length_spread {
  double mean = 0.0;
  double cv = 0.0;
};

/// Errors: an empty list; a length below 1. Test: 100 and 300 have mean 200 and cv 1/2.
constexpr length_spread lengths_of(std::span<const double> lengths) {
  double sum = 0.0;
  for (const double x : lengths) sum += detail::count("length", x);
  const double mean = sum / detail::count("lengths", static_cast<double>(lengths.size()));
  double squares = 0.0;
  for (const double x : lengths) squares += (x - mean) * (x - mean);
  return {mean, math::sqrt(squares / static_cast<double>(lengths.size())) / mean};
}

/// The load that each of several replicas has; some idle where there are fewer requests.
template <Scalar T>
constexpr basic_service_load<T> per_replica(basic_service_load<T> l,
                                            const std::type_identity_t<T>& replicas) {
  if (l.is_closed()) {
    auto& loop = std::get<basic_closed_loop<T>>(l.arrivals);
    loop.concurrency = scalar_max(T(1.0), loop.concurrency / replicas);
    if (loop.requests) loop.requests = scalar_max(loop.concurrency, T(*loop.requests / replicas));
  } else {
    auto& loop = std::get<basic_open_loop<T>>(l.arrivals);
    loop.rate = loop.rate / replicas;
  }
  return l;
}

namespace detail {

/// Errors: a load that says how it evicts, of a service that evictions are not counted in.
template <Scalar T>
constexpr void check_no_preemption(const basic_service_load<T>& l, const char* of_service) {
  if (!l.preempts) return;
  throw error(error_code::inconsistent,
              std::string("evicts is ") + name_of(*l.preempts) + "; allowed: none " + of_service);
}

template <Scalar T>
constexpr void check_load(const basic_service_load<T>& l) {
  require_valid(l);
  if (!l.is_closed()) check_no_preemption(l, "where requests arrive at a rate");
  if (l.scheduler == scheduling::static_batches) check_no_preemption(l, "of static batches");
  check_shared(l.shared, l.input_tokens, "fewer than input_tokens");
  if (l.host && !(lower(T(l.prefix_hit - l.host->hit)) >= 0.0))
    out_of_range("host_hit", upper(l.host->hit), "0 to prefix_hit, of which it is a part");
}

/// Prompt tokens that the cache does not have.
template <Scalar T>
constexpr T computed_tokens(const basic_service_load<T>& l) {
  return l.input_tokens - l.prefix_hit * l.input_tokens;
}

/// Iterations that a prompt is computed in, where the load bounds its chunks; else 1.
template <Scalar T>
constexpr T chunks_of(const basic_service_load<T>& l) {
  using math::ceil;
  return l.chunk_tokens ? T(ceil(T(computed_tokens(l) / *l.chunk_tokens))) : T(1.0);
}

/// Iterations in which chunks follow each other through the stages of a pipeline: (n + p - 1) / p, as one enters
/// the first stage when the one before it has left it.
template <Scalar T>
constexpr T iterations_through(const T& chunks, double stages) {
  return (chunks + (stages - 1.0)) / stages;
}

/// Prompt tokens that one iteration takes of a prompt, the mean over its chunks.
template <Scalar T>
constexpr T chunk_of(const basic_service_load<T>& l) {
  return computed_tokens(l) / chunks_of(l);
}

/// Tokens before those of a chunk, the mean over the chunks of a prompt.
template <Scalar T>
constexpr T past_of_chunk(const basic_service_load<T>& l, const T& chunk) {
  return l.prefix_hit * l.input_tokens + scalar_max(T((computed_tokens(l) - chunk) / 2.0), T(0.0));
}

/// Of the answers to so many requests.
template <Scalar T>
constexpr token_rate<T> output_rate_of(const basic_service_load<T>& l,
                                       const request_rate<T>& throughput) {
  return named("output tokens per second",
               throughput * (l.output_tokens * lift<T>(token_per_request)));
}

/// The cache that a sequence has while it decodes, on average over tokens: long answers have more of
/// them, so that half of an answer is O (1 + cv^2) / 2.
template <Scalar T>
constexpr T mean_context(const basic_service_load<T>& l) {
  return l.input_tokens + l.output_tokens * (1.0 + l.output_cv * l.output_cv) / 2.0;
}

}  // namespace detail

}  // namespace perfmodel
