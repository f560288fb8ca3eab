// Training: pipeline schedules, context parallelism, experts with a capacity, activations, MFU, scaling.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <perfmodel/laws/metrics.hpp>
#include <perfmodel/laws/scaling.hpp>
#include <perfmodel/laws/speculative.hpp>
#include <perfmodel/parallel/context.hpp>
#include <perfmodel/parallel/expert.hpp>
#include <perfmodel/parallel/pipeline.hpp>
#include <random>
#include <vector>

#include "support/each_field.hpp"
#include "support/near.hpp"
#include "support/refusal.hpp"

namespace unit_training_laws {

namespace pm = perfmodel;
using namespace perfmodel::literals;
using perfmodel_test::near;
using perfmodel_test::refusal;

// PaLM, appendix B: 540.35e9 parameters, 118 layers of 48 heads of 256, 2048 tokens; 238.3e3 tok/s on
// 6144 TPU v4 of 275 TFLOP/s.
constexpr auto palm = pm::palm_flop_per_token(540.35e9, 118, 48, 256, 2048);
static_assert(near(pm::training_mfu(238.3e3 * pm::token_per_s, palm, 6144, 275_TFLOP_per_s), 0.462,
                   1e-3));
static_assert(near(pm::training_mfu(238.3e3 * pm::token_per_s, 540.35e9, 6144, 275_TFLOP_per_s),
                   0.457, 1e-3));
static_assert(near(pm::palm_flop_per_token(8.03e9, 32, 32, 128, 8192) /
                       pm::training_flop_per_token(8.03e9),
                   1.2674, 1e-4));

// 1024 ranks at 0.4 %; sigma 0.05 and kappa 0.0005 peak at sqrt(0.95 / 0.0005).
static_assert(near(pm::gustafson_speedup(0.004, 1024.0), 1019.908, 1e-9));
static_assert(near(pm::universal_scaling_peak(0.05, 0.0005), 43.58898943540674, 1e-9));
static_assert(near(pm::universal_scaling(43.58898943540674, 0.05, 0.0005), 10.7425, 1e-4));
static_assert(near(pm::universal_scaling(8.0, 0.05, 0.0), 1.0 / (0.05 + 0.95 / 8), 1e-12));

constexpr pm::training_pipeline four(pm::pipeline_schedule s) {
  return {s, 4.0, 8.0, 1_ms, 1_ms, 1_ms};
}
using pm::pipeline_schedule;
static_assert(near(pm::training_pipeline_time(four(pipeline_schedule::gpipe)).time, 33_ms));
static_assert(near(pm::training_pipeline_time(four(pipeline_schedule::one_f_one_b)).time, 33_ms));
static_assert(near(pm::training_pipeline_time(four(pipeline_schedule::zero_bubble_h1)).time,
                   27_ms));
static_assert(near(pm::training_pipeline_time(four(pipeline_schedule::zero_bubble_h2)).time,
                   24_ms));
static_assert(pm::training_pipeline_time(four(pipeline_schedule::gpipe)).in_flight == 8.0);
static_assert(pm::training_pipeline_time(four(pipeline_schedule::one_f_one_b)).in_flight == 4.0);
static_assert(pm::training_pipeline_time(four(pipeline_schedule::zero_bubble_h2)).in_flight == 7.0);

// 4096 tokens, top 2 of 64, factor 1.25. X of 4 tokens and 2 experts: P(3) + 2 P(4) = 6/16, of 2.
static_assert(pm::expert_capacity(4096.0, 2, 64, 1.25) == 160.0);
static_assert(near(pm::dropped_tokens(4.0, 1, 2, 1.0), 3.0 / 16, 1e-9));
static_assert(pm::dropped_tokens(4.0, 1, 2, 2.0) == 0.0);

// Llama 3 8B: hidden 4096, 32 and 8 heads of 128, 14336.
constexpr pm::decoder_activations llama(int tensor, pm::recomputation r, bool sequence = false) {
  return {.tensor = tensor,
          .tokens = 8192,
          .hidden = 4096,
          .query_heads = 32,
          .kv_heads = 8,
          .head_dim = 128,
          .intermediate = 14336,
          .sequence = sequence,
          .recomputed = r};
}
constexpr double bytes_per_element(const pm::decoder_activations& x) {
  return pm::activation_bytes(x).value() / (8192.0 * 4096.0);
}
static_assert(near(bytes_per_element(llama(1, pm::recomputation::none)), 34.0));
static_assert(near(bytes_per_element(llama(8, pm::recomputation::none)), 8.0 + 26.0 / 8));
static_assert(near(bytes_per_element(llama(8, pm::recomputation::none, true)), 34.0 / 8));
static_assert(near(bytes_per_element(llama(1, pm::recomputation::selective)), 34.0 - 4 - 7));
static_assert(near(bytes_per_element(llama(1, pm::recomputation::full)), 2.0));

// Draft trees.
constexpr std::array<pm::tree_node, 3> chain{pm::tree_node{-1, 0.8}, {0, 0.5}, {1, 0.5}};
constexpr std::array<pm::tree_node, 3> fork{pm::tree_node{-1, 0.6}, {0, 0.6}, {0, 0.2}};
constexpr double accepted(std::span<const pm::tree_node> t) {
  return pm::accepted_tokens_of_tree(t).quantity().value();
}
static_assert(near(accepted(chain), 0.8 + 0.4 + 0.2));
static_assert(near(accepted(fork), 0.6 + 0.36 + 0.12));
constexpr std::array<double, 2> ranks{0.6, 0.2};
static_assert(
    near(pm::accepted_tokens_of_best_tree(std::span<const double>(ranks), 4).quantity().value(),
         0.6 + 0.36 + 0.216 + 0.2));

TEST_CASE("a tree of one candidate is a chain, and more candidates accept more") {
  const std::vector<double> one{0.7}, three{0.7, 0.15, 0.05};
  const auto best = [](const std::vector<double>& ranks_of, int nodes) {
    return pm::accepted_tokens_of_best_tree(std::span<const double>(ranks_of), nodes)
        .quantity()
        .value();
  };
  CHECK(near(best(one, 6), pm::accepted_tokens(0.7, 6).quantity().value()));
  double last = 0.0;
  for (int nodes = 1; nodes <= 256; ++nodes) {
    CHECK(best(three, nodes) >= last);
    last = best(three, nodes);
  }
  CHECK(last < 9.0);  // all of the candidates at every depth: 0.9 / 0.1
  CHECK_THROWS_AS(best({0.7, 0.4}, 4), pm::error);
  CHECK_THROWS_AS(best({0.2, 0.4}, 4), pm::error);
  CHECK_THROWS_AS(accepted(std::vector<pm::tree_node>{{0, 0.5}}), pm::error);
}

/// Time of 1F1B by running it: stage s does min(m, p - 1 - s) forwards, then one forward and one
/// backward in turn.
double one_f_one_b(int p, int m, double forward, double backward) {
  std::vector<std::vector<double>> f(std::size_t(p), std::vector<double>(std::size_t(m), -1.0));
  auto b = f;
  std::vector<std::vector<int>> order(static_cast<std::size_t>(p));  // i forward, -1 - i backward
  for (int s = 0; s < p; ++s) {
    auto& todo = order[std::size_t(s)];
    const int warm = std::min(m, p - 1 - s);
    for (int i = 0; i < warm; ++i) todo.push_back(i);
    for (int i = warm; i < m; ++i) {
      todo.push_back(i);
      todo.push_back(-1 - (i - warm));
    }
    for (int i = m - warm; i < m; ++i) todo.push_back(-1 - i);
  }
  std::vector<std::size_t> next(std::size_t(p), 0);
  std::vector<double> clock(std::size_t(p), 0.0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < std::size_t(p); ++s) {
      while (next[s] < order[s].size()) {
        const int what = order[s][next[s]];
        const auto i = std::size_t(what >= 0 ? what : -1 - what);
        double ready = 0.0;
        if (what >= 0 && s > 0) ready = f[s - 1][i];
        if (what < 0) ready = s + 1 < std::size_t(p) ? b[s + 1][i] : f[s][i];
        if (ready < 0.0) break;
        clock[s] = std::max(clock[s], ready) + (what >= 0 ? forward : backward);
        (what >= 0 ? f : b)[s][i] = clock[s];
        ++next[s];
        moved = true;
      }
    }
  }
  return clock[0];
}

