// What was measured of one accelerator under one engine, as one policy that every law takes.
#pragma once

#include <concepts>
#include <optional>
#include <perfmodel/core/error.hpp>
#include <perfmodel/kernels/attention_mixed.hpp>
#include <perfmodel/kernels/collectives.hpp>
#include <perfmodel/kernels/elementwise.hpp>
#include <perfmodel/kernels/gemm.hpp>
#include <perfmodel/kernels/interval.hpp>
#include <perfmodel/kernels/policy_times.hpp>
#include <perfmodel/kernels/service_posterior.hpp>
#include <perfmodel/laws/roofline.hpp>
#include <perfmodel/operators/attention.hpp>
#include <perfmodel/operators/attention_decode.hpp>
#include <type_traits>

// What the passes of one answer keep of their operators: rates of a product, times that are asked for again.

namespace perfmodel::detail {

/// The times of the last few workloads.
template <class W, Scalar T, std::size_t N>
class last_times {
 public:
  template <class Time>
  constexpr duration<T> of(const W& w, const Time& time) {
    for (const std::optional<known>& k : known_) {
      if (k && k->workload == w) return k->time;
    }
    const duration<T> t = time();
    known_[next_] = known{w, t};
    next_ = (next_ + 1) % N;
    return t;
  }

 private:
  struct known {
    W workload{};
    duration<T> time{};
  };
  std::array<std::optional<known>, N> known_{};
  std::size_t next_ = 0;
};

/// Products of one model on one machine, each with its rates and the time of its last number of rows. Passes
/// ask for them in the same order. More than fit are computed anew.
template <Scalar T>
class gemm_memo {
 public:
  constexpr duration<T> time(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                             const basic_machine_parameters<T>& machine,
                             const basic_engine_profile<T>& engine,
                             const basic_call_conditions<T>& conditions) {
    const auto step_time_of = [&](const gemm_rates<T>& r) {
      const gemm_needs<T> needs =
          needs_of_gemm(g.m, g.n, g.k, r.activation, bytes<T>(g.k * g.n * r.weight), r.output);
      return time_of_gemm(a, g, r, needs, machine, engine, conditions, no_terms{});
    };
    product* p = find(g);
    if (p == nullptr && size_ == products_.size()) {
      return step_time_of(rates_of_gemm(a, g, machine, engine));
    }
    if (p == nullptr) {
      products_[size_] = product{g, rates_of_gemm(a, g, machine, engine), {}};
      p = &*products_[size_++];
    } else if (p->of.m == g.m) {
      return p->time;
    }
    p->of.m = g.m;
    p->time = step_time_of(p->rates);
    return p->time;
  }

 private:
  struct product {
    basic_gemm<T> of{};
    gemm_rates<T> rates{};
    duration<T> time{};

    constexpr bool is(const basic_gemm<T>& g) const {
      return of.n == g.n && of.k == g.k && of.format == g.format && of.weights == g.weights &&
             of.output == g.output;
    }
  };

  constexpr product* find(const basic_gemm<T>& g) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (next_ >= size_) next_ = 0;
      product& p = *products_[next_++];
      if (p.is(g)) return &p;
    }
    return nullptr;
  }

  std::array<std::optional<product>, 16> products_{};
  std::size_t size_ = 0;
  std::size_t next_ = 0;
};

/// Of one accelerator and one policy, for one thread.
template <Scalar T>
struct operator_memo {
  gemm_memo<T> products{};
  last_times<basic_attention_decode<T>, T, 2> decodes{};
  last_times<basic_attention_prefill<T>, T, 2> prompts{};
};

}  // namespace perfmodel::detail

