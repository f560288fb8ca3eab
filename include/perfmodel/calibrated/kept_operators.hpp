// What the passes of one answer keep of their operators: rates of a product, times that are asked for again.
#pragma once

#include <optional>
#include <perfmodel/calibrated/gemm.hpp>
#include <perfmodel/workload/operators/attention.hpp>
#include <perfmodel/workload/operators/attention_decode.hpp>
#include <type_traits>

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
class kept_products {
 public:
  constexpr duration<T> time(const basic_accelerator<T>& a, const basic_gemm<T>& g,
                             const basic_machine_parameters<T>& machine,
                             const basic_engine_profile<T>& engine,
                             const basic_call_conditions<T>& conditions) {
    const auto time_by = [&](const product_rates<T>& r) {
      const product_needs<T> needs =
          needs_of_product(g.m, g.n, g.k, r.activation, bytes<T>(g.k * g.n * r.weight), r.output);
      return time_of_product(a, g, r, needs, machine, engine, conditions, no_terms{});
    };
    product* p = find(g);
    if (p == nullptr && size_ == products_.size()) {
      return time_by(rates_of_product(a, g, machine, engine));
    }
    if (p == nullptr) {
      products_[size_] = product{g, rates_of_product(a, g, machine, engine), {}};
      p = &*products_[size_++];
    } else if (p->of.m == g.m) {
      return p->time;
    }
    p->of.m = g.m;
    p->time = time_by(p->rates);
    return p->time;
  }

 private:
  struct product {
    basic_gemm<T> of{};
    product_rates<T> rates{};
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
struct kept_operators {
  kept_products<T> products{};
  last_times<basic_attention_decode<T>, T, 2> decodes{};
  last_times<basic_attention_prefill<T>, T, 2> prompts{};
};

}  // namespace perfmodel::detail
