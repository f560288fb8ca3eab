// Expected experts against the exact distribution, and what splitting a block over ranks keeps.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/operators/moe.hpp>
#include <vector>

namespace property_operators_moe {

namespace pm = perfmodel;

namespace {
double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// The exact mean by another way: the distribution of how many experts are touched, token by token.
// From j touched, a token adds n new ones with probability C(E - j, n) C(j, k - n) / C(E, k).
double exact_experts(int experts, int top_k, int tokens) {
  std::vector<double> p(static_cast<std::size_t>(experts) + 1, 0.0);
  p[0] = 1;
  for (int t = 0; t < tokens; ++t) {
    std::vector<double> next(p.size(), 0.0);
    for (int j = 0; j <= experts; ++j) {
      for (int n = 0; n <= top_k; ++n) {
        if (n > experts - j || top_k - n > j) continue;
        next[static_cast<std::size_t>(j + n)] +=
            p[static_cast<std::size_t>(j)] *
            std::exp(log_choose(experts - j, n) + log_choose(j, top_k - n) -
                     log_choose(experts, top_k));
      }
    }
    p = next;
  }
  double mean = 0;
  for (std::size_t j = 0; j < p.size(); ++j) mean += static_cast<double>(j) * p[j];
  return mean;
}
}  // namespace

TEST_CASE("expected_experts is the mean of the exact distribution", "[operators]") {
  for (const int experts : {1, 2, 8, 16, 60, 128, 256}) {
    for (const int top_k : {1, 2, 4, 8}) {
      if (top_k > experts) continue;
      for (const int tokens : {1, 2, 3, 7, 32}) {
        INFO(experts << " experts, top " << top_k << ", " << tokens << " tokens");
        const double mean = exact_experts(experts, top_k, tokens);
        REQUIRE(std::abs(pm::expected_experts<double>(experts, top_k, tokens) - mean) <=
                1e-9 * mean);
      }
    }
  }
}

TEST_CASE("expected_experts rises with tokens, from top_k to all", "[operators]") {
  for (const double experts : {8.0, 64.0, 256.0}) {
    for (const double top_k : {1.0, 2.0, 8.0}) {
      double before = top_k * (1 - 1e-12);
      for (double tokens = 1; tokens < 1e5; tokens *= 1.7) {
        const double now = pm::expected_experts(experts, top_k, tokens);
        REQUIRE(now >= before);
        REQUIRE(now <= experts);
        REQUIRE(now <= tokens * top_k * (1 + 1e-12));
        before = now;
      }
    }
  }
}

TEST_CASE("tokens_on_rank never exceeds the exact share", "[operators]") {
  // A token misses a rank of E / N experts with probability C(E - E / N, k) / C(E, k).
  for (const double experts : {16.0, 64.0, 256.0}) {
    for (const double ranks : {1.0, 2.0, 8.0, 16.0}) {
      for (const double top_k : {1.0, 2.0, 4.0, 8.0}) {
        const double others = experts - experts / ranks;
        const double miss =
            others < top_k ? 0 : std::exp(log_choose(others, top_k) - log_choose(experts, top_k));
        const double share = pm::tokens_on_rank(1.0, top_k, ranks);
        INFO(experts << " experts, " << ranks << " ranks, top " << top_k);
        REQUIRE(share <= (1 - miss) * (1 + 1e-12));
        // Loosest where a rank has one or two of few experts.
        REQUIRE(share >= (experts < 64 ? 0.8 : 0.95) * (1 - miss));
      }
    }
  }
}

TEST_CASE("moe_ffn: the ranks' sum is the block's work and its experts", "[operators]") {
  for (const double tokens : {1.0, 16.0, 1024.0}) {
    const pm::moe_ffn whole{.tokens = tokens,
                            .hidden = 2048,
                            .intermediate = 1024,
                            .experts = 128,
                            .top_k = 8,
                            .shared_experts = 1};
    const double flop = demand_of(whole).matrix_flop.value();
    for (const double tensor : {1.0, 2.0, 8.0}) {
      for (const double expert : {1.0, 4.0, 32.0}) {
        pm::moe_ffn x = whole;
        x.tensor_parallel = tensor;
        x.expert_parallel = expert;
        const pm::demand rank = demand_of(x);
        REQUIRE(std::abs(rank.matrix_flop.value() * tensor * expert - flop) <= 1e-12 * flop);
        REQUIRE(std::abs(experts_touched(x) * expert - experts_touched(whole)) <= 1e-9);
        // Activations are the only thing that a split can repeat.
        REQUIRE(rank.dram.total() <= demand_of(whole).dram.total());
        REQUIRE(rank.dram.total().value() * tensor * expert >=
                demand_of(whole).dram.total().value() * (1 - 1e-12));
      }
    }
    pm::moe_ffn apart = whole;
    apart.fused = false;
    REQUIRE(demand_of(apart).dram.total() > demand_of(whole).dram.total());
  }
}

}  // namespace property_operators_moe