namespace perfmodel {

/// Most decodes that were measured beside a chunk; each beyond takes what it takes without one, which a run of
/// 256 agrees with: docs/laws/calibrated_workstation.md.
inline constexpr double most_decodes_with_chunk = 128.0;

/// An execution policy, with its own model of each operator that was measured, and a cost policy of
/// links inside a node and between nodes. It picks attention kernels by the format of the cache and
/// expert kernels by the formats of the weights and of the products, and by whether experts are spread
/// over ranks. Made by calibrated_for; lift<T> takes it to another scalar.
template <Scalar T = double>
struct basic_calibrated {
  basic_machine_parameters<T> machine{};
  basic_engine_profile<T> engine{};
  basic_attention_parameters<T> attention{};
  basic_attention_kernels<T> attention_kernels{};                ///< of a 16-bit cache
  basic_attention_kernels<T> low_precision_attention_kernels{};  ///< of a narrower one
  basic_moe_kernels<T> moe_kernels{};  ///< as they are stored: 16 bits, or 4 beside 8 or 4
  std::optional<basic_moe_kernels<T>>
      untuned_moe_kernels{};                         ///< the same, of shapes without tuned tiles
  basic_moe_kernels<T> dequantised_moe_kernels{};    ///< of narrower weights beside 16-bit operands
  basic_moe_kernels<T> low_precision_moe_kernels{};  ///< of 8-bit products
  basic_moe_kernels<T> expert_parallel_moe_kernels{};  ///< the same, experts spread over ranks
  basic_calibrated_collectives<T> links{};             ///< inside a node
  basic_calibrated_collectives<T> network{};           ///< between nodes: InfiniBand, Ethernet
  std::optional<basic_mixed_attention_parameters<T>> mixed_attention{};  ///< where measured
  basic_elementwise_kernels<T> elementwise_kernels{};  ///< that a pass has besides, where measured
  duration<T> kernel_time = lift<T>(graph_kernel_time);
  basic_call_conditions<T> conditions{};
  std::array<profile_note, 6> notes{};  ///< by profile_part
  service_uncertainty services{};       ///< around the kernels of a service

  template <class F, class... S>
  static constexpr void fields(F&& f, S&... s) {
    f("machine", s.machine...);
    f("engine", s.engine...);
    f("attention", s.attention...);
    f("attention_kernels", s.attention_kernels...);
    f("narrow_attention_kernels", s.low_precision_attention_kernels...);
    f("moe_kernels", s.moe_kernels...);
    f("untuned_moe_kernels", s.untuned_moe_kernels...);
    f("widened_moe_kernels", s.dequantised_moe_kernels...);
    f("narrow_moe_kernels", s.low_precision_moe_kernels...);
    f("spread_moe_kernels", s.expert_parallel_moe_kernels...);
    f("links", s.links...);
    f("network", s.network...);
    f("mixed_attention", s.mixed_attention...);
    f("small_kernels", s.elementwise_kernels...);
    f(field::not_negative("kernel_time"), s.kernel_time...);
    f("conditions", s.conditions...);
    f("notes", s.notes...);
    f("services", s.services...);
  }

  constexpr flop_rate<T> matrix_rate(const basic_accelerator<T>& a,
                                     const basic_demand<T>& d) const {
    return machine.matrix_share * peak(a, d.format);
  }
  /// The vector units' data sheet: no measurement here was bound by them.
  constexpr flop_rate<T> vector_rate(const basic_accelerator<T>& a, const basic_demand<T>&) const {
    return vector_peak(a);
  }
  /// Of what computes no products, as streaming kernels get it.
  constexpr perfmodel::bandwidth<T> dram_bandwidth(const basic_accelerator<T>& a,
                                                   const basic_demand<T>& d) const {
    const T share = upper(d.matrix_flop.value()) > 0.0
                        ? machine.dram_share
                        : scalar_max(machine.dram_share, T(elementwise_dram_share));
    return share * a.dram.bandwidth.quantity();
  }
  constexpr duration<T> launch_time(const basic_accelerator<T>&, const basic_demand<T>& d) const {
    return d.launches * kernel_time;
  }

  /// Of a pass that works on so many sequences in a data-parallel group.
  constexpr duration<T> cpu_time(const T& sequences) const {
    return engine.step_cpu_time + sequences * engine.sequence_cpu_time;
  }
  /// Of a collective, for the last of its ranks.
  constexpr const duration<T>& rank_wait() const { return engine.rank_wait; }
  /// What kernels and links take of a service, times what they take alone.
  constexpr const std::optional<T>& step_time() const { return engine.step_time; }

  constexpr bool selects(const basic_interconnect<T>& l, const basic_schedule<T>& s) const {
    return cost_on(l).selects(l, s);
  }
  constexpr basic_collective_price<T> price(const basic_interconnect<T>& l,
                                            const basic_schedule<T>& s) const {
    return cost_on(l).price(l, s);
  }
  template <class Add>
  constexpr bool lines(const basic_interconnect<T>& l, const basic_schedule<T>& s,
                       const Add& add) const {
    return cost_on(l).lines(l, s, add);
  }