TEST_CASE("1F1B takes as long as when it is run") {
  for (const int p : {1, 2, 4, 7}) {
    for (const int m : {1, 3, 8, 20}) {
      const pm::training_pipeline x{
          pipeline_schedule::one_f_one_b, double(p), double(m), 1_ms, 1.2_ms, 0.9_ms};
      CHECK(near(pm::training_pipeline_time(x).time.value() * 1e3, one_f_one_b(p, m, 1.0, 2.1)));
    }
  }
  perfmodel_test::refuses_each_field(
      four(pipeline_schedule::gpipe),
      [](const pm::training_pipeline& x) { (void)pm::training_pipeline_time(x); },
      {"forward", "backward_input", "backward_weight"});
}

TEST_CASE("a causal ring is as quick as its slowest rank at each block") {
  const pm::interconnect link{
      .kind = pm::link_kind::nvlink, .bandwidth = 450.0 * pm::GB_per_s, .ranks = 16};
  for (const int n : {1, 2, 4, 8}) {
    pm::ring_attention x{
        .ranks = n, .tokens = 131072, .query_heads = 32, .kv_heads = 8, .head_dim = 128};
    for (const double rate : {400e12, 400e15}) {
      const auto of = [&](pm::ring_mask mask) {
        x.mask = mask;
        return pm::ring_attention_time(link, rate * pm::flop_per_s, x);
      };
      const auto whole = of(pm::ring_mask::none);
      // Work of a step in quarters of a block: pairs of the 2 N parts, a diagonal one is half.
      const auto by_steps = [&](bool zigzag) {
        double time = 0.0;
        for (int step = 0; step < n; ++step) {
          double most = 0.0;
          for (int rank = 0; rank < n; ++rank) {
            const int from = (rank - step + n) % n;
            const auto part = [&](int r, int k) {
              return zigzag ? (k == 0 ? r : 2 * n - 1 - r) : 2 * r + k;
            };
            double work = 0.0;
            for (const int q : {part(rank, 0), part(rank, 1)})
              for (const int k : {part(from, 0), part(from, 1)})
                work += k < q ? 0.25 : k == q ? 0.125 : 0.0;
            most = std::max(most, work);
          }
          const double compute = most * whole.compute.value();
          time += step == 0 ? compute : std::max(compute, whole.transfer.value());
        }
        return time;
      };
      CHECK(near(of(pm::ring_mask::contiguous).time.value(), by_steps(false), 1e-12));
      CHECK(near(of(pm::ring_mask::zigzag).time.value(), by_steps(true), 1e-12));
    }
  }
}

