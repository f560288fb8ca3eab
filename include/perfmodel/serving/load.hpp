// Load of a service: request lengths, and arrivals in a closed or an open loop.
#pragma once

#include <optional>
#include <perfmodel/core/fields.hpp>
#include <perfmodel/engine/engine.hpp>
#include <perfmodel/scalar/math.hpp>
#include <perfmodel/serving/kv_offload.hpp>
#include <perfmodel/serving/prefix_tree.hpp>
#include <perfmodel/units/constants.hpp>
#include <span>
#include <variant>

namespace perfmodel::inline v0_3 {

/// Closed loop: the number of requests in the system is constant, since a new request replaces each
/// completed one at once. With `requests` the loop is a run of that many requests in total. It
/// starts, like a benchmark, with a burst of `concurrency` requests. Without `requests` the loop is
/// in steady state.
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

/// Open loop: requests arrive at a mean rate, independent of completions. `cv` is the coefficient
/// of variation of the times between arrivals (1: Poisson, 0: periodic). Each arrival is a burst of
/// `arrivals_per_burst` requests.
template <Scalar T = double>
struct basic_open_loop {
  request_rate<T> rate{};
  T cv = T(1.0);
  T arrivals_per_burst = T(1.0);

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f(field::positive("rate"), s.rate...);
    f(field::within("cv", 0.0, 100.0, "0 to 100"), s.cv...);
    f(field::count("arrivals_per_burst"), s.arrivals_per_burst...);
  }
};
using open_loop = basic_open_loop<>;

/// Load of one replica: {.input_tokens = 2048, .output_tokens = 512, .arrivals = closed_loop{64}},
/// or open_loop{4.0 * request_per_s}. `per_replica` divides the load of a service by its replicas.
/// `input_tokens` and `output_tokens` are means; `input_cv` and `output_cv` are coefficients of
/// variation (length_statistics_of computes both from a list). `prefix_hit` is the cached share of
/// a prompt. `shared` is the shared-prefix tree from the root, each level {tokens, number of
/// prefixes}. {{500, 1}, {2000, 40}} is a system prompt of 500 tokens, then one of 40 tenant
/// prefixes of 2,000 tokens. A shared prefix is stored once. If prefix_hit is 0, it follows from
/// `shared` and the KV-cache capacity (resolve_prefix_hit). `preemption_mode` states how preempted
/// sequences are restored in a closed loop with more requests than fit. Without it preemption is
/// not modelled. Open loops, static batches, disaggregated pools and speculation refuse it.
/// `chunk_tokens` is the token budget of an engine step, with its decodes where it mixes both (a
/// bound gives all of it to prefill), `batch_limit` the maximum number of running requests. If they
/// or `scheduler` are empty, the engine's defaults apply.
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
  T stream_interval = T(1.0);    ///< output tokens per streamed message
  T batching_wait_iterations{};  ///< steps for which the scheduler collects arrivals
  basic_prefix_levels<T> shared{};
  std::optional<basic_host_cache<T>> host{};  ///< cache of evicted prefixes in host memory
  std::optional<preemption> preemption_mode{};

  constexpr bool is_closed() const {
    return std::holds_alternative<basic_closed_loop<T>>(arrivals);
  }
  /// Number of requests in the system; only for a closed loop.
  constexpr const T& concurrency() const {
    return std::get<basic_closed_loop<T>>(arrivals).concurrency;
  }
  /// Arrival rate; only for an open loop.
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
    f(field::count("stream_interval"), s.stream_interval...);
    f(field::not_negative("batching_wait_iterations"), s.batching_wait_iterations...);
    f("shared", s.shared...);
    f("host", s.host...);
    f("preemption_mode", s.preemption_mode...);
  }
};
using service_load = basic_service_load<>;

/// Mean and coefficient of variation of a set of lengths.
struct length_statistics {
  double mean = 0.0;
  double cv = 0.0;
};