  template <class Operator>
  constexpr basic_estimate<T> estimate(const basic_accelerator<T>& a,
                                       const Operator& x) const requires
      requires(const basic_calibrated& c) {
    calibrated_estimate(a, x, c, c.conditions);
  }
  { return calibrated_estimate(a, x, *this, conditions_of(x)); }

  /// A chunk of prompts beside decodes as one kernel, where it was measured: heads of 128, 16-bit caches, no
  /// window.
  constexpr std::optional<duration<T>> beside(const basic_accelerator<T>& a,
                                              const basic_attention_prefill<T>& prompts,
                                              const basic_attention_decode<T>& decodes) const {
    const bool measured = mixed_attention && !prompts.window && !decodes.window &&
                          lower(prompts.head_dim) == 128.0 && upper(prompts.head_dim) == 128.0 &&
                          prompts.kv_format.bits() >= 16.0;
    if (!measured) return std::nullopt;
    basic_attention_decode<T> held = decodes;
    held.batch = scalar_min(held.batch, T(most_decodes_with_chunk));
    const duration<T> together =
        calibrated_estimate(a, prompts, held, {machine, *mixed_attention}).time;
    if (!(upper(decodes.batch) > most_decodes_with_chunk)) return together;
    return together + (estimate(a, decodes).time - estimate(a, held).time);
  }
  template <class Streamed>
  constexpr duration<T> elementwise_kernel_time(const basic_accelerator<T>& a, elementwise_kernel k,
                                                const Streamed& x) const {
    return perfmodel::elementwise_kernel_time(a, k, x, machine, elementwise_kernels);
  }

  /// What a valid operator of a pass takes, without terms and shares.
  template <class Operator>
  constexpr duration<T> time(const basic_accelerator<T>& a, const Operator& x) const requires
      requires(const basic_calibrated& c) {
    calibrated_time(a, x, c, c.conditions);
  }
  { return calibrated_time(a, x, *this, conditions_of(x)); }
  /// The same of a plain number, by what earlier passes of an answer kept.
  using memo_type = detail::operator_memo<T>;
  template <class Operator>
  constexpr duration<T> time(const basic_accelerator<T>& a, const Operator& x,
                             memo_type& kept) const requires std::is_floating_point_v<T> &&
      requires(const basic_calibrated& c) {
    calibrated_time(a, x, c, c.conditions);
  }
  {
    const auto product = [&](const basic_gemm<T>& g) {
      return kept.products.time(a, g, machine, engine, conditions);
    };
    if constexpr (std::same_as<Operator, basic_gemm<T>>) {
      return product(x);
    } else if constexpr (std::same_as<Operator, basic_swiglu<T>>) {
      return x.fused ? detail::time_of_gated_gemms(x, product) : time(a, x);
    } else if constexpr (std::same_as<Operator, basic_attention_decode<T>>) {
      return kept.decodes.of(x, [&] { return time(a, x); });
    } else if constexpr (std::same_as<Operator, basic_attention_prefill<T>>) {
      return kept.prompts.of(x, [&] { return time(a, x); });
    } else {
      return time(a, x);
    }
  }

  constexpr const profile_note& note(profile_part p) const {
    return perfmodel::detail::entry_of(notes, p, "profile_part");
  }

 private:
  /// What streams in a pass whose small kernels were measured finds what the kernel before it wrote.
  constexpr basic_call_conditions<T> conditions_of(const basic_norm<T>&) const {
    basic_call_conditions<T> found = conditions;
    if (elementwise_kernels.any()) found.cache = cache_state::warm;
    return found;
  }
  template <class Operator>
  constexpr const basic_call_conditions<T>& conditions_of(const Operator&) const {
    return conditions;
  }
  constexpr const basic_calibrated_collectives<T>& cost_on(const basic_interconnect<T>& l) const {
    return l.kind == link_kind::infiniband || l.kind == link_kind::ethernet ? network : links;
  }
};
using calibrated = basic_calibrated<>;

}  // namespace perfmodel