TEST_CASE("dropped tokens are those of the binomial law") {
  for (const double factor : {0.5, 1.0, 1.25, 1.5, 2.0}) {
    const double n = 4096, p = 2.0 / 64, mean = n * p;
    double sum = 0.0;
    for (double x = std::ceil(factor * mean); x <= n; x += 1.0) {
      const double log_share = std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                               x * std::log(p) + (n - x) * std::log(1 - p);
      sum += (x - std::ceil(factor * mean)) * std::exp(log_share);
    }
    CHECK(std::fabs(pm::dropped_tokens(n, 2, 64, factor) - sum / mean) < 1e-9);
  }
  CHECK_THROWS_AS(pm::dropped_tokens(16.0, 9, 8, 1.0), pm::error);
}

TEST_CASE("the busiest of 256 experts is that of a simulation") {
  std::mt19937_64 random(20261127);
  const int tokens = 8192, experts = 256, top_k = 8, runs = 20;
  double sum = 0.0;
  for (int run = 0; run < runs; ++run) {
    std::vector<int> load(experts, 0);
    for (int t = 0; t < tokens; ++t) {
      std::array<int, 8> chosen{};
      for (int k = 0; k < top_k;) {
        const int e = int(random() % std::uint64_t(experts));
        bool again = false;
        for (int j = 0; j < k; ++j) again = again || chosen[std::size_t(j)] == e;
        if (again) continue;
        chosen[std::size_t(k++)] = e;
        ++load[std::size_t(e)];
      }
    }
    sum += *std::max_element(load.begin(), load.end()) / (tokens * top_k / double(experts));
  }
  CHECK(near(pm::largest_expert_load(double(tokens), top_k, experts), sum / runs, 0.01));
  CHECK(near(pm::largest_expert_load(65536.0, 8, 256), 1.061, 1e-3));
  CHECK(pm::largest_expert_load(100.0, 8, 8) == 1.0);
}

TEST_CASE("decoder activations: each field outside its range is refused by name") {
  perfmodel_test::refuses_each_field(
      llama(2, pm::recomputation::none),
      [](const pm::decoder_activations& x) { (void)pm::activation_bytes(x); }, {});
}

}  // namespace unit_training_laws