/// Mean and coefficient of variation (standard deviation / mean) of a list of request lengths.
/// Errors: an empty list; a length below 1.
/// Test: the lengths 100 and 300 have mean 200 and coefficient of variation 1/2.
constexpr length_statistics length_statistics_of(std::span<const double> lengths) {
  double sum = 0.0;
  for (const double x : lengths) sum += detail::count("length", x);
  const double mean = sum / detail::count("lengths", static_cast<double>(lengths.size()));
  double squares = 0.0;
  for (const double x : lengths) squares += (x - mean) * (x - mean);
  return {mean, math::sqrt(squares / static_cast<double>(lengths.size())) / mean};
}

/// Load of one of n replicas that share the load of a service evenly. A closed loop of C requests
/// becomes C / n requests, at least 1 (if C < n, some replicas are idle). An open loop of a given
/// rate becomes rate / n. `serving` of this load returns one replica; the service has n times its
/// throughput. Replicas are independent engines, unlike the data-parallel attention groups of one
/// engine (`layout.data`).
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

/// Checks that the load has no preemption_mode, for a service without a preemption model.
/// `of_service` names it in the error message.
/// Errors: a preemption_mode.
template <Scalar T>
constexpr void check_no_preemption(const basic_service_load<T>& l, const char* of_service) {
  if (!l.preemption_mode) return;
  throw error(error_code::inconsistent, std::string("preemption_mode is ") +
                                            name_of(*l.preemption_mode) + "; allowed: none " +
                                            of_service);
}

/// Checks a load.
/// Errors: a field out of range; a preemption_mode in an open loop or with static batches; shared
/// prefixes that are not shorter than the prompt; host hits above prefix_hit.
template <Scalar T>
constexpr void check_load(const basic_service_load<T>& l) {
  require_valid(l);
  if (!l.is_closed()) check_no_preemption(l, "in an open loop");
  if (l.scheduler == scheduling::static_batches) check_no_preemption(l, "with static batches");
  check_shared(l.shared, l.input_tokens, "fewer than input_tokens");
  if (l.host && !(lower(T(l.prefix_hit - l.host->hit)) >= 0.0))
    out_of_range("host.hit", upper(l.host->hit), "0 to prefix_hit, of which it is a part");
}

/// Prompt tokens that are not in the prefix cache.
template <Scalar T>
constexpr T uncached_tokens(const basic_service_load<T>& l) {
  return l.input_tokens - l.prefix_hit * l.input_tokens;
}

/// Number of engine steps that prefill one prompt: uncached tokens / `chunk_tokens`, rounded up; 1
/// without a chunk budget.
template <Scalar T>
constexpr T chunks_of(const basic_service_load<T>& l) {
  using math::ceil;
  return l.chunk_tokens ? T(ceil(T(uncached_tokens(l) / *l.chunk_tokens))) : T(1.0);
}

/// Time of n chunks in a pipeline of p stages, in units of a step through all stages:
/// (n + p - 1) / p. A chunk enters the first stage when the previous chunk has left it.
template <Scalar T>
constexpr T pipelined_chunk_steps(const T& chunks, double stages) {
  return (chunks + (stages - 1.0)) / stages;
}

/// Mean number of tokens of a chunk.
template <Scalar T>
constexpr T mean_chunk(const basic_service_load<T>& l) {
  return uncached_tokens(l) / chunks_of(l);
}

/// Mean number of context tokens before a chunk, averaged over the chunks of a prompt.
template <Scalar T>
constexpr T tokens_before_chunk(const basic_service_load<T>& l, const T& chunk) {
  return l.prefix_hit * l.input_tokens + scalar_max(T((uncached_tokens(l) - chunk) / 2.0), T(0.0));
}

/// Output tokens per second, from requests per second.
template <Scalar T>
constexpr token_rate<T> output_rate_of(const basic_service_load<T>& l,
                                       const request_rate<T>& throughput) {
  return named("output tokens per second",
               throughput * (l.output_tokens * lift<T>(token_per_request)));
}

/// Mean context of a decoding sequence, averaged over all output tokens: I + O (1 + cv^2) / 2. Here
/// I and O are the mean prompt and output tokens, and cv is `output_cv`. Longer outputs have more
/// of the tokens.
template <Scalar T>
constexpr T mean_context(const basic_service_load<T>& l) {
  return l.input_tokens + l.output_tokens * (1.0 + l.output_cv * l.output_cv) / 2.0;
}

}  // namespace detail

}  // namespace perfmodel::inline v0_3
