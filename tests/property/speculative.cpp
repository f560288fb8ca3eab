// What holds for every draft.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <perfmodel/laws/speculative.hpp>
#include <vector>

namespace property_speculative {

namespace pm = perfmodel;

namespace {
double emitted(double a, int k) {
  return pm::emitted_tokens(a, k).quantity().value();
}
}  // namespace

TEST_CASE("tokens emitted are the mean over how far a draft gets") {
  for (double a = 0.0; a <= 1.0; a += 0.0625) {
    for (int k = 1; k <= 16; ++k) {
      double mean = k + 1;  // all accepted, and the target's own token
      mean *= std::pow(a, k);
      double all = std::pow(a, k);
      for (int i = 0; i < k; ++i) {
        mean += (i + 1) * std::pow(a, i) * (1 - a);
        all += std::pow(a, i) * (1 - a);
      }
      CHECK(std::abs(all - 1.0) < 1e-12);
      CHECK(std::abs(emitted(a, k) - mean) < 1e-12 * mean);
      if (a < 1.0)
        CHECK(std::abs(emitted(a, k) - (1 - std::pow(a, k + 1)) / (1 - a)) < 1e-12 * mean);
    }
  }
}

TEST_CASE("between 1 and k + 1 tokens are emitted, more with acceptance and with length") {
  for (int k = 1; k <= 64; ++k) {
    double before = 0;
    for (double a = 0.0; a <= 1.0; a += 0.03125) {
      CHECK(emitted(a, k) >= 1.0);
      CHECK(emitted(a, k) <= k + 1.0);
      CHECK(emitted(a, k) >= before);
      CHECK(emitted(a, k + 1) >= emitted(a, k));
      before = emitted(a, k);
    }
  }
}

TEST_CASE("speculation neither gains nor loses at its break-even") {
  for (const int k : {1, 2, 3, 4, 8, 16, 64}) {
    for (double c = 0.0; c <= 1.0; c += 0.03125) {
      const double a = pm::break_even_acceptance(k, c);
      CHECK(a >= 0.0);
      CHECK(a <= 1.0);
      CHECK(std::abs(pm::speculative_speedup(a, k, c) - 1.0) < 1e-13);
      if (a < 0.99) CHECK(pm::speculative_speedup(a + 0.01, k, c) > 1.0);
      if (a > 0.01) CHECK(pm::speculative_speedup(a - 0.01, k, c) < 1.0);
      CHECK(a >= c - 1e-15);  // a longer draft never pays at a lower acceptance than one token
    }
  }
}

TEST_CASE("no draft length beats the best, and none as good is shorter") {
  for (double a = 0.0; a <= 1.0; a += 0.0625) {
    for (const double c : {0.0, 0.01, 0.05, 0.2, 1.0}) {
      const int best = pm::best_draft_length(a, c);
      const double gain = pm::speculative_speedup(a, best, c);
      for (int k = 1; k <= 64; ++k) {
        CHECK(pm::speculative_speedup(a, k, c) <= gain * (1 + 1e-14));
        if (k < best) CHECK(pm::speculative_speedup(a, k, c) < gain * (1 + 1e-14));
      }
      CHECK(best <= pm::best_draft_length(a, c / 2));
    }
  }
}

TEST_CASE("step times as in plain decoding give the speed-up by cost ratio") {
  for (const double c : {0.01, 0.1, 0.5}) {
    for (const int k : {1, 4, 10}) {
      const pm::speculative_steps s{
          .target = 30.0 * pm::ms, .draft = c * 30.0 * pm::ms, .verify = 30.0 * pm::ms};
      const auto e = pm::emitted_tokens(0.7, k);
      CHECK(std::abs(pm::speculative_speedup(e, k, s) / pm::speculative_speedup(0.7, k, c) - 1) <
            1e-14);
      // A slower check only costs.
      pm::speculative_steps slower = s;
      slower.verify = 1.5 * s.verify;
      CHECK(pm::speculative_speedup(e, k, slower) < pm::speculative_speedup(e, k, s));
    }
  }
}

TEST_CASE(
    "acceptance that falls with position emits less than its first value would, and more than its "
    "last") {
  const std::vector<double> falling{0.85, 0.8, 0.7, 0.65, 0.6};
  for (std::size_t k = 1; k <= falling.size(); ++k) {
    const double e =
        pm::emitted_tokens(std::span<const double>(falling.data(), k)).quantity().value();
    CHECK(e <= emitted(falling.front(), static_cast<int>(k)));
    CHECK(e >= emitted(falling[k - 1], static_cast<int>(k)));
  }
}

}  // namespace property_speculative
